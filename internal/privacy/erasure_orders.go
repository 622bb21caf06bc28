package privacy

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// An Erasure is an order to forget a contact, or all that came by a connector, that is not carried out yet.
type Erasure struct {
	Phone     messaging.Phone // "" where all of a connector is meant
	Connector string
	Source    string // who asked: "by hand", or the event's connector and kind
	At        time.Time
	Waits     string // what it waits for, in words; "" for its turn
	Recorded  bool   // the audit says who ordered it
}

// Erasures lists what is ordered to be forgotten and is not yet, the oldest order first.
func (s Records) Erasures(ctx context.Context) ([]Erasure, error) {
	out, err := store.List(ctx, s.Store, `SELECT phone, connector, source, at, waits, recorded FROM forgetting ORDER BY at, phone, connector`, nil, func(r *engine.Row) (Erasure, error) {
		return Erasure{r.Phone(), r.Text(), r.Text(), r.Time(), r.Text(), r.Int() == 1}, r.Err
	})
	return out, store.Wrap(err, "list what is to be forgotten")
}

var forgetMoreSQL = engine.SQL(`UPDATE forgetting SET waits = ?3 WHERE phone = ?1 AND connector = ?2`)

// ErasureWaits notes what orders wait for.
func (s Records) ErasureWaits(ctx context.Context, all []Erasure, why string) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		for _, e := range all {
			if err := t.Put(forgetMoreSQL, string(e.Phone), e.Connector, why); err != nil {
				return err
			}
		}
		return nil
	})
	return store.Wrap(err, "note what forgetting waits for")
}

var erasedSQL = engine.SQL(`DELETE FROM forgetting WHERE phone = ?1 AND connector = ?2 AND at = ?3`)

// Erased notes that orders are carried out but for what Wipe does. One that was given anew meanwhile stays.
func (s Records) Erased(ctx context.Context, all []Erasure) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		if err := s.RewriteLater(t); err != nil {
			return err
		}
		for _, e := range all {
			if err := t.Put(erasedSQL, string(e.Phone), e.Connector, engine.Micro(e.At)); err != nil {
				return err
			}
		}
		return nil
	})
	return store.Wrap(err, "note what is forgotten")
}
