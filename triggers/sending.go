package triggers

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/expressions"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// A sending is Send compiled.
type sending struct {
	template  string
	campaign  string
	language  *expressions.Template
	variables []*expressions.Template
	media     string // image, video, document; "" for no header
	address   *expressions.Template
	filename  *expressions.Template
	text      *expressions.Template
}

func (b *builder) template(path, text string) *expressions.Template {
	t, faults := expressions.CompileTemplate(text)
	b.faults(path, faults)
	return t
}

// fixedText is a text that may not hold {{ }}.
func (b *builder) fixedText(path, text string) string {
	if i := strings.Index(text, "{{"); i >= 0 {
		b.report(path, i, "name it in plain letters; use several triggers for several of them", "it cannot depend on the event")
	}
	return text
}

func (b *builder) send(given Send) sending {
	var ways []string
	for _, w := range []struct{ key, text string }{{"template", given.Template}, {"campaign", given.Campaign}, {"text", given.Text}} {
		if w.text != "" {
			ways = append(ways, w.key)
		}
	}
	if len(ways) == 0 {
		b.report("send", 0, "name a template, a campaign or a text", "there is nothing to send")
	} else if len(ways) > 1 {
		b.report("send."+ways[1], 0, "keep one of them; write a trigger for each", "%s cannot be sent together", strings.Join(ways, " and "))
	}
	s := sending{template: b.fixedText("send.template", given.Template), campaign: b.fixedText("send.campaign", given.Campaign)}
	if given.Text != "" {
		s.text = b.template("send.text", given.Text)
		if !b.env.TextAllowed {
			b.report("send.text", 0, "set api.text_path to the path of the service's text endpoint", "plain texts cannot be sent: their endpoint is not known")
		}
	}
	for i, text := range given.Variables {
		path := fmt.Sprintf("send.variables[%d]", i)
		s.variables = append(s.variables, b.template(path, text))
		if hint := slip(text); hint != "" {
			b.warn(path, hint, "%q is sent as it is written", text)
		}
	}
	if given.Template == "" && len(ways) > 0 {
		b.onlyTemplates(given)
	}
	if s.template != "" {
		language := cmp.Or(given.Language, b.env.Language)
		if language == "" {
			b.report("send.template", 0, "set send.language or defaults.language", "the template's language is not known")
		}
		s.language = b.template("send.language", language)
	}
	if given.Header != nil {
		b.header(&s, *given.Header)
	}
	return s
}

// foreignMark is how other template languages mark a value: { name }, %name%, {% if %}, $name, [name].
var foreignMark = regexp.MustCompile(`^\s*(\{%.*%\}|\{[^{}]+\}|%[A-Za-z_.]+%|\$\{?[A-Za-z_.]+\}?|\[[A-Za-z_.]+\]|<[A-Za-z_.]+>)\s*$`)

// slip is the cure for a variable without {{ }} that was surely meant to have one, "" for others.
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
func (b *builder) onlyTemplates(given Send) {
	for _, p := range []struct {
		key     string
		written bool
	}{{"variables", len(given.Variables) > 0}, {"language", given.Language != ""}, {"header", given.Header != nil}} {
		if p.written {
			b.report("send."+p.key, 0, "remove it, or name a template", "%s belongs to a template, and there is none", p.key)
		}
	}
}

func (b *builder) header(s *sending, given Header) {
	var media []string
	for _, m := range []struct{ kind, text string }{{"image", given.Image}, {"video", given.Video}, {"document", given.Document}} {
		if m.text == "" {
			continue
		}
		media = append(media, m.kind)
		path := "send.header." + m.kind
		s.media, s.address = m.kind, b.template(path, m.text)
		if !s.address.Constant() {
			continue
		}
		if err := Fetchable(m.text); err != nil {
			b.report(path, 0, "write an address such as https://shop.example/picture.jpg", "%v", err)
		} else if !strings.HasPrefix(strings.ToLower(m.text), "https:") {
			b.warn(path, "write https:// where the server has it", "%q is not encrypted, and a messaging network may not fetch it", m.text)
		}
	}
	switch {
	case len(media) == 0:
		b.report("send.header", 0, "write {image: …}, {video: …} or {document: …}", "the header has no media")
	case len(media) > 1:
		b.report("send.header."+media[1], 0, "keep one of them", "a template has one header, and here are %s", strings.Join(media, " and "))
	}
	if given.Filename == "" {
		return
	}
	s.filename = b.template("send.header.filename", given.Filename)
	if given.Document == "" {
		b.report("send.header.filename", 0, "remove it", "only a document has a file name")
	}
}

// Fetchable is why the messaging service cannot fetch an address; nil where its text says nothing
// against it. No name is resolved.
func Fetchable(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%q is not a web address", plain.Crop(text, 100))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("%q is not an absolute http or https address", plain.Crop(text, 100))
	}
	if !netguard.PublicHost(u.Hostname()) {
		return fmt.Errorf("%q cannot be fetched from outside: its host is not one of the public internet", plain.Crop(text, 100))
	}
	return nil
}
