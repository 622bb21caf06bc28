package contacts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// What events say of contacts is for people to read and search. No decision asks it, so a webhook pays for the number of its event in
// unread_events and no more: a reader takes some events at a time from there after their commit, and adds what they say to a row for each contact
// and connector, and to keys that lead from the words of an event (order, cart, e-mail) to it.
//
// What was read is added up for good: the row stays when payloads go. Forgetting takes the row, and has what came since read again
// (see internal/privacy/contacts.go). Whoever changes what stored events say of contacts, or what was read of them, locks knowing first.

// perRead is how many events are read at a time. A webhook may wait for all of them: with 200, the p99 of answers at 1,000 a second was 7 ms for 4.
const perRead = 25

// Kinds of events by which orders are counted.
const (
	orderCreated = "order.created"
	orderPaid    = "order.paid"
)

// A readEvent is an event as it was read before the commit, and the bytes that it was read from.
type readEvent struct {
	messaging.Event
	content     []byte
	words       []int64 // hashes of what people search it by
	order, paid int64   // hashes of an order that was placed or paid, and of one that was paid, for this contact; else 0
}

// newReadEvent reads what an event says, but for one without a whole phone, which is nobody's.
func (s Records) newReadEvent(e *messaging.Event, content []byte) readEvent {
	out := readEvent{Event: *e, content: content}
	facts, payload, err := stored.UnpackContent(content)
	if err == nil {
		out.Payload = payload
		err = stored.AddFacts(facts, &out.Event)
	}
	if err != nil || out.scratch() { // what nobody can read is passed by, as everywhere
		return out
	}
	for _, word := range slices.Sorted(maps.Keys(wordsOf(&out.Event))) {
		out.words = append(out.words, s.KeyHash("word", word))
	}
	if o := &out.Order; o.ID != "" && (e.Kind == orderCreated || e.Kind == orderPaid) {
		out.order = s.KeyHash("order", e.Connector, o.ID, string(e.Contact.Phone))
		if e.Kind == orderPaid {
			out.paid = s.KeyHash("paid", e.Connector, o.ID, string(e.Contact.Phone))
		}
	}
	return out
}

// scratch reports whether it names no contact, or one that is not kept any more.
func (e *readEvent) scratch() bool { return e.Contact.Phone == "" || e.Contact.Phone.IsMasked() }

// wordsOf are what people search an event by, and what of it each is.
func wordsOf(e *messaging.Event) map[string]string {
	words := map[string]string{}
	for _, w := range [...][2]string{{"e-mail", e.Contact.Email}, {"cart", e.Cart.ID}, {"order", e.Order.Name}, {"order", e.Order.ID}} {
		if word := plainWord(w[1]); word != "" {
			words[word] = w[0]
		}
	}
	return words
}

// plainWord is a text as it is searched: without the sign before the number of an order, in small letters.
func plainWord(text string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(text), "#"))
}

