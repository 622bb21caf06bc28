package duerules

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Keys are what defaults, a trigger and a job say about when a message may be sent. What an entry
// says replaces what defaults say, key by key.
type Keys struct {
	QuietHours QuietHours `yaml:"quiet_hours" doc:"When marketing is not sent, on the clock of the contact's place: 21:00-09:00, off, a list such as [mon-fri 21:00-09:00, sat-sun 20:00-11:00], or {hours: …, days: …, holidays: a file with a date a line, on_hit: defer or drop, max_defer: 12h}." example:"21:00-09:00"`
	Consent    Consent    `yaml:"consent" doc:"Whether marketing goes only to contacts whose consent to messages is recorded: required, or optional. Consent to e-mail does not count." example:"required"`
	Limit      Limits     `yaml:"limit" doc:"Most marketing messages to one contact, over all triggers and jobs: 2 per day (week, month) by the calendar of the contact's place, 6 per 7d in any such time; several as a list; off; or {count: 2 per day, category: …, on_hit: defer or drop, max_defer: 12h}." example:"[2 per day, 6 per 7d]"`
}

// Consent says whose marketing is sent. "" was not written, which is as good as optional.
type Consent string

// The values of Consent.
const (
	ConsentOptional Consent = "optional" // to everybody who is not blocked
	ConsentRequired Consent = "required" // to those who agreed to it and did not take that back
)

