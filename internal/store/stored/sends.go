package stored

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// What a message sends is written here by hand, as the JSON that encoding/json reads back: claims find messages by what is
// written (ContentMark), so its members stand in one order.

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

func (o *object) yes(name string, value bool) {
	if value {
		o.key(name)
		o.b = append(o.b, "true"...)
	}
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

// AppendSend appends what is to be sent.
func AppendSend(b []byte, s *messaging.Send) []byte {
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

// Apart stands before an encoded send that is to be forgotten. A row of more than a page lies with all
// but its beginning on pages of its own, which SQLite overwrites when they are free
// (secure_delete). Inside of a page of many rows, copies would stay behind where rows are moved.
var Apart = strings.Repeat(" ", 4<<10)

// EndedSend is what takes the place of an encoded send to be forgotten once the message has ended.
func EndedSend(s *messaging.Send) string {
	ended := s.Ended()
	return string(AppendSend(nil, &ended))
}

// ForgottenSend is what stays of an encoded send of which nothing that tells of its contact may. Of what nobody can read that is nothing.
func ForgottenSend(send string) string {
	var d messaging.Message
	_ = DecodeSend(&d, send)
	d.Send.Forget = true
	return EndedSend(&d.Send)
}

// forgets reports whether an encoded send says Forget, which AppendSend writes last.
func forgets(send string) bool { return strings.HasSuffix(send, `"forget":true}`) }

// TemplateMark is the piece of an encoded send that names its template.
func TemplateMark(name string) string { return ContentMark(messaging.Send{Template: name}) }

// ContentMark is what the encoded send of every message contains that asks for the same template, or the same campaign, or
// for a text.
func ContentMark(s messaging.Send) string {
	kind, name := s.Content()
	mark := []byte(`"` + kind + `":`)
	if name == "" {
		return string(mark)
	}
	return string(rawjson.AppendString(mark, name))
}

// SendsWhat reads the template, or where there is none the campaign, of what AppendSend made.
func SendsWhat(send string) (template, campaign string) {
	const first = `{"template":"`
	send = strings.TrimLeft(send, " ") // see Apart
	if rest, ok := strings.CutPrefix(send, first); ok {
		if name, _, ok := strings.Cut(rest, `"`); ok && !strings.Contains(name, `\`) {
			return name, ""
		}
	}
	found := gjson.GetMany(send, "template", "campaign")
	return found[0].String(), found[1].String()
}
