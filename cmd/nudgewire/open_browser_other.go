//go:build !unix

package main

import "syscall"

func ofItsOwn() *syscall.SysProcAttr { return nil }
