package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Of stepped data a failed operation takes back what it did itself and nothing else, and whoever reads sees all that was done. Anew it is empty.
func TestSteppedData(t *testing.T) {
	ctx, at := t.Context(), time.Date(2026, 3, 14, 10, 0, 0, 0, time.UTC)
	ended := 0
	o := Options{
		DSN: "sqlite:" + filepath.Join(t.TempDir(), "scratch.db"), Scratch: true, Stepped: true,
		Now: func() time.Time { return at }, OnEnd: func(error) { ended++ },
	}
	s, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	accept := func(key string) error {
		_, err := s.Accept(ctx, []messaging.Plan{{Event: messaging.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: key, ReceivedAt: at, Payload: []byte("{}")}}})
		return err
	}
	stored := func() int {
		t.Helper()
		events, err := s.PastEvents(ctx, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(events)
	}
	wrong := errors.New("wrong")
	fails := func() error {
		return s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			return errors.Join(t.Put(tally.SetCountSQL, "wrong/1", int64(1)), wrong)
		})
	}
	if err := errors.Join(accept("one"), accept("two")); err != nil {
		t.Fatal(err)
	}
	if err := fails(); !errors.Is(err, wrong) {
		t.Fatal(err)
	}
	if err := accept("three"); err != nil || stored() != 3 {
		t.Fatalf("%v; %d events, want 3", err, stored())
	}
	counts, err := List(ctx, s, `SELECT count(*) FROM counts WHERE name = 'wrong/1'`, nil, engine.Number[int64])
	if err != nil || counts[0] != 0 {
		t.Errorf("what failed left %d rows, %v", counts, err)
	}
	if err := accept("four"); err != nil {
		t.Fatal(err)
	}
	if s, err = s.Anew(ctx, o); err != nil {
		t.Fatal(err)
	}
	if n := stored(); n != 0 {
		t.Errorf("anew it has %d events", n)
	}
	if err := accept("five"); err != nil || stored() != 1 || ended != 0 {
		t.Errorf("%v, %d events, ended %d times", err, stored(), ended)
	}
}

// A full disk undoes what was put off, so from then on everything fails as it did, also to read, and whoever waits for it is told once.
func TestSteppedDataOnAFullDisk(t *testing.T) {
	ctx, at := t.Context(), time.Date(2026, 3, 14, 10, 0, 0, 0, time.UTC)
	var told []error
	s, err := Open(ctx, Options{
		DSN: "sqlite:" + filepath.Join(t.TempDir(), "scratch.db"), Scratch: true, Stepped: true,
		Now: func() time.Time { return at }, OnEnd: func(err error) { told = append(told, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	full := func(ctx context.Context) error {
		return s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			if err := t.engine.(*engine.SQLite).Step(`PRAGMA max_page_count = 1`); err != nil {
				return err
			}
			for i := range int64(10_000) {
				if err := t.Put(peers.InsertKeySQL, i, i, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	why := full(ctx)
	if why == nil || len(told) != 1 || !errors.Is(told[0], why) {
		t.Fatalf("%v, told %v", why, told)
	}
	if err := full(ctx); !errors.Is(err, why) || len(told) != 1 {
		t.Errorf("the next operation: %v, told %v", err, told)
	}
	if _, err := s.PastEvents(ctx, 0, 1); !errors.Is(err, why) {
		t.Errorf("a read: %v", err)
	}
	if _, _, err := s.NextPoll(ctx); !errors.Is(err, why) {
		t.Errorf("a look at what is next: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
