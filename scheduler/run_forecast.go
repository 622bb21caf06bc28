package scheduler

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Forecast says what a run would do, counted by the code that does it.
type Forecast struct {
	Job      string
	Run      messaging.Run // that would be begun, before anything of it is read
	Source   string
	Tally    messaging.Tally
	Awaiting []string // why it would wait for approval; nothing when it would go
	// Repeats is the run that sent the same list with the same template, in words, too; 0 for none.
	Repeats     messaging.RunID
	RepeatWords string
	Nothing     string        // why nothing would be sent; "" when something would
	Takes       time.Duration // of sending; 0 when no rate is known
	Basis       string        // what Takes is reckoned from
	Columns     []string      // what Preview.Variables are, for people: VAR_1, IMAGE
	Previews    []Preview     // the first rows
	Priced      bool          // Tally.Points was counted
	Later       laterRows     // rows of Tally.Kept that would not go at once, by rule
	Before      *Before       // of a run that is stored: the one before it; nil for none
}

// A Later is a rule that would put rows off, were the run begun now.
type Later struct {
	Rule  string    `json:"rule" kind:"ours"` // the YAML key
	Rows  int64     `json:"rows"`
	Until time.Time `json:"until"`                      // when the first of them goes, UTC
	Zone  string    `json:"zone,omitempty" kind:"ours"` // for at, whose rows have an entry for each time: of the first of them
}

// laterRows adds them up by rule, and those that wait for a time of day by that time.
type laterRows []Later

func (l *laterRows) count(v *messaging.Verdict, rows int64) {
	if v.Rule == messaging.RuleAt {
		l.turn(turn{v.Until, v.Common}, rows)
		return
	}
	i := slices.IndexFunc(*l, func(one Later) bool { return one.Rule == v.Rule })
	if i < 0 {
		i, *l = len(*l), append(*l, Later{Rule: v.Rule, Until: v.Until.UTC()})
	}
	one := &(*l)[i]
	if one.Rows += rows; v.Until.Before(one.Until) {
		one.Until = v.Until.UTC()
	}
}

// turn counts rows that wait for their turn.
func (l *laterRows) turn(t turn, rows int64) {
	i := slices.IndexFunc(*l, func(one Later) bool { return one.Rule == messaging.RuleAt && one.Until.Equal(t.at) })
	if i < 0 {
		i, *l = len(*l), append(*l, Later{Rule: messaging.RuleAt, Until: t.at, Zone: t.zone})
	}
	(*l)[i].Rows += rows
}

// last is when the last turn is; zero for none.
func (l laterRows) last() (at time.Time) {
	for _, one := range l {
		if one.Rule == messaging.RuleAt && one.Until.After(at) {
			at = one.Until
		}
	}
	return at
}

// next is when the first of them goes; zero for none.
func (l laterRows) next() (at time.Time) {
	for _, one := range l {
		if at.IsZero() || one.Until.Before(at) {
			at = one.Until
		}
	}
	return at
}

// uploadSpeed is what a forecast expects of the line, in bytes a second.
const uploadSpeed = 1_000_000

// DryRun reads the job's source as a run would, writes nothing and sends nothing. progress
// may be nil.
func (s *Scheduler) DryRun(ctx context.Context, job *Compiled, now time.Time, progress func(Progress)) (Forecast, error) {
	f := Forecast{Job: job.Name, Source: job.source.String(), Priced: s.prices(job.account()) != nil}
	last, err := s.lastTally(ctx, job.Name)
	if err != nil {
		return f, err
	}
	m := newMeter(messaging.Run{Job: job.Name, State: messaging.RunBuilding}, last, progress, s.Now)
	r := job.addressed(messaging.Run{Job: job.Name, Config: job.Version, Account: job.account(), Deliver: job.Deliver, Category: job.category, DueAt: now})
	f.Run = r
	b := &building{job: job, now: now, turns: job.turns(&r, now), people: s.people(job), mayGo: s.asked(r, job, foretold), later: &laterRows{}, prices: s.prices(job.account()), tick: func(rows, kept int64) error {
		m.read(rows, kept)
		return nil
	}}
	if err := b.run(ctx); err != nil {
		return f, err
	}
	f.Tally, f.Columns, f.Previews, f.Later = b.tally, titles(job.columns.header()[1:]), b.first, *b.later
	f.Awaiting = job.Guard.stops(b.tally, last)
	before, again, err := s.repeated(ctx, job, job.addressed(messaging.Run{Tally: b.tally}))
	if err != nil {
		return f, err
	}
	if again {
		f.Repeats, f.RepeatWords = before.ID, repeatWords(b.tally.Kept, before)
		f.Awaiting = append(f.Awaiting, f.RepeatWords)
	}
	return f, s.conclude(ctx, &f, job)
}

