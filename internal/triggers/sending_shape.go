package triggers

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/expressions"
)

// An Owner is who a Send belongs to, for the words about it: a trigger, which sees an event, or a job,
// which sees a row.
type Owner struct {
	Noun, Sees string
	Knows      func(name string) bool // whether a value may begin with a name; nil for any
}

// A shape gathers what is wrong with a Send whatever its {{ }} give.
type shape struct {
	owner    Owner
	problems []Problem
}

func (s *shape) bad(path string, offset int, hint, format string, args ...any) {
	s.problems = append(s.problems, Problem{Path: path, Offset: offset, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

func (s *shape) warn(path, hint, format string, args ...any) {
	s.bad(path, 0, hint, format, args...)
	s.problems[len(s.problems)-1].Warning = true
}

// Faults are what is wrong with a Send whatever its {{ }} give: more than one thing to send, a header
// of two kinds, an address that nobody can fetch. The paths are within the Send: "header.image". What
// is in {{ }} is not looked at.
func (given Send) Faults(of Owner, textAllowed bool) []Problem {
	s := &shape{owner: of}
	var ways []string
	for _, w := range []struct{ key, text string }{{"template", given.Template}, {"campaign", given.Campaign}, {"text", given.Text}} {
		if w.text != "" {
			ways = append(ways, w.key)
		}
	}
	if len(ways) == 0 {
		s.bad("", 0, "name a template, a campaign or a text", "there is nothing to send")
	} else if len(ways) > 1 {
		s.bad(ways[1], 0, "keep one of them; write a "+of.Noun+" for each", "%s cannot be sent together", strings.Join(ways, " and "))
	}
	s.fixed("template", given.Template)
	s.fixed("campaign", given.Campaign)
	if given.Text != "" && !textAllowed {
		s.bad("text", 0, "set api.text_path to the path of the service's text endpoint", "plain texts cannot be sent: their endpoint is not known")
	}
	for i, text := range given.Variables {
		if hint := slip(text); hint != "" {
			s.warn(fmt.Sprintf("variables[%d]", i), hint, "%q is sent as it is written", text)
		}
	}
	if given.Template == "" && len(ways) > 0 {
		s.onlyTemplates(given)
	}
	if given.Header != nil {
		s.header(*given.Header)
	}
	return s.problems
}

// fixed reports {{ }} in a text that may not hold it.
func (s *shape) fixed(path, text string) {
	if i := strings.Index(text, "{{"); i >= 0 {
		s.bad(path, i, "name it in plain letters; use several "+s.owner.Noun+"s for several of them", "it cannot depend on the %s", s.owner.Sees)
	}
}

// foreignMark is how other template languages mark a value: { name }, %name%, {% if %}, $name, [name].
var foreignMark = regexp.MustCompile(`^\s*(\{%.*%\}|\{[^{}]+\}|%[A-Za-z_.]+%|\$\{?[A-Za-z_.]+\}?|\[[A-Za-z_.]+\]|<[A-Za-z_.]+>)\s*$`)

// name is what may be meant as the name of a value or column.
var name = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_.]*\s*$`)

// slip is the hint for a variable without {{ }} that was surely meant to have one, "" for others.
func slip(text string) (hint string) {
	name := strings.Trim(text, " \t{}%$[]<>")
	first, _, dotted := strings.Cut(name, ".")
	known := expressions.IsName(first)
	switch {
	case strings.Contains(text, "{{"):
		return ""
	case strings.TrimSpace(text) == "":
		return "every variable needs a value, or the service rejects the message; write a text or a {{ value }}"
	case foreignMark.MatchString(text) && known, known && dotted && !strings.ContainsAny(name, " \n"):
		return "for the value write {{ " + name + " }}"
	case foreignMark.MatchString(text):
		return "a value is written {{ customer.first_name }}"
	default:
		return ""
	}
}

// onlyTemplates reports what belongs to a template and is written beside something else.
func (s *shape) onlyTemplates(given Send) {
	for _, p := range []struct {
		key     string
		written bool
	}{{"variables", len(given.Variables) > 0}, {"language", given.Language != ""}, {"header", given.Header != nil}} {
		if p.written {
			s.bad(p.key, 0, "remove it, or name a template", "%s belongs to a template, and there is none", p.key)
		}
	}
}

func (s *shape) header(given Header) {
	var media []string
	for _, m := range given.Media() {
		media = append(media, m.Kind)
		if strings.Contains(m.Address, "{{") {
			continue
		}
		path := "header." + m.Kind
		if err := Fetchable(m.Address); err != nil {
			hint := "write an address such as https://shop.example/picture.jpg"
			first, _, _ := strings.Cut(strings.TrimSpace(m.Address), ".")
			if name.MatchString(m.Address) && (s.owner.Knows == nil || s.owner.Knows(first)) {
				hint = "for the value write {{ " + strings.TrimSpace(m.Address) + " }}; " + hint
			}
			s.bad(path, 0, hint, "%v", err)
		} else if !strings.HasPrefix(strings.ToLower(m.Address), "https:") {
			s.warn(path, "write https:// where the server has it", "%q is not encrypted, and a messaging network may not fetch it", m.Address)
		}
	}
	switch {
	case len(media) == 0:
		s.bad("header", 0, "write {image: …}, {video: …} or {document: …}", "the header has no media")
	case len(media) > 1:
		s.bad("header."+media[1], 0, "keep one of them", "a template has one header, and here are %s", strings.Join(media, " and "))
	}
	if given.Filename != "" && given.Document == "" {
		s.bad("header.filename", 0, "remove it", "only a document has a file name")
	}
}

// A Medium is one address of a header, with {{ }} still in it.
type Medium struct{ Kind, Address string }

// Media are the addresses that are written: image, video, document. A header that is well has one.
func (h Header) Media() (written []Medium) {
	for _, m := range []Medium{{"image", h.Image}, {"video", h.Video}, {"document", h.Document}} {
		if m.Address != "" {
			written = append(written, m)
		}
	}
	return written
}
