package connectors

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// eventRule is a compiled EventRule and Dedupe.
type eventRule struct {
	types   []*mapping.Expr
	kind    string
	kinds   []kindRule
	aliases map[string]string
	likes   []likeAlias // aliases with a * in them, in their order
	ids     []idPart
	times   []*mapping.Expr
	unit    string
	zone    *time.Location
	dedupe  []*mapping.Expr // nil: event.id alone
	token   bool            // the payload may be the claims of a token
	mapped  bool            // what the map reads is part of the key
	backed  bool            // an id comes from what is not signed, so topic and payload make a key, too

	believed string          // the part of a request that the topic comes from, where it is not signed; "" where it is
	partly   bool            // of the body only fields are signed
	provable bool            // and all that an event with a consequence for a person rests on is among them
	reserved map[string]bool // kinds that only a topic which an alias or rule translates may have
}

type kindRule struct {
	when []*mapping.Rule
	kind string
}

type rejectRule struct {
	topic   string // pattern; "" for all
	when    []*mapping.Rule
	because string
}

// An idPart is one part of an id: the first of its expressions that has a value.
type idPart struct {
	exprs    []*mapping.Expr
	optional bool
}

// text is the part's value, and whether it distinguishes the items of one request.
func (p *idPart) text(v *mapping.View) (text string, distinct bool) {
	for _, e := range p.exprs {
		if text := e.Text(v); text != "" {
			return text, e.Distinct
		}
	}
	return "", false
}

// read makes the event of the item that v sees and payload holds. The error is a *Rejected.
func (e *eventRule) read(c *Connector, v *mapping.View, payload []byte, typ string, r *Request, out *Received) error {
	topic := e.topic(v)
	v.Typ = topic
	v.Kind = e.kindOf(v, topic)
	for i := range c.rejects {
		if no := &c.rejects[i]; (no.topic == "" || mapping.MatchesPattern(no.topic, topic)) && allHold(no.when, v) {
			return reject(http.StatusBadRequest, StageMap, "reject_if: "+no.because)
		}
	}
	if err := c.required(v, topic); err != nil {
		return err
	}
	for _, s := range c.skips {
		if s.Holds(v) {
			out.Skipped = append(out.Skipped, Skip{Topic: topic, Reason: "skip_if: " + s.Source})
			return nil
		}
	}
	if out.Events == nil && c.items == nil {
		out.Events = make([]messaging.Event, 0, 1)
	}
	out.Events = append(out.Events, messaging.Event{
		Connector: c.name, Kind: v.Kind, Topic: bounded(topic),
		ReceivedAt: r.Now.UTC(),
		Payload:    payload, ContentType: typ, History: c.config.History.holds(r.Now, c.options.Timezone),
	})
	ev := &out.Events[len(out.Events)-1]
	v.Of = ev
	ev.OccurredAt = e.time(v)
	ev.DedupeKey = e.key(v, payload)
	if e.backed {
		ev.ContentKey = contentKey(topic, e.content(payload))
	}
	if v.Readings = r.readings; v.Readings != nil {
		*v.Readings = append(*v.Readings, mapping.Reading{Fields: []mapping.Origin{}})
	}
	c.mapper.Fill(ev, v)
	if v.Readings != nil {
		one := &(*v.Readings)[len(*v.Readings)-1]
		one.Unmapped, one.More = c.unmapped(v, ev)
	}
	if err := c.proven(r, v, ev); err != nil {
		return err
	}
	if e.mapped {
		ev.DedupeKey = boundedKey(ev.DedupeKey + ":" + whatIsRead(ev))
	}
	return nil
}

// topic is the sender's own word for what happened, by the first of its expressions that has one.
func (e *eventRule) topic(v *mapping.View) string {
	for _, t := range e.types {
		if topic := t.Text(v); topic != "" {
			return topic
		}
	}
	return ""
}

// occurredAt is the field with the time of an event.
const occurredAt = "event.occurred_at"

// time is when the event happened, by the first of its paths that says something; the zero time where that cannot be read.
func (e *eventRule) time(v *mapping.View) time.Time {
	for _, t := range e.times {
		text := t.First(v)
		if text == "" {
			continue
		}
		at, ok := mapping.ParseTime(text, e.unit, e.zone)
		if !ok {
			v.Unreadable(t.Source, text, mapping.IsNo[mapping.TakesTime])
			v.Bar(occurredAt)
		}
		return at
	}
	return time.Time{}
}

