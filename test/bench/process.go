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
	with := ", " + number(float64(n)) + " messages"
	return &contest{
		once: true,
		figures: []figure{
			{name: "start to ready" + with, unit: "ms", bound: start, atMost: true},
			{name: "memory at rest" + with, unit: "MB", bound: memory, atMost: true},
			{name: "memory under load" + with, unit: "MB", bound: memory, atMost: true},
		},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			if err := l.history(ctx, dir, n); err != nil {
				return nil, err
			}
			return l.process(ctx, dir)
		},
	}
}

// history makes a store in dir with n messages that were delivered over a hundred days, and with
// the events, payloads and decisions that led to them.
func (l *lab) history(ctx context.Context, dir string, n int) error {
	const days = 100
	ago := fmt.Sprintf("(%d - i) * %d", n, int64(days)*24*3600*1e6/int64(n)) // microseconds
	return l.multiply(ctx, dir, n-1, map[string]columns{
		"messages":  messages.with(columns{"accepted_at": "one.accepted_at - " + ago}),
		"events":    events.with(columns{"received_at": "one.received_at - " + ago, "day": fmt.Sprintf("(one.received_at - %s) / 86400000000", ago)}),
		"decisions": byEvent,
	})
}

func (l *lab) process(ctx context.Context, dir string) ([]reading, error) {
	binary := filepath.Join(dir, "nudgewire")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/nudgewire/nudgewire/cmd/nudgewire") //nolint:gosec // our own command
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0") // to learn of a free port
	if err != nil {
		return nil, err
	}
	addr := listener.Addr().String()
	config, err := l.writeConfig(dir, later, addr, sqliteIn(dir))
	if err := errors.Join(err, listener.Close()); err != nil {
		return nil, err
	}
	var took []float64
	var rest, most float64
	for range starts {
		ms, cmd, err := startProcess(ctx, binary, config, addr)
		if took = append(took, ms); err == nil && len(took) == starts {
			time.Sleep(settleTime)
			var posting, loaded error
			rest, err = residentMB(cmd.Process.Pid, "VmRSS")
			_, posting = l.post(ctx, load{addrs: []string{addr}, conns: conns, duration: l.duration})
			most, loaded = residentMB(cmd.Process.Pid, "VmHWM")
			err = errors.Join(err, posting, loaded)
		}
		if err := errors.Join(err, stopProcess(cmd)); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, cmd.Stderr)
		}
	}
	return []reading{{value: median(took)}, {value: rest}, {value: most}}, nil
}

// startProcess runs "nudgewire serve" in a process of its own, and returns after how many
// milliseconds it said that it can take webhooks. cmd is to be stopped, whatever the error.
func startProcess(ctx context.Context, binary, config, addr string) (ms float64, cmd *exec.Cmd, err error) {
	cmd = exec.CommandContext(ctx, binary, "serve", "--config", config) //nolint:gosec // our own binary
	cmd.Stderr = new(bytes.Buffer)
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, cmd, err
	}
	for time.Since(began) < patience {
		if call(ctx, client, http.MethodGet, "http://"+addr+"/readyz", "") == nil {
			return float64(time.Since(began).Microseconds()) / 1e3, cmd, nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, cmd, errors.New("the daemon did not get ready")
}

func stopProcess(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	return errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
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
