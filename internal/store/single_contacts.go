package store

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

// contactSet is the contacts that an account reached, by hash, as far back as it was read.
type contactSet struct {
	from  int64
	last  map[int64]int64 // when, for the last time
	order []reachedAt     // by time; one that was reached again stands there again
	hash  func(...string) int64

	filesRead bool // those on files are in it, too
}

type reachedAt struct{ hash, at int64 }

// contactSlack is how much further back than asked a set goes, so that a clock that is put right does not have it read
// anew.
const contactSlack = int64(time.Minute / time.Microsecond)

func (c *contactSet) add(hash, at int64) {
	if before, known := c.last[hash]; !known || at > before {
		c.last[hash] = at
		c.order = append(c.order, reachedAt{hash, at})
	}
}

// trim forgets who was reached before a time only.
func (c *contactSet) trim(before int64) {
	gone := 0
	for ; gone < len(c.order) && c.order[gone].at < before; gone++ {
		if one := c.order[gone]; c.last[one.hash] == one.at {
			delete(c.last, one.hash)
		}
	}
	c.order, c.from = c.order[gone:], max(c.from, before)
}

// leaves is the time before which the window begins once so many contacts have left it; 0 where there are fewer.
func (c *contactSet) leaves(n int64) int64 {
	for _, one := range c.order {
		if c.last[one.hash] != one.at {
			continue // reached again
		}
		if n--; n <= 0 {
			return one.at + contactSlack + 1
		}
	}
	return 0
}

func (c *contactSet) has(hash int64) bool {
	_, known := c.last[hash]
	return known
}

func (w *singleWriter) contacts(t *Tx, account string, since int64, hash func(...string) int64) (*contactSet, error) {
	c := w.reach[account]
	if c == nil || since < c.from {
		c = &contactSet{from: since - contactSlack, last: map[int64]int64{}, hash: hash}
		if err := t.readMessages(c, account); err != nil {
			return nil, fmt.Errorf("contacts of the account: %w", err)
		}
		if w.reach == nil {
			w.reach = map[string]*contactSet{}
		}
		w.reach[account] = c
	}
	if !c.filesRead {
		if err := t.readFiles(c, account); err != nil {
			return nil, fmt.Errorf("contacts of the account: %w", err)
		}
	}
	c.trim(since - contactSlack)
	return c, nil
}

func (w *singleWriter) noteRecipient(account string, phone messaging.Phone, at int64) {
	if c := w.reach[account]; c != nil && phone != "" {
		c.add(contactHash(phone, c.hash), at)
	}
}

func (w *singleWriter) filesCount(yes bool) {
	if !yes {
		w.reach = nil // who was on the file may have been reached by something else
	}
	for _, c := range w.reach {
		c.filesRead = false
	}
}

// longestWait is how long before a message was accepted it may have been stored, for its contact to be known
// after a start: a walk of all that was ever sent would hold up everybody, for the sake of a few contacts.
const longestWait = 8 * 24 * int64(time.Hour/time.Microsecond)

var (
	accountMessagesSQL       = engine.SQL(`SELECT phone, accepted_at FROM messages WHERE id >= ?3 AND account = ?1 AND accepted_at >= ?2 AND phone <> ''`)
	accountDroppedInDoubtSQL = engine.SQL(droppedInDoubt("d.phone, d.claimed_at", "d.id >= ?3 AND d.account = ?1 AND d.claimed_at >= ?2"))
)

// readMessages reads the whole window.
func (t *Tx) readMessages(c *contactSet, account string) error {
	first, err := t.firstCreated(c.from - longestWait)
	if err != nil {
		return err
	}
	for _, s := range [...]*engine.Statement{accountMessagesSQL, accountDroppedInDoubtSQL} {
		if err != nil {
			return err
		}
		err = t.Query(s, func(r *engine.Row) error {
			phone := r.Phone()
			c.add(contactHash(phone, c.hash), r.Int())
			return r.Err
		}, account, c.from, first)
	}
	slices.SortFunc(c.order, func(a, b reachedAt) int { return cmp.Compare(a.at, b.at) })
	return err
}

var createdAfterSQL = engine.SQL(`SELECT created_at FROM messages WHERE id >= ?1 ORDER BY id LIMIT 1`)

// firstCreated is a number that no message is below which was stored at that time or later.
func (t *Tx) firstCreated(at int64) (int64, error) {
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
		WHERE p.claimed_at >= ?1 AND p.claimed_at > 0 AND (SELECT r.account FROM runs r WHERE r.id = p.run_id) = ?2 AND ` + mayHaveArrived)
	phonesOfPartSQL = engine.SQL(`SELECT l.number, l.phone FROM part_rows x JOIN list_rows l ON l.run_id = ?3 AND l.number >= x.first_row AND l.number <= x.last_row
		WHERE x.run_id = ?1 AND x.part = ?2`)
)

// readFiles adds who is on the files of the window. Who was forgotten counts on: as nobody, once for each row.
func (t *Tx) readFiles(c *contactSet, account string) error {
	type file struct{ run, Number, List, at int64 }
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
				c.add(c.hash("nobody", strconv.FormatInt(f.List, 10), strconv.FormatInt(number, 10)), f.at)
			} else {
				c.add(contactHash(phone, c.hash), f.at)
			}
			return r.Err
		}, f.run, f.Number, f.List)
	}
	c.filesRead = err == nil
	slices.SortFunc(c.order, func(a, b reachedAt) int { return cmp.Compare(a.at, b.at) })
	return err
}

var (
	accountSendingSQL = engine.SQL(`SELECT phone FROM messages WHERE state = 'sending' AND account = ?1 AND claimed_at >= ?2`)
	accountDoubtSQL   = engine.SQL(`SELECT phone FROM messages WHERE state = 'in_doubt' AND account = ?1 AND claimed_at >= ?2`)
)

// flying calls each for the contacts that messages of an account are on their way to, or may have reached since then.
func (t *Tx) flying(account string, since int64, hash func(...string) int64, each func(int64)) error {
	for _, s := range [...]*engine.Statement{accountSendingSQL, accountDoubtSQL} {
		err := t.Query(s, func(r *engine.Row) error {
			each(contactHash(r.Phone(), hash))
			return r.Err
		}, account, since)
		if err != nil {
			return fmt.Errorf("contacts of the account: %w", err)
		}
	}
	return nil
}
