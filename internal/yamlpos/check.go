package yamlpos

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/nearest"
)

// check holds a decoded value against the enum and the range of its field.
func (n *Node) check(v reflect.Value, f field) {
	if n.kind != Scalar {
		return
	}
	if len(f.enum) > 0 && !slices.Contains(f.enum, n.text) {
		hint := "write one of " + strings.Join(f.enum, ", ")
		if near := nearest.Of(n.text, f.enum); near != "" {
			hint = fmt.Sprintf("did you mean %q? It is one of %s", near, strings.Join(f.enum, ", "))
		}
		n.Report(fmt.Sprintf("%q is not known here", n.text), hint)
		return
	}
	got, ok := number(v)
	if !ok {
		return
	}
	if f.min != "" && got < bound(v.Type(), f.min) {
		n.Report(fmt.Sprintf("%q is less than %s", n.text, f.min), f.rangeHint())
	}
	if f.max != "" && got > bound(v.Type(), f.max) {
		n.Report(fmt.Sprintf("%q is more than %s", n.text, f.max), f.rangeHint())
	}
}

func (f field) rangeHint() string {
	switch {
	case f.max == "":
		return "it is at least " + f.min
	case f.min == "":
		return "it is at most " + f.max
	default:
		return fmt.Sprintf("it is between %s and %s", f.min, f.max)
	}
}

// number is a value's size for comparing; ok is false for what has none.
func number(v reflect.Value) (n float64, ok bool) {
	if f, ok := v.Interface().(interface{ Float() float64 }); ok {
		return f.Float(), true
	}
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	default:
		return 0, false
	}
}

// bound reads a min or max tag in the notation of its field.
func bound(t reflect.Type, text string) float64 {
	n, _ := number(fromTag(t, text))
	return n
}

// fromTag decodes the text of a tag; a tag that does not decode is a mistake in the program.
func fromTag(t reflect.Type, text string) reflect.Value {
	v := reflect.New(t).Elem()
	d := &Doc{seen: map[Problem]bool{}, hidden: map[int][]span{}}
	n := &Node{doc: d, kind: Scalar, text: text, raw: text}
	if t.Kind() == reflect.Slice {
		n = &Node{doc: d, kind: Sequence}
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			n.items = append(n.items, &Node{doc: d, kind: Scalar, text: part, raw: part})
		}
	}
	n.into(v, field{})
	if len(d.problems) > 0 {
		panic(fmt.Sprintf("yamlpos: tag %q of %s: %s", text, t, d.problems[0].Msg))
	}
	return v
}

// setDefaults gives the fields of a struct what their default tags say, and the structs in it
// theirs. Pointers stay nil: they mark sections that are off unless written.
func setDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for _, f := range fieldsOf(v.Type()) {
		at := v.FieldByIndex(f.index)
		switch {
		case f.hasDef:
			at.Set(fromTag(f.typ, f.def))
		case f.typ.Kind() == reflect.Struct:
			setDefaults(at)
		}
	}
}

// Defaults fills the struct v points to as Decode does for an empty file.
func Defaults(v any) { setDefaults(reflect.ValueOf(v).Elem()) }

// checkWritten asks a type that cares how it is written, and hides what must not be shown.
func (n *Node) checkWritten(v reflect.Value) {
	if h, ok := v.Interface().(interface{ Hidden() bool }); ok && h.Hidden() {
		n.doc.hide(n)
	}
	w, ok := v.Interface().(interface {
		CheckWritten(raw string) (msg, hint string)
	})
	if !ok {
		return
	}
	if msg, hint := w.CheckWritten(n.raw); msg != "" {
		n.Warn(msg, hint)
	}
}
