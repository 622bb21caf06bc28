package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/reach"
)

// A part is cut outside the writer, by facts of each contact (messaging.DueFacts) that others may change meanwhile, in this process or on
// another node. While a cut is open (table cuts) whoever changes such a fact notes the contact, by its hash, in the commit of the change
// (table cut_changes): noteContact. The claim of the part asks there. So it is asked by what was known at the point and not by a
// clock, and it costs nothing while no part is cut. What is not about one contact (requests to forget, who was forgotten, holds, other files)
// is in Point.Seen.
//
// On PostgreSQL a note and an open cut could pass each other unseen: whoever notes holds the table until its end (a claim of messages already before
// it reads what was sent), and whoever opens a cut, or asks, waits for all of those.

// A contactFact is a fact of a contact that a part was cut by.
type contactFact string

const (
	factBlock   contactFact = "block"
	factConsent contactFact = "consent"
	factSend    contactFact = "send" // something was sent to it, or is going to be
)

// cutFor is how long a part may be cut before that begins anew, so that a cut that nobody ends leaves few notes.
const cutFor = 10 * time.Minute

var (
	noteContactsSQL = engine.SQL(noteContacts())

	openCutSQL     = engine.SQL(`INSERT INTO cuts (run_id, at) VALUES (?1, ?2) ON CONFLICT (run_id) DO UPDATE SET at = excluded.at`)
	closeCutSQL    = engine.SQL(`DELETE FROM cuts WHERE run_id = ?1`)
	cutSinceSQL    = engine.SQL(`SELECT at FROM cuts WHERE run_id = ?1`)
	changesSQL     = engine.SQL(`SELECT contact, fact FROM cut_changes WHERE run_id = ?1`)
	dropChangesSQL = engine.SQL(`DELETE FROM cut_changes WHERE run_id = ?1`)
	oldCutsSQL     = engine.SQL(`DELETE FROM cuts WHERE at < ?1`)
	oldChangesSQL  = engine.SQL(`DELETE FROM cut_changes WHERE run_id NOT IN (SELECT run_id FROM cuts)`)
)

func noteContacts() string {
	contacts := make([]string, engine.RowsAtOnce)
	for i := range contacts {
		contacts[i] = fmt.Sprintf("SELECT CAST(?%d AS BIGINT) AS contact", 3+i)
	}
	return `INSERT INTO cut_changes (run_id, contact, fact) SELECT cuts.run_id, changed.contact, CAST(?2 AS TEXT) FROM cuts CROSS JOIN (` +
		strings.Join(contacts, " UNION ALL ") + `) changed WHERE cuts.at >= ?1 ON CONFLICT DO NOTHING`
}

// A contactChange is a fact of a contact that changed in a commit.
type contactChange struct {
	fact    contactFact
	contact int64
}

// cutNotes are the facts that changed in a transaction.
type cutNotes []contactChange

// noteContact says that a fact of a contact changes in this commit, so that a part which is being cut by it is asked about it once more.
func (t *Tx) noteContact(phone messaging.Phone, fact contactFact) {
	if phone != "" {
		t.cuts = append(t.cuts, contactChange{fact, reach.HashOf(phone, keyindex.Hash)})
	}
}

// NoteConsent is noteContact of one that does not agree any more.
func (t *Tx) NoteConsent(phone messaging.Phone) { t.noteContact(phone, factConsent) }

// write notes the contacts with all cuts that are open.
func (n cutNotes) write(t *Tx) error {
	for _, fact := range [...]contactFact{factBlock, factConsent, factSend} {
		t.claimed = t.claimed[:0]
		for _, c := range n {
			if c.fact == fact {
				t.claimed = append(t.claimed, c.contact)
			}
		}
		if err := t.ExecAll(noteContactsSQL, t.claimed, t.At-cutFor.Microseconds(), string(fact)); err != nil {
			return fmt.Errorf("note changes of contacts: %w", err)
		}
	}
	return nil
}