// UnmarshalText reads optional or required.
func (c *Consent) UnmarshalText(text []byte) error {
	words := []string{string(ConsentRequired), string(ConsentOptional)}
	for _, word := range words {
		if string(text) == word {
			*c = Consent(word)
			return nil
		}
	}
	e := &units.Error{Msg: fmt.Sprintf("%q is not known here", text), Next: "write " + strings.Join(words, " or ")}
	if near := nearest.Of(string(text), words); near != "" {
		e.Next = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}

// Schema describes it to editors.
func (Consent) Schema() map[string]any {
	return map[string]any{"enum": []any{string(ConsentRequired), string(ConsentOptional)}}
}

// QuietHours are when nothing is sent. The zero value was not written.
type QuietHours struct {
	Set      bool // written, off included
	Windows  []hours.Window
	Holidays string // path of a file; "" for none
	OnHit    OnHit
	MaxDefer units.Duration // 0 is as long as the message lives
}

// Rule is when it is quiet, with the days that the file of holidays names.
func (q *QuietHours) Rule(holidays hours.Holidays) hours.Rule {
	return hours.Rule{Windows: q.Windows, Holidays: holidays}
}

// OnHit is what becomes of a message that a rule holds back. "" is Defer.
type OnHit string

// The values of OnHit.
const (
	Defer OnHit = "defer" // until the rule lets it go
	Drop  OnHit = "drop"
)

var hits = []string{string(Defer), string(Drop)}

// UnmarshalText reads defer or drop.
func (o *OnHit) UnmarshalText(text []byte) error {
	for _, word := range hits {
		if string(text) == word {
			*o = OnHit(word)
			return nil
		}
	}
	e := &units.Error{Msg: fmt.Sprintf("%q is not known here", text), Next: "write " + strings.Join(hits, " or ")}
	if near := nearest.Of(string(text), hits); near != "" {
		e.Next = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}

// isOff reports whether a value switches a rule off.
func isOff(n *yamlpos.Node) bool {
	if n.Kind() != yamlpos.Scalar {
		return false
	}
	switch strings.ToLower(n.Text()) {
	case "off", "none", "never", "false", "no":
		return true
	}
	return false
}

// DecodeYAML reads 21:00-09:00, off, a list of windows, or the parts.
func (q *QuietHours) DecodeYAML(n *yamlpos.Node) {
	q.Set = true
	switch {
	case isOff(n):
	case n.Kind() != yamlpos.Mapping:
		q.Windows = windows(n, hours.Everyday)
	default:
		n.UnknownKeys("hours", "days", "holidays", "on_hit", "max_defer")
		days, named := hours.Everyday, n.Get("days")
		if named != nil {
			var list []hours.Days
			named.Decode(&list)
			days = 0
			for _, d := range list {
				days |= d
			}
			if len(list) == 0 {
				named.Report("names no day", "write days: [mon-fri], or remove the line for every day")
			}
		}
		written := n.Get("hours")
		if written != nil {
			q.Windows = windows(written, days)
			if named != nil {
				q.twice(written, days)
			}
		}
		if days := n.Get("holidays"); days != nil && days.Kind() == yamlpos.Sequence {
			days.Report("is a list, and has to be the name of a file", "write the dates into a file, one a line, such as 2026-12-25 or 12-25, and name it: holidays: holidays.txt")
		} else {
			at(n, "holidays", &q.Holidays)
		}
		at(n, "on_hit", &q.OnHit)
		maxDefer(n, &q.MaxDefer)
		switch {
		case written == nil && named != nil:
			named.Report("are the days of hours, and there are no hours", "write hours: 21:00-09:00 beside it, or hours: 00:00-24:00 for whole days")
		case written == nil && n.Get("holidays") == nil:
			n.Report("does not say which hours are quiet", "write hours: 21:00-09:00 in it, or quiet_hours: off")
		}
	}
}

// twice reports hours that name days of their own beside days.
func (q *QuietHours) twice(written *yamlpos.Node, days hours.Days) {
	for _, item := range written.Items() {
		if w, err := hours.ParseWindow(item.Text(), 0); err == nil && w.Days != 0 && w.Days != days {
			item.Report(fmt.Sprintf("%q names its own days, and days names others", item.Text()), "remove one of the two")
			return
		}
	}
}

// at decodes the value under key, where there is one.
func at(n *yamlpos.Node, key string, v any) {
	if value := n.Get(key); value != nil {
		value.Decode(v)
	}
}

// maxDefer reads how long a rule may put a message off. Zero would read as no bound, which is the opposite of what it says.
func maxDefer(n *yamlpos.Node, to *units.Duration) {
	at(n, "max_defer", to)
	value := n.Get("max_defer")
	if value == nil {
		return
	}
	if written, err := units.ParseDuration(value.Text()); err == nil && written == 0 {
		value.Report("puts nothing off", "write on_hit: drop in its place, or remove it to put off for as long as the message lives")
	}
}

// windows reads one window or a list of them.
func windows(n *yamlpos.Node, days hours.Days) []hours.Window {
	if n.Kind() == yamlpos.Mapping || n.Kind() == yamlpos.Null {
		n.Report("wants hours, has "+n.Kind().String(), "write 21:00-09:00")
		return nil
	}
	if len(n.Items()) == 0 {
		n.Report("is an empty list", "write 21:00-09:00, or quiet_hours: off")
	}
	var all []hours.Window
	for _, item := range n.Items() {
		if item.Kind() != yamlpos.Scalar {
			item.Report("wants hours, has "+item.Kind().String(), `write them as mon-fri 21:00-09:00; on_hit, max_defer and holidays stand beside "hours"`)
			continue
		}
		if !item.Usable() {
			continue
		}
		w, err := hours.ParseWindow(item.Text(), days)
		if err != nil {
			report(item, err)
			continue
		}
		all = append(all, w)
	}
	return all
}

func report(n *yamlpos.Node, err error) {
	hint := ""
	if e, ok := errors.AsType[*units.Error](err); ok {
		hint = e.Next
	}
	n.Report(err.Error(), hint)
}

// Schema describes it to editors.
func (QuietHours) Schema() map[string]any {
	text := map[string]any{"type": "string", "pattern": `^([A-Za-z, -]+ )?[0-9]{1,2}:[0-9]{2}\s*-\s*[0-9]{1,2}:[0-9]{2}$`}
	list := map[string]any{"type": "array", "items": text}
	hours := map[string]any{"anyOf": []any{text, list}}
	days := map[string]any{"type": "string"}
	return map[string]any{"anyOf": []any{
		map[string]any{"enum": []any{"off", false}},
		text, list,
		map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
			"hours": hours, "days": map[string]any{"anyOf": []any{days, map[string]any{"type": "array", "items": days}}},
			"holidays": map[string]any{"type": "string"}, "on_hit": map[string]any{"enum": hits}, "max_defer": units.Duration(0).Schema(),
		}},
	}}
}

