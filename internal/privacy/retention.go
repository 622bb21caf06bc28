package privacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// What is older than its kind is kept for is removed in small commits beside the daemon's work. What has not ended keeps
// all of it, whatever its age: a message that waits, is being sent or is in doubt, a message that is still asked about, an
// event that waits for a look-up, with the event behind each of them. A crash loses nothing and leaves nothing half: every
// commit removes whole things, and the next run finds what is left.
//
// Keys are not removed with their rows. A hash falls anywhere, so that would write one page for each of them; they
// lead nowhere meanwhile, which is harmless, and a sweep removes many neighbours at once (internal/store/peers/sweep.go).

// A Retention says how long each kind is kept, by age; 0 is for ever.
type Retention struct {
	Payloads         time.Duration // what events carried
	Facts            time.Duration // what was mapped from it; never shorter than Payloads
	Decisions        time.Duration // why a trigger said what it said
	Events           time.Duration // what payloads and decisions are about; the others are kept no longer
	Messages         time.Duration // messages, since they ended
	Phones           time.Duration // whole phones of what has ended, with what else tells of the contact; then they are masked
	Attempts         time.Duration // how the attempts at a message ended, and what rules said when it was due
	RejectedRequests time.Duration
	Runs             time.Duration // runs with their parts, since they ended and nothing needs them
	Lists            time.Duration // what rows of lists say, since their run ended
	Rows             time.Duration // which phones were in which part, where that is more than RowsKept; never longer than Phones
	WebhooksOut      time.Duration // what receivers under webhooks_out were told, since it was delivered or given up

	// Once reports whether a trigger of the present config never sends a second message about the same matter: of that
	// a few bytes are kept for ever. keyed is whether the matter has a key, or is the phone. nil is none.
	Once func(trigger string, keyed bool) bool
	// Ages are what features remove of their own, each in a commit.
	Ages []func(t *store.Tx, now time.Time) error
	// Rest is called between commits with how long the last one took, so that others get their turn. nil goes on at once.
	Rest func(ctx context.Context, took time.Duration) error
}

// Kinds are what a Retention removes, by the YAML keys.
var Kinds = []string{kindPayloads, kindFacts, kindDecisions, kindEvents, kindMessages, kindPhones, kindAttempts, kindRejected, kindOutgoing, kindLists, kindRuns}

const (
	kindPayloads  = "payloads"
	kindFacts     = "facts"
	kindDecisions = "decisions"
	kindEvents    = "events"
	kindMessages  = "messages"
	kindPhones    = "phones"
	kindAttempts  = "attempts"
	kindRejected  = "rejected_requests"
	kindOutgoing  = "webhooks_out"
	kindLists     = "lists"
	kindRuns      = "runs"
)

// perRetention is how many rows a commit removes at the most.
const perRetention = 200

// A RetentionRun is what one run did. Removed counts events whose payload, facts or decisions went under payloads, facts and
// decisions (under facts alone where both went at once), and messages and events whose phone was masked under phones.
type RetentionRun struct {
	At      time.Time // when it began
	Took    time.Duration
	Removed map[string]int64 // by kind
	Freed   int64            // bytes that the file gave back
}

// Counters of retention; those of a kind are followed by its name.
const (
	retentionAt    = "retention/at"
	retentionTook  = "retention/took"
	retentionFreed = "retention/freed"
	retentionLast  = "retention/last/"
)

// rowsOfRun are the numbers of messages that rows of a run have.
type rowsOfRun struct{ first, count int64 }

// A retainer is one run.
type retainer struct {
	Records
	keep    Retention
	now     time.Time
	removed map[string]int64
	alive   []int64 // events that something still needs whole, in ascending order
	open    []rowsOfRun
	stopped bool // by who rests
}

// Retain removes what is older at now than r keeps, and gives the file's free space back. What was removed before an error
// stays removed.
func (s Records) Retain(ctx context.Context, r Retention, now time.Time) (RetentionRun, error) {
	began := time.Now()
	e := &retainer{Records: s, keep: r, now: now, removed: map[string]int64{}}
	var failed []error
	does := func(steps ...func(context.Context) error) (well bool) {
		well = true
		for _, step := range steps {
			err := ctx.Err()
			if err == nil && !e.stopped {
				err = step(ctx)
			}
			failed, well = append(failed, err), well && err == nil
		}
		return well
	}
	// One that fails keeps the others from nothing but what they need of it: an event leaves after all that is about it.
	does(e.ForgetCuts, e.requests, e.outgoing, e.hours, e.tombstones, e.attempts, e.lists, e.features)
	if does(e.collect) && does(e.facts, e.payloads, e.decisions, e.messages) {
		does(e.events, e.masks, e.known)
	}
	run := RetentionRun{At: now, Removed: e.removed}
	does(e.runs, e.keys, func(ctx context.Context) (err error) { run.Freed, err = e.reclaim(ctx); return err })
	err := errors.Join(failed...)
	run.Took = time.Since(began)
	if err == nil {
		err = s.noteRetention(ctx, &run)
	}
	return run, store.Wrap(err, "remove what is not kept any more")
}

