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
	for i, f := range files {
		if err := write(f, force); err != nil {
			if !force { // what was there is not known any more
				for _, made := range files[:i] {
					if !made.Ours {
						err = errors.Join(err, os.Remove(made.Path))
					}
				}
			}
			return err
		}
	}
	return nil
}

func write(f NewFile, force bool) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !force && !f.Ours {
		how |= os.O_EXCL // somebody may have written it meanwhile
	}
	out, err := os.OpenFile(f.Path, how, f.Mode)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Text)
	if err = errors.Join(err, out.Close()); err != nil {
		err = errors.Join(err, os.Remove(f.Path))
	}
	return err
}
