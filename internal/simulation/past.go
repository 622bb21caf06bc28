package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A Past is what happened, as it is stored.
type Past struct {
	Store *store.Store
	From  time.Time     // messages of events and lists from here on are compared
	Warm  time.Duration // events and lists of so long before it are played, too: what was sent then counts in limits and cooldowns
	Until time.Time     // now
	Zone  *time.Location

	Folder   string             // for what is thrown away; "" is that of the system for such files
	OneByOne bool               // the configs are played one after the other, so that one processor is left for others
	Progress func(events int64) // is told how many events were read so far; nil is nobody

	begun func(*World) // is told of each world before anything is played; nil is nobody
}

// A Comparison is what came of it.
type Comparison struct {
	Changes  []Change
	Triggers []Total
	Jobs     []Total
	Days     []Total  // of Zone
	Events   int64    // from Past.From on
	Runs     int64    // of lists, from Past.From on
	Notes    []string // what was left out, or assumed
}

// Differs reports whether anything would be otherwise.
func (c *Comparison) Differs() bool { return len(c.Changes) > 0 }

// batch is how many events are read and played at a time.
const batch = 2000

// A messageKey is what a message is recognised by in both worlds: the event because of which it is, its trigger and its step, or the run and the
// row of a list.
type messageKey struct {
	event   messaging.EventID
	trigger string // or job
	step    int
	run     messaging.RunID
	row     int64
}

// A pair is what becomes of a message in both worlds, and what became of it.
type pair struct {
	phone    messaging.Phone
	was, is  *Version
	ledger   *Version // what was really sent
	fate     Fate
	recorded bool // the ledger knows how it ended
}

// A comparing plays the past under one config or two.
type comparing struct {
	Past
	was, is  *player // was is nil where the ledger is compared with is
	pairs    map[messageKey]*pair
	first    messaging.EventID // from which on messages are compared
	skipped  map[messaging.EventID]bool
	seen     messaging.MessageID
	read     int64 // events
	triggers map[string]*Total
	jobs     map[string]*Total
	days     map[string]*Total
	runs     []*messaging.Run // whose lists are played, the oldest first
	known    map[messaging.RunID]*messaging.Run
	removed  removed
	readOf   map[messaging.RunID]bool // runs of which it was read what became of them
	out      Comparison
	left     leftOut
	rules    *Rules // whose prices and templates are those of the ledger, too
}

// leftOut counts what cannot be played.
type leftOut struct{ forgotten, replays, byHand, again, blanked, unread, excluded, underWay, removed int64 }

// A player is a world and what it sends.
type player struct {
	*World
	events []messaging.EventID // by the numbers of the world's events, from 1
	sent   []sent
	fates  map[messageKey]*pair // read only while it plays
	said   []contactWord        // that wait for their time
	playedLists
}

type sent struct {
	messageKey
	phone   messaging.Phone
	version *Version
}

// A contactWord is a block or a consent, and when it is taken up.
type contactWord struct {
	at      time.Time
	block   *store.Block
	consent *messaging.ConsentRecord
}

// Compare plays the past under two configs and says what differs. Without was, what is sent under is is compared with what was really sent.
func Compare(ctx context.Context, p Past, was, is *Rules) (_ *Comparison, err error) {
	c := &comparing{Past: p, rules: is, pairs: map[messageKey]*pair{}, skipped: map[messaging.EventID]bool{}, triggers: map[string]*Total{}, jobs: map[string]*Total{}, days: map[string]*Total{}, known: map[messaging.RunID]*messaging.Run{}, readOf: map[messaging.RunID]bool{}, removed: removed{map[messaging.EventID]bool{}, map[messaging.RunID]bool{}}}
	first, err := p.Store.FirstEventSince(ctx, p.From.Add(-p.Warm))
	if err != nil {
		return nil, err
	}
	said, err := c.saidElsewhere(ctx, first)
	if err == nil {
		err = c.readRuns(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, one := range []struct {
		rules *Rules
		to    **player
	}{{was, &c.was}, {is, &c.is}} {
		if one.rules == nil {
			continue
		}
		sim, failed := NewSimulator(p.Folder)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, sim.Close()) }()
		if *one.to, err = c.begin(ctx, sim, one.rules, said); err != nil {
			return nil, err
		}
	}
	c.readOtherwise(was, is)
	if c.first, err = p.Store.FirstEventSince(ctx, p.From); err != nil {
		return nil, err
	}
	if err := c.play(ctx, first); err != nil {
		return nil, err
	}
	return c.finish(ctx)
}

