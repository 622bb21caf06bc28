package connectors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// NoPhone is what to do so that events of a kind have a phone, where none of them ever has one as the connector is configured: no path of
// its map leads to one in what the sender posts, and nothing can be looked up. It is "" where one may have it, and where nobody can know:
// whoever maps a phone, writes look-ups or chooses the shape of the requests knows more. Of a topic that has samples they decide, as they
// have the shape that the sender posts by default; of another one the map does.
func (c *Connector) NoPhone(kind string) string {
	never, needs := c.neverPhone(kind)
	switch {
	case !never:
		return ""
	case needs != nil:
		return fmt.Sprintf("set %s in connectors.%s: it is then looked up%s", strings.Join(needs.missing, " and "), c.name, needs.at())
	}
	return fmt.Sprintf("say where it is, if it is in the body after all: connectors.%s.map: {phone: …}; or listen to an event that has one", c.name)
}

// neverPhone is NoPhone, with the look-up that would bring one if its settings were there; nil for none.
func (c *Connector) neverPhone(kind string) (never bool, needs *lookupRule) {
	mapsPhone := func(l mapping.Layer) bool {
		return slices.ContainsFunc(l.Mapping, func(e yamlpos.Entry[mapping.Source]) bool { return mapping.TargetIndex(e.Key) == phoneTarget })
	}
	if c.config.Open || c.ownLookups || c.config.Preset != "" && slices.ContainsFunc(c.config.layers(), mapsPhone) {
		return false, nil
	}
	topics, all := c.topicsOf(kind)
	for _, topic := range topics {
		sampled, lacks, may := c.sampledPhone(kind, topic)
		if !sampled && !may {
			lacks, may = c.mappedPhone(kind, topic)
		}
		if may {
			return false, nil
		}
		if lacks != nil {
			needs = lacks
		}
	}
	return all || !slices.ContainsFunc(append(c.config.layers(), c.config.before...), mapsPhone), needs
}

// phoneTarget is the place of contact.phone among the targets.
var phoneTarget = mapping.TargetIndex("phone")

// topicsOf are the sender's words that become a kind. all is false where it may have others.
func (c *Connector) topicsOf(kind string) (topics []string, all bool) {
	all = true
	for _, a := range c.config.Event.Aliases {
		if a.Value == kind {
			topics, all = appendNew(topics, a.Key), all && !strings.Contains(a.Key, "*")
		}
	}
	for _, k := range c.event.kinds {
		if k.kind != kind {
			continue
		}
		at := slices.IndexFunc(k.when, func(r *mapping.Rule) bool { return r.Op == "==" && r.Left.Source == "event.type" })
		if at < 0 {
			all = false
			continue
		}
		topics = appendNew(topics, k.when[at].Right)
	}
	if len(topics) == 0 && all || slices.Contains(c.config.Kinds, kind) {
		topics = appendNew(topics, kind) // a word that nobody translates
	}
	return topics, all
}

// sampledPhone reports what the samples of a topic say: whether there are any, which look-up lacks its setting, and whether one has a phone
// or may have it by a look-up.
func (c *Connector) sampledPhone(kind, topic string) (sampled bool, lacks *lookupRule, may bool) {
	for _, s := range c.Samples() {
		if s.Kind != kind {
			continue
		}
		got, err := c.takeSample(&s)
		if err != nil {
			return true, nil, true
		}
		for i := range got.Events {
			e := &got.Events[i]
			if e.Kind != kind || e.Topic != topic {
				continue
			}
			l, _, err := c.next(e)
			if hasPhone(e) || err != nil || l != nil && len(l.missing) == 0 {
				return true, nil, true
			}
			if sampled = true; l != nil {
				lacks = l
			}
		}
	}
	return sampled, lacks, false
}

// mappedPhone reports whether the map may find a phone in the events of a topic, or which look-up that would bring one lacks its setting.
func (c *Connector) mappedPhone(kind, topic string) (lacks *lookupRule, may bool) {
	for _, a := range c.mapper.Plan(kind, topic).Assignments {
		if a.Target != phoneTarget {
			continue
		}
		for _, p := range a.Paths {
			at := slices.IndexFunc(c.lookups, func(l lookupRule) bool { return leadsInto(p, l.into) })
			if at < 0 || len(c.lookups[at].missing) == 0 {
				return nil, true
			}
			lacks = &c.lookups[at]
		}
	}
	return lacks, false
}

// hasPhone reports whether the sender gave one, also one that cannot be read.
func hasPhone(e *messaging.Event) bool {
	return e.Contact.Phone != "" || !strings.HasPrefix(e.Contact.PhoneProblem, mapping.NoneIn) && !strings.HasPrefix(e.Contact.PhoneProblem, mapping.ReadsNone)
}
