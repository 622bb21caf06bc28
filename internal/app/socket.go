package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// SocketPath is where the daemon over the store dsn listens for commands: beside its database,
// and nowhere else. A folder that others may write to, such as the one for temporary files, would
// let anybody listen in the daemon's place.
func SocketPath(dsn string) string {
	path := engine.Path(dsn) + ".sock"
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// listenBeside listens on the Unix socket at path. The socket is made in a folder that only this
// user can enter and then moved into place, so that it is never open to others, and takes the
// place of one that a dead daemon left.
func listenBeside(ctx context.Context, path string) (l net.Listener, err error) {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".sock-*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var lc net.ListenConfig
	err = listeners.AtSocket(filepath.Join(folder, "s"), func(short string) error {
		l, err = lc.Listen(ctx, "unix", short)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	unlinked, ok := l.(*net.UnixListener)
	if ok {
		unlinked.SetUnlinkOnClose(false) // its path is not the one it was made at; see removeSocket
	}
	made := filepath.Join(folder, "s")
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for commands: %w", err), l.Close())
	}
	return l, nil
}