func (s Records) noteRetention(ctx context.Context, run *RetentionRun) error {
	return s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		set := func(name string, value int64) error { return t.Put(tally.SetCountSQL, name, value) }
		if err := set(retentionTook, run.Took.Microseconds()); err != nil {
			return err
		}
		if err := set(retentionFreed, run.Freed); err != nil {
			return err
		}
		for _, kind := range Kinds {
			if err := set(retentionLast+kind, run.Removed[kind]); err != nil {
				return err
			}
		}
		return set(retentionAt, engine.Micro(run.At))
	})
}

// before is the moment up to which what is kept for that long goes; zero for what is kept for ever.
func (e *retainer) before(kept time.Duration) time.Time {
	if kept <= 0 {
		return time.Time{}
	}
	return e.now.Add(-kept)
}

// ofEvents is how long something is kept that goes with its event at the latest.
func (e *retainer) ofEvents(kept time.Duration) time.Duration {
	if kept <= 0 || e.keep.Events > 0 && e.keep.Events < kept {
		return e.keep.Events
	}
	return kept
}

// commit removes some rows of a kind, and rests.
func (e *retainer) commit(ctx context.Context, kind string, remove func(*store.Tx) (n int64, err error)) error {
	var n int64
	began := time.Now()
	err := e.Write(ctx, commit.LaneWork, func(t *store.Tx) (err error) {
		if n, err = remove(t); err == nil && kind != "" && n > 0 {
			t.CountNamed(peers.RemovedByAge+kind, n)
		}
		return err
	})
	if err != nil {
		return err
	}
	if kind != "" && n > 0 {
		e.removed[kind] += n
	}
	return e.rest(ctx, began)
}

// keys removes the keys that lead nowhere.
func (e *retainer) keys(ctx context.Context) error {
	return e.SweepKeys(ctx, func(ctx context.Context, run func(*store.Tx) error) error {
		return e.commit(ctx, "", func(t *store.Tx) (int64, error) { return 0, run(t) })
	})
}

// features has each remove what it keeps no longer.
func (e *retainer) features(ctx context.Context) (err error) {
	for _, remove := range e.keep.Ages {
		if err == nil {
			err = e.commit(ctx, "", func(t *store.Tx) (int64, error) { return 0, remove(t, e.now) })
		}
	}
	return err
}

// rest lets others have their turn after a commit that began then.
func (e *retainer) rest(ctx context.Context, began time.Time) error {
	if e.keep.Rest == nil {
		return nil
	}
	err := e.keep.Rest(ctx, time.Since(began))
	e.stopped = err != nil
	return err
}

// reclaim gives the file's free space back, and says how many bytes that were.
func (e *retainer) reclaim(ctx context.Context) (freed int64, err error) {
	for {
		began := time.Now()
		n, err := e.GiveBack(ctx)
		if freed += n; err != nil || n == 0 {
			return freed, err
		}
		if err := e.rest(ctx, began); err != nil {
			return freed, err
		}
	}
}

// ids reads numbers page by page: query has the last one as its ?1.
func (e *retainer) ids(ctx context.Context, query string, args []any, page int, each func([]int64) error) error {
	var after int64
	for {
		some, err := store.List(ctx, e.Store, fmt.Sprintf(query+" LIMIT %d", page), append([]any{after}, args...), engine.Number[int64])
		if err == nil && len(some) > 0 {
			after = some[len(some)-1]
			err = each(some)
		}
		if err != nil || len(some) < page {
			return err
		}
	}
}

var oldRejectionsSQL = engine.SQL(`DELETE FROM rejected_requests WHERE id IN (SELECT id FROM rejected_requests WHERE id >= (SELECT min(id) FROM rejected_requests) AND at < ?1 ORDER BY id LIMIT 200)`)

// requests removes the traces of old rejected requests.
func (e *retainer) requests(ctx context.Context) error {
	before := e.before(e.keep.RejectedRequests)
	if before.IsZero() {
		return nil
	}
	return e.until(ctx, kindRejected, func(t *store.Tx) (int64, error) { return t.Exec(oldRejectionsSQL, engine.Micro(before)) })
}

var oldHoursSQL = engine.SQL(`DELETE FROM hourly_counts WHERE hour = (SELECT min(hour) FROM hourly_counts WHERE hour < ?1)`)

// hours removes old counts, an hour in each commit.
func (e *retainer) hours(ctx context.Context) error {
	return e.until(ctx, "", func(t *store.Tx) (int64, error) {
		return t.Exec(oldHoursSQL, tally.FirstHour(e.now.Add(-tally.HoursKept)))
	})
}

var expiredTombstonesSQL = engine.SQL(`DELETE FROM tombstones WHERE (correlation, trigger_name, correlation_key, phone) IN
	(SELECT correlation, trigger_name, correlation_key, phone FROM tombstones WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 200)`)

// tombstones removes those that have expired.
func (e *retainer) tombstones(ctx context.Context) error {
	return e.until(ctx, "", func(t *store.Tx) (int64, error) {
		n, err := t.Exec(expiredTombstonesSQL, t.At)
		if n > 0 {
			t.CountNamed(peers.DeadKeys, n)
		}
		return n, err
	})
}

