package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

func (s suite) people(t *testing.T) {
	t.Run("a waiting message is cancelled with the reason", s.aWaitingMessageIsCancelledWithTheReason)
	t.Run("what does not wait cannot be cancelled", s.whatDoesNotWaitCannotBeCancelled)
	t.Run("doubt is resolved as told", s.doubtIsResolvedAsTold)
	t.Run("only doubt can be resolved, and only as one of three", s.onlyDoubtCanBeResolved)
}

func (s suite) aWaitingMessageIsCancelledWithTheReason(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1")
	l.must(l.CancelMessage(l.ctx, id, "by hand: wrong list"))
	d := l.message(id)
	if d.State != messaging.StateCancelled || d.Reason != "by hand: wrong list" {
		t.Errorf("%s: %s", d.State, d.Reason)
	}
}

func (s suite) whatDoesNotWaitCannotBeCancelled(t *testing.T) {
	l := s.open(t)
	wantErr(t, l.CancelMessage(l.ctx, 7, ""), "message 7: not found")
	d := l.claimed("1")
	wantErr(t, l.CancelMessage(l.ctx, d.ID, ""), "message 1 is being sent at this moment (sending); this needs one that is waiting")
	l.mustFinish(d, messaging.StateAccepted)
	err := l.CancelMessage(l.ctx, d.ID, "")
	wantErr(t, err, "message 1 was accepted by the service already (accepted); this needs one that is waiting")
	var state *store.StateError
	if !errors.As(err, &state) || state.ID != d.ID || state.State != messaging.StateAccepted || state.Want != messaging.StateWaiting {
		t.Errorf("%#v", state)
	}
}

func (s suite) doubtIsResolvedAsTold(t *testing.T) {
	tests := map[messaging.Resolution]messaging.State{
		messaging.ResolveAccepted: messaging.StateAccepted,
		messaging.ResolveResend:   messaging.StateWaiting,
		messaging.ResolveDrop:     messaging.StateDropped,
	}
	for resolution, want := range tests {
		t.Run(string(resolution), func(t *testing.T) {
			l := s.open(t)
			d := l.claimed("1", expires(noon.Add(7*time.Hour)))
			l.lapse()
			later := noon.Add(100 * time.Hour)
			l.at(later)
			l.must(l.Resolve(l.ctx, d.ID, resolution, "she called"))
			got := l.message(d.ID)
			if got.State != want || got.Reason != "she called" {
				t.Errorf("%s: %s", got.State, got.Reason)
			}
			l.totals(map[string]int64{"messages_untracked": 0}) // a person's word is no answer of the service
			if has := got.Status != ""; has != (want == messaging.StateAccepted) {
				t.Errorf("status %q", got.Status)
			}
			if resolution != messaging.ResolveResend {
				return
			}
			same(t, "due and expiry", []time.Time{later, later.Add(6 * time.Hour)}, []time.Time{got.DueAt, got.ExpiresAt})
			if again := l.mustClaim(later, 1); len(again) != 1 || again[0].Attempt != 2 {
				t.Errorf("claimed %+v", again)
			}
		})
	}
}

func (s suite) onlyDoubtCanBeResolved(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1")
	wantErr(t, l.Resolve(l.ctx, id, messaging.ResolveDrop, ""), "message 1 still waits for its time (waiting); this needs one that is in_doubt")
	wantErr(t, l.Resolve(l.ctx, 9, messaging.ResolveDrop, ""), "message 9: not found")
	wantErr(t, l.Resolve(l.ctx, id, "maybe", ""), `resolve message 1: unknown resolution "maybe"; want accepted, resend or drop`)
}
