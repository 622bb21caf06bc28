//go:build !linux && !darwin

package main

import "errors"

// diskSpace cannot be told on this system.
func diskSpace(string) (free, all uint64, err error) { return 0, 0, errors.ErrUnsupported }
