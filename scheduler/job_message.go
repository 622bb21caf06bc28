package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Message is what each row is sent as: a template, a campaign or a text. What differs from row to row
// has {{ }} over the columns.
type Message struct {
	Template string         `yaml:"template" doc:"Name of an approved template; its variables are var_1 and so on of columns." example:"winback"`
	Language string         `yaml:"language" doc:"Language code of the template, or a column that has each row's: '{{ lang | default: \"en\" }}'. Default: defaults.language." example:"en"`
	Header   *Header        `yaml:"header" doc:"Media above the template's text."`
	Campaign string         `yaml:"campaign" doc:"Identifier of a campaign that the service fills in by itself." example:"417"`
	Text     string         `yaml:"text" doc:"A plain text, with {{ column }} in it. Needs api.text_path." example:"Hello {{ first_name }}, your order is ready."`
	Expires  units.Duration `yaml:"expires" default:"24h" doc:"A row that waits longer than this is dropped."`
}

// A Header is a template's media: one address, which must come out as an absolute http or https URL for
// each row.
type Header struct {
	Image    string `yaml:"image" doc:"Address of an image; may hold {{ column }}." example:"{{ picture_url }}"`
	Video    string `yaml:"video" doc:"Address of a video; may hold {{ column }}."`
	Document string `yaml:"document" doc:"Address of a document; may hold {{ column }}." example:"{{ invoice_url }}"`
	Filename string `yaml:"filename" doc:"Name under which a document is shown; may hold {{ column }}." example:"Invoice {{ number }}.pdf"`
}

// A RowCategory is a category, or a text with {{ }} that gives one for each row.
type RowCategory string

var categories = []string{string(messaging.Marketing), string(messaging.Utility), string(messaging.Authentication)}

// UnmarshalText reads utility, or {{ kind }}.
func (c *RowCategory) UnmarshalText(text []byte) error {
	word := string(text)
	if !strings.Contains(word, "{{") && !slices.Contains(categories, word) {
		hint := "write marketing, utility or authentication, or '{{ column }}' where a column says it"
		if near := nearest.Of(word, categories); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return &wordError{fmt.Sprintf("%q is not known here", word), hint}
	}
	*c = RowCategory(word)
	return nil
}

// Schema describes the text to editors.
func (RowCategory) Schema() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"enum": categories}, map[string]any{"type": "string", "pattern": `\{\{`}}}
}

// byRow reports whether each row says it.
func byRow(text string) bool { return strings.Contains(text, "{{") }

// The columns that a part has behind phone and var_1 to var_n, where rows say more than that. A file that
// is uploaded never has them.
const (
	fieldLanguage = "language"
	fieldCategory = "category"
	fieldFilename = "filename"
	fieldText     = "text"
	fieldUnused   = "unused" // of a run that is played again: its job does not ask each row for that
)

// fieldMedia are the columns of a header's address, by the kind of its media.
var fieldMedia = []string{"image", "video", "document"}

// A field is what each row says beside its phone and variables.
type field struct {
	column string // of the part
	path   string // in the job
	noun   string // for people: "the header's image"
	text   *expressions.RowText
}

// maxMessage is how many characters of a plain text are sent: the messaging network's bound for one
// message.
const maxMessage = 4096

// accept says what is wrong with what a row says; "" for nothing. group is the same for all rows with that fault.
func (f *field) accept(value string) (_, group, trouble string) {
	n := utf8.RuneCountInString(value)
	switch {
	case f.column == fieldText && plain.OneLine(value) == "":
		return "", "", "the text is empty"
	case f.column == fieldText && n > maxMessage:
		return "", "the text is too long", fmt.Sprintf("the text is %d characters long; at most %d are sent", n, maxMessage)
	case f.column == fieldText:
		return value, "", ""
	case n > expressions.MaxVariable:
		return "", "", fmt.Sprintf("%s is too long: at most %d characters are sent; shorten it in the list", f.noun, expressions.MaxVariable)
	case slices.Contains(fieldMedia, f.column):
		if err := triggers.Fetchable(value); err != nil {
			return "", f.noun, fmt.Sprintf("%s: %v", f.noun, err)
		}
	case f.column == fieldLanguage && !yamlpos.IsLanguage(value):
		return "", f.noun, fmt.Sprintf("the language is %s: want a code such as en or pt_BR, as the template has it", mask.Quote(plain.Crop(value, 40)))
	case f.column == fieldCategory:
		value = strings.ToLower(value)
		if !slices.Contains(categories, value) {
			return "", f.noun, fmt.Sprintf("the category is %s: want marketing, utility or authentication", mask.Quote(plain.Crop(value, 40)))
		}
	}
	return value, "", ""
}

