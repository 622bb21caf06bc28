package server_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A number that nothing has is a mistake of whoever asks, and must not stand for everything.
func TestANumberOfNothingIsNotEverything(t *testing.T) {
	w := newTower(t)
	for _, in := range []server.BulkRequest{{Message: -1}, {Run: -1}} {
		cancel, resolve, retry := in, in, in
		resolve.As, retry.State = messaging.ResolveDrop, string(messaging.StateRejected)
		_, cancelled := server.CancelMessages.Call(t.Context(), w.ask, cancel)
		_, resolved := server.ResolveMessages.Call(t.Context(), w.ask, resolve)
		_, retried := server.RetryMessages.Call(t.Context(), w.ask, retry)
		for _, err := range []error{cancelled, resolved, retried} {
			if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != http.StatusBadRequest || e.Field == "" {
				t.Errorf("%+v: %v", in, err)
			}
		}
	}
}

// Reasons are counted of a state that has some: of every other, and of all together, that would walk through whatever was stored.
func TestReasonsAreCountedOfOneState(t *testing.T) {
	w := newTower(t)
	for _, state := range server.StatesWithReasons {
		if v, err := server.MessageReasons.Call(t.Context(), w.ask, server.ListQuery{State: state}); err != nil || v.Count != 0 {
			t.Errorf("%s: %+v, %v", state, v, err)
		}
	}
	for _, state := range []string{"", "accepted", "delivered", "waiting", "shadowed", "gone"} {
		_, err := server.MessageReasons.Call(t.Context(), w.ask, server.ListQuery{State: state})
		if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != http.StatusBadRequest || e.Field != "state" || e.Hint == "" {
			t.Errorf("%q: %v", state, err)
		}
	}
}
