//go:build !linux

package main

// inMemory makes no folder: only Linux has a known place for files in memory.
func inMemory() (folder string, remove func() error) { return "", func() error { return nil } }
