package connectors

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A RequireRule says what an item must have to be what it is called. All that is set must be so.
type RequireRule struct {
	Topics  []string `yaml:"topics" validate:"required" doc:"The sender's words that it is about; * matches any characters." example:"[orders/create, orders/paid]"`
	Is      string   `yaml:"is" validate:"required" doc:"What such an item is, for people." example:"an order"`
	Has     []string `yaml:"has" doc:"Paths of fields that are all there, with or without a value." example:"[customer.id, orders_to_redact]"`
	Any     []string `yaml:"any" doc:"Paths of fields one of which is there, with or without a value." example:"[order_number, checkout_token]"`
	Without []string `yaml:"without" doc:"Paths of fields none of which is there." example:"[abandoned_checkout_url]"`
	Only    []string `yaml:"only" doc:"Paths of all fields that may be there; no other is." example:"[shop_id, shop_domain]"`
	When    []string `yaml:"when" doc:"Conditions that all hold." example:"cancelled_at != null"`
}

// A requirement is a compiled RequireRule.
type requirement struct {
	topics            []string
	is                string
	has, any, without []*mapping.Expr
	only              fields
	when              []*mapping.Rule
}

// fields are the names that an object may have, each with those of the object below it; nil for anything.
type fields map[string]fields

func (f fields) add(names []string) {
	if len(names) == 0 {
		return
	}
	below, there := f[names[0]]
	if below == nil && (len(names) > 1 || !there) {
		below = fields{}
	}
	below.add(names[1:])
	f[names[0]] = below
}

// strange is the path of the first field of raw that is none of f; "" where there is none.
func (f fields) strange(raw string) string {
	if len(f) == 0 {
		return ""
	}
	for name, value := range rawjson.Members(raw) {
		below, known := f[name]
		if !known {
			return name
		}
		if deep := below.strange(value); deep != "" {
			return name + "." + deep
		}
	}
	return ""
}

func (k *compiler) requirement(path string, rule *RequireRule) requirement {
	out := requirement{topics: rule.Topics, is: rule.Is}
	if len(rule.Has)+len(rule.Any)+len(rule.Without)+len(rule.Only)+len(rule.When) == 0 {
		k.Add(path, "asks nothing of the body", "write has, any, without, only or when")
	}
	paths := func(key string, texts []string) (all []*mapping.Expr) {
		for i, text := range texts {
			at := fmt.Sprintf("%s.%s[%d]", path, key, i)
			switch e := k.Linked(at, text); {
			case e == nil:
			case e.From != mapping.FromItem:
				k.Add(at, "is no path into the body", "write the path of a field, such as customer.id")
			default:
				all = append(all, e)
			}
		}
		return all
	}
	out.has, out.any, out.without = paths("has", rule.Has), paths("any", rule.Any), paths("without", rule.Without)
	for _, e := range paths("only", rule.Only) {
		if out.only == nil {
			out.only = fields{}
		}
		out.only.add(e.Path.Names)
	}
	for i, text := range rule.When {
		at := fmt.Sprintf("%s.when[%d]", path, i)
		r := k.Rule(at, text)
		if r != nil && r.Left.From != mapping.FromItem && r.Left.From != mapping.FromRoot {
			k.Add(at, "asks what is not in the body", "compare a field of the body")
		}
		out.when = append(out.when, r)
	}
	return out
}

func (q *requirement) about(topic string) bool {
	return slices.ContainsFunc(q.topics, func(p string) bool { return mapping.MatchesPattern(p, topic) })
}

// lacks is what the item has not, or has and must not have, to be what the requirement says; "" where it is that.
func (q *requirement) lacks(v *mapping.View) string {
	there := func(e *mapping.Expr) bool { return e.Raw(v) != "" }
	for _, e := range q.has {
		if !there(e) {
			return "the body has no " + e.Source
		}
	}
	if len(q.any) > 0 && !slices.ContainsFunc(q.any, there) {
		names := make([]string, len(q.any))
		for i, e := range q.any {
			names[i] = e.Source
		}
		return "the body has none of " + strings.Join(names, ", ")
	}
	for _, e := range q.without {
		if there(e) {
			return "the body has " + e.Source
		}
	}
	if q.only != nil {
		item := v.Item[rawjson.SkipSpace(v.Item, 0):]
		if !strings.HasPrefix(item, "{") {
			return "the body is no object"
		}
		if name := q.only.strange(item); name != "" {
			return "the body has " + problems.Short(name)
		}
	}
	for _, r := range q.when {
		if !r.Holds(v) {
			return r.Source + " does not hold"
		}
	}
	return ""
}

// irreversible reports whether what an event of this kind asks for cannot be undone: to forget, or to lay out what is stored.
func irreversible(kind string) bool {
	return kind == "contact.redacted" || kind == "shop.redacted" || kind == "contact.data_requested"
}

// required holds an item against what its topic must have. A kind whose consequence cannot be undone needs the body's
// own word where the topic is not signed: without a rule about its topic it is refused. The error is a *Rejected.
func (c *Connector) required(v *mapping.View, topic string) error {
	proven := false
	for i := range c.requires {
		q := &c.requires[i]
		if !q.about(topic) {
			continue
		}
		lack := q.lacks(v)
		if c.items == nil && !v.One { // one topic is about one body
			lack = "the body is a list"
		}
		if lack != "" {
			return reject(http.StatusBadRequest, StageMap, fmt.Sprintf("requires: the topic %s says %s, and %s", problems.Short(topic), q.is, lack))
		}
		proven = true
	}
	if c.event.believed != "" && !proven && irreversible(v.Kind) {
		return reject(http.StatusBadRequest, StageMap, fmt.Sprintf(
			"requires: only %s, which is not signed, says that this is %s, and that cannot be undone: requires must say what the body of the topic %s has", c.event.believed, v.Kind, problems.Short(topic)))
	}
	return nil
}

// reserve keeps kinds that are known from words of the sender that are not: where the topic is not signed and bodies are held
// against what their topics must have, nobody goes around that by a topic such as shop.redacted.
func (e *eventRule) reserve(known []string) {
	e.reserved = map[string]bool{}
	for _, kind := range known {
		e.reserved[kind] = true
	}
	for _, one := range canonicalKinds {
		e.reserved[one.Kind] = true
	}
}
