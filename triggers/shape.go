package triggers

import (
	"reflect"
	"sort"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A kind is the type of an expression, as far as it is known before there is an event.
type kind uint8

const (
	kindAny    kind = iota // only the payload knows
	kindFlag               // true or false
	kindWhole              // a whole number
	kindAmount             // a decimal number
	kindText
	kindTime
	kindSpan   // a length of time
	kindList   // of elem
	kindTable  // text by text
	kindObject // with fields
	kindNil    // the word nil
)

// A shape is a kind with what belongs to it.
type shape struct {
	kind   kind
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
	anyShape    = &shape{kind: kindAny}
	flagShape   = &shape{kind: kindFlag}
	wholeShape  = &shape{kind: kindWhole}
	amountShape = &shape{kind: kindAmount}
	textShape   = &shape{kind: kindText}
	timeShape   = &shape{kind: kindTime}
	spanShape   = &shape{kind: kindSpan}
	nilShape    = &shape{kind: kindNil}
	textList    = &shape{kind: kindList, elem: textShape}
)

// words names the shape in the sentence "cart.total is …".
func (s *shape) words() string {
	switch s.kind {
	case kindFlag:
		return "true or false"
	case kindWhole:
		return "a number"
	case kindAmount:
		return "an amount"
	case kindText:
		return "text"
	case kindTime:
		return "a time"
	case kindSpan:
		return "a length of time"
	case kindList:
		return "a list"
	case kindTable:
		return "a table of texts"
	case kindObject:
		return s.noun
	case kindNil:
		return "nil"
	default:
		return "a value of the payload"
	}
}

func (s *shape) number() bool { return s.kind == kindWhole || s.kind == kindAmount }

// scalar reports whether the shape can be printed into a message.
func (s *shape) scalar() bool { return s.kind <= kindSpan }

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
	s := &shape{kind: kindObject, noun: nouns[t], fields: map[string]field{}}
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
		return field{shape: &shape{kind: kindList, elem: textShape, tags: true}, read: func(o any) any { return *at(o).(*nudgewire.Tags) }}
	case reflect.TypeFor[[]nudgewire.Item]():
		return field{shape: &shape{kind: kindList, elem: objectShape(reflect.TypeFor[nudgewire.Item]())}, read: func(o any) any { return *at(o).(*[]nudgewire.Item) }}
	case reflect.TypeFor[map[string]string]():
		return field{shape: &shape{kind: kindTable, elem: textShape}, read: func(o any) any { return *at(o).(*map[string]string) }}
	default:
		panic("triggers: no reader for field " + f.Name + " of type " + f.Type.String())
	}
}
