package connectors

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// expr parses without linking; nil after a complaint.
func (k *compiler) expr(path, text string) *expr {
	e, err := parseExpr(text)
	if err != nil {
		k.syntax(path, err)
		return nil
	}
	return e
}

// linked parses an expression over items; nil after a complaint.
func (k *compiler) linked(path, text string) *expr {
	e := k.expr(path, text)
	if e != nil {
		k.link(e)
	}
	return e
}

// link gives the expression its slots. What it reads says how a body is cut into events: who reads the item itself takes bare
// values, and who reads a body by places in a list takes the list as one.
func (k *compiler) link(e *expr) {
	e.link(k.item, k.root)
	if e.from == fromItem && len(e.path.names) == 0 {
		k.bare = k.bare || len(e.path.steps) == 0
		k.places = k.places || len(e.path.steps) > 0
	}
}

func (k *compiler) rule(path, text string) *rule {
	r, err := parseRule(text)
	if err != nil {
		k.syntax(path, err)
		return nil
	}
	k.link(r.left)
	return r
}

func (k *compiler) mapper() *mapper {
	d := k.config.Defaults
	m := &mapper{country: strings.ToUpper(d.Country), language: d.Language, zone: d.Timezone, spelling: k.config.Phones, words: compileWords(k.config.OptOut)}
	if m.country == "" {
		m.country = strings.ToUpper(k.options.Country)
	}
	if m.spelling == phones.National && m.country == "" {
		k.warn("phones", "national numbers are of a country, and none is given", "set defaults.country: only events that name a country have a phone")
	}
	if m.language == "" {
		m.language = k.options.Language
	}
	m.location = zone(k.config.Event.TimeZone)
	layers := append(slices.Clone(k.config.before), k.config.layers()...)
	if len(layers) > maxLayers {
		k.add("map_for", fmt.Sprintf("has more than %d entries together with its preset", maxLayers), "join some of them with *")
		return m
	}
	for _, l := range layers {
		m.layers = append(m.layers, mapLayer{pattern: l.pattern, fields: k.assignments(l.path, l.mapping)})
	}
	return m
}

// zone is the time zone of that name; UTC for none, and for one that its rule has rejected.
func zone(name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return location
}

func (k *compiler) assignments(path string, mapping Mapping) []assignment {
	var out []assignment
	for _, entry := range mapping {
		at := path + "." + entry.Key
		i := targetIndex(entry.Key)
		if i < 0 {
			hint := "the targets are those of docs/connectors/own.md: contact.…, cart.…, order.…, deal.…, form.…, message.…"
			if near := nearest.Of(entry.Key, targetNames()); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			k.add(at, fmt.Sprintf("%q is nothing that can be mapped", entry.Key), hint)
			continue
		}
		a := assignment{target: i}
		kind := targets[i].kind
		switch {
		case entry.Value.Each != nil && kind != takesItems && kind != takesAnswers:
			k.add(at, "takes one value, not a list", "write a path; each: is for cart.items, order.items and form.answers")
			continue
		case entry.Value.Each == nil && kind == takesItems:
			k.add(at, "wants each: with the path to the lines", "write {each: line_items, title: title, quantity: quantity, price: price}")
			continue
		case entry.Value.Each != nil:
			a.each = k.eachList(at, entry.Value.Each)
		}
		for j, p := range entry.Value.Paths {
			a.paths = append(a.paths, k.pathRule(fmt.Sprintf("%s[%d]", at, j), at, p, kind)...)
		}
		out = append(out, a)
	}
	return out
}

// pathRule is one or two expressions: a path, a default text, or both.
func (k *compiler) pathRule(path, target string, p PathRule, kind targetKind) []*expr {
	var out []*expr
	if p.Path != "" {
		e := k.linked(path, p.Path)
		if e == nil {
			return nil
		}
		if e.minor() && kind != takesAmount {
			k.add(path, "| minor is for amounts", "use it for cart.total, order.total and deal.amount")
		}
		if p.Country != "" {
			if kind != takesPhone {
				k.add(path+".country", "belongs to a phone", "remove it from "+target)
			}
			e.country = k.linked(path+".country", p.Country)
		}
		e.says = k.saying(path, p, kind)
		if p.When != "" {
			e.when = k.rule(path+".when", p.When)
		}
		out = append(out, e)
	} else if !p.hasDefault && p.Default == "" {
		k.add(path, "is empty", pathHint)
	}
	if p.Default != "" {
		out = append(out, &expr{source: p.Default, from: fromLiteral, name: p.Default, slot: -1})
	}
	return out
}

func (k *compiler) eachList(path string, rule *EachRule) *eachList {
	from := k.linked(path+".each", rule.Each)
	if from == nil {
		return nil
	}
	if from.from != fromItem && from.from != fromRoot {
		k.add(path+".each", "is no path into the body", pathHint)
		return nil
	}
	l := &eachList{from: from, program: k.program()}
	for i, texts := range [len(eachParts)][]string{
		rule.ID, rule.SKU, rule.Title, rule.Quantity, rule.Price, rule.URL, rule.Image, rule.Name, rule.Value,
	} {
		for j, text := range texts {
			e := k.expr(fmt.Sprintf("%s.%s[%d]", path, eachParts[i], j), text)
			if e == nil {
				continue
			}
			e.link(l.program, k.root)
			l.parts[i] = append(l.parts[i], e)
		}
	}
	return l
}
