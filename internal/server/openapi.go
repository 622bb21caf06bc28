package server

import (
	"context"
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// OpenAPI is the description of the API as OpenAPI 3.1 has it, made from the table of routes and the Go types.
func OpenAPI() map[string]any {
	described.once.Do(func() { described.doc = describe() })
	return described.doc
}

// described is made when it is asked for: its route is in the table that it describes.
var described struct {
	once sync.Once
	doc  map[string]any
}

func describe() map[string]any {
	s := schemas{}
	paths := map[string]any{}
	for _, rt := range Routes() {
		path := DescribedPath(&rt)
		at, _ := paths[path].(map[string]any)
		if at == nil {
			at = map[string]any{}
			paths[path] = at
		}
		at[strings.ToLower(rt.Method)] = s.operation(&rt)
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "nudgewire", "version": "v1",
			"description": "What happens in a shop or CRM, as messages on a phone. docs/api.md says who may ask what.",
		},
		"servers":    []any{map[string]any{"url": Base}},
		"paths":      paths,
		"security":   []any{map[string]any{"token": []any{}}},
		"components": map[string]any{"schemas": s, "securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}}},
	}
}

// A Document is the description, all of which is ours.
type Document map[string]any

// Kind says so.
func (Document) Kind() mask.Kind { return mask.OfOurs }

func (a admin) openAPI(_ context.Context, version string) (Document, error) {
	switch version {
	case "", "3.1":
		return Document(OpenAPI()), nil
	case "3.0":
		doc := olderOpenAPI(OpenAPI()).(map[string]any) // of a map it makes a map
		doc["openapi"] = "3.0.3"
		return Document(doc), nil
	default:
		return Document{}, refusal.Fieldf("version", "", "version %q: want 3.1 or 3.0", version)
	}
}

// olderOpenAPI is a part of the description as OpenAPI 3.0 has it, which most generators of clients read: there null is no type.
func olderOpenAPI(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[key] = olderOpenAPI(one)
		}
		if types, several := v["type"].([]any); several {
			out["type"], out["nullable"] = types[0], true
		}
		if v["contentEncoding"] == "base64" {
			delete(out, "contentEncoding")
			out["format"] = "byte"
		}
		if either, several := v["anyOf"].([]any); several {
			delete(out, "anyOf")
			out["allOf"], out["nullable"] = []any{olderOpenAPI(either[0])}, true
		}
		return out
	case schemas:
		return olderOpenAPI(map[string]any(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = olderOpenAPI(v[i])
		}
		return out
	}
	return v
}

// schemas are those of the types that stand in the API, by name.
type schemas map[string]any

var (
	inPathPattern = regexp.MustCompile(`\{(\w+)\}`)
	inName        = regexp.MustCompile(`[A-Za-z]+`)
)

// schemaOf is what a part of a request is; nil is one that is not of its type.
func (s schemas) schemaOf(p *part) map[string]any {
	switch {
	case p == nil, p.place == inHeader:
		return map[string]any{"type": "string"}
	case p.name == "limit":
		return map[string]any{"type": "integer", "minimum": 0, "maximum": MaxRows}
	case p.counts():
		return map[string]any{"type": "integer", "minimum": 1}
	default:
		return s.of(p.kind)
	}
}

// DescribedPath is a route's path in the description. There, two paths must not differ in the names of their parts alone: those of the one that
// is read stand for both.
func DescribedPath(rt *Route) string {
	shape, path := inPathPattern.ReplaceAllString(rt.Path, "{}"), rt.Path
	for _, one := range Routes() {
		if one.Method == http.MethodGet && inPathPattern.ReplaceAllString(one.Path, "{}") == shape {
			path = one.Path
		}
	}
	return path
}

