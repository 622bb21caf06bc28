//go:build unix

package transfer_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/transfer"
)

func TestDataMovesBetweenEngines(t *testing.T) {
	file, server := "sqlite:"+filepath.Join(t.TempDir(), "a.db"), newDatabase(t)
	back := "sqlite:" + filepath.Join(t.TempDir(), "b.db")
	open := func(dsn string) *store.Store {
		t.Helper()
		s, err := store.Open(t.Context(), store.Options{DSN: dsn, Settle: always})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	accept := func(s *store.Store, n int64) messaging.Receipt {
		t.Helper()
		got, err := s.Accept(t.Context(), []messaging.Plan{plan(n)})
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	end := func(s *store.Store) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) transfer.Result {
		t.Helper()
		done, err := whenFree(t, from, to)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	refused := func(from, to string, as any) {
		t.Helper()
		if _, err := transfer.Run(t.Context(), transfer.Options{From: from, To: to}); err == nil || !errors.As(err, as) {
			t.Errorf("%v", err)
		}
	}
	ids := map[messaging.MessageID]bool{}
	claim := func(s *store.Store, want int) {
		t.Helper()
		got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "one", Now: noon.Add(240 * time.Hour), Lease: time.Minute, Authentication: want, Utility: want, Marketing: want})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if ids[got[i].ID] {
				t.Errorf("message %d is claimed twice", got[i].ID)
			}
			ids[got[i].ID] = true
		}
	}
	var newest messaging.EventID
	known := func(s *store.Store, upTo int64) {
		t.Helper()
		for n := range upTo {
			if !accept(s, n+1).Duplicate {
				t.Errorf("event %d is not known any more", n+1)
			}
		}
		got := accept(s, upTo+1)
		if got.Duplicate || got.EventID <= newest {
			t.Errorf("a new event is %+v after %d", got, newest)
		}
		newest = got.EventID
	}
	gone := messaging.Phone("447700900999")
	forgotten := func(s *store.Store) {
		t.Helper()
		if got, err := s.Forgotten(t.Context(), []messaging.Phone{gone, "447700900998"}); err != nil || len(got) != 1 || got[gone].IsZero() {
			t.Errorf("known as forgotten: %v, %v", got, err)
		}
	}
	s := open(file)
	if err := s.Forget(t.Context(), []messaging.Phone{gone}, "by hand"); err != nil {
		t.Fatal(err)
	}
	// Users move, and whoever was signed in signs in anew.
	now := time.Now()
	ann := auth.User{Name: "ann", Role: "admin", Password: "kept", CreatedAt: noon, CreatedBy: "root (0)"}
	people := auth.Records{Store: s}
	if err := people.AddUser(t.Context(), ann, 9); err != nil {
		t.Fatal(err)
	}
	session := auth.Session{Hash: [32]byte{1}, Who: "ann", User: "ann", BeganAt: now, SeenAt: now}
	if err := people.BeginSession(t.Context(), session, "kept", 9); err != nil {
		t.Fatal(err)
	}
	signedOut := func(s *store.Store) {
		t.Helper()
		people := auth.Records{Store: s}
		if u, err := people.User(t.Context(), "ann"); err != nil || u.Password != "kept" {
			t.Errorf("the user: %+v, %v", u, err)
		}
		if _, _, err := people.Session(t.Context(), session.Hash); !errors.Is(err, messaging.ErrNotFound) {
			t.Errorf("the session moved: %v", err)
		}
	}
	for n := range int64(50) {
		newest = accept(s, n+1).EventID
	}
	claim(s, 5)
	refused(file, server, new(*sqlite.LockedError))
	end(s)
	first := move(file, server)
	if first.Rows() < 100 {
		t.Errorf("moved %d rows: %v", first.Rows(), first.Tables)
	}
	refused(file, newDatabase(t), new(*place.MovedError))
	_, err := store.Open(t.Context(), store.Options{DSN: file, Settle: always})
	if moved, is := errors.AsType[*place.MovedError](err); !is || moved.Undo != "remove "+engine.Path(file)+".moved" {
		t.Errorf("the old file: %v", err)
	}
	s = open(server)
	forgotten(s)
	signedOut(s)
	known(s, 50)
	claim(s, 5)
	refused(server, back, new(*place.TransferError))
	end(s)
	move(server, back)
	if _, err := store.Open(t.Context(), store.Options{DSN: server, Settle: always}); !errors.As(err, new(*place.MovedError)) {
		t.Errorf("the old database: %v", err)
	}
	refused(server, "sqlite:"+filepath.Join(t.TempDir(), "c.db"), new(*place.MovedError))
	refused(server, back, new(*place.TransferError))
	s = open(back)
	forgotten(s)
	signedOut(s)
	if _, review := s.InReview(); review {
		t.Error("the move is taken for a restoration")
	}
	known(s, 51)
	claim(s, 5)
	end(s)
	refused(back, server, new(*place.TransferError))
}

// The database gives numbers in blocks, so they are ahead of what is counted; the file that it becomes is ahead as far, also where retention
// has taken every row away.
func TestNumbersAreNotGivenAgainAfterAMove(t *testing.T) {
	server, file := newDatabase(t), "sqlite:"+filepath.Join(t.TempDir(), "a.db")
	open := func(dsn string) *store.Store {
		t.Helper()
		s, err := store.Open(t.Context(), store.Options{DSN: dsn, Settle: always})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	end := func(s *store.Store) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var newest messaging.EventID
	accept := func(s *store.Store, n int64) {
		t.Helper()
		p := plan(n)
		p.Proposals = nil // nothing keeps the event
		got, err := s.Accept(t.Context(), []messaging.Plan{p})
		if err != nil {
			t.Fatal(err)
		}
		if got[0].EventID <= newest {
			t.Errorf("event %d has number %d after %d", n, got[0].EventID, newest)
		}
		newest = got[0].EventID
	}
	for n := range int64(2) { // each start begins a block of its own
		s := open(server)
		accept(s, n)
		end(s)
	}
	if _, err := whenFree(t, server, file); err != nil {
		t.Fatal(err)
	}
	const year = 365 * 24 * time.Hour
	for n := int64(2); n < 5; n++ {
		s := open(file)
		accept(s, n)
		if _, err := (privacy.Records{Store: s}).Retain(t.Context(), privacy.Retention{Payloads: year, Decisions: year, Events: year}, noon.Add(3*year)); err != nil {
			t.Fatal(err)
		}
		if left, err := s.Events(t.Context(), store.EventFilter{Limit: 9}); err != nil || len(left) > 0 {
			t.Errorf("left: %v (%v)", left, err)
		}
		end(s)
	}
}
