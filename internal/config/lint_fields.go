package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// What a trigger reads is held here against what its events can have: by the map of their connector, and by its samples.

// A source is a kind of a connector that an entry of on or cancel_on names.
type source struct {
	from *connectors.Connector
	kind string
}

func (s source) String() string { return s.from.Name() + "." + s.kind }

// sourcesOf are the events that an entry names; known is false where it may name others.
func (c *Config) sourcesOf(ref string) (sources []source, known bool) {
	connector, kind, _ := strings.Cut(ref, ".")
	if strings.Contains(kind, "*") || kind == "" {
		return nil, false
	}
	for i := range c.in.Connectors {
		name := c.in.Connectors[i].Key
		if connector != "*" && connector != name {
			continue
		}
		from := c.Receivers[name]
		if from == nil {
			return nil, false // it did not compile
		}
		if connector == name || from.Knows(kind) {
			sources = append(sources, source{from, kind})
		}
	}
	return sources, len(sources) > 0
}

// allSources are those of several entries.
func (c *Config) allSources(refs []string) (sources []source, known bool) {
	for _, ref := range refs {
		found, known := c.sourcesOf(ref)
		if !known {
			return nil, false
		}
		sources = append(sources, found...)
	}
	return sources, len(sources) > 0
}

// lintCarried warns of fields that none of the trigger's events can carry, and of events that lack what a condition needs. said are the
// paths that were warned of.
func (c *Config) lintCarried(k *checker, at string, r *triggers.Rule) (said map[string]bool) {
	said = map[string]bool{}
	sources, known := c.allSources(r.On)
	if !known || r.Mode == triggers.Off {
		return said
	}
	for _, one := range triggers.Readings(r) {
		for _, field := range one.Fields {
			if carries := func(s source) bool { return !s.from.NeverCarries(s.kind, field) }; slices.ContainsFunc(sources, carries) || said[one.Path] {
				continue
			}
			said[one.Path] = true
			k.lint("field-never-carried", at+"."+one.Path, fmt.Sprintf("%s is never in %s: nothing in the map of %s leads to it", field, namesOf(sources), sources[0].from.Name()), otherField(sources, field))
		}
	}
	for i, ref := range r.On {
		of, _ := c.sourcesOf(ref)
		for j, text := range r.If {
			if said[fmt.Sprintf("if[%d]", j)] || len(of) == 0 {
				continue
			}
			if lacks := lacking(of, text); lacks != "" {
				k.lint("event-never-passes", fmt.Sprintf("%s.on[%d]", at, i), fmt.Sprintf("%s never has %s, and %q cannot hold without it: it sends nothing", ref, lacks, text),
					"take it out of on, or let the condition hold for it, too, with or")
				break
			}
		}
	}
	c.lintEndings(k, at+".cancel_on", r.CancelOn)
	c.lintEndings(k, at+".stop_on", r.StopOn)
	return said
}

// lintEndings warns of events that never have what their own condition needs.
func (c *Config) lintEndings(k *checker, at string, all []triggers.EventIf) {
	for i, one := range all {
		event, condition := one.Parts()
		of, known := c.sourcesOf(event)
		if condition == "" || !known {
			continue
		}
		if lacks := lacking(of, condition); lacks != "" {
			k.lint("event-never-passes", fmt.Sprintf("%s[%d]", at, i), fmt.Sprintf("%s never has %s, and %q cannot hold without it: it ends nothing", event, lacks, condition), otherField(of, lacks))
		}
	}
}

// otherField is the advice for a field that the events never have.
func otherField(sources []source, field string) string {
	if field == "contact.accepts_marketing" || field == "contact.consent_known" {
		return fmt.Sprintf("write consent: required, and record who agreed (docs/consent.md); or say where it is: connectors.%s.map: {consent: …}", sources[0].from.Name())
	}
	_, last, _ := strings.Cut(field, ".")
	var near []string
	for _, other := range sources[0].from.Carries(sources[0].kind) {
		if _, name, _ := strings.Cut(other, "."); name == last && !slices.ContainsFunc(sources, func(s source) bool { return s.from.NeverCarries(s.kind, other) }) {
			near = append(near, other)
		}
	}
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Sprintf("if the sender posts it, say where: connectors.%s.map_for: {%s: {%s: …}}; or listen to an event that has it", sources[0].from.Name(), sources[0].kind, mappable(field))
}

// mappable is the field that a map would fill.
func mappable(field string) string {
	switch parts := strings.Split(field, "."); {
	case len(parts) == 3:
		return parts[0] + "." + parts[1]
	case field == "contact.consent_known":
		return "contact.accepts_marketing"
	case field == "contact.email_consent_known":
		return "contact.accepts_email"
	default:
		return field
	}
}

// lacking is a field without which a condition cannot hold and that none of the events can have; "" for none.
func lacking(sources []source, condition string) (field string) {
	ways := expressions.Needs(condition)
	if len(ways) == 0 {
		return ""
	}
	never := func(name string) bool {
		return !slices.ContainsFunc(sources, func(s source) bool { return !s.from.NeverCarries(s.kind, name) })
	}
	for _, way := range ways {
		i := slices.IndexFunc(way, never)
		if i < 0 {
			return ""
		}
		field = way[i]
	}
	return field
}

