package sender

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// knowledge is what the dispatching loop knows about the store without asking.
type knowledge struct {
	urgent, marketing bool      // something may be due in the lane
	full              bool      // the last claim got all urgent ones it asked for: there are more
	backlog           bool      // the same of marketing
	next              time.Time // nothing else is due before; zero when that is not known
}

// dispatch claims what is due and hands it to the workers until ctx is done. It is the only
// one that claims, so that one commit takes as many rows as there is room for by then.
func (s *Sender) dispatch(ctx, recording context.Context) {
	k := knowledge{urgent: true, marketing: true}
	failures := 0
	for ctx.Err() == nil {
		now := time.Now()
		if s.mustAsk(now) {
			s.ask(ctx)
			continue
		}
		s.look(&k, now)
		take, until := s.quota(&k, now)
		var err error
		switch {
		case take.urgent+take.marketing > 0:
			err = s.claim(recording, &k, take)
		case !k.urgent && !k.marketing && k.next.IsZero():
			err = s.plan(recording, &k)
		default:
			s.alarm.Sleep(ctx, until)
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		pause := backoff.Next(failures, 50*time.Millisecond, 10*time.Second, s.Jitter())
		s.Log.Error("claiming dispatches", zap.Error(err), zap.Duration("again_in", pause))
		s.sleep(ctx, pause)
	}
}

// look takes in what the alarm and the clock say.
func (s *Sender) look(k *knowledge, now time.Time) {
	due, planned := s.alarm.Take(now)
	reached := !k.next.IsZero() && !now.Before(k.next)
	if due || planned || reached {
		k.urgent, k.marketing = true, true
	}
	if planned || reached {
		// The alarm keeps only the earliest time: those told behind it are in the store alone.
		k.next = time.Time{}
	}
}

// quota is what to claim now; when that is nothing, until is when to look again at the latest.
// What it waits for is named to the workers before it is counted: a seat that comes free in
// between rings in vain, which is better than unheard.
func (s *Sender) quota(k *knowledge, now time.Time) (take lanes, until time.Time) {
	s.holding.expect(0, 0, false)
	until = now.Add(lookAgain)
	halted, is := s.health.halt.State()
	if is && halted.Until.After(now) && halted.Until.Before(until) {
		until = halted.Until
	}
	if !k.urgent && !k.marketing {
		if !k.next.IsZero() && k.next.Before(until) {
			return lanes{}, k.next
		}
		return lanes{}, until
	}
	marketing := k.marketing
	if _, held := s.health.holds(true); is && !held {
		marketing = false // but the urgent go on
		if !k.urgent && halted.Until.After(now) {
			return lanes{}, halted.Until
		}
		is = k.marketing && !k.urgent
	}
	if is && halted.Until.After(now) {
		return lanes{}, halted.Until
	} else if is {
		s.holding.expect(s.holding.seats.urgent, 0, false)
		if s.holding.hands() > 0 {
			return lanes{}, until
		}
		return quota(lanes{1, 1}, lanes{}, k.urgent, k.marketing, k.full, lanes{1, 1}), until
	}
	rate, again := s.Budget.Room(pace.Send, window)
	if rate == 0 {
		return lanes{}, again
	}
	// With a backlog in a lane and most of its seats taken, a claim can wait until it is worth
	// its commit: there is more in hand than calls may be under way.
	var enough lanes
	if k.urgent {
		enough.urgent = 1
		if k.full {
			enough.urgent = s.worth()
		}
	}
	if marketing {
		enough.marketing = 1
		if k.backlog {
			enough.marketing = s.worth()
		}
	}
	s.holding.expect(enough.urgent, enough.marketing, true)
	idle, room := s.holding.idle(), s.holding.room(rate)
	room.urgent = min(room.urgent, idle.urgent)
	room.marketing = min(room.marketing, idle.urgent)
	take = quota(s.holding.seats, s.holding.now(),
		k.urgent && idle.urgent >= enough.urgent, marketing && idle.marketing >= enough.marketing && room.marketing > 0,
		k.full, room)
	if take.urgent+take.marketing > 0 {
		s.holding.expect(0, 0, false)
	}
	return take, until
}

// worth is how many rows make a claim worth its commit while the workers have enough to do.
func (s *Sender) worth() int { return max(1, s.holding.seats.urgent/4) }

// claim takes dispatches from the store and hands them to the workers.
func (s *Sender) claim(ctx context.Context, k *knowledge, take lanes) error {
	now := time.Now()
	rows, err := s.Store.Claim(ctx, s.Owner, now, s.Lease, take.urgent, take.marketing)
	if err != nil {
		return err
	}
	got, ends := lanes{}, now.Add(s.Lease)
	_, probe := s.health.halt.State()
	for i := range rows {
		if rows[i].Category.Urgent() {
			got.urgent++
		} else {
			got.marketing++
		}
		s.holding.lane(rows[i].Category.Urgent()).Add(1)
		s.holding.queue(rows[i].Category.Urgent()).Add(1)
		rows[i].Owner = s.Owner
		s.hands <- claim{rows[i], ends, probe}
	}
	if take.urgent > 0 {
		k.urgent = got.urgent >= take.urgent
		k.full = k.urgent
	}
	if take.marketing > 0 {
		k.marketing = got.marketing >= take.marketing
		k.backlog = k.marketing
	}
	return nil
}

// plan asks the store when something falls due next.
func (s *Sender) plan(ctx context.Context, k *knowledge) error {
	asked := time.Now()
	due, ok, err := s.Store.NextDue(ctx)
	if err != nil {
		return err
	}
	k.next = asked.Add(lookAgain)
	if ok && due.Before(k.next) {
		k.next = due
	}
	return nil
}

// called notes that the call of a claim has ended, or that there will be none: its seat is free.
func (s *Sender) called(urgent bool) {
	s.holding.storing.Add(1)
	s.holding.lane(urgent).Add(-1)
	s.offer()
}

// stored notes that the outcome of a claim is recorded: its worker is free.
func (s *Sender) stored() {
	s.holding.storing.Add(-1)
	s.offer()
}

// offer wakes the dispatching loop when there is room for as many claims as it waits for.
func (s *Sender) offer() {
	if s.holding.met() {
		s.alarm.Ring()
	}
}

// left notes that a claim does not wait for the budget any more.
func (s *Sender) left(urgent bool) {
	if s.holding.queue(urgent).Add(-1) == 0 && s.holding.cramped.Load() {
		s.alarm.Ring()
	}
}

func (s *Sender) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
