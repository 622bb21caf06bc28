package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A daemon is the program under test. One goroutine at a time uses it.
type daemon struct {
	program, folder, address string
	storage                  string // as the config has it

	began time.Time // the last start
	away  []span    // from the order to end, or a kill, until it was ready again; the last has no end while it is not
	cmd   *exec.Cmd // nil while none runs
	ended chan struct{}
	end   error // of the process, once ended is closed
}

// startWithin bounds the time from the start of the process to its first ready answer.
const startWithin = 3 * time.Minute

// start runs the program and waits until it takes webhooks.
func (d *daemon) start(ctx context.Context) error {
	if err := d.launch(ctx); err != nil {
		return err
	}
	return d.awaitReady(ctx)
}

// launch runs the program.
func (d *daemon) launch(ctx context.Context) error {
	d.began = time.Now()
	log, err := os.OpenFile(d.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	// It outlives ctx, to be stopped in its own way.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), d.program, "serve", "--config", d.config(), "--log-level", "warn") //nolint:gosec // the program that the caller names
	cmd.Env, cmd.Stderr = d.env(), log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	d.cmd, d.ended = cmd, make(chan struct{})
	go func() { // kill and stop wait for it
		defer close(d.ended)
		d.end = cmd.Wait()
	}()
	return nil
}

// awaitReady waits until a daemon that runs takes webhooks.
func (d *daemon) awaitReady(ctx context.Context) error {
	for end := time.Now().Add(startWithin); time.Now().Before(end); {
		select {
		case <-d.ended:
			d.cmd = nil
			return fmt.Errorf("the daemon ended before it was ready: %w; %s", d.end, d.lastWords())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if d.ready(ctx) {
			d.back()
			return nil
		}
	}
	return fmt.Errorf("the daemon is not ready after %s; %s", startWithin, d.lastWords())
}

func (d *daemon) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// lastWords are the last lines of the daemon's log, which a test removes with its folder.
func (d *daemon) lastWords() string {
	text, err := os.ReadFile(d.log())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return d.log() + " ends with:\n" + strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// kill ends the process at once, as a crash does.
func (d *daemon) kill() {
	if d.cmd == nil {
		return
	}
	d.leaves()
	_ = d.cmd.Process.Kill() // it may have ended by itself, which is just as well
	<-d.ended
	d.cmd = nil
}

// leaves notes that it fires no job from now on, and back that it does again.
func (d *daemon) leaves() {
	if n := len(d.away); n == 0 || !d.away[n-1].to.IsZero() {
		d.away = append(d.away, span{from: time.Now()})
	}
}

func (d *daemon) back() {
	if n := len(d.away); n > 0 {
		d.away[n-1].to = time.Now()
	}
}

// stopWithin is the daemon's own grace for calls under way, and room for a slow machine.
const stopWithin = 3 * time.Minute

// stop asks the process to end and returns how it did; when ctx is done it is not waited for.
func (d *daemon) stop(ctx context.Context) error {
	if d.cmd == nil {
		return nil
	}
	d.leaves()
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case <-d.ended:
		d.cmd = nil
		return d.end
	case <-ctx.Done():
		d.kill()
		return ctx.Err()
	case <-time.After(stopWithin):
		d.kill()
		return errors.New("it did not end")
	}
}

// command runs the program beside the daemon, as a person does.
func (d *daemon) command(ctx context.Context, args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.program, append(args, "--yes", "--config", d.config())...) //nolint:gosec // as above
	cmd.Env = d.env()
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// env has the note that a daemon leaves for its user lie in its own folder.
func (d *daemon) env() []string {
	return append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(d.folder, "cache"))
}

func (d *daemon) config() string { return filepath.Join(d.folder, "config.yaml") }
func (d *daemon) log() string    { return filepath.Join(d.folder, "serve.log") }

// ledger opens the database for reading, whether the daemon runs or not. A busy machine may keep a server from answering in the store's own time.
func (d *daemon) ledger(ctx context.Context) (s *store.Store, err error) {
	for end := time.Now().Add(startWithin); ; rest(ctx, time.Second) {
		s, err = store.Open(ctx, store.Options{DSN: d.storage, ReadOnly: true})
		if err == nil || engine.Away(err) == "" || ctx.Err() != nil || time.Now().After(end) {
			return s, err
		}
	}
}

// messages reads every message in a state; all of them for no state.
func (d *daemon) messages(ctx context.Context, state messaging.State) (out []store.MessageStory, err error) {
	s, err := d.ledger(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for before := messaging.MessageID(0); ; {
		rows, err := s.Messages(ctx, store.MessageFilter{State: state, Limit: 1000, Before: before})
		if err != nil || len(rows) == 0 {
			return out, err
		}
		out = append(out, rows...)
		before = rows[len(rows)-1].ID
	}
}
