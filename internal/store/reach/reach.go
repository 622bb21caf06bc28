// Package reach knows how many different contacts an account reached in a window, and who may have been reached though nobody knows.
package reach

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// How many different contacts an account reached in a window is asked at each claim while its limit is
// configured, and is told by rows that are there anyway: messages by the time they were accepted, and the contacts of
// files. So the set of them is read once, at the first question, and then kept up as messages are accepted. Nothing is
// written for it, nothing is done for it where nobody asks, and a limit that is new knows the whole window.

// Contacts are those that an account reached, by hash, as far back as it was read.
type Contacts struct {
	from  int64
	last  map[int64]int64 // when, for the last time
	order []reachedAt     // by time; one that was reached again stands there again
	hash  func(...string) int64

	filesRead bool // those on files are in it, too
}

type reachedAt struct{ hash, at int64 }

// slack is how much further back than asked a set goes, so that a clock that is put right does not have it read
// anew.
const slack = int64(time.Minute / time.Microsecond)

func (c *Contacts) add(hash, at int64) {
	if before, known := c.last[hash]; !known || at > before {
		c.last[hash] = at
		c.order = append(c.order, reachedAt{hash, at})
	}
}

// trim forgets who was reached before a time only.
func (c *Contacts) trim(before int64) {
	gone := 0
	for ; gone < len(c.order) && c.order[gone].at < before; gone++ {
		if one := c.order[gone]; c.last[one.hash] == one.at {
			delete(c.last, one.hash)
		}
	}
	c.order, c.from = c.order[gone:], max(c.from, before)
}

// Leaves is the time before which the window begins once so many contacts have left it; 0 where there are fewer.
func (c *Contacts) Leaves(n int64) int64 {
	for _, one := range c.order {
		if c.last[one.hash] != one.at {
			continue // reached again
		}
		if n--; n <= 0 {
			return one.at + slack + 1
		}
	}
	return 0
}

// Has reports whether a contact is one of them.
func (c *Contacts) Has(hash int64) bool {
	_, known := c.last[hash]
	return known
}

// Read reads whom an account reached since then.
func Read(t *engine.Tx, account string, since int64, hash func(...string) int64) (*Contacts, error) {
	c := &Contacts{from: since - slack, last: map[int64]int64{}, hash: hash}
	if err := c.readMessages(t, account); err != nil {
		return nil, fmt.Errorf("contacts of the account: %w", err)
	}
	return c, c.Refresh(t, account, since)
}

// Covers reports whether it goes back as far as that.
func (c *Contacts) Covers(since int64) bool { return since >= c.from }

// Refresh reads those on files anew, where these changed, and forgets who was reached before then only.
func (c *Contacts) Refresh(t *engine.Tx, account string, since int64) error {
	if !c.filesRead {
		if err := c.readFiles(t, account); err != nil {
			return fmt.Errorf("contacts of the account: %w", err)
		}
	}
	c.trim(since - slack)
	return nil
}

// Note adds a contact that is reached at that time.
func (c *Contacts) Note(phone messaging.Phone, at int64) { c.add(HashOf(phone, c.hash), at) }

// FilesChanged has those on files read anew.
func (c *Contacts) FilesChanged() { c.filesRead = false }

// Count is how many they are.
func (c *Contacts) Count() int { return len(c.last) }

// longestWait is how long before a message was accepted it may have been stored, for its contact to be known
// after a start: a walk of all that was ever sent would hold up everybody, for the sake of a few contacts.
const longestWait = 8 * 24 * int64(time.Hour/time.Microsecond)

var (
	accountMessagesSQL       = engine.SQL(`SELECT phone, accepted_at FROM messages WHERE id >= ?3 AND account = ?1 AND accepted_at >= ?2 AND phone <> ''`)
	accountDroppedInDoubtSQL = engine.SQL(DroppedInDoubt("d.phone, d.claimed_at", "d.id >= ?3 AND d.account = ?1 AND d.claimed_at >= ?2"))
)

// readMessages reads the whole window.
func (c *Contacts) readMessages(t *engine.Tx, account string) error {
	first, err := firstCreated(t, c.from-longestWait)
	if err != nil {
		return err
	}
	for _, s := range [...]*engine.Statement{accountMessagesSQL, accountDroppedInDoubtSQL} {
		if err != nil {
			return err
		}
		err = t.Query(s, func(r *engine.Row) error {
			phone := r.Phone()
			c.add(HashOf(phone, c.hash), r.Int())
			return r.Err
		}, account, c.from, first)
	}
	slices.SortFunc(c.order, func(a, b reachedAt) int { return cmp.Compare(a.at, b.at) })
	return err
}

