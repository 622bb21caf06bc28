package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Machine is what the figures were measured on.
type Machine struct {
	OS        string  `json:"os"`
	Arch      string  `json:"arch"`
	Processor string  `json:"processor,omitempty"`
	Cores     int     `json:"cores"`
	Go        string  `json:"go"`
	SyncMS    float64 `json:"sync_p50_ms"` // writing 8 KB to the folder measured in, and syncing it
}

// tooFast is a sync that no disk does, in milliseconds: the folder is in memory.
const tooFast = 0.02

func (m Machine) String() string {
	text := fmt.Sprintf("%s/%s, %d cores", m.OS, m.Arch, m.Cores)
	if m.Processor != "" {
		text += " (" + m.Processor + ")"
	}
	text += fmt.Sprintf(", %s, sync of 8 KB takes %.2f ms", m.Go, m.SyncMS)
	if m.SyncMS < tooFast {
		text += "\nThe folder measured in lies in memory: name one on a disk with -dir, or no figure shows what durability costs."
	}
	return text
}

// look describes the machine, and the disk that dir is on.
func look(dir string) (Machine, error) {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Processor: processor(), Cores: runtime.GOMAXPROCS(0), Go: runtime.Version()}
	var err error
	m.SyncMS, err = syncTime(dir)
	return m, err
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "" // not Linux
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func syncTime(dir string) (_ float64, err error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	page := make([]byte, 8<<10)
	times := make(latencies, 0, 200)
	for range cap(times) {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, fmt.Errorf("measure the disk: %w", err)
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("measure the disk: %w", err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times.ms(0.5), nil
}
