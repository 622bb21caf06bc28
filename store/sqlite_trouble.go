package store

import (
	"errors"
	"syscall"
)

// Codes of SQLite that tell of the disk, of https://sqlite.org/rescode.html.
const (
	codeReadOnly = 8
	codeIO       = 10
	codeFull     = 13
)

// DiskTrouble says in a few words what ails the disk where that is why err came; "" where it is not. Such trouble may
// end without a change of ours.
func DiskTrouble(err error) string {
	code, cause := sqliteCode(err)
	is := func(known ...error) bool {
		for _, one := range known {
			if errors.Is(err, one) || errors.Is(cause, one) {
				return true
			}
		}
		return false
	}
	switch {
	case code == codeFull || is(syscall.ENOSPC, syscall.EDQUOT):
		return "the disk is full"
	case code == codeReadOnly || is(syscall.EROFS):
		return "the disk can only be read"
	case code == codeIO || is(syscall.EIO):
		return "the disk reports errors"
	default:
		return ""
	}
}
