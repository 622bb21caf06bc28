package connectors

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unsafe"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/signatures"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Where the events of a body are. A body is one event; a list of objects, or one object a line, is one event each; and where items
// says where they lie, all places that the body has count. There each object of a list, and of each line, is a body of its own: several
// in one request are what they would be one after the other. All of a request are stored or none: an item that cannot be an event
// refuses the request, so that its sender hears of it.

// maxItems bounds the events of one request, which are one commit.
const maxItems = 10_000

// events makes an event of every item of the body. The error is a *Rejected.
func (c *Connector) events(r *Request, doc document, out *Received) error {
	v := mapping.Views.Get().(*mapping.View) // the pool holds nothing else
	defer v.Free()
	v.Header, v.RawQuery = r.Header, r.RawQuery
	if c.items == nil { // what is found in the item is what is found from the top
		spare := v.InRoot
		defer func() { v.InRoot = spare }()
	}
	if err := c.look(v, doc.text); err != nil {
		list, lines := listOfLines(doc.text)
		if lines != nil || doc.typ != jsonType {
			return badJSON(err)
		}
		doc.text, doc.bytes = list, signatures.SharedBytes(list)
		if err := c.look(v, list); err != nil {
			return badJSON(err)
		}
	}
	if reason := c.unfit(doc); reason != "" {
		return badBody(reason)
	}
	start := rawjson.SkipSpace(doc.text, 0)
	switch {
	case c.items != nil && doc.text[start] == '[' && slices.ContainsFunc(c.items, func(e *mapping.Expr) bool { return len(e.Path.Names) > 0 }):
		return c.bodies(r, doc.text[start:], v, out)
	case c.items != nil:
		return c.wrapped(r, doc.text[start:], v, out)
	case doc.typ == jsonType && !c.whole && doc.text[start] == '[':
		return c.list(r, doc.text[start:], v, out)
	}
	v.One = true
	payload := doc.bytes
	if doc.typ == jsonType {
		payload = slices.Clip(bytes.TrimSpace(payload))
	}
	return c.event.read(c, v, payload, doc.typ, r, out)
}

// look finds in the body what paths from its top lead to.
func (c *Connector) look(v *mapping.View, text string) error {
	v.Root = text
	if c.items == nil {
		return c.see(v, text)
	}
	v.InRoot = mapping.SpansFor(c.root, v.InRoot)
	return c.root.Run(text, v.InRoot)
}

// see makes text the item that the view sees; of a connector without items it is all that it sees.
func (c *Connector) see(v *mapping.View, text string) error {
	v.Item, v.Typ, v.Kind, v.Event = text, "", "", ""
	v.InItem = mapping.SpansFor(c.item, v.InItem)
	if c.items == nil {
		v.Root, v.InRoot = text, v.InItem
	}
	return c.item.Run(text, v.InItem)
}

// list makes an event of every object of a list.
func (c *Connector) list(r *Request, text string, v *mapping.View, out *Received) error {
	for raw := range rawjson.Elements(text) {
		for _, names := range c.body.jsonIn {
			raw = unwrapped(raw, names)
		}
		if err := c.oneOf(r, raw, v, out); err != nil {
			return err
		}
	}
	return nil
}

// bodies makes events of the items of every body of a list.
func (c *Connector) bodies(r *Request, list string, v *mapping.View, out *Received) error {
	n := 0
	for raw := range rawjson.Elements(list) {
		for _, names := range c.body.jsonIn {
			raw = unwrapped(raw, names)
		}
		switch n++; {
		case n > maxItems:
			return tooMany()
		case raw[0] == '[', raw[0] != '{' && !c.bare:
			return noItem(n, raw)
		}
		if err := c.look(v, raw); err != nil {
			return badJSON(err)
		}
		if err := c.wrapped(r, raw, v, out); err != nil {
			return err
		}
	}
	return nil
}

