//go:build !windows

package disk

import (
	"errors"
	"fmt"
	"os"
)

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync a folder: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
