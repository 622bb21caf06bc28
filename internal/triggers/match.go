package triggers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Match holds the event against every rule that listens to it. Each leaves at least one proposal,
// in the order of the config: Planned with the message as it would be stored, Cancelling,
// Shadowed, or Skipped with the reason. A rule that both cancels and plans on an event
// cancels first. The event must not change afterwards: the plan has a copy that shares its slices.
func (s *Set) Match(e *messaging.Event, now time.Time) messaging.Plan {
	plan := messaging.Plan{Event: *e}
	listening, ok := s.exact[ref{e.Connector, e.Kind}]
	if !ok { // nobody names it in full: ask the patterns
		listening = s.listeners(ref{e.Connector, e.Kind})
	}
	if len(listening) == 0 {
		return plan
	}
	scope := expressions.NewScope(e, now, s.home)
	defer scope.Free()
	m := matching{set: s, event: e, scope: scope, now: now.UTC(), version: s.version, account: s.sends[e.Connector]}
	plan.Proposals = make([]messaging.Proposal, 0, len(listening))
	for i, l := range listening {
		if s.over != nil && s.over() {
			*s.unasked += len(listening) - i
			break
		}
		if !l.until.IsZero() {
			plan.Proposals = m.cancelEarlier(plan.Proposals, l)
			continue
		}
		plan.Proposals = m.end(plan.Proposals, l)
		if l.plans {
			w := m.plan(l.rule)
			plan.NoPhone = m.noPhone
			plan.Forgets = plan.Forgets || l.forget && allHold(w.Decision.Clauses)
			plan.Proposals = append(plan.Proposals, withUnread(w, e))
		}
	}
	return plan
}

// allHold reports whether all conditions hold. They stop at the first that does not.
func allHold(met []messaging.Clause) bool { return len(met) == 0 || met[len(met)-1].Held }

// A matching is one event on its way through the rules.
type matching struct {
	event   *messaging.Event
	scope   *expressions.Scope
	now     time.Time
	version string
	account string // of the event's connector
	set     *Set
	noPhone bool // a trigger would have sent, if there were one
}

// zones are those of the contact.
func (m *matching) zones() hours.Places {
	return m.set.zones.Places(string(m.event.Contact.Phone), m.event.Contact.Timezone)
}

func (m *matching) proposal(r *rule) messaging.Proposal {
	return messaging.Proposal{
		Decision:    messaging.Decision{Trigger: r.Name, Config: m.version, At: m.now},
		Correlation: messaging.Correlation{Trigger: r.Name, Phone: m.event.Contact.Phone},
		OnRepeat:    r.OnRepeat.OnRepeat,
		Cooldown:    r.Cooldown.Cooldown,
		EventAt:     m.event.Time().UTC(),
	}
}

// withUnread adds to the reason what of the event cannot be read: an amount that is no amount is
// why a condition saw nothing.
func withUnread(w messaging.Proposal, e *messaging.Event) messaging.Proposal {
	if len(e.Unread) == 0 {
		return w
	}
	reasons := e.Unread
	if w.Decision.Reason != "" {
		reasons = append([]string{w.Decision.Reason}, e.Unread...)
	}
	w.Decision.Reason = strings.Join(reasons, "; ")
	return w
}

func skipped(w messaging.Proposal, reason string) messaging.Proposal {
	w.Decision.Outcome, w.Decision.Reason = messaging.Skipped, reason
	return w
}

