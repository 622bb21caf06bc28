package yamlpos

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Effective writes as YAML what Decode made of the document in v, a pointer to the same struct:
// every key that has a value, defaults included, in the order of the fields. Nothing secret is
// in it: types that hide themselves show as they print ("[secret]"), and what came from
// references shows the reference. Aliases and merges are written out; what decodes itself is
// shown as it was written. from, if not nil, names the path whose value an absent key took
// over ("defaults.again" for "triggers.remind.again"), or "".
func (d *Doc) Effective(v any, from func(path string) string) ([]byte, error) {
	return effective{doc: d, from: from}.dump(v, "")
}

// EffectiveEntry is Effective of one entry of a section, below the names of both: of what v, a
// pointer, was decoded to from section.key.
func (d *Doc) EffectiveEntry(section, key string, v any) ([]byte, error) {
	return effective{doc: d}.dump(v, Join(section, key), key, section)
}

// dump writes what v points to, which stands at path, as YAML below the names, the innermost first.
func (d effective) dump(v any, path string, names ...string) ([]byte, error) {
	y := d.value(reflect.ValueOf(v).Elem(), path)
	if y == nil {
		y = &yaml.Node{Kind: yaml.MappingNode}
	}
	for _, name := range names {
		y = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text(name), y}}
	}
	out, err := yaml.Dump(y, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out, nil
}

// An effective turns decoded values back into YAML.
type effective struct {
	doc  *Doc
	from func(path string) string
}

// at is the value that was written for path, there or where it was taken from.
func (d effective) at(path string) *Node {
	n := d.doc.Node(path)
	if n == nil && d.from != nil {
		if other := d.from(path); other != "" {
			return d.doc.Node(other)
		}
	}
	return n
}

// value is the value at path; nil for one that is not worth a line.
func (d effective) value(v reflect.Value, path string) *yaml.Node {
	n := d.at(path)
	t := v.Type()
	for t.Kind() == reflect.Pointer && t != nodeType {
		if v.IsNil() {
			return nil
		}
		v, t = v.Elem(), t.Elem()
	}
	if o, ok := v.Interface().(interface {
		each(visit func(string, reflect.Value))
	}); ok {
		return d.mapping(o.each, path)
	}
	decodes := t == nodeType || reflect.PointerTo(t).Implements(decoderType)
	if n != nil && (decodes || n.kind == Scalar && (n.Expanded() || n.secret)) {
		return n.asWritten()
	}
	if y := marshalled(v); y != nil || decodes {
		return y
	}
	if reflect.PointerTo(t).Implements(textType) {
		return n.asWritten() // it reads itself and does not write itself
	}
	switch t.Kind() {
	case reflect.Struct:
		return d.section(v, path)
	case reflect.Map:
		if n == nil {
			return nil
		}
		return d.mapping(func(visit func(string, reflect.Value)) {
			for _, f := range n.fields { // in the order of the file
				if one := v.MapIndex(reflect.ValueOf(f.Key).Convert(t.Key())); one.IsValid() {
					visit(f.Key, one)
				}
			}
		}, path)
	case reflect.Slice:
		y := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for i := range v.Len() {
			if item := d.value(v.Index(i), index(path, i)); item != nil {
				if item.Kind != yaml.ScalarNode {
					y.Style = 0
				}
				y.Content = append(y.Content, item)
			}
		}
		if v.Len() == 0 {
			return nil
		}
		return y
	case reflect.Interface:
		return n.asWritten()
	case reflect.String:
		return text(v.String())
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v.Interface())}
	}
}

func (d effective) section(v reflect.Value, path string) *yaml.Node {
	y := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v.Type()) {
		at, one := Join(path, f.name), v.FieldByIndex(f.index)
		if one.IsZero() && !f.hasDef && d.at(at) == nil {
			continue // neither written nor set
		}
		value := d.value(one, at)
		if value == nil && f.hasDef && f.def != "" && d.at(at) == nil && reflect.DeepEqual(one.Interface(), fromTag(f.typ, f.def).Interface()) {
			value = text(f.def) // it does not write itself, but the tag says it
		}
		if value != nil {
			y.Content = append(y.Content, text(f.name), value)
		}
	}
	return filled(y)
}

func (d effective) mapping(each func(func(string, reflect.Value)), path string) *yaml.Node {
	y := &yaml.Node{Kind: yaml.MappingNode}
	each(func(key string, v reflect.Value) {
		value := d.value(v, Join(path, key))
		if value == nil {
			value = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		}
		y.Content = append(y.Content, text(key), value)
	})
	return filled(y)
}

// filled is y, or nil when nothing is in it.
func filled(y *yaml.Node) *yaml.Node {
	if len(y.Content) == 0 {
		return nil
	}
	return y
}

// marshalled is a value that writes itself as text; nil when it does not, or has no text.
func marshalled(v reflect.Value) *yaml.Node {
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return nil
	}
	out, err := m.MarshalText()
	if err != nil || len(out) == 0 {
		return nil
	}
	return text(string(out))
}

// text is a scalar that YAML reads back as text, quoted where it would not.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// asWritten is n as it stands in the file, secrets hidden; nil for nothing.
func (n *Node) asWritten() *yaml.Node {
	if n == nil {
		return nil
	}
	switch n.kind {
	case Mapping:
		y := &yaml.Node{Kind: yaml.MappingNode}
		for _, f := range n.fields {
			y.Content = append(y.Content, text(f.Key), f.Value.asWritten())
		}
		return y
	case Sequence:
		y := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.items {
			y.Content = append(y.Content, item.asWritten())
		}
		return y
	case Null:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	if n.secret {
		return text("[secret]")
	}
	_, err := strconv.ParseFloat(n.raw, 64)
	if n.style == plainStyle && (err == nil || n.tag == "!!bool") {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: n.raw} // 50 and not "50"
	}
	return text(n.raw)
}
