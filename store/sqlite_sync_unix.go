//go:build !windows

package store

import (
	"errors"
	"fmt"
	"os"
)

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("storage folder: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
