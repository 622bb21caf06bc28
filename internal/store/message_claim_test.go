package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
)

func TestARowThatCannotBeReadDoesNotHoldUpTheOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	for i := range 3 {
		if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	rawExec(t, path, `UPDATE messages SET send = '{"templ' WHERE id = 1`)
	now := time.Now()
	got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "o", Now: now, Lease: time.Minute, Marketing: 2})
	if err != nil || len(got) != 1 || got[0].ID != 2 || got[0].Send.Text != "hello" {
		t.Fatalf("claimed %+v (%v)", got, err)
	}
	var state, reason string
	if err := s.reads.QueryRowContext(t.Context(), `SELECT state, reason FROM messages WHERE id = 1`).Scan(&state, &reason); err != nil {
		t.Fatal(err)
	}
	if state != "dropped" || reason != "message 1: what to send: unexpected end of JSON input" {
		t.Errorf("it is %s: %s", state, reason)
	}
}

// A claim that is undone has moved the low-water mark past rows that wait again.
func TestAClaimThatIsUndoneHidesNothing(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	for i := range 2 {
		if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	q := messaging.ClaimRequest{Owner: "o", Now: time.Now().Add(time.Second), Lease: time.Minute, Marketing: 2}
	full := errors.New("disk full")
	err := s.Write(t.Context(), commit.LaneWork, func(t *Tx) error {
		for range 2 { // the second one finds nothing that waits
			if _, err := t.claim(&q, messaging.Marketing, 2, nil, nil, &atDue{}); err != nil {
				return err
			}
		}
		return full
	})
	if !errors.Is(err, full) {
		t.Fatal(err)
	}
	if got, err := s.Claim(t.Context(), q); err != nil || len(got) != 2 {
		t.Errorf("claimed %+v (%v), want both", got, err)
	}
}
