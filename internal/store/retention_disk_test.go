package store_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

const day = 24 * time.Hour

// aging is a store in a file whose clock is turned by hand.
type aging struct {
	privacy.Records
	t    *testing.T
	path string
	now  time.Time
}

func openAging(t *testing.T) *aging {
	t.Helper()
	a := &aging{t: t, path: filepath.Join(t.TempDir(), "nudgewire.db"), now: benchNow}
	a.open()
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func (a *aging) open() {
	a.t.Helper()
	var err error
	a.Store, err = store.Open(a.t.Context(), store.Options{DSN: "sqlite:" + a.path, Settle: always, Now: func() time.Time { return a.now }})
	a.must(err)
}

func (a *aging) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *aging) accept(n int, plan func(i int) messaging.Plan) {
	a.t.Helper()
	plans := make([]messaging.Plan, n)
	for i := range plans {
		plans[i] = plan(i)
		plans[i].Event.ReceivedAt = a.now
	}
	_, err := a.Accept(a.t.Context(), plans)
	a.must(err)
}

func (a *aging) retain(keep privacy.Retention) privacy.RetentionRun {
	a.t.Helper()
	run, err := a.Retain(a.t.Context(), keep, a.now)
	a.must(err)
	return run
}

func (a *aging) space() store.Space {
	a.t.Helper()
	v, err := a.Space(a.t.Context())
	a.must(err)
	return v
}

// A disk that fills up while phones are masked leaves them whole or masked, and the next run goes on.
func TestAFullDiskWhilePhonesAreMasked(t *testing.T) {
	a := openAging(t)
	const waiting = 3000
	queue := func(n, first int, due time.Time) {
		t.Helper()
		a.accept(n, func(i int) messaging.Plan {
			p := benchPlan(int64(first+i), due)
			p.Proposals[0].Message.CreatedAt, p.Proposals[0].Message.ExpiresAt = a.now, due.Add(day)
			return p
		})
	}
	for begin := range waiting / 100 {
		queue(100, 100*begin, a.now.Add(300*day))
	}
	queue(1, waiting, a.now)
	due, err := a.Claim(t.Context(), messaging.ClaimRequest{Owner: "bench", Now: a.now, Lease: time.Minute, Marketing: 9})
	a.must(err)
	if len(due) != 1 {
		t.Fatalf("%d are due", len(due))
	}
	ended := benchAttempt(due[0], a.now)
	ended.Message.Status, ended.Message.NextPollAt = messaging.StatusFailed, time.Time{}
	a.must(a.Finish(t.Context(), ended))
	a.now = a.now.Add(181 * day)
	v := a.space()
	store.BoundPages(t, a.Store, (v.File-v.Free)/sqlite.PageSize)
	only := privacy.Retention{Phones: 180 * day}
	if _, err := a.Retain(t.Context(), only, a.now); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("error %v", err)
	}
	store.BoundPages(t, a.Store, 1<<20)
	a.retain(only)
	left, err := store.List(t.Context(), a.Store, `SELECT count(*) FROM messages WHERE unmasked = 1`, nil, engine.Number[int64])
	if err != nil || left[0] != waiting {
		t.Errorf("%d are looked at again (%v)", left, err)
	}
	if d, err := a.Message(t.Context(), due[0].ID); err != nil || !d.Phone.IsMasked() {
		t.Errorf("%+v (%v)", d, err)
	}
	a.must(a.Check(t.Context()))
}

// Free pages go back to the disk while the store is open, and a file of an earlier version can do so once it was compacted.
func TestTheFileGivesSpaceBack(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("laid out by an earlier version: %v", old), func(t *testing.T) {
			a := openAging(t)
			if old {
				a.must(a.Close())
				a.must(store.TryExec(t, a.path, "PRAGMA auto_vacuum = NONE; VACUUM"))
				a.open()
			}
			n := 0
			fill := func() {
				for range 30 {
					a.accept(40, func(int) messaging.Plan {
						n++
						p := benchPlan(int64(n), a.now)
						p.Event.Payload, p.Proposals = make([]byte, 28_000), nil
						_, err := rand.Read(p.Event.Payload)
						a.must(err)
						return p
					})
				}
				a.now = a.now.Add(31 * day)
			}
			fill()
			if full := a.space(); full.Gives == old || full.File < 30<<20 {
				t.Fatalf("the test is weak: %+v", full)
			}
			payloads := privacy.Retention{Payloads: 30 * day}
			run := a.retain(payloads)
			v := a.space()
			if old {
				if run.Freed != 0 || v.Free < 20<<20 {
					t.Errorf("freed %d, %+v", run.Freed, v)
				}
				a.must(a.Close())
				before, after, err := store.Compact(t.Context(), "sqlite:"+a.path)
				if err != nil || before.File < 30<<20 || after.File > 5<<20 || !after.Gives {
					t.Errorf("compacted from %+v to %+v (%v)", before, after, err)
				}
				a.open()
				fill()
				a.retain(payloads)
				v = a.space()
			}
			if v.Free > 2048*sqlite.PageSize || v.File > 15<<20 {
				t.Errorf("the file keeps %+v", v)
			}
			a.must(a.Check(t.Context()))
			if e, err := a.Event(t.Context(), 7); err != nil || !e.Cleared {
				t.Errorf("%+v %v", e, err)
			}
		})
	}
}
