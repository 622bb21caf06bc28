//go:build !unix

package main

import "time"

// newArena is size bytes.
func newArena(size int) ([]byte, error) { return make([]byte, size), nil }

func freeArena([]byte) error { return nil }

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
