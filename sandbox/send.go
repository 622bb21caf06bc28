package sandbox

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// maxJSON is the most bytes of a JSON request.
const maxJSON = 64 << 10

// The fields that each kind of send knows, the required ones first.
var (
	templateFields = fields{[]string{"phone", "template", "language", "variables", "header_media_type", "header_media_url", "filename"}, 3}
	campaignFields = fields{[]string{"phone", "campaign_id"}, 2}
	textFields     = fields{[]string{"phone", "message"}, 2}
)

type fields struct {
	names    []string
	required int
}

// A form is a JSON request taken apart: its texts by the position of their field.
type form struct {
	texts     [7]string
	given     [7]bool
	variables []string
}

var pages = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// read takes a JSON request apart, or returns the refusal.
func (f fields) read(ask *request) (form, *reply) {
	no := func(status int, format string, args ...any) (form, *reply) {
		a := say(status, fmt.Sprintf(format, args...))
		return form{}, &a
	}
	kind := ask.http.Header.Get("Content-Type")
	if kind != "application/json" {
		if parsed, _, err := mime.ParseMediaType(kind); err != nil || parsed != "application/json" {
			return no(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
		}
	}
	ask.fetch()
	if _, large := errors.AsType[*http.MaxBytesError](ask.broken); large {
		return no(http.StatusRequestEntityTooLarge, "body is larger than %d bytes", maxJSON)
	}
	if ask.broken != nil {
		return no(http.StatusBadRequest, "body was cut")
	}
	whole := ask.text // the texts of the form point into it
	if whole == "" {
		return no(http.StatusBadRequest, "body is empty: send a JSON object")
	}
	if !gjson.Valid(whole) {
		return no(http.StatusBadRequest, "body is not valid JSON")
	}
	all := gjson.Parse(whole)
	if !all.IsObject() {
		return no(http.StatusBadRequest, "body must be a JSON object")
	}
	var got form
	var words string
	all.ForEach(func(key, value gjson.Result) bool {
		words = f.take(&got, key.Str, value)
		return words == ""
	})
	for i := 0; words == "" && i < f.required; i++ {
		if got.texts[i] == "" {
			words = fmt.Sprintf("field %q is missing", f.names[i])
			if got.given[i] {
				words = fmt.Sprintf("field %q is empty", f.names[i])
			}
		}
	}
	if words != "" {
		return no(http.StatusBadRequest, "%s", words)
	}
	return got, nil
}

// fetch reads the JSON body, once.
func (ask *request) fetch() {
	if ask.fetched {
		return
	}
	ask.fetched = true
	page := pages.Get().(*[]byte)
	defer pages.Put(page)
	text, err := readAll((*page)[:0], http.MaxBytesReader(ask.writer, ask.http.Body, maxJSON))
	*page = text[:0]
	ask.text, ask.broken = string(text), err
}

// take puts one field into the form and returns what is wrong with it.
func (f fields) take(got *form, name string, value gjson.Result) (words string) {
	at := -1
	for i, n := range f.names {
		if n == name {
			at = i
			break
		}
	}
	switch {
	case at < 0:
		return fmt.Sprintf("field %q is not known: known are %s", clip(name), strings.Join(f.names, ", "))
	case got.given[at]:
		return fmt.Sprintf("field %q is given twice", name)
	}
	got.given[at] = true
	if name == "variables" {
		if !value.IsArray() {
			return `field "variables" must be a list of strings`
		}
		value.ForEach(func(_, one gjson.Result) bool {
			if one.Type != gjson.String {
				words = fmt.Sprintf(`variable %d must be a string`, len(got.variables)+1)
				return false
			}
			got.variables = append(got.variables, one.Str)
			return true
		})
		return words
	}
	if value.Type != gjson.String {
		return fmt.Sprintf("field %q must be a string", name)
	}
	got.texts[at] = value.Str
	return ""
}

func (s *Sandbox) sendTemplate(ask *request) reply {
	f, no := templateFields.read(ask)
	if no != nil {
		return *no
	}
	phone, name, language := f.texts[0], f.texts[1], f.texts[2]
	ask.phone, ask.subject = phone, subject{"template", name, language}
	to, no := recipient(phone)
	if no != nil {
		return *no
	}
	t, words := s.template(name, language)
	if words == "" {
		words = t.refuses(f.variables, media{f.texts[4], f.texts[5], f.texts[6]})
	}
	if words != "" {
		return say(http.StatusBadRequest, words)
	}
	return s.take(ask, to, f.variables)
}

func (s *Sandbox) sendCampaign(ask *request) reply {
	f, no := campaignFields.read(ask)
	if no != nil {
		return *no
	}
	phone, id := f.texts[0], f.texts[1]
	ask.phone, ask.subject = phone, subject{kind: "campaign", name: id}
	to, no := recipient(phone)
	if no != nil {
		return *no
	}
	if !s.knowsCampaign(id) {
		return say(http.StatusBadRequest, fmt.Sprintf("campaign %q does not exist", clip(id)))
	}
	return s.take(ask, to, nil)
}

func (s *Sandbox) sendText(ask *request) reply {
	f, no := textFields.read(ask)
	if no != nil {
		return *no
	}
	ask.phone, ask.subject = f.texts[0], subject{kind: "text"}
	to, no := recipient(ask.phone)
	if no != nil {
		return *no
	}
	return s.take(ask, to, []string{f.texts[1]})
}

func (s *Sandbox) take(ask *request, to number, variables []string) reply {
	id := s.book.Load().accept(&parcel{phone: to, subject: ask.subject, variables: variables}, ask.now)
	ask.messages = 1
	return s.accepted(id)
}

// recipient reads a phone, or refuses it.
func recipient(phone string) (number, *reply) {
	n, ok := parseNumber(phone)
	if !ok {
		a := say(http.StatusBadRequest, "phone must be 7 to 15 digits with the country code, without plus sign and separators")
		return 0, &a
	}
	if n.ending() == endRefused {
		a := say(http.StatusUnprocessableEntity, reasonRefused)
		return 0, &a
	}
	return n, nil
}

// template finds an approved template, or says which part of its name is wrong.
func (s *Sandbox) template(name, language string) (Template, string) {
	for _, key := range [...]templateKey{{name, language}, {name, "*"}, {"*", language}, {"*", "*"}} {
		if t, ok := s.templates[key]; ok {
			return t, ""
		}
	}
	for key := range s.templates {
		if key.name == name {
			return Template{}, fmt.Sprintf("template %q does not exist in language %q", clip(name), clip(language))
		}
	}
	return Template{}, fmt.Sprintf("template %q does not exist", clip(name))
}

// media is the header of a message.
type media struct{ kind, url, filename string }

// refuses says what is wrong with a message of this template, "" when nothing is.
func (t Template) refuses(variables []string, m media) string {
	if words := t.wants(len(variables)); words != "" {
		return words
	}
	switch m.kind {
	case "", "image", "video", "document":
	default:
		return fmt.Sprintf("header_media_type %q is not known: use image, video or document", clip(m.kind))
	}
	switch {
	case m.kind == "" && m.url != "":
		return "header_media_url needs a header_media_type"
	case m.kind != "" && m.url == "":
		return "header_media_type needs a header_media_url"
	case m.filename != "" && m.kind != "document":
		return "filename is for documents only"
	case t.Header == "" && m.kind != "":
		return fmt.Sprintf("template %q has no media header", t.Name)
	case t.Header != "*" && t.Header != m.kind:
		return fmt.Sprintf("template %q needs a header of type %s", t.Name, t.Header)
	}
	if m.url != "" {
		u, err := url.Parse(m.url)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			return "header_media_url must be an http or https URL"
		}
	}
	return ""
}

// wants says what is wrong with a number of variables, "" when nothing is.
func (t Template) wants(n int) string {
	if t.Variables >= 0 && n != t.Variables {
		return fmt.Sprintf("template %q takes %d variables, not %d", t.Name, t.Variables, n)
	}
	return ""
}

// clip bounds what of a request is repeated in words.
func clip(text string) string {
	const most = 60
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// readAll is io.ReadAll into a buffer of the caller.
func readAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}
