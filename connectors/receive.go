package connectors

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Receive takes a request: it answers a handshake, or proves the request and makes events of
// it. The error is always a *Refused. It does not change the request, and keeps parts of its
// body in the events.
func (c *Connector) Receive(r Request) (Received, error) {
	r.URL = c.address(r)
	if int64(len(r.Body)) > c.body.max {
		return Received{}, refuse(http.StatusRequestEntityTooLarge, StageSize,
			fmt.Sprintf("the body has %d bytes, more than %d", len(r.Body), c.body.max))
	}
	for i := range c.handshakes {
		if h := &c.handshakes[i]; h.when.holds(&r) {
			return Received{Reply: h.reply.answer(&r), Handshake: h.name}, nil
		}
	}
	if refused := c.method(&r); refused != nil {
		return Received{}, refused
	}
	if refused := c.verify.address(&r); refused != nil {
		return Received{}, refused
	}
	out := Received{}
	if reason := c.verify.check(&r); reason != "" {
		if !c.verify.monitor {
			return Received{}, refuse(http.StatusUnauthorized, StageVerify, reason)
		}
		out.Unproven = reason
	}
	if refused := c.body.demand(&r); refused != nil {
		return Received{}, refused
	}
	doc, refused := c.body.read(&r)
	if refused != nil {
		return Received{}, refused
	}
	if err := c.events(&r, doc, &out); err != nil {
		return Received{}, err
	}
	out.Reply = c.reply.answer(&r)
	return out, nil
}

// events makes an event of every item of the body. The error is a *Refused.
func (c *Connector) events(r *Request, doc document, out *Received) error {
	v := views.Get().(*view) // the pool holds nothing else
	defer v.free()
	v.root, v.header, v.rawQuery = doc.text, r.Header, r.RawQuery
	v.inItem = spansFor(c.item, v.inItem)
	if c.items == nil {
		v.item = doc.text
		if err := c.item.Run(v.item, v.inItem); err != nil {
			return badJSON(err)
		}
		if reason := c.unfit(doc); reason != "" {
			return badBody(reason)
		}
		spare := v.inRoot
		v.inRoot = v.inItem
		defer func() { v.inRoot = spare }()
		payload := doc.bytes
		if doc.typ == jsonType {
			payload = slices.Clip(bytes.TrimSpace(payload))
		}
		return c.event.read(c, v, payload, doc.typ, r, out)
	}
	v.inRoot = spansFor(c.root, v.inRoot)
	if err := c.root.Run(doc.text, v.inRoot); err != nil {
		return badJSON(err)
	}
	if reason := c.unfit(doc); reason != "" {
		return badBody(reason)
	}
	items := c.batch(v)
	for raw := range items.every(v) {
		v.item, v.typ, v.kind, v.event = raw, "", "", ""
		clear(v.inItem)
		if err := c.item.Run(raw, v.inItem); err != nil {
			return badJSON(err)
		}
		if err := c.event.read(c, v, []byte(raw), jsonType, r, out); err != nil {
			return err
		}
	}
	out.Empty = len(out.Events)+len(out.Skipped) == 0 && !strings.HasPrefix(items.named(v), "[")
	return nil
}

// batch is the first path to items whose beginning the body has: a list without any is a batch
// without items, not a reason to look elsewhere.
func (c *Connector) batch(v *view) *expr {
	for _, e := range c.items {
		if at := v.inRoot[e.slot]; at.To > 0 {
			return e
		}
	}
	return c.items[0]
}

// unfit is why a body that is JSON cannot be an event: a bare text or number has no fields.
func (c *Connector) unfit(doc document) string {
	if doc.typ != jsonType {
		return ""
	}
	switch first := doc.text[rawjson.SkipSpace(doc.text, 0)]; first {
	case '{', '[':
		return ""
	case '"':
		return "is one JSON text without fields"
	default:
		return "is one JSON value without fields"
	}
}

// read makes the event of the item that v sees and payload holds. The error is a *Refused.
func (e *eventRule) read(c *Connector, v *view, payload []byte, typ string, r *Request, out *Received) error {
	topic := ""
	for _, t := range e.types {
		if topic = t.text(v); topic != "" {
			break
		}
	}
	v.typ = topic
	v.kind = e.kindOf(v, topic)
	for i := range c.refusals {
		if no := &c.refusals[i]; (no.topic == "" || matchesPattern(no.topic, topic)) && allHold(no.when, v) {
			return refuse(http.StatusBadRequest, StageMap, "refuse_if: "+no.because)
		}
	}
	for _, s := range c.skips {
		if s.holds(v) {
			out.Skipped = append(out.Skipped, Skip{Topic: topic, Reason: "skip_if: " + s.source})
			return nil
		}
	}
	if out.Events == nil && c.items == nil {
		out.Events = make([]nudgewire.Event, 0, 1)
	}
	out.Events = append(out.Events, nudgewire.Event{
		Connector: c.name, Kind: v.kind, Topic: bounded(topic),
		ReceivedAt: r.Now.UTC(),
		Payload:    payload, ContentType: typ,
	})
	ev := &out.Events[len(out.Events)-1]
	v.unread = &ev.Unread
	for _, t := range e.times {
		text := t.text(v)
		at, ok := parseTime(text, e.unit, e.zone)
		if ok {
			ev.OccurredAt = at
			break
		}
		if text != "" {
			v.unreadable(t.source, text, isNo[takesTime])
		}
	}
	ev.DedupeKey = e.key(v, payload)
	if e.content {
		ev.ContentKey = contentKey(topic, payload)
	}
	if v.origins = r.origins; v.origins != nil {
		*v.origins = append(*v.origins, nil)
	}
	c.mapper.fill(ev, v)
	return nil
}

