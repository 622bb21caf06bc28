package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// A lab is what all measurements of a run share.
type lab struct {
	dir      string // on the disk under test
	duration time.Duration
	backlog  int    // how many dispatches or messages are due when the daemon starts
	profiles string // folder; "" for none
	last     bool   // whether this is the last round

	service  *service
	webhooks *webhooks
	servers  map[string]*plainServer
	made     int    // folders handed out so far
	binary   string // of nudgewire; "" until it is built
}

// backlog is enough for two or three seconds.
const backlog = 60_000

func openLab(ctx context.Context, dir string, duration time.Duration, profiles string) (*lab, error) {
	if profiles != "" {
		if err := os.MkdirAll(profiles, 0o750); err != nil {
			return nil, fmt.Errorf("folder for profiles: %w", err)
		}
	}
	root, err := os.MkdirTemp(dir, "nudgewire-bench-")
	if err != nil {
		return nil, fmt.Errorf("folder to measure in: %w", err)
	}
	l := &lab{dir: root, duration: duration, backlog: backlog, profiles: profiles, webhooks: newWebhooks(time.Now()), servers: map[string]*plainServer{}}
	if l.service, err = startService(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	return l, nil
}

func (l *lab) close() error {
	errs := []error{l.service.close(), l.webhooks.close()}
	for _, s := range l.servers {
		errs = append(errs, s.close())
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}

// folder makes a new empty folder, and the function that removes it again.
func (l *lab) folder(name string) (path string, remove func() error, err error) {
	l.made++
	path = filepath.Join(l.dir, name+"-"+strconv.Itoa(l.made))
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", nil, err
	}
	return path, func() error { return os.RemoveAll(path) }, nil
}

// tell shows what is being done, on a terminal only and on one line.
func (l *lab) tell(what string) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprint(os.Stderr, "\r\x1b[K", what)
	}
}
