package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// retryByClass is a person's order about messages of one class.
func (s suite) retryByClass(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.at(at)
	d := l.claimed("1")
	l.refused(d, messaging.StateRejected, "", "gateway is busy", at)
	l.refused(l.claimed("2"), messaging.StateRejected, messaging.ErrorPermanent, "invalid phone", at)
	rules, _ := messaging.CompileErrorRules([]messaging.ErrorRule{{Match: "gateway is busy", Class: messaging.ErrorRetry}})
	order := func(now time.Time, dry bool) (went, stayed []store.Tally) {
		t.Helper()
		went, stayed, err := l.Retry(l.ctx, store.Retry{
			Filter: store.MessageFilter{State: messaging.StateRejected}, Now: now, DryRun: dry, Ended: now.Add(-time.Hour), Expires: 6 * time.Hour,
			OfClass: func(words string, _ messaging.ErrorClass) (bool, messaging.ErrorClass) {
				return rules.Class(words) == messaging.ErrorRetry, rules.Class(words)
			},
		})
		l.must(err)
		return went, stayed
	}
	went, stayed := order(at.Add(time.Minute), false)
	same(t, "too soon", []store.Tally{}, went)
	if len(stayed) != 2 {
		t.Errorf("stay: %+v", stayed)
	}
	late := at.Add(2 * time.Hour)
	for _, dry := range []bool{true, false} {
		went, stayed = order(late, dry)
		same(t, "goes", []store.Tally{{Words: "was rejected by the service: refused: gateway is busy", N: 1}}, went)
		same(t, "stays", []store.Tally{{Words: "is of class permanent", N: 1}}, stayed)
	}
	if again := l.message(3); again.State != messaging.StateWaiting || !again.ExpiresAt.Equal(late.Add(6*time.Hour)) {
		t.Errorf("%+v", again)
	}
}
