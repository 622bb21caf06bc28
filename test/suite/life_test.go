package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
)

func (s suite) life(t *testing.T) {
	t.Run("numbers and memory go on after a restart", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1")
		d := l.mustClaim(noon.Add(time.Hour), 1)[0]
		last := l.mustAccept(order("2")).EventID
		l.close()

		again := reopen(t, l.dsn)
		if !again.mustAccept(cart("1")).Duplicate {
			t.Error("the duplicate was forgotten")
		}
		if r := again.mustAccept(cart("2")); r.EventID <= last || again.lastFacts().Tombstone == nil {
			t.Errorf("event %d, facts %+v", r.EventID, again.lastFacts())
		}
		if got := again.message(d.ID); got.State != messaging.StateSending {
			t.Errorf("the claim is %s", got.State)
		}
		again.mustFinish(d, messaging.StateAccepted) // the claim's owner is the same, so it still holds
	})
	t.Run("a reader sees what a writer commits and changes nothing", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1")
		r, err := store.Open(l.ctx, store.Options{DSN: l.dsn, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		l.enqueue("2")
		if rows, err := r.Events(l.ctx, store.EventFilter{}); err != nil || len(rows) != 2 {
			t.Errorf("%d events (%v)", len(rows), err)
		}
		wantErr(t, r.CancelMessage(l.ctx, 1, ""), "message 1: the store is open for reading only")
		if err := r.Ping(l.ctx); err != nil {
			t.Error(err)
		}
		same(t, "stats", commit.Stats{}, r.Stats())
	})
	t.Run("a live store answers a ping and a closed one does not", func(t *testing.T) {
		l := s.open(t)
		if err := l.Ping(l.ctx); err != nil {
			t.Error(err)
		}
		l.close()
		l.close() // twice is harmless
		wantErr(t, l.Ping(l.ctx), "the store is closed")
	})
}
