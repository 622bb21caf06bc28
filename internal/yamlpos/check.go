package yamlpos

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// A rule is one of a field's validate tag: "oneof" with "live shadow off".
type rule struct{ name, param string }

// readRules takes the validate tag apart. A rule that check has no words for is a mistake in the
// program, and is found when the field's struct is first looked at.
func (f *field) readRules(tag string) {
	for text := range strings.SplitSeq(tag, ",") {
		name, param, _ := strings.Cut(text, "=")
		switch name {
		case "":
			continue
		case "required":
			f.required = true
			continue
		case "oneof":
			f.enum = strings.Fields(param)
		case "min":
			f.min = param
		case "max":
			f.max = param
		default:
			if _, known := ruleWords[name]; !known {
				panic(fmt.Sprintf("yamlpos: rule %q of %s has no words", name, f.name))
			}
		}
		f.rules = append(f.rules, rule{name, param})
	}
}

// ruleWords are what is said of a text that breaks a rule, and the hint; "" is to write it like the
// field's example. (The rules that need more than the text have their words in check.)
var ruleWords = map[string]struct{ msg, hint string }{
	"http_url": {"is not a web address", ""},
	"timezone": {"is not a time zone", "write an IANA name, such as Europe/London or America/New_York"},
	"country":  {"is not a country", "write the two letters of ISO 3166, such as GB"},
	"language": {"is not a language code", "write it as the template has it, such as en or pt_BR"},
	"url_path": {"is not a path", "write what follows base_url, such as /send-message"},
}

// engine has the rules of the library and three of ours: a country is one that has phone numbers, and
// the library's bcp47_language_tag knows no pt_BR.
var engine = func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	for name, holds := range map[string]func(text string) bool{
		"country":  func(text string) bool { return phones.IsCountry(strings.ToUpper(text)) },
		"language": IsLanguage,
		"url_path": regexp.MustCompile(`^(/[A-Za-z0-9._~-]*[A-Za-z0-9_~-])+$`).MatchString,
	} {
		if err := v.RegisterValidation(name, func(f validator.FieldLevel) bool { return holds(f.Field().String()) }); err != nil {
			panic(err) // a name that the library cannot take
		}
	}
	return v
}()

var language = regexp.MustCompile(`^[a-z]{2,3}([_-][A-Za-z0-9]{2,8})*$`)

// IsLanguage reports whether the text may be the code of a template's language: en, pt_BR, zh-Hant.
func IsLanguage(text string) bool { return len(text) <= maxLanguage && language.MatchString(text) }

// maxLanguage is longer than any code that is in use; the regexp alone takes any number of parts.
const maxLanguage = 35

func broken(value any, rule string) bool { return engine.Var(value, rule) != nil }

// check holds a decoded value against the rules of its field, one by one, so that each fault has its
// position and words.
func (n *Node) check(v reflect.Value, f field) {
	if n.kind != Scalar {
		return
	}
	for _, r := range f.rules {
		switch r.name {
		case "oneof":
			if broken(n.text, "oneof="+r.param) {
				n.Report(fmt.Sprintf("%q is not known here", n.text), f.enumHint(n.text))
				return
			}
		case "min", "max":
			n.checkBound(v, f, r)
		default:
			if broken(n.text, r.name) {
				words := ruleWords[r.name]
				switch {
				case words.hint == "":
					words.hint = "write it like " + f.example
				case r.name == "country" && strings.EqualFold(n.text, "UK"):
					words.hint = `did you mean "GB"?`
				case r.name == "timezone":
					words.hint = zoneHint(n.text, words.hint)
				}
				n.Report(n.quoted()+words.msg, words.hint)
				return
			}
		}
	}
}

// zoneHint names the zone of a place that was written alone or in another case; a shift from UTC has no summer time, so it is no zone.
func zoneHint(text, otherwise string) string {
	if shiftFromUTC.MatchString(text) {
		return "a zone is a place, because of its summer time: " + otherwise
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '_' })
	for i, word := range words {
		parts := strings.Split(strings.ToLower(word), "/")
		for j, part := range parts {
			if part != "" {
				parts[j] = strings.ToUpper(part[:1]) + part[1:]
			}
		}
		words[i] = strings.Join(parts, "/")
	}
	place := strings.Join(words, "_")
	for _, area := range []string{"", "Europe/", "America/", "Asia/", "Africa/", "Australia/", "Pacific/", "Atlantic/", "Indian/"} {
		if place != "" && !broken(area+place, "timezone") {
			return fmt.Sprintf("did you mean %q?", area+place)
		}
	}
	return otherwise
}

var shiftFromUTC = regexp.MustCompile(`^(?i:utc|gmt)?[+-]\d`)

// quoted begins a sentence with the text, unless it may be an address with a password in it.
func (n *Node) quoted() string {
	if strings.Contains(n.text, "@") {
		return ""
	}
	return strconv.Quote(n.text) + " "
}

// checkBound holds a number or a quantity against a bound in the field's own notation.
func (n *Node) checkBound(v reflect.Value, f field, r rule) {
	got, ok := number(v)
	if !ok || !broken(got, r.name+"="+strconv.FormatFloat(bound(v.Type(), r.param), 'f', -1, 64)) {
		return
	}
	than := "less"
	if r.name == "max" {
		than = "more"
	}
	n.Report(fmt.Sprintf("%q is %s than %s", n.text, than, r.param), f.rangeHint())
}

func (f field) enumHint(text string) string {
	all := strings.Join(f.enum, ", ")
	if near := nearest.Of(text, f.enum); near != "" {
		return fmt.Sprintf("did you mean %q? It is one of %s", near, all)
	}
	return "write one of " + all
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
		for _, part := range listOf(text) {
			n.items = append(n.items, &Node{doc: d, kind: Scalar, text: part, raw: part})
		}
	}
	n.into(v, field{})
	if len(d.problems) > 0 {
		panic(fmt.Sprintf("yamlpos: tag %q of %s: %s", text, t, d.problems[0].Msg))
	}
	return v
}

// listOf are the items of a list in a tag.
func listOf(text string) []string {
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
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
