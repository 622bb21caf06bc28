package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
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

// dialSocket connects to the daemon that listens at path.
func dialSocket(ctx context.Context, path string) (c net.Conn, err error) {
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
	return &Error{
		Status: http.StatusForbidden, Words: fmt.Sprintf("%s listens at %s, and is neither you nor the owner of the data: nothing was asked", userName(uid), path),
		Hint: "find out what that program is, end it, and start the daemon anew",
	}
}
