package connectors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unsafe"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/asjson"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A bodyReader is a compiled Body.
type bodyReader struct {
	content string
	accept  []string
	empty   bool // an empty body is an object without fields
	charset asjson.Charset
	form    asjson.Form
	jsonIn  [][]string // names down to fields that hold JSON as text
	max     int64
	token   bool // a verifier takes a JWT that is the whole body
}

// A document is a body as one JSON text, whatever it came as.
type document struct {
	text  string
	bytes []byte // the same, for payloads that are parts of it
	typ   string // content type of the payload
}

// read makes a document of the request's body. Only JSON is not checked yet: mapping checks
// while it looks for fields.
func (b *bodyReader) read(r *Request) (document, *Rejected) {
	if len(bytes.TrimSpace(r.Body)) == 0 {
		if !b.empty {
			return document{}, badBody("is empty")
		}
		return document{text: "{}", bytes: []byte("{}"), typ: jsonType}, nil
	}
	charset, rejected := b.charsetOf(r.Header)
	if rejected != nil {
		return document{}, rejected
	}
	body, marked, err := asjson.Marked(r.Body)
	switch {
	case err != nil:
		return document{}, badBody(err.Error())
	case marked:
		charset = asjson.Charset{}
	case charset.Wide():
		if body, err = charset.Text(body); err != nil {
			return document{}, badBody(err.Error())
		}
		charset, marked = asjson.Charset{}, true
	}
	sort, body := b.sort(r.Header, body)
	if r.claims {
		sort = contentJSON
	}
	if len(b.accept) > 0 && !r.claims && sort != contentText && !slices.Contains(b.accept, sort) && b.content == contentAuto {
		return document{}, reject(http.StatusUnsupportedMediaType, StageContent,
			fmt.Sprintf("the body looks like %s, and this connector takes only %s", sort, strings.Join(b.accept, " and ")))
	}
	form := b.form
	form.Charset = charset
	switch sort {
	case contentForm:
		body, err = form.Encoded(sharedText(body))
	case contentMultipart:
		body, err = form.Multipart(r.Body, boundary(r.Header))
	case contentXML:
		if decoded := marked || charset != (asjson.Charset{}); decoded {
			if body, err = charset.Text(body); err != nil {
				break
			}
			body, err = asjson.XML(body, true)
		} else {
			body, err = asjson.XML(body, false)
		}
	default:
		body, err = charset.Text(body)
	}
	switch {
	case errors.Is(err, asjson.ErrCharset):
		return document{}, reject(http.StatusUnsupportedMediaType, StageContent, "the body "+err.Error())
	case err != nil:
		return document{}, badBody(err.Error())
	case sort != contentText:
		body = rawjson.OneReading(body)
		return b.unwrap(document{text: sharedText(body), bytes: body, typ: jsonType}), nil
	case b.content != contentText:
		return document{}, badBody("is plain text, neither JSON nor a form")
	}
	body = bytes.ReplaceAll(body, []byte{0}, nil)
	return document{text: string(rawjson.AppendString(nil, string(body))), bytes: body, typ: "text/plain; charset=utf-8"}, nil
}

// sharedText is a body as a text. Both are only read, so they share their memory.
func sharedText(body []byte) string {
	return unsafe.String(unsafe.SliceData(body), len(body)) //nolint:gosec // audited: nobody writes to a body
}

const jsonType = "application/json"

func badBody(what string) *Rejected {
	return reject(http.StatusBadRequest, StageBody, "the body "+what)
}

// badJSON says where a body stops being JSON, and nothing of what is there: reasons go to
// logs and traces, and a body holds phone numbers.
func badJSON(err error) *Rejected { return badBody("is not JSON: " + err.Error()) }

// unwrap replaces fields that hold JSON as text by that JSON. A field that is missing, or
// whose text is no JSON, stays as it is: the others may still be of use.
func (b *bodyReader) unwrap(d document) document {
	text := d.text
	for _, names := range b.jsonIn {
		text = unwrapped(text, names)
	}
	if len(text) != len(d.text) {
		d.bytes = rawjson.OneReading([]byte(text))
		d.text = sharedText(d.bytes)
	}
	return d
}

// unwrapped is a JSON text with the JSON that the field of that name holds as text.
func unwrapped(text string, names []string) string {
	p := rawjson.NewProgram()
	p.Add(names)
	found := make([]rawjson.Span, p.Slots)
	if p.Run(text, found) != nil { // mapping says what is wrong with it
		return text
	}
	at := found[0]
	if at.To == 0 || text[at.From] != '"' {
		return text
	}
	inside := rawjson.Unquote(text[at.From:at.To])
	if rawjson.Check(inside) != nil {
		return text
	}
	return text[:at.From] + inside + text[at.To:]
}

func (k *compiler) body() bodyReader {
	b := &k.config.Body
	out := bodyReader{
		content: cmp.Or(b.Content, contentAuto), accept: b.Accept, empty: b.Empty == emptyObject, max: k.options.MaxBody,
		form: asjson.Form{Flat: b.FormNesting == "flat", Repeated: cmp.Or(b.Repeated, "last")},
	}
	for i, text := range b.JSONIn {
		e := k.Expr(fmt.Sprintf("body.json_in[%d]", i), text)
		if e == nil {
			continue
		}
		if e.From != mapping.FromItem || len(e.Path.Steps) > 0 || len(e.Path.Names) == 0 || len(e.Pipes) > 0 {
			k.Add(fmt.Sprintf("body.json_in[%d]", i), "is no plain name of a field", "write names joined by dots: rawRequest or data.payload")
			continue
		}
		out.jsonIn = append(out.jsonIn, e.Path.Names)
	}
	charset, err := asjson.CharsetOf(b.Charset)
	if err != nil {
		k.Add("body.charset", "is no charset that is known here", "write a name that browsers know, such as ISO-8859-1, windows-1252 or Shift_JIS")
	}
	out.charset = charset
	switch size := b.MaxBytes.Bytes(); {
	case size < 0 || size > maxMaxBody:
		k.Add("body.max_bytes", "is more than 64MiB, which a webhook never needs", "write a size up to 64MiB")
	case size > 0:
		out.max = size
	}
	return out
}