// plan is what the rule proposes because of the event. The checks come in the order that explains
// most: do the conditions hold, is the event too old, is there a phone, when, what.
func (m *matching) plan(r *rule) messaging.Proposal {
	e, w := m.event, m.proposal(r)
	if len(r.clauses) > 0 {
		w.Decision.Clauses = make([]messaging.Clause, 0, len(r.clauses))
	}
	for _, c := range r.clauses {
		met := c.Evaluate(m.scope)
		w.Decision.Clauses = append(w.Decision.Clauses, met)
		if !met.Held {
			return skipped(w, whyNot(met))
		}
	}
	if e.History {
		return skipped(w, "it was posted as history (connectors."+e.Connector+".history), which sends nothing")
	}
	if r.maxAge > 0 && slices.Contains(e.Unreadable, "event.occurred_at") {
		return skipped(w, "max_age: event.occurred_at cannot be read")
	}
	if age := m.now.Sub(e.Time()); r.maxAge > 0 && age > r.maxAge {
		return skipped(w, fmt.Sprintf("the event is %s old; max_age is %s", units.About(age), units.About(r.maxAge)))
	}
	if r.Keys.Consent == duerules.ConsentRequired && r.category == messaging.Marketing && slices.Contains(e.Unreadable, "contact.accepts_marketing") {
		return skipped(w, "consent: contact.accepts_marketing cannot be read")
	}
	if e.Contact.Phone == "" {
		m.noPhone = true
		return skipped(w, cmp.Or(e.Contact.PhoneProblem, "the event names no phone"))
	}
	key, trouble := m.keyFor(r, familyOf(e.Kind))
	if trouble != "" {
		return skipped(w, trouble)
	}
	w.Correlation.Key, w.Decision.Key = key, key
	w.Others = m.othersFor(r, familyOf(e.Kind), key)
	if w.Cooldown.Mode == "" {
		w.Cooldown = r.usualCooldown(key, e.Kind)
	}
	if len(r.steps) > 0 {
		return m.sequence(r, w)
	}
	due, expires, trouble := r.due(&r.delay, e, m.scope, m.zones, time.Time{}, m.now)
	if trouble != "" {
		return skipped(w, trouble)
	}
	send, trouble := r.send.fill(m.scope)
	if trouble != "" {
		return skipped(w, trouble)
	}
	w.Message, w.Guessed = m.message(r, key, send, due, expires), m.guessed(&r.send)
	w.Decision.Outcome = messaging.Planned
	if r.Mode == Shadow {
		w.Decision.Outcome = messaging.Shadowed
		w.Decision.Reason = fmt.Sprintf("mode: shadow; it would send %s, %s", send.What(), dueWords(due, m.now))
	}
	return w
}

// guessed is what nobody said of the contact and a message goes by: a language that is the rule's own is no guess.
func (m *matching) guessed(s *sending) messaging.Guessed {
	out := m.event.Guessed
	out.Language = out.Language && s.language != nil && !s.language.Constant()
	return out
}

// burstCooldown is how long a phone gets nothing more from a trigger that listens for changes and says no
// cooldown: one edit at the sender makes several events within seconds.
const burstCooldown = time.Hour

// usualCooldown is the cooldown of a trigger that says none. A matter with a key of its own gets its message
// once. By phone the next event is another cart or order, but a change of the same contact is not; a code is
// always another one.
func (r *rule) usualCooldown(key, kind string) messaging.Cooldown {
	switch {
	case key != "":
		return messaging.Cooldown{Mode: messaging.CooldownOnce}
	case r.key == nil && bursts(kind) && r.category != messaging.Authentication:
		return messaging.Cooldown{Mode: messaging.CooldownFor, For: burstCooldown}
	default:
		return messaging.Cooldown{Mode: messaging.CooldownNone}
	}
}

// bursts reports whether a kind is a change of something without an identifier that could be the key.
func bursts(kind string) bool {
	return strings.HasSuffix(kind, ".updated") && !slices.Contains(families, familyOf(kind))
}

func (m *matching) message(r *rule, key string, send messaging.Send, due, expires time.Time) messaging.Message {
	send.Forget = r.forget
	contact := &m.event.Contact
	return messaging.Message{
		Trigger: r.Name, Key: key, Phone: contact.Phone, SentAs: contact.SentAs, Category: r.category, Send: send,
		State: messaging.StateWaiting, DueAt: due, ExpiresAt: expires,
		CreatedAt: m.now, UpdatedAt: m.now, Config: m.version, Zone: contact.Timezone, Account: m.accountOf(r),
	}
}

// accountOf is the account that sends what the rule queues, as rows name it.
func (m *matching) accountOf(r *rule) string {
	if r.Account != "" {
		return messaging.AccountKey(r.Account)
	}
	return m.account
}

// whyNot is a failed clause as the reason to skip.
func whyNot(c messaging.Clause) string {
	if c.Error != "" {
		return "cannot tell whether " + c.Text + ": " + c.Error
	}
	return c.Text + " does not hold" + valueWords(c)
}

