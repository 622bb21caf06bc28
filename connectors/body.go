package connectors

import (
	"bytes"
	"net/http"
	"unicode/utf8"
	"unsafe"
)

// A bodyReader is a compiled Body.
type bodyReader struct {
	content  string
	accept   []string
	empty    bool // an empty body is an object without fields
	brackets bool
	repeated string
	jsonIn   [][]string // names down to fields that hold JSON as text
	max      int64
}

// A document is a body as one JSON text, whatever it came as.
type document struct {
	text  string
	bytes []byte // the same, for payloads that are parts of it
	typ   string // content type of the payload
}

// read makes a document of the request's body. Only JSON is not checked yet: mapping checks
// while it looks for fields.
func (b *bodyReader) read(r *Request) (document, *Refused) {
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
		body = oneReading(trimBOM(body))
	case contentText:
		if b.content != contentText {
			return document{}, badBody("is plain text, neither JSON nor a form")
		}
		if !utf8.Valid(body) {
			return document{}, badBody("is not UTF-8 text")
		}
		body = bytes.ReplaceAll(body, []byte{0}, nil)
		return document{text: string(appendQuoted(nil, string(body))), bytes: body, typ: "text/plain; charset=utf-8"}, nil
	default:
		tree, err := b.tree(sort, r)
		if err != nil {
			return document{}, badBody(err.Error())
		}
		body = oneReading(tree.appendJSON(nil))
	}
	d := document{text: sharedText(body), bytes: body, typ: jsonType}
	if len(b.jsonIn) > 0 {
		return b.unwrap(d)
	}
	return d, nil
}

// oneReading takes out of JSON what its readers would read in different ways: bytes that are no
// UTF-8 become the replacement character, and NUL, which no store keeps, goes away. What is mapped
// and what triggers see as raw is then the same text. Nearly every body passes as it is.
func oneReading(body []byte) []byte {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	const nul = `\u0000`
	if !bytes.Contains(body, []byte(nul)) {
		return body
	}
	out := make([]byte, 0, len(body))
	text := false // inside quotes
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '"':
			text = !text
		case body[i] == '\\' && text && bytes.HasPrefix(body[i:], []byte(nul)):
			i += len(nul) - 1
			continue
		case body[i] == '\\' && text && i+1 < len(body):
			out = append(out, body[i])
			i++
		}
		out = append(out, body[i])
	}
	return out
}

// sharedText is a body as a text. Both are only read, so they share their memory.
func sharedText(body []byte) string {
	return unsafe.String(unsafe.SliceData(body), len(body)) //nolint:gosec // audited: nobody writes to a body
}

const jsonType = "application/json"

func badBody(what string) *Refused {
	return refuse(http.StatusBadRequest, StageBody, "the body "+what)
}

// badJSON says where a body stops being JSON, and nothing of what stands there: reasons go to
// logs and traces, and a body holds phone numbers.
func badJSON(err error) *Refused { return badBody("is not JSON: " + err.Error()) }

func (b *bodyReader) tree(sort string, r *Request) (*node, error) {
	switch sort {
	case contentForm:
		return readForm(string(r.Body), b.brackets, b.repeated)
	case contentMultipart:
		return readMultipart(r.Body, boundary(r.Header), b.brackets, b.repeated)
	default:
		return readXML(r.Body)
	}
}

// unwrap replaces fields that hold JSON as text by that JSON. A field that is missing, or
// whose text is no JSON, stays as it is: the others may still be of use.
func (b *bodyReader) unwrap(d document) (document, *Refused) {
	for _, names := range b.jsonIn {
		p := newProgram()
		p.add(names)
		found := make([]span, p.slots)
		if err := p.run(d.text, found); err != nil {
			return d, badJSON(err)
		}
		at := found[0]
		if at.to == 0 || d.text[at.from] != '"' {
			continue
		}
		inside := unquote(d.text[at.from:at.to])
		if checkJSON(inside) != nil {
			continue
		}
		d.text = d.text[:at.from] + inside + d.text[at.to:]
	}
	d.bytes = oneReading([]byte(d.text))
	d.text = sharedText(d.bytes)
	return d, nil
}
