package drift

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A Type is what a value is, in JSON's words.
type Type string

// The types. A text without letters and null are told apart from what says something: a field that is only ever empty is as good as gone.
const (
	Text    Type = "text"
	Number  Type = "number"
	Boolean Type = "boolean"
	Object  Type = "object"
	List    Type = "list"
	Empty   Type = "empty"
	Null    Type = "null"
)

// says reports whether a value of the type says anything.
func (t Type) says() bool { return t != Empty && t != Null }

// A Field is a place in the events of a kind, with what stands there. Entries of lists have [] for their number.
type Field struct {
	Path string
	Type Type
}

// Bounds of what is looked at. A payload beyond mostBytes or mostValues is not looked at: what was left out would seem to be gone.
const (
	mostBytes   = 1 << 20
	mostValues  = 10_000
	mostDepth   = 10
	mostEntries = 20  // of a list: the others are taken to be like them
	mostMembers = 150 // of an object: one with more is a table whose names are data
	mostName    = 60  // bytes
)

// anyName is the name that stands for names which are data.
const anyName = "*"

// A shaper gathers the fields of a payload.
type shaper struct {
	known  func(name string) bool // names that the config has written, so they are nobody's data
	about  []string               // words about the contact, in small letters
	found  map[Field]bool
	values int
	cut    bool
}

// Shape is which fields a payload has. known are names of fields that are surely no data; nil for none. ok is false for what is no JSON
// object or list, and for what is too large to be looked at.
func Shape(payload string, contact *messaging.Contact, known func(string) bool) (fields []Field, ok bool) {
	payload = strings.TrimSpace(payload)
	if payload == "" || len(payload) > mostBytes || payload[0] != '{' && payload[0] != '[' || rawjson.Check(payload) != nil {
		return nil, false
	}
	s := shaper{known: known, about: wordsAbout(contact), found: map[Field]bool{}}
	s.inside("", payload, 0)
	if s.cut {
		return nil, false
	}
	for f := range s.found {
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b Field) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(string(a.Type), string(b.Type)))
	})
	return fields, true
}

// wordsAbout are the words by which a name of a field would be about the contact.
func wordsAbout(c *messaging.Contact) (words []string) {
	if c == nil {
		return nil
	}
	local, _, _ := strings.Cut(c.Email, "@")
	for _, text := range []string{c.Name, c.FirstName, c.LastName, local, c.ID} {
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if len(word) >= 2 {
				words = append(words, word)
			}
		}
	}
	return words
}

// inside notes what lies in an object or a list.
func (s *shaper) inside(path, raw string, depth int) {
	if depth >= mostDepth || s.cut {
		return
	}
	if raw[0] == '[' {
		n := 0
		for entry := range rawjson.Elements(raw) {
			if n++; n > mostEntries {
				return
			}
			s.value(mapping.Entries(path), entry, depth+1)
		}
		return
	}
	members := 0
	for range rawjson.Members(raw) {
		members++
	}
	for name, member := range rawjson.Members(raw) {
		if s.isData(name, members) {
			name = anyName
		}
		s.value(mapping.Below(path, name), member, depth+1)
	}
}

// value notes a value and what lies in it.
func (s *shaper) value(path, raw string, depth int) {
	if s.values++; s.values > mostValues {
		s.cut = true
		return
	}
	t := typeOf(raw)
	s.found[Field{path, t}] = true
	if t == Object || t == List {
		s.inside(path, raw, depth)
	}
}

func typeOf(raw string) Type {
	switch raw[0] {
	case '{':
		return Object
	case '[':
		return List
	case '"':
		if strings.TrimSpace(rawjson.Text(raw)) == "" {
			return Empty
		}
		return Text
	case 't', 'f':
		return Boolean
	case 'n':
		return Null
	default:
		return Number
	}
}

// isData reports whether the name of a field may be somebody's data: a number, an id, a phone, an address, a name. Names of fields are words
// as programs write them.
func (s *shaper) isData(name string, members int) bool {
	if s.known != nil && s.known(name) {
		return false
	}
	return members > mostMembers || !isWord(name) || s.isAbout(name)
}

// isWord reports whether a name is a word of a program: letters, a few digits behind them, and what separates words there.
func isWord(name string) bool {
	digits := 0
	for i, r := range name {
		switch {
		case unicode.IsLetter(r):
		case unicode.IsDigit(r):
			if digits++; i == 0 || digits > 3 {
				return false
			}
		case i == 0 && strings.ContainsRune("_$@#", r):
		case i > 0 && strings.ContainsRune("_-.:/$", r):
		default:
			return false
		}
	}
	return name != "" && len(name) <= mostName
}

// isAbout reports whether a word about the contact stands in a name: "ada" in ada_lovelace, and not in canada.
func (s *shaper) isAbout(name string) bool {
	if len(s.about) == 0 {
		return false
	}
	for _, word := range wordsOf(name) {
		if slices.Contains(s.about, word) {
			return true
		}
	}
	return slices.Contains(s.about, strings.ToLower(name))
}

// wordsOf are the words of a name, in small letters: those of firstName, first_name and first-name are first and name.
func wordsOf(name string) (words []string) {
	from, lower := 0, false
	end := func(at int) {
		if at > from {
			words = append(words, strings.ToLower(name[from:at]))
		}
		from = at
	}
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
			from = i + len(string(r))
			lower = false
		case unicode.IsUpper(r) && lower:
			end(i)
			lower = false
		default:
			lower = !unicode.IsUpper(r)
		}
	}
	end(len(name))
	return words
}
