package store

import (
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// What is stored of every event is written here by hand, as the JSON that encoding/json reads
// back: through reflection it cost a tenth of all the processor's time of a webhook. The
// reading side, which is seldom, stays with encoding/json and its forms (row_pack.go), and a test
// sends every field of every noun through both.

// An object is a JSON object in the making. Members that are empty are left out.
type object struct {
	b     []byte
	begun bool
}

func (o *object) key(name string) {
	if o.begun {
		o.b = append(o.b, ',', '"')
	} else {
		o.b, o.begun = append(o.b, '{', '"'), true
	}
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.key(name)
		o.b = rawjson.AppendString(o.b, value)
	}
}

func (o *object) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.key(name)
	for i, v := range values {
		o.b = rawjson.AppendString(append(o.b, "[,"[min(i, 1)]), v)
	}
	o.b = append(o.b, ']')
}

func (o *object) number(name string, value int) {
	if value != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, int64(value), 10)
	}
}

func (o *object) yes(name string, value bool) {
	if value {
		o.key(name)
		o.b = append(o.b, "true"...)
	}
}

func (o *object) amount(name string, value nudgewire.Amount) {
	if value.Reported() {
		o.text(name, value.String())
	}
}

func (o *object) time(name string, value time.Time) {
	if !value.IsZero() {
		o.key(name)
		o.b = value.AppendFormat(append(o.b, '"'), time.RFC3339Nano)
		o.b = append(o.b, '"')
	}
}

// member appends what fill makes; nothing when it makes nothing.
func (o *object) member(name string, fill func(*object)) {
	before, begun := len(o.b), o.begun
	o.key(name)
	inner := object{b: o.b}
	if fill(&inner); inner.begun {
		o.b = inner.end()
		return
	}
	o.b, o.begun = inner.b[:before], begun
}

// end closes the object and gives its bytes; nothing for an empty one.
func (o *object) end() []byte {
	if o.begun {
		o.b = append(o.b, '}')
	}
	return o.b
}

// whole is end, and {} for an empty one.
func (o *object) whole() []byte {
	if !o.begun {
		o.b = append(o.b, '{')
	}
	o.b = append(o.b, '}')
	return o.b
}

// appendFacts appends the typed part of e; nothing when nothing was told.
func appendFacts(b []byte, e *nudgewire.Event) []byte {
	o := object{b: b}
	o.member("contact", func(o *object) { contactFacts(o, &e.Contact) })
	o.member("cart", func(o *object) {
		c := &e.Cart
		o.text("id", c.ID)
		o.text("url", c.URL)
		o.amount("total", c.Total)
		o.text("currency", c.Currency)
		itemFacts(o, c.Items)
		o.time("expires_at", c.ExpiresAt)
		o.texts("other_ids", c.OtherIDs)
		o.texts("empty", c.Empty)
	})
	o.member("order", func(o *object) {
		r := &e.Order
		o.text("id", r.ID)
		o.text("name", r.Name)
		o.number("number", r.Number)
		o.text("status", r.Status)
		o.text("url", r.URL)
		o.amount("total", r.Total)
		o.text("currency", r.Currency)
		itemFacts(o, r.Items)
		o.texts("empty", r.Empty)
	})
	o.member("deal", func(o *object) {
		d := &e.Deal
		o.text("id", d.ID)
		o.text("name", d.Name)
		o.text("stage", d.Stage)
		o.amount("amount", d.Amount)
		o.text("currency", d.Currency)
		o.text("owner", d.Owner)
		o.texts("empty", d.Empty)
	})
	o.member("form", func(o *object) {
		f := &e.Form
		o.text("id", f.ID)
		o.text("name", f.Name)
		o.text("url", f.URL)
		if len(f.Answers) > 0 {
			o.key("answers")
			sep := byte('{')
			for question, answer := range f.Answers {
				o.b = rawjson.AppendString(append(o.b, sep), question)
				o.b = rawjson.AppendString(append(o.b, ':'), answer)
				sep = ','
			}
			o.b = append(o.b, '}')
		}
		o.texts("empty", f.Empty)
	})
	o.yes("history", e.History)
	if m := &e.Message; m.Text != "" || m.Button != "" || m.Says != "" || len(m.Empty) > 0 {
		o.member("message", func(o *object) {
			o.text("text", m.Text)
			o.text("button", m.Button)
			o.text("says", m.Says)
			o.texts("empty", m.Empty)
		})
	}
	o.yes("forgotten", e.Forgotten)
	o.yes("cleared", e.Cleared)
	o.text("request", e.Request)
	o.texts("unreadable", e.Unreadable)
	return o.end()
}

