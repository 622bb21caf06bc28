package expressions

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Kind is the type of an expression, as far as it is known before there is an event.
type Kind uint8

const (
	KindAny    Kind = iota // only the payload knows
	KindFlag               // true or false
	KindWhole              // a whole number
	KindAmount             // a decimal number
	KindText
	KindTime
	KindSpan   // a length of time
	KindList   // of elem
	KindTable  // text by text
	KindObject // with fields
	KindNil    // the word nil
)

// Scalar reports whether values of the kind can be printed into a message.
func (k Kind) Scalar() bool { return k <= KindSpan }

// A shape is a Kind with what belongs to it.
type shape struct {
	kind   Kind
	elem   *shape           // of a list
	fields map[string]field // of an object
	noun   string           // of an object: "a cart"
	tags   bool             // a list compared without regard to case
}

// itemNoun is the noun of a line of a cart or an order.
const itemNoun = "an item"

// A field is one member of an object: its shape and how to read it from a pointer to the
// object's struct. read gives nil for what was not given.
type field struct {
	shape  *shape
	read   func(object any) any
	masked bool // a phone: shown with its middle hidden
}

var (
	anyShape    = &shape{kind: KindAny}
	flagShape   = &shape{kind: KindFlag}
	wholeShape  = &shape{kind: KindWhole}
	amountShape = &shape{kind: KindAmount}
	textShape   = &shape{kind: KindText}
	timeShape   = &shape{kind: KindTime}
	spanShape   = &shape{kind: KindSpan}
	nilShape    = &shape{kind: KindNil}
	textList    = listOf(textShape)
)

func listOf(elem *shape) *shape { return &shape{kind: KindList, elem: elem} }

var kindWords = [...]string{
	KindAny: "a value of the payload", KindFlag: "true or false", KindWhole: "a number", KindAmount: "an amount",
	KindText: "text", KindTime: "a time", KindSpan: "a length of time", KindList: "a list", KindTable: "a table of texts",
	KindObject: "an object", KindNil: "nil",
}

// words names the kind in the sentence "cart.total is …".
func (k Kind) words() string { return kindWords[k] }

func (s *shape) words() string {
	if s.noun != "" {
		return s.noun
	}
	return s.kind.words()
}

func (s *shape) number() bool { return s.kind == KindWhole || s.kind == KindAmount }

func (s *shape) scalar() bool { return s.kind.Scalar() }

// names are the fields of an object, sorted.
func (s *shape) names() []string {
	return slices.Sorted(maps.Keys(s.fields))
}

// objectShape reads the `expr:"name"` tags of a noun: the nouns themselves say what
// expressions may call them, so a field added there is known here.
func objectShape[T any](noun string) *shape {
	t := reflect.TypeFor[T]()
	s := &shape{kind: KindObject, noun: noun, fields: map[string]field{}}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("expr")
		if name == "" || name == "-" {
			continue
		}
		f := fieldOf(t.Field(i))
		if given, ok := t.FieldByName("Empty"); ok {
			f.read = told(f.read, name, reader[messaging.Names](given.Index[0]))
		}
		s.fields[name] = f
	}
	return s
}

// told is the reader of a field that a sender may not have given: its zero value is no value where empty does not name it.
func told(read func(any) any, name string, empty func(any) any) func(object any) any {
	return func(object any) any {
		v := read(object)
		if v == nil || filled(v) || empty(object).(messaging.Names).Has(name) {
			return v
		}
		return nil
	}
}

// filled reports whether a value is not the zero value of its type.
func filled(v any) bool {
	switch v := v.(type) {
	case int:
		return v != 0
	case map[string]string:
		return len(v) > 0
	default: // a flag says itself whether it was told
		return present(v)
	}
}

// fieldOf is the reader of one struct field. A type that is not listed is a mistake in the nouns,
// which the start of the program finds.
func fieldOf(f reflect.StructField) field {
	i := f.Index[0]
	switch f.Type {
	case reflect.TypeFor[string]():
		return field{shape: textShape, read: reader[string](i)}
	case reflect.TypeFor[messaging.Phone]():
		phone := reader[messaging.Phone](i)
		return field{shape: textShape, masked: true, read: func(o any) any { return string(phone(o).(messaging.Phone)) }}
	case reflect.TypeFor[int]():
		return field{shape: wholeShape, read: reader[int](i)}
	case reflect.TypeFor[bool]():
		return field{shape: flagShape, read: reader[bool](i)}
	case reflect.TypeFor[messaging.Amount]():
		return field{shape: amountShape, read: reader[messaging.Amount](i)}
	case reflect.TypeFor[time.Time]():
		moment := reader[time.Time](i)
		return field{shape: timeShape, read: func(o any) any {
			if t := moment(o); !t.(time.Time).IsZero() {
				return t
			}
			return nil
		}}
	case reflect.TypeFor[time.Duration]():
		return field{shape: spanShape, read: reader[time.Duration](i)}
	case reflect.TypeFor[messaging.Tags]():
		return field{shape: &shape{kind: KindList, elem: textShape, tags: true}, read: reader[messaging.Tags](i)}
	case reflect.TypeFor[[]messaging.Item]():
		return field{shape: listOf(objectShape[messaging.Item](itemNoun)), read: reader[[]messaging.Item](i)}
	case reflect.TypeFor[map[string]string]():
		return field{shape: &shape{kind: KindTable, elem: textShape}, read: reader[map[string]string](i)}
	default:
		panic("expressions: no reader for field " + f.Name + " of type " + f.Type.String())
	}
}

// reader reads the i-th field of a struct by a pointer to the struct. A pointer to the field keeps
// reflection from copying it first.
func reader[T any](i int) func(object any) any {
	return func(object any) any { return *reflect.ValueOf(object).Elem().Field(i).Addr().Interface().(*T) }
}
