package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// TestMain is a node, too: nodes are this program started anew.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == nodeArgument {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func smallLab(t *testing.T) *lab {
	t.Helper()
	l, err := openLab(t.TempDir(), 150*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	l.backlog = 300
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func withServer(t *testing.T, l *lab) {
	t.Helper()
	var err error
	if l.server, err = startServer(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// Whether the daemon did what is counted is checked by the contests themselves.
func TestEveryContestBringsItsFigures(t *testing.T) {
	l := smallLab(t)
	withServer(t, l)
	for _, c := range contests(false) {
		t.Run(c.name(), func(t *testing.T) {
			if c.server && l.server == nil {
				t.Skip("make setup brings PostgreSQL")
			}
			got, err := l.run(t.Context(), c, "")
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.figures) {
				t.Fatalf("%d readings of %d figures", len(got), len(c.figures))
			}
			for i, f := range c.figures {
				if got[i].value <= 0 {
					t.Errorf("%s is %v", f.name, got[i].value)
				}
			}
		})
	}
}

func TestStoredEventsAreDataOfTheStore(t *testing.T) {
	l := smallLab(t)
	got, err := l.run(t.Context(), besideContest(8, 3*storedAtOnce+7), "")
	if err != nil || len(got) != 1 || got[0].value <= 0 {
		t.Fatalf("%+v (%v)", got, err)
	}
	s, err := store.Open(t.Context(), store.Options{DSN: sqliteIn(filepath.Join(l.dir, "stored"))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for serial, want := range map[int]int{storedFrom: 1, storedFrom + 3*storedAtOnce + 6: 1, storedFrom + 3*storedAtOnce + 7: 0} {
		events, err := s.Events(t.Context(), store.EventFilter{Phone: messaging.Phone(fmt.Sprint(phoneHead, serial))})
		if err != nil || len(events) != want {
			t.Errorf("%d events of %d (%v)", len(events), serial, err)
		}
	}
}

func TestAHistoryIsDataOfTheStore(t *testing.T) {
	l := smallLab(t)
	folder := t.TempDir()
	const n = 500
	if err := l.history(t.Context(), folder, n); err != nil {
		t.Fatal(err)
	}
	db := openData(t, folder)
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for _, id := range []messaging.MessageID{1, n / 2, n} {
		m, err := db.Message(t.Context(), id)
		if err != nil || m.Status != messaging.StatusDelivered {
			t.Errorf("message %d: %+v, %v", id, m, err)
		}
		e, err := db.Event(t.Context(), messaging.EventID(id))
		if err != nil || e.Cart.Items[0].Title != "Brass lantern, large" {
			t.Errorf("event %d: %+v, %v", id, e, err)
		}
	}
	if _, err := db.Message(t.Context(), n+1); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("a message beyond the last: %v", err)
	}
}

func TestDueMessagesLieBesideFinishedOnes(t *testing.T) {
	l := smallLab(t)
	folder := t.TempDir()
	const finished = 1000
	if _, err := l.place(t.Context(), folder, onSQLite, dueBeside(finished)); err != nil {
		t.Fatal(err)
	}
	db := openData(t, folder)
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
	total := 0
	for state, want := range map[messaging.State]int{messaging.StateAccepted: finished + 1, messaging.StateWaiting: claimSize * claimTimes} {
		got, err := db.Messages(t.Context(), store.MessageFilter{State: state, Limit: 1_000_000})
		if err != nil || len(got) != want {
			t.Errorf("%d messages are %s, want %d; %v", len(got), state, want, err)
		}
		total += len(got)
	}
	due, err := db.Claim(t.Context(), messaging.ClaimRequest{Owner: "test", Now: time.Now(), Lease: time.Minute, Marketing: total})
	if err != nil || len(due) != claimSize*claimTimes {
		t.Errorf("%d messages were due, want %d; %v", len(due), claimSize*claimTimes, err)
	}
}

func openData(t *testing.T, folder string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: sqliteIn(folder)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
