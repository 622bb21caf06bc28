package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/valid"
)

// None is asked of a route that needs to know nothing.
type None = struct{}

// A place is where a value of a request stands.
type place int

const (
	inPath     place = iota // a field with the tag path, which names it as the route's path does
	inQuery                 // of what is read or removed, each other field that JSON has
	inHeader                // a field with the tag header
	allHeaders              // a field with the tag header:"*"
	rawBody                 // a field with the tag body:"raw": the body as it comes. Else what is posted is JSON
)

// A part is one value of a request's type: a field, or for a type that is no struct the value itself.
type part struct {
	name  string
	place place
	field int // -1 is the value itself
	kind  reflect.Type
}

// counts reports whether the part is the number of something, which begins at 1.
func (p *part) counts() bool {
	return wanted[p.kind][0] != "" || p.kind == reflect.TypeFor[int64]() || p.place == inPath && p.kind.Kind() == reflect.Int
}

func (p *part) of(request reflect.Value) reflect.Value {
	if p.field < 0 {
		return request
	}
	return request.Field(p.field)
}

// learn finds the parts of a request's type, and the names of the query where the route has none yet.
func (rt *Route) learn(in reflect.Type) {
	if in.Kind() != reflect.Struct || in == reflect.TypeFor[time.Time]() {
		only := part{place: inPath, field: -1, kind: in}
		if name := inPathPattern.FindStringSubmatch(rt.Path); name != nil {
			only.name = name[1]
		} else {
			only.name, only.place = rt.Query[0], inQuery
		}
		rt.parts = []part{only}
		return
	}
	chosen := rt.Query != nil
	for f := range in.Fields() {
		one := part{field: f.Index[0], kind: f.Type}
		named, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("path") != "":
			one.name, one.place = f.Tag.Get("path"), inPath
		case f.Tag.Get("header") == "*":
			one.place = allHeaders
		case f.Tag.Get("header") != "":
			one.name, one.place = f.Tag.Get("header"), inHeader
		case f.Tag.Get("body") != "":
			one.place, rt.In = rawBody, json.RawMessage{}
		case named == "-":
			continue
		case rt.Method == http.MethodPost:
			rt.In = reflect.Zero(in).Interface()
			continue
		default: // what a query chose not to have is refused where it is asked for
			one.name, one.place = named, inQuery
			if !chosen {
				rt.Query = append(rt.Query, named)
			}
		}
		rt.parts = append(rt.parts, one)
	}
}

// texts are what a request has besides its body.
type texts struct {
	path   map[string]string
	query  url.Values
	header http.Header
}

// write writes a request's parts as texts. What is empty is in no query.
func (rt *Route) write(request reflect.Value) (t texts, err error) {
	t = texts{path: map[string]string{}, query: url.Values{}, header: http.Header{}}
	for i := range rt.parts {
		p := &rt.parts[i]
		v := p.of(request)
		switch p.place {
		case inPath:
			text := textOf(v)
			if slices.Contains([]string{"", ".", ".."}, text) { // a path cannot have it
				return t, refusal.Fieldf(p.name, "", "%s %q: nothing is called that", p.name, text)
			}
			t.path[p.name] = text
		case inQuery:
			if !v.IsZero() {
				t.query.Set(p.name, textOf(v))
			}
		case inHeader:
			t.header[p.name] = v.Interface().([]string)
		case allHeaders:
			t.header = v.Interface().(http.Header)
		}
	}
	return t, nil
}

func textOf(v reflect.Value) string {
	switch at, is := v.Interface().(time.Time); {
	case is:
		return at.UTC().Format(time.RFC3339Nano)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	default:
		return v.String()
	}
}

// readTexts reads texts into a request's parts, or says which is wrong.
func (rt *Route) readTexts(t *texts, request reflect.Value) error {
	for i := range rt.parts {
		p := &rt.parts[i]
		v := p.of(request)
		switch p.place {
		case inPath:
			if err := setText(v, p, t.path[p.name]); err != nil {
				return err
			}
		case inQuery:
			if text := t.query.Get(p.name); text != "" {
				if err := setText(v, p, text); err != nil {
					return err
				}
			}
		case inHeader:
			v.Set(reflect.ValueOf(t.header.Values(p.name)))
		case allHeaders:
			v.Set(reflect.ValueOf(t.header))
		}
	}
	return nil
}

// wanted are what numbers of ours are called, and what shows them.
var wanted = map[reflect.Type][2]string{
	reflect.TypeFor[messaging.EventID]():   {"an event's number", `"nudgewire events list" shows the numbers`},
	reflect.TypeFor[messaging.MessageID](): {"a message's number", `"nudgewire messages list" shows the numbers`},
	reflect.TypeFor[messaging.RunID]():     {"a run's number", `"nudgewire jobs history" shows the numbers`},
}

func setText(v reflect.Value, p *part, text string) error {
	wrong := func(want, hint string) error {
		return refusal.Fieldf(p.name, hint, "%s %q: want %s", p.name, text, want)
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return wrong("a time in RFC 3339", "write it as 2026-11-28T09:00:00Z")
		}
		v.Set(reflect.ValueOf(at))
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return wrong("true or false", "")
		}
		v.SetBool(text == "true")
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 && p.counts() {
			known := wanted[p.kind]
			return wrong(cmp.Or(known[0], "a number from 1 on"), known[1])
		}
		v.SetInt(n)
	default:
		v.SetString(text)
	}
	return nil
}

// readBody reads the body of a request strictly.
func (rt *Route) readBody(body []byte, request reflect.Value) error {
	if rt.In == nil {
		return nil
	}
	for i := range rt.parts {
		if rt.parts[i].place == rawBody {
			rt.parts[i].of(request).SetBytes(body)
			return nil
		}
	}
	if rt.bare && len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(request.Addr().Interface()); err != nil {
		return badBody(err)
	}
	return nil
}

// writeBody is the body of a request; nil where it has none.
func (rt *Route) writeBody(request reflect.Value) ([]byte, error) {
	if rt.In == nil {
		return nil, nil
	}
	for i := range rt.parts {
		if rt.parts[i].place == rawBody {
			return rt.parts[i].of(request).Bytes(), nil
		}
	}
	return json.Marshal(request.Interface()) //nolint:wrapcheck // it says what it is
}

// check holds what a body says to the rules of its type.
func (rt *Route) check(request any) error {
	if t := reflect.TypeOf(request).Elem(); rt.In == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if err := valid.Struct(request); err != nil {
		return badBody(err)
	}
	return nil
}
