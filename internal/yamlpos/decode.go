package yamlpos

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A Decoder decodes itself from a node and reports what is wrong with it there. It is not
// called for values that are missing or null.
type Decoder interface{ DecodeYAML(n *Node) }

// Decode reads the one document of src into the struct v points to, by its yaml tags. It
// reports every fault it can find in one pass; what could be decoded is in v all the same.
//
// Tags of a field: yaml:"name", yaml:",inline" for embedded structs; doc:"one sentence";
// default:"text" for a key that is absent (items of a list separated by commas); example:"text";
// validate:"…" with rules of go-playground/validator/v10, for the value or for each item of a list:
// required, oneof=a b, min=1s,max=1h in the field's own notation, and those of ruleWords.
//
// A type with DecodeYAML(*Node) decodes itself; encoding.TextUnmarshaler is used for scalars.
// A pointer stays nil, and a map or list empty, when its key is absent; a struct gets the
// defaults of its fields. A single value is taken for a list of one. The Doc is never nil and
// takes further reports; Doc.Problems has these and the returned ones.
func Decode(file string, src []byte, v any) (*Doc, Problems) { return Options{}.Decode(file, src, v) }

// Decode is the function Decode with options.
func (o Options) Decode(file string, src []byte, v any) (*Doc, Problems) {
	d := o.Parse(file, src)
	if d.root != nil {
		d.root.Decode(v)
	}
	return d, d.Problems()
}

// Decode reads n into the value v points to and reports what does not fit.
func (n *Node) Decode(v any) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		panic(fmt.Sprintf("yamlpos: Decode into %T, wants a pointer", v))
	}
	n.into(target.Elem(), field{})
}

var (
	nodeType    = reflect.TypeFor[*Node]()
	decoderType = reflect.TypeFor[Decoder]()
	textType    = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// into decodes n into v; f holds the checks that came with the field.
func (n *Node) into(v reflect.Value, f field) {
	t := v.Type()
	if t == nodeType {
		v.Set(reflect.ValueOf(n))
		return
	}
	if n.failed {
		return // its problem is reported already, and its text is not the real one
	}
	if t.Kind() == reflect.Pointer && !reflect.PointerTo(t).Implements(decoderType) {
		if n.kind == Null {
			return
		}
		p := reflect.New(t.Elem())
		n.into(p.Elem(), f)
		v.Set(p)
		return
	}
	switch {
	case reflect.PointerTo(t).Implements(decoderType):
		setDefaults(v)
		if n.kind == Null {
			n.noValue()
			return
		}
		v.Addr().Interface().(Decoder).DecodeYAML(n)
		n.check(v, f)
	case reflect.PointerTo(t).Implements(textType):
		if n.wantScalar() {
			n.byText(v, f)
		}
	default:
		n.byKind(v, f)
	}
}

func (n *Node) byKind(v reflect.Value, f field) {
	switch t := v.Type(); t.Kind() {
	case reflect.Struct:
		n.intoStruct(v)
	case reflect.Map:
		n.intoMap(v, f)
	case reflect.Slice:
		n.intoSlice(v, f)
	case reflect.Interface:
		if plain := n.plain(); plain != nil {
			v.Set(reflect.ValueOf(plain))
		}
	default:
		if n.wantScalar() && n.byBasic(v) {
			n.check(v, f)
			n.checkWritten(v)
		}
	}
}

// wantScalar reports whether n is a single value, and says so where it is not.
func (n *Node) wantScalar() bool {
	if n.kind == Null {
		n.noValue()
	}
	return n.is(Scalar)
}

func (n *Node) noValue() {
	n.Report("has no value", "give it one, or remove the line")
}

// is reports whether n is of kind k, and says so where it is of another one that is not Null.
func (n *Node) is(k Kind) bool {
	if n.kind == k || n.kind == Null {
		return n.kind == k
	}
	hint := ""
	switch {
	case k == Sequence:
		hint = "begin each item with \"- \", or write [a, b]"
	case k == Mapping && n.kind == Sequence:
		hint = "write \"key: value\" lines, without \"- \""
	case k == Mapping:
		hint = "write \"key: value\" lines, indented below it"
	}
	n.Report(fmt.Sprintf("wants %s, has %s", k, n.kind), hint)
	return false
}

func (n *Node) byText(v reflect.Value, f field) {
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.text)); err != nil {
		msg, hint := words(err)
		n.Report(msg, hint)
		return
	}
	n.check(v, f)
	n.checkWritten(v)
}

