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
	required bool
	rules    []rule   // what a value must be, in the order of the tag
	enum     []string // of the rule oneof
	min, max string   // of these rules, in the field's own notation
}

// fieldsOf lists the keys of struct type t in the order of its fields, those of inlined structs
// among them. Fields without a yaml tag are no keys.
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
		}
		one.def, one.hasDef = f.Tag.Lookup("default")
		one.readRules(f.Tag.Get("validate"))
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
