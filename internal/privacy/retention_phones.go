package privacy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// The phones of messages and events that ended long ago are masked: some digits stay, for people who read a list, and nothing
// else that tells whose message it was. What stays beside the mask is what forgetting leaves, so nothing is left to forget, and no
// key that could tell of the phone. Nothing finds such a row by its phone, and it is never sent again.
//
// A run walks on from where the last one came to, so what is masked costs nothing later. What it passes because it has not
// ended is marked (unmasked).

// perMask is how many messages are masked in a commit, and maxMasks how many in a run: the other kinds have their turn, too.
const (
	perMask  = perMessages
	maxMasks = 500_000
)

// Counters of how far the walks came.
const (
	maskedMessages = "retention/masked/messages"
	maskedEvents   = "retention/masked/events"
)

// maskedWords stand in the place of a text that is not kept longer than the phone.
const maskedWords = "not kept any more (retention.phones)"

// endedLong is the condition on a message d that we did nothing for it since ?1, and will not. (+ 0 keeps SQLite from walking all that is asked about.)
const endedLong = `d.state <> 'waiting' AND d.state <> 'sending' AND d.state <> 'in_doubt' AND d.next_poll_at + 0 = 0 AND d.updated_at < ?1`

// masks masks the phones of messages and of events.
func (e *retainer) masks(ctx context.Context) error {
	before := e.before(e.keep.Phones)
	if before.IsZero() {
		return nil
	}
	for _, step := range []func(context.Context, int64) error{e.maskMessages, e.maskEvents} {
		if err := step(ctx, engine.Micro(before)); err != nil {
			return store.Wrap(err, "phones")
		}
	}
	return nil
}

// keysOfPhone is how many keys lead nowhere, about, once an event has no phone any more: that of the phone, and those of words.
const keysOfPhone = 3

// walkedTo is how far a walk came.
func (e *retainer) walkedTo(ctx context.Context, name string) (id int64, err error) {
	err = e.Rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{name}, func(r *engine.Row) error { id = r.Int(); return r.Err })
	return id, err
}

var unmaskedSQL = engine.SQL(`UPDATE messages SET unmasked = 1 WHERE id = ?1`)

func (e *retainer) maskMessages(ctx context.Context, cut int64) error {
	end, err := e.FirstSince(ctx, "messages", "created_at", engine.Moment(cut))
	if err != nil {
		return err
	}
	eventsTo, err := e.walkedTo(ctx, maskedEvents)
	if err != nil {
		return err
	}
	page := func(ids []int64, walk bool) error {
		texts, err := e.textsOfMessages(ctx, ids)
		if err != nil {
			return err
		}
		return e.commit(ctx, kindPhones, func(t *store.Tx) (int64, error) {
			ready := slices.DeleteFunc(slices.Clone(ids), e.isOpen)
			masked, err := maskMessages(t, ready, cut, eventsTo, e.keep.Once)
			for i := range texts {
				if id, _ := texts[i].args[2].(int64); err == nil && masked[id] {
					err = t.Put(texts[i].by, texts[i].args...)
				}
			}
			for _, id := range ids {
				if err == nil && walk && !masked[id] {
					err = t.Put(unmaskedSQL, id)
				}
			}
			if err == nil && walk {
				err = t.Put(tally.SetCountSQL, maskedMessages, ids[len(ids)-1])
			}
			return int64(len(masked)), err
		})
	}
	err = e.ids(ctx, `SELECT d.id FROM messages d WHERE d.unmasked = 1 AND d.id > ?1 AND `+strings.ReplaceAll(endedLong, "?1", "?2")+` ORDER BY d.id`,
		[]any{cut}, perMask, func(ids []int64) error {
			if ids = slices.DeleteFunc(ids, e.isOpen); len(ids) == 0 {
				return nil
			}
			return page(ids, false)
		})
	from := int64(0)
	if err == nil {
		from, err = e.walkedTo(ctx, maskedMessages)
	}
	for n, all := perMask, 0; err == nil && n == perMask && all < maxMasks; all += n {
		var ids []int64
		ids, err = store.List(ctx, e.Store, `SELECT id FROM messages WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3`, []any{from, end, int64(perMask)}, engine.Number[int64])
		if n = len(ids); err == nil && n > 0 {
			from = ids[n-1]
			err = page(ids, true)
		}
	}
	return err
}

// isOpen reports whether a message is a row of a run that has not ended.
func (e *retainer) isOpen(id int64) bool {
	return slices.ContainsFunc(e.open, func(r rowsOfRun) bool { return id >= r.first && id < r.first+r.count })
}

// textsOfMessages finds where their phones stand in the texts of messages that may be masked.
func (e *retainer) textsOfMessages(ctx context.Context, ids []int64) (due []textChange, err error) {
	all, err := store.List(ctx, e.Store, `SELECT phone FROM messages d WHERE id IN `+engine.In(ids)+` AND NOT `+stored.IsMasked("phone")+` AND state <> 'waiting' AND state <> 'sending' AND state <> 'in_doubt'`, nil, engine.Text)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return e.textsWith(ctx, phones.NewFinder(all...), ids, func(x *erasedText) bool {
		return x.keys[0] == "message" || x.table == "messages" && (x.column == "reason" || x.column == "error" || x.column == "called_off")
	})
}