// byBasic decodes into Go's own kinds and reports whether it could.
func (n *Node) byBasic(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.text)
	case reflect.Bool:
		b, ok := truth(n.text)
		if !ok {
			n.Report(fmt.Sprintf("%q is neither true nor false", n.text), "write true or false")
			return false
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(n.text, 10, v.Type().Bits())
		if err != nil {
			n.Report(fmt.Sprintf("%q is not a whole number", n.text), "write digits only")
			return false
		}
		v.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		u, err := strconv.ParseUint(n.text, 10, v.Type().Bits())
		if err != nil {
			n.Report(fmt.Sprintf("%q is not a whole number from 0", n.text), "write digits only")
			return false
		}
		v.SetUint(u)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(n.text, v.Type().Bits())
		if err != nil || f != f || f-f != 0 {
			n.Report(fmt.Sprintf("%q is not a number", n.text), "write it as 2 or 2.5")
			return false
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("yamlpos: cannot decode into %s", v.Type()))
	}
	return true
}

// truth reads the words for a bool; case does not count.
func truth(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	default:
		return false, false
	}
}

func (n *Node) intoStruct(v reflect.Value) {
	setDefaults(v)
	if !n.is(Mapping) && n.kind != Null { // a section with nothing in it has its defaults
		return
	}
	fields := fieldsOf(v.Type())
	known := map[string]field{}
	for _, f := range fields {
		known[f.name] = f
	}
	n.doc.around = append(n.doc.around, section{n.path, fields})
	defer func() { n.doc.around = n.doc.around[:len(n.doc.around)-1] }()
	given := map[string]bool{}
	for i := 0; i < len(n.fields); i++ {
		at := n.fields[i]
		f, ok := known[at.Key]
		if !ok {
			n.doc.unknownKey(at, names(fields))
			continue
		}
		given[f.name] = true
		if below := n.notIndented(i, f, known); below > 0 {
			line, col := n.fields[i+1].KeyNode.Pos()
			n.doc.report(Problem{
				Line: line, Col: col, Path: at.KeyNode.path, Code: Syntax,
				Msg: fmt.Sprintf("has nothing below it, and %s belongs there", n.fields[i+1].Key), Hint: "indent this line, and those that belong to it, by two spaces more",
			})
			i += below
			continue
		}
		at.Value.into(v.FieldByIndex(f.index), f)
	}
	for _, f := range fields {
		if f.required && !given[f.name] {
			n.missing(f)
		}
	}
}

// A section is a struct that is being decoded.
type section struct {
	path   string
	fields []field
}

// notIndented counts the keys behind an empty section that belong into it: those that only it knows, or that have keys of their own and
// follow a section of names, such as rules behind "triggers:".
func (n *Node) notIndented(i int, f field, known map[string]field) (count int) {
	if n.fields[i].Value.kind != Null {
		return 0
	}
	for _, at := range n.fields[i+1:] {
		if _, here := known[at.Key]; here || !f.takes(at) {
			break
		}
		count++
	}
	return count
}

// takes reports whether a key may stand in the section f.
func (f field) takes(at Field) bool {
	t := f.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(textType):
		return slices.Contains(names(fieldsOf(t)), at.Key)
	case t.Kind() == reflect.Map, t.Kind() == reflect.Slice && reflect.PointerTo(t).Implements(decoderType): // as ordered sections are
		return at.Value.kind == Mapping || at.Value.kind == Null
	default:
		return false
	}
}

// missing reports a required key at the key above it, where the section begins.
func (n *Node) missing(f field) {
	hint := "add it"
	if f.example != "" {
		hint = "add " + f.name + ": " + f.example
	}
	line, col := n.keyOrSelf().Pos()
	n.doc.report(Problem{Line: line, Col: col, Path: Join(n.path, f.name), Msg: "is missing", Hint: hint, Code: MissingKey})
}

