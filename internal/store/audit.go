package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/erased"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

// An AuditEntry is one order of a person or a program, a config that was taken up, or that somebody was told of a contact. No whole phone stands
// in it: whoever writes one has masked its texts, and a contact is named by AuditContact, so forgetting one need not find it.
type AuditEntry struct {
	ID      int64 // from 1, without gaps
	At      time.Time
	Who     string
	Via     string // how it is known who: socket, token, session, process, webhook
	Action  string // "POST /messages/{id}/cancel", "config"
	Subject string // which one: "/messages/12/cancel", the version of a config
	Detail  string // what was asked, masked
	Outcome string // "" for what was about to be done; else why it was not
	Hash    string // hex
}

// chained is the hash of the entry behind that of the one before.
func (e *AuditEntry) chained(before string) string {
	// Each text is quoted, so no two entries have the same.
	text, _ := json.Marshal([]any{before, e.ID, engine.Micro(e.At), e.Who, e.Via, e.Action, e.Subject, e.Detail, e.Outcome}) // texts and numbers always can
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// auditChain is what is locked while the chain grows.
var auditChain = keyindex.Hash("end of the audit")

// Audit adds an entry behind the last one, and gives its number. Of two processes one waits for the other's commit.
func (s *Store) Audit(ctx context.Context, e AuditEntry) (id int64, err error) {
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error { t.Audit(&e); return nil })
	return e.ID, Wrap(err, "record in the audit")
}

var addAuditSQL = engine.SQL(`INSERT INTO audit (id, at, who, via, action, subject, detail, outcome, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`)

// Audit says what was ordered. The entry gets its number and its place at the end of the transaction that does it.
func (t *Tx) Audit(e *AuditEntry) { t.audits.entries = append(t.audits.entries, e) }

// auditNotes are what was ordered in a transaction.
type auditNotes struct {
	entries []*AuditEntry
	end     auditEnd // of the chain, once they are written
}

// write compares the end of the chain with what was written, and puts the entries behind it. What is not as it was gets an entry of its
// own; a nil one is for that alone.
func (n *auditNotes) write(t *Tx) error {
	if len(n.entries) == 0 {
		return nil
	}
	err := t.peers.Lock(t.Tx, []int64{auditChain}, nil)
	l := t.lookAt()
	if err == nil {
		err = t.Query(lookAtAuditSQL, l.scan, l.wrote.id)
	}
	words, end := l.fault()
	all := n.entries
	if words != "" {
		all = append([]*AuditEntry{{At: engine.Moment(t.At), Who: "nudgewire", Via: "process", Action: Broken, Subject: words}}, all...)
		if l.broken == "" {
			l.brokenAt = engine.Moment(t.At)
		}
		l.broken = joinBroken(l.broken, words)
	}
	for _, e := range all {
		if err != nil {
			break
		}
		if e == nil {
			continue
		}
		e.ID = end.id + 1
		e.Hash = e.chained(end.hash)
		end = auditEnd{e.ID, e.Hash}
		err = t.Put(addAuditSQL, e.ID, engine.Micro(e.At), e.Who, e.Via, e.Action, e.Subject, e.Detail, e.Outcome, e.Hash)
	}
	if err == nil && end != l.end {
		err = t.Put(setAuditEndSQL, end.id, end.hash, l.broken, engine.Micro(l.brokenAt))
		n.end = end
	}
	return Wrap(err, "audit")
}

const auditColumns = `id, at, who, via, action, subject, detail, outcome, hash`

func scanAudit(r *engine.Row) (AuditEntry, error) {
	return AuditEntry{
		ID: r.Int(), At: r.Time(), Who: r.Text(), Via: r.Text(), Action: r.Text(), Subject: r.Text(), Detail: r.Text(), Outcome: r.Text(), Hash: r.Text(),
	}, r.Err
}

// An AuditSearch says which entries of the audit are asked for.
type AuditSearch struct {
	Before  int64           // only entries before this number; 0 begins with the newest
	Limit   int             // at most so many
	Contact messaging.Phone // only those about this contact; "" for all
	Configs bool            // only those that say which config was taken up, and who ordered a reload
	Taken   bool            // only those that say which config was taken up
}

