//go:build !unix

package demo

import "syscall"

func ofItsOwn() *syscall.SysProcAttr { return nil }
