package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
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

// isMasked is the condition on a column that a phone is gone or masked.
func isMasked(phone string) string { return `(` + phone + ` = '' OR ` + phone + ` LIKE '%*%')` }

// endedLong is the condition on a message d that we did nothing for it since ?1, and will not. (+ 0 keeps SQLite from walking all that is asked about.)
const endedLong = `d.state <> 'waiting' AND d.state <> 'sending' AND d.state <> 'in_doubt' AND d.next_poll_at + 0 = 0 AND d.updated_at < ?1`

// masks masks the phones of messages and of events.
func (e *retainer) masks(ctx context.Context) error {
	before := e.before(e.keep.Phones)
	if before.IsZero() {
		return nil
	}
	for _, step := range []func(context.Context, int64) error{e.maskMessages, e.maskEvents} {
		if err := step(ctx, micro(before)); err != nil {
			return wrap(err, "phones")
		}
	}
	return nil
}

// walkedTo is how far a walk came.
func (e *retainer) walkedTo(ctx context.Context, name string) (id int64, err error) {
	err = e.rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{name}, func(r *row) error { id = r.int(); return r.err })
	return id, err
}

var unmaskedSQL = statementOf(`UPDATE messages SET unmasked = 1 WHERE id = ?1`)

func (e *retainer) maskMessages(ctx context.Context, cut int64) error {
	end, err := e.firstSince(ctx, "messages", "created_at", moment(cut))
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
		return e.commit(ctx, kindPhones, func(t *tx) (int64, error) {
			ready := slices.DeleteFunc(slices.Clone(ids), e.isOpen)
			masked, err := t.maskMessages(ready, cut, eventsTo, e.keep.Once)
			for i := range texts {
				if id, _ := texts[i].args[2].(int64); err == nil && masked[id] {
					err = t.put(texts[i].by, texts[i].args...)
				}
			}
			for _, id := range ids {
				if err == nil && walk && !masked[id] {
					err = t.put(unmaskedSQL, id)
				}
			}
			if err == nil && walk {
				err = t.put(setCountSQL, maskedMessages, ids[len(ids)-1])
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
		ids, err = list(ctx, e.Store, `SELECT id FROM messages WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3`, []any{from, end, int64(perMask)}, number[int64])
		if n = len(ids); err == nil && n > 0 {
			from = ids[n-1]
			err = page(ids, true)
		}
	}
	return err
}

// isOpen reports whether a message is a row of a run that has not ended.
func (e *retainer) isOpen(id int64) bool {
	return slices.ContainsFunc(e.open, func(r rowRange) bool { return id >= r.message && id < r.message+r.count })
}

// textsOfMessages finds where their phones stand in the texts of messages that may be masked.
func (e *retainer) textsOfMessages(ctx context.Context, ids []int64) (due []textChange, err error) {
	all, err := list(ctx, e.Store, `SELECT phone FROM messages d WHERE id IN `+in(ids)+` AND NOT `+isMasked("phone")+` AND state <> 'waiting' AND state <> 'sending' AND state <> 'in_doubt'`, nil, text)
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
		err = e.rows(ctx, fmt.Sprintf(`SELECT %s, %s FROM %s WHERE %s IN %s`, x.column, strings.Join(x.keys, ", "), x.table, x.keys[0], in(ids)), nil, func(r *row) error {
			old := r.text()
			now, found := find.BlotString(old)
			if !found {
				return r.err
			}
			args := []any{now, old}
			for range x.keys {
				v := r.value()
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				args = append(args, v)
			}
			due = append(due, textChange{eraseTextSQL[i], args})
			return r.err
		})
		if err != nil {
			return nil, err
		}
	}
	return due, nil
}

var (
	endedLongSQL   = statementOf(`SELECT ` + oldColumns + `, d.phone, d.send FROM messages d WHERE d.id IN (` + marks(2) + `) AND ` + endedLong)
	maskMessageSQL = statementOf(`UPDATE messages SET phone = ?2, sent_as = '', zone = '', correlation_key = CASE WHEN event_id = 0 THEN correlation_key ELSE '' END, other_keys = '', correlation = 0, send = ?3, ended_send = '', unmasked = 0
		WHERE id = ?1`)
)

// maskMessages masks those of the messages that ended before cut, with their messages, and the events up to a number
// that no other message is left of.
func (t *tx) maskMessages(ids []int64, cut, eventsTo int64, once func(string, bool) bool) (masked map[int64]bool, err error) {
	type ended struct {
		oldOne
		phone messaging.Phone
		send  string
	}
	var due []ended
	for some := range slices.Chunk(ids, rowsAtOnce) {
		err := t.query(endedLongSQL, func(r *row) error {
			due = append(due, ended{scanOld(r), r.phone(), r.text()})
			return r.err
		}, padded([]any{cut}, some)...)
		if err != nil {
			return nil, err
		}
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
			if err := t.leaveKeys(&d.oldOne, once); err != nil {
				return nil, err
			}
			if d.event <= eventsTo {
				events = append(events, d.event)
			}
		}
		var what messaging.Message
		_ = decodeSend(&what, d.send) // what nobody can read goes all the same
		what.Send.Forget = true
		if err := t.put(maskMessageSQL, d.id, d.phone.Masked(), endedSend(&what.Send)); err != nil {
			return nil, err
		}
	}
	_, err = t.maskEvents(events)
	return masked, err
}

