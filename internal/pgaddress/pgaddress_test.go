package pgaddress

import (
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nudgewire/nudgewire/internal/regular"
)

// Every file that an address names is a regular one, or the address is refused before anybody waits for it.
func TestFilesOfAnAddress(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, parameter := range files {
		for path, want := range map[string]error{pipe: regular.ErrNoFile, t.TempDir(): regular.ErrFolder, pipe + "s": fs.ErrNotExist} {
			_, err := Parse("postgres://shop:hunter2@db.example.com/shop?" + parameter + "=" + url.QueryEscape(path))
			if no, ok := errors.AsType[*FileError](err); !ok || no.Parameter != parameter || !errors.Is(err, want) {
				t.Errorf("%s=%s: %v, want %v", parameter, path, err, want)
			}
		}
	}
	if c, err := Parse("postgres://shop:hunter2@db.example.com/shop?sslmode=require"); err != nil || c.Host != "db.example.com" {
		t.Errorf("an address without files: %+v, %v", c, err)
	}
}
