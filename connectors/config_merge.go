package connectors

import (
	"reflect"
	"slices"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/optout"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// over is what a user's entry makes of the preset it starts from: what it sets replaces the
// preset's, field by field; maps are joined key by key.
func (c Config) over(base Config) Config {
	out := base
	lay(&out, &c)
	if c.Body.Accept != nil { // [] takes anything
		out.Body.Accept = c.Body.Accept
	}
	if c.RejectIf != nil { // [] lifts those of the preset
		out.RejectIf = c.RejectIf
	}
	if c.Requires != nil { // likewise
		out.Requires = c.Requires
	}
	// The user's rules are asked first, the preset's afterwards.
	out.Event.Kinds = append(slices.Clone(c.Event.Kinds), base.Event.Kinds...)
	out.Event.Aliases = joined(c.Event.Aliases, base.Event.Aliases)
	out.Kinds = append(slices.Clone(c.Kinds), base.Kinds...)
	out.before = append(base.layers(), base.before...)
	out.Map, out.MapFor = c.Map, c.MapFor
	return out
}

// lay puts the fields that are set in set, if any, over those of out. Lists without entries set
// nothing.
func lay[T any](out, set *T) {
	if set != nil {
		layFields(reflect.ValueOf(out).Elem(), reflect.ValueOf(set).Elem())
	}
}

func layFields(out, set reflect.Value) {
	for i := range set.NumField() {
		if set.Type().Field(i).IsExported() {
			layField(out.Field(i), set.Field(i))
		}
	}
}

func layField(out, set reflect.Value) {
	switch {
	case set.Kind() == reflect.Pointer && !set.IsNil() && !out.IsNil() && mergeable(set.Elem()):
		merged := reflect.New(out.Type().Elem()) // the preset's own stays as it is
		merged.Elem().Set(out.Elem())
		layFields(merged.Elem(), set.Elem())
		out.Set(merged)
	case mergeable(set):
		layFields(out, set)
	case set.IsZero() || set.Kind() == reflect.Slice && set.Len() == 0:
	default:
		out.Set(set)
	}
}

// mergeable reports whether v is a struct of this package that changes another one in part. One that
// chooses (a kind, what holds a time, an answer) replaces it: half of another scheme would be no
// scheme.
func mergeable(v reflect.Value) bool {
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[Config]().PkgPath() {
		return false
	}
	switch v := v.Interface().(type) {
	case Verify:
		return v.Kind == "" && len(v.AnyOf)+len(v.AllOf) == 0
	case Timestamp:
		return v.Header == "" && v.List == "" && v.Body == ""
	case Signature, URLRule, ReplyRule, optout.OptOut:
		return false
	}
	return true
}

// joined is base with the entries of set in place of those with the same key.
func joined[T any](set, base yamlpos.Ordered[T]) yamlpos.Ordered[T] {
	out := slices.Clone(base)
next:
	for _, e := range set {
		for i := range out {
			if out[i].Key == e.Key {
				out[i] = e
				continue next
			}
		}
		out = append(out, e)
	}
	return out
}

// layers are the entry's own ones, without those of its preset.
func (c *Config) layers() []mapping.Layer {
	var out []mapping.Layer
	if len(c.Map) > 0 {
		out = append(out, mapping.Layer{Path: "map", Mapping: c.Map})
	}
	for _, e := range c.MapFor {
		out = append(out, mapping.Layer{Path: "map_for." + e.Key, Pattern: e.Key, Mapping: e.Value})
	}
	return out
}
