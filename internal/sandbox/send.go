package sandbox

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

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

// read takes a JSON request apart, or refuses it.
func (f fields) read(ask *request) (form, error) {
	var got form
	if kind, _, err := mime.ParseMediaType(ask.http.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return got, &refusal{http.StatusUnsupportedMediaType, "Content-Type must be application/json"}
	}
	ask.fetch()
	whole := ask.text // the texts of the form point into it
	_, large := errors.AsType[*http.MaxBytesError](ask.broken)
	switch {
	case large:
		return got, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("body is larger than %d bytes", maxJSON)}
	case ask.broken != nil:
		return got, refuse("body was cut")
	case whole == "":
		return got, refuse("body is empty: send a JSON object")
	case !gjson.Valid(whole):
		return got, refuse("body is not valid JSON")
	}
	all := gjson.Parse(whole)
	if !all.IsObject() {
		return got, refuse("body must be a JSON object")
	}
	var err error
	all.ForEach(func(key, value gjson.Result) bool {
		err = f.take(&got, key.Str, value)
		return err == nil
	})
	for i := 0; err == nil && i < f.required; i++ {
		switch {
		case !got.given[i]:
			err = refuse("field %q is missing", f.names[i])
		case got.texts[i] == "":
			err = refuse("field %q is empty", f.names[i])
		}
	}
	return got, err
}

// fetch reads the JSON body, once.
func (ask *request) fetch() {
	if ask.fetched {
		return
	}
	ask.fetched = true
	text, err := io.ReadAll(http.MaxBytesReader(ask.writer, ask.http.Body, maxJSON))
	ask.text, ask.broken = string(text), err
}

// take puts one field into the form.
func (f fields) take(got *form, name string, value gjson.Result) (err error) {
	at := slices.Index(f.names, name)
	switch {
	case at < 0:
		return refuse("field %q is not known: known are %s", clip(name), strings.Join(f.names, ", "))
	case got.given[at]:
		return refuse("field %q is given twice", name)
	}
	got.given[at] = true
	switch {
	case name != "variables" && value.Type != gjson.String:
		return refuse("field %q must be a string", name)
	case name != "variables":
		got.texts[at] = value.Str
	case !value.IsArray():
		return refuse(`field "variables" must be a list of strings`)
	default:
		value.ForEach(func(_, one gjson.Result) bool {
			if one.Type != gjson.String {
				err = refuse("variable %d must be a string", len(got.variables)+1)
			}
			got.variables = append(got.variables, one.Str)
			return err == nil
		})
	}
	return err
}

func (s *Sandbox) sendTemplate(ask *request) (reply, error) {
	f, err := templateFields.read(ask)
	if err != nil {
		return reply{}, err
	}
	name, language := f.texts[1], f.texts[2]
	return s.take(ask, f.texts[0], subject{"template", name, language}, f.variables, func() error {
		t, err := s.template(name, language)
		if err != nil {
			return err
		}
		return t.refuses(f.variables, media{f.texts[4], f.texts[5], f.texts[6]})
	})
}

func (s *Sandbox) sendCampaign(ask *request) (reply, error) {
	f, err := campaignFields.read(ask)
	if err != nil {
		return reply{}, err
	}
	id := f.texts[1]
	return s.take(ask, f.texts[0], subject{kind: "campaign", name: id}, nil, func() error {
		if !s.knowsCampaign(id) {
			return refuse("campaign %q does not exist", clip(id))
		}
		return nil
	})
}

func (s *Sandbox) sendText(ask *request) (reply, error) {
	f, err := textFields.read(ask)
	if err != nil {
		return reply{}, err
	}
	return s.take(ask, f.texts[0], subject{kind: "text"}, []string{f.texts[1]}, func() error { return nil })
}

// take accepts a message to phone, if check has nothing against it.
func (s *Sandbox) take(ask *request, phone string, about subject, variables []string, check func() error) (reply, error) {
	ask.phone, ask.subject = phone, about
	to, ok := parseNumber(phone)
	if !ok {
		return reply{}, refuse(badPhone)
	}
	if to.ending() == endRefused {
		return reply{}, &refusal{http.StatusUnprocessableEntity, reasonRefused}
	}
	if err := check(); err != nil {
		return reply{}, err
	}
	id := s.book.Load().accept(&parcel{phone: to, subject: about, variables: variables}, ask.now)
	ask.messages = 1
	return s.accepted(id)
}

const badPhone = "phone must be 7 to 15 digits with the country code, without plus sign and separators"

// template finds an approved template, or says which part of its name is wrong.
func (s *Sandbox) template(name, language string) (Template, error) {
	for _, key := range [...]templateKey{{name, language}, {name, "*"}, {"*", language}, {"*", "*"}} {
		if t, ok := s.templates[key]; ok {
			return t, nil
		}
	}
	for key := range s.templates {
		if key.name == name {
			return Template{}, refuse("template %q does not exist in language %q", clip(name), clip(language))
		}
	}
	return Template{}, refuse("template %q does not exist", clip(name))
}

// media is the header of a message.
type media struct{ kind, url, filename string }

// refuses says what is wrong with a message of this template.
func (t Template) refuses(variables []string, m media) error {
	if err := t.wants(len(variables)); err != nil {
		return err
	}
	switch m.kind {
	case "", "image", "video", "document":
	default:
		return refuse("header_media_type %q is not known: use image, video or document", clip(m.kind))
	}
	switch {
	case m.kind == "" && m.url != "":
		return refuse("header_media_url needs a header_media_type")
	case m.kind != "" && m.url == "":
		return refuse("header_media_type needs a header_media_url")
	case m.filename != "" && m.kind != "document":
		return refuse("filename is for documents only")
	case t.Header == "" && m.kind != "":
		return refuse("template %q has no media header", t.Name)
	case t.Header != "*" && t.Header != m.kind:
		return refuse("template %q needs a header of type %s", t.Name, t.Header)
	}
	if u, err := url.Parse(m.url); m.url != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		return refuse("header_media_url must be an http or https URL")
	}
	return nil
}

// wants says what is wrong with a number of variables.
func (t Template) wants(n int) error {
	if t.Variables >= 0 && n != t.Variables {
		return refuse("template %q takes %d variables, not %d", t.Name, t.Variables, n)
	}
	return nil
}

// clip bounds what of a request is repeated in words.
func clip(text string) string {
	const most = 60
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
