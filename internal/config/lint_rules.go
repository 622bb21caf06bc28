package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

// What a rule says is held here against what else it says, and against the other rules.

// lintContradictions warns of conditions that no event meets together.
func (k *checker) lintContradictions(at string, r *triggers.Rule) {
	for i := range r.If {
		if with := contradicted(r.If[:i], r.If[i]); with != "" {
			k.lint("conditions-contradict", fmt.Sprintf("%s.if[%d]", at, i), fmt.Sprintf("%s: no event meets both, and nothing is sent", with), "all conditions have to hold; for either of two write one condition with or")
			return
		}
	}
	for i := range r.Steps {
		own := r.Steps[i].If
		for j, text := range own {
			path := fmt.Sprintf("%s.steps[%d].if[%d]", at, i, j)
			if with := contradicted(own[:j], text); with != "" {
				k.lint("conditions-contradict", path, fmt.Sprintf("%s: this step is never sent", with), "all conditions have to hold; for either of two write one condition with or")
				break
			}
			if expressions.ContradictLater(r.If, own[:j+1]) {
				k.lint("conditions-contradict", path, fmt.Sprintf("%q contradicts the if of the trigger: this step is never sent", text), "the event of a step is the one that the trigger's if held for")
				break
			}
		}
	}
}

// contradicted says what a condition contradicts: itself, one of those before it, or all of them together; "" for nothing.
func contradicted(before []string, text string) string {
	if expressions.Contradict(text) {
		return fmt.Sprintf("%q contradicts itself", text)
	}
	for _, other := range before {
		if expressions.Contradict(other, text) {
			return fmt.Sprintf("%q contradicts %q", text, other)
		}
	}
	if len(before) > 1 && expressions.Contradict(append(slices.Clone(before), text)...) {
		return fmt.Sprintf("%q contradicts the conditions before it", text)
	}
	return ""
}

// lintTwins warns of triggers that send one thing because of the same event: a person gets it twice.
func (c *Config) lintTwins(k *checker) {
	sends := func(r *triggers.Rule) map[string]string {
		all := map[string]string{}
		for at, s := range r.Sends() {
			for key, what := range map[string]string{"template": s.Template, "campaign": s.Campaign, "text": s.Text} {
				if what != "" && all[key+" "+what] == "" {
					all[key+" "+what] = at + "." + key
				}
			}
		}
		return all
	}
	first := map[string][]*triggers.Rule{} // by what they send
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		if e.Value.Mode == triggers.Off {
			continue
		}
		sent := sends(&e.Value)
		for _, what := range slices.Sorted(maps.Keys(sent)) {
			twin := func(other *triggers.Rule) bool { return twins(other, &e.Value) }
			if i := slices.IndexFunc(first[what], twin); i >= 0 {
				k.lint("sent-twice", yamlpos.Join("triggers", e.Key)+"."+sent[what], fmt.Sprintf("%s sends it because of the same event: a person gets it twice", first[what][i].Name),
					"remove one of the two, make them steps of one trigger, or give each an if that excludes the other's")
				break
			}
		}
		for what := range sent {
			first[what] = append(first[what], &e.Value)
		}
	}
}

// twins reports whether one event may make both rules send. One that only tries things out (mode: shadow) sends nothing beside the other.
func twins(a, b *triggers.Rule) bool {
	if a.Mode != b.Mode || a.Account != b.Account {
		return false
	}
	same := slices.ContainsFunc(a.On, func(one string) bool {
		return slices.ContainsFunc(b.On, func(other string) bool { return overlap(one, other) })
	})
	return same && !expressions.Contradict(append(slices.Clone(a.If), b.If...)...)
}

// lintLimitOfSteps warns of a limit that the trigger's own steps use up.
func (k *checker) lintLimitOfSteps(at string, r *triggers.Rule) {
	if len(r.Steps) < 2 || r.Mode == triggers.Off || exclusive(r.Steps) {
		return
	}
	for i, l := range r.Keys.Limit.All {
		if category := cmp.Or(l.Category, messaging.Marketing); category != r.Category || l.Count.Most == 0 {
			continue
		}
		step, span := tooMany(r.Steps, l.Count)
		if step < 0 {
			continue
		}
		path := fmt.Sprintf("%s.steps[%d]", at, step)
		if k.has(at + ".limit") {
			if path = at + ".limit"; k.doc.Node(path).Kind() == yamlpos.Sequence {
				path = fmt.Sprintf("%s[%d]", path, i)
			}
		}
		then := "waits for the window to end"
		if l.OnHit == duerules.Drop {
			then = "is dropped"
		}
		k.lint("limit-below-steps", path, fmt.Sprintf("%d steps fall due within %s, and %s lets %d of them go: step %d %s", l.Count.Most+1, units.Duration(span), l.Count, l.Count.Most, step+1, then),
			fmt.Sprintf("allow %d, make the waits longer, or write fewer steps", l.Count.Most+1))
		return
	}
}

// exclusive reports whether two steps are for different people, so that nobody gets both.
func exclusive(steps []triggers.Step) bool {
	for i := range steps {
		for j := range steps[:i] {
			if expressions.Contradict(append(slices.Clone(steps[i].If), steps[j].If...)...) {
				return true
			}
		}
	}
	return false
}

