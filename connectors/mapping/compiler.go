package mapping

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A Compiler makes expressions, conditions and mappers of what a config writes. All that it makes for one connector reads items and
// bodies by the same two programs.
type Compiler struct {
	*problems.Complaints
	Item   *rawjson.Program
	Root   *rawjson.Program
	Loose  bool // names of fields are read without regard to case
	Bare   bool // something reads the item itself
	Places bool // something reads the item by places in a list
}

// NewProgram finds fields in bodies as the entry says that they are named.
func (k *Compiler) NewProgram() *rawjson.Program {
	p := rawjson.NewProgram()
	p.Loose = k.Loose
	return p
}

// Expr parses without linking; nil after a complaint.
func (k *Compiler) Expr(path, text string) *Expr {
	e, err := ParseExpr(text)
	if err != nil {
		k.Syntax(path, err)
		return nil
	}
	return e
}

// Linked parses an expression over items; nil after a complaint.
func (k *Compiler) Linked(path, text string) *Expr {
	e := k.Expr(path, text)
	if e != nil {
		k.Link(e)
	}
	return e
}

// Link gives the expression its slots. What it reads says how a body is cut into events: who reads the item itself takes bare
// values, and who reads a body by places in a list takes the list as one.
func (k *Compiler) Link(e *Expr) {
	e.Link(k.Item, k.Root)
	if e.From == FromItem && len(e.Path.Names) == 0 {
		k.Bare = k.Bare || len(e.Path.Steps) == 0
		k.Places = k.Places || len(e.Path.Steps) > 0
	}
}

func (k *Compiler) Rule(path, text string) *Rule {
	r, err := ParseRule(text)
	if err != nil {
		k.Syntax(path, err)
		return nil
	}
	k.Link(r.Left)
	return r
}

// MapperRules are what a mapper goes by beside its layers: the defaults of contacts, how their phones are spelled, and what their answers mean.
type MapperRules struct {
	Country, Language, Zone string
	Spelling                phones.Spelling
	Answer                  func(*messaging.Event) string // what a person says by it: stop, start, help or nothing
	TimeZone                string                        // of times without one
}

func (k *Compiler) Mapper(r MapperRules, layers []Layer) *Mapper {
	m := &Mapper{Country: r.Country, Language: r.Language, Zone: r.Zone, spelling: r.Spelling, answer: r.Answer, Location: zone(r.TimeZone)}
	if m.spelling == phones.National && m.Country == "" {
		k.Warn("phones", "national numbers are of a country, and none is given", "set defaults.country: only events that name a country have a phone")
	}
	if len(layers) > maxLayers {
		k.Add("map_for", fmt.Sprintf("has more than %d entries together with its preset", maxLayers), "join some of them with *")
		return m
	}
	for _, l := range layers {
		m.Layers = append(m.Layers, mapLayer{Pattern: l.Pattern, Fields: k.assignments(l.Path, l.Mapping)})
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

func (k *Compiler) assignments(path string, mapping Mapping) []assignment {
	var out []assignment
	for _, entry := range mapping {
		at := path + "." + entry.Key
		i := TargetIndex(entry.Key)
		if i < 0 {
			hint := "the targets are those of docs/connectors/own.md: contact.…, cart.…, order.…, deal.…, form.…, message.…"
			if near := nearest.Of(entry.Key, targetNames()); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			k.Add(at, fmt.Sprintf("%q is nothing that can be mapped", entry.Key), hint)
			continue
		}
		a := assignment{Target: i}
		kind := Targets[i].Kind
		switch {
		case entry.Value.Each != nil && kind != takesItems && kind != TakesAnswers:
			k.Add(at, "takes one value, not a list", "write a path; each: is for cart.items, order.items and form.answers")
			continue
		case entry.Value.Each == nil && kind == takesItems:
			k.Add(at, "wants each: with the path to the lines", "write {each: line_items, title: title, quantity: quantity, price: price}")
			continue
		case entry.Value.Each != nil:
			a.Each = k.eachList(at, entry.Value.Each)
		}
		for j, p := range entry.Value.Paths {
			a.Paths = append(a.Paths, k.PathRule(fmt.Sprintf("%s[%d]", at, j), at, p, kind)...)
		}
		out = append(out, a)
	}
	return out
}

// PathRule is one or two expressions: a path, a default text, or both.
func (k *Compiler) PathRule(path, target string, p PathRule, kind targetKind) []*Expr {
	var out []*Expr
	if p.Path != "" {
		e := k.Linked(path, p.Path)
		if e == nil {
			return nil
		}
		if e.minor() && kind != takesAmount {
			k.Add(path, "| minor is for amounts", "use it for cart.total, order.total and deal.amount")
		}
		if p.Country != "" {
			if kind != TakesPhone {
				k.Add(path+".country", "belongs to a phone", "remove it from "+target)
			}
			e.Country = k.Linked(path+".country", p.Country)
		}
		e.says = k.saying(path, p, kind)
		if p.When != "" {
			e.When = k.Rule(path+".when", p.When)
		}
		out = append(out, e)
	} else if !p.hasDefault && p.Default == "" {
		k.Add(path, "is empty", PathHint)
	}
	if p.Default != "" {
		out = append(out, &Expr{Source: p.Default, From: fromLiteral, Name: p.Default, slot: -1})
	}
	return out
}

func (k *Compiler) eachList(path string, rule *EachRule) *eachList {
	from := k.Linked(path+".each", rule.Each)
	if from == nil {
		return nil
	}
	if from.From != FromItem && from.From != FromRoot {
		k.Add(path+".each", "is no path into the body", PathHint)
		return nil
	}
	l := &eachList{From: from, program: k.NewProgram()}
	for i, texts := range [len(eachParts)][]string{
		rule.ID, rule.SKU, rule.Title, rule.Quantity, rule.Price, rule.URL, rule.Image, rule.Name, rule.Value,
	} {
		for j, text := range texts {
			e := k.Expr(fmt.Sprintf("%s.%s[%d]", path, eachParts[i], j), text)
			if e == nil {
				continue
			}
			e.Link(l.program, k.Root)
			l.parts[i] = append(l.parts[i], e)
		}
	}
	return l
}