// begin makes a world in which what was said of contacts elsewhere is taken up.
func (c *comparing) begin(ctx context.Context, sim *Simulator, r *Rules, said []contactWord) (*player, error) {
	p := &player{events: make([]messaging.EventID, 1), fates: c.pairs, said: said}
	w, err := sim.Begin(ctx, *r, p.fate, c.From.Add(-c.Warm))
	if err != nil {
		return nil, err
	}
	p.World = w
	w.Called = func(m *messaging.Message, _ time.Time, _ *messaging.Attempt) {
		v := versionOf(m, r)
		key := p.keyOf(m)
		p.assume(v, key.run)
		p.sent = append(p.sent, sent{key, m.Phone, v})
	}
	w.Uploaded = p.uploaded
	if c.begun != nil {
		c.begun(w)
	}
	c.planRuns(p, r)
	return p, nil
}

// perRead is how many rows are read at a time.
const perRead = 1000

// saidElsewhere are blocks and consents that no event which is played says: what was said before a world begins holds from its begin on.
func (c *comparing) saidElsewhere(ctx context.Context, first messaging.EventID) (said []contactWord, err error) {
	begin := c.From.Add(-c.Warm)
	note := func(event messaging.EventID, at time.Time, w contactWord) {
		if w.at = at; at.Before(begin) {
			w.at = begin
		}
		if event < first {
			said = append(said, w)
		}
	}
	blocks, err := c.Store.Blocks(ctx, maxBlocks)
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		note(blocks[i].Event, blocks[i].At, contactWord{block: &blocks[i]})
	}
	var after messaging.Phone
	for more := true; more; {
		some, err := c.Store.Consents(ctx, "", after, perRead)
		if err != nil {
			return nil, err
		}
		if more = len(some) == perRead; more { // the last phone may have more than was read
			last := some[perRead-1].Phone
			some = some[:slices.IndexFunc(some, func(r messaging.ConsentRecord) bool { return r.Phone == last })]
		}
		for i := range some {
			after = some[i].Phone
			note(some[i].Event, some[i].At, contactWord{consent: &some[i]})
		}
	}
	slices.SortStableFunc(said, func(a, b contactWord) int { return a.at.Compare(b.at) })
	return said, nil
}

// maxBlocks is how many blocked contacts are read.
const maxBlocks = 10_000_000

func (p *player) keyOf(m *messaging.Message) messageKey {
	if m.EventID == 0 {
		return p.keyOfRow(m)
	}
	k := messageKey{trigger: m.Trigger, step: m.Step}
	if n := int(m.EventID); n < len(p.events) {
		k.event = p.events[n]
	}
	return k
}

// fate is what really became of a message, where it was sent.
func (p *player) fate(c Call) Fate {
	if one := p.fates[p.keyOf(c.Message)]; one != nil {
		return one.fate
	}
	return Fate{}
}

// play plays all events in their order, in both worlds at once.
func (c *comparing) play(ctx context.Context, next messaging.EventID) error {
	for {
		events, err := c.Store.PastEvents(ctx, next, batch)
		if err != nil {
			return err
		}
		if c.read += int64(len(events)); c.Progress != nil {
			c.Progress(c.read)
		}
		until, last := c.Until, len(events) < batch
		if !last {
			until = events[len(events)-1].ReceivedAt
		}
		if err := c.readLedger(ctx, until); err != nil {
			return err
		}
		if err := c.readRemoved(ctx, events); err != nil {
			return err
		}
		if err := c.playUntil(ctx, c.playable(events), until); err != nil {
			return err
		}
		if last && c.was != nil {
			return c.playOn(ctx)
		}
		if last {
			return nil
		}
		next = events[len(events)-1].ID + 1
	}
}

// afterwards is how long is played after the last event: longer than any wait that is usual.
const afterwards = 366 * 24 * time.Hour

// playOn plays what waits still, in both.
func (c *comparing) playOn(ctx context.Context) error {
	if err := c.playUntil(ctx, nil, c.lastRun()); err != nil {
		return err
	}
	err := c.both(func(p *player) error {
		_, err := p.RunToEnd(ctx, c.Until.Add(afterwards))
		return err
	})
	c.settle()
	return err
}

// both has each world do something.
func (c *comparing) both(do func(*player) error) error {
	if c.was == nil {
		return do(c.is)
	}
	if c.OneByOne {
		if err := do(c.was); err != nil {
			return err
		}
		return do(c.is)
	}
	failed := make(chan error, 1)
	go func() { failed <- do(c.was) }()
	err := do(c.is)
	return cmp.Or(<-failed, err)
}

