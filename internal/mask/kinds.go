package mask

import (
	"encoding"
	"encoding/json"
	"iter"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// A Kind says of a text of an answer what it is, and so what who may see no phones sees of it. A field has it as a tag, `kind:"text"`,
// or its type has it as a method. Numbers, booleans, times and types that write themselves as text are ours, and so are names that have
// a type of their own, such as states. Every other text without a kind fails TestEveryFieldHasAKind.
type Kind string

// The kinds.
const (
	OfOurs    Kind = "ours"    // ids, versions, names of the config, our own words and hints: never masked
	OfPhone   Kind = "phone"   // a phone and nothing else
	OfEmail   Kind = "email"   // an e-mail address and nothing else
	OfText    Kind = "text"    // a text in which strangers may have written: phones and cells of lists are looked for
	OfCarried Kind = "carried" // what webhooks carried: left out, since it may name a person in ways that nothing can find for sure
)

// withheld takes the place of what webhooks carried.
const withheld = "(needs the scope phones)"

var hides = map[Kind]func(string) string{
	OfPhone: wholePhone, OfEmail: Email, OfText: Text, OfCarried: func(string) string { return withheld },
}

// A Kinded is a type all texts of which are of one kind.
type Kinded interface{ Kind() Kind }

// Text is the text of a stranger as who may see no phones sees it, in answers, errors, logs and on pages.
func Text(text string) string { return Phones(Cells(text)) }

// Line is the text of a stranger as a record keeps it for good: masked, and without what steers a terminal.
func Line(text string) string { return Text(plain.Text(text)) }

// wholePhone is what stands where a phone does. Some of it may be no number.
func wholePhone(text string) string {
	if strings.Trim(text, "0123456789*") == "" {
		return Number(text)
	}
	return Text(text)
}

// Masked is a copy of v as who may see no phones sees it. v stays as it is.
func Masked(v any) any {
	if v == nil {
		return nil
	}
	out := maskedCopy(reflect.ValueOf(v), "")
	return out.Interface()
}

func maskedCopy(v reflect.Value, kind Kind) reflect.Value {
	mask := planOf(v.Type(), kind)
	if mask == nil {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	mask(out)
	return out
}

// A plan masks a value in place, and copies what that points to; nil has nothing to mask.
type plan func(reflect.Value)

type planned struct {
	of   reflect.Type
	kind Kind
}

var plans sync.Map // by planned: a type is looked at once

func planOf(t reflect.Type, kind Kind) plan {
	key := planned{t, kind}
	if known, ok := plans.Load(key); ok {
		return known.(plan)
	}
	made := planning{}.of(t, kind)
	plans.Store(key, made)
	return made
}

// planning has the plans of the types inside one that is looked at; nil for one that is under way, because it has one of itself in it.
type planning map[planned]*plan

func (p planning) of(t reflect.Type, kind Kind) plan {
	key := planned{t, kind}
	if known, ok := p[key]; ok {
		if known != nil {
			return *known
		}
		return func(v reflect.Value) { v.Set(maskedCopy(v, kind)) }
	}
	p[key] = nil
	made := p.make(t, kind)
	p[key] = &made
	return made
}

func (p planning) make(t reflect.Type, kind Kind) plan {
	if kind = kindOf(t, kind); kind == OfOurs {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return hiding(kind)
	case reflect.Interface:
		return func(v reflect.Value) {
			if !v.IsNil() {
				v.Set(maskedCopy(v.Elem(), kind))
			}
		}
	case reflect.Struct:
		return p.fields(t)
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		if one := p.of(t.Elem(), kind); one != nil {
			return all(t.Kind(), one)
		}
	}
	return nil
}

// kindOf is the kind of what a type holds, in a field with a tag that says kind.
func kindOf(t reflect.Type, tag Kind) Kind {
	if own, is := reflect.Zero(t).Interface().(Kinded); is && t.Kind() != reflect.Pointer {
		return own.Kind()
	}
	switch {
	case tag != "":
		return tag
	case t == reflect.TypeFor[time.Time](), t.Implements(reflect.TypeFor[encoding.TextMarshaler]()), t.Kind() == reflect.String && t != reflect.TypeFor[string]():
		return OfOurs
	}
	return ""
}

// hiding masks a text. One without a kind is searched: it may be anybody's.
func hiding(kind Kind) plan {
	hide := hides[kind]
	if hide == nil {
		hide = Text
	}
	return func(v reflect.Value) {
		if text := v.String(); text != "" {
			v.SetString(hide(text))
		}
	}
}

// all masks what a pointer points to, or each of many.
func all(kind reflect.Kind, one plan) plan {
	switch kind {
	case reflect.Pointer:
		return func(v reflect.Value) {
			if !v.IsNil() {
				out := reflect.New(v.Type().Elem())
				out.Elem().Set(v.Elem())
				one(out.Elem())
				v.Set(out)
			}
		}
	case reflect.Map: // keys are ours
		return func(v reflect.Value) {
			if v.IsNil() {
				return
			}
			out := reflect.MakeMapWithSize(v.Type(), v.Len())
			for each := v.MapRange(); each.Next(); {
				value := reflect.New(v.Type().Elem()).Elem()
				value.Set(each.Value())
				one(value)
				out.SetMapIndex(each.Key(), value)
			}
			v.Set(out)
		}
	case reflect.Slice:
		return func(v reflect.Value) {
			if v.IsNil() {
				return
			}
			out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
			for i := range out.Len() {
				one(out.Index(i))
			}
			v.Set(out)
		}
	}
	return func(v reflect.Value) { // an array
		for i := range v.Len() {
			one(v.Index(i))
		}
	}
}

// fields masks the fields of a struct that JSON has.
func (p planning) fields(t reflect.Type) plan {
	type field struct {
		at   int
		mask plan
	}
	var fields []field
	for f := range shown(t) {
		if mask := p.of(f.Type, Kind(f.Tag.Get("kind"))); mask != nil {
			fields = append(fields, field{f.Index[0], mask})
		}
	}
	if fields == nil {
		return nil
	}
	return func(v reflect.Value) {
		for _, f := range fields {
			f.mask(v.Field(f.at))
		}
	}
}

// shown are the fields of a struct that JSON has.
func shown(t reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for f := range t.Fields() {
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && !yield(f) {
				return
			}
		}
	}
}

// Kindless names the fields of a type, and of all types in it, that have no kind or one that there is not.
func Kindless(t reflect.Type) []string {
	var found []string
	seen := map[reflect.Type]bool{}
	var look func(t reflect.Type, kind Kind, at string)
	look = func(t reflect.Type, kind Kind, at string) {
		known := kind == "" || kind == OfOurs || hides[kind] != nil
		if kind = kindOf(t, kind); kind != "" {
			if !known {
				found = append(found, at+" is of the kind "+string(kind)+", which there is not")
			}
			return
		}
		switch t.Kind() {
		case reflect.String, reflect.Interface:
			found = append(found, at+" has no kind")
		case reflect.Map:
			look(t.Key(), kind, at)
			look(t.Elem(), kind, at)
		case reflect.Slice, reflect.Array, reflect.Pointer:
			if t.Elem().Kind() == reflect.Uint8 {
				found = append(found, at+" is bytes, which have no kind")
			}
			look(t.Elem(), kind, at)
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			if t.Implements(reflect.TypeFor[json.Marshaler]()) {
				found = append(found, at+" writes itself as JSON, and has no kind")
			}
			for f := range shown(t) {
				look(f.Type, Kind(f.Tag.Get("kind")), t.String()+"."+f.Name)
			}
		}
	}
	look(t, "", t.String())
	return found
}