// wrapped makes an event of every item of a body, which the view has looked at. A body without one is counted, unless it is an event
// itself: then whoever sends it has to hear that it is not read.
func (c *Connector) wrapped(r *Request, text string, v *mapping.View, out *Received) error {
	before := len(out.Events) + len(out.Skipped)
	if err := c.batch(r, v, out); err != nil || len(out.Events)+len(out.Skipped) > before {
		return err
	}
	if c.isEvent(r, text, v) {
		return badBody(fmt.Sprintf(`is an event itself, and has nothing under %s: write items: [%q, "[*]"] to take both; nothing of the request was stored`,
			c.items[0].Source, c.items[0].Source))
	}
	out.Empty++
	return nil
}

// isEvent reports whether a body would be an event with a phone, were it an item.
func (c *Connector) isEvent(r *Request, text string, v *mapping.View) bool {
	if text[0] != '{' || c.see(v, text) != nil {
		return false
	}
	alone, one := *r, Received{}
	alone.readings = nil
	return c.event.read(c, v, []byte(text), jsonType, &alone, &one) == nil && len(one.Events) == 1 && one.Events[0].Contact.Phone != ""
}

// batch makes an event of every item that lies where items says. Two places may lead to the same one.
func (c *Connector) batch(r *Request, v *mapping.View, out *Received) error {
	var met map[*byte]bool
	if len(c.items) > 1 {
		met = map[*byte]bool{}
	}
	for _, e := range c.items {
		if c.around(e, v) {
			continue
		}
		for raw := range e.Every(v) {
			if at := unsafe.StringData(raw); met != nil { //nolint:gosec // audited: compared, and not followed
				if met[at] {
					continue
				}
				met[at] = true
			}
			v.Group = e.Group
			if err := c.oneOf(r, raw, v, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// around reports whether the object under the path's names only holds the items of another path: [*] beside events[*] means a body
// that is a list, and not the object around events.
func (c *Connector) around(e *mapping.Expr, v *mapping.View) bool {
	raw := e.Named(v)
	return raw != "" && raw[0] == '{' && slices.ContainsFunc(c.items, func(other *mapping.Expr) bool {
		return len(other.Path.Names) > len(e.Path.Names) && slices.Equal(other.Path.Names[:len(e.Path.Names)], e.Path.Names) && other.Named(v) != ""
	})
}

// oneOf makes an event of one of several items.
func (c *Connector) oneOf(r *Request, raw string, v *mapping.View, out *Received) error {
	n := len(out.Events) + len(out.Skipped) + 1
	if n > maxItems {
		return tooMany()
	}
	if raw[0] != '{' && !c.bare {
		return noItem(n, raw)
	}
	if err := c.see(v, raw); err != nil {
		return badJSON(err)
	}
	return c.event.read(c, v, []byte(raw), jsonType, r, out)
}

func tooMany() error {
	return reject(http.StatusRequestEntityTooLarge, StageSize, fmt.Sprintf("the body has more than %d items: send them in several requests", maxItems))
}

func noItem(n int, raw string) error {
	return badBody(fmt.Sprintf("has an item that is no event: item %d is %s and not an object; nothing of the request was stored", n, sortOf(raw)))
}

func sortOf(raw string) string {
	switch raw[0] {
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	default:
		return "a number"
	}
}

// listOfLines makes one list of several JSON objects that stand one after the other, as in one object a line. The error is of a text that
// is none.
func listOfLines(text string) (string, error) {
	var b strings.Builder
	b.Grow(len(text) + 2)
	for at := rawjson.SkipSpace(text, 0); at < len(text); at = rawjson.SkipSpace(text, at) {
		end, err := rawjson.SkipValue(text, at)
		if err != nil {
			return "", err
		}
		if text[at] != '{' {
			return "", &rawjson.Fault{At: at, Msg: "a line is an object"}
		}
		between := byte(',')
		if b.Len() == 0 {
			between = '['
		}
		b.WriteByte(between)
		b.WriteString(text[at:end])
		at = end
	}
	b.WriteByte(']')
	return b.String(), nil
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