// end appends what the rule ends because of the event, or why it does not.
func (m *matching) end(proposals []messaging.Proposal, l listener) []messaging.Proposal {
	if l.cancels {
		if met, meant := m.meant(l.cancelOn); meant {
			proposals = m.cancel(proposals, l, met)
		} else {
			proposals = append(proposals, m.ignored(l, "cancels nothing", met))
		}
	}
	if l.stops {
		if met, meant := m.meant(l.stopOn); meant {
			proposals = append(proposals, m.stop(l, met))
		} else {
			proposals = append(proposals, m.ignored(l, "stops nothing", met))
		}
	}
	return proposals
}

// meant reports whether the event is one that ends something: one of its patterns asks for no condition, or one whose condition holds. met is that
// condition, or all that do not hold. What cannot be told does not hold.
func (m *matching) meant(patterns []pattern) (met []messaging.Clause, meant bool) {
	e := ref{m.event.Connector, m.event.Kind}
	for _, p := range patterns {
		if !p.matches(e) {
			continue
		}
		if p.condition == nil {
			return nil, true
		}
		clause := p.condition.Evaluate(m.scope)
		if clause.Held {
			return []messaging.Clause{clause}, true
		}
		met = append(met, clause)
	}
	return met, false
}

// ignored is the proposal of an event that ends nothing, because none of the conditions holds.
func (m *matching) ignored(l listener, what string, met []messaging.Clause) messaging.Proposal {
	w := m.proposal(l.rule)
	w.Decision.Clauses = met
	return skipped(w, what+": "+whyNot(met[len(met)-1]))
}

// cancel appends what the rule cancels because of the event: one proposal for each key it may have,
// which is one unless "on" names several sorts of event. An event that the rule also plans on is
// not remembered, or it would cancel the message that it queues itself.
func (m *matching) cancel(proposals []messaging.Proposal, l listener, met []messaging.Clause) []messaging.Proposal {
	r, w := l.rule, m.proposal(l.rule)
	w.Decision.Outcome, w.Decision.Clauses = messaging.Cancelling, met
	if !l.both {
		w.Forget = m.now.Add(r.remember)
	}
	families := r.families
	if r.key != nil {
		families = families[:min(1, len(families))]
	}
	before := len(proposals)
	for _, family := range families {
		key, trouble := m.keyFor(r, family)
		if trouble != "" {
			continue
		}
		w.Others = m.othersFor(r, family, key)
		if key == "" && len(w.Others) > 0 {
			key, w.Others = w.Others[0], w.Others[1:]
		}
		if key == "" {
			continue
		}
		w.Correlation.Key, w.Decision.Key = key, key
		proposals = append(proposals, w)
	}
	if len(proposals) > before {
		return proposals
	}
	w.Others = nil
	if w.Correlation.Phone == "" {
		return append(proposals, skipped(w, "cancels nothing: neither key nor phone"))
	}
	return append(proposals, w)
}

// cancelEarlier appends what a rule as it was before an edit cancels, where the rule as it is now does not cancel the same.
func (m *matching) cancelEarlier(proposals []messaging.Proposal, l listener) []messaging.Proposal {
	for _, w := range m.end(nil, l) {
		w.Forget, w.Until = time.Time{}, l.until
		cancelled := slices.ContainsFunc(proposals, func(other messaging.Proposal) bool {
			return other.Decision.Outcome == messaging.Cancelling && other.Correlation == w.Correlation && (other.Until.IsZero() || !other.Until.Before(w.Until))
		})
		if w.Decision.Outcome == messaging.Cancelling && !cancelled {
			proposals = append(proposals, w)
		}
	}
	return proposals
}

// stop is what the rule ends because of the event: everything that waits for the same phone, whatever its
// key, which is what a cancelling event without a key means.
func (m *matching) stop(l listener, met []messaging.Clause) messaging.Proposal {
	w := m.proposal(l.rule)
	w.Decision.Outcome, w.Decision.Clauses = messaging.Cancelling, met
	if w.Correlation.Phone == "" {
		return skipped(w, cmp.Or(m.event.Contact.PhoneProblem, "the event names no phone")+": it stops nothing")
	}
	if !l.both {
		w.Forget = m.now.Add(l.remember)
	}
	return w
}

