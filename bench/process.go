package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const storedMessages = 1_000_000

// processContest measures the real binary over n stored messages: how long it takes to be
// ready, and the memory it holds then and after it was put to work.
func processContest(n int, mostMS, mostMB float64) *contest {
	with := "nothing stored"
	if n > 0 {
		with = "1,000,000 messages"
	}
	start, rest, work := "start to ready, "+with, "memory at rest, "+with, "memory under load, "+with
	return &contest{
		name: "process, " + with, once: n > 0,
		figures: []figure{
			{name: start, unit: "ms", need: mostMS, atMost: true},
			{name: rest, unit: "MB", need: mostMB, atMost: true},
			{name: work, unit: "MB", need: mostMB, atMost: true},
		},
		round: func(ctx context.Context, l *lab) (sample, error) {
			got, err := process(ctx, l, n)
			return sample{start: plain(got.startMS), rest: plain(got.restMB), work: plain(got.workMB)}, err
		},
	}
}

// history fills folder with n messages that were delivered, and with the events, payloads,
// decisions and dispatches that led to them, a hundred days of ten thousand and more.
func history(ctx context.Context, l *lab, folder string, n int) error {
	if n == 0 {
		return nil
	}
	if err := seed(ctx, l, folder, delivered); err != nil {
		return err
	}
	const days = 100
	ago := fmt.Sprintf("(%d - i) * %d", n, int64(days)*24*3600*1e6/int64(n)) // microseconds
	return multiply(ctx, data(folder), n, map[string]rows{
		"dispatches": dispatches,
		"messages":   messages.with(rows{"accepted_at": "one.accepted_at - " + ago}),
		"events":     events.with(rows{"received_at": "one.received_at - " + ago, "day": fmt.Sprintf("(one.received_at - %s) / 86400000000", ago)}),
		"payloads":   payloads,
		"decisions":  decisions,
	})
}

type processFigures struct{ startMS, restMB, workMB float64 }

const (
	// starts is how often the daemon is started; the figure is their median.
	starts = 5

	// settleTime is how long the daemon is left alone before its memory is read.
	settleTime = 500 * time.Millisecond
)

func process(ctx context.Context, l *lab, n int) (got processFigures, err error) {
	binary, err := l.build(ctx)
	if err != nil {
		return got, err
	}
	folder, remove, err := l.folder("process")
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := history(ctx, l, folder, n); err != nil {
		return got, err
	}
	addr, err := freePort(ctx)
	if err != nil {
		return got, err
	}
	config, err := writeConfig(l, folder, "45m", addr)
	if err != nil {
		return got, err
	}
	v, err := l.webhooks.volley(int(perSecondMost * l.duration.Seconds()))
	if err != nil {
		return got, err
	}
	took := make([]float64, 0, starts)
	for len(took) < starts {
		d, elapsed, err := startDaemon(ctx, binary, config, addr)
		if err != nil {
			return got, err
		}
		if took = append(took, elapsed.Seconds()*1e3); len(took) == starts {
			got.restMB, got.workMB, err = memory(ctx, d, barrage{addr: addr, conns: baseConns, requests: v, duration: l.duration})
		}
		if err := errors.Join(err, d.stop()); err != nil {
			return got, err
		}
	}
	got.startMS = median(took)
	return got, nil
}

// memory is what the daemon holds before the barrage, and the most of it during.
func memory(ctx context.Context, d *daemon, b barrage) (rest, work float64, err error) {
	time.Sleep(settleTime)
	if rest, err = residentMB(d.Process.Pid); err != nil {
		return 0, 0, err
	}
	var reading error
	loaded, done := context.WithCancel(ctx)
	defer done()
	var watch sync.WaitGroup
	watch.Go(func() {
		for loaded.Err() == nil && reading == nil {
			var mb float64
			mb, reading = residentMB(d.Process.Pid)
			work = max(work, mb)
			time.Sleep(20 * time.Millisecond)
		}
	})
	_, err = b.fire(ctx)
	done()
	watch.Wait()
	return rest, work, errors.Join(err, reading)
}

// build makes the binary, once in a run.
func (l *lab) build(ctx context.Context) (string, error) {
	if l.binary != "" {
		return l.binary, nil
	}
	path := filepath.Join(l.dir, "nudgewire")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "github.com/nudgewire/nudgewire/cmd/nudgewire") //nolint:gosec // our own command
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	l.binary = path
	return path, nil
}

// freePort is an address that was free a moment ago.
func freePort(ctx context.Context) (string, error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// A daemon is "nudgewire serve" in a process of its own.
type daemon struct {
	*exec.Cmd
	words  strings.Builder // what it said, for when it fails
	exited chan error
}

// startDaemon returns once the daemon says that it can take webhooks, and how long that took.
func startDaemon(ctx context.Context, binary, config, addr string) (*daemon, time.Duration, error) {
	d := &daemon{Cmd: exec.CommandContext(ctx, binary, "serve", "--config", config), exited: make(chan error, 1)} //nolint:gosec // our own binary
	d.Stderr = &d.words
	began := time.Now()
	if err := d.Start(); err != nil {
		return nil, 0, fmt.Errorf("start the daemon: %w", err)
	}
	go func() { d.exited <- d.Wait() }()
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for time.Since(began) < patience {
		select {
		case err := <-d.exited:
			return nil, 0, fmt.Errorf("the daemon ended by itself: %w\n%s", err, d.words.String())
		default:
		}
		if ready(ctx, client, addr) {
			return d, time.Since(began), nil
		}
		time.Sleep(time.Millisecond)
	}
	return nil, 0, errors.Join(errors.New("the daemon did not get ready"), d.stop())
}

func ready(ctx context.Context, client *http.Client, addr string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

func (d *daemon) stop() error {
	if err := d.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-d.exited:
		if err != nil {
			return fmt.Errorf("stop the daemon: %w\n%s", err, d.words.String())
		}
		return nil
	case <-time.After(patience):
		return errors.Join(errors.New("the daemon did not stop"), d.Process.Kill())
	}
}

// residentMB is the memory a process holds, in millions of bytes, as Linux counts it.
func residentMB(pid int) (float64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, fmt.Errorf("memory of the daemon: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kb * 1024 / 1e6, err
		}
	}
	return 0, errors.New("memory of the daemon: the system does not tell VmRSS")
}
