package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/report"
)

// erased carries out all orders to forget somebody.
func (l *ledger) erased() {
	l.t.Helper()
	all, err := l.privacy().Erasures(l.ctx)
	if err == nil {
		_, err = l.privacy().Erase(l.ctx, all)
	}
	if err == nil {
		err = l.privacy().Erased(l.ctx, all)
	}
	if err == nil {
		_, err = l.Wipe(l.ctx, privacy.Finder(all))
	}
	if due, asked := l.WipeDue(l.ctx); err == nil && (due || asked != nil) {
		l.t.Errorf("what forgetting left is still to be cleared away (%v)", asked)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// erasures are what could undo one: a look-up that was under way, and a request that comes again; each where the contact stays
// blocked, and where it was allowed again.
func (s suite) erasures(t *testing.T) {
	const who = messaging.Phone("447700900123")
	forget := func(l *ledger, carriedOut, allowed bool) {
		l.t.Helper()
		l.must(l.Forget(l.ctx, []messaging.Phone{who}, "by hand"))
		if carriedOut {
			l.erased()
		}
		if !allowed {
			return
		}
		l.must(l.Allow(l.ctx, who))
		if blocked, err := l.Blocked(l.ctx, []messaging.Phone{who}); err != nil || blocked[who] != "" {
			l.t.Errorf("blocked although it was allowed again (%v)", err)
		}
	}
	for name, tt := range map[string]struct{ carriedOut, allowed bool }{
		"ordered": {}, "ordered, and allowed again": {false, true}, "carried out": {true, false}, "carried out, and allowed again": {true, true},
	} {
		t.Run("a look-up under way brings nothing back: "+name, func(t *testing.T) {
			l := s.open(t)
			r := l.mustAccept(later("a"))
			got := l.claimLookups(noon, 1)
			forget(l, tt.carriedOut, tt.allowed)
			done, err := l.Complete(l.ctx, got[0], found(got[0].Event))
			l.must(err)
			if len(done.Decisions) != 1 || done.Decisions[0].Outcome != messaging.Skipped || !strings.Contains(done.Decisions[0].Reason, "was forgotten") {
				t.Errorf("decisions: %+v", done.Decisions)
			}
			e := l.eventRow(r.EventID)
			if e.Contact.Phone != "" || len(e.Payload) > 0 || !e.Forgotten || e.Lookup != nil {
				t.Errorf("the event is %+v", e)
			}
			if c, err := (report.Records{Store: l.Store}).Counts(l.ctx); err != nil || c.Waiting != 0 || c.Lookups != 0 {
				t.Errorf("counts %+v (%v)", c, err)
			}
		})
	}
	t.Run("a look-up of an event that came afterwards plans", func(t *testing.T) {
		l := s.open(t)
		forget(l, true, true)
		p := later("a")
		p.Event.ReceivedAt = time.Now().Add(time.Hour).UTC()
		l.mustAccept(p)
		got := l.claimLookups(p.Event.ReceivedAt.Add(time.Second), 1)
		done, err := l.Complete(l.ctx, got[0], found(got[0].Event))
		if err != nil || len(done.Decisions) != 1 || done.Decisions[0].Outcome != messaging.Planned {
			t.Errorf("decisions: %+v (%v)", done.Decisions, err)
		}
	})
	for name, allowed := range map[string]bool{"forgotten": false, "forgotten, and allowed again": true} {
		t.Run("a request that comes again is known: "+name, func(t *testing.T) {
			l := s.open(t)
			p := cart("a")
			first := l.mustAccept(p)
			forget(l, true, allowed)
			l.erased()
			story := l.eventRow(first.EventID)
			if strings.Contains(story.DedupeKey, p.Event.DedupeKey) || !story.Forgotten {
				t.Errorf("the event is %+v", story)
			}
			if again := l.mustAccept(p); !again.Duplicate || again.EventID != first.EventID {
				t.Errorf("it came again as %+v", again)
			}
			other := p
			other.Event.DedupeKey = "another"
			if again := l.mustAccept(other); again.Duplicate {
				t.Errorf("another is taken for it")
			}
		})
	}
}