var (
	maskableSQL   = statementOf(`SELECT id, phone, topic, phone_problem FROM events WHERE id IN (` + marks(1) + `)`)
	wholePhoneSQL = statementOf(`SELECT event_id FROM messages WHERE id IN (` + marks(1) + `) AND NOT ` + isMasked("phone"))
	maskEventSQL  = statementOf(`UPDATE events SET phone = ?2, topic = ?3, phone_problem = ?4, dedupe_key = ?5 WHERE id = ?1`)
)

// maskEvents masks what tells of the contact in those of the events that no message with a phone is left of.
func (t *tx) maskEvents(ids []int64) (n int64, err error) {
	type one struct {
		id             int64
		phone          messaging.Phone
		topic, problem string
	}
	slices.Sort(ids)
	if ids, err = without(t.query, wholePhoneSQL, slices.Compact(ids)); err != nil {
		return 0, err
	}
	due := map[int64]one{}
	for some := range slices.Chunk(ids, rowsAtOnce) {
		err := t.query(maskableSQL, func(r *row) error {
			e := one{r.int(), r.phone(), r.text(), r.text()}
			due[e.id] = e
			return r.err
		}, padded(nil, some)...)
		if err != nil {
			return 0, err
		}
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
		if err := t.put(maskEventSQL, e.id, masked, topic, e.problem, maskedWords); err != nil {
			return 0, err
		}
		n++
	}
	t.addNamed(retentionDead, keysOfPhone*n)
	return n, nil
}

// maskEvents walks through the events, up to the first that waits for a look-up. One that a message with a phone is left of
// is masked with the last of these.
func (e *retainer) maskEvents(ctx context.Context, cut int64) error {
	end, err := e.firstSince(ctx, "events", "received_at", moment(cut))
	if err == nil {
		err = e.rows(ctx, `SELECT coalesce(min(event_id), ?1) FROM lookups`, []any{end}, func(r *row) error { end = min(end, r.int()); return r.err })
	}
	from := int64(0)
	if err == nil {
		from, err = e.walkedTo(ctx, maskedEvents)
	}
	for n, all := perRetention, 0; err == nil && n == perRetention && all < maxMasks; all += n {
		var ids []int64
		ids, err = list(ctx, e.Store, `SELECT id FROM events WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3`, []any{from, end, int64(perRetention)}, number[int64])
		if n = len(ids); err != nil || n == 0 {
			break
		}
		from = ids[n-1]
		ids = slices.DeleteFunc(ids, func(id int64) bool { return e.needs(id, id+1) })
		err = e.commit(ctx, kindPhones, func(t *tx) (int64, error) {
			masked, err := t.maskEvents(ids)
			if err == nil {
				err = t.put(setCountSQL, maskedEvents, from)
			}
			return masked, err
		})
	}
	return err
}