// conclude adds what is said of the run as a whole, once its rows are counted.
func (s *Scheduler) conclude(ctx context.Context, f *Forecast, job *Compiled) error {
	var quiet messaging.Verdict
	if f.Run.Deliver == messaging.DeliverCSV {
		if quiet = s.fileMayGo(&f.Run, job.category, job, false); quiet.Action == messaging.DeferSend && f.Tally.Kept > 0 {
			f.Later.count(&quiet, f.Tally.Kept)
		}
	}
	slices.SortStableFunc(f.Later, func(a, b Later) int { return a.Until.Compare(b.Until) })
	switch {
	case f.Tally.Kept == 0:
		_, f.Nothing = nothingToSend(f.Job, f.Tally)
	case quiet.Action == messaging.DropSend:
		f.Nothing = quiet.Reason
	default:
		f.Takes, f.Basis = s.takes(job, f.Tally)
		if last := f.Later.last(); !last.IsZero() && f.Takes > 0 {
			f.Takes, f.Basis = f.Takes+last.Sub(s.Now()), fmt.Sprintf("until the last %s (at), and then %s", job.At, f.Basis)
		}
		last, basis, err := s.lasts(ctx, job, f.Tally.Points)
		if last > f.Takes {
			f.Takes, f.Basis = last, basis
		}
		return err
	}
	return nil
}

// prices is the price table of an account, nil where there is none.
func (s *Scheduler) prices(account string) Prices {
	if s.Prices == nil {
		return nil
	}
	return s.Prices(account)
}

// takes is how long sending would last, and what that is reckoned from.
func (s *Scheduler) takes(job *Compiled, t messaging.Tally) (time.Duration, string) {
	reach := s.rules().Reach(job.account(), job.category)
	windows, full := windowsOf(job.Rate, t.Kept), windowsOfReach(reach, t.Kept)
	switch {
	case full > 0 && full >= windows:
		return full, reachBasis(reach, t.Kept)
	case windows > 0:
		return windows, units.Count(t.Kept, "message") + " at " + job.Rate.String() + " (rate)"
	}
	if s.Rate == nil {
		return 0, ""
	}
	rate := s.Rate(job.account())
	if rate <= 0 {
		return 0, ""
	}
	at := " at " + rateWords(rate) + " (api.rate)"
	if account := job.account(); account != "" {
		at = " at " + rateWords(rate) + " (accounts." + account + ".rate)"
	}
	if job.Deliver == messaging.DeliverPerMessage {
		return time.Duration(float64(t.Kept) / rate * float64(time.Second)), units.Count(t.Kept, "message") + at
	}
	return time.Duration((float64(t.Parts)/rate + float64(t.Bytes)/uploadSpeed) * float64(time.Second)),
		fmt.Sprintf("%s%s, and %s at a guess of 1 MB a second", units.Count(t.Parts, "upload"), at, units.Count(t.Bytes, "byte"))
}

// rateWords is a rate in the unit in which it is a whole number.
func rateWords(perSecond float64) string {
	for _, unit := range []struct {
		seconds float64
		words   string
	}{{1, "a second"}, {60, "a minute"}, {3600, "an hour"}, {86400, "a day"}} {
		if n := perSecond * unit.seconds; math.Abs(n-math.Round(n)) < 1e-6 {
			return units.Number(int64(math.Round(n))) + " " + unit.words
		}
	}
	return fmt.Sprintf("%.2f a second", perSecond)
}
