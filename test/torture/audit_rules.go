package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Quiet hours and limits are asked in the commit that claims a message, with the time that the ledger keeps of the claim, and are held
// against that. So is what ends a message, as an order does: a claim that began after the order was answered comes after its
// commit, and must not find the message any more, not even a moment later. How long a message is under way from its claim to its arrival is the matter of
// the rate and of the machine. What was claimed already is looked at once more before its call, by word from other nodes: that is held
// against the times of arrival, with patience.

// auditRules holds the arrivals of one customer against what its phone may get.
func (r *round) auditRules(c *customer, ledger map[call]*messaging.Message) {
	type arrival struct {
		template string
		at       time.Time
		claimed  time.Time
	}
	var all []arrival
	for _, template := range marketing {
		for _, at := range r.service.accepted(call{c.phone(), template}) {
			one := arrival{template, at, r.claimedAt(ledger[call{c.phone(), template}], at)}
			if !one.claimed.IsZero() {
				r.report.LongestWay = max(r.report.LongestWay, at.Sub(one.claimed))
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b arrival) int { return a.claimed.Compare(b.claimed) })
	stop := c.saidStop()
	for i, one := range all {
		d := ledger[call{c.phone(), one.template}]
		if since, quiet := r.nights.quietFor(c.east(), one.claimed); quiet {
			r.violate("customer %d: %s was claimed %s after quiet hours had begun (message %d)", c.number, one.template, since, idOf(d))
		}
		before := 0
		for _, other := range all[:i] {
			if apart := one.claimed.Sub(other.claimed); apart < limitWindow {
				if before++; one.template == extra && apart < r.shop.patience() {
					before-- // nodes commit in another order than they begin, and one claim takes several
				}
			}
		}
		if most := perContact; before >= most || one.template == extra && before >= perExtra {
			r.violate("customer %d: %s is more than the limit: %d were claimed within %s before it (message %d)", c.number, one.template, before, limitWindow, idOf(d))
		}
		what := fmt.Sprintf("customer %d: %s (message %d)", c.number, one.template, idOf(d))
		if !stop.answered.IsZero() {
			r.auditEnd(what, "STOP was answered", span{stop.answered, c.start.begun}, one.claimed, one.at)
		}
		if !c.order.answered.IsZero() {
			r.auditEnd(what, "the order was answered", span{from: c.order.answered}, one.claimed, one.at)
		}
		if blocked, is := r.blocked[c.phone()]; is {
			r.auditEnd(what, "the block", span{from: blocked}, one.claimed, one.at)
		}
		for _, s := range r.silent {
			if one.template == extra {
				r.auditEnd(what, "it was turned off or removed", s, one.claimed, one.at)
			}
		}
	}
}

// claimedAt is when a message was claimed that came at a time; that time where the ledger has no message, which auditTaken tells.
func (r *round) claimedAt(d *messaging.Message, came time.Time) time.Time {
	if d == nil {
		return came
	}
	return r.claimed[d.ID]
}

// auditEnd: from when on something had ended a message it was claimed no more, and a while later none arrived. A claim bears the time at which it
// was asked for, and may be decided later: what came after the end was over may have been decided then, too.
func (r *round) auditEnd(what, ended string, s span, claimed, came time.Time) {
	switch {
	case s.holds(claimed) && s.holds(came):
		r.violate("%s was claimed %s after %s", what, claimed.Sub(s.from), ended)
	case s.holds(came) && came.Sub(s.from) > r.shop.patience():
		r.violate("%s came %s after %s", what, came.Sub(s.from), ended)
	}
}

// auditSequence: each step in its place, none after a stop, and none is missing whose conditions held.
func (r *round) auditSequence(c *customer, ledger map[call]*messaging.Message) {
	var of [3]*messaging.Message
	var taken [3][]time.Time
	var last time.Time // when the step before came
	for i, template := range steps {
		of[i], taken[i] = ledger[call{c.phone(), template}], r.service.accepted(call{c.phone(), template})
		for _, at := range taken[i] {
			if stopped := c.written.answered; !stopped.IsZero() {
				r.auditEnd(fmt.Sprintf("customer %d: step %d (message %d)", c.number, i+1, idOf(of[i])), "the reply that stops it", span{from: stopped}, r.claimedAt(of[i], at), at)
			}
			if at.Before(last) {
				r.violate("customer %d: step %d came before the one before it", c.number, i+1)
			}
			last = at
		}
	}
	doubtful := func(i int) bool { return of[i] != nil && of[i].State == messaging.StateInDoubt }
	switch {
	case !c.wantsSequence() || of[0] == nil:
	case len(taken[1]) > 0 && doubtful(0):
		r.violate("customer %d: step 2 was sent, and step 1 is in doubt", c.number)
	case len(taken[2]) > 0 && !doubtful(0) && !doubtful(1):
		r.violate("customer %d: step 3 was sent, and nothing was in doubt", c.number)
	}
	if !c.wantsSequence() || r.excused(c) || !c.written.begun.IsZero() || c.cart.answered.IsZero() {
		return
	}
	for i := range steps {
		missing := len(taken[i]) == 0 && !doubtful(i)
		if missing && of[i] != nil && r.mayLack(of[i]) {
			return // those after it are queued when it has left
		}
		switch {
		case !missing:
		case of[i] == nil:
			r.violate("customer %d: step %d was not queued", c.number, i+1)
		case i == 1 && doubtful(0), i == 2 && !doubtful(0) && !doubtful(1):
		default:
			r.violate("customer %d: step %d is missing: message %d is %s: %s", c.number, i+1, of[i].ID, of[i].State, of[i].Reason)
		}
	}
}

// excused reports whether marketing to a customer need not have come: ordered, blocked, or said STOP.
func (r *round) excused(c *customer) bool {
	_, blocked := r.blocked[c.phone()]
	stop := c.saidStop()
	return blocked || !c.order.begun.IsZero() || !stop.begun.IsZero()
}

// auditOffer: it came, or the reason says why not; and no window of its rate had more than it has room for.
func (r *round) auditOffer(ctx context.Context, c *customer, d *messaging.Message) error {
	taken := r.service.accepted(call{c.phone(), offer})
	doubtful, err := r.wasInDoubt(ctx, d)
	if err != nil {
		return err
	}
	if d != nil && d.State == messaging.StateDropped && doubtful {
		r.report.Messages += len(taken) // it is let be
		return nil
	}
	r.auditTaken(c, offer, d, taken, 1)
	if c.price() == "229.00" && !c.cart.answered.IsZero() && len(taken) == 0 && !r.excused(c) && (d == nil || !r.mayLack(d)) {
		r.violate("customer %d: the offer is missing (message %d)", c.number, idOf(d))
	}
	return nil
}

// wasInDoubt reports whether an attempt of a message may have been taken.
func (r *round) wasInDoubt(ctx context.Context, d *messaging.Message) (was bool, err error) {
	if d == nil {
		return false, nil
	}
	s, err := r.daemons[0].ledger(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	story, err := s.MessageStory(ctx, d.ID)
	return slices.ContainsFunc(story.Attempts, func(a messaging.Attempt) bool { return a.State == messaging.StateInDoubt }), err
}

// auditRate: windows of a rate follow each other, so a time touches one more of them than fit in it, and a part of another.
func (r *round) auditRate() {
	var all []time.Time
	for _, c := range r.shop.all() {
		all = append(all, r.service.accepted(call{c.phone(), offer})...)
	}
	slices.SortFunc(all, time.Time.Compare)
	patience := r.shop.patience()
	for i := range all {
		for j := i; j < len(all); j++ {
			windows := int((all[j].Sub(all[i])+patience)/rateWindow) + 2
			if j-i+1 > rateMost*windows {
				r.violate("%d offers came within %s", j-i+1, all[j].Sub(all[i]))
				return
			}
		}
	}
}

// auditPace: all daemons together ask no faster than the config says.
func (r *round) auditPace() {
	all, patience := r.service.requests(), r.shop.patience()
	for i := range all {
		for j := i + perSecond; j < len(all); j += perSecond {
			most := int(float64(r.settings.Rate) * 1.01 * (all[j].Sub(all[i]) + patience).Seconds())
			if j-i+1 > most+1 {
				r.violate("%d requests came within %s, and the rate is %d a second", j-i+1, all[j].Sub(all[i]), r.settings.Rate)
				return
			}
		}
	}
}

// perSecond is how many requests apart the times are that auditPace looks at.
const perSecond = 20

// auditHalts: nothing was claimed while everything was halted.
func (r *round) auditHalts(all []*messaging.Message) {
	for _, d := range all {
		for _, s := range r.halts {
			if at := r.claimed[d.ID]; s.holds(at) {
				r.violate("message %d was claimed %s after everything was halted", d.ID, at.Sub(s.from))
			}
		}
	}
}

// auditReasons: whatever did not leave says why.
func (r *round) auditReasons(all []*messaging.Message) {
	for _, d := range all {
		r.report.States[d.State]++
		if d.State != messaging.StateAccepted && d.Reason == "" {
			r.violate("message %d is %s, and does not say why", d.ID, d.State)
		}
	}
}