func (d *Doc) unknownKey(at Field, known []string) {
	unknown := func(msg, hint string) {
		line, col := at.KeyNode.Offset(-1)
		at.KeyNode.doc.report(Problem{Line: line, Col: col, Path: at.KeyNode.path, Msg: at.KeyNode.conceal(msg), Hint: at.KeyNode.conceal(hint), Code: UnknownKey})
	}
	if d.opts.Unknown != nil {
		if msg, hint := d.opts.Unknown(at.KeyNode.path, at.Key); msg != "" {
			unknown(msg, hint)
			return
		}
	}
	hint, near := d.otherSection(at.Key), nearest.Of(at.Key, known)
	switch {
	case hint != "":
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	case len(known) > 0:
		hint = "known here: " + strings.Join(known, ", ")
	}
	unknown("unknown key", hint)
}

// otherSection names the section around this one that has such a key; "" where none has.
func (d *Doc) otherSection(key string) string {
	for i := len(d.around) - 2; i >= 0; i-- {
		if one := d.around[i]; slices.Contains(names(one.fields), key) {
			if one.path == "" {
				return "it belongs to the top of the file: write it without spaces before it"
			}
			return "it belongs to " + one.path + ": write it with as many spaces as the keys there"
		}
	}
	return ""
}

// UnknownKeys reports every key of the mapping n that is not in known, for types that decode
// themselves.
func (n *Node) UnknownKeys(known ...string) {
	for _, f := range n.fields {
		if !slices.Contains(known, f.Key) {
			n.doc.unknownKey(f, known)
		}
	}
}

func (n *Node) intoMap(v reflect.Value, f field) {
	if !n.is(Mapping) {
		return
	}
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("yamlpos: cannot decode into %s: keys are text", t))
	}
	m := reflect.MakeMapWithSize(t, len(n.fields))
	for _, at := range n.fields {
		one := reflect.New(t.Elem()).Elem()
		at.Value.into(one, f.item())
		m.SetMapIndex(reflect.ValueOf(at.Key).Convert(t.Key()), one)
	}
	v.Set(m)
}

// intoSlice keeps an empty item for one that does not fit, so that the others keep their index.
func (n *Node) intoSlice(v reflect.Value, f field) {
	if one := n.kind == Scalar && takesScalar(v.Type().Elem()); !one && !n.is(Sequence) {
		return
	}
	items := n.Items()
	s := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		item.into(s.Index(i), f.item())
	}
	v.Set(s)
}

// item is what the checks of a list or map say about each of its values.
func (f field) item() field { return field{rules: f.rules, enum: f.enum, min: f.min, max: f.max} }

// pointedTo is the type behind the pointers of t, except for *Node.
func pointedTo(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer && t != nodeType {
		t = t.Elem()
	}
	return t
}

// takesScalar reports whether a type can be decoded from a single value.
func takesScalar(t reflect.Type) bool {
	t = pointedTo(t)
	if p := reflect.PointerTo(t); t == nodeType || p.Implements(decoderType) || p.Implements(textType) {
		return true
	}
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Map && t.Kind() != reflect.Slice
}

// plain is n as Go's own types, for fields of type any: map[string]any, []any, string, bool,
// int64, float64, nil. Numbers that would not come back as they were written stay text.
func (n *Node) plain() any {
	switch n.kind {
	case Mapping:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.Key] = f.Value.plain()
		}
		return m
	case Sequence:
		s := make([]any, len(n.items))
		for i, item := range n.items {
			s[i] = item.plain()
		}
		return s
	case Null:
		return nil
	}
	if n.style != plainStyle || n.Expanded() {
		return n.text
	}
	if b, err := strconv.ParseBool(n.text); err == nil && n.tag == "!!bool" {
		return b
	}
	if i, err := strconv.ParseInt(n.text, 10, 64); err == nil && strconv.FormatInt(i, 10) == n.text {
		return i
	}
	if f, err := strconv.ParseFloat(n.text, 64); err == nil && strconv.FormatFloat(f, 'f', -1, 64) == n.text {
		return f
	}
	return n.text
}