// sends compiles what each row is sent as.
func (b *builder) sends(c *Compiled) {
	m := c.Send
	if m == nil {
		b.bad("send", "write send: {template: winback}", "is missing: deliver: per_message sends a template, a campaign or a text to each row")
		return
	}
	given := triggers.Send{Template: m.Template, Language: m.Language, Header: (*triggers.Header)(m.Header), Campaign: m.Campaign, Text: m.Text}
	texts, account := b.env.TextAllowed, b.job.account()
	if account != "" {
		texts = b.env.Texts[account]
	}
	for _, p := range given.Faults(triggers.Owner{Noun: "job", Sees: "row"}, texts) {
		if account != "" {
			p.Hint = strings.ReplaceAll(p.Hint, "api.text_path", "accounts."+account+".text_path")
		}
		b.failed = b.failed || !p.Warning
		b.problems = append(b.problems, Problem{Job: b.job.Name, Path: strings.TrimSuffix("send."+p.Path, "."), Offset: p.Offset, Msg: p.Msg, Hint: p.Hint, Warning: p.Warning})
	}
	c.send = messaging.Send{Template: m.Template, Campaign: m.Campaign, Text: m.Text}
	if m.Template == "" && c.columns.variables() > 0 {
		b.bad("columns."+c.columns.names[0], "remove it, or name a template; a text has {{ column }} in it", "variables belong to a template, and there is none")
	}
	if m.Template != "" {
		c.send.Language = cmp.Or(m.Language, b.env.Language)
		if c.send.Language == "" {
			b.bad("send.language", "set it, or defaults.language", "the template's language is not known")
		}
		if m.Language != "" && !byRow(m.Language) && !yamlpos.IsLanguage(m.Language) {
			b.warn("send.language", "write a code such as en or pt_BR; for a column write '{{ "+strings.TrimSpace(m.Language)+" }}'", "%q does not look like the code of a language", m.Language)
		}
		b.field(c, fieldLanguage, "send.language", "the language", m.Language)
	}
	if h := given.Header; h != nil {
		for _, one := range h.Media() {
			c.send.Header = &messaging.Header{Type: one.Kind, URL: one.Address, Filename: h.Filename}
			b.field(c, one.Kind, "send.header."+one.Kind, "the header's "+one.Kind, one.Address)
		}
		b.field(c, fieldFilename, "send.header.filename", "the header's file name", h.Filename)
	}
	b.field(c, fieldText, "send.text", "the text", m.Text)
	b.field(c, fieldCategory, "category", "the category", string(c.Category))
}

// field has each row say it, where it has {{ }}.
func (b *builder) field(c *Compiled, column, path, noun, text string) {
	if byRow(text) {
		c.columns.fields = append(c.columns.fields, field{column: column, path: path, noun: noun, text: b.text(path, text)})
	}
}

// A layout is which columns a list has: what a run sends must not hang on a config that was loaded since.
type layout struct {
	variables int
	fields    []string
}

// layoutOf reads Run.Columns.
func layoutOf(columns []string) (l layout) {
	for _, name := range columns {
		if variableName.MatchString(name) {
			l.variables++
		} else {
			l.fields = append(l.fields, name)
		}
	}
	return l
}

// fill puts what a row says into its message, over what is the same for all. Of one that was forgotten nothing is left.
func (l layout) fill(d *messaging.Message, row *messaging.ListRow) {
	if h := d.Send.Header; h != nil {
		own := *h
		d.Send.Header = &own
	}
	if len(row.Cells) < l.variables+len(l.fields) {
		return
	}
	d.Send.Variables = row.Cells[:l.variables:l.variables]
	for i, name := range l.fields {
		switch value := row.Cells[l.variables+i]; name {
		case fieldUnused:
		case fieldLanguage:
			d.Send.Language = value
		case fieldCategory:
			d.Category = messaging.Category(value)
		case fieldText:
			d.Send.Text = value
		case fieldFilename:
			d.Send.Header.Filename = value
		default:
			d.Send.Header.URL = value
		}
	}
}

// header names the columns of a part.
func (m *mapping) header() []string {
	names := append([]string{"phone"}, m.names...)
	for _, f := range m.fields {
		names = append(names, f.column)
	}
	return names
}

// titles name for people what a row says beside its phone: VAR_1, IMAGE.
func titles(columns []string) []string {
	out := make([]string, len(columns))
	for i, name := range columns {
		out[i] = strings.ToUpper(name)
	}
	return out
}

// reads is what a phone shows of a row with these cells beside its phone; "" where the template's text is not known.
func (c *Compiled) reads(cells []string) string {
	n := c.columns.variables()
	s := messaging.Send{Template: c.send.Template, Language: c.send.Language, Variables: cells[:n]}
	for i := range c.columns.fields {
		if c.columns.fields[i].column == fieldLanguage {
			s.Language = cells[n+i]
		}
	}
	if c.Campaign != nil {
		return c.shown(s, c.Campaign.TemplateID, c.account())
	}
	return c.shown(s, 0, c.account())
}

// shown is what a phone shows of a send; templateID is that of a campaign, 0 for none.
func (c *Compiled) shown(s messaging.Send, templateID int64, account string) string {
	if templateID != 0 {
		s.Template = strconv.FormatInt(templateID, 10)
	}
	s.Language = cmp.Or(s.Language, c.language)
	return c.templates.Reads(s, account)
}
