package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// finish tells of what is not the same in both.
func (c *comparing) finish(ctx context.Context) (*Comparison, error) {
	var left []messageKey
	for m, one := range c.pairs {
		if c.compared(m, one) {
			left = append(left, m)
		}
	}
	slices.SortFunc(left, func(a, b messageKey) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.trigger, b.trigger), cmp.Compare(a.step, b.step), cmp.Compare(a.run, b.run), cmp.Compare(a.row, b.row))
	})
	why := newReasoner(c.is)
	for _, m := range left {
		one := c.pairs[m]
		change := Change{Phone: one.phone, Trigger: m.trigger, Step: m.step, Event: m.event, Was: c.wasOf(one), Is: one.is}
		if m.run != 0 {
			change.Trigger, change.Job, change.Run, change.Row = "", m.trigger, m.run, m.row
		}
		within := time.Duration(0)
		if change.Was != nil && change.Is != nil {
			within = c.tolerance(m, one)
		}
		switch change.Kind = change.Was.compare(change.Is, within); change.Kind {
		case "": // the ledger had it later than the simulation, after a look-up
			c.count(m, one)
			continue
		case Gone:
			var err error
			if change.Reason, err = why.reasonOf(ctx, m, one.phone); err != nil {
				return nil, err
			}
		}
		if change.Is != nil && !one.recorded {
			change.Assumed = []string{"delivered"}
		}
		if change.Is != nil && change.Is.assumed {
			change.Assumed = append(change.Assumed, "words")
		}
		c.count(m, one).count(&change)
		c.out.Changes = append(c.out.Changes, change)
	}
	c.out.Triggers, c.out.Jobs, c.out.Days = sorted(c.triggers), sorted(c.jobs), sorted(c.days)
	c.out.Notes = c.notes()
	return &c.out, nil
}

// compared reports whether something is said of a message: one of the time that is looked at, whose event was played, and that
// does not wait to be sent. It counts the rows that wait in a run.
func (c *comparing) compared(m messageKey, one *pair) bool {
	if m.run != 0 {
		run := c.known[m.run]
		if run == nil || run.StartedAt.Before(c.From) {
			return false
		}
		if c.was == nil && one.ledger == nil && !run.State.Final() {
			c.left.underWay++
			return false
		}
	} else if m.event < c.first || c.skipped[m.event] {
		return false
	}
	if c.wasOf(one) == nil && one.is == nil {
		return false
	}
	if c.notKept(m, one) {
		c.left.removed++
		return false
	}
	return c.was != nil || one.is == nil || one.ledger != nil || one.is.Due.Before(c.Until.Add(-tolerance))
}

// count adds a message to the totals of its trigger or job and its day, and returns both.
func (c *comparing) count(m messageKey, one *pair) totals {
	of := c.triggers
	if m.run != 0 {
		of = c.jobs
	}
	was := c.wasOf(one)
	first := one.is
	if was != nil {
		first = was
	}
	t := totals{c.total(of, m.trigger), c.total(c.days, first.Due.In(c.Zone).Format(time.DateOnly))}
	for _, of := range t {
		if was != nil {
			of.Was++
			of.WasPoints += was.Points
		}
		if one.is != nil {
			of.Is++
			of.IsPoints += one.is.Points
		}
	}
	return t
}

type totals [2]*Total

func (t totals) count(c *Change) {
	for _, of := range t {
		of.count(c)
	}
}

func (c *comparing) total(of map[string]*Total, name string) *Total {
	if of[name] == nil {
		of[name] = &Total{Name: name}
	}
	return of[name]
}

func sorted(of map[string]*Total) (out []Total) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, *of[name])
	}
	return out
}

// notes say what was left out, and what was assumed.
func (c *comparing) notes() (notes []string) {
	for _, n := range []struct {
		count int64
		words string
	}{
		{c.left.forgotten, "%d events whose content is not kept any more are left out, with what they led to"},
		{c.left.replays, "%d replays of events are left out, with what they led to"},
		{c.left.byHand, "%d messages that a person sent are left out"},
		{c.left.again, "%d runs that sent rows of an earlier one again are left out, with what they led to"},
		{c.left.blanked, "%d runs whose rows are not kept any more are left out: what they sent counts in no limit"},
		{c.left.unread, "%d runs read no list, because they were skipped or failed: who was on it is not known, and it is not played"},
		{c.left.underWay, "%d rows of runs that are paused or under way were not sent so far, and are left out"},
		{c.left.removed, "%d messages are left out, because what was really sent then is not kept any more"},
		{c.left.excluded, "%d rows that were left out when their list was read stay left out: what is stored of them is not enough to send them"},
	} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf(n.words, n.count))
		}
	}
	notes = append(notes, c.listNotes()...)
	return append(notes,
		"events are as they were mapped when they came",
		"blocks and consents that no event said hold from the time when they were said last")
}
