package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A daemon is package app, once or more often over the same data: the first in this process, each other one in a process of its own.
type daemon struct {
	addrs []string  // of the hooks
	began time.Time // when all of them had opened their data and began to work
	stop  func() error
	pids  []int // of those in processes of their own
}

// A plan says when things happen, as durations of a config.
type plan struct {
	wait, poll string
	rules      string // keys of the trigger that decide at the due moment; "" for none
}

var (
	atOnce     = plan{wait: "0s", poll: "1h"}  // messages are sent at once, and not asked about
	later      = plan{wait: "45m", poll: "1h"} // nothing is sent while something is measured
	everything = plan{wait: "0s", poll: "1s"}  // messages are sent and asked about
)

// withRules is a plan whose messages every rule is asked about, and let go: quiet hours that are open, two limits per
// contact, a rate with room for all.
func (p plan) withRules() plan {
	far := time.Now().UTC().Add(12 * time.Hour) // from the quiet minute
	p.rules = fmt.Sprintf(`
    quiet_hours: "%s-%s"
    limit: [20 per day, 60 per 7d]
    rate: 100000000 per 1h`, far.Format("15:04"), far.Add(time.Minute).Format("15:04"))
	return p
}

// An outcome is what a daemon has stored. Other processes say it in one letter.
type outcome byte

const (
	planned   outcome = 'p' // a webhook, with its reminder
	sent      outcome = 's' // a message that the service took
	delivered outcome = 'd' // the last word about a message
	bad       outcome = 'b' // an end that nothing here should have
)

// A watch is called with each outcome, by many at a time.
type watch func(outcome)

func (w watch) observer() store.Observer {
	if w == nil {
		return store.Observer{}
	}
	say := func(good bool, what outcome) {
		if !good {
			what = bad
		}
		w(what)
	}
	return store.Observer{
		Accepted: func(_ messaging.Plan, r messaging.Receipt) {
			say(len(r.Decisions) == 1 && r.Decisions[0].Outcome == messaging.Planned, planned)
		},
		Finished: func(a messaging.Attempt) { say(a.State == messaging.StateAccepted && a.Message.Tracked(), sent) },
		Polled:   func(p messaging.Poll) { say(p.Final && p.Status == messaging.StatusDelivered, delivered) },
	}
}

// start runs daemons over the data of a place.
func (l *lab) start(ctx context.Context, at place, p plan, w watch) (_ *daemon, err error) {
	d := &daemon{}
	var others []*node
	d.stop = func() error {
		var errs []error
		for _, n := range others {
			errs = append(errs, n.stop())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	for i := range at.nodes {
		if i == 0 && !at.outside {
			continue
		}
		config, err := l.nodeConfig(at, i, p)
		if err != nil {
			return nil, err
		}
		n, err := startNode(ctx, config, w)
		if err != nil {
			return nil, err
		}
		others, d.addrs, d.pids = append(others, n), append(d.addrs, n.addr), append(d.pids, n.cmd.Process.Pid)
	}
	if at.outside {
		d.began = time.Now()
		for _, n := range others {
			n.begin()
		}
		return d, nil
	}
	config, err := l.nodeConfig(at, 0, p)
	if err != nil {
		return nil, err
	}
	a, err := newApp(ctx, config, w)
	if err != nil {
		return nil, err
	}
	d.addrs = append(d.addrs, a.Addr().String())
	for _, n := range others {
		n.begin()
	}
	undo := app.SpareProcessor()
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	d.began = time.Now()
	go func() { ended <- a.Run(running) }()
	rest := d.stop
	d.stop = func() error {
		cancel()
		defer undo()
		return errors.Join(<-ended, rest())
	}
	return d, nil
}

func newApp(ctx context.Context, config string, w watch) (*app.App, error) {
	// The log does the work of the daemon's own and keeps none of it.
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel))
	return app.New(ctx, app.Options{ConfigFile: config, Env: os.LookupEnv, Log: log, Observer: w.observer(), Unpaced: true})
}

// nodeConfig writes the config of a daemon of a place, in a folder of its own where there are more.
func (l *lab) nodeConfig(at place, number int, p plan) (string, error) {
	if !at.onServer() {
		return l.writeConfig(at.dir, p, "127.0.0.1:0", at.storage)
	}
	folder := filepath.Join(at.dir, "node-"+strconv.Itoa(number))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return l.writeConfig(folder, p, "127.0.0.1:0", at.storage+"\nnode: {folder: "+strconv.Quote(folder)+"}")
}

//go:embed config.yaml
var configText string

// writeConfig puts a config into dir and returns its path. storage is YAML, up to the key after it.
func (l *lab) writeConfig(dir string, p plan, listen, storage string) (string, error) {
	path := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(configText, l.service.base(), serviceKey, conns, p.poll, secret, p.wait, p.rules, storage, listen)
	return path, os.WriteFile(path, []byte(text), 0o600)
}
