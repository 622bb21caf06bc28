package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// calledOff is the reason of what the order of cart 1 ended.
const calledOff = "cancelled by shop.order.created (event 2)"

// waysBack are those from sending to waiting.
var waysBack = map[string]struct {
	category nudgewire.Category
	doubtful bool // the phone may have it
	returns  func(t *testing.T, l *ledger, d nudgewire.Message)
}{
	"put off by the sender": {nudgewire.Marketing, false, func(_ *testing.T, l *ledger, d nudgewire.Message) {
		l.mustFinish(d, nudgewire.StateWaiting)
	}},
	"sent again in doubt by the sender": {nudgewire.Authentication, true, func(t *testing.T, l *ledger, d nudgewire.Message) {
		a := attempt(d, nudgewire.StateWaiting)
		a.Doubtful, a.Reason = true, "no answer"
		if err := l.Finish(l.ctx, a); err != nil {
			t.Fatal(err)
		}
	}},
	"claimed and not called for, after a crash": {nudgewire.Marketing, false, func(t *testing.T, l *ledger, _ nudgewire.Message) {
		if n, err := l.RescueClaims(l.ctx, noon.Add(time.Hour), "a new owner"); err != nil || n.Unsent != 1 {
			t.Fatal(n, err)
		}
	}},
	"sent again after a crash": {nudgewire.Authentication, true, func(t *testing.T, l *ledger, d nudgewire.Message) {
		if err := l.BeginCall(0, d.ID, d.Attempt); err != nil {
			t.Fatal(err)
		}
		if n, err := l.RescueClaims(l.ctx, noon.Add(time.Hour), "a new owner"); err != nil || n.Doubtful != 1 {
			t.Fatal(n, err)
		}
	}},
	"sent again by a person": {nudgewire.Marketing, false, func(t *testing.T, l *ledger, d nudgewire.Message) {
		if err := l.Resolve(l.ctx, d.ID, nudgewire.ResolveResend, "by hand"); err != nil {
			t.Fatal(err)
		}
	}},
}

// meanwhiles are what may have happened since the claim.
var meanwhiles = map[string]struct {
	happens func(t *testing.T, l *ledger, d nudgewire.Message)
	want    nudgewire.State // of what surely did not arrive
	why     string
}{
	"nothing":   {func(*testing.T, *ledger, nudgewire.Message) {}, nudgewire.StateWaiting, ""},
	"its order": {func(_ *testing.T, l *ledger, _ nudgewire.Message) { l.mustAccept(order("1")) }, nudgewire.StateCancelled, calledOff},
	"its order, which is forgotten": {func(_ *testing.T, l *ledger, _ nudgewire.Message) {
		l.mustAccept(order("1"))
		l.at(noon.Add(48 * time.Hour))
	}, nudgewire.StateCancelled, calledOff},
	"its order, which is not remembered at all": {func(_ *testing.T, l *ledger, _ nudgewire.Message) {
		l.mustAccept(order("1", func(p *nudgewire.Plan) { p.Proposals[0].Forget = time.Time{} }))
	}, nudgewire.StateCancelled, calledOff},
	"two orders": {func(_ *testing.T, l *ledger, _ nudgewire.Message) {
		l.mustAccept(order("1"))
		l.mustAccept(order("1", dedupe("second")))
	}, nudgewire.StateCancelled, calledOff},
	"an order of the phone without a key": {func(_ *testing.T, l *ledger, _ nudgewire.Message) {
		l.mustAccept(order("", dedupe("o")))
	}, nudgewire.StateCancelled, calledOff},
	"an order of the phone from before its cart": {func(_ *testing.T, l *ledger, _ nudgewire.Message) {
		l.mustAccept(order("", dedupe("o"), func(p *nudgewire.Plan) { p.Proposals[0].EventAt = noon.Add(-time.Hour) }))
	}, nudgewire.StateWaiting, ""},
	"an order of another cart": {func(_ *testing.T, l *ledger, _ nudgewire.Message) { l.mustAccept(order("2")) }, nudgewire.StateWaiting, ""},
	"an order of another phone": {func(_ *testing.T, l *ledger, _ nudgewire.Message) {
		l.mustAccept(order("", dedupe("o"), phone("447700900999")))
	}, nudgewire.StateWaiting, ""},
	"an order for another trigger": {func(_ *testing.T, l *ledger, _ nudgewire.Message) {
		l.mustAccept(order("1", func(p *nudgewire.Plan) { p.Proposals[0].Correlation.Trigger = "other" }))
	}, nudgewire.StateWaiting, ""},
	"its contact was blocked": {func(t *testing.T, l *ledger, d nudgewire.Message) {
		if _, err := l.Block(l.ctx, []store.Block{{Phone: d.Phone, Reason: "asked for it"}}); err != nil {
			t.Fatal(err)
		}
	}, nudgewire.StateDropped, "the contact is blocked: asked for it"},
	"everything was halted": {func(t *testing.T, l *ledger, _ nudgewire.Message) {
		if err := l.Hold(l.ctx, nudgewire.Hold{Scope: nudgewire.ScopeAll, Kind: nudgewire.HoldHalt}); err != nil {
			t.Fatal(err)
		}
	}, nudgewire.StateWaiting, ""},
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
	l.mustFinish(d, nudgewire.StateWaiting)
	l.mustAccept(order("1"))
	if got := l.message(d.ID); got.State != nudgewire.StateCancelled || got.Reason != calledOff {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
}

func (s suite) anOrderDuringTheCallChangesNothing(t *testing.T) {
	for _, state := range []nudgewire.State{nudgewire.StateAccepted, nudgewire.StateRejected, nudgewire.StateInDoubt, nudgewire.StateDropped} {
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
	l.mustFinish(d, nudgewire.StateInDoubt)
	l.mustAccept(order("1"))
	l.close()
	l = reopen(t, l.dsn)
	l.must(l.Resolve(l.ctx, d.ID, nudgewire.ResolveResend, "by hand"))
	if got := l.message(d.ID); got.State != nudgewire.StateCancelled || got.Reason != calledOff+"; by hand" {
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
		l.mustFinish(d, nudgewire.StateInDoubt)
	}
	m.happens(t, l, d)
	w.returns(t, l, d)
	want, got := m.want, l.message(d.ID)
	if want == nudgewire.StateDropped && w.category == nudgewire.Authentication {
		want = nudgewire.StateWaiting // a code that is asked for by logging in comes all the same
	}
	matches := strings.HasPrefix(got.Reason, m.why)
	if want != nudgewire.StateWaiting && w.doubtful {
		want, matches = nudgewire.StateInDoubt, strings.HasSuffix(got.Reason, "; not sent again: "+m.why)
	}
	if got.State != want || want != nudgewire.StateWaiting && !matches {
		t.Fatalf("%s: %q; want %s because %q", got.State, got.Reason, want, m.why)
	}
	claims := l.mustClaim(noon.Add(2*time.Hour), 5)
	if again := want == nudgewire.StateWaiting && what != "everything was halted"; len(claims) > 1 || again != (len(claims) == 1) {
		t.Errorf("claimed again: %+v", claims)
	}
	look := l.factsOf(&d).CalledOff
	if off := want == nudgewire.StateCancelled; off && look != calledOff || m.why == "" && look != "" {
		t.Errorf("the last look sees %q", look)
	}
	l.recount()
}