var (
	stillUnreadSQL = engine.SQL(`SELECT e.phone, e.content FROM unread_events u JOIN events e ON e.id = u.event_id WHERE u.event_id = ?1`)
	isReadSQL      = engine.SQL(`DELETE FROM unread_events WHERE event_id IN (` + engine.Placeholders(1) + `)`)
	knownSQL       = engine.SQL(`SELECT ` + knownColumns + ` FROM contacts WHERE phone = ?1 AND connector = ?2`)
	knowSQL        = engine.SQL(`INSERT INTO contacts (` + knownColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
		ON CONFLICT (phone, connector) DO UPDATE SET name = excluded.name, email = excluded.email, language = excluded.language,
			country = excluded.country, timezone = excluded.timezone, tags = excluded.tags, first_at = excluded.first_at, last_at = excluded.last_at,
			orders = excluded.orders, order_at = excluded.order_at, order_name = excluded.order_name, spent = excluded.spent`)
	isToldSQL = engine.SQL(`SELECT e.id FROM events e WHERE e.id = ?1 AND e.cleared <> 'forgotten' AND NOT EXISTS (SELECT 1 FROM unread_events u WHERE u.event_id = e.id)`)
)

const knownColumns = `phone, connector, name, email, language, country, timezone, tags, first_at, last_at, orders, order_at, order_name, spent`

func scanKnown(r *engine.Row) (c messaging.KnownContact, err error) {
	c = messaging.KnownContact{
		Phone: r.Phone(), Connector: r.Text(), Name: r.Text(), Email: r.Text(), Language: r.Text(), Country: r.Text(), Timezone: r.Text(),
	}
	if c.Tags, err = stored.DecodeList[string](r.Text()); err != nil {
		return c, fmt.Errorf("tags of a contact: %w", err)
	}
	c.FirstAt, c.LastAt, c.Orders, c.OrderAt, c.OrderName = r.Time(), r.Time(), r.Int(), r.Time(), r.Text()
	if c.Spent, err = stored.DecodeList[messaging.Sum](r.Text()); err != nil {
		return c, fmt.Errorf("sums of a contact: %w", err)
	}
	return c, r.Err
}

// know writes what is known of a contact.
func know(t *store.Tx, c *messaging.KnownContact) error {
	tags, err := stored.EncodeList(c.Tags)
	if err != nil {
		return err
	}
	spent, err := stored.EncodeList(c.Spent)
	if err != nil {
		return err
	}
	return t.Put(knowSQL, string(c.Phone), c.Connector, c.Name, c.Email, c.Language, c.Country, c.Timezone, tags,
		engine.Micro(c.FirstAt), engine.Micro(c.LastAt), c.Orders, engine.Micro(c.OrderAt), c.OrderName, spent)
}

// learn adds what an event said.
func learn(c *messaging.KnownContact, e *readEvent, newOrder, newPaid bool) {
	said, newer := &e.Contact, !e.ReceivedAt.Before(c.LastAt)
	for _, f := range [...]struct {
		known *string
		said  string
	}{{&c.Name, said.Name}, {&c.Email, said.Email}, {&c.Language, said.Language}, {&c.Country, said.Country}, {&c.Timezone, said.Timezone}} {
		if f.said != "" && (newer || *f.known == "") {
			*f.known = f.said
		}
	}
	if len(said.Tags) > 0 && (newer || len(c.Tags) == 0) {
		c.Tags = said.Tags
	}
	if c.FirstAt.IsZero() || e.ReceivedAt.Before(c.FirstAt) {
		c.FirstAt = e.ReceivedAt
	}
	if newer {
		c.LastAt = e.ReceivedAt
	}
	if newOrder {
		c.Orders++
		if at := e.Time(); !at.Before(c.OrderAt) {
			c.OrderAt, c.OrderName = at, cmp.Or(e.Order.Name, e.Order.ID)
		}
	}
	if newPaid && e.Order.Total.Reported() {
		c.Spent = c.Spent.Plus(e.Order.Currency, e.Order.Total)
	}
}

// A Look is somebody else who reads events, each once: what it gives is run in the transaction that takes them from what is unread, with which
// of them count. One that changed meanwhile comes again. The transaction may run twice.
type Look func(ctx context.Context, events []messaging.Event) (note func(t *store.Tx, counts func(messaging.EventID) bool) error, err error)

// ReadContacts takes in what the oldest events say that were not read yet, and says how many these are. look sees those that were never
// read; nil is nobody. One process calls it at a time.
func (s Records) ReadContacts(ctx context.Context, look Look) (n int, err error) {
	again := map[int64]bool{}
	ids, err := store.List(ctx, s.Store, `SELECT event_id, again FROM unread_events ORDER BY event_id LIMIT ?1`, []any{int64(perRead)}, func(r *engine.Row) (int64, error) {
		id := r.Int()
		again[id] = r.Int() == 1
		return id, r.Err
	})
	if err != nil || len(ids) == 0 {
		return 0, store.Wrap(err, "events to read")
	}
	events, err := store.List(ctx, s.Store, `SELECT `+store.EventColumns+`, content FROM events WHERE id IN `+engine.In(ids)+` ORDER BY id`, nil, func(r *engine.Row) (readEvent, error) {
		e := store.ScanEvent(r)
		return s.newReadEvent(&e, r.Blob()), r.Err
	})
	note := func(*store.Tx, func(messaging.EventID) bool) error { return nil }
	if err == nil && look != nil {
		note, err = look(ctx, firstRead(events, again))
	}
	if err == nil {
		err = s.Write(ctx, commit.LaneRows, func(t *store.Tx) error {
			changed, err := readAll(t, ids, events, s.KeyHash)
			if err != nil {
				return err
			}
			return note(t, func(id messaging.EventID) bool { return !changed[int64(id)] })
		})
	}
	return len(ids), store.Wrap(err, "read what events say of contacts")
}

// firstRead are the events that were never read before.
func firstRead(events []readEvent, again map[int64]bool) (out []messaging.Event) {
	for i := range events {
		if !again[int64(events[i].ID)] {
			out = append(out, events[i].Event)
		}
	}
	return out
}

// readAll takes in events that are still as they were read. One that changed meanwhile stays unread, and says what it says now the next time.
func readAll(t *store.Tx, ids []int64, events []readEvent, hash func(...string) int64) (changed map[int64]bool, err error) {
	asked, orders := make([][]any, len(events)), []int64{}
	for i := range events {
		asked[i] = []any{int64(events[i].ID)}
		if events[i].order != 0 {
			orders = append(orders, events[i].order, events[i].paid)
		}
	}
	if err := t.LockKnowing(hash, orders...); err != nil {
		return nil, err
	}
	var same []*readEvent
	changed = map[int64]bool{}
	err = t.QueryMany(stillUnreadSQL, asked, func(i int, r *engine.Row) error {
		if e := &events[i]; r.Phone() != e.Contact.Phone || !bytes.Equal(r.Blob(), e.content) {
			changed[int64(e.ID)] = true
		} else if !e.scratch() {
			same = append(same, e)
		}
		return r.Err
	})
	if err == nil {
		err = learnAll(t, same)
	}
	if err == nil {
		err = rememberWords(t, same)
	}
	if err == nil {
		err = t.ExecAll(isReadSQL, slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return changed[id] }))
	}
	return changed, err
}

// learnAll adds what events say to what is known of their contacts.
func learnAll(t *store.Tx, events []*readEvent) error {
	type of struct{ phone, connector string }
	known := map[of]*messaging.KnownContact{}
	var asked [][]any
	for _, e := range events {
		if who := (of{string(e.Contact.Phone), e.Connector}); known[who] == nil {
			known[who] = &messaging.KnownContact{Phone: e.Contact.Phone, Connector: e.Connector}
			asked = append(asked, []any{who.phone, who.connector})
		}
	}
	err := t.QueryMany(knownSQL, asked, func(_ int, r *engine.Row) error {
		c, err := scanKnown(r)
		*known[of{string(c.Phone), c.Connector}] = c
		return err
	})
	told := map[int64]bool{}
	isNew := func(hash, event int64) bool {
		if err != nil || hash == 0 || told[hash] {
			return false
		}
		told[hash] = true
		var before bool
		before, err = isTold(t, hash, event)
		return err == nil && !before
	}
	for _, e := range events {
		c := known[of{string(e.Contact.Phone), e.Connector}]
		learn(c, e, isNew(e.order, int64(e.ID)), isNew(e.paid, int64(e.ID)))
	}
	for _, ask := range asked {
		if err == nil {
			err = know(t, known[of{ask[0].(string), ask[1].(string)}])
		}
	}
	return err
}

// isTold reports whether an order was told by an event that was read. A sender may tell of it twice, created and paid, and in any order.
func isTold(t *store.Tx, hash, event int64) (told bool, err error) {
	ids, err := t.FindWord(hash)
	for _, id := range slices.Clone(ids) {
		if err == nil && id != event && !told {
			err = t.Query(isToldSQL, func(*engine.Row) error { told = true; return nil }, id)
		}
	}
	return told, store.Wrap(err, "orders of event %d", event)
}

// rememberWords keeps by what events are found, in the order of the table.
func rememberWords(t *store.Tx, events []*readEvent) error {
	type key struct{ hash, id int64 }
	var keys []key
	for _, e := range events {
		for _, hash := range append(slices.Clone(e.words), e.order, e.paid) {
			if hash != 0 {
				keys = append(keys, key{hash, int64(e.ID)})
			}
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id)) })
	for _, k := range keys {
		if err := t.RememberWord(k.hash, k.id); err != nil {
			return err
		}
	}
	return nil
}
