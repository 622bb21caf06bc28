//go:build unix

package terminal

import "syscall"

// ofItsOwn starts a program that the keys of this terminal do not reach.
func ofItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
