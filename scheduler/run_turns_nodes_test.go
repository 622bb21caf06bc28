package scheduler

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A mortal is a store whose process may die: from then on it says nothing more of its runs, not even that it gives them up.
type mortal struct {
	Store
	dead *bool
}

func (m mortal) SetRun(ctx context.Context, owner string, r messaging.Run, from ...messaging.RunState) error {
	if *m.dead {
		return errCrash
	}
	return m.Store.SetRun(ctx, owner, r, from...)
}

// A run whose process dies between two turns goes on in the next process, or at another node, with both engines: each row goes once, at its time.
// Who is blocked or forgotten in between gets nothing.
func TestTurnsOverTheDeathOfAProcess(t *testing.T) {
	for name, on := range map[string]func(t *testing.T) (dsn string, second bool){
		"SQLite, started again": func(t *testing.T) (string, bool) {
			return "sqlite:" + filepath.Join(t.TempDir(), "nudgewire.db"), false
		},
		"PostgreSQL, started again": func(t *testing.T) (string, bool) {
			address, err := testserver.ForTest(t, "fsync=off").NewDatabase(t.Context())
			must(t, err)
			return address, false
		},
		"PostgreSQL, a second node": func(t *testing.T) (string, bool) {
			address, err := testserver.ForTest(t, "fsync=off").NewDatabase(t.Context())
			must(t, err)
			return address, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			dsn, second := on(t)
			d, at := turning(t, Job{}, midnight)
			of := func(dsn string) string { // each node has a folder of its own
				if engine.OnServer(dsn) {
					return dsn + "#" + t.TempDir()
				}
				return dsn
			}
			open := func() *store.Store {
				st, err := store.Open(t.Context(), store.Options{DSN: of(dsn), Settle: triggers.Settle, Now: d.now})
				must(t, err)
				return st
			}
			work := func() {
				for range 20 {
					var runs sync.WaitGroup
					must(t, d.start(t.Context(), &runs))
					runs.Wait()
				}
			}
			first, dead := open(), false
			d.Scheduler.Store, d.Facts = mortal{first, &dead}, NewHistory(first)
			const heed = 5 * time.Minute // else a day has too many looks at the store
			sleep := d.Sleep
			d.Heed = heed
			d.Sleep = func(ctx context.Context, by time.Duration) error {
				if dead = dead || d.now().After(midnight.Add(2*time.Hour)); dead {
					return errCrash
				}
				return sleep(ctx, by)
			}
			_, err := d.Tick(t.Context(), midnight.Add(-time.Minute))
			must(t, err)
			_, err = d.Tick(t.Context(), midnight)
			must(t, err)
			work()
			if len(at) != 2 { // Tokyo
				t.Fatalf("%d rows went before the process died", len(at))
			}
			jobs := d.all()
			if !second {
				must(t, first.Close())
			}
			next := open()
			d.open("two")
			d.Use(jobs)
			d.Heed = heed
			d.Scheduler.Store, d.Facts = next, NewHistory(next)
			_, err = next.Block(t.Context(), []store.Block{{Phone: "12125550100", Reason: "by Ann", Source: "console", At: d.now()}})
			must(t, err)
			d.advance(d.Lease + time.Second)
			work()
			if second {
				must(t, first.Close())
			}
			defer func() { must(t, next.Close()) }()
			r, err := next.Run(t.Context(), 1)
			if must(t, err); r.State != messaging.RunDone || len(at) != len(world)-1 || r.Tally.Kept != int64(len(world)-1) {
				t.Errorf("%s %q: %d rows went, %d are kept", r.State, r.Reason, len(at), r.Tally.Kept)
			}
			if diff := cmp.Diff(map[string]string{
				"Europe/London": "Nov 23 10:00", "Europe/Berlin": "Nov 23 10:00", "America/New_York": "Nov 23 10:00", "Asia/Tokyo": "Nov 23 10:00",
				"Australia/Sydney": "Nov 24 10:00", "Pacific/Honolulu": "Nov 23 10:00",
			}, onTheWall(t, at)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
