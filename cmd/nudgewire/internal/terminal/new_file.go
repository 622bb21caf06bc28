package terminal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
)

// A NewFile is one that a command makes.
type NewFile struct {
	Path string
	Text []byte
	Mode fs.FileMode
	Ours bool // made by this program each time, so that writing over it loses nothing
}

// WriteNew writes files, with their folders: all, or none where one is there already that may not be lost.
func WriteNew(files []NewFile, force bool) error {
	for _, f := range files {
		if _, err := os.Stat(f.Path); !force && !f.Ours && !errors.Is(err, fs.ErrNotExist) {
			return exit.Fail(exit.Failed, "use --force to write over it", "%s is there already", f.Path)
		}
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(f.Path, f.Text, f.Mode); err != nil {
			return err
		}
	}
	return nil
}
