package store

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A forecast without a daemon asks data that nobody writes, also as a crash left it: it is told the same.
func TestWhoWasMessagedIsKnownWithoutADaemon(t *testing.T) {
	e := openErasing(t)
	for _, phone := range []string{forgottenPhone, otherPhone, otherPhone} {
		e.event(phone, phone)
	}
	for _, d := range e.claim(3) {
		e.finish(&d, messaging.StateAccepted)
	}
	e.event(forgottenPhone, "x", func(p *messaging.Plan) {
		p.Proposals = []messaging.Proposal{{Decision: messaging.Decision{Trigger: messaging.Erasure, Outcome: messaging.ForgettingAll}}}
	})
	phones := []messaging.Phone{forgottenPhone, otherPhone, "447700900555"}
	ask := func(s *Store) (sent []messaging.Contacted, redacting map[messaging.Phone]string) {
		t.Helper()
		sent, err := s.SentTo(t.Context(), phones, e.now.Add(-time.Hour))
		e.must(err)
		slices.SortFunc(sent, func(a, b messaging.Contacted) int { return cmp.Compare(a.ID, b.ID) })
		redacting, err = s.Redacting(t.Context(), phones)
		e.must(err)
		return sent, redacting
	}
	sent, redacting := ask(e.Store)
	if len(sent) != 3 || len(redacting) != 2 {
		t.Fatalf("%+v, %v", sent, redacting)
	}
	crashed := copyData(t, e.path)
	e.must(e.Store.Close())
	for _, path := range []string{e.path, crashed} {
		s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true})
		e.must(err)
		beside, asked := ask(s)
		e.must(s.Close())
		if diff := gocmp.Diff(sent, beside); diff != "" {
			t.Errorf("sent (-by the writer +beside):\n%s", diff)
		}
		if diff := gocmp.Diff(redacting, asked); diff != "" {
			t.Errorf("to be forgotten (-by the writer +beside):\n%s", diff)
		}
	}
}
