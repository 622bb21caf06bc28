//go:build unix

package main

import (
	"fmt"
	"syscall"
	"time"
)

// newArena is size bytes that the garbage collector does not see: a hundred megabytes of
// prepared requests on its heap would make it run less often than in the real daemon, and
// so make every figure better than it is.
func newArena(size int) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("memory for %d MB of requests: %w", size>>20, err)
	}
	return b, nil
}

func freeArena(b []byte) error {
	if b == nil {
		return nil
	}
	return syscall.Munmap(b)
}

// processorTime is what this process has used of all processors so far; 0 when the system
// does not tell.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
