//go:build !unix

package terminal

import "syscall"

func ofItsOwn() *syscall.SysProcAttr { return nil }
