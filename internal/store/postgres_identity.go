package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A database that was restored does not know what was sent after the copy was made, and a standby that took over may lack commits that
// were confirmed. So the data has a row with the place where it lives, and each connection that writes compares it before it does
// anything else (decision 21).

// settle compares where a connection has led with where the data lives. Data that is a copy, or may lack what was confirmed,
// begins a review before anything is written.
func (s *Store) settlePlace(ctx context.Context, conn *pgx.Conn) (err error) {
	before := s.beat.Log.Load() // before it is asked: a beat may know more by the time that it has answered
	found, synced, flushed, err := engine.AskPlace(ctx, conn)
	if err != nil {
		return fmt.Errorf("where the data lives: %w", err)
	}
	known := s.place.Load()
	if known != nil && *known == found && flushed >= before {
		return nil
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.movePlace(ctx, tx, known, found, synced, flushed < before) })
	if err == nil {
		err = s.loadRestoration(ctx)
	}
	if err != nil {
		return fmt.Errorf("where the data lives: %w", err)
	}
	s.beat.Log.Store(flushed)
	s.place.Store(&found)
	if known != nil {
		s.numbers.Forget() // the server may give them out again
	}
	return nil
}

// movePlace notes where the data lives now. back says that the server's log is shorter than it was.
func (s *Store) movePlace(ctx context.Context, tx pgx.Tx, known *engine.Place, found engine.Place, synced int64, back bool) error {
	tag, err := tx.Exec(ctx, `INSERT INTO place (one, system, base, timeline, synced) VALUES (1, $1, $2, $3, $4) ON CONFLICT DO NOTHING`, found.System, found.Base, found.Timeline, synced)
	if err != nil || tag.RowsAffected() == 1 { // of this data nobody has said before where it lives
		return err
	}
	var was engine.Place
	var wasSynced int64
	if err := tx.QueryRow(ctx, `SELECT system, base, timeline, synced FROM place FOR UPDATE`).Scan(&was.System, &was.Base, &was.Timeline, &wasSynced); err != nil {
		return err
	}
	how := ""
	switch {
	case was.Base != found.Base || was.System != found.System && was.System != "" && found.System != "":
		how = "it was restored into another database, or another server has it now"
	case known != nil && back:
		how = "the database server was put back to what it had before"
	case was.Timeline != found.Timeline && (known == nil || wasSynced == 0):
		how = "a standby took over, or the database server was restored to a point in time, and it need not have all that was confirmed"
	case known == nil:
		later, err := s.callsLater(ctx, s.calls.Path)
		if err != nil {
			return err
		}
		if later {
			how = "messages were sent that it does not know of"
		}
	}
	if how != "" {
		if err := noteRestoration(ctx, tx, how, s.now()); err != nil {
			return err
		}
	}
	if found.System == "" {
		found.System = was.System
	}
	_, err = tx.Exec(ctx, `UPDATE place SET system = $1, base = $2, timeline = $3, synced = $4`, found.System, found.Base, found.Timeline, synced)
	return err
}

// noteRestoration begins a review, unless the one of before has not been prepared yet: then it is that one.
func noteRestoration(ctx context.Context, tx pgx.Tx, how string, now time.Time) error {
	var open bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM holds WHERE kind = 'restored' AND ended_at = 0) AND (SELECT until_at FROM restorations ORDER BY id DESC LIMIT 1) = 0`).Scan(&open); err != nil || open {
		return err
	}
	newest, config := int64(0), ""
	if err := tx.QueryRow(ctx, NewestKnown).Scan(&newest); err != nil {
		return err
	}
	err := tx.QueryRow(ctx, `SELECT version FROM configs ORDER BY at DESC LIMIT 1`).Scan(&config)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	for _, end := range leaveSignedIn {
		if _, err := tx.Exec(ctx, end.OnServer()); err != nil {
			return err
		}
	}
	if _, err = tx.Exec(ctx, insertRestorationSQL.OnServer(), how, engine.Micro(time.Time{}), newest, engine.Micro(now), config); err != nil {
		return err
	}
	h := (&Restoration{How: how, FoundAt: now}).hold()
	_, err = tx.Exec(ctx, setHoldSQL.OnServer(), holdRow(&h)...)
	return err
}
