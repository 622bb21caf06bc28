package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"sync/atomic"
	"time"
)

// A reading is a figure in one round.
type reading struct {
	value float64
	waits []float64 // p50, p99 and p99.9 in milliseconds; nil where no time was taken
	good  float64   // part of the webhooks that were answered 2xx, from 0 to 1
}

// A contest measures some figures together.
type contest struct {
	figures []figure
	server  bool // needs PostgreSQL
	once    bool // measured in the first round alone: it takes long and holds its own repetitions
	// measure brings one reading for each figure. dir is an empty folder for its data.
	measure func(ctx context.Context, l *lab, dir string) ([]reading, error)
}

// name is that of the first figure.
func (c *contest) name() string { return c.figures[0].name }

// A lab is what all measurements of a run share.
type lab struct {
	dir      string // on the disk under test
	duration time.Duration
	backlog  int // how many messages are due when the daemon starts
	service  *service
	serial   atomic.Int64 // of the newest webhook

	server    server          // nil where there is none, or none is needed
	templates map[string]bool // databases to make others from
	databases []string        // of this round
	made      int             // databases so far
}

// A server is PostgreSQL.
type server interface {
	DSN(database string) string
	PID() int
	Close() error
}

// backlog is enough for two or three seconds.
const backlog = 60_000

func openLab(dir string, duration time.Duration) (*lab, error) {
	root, err := os.MkdirTemp(dir, "nudgewire-bench-")
	if err != nil {
		return nil, fmt.Errorf("folder to measure in: %w", err)
	}
	return &lab{dir: root, duration: duration, backlog: backlog, service: startService(), templates: map[string]bool{}}, nil
}

func (l *lab) close() error {
	l.service.Close()
	var err error
	if l.server != nil {
		err = l.server.Close()
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// measure runs the rounds. The result holds the readings of each figure in their order.
func measure(ctx context.Context, l *lab, chosen []*contest, rounds int, profiles string) (map[string][]reading, error) {
	all := map[string][]reading{}
	defer tell("")
	for round := range rounds {
		for _, c := range chosen {
			if c.once && round > 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			tell(fmt.Sprintf("round %d of %d: %s", round+1, rounds, c.name()))
			folder := profiles
			if round < rounds-1 && !c.once {
				folder = ""
			}
			got, err := l.run(ctx, c, folder)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name(), err)
			}
			tell("")
			for i, f := range c.figures {
				all[f.name] = append(all[f.name], got[i])
				fmt.Printf("round %d  %s: %s %s\n", round+1, f.name, number(got[i].value), f.unit)
			}
		}
	}
	return all, nil
}

// run measures c once in a folder of its own, with a profile in the folder named, if any. The folder must be there.
func (l *lab) run(ctx context.Context, c *contest, profiles string) (got []reading, err error) {
	dir, err := os.MkdirTemp(l.dir, "round-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.dropDatabases(context.WithoutCancel(ctx)), os.RemoveAll(dir)) }()
	if profiles != "" {
		f, err := os.Create(filepath.Join(profiles, notInNames.ReplaceAllString(c.name(), "-")+".pprof"))
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
		defer f.Close()
		defer pprof.StopCPUProfile()
	}
	return c.measure(ctx, l, dir)
}

var notInNames = regexp.MustCompile(`[ ,/:]+`)

// tell shows what is being done, on a terminal only and on one line.
func tell(what string) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprint(os.Stderr, "\r\x1b[K", what)
	}
}

// percentiles are p50, p99 and p99.9 of times in milliseconds, by nearest rank; nil of none.
func percentiles(times []time.Duration) []float64 {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	out := make([]float64, 0, 3)
	for _, perMille := range []int{500, 990, 999} {
		rank := (len(times)*perMille + 999) / 1000
		out = append(out, float64(times[rank-1].Nanoseconds())/1e6)
	}
	return out
}