// Limits are how many messages one contact gets. The zero value was not written.
type Limits struct {
	Set bool // written, off included
	All []Limit
}

// A Limit is one of them.
type Limit struct {
	Count    units.Limit
	Category messaging.Category // which messages are limited and counted; "" is marketing
	OnHit    OnHit
	MaxDefer units.Duration // 0 is as long as the message lives
}

// Limits of a limit's window: the store keeps what it counts longer than that.
const (
	shortestWindow = time.Minute
	longestWindow  = 90 * 24 * time.Hour
	mostLimits     = 8
	mostCount      = 1000
)

// DecodeYAML reads 2 per day, off, a list, or the parts.
func (l *Limits) DecodeYAML(n *yamlpos.Node) {
	l.Set = true
	if isOff(n) {
		return
	}
	items := n.Items()
	if n.Kind() == yamlpos.Mapping {
		items = []*yamlpos.Node{n}
	}
	switch {
	case len(items) == 0:
		n.Report("is an empty list", "write 2 per day, or limit: off")
	case len(items) > mostLimits:
		n.Report(fmt.Sprintf("has %d limits, and %d is the most", len(items), mostLimits), "remove those that others imply")
	}
	for _, item := range items {
		var one Limit
		if one.decode(item) {
			l.All = append(l.All, one)
		}
	}
}

func (l *Limit) decode(n *yamlpos.Node) (ok bool) {
	count := n
	if n.Kind() == yamlpos.Mapping {
		n.UnknownKeys("count", "category", "on_hit", "max_defer")
		if count = n.Get("count"); count == nil {
			n.Report("does not say how many", "write count: 2 per day in it")
			return false
		}
		var category string
		at(n, "category", &category)
		switch l.Category = messaging.Category(category); l.Category {
		case "", messaging.Marketing, messaging.Utility, messaging.Authentication:
		default:
			n.Get("category").Report(fmt.Sprintf("%q is no category", category), "write marketing, utility or authentication")
		}
		at(n, "on_hit", &l.OnHit)
		maxDefer(n, &l.MaxDefer)
	}
	if !count.Usable() {
		return false
	}
	count.Decode(&l.Count)
	switch {
	case l.Count.IsZero():
		return false // which was reported
	case l.Count.Most > mostCount:
		count.Report(fmt.Sprintf("%d messages to one contact is no limit", l.Count.Most), fmt.Sprintf("write %d at the most, or limit: off", mostCount))
		return false
	case l.Count.Calendar == "" && l.Count.Per < shortestWindow:
		count.Report("has a window of less than a minute", "write 1 per 1h")
		return false
	case l.Count.Per > longestWindow:
		count.Report("has a window of more than 90d", "write 90d at the most")
		return false
	}
	return true
}

// Schema describes it to editors.
func (Limits) Schema() map[string]any {
	one := []any{units.Limit{}.Schema(), map[string]any{"type": "object", "additionalProperties": false, "required": []string{"count"}, "properties": map[string]any{
		"count": units.Limit{}.Schema(), "category": map[string]any{"enum": []string{"marketing", "utility", "authentication"}},
		"on_hit": map[string]any{"enum": hits}, "max_defer": units.Duration(0).Schema(),
	}}}
	return map[string]any{"anyOf": append([]any{
		map[string]any{"enum": []any{"off", false}}, map[string]any{"type": "array", "items": map[string]any{"anyOf": one}},
	}, one...)}
}

// Account is what the messaging service lets one account send.
type Account struct {
	UniqueContacts units.Limit   `yaml:"unique_contacts" doc:"Most different contacts that the account may message in a window, as the service says of its tier. Marketing beyond it waits." example:"10000 per 24h"`
	Reserve        units.Percent `yaml:"reserve" default:"0%" doc:"The share of unique_contacts that is kept for utility and authentication." example:"10%"`
}