func allHold(rules []*rule, v *view) bool {
	return !slices.ContainsFunc(rules, func(r *rule) bool { return !r.holds(v) })
}

// kindOf translates the sender's word: by the rules, the aliases, or cleaned as it is.
func (e *eventRule) kindOf(v *view, topic string) string {
	for i := range e.kinds {
		if allHold(e.kinds[i].when, v) {
			return e.kinds[i].kind
		}
	}
	if kind, ok := e.aliases[topic]; ok {
		return kind
	}
	switch {
	case e.kind != "":
		return e.kind
	case topic == "":
		return unknownKind
	}
	return cleanKind(topic)
}

// longestKey is the longest dedupe key that is stored as it is; longer ones are hashed.
const longestKey = 120

// key is what tells the event from others of the connector. It is never empty.
func (e *eventRule) key(v *view, payload []byte) string {
	v.event = e.id(v, payload)
	if len(e.dedupe) == 0 {
		return boundedKey(v.event)
	}
	parts := make([]string, 0, len(e.dedupe)+1)
	missing, told := false, false
	for _, p := range e.dedupe {
		text := p.text(v)
		missing, told = missing || text == "", told || p.tells
		parts = append(parts, text)
	}
	if missing || !told {
		parts = append(parts, hashOf(payload))
	}
	return boundedKey(strings.Join(parts, ":"))
}

// id joins the parts of the id. Where one that is not optional is missing, or none of them is of
// the item itself, what is left could be the same for two events, so the hash of the item joins
// it: a repeated delivery still has the same id, and another event surely has not.
func (e *eventRule) id(v *view, payload []byte) string {
	if len(e.ids) == 1 && !e.ids[0].optional {
		if text, tells := e.ids[0].text(v); tells {
			return text
		}
	}
	parts := make([]string, 0, len(e.ids)+1)
	given, missing, told := false, false, false
	for i := range e.ids {
		text, tells := e.ids[i].text(v)
		told = told || tells
		if text == "" && e.ids[i].optional {
			continue
		}
		given = given || text != ""
		missing = missing || text == ""
		parts = append(parts, text)
	}
	switch {
	case !given:
		return hashOf(payload)
	case missing, !told:
		parts = append(parts, hashOf(payload))
	}
	return strings.Join(parts, ":")
}

// longestTopic is how much of a sender's own word is kept, in bytes.
const longestTopic = 200

func bounded(topic string) string {
	if len(topic) <= longestTopic {
		return topic
	}
	return strings.ToValidUTF8(topic[:longestTopic], "")
}

func boundedKey(key string) string {
	if len(key) <= longestKey {
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

func hashOf(payload []byte) string {
	sum := sha256.Sum256(bytes.TrimSpace(payload))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// Name is the entry's name under connectors:.
func (c *Connector) Name() string { return c.name }

// Title is the sender's name for people; the connector's own where nothing says it.
func (c *Connector) Title() string {
	if c.config.Title != "" {
		return c.config.Title
	}
	return c.name
}

// Setup is what to do at the sender, for people.
func (c *Connector) Setup() string { return strings.TrimSpace(c.config.Setup) }

// Docs is a link to the sender's page about its webhooks.
func (c *Connector) Docs() string { return c.config.Docs }

// Proof says in words what proves requests.
func (c *Connector) Proof() string { return c.config.Verify.words() }

// Sender is what is known about how the sender waits and repeats.
func (c *Connector) Sender() Sender { return c.config.Sender }

// Verified says what was proven about the connector's description and what was not, for people.
func (c *Connector) Verified() string { return strings.TrimSpace(c.config.Verified) }

// HeedsOptOuts reports whether what its sender says of contacts who want no messages is carried out.
func (c *Connector) HeedsOptOuts() bool { return c.config.OptOut != "ignore" }

// SilentAfter is how long the sender may be silent before somebody should look; 0 for ever.
func (c *Connector) SilentAfter() time.Duration { return c.config.SilentAfter.D() }

// Preset is the preset that the connector starts from; "" for none.
func (c *Connector) Preset() string { return c.config.Preset }

// Warnings are what Compile found unwise.
func (c *Connector) Warnings() []string { return slices.Clone(c.warnings) }

// Kinds are the kinds of event the connector is known to make. Others may come.
func (c *Connector) Kinds() []string { return kindsOf(&c.config) }

// Open reports whether any kind may come, because somebody chooses the shape of the requests.
func (c *Connector) Open() bool { return c.config.Open }

// Methods are the HTTP methods by which events come. Handshakes may come by others.
func (c *Connector) Methods() []string { return slices.Clone(c.methods) }

// MaxBody is the longest body that is taken, in bytes.
func (c *Connector) MaxBody() int64 { return c.body.max }

// DedupeWindow is how long an event's DedupeKey is to be remembered.
func (c *Connector) DedupeWindow() time.Duration { return c.window }

// TakesPath reports whether the connector's URL has one more part: its token.
func (c *Connector) TakesPath() bool { return c.verify.traits().path }
