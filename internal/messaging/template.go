package messaging

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Template is an approved template of the service as the config declares it: what all that send it are held to, and what people are shown
// of it before anything is sent.
type Template struct {
	Name      string                  `yaml:"-"` // the key under "templates:"
	ID        int64                   `yaml:"id" validate:"min=1" doc:"Its number at the service, by which campaign.template_id of a job names it." example:"1042"`
	Category  Category                `yaml:"category" validate:"oneof=marketing utility authentication" doc:"Its class, as the service shows it. All that send it have to say the same." example:"marketing"`
	Header    string                  `yaml:"header" validate:"oneof=image video document none" doc:"The media above its text, which all that send it have to give; none for a template without. Not checked unless set." example:"image"`
	Languages yamlpos.Ordered[string] `yaml:"languages" doc:"Its text in each language that it is approved in, with {{1}}, {{2}} and so on where the variables stand." example:"{en: 'Hi {{1}}, your cart is waiting: {{2}}'}"`
	Account   string                  `yaml:"account" doc:"The account whose template it is: a name under accounts, or api. Default: each account has it." example:"brand-b"`
}

// placeholder is where a variable stands in the text of a template.
var placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// Placeholders are what stands in double brackets in a text, each once, in its order.
func Placeholders(text string) (all []string) {
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(all, m[1]) {
			all = append(all, m[1])
		}
	}
	return all
}

// Variables is how many its text has; known is false where no text is declared.
func (t *Template) Variables() (n int, known bool) {
	for i := range t.Languages {
		for _, one := range Placeholders(t.Languages[i].Value) {
			number, _ := strconv.Atoi(one)
			n = max(n, number)
		}
	}
	return n, len(t.Languages) > 0
}

// Filled is its text in a language with these variables in it; "" where it has none there.
func (t *Template) Filled(language string, variables []string) string {
	text, _ := t.Languages.Get(language)
	return placeholder.ReplaceAllStringFunc(text, func(mark string) string {
		n, err := strconv.Atoi(strings.Trim(mark, "{} "))
		if err != nil || n < 1 || n > len(variables) {
			return mark
		}
		return variables[n-1]
	})
}

// Of reports whether it is one of an account's, by its name in rows.
func (t *Template) Of(account string) bool {
	return t.Account == "" || AccountKey(t.Account) == account
}

// Templates are all that a config declares.
type Templates []Template

// Named is the template that an account has under a name, or under its number written as one; nil where none is declared.
func (all Templates) Named(name, account string) *Template {
	for i := range all {
		if t := &all[i]; t.Of(account) && (t.Name == name || t.ID > 0 && strconv.FormatInt(t.ID, 10) == name) {
			return t
		}
	}
	return nil
}

// Reads is what a phone shows of a send; "" where no text is declared.
func (all Templates) Reads(s Send, account string) string {
	if t := all.Named(s.Template, account); t != nil && s.Template != "" {
		return t.Filled(s.Language, s.Variables)
	}
	return s.Text
}
