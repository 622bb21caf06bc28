package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

const (
	starts     = 5                      // the time of a start is the median of so many
	settleTime = 500 * time.Millisecond // how long the daemon is left alone before its memory is read
)

// processContest measures the real binary over n stored messages: how long it takes to be
// ready, and the memory it holds then and after webhooks were posted. Bounds are in ms and MB.
func processContest(n int, start, memory float64) *contest {
	with := ", nothing stored"
	if n > 0 {
		with = ", " + number(float64(n)) + " messages"
	}
	return &contest{
		once: n > 0,
		figures: []figure{
			{name: "start to ready" + with, unit: "ms", bound: start, atMost: true},
			{name: "memory at rest" + with, unit: "MB", bound: memory, atMost: true},
			{name: "memory under load" + with, unit: "MB", bound: memory, atMost: true},
		},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			if err := l.build(ctx); err != nil {
				return nil, err
			}
			if n > 0 {
				if err := l.history(ctx, dir, n); err != nil {
					return nil, err
				}
			}
			return l.process(ctx, dir)
		},
	}
}

// build makes the binary, once in a run.
func (l *lab) build(ctx context.Context) error {
	if l.binary != "" {
		return nil
	}
	path := filepath.Join(l.dir, "nudgewire")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "github.com/nudgewire/nudgewire/cmd/nudgewire") //nolint:gosec // our own command
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	l.binary = path
	return nil
}

// history makes a store in dir with n messages that were delivered over a hundred days, and with
// the events, payloads, decisions and dispatches that led to them.
func (l *lab) history(ctx context.Context, dir string, n int) error {
	const days = 100
	ago := fmt.Sprintf("(%d - i) * %d", n, int64(days)*24*3600*1e6/int64(n)) // microseconds
	return l.multiply(ctx, dir, n-1, map[string]columns{
		"dispatches": dispatches,
		"messages":   messages.with(columns{"accepted_at": "one.accepted_at - " + ago}),
		"events":     events.with(columns{"received_at": "one.received_at - " + ago, "day": fmt.Sprintf("(one.received_at - %s) / 86400000000", ago)}),
		"payloads":   byEvent,
		"decisions":  byEvent,
	})
}

func (l *lab) process(ctx context.Context, dir string) ([]reading, error) {
	addr, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	config, err := l.writeConfig(dir, later, addr)
	if err != nil {
		return nil, err
	}
	var took []float64
	for range starts - 1 {
		ms, stop, _, err := startProcess(ctx, l.binary, config, addr)
		if err = errors.Join(err, stop()); err != nil {
			return nil, err
		}
		took = append(took, ms)
	}
	ms, stop, pid, err := startProcess(ctx, l.binary, config, addr)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	time.Sleep(settleTime)
	rest, resting := residentMB(pid, "VmRSS")
	_, posting := l.post(ctx, load{addr: addr, conns: conns, duration: l.duration})
	most, loaded := residentMB(pid, "VmHWM")
	return []reading{{value: median(append(took, ms))}, {value: rest}, {value: most}}, errors.Join(resting, posting, loaded, stop())
}

// freePort is an address that was free a moment ago.
func freePort(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// startProcess runs "nudgewire serve" in a process of its own, and returns after how many
// milliseconds it said that it can take webhooks. stop is to be called, whatever the error.
func startProcess(ctx context.Context, binary, config, addr string) (ms float64, stop func() error, pid int, err error) {
	running, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(running, binary, "serve", "--config", config) //nolint:gosec // our own binary
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	var output bytes.Buffer
	cmd.Stderr = &output
	stop = func() error {
		cancel()
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the daemon: %w\n%s", err, output.String())
		}
		return nil
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, stop, 0, err
	}
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for time.Since(began) < patience {
		if call(ctx, client, http.MethodGet, "http://"+addr+"/readyz", "") == nil {
			return float64(time.Since(began).Microseconds()) / 1e3, stop, cmd.Process.Pid, nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, stop, 0, errors.New("the daemon did not get ready")
}

// residentMB is the memory that a process holds (VmRSS), or the most it ever held (VmHWM), in
// millions of bytes, as Linux counts it.
func residentMB(pid int, field string) (float64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, fmt.Errorf("memory of the daemon: %w", err)
	}
	found := regexp.MustCompile(field + `:\s*(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("memory of the daemon: the system does not tell %s", field)
	}
	kb, err := strconv.ParseFloat(string(found[1]), 64)
	return kb * 1024 / 1e6, err
}