// AuditEntries are the entries that a search asks for, the newest first.
func (s *Store) AuditEntries(ctx context.Context, q AuditSearch) ([]AuditEntry, error) {
	which, args := "", []any{q.Before, int64(q.Limit)}
	switch {
	case q.Taken:
		which = ` AND subject BETWEEN 'config ' AND 'config z'`
	case q.Configs:
		which = ` AND (subject BETWEEN 'config ' AND 'config z' OR subject = '/reload')`
	}
	if q.Contact != "" {
		err := s.marks.Need(false)
		if _, none := errors.AsType[*erased.LostKeyError](err); none && !s.marks.Any.Load() {
			return nil, nil // no contact ever stood there
		}
		if err != nil {
			return nil, err
		}
		which, args = ` AND subject = ?3`, append(args, s.marks.Contact(q.Contact))
	}
	all, err := List(ctx, s, `SELECT `+auditColumns+` FROM audit WHERE (?1 = 0 OR id < ?1)`+which+` ORDER BY id DESC LIMIT ?2`, args, scanAudit)
	return all, Wrap(err, "the audit")
}

// AuditContact is a contact as the audit names it: by as much of its mark as tells contacts apart. Without the key nobody can try phones until
// one fits, so forgetting a contact leaves its entries as they are.
func (s *Store) AuditContact(phone messaging.Phone) (string, error) {
	if err := s.marks.Need(true); err != nil {
		return "", err
	}
	return s.marks.Contact(phone), nil
}

// An AuditError says where the chain is broken.
type AuditError struct {
	ID    int64 // the first entry that is not as it was written, or that is not there
	Words string
}

func (e *AuditError) Error() string { return fmt.Sprintf("entry %d %s", e.ID, e.Words) }

// auditPage is how many entries are in memory at a time.
const auditPage = 1000

// mostFaults is how many faults of the chain are told.
const mostFaults = 10

// VerifyAudit reads the chain from its beginning and gives its length and the hash of its last entry. What was changed, taken out or cut off
// is an *AuditError. Entries that are missing at the end, of which the data itself does not know any more, are seen only by who knows an earlier
// hash: known is its entry and known hash, 0 for none.
func (s *Store) VerifyAudit(ctx context.Context, known int64, knownHash string) (n int64, last string, err error) {
	state, err := s.AuditState(ctx)
	if err != nil {
		return 0, "", err
	}
	var found *AuditError
	count := 0
	tell := func(id int64, words string) {
		switch count++; {
		case found == nil:
			found = &AuditError{id, words}
		case count <= mostFaults:
			found.Words += fmt.Sprintf("; entry %d %s", id, words)
		}
	}
	for {
		page, err := List(ctx, s, `SELECT `+auditColumns+` FROM audit WHERE id > ?1 ORDER BY id LIMIT ?2`, []any{n, int64(auditPage)}, scanAudit)
		if err != nil {
			return n, last, Wrap(err, "the audit")
		}
		for i := range page {
			e := &page[i]
			switch {
			case e.ID == n+2:
				tell(n+1, "is missing")
			case e.ID != n+1:
				tell(n+1, fmt.Sprintf("is missing, and all to %d", e.ID-1))
			case e.chained(last) != e.Hash:
				tell(e.ID, "is not as it was written, or the one before it is not")
			case e.ID == state.end.id && e.Hash != state.end.hash:
				tell(e.ID, "is not the one that was written")
			}
			if n, last = e.ID, e.Hash; n == known && last != knownHash {
				tell(n, "is not the one that you know: its hash is "+last)
			}
			if e.Action == Broken {
				tell(n, "says that at "+e.At.UTC().Format(time.DateTime)+" UTC "+e.Subject)
			}
		}
		if len(page) < auditPage {
			break
		}
	}
	if want := max(known, state.end.id); n < want {
		tell(n+1, fmt.Sprintf("is missing, and all to %d", want))
	}
	if found != nil {
		return n, last, found
	}
	return n, last, nil
}
