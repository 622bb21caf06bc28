package store

import (
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire"
)

// Payloads and decisions leave by whole bundles, so the newest event of one decides when. A bundle goes from its own
// number to that of the next. One that holds what is still needed is written anew without the rest.

// perBundles is how many bundles a commit removes: each has a page or more of its own, which is overwritten with zeros.
const perBundles = 16

// endOfBundles is a number beyond the newest event, and the first event that was received after a moment.
func (e *retainer) endOfBundles(ctx context.Context, kept time.Duration) (newest, end int64, err error) {
	before := e.before(kept)
	if before.IsZero() {
		return 0, 0, nil
	}
	// First: a bundle that comes meanwhile has a number beyond it.
	if err := e.reads.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM events`).Scan(&newest); err != nil {
		return 0, 0, err
	}
	end, err = e.firstSince(ctx, "events", "received_at", before)
	return newest + 1, min(end, newest+1), err
}

var dropPayloadsSQL = statementOf(`DELETE FROM payloads WHERE event_id IN (` + marks(1) + `)`)

func (e *retainer) payloads(ctx context.Context) error {
	newest, end, err := e.endOfBundles(ctx, e.ofEvents(e.keep.Payloads))
	for after := int64(-1); err == nil && end > 0; {
		var due []int64
		var mixed []rowRange
		events, n := int64(0), 0
		err = e.rows(ctx, `SELECT event_id, coalesce((SELECT min(n.event_id) FROM payloads n WHERE n.event_id > p.event_id), ?2) FROM payloads p
			WHERE event_id > ?1 AND event_id < ?3 ORDER BY event_id LIMIT ?4`, []any{after, newest, end, int64(perBundles)}, func(r *row) error {
			n++
			first, next := r.int(), r.int()
			switch after = first; {
			case next > end:
			case e.needs(first, next):
				mixed = append(mixed, rowRange{dispatch: first, count: next - first})
			default:
				due, events = append(due, first), events+next-first
			}
			return r.err
		})
		for _, r := range mixed {
			if err == nil {
				err = e.thinPayloads(ctx, r.dispatch, r.dispatch+r.count)
			}
		}
		if err == nil && len(due) > 0 {
			err = e.commit(ctx, kindPayloads, func(t *tx) (int64, error) { return events, t.execAll(dropPayloadsSQL, due) })
		}
		if n < perBundles {
			break
		}
	}
	return wrap(err, "payloads")
}

// thinPayloads takes out of a bundle what events carried that nothing needs any more.
func (e *retainer) thinPayloads(ctx context.Context, first, next int64) error {
	gone := appendFacts(nil, &nudgewire.Event{Cleared: true})
	var n int64
	thin := func(packed []byte) ([]byte, error) {
		n = 0
		out, _, err := rewritten(packed, first, 3, func(id int64, pieces [][]byte) ([][]byte, bool, error) {
			if e.needs(id, id+1) || string(pieces[2]) == string(gone) {
				return pieces, false, nil
			}
			n++
			return [][]byte{nil, nil, gone}, true, nil
		})
		return out, err
	}
	// Most were thinned before: that costs no commit.
	err := e.rows(ctx, `SELECT bundle FROM payloads WHERE event_id = ?1`, []any{first}, func(r *row) error {
		if _, bad := thin(r.blob()); bad != nil {
			n = 0
			e.leaves(kindPayloads, first, next, bad)
		}
		return r.err
	})
	if err != nil || n == 0 {
		return err
	}
	return e.commit(ctx, kindPayloads, func(t *tx) (int64, error) { return n, t.rewrite(payloadsSQL, erasePayloadsSQL, []any{first}, thin) })
}

// thinDecisions does the same to what was said, but for what it led to.
func (e *retainer) thinDecisions(ctx context.Context, first, next int64, packed []byte) error {
	var n int64
	var links []link
	thin := func(packed []byte) ([]byte, error) {
		n, links = 0, nil
		out, _, err := rewritten(packed, first, 1, func(id int64, pieces [][]byte) ([][]byte, bool, error) {
			if e.needs(id, id+1) || string(pieces[0]) == unsaid {
				return pieces, false, nil
			}
			n++
			var err error
			links, err = linksIn(pieces[0], id, links)
			return [][]byte{[]byte(unsaid)}, true, err
		})
		return out, err
	}
	if _, err := thin(packed); err != nil {
		e.leaves(kindDecisions, first, next, err)
		return nil
	}
	if n == 0 {
		return nil
	}
	return e.commit(ctx, kindDecisions, func(t *tx) (int64, error) {
		err := t.rewrite(decisionsAtSQL, eraseDecisionsSQL, []any{first, int64(0)}, thin)
		if err == nil {
			err = t.insertLinks(links)
		}
		return n, err
	})
}

// unsaid is what stands in a bundle in place of decisions that are not kept any more. None at all is nothing.
const unsaid = "[]"

// A link is what stays of a decision.
type link struct {
	event, dispatch  int64
	trigger, outcome string
	at               int64
}

var dropDecisionsSQL = statementOf(`DELETE FROM decisions WHERE event_id = ?1 AND seq = ?2`)

func (e *retainer) decisions(ctx context.Context) error {
	const page = 16
	newest, end, err := e.endOfBundles(ctx, e.ofEvents(e.keep.Decisions))
	last := bundleKey{-1, -1}
	var due []bundleKey
	var links []link
	events := int64(0)
	flush := func() error {
		if len(due) == 0 {
			return nil
		}
		err := e.commit(ctx, kindDecisions, func(t *tx) (int64, error) {
			if err := t.insertLinks(links); err != nil {
				return 0, err
			}
			for _, key := range due {
				if err := t.put(dropDecisionsSQL, key.id, key.seq); err != nil {
					return 0, err
				}
			}
			return events, nil
		})
		due, links, events = due[:0], links[:0], 0
		return err
	}
	type whole struct {
		first, next int64
		bundle      []byte
	}
	for n := page; err == nil && n == page && end > 0; {
		n = 0
		var mixed []whole
		err = e.rows(ctx, `SELECT event_id, seq, bundle, CASE WHEN seq > 0 THEN event_id + 1
				ELSE coalesce((SELECT min(n.event_id) FROM decisions n WHERE n.event_id > d.event_id AND n.seq = 0), ?3) END
			FROM decisions d WHERE (event_id, seq) > (?1, ?2) AND event_id < ?4 ORDER BY event_id, seq LIMIT ?5`,
			[]any{last.id, last.seq, newest, end, int64(page)}, func(r *row) error {
				n++
				last = bundleKey{r.int(), r.int()}
				bundle, next := r.blob(), r.int()
				if next > end {
					// It is still whole, so what its events led to stands nowhere else. How far it goes it says itself: next is the next that is kept.
					n, err := entriesOf(bundle)
					if err != nil {
						n = next - last.id
					}
					e.unread = append(e.unread, rowRange{dispatch: last.id, count: n})
					return r.err
				}
				if e.needs(last.id, next) {
					if last.seq == 0 {
						mixed = append(mixed, whole{last.id, next, bundle})
					}
					return r.err
				}
				more, err := linksOf(bundle, last.id, nil)
				if err != nil {
					e.leaves(kindDecisions, last.id, next, err)
					return r.err
				}
				if last.seq == 0 {
					events += next - last.id
				}
				due, links = append(due, last), append(links, more...)
				return r.err
			})
		for _, one := range mixed {
			if err == nil {
				err = e.thinDecisions(ctx, one.first, one.next, one.bundle)
			}
		}
		if err == nil && len(due)+len(links) >= perRetention-page {
			err = flush()
		}
	}
	if err == nil {
		err = flush()
	}
	return wrap(err, "decisions")
}

// linksOf appends which dispatches the decisions of a bundle led to.
func linksOf(bundle []byte, first int64, links []link) ([]link, error) {
	for at := int64(0); ; at++ {
		var said []byte
		ok, err := entry(bundle, at, &said)
		if err != nil || !ok {
			return links, err
		}
		if links, err = linksIn(said, first+at, links); err != nil {
			return links, err
		}
	}
}

// entriesOf is how many events the decisions of a bundle are about.
func entriesOf(bundle []byte) (n int64, err error) {
	var said []byte
	for ; ; n++ {
		ok, err := entry(bundle, n, &said)
		if err != nil || !ok {
			return n, err
		}
	}
}

// linksIn appends which dispatches the decisions about one event led to.
func linksIn(said []byte, event int64, links []link) ([]link, error) {
	if len(said) == 0 {
		return links, nil
	}
	err := decodeDecisions(said, nudgewire.EventID(event), func(d nudgewire.Decision) {
		for _, id := range append([]nudgewire.DispatchID{d.DispatchID}, d.Later...) {
			if id != 0 {
				links = append(links, link{event, int64(id), d.Trigger, string(d.Outcome), micro(d.At)})
			}
		}
	})
	return links, err
}

var insertDecidedSQL = statementOf(`INSERT INTO decided (event_id, dispatch_id, trigger_name, outcome, at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (event_id, dispatch_id) DO NOTHING`)

func (t *tx) insertLinks(links []link) error {
	for _, l := range links {
		if err := t.put(insertDecidedSQL, l.event, l.dispatch, l.trigger, l.outcome, l.at); err != nil {
			return err
		}
	}
	return nil
}

// decidedOf adds what stays of decisions that are not kept any more.
func (s *Store) decidedOf(ctx context.Context, id nudgewire.EventID, each func(nudgewire.Decision)) error {
	var all []nudgewire.Decision
	err := s.rows(ctx, `SELECT dispatch_id, trigger_name, outcome, at FROM decided WHERE event_id = ?1 ORDER BY dispatch_id`, []any{int64(id)}, func(r *row) error {
		d := nudgewire.Decision{EventID: id, DispatchID: nudgewire.DispatchID(r.int()), Trigger: r.text(), Outcome: nudgewire.Outcome(r.text()), At: r.time(), Reason: "why is not kept any more (retention.decisions)"}
		if i := slices.IndexFunc(all, func(o nudgewire.Decision) bool { return o.Trigger == d.Trigger && o.Outcome == d.Outcome }); i >= 0 {
			all[i].Later = append(all[i].Later, d.DispatchID)
		} else {
			all = append(all, d)
		}
		return r.err
	})
	for i := range all {
		each(all[i])
	}
	return wrap(err, "what is left of the decisions about event %d", id)
}

// ledNowhere is the condition on an event e that no message is left of it and none will come: its decisions are gone, so what
// it led to stands in decided. A message that was queued once more stays together with the one whose place it took.
const ledNowhere = `NOT EXISTS (SELECT 1 FROM decided l JOIN dispatches d ON d.id = l.dispatch_id AND d.event_id = l.event_id WHERE l.event_id = e.id)
	AND NOT EXISTS (SELECT 1 FROM lookups p WHERE p.event_id = e.id)`

// events removes those that no dispatch is left of.
func (e *retainer) events(ctx context.Context) error {
	_, end, err := e.endOfBundles(ctx, e.keep.Events)
	if err != nil || end == 0 {
		return wrap(err, "events")
	}
	find := `SELECT e.id FROM events e WHERE e.id > ?1 AND e.id < ?2 AND e.received_at < ?3 AND ` + ledNowhere + ` ORDER BY e.id`
	err = e.ids(ctx, find, []any{end, micro(e.before(e.keep.Events))}, perRetention, func(ids []int64) error {
		due := slices.DeleteFunc(ids, func(id int64) bool {
			return e.needs(id, id+1) || slices.ContainsFunc(e.unread, func(r rowRange) bool { return id >= r.dispatch && id < r.dispatch+r.count })
		})
		if len(due) == 0 {
			return nil
		}
		return e.commit(ctx, kindEvents, func(t *tx) (int64, error) { return t.dropEvents(due) })
	})
	return wrap(err, "events")
}

var (
	dropDecidedSQL = statementOf(`DELETE FROM decided WHERE event_id IN (` + marks(1) + `)`)
	ledNowhereSQL  = statementOf(`SELECT e.id FROM events e WHERE e.id IN (` + marks(1) + `) AND ` + ledNowhere)
	dropEventsSQL  = statementOf(`DELETE FROM events WHERE id IN (` + marks(1) + `)`)
)

// dropEvents removes those of the events that still led nowhere.
func (t *tx) dropEvents(ids []int64) (int64, error) {
	var due []int64
	for some := range slices.Chunk(ids, rowsAtOnce) {
		if err := t.query(ledNowhereSQL, func(r *row) error { due = append(due, r.int()); return r.err }, padded(nil, some)...); err != nil {
			return 0, err
		}
	}
	if len(due) == 0 {
		return 0, nil
	}
	t.addNamed(retentionDead, int64(len(due)))
	for _, s := range []*statement{dropEventsSQL, dropDecidedSQL} {
		if err := t.execAll(s, due); err != nil {
			return 0, err
		}
	}
	return int64(len(due)), nil
}
