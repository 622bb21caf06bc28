package suite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
)

// A gate stops the flusher inside a Settle, so that a test can decide what waits behind it.
type gate struct {
	l       *ledger
	entered chan string   // trigger whose Settle is held
	open    chan struct{} // each token lets one Settle go on
	done    chan error    // of the holder
}

// hold lets an event into the flusher and stops there. Settle is then by the trigger's name:
// "hold" waits for a token, "panic" panics, all others insert.
func hold(l *ledger) *gate {
	g := &gate{l: l, entered: make(chan string, 8), open: make(chan struct{}, 8), done: make(chan error, 1)}
	l.settleBy(func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		switch w.Decision.Trigger {
		case "hold":
			g.entered <- w.Decision.Key
			<-g.open
		case "panic":
			panic("poisoned")
		}
		return insert(w, f)
	})
	go func() {
		_, err := l.Accept(l.ctx, []messaging.Plan{cart("holder", trigger("hold"))})
		g.done <- err
	}()
	<-g.entered
	return g
}

// queued waits until n events wait behind the gate.
func (g *gate) queued(n int) {
	g.l.t.Helper()
	until(g.l.t, "the events wait", func() bool { return g.l.Stats().Queued == n })
}

func (s suite) group(t *testing.T) {
	t.Run("one bad event among many costs nobody else anything", s.oneBadEventCostsNobodyElseAnything)
	t.Run("nobody is answered, and nothing is seen, before the commit", s.nobodyIsAnsweredBeforeTheCommit)
	t.Run("a caller that leaves before its turn stores nothing", s.aCallerThatLeavesBeforeItsTurnStoresNothing)
	t.Run("whoever leaves in the middle of its turn is told that it may be stored, and it is known when it comes again", s.whoeverLeavesInItsTurnIsToldThatItMayBeStored)
	t.Run("beyond the limit events are refused, and outcomes still pass", s.beyondTheLimitEventsAreRefused)
	t.Run("close lets in what waits and refuses what comes after", s.closeLetsInWhatWaits)
}

func (s suite) oneBadEventCostsNobodyElseAnything(t *testing.T) {
	l := s.openNarrow(t)
	g := hold(l)
	const n = 60
	results := make(chan error, n)
	for i := range n {
		name := "remind"
		if i == n/2 {
			name = "panic"
		}
		go func() {
			got, err := l.Accept(l.ctx, []messaging.Plan{cart(fmt.Sprint(i), trigger(name))})
			if err == nil && (got[0].Duplicate || len(got[0].Decisions) != 1 || got[0].Decisions[0].MessageID == 0) {
				err = fmt.Errorf("receipt %+v", got[0])
			}
			results <- err
		}()
	}
	g.queued(n)
	g.open <- struct{}{}
	var failed []error
	for range n {
		if err := <-results; err != nil {
			failed = append(failed, err)
		}
	}
	if _, ok := errors.AsType[*commit.PanicError](errors.Join(failed...)); !ok || len(failed) != 1 {
		t.Errorf("%d failed: %v", len(failed), failed)
	}
	if err := <-g.done; err != nil {
		t.Error(err)
	}
	l.totals(map[string]int64{"events": n, "messages": n, "decisions_planned": n})
	rows, err := l.Events(l.ctx, store.EventFilter{Limit: 1000})
	if err != nil || len(rows) != n {
		t.Errorf("%d events (%v)", len(rows), err)
	}
}

func (s suite) nobodyIsAnsweredBeforeTheCommit(t *testing.T) {
	l := s.openNarrow(t)
	g := hold(l)
	var answered atomic.Bool
	first := make(chan error, 1)
	go func() {
		_, err := l.Accept(l.ctx, []messaging.Plan{cart("first")})
		answered.Store(true)
		first <- err
	}()
	g.queued(1)
	last := make(chan error, 1)
	go func() {
		_, err := l.Accept(l.ctx, []messaging.Plan{cart("last", trigger("hold"))})
		last <- err
	}()
	g.queued(2)
	g.open <- struct{}{} // the holder's group ends; the next has both, the second held
	if err := <-g.done; err != nil {
		t.Fatal(err)
	}
	<-g.entered
	// The first one's rows are written by now, in the open transaction.
	if answered.Load() {
		t.Error("answered before its commit")
	}
	rows, err := l.Events(l.ctx, store.EventFilter{})
	if err != nil || len(rows) != 1 {
		t.Errorf("%d events are seen (%v)", len(rows), err)
	}
	g.open <- struct{}{}
	if err := errors.Join(<-first, <-last); err != nil {
		t.Error(err)
	}
	if rows, err = l.Events(l.ctx, store.EventFilter{}); err != nil || len(rows) != 3 {
		t.Errorf("%d events in the end (%v)", len(rows), err)
	}
}

