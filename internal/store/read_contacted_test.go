package store

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A forecast without a daemon asks data that nobody writes, also as a crash left it: it is told the same.
func TestWhoWasMessagedIsKnownWithoutADaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Settle: planAll})
	failIf(t, err)
	phones, now := []messaging.Phone{"447700900123", "447700900999", "447700900555"}, time.Now()
	for i, phone := range []messaging.Phone{phones[0], phones[1], phones[1], phones[0]} {
		p := testPlan(fmt.Sprint(i))
		p.Event.Contact.Phone, p.Proposals[0].Correlation.Phone, p.Proposals[0].Message.Phone = phone, phone, phone
		if i == 3 {
			p.Proposals = []messaging.Proposal{{Decision: messaging.Decision{Trigger: messaging.Erasure, Outcome: messaging.ForgettingAll}}}
		}
		_, err := s.Accept(t.Context(), []messaging.Plan{p})
		failIf(t, err)
		due, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "me", Now: now, Lease: time.Hour, Marketing: 3})
		failIf(t, err)
		for _, d := range due {
			failIf(t, s.Finish(t.Context(), messaging.Attempt{MessageID: d.ID, Owner: "me", Number: 1, State: messaging.StateAccepted, At: now, Message: &messaging.Message{
				ServiceID: messaging.ServiceID(fmt.Sprint(d.ID)), Phone: d.Phone, Category: d.Category, Status: messaging.StatusAccepted, NextPollAt: now,
			}}))
		}
	}
	ask := func(s *Store) (sent []messaging.Contacted, redacting map[messaging.Phone]string) {
		t.Helper()
		sent, err := s.SentTo(t.Context(), phones, now.Add(-time.Hour))
		failIf(t, err)
		slices.SortFunc(sent, func(a, b messaging.Contacted) int { return cmp.Compare(a.ID, b.ID) })
		redacting, err = s.Redacting(t.Context(), phones)
		failIf(t, err)
		return sent, redacting
	}
	sent, redacting := ask(s)
	if len(sent) != 3 || len(redacting) != 2 {
		t.Fatalf("%+v, %v", sent, redacting)
	}
	crashed := copyData(t, path)
	failIf(t, s.Close())
	for _, path := range []string{path, crashed} {
		s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true})
		failIf(t, err)
		beside, asked := ask(s)
		failIf(t, s.Close())
		if diff := gocmp.Diff(sent, beside); diff != "" {
			t.Errorf("sent (-by the writer +beside):\n%s", diff)
		}
		if diff := gocmp.Diff(redacting, asked); diff != "" {
			t.Errorf("to be forgotten (-by the writer +beside):\n%s", diff)
		}
	}
}
