//go:build unix

package store

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// Who waits for which lock: what two transactions take in different orders ends after a second only, by an error of one of them.
func TestWhatTransactionsDoNotWaitFor(t *testing.T) {
	server := testserver.ForTest(t, "fsync=off")
	dsn, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	settle := func(w messaging.Proposal, _ messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: w.Decision.Outcome, Insert: w.Decision.Outcome == messaging.Planned}
	}
	s, err := Open(t.Context(), Options{DSN: dsn + "#" + t.TempDir(), Settle: settle, Due: func() messaging.DueRules { return curious{} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	other, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context()) // the server goes away with it
	do := func(sql string, args ...any) {
		t.Helper()
		if _, err := other.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	plan := func(key string, phone messaging.Phone, outcome messaging.Outcome) messaging.Plan {
		p := messaging.Plan{
			Event:     messaging.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: key, OccurredAt: now, ReceivedAt: now, Contact: messaging.Contact{Phone: phone}},
			Proposals: []messaging.Proposal{{Decision: messaging.Decision{Trigger: "cart", Outcome: outcome, Reason: "it says so", At: now}}},
		}
		if outcome == messaging.Planned {
			w := &p.Proposals[0]
			w.Correlation = messaging.Correlation{Trigger: "cart", Key: key, Phone: phone}
			w.Message = messaging.Message{Trigger: "cart", Key: key, Phone: phone, Category: messaging.Marketing, DueAt: now, Send: messaging.Send{Template: "cart"}}
		}
		return p
	}
	claim := func() (phones []messaging.Phone) {
		t.Helper()
		got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "me", Now: now.Add(time.Minute), Lease: time.Minute, Marketing: 10})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			phones = append(phones, got[i].Phone)
		}
		slices.Sort(phones)
		return phones
	}

	// The lock of no hash at all: whoever takes it has all events in one line that some trigger skips.
	do("SELECT pg_advisory_lock(0)")
	if _, err := s.Accept(t.Context(), []messaging.Plan{plan("1", "447700900001", messaging.Skipped)}); err != nil {
		t.Errorf("an event that is skipped waits for those of others: %v", err)
	}
	do("SELECT pg_advisory_unlock(0)")

	// A claim has rows when it asks for their contacts, and whoever has a contact may need these rows.
	if _, err := s.Accept(t.Context(), []messaging.Plan{plan("2", "447700900002", messaging.Planned), plan("3", "447700900003", messaging.Planned)}); err != nil {
		t.Fatal(err)
	}
	held := engine.LockOf(reach.HashOf("447700900002", s.hash))
	do("SELECT pg_advisory_lock($1)", held)
	if got := claim(); !slices.Equal(got, []messaging.Phone{"447700900003"}) {
		t.Errorf("while another has a contact %v are claimed", got)
	}
	do("SELECT pg_advisory_unlock($1)", held)
	if got := claim(); !slices.Equal(got, []messaging.Phone{"447700900002"}) {
		t.Errorf("once it is free %v are claimed", got)
	}
}
