package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// calledOff is the reason of what the order of cart 1 ended.
const calledOff = "cancelled by shop.order.created (event 2)"

// waysBack are those from sending to waiting.
var waysBack = map[string]struct {
	category messaging.Category
	doubtful bool // the phone may have it
	returns  func(t *testing.T, l *ledger, d messaging.Message)
}{
	"put off by the sender": {messaging.Marketing, false, func(_ *testing.T, l *ledger, d messaging.Message) {
		l.mustFinish(d, messaging.StateWaiting)
	}},
	"sent again in doubt by the sender": {messaging.Authentication, true, func(t *testing.T, l *ledger, d messaging.Message) {
		a := attempt(d, messaging.StateWaiting)
		a.Doubtful, a.Reason = true, "no answer"
		if err := l.Finish(l.ctx, a); err != nil {
			t.Fatal(err)
		}
	}},
	"claimed and not called for, after a crash": {messaging.Marketing, false, func(t *testing.T, l *ledger, _ messaging.Message) {
		if n, err := l.RescueClaims(l.ctx, noon.Add(time.Hour), "a new owner"); err != nil || n.Unsent != 1 {
			t.Fatal(n, err)
		}
	}},
	"sent again after a crash": {messaging.Authentication, true, func(t *testing.T, l *ledger, d messaging.Message) {
		if err := l.BeginCall(0, d.ID, d.Attempt); err != nil {
			t.Fatal(err)
		}
		if n, err := l.RescueClaims(l.ctx, noon.Add(time.Hour), "a new owner"); err != nil || n.Doubtful != 1 {
			t.Fatal(n, err)
		}
	}},
	"sent again by a person": {messaging.Marketing, false, func(t *testing.T, l *ledger, d messaging.Message) {
		if err := l.Resolve(l.ctx, d.ID, messaging.ResolveResend, "by hand"); err != nil {
			t.Fatal(err)
		}
	}},
}

// meanwhiles are what may have happened since the claim.
var meanwhiles = map[string]struct {
	happens func(t *testing.T, l *ledger, d messaging.Message)
	want    messaging.State // of what surely did not arrive
	why     string
}{
	"nothing":   {func(*testing.T, *ledger, messaging.Message) {}, messaging.StateWaiting, ""},
	"its order": {func(_ *testing.T, l *ledger, _ messaging.Message) { l.mustAccept(order("1")) }, messaging.StateCancelled, calledOff},
	"its order, which is forgotten": {func(_ *testing.T, l *ledger, _ messaging.Message) {
		l.mustAccept(order("1"))
		l.at(noon.Add(48 * time.Hour))
	}, messaging.StateCancelled, calledOff},
	"its order, which is not remembered at all": {func(_ *testing.T, l *ledger, _ messaging.Message) {
		l.mustAccept(order("1", func(p *messaging.Plan) { p.Proposals[0].Forget = time.Time{} }))
	}, messaging.StateCancelled, calledOff},
	"two orders": {func(_ *testing.T, l *ledger, _ messaging.Message) {
		l.mustAccept(order("1"))
		l.mustAccept(order("1", dedupe("second")))
	}, messaging.StateCancelled, calledOff},
	"an order of the phone without a key": {func(_ *testing.T, l *ledger, _ messaging.Message) {
		l.mustAccept(order("", dedupe("o")))
	}, messaging.StateCancelled, calledOff},
	"an order of the phone from before its cart": {func(_ *testing.T, l *ledger, _ messaging.Message) {
		l.mustAccept(order("", dedupe("o"), func(p *messaging.Plan) { p.Proposals[0].EventAt = noon.Add(-time.Hour) }))
	}, messaging.StateWaiting, ""},
	"an order of another cart": {func(_ *testing.T, l *ledger, _ messaging.Message) { l.mustAccept(order("2")) }, messaging.StateWaiting, ""},
	"an order of another phone": {func(_ *testing.T, l *ledger, _ messaging.Message) {
		l.mustAccept(order("", dedupe("o"), phone("447700900999")))
	}, messaging.StateWaiting, ""},
	"an order for another trigger": {func(_ *testing.T, l *ledger, _ messaging.Message) {
		l.mustAccept(order("1", func(p *messaging.Plan) { p.Proposals[0].Correlation.Trigger = "other" }))
	}, messaging.StateWaiting, ""},
	"its contact was blocked": {func(t *testing.T, l *ledger, d messaging.Message) {
		if _, err := l.Block(l.ctx, []store.Block{{Phone: d.Phone, Reason: "asked for it"}}); err != nil {
			t.Fatal(err)
		}
	}, messaging.StateDropped, "the contact is blocked: asked for it"},
	"everything was halted": {func(t *testing.T, l *ledger, _ messaging.Message) {
		if err := l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}); err != nil {
			t.Fatal(err)
		}
	}, messaging.StateWaiting, ""},
}

