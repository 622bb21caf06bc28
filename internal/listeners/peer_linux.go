package listeners

import (
	"net"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// peerUser is the user whose program is at the other end of a Unix socket, as the kernel knows it.
func peerUser(c net.Conn) (uid int, known bool) {
	unix, ok := c.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *syscall.Ucred
	if failed := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); failed != nil || err != nil {
		return 0, false
	}
	return int(cred.Uid), true
}

// ownerOf is the user that a file or folder belongs to.
func ownerOf(path string) (uid int, known bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "user " + strconv.Itoa(uid)
}
