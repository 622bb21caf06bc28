package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A Plan is which backups the daemon makes by itself.
type Plan struct {
	To    string        // folder; "" makes none
	Every time.Duration // from one to the next
	Keep  int           // how many of its own files stay there
}

// A Keeper makes backups by a plan. Its only memory is what ReadLast says, so a restart makes none too many, and one that was made by hand
// counts, too.
type Keeper struct {
	DSN, Version string
	Plan         func() Plan // the present one
	Log          *zap.Logger
	Now          func() time.Time

	mu     sync.Mutex
	failed Failure
}

// A Failure is why the last planned backup was not made; zero when it was.
type Failure struct {
	At  time.Time
	Why string
}

const (
	lookEvery  = 10 * time.Second // the plan may have changed
	againAfter = 5 * time.Minute  // after a failure
)

// Run makes backups until ctx is done. One that is under way then is given up, and nothing of it stays.
func (k *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		k.backUpIfDue(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Failed is why the last planned backup was not made.
func (k *Keeper) Failed() Failure {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// backUpIfDue makes a backup where one is due.
func (k *Keeper) backUpIfDue(ctx context.Context) {
	plan, now := k.Plan(), k.Now()
	if plan.To == "" {
		k.note(Failure{})
		return
	}
	last, err := ReadLast(k.DSN)
	if err != nil {
		k.Log.Warn("a backup is made now", zap.Error(err)) // and known from then on
	}
	if failed := k.Failed(); within(now, last.At, plan.Every) || within(now, failed.At, againAfter) {
		return
	}
	r, err := k.make(ctx, plan, now)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		k.Log.Error("no backup was made; it is tried again in five minutes", zap.String("to", plan.To), zap.Error(err))
		k.note(Failure{now, err.Error()})
		return
	}
	k.note(Failure{})
	k.Log.Info("backup made", zap.String("file", r.Path), zap.Int64("bytes", r.Bytes), zap.Duration("took", k.Now().Sub(now)))
	if err := k.prune(plan, now); err != nil {
		k.Log.Warn("old backups stay", zap.Error(err))
	}
}

// within reports whether it is less than that long since then. A time that is yet to come is of a clock that was set back, and holds nothing up.
func within(now, then time.Time, long time.Duration) bool {
	return now.Sub(then) < long && then.Sub(now) <= time.Minute
}

func (k *Keeper) note(f Failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = f
}

func (k *Keeper) make(ctx context.Context, plan Plan, now time.Time) (r Report, err error) {
	if err := os.MkdirAll(plan.To, 0o700); err != nil {
		return r, fmt.Errorf("folder of backups: %w", err)
	}
	stem, err := k.stem()
	if err != nil {
		return r, err
	}
	r, err = Make(ctx, filepath.Join(plan.To, stem+now.UTC().Format(stamp)+ending), Options{DSN: k.DSN, Version: k.Version, Replace: true})
	if err == nil {
		err = Note(k.DSN, r)
	}
	return r, err
}

const (
	stamp  = "20060102T150405Z"
	ending = ".tar.zst"
)

// stem is what the names of planned backups of this data begin with.
func (k *Keeper) stem() (string, error) {
	name := filepath.Base(engine.Path(k.DSN))
	mark, err := markOf(k.DSN)
	return strings.TrimSuffix(name, filepath.Ext(name)) + "-" + mark + "-", err
}

// prune removes planned backups of this data beyond the newest, and what planned ones that were killed left behind.
func (k *Keeper) prune(plan Plan, now time.Time) error {
	stem, err := k.stem()
	if err != nil {
		return err
	}
	all, err := os.ReadDir(plan.To)
	if err != nil {
		return err
	}
	var errs []error
	var future, past []string
	for _, one := range all {
		text, mine := strings.CutPrefix(one.Name(), stem)
		text, cut := strings.CutSuffix(text, unfinished)
		text, named := strings.CutSuffix(text, ending)
		at, err := time.Parse(stamp, text)
		if !mine || !named || err != nil {
			continue
		}
		path := filepath.Join(plan.To, one.Name())
		switch {
		case cut:
			errs = append(errs, removeUnfinished(path))
		case !one.Type().IsRegular():
		case at.After(now):
			future = append(future, path)
		default:
			past = append(past, path)
		}
	}
	// By time, as os.ReadDir sorts. What has a time that is yet to come was made before the clock was set back.
	whole := slices.Concat(future, past)
	for _, path := range whole[:max(0, len(whole)-plan.Keep)] {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// removeUnfinished removes what is left of a backup that was killed.
func removeUnfinished(path string) error {
	var held *sqlite.LockedError
	left, err := enterThere(path)
	switch {
	case err == nil:
		return left.leave()
	case errors.As(err, &held), errors.Is(err, fs.ErrNotExist):
		return nil // somebody writes there, or has left just now
	}
	return err
}
