// Package chain has the audit: entries that are only ever added, each with a hash that is made of it and of the one before, so that whoever changes
// one, takes one out or cuts the end off is found. What was ordered in a transaction is written at its end (Notes); package audit reads it.
package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

// An Entry is one order of a person or a program, a config that was taken up, or that somebody was told of a contact. No whole phone stands
// in it: whoever writes one has masked its texts, and a contact is named by erased.Hashes.Contact, so forgetting one need not find it.
type Entry struct {
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

// Broken is the action of an entry that says what was found not to be as it was written.
const Broken = "audit broken"

// Columns are those that Scan reads, in this order.
const Columns = `id, at, who, via, action, subject, detail, outcome, hash`

// Scan reads Columns.
func Scan(r *engine.Row) (Entry, error) {
	return Entry{
		ID: r.Int(), At: r.Time(), Who: r.Text(), Via: r.Text(), Action: r.Text(), Subject: r.Text(), Detail: r.Text(), Outcome: r.Text(), Hash: r.Text(),
	}, r.Err
}

// Chained is the hash of the entry behind that of the one before.
func (e *Entry) Chained(before string) string {
	// Each text is quoted, so no two entries have the same.
	text, _ := json.Marshal([]any{before, e.ID, engine.Micro(e.At), e.Who, e.Via, e.Action, e.Subject, e.Detail, e.Outcome}) // texts and numbers always can
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Lock is the hash that a transaction locks before it writes: of two processes one waits for the other's commit.
var Lock = keyindex.Hash("end of the audit")

// Notes are what was ordered in a transaction. Each entry gets its number and its place at the end of it.
type Notes struct {
	entries []*Entry
	end     End // of the chain, once they are written
}

// Add says what was ordered. nil has the end looked at, and nothing more.
func (n *Notes) Add(e *Entry) { n.entries = append(n.entries, e) }

// Empty reports whether there is nothing to write.
func (n *Notes) Empty() bool { return len(n.entries) == 0 }

// Begin forgets the transaction before.
func (n *Notes) Begin() { *n = Notes{} }

var addSQL = engine.SQL(`INSERT INTO audit (id, at, who, via, action, subject, detail, outcome, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`)

// Write compares the end of the chain, which the transaction has locked, with what was written, and puts the entries behind it. What is not as it
// was gets an entry of its own.
func (n *Notes) Write(t *engine.Tx, known *Known) error {
	l := known.Look()
	err := t.Query(lookSQL, l.Scan, l.Wrote())
	words, end := l.Fault()
	all := n.entries
	if words != "" {
		all = append([]*Entry{{At: engine.Moment(t.At), Who: "nudgewire", Via: "process", Action: Broken, Subject: words}}, all...)
		if l.Broken == "" {
			l.Since = engine.Moment(t.At)
		}
		l.Broken = l.Joined(words)
	}
	for _, e := range all {
		if err != nil {
			break
		}
		if e == nil {
			continue
		}
		e.ID = end.ID + 1
		e.Hash = e.Chained(end.Hash)
		end = End{e.ID, e.Hash}
		err = t.Put(addSQL, e.ID, engine.Micro(e.At), e.Who, e.Via, e.Action, e.Subject, e.Detail, e.Outcome, e.Hash)
	}
	if err == nil && end != l.noted {
		err = t.Put(setEndSQL, end.ID, end.Hash, l.Broken, engine.Micro(l.Since))
		n.end = end
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Committed has the process know what it wrote, once it is on disk.
func (n *Notes) Committed(known *Known) { known.note(n.end) }
