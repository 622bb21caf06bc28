package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// What is forgotten goes in steps: the tables are read page by page beside the daemon's work, and what tells of the contact
// is changed in small commits. A crash loses no order: the rows of table forgetting stay until all is done, and every
// step may be done again. So what leads to the rest, the phones of events and messages, goes last.

// perErase is how many rows are read at a time, and how many changes share a commit.
const perErase = 256

// An eraser carries out some orders in one walk.
type eraser struct {
	*Store
	find       *phones.Finder
	phones     map[string]int64 // to the microsecond up to which
	connectors map[string]int64
	events     map[int64]bool // that are forgotten
	messages   map[int64]bool
	missed     bool // a row changed between its reading and its writing
}

func (s *Store) newEraser(all []Erasure) *eraser {
	e := &eraser{Store: s, phones: map[string]int64{}, connectors: map[string]int64{}, events: map[int64]bool{}, messages: map[int64]bool{}}
	for _, o := range all {
		if o.Connector != "" {
			e.connectors[o.Connector] = Micro(o.At)
		} else {
			e.phones[string(o.Phone)] = Micro(o.At)
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
func (s *Store) Erase(ctx context.Context, all []Erasure) (waits string, err error) {
	const tries = 5
	for range tries {
		e := s.newEraser(all)
		if waits, err = e.run(ctx); err != nil || waits != "" || !e.missed {
			return waits, Wrap(err, "forget")
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

var dropLookupSQL = SQL(`DELETE FROM lookups WHERE event_id = ?1`)

// stop ends what would still be done for those who are forgotten.
func (e *eraser) stop(ctx context.Context) (waits string, err error) {
	var lookups, waiting, doubt []int64
	err = e.Rows(ctx, `SELECT l.event_id, e.phone, e.connector, e.received_at FROM lookups l JOIN events e ON e.id = l.event_id`, nil, func(r *Row) error {
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
	err = e.Rows(ctx, live+`'waiting' UNION ALL `+live+`'sending' UNION ALL `+live+`'in_doubt'`, nil, func(r *Row) error {
		id, state := r.Int(), messaging.State(r.Text())
		if !e.owns(r.Text(), r.Text(), r.Int()) {
			return nil
		}
		switch state {
		case messaging.StateWaiting:
			waiting = append(waiting, id)
		case messaging.StateInDoubt:
			doubt = append(doubt, id)
		default:
			waits = fmt.Sprintf("message %d is being sent", id)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if waits == "" {
		waits, err = e.listsInUse(ctx)
	}
	if err != nil {
		return "", err
	}
	const why = "the contact is forgotten"
	for some := range slices.Chunk(lookups, perErase) {
		if err := e.Write(ctx, LaneWork, func(t *Tx) error { return t.each(dropLookupSQL, some) }); err != nil {
			return "", err
		}
	}
	end := func(ids []int64, from messaging.State, do func(*Tx, *messaging.Message) error) error {
		for some := range slices.Chunk(ids, perErase) {
			err := e.Write(ctx, LaneWork, func(t *Tx) error {
				for _, id := range some {
					var d messaging.Message
					err := t.Query(MessageSQL, func(r *Row) error { d, _ = ScanMessage(r); return r.Err }, id)
					if err == nil && d.State == from {
						err = do(t, &d)
					}
					if err != nil {
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
	if err := end(waiting, messaging.StateWaiting, func(t *Tx, d *messaging.Message) error { return t.cancelOne(d, why) }); err != nil {
		return "", err
	}
	return waits, end(doubt, messaging.StateInDoubt, func(t *Tx, d *messaging.Message) error {
		_, err := t.resolveOne(d, messaging.ResolveDrop, why)
		return err
	})
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
	err = e.Rows(ctx, `SELECT id, job, started_at FROM runs WHERE ended_at = 0 AND state = 'building' AND waits <> 'source'`, nil, func(r *Row) error {
		if id, job := r.Int(), r.Text(); r.Int() <= newest {
			waits = fmt.Sprintf("run %d of %s, which is building", id, job)
		}
		return r.Err
	})
	for phone := range e.phones {
		if err != nil || waits != "" {
			break
		}
		err = e.Rows(ctx, `SELECT p.run_id, r.job FROM list_rows l JOIN parts p ON p.list_id = l.run_id JOIN runs r ON r.id = p.run_id JOIN part_rows x ON `+hasRow("l.number")+`
			WHERE l.phone = ?1 AND l.phone <> '' AND l.number > 0 AND p.state = 'uploading'`, []any{phone}, func(r *Row) error {
			waits = fmt.Sprintf("a file of run %d of %s, which is being sent", r.Int(), r.Text())
			return r.Err
		})
	}
	return waits, err
}

var eraseRowSQL = SQL(`UPDATE list_rows SET phone = '', given = '', cells = '', reason = CASE WHEN reason = '' THEN '' ELSE ?3 END WHERE run_id = ?1 AND number = ?2`)

// listRows takes contacts out of lists. Of a row nothing stays but its number: no part takes it along any more, and what a part counted stays true.
func (e *eraser) listRows(ctx context.Context) error {
	type place struct{ run, Number int64 }
	for phone, at := range e.phones {
		due, err := List(ctx, e.Store, `SELECT l.run_id, l.number FROM list_rows l JOIN runs r ON r.id = l.run_id WHERE l.phone = ?1 AND l.phone <> '' AND r.created_at <= ?2`,
			[]any{phone, at}, func(r *Row) (place, error) { return place{r.Int(), r.Int()}, r.Err })
		for some := range slices.Chunk(due, perErase) {
			if err != nil {
				break
			}
			err = e.Write(ctx, LaneWork, func(t *Tx) error {
				for _, one := range some {
					if err := t.Put(eraseRowSQL, one.run, one.Number, messaging.ForgottenWords); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("rows of lists: %w", err)
		}
	}
	return nil
}

func (t *Tx) each(s *Statement, ids []int64) error {
	for _, id := range ids {
		if err := t.Put(s, id); err != nil {
			return err
		}
	}
	return nil
}

// walk reads the rows of a query in the order of their first column, a whole number, which must be its ?1, and calls
// each on them.
func (e *eraser) walk(ctx context.Context, query string, each func(id int64, r *Row) error) error {
	var after int64
	for {
		n := 0
		err := e.Rows(ctx, fmt.Sprintf(query+" LIMIT %d", perErase), []any{after}, func(r *Row) error {
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
	err := e.walk(ctx, `SELECT id, phone, connector, received_at FROM events WHERE id > ?1 ORDER BY id`, func(id int64, r *Row) error {
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
		func(id int64, r *Row) error {
			if e.owns(r.Text(), r.Text(), r.Int()) {
				e.messages[id] = true
			}
			return nil
		})
}

var blotEventSQL = SQL(`UPDATE events SET content_type = ?2, content = ?3 WHERE id = ?1`)

// payloads goes through what events carried, for who is named in that of somebody else. Of an event that is forgotten nothing stays
// (see eraseEvent).
func (e *eraser) payloads(ctx context.Context) error {
	type load struct {
		id          int64
		kind, facts string
		payload     []byte
	}
	blot := func(r *Row) (l load, found bool, err error) {
		l = load{id: r.Int(), kind: r.Text()}
		l.facts, l.payload, err = unpackContent(r.Blob())
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
		err := e.Rows(ctx, `SELECT id, content_type, content FROM events WHERE id > ?1 AND `+hasContent+` ORDER BY id LIMIT ?2`, []any{after, int64(perErase)}, func(r *Row) error {
			n++
			l, found, err := blot(r)
			if after = l.id; found && !e.events[l.id] {
				due = append(due, l.id)
			}
			return err
		})
		if err == nil && len(due) > 0 {
			err = e.Write(ctx, LaneWork, func(t *Tx) error {
				if err := t.lockKnowing(e.hash); err != nil {
					return err
				}
				for _, id := range due {
					var l load
					var found bool
					err := t.Query(eventLoadSQL, func(r *Row) (err error) { l, found, err = blot(r); return err }, id)
					if err == nil && found {
						err = t.Put(blotEventSQL, id, l.kind, packContent(l.facts, l.payload))
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

var eventLoadSQL = SQL(`SELECT id, content_type, content FROM events WHERE id = ?1 AND ` + hasContent + ` {{for update}}`)

var eraseDecisionSQL = SQL(`UPDATE decisions SET reason = ?3, key = '', clauses = ?4 WHERE event_id = ?1 AND number = ?2`)

// decisionTexts takes the contact out of what triggers said about the events that are forgotten. Who is named in other decisions is
// taken out with the other texts.
func (e *eraser) decisionTexts(ctx context.Context) error {
	type said struct {
		event, Number int64
		clauses       string
	}
	for some := range slices.Chunk(idsOf(e.events), perErase) {
		var due []said
		err := e.Rows(ctx, `SELECT event_id, number, clauses FROM decisions WHERE event_id IN `+In(some)+` AND kept = 1`, nil, func(r *Row) error {
			d := said{r.Int(), r.Int(), r.Text()}
			clauses, err := decodeList[messaging.Clause](d.clauses)
			if err != nil {
				return fmt.Errorf("event %d: %w", d.event, err)
			}
			p := messaging.Plan{Forgets: true, Proposals: []messaging.Proposal{{Decision: messaging.Decision{Clauses: clauses}}}}
			p.Forget()
			if d.clauses, err = encodeList(p.Proposals[0].Decision.Clauses); err == nil {
				due = append(due, d)
			}
			return errors.Join(err, r.Err)
		})
		if err == nil {
			err = e.Write(ctx, LaneWork, func(t *Tx) error {
				for _, d := range due {
					if err := t.Put(eraseDecisionSQL, d.event, d.Number, messaging.ForgottenWords, d.clauses); err != nil {
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

// tombstones forgets cancelling events: who is forgotten gets nothing that they could cancel.
func (e *eraser) tombstones(ctx context.Context) error {
	type key struct {
		correlation            int64
		trigger, Text, contact string
	}
	var due []key
	err := e.Rows(ctx, `SELECT correlation, trigger_name, correlation_key, phone, event_id FROM tombstones`, nil, func(r *Row) error {
		k := key{r.Int(), r.Text(), r.Text(), r.Text()}
		_, named := e.find.BlotString(k.Text)
		if e.events[r.Int()] || named || e.phones[k.contact] > 0 {
			due = append(due, k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(due, perErase) {
		err := e.Write(ctx, LaneWork, func(t *Tx) error {
			for _, k := range some {
				if err := t.Put(deleteTombstoneSQL, k.correlation, k.trigger, k.Text, k.contact); err != nil {
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

// change carries out one statement for many rows, in small commits.
func (e *eraser) change(ctx context.Context, s *Statement, ids []int64, args ...any) error {
	slices.Sort(ids)
	for some := range slices.Chunk(ids, perErase) {
		err := e.Write(ctx, LaneWork, func(t *Tx) error {
			for _, id := range some {
				if err := t.Put(s, append([]any{id}, args...)...); err != nil {
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

func idsOf(set map[int64]bool) []int64 {
	out := make([]int64, 0, len(set))
	for id := range set {
		out = append(out, id)
	}
	return out
}

var eraseAnswersSQL = SQL(`UPDATE attempts SET answer = '', reason = CASE WHEN reason = '' THEN '' ELSE ?2 END WHERE message = ?1`)

// answers drops what the service said of what was sent to those who are forgotten.
func (e *eraser) answers(ctx context.Context) error {
	return e.change(ctx, eraseAnswersSQL, idsOf(e.messages), messaging.ForgottenWords)
}

var eraseMessageSQL = SQL(`UPDATE messages SET phone = '', sent_as = '', zone = '', correlation_key = ?2, other_keys = '', send = ?3, ended_send = '', reason = CASE WHEN reason = '' THEN '' ELSE ?4 END,
			unmasked = 0, error = CASE WHEN error = '' THEN '' ELSE ?4 END
			WHERE id = ?1 AND state <> 'waiting' AND state <> 'sending'`)

// ownMessages keeps of a message that was sent its numbers, states and times, and what names its template.
func (e *eraser) ownMessages(ctx context.Context) error {
	ids := idsOf(e.messages)
	slices.Sort(ids)
	for some := range slices.Chunk(ids, perErase) {
		err := e.Write(ctx, LaneWork, func(t *Tx) error {
			for _, id := range some {
				var d messaging.Message
				var send string
				err := t.Query(MessageSQL, func(r *Row) error { d, send = ScanMessage(r); return r.Err }, id)
				if err != nil || d.ID == 0 {
					return err
				}
				_ = decodeSend(&d, send) // what nobody can read goes all the same
				d.Send.Forget = true
				if d.EventID != 0 { // the key of a row names its run
					d.Key = ""
				}
				if err := t.Put(eraseMessageSQL, id, d.Key, endedSend(&d.Send), messaging.ForgottenWords); err != nil {
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

func (e *eraser) ownEvents(ctx context.Context) error {
	for some := range slices.Chunk(idsOf(e.events), perErase) {
		err := e.Write(ctx, LaneWork, func(t *Tx) error {
			if err := t.lockKnowing(e.hash); err != nil {
				return err
			}
			for _, id := range some {
				if err := t.eraseEvent(id); err != nil {
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

var (
	dropConsentsOfSQL = SQL(`DELETE FROM consents WHERE phone = ?1 AND event_id = ?2`)
	dropOptOutOfSQL   = SQL(`DELETE FROM opt_outs WHERE phone = ?1 AND event_id = ?2`)
)

// words drops what contacts said, which an event may have brought since the order.
func (e *eraser) words(ctx context.Context) error {
	type word struct {
		phone messaging.Phone
		event int64
	}
	var due []word
	for _, q := range []string{`SELECT phone, event_id FROM opt_outs`, `SELECT phone, event_id FROM consents`, `SELECT phone, event_id FROM blocks`} {
		err := e.Rows(ctx, q, nil, func(r *Row) error {
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
	for some := range slices.Chunk(due, perErase) {
		err := e.Write(ctx, LaneWork, func(t *Tx) error {
			for _, w := range some {
				blocked := false
				if err := t.Query(blockOfSQL, func(r *Row) error { blocked = r.Int() == w.event; return nil }, string(w.phone)); err != nil {
					return err
				}
				if blocked {
					if err := t.mark(w.phone, t.At, 0); err != nil {
						return err
					}
					if err := t.Put(allowSQL, string(w.phone)); err != nil {
						return err
					}
				}
				for _, drop := range []*Statement{dropOptOutOfSQL, dropConsentsOfSQL} {
					if err := t.Put(drop, string(w.phone), w.event); err != nil {
						return err
					}
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
