package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// declareTemplates checks what the config declares of templates.
func (c *Config) declareTemplates(k *checker) {
	for i := range c.in.Templates {
		e := &c.in.Templates[i]
		at := yamlpos.Join("templates", e.Key)
		e.Value.Name = e.Key
		c.accountOf(k, at+".account", e.Value.Account)
		declared := e.Value
		if !k.templateTexts(at, &e.Value) {
			declared.Languages = nil // nothing is held to what is wrong
		}
		for _, other := range c.Templates {
			if other.ID == e.Value.ID && other.ID > 0 && (other.Account == e.Value.Account || other.Account == "" || e.Value.Account == "") {
				k.bad(at+".id", fmt.Sprintf("%d is the number of %s, too", other.ID, other.Name), "copy the number from the service's dashboard")
			}
		}
		c.Templates = append(c.Templates, declared)
	}
}

// holdToTemplates holds all that send a template to what is declared of it.
func (c *Config) holdToTemplates(k *checker) {
	for _, u := range c.templateUses() {
		if t := c.Templates.Named(u.template, u.account); t != nil {
			k.holdTo(t, u)
		} else if len(c.Templates) > 0 && !u.numbered {
			k.undeclared(c.Templates, u)
		}
	}
}

// templateTexts checks the texts of a template: variables are numbers from 1 on, and each language has the same.
func (k *checker) templateTexts(at string, t *messaging.Template) (well bool) {
	most := 0
	well = true
	for i := range t.Languages {
		l := &t.Languages[i]
		path := yamlpos.Join(at+".languages", l.Key)
		if !yamlpos.IsLanguage(l.Key) {
			k.doc.ReportKey(path, fmt.Sprintf("%q is not a language code", l.Key), "write it as the template has it, such as en or pt_BR", false)
		}
		marks := messaging.Placeholders(l.Value)
		for _, mark := range marks {
			if n, err := strconv.Atoi(mark); err != nil || n < 1 {
				k.bad(path, fmt.Sprintf("{{%s}} is not the number of a variable", mark), "write {{1}}, {{2}} and so on, as the service shows the template")
				return false
			}
		}
		for n := range marks {
			if !slices.Contains(marks, strconv.Itoa(n+1)) {
				k.bad(path, fmt.Sprintf("has {{%s}} and no {{%d}}", marks[len(marks)-1], n+1), "number the variables from {{1}} on without a gap")
				return false
			}
		}
		if i > 0 && len(marks) != most {
			k.bad(path, fmt.Sprintf("has %s, and %s has %d", units.Count(len(marks), "variable"), t.Languages[0].Key, most), "a template has the same variables in each language")
			well = false
		}
		if i == 0 {
			most = len(marks)
		}
	}
	return well
}

// holdTo reports in what a use differs from the template that is declared.
func (k *checker) holdTo(t *messaging.Template, u templateUse) {
	bad := func(path, msg, hint string) {
		k.found(yamlpos.Problem{Code: "template-wrong", Path: path, Msg: msg, Hint: hint}, 0)
	}
	declared := yamlpos.Join("templates", t.Name)
	if n, known := t.Variables(); known && n != u.count {
		path := u.at + ".variables"
		if u.variables != "" {
			path = u.variables
		}
		bad(path, fmt.Sprintf("%s gets %s, and its text has %d", t.Name, units.Count(u.count, "variable"), n), fmt.Sprintf("give it what %s.languages numbers, or correct the text there", declared))
	}
	if _, known := t.Languages.Get(u.language); len(t.Languages) > 0 && u.language != "" && !known {
		var names []string
		for _, l := range t.Languages {
			names = append(names, l.Key)
		}
		hint := fmt.Sprintf("it is declared in %s; add %s to %s.languages once the service has approved it", strings.Join(names, ", "), u.language, declared)
		if near := nearest.Of(u.language, names); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		bad(u.at+".language", fmt.Sprintf("%s has no language %s", t.Name, u.language), hint)
	}
	if t.Category != "" && u.category != "" && t.Category != u.category {
		bad(u.entry+".category", fmt.Sprintf("%s is %s, and is sent here as %s", t.Name, t.Category, u.category), fmt.Sprintf("say category: %s here, or correct %s.category", t.Category, declared))
	}
	if t.Header != "" && !u.numbered && cmp.Or(u.header, "none") != t.Header {
		msg, hint := fmt.Sprintf("%s has the header %s, and none is given", t.Name, t.Header), fmt.Sprintf("add header: {%s: …}", t.Header)
		switch {
		case t.Header == "none":
			msg, hint = fmt.Sprintf("%s has no header, and %s is given", t.Name, u.header), "remove it"
		case u.header != "":
			msg = fmt.Sprintf("%s has the header %s, and %s is given", t.Name, t.Header, u.header)
		}
		bad(u.at+".header", msg, hint+fmt.Sprintf(", or correct %s.header", declared))
	}
}

// undeclared warns of a name that is like a declared one.
func (k *checker) undeclared(all messaging.Templates, u templateUse) {
	var names []string
	for _, t := range all {
		if t.Of(u.account) {
			names = append(names, t.Name)
		}
	}
	if near := nearest.Of(u.template, names); near != "" {
		k.lint("template-undeclared", u.at+".template", fmt.Sprintf("%q is not among the templates that are declared", u.template), fmt.Sprintf("did you mean %q? Else declare it under templates", near))
	}
}

// TemplateNames are those that the config declares, and those that triggers send, sorted, each once.
func (c *Config) TemplateNames() (names []string) {
	if c.Triggers != nil {
		names = c.Triggers.Templates()
	}
	for i := range c.Templates {
		names = append(names, c.Templates[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