// playable are the events that are played; the others are counted.
func (c *comparing) playable(events []messaging.Event) []messaging.Event {
	return slices.DeleteFunc(events, func(e messaging.Event) bool {
		switch {
		case e.Forgotten || e.FactsCleared || e.Contact.Phone.IsMasked():
			c.left.forgotten++
		case e.Replays():
			c.left.replays++
		case e.ByHand():
			c.left.byHand++
		default:
			if !e.ReceivedAt.Before(c.From) {
				c.out.Events++
			}
			return false
		}
		c.skipped[e.ID] = true
		return true
	})
}

func (p *player) play(ctx context.Context, events []messaging.Event, until time.Time) error {
	for i := range events {
		e := &events[i]
		if err := p.runUntil(ctx, e.ReceivedAt); err != nil {
			return err
		}
		got, err := p.TakePast(ctx, *e)
		if err != nil {
			return fmt.Errorf("event %d: %w", e.ID, err)
		}
		for int(got.EventID) >= len(p.events) {
			p.events = append(p.events, 0)
		}
		p.events[got.EventID] = e.ID
	}
	return p.runUntil(ctx, until)
}

// runUntil carries out what falls due, takes up what was said of contacts and of runs, and begins runs, until a time.
func (p *player) runUntil(ctx context.Context, end time.Time) error {
	for {
		said := len(p.said) > 0 && !p.said[0].at.After(end)
		due := len(p.deeds) > 0 && !p.deeds[0].at.After(end)
		if !said && !due {
			return p.RunUntil(ctx, end)
		}
		var err error
		if said && !(due && p.deeds[0].at.Before(p.said[0].at)) {
			err = p.takeUp(ctx, p.said[0].at)
		} else {
			err = p.carryOut(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// takeUp takes up what was said of contacts at a time.
func (p *player) takeUp(ctx context.Context, at time.Time) error {
	if err := p.RunUntil(ctx, at); err != nil {
		return err
	}
	var blocks []store.Block
	var consents []messaging.ConsentRecord
	for ; len(p.said) > 0 && p.said[0].at.Equal(at); p.said = p.said[1:] {
		if one := &p.said[0]; one.block != nil {
			blocks = append(blocks, *one.block)
		} else {
			consents = append(consents, *one.consent)
		}
	}
	if _, err := p.Store.Block(ctx, blocks); err != nil {
		return err
	}
	return p.Store.SaveConsents(ctx, consents)
}

// readLedger reads what was planned until a time, and what became of it.
func (c *comparing) readLedger(ctx context.Context, until time.Time) error {
	for {
		some, err := c.Store.PastMessages(ctx, c.seen, batch)
		if err != nil {
			return err
		}
		for i := range some {
			m := &some[i]
			if m.CreatedAt.After(until) {
				return nil
			}
			c.seen = m.ID
			if m.Tries == 0 && m.AcceptedAt.IsZero() {
				continue // it was never sent
			}
			c.sentReally(messageKey{event: m.EventID, trigger: m.Trigger, step: m.Step}, m)
		}
		if len(some) < batch {
			return nil
		}
	}
}

func (c *comparing) pair(m messageKey, phone messaging.Phone) *pair {
	one := c.pairs[m]
	if one == nil {
		one = &pair{phone: phone}
		c.pairs[m] = one
	}
	return one
}

// settle takes up what both worlds have sent, and lets go of what is the same in both.
func (c *comparing) settle() {
	for _, side := range []*player{c.was, c.is} {
		if side == nil {
			continue
		}
		for _, s := range side.sent {
			one := c.pair(s.messageKey, s.phone)
			if side == c.is {
				one.is = s.version
			} else {
				one.was = s.version
			}
			if was := c.wasOf(one); was != nil && one.is != nil && was.compare(one.is, c.tolerance(s.messageKey, one)) == "" {
				if c.compared(s.messageKey, one) {
					c.count(s.messageKey, one)
				}
				delete(c.pairs, s.messageKey)
			}
		}
		side.sent = nil
	}
}

func (c *comparing) wasOf(p *pair) *Version {
	if c.was == nil {
		return p.ledger
	}
	return p.was
}

// tolerance is how far apart the times of a message may be that did not move. Rows of lists leave at the rate of calls, which is not played: so in
// the simulation a row may leave earlier than it did, by as long as the run handed over its rows.
func (c *comparing) tolerance(m messageKey, one *pair) time.Duration {
	switch run := c.known[m.run]; {
	case run != nil && c.was == nil && run.Deliver == messaging.DeliverPerMessage && one.ledger.Due.After(one.is.Due) && run.EndedAt.After(run.StartedAt):
		return tolerance + run.EndedAt.Sub(run.StartedAt)
	case run != nil, c.was == nil:
		return tolerance
	default:
		return 0
	}
}