// Point is this moment, from which on a part of the run is cut. Whoever then asks who may get the file is told by ClaimPart whether that has
// changed since.
func (s *Store) Point(ctx context.Context, run messaging.RunID) (p messaging.Point, err error) {
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		p.At = engine.Moment(t.At)
		if err := t.peers.LockNotes(t.Tx, true); err != nil {
			return err
		}
		if err := t.forgetCuts(run); err != nil {
			return err
		}
		if err := t.Put(openCutSQL, int64(run), t.At); err != nil {
			return err
		}
		p.Seen, err = t.pointSeen(t.At)
		return err
	})
	return p, Wrap(err, "note a point")
}

// ForgetCuts forgets what was noted for cuts that have not ended in time.
func (s *Store) ForgetCuts(ctx context.Context) error {
	return Wrap(s.Write(ctx, commit.LaneWork, func(t *Tx) error { return t.forgetCuts(0) }), "forget cuts")
}

// forgetCuts forgets the cut of a run, and those that nobody ended.
func (t *Tx) forgetCuts(run messaging.RunID) error {
	err := t.Put(closeCutSQL, int64(run))
	if err == nil {
		err = t.Put(oldCutsSQL, t.At-cutFor.Microseconds())
	}
	if err == nil {
		err = t.Put(oldChangesSQL)
	}
	return err
}

// ChangedContacts are those of the phones of which something changed since a part of the run began to be cut, and has them forgotten: who asks about
// these once more may claim the part as of the same point. same is false where something else changed, and all have to be asked.
func (s *Store) ChangedContacts(ctx context.Context, run messaging.RunID, since messaging.Point, phones []messaging.Phone) (changed []messaging.Phone, same bool, err error) {
	contacts := reach.HashesOf(phones, keyindex.Hash)
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		changed = nil // a batch that is undone runs again
		if same, err = t.cutSince(run, since); err != nil || !same {
			return err
		}
		noted, err := t.notedContacts(run, func(contactFact) bool { return true })
		for i, contact := range contacts {
			if noted[contact] {
				changed = append(changed, phones[i])
			}
		}
		if err == nil {
			err = t.Put(dropChangesSQL, int64(run))
		}
		return err
	})
	return changed, same, Wrap(err, "who changed since a part of run %d began to be cut", run)
}

// cutSince reports whether what is not about one contact is as it was at the point of a cut, which is still open. What is noted for it is
// all there then.
func (t *Tx) cutSince(run messaging.RunID, since messaging.Point) (bool, error) {
	if err := t.peers.LockNotes(t.Tx, true); err != nil {
		return false, err
	}
	open := int64(0)
	err := t.Query(cutSinceSQL, func(r *engine.Row) error { open = r.Int(); return r.Err }, int64(run))
	if err != nil || open != engine.Micro(since.At) || open < t.At-cutFor.Microseconds() {
		return false, err
	}
	seen, err := t.pointSeen(open)
	return err == nil && seen == since.Seen, err
}

// anyChanged reports whether a fact changed of one of the contacts that keeps back what is of that category.
func (t *Tx) anyChanged(run messaging.RunID, c messaging.Category, contacts []int64) (bool, error) {
	noted, err := t.notedContacts(run, func(fact contactFact) bool { return fact != factBlock || c.Blockable() })
	return len(noted) > 0 && slices.ContainsFunc(contacts, func(contact int64) bool { return noted[contact] }), err
}

// notedContacts are those, by their hashes, of whom a fact that counts was noted since a part of the run began to be cut.
func (t *Tx) notedContacts(run messaging.RunID, counts func(contactFact) bool) (map[int64]bool, error) {
	noted := map[int64]bool{}
	err := t.Query(changesSQL, func(r *engine.Row) error {
		if contact, fact := r.Int(), contactFact(r.Text()); counts(fact) {
			noted[contact] = true
		}
		return r.Err
	}, int64(run))
	return noted, err
}
