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

// What names messages one by one names some, and is about a retry.
func TestNamedMessagesAreNamed(t *testing.T) {
	w := newTower(t)
	many := make([]messaging.MessageID, 201)
	for i := range many {
		many[i] = messaging.MessageID(i + 1)
	}
	for _, ids := range [][]messaging.MessageID{{}, {0}, {3, -1}, many} {
		_, planned := server.PlanRetry.Call(t.Context(), w.ask, server.RetryPlanRequest{Messages: ids})
		errs := []error{planned}
		if len(ids) > 0 {
			_, retried := server.RetryMessages.Call(t.Context(), w.ask, server.BulkRequest{Messages: ids})
			errs = append(errs, retried)
		}
		for _, err := range errs {
			if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != http.StatusBadRequest || e.Field != "messages" {
				t.Errorf("%d messages: %v", len(ids), err)
			}
		}
	}
	in := server.BulkRequest{Trigger: "welcome", Messages: []messaging.MessageID{1}, As: messaging.ResolveDrop}
	_, cancelled := server.CancelMessages.Call(t.Context(), w.ask, in)
	_, resolved := server.ResolveMessages.Call(t.Context(), w.ask, in)
	for _, err := range []error{cancelled, resolved} {
		if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != http.StatusBadRequest || e.Field != "messages" {
			t.Errorf("what is no retry takes named messages: %v", err)
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