// until removes some rows in each commit until there are none.
func (e *retainer) until(ctx context.Context, kind string, remove func(*store.Tx) (int64, error)) error {
	for n := int64(1); n > 0; {
		err := e.commit(ctx, kind, func(t *store.Tx) (_ int64, err error) {
			n, err = remove(t)
			return n, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// execAll runs a statement that ends in a list of ids as often as it takes, and says how many rows it changed.
func execAll(t *store.Tx, s *engine.Statement, ids []int64, args ...any) (n int64, err error) {
	for some := range slices.Chunk(ids, engine.RowsAtOnce) {
		changed, err := t.Exec(s, engine.Padded(slices.Clone(args), some)...)
		if n += changed; err != nil {
			return n, err
		}
	}
	return n, nil
}

// collect finds the events that something needs which has not ended, and the runs that have not.
func (e *retainer) collect(ctx context.Context) error {
	const live = `SELECT event_id FROM messages WHERE event_id > 0 AND state = `
	err := e.Rows(ctx, live+`'waiting' UNION `+live+`'sending' UNION `+live+`'in_doubt' UNION SELECT event_id FROM lookups ORDER BY 1`, nil, func(r *engine.Row) error {
		e.alive = append(e.alive, r.Int())
		return r.Err
	})
	if err == nil {
		e.open, err = store.List(ctx, e.Store, `SELECT w.message, w.row_count FROM runs r JOIN run_rows w ON w.run_id = r.id WHERE r.ended_at = 0`, nil, func(r *engine.Row) (rowsOfRun, error) {
			return rowsOfRun{r.Int(), r.Int()}, r.Err
		})
	}
	return err
}

// needs reports whether an event from first on and before end is needed.
func (e *retainer) needs(first, end int64) bool {
	i, _ := slices.BinarySearch(e.alive, first)
	return i < len(e.alive) && e.alive[i] < end
}

// A RetentionState is what retention did last, and how far back each kind goes.
type RetentionState struct {
	Last    *RetentionRun // nil before the first run
	Removed map[string]int64
	Oldest  map[string]time.Time // of each kind that has something; that of its event for payloads, facts and decisions
}

// RetentionState reads what status and doctor show. It costs a few looks into tables at their beginning.
func (s Records) RetentionState(ctx context.Context) (v RetentionState, err error) {
	v.Removed, v.Oldest = map[string]int64{}, map[string]time.Time{}
	last := RetentionRun{Removed: map[string]int64{}}
	err = s.Rows(ctx, `SELECT name, value FROM counters WHERE name >= 'retention/' AND name < 'retention0'`, nil, func(r *engine.Row) error {
		name, value := r.Text(), r.Int()
		switch name {
		case retentionAt:
			last.At = engine.Moment(value)
		case retentionTook:
			last.Took = time.Duration(value) * time.Microsecond
		case retentionFreed:
			last.Freed = value
		default:
			if kind, ok := strings.CutPrefix(name, retentionLast); ok {
				last.Removed[kind] = value
			} else if kind, ok := strings.CutPrefix(name, peers.RemovedByAge); ok {
				v.Removed[kind] = value
			}
		}
		return r.Err
	})
	if !last.At.IsZero() {
		v.Last = &last
	}
	for kind, query := range map[string]string{
		kindPayloads:  `SELECT received_at FROM events WHERE id > (SELECT coalesce(max(value), 0) FROM counters WHERE name = '` + walkedPayloads + `') ORDER BY id LIMIT 1`,
		kindFacts:     `SELECT received_at FROM events WHERE id > (SELECT coalesce(max(value), 0) FROM counters WHERE name = '` + walkedFacts + `') ORDER BY id LIMIT 1`,
		kindDecisions: `SELECT received_at FROM events WHERE id > (SELECT coalesce(max(value), 0) FROM counters WHERE name = '` + walkedDecisions + `') ORDER BY id LIMIT 1`,
		kindEvents:    `SELECT received_at FROM events ORDER BY id LIMIT 1`,
		kindMessages:  `SELECT created_at FROM messages ORDER BY id LIMIT 1`,
		kindPhones:    `SELECT created_at FROM messages WHERE id > (SELECT coalesce(max(value), 0) FROM counters WHERE name = '` + maskedMessages + `') ORDER BY id LIMIT 1`,
		kindAttempts:  `SELECT at FROM attempts ORDER BY message LIMIT 1`,
		kindRejected:  `SELECT at FROM rejected_requests ORDER BY id LIMIT 1`,
		kindOutgoing:  `SELECT at FROM webhooks_out ORDER BY id LIMIT 1`,
		kindRuns:      `SELECT created_at FROM runs ORDER BY id LIMIT 1`,
	} {
		if err != nil {
			break
		}
		var at time.Time
		var found bool
		if at, found, err = s.Earliest(ctx, query); found {
			v.Oldest[kind] = at
		}
	}
	return v, store.Wrap(err, "what retention did")
}
