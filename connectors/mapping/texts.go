package mapping

import (
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Senders write a list of texts in many shapes. Read are
//
//	["vip", "north"]                     texts, numbers
//	[{"name": "vip"}, {"name": "north"}] objects with a name (textNames)
//	{"data": [...]}                      a list in an object (wrapNames), also as nodes or edges
//	{"0": "vip", "2": "north"}           an object whose names are numbers, as PHP writes lists with holes
//	{"name": "vip"}                      one object
//	"vip, north", "vip;north"            one text, between , or ;
//	"[\"vip\"]"                          the JSON of a list as a text
//	["vip, north"]                       a list of one text, as relays wrap single values
//
// Anything else is unreadable, and is named: a list that nobody can read is no empty one.

// textNames are the members of an object that stand for it, the first that it has.
var textNames = []string{"name", "title", "label", "tag", "value", "text"}

// wrapNames are the members of an object that hold a list.
var wrapNames = []string{"data", "items", "nodes", "edges", "values", "results", "tags", "list"}

// listOfTexts is what the expression leads to as a list; unread is what of it cannot be read, "" for nothing.
func (e *Expr) listOfTexts(v *View) (out messaging.Tags, unread string) {
	if e.From != FromItem && e.From != FromRoot {
		return splitTexts(e.Text(v)), ""
	}
	if e.Named(v) == "" || e.When != nil && !e.When.Holds(v) {
		return nil, ""
	}
	return e.textsFound(v)
}

func (e *Expr) textsFound(v *View) (out messaging.Tags, unread string) {
	several := slices.ContainsFunc(e.Path.Steps, func(s step) bool { return s.kind == stepEvery })
	for raw := range e.Every(v) {
		if several && raw[0] == '"' { // one of many
			if text := e.piped(strings.TrimSpace(rawjson.Text(raw))); text != "" {
				out = append(out, text)
			}
			continue
		}
		texts, read := readTexts(raw, 0)
		if !read {
			return nil, raw
		}
		for _, text := range texts {
			if text = e.piped(text); text != "" {
				out = append(out, text)
			}
		}
	}
	if raw := e.Named(v); several && len(out) == 0 && raw != "" && !hollow(raw) {
		return nil, raw // there is a list, and what is looked for in its entries is not in them
	}
	return out, ""
}

// maxWraps bounds how deep a list may lie in objects and texts.
const maxWraps = 4

// readTexts reads a list of texts; read is false for a shape that is none of those above.
func readTexts(raw string, depth int) (out messaging.Tags, read bool) {
	if depth > maxWraps {
		return nil, false
	}
	switch {
	case hollow(raw):
		return nil, true
	case raw[0] == '"':
		text := strings.TrimSpace(rawjson.Unquote(raw))
		if (text[0] == '[' || text[0] == '{') && rawjson.Check(text) == nil {
			return readTexts(text, depth+1)
		}
		return splitTexts(text), true
	case raw[0] == '{':
		texts, ok := readObject(raw, depth)
		if len(texts) == 1 { // alone, its text may hold several
			texts = splitTexts(texts[0])
		}
		return texts, ok
	case raw[0] != '[':
		text := rawjson.Text(raw)
		if text == "true" || text == "false" {
			return nil, false
		}
		return messaging.Tags{text}, true
	}
	if one := rawjson.Only(raw); one != "" {
		return readTexts(one, depth+1)
	}
	for one := range rawjson.Elements(raw) {
		switch {
		case hollow(one):
		case one[0] == '"':
			out = append(out, strings.TrimSpace(rawjson.Unquote(one)))
		case one[0] == '[':
			return nil, false
		default:
			texts, ok := readEntry(one, depth+1)
			if !ok {
				return nil, false
			}
			out = append(out, texts...)
		}
	}
	return out, true
}

// readEntry reads an entry of a list of several, whose text is one, whatever it holds.
func readEntry(raw string, depth int) (messaging.Tags, bool) {
	if raw[0] == '{' {
		return readObject(raw, depth)
	}
	return readTexts(raw, depth)
}

// readObject reads an object that is an entry, that wraps a list, or that is a list by numbers.
func readObject(raw string, depth int) (out messaging.Tags, read bool) {
	for _, name := range textNames {
		if value := rawjson.Member(raw, name); value != "" && value[0] != '{' && value[0] != '[' {
			text := strings.TrimSpace(rawjson.Text(value))
			return messaging.Tags{text}, text != ""
		}
	}
	if node := rawjson.Member(raw, "node"); node != "" && node[0] == '{' {
		return readObject(node, depth+1)
	}
	for _, name := range wrapNames {
		if list := rawjson.Member(raw, name); list != "" && list[0] == '[' {
			return readTexts(list, depth+1)
		}
	}
	for name, value := range rawjson.Members(raw) {
		if strings.Trim(name, "0123456789") != "" {
			return nil, false
		}
		texts, ok := readTexts(value, depth+1)
		if !ok {
			return nil, false
		}
		out = append(out, texts...)
	}
	return out, true
}

// splitTexts reads one text that holds several, between , or ; or on lines.
func splitTexts(text string) (out messaging.Tags) {
	for one := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}
