package store

import (
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// The commit that ends a halt, or a pause, wakes the sender: what it claims then passes its last
// look, or it would come back and be claimed again and again.
func TestTheLastLookKnowsOfAnEndWhenTheSenderIsWoken(t *testing.T) {
	ctx := t.Context()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	row := messaging.Message{Trigger: "winback", Key: messaging.RowKey(1, 1), Phone: "447700900123", Category: messaging.Marketing, DueAt: at}
	var s *Store
	woken, halted := 0, false
	s, err := Open(ctx, Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "nudgewire.db"), OnDue: func(string, time.Time) {
		woken++
		_, halted = s.Held(&row)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := messaging.Run{Job: "winback", Slot: "1", DueAt: at, Cause: messaging.CauseHand, State: messaging.RunUploading, Deliver: messaging.DeliverPerMessage, CreatedAt: at}
	if r.ID, _, err = s.StartRun(ctx, r); err != nil {
		t.Fatal(err)
	}
	if err := s.Enqueue(ctx, r.ID, 1, []messaging.Message{row}); err != nil {
		t.Fatal(err)
	}
	become := func(state messaging.RunState) error {
		from := r.State
		r.State, r.Before, r.Reason, r.Stopped = state, messaging.RunUploading, "by Ann", messaging.StopPerson
		return s.SetRun(ctx, "", r, from)
	}
	for what, do := range map[string][2]func() error{
		"a halt": {
			func() error {
				return s.Hold(ctx, messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt, Name: "winback"})
			},
			func() error {
				return s.EndHold(ctx, messaging.Hold{Scope: messaging.ScopeJob, Name: "winback", Kind: messaging.HoldHalt})
			},
		},
		"a pause": {
			func() error { return become(messaging.RunPaused) },
			func() error { return become(messaging.RunUploading) },
		},
	} {
		if err := do[0](); err != nil {
			t.Fatal(err)
		}
		if _, stopped := s.Held(&row); !stopped {
			t.Errorf("%s does not hold the row", what)
		}
		woken, halted = 0, false
		if err := do[1](); err != nil {
			t.Fatal(err)
		}
		if woken != 1 || halted {
			t.Errorf("the end of %s wakes the sender %d times, and its last look says no: %v", what, woken, halted)
		}
	}
}

// However claims and a pause meet, no row is claimed once the pause has returned: the last look
// says no to each that was claimed before.
func TestAPauseBesideClaimsHoldsEachRow(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	ctx := t.Context()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for round := range 40 {
		r := messaging.Run{
			Job: "winback", Slot: strconv.Itoa(round), DueAt: at, Cause: messaging.CauseHand, State: messaging.RunUploading,
			Deliver: messaging.DeliverPerMessage, CreatedAt: at,
		}
		var err error
		if r.ID, _, err = s.StartRun(ctx, r); err != nil {
			t.Fatal(err)
		}
		rows := make([]messaging.Message, 50)
		for i := range rows {
			rows[i] = messaging.Message{Trigger: "winback", Key: messaging.RowKey(r.ID, int64(i+1)), Phone: "447700900123", Category: messaging.Marketing, DueAt: at}
		}
		if err := s.Enqueue(ctx, r.ID, 1, rows); err != nil {
			t.Fatal(err)
		}
		var returned atomic.Bool
		claims := make(chan []messaging.Message)
		go func() {
			defer close(claims)
			for {
				after := returned.Load()
				got, err := s.Claim(ctx, messaging.ClaimRequest{Owner: "o", Now: at.Add(time.Minute), Lease: time.Hour, Marketing: 1})
				if err != nil {
					t.Error(err)
				}
				if after && len(got) > 0 {
					t.Errorf("round %d: %s was claimed after the pause had returned", round, got[0].Key)
				}
				if after || len(got) == 0 {
					return
				}
				claims <- got
			}
		}()
		var held []messaging.Message
		paused := make(chan error, 1)
		for got := range claims {
			if held = append(held, got...); len(held) == 5 {
				go func() {
					stop := r
					stop.State, stop.Before, stop.Reason, stop.Stopped = messaging.RunPaused, messaging.RunUploading, "paused by Ann", messaging.StopPerson
					err := s.SetRun(ctx, "", stop, messaging.RunUploading)
					returned.Store(true)
					paused <- err
				}()
			}
		}
		if err := <-paused; err != nil {
			t.Fatal(err)
		}
		for i := range held {
			if _, halted := s.Held(&held[i]); !halted {
				t.Fatalf("round %d: the last look lets %s go", round, held[i].Key)
			}
		}
	}
}

// The last look sees a block that came after the claim, and asks nobody while there is no fresh one.
func TestTheLastLookAsksOnlyWhileBlocksAreFresh(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	ctx := t.Context()
	claimed := &messaging.Message{Phone: "447700900101", Category: messaging.Marketing, UpdatedAt: time.Now()}
	look := func(d *messaging.Message) string {
		t.Helper()
		f, err := s.FactsOf(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		return f.Blocked
	}
	if why := look(claimed); why != "" {
		t.Errorf("nobody is blocked: %q", why)
	}
	if _, err := s.Block(ctx, []Block{{Phone: claimed.Phone, Reason: "asked for it"}}); err != nil {
		t.Fatal(err)
	}
	if why := look(claimed); why != "the contact is blocked: asked for it" {
		t.Errorf("blocked after the claim: %q", why)
	}
	other, code, later := *claimed, *claimed, *claimed
	other.Phone, code.Category, later.UpdatedAt = "447700900102", messaging.Authentication, time.Now().Add(time.Hour)
	if why := look(&other) + look(&code); why != "" {
		t.Errorf("another contact, and a code: %q", why)
	}
	// Claimed long after the newest block: the claim itself has seen it, and nothing is asked.
	if why := look(&later); why != "" {
		t.Errorf("a claim that has looked already asks again: %q", why)
	}
}
