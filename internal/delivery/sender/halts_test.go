package sender

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// passesOver is a store that gives out nothing while everything is halted.
func passesOver(halted *atomic.Bool) func() error {
	return func() error {
		if halted.Load() {
			return errors.New("halted")
		}
		return nil
	}
}

// knowing is the last look with what tell says of each claim.
func knowing(tell func(*messaging.Message, *messaging.DueFacts) error) func(context.Context, *messaging.Message, string, time.Time) (messaging.StepVerdict, error) {
	return func(_ context.Context, d *messaging.Message, service string, now time.Time) (v messaging.StepVerdict, err error) {
		f := messaging.DueFacts{Claimed: true, Service: service}
		err = tell(d, &f)
		v.Verdict = duerules.MayGo(nil, d, &f, now)
		return v, err
	}
}

// Quiet hours that begin between a claim and its call keep it back: it waits with the due time that it had, and the next claim asks anew.
func TestTheLastLookSeesQuietHoursBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		rows := many(1, messaging.Marketing)
		due := rows[0].DueAt
		r := start(t, newMemory(rows...), &service{}, func(o *Options) {
			o.MayGo = func(_ context.Context, d *messaging.Message, _ string, now time.Time) (v messaging.StepVerdict, err error) {
				if asked.Add(1) == 1 {
					v.Verdict = messaging.Verdict{Action: messaging.DeferSend, Rule: messaging.RuleQuietHours, Reason: "quiet hours are 21:00-09:00", Until: now.Add(12 * time.Hour)}
				} else if !d.DueAt.Equal(due) {
					t.Errorf("it came back due at %s and not at %s", d.DueAt, due)
				}
				return v, nil
			}
		})
		pass(time.Minute)
		if d := r.store.row(1); asked.Load() != 2 || d.State != messaging.StateAccepted || len(r.service.made()) != 1 {
			t.Errorf("asked %d times, %s after %d calls", asked.Load(), d.State, len(r.service.made()))
		}
	})
}

// A halt reaches claims that were made before it: what waits for its call goes back with the
// due time that it had, and only the calls that had begun end as they would.
func TestTheLastLookSeesAHalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var halted atomic.Bool
		store := newMemory(many(20, messaging.Marketing)...)
		store.claimFails = passesOver(&halted)
		began := time.Now()
		r := start(t, store, &service{answer: takes(time.Minute)}, func(o *Options) {
			o.Concurrency = 4
			o.MayGo = knowing(func(d *messaging.Message, f *messaging.DueFacts) error {
				if halted.Load() && d.Trigger == "abandoned-cart" {
					f.Held = `trigger "abandoned-cart" is halted`
				}
				return nil
			})
		})
		synctest.Wait()
		underWay := len(r.service.made())
		if claimed := store.in(messaging.StateSending); underWay == 0 || claimed <= underWay {
			t.Fatalf("%d calls of %d claims: the test needs claims that wait for their call", underWay, claimed)
		}
		halted.Store(true)
		pass(2 * time.Minute)
		if n := len(r.service.made()); n != underWay {
			t.Errorf("%d calls began after the halt", n-underWay)
		}
		if a, w := store.in(messaging.StateAccepted), store.in(messaging.StateWaiting); a != underWay || w != 20-underWay {
			t.Errorf("%d accepted and %d waiting, want %d and %d", a, w, underWay, 20-underWay)
		}
		for id := range messaging.MessageID(20) {
			d := store.row(id + 1)
			if d.State != messaging.StateWaiting {
				continue
			}
			if d.Attempt > 0 && d.Reason != `not sent: trigger "abandoned-cart" is halted` {
				t.Errorf("message %d came back: %q", d.ID, d.Reason)
			}
			if !d.DueAt.Equal(began) {
				t.Errorf("message %d was due at %v and is now at %v", d.ID, began, d.DueAt)
			}
		}
		halted.Store(false)
		r.Wake(time.Now())
		pass(time.Hour)
		if a := store.in(messaging.StateAccepted); a != 20 || len(r.service.made()) != 20 {
			t.Errorf("resumed, %d are accepted after %d calls", a, len(r.service.made()))
		}
	})
}

// A block reaches claims that were made before it: they are dropped with its reason. Where the
// store cannot tell, nothing is sent until it can.
func TestTheLastLookSeesABlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const blocked messaging.Phone = "447700900199"
		rows := many(3, messaging.Marketing)
		rows[1].Phone = blocked
		broken := 2
		var asked []messaging.MessageID
		r := start(t, newMemory(rows...), &service{}, func(o *Options) {
			o.Concurrency = 1 // one look at a time
			o.MayGo = knowing(func(d *messaging.Message, f *messaging.DueFacts) error {
				asked = append(asked, d.ID)
				if broken > 0 {
					broken--
					return errors.New("the disk does not answer")
				}
				if d.Phone == blocked {
					f.Blocked = "the contact is blocked: asked for it"
				}
				return nil
			})
		})
		pass(time.Minute)
		d := r.store.row(2)
		if d.State != messaging.StateDropped || d.Reason != "the contact is blocked: asked for it" {
			t.Errorf("the blocked one is %s: %q", d.State, d.Reason)
		}
		calls := r.service.made()
		if len(calls) != 2 || slices.ContainsFunc(calls, func(m made) bool { return m.phone == string(blocked) }) {
			t.Errorf("%d calls: %+v", len(calls), calls)
		}
		if len(asked) != 5 {
			t.Errorf("asked about %v; want each once, and two again", asked)
		}
		first := r.store.attempts[1][0]
		if first.State != messaging.StateWaiting || first.Reason != "not sent: the disk does not answer" {
			t.Errorf("not to know led to %s: %q", first.State, first.Reason)
		}
	})
}

// However many claims are in hand and whoever is under way, no call begins once a halt is there:
// shown by order alone, the halt's return on one side and the begin of calls on the other.
func TestNoCallBeginsAfterAHalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var halted atomic.Bool
		var late atomic.Int32
		store := newMemory(many(500, messaging.Marketing)...)
		store.claimFails = passesOver(&halted)
		api := &service{}
		api.answer = func(ctx context.Context, n int, m made) (apiclient.Answer, error) {
			if halted.Load() {
				late.Add(1)
			}
			if n == 100 { // somebody halts everything while calls begin and end all around
				halted.Store(true)
			}
			return takes(time.Duration(n%7+1)*time.Millisecond)(ctx, n, m)
		}
		start(t, store, api, func(o *Options) {
			o.MayGo = knowing(func(_ *messaging.Message, f *messaging.DueFacts) error {
				if halted.Load() {
					f.Held = "everything is halted"
				}
				return nil
			})
		})
		pass(time.Minute)
		// A call that had looked before the halt may still begin: at most one for each place.
		if n := len(api.made()); late.Load() > 7 || n < 100 || n > 107 {
			t.Errorf("%d calls, %d of them after the halt; want at most those that had looked already", n, late.Load())
		}
		if s := store.in(messaging.StateSending); s != 0 {
			t.Errorf("%d are still held", s)
		}
	})
}
