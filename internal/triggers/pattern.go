package triggers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A ref is an event's connector and kind.
type ref struct{ connector, kind string }

// An EventIf is what ends something: the name of an event, or a name and a condition that the event has to meet, as in
// *.message.received if message.text matches "(?i)^no".
type EventIf string

// Parts are the name and the condition; "" for none.
func (e EventIf) Parts() (event, condition string) {
	event, condition, _ = strings.Cut(string(e), " if ")
	return strings.TrimSpace(event), strings.TrimSpace(condition)
}

// Events are the names alone.
func Events(all []EventIf) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i], _ = all[i].Parts()
	}
	return out
}

// Texts are the entries as they are written.
func Texts(all []EventIf) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = string(all[i])
	}
	return out
}

// A pattern is one entry of "on", "cancel_on" or "stop_on": "*" stands for every connector; an open kind is a
// beginning, "" or "order.".
type pattern struct {
	connector string
	kind      string
	open      bool
	condition *expressions.Condition // nil for none, and always of "on"
}

func (p pattern) matches(e ref) bool {
	if p.connector != "*" && p.connector != e.connector || strings.HasPrefix(e.kind, messaging.TestKinds) {
		return false
	}
	if p.open {
		return strings.HasPrefix(e.kind, p.kind)
	}
	return p.kind == e.kind
}

func matchesAny(patterns []pattern, e ref) bool {
	for _, p := range patterns {
		if p.matches(e) {
			return true
		}
	}
	return false
}

// endings reads the events of "cancel_on" and "stop_on", with their conditions.
func (b *builder) endings(key string, all []EventIf) (found []pattern) {
	for i, one := range all {
		path := fmt.Sprintf("%s[%d]", key, i)
		event, text := one.Parts()
		p, ok := b.pattern(path, event)
		if text != "" {
			var faults []expressions.Fault
			p.condition, faults = expressions.CompileCondition(text)
			for at := range faults {
				faults[at].Offset += strings.Index(string(one), text)
			}
			b.faults(path, faults)
		}
		if ok {
			found = append(found, p)
		}
	}
	return found
}

// patterns reads the events of "on".
func (b *builder) patterns(key string, texts []string) (found []pattern) {
	for i, text := range texts {
		path := fmt.Sprintf("%s[%d]", key, i)
		if event, condition := EventIf(text).Parts(); condition != "" {
			b.report(path, strings.Index(text, " if "), "write it under if, where each condition of the rule stands", "%s takes the name of an event alone, and has a condition after %s", key, event)
			continue
		}
		if p, ok := b.pattern(path, text); ok {
			found = append(found, p)
		}
	}
	return found
}

// pattern reads the name of an event.
func (b *builder) pattern(path, text string) (p pattern, ok bool) {
	connector, kind, ok := strings.Cut(text, ".")
	if text == "*" {
		kind, ok = "*", true
	}
	if strings.ContainsAny(text, ",;") {
		parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
		b.report(path, 0, fmt.Sprintf("write a list: [%s]", strings.Join(parts, ", ")), "%q names several events in one text", text)
		return p, false
	}
	if !ok || connector == "" || kind == "" {
		b.report(path, 0, "write connector.kind, as in shopify.cart.updated", "%q does not name an event", text)
		return p, false
	}
	p = pattern{connector: connector, kind: kind}
	if rest, ok := strings.CutSuffix(kind, "*"); ok && (rest == "" || strings.HasSuffix(rest, ".")) {
		p.kind, p.open = rest, true
	}
	if strings.Contains(p.kind, "*") || p.connector != "*" && strings.Contains(p.connector, "*") {
		b.report(path, strings.IndexByte(text, '*'), "write *.order.paid, shopify.* or shopify.order.*", "* stands for a whole connector, or for the rest of a kind")
		return p, false
	}
	return p, b.exists(path, p)
}

// exists reports connectors that are not there and words that theirs gives another name: no event is called so. It warns of kinds
// that the connector is not known to send, which it may do all the same, under a word that nobody translated.
func (b *builder) exists(path string, p pattern) bool {
	if p.connector == "*" {
		return true // some connector may come to send it
	}
	info, ok := b.env.Connectors[p.connector]
	if !ok {
		b.report(path, 0, b.insteadOf(p), "there is no connector %q", p.connector)
		return false
	}
	if kind := info.kindOf(p); kind != "" {
		b.report(path, len(p.connector)+1, fmt.Sprintf("write %q", p.connector+"."+kind), "%s calls it %s, and an event of it is called %s here", p.connector, p.kind, kind)
		return false
	}
	if len(info.Kinds) == 0 {
		return true
	}
	for _, k := range info.Kinds {
		if p.matches(ref{p.connector, k}) {
			return true
		}
	}
	kind, hint := p.kind, fmt.Sprintf("if it does, add kinds: [%s] to connectors.%s, or event: {aliases: {…}} to give its word another name", p.kind, p.connector)
	if p.open {
		kind, hint = p.kind+"*", "it is known to send "+strings.Join(info.Kinds, ", ")
	}
	near := ""
	if info.Meant != nil && !p.open {
		near = info.Meant(p.kind)
	}
	if near = cmp.Or(near, nearest.Of(p.kind, info.Kinds)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", p.connector+"."+near)
	}
	b.report(path, len(p.connector)+1, hint, "%s is not known to send %s", p.connector, kind)
	b.problems[len(b.problems)-1].Warning = true
	return true
}

// kindOf is the kind that a word of the sender's stands for, "" where it is none.
func (c *ConnectorInfo) kindOf(p pattern) string {
	if p.open {
		return ""
	}
	for _, topic := range slices.Sorted(maps.Keys(c.Topics)) {
		if strings.EqualFold(topic, p.kind) {
			return c.Topics[topic]
		}
	}
	return ""
}

// insteadOf is the advice for an event of a connector that is not there: a near name, or the
// connector that was left out of order.created.
func (b *builder) insteadOf(p pattern) string {
	names := slices.Sorted(maps.Keys(b.env.Connectors))
	if near := nearest.Of(p.connector, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	whole := pattern{kind: p.connector + "." + p.kind, open: p.open}
	for _, name := range names {
		for _, k := range b.env.Connectors[name].Kinds {
			if whole.connector = name; whole.matches(ref{name, k}) {
				text := name + "." + whole.kind
				if whole.open {
					text += "*"
				}
				return fmt.Sprintf("did you mean %q?", text)
			}
		}
	}
	if len(names) == 0 {
		return "there is none under connectors:"
	}
	return "the connectors are " + strings.Join(names, ", ")
}
