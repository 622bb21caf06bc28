package listeners

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// maxSocketPath is what the kernel takes for a Unix socket's path, less the closing zero.
const maxSocketPath = 103

// AtSocket calls do with the path of the socket at path as the kernel takes it: a longer one is
// reached through its open folder, so that the socket can always live beside the data.
func AtSocket(path string, do func(short string) error) error {
	if len(path) <= maxSocketPath {
		return do(path)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%s is longer than the %d characters that a socket's path may have here: keep the data (storage) in a folder with a shorter one", path, maxSocketPath)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // it was only looked into
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path)))
}

// DialSocket connects to the daemon that listens at path. Where somebody else does, it is a StrangerError.
func DialSocket(ctx context.Context, path string) (c net.Conn, err error) {
	err = AtSocket(path, func(short string) error {
		var d net.Dialer
		c, err = d.DialContext(ctx, "unix", short)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := mustBeOurs(c, path); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// A StrangerError is that somebody else than the daemon listens at its socket.
type StrangerError struct{ User, Path string }

func (e *StrangerError) Error() string {
	return e.User + " listens at " + e.Path + ", and is neither you nor the owner of the data"
}

// mustBeOurs refuses to speak to somebody who listens in the daemon's place: whoever answers must be
// this user, the owner of the data's folder, or root.
func mustBeOurs(c net.Conn, path string) error {
	uid, known := peerUser(c)
	if !known || uid == 0 || uid == os.Geteuid() {
		return nil
	}
	if owner, known := ownerOf(filepath.Dir(path)); known && uid == owner {
		return nil
	}
	return &StrangerError{userName(uid), path}
}

// peerName is the user whose program is at the other end of a Unix socket; "" where the kernel does not say.
func peerName(c net.Conn) string {
	uid, known := peerUser(c)
	if !known {
		return ""
	}
	return userName(uid) + " (" + strconv.Itoa(uid) + ")"
}
