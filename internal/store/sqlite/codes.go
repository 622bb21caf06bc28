package sqlite

import (
	"errors"
	"syscall"
)

// Codes of SQLite that tell of the disk, or of damage, of https://sqlite.org/rescode.html.
const (
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	NotData      = 26
)

// DiskFull reports whether err came because a disk is full.
func DiskFull(err error) bool {
	code, cause := Code(err)
	return code == codeFull || isAny(err, cause, syscall.ENOSPC, syscall.EDQUOT)
}

func isAny(err, cause error, known ...error) bool {
	for _, one := range known {
		if errors.Is(err, one) || errors.Is(cause, one) {
			return true
		}
	}
	return false
}

// DiskTrouble says in a few words what ails the disk where that is why err came; "" where it is not. Such trouble may
// end without a change of ours.
func DiskTrouble(err error) string {
	code, cause := Code(err)
	switch {
	case DiskFull(err):
		return "the disk is full"
	case code == codeReadOnly || isAny(err, cause, syscall.EROFS):
		return "the disk can only be read"
	case code == codeIO || isAny(err, cause, syscall.EIO):
		return "the disk reports errors"
	default:
		return ""
	}
}