func (s schemas) operation(rt *Route) map[string]any {
	parameters := []any{}
	add := func(name, in string) {
		var of *part
		if i := slices.IndexFunc(rt.parts, func(p part) bool { return p.name == name }); i >= 0 {
			of = &rt.parts[i]
		}
		schema := s.schemaOf(of)
		one := map[string]any{"name": name, "in": in, "schema": schema, "example": exampleParameter(name, schema)}
		if in == "path" {
			one["required"] = true
		}
		parameters = append(parameters, one)
	}
	described := inPathPattern.FindAllStringSubmatch(DescribedPath(rt), -1)
	for i, m := range inPathPattern.FindAllStringSubmatch(rt.Path, -1) {
		add(m[1], "path")
		parameters[i].(map[string]any)["name"] = described[i][1]
	}
	for _, name := range rt.Query {
		add(name, "query")
	}
	for i := range rt.parts {
		if p := &rt.parts[i]; p.place == inHeader {
			add(p.name, "header")
		}
	}
	kind := "application/json"
	if rt.lines {
		kind = "application/x-ndjson" // one of it a line
	}
	operation := map[string]any{
		"operationId": operationID(rt),
		"summary":     rt.Words, "parameters": parameters,
		"responses": map[string]any{
			"200":     map[string]any{"description": "It is so, or it was done.", "content": s.content(kind, reflect.TypeOf(rt.Out), exampleOf(reflect.TypeOf(rt.Out)))},
			"default": map[string]any{"description": "It was refused.", "content": s.content("application/problem+json", reflect.TypeFor[refusal.Error](), exampleOf(reflect.TypeFor[refusal.Error]()))},
		},
	}
	if rt.Scope != "" {
		operation["description"] = "Needs the scope " + string(rt.Scope) + "."
	}
	if rt.In != nil {
		body := s.content("application/json", reflect.TypeOf(rt.In), ExampleRequest(rt))
		if reflect.TypeOf(rt.In).Kind() == reflect.Struct {
			s.optional(reflect.TypeOf(rt.In))
		}
		operation["requestBody"] = map[string]any{"required": !rt.bare, "content": body}
	}
	return operation
}

// operationID is the name that a generated client calls it by: postRunsIdApprove.
func operationID(rt *Route) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(rt.Method))
	for _, word := range inName.FindAllString(rt.Path, -1) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String()
}

// content is what a body of a type is, with an example.
func (s schemas) content(kind string, t reflect.Type, example json.RawMessage) map[string]any {
	return map[string]any{kind: map[string]any{"schema": s.of(t), "example": example}}
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }

// optional makes the fields of a body optional that may be left out: what a program need not send it need not know.
func (s schemas) optional(t reflect.Type) {
	object, _ := s[s.name(t)].(map[string]any)
	required := []string{}
	for f := range t.Fields() {
		if strings.Contains(f.Tag.Get("validate"), "required") {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			required = append(required, name)
		}
	}
	require(object, required)
}

// require names what must be there; OpenAPI 3.0 has no empty list of that.
func require(object map[string]any, names []string) {
	delete(object, "required")
	if len(names) > 0 {
		object["required"] = names
	}
}

// of is the schema of what a type is as JSON.
func (s schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Implements(reflect.TypeFor[json.Marshaler]()) || t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}
		}
		return map[string]any{"type": []any{"array", "null"}, "items": s.of(t.Elem())} // none may be null
	case reflect.Map:
		return map[string]any{"type": []any{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		name := s.name(t)
		if _, known := s[name]; !known {
			s[name] = nil // before its fields, which may have one of it
			s[name] = s.object(t)
		}
		return ref(name)
	case reflect.Interface:
		return map[string]any{}
	default:
		return map[string]any{"type": "integer"}
	}
}

// unnamed are the packages whose types have one name with those of this one: they are parts of one daemon's status.
var unnamed = []string{"server", "certificates", "webhooks", "nudgewire", "preview", "privacy", "signin"}

// name is a type's, with its package where that is none of ours: two packages may have one of a name.
func (s schemas) name(t reflect.Type) string {
	of := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if t == reflect.TypeFor[refusal.Error]() {
		return "Problem"
	}
	if slices.Contains(unnamed, of) {
		return name
	}
	return strings.ToUpper(of[:1]) + of[1:] + name
}

// object is the schema of a struct: its fields and no others.
func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	s.fields(t, properties, &required)
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	require(out, required)
	return out
}

func (s schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-", !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			s.fields(inner, properties, required)
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = s.of(f.Type)
		if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
			properties[name] = map[string]any{"anyOf": []any{s.of(f.Type), map[string]any{"type": "null"}}}
		}
		if options == "" {
			*required = append(*required, name)
		}
	}
}
