package triggers

import (
	"fmt"
	"sort"
	"strings"

	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A ref is an event's connector and kind.
type ref struct{ connector, kind string }

// A pattern is one entry of "on" or "cancel_on": "*" stands for every connector; an open kind is a
// beginning, "" or "order.".
type pattern struct {
	connector string
	kind      string
	open      bool
}

func (p pattern) matches(e ref) bool {
	if p.connector != "*" && p.connector != e.connector {
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

// patterns reads the events of "on" and "cancel_on".
func (b *builder) patterns(key string, texts []string) []pattern {
	var found []pattern
	for i, text := range texts {
		path := fmt.Sprintf("%s[%d]", key, i)
		connector, kind, ok := strings.Cut(text, ".")
		if text == "*" {
			kind, ok = "*", true
		}
		if !ok || connector == "" || kind == "" {
			b.report(path, 0, "write connector.kind, as in shopify.cart.updated", "%q does not name an event", text)
			continue
		}
		p := pattern{connector: connector, kind: kind}
		if rest, ok := strings.CutSuffix(kind, "*"); ok && (rest == "" || strings.HasSuffix(rest, ".")) {
			p.kind, p.open = rest, true
		}
		if strings.Contains(p.kind, "*") || p.connector != "*" && strings.Contains(p.connector, "*") {
			b.report(path, strings.IndexByte(text, '*'), "write *.order.paid, shopify.* or shopify.order.*", "* stands for a whole connector, or for the rest of a kind")
			continue
		}
		if b.exists(path, p) {
			found = append(found, p)
		}
	}
	return found
}

// exists reports what no connector can send.
func (b *builder) exists(path string, p pattern) bool {
	if p.connector == "*" {
		return true // some connector may come to send it
	}
	info, ok := b.env.Connectors[p.connector]
	if !ok {
		var names []string
		for name := range b.env.Connectors {
			names = append(names, name)
		}
		sort.Strings(names)
		hint := "there is none under connectors:"
		if near := nearest.Of(p.connector, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		} else if len(names) > 0 {
			hint = "the connectors are " + strings.Join(names, ", ")
		}
		b.report(path, 0, hint, "there is no connector %q", p.connector)
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
	at := len(p.connector) + 1
	if near := nearest.Of(p.kind, info.Kinds); near != "" {
		b.report(path, at, fmt.Sprintf("did you mean %q?", p.connector+"."+near), "%s never sends %q", p.connector, p.kind)
	} else {
		b.report(path, at, "it sends "+strings.Join(info.Kinds, ", "), "%s never sends %q", p.connector, p.kind)
	}
	return false
}