// maxKey bounds the key, in bytes: the store indexes it, and it may come from a stranger.
const maxKey = 255

// keyFor is the event's correlation key: what the rule's expression gives, or the identifier of the
// family. It is "" where the phone takes its place. Where "on" names several families, the family
// is part of the key, so that order 17 is not cart 17.
func (m *matching) keyFor(r *rule, family string) (key, trouble string) {
	if r.key != nil {
		if key, trouble = r.key.Text(m.scope); trouble != "" {
			return "", "the key: " + trouble
		}
		key = strings.TrimSpace(key)
	} else if key = identifier(m.event, family); key != "" && len(r.families) > 1 {
		key = family + ":" + key
	}
	if len(key) > maxKey {
		return "", fmt.Sprintf("the key is %d bytes long; at most %d are kept", len(key), maxKey)
	}
	if c := &m.event.Contact; key == string(c.Phone) || key == c.SentAs {
		return "", ""
	}
	return key, ""
}

// othersFor are the other identifiers of the event's matter, as keys; none where the rule says itself what its key is.
func (m *matching) othersFor(r *rule, family, key string) (others []string) {
	if r.key != nil || family != "cart" {
		return nil
	}
	for _, id := range m.event.Cart.OtherIDs {
		if len(r.families) > 1 {
			id = family + ":" + id
		}
		if id != key && id != string(m.event.Contact.Phone) && id != m.event.Contact.SentAs && len(id) <= maxKey && !strings.ContainsAny(id, "\r\n") {
			others = append(others, id)
		}
	}
	return others
}

// families are the sorts of thing that have an identifier of their own.
var families = []string{"cart", "order", "deal", "form"}

// familyOf is what a kind is about: the word before its first dot.
func familyOf(kind string) string {
	family, _, _ := strings.Cut(kind, ".")
	return family
}

// familiesOf are those that a rule with these patterns may have keys of, in a fixed order; one, "",
// where there are none.
func familiesOf(on []pattern) []string {
	var found []string
	for _, f := range families {
		for _, p := range on {
			if p.kind == "" && p.open || familyOf(p.kind) == f {
				found = append(found, f)
				break
			}
		}
	}
	if len(found) == 0 {
		return []string{""}
	}
	return found
}

// identifier is the event's own identifier of a family; "" for a family that has none.
func identifier(e *messaging.Event, family string) string {
	switch family {
	case "cart":
		return e.Cart.ID
	case "order":
		return e.Order.ID
	case "deal":
		return e.Deal.ID
	case "form":
		return e.Form.ID
	default:
		return ""
	}
}

// KeyFields are the fields of an event that are the key of a rule, any of which will do: those that its key reads, or the identifiers of what
// its events are about. None is the phone.
func KeyFields(r *Rule) (fields []string) {
	if r.Key != "" {
		if key, faults := expressions.Compile(r.Key); len(faults) == 0 {
			return key.Fields()
		}
		return nil
	}
	for _, family := range familiesOf(written(r.On)) {
		if family != "" {
			fields = append(fields, family+".id")
		}
	}
	return fields
}

// written are entries of on as patterns, whether or not there is such an event.
func written(refs []string) (all []pattern) {
	for _, ref := range refs {
		connector, kind, _ := strings.Cut(ref, ".")
		kind, open := strings.CutSuffix(kind, "*")
		all = append(all, pattern{connector: connector, kind: kind, open: open})
	}
	return all
}

// CancelsByKey reports whether an event has the key by which it would cancel what waits of a rule, and not the phone alone.
func CancelsByKey(r *Rule, e *messaging.Event) bool {
	one := &rule{Rule: *r, families: familiesOf(written(r.On))}
	if r.Key != "" {
		one.key, _ = expressions.Compile(r.Key)
	}
	m := matching{event: e, scope: expressions.NewScope(e, e.ReceivedAt, time.UTC), now: e.ReceivedAt}
	defer m.scope.Free()
	return slices.ContainsFunc(m.cancel(nil, listener{rule: one}, nil), func(w messaging.Proposal) bool { return w.Correlation.Key != "" })
}
