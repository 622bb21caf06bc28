package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"
)

// A window is the time in which a measurement counts. Around it are the things that must be
// there first and those that come after.
type window struct {
	began time.Time
	used  time.Duration // processor time before it opened
	file  *os.File      // its profile; nil for none
}

// open begins a window, and with it a profile in the last round of a run that asked for one.
func (l *lab) open(name string) (*window, error) {
	w := &window{}
	if l.profiles != "" && l.last {
		f, err := os.Create(filepath.Join(l.profiles, tidy(name)+".pprof"))
		if err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, errors.Join(fmt.Errorf("profile: %w", err), f.Close())
		}
		w.file = f
	}
	w.used, w.began = processorTime(), time.Now()
	return w, nil
}

// close ends the window in which n things were done. It must be called once, whatever happened.
func (w *window) close(n int) (reading, error) {
	elapsed, used := time.Since(w.began), processorTime()-w.used
	var err error
	if w.file != nil {
		pprof.StopCPUProfile()
		err = w.file.Close()
	}
	if n == 0 {
		return reading{}, err
	}
	return reading{value: float64(n) / elapsed.Seconds(), cpu: float64(used.Microseconds()) / float64(n)}, err
}

// tidy is a name as a file's.
func tidy(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,/:", r) {
			return '-'
		}
		return r
	}, name)
}
