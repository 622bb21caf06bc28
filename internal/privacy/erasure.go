package privacy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// What is forgotten goes in steps: the tables are read page by page beside the daemon's work, and what tells of the contact
// is changed in small commits. A crash loses no order: the rows of table forgetting stay until all is done, and every
// step may be done again. So what leads to the rest, the phones of events and messages, goes last.

// perErase is how many rows are read at a time, and how many changes share a commit.
const perErase = 256

// An eraser carries out some orders in one walk.
type eraser struct {
	Records
	find       *phones.Finder
	phones     map[string]int64 // to the microsecond up to which
	connectors map[string]int64
	events     map[int64]bool // that are forgotten
	messages   map[int64]bool
	missed     bool // a row changed between its reading and its writing
}

func (s Records) newEraser(all []Erasure) *eraser {
	e := &eraser{Records: s, phones: map[string]int64{}, connectors: map[string]int64{}, events: map[int64]bool{}, messages: map[int64]bool{}}
	for _, o := range all {
		if o.Connector != "" {
			e.connectors[o.Connector] = engine.Micro(o.At)
		} else {
			e.phones[string(o.Phone)] = engine.Micro(o.At)
		}
	}
	e.find = Finder(all)
	return e
}

// Finder finds the phones of orders in texts.
func Finder(all []Erasure) *phones.Finder {
	numbers := make([]string, len(all))
	for i := range all {
		numbers[i] = string(all[i].Phone)
	}
	return phones.NewFinder(numbers...)
}

// owns reports whether what belongs to this phone, and came by that connector, at that time is to be forgotten.
func (e *eraser) owns(phone, connector string, at int64) bool {
	if upTo, ok := e.phones[phone]; ok && at <= upTo {
		return true
	}
	upTo, ok := e.connectors[connector]
	return ok && at <= upTo
}

// Erase carries out orders in the tables. What still waits to be sent is cancelled first. waits says why it cannot go on
// yet, "" when all is done: a message is being sent, and how that ends must be known.
func (s Records) Erase(ctx context.Context, all []Erasure) (waits string, err error) {
	const tries = 5
	for range tries {
		e := s.newEraser(all)
		if waits, err = e.run(ctx); err != nil || waits != "" || !e.missed {
			return waits, store.Wrap(err, "forget")
		}
	}
	return "rows that change all the time", nil
}

func (e *eraser) run(ctx context.Context) (waits string, err error) {
	if waits, err = e.stop(ctx); err != nil || waits != "" {
		return waits, err
	}
	for _, step := range e.steps() {
		if err := step(ctx); err != nil {
			return "", err
		}
	}
	return "", nil
}

// steps are in an order in which each may be the last before a crash.
func (e *eraser) steps() []func(context.Context) error {
	return []func(context.Context) error{
		e.collect, e.outgoing, e.payloads, e.decisionTexts, e.tombstones, e.words, e.listRows, e.texts, e.answers, e.ownMessages, e.ownEvents, e.known,
	}
}

var dropLookupSQL = engine.SQL(`DELETE FROM lookups WHERE event_id = ?1`)

