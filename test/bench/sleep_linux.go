package main

import (
	"syscall"
	"time"
)

// sleep waits for d, and at most about 0.1 ms longer: time.Sleep in an idle program may take 1 ms
// more, which would count as the time of an answer.
func sleep(d time.Duration) {
	left := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}