// textsWith are the texts of some rows in which phones stand, as they are to be.
func (e *retainer) textsWith(ctx context.Context, find *phones.Finder, ids []int64, which func(*erasedText) bool) (due []textChange, err error) {
	for i := range erasedTexts {
		x := &erasedTexts[i]
		if !which(x) {
			continue
		}
		err = e.Rows(ctx, fmt.Sprintf(`SELECT %s, %s FROM %s WHERE %s IN %s`, x.column, strings.Join(x.keys, ", "), x.table, x.keys[0], engine.In(ids)), nil, func(r *engine.Row) error {
			old := r.Text()
			now, found := find.BlotString(old)
			if !found {
				return r.Err
			}
			args := []any{now, old}
			for range x.keys {
				v := r.Value()
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				args = append(args, v)
			}
			due = append(due, textChange{eraseTextSQL[i], args})
			return r.Err
		})
		if err != nil {
			return nil, err
		}
	}
	return due, nil
}

var (
	endedLongSQL   = engine.SQL(`SELECT ` + oldColumns + `, d.phone, d.send FROM messages d WHERE d.id IN (` + engine.Placeholders(2) + `) AND ` + endedLong)
	maskMessageSQL = engine.SQL(`UPDATE messages SET phone = ?2, sent_as = '', zone = '', correlation_key = CASE WHEN event_id = 0 THEN correlation_key ELSE '' END, other_keys = '', correlation = 0, send = ?3, ended_send = '', unmasked = 0
		WHERE id = ?1`)
)

// maskMessages masks those of the messages that ended before cut, and the events up to a number
// that no other message is left of.
func maskMessages(t *store.Tx, ids []int64, cut, eventsTo int64, once func(string, bool) bool) (masked map[int64]bool, err error) {
	type ended struct {
		oldOne
		phone messaging.Phone
		send  string
	}
	var due []ended
	err = queryAll(t.Query, endedLongSQL, ids, func(r *engine.Row) error {
		due = append(due, ended{scanOld(r), r.Phone(), r.Text()})
		return r.Err
	}, cut)
	if err != nil {
		return nil, err
	}
	masked = map[int64]bool{}
	var events []int64
	for i := range due {
		d := &due[i]
		if masked[d.id] {
			continue // a list of ids names one several times
		}
		masked[d.id] = true
		if d.phone == "" || d.phone.IsMasked() {
			continue // forgotten
		}
		if d.event != 0 {
			if err := leaveKeys(t, &d.oldOne, once); err != nil {
				return nil, err
			}
			if d.event <= eventsTo {
				events = append(events, d.event)
			}
		}
		if err := t.Put(maskMessageSQL, d.id, d.phone.Masked(), stored.ForgottenSend(d.send)); err != nil {
			return nil, err
		}
	}
	_, err = maskEvents(t, events)
	return masked, err
}

var (
	maskableSQL   = engine.SQL(`SELECT id, phone, topic, phone_problem FROM events WHERE id IN (` + engine.Placeholders(1) + `)`)
	wholePhoneSQL = engine.SQL(`SELECT event_id FROM messages WHERE id IN (` + engine.Placeholders(1) + `) AND NOT ` + stored.IsMasked("phone"))
	maskEventSQL  = engine.SQL(`UPDATE events SET phone = ?2, topic = ?3, phone_problem = ?4, dedupe_key = ?5 WHERE id = ?1`)
)

// maskEvents masks what tells of the contact in those of the events that no message with a phone is left of.
func maskEvents(t *store.Tx, ids []int64) (n int64, err error) {
	type one struct {
		id             int64
		phone          messaging.Phone
		topic, problem string
	}
	slices.Sort(ids)
	if ids, err = without(t.Query, wholePhoneSQL, slices.Compact(ids)); err != nil {
		return 0, err
	}
	due := map[int64]one{}
	err = queryAll(t.Query, maskableSQL, ids, func(r *engine.Row) error {
		e := one{r.Int(), r.Phone(), r.Text(), r.Text()}
		due[e.id] = e
		return r.Err
	})
	if err != nil {
		return 0, err
	}
	for _, e := range due {
		if e.phone.IsMasked() || e.phone == "" && e.problem == "" {
			continue
		}
		if e.problem != "" {
			e.problem = maskedWords
		}
		topic, masked := e.topic, ""
		if e.phone != "" {
			topic, _ = phones.NewFinder(string(e.phone)).BlotString(topic)
			masked = e.phone.Masked()
		}
		if err := t.Put(maskEventSQL, e.id, masked, topic, e.problem, maskedWords); err != nil {
			return 0, err
		}
		n++
	}
	t.CountNamed(peers.DeadKeys, keysOfPhone*n)
	return n, nil
}

// maskEvents walks through the events, up to the first that waits for a look-up. One that a message with a phone is left of
// is masked with the last of these.
func (e *retainer) maskEvents(ctx context.Context, cut int64) error {
	end, err := e.FirstSince(ctx, "events", "received_at", engine.Moment(cut))
	if err == nil {
		err = e.Rows(ctx, `SELECT coalesce(min(event_id), ?1) FROM lookups`, []any{end}, func(r *engine.Row) error { end = min(end, r.Int()); return r.Err })
	}
	from := int64(0)
	if err == nil {
		from, err = e.walkedTo(ctx, maskedEvents)
	}
	for n, all := perRetention, 0; err == nil && n == perRetention && all < maxMasks; all += n {
		var ids []int64
		ids, err = store.List(ctx, e.Store, `SELECT id FROM events WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3`, []any{from, end, int64(perRetention)}, engine.Number[int64])
		if n = len(ids); err != nil || n == 0 {
			break
		}
		from = ids[n-1]
		ids = slices.DeleteFunc(ids, func(id int64) bool { return e.needs(id, id+1) })
		err = e.commit(ctx, kindPhones, func(t *store.Tx) (int64, error) {
			masked, err := maskEvents(t, ids)
			if err == nil {
				err = t.Put(tally.SetCountSQL, maskedEvents, from)
			}
			return masked, err
		})
	}
	return err
}
