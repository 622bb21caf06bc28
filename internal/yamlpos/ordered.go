package yamlpos

import "reflect"

// An Ordered is a mapping that keeps the order of the file and the positions of its keys.
type Ordered[T any] []Entry[T]

// An Entry is one key of an Ordered with its value. Line and Col are those of the key.
type Entry[T any] struct {
	Key       string
	Value     T
	Line, Col int
}

// DecodeYAML reads a mapping. A value that does not fit stays empty.
func (o *Ordered[T]) DecodeYAML(n *Node) {
	if !n.is(Mapping) {
		return
	}
	*o = make(Ordered[T], len(n.fields))
	for i, f := range n.fields {
		e := &(*o)[i]
		e.Key = f.Key
		e.Line, e.Col = f.KeyNode.Pos()
		f.Value.into(reflect.ValueOf(&e.Value).Elem(), field{})
	}
}

// Get is the value under key; ok is false where there is none.
func (o Ordered[T]) Get(key string) (value T, ok bool) {
	for _, e := range o {
		if e.Key == key {
			return e.Value, true
		}
	}
	return value, false
}

// elem is the type of the values, for Schema and Reference.
func (o Ordered[T]) elem() reflect.Type { return reflect.TypeFor[T]() }

// each visits the values in the order of the file, for Effective.
func (o Ordered[T]) each(visit func(key string, v reflect.Value)) {
	for i := range o {
		visit(o[i].Key, reflect.ValueOf(&o[i].Value).Elem())
	}
}