var createdAfterSQL = engine.SQL(`SELECT created_at FROM messages WHERE id >= ?1 ORDER BY id LIMIT 1`)

// firstCreated is a number that no message is below which was stored at that time or later.
func firstCreated(t *engine.Tx, at int64) (int64, error) {
	var err error
	id := sort.Search(1<<40, func(id int) bool {
		created := at // beyond the newest
		if err == nil {
			err = t.Query(createdAfterSQL, func(r *engine.Row) error { created = r.Int(); return r.Err }, int64(id))
		}
		return created >= at
	})
	return int64(id), err
}

var (
	accountPartsSQL = engine.SQL(`SELECT p.run_id, p.number, p.list_id, p.claimed_at FROM parts p
		WHERE p.claimed_at >= ?1 AND p.claimed_at > 0 AND (SELECT r.account FROM runs r WHERE r.id = p.run_id) = ?2 AND ` + MayHaveArrived)
	phonesOfPartSQL = engine.SQL(`SELECT l.number, l.phone FROM part_rows x JOIN list_rows l ON l.run_id = ?3 AND l.number >= x.first_row AND l.number <= x.last_row
		WHERE x.run_id = ?1 AND x.part = ?2`)
)

// readFiles adds who is on the files of the window. Who was forgotten counts on: as nobody, once for each row.
func (c *Contacts) readFiles(t *engine.Tx, account string) error {
	type file struct{ run, number, list, at int64 }
	var files []file
	err := t.Query(accountPartsSQL, func(r *engine.Row) error {
		files = append(files, file{r.Int(), r.Int(), r.Int(), r.Int()})
		return r.Err
	}, c.from, account)
	for _, f := range files {
		if err != nil {
			return err
		}
		err = t.Query(phonesOfPartSQL, func(r *engine.Row) error {
			number, phone := r.Int(), r.Phone()
			if phone == "" {
				c.add(c.hash("nobody", strconv.FormatInt(f.list, 10), strconv.FormatInt(number, 10)), f.at)
			} else {
				c.add(HashOf(phone, c.hash), f.at)
			}
			return r.Err
		}, f.run, f.number, f.list)
	}
	c.filesRead = err == nil
	slices.SortFunc(c.order, func(a, b reachedAt) int { return cmp.Compare(a.at, b.at) })
	return err
}

var (
	accountSendingSQL = engine.SQL(`SELECT phone FROM messages WHERE state = 'sending' AND account = ?1 AND claimed_at >= ?2`)
	accountDoubtSQL   = engine.SQL(`SELECT phone FROM messages WHERE state = 'in_doubt' AND account = ?1 AND claimed_at >= ?2`)
)

// Flying calls each for the contacts that messages of an account are on their way to, or may have reached since then.
func Flying(t *engine.Tx, account string, since int64, hash func(...string) int64, each func(int64)) error {
	for _, s := range [...]*engine.Statement{accountSendingSQL, accountDoubtSQL} {
		err := t.Query(s, func(r *engine.Row) error {
			each(HashOf(r.Phone(), hash))
			return r.Err
		}, account, since)
		if err != nil {
			return fmt.Errorf("contacts of the account: %w", err)
		}
	}
	return nil
}

// HashOf is what a phone is known by where the phone itself is not kept.
func HashOf(phone messaging.Phone, hash func(...string) int64) int64 {
	return hash("contact", string(phone))
}

// DroppedInDoubt selects columns of messages d that were dropped or cancelled and may have arrived. and is a further condition. It is a union
// of one query for each state, because SQLite uses the index messages_unsent only then.
func DroppedInDoubt(columns, and string) string {
	of := func(state string) string {
		return `SELECT ` + columns + ` FROM messages d WHERE d.state = '` + state + `' AND ` + and + ` AND ` + HadDoubt("d")
	}
	return of("dropped") + ` UNION ALL ` + of("cancelled")
}

// MayHaveArrived is the condition on a part p that those on it got its file, or may have.
const MayHaveArrived = `(p.state = 'uploading' OR p.state = 'accepted' OR p.state = 'in_doubt')`

// HadDoubt is the condition on a message that one of its attempts may have been taken.
func HadDoubt(message string) string {
	return `EXISTS (SELECT 1 FROM attempts a WHERE a.message = ` + message + `.id AND a.state = 'in_doubt')`
}
