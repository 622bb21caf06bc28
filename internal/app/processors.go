package app

import (
	"os"
	"runtime"
)

// SpareProcessor lets Go run one thread more than there are processors, and undo takes that back.
//
// The store's flusher waits for the disk a third of its time, inside SQLite, where Go cannot see that it
// waits: it gives the flusher's processor to others only when it happens to look. With one to spare
// two processors do up to a fifth more (decision 1). A GOMAXPROCS in the environment stands.
func SpareProcessor() (undo func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + 1)
	return func() { runtime.GOMAXPROCS(before) }
}