// stop ends what would still be done for those who are forgotten.
func (e *eraser) stop(ctx context.Context) (waits string, err error) {
	var lookups, unsent []int64
	err = e.Rows(ctx, `SELECT l.event_id, e.phone, e.connector, e.received_at FROM lookups l JOIN events e ON e.id = l.event_id`, nil, func(r *engine.Row) error {
		id := r.Int()
		if e.owns(r.Text(), r.Text(), r.Int()) {
			lookups = append(lookups, id)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	const live = `SELECT d.id, d.state, d.phone, coalesce(e.connector, ''), d.created_at FROM messages d LEFT JOIN events e ON e.id = d.event_id WHERE d.state = `
	err = e.Rows(ctx, live+`'waiting' UNION ALL `+live+`'sending' UNION ALL `+live+`'in_doubt'`, nil, func(r *engine.Row) error {
		id, state := r.Int(), messaging.State(r.Text())
		switch {
		case !e.owns(r.Text(), r.Text(), r.Int()):
		case state == messaging.StateSending:
			waits = fmt.Sprintf("message %d is being sent", id)
		default:
			unsent = append(unsent, id)
		}
		return nil
	})
	if err == nil && waits == "" {
		waits, err = e.listsInUse(ctx)
	}
	if err == nil {
		err = e.change(ctx, dropLookupSQL, lookups)
	}
	if err != nil {
		return "", err
	}
	return waits, inCommits(ctx, e, unsent, func(t *store.Tx, id int64) error { return t.GiveUp(id, "the contact is forgotten") })
}

// listsInUse says which list is being read that may bring a row of theirs yet, or which file with one is being sent, "" for none.
func (e *eraser) listsInUse(ctx context.Context) (waits string, err error) {
	newest := int64(0)
	for _, at := range e.phones {
		newest = max(newest, at)
	}
	if newest == 0 {
		return "", nil
	}
	err = e.Rows(ctx, `SELECT id, job, started_at FROM runs WHERE ended_at = 0 AND state = 'building' AND waits <> 'source'`, nil, func(r *engine.Row) error {
		if id, job := r.Int(), r.Text(); r.Int() <= newest {
			waits = fmt.Sprintf("run %d of %s, which is building", id, job)
		}
		return r.Err
	})
	for phone := range e.phones {
		if err != nil || waits != "" {
			break
		}
		err = e.Rows(ctx, `SELECT p.run_id, r.job FROM list_rows l JOIN parts p ON p.list_id = l.run_id JOIN runs r ON r.id = p.run_id JOIN part_rows x ON `+store.HasRow("l.number")+`
			WHERE l.phone = ?1 AND l.phone <> '' AND l.number > 0 AND p.state = 'uploading'`, []any{phone}, func(r *engine.Row) error {
			waits = fmt.Sprintf("a file of run %d of %s, which is being sent", r.Int(), r.Text())
			return r.Err
		})
	}
	return waits, err
}

var eraseRowSQL = engine.SQL(`UPDATE list_rows SET phone = '', given = '', cells = '', reason = CASE WHEN reason = '' THEN '' ELSE ?3 END WHERE run_id = ?1 AND number = ?2`)

// listRows takes contacts out of lists. Of a row nothing stays but its number: no part takes it along any more, and what a part counted stays true.
func (e *eraser) listRows(ctx context.Context) error {
	type place struct{ run, number int64 }
	for phone, at := range e.phones {
		due, err := store.List(ctx, e.Store, `SELECT l.run_id, l.number FROM list_rows l JOIN runs r ON r.id = l.run_id WHERE l.phone = ?1 AND l.phone <> '' AND r.created_at <= ?2`,
			[]any{phone, at}, func(r *engine.Row) (place, error) { return place{r.Int(), r.Int()}, r.Err })
		if err == nil {
			err = inCommits(ctx, e, due, func(t *store.Tx, one place) error {
				return t.Put(eraseRowSQL, one.run, one.number, messaging.ForgottenWords)
			})
		}
		if err != nil {
			return fmt.Errorf("rows of lists: %w", err)
		}
	}
	return nil
}

// inCommits calls do on each of all, some of them in each commit.
func inCommits[T any](ctx context.Context, e *eraser, all []T, do func(*store.Tx, T) error) error {
	for some := range slices.Chunk(all, perErase) {
		err := e.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
			for _, one := range some {
				if err := do(t, one); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// change carries out one statement for many rows.
func (e *eraser) change(ctx context.Context, s *engine.Statement, ids []int64, args ...any) error {
	slices.Sort(ids)
	return inCommits(ctx, e, ids, func(t *store.Tx, id int64) error { return t.Put(s, append([]any{id}, args...)...) })
}

// walk reads the rows of a query in the order of their first column, a whole number, which must be its ?1, and calls
// each on them.
func (e *eraser) walk(ctx context.Context, query string, each func(id int64, r *engine.Row) error) error {
	var after int64
	for {
		n := 0
		err := e.Rows(ctx, fmt.Sprintf(query+" LIMIT %d", perErase), []any{after}, func(r *engine.Row) error {
			n++
			after = r.Int()
			return each(after, r)
		})
		if err != nil || n < perErase {
			return err
		}
	}
}

// collect finds the events and messages that are forgotten.
func (e *eraser) collect(ctx context.Context) error {
	err := e.walk(ctx, `SELECT id, phone, connector, received_at FROM events WHERE id > ?1 ORDER BY id`, func(id int64, r *engine.Row) error {
		if e.owns(r.Text(), r.Text(), r.Int()) {
			e.events[id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	// One that an upload's answer named belongs to the time at which its file left: the answer may have come after the order.
	return e.walk(ctx, `SELECT d.id, d.phone, coalesce(e.connector, ''), CASE WHEN p.claimed_at > 0 AND p.claimed_at < d.created_at THEN p.claimed_at ELSE d.created_at END
		FROM messages d LEFT JOIN events e ON e.id = d.event_id LEFT JOIN parts p ON d.part > 0 AND p.run_id = d.run_id AND p.number = d.part WHERE d.id > ?1 ORDER BY d.id`,
		func(id int64, r *engine.Row) error {
			if e.owns(r.Text(), r.Text(), r.Int()) {
				e.messages[id] = true
			}
			return nil
		})
}

// hasContent is the condition on an event that something of its content is kept.
const hasContent = `(cleared = '' OR cleared = 'payload')`

var blotEventSQL = engine.SQL(`UPDATE events SET content_type = ?2, content = ?3 WHERE id = ?1`)

// payloads goes through what events carried, for who is named in that of somebody else. Of an event that is forgotten nothing stays
// (store.Tx.EraseEvent).
func (e *eraser) payloads(ctx context.Context) error {
	type load struct {
		id          int64
		kind, facts string
		payload     []byte
	}
	blot := func(r *engine.Row) (l load, found bool, err error) {
		l = load{id: r.Int(), kind: r.Text()}
		l.facts, l.payload, err = stored.UnpackContent(r.Blob())
		if err != nil {
			return l, false, fmt.Errorf("event %d: %w", l.id, err)
		}
		var named [3]bool
		l.kind, named[0] = e.find.BlotString(l.kind)
		l.facts, named[1] = e.find.BlotString(l.facts)
		named[2] = e.find.Blot(l.payload)
		return l, named[0] || named[1] || named[2], r.Err
	}
	for after, n := int64(0), perErase; n == perErase; {
		n = 0
		var due []int64
		err := e.Rows(ctx, `SELECT id, content_type, content FROM events WHERE id > ?1 AND `+hasContent+` ORDER BY id LIMIT ?2`, []any{after, int64(perErase)}, func(r *engine.Row) error {
			n++
			l, found, err := blot(r)
			if after = l.id; found && !e.events[l.id] {
				due = append(due, l.id)
			}
			return err
		})
		if err == nil && len(due) > 0 {
			err = e.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
				if _, err := e.LockKnown(t, ""); err != nil {
					return err
				}
				for _, id := range due {
					var l load
					var found bool
					err := t.Query(eventLoadSQL, func(r *engine.Row) (err error) { l, found, err = blot(r); return err }, id)
					if err == nil && found {
						err = t.Put(blotEventSQL, id, l.kind, stored.PackContent(l.facts, l.payload))
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var eventLoadSQL = engine.SQL(`SELECT id, content_type, content FROM events WHERE id = ?1 AND ` + hasContent + ` {{for update}}`)

var eraseDecisionSQL = engine.SQL(`UPDATE decisions SET reason = ?3, key = '', clauses = ?4 WHERE event_id = ?1 AND number = ?2`)

// decisionTexts takes the contact out of what triggers said about the events that are forgotten. Who is named in other decisions is
// taken out with the other texts.
func (e *eraser) decisionTexts(ctx context.Context) error {
	type said struct {
		event, number int64
		clauses       string
	}
	for some := range slices.Chunk(idsOf(e.events), perErase) {
		var due []said
		err := e.Rows(ctx, `SELECT event_id, number, clauses FROM decisions WHERE event_id IN `+engine.In(some)+` AND kept = 1`, nil, func(r *engine.Row) error {
			d := said{r.Int(), r.Int(), r.Text()}
			clauses, err := stored.DecodeList[messaging.Clause](d.clauses)
			if err != nil {
				return fmt.Errorf("event %d: %w", d.event, err)
			}
			p := messaging.Plan{Forgets: true, Proposals: []messaging.Proposal{{Decision: messaging.Decision{Clauses: clauses}}}}
			p.Forget()
			if d.clauses, err = stored.EncodeList(p.Proposals[0].Decision.Clauses); err == nil {
				due = append(due, d)
			}
			return errors.Join(err, r.Err)
		})
		if err == nil {
			err = inCommits(ctx, e, due, func(t *store.Tx, d said) error {
				return t.Put(eraseDecisionSQL, d.event, d.number, messaging.ForgottenWords, d.clauses)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var dropTombstoneSQL = engine.SQL(`DELETE FROM tombstones WHERE correlation = ?1 AND trigger_name = ?2 AND correlation_key = ?3 AND phone = ?4`)

// tombstones forgets cancelling events: who is forgotten gets nothing that they could cancel.
func (e *eraser) tombstones(ctx context.Context) error {
	var due [][]any
	err := e.Rows(ctx, `SELECT correlation, trigger_name, correlation_key, phone, event_id FROM tombstones`, nil, func(r *engine.Row) error {
		correlation, trigger, key, phone := r.Int(), r.Text(), r.Text(), r.Text()
		_, named := e.find.BlotString(key)
		if e.events[r.Int()] || named || e.phones[phone] > 0 {
			due = append(due, []any{correlation, trigger, key, phone})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return inCommits(ctx, e, due, func(t *store.Tx, key []any) error { return t.Put(dropTombstoneSQL, key...) })
}

func idsOf(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }

var eraseAnswersSQL = engine.SQL(`UPDATE attempts SET answer = '', reason = CASE WHEN reason = '' THEN '' ELSE ?2 END WHERE message = ?1`)

// answers drops what the service said of what was sent to those who are forgotten.
func (e *eraser) answers(ctx context.Context) error {
	return e.change(ctx, eraseAnswersSQL, idsOf(e.messages), messaging.ForgottenWords)
}

var eraseMessageSQL = engine.SQL(`UPDATE messages SET phone = '', sent_as = '', zone = '', correlation_key = ?2, other_keys = '', send = ?3, ended_send = '', reason = CASE WHEN reason = '' THEN '' ELSE ?4 END,
			unmasked = 0, error = CASE WHEN error = '' THEN '' ELSE ?4 END
			WHERE id = ?1 AND state <> 'waiting' AND state <> 'sending'`)

// ownMessages keeps of a message that was sent its numbers, states and times, and what names its template.
func (e *eraser) ownMessages(ctx context.Context) error {
	return inCommits(ctx, e, idsOf(e.messages), func(t *store.Tx, id int64) error {
		var d messaging.Message
		var send string
		err := t.Query(store.MessageSQL, func(r *engine.Row) error { d, send = stored.ScanMessage(r); return r.Err }, id)
		if err != nil || d.ID == 0 {
			return err
		}
		if d.EventID != 0 { // the key of a row names its run
			d.Key = ""
		}
		return t.Put(eraseMessageSQL, id, d.Key, stored.ForgottenSend(send), messaging.ForgottenWords)
	})
}

func (e *eraser) ownEvents(ctx context.Context) error {
	for some := range slices.Chunk(idsOf(e.events), perErase) {
		err := e.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
			_, err := e.LockKnown(t, "")
			for _, id := range some {
				if err == nil {
					err = t.EraseEvent(id)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	dropConsentsOfSQL = engine.SQL(`DELETE FROM consents WHERE phone = ?1 AND event_id = ?2`)
	dropOptOutOfSQL   = engine.SQL(`DELETE FROM opt_outs WHERE phone = ?1 AND event_id = ?2`)
)

// words drops what contacts said, which an event may have brought since the order.
func (e *eraser) words(ctx context.Context) error {
	type word struct {
		phone messaging.Phone
		event int64
	}
	var due []word
	for _, q := range []string{`SELECT phone, event_id FROM opt_outs`, `SELECT phone, event_id FROM consents`, `SELECT phone, event_id FROM blocks`} {
		err := e.Rows(ctx, q, nil, func(r *engine.Row) error {
			w := word{phone: r.Phone(), event: r.Int()}
			if e.events[w.event] && !slices.Contains(due, w) {
				due = append(due, w)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return inCommits(ctx, e, due, func(t *store.Tx, w word) error {
		t.NoteConsent(w.phone)
		err := t.MarkBlockOf(w.phone, w.event)
		for _, drop := range []*engine.Statement{dropConsentsOfSQL, dropOptOutOfSQL} {
			if err == nil {
				err = t.Put(drop, string(w.phone), w.event)
			}
		}
		return err
	})
}