func namesOf(sources []source) string {
	var names []string
	for _, s := range sources {
		if !slices.Contains(names, s.String()) {
			names = append(names, s.String())
		}
	}
	if len(names) > 3 {
		return fmt.Sprintf("any of the %d events of on", len(names))
	}
	return strings.Join(names, " or ")
}

// lintCancelKey warns of cancelling events that never have the key by which they would find what to cancel: they end all that waits for their
// phone, or nothing.
func (c *Config) lintCancelKey(k *checker, at string, r *triggers.Rule) {
	for i, ref := range triggers.Events(r.CancelOn) {
		sources, known := c.sourcesOf(ref)
		if !known || strings.HasPrefix(ref, "*") || slices.Contains(triggers.Events(r.StopOn), ref) || slices.Contains(r.On, ref) || r.Mode == triggers.Off {
			continue
		}
		if key := k.lacksKey(sources[0], r); key != "" {
			k.lint("cancel-key-missing", fmt.Sprintf("%s.cancel_on[%d]", at, i), fmt.Sprintf("%s has no %s, the key here: it ends whatever waits for its phone, and nothing where it has none", ref, key),
				"name in key what both events have; or write it under stop_on, which ends all that waits for the phone")
		}
	}
}

// lacksKey is the key of a rule that no event of a kind has, by its connector's samples, or by its map where it has none; "" where one has
// it, or may.
func (k *checker) lacksKey(of source, r *triggers.Rule) (key string) {
	fields := triggers.KeyFields(r)
	if len(fields) == 0 || len(fields) == 1 && fields[0] == "contact.phone" {
		return ""
	}
	key = strings.Join(fields, " or ")
	samples := k.samplesOf(of)
	for i := range samples {
		if triggers.CancelsByKey(r, &samples[i].Event) {
			return ""
		}
	}
	never := func(field string) bool { return of.from.NeverCarries(of.kind, field) }
	if len(samples) == 0 && slices.ContainsFunc(fields, func(f string) bool { return !never(f) }) {
		return ""
	}
	return key
}

// samplesOf are the events that an event's samples become, which are made once.
func (k *checker) samplesOf(s source) []connectors.SampleEvent {
	events, known := k.samples[s]
	if !known {
		if k.samples == nil {
			k.samples = map[source][]connectors.SampleEvent{}
		}
		events = s.from.SampleEvents(s.kind)
		k.samples[s] = events
	}
	return events
}

// whatever are fields whose values in a sample say nothing of other events: how much somebody buys, and what is known of the person.
var whatever = []string{"cart.total", "order.total", "deal.amount", "contact.accepts_marketing", "contact.accepts_email", "contact.consent_known", "contact.tags", "contact.country", "contact.language"}

// lintSamples warns of texts without a default that a sample of the event leaves empty. said are paths that were warned of already.
func (c *Config) lintSamples(k *checker, at string, r *triggers.Rule, said map[string]bool) {
	if r.Mode == triggers.Off {
		return
	}
	home, err := time.LoadLocation(c.Defaults.Timezone)
	if err != nil {
		home = time.UTC // the fault is told where it stands
	}
	for _, ref := range r.On {
		sources, _ := c.sourcesOf(ref)
		for _, s := range sources {
			for _, e := range k.samplesOf(s) {
				c.lintSample(k, at, r, &e, home, said)
			}
		}
	}
}

func (c *Config) lintSample(k *checker, at string, r *triggers.Rule, e *connectors.SampleEvent, home *time.Location, said map[string]bool) {
	scope := expressions.NewScope(&e.Event, e.ReceivedAt, home)
	defer scope.Free()
	if e.Contact.Phone == "" || !mayMean(r, scope) {
		return
	}
	for path, text := range triggers.Templates(r) {
		if _, empty := text.Render(scope); empty == "" || said[path] {
			continue
		}
		said[path] = true
		k.lint("variable-empty", at+"."+path, fmt.Sprintf("is empty in the sample %q of %s, and then no message is sent", e.Sample, e.Ref()), withDefault(path))
	}
}

func withDefault(path string) string {
	if strings.Contains(path, ".header.") {
		return `give it a default: {{ … | default: "https://shop.example/logo.jpg" }}`
	}
	return `give it a default: {{ … | default: "there" }}`
}

// mayMean reports whether a rule may send because of a sample: its conditions hold, but for those that are about the person and the amount alone.
func mayMean(r *triggers.Rule, scope *expressions.Scope) bool {
	for _, text := range r.If {
		c, faults := expressions.CompileCondition(text)
		if len(faults) > 0 {
			return false
		}
		fields := c.Fields()
		if len(fields) > 0 && !slices.ContainsFunc(fields, func(f string) bool { return !slices.Contains(whatever, f) }) {
			continue
		}
		if !c.Evaluate(scope).Held {
			return false
		}
	}
	return true
}