func allHold(rules []*mapping.Rule, v *mapping.View) bool {
	return !slices.ContainsFunc(rules, func(r *mapping.Rule) bool { return !r.Holds(v) })
}

// A likeAlias is an alias of all words that fit a pattern.
type likeAlias struct{ pattern, kind string }

// kindOf translates the sender's word: by the rules, the aliases, or cleaned as it is.
func (e *eventRule) kindOf(v *mapping.View, topic string) string {
	for i := range e.kinds {
		if allHold(e.kinds[i].when, v) {
			return e.kinds[i].kind
		}
	}
	if kind, ok := e.aliases[topic]; ok {
		return kind
	}
	for _, a := range e.likes {
		if mapping.MatchesPattern(a.pattern, topic) {
			return a.kind
		}
	}
	switch {
	case e.kind != "":
		return e.kind
	case topic == "":
		return UnknownKind
	}
	kind := cleanKind(topic)
	if e.reserved[kind] {
		return UnknownKind
	}
	return kind
}

// maxKey is the longest dedupe key that is stored as it is; longer ones are hashed.
const maxKey = 120

// key is what distinguishes the event from others of the connector. It is never empty.
func (e *eventRule) key(v *mapping.View, payload []byte) string {
	v.Event = e.id(v, payload)
	if len(e.dedupe) == 0 {
		return boundedKey(v.Event)
	}
	parts := make([]string, 0, len(e.dedupe)+1)
	missing, own := false, false
	for _, p := range e.dedupe {
		text := p.Text(v)
		missing, own = missing || text == "", own || v.One || p.Distinct
		parts = append(parts, text)
	}
	if missing || !own {
		parts = append(parts, hashOf(e.content(payload)))
	}
	return boundedKey(strings.Join(parts, ":"))
}

// id joins the parts of the id. Where one that is not optional is missing, or none of them is of
// the item itself, what is left could be the same for two events, so the hash of the item joins
// it: a repeated delivery still has the same id, and another event surely has not.
func (e *eventRule) id(v *mapping.View, payload []byte) string {
	if len(e.ids) == 1 && !e.ids[0].optional {
		if text, distinct := e.ids[0].text(v); text != "" && (distinct || v.One) {
			return text
		}
	}
	parts := make([]string, 0, len(e.ids)+1)
	given, missing, own := false, false, false
	for i := range e.ids {
		text, distinct := e.ids[i].text(v)
		own = own || distinct || v.One
		if text == "" && e.ids[i].optional {
			continue
		}
		given = given || text != ""
		missing = missing || text == ""
		parts = append(parts, text)
	}
	switch {
	case !given:
		return hashOf(e.content(payload))
	case missing, !own:
		parts = append(parts, hashOf(e.content(payload)))
	}
	return strings.Join(parts, ":")
}

// maxTopic is how much of a sender's own word is kept, in bytes.
const maxTopic = 200

func bounded(topic string) string {
	if len(topic) <= maxTopic {
		return topic
	}
	return strings.ToValidUTF8(topic[:maxTopic], "")
}

func boundedKey(key string) string {
	if len(key) <= maxKey {
		return key
	}
	return hashOf([]byte(key))
}

// contentKey is a short hash of topic and payload.
func contentKey(topic string, payload []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s ", len(topic), topic)
	h.Write(bytes.TrimSpace(payload))
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)[:16])
}

// whatIsRead is a short hash of what an event says, as far as the connector reads it. Where a sender's clock has whole seconds, two saves
// of one second differ in it, and a delivery that is repeated does not: that it is the same to the byte, few senders promise.
func whatIsRead(ev *messaging.Event) string {
	contact := ev.Contact
	contact.PhoneProblem = ""
	text, err := json.Marshal([]any{ev.Kind, contact, ev.Cart, ev.Order, ev.Deal, ev.Form, ev.Message, ev.Unread})
	if err != nil {
		return hashOf(ev.Payload)
	}
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

func hashOf(payload []byte) string {
	sum := sha256.Sum256(bytes.TrimSpace(payload))
	return "sha256-" + hex.EncodeToString(sum[:])
}