// tooMany is the first step that a limit surely meets, because of those before it, and within how long these fall due; -1 for none. Of a calendar
// it is sure enough where most of those who get the steps meet it: half of a day, a week or a month.
func tooMany(steps []triggers.Step, l units.Limit) (step int, span time.Duration) {
	window := l.Per
	switch l.Calendar {
	case units.Day:
		window = 12 * time.Hour
	case units.Week:
		window = 84 * time.Hour
	case units.Month:
		window = 14 * 24 * time.Hour
	}
	for last := int(min(l.Most, int64(len(steps)))); last < len(steps); last++ {
		span, known := time.Duration(0), true
		for _, s := range steps[last-int(l.Most)+1 : last+1] {
			most, ok := longest(s.Wait)
			span, known = span+most, known && ok
		}
		if known && (span < window || l.Calendar != "" && span == window) {
			return last, span
		}
	}
	return -1, 0
}

// longest is how long a wait may be at the most; ok is false where only the event says.
func longest(w triggers.Wait) (most time.Duration, ok bool) {
	_, _, clock := w.Clock()
	if clock || w.Days > 0 {
		most = 24 * time.Hour
	}
	return w.For + time.Duration(w.Days)*24*time.Hour + most, clock || w.Until == ""
}

// lintWaits warns of an expiry and of an age that are shorter than the wait: they are not counted from where a reader would count.
func (k *checker) lintWaits(at string, r *triggers.Rule) {
	var wait time.Duration
	for _, w := range r.Delays() {
		if w.At == "" && w.Until == "" { // who waits for a time of day means that time
			wait = max(wait, w.For+time.Duration(w.Days)*24*time.Hour)
		}
	}
	shorter := func(l triggers.Lifetime) bool { return l.Set && !l.Off && l.For < wait }
	if k.has(at+".expires") && shorter(r.Expires) && r.Expires.For >= shortExpires {
		k.lint("expires-below-wait", at+".expires", fmt.Sprintf("%s is shorter than the wait of %s, and counts from its end: the message may leave until %s after the event",
			span(r.Expires.For), span(wait), span(wait+r.Expires.For)),
			fmt.Sprintf("make the wait shorter than %s if it is counted from the event; all is well where it is how late the message may be", span(r.Expires.For)))
	}
	if k.has(at+".max_age") && shorter(r.MaxAge) && r.MaxAge.For >= shortAge {
		k.lint("max-age-below-wait", at+".max_age", fmt.Sprintf("%s is shorter than the wait of %s, and is looked at when the event comes: it ends no wait", span(r.MaxAge.For), span(wait)),
			"write expires for how late a message may be; all is well where it is how late an event may come")
	}
}

// lintCron warns of times at which a job drops all that it has, because they are in its own quiet hours.
func (c *Config) lintCron(k *checker, at string, j *scheduler.Job, category messaging.Category) {
	i := slices.IndexFunc(c.Jobs, func(one *scheduler.Compiled) bool { return one.Name == j.Name })
	if j.At != nil && j.Mode != scheduler.Off && category == messaging.Marketing {
		k.lintClock(at+".at", &j.Keys, j.At.Minute(), j.At.String(), "row")
	}
	if i < 0 || j.At != nil || j.Mode == scheduler.Off || category != messaging.Marketing || j.QuietHours.OnHit != duerules.Drop || c.Jobs[i].Schedule() == nil {
		return
	}
	rule := j.QuietHours.Rule(hours.Holidays{})
	if quiet := quietTimes(c.Jobs[i].Schedule(), &rule); len(quiet) > 0 {
		k.lint("cron-in-quiet-hours", at+".cron", fmt.Sprintf("fires at %s, which is in quiet hours, %s, and on_hit is drop: nothing is sent then", some(quiet), &rule),
			"write a time outside of them, or on_hit: defer")
	}
}

// quietTimes are the times of day at which a schedule fires in quiet hours only, by the clock on the job's wall.
func quietTimes(s *scheduler.Schedule, rule *hours.Rule) (quiet []string) {
	const looked = 1500 // a day of every minute, and four years of every day
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	loud, wall := map[string]bool{}, hours.In(time.UTC)
	for range looked {
		f, ok := s.Next(at)
		if !ok {
			break
		}
		at = f.At
		shown, err := time.Parse("2006-01-02 15:04", f.Slot)
		if err != nil {
			continue
		}
		clock := shown.Format("15:04")
		if loud[clock] = loud[clock] || !rule.Quiet(shown, wall); !slices.Contains(quiet, clock) {
			quiet = append(quiet, clock)
		}
	}
	quiet = slices.DeleteFunc(quiet, func(clock string) bool { return loud[clock] })
	slices.Sort(quiet)
	return quiet
}

// some are the first of many words.
func some(words []string) string {
	const named = 3
	if len(words) > named {
		return strings.Join(words[:named], ", ") + fmt.Sprintf(" and %d other times", len(words)-named)
	}
	return strings.Join(words, ", ")
}
