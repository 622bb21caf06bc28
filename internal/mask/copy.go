package mask

import (
	"encoding"
	"reflect"
	"sync"
	"time"
)

// Copy is a copy of v as JSON would bring it to another process: whoever changes one does not change the other, and what JSON leaves out of
// a struct is empty.
func Copy[T any](v T) T {
	out := reflect.ValueOf(&v).Elem()
	if detach := detaching(out.Type()); detach != nil {
		detach(out)
	}
	return v
}

var detachings sync.Map // by reflect.Type: a type is looked at once

// detaching replaces what a value of a type points to by copies; nil where there is nothing to replace.
func detaching(t reflect.Type) plan {
	if known, ok := detachings.Load(t); ok {
		return known.(plan)
	}
	made := copying{}.of(t)
	detachings.Store(t, made)
	return made
}

// copying has the types that are being looked at, as planning has.
type copying map[reflect.Type]bool

func (c copying) of(t reflect.Type) plan {
	if t == reflect.TypeFor[time.Time]() || t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Interface:
		return func(v reflect.Value) {
			if v.IsNil() {
				return
			}
			out := reflect.New(v.Elem().Type()).Elem()
			out.Set(v.Elem())
			if detach := detaching(out.Type()); detach != nil {
				detach(out)
			}
			v.Set(out)
		}
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		one := c.of(t.Elem())
		if one == nil && t.Kind() == reflect.Array {
			return nil
		}
		if one == nil {
			one = func(reflect.Value) {}
		}
		return all(t.Kind(), one)
	case reflect.Struct:
		if c[t] { // it has one of itself in it
			return func(v reflect.Value) {
				if detach := detaching(t); detach != nil {
					detach(v)
				}
			}
		}
		c[t] = true
		defer delete(c, t)
		return c.fields(t)
	}
	return nil
}

func (c copying) fields(t reflect.Type) plan {
	detach := map[int]plan{}
	for f := range t.Fields() {
		switch {
		case f.IsExported() && f.Tag.Get("json") == "-":
			detach[f.Index[0]] = func(v reflect.Value) { v.SetZero() }
		case f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct:
			if one := c.of(f.Type); one != nil {
				detach[f.Index[0]] = one
			}
		}
	}
	if len(detach) == 0 {
		return nil
	}
	return func(v reflect.Value) {
		for i, one := range detach {
			one(v.Field(i))
		}
	}
}
