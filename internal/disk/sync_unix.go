//go:build !windows

package disk

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// SyncFolder makes the names in a folder durable. There are file systems that keep names without being asked, and some of
// them refuse to be asked.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync a folder: %w", err)
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
