package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What is lost must be known for as long as nobody has reviewed it, and the log that shows it is gone with the first
// checkpoint, even that of a connection that is closed. So it is written to a file of its own before the first
// connection is opened, and stays there until the hold is in the database.
func faultFile(path string) string { return path + ".damaged" }

// findFault is what the log beside the database at path has lost; nil for nothing. What it finds it writes down first.
// Nobody may have the database open; alone is asked once more whether that is so before anything is written.
func findFault(path string, alone func() (bool, error)) (*logFault, error) {
	text, err := os.ReadFile(faultFile(path))
	if err == nil {
		var fault logFault
		if err := json.Unmarshal(text, &fault); err != nil {
			return nil, fmt.Errorf("%s: %w", faultFile(path), err)
		}
		return &fault, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("what is known of damage: %w", err)
	}
	fault, err := inspectLog(path)
	if err != nil || fault == nil {
		return nil, err
	}
	if yes, err := alone(); err != nil || !yes {
		return nil, err
	}
	text, err = json.Marshal(fault)
	if err == nil {
		err = disk.WriteFile(faultFile(path), text)
	}
	if err != nil {
		return fault, fmt.Errorf("write down that the log is damaged: %w", err)
	}
	return fault, nil
}

// newestKnown is when the newest thing happened that the data still knows of.
const newestKnown = `SELECT coalesce(max(at), 0) FROM (
	SELECT max(at) AS at FROM (SELECT received_at AS at FROM events ORDER BY id DESC LIMIT 1) AS newest_event
	UNION ALL SELECT max(at) FROM (SELECT accepted_at AS at FROM messages ORDER BY accepted_at DESC LIMIT 1) AS newest_message) AS newest`

// hold is the fault as what holds everything.
func (f *logFault) hold(ctx context.Context, s *Store, found time.Time) (messaging.Hold, error) {
	var newest time.Time
	err := s.Rows(ctx, newestKnown, nil, func(r *Row) error { newest = r.Time(); return nil })
	if err != nil {
		return messaging.Hold{}, fmt.Errorf("what the data still knows: %w", err)
	}
	words := fmt.Sprintf("the log of the database was damaged: up to %s", units.Count(int64(f.Commits), "commit"))
	if !newest.IsZero() {
		words += " after " + newest.UTC().Format(time.DateTime) + " UTC"
	}
	if !f.Until.IsZero() {
		words += ", the last at " + f.Until.UTC().Format(time.DateTime) + " UTC,"
	}
	return messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldDamage, Reason: words + " may be lost", At: found}, nil
}

// holdAll puts the hold for a fault into the database, and then takes its file away.
func (s *Store) holdAll(ctx context.Context, path string, fault *logFault) error {
	if fault == nil {
		return nil
	}
	h, err := fault.hold(ctx, s, s.writer.now())
	if err == nil {
		err = s.writer.runBatch([]*waiting{{run: func(t *Tx) error { return t.hold(h) }}})
	}
	if err != nil {
		return fmt.Errorf("hold what may have been sent: %w", err)
	}
	if err := os.Remove(faultFile(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hold what may have been sent: %w", err)
	}
	return nil
}

// Damaged is the hold after commits were lost, as long as nobody has reviewed it.
func (s *Store) Damaged() (h messaging.Hold, is bool) {
	for _, h = range s.HoldsOf(func(h messaging.Hold) bool { return h.Kind == messaging.HoldDamage }) {
		return h, true
	}
	return h, false
}

// faultBeside is findFault for a store that only reads: its connections, too, would end the log. A daemon has looked
// itself, and its log changes while it is read.
func faultBeside(path string) (*logFault, error) {
	alone := func() (bool, error) { return unlocked(path + ".lock") }
	if free, err := alone(); err != nil || !free {
		return nil, err
	}
	fault, err := findFault(path, alone)
	if fault != nil {
		return fault, nil // who may not write here cannot end the log, either
	}
	return nil, err
}