// back walks every way back to waiting against everything that may have happened since the claim.
func (s suite) back(t *testing.T) {
	for way := range waysBack {
		for what := range meanwhiles {
			t.Run(way+", meanwhile "+what, func(t *testing.T) { s.comesBack(t, way, what) })
		}
	}
	t.Run("an order between the first return and the second call cancels what waits", s.anOrderBeforeTheSecondCallCancels)
	t.Run("an order during the call changes nothing where the service takes it", s.anOrderDuringTheCallChangesNothing)
	t.Run("what was called off stays so over a restart of the store", s.whatWasCalledOffStaysSo)
}

func (s suite) anOrderBeforeTheSecondCallCancels(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1")
	l.mustFinish(d, messaging.StateWaiting)
	l.mustAccept(order("1"))
	if got := l.message(d.ID); got.State != messaging.StateCancelled || got.Reason != calledOff {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
}

func (s suite) anOrderDuringTheCallChangesNothing(t *testing.T) {
	for _, state := range []messaging.State{messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt, messaging.StateDropped} {
		l := s.open(t)
		d := l.claimed("1")
		l.mustAccept(order("1"))
		l.mustFinish(d, state)
		if got := l.message(d.ID); got.State != state {
			t.Errorf("%s, want %s", got.State, state)
		}
	}
}

func (s suite) whatWasCalledOffStaysSo(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1")
	l.mustFinish(d, messaging.StateInDoubt)
	l.mustAccept(order("1"))
	l.close()
	l = reopen(t, l.dsn)
	l.must(l.Resolve(l.ctx, d.ID, messaging.ResolveResend, "by hand"))
	if got := l.message(d.ID); got.State != messaging.StateCancelled || got.Reason != calledOff+"; by hand" {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
}

func (s suite) comesBack(t *testing.T, way, what string) {
	w, m := waysBack[way], meanwhiles[what]
	l := s.open(t)
	l.at(noon.Add(time.Hour))
	if _, err := l.RescueClaims(l.ctx, noon, owner); err != nil {
		t.Fatal(err)
	}
	d := l.claimed("1", category(w.category))
	if way == "sent again by a person" {
		l.mustFinish(d, messaging.StateInDoubt)
	}
	m.happens(t, l, d)
	w.returns(t, l, d)
	want, got := m.want, l.message(d.ID)
	if want == messaging.StateDropped && w.category == messaging.Authentication {
		want = messaging.StateWaiting // a code that is asked for by logging in comes all the same
	}
	matches := strings.HasPrefix(got.Reason, m.why)
	if want != messaging.StateWaiting && w.doubtful {
		want, matches = messaging.StateInDoubt, strings.HasSuffix(got.Reason, "; not sent again: "+m.why)
	}
	if got.State != want || want != messaging.StateWaiting && !matches {
		t.Fatalf("%s: %q; want %s because %q", got.State, got.Reason, want, m.why)
	}
	claims := l.mustClaim(noon.Add(2*time.Hour), 5)
	if again := want == messaging.StateWaiting && what != "everything was halted"; len(claims) > 1 || again != (len(claims) == 1) {
		t.Errorf("claimed again: %+v", claims)
	}
	look := l.factsOf(&d).CalledOff
	if off := want == messaging.StateCancelled; off && look != calledOff || m.why == "" && look != "" {
		t.Errorf("the last look sees %q", look)
	}
	l.recount()
}
