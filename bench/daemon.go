package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/nudgewire/nudgewire/app"
	"github.com/nudgewire/nudgewire/store"
)

// A daemon is package app in this process.
type daemon struct {
	addr string // of the hooks
	stop func() error
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

// start runs a daemon over the data in dir.
func (l *lab) start(ctx context.Context, dir string, p plan, watch store.Observer) (*daemon, error) {
	path, err := l.writeConfig(dir, p, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// The log does the work of the daemon's own and keeps none of it.
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel))
	a, err := app.New(ctx, app.Options{ConfigFile: path, Env: os.LookupEnv, Log: log, Observer: watch, Unpaced: true})
	if err != nil {
		return nil, err
	}
	undo := app.SpareProcessor()
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(running) }()
	return &daemon{addr: a.Addr().String(), stop: func() error {
		cancel()
		defer undo()
		return <-ended
	}}, nil
}

// data is the file that a daemon keeps everything in.
func data(dir string) string { return filepath.Join(dir, "nudgewire.db") }

//go:embed config.yaml
var configText string

// writeConfig puts a config into dir and returns its path.
func (l *lab) writeConfig(dir string, p plan, listen string) (string, error) {
	path := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(configText, l.service.base(), serviceKey, conns, p.poll, secret, p.wait, p.rules, "sqlite:"+data(dir), listen)
	return path, os.WriteFile(path, []byte(text), 0o600)
}