func (s suite) aCallerThatLeavesBeforeItsTurnStoresNothing(t *testing.T) {
	l := s.openNarrow(t)
	g := hold(l)
	ctx, leave := context.WithCancel(l.ctx)
	gone := make(chan error, 1)
	go func() {
		_, err := l.Accept(ctx, []messaging.Plan{cart("gone")})
		gone <- err
	}()
	g.queued(1)
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	g.queued(0)
	g.open <- struct{}{}
	if err := <-g.done; err != nil {
		t.Fatal(err)
	}
	l.totals(map[string]int64{"events": 1})
}

func (s suite) whoeverLeavesInItsTurnIsToldThatItMayBeStored(t *testing.T) {
	l := s.openNarrow(t)
	ctx, leave := context.WithCancel(l.ctx)
	entered, open := make(chan struct{}), make(chan struct{})
	l.settleBy(func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		close(entered)
		<-open
		return insert(w, f)
	})
	done := make(chan error, 1)
	go func() {
		_, err := l.Accept(ctx, []messaging.Plan{cart("1")})
		done <- err
	}()
	<-entered
	leave()
	if err := <-done; !errors.Is(err, commit.ErrUnanswered) {
		t.Errorf("it was told %v", err)
	}
	close(open)
	l.settleBy(insert)
	if again := l.mustAccept(cart("1")); !again.Duplicate {
		t.Error("it is not known")
	}
	l.totals(map[string]int64{"events": 1})
}

func (s suite) beyondTheLimitEventsAreRefused(t *testing.T) {
	l := s.openNarrow(t)
	d := l.claimed("sent")
	g := hold(l)
	limit := l.Stats().Limit
	results := make(chan error, limit)
	for i := range limit {
		go func() {
			results <- l.RejectRequest(l.ctx, messaging.RejectedRequest{Connector: fmt.Sprint(i), At: noon})
		}()
	}
	g.queued(limit)
	_, err := l.Accept(l.ctx, []messaging.Plan{cart("one too many")})
	wantErr(t, err, "too many events are waiting to be stored; try again in a moment")
	if !errors.Is(err, commit.ErrOverloaded) {
		t.Error("not ErrOverloaded")
	}
	finished := make(chan error, 1)
	go func() { finished <- l.Finish(l.ctx, attempt(d, messaging.StateAccepted)) }()
	until(t, "the outcome waits", func() bool { return l.Stats().QueuedWork == 1 })
	g.open <- struct{}{}
	for range limit {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(<-finished, <-g.done); err != nil {
		t.Error(err)
	}
}

func (s suite) closeLetsInWhatWaits(t *testing.T) {
	l := s.openNarrow(t)
	g := hold(l)
	waiting := make(chan error, 1)
	go func() {
		_, err := l.Accept(l.ctx, []messaging.Plan{cart("waiting")})
		waiting <- err
	}()
	g.queued(1)
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	until(t, "the store closes", func() bool {
		ctx, leave := context.WithTimeout(l.ctx, time.Millisecond)
		defer leave()
		_, err := l.Accept(ctx, nil)
		return errors.Is(err, commit.ErrClosed)
	})
	g.open <- struct{}{}
	if err := errors.Join(<-waiting, <-g.done, <-closed); err != nil {
		t.Fatal(err)
	}
	_, err := l.Accept(l.ctx, []messaging.Plan{cart("late")})
	wantErr(t, err, "the store is closed")
	again := reopen(t, l.dsn)
	again.totals(map[string]int64{"events": 2})
}