// contactFacts leaves out the phone, which is a column of the event.
func contactFacts(o *object, c *nudgewire.Contact) {
	o.text("sent_as", c.SentAs)
	o.text("id", c.ID)
	o.text("name", c.Name)
	o.text("first_name", c.FirstName)
	o.text("last_name", c.LastName)
	o.text("email", c.Email)
	o.text("language", c.Language)
	o.text("country", c.Country)
	o.text("timezone", c.Timezone)
	o.texts("tags", c.Tags)
	o.yes("accepts_marketing", c.AcceptsMarketing)
	o.yes("consent_known", c.Consent)
	o.yes("accepts_email", c.AcceptsEmail)
	o.yes("email_consent_known", c.EmailConsent)
	o.texts("empty", c.Empty)
}

func itemFacts(o *object, items []nudgewire.Item) {
	if len(items) == 0 {
		return
	}
	o.key("items")
	for i := range items {
		it := &items[i]
		one := object{b: append(o.b, "[,"[min(i, 1)])}
		one.text("id", it.ID)
		one.text("sku", it.SKU)
		one.text("title", it.Title)
		one.number("quantity", it.Quantity)
		one.amount("price", it.Price)
		one.text("url", it.URL)
		one.text("image", it.Image)
		one.texts("empty", it.Empty)
		o.b = one.whole()
	}
	o.b = append(o.b, ']')
}

// appendClauses appends what each clause said; nothing for none.
func appendClauses(b []byte, clauses []nudgewire.Clause) []byte {
	if len(clauses) == 0 {
		return b
	}
	for i := range clauses {
		c := &clauses[i]
		o := object{b: append(b, "[,"[min(i, 1)])}
		o.key("text")
		o.b = rawjson.AppendString(o.b, c.Text)
		o.yes("held", c.Held)
		if len(c.Values) > 0 {
			o.key("values")
			for j, v := range c.Values {
				one := object{b: append(o.b, "[,"[min(j, 1)])}
				one.key("name")
				one.b = rawjson.AppendString(one.b, v.Name)
				one.text("value", v.Value)
				o.b = one.end()
			}
			o.b = append(o.b, ']')
		}
		o.text("error", c.Error)
		b = o.end()
	}
	return append(b, ']')
}

// appendDecision appends one more decision to what is said about an event: the text of a JSON array,
// which closeDecisions closes. clauses is what appendClauses made of its own.
func appendDecision(b []byte, d *nudgewire.Decision, clauses []byte) []byte {
	o := object{b: append(b, "[,"[min(len(b), 1)])}
	o.key("trigger")
	o.b = rawjson.AppendString(o.b, d.Trigger)
	o.text("outcome", string(d.Outcome))
	o.text("reason", d.Reason)
	if len(clauses) > 0 {
		o.key("clauses")
		o.b = append(o.b, clauses...)
	}
	o.text("key", d.Key)
	o.number("dispatch", int(d.DispatchID))
	if len(d.Later) > 0 {
		o.key("later")
		for i, id := range d.Later {
			o.b = strconv.AppendInt(append(o.b, "[,"[min(i, 1)]), int64(id), 10)
		}
		o.b = append(o.b, ']')
	}
	o.text("config", d.Config)
	o.number("at", int(micro(d.At)))
	return o.end()
}

func closeDecisions(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return append(b, ']')
}

// appendSend appends what is to be sent.
func appendSend(b []byte, s *nudgewire.Send) []byte {
	o := object{b: b}
	o.text("template", s.Template)
	o.text("language", s.Language)
	o.texts("variables", s.Variables)
	if h := s.Header; h != nil {
		o.key("header")
		one := object{b: o.b}
		one.key("type")
		one.b = rawjson.AppendString(one.b, h.Type)
		one.text("url", h.URL)
		one.text("filename", h.Filename)
		o.b = one.end()
	}
	o.text("campaign", s.Campaign)
	o.text("text", s.Text)
	o.yes("forget", s.Forget)
	return o.whole()
}

// apart stands before an encoded send that is to be forgotten. A row of more than a page lies with all
// but its beginning on pages of its own, which SQLite overwrites when they are free
// (secure_delete). Inside of a page of many rows, copies would stay behind where rows are moved.
var apart = strings.Repeat(" ", 4<<10)

// endedSend is what takes the place of an encoded send to be forgotten once the dispatch has ended.
func endedSend(s *nudgewire.Send) string {
	ended := s.Ended()
	return string(appendSend(nil, &ended))
}

// forgets reports whether an encoded send says Forget, which appendSend writes last.
func forgets(send string) bool { return strings.HasSuffix(send, `"forget":true}`) }

// templateMark is the piece of an encoded send that names its template.
func templateMark(name string) string { return contentMark(nudgewire.Send{Template: name}) }

// contentMark is what the encoded send of every message contains that asks for the same template, or the same campaign, or
// for a text.
func contentMark(s nudgewire.Send) string {
	kind, name := s.Content()
	mark := []byte(`"` + kind + `":`)
	if name == "" {
		return string(mark)
	}
	return string(rawjson.AppendString(mark, name))
}
