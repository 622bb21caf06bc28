package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// lintDue warns of quiet hours and limits that are likely not meant.
func (c *Config) lintDue(k *checker) {
	now := time.Now()
	c.lintKeys(k, "defaults", &c.Defaults.Keys, now)
	said := map[string]bool{} // what defaults say is told once
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		at, r := yamlpos.Join("triggers", e.Key), &e.Value
		c.lintKeys(k, at, &r.Keys, now)
		k.lintRate(at, r)
		if k.lintExempt(at, &r.Keys, r.Category); r.Category == messaging.Marketing && r.Mode != triggers.Off {
			k.lintUntil(at, r)
			k.lintLives(at, r, said)
		}
	}
	for i := range c.in.Jobs {
		e := &c.in.Jobs[i]
		at, j := yamlpos.Join("jobs", e.Key), &e.Value
		category := messaging.Category(j.Category)
		if category == "" {
			category = c.Defaults.Category
		}
		c.lintKeys(k, at, &j.Keys, now)
		k.lintExempt(at, &j.Keys, category)
		c.lintCron(k, at, j, category)
	}
}

// lintRate warns of a rate on messages that somebody waits for, and of one whose windows outlast the messages.
func (k *checker) lintRate(at string, r *triggers.Rule) {
	lives := r.Lives()
	switch {
	case r.Rate.IsZero() || r.Mode == triggers.Off:
	case r.Category == messaging.Authentication:
		k.lint("rate-of-codes", at+".rate", fmt.Sprintf("%s holds for messages of category authentication, too: a code that finds the window used up waits for its end, or expires", r.Rate),
			"remove it; api.rate is what the service can take")
	case lives > 0 && r.Rate.Longest() > lives:
		k.lint("rate-outlasts", at+".rate", fmt.Sprintf("messages expire after %s, and the window of %s is longer: what finds it used up early is dropped", span(lives), r.Rate),
			fmt.Sprintf("make expires longer than %s, or write a shorter window, such as 500/h", span(r.Rate.Longest())))
	}
}

// has reports whether the file has something at path.
func (k *checker) has(path string) bool { return k.doc.Node(path) != nil }

// lintKeys warns of what an entry itself says.
func (c *Config) lintKeys(k *checker, at string, keys *duerules.Keys, now time.Time) {
	q := &keys.QuietHours
	days := c.holidays[q.Holidays]
	rule := q.Rule(hours.Holidays{})
	quiet := at + ".quiet_hours"
	if longest, always := rule.Longest(); k.has(quiet) {
		switch {
		case always:
			k.lint("quiet-always", quiet, fmt.Sprintf("%s leave no hour: no marketing is ever sent", &rule), "write when it is quiet, such as 21:00-09:00")
		case q.MaxDefer > 0 && q.OnHit == duerules.Drop:
			k.lint("max-defer-unused", quiet+".max_defer", "bounds what is put off, and on_hit is drop", "remove one of the two")
		case q.MaxDefer > 0 && q.MaxDefer.D() < longest:
			k.lint("max-defer-short", quiet+".max_defer", fmt.Sprintf("%s is shorter than the %s that are quiet without a break: what falls due at their beginning is dropped", q.MaxDefer, span(longest)),
				fmt.Sprintf("make it %s or more, or say on_hit: drop", span(longest)))
		}
		if days.Past(now) {
			k.lint("holidays-past", quiet+".holidays", q.Holidays+" has only dates that are past", "add those to come, or write them without the year: 12-25")
		}
	}
	if !k.has(at + ".limit") {
		return
	}
	for i, l := range keys.Limit.All {
		path := at + ".limit"
		if n := k.doc.Node(path); n.Kind() == yamlpos.Sequence {
			path = fmt.Sprintf("%s[%d]", path, i)
		}
		if l.Count.Most == 0 {
			k.lint("limit-of-nothing", path, fmt.Sprintf("%s lets no message go", l.Count), "write at least 1, or mode: off where nothing is to be sent")
		}
		if l.MaxDefer > 0 && l.OnHit == duerules.Drop {
			k.lint("max-defer-unused", path+".max_defer", "bounds what is put off, and on_hit is drop", "remove one of the two")
		}
	}
}

// lintExempt warns of rules of an entry whose messages they are not about.
func (k *checker) lintExempt(at string, keys *duerules.Keys, category messaging.Category) {
	if category != messaging.Utility && category != messaging.Authentication {
		return
	}
	q := &keys.QuietHours
	if k.has(at+".quiet_hours") && (len(q.Windows) > 0 || q.Holidays != "") {
		k.lint("exempt", at+".quiet_hours", fmt.Sprintf("does nothing: messages of category %s go at any hour", category), "remove it, or say category: marketing if this is no answer that somebody waits for")
	}
	own := func(l duerules.Limit) bool { return l.Category == category }
	if k.has(at+".consent") && keys.Consent == duerules.ConsentRequired {
		k.lint("exempt", at+".consent", fmt.Sprintf("does nothing: messages of category %s need no consent", category), "remove it, or say category: marketing if they are to win the person")
	}
	if k.has(at+".limit") && len(keys.Limit.All) > 0 && !slices.ContainsFunc(keys.Limit.All, own) {
		k.lint("exempt", at+".limit", fmt.Sprintf("does nothing: it limits marketing, and these messages are of category %s", category),
			fmt.Sprintf("remove it, or write {count: %s, category: %s}", keys.Limit.All[0].Count, category))
	}
}

// lintUntil warns of a time of day to wait for that is quiet on most days.
func (k *checker) lintUntil(at string, r *triggers.Rule) {
	for key, wait := range r.Delays() {
		if minute, text, ok := wait.Clock(); ok {
			k.lintClock(at+"."+key, &r.Keys, minute, text, "message")
		}
	}
}

// lintClock is lintUntil of one time of day.
func (k *checker) lintClock(path string, keys *duerules.Keys, minute int, text, noun string) {
	const most = 4
	rule := keys.QuietHours.Rule(hours.Holidays{})
	then := "the " + noun + " goes when they end"
	if keys.QuietHours.OnHit == duerules.Drop {
		then = "the " + noun + " is dropped (on_hit)"
	}
	if rule.DaysAt(minute) >= most {
		k.lint("wait-into-quiet", path, fmt.Sprintf("%s is in quiet hours, %s: %s", text, &rule, then), "write a time outside of them")
	}
}

// lintLives warns of messages that expire before quiet hours end, at the value that says so. Those that
// wait for a time of day fall due then, and lintUntil looks at that.
func (k *checker) lintLives(at string, r *triggers.Rule, said map[string]bool) {
	daily := true
	for _, wait := range r.Delays() {
		_, _, ok := wait.Clock()
		daily = daily && ok
	}
	rule := r.QuietHours.Rule(hours.Holidays{})
	longest, always := rule.Longest()
	if daily || always || r.Lives() == 0 || r.Lives() > longest || r.QuietHours.OnHit == duerules.Drop {
		return
	}
	for _, one := range []string{at + ".expires", at + ".quiet_hours", "defaults.expires", "defaults.quiet_hours"} {
		if !k.has(one) {
			continue
		}
		if !said[one] {
			said[one] = true
			k.lint("expires-in-quiet", one, fmt.Sprintf("messages expire after %s, and %s is quiet for %s: what falls due at its beginning is dropped", span(r.Lives()), &rule, span(longest)),
				fmt.Sprintf("make expires longer than %s, or say on_hit: drop", span(longest)))
		}
		return
	}
}
