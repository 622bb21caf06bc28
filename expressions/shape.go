package expressions

import (
	"reflect"
	"sort"
	"time"

	"github.com/nudgewire/nudgewire"
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

// A field is one member of an object: its shape and how to read it from a pointer to the
// object's struct. read gives nil for a time that was not told.
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
	textList    = &shape{kind: KindList, elem: textShape}
)

// words names the shape in the sentence "cart.total is …".
func (s *shape) words() string {
	switch s.kind {
	case KindFlag:
		return "true or false"
	case KindWhole:
		return "a number"
	case KindAmount:
		return "an amount"
	case KindText:
		return "text"
	case KindTime:
		return "a time"
	case KindSpan:
		return "a length of time"
	case KindList:
		return "a list"
	case KindTable:
		return "a table of texts"
	case KindObject:
		return s.noun
	case KindNil:
		return "nil"
	default:
		return "a value of the payload"
	}
}

func (s *shape) number() bool { return s.kind == KindWhole || s.kind == KindAmount }

func (s *shape) scalar() bool { return s.kind.Scalar() }

// names are the fields of an object, sorted.
func (s *shape) names() []string {
	names := make([]string, 0, len(s.fields))
	for name := range s.fields {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// nouns are the structs that expressions may look into, with the words for each.
var nouns = map[reflect.Type]string{
	reflect.TypeFor[eventFacts]():        "the event",
	reflect.TypeFor[nudgewire.Contact](): "a contact",
	reflect.TypeFor[nudgewire.Cart]():    "a cart",
	reflect.TypeFor[nudgewire.Order]():   "an order",
	reflect.TypeFor[nudgewire.Deal]():    "a deal",
	reflect.TypeFor[nudgewire.Form]():    "a form",
	reflect.TypeFor[nudgewire.Item]():    "an item",
}

// objectShape reads the `expr:"name"` tags of a noun: the nouns themselves say what
// expressions may call them, so a field added there is known here.
func objectShape(t reflect.Type) *shape {
	s := &shape{kind: KindObject, noun: nouns[t], fields: map[string]field{}}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("expr")
		if name == "" || name == "-" {
			continue
		}
		s.fields[name] = fieldOf(t.Field(i))
	}
	return s
}

// fieldOf picks the reader for one struct field. Going through a pointer to the field keeps
// reflection from copying it first. A type that is not listed is a mistake in the nouns, which the package's own start-up finds.
func fieldOf(f reflect.StructField) field {
	i := f.Index[0]
	at := func(object any) any { return reflect.ValueOf(object).Elem().Field(i).Addr().Interface() }
	switch f.Type {
	case reflect.TypeFor[string]():
		return field{shape: textShape, read: func(o any) any { return *at(o).(*string) }}
	case reflect.TypeFor[nudgewire.Phone]():
		return field{shape: textShape, masked: true, read: func(o any) any { return string(*at(o).(*nudgewire.Phone)) }}
	case reflect.TypeFor[int]():
		return field{shape: wholeShape, read: func(o any) any { return *at(o).(*int) }}
	case reflect.TypeFor[bool]():
		return field{shape: flagShape, read: func(o any) any { return *at(o).(*bool) }}
	case reflect.TypeFor[nudgewire.Amount]():
		return field{shape: amountShape, read: func(o any) any { return *at(o).(*nudgewire.Amount) }}
	case reflect.TypeFor[time.Time]():
		return field{shape: timeShape, read: func(o any) any {
			if t := *at(o).(*time.Time); !t.IsZero() {
				return t
			}
			return nil
		}}
	case reflect.TypeFor[nudgewire.Tags]():
		return field{shape: &shape{kind: KindList, elem: textShape, tags: true}, read: func(o any) any { return *at(o).(*nudgewire.Tags) }}
	case reflect.TypeFor[[]nudgewire.Item]():
		return field{shape: &shape{kind: KindList, elem: objectShape(reflect.TypeFor[nudgewire.Item]())}, read: func(o any) any { return *at(o).(*[]nudgewire.Item) }}
	case reflect.TypeFor[map[string]string]():
		return field{shape: &shape{kind: KindTable, elem: textShape}, read: func(o any) any { return *at(o).(*map[string]string) }}
	default:
		panic("triggers: no reader for field " + f.Name + " of type " + f.Type.String())
	}
}
