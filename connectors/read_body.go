package connectors

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"unicode/utf8"
	"unsafe"

	"github.com/nudgewire/nudgewire/internal/asjson"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A bodyReader is a compiled Body.
type bodyReader struct {
	content string
	accept  []string
	empty   bool // an empty body is an object without fields
	form    asjson.Form
	jsonIn  [][]string // names down to fields that hold JSON as text
	max     int64
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
	body := r.Body
	if len(bytes.TrimSpace(body)) == 0 {
		if !b.empty {
			return document{}, badBody("is empty")
		}
		return document{text: "{}", bytes: []byte("{}"), typ: jsonType}, nil
	}
	sort := b.sort(r)
	switch sort {
	case contentJSON:
		body = rawjson.OneReading(trimBOM(body))
	case contentText:
		if b.content != contentText {
			return document{}, badBody("is plain text, neither JSON nor a form")
		}
		if !utf8.Valid(body) {
			return document{}, badBody("is not UTF-8 text")
		}
		body = bytes.ReplaceAll(body, []byte{0}, nil)
		return document{text: string(rawjson.AppendString(nil, string(body))), bytes: body, typ: "text/plain; charset=utf-8"}, nil
	default:
		made, err := b.asJSON(sort, r)
		if err != nil {
			return document{}, badBody(err.Error())
		}
		body = rawjson.OneReading(made)
	}
	d := document{text: sharedText(body), bytes: body, typ: jsonType}
	if len(b.jsonIn) > 0 {
		return b.unwrap(d)
	}
	return d, nil
}

// sharedText is a body as a text. Both are only read, so they share their memory.
func sharedText(body []byte) string {
	return unsafe.String(unsafe.SliceData(body), len(body)) //nolint:gosec // audited: nobody writes to a body
}

// sharedBytes is the other way round, for readers that write nothing.
func sharedBytes(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // audited: nobody writes to it
}

const jsonType = "application/json"

func badBody(what string) *Rejected {
	return reject(http.StatusBadRequest, StageBody, "the body "+what)
}

// badJSON says where a body stops being JSON, and nothing of what is there: reasons go to
// logs and traces, and a body holds phone numbers.
func badJSON(err error) *Rejected { return badBody("is not JSON: " + err.Error()) }

// asJSON makes JSON of a body that is none.
func (b *bodyReader) asJSON(sort string, r *Request) ([]byte, error) {
	switch sort {
	case contentForm:
		return b.form.Encoded(string(r.Body))
	case contentMultipart:
		return b.form.Multipart(r.Body, boundary(r.Header))
	default:
		return asjson.XML(trimBOM(r.Body))
	}
}

// unwrap replaces fields that hold JSON as text by that JSON. A field that is missing, or
// whose text is no JSON, stays as it is: the others may still be of use.
func (b *bodyReader) unwrap(d document) (document, *Rejected) {
	for _, names := range b.jsonIn {
		p := rawjson.NewProgram()
		p.Add(names)
		found := make([]rawjson.Span, p.Slots)
		if err := p.Run(d.text, found); err != nil {
			return d, badJSON(err)
		}
		at := found[0]
		if at.To == 0 || d.text[at.From] != '"' {
			continue
		}
		inside := rawjson.Unquote(d.text[at.From:at.To])
		if rawjson.Check(inside) != nil {
			continue
		}
		d.text = d.text[:at.From] + inside + d.text[at.To:]
	}
	d.bytes = rawjson.OneReading([]byte(d.text))
	d.text = sharedText(d.bytes)
	return d, nil
}

func (k *compiler) body() bodyReader {
	b := &k.config.Body
	out := bodyReader{
		content: cmp.Or(b.Content, contentAuto), accept: b.Accept, empty: b.Empty == emptyObject, max: k.options.MaxBody,
		form: asjson.Form{Flat: b.FormNesting == "flat", Repeated: cmp.Or(b.Repeated, "last")},
	}
	for i, text := range b.JSONIn {
		e := k.expr(fmt.Sprintf("body.json_in[%d]", i), text)
		if e == nil {
			continue
		}
		if e.from != fromItem || len(e.path.steps) > 0 || len(e.path.names) == 0 || len(e.pipes) > 0 {
			k.add(fmt.Sprintf("body.json_in[%d]", i), "is no plain name of a field", "write names joined by dots: rawRequest or data.payload")
			continue
		}
		out.jsonIn = append(out.jsonIn, e.path.names)
	}
	switch size := b.MaxBytes.Bytes(); {
	case size < 0 || size > maxMaxBody:
		k.add("body.max_bytes", "is more than 64MiB, which a webhook never needs", "write a size up to 64MiB")
	case size > 0:
		out.max = size
	}
	return out
}
