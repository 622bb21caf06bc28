package yamlpos

import (
	"reflect"
	"strings"
	"sync"
)

// A field is one key of a struct, as its tags describe it.
type field struct {
	name     string
	index    []int // for reflect.Value.FieldByIndex, through inlined structs
	typ      reflect.Type
	doc      string
	def      string
	hasDef   bool
	example  string
	enum     []string
	required bool
	min, max string
}

// fieldsOf lists the keys of struct type t in the order of its fields, inlined structs in
// place. Fields without a yaml tag are no keys.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("yaml")
		if !ok || tag == "-" || (!f.IsExported() && !f.Anonymous) {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if strings.Contains(","+options+",", ",inline,") {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
			continue
		}
		one := field{
			name: name, index: []int{i}, typ: f.Type,
			doc: f.Tag.Get("doc"), example: f.Tag.Get("example"),
			required: f.Tag.Get("required") == "true",
			min:      f.Tag.Get("min"), max: f.Tag.Get("max"),
		}
		one.def, one.hasDef = f.Tag.Lookup("default")
		if enum := f.Tag.Get("enum"); enum != "" {
			one.enum = strings.Split(enum, "|")
		}
		fields = append(fields, one)
	}
	fieldCache.Store(t, fields)
	return fields
}

var fieldCache sync.Map // reflect.Type to []field

func names(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}
