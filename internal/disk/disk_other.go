//go:build !linux && !darwin

package disk

import "errors"

// Space cannot be told on this system.
func Space(string) (free, all uint64, err error) { return 0, 0, errors.ErrUnsupported }

// Files is not known on this system.
func Files() int { return 0 }
