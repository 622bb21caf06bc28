package regular

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a name may lead to, by itself and in a folder.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	folder, outside := t.TempDir(), put(t, filepath.Join(t.TempDir(), "outside"), "outside")
	put(t, filepath.Join(folder, "plain"), "text")
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"inside": "plain", "out": outside, "null": "/dev/null", "zero": "/dev/zero",
		"environ": "/proc/self/environ", "to-pipe": "pipe", "folder": ".", "nowhere": "none",
	} {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string][2]error{ // named by itself, and in the folder
		"plain": {nil, nil}, "inside": {nil, nil}, "out": {nil, ErrLeadsOut}, "null": {ErrNoFile, ErrLeadsOut}, "zero": {ErrNoFile, ErrLeadsOut},
		"environ": {ErrNoFile, ErrLeadsOut}, "pipe": {ErrNoFile, ErrNoFile}, "to-pipe": {ErrNoFile, ErrNoFile}, "folder": {ErrFolder, ErrFolder}, "nowhere": {fs.ErrNotExist, fs.ErrNotExist},
	} {
		if name == "environ" && runtime.GOOS != "linux" {
			continue
		}
		if _, err := Read(t.Context(), filepath.Join(folder, name), 10); !errors.Is(err, want[0]) {
			t.Errorf("%s: %v, want %v", name, err, want[0])
		}
		if _, err := ReadIn(t.Context(), root, name, 10); !errors.Is(err, want[1]) {
			t.Errorf("%s in its folder: %v, want %v", name, err, want[1])
		}
	}
	if _, err := Read(t.Context(), filepath.Join(folder, "plain"), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("four bytes where three may be: %v", err)
	}
}

func TestAFileIsReadAsItIs(t *testing.T) {
	text := strings.Repeat("abcdefghij", 30_000)
	f, err := Open(t.Context(), put(t, filepath.Join(t.TempDir(), "f"), text))
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(struct{ io.Reader }{f}, []byte(text)); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A share is a file of a share that hangs: until it answers, nothing comes back.
type share struct {
	io.Reader
	answers chan struct{}
	closed  chan struct{}
}

func (s *share) Read(p []byte) (int, error) { <-s.answers; return s.Reader.Read(p) }
func (s *share) Close() error               { close(s.closed); return nil }
func (s *share) Stat() (fs.FileInfo, error) { <-s.answers; return nil, fs.ErrNotExist }

// Whoever opens, reads or looks on a share that hangs is let go when their context ends, and the file is closed when it answers.
func TestAShareThatHangsHoldsNobody(t *testing.T) {
	for _, at := range []string{"open", "read", "stat"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := errors.New("cancelled by ann")
				ctx, cancel := context.WithCancelCause(t.Context())
				s := &share{bytes.NewReader([]byte("text")), make(chan struct{}), make(chan struct{})}
				ended := make(chan error, 1)
				go func() {
					f, err := open(ctx, func() (handle, error) {
						if at == "open" {
							<-s.answers
						}
						return s, nil
					})
					if err == nil && at == "read" {
						_, err = f.Read(make([]byte, 10))
					}
					if err == nil && at == "stat" {
						_, err = f.Stat()
					}
					if f != nil {
						err = errors.Join(err, f.Close())
					}
					ended <- err
				}()
				time.Sleep(time.Hour)
				select {
				case err := <-ended:
					t.Fatalf("it came back by itself: %v", err)
				default:
				}
				cancel(asked)
				if err := <-ended; !errors.Is(err, asked) {
					t.Errorf("it ended with %v, want what ended the context", err)
				}
				close(s.answers)
				<-s.closed
			})
		})
	}
}
