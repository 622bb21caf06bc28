package yamlpos

import (
	"reflect"
	"strings"
)

// Schema describes the YAML that Decode takes into v as a JSON Schema (draft-07, which the YAML
// language server of editors reads): every key with its doc, default, enum and example, and no others. A type with
// Schema() map[string]any describes itself; its value is asked when it is a zero value, so the
// method must not need one. v may be a pointer.
//
// It helps while typing and decides nothing: Decode may still reject what it lets through.
func Schema(v any) map[string]any {
	s := schemaOf(reflect.TypeOf(v), map[reflect.Type]bool{})
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	return s
}

// schemaOf describes one type; open holds the structs being described, so that a type inside
// itself becomes "anything" instead of a schema without end.
func schemaOf(t reflect.Type, open map[reflect.Type]bool) map[string]any {
	if t = pointedTo(t); t == nodeType {
		return map[string]any{}
	}
	zero := reflect.New(t)
	if own, ok := zero.Interface().(interface{ Schema() map[string]any }); ok {
		return own.Schema()
	}
	if o, ok := zero.Interface().(interface{ elem() reflect.Type }); ok {
		return map[string]any{"type": "object", "additionalProperties": schemaOf(o.elem(), open)}
	}
	if p := reflect.PointerTo(t); p.Implements(decoderType) {
		return map[string]any{} // decodes itself and does not say how
	} else if p.Implements(textType) {
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	switch t.Kind() {
	case reflect.Struct:
		if open[t] {
			return map[string]any{}
		}
		open[t] = true
		defer delete(open, t)
		return structSchema(t, open)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), open)}
	case reflect.Slice:
		items := schemaOf(t.Elem(), open)
		list := map[string]any{"type": "array", "items": items}
		if takesScalar(t.Elem()) {
			return map[string]any{"anyOf": []any{items, list}}
		}
		return list
	case reflect.Bool:
		return orReference(map[string]any{"type": "boolean"}, map[string]any{"enum": []string{"yes", "no", "on", "off"}})
	case reflect.String:
		return map[string]any{"type": []string{"string", "number", "boolean"}} // text as written: 417, no, 1.10
	case reflect.Interface:
		return map[string]any{}
	case reflect.Float32, reflect.Float64:
		return orReference(map[string]any{"type": "number"})
	default:
		return orReference(map[string]any{"type": "integer"})
	}
}

// orReference is any of the schemas, or a reference that holds such a value.
func orReference(schemas ...any) map[string]any {
	return map[string]any{"anyOf": append(schemas, map[string]any{"type": "string", "pattern": `\$\{`})}
}

func structSchema(t reflect.Type, open map[reflect.Type]bool) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, f := range fieldsOf(t) {
		s := schemaOf(f.typ, open)
		if len(f.enum) > 0 {
			s = f.enumSchema()
		}
		if f.doc != "" {
			s["description"] = f.doc
		}
		if f.hasDef {
			s["default"] = f.schemaDefault()
		}
		f.schemaRange(s)
		if f.example != "" {
			s["examples"] = []string{f.example}
		}
		properties[f.name] = s
		if f.required {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// schemaDefault is the default in the type that an editor would write it in.
func (f field) schemaDefault() any {
	switch v := fromTag(f.typ, f.def); f.typ.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int:
		return v.Int()
	case reflect.Slice:
		return listOf(f.def)
	default:
		return f.def
	}
}

// schemaRange adds the bounds of plain numbers; those of quantities are for Decode to hold.
func (f field) schemaRange(s map[string]any) {
	t := f.typ
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	for name, text := range map[string]string{"minimum": f.min, "maximum": f.max} {
		if text == "" {
			continue
		}
		b := bound(t, text) // here, too, for its panic: every tag is looked at when a schema is made
		if t.Kind() == reflect.Int {
			s[name] = b
		}
	}
}

func (f field) enumSchema() map[string]any {
	one := map[string]any{"enum": f.enum}
	if f.typ.Kind() == reflect.Slice {
		return map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
	}
	return one
}

// Reference lists every key that Decode takes into v as the rows of a Markdown table
// (key | what it is | default), sections in place, in the order of the fields. Names that the
// user chooses stand as <name>.
func Reference(v any) string {
	var b strings.Builder
	b.WriteString("| Key | What it is | Default |\n| --- | --- | --- |\n")
	rows(&b, reflect.TypeOf(v), "", map[reflect.Type]bool{})
	return b.String()
}

func rows(b *strings.Builder, t reflect.Type, path string, open map[reflect.Type]bool) {
	t = pointedTo(t)
	if o, ok := reflect.New(t).Interface().(interface{ elem() reflect.Type }); ok {
		rows(b, o.elem(), path+".<name>", open)
		return
	}
	suffix, many := map[reflect.Kind]string{reflect.Map: ".<name>", reflect.Slice: "[]"}[t.Kind()]
	switch {
	case many && !takesScalar(t.Elem()):
		rows(b, t.Elem(), path+suffix, open)
		return
	case t.Kind() != reflect.Struct || open[t]:
		return
	}
	open[t] = true
	defer delete(open, t)
	for _, f := range fieldsOf(t) {
		at := strings.TrimPrefix(path+"."+f.name, ".")
		f.row(b, at)
		rows(b, f.typ, at, open)
	}
}

func (f field) row(b *strings.Builder, path string) {
	doc := f.doc
	if len(f.enum) > 0 {
		doc = strings.TrimSuffix(doc, ".") + ". One of `" + strings.Join(f.enum, "`, `") + "`."
	}
	if f.min != "" || f.max != "" {
		doc = strings.TrimSuffix(doc, ".") + "; " + f.rangeHint() + "."
	}
	if f.example != "" {
		doc += " Example: `" + f.example + "`"
	}
	def := ""
	switch {
	case f.required:
		def = "required"
	case f.hasDef && f.def != "":
		def = "`" + f.def + "`"
	}
	b.WriteString("| `" + path + "` | " + cell(doc) + " | " + cell(def) + " |\n")
}

// cell keeps a text within its cell of a Markdown table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}
