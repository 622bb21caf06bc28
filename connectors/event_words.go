package connectors

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
)

// What people call an event: by the sender's own word for it, by the state that the sender gives a thing (an order is "completed"), or by
// a word that other senders have. None of them is the event's kind here.

// Meant is the kind that somebody means by a word that is no kind of this connector; "" where nobody can say. The sender's own words come
// first, as its topics, aliases and rules have them: Shopify's orders.fulfilled and WooCommerce's order.completed are order.fulfilled.
func (c *Connector) Meant(word string) string {
	word = likened(word)
	if kind, ok := c.kindWords()[unparted(word)]; ok {
		return kind
	}
	family, what, _ := strings.Cut(word, ".")
	if at := strings.LastIndexByte(what, '.'); at >= 0 {
		what = what[at+1:]
	}
	for _, one := range sameFamilies(family) {
		for _, same := range sameWords(what) {
			if kind := one + "." + same; slices.Contains(c.Kinds(), kind) {
				return kind
			}
		}
	}
	return ""
}

// kindWords are the kinds by the sender's words, each as it is and as a thing and its state.
func (c *Connector) kindWords() map[string]string {
	out := map[string]string{}
	put := func(word, kind string) {
		if word = unparted(likened(word)); out[word] == "" && kind != "" {
			out[word] = kind
		}
	}
	for _, a := range c.config.Event.Aliases {
		put(a.Key, a.Value)
	}
	for i := range c.event.kinds {
		k := &c.event.kinds[i]
		family, _, _ := strings.Cut(k.kind, ".")
		families, states := []string{family}, []string{}
		for _, r := range k.when {
			switch about, ok := c.topicOf(r); {
			case ok:
				family, _, _ = strings.Cut(likened(about), ".")
				families = append(families, family)
				if len(k.when) == 1 {
					put(about, k.kind)
				}
			case r.Op == "==" && isState(r.Right):
				states = append(states, r.Right)
			}
		}
		for _, family := range families {
			for _, state := range states {
				put(family+"."+state, k.kind)
			}
		}
	}
	return out
}

// topicOf is the sender's word that a rule asks for.
func (c *Connector) topicOf(r *mapping.Rule) (word string, ok bool) {
	ofType := r.Left.From == mapping.FromEvent && r.Left.Name == "event.type" || slices.ContainsFunc(c.event.types, func(t *mapping.Expr) bool { return t.Source == r.Left.Source })
	return r.Right, ofType && r.Op == "=="
}

// isState reports whether a rule's value is a word for the state of something.
func isState(value string) bool {
	_, number := strconv.ParseFloat(value, 64)
	return number != nil && value != "null" && value != "true" && value != "false" && isKind(likened(value))
}

// likened is a word without what people write differently: signs between its parts, capitals, and things by the dozen.
func likened(word string) string {
	parts := strings.Split(cleanKind(word), ".")
	for i, part := range parts {
		if len(part) > 3 && !strings.HasSuffix(part, "ss") && !strings.HasSuffix(part, "us") {
			parts[i] = strings.TrimSuffix(part, "s")
		}
	}
	return strings.Join(parts, ".")
}

// unparted is a word that is written in one, as a word in capitals alone is.
func unparted(word string) string { return strings.ReplaceAll(word, ".", "") }

// Words of many senders for the things and the changes that the canonical kinds name.
var (
	alikeThings = [][]string{
		{"cart", "checkout", "basket", "quote"},
		{"order", "purchase", "sale", "transaction"},
		{"payment", "invoice", "charge"},
		{"contact", "customer", "lead", "person", "user", "subscriber", "profile", "member"},
		{"deal", "opportunity"},
		{"subscription", "membership", "plan"},
		{"form", "survey"},
		{"booking", "appointment", "meeting", "invitee"},
		{"message", "reply", "sm"},
	}
	alikeChanges = [][]string{
		{"created", "create", "new", "added", "placed", "started", "inserted", "begun", "booked"},
		{"updated", "update", "changed", "modified", "edited", "saved"},
		{"fulfilled", "completed", "complete", "shipped", "dispatched", "delivered", "sent", "closed"},
		{"paid", "captured", "succeeded", "processing", "paid_in_full"},
		{"cancelled", "cancel", "canceled", "voided"},
		{"refunded", "refund"},
		{"failed", "failure", "declined"},
		{"deleted", "delete", "removed", "trashed", "destroyed"},
		{"abandoned", "abandon"},
		{"converted", "recovered"},
		{"expired", "timed_out"},
		{"activated", "activate", "reactivated", "resumed"},
		{"renewed", "renewal"},
		{"paused", "pause"},
		{"subscribed", "opted_in", "opt_in"},
		{"unsubscribed", "opted_out", "opt_out", "stopped"},
		{"won", "closed_won", "closedwon"},
		{"lost", "closed_lost", "closedlost"},
		{"submitted", "submission", "answered", "response"},
		{"received", "inbound"},
		{"rescheduled", "moved"},
	}
)

func sameFamilies(word string) []string { return alike(alikeThings, word) }
func sameWords(word string) []string    { return alike(alikeChanges, word) }

// alike are the words that mean what word does, itself first.
func alike(groups [][]string, word string) []string {
	out := []string{word}
	for _, group := range groups {
		if slices.Contains(group, word) {
			out = appendNew(out, group...)
		}
	}
	return out
}
