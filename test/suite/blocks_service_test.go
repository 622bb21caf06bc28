package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// serviceBlocks is the service's word that a contact wants no messages.
func (s suite) serviceBlocks(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	const hers = "447700900123"
	blocks := func(l *ledger) string {
		t.Helper()
		all, err := l.Blocks(l.ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		words := ""
		for _, b := range all {
			words += fmt.Sprintf("%s by %s: %s\n", b.Phone, b.Source, b.Reason)
		}
		return words
	}
	start := func(l *ledger, when time.Time) {
		p := cart("", phone(hers), dedupe("start"))
		p.Event.Kind = "contact.subscribed"
		p.Proposals[0] = messaging.Proposal{
			Decision:    messaging.Decision{Trigger: messaging.OptOut, Outcome: messaging.Allowed, At: when},
			Correlation: messaging.Correlation{Trigger: messaging.OptOut, Phone: hers}, EventAt: when,
		}
		l.mustAccept(p)
	}
	const byService = hers + " by the service: recipient has opted out\n"
	for name, c := range map[string]struct {
		before, after func(l *ledger)
		want          string
	}{
		"the service blocks":                        {want: byService},
		"a person's block stays a person's":         {before: func(l *ledger) { l.person(hers) }, want: hers + " by by hand: \n"},
		"a person's block afterwards is a person's": {after: func(l *ledger) { l.person(hers); start(l, at.Add(time.Hour)) }, want: hers + " by by hand: \n"},
		"a person allows": {after: func(l *ledger) {
			if err := l.Allow(l.ctx, hers); err != nil {
				t.Fatal(err)
			}
		}},
		"a later start allows":             {after: func(l *ledger) { start(l, at.Add(time.Hour)) }},
		"an earlier start changes nothing": {after: func(l *ledger) { start(l, at.Add(-time.Hour)) }, want: byService},
	} {
		for _, how := range []string{"rejected", "failed"} {
			t.Run(name+", "+how, func(t *testing.T) {
				l := s.open(t)
				l.at(at)
				d, waiting := l.claimed("1"), l.enqueue("2")
				if c.before != nil {
					c.before(l)
				}
				if how == "rejected" {
					l.refused(d, messaging.StateRejected, messaging.ErrorOptOut, "recipient has opted out", at)
				} else {
					l.refused(d, messaging.StateAccepted, "", "", at)
					l.says(d.ID, messaging.StatusFailed, messaging.ErrorOptOut, "recipient has opted out", at)
				}
				if c.after != nil {
					c.after(l)
				}
				if got := blocks(l); got != c.want {
					t.Errorf("blocked: %q, want %q", got, c.want)
				}
				l.mustClaim(at, 9)
				if state := l.message(waiting).State; (state == messaging.StateDropped) != (c.want != "") {
					t.Errorf("what waits is %s", state)
				}
			})
		}
	}
}
