package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A templateUse is one place that sends a template.
type templateUse struct {
	entry     string // "triggers.cart"
	at        string // of what names it: "triggers.cart.send"
	by        string // the trigger or job
	account   string // by its name in rows
	template  string // its name, or its number as a text
	numbered  bool   // it is named by its number
	count     int    // of variables
	variables string // where they stand; "" for variables beside the name
	language  string // "" where the event or the row says it
	category  messaging.Category
	header    string // image, video, document; "" for none
}

// templateUses are all of them, in the order of the file.
func (c *Config) templateUses() (uses []templateUse) {
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		for key, s := range e.Value.Sends() {
			if s.Template == "" {
				continue
			}
			u := templateUse{entry: yamlpos.Join("triggers", e.Key), by: e.Key, template: s.Template, account: c.sendsBy(&e.Value)}
			u.at = u.entry + "." + key
			u.count, u.language, u.category = len(s.Variables), c.constantLanguage(s.Language), e.Value.Category
			if s.Header != nil {
				for _, m := range s.Header.Media() {
					u.header = m.Kind
				}
			}
			uses = append(uses, u)
		}
	}
	for i := range c.in.Jobs {
		if u, ok := c.templateOfJob(&c.in.Jobs[i].Value); ok {
			uses = append(uses, u)
		}
	}
	return uses
}

// templateOfJob is what a job sends, row by row or as files.
func (c *Config) templateOfJob(j *scheduler.Job) (u templateUse, ok bool) {
	u = templateUse{entry: yamlpos.Join("jobs", j.Name), by: j.Name, account: messaging.AccountKey(j.Account), count: variablesOf(&j.Columns)}
	u.variables = u.entry + ".columns"
	if u.category = messaging.Category(j.Category); strings.Contains(string(u.category), "{{") {
		u.category = "" // a row says it
	} else if u.category == "" {
		u.category = c.Defaults.Category
	}
	switch s := j.Send; {
	case s != nil && s.Template != "":
		u.at, u.template, u.language = u.entry+".send", s.Template, c.constantLanguage(s.Language)
		if h := s.Header; h != nil {
			for _, m := range (triggers.Header{Image: h.Image, Video: h.Video, Document: h.Document}).Media() {
				u.header = m.Kind
			}
		}
		return u, true
	case j.Campaign != nil && j.Campaign.TemplateID > 0:
		u.at, u.template, u.numbered = u.entry+".campaign", strconv.FormatInt(j.Campaign.TemplateID, 10), true
		return u, true
	default:
		return u, false
	}
}

// sendsBy is the account that sends what a rule queues: its own, else that of the first connector that it listens to.
func (c *Config) sendsBy(r *triggers.Rule) string {
	if r.Account != "" {
		return messaging.AccountKey(r.Account)
	}
	for i := range c.in.Connectors {
		if e := &c.in.Connectors[i]; listens(r.On, e.Key) {
			return messaging.AccountKey(e.Value.Account)
		}
	}
	return ""
}

// constantLanguage is the language of a template, or that of the defaults; "" where the event or the row says it.
func (c *Config) constantLanguage(language string) string {
	if language = cmp.Or(language, c.Defaults.Language); strings.Contains(language, "{{") {
		return ""
	}
	return language
}

// variablesOf is how many variables a job's columns give.
func variablesOf(columns *yamlpos.Ordered[string]) int {
	count := len(*columns)
	if _, written := columns.Get("phone"); written {
		count--
	}
	return count
}

// lintTemplates warns of triggers and jobs that give one template different numbers of variables, languages that can hardly both be meant or
// categories, or name one that cannot be: the service answers with an error, for every message.
func (c *Config) lintTemplates(k *checker) {
	first := map[string][]templateUse{}
	for _, u := range c.templateUses() {
		if u.numbered || c.Templates.Named(u.template, u.account) != nil {
			continue // it was held to what is declared
		}
		if strings.ContainsAny(u.template, " \t\u00a0") && !strings.Contains(u.template, "{{") {
			k.lint("template-name", u.at+".template", fmt.Sprintf("%q has a space, and names of templates have none", u.template), "copy the name as the messaging service shows it")
		}
		for _, before := range first[u.template] {
			if u.account == before.account && k.lintUses(u, before) {
				break
			}
		}
		first[u.template] = append(first[u.template], u)
	}
}

// lintUses warns of the first thing in which a use differs from one before it.
func (k *checker) lintUses(u, before templateUse) (warned bool) {
	switch {
	case u.count != before.count:
		k.lint("template-variables", u.at+".template", fmt.Sprintf("%s gets %s here and %s in %s", u.template, units.Count(u.count, "variable"), units.Count(before.count, "variable"), before.by), "a template has one number of variables")
	case u.category != before.category && u.category != "" && before.category != "":
		k.lint("template-category", u.at+".template", fmt.Sprintf("%s is sent as %s here and as %s in %s", u.template, u.category, before.category, before.by), "a template has one category: write it in both as the messaging service shows it")
	case u.language != before.language && u.language != "" && before.language != "":
		k.lint("template-language", u.at+".template", fmt.Sprintf("%s is sent in %s here and in %s in %s", u.template, u.language, before.language, before.by),
			fmt.Sprintf("where it is approved in both, say so: templates: {%s: {languages: {%s: …, %s: …}}}; else write the one that it has", u.template, before.language, u.language))
	default:
		return false
	}
	return true
}

// marketingWords are those by which messaging networks know an advertisement, in the languages of most customers.
var marketingWords = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(` + strings.Join([]string{
	`\d+ ?% (?:off|rabatt|de descuento|de desconto|di sconto|de réduction)`, `save \d+ ?%`, `promo codes?`, `coupons?`, `vouchers?`, `(?:flash|summer|winter|clearance) sale`, `on sale`,
	`special offers?`, `exclusive offers?`, `limited[- ]time`, `buy now`, `shop now`, `black friday`, `last chance`, `don['’]t miss`,
	`gutscheine?`, `gutscheincode`, `rabattcode`, `sonderangebote?`, `jetzt kaufen`, `jetzt shoppen`, `nur für kurze zeit`, `schnäppchen`,
	`cupón`, `oferta especial`, `rebajas`, `compra ahora`, `cupom`, `promoção`, `compre agora`, `aproveite`,
	`code promo`, `soldes`, `offre spéciale`, `profitez`, `codice sconto`, `offerta speciale`, `saldi`, `acquista ora`,
}, "|") + `)(?:$|[^\pL\pN])`)

// advertises is the first words of a text that are an advertisement's; "" for none.
func advertises(text string) string {
	if m := marketingWords.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// lintDeclared warns of templates that are declared as utility and read like an advertisement.
func (c *Config) lintDeclared(k *checker) {
	for _, t := range c.Templates {
		for _, l := range t.Languages {
			if words := advertises(l.Value); words != "" && t.Category == messaging.Utility {
				k.lint("marketing-as-utility", yamlpos.Join(yamlpos.Join("templates", t.Name)+".languages", l.Key), unlikeUtility(words), "say category: marketing, as the service will, or write the template without it")
			}
		}
	}
}

func unlikeUtility(words string) string {
	return fmt.Sprintf("%q is what an advertisement says, and the category is utility: a messaging network takes the message for marketing, or stops the template", words)
}

// lintUtility warns of messages that are sent as utility and read like an advertisement, where their text is known.
func (k *checker) lintUtility(at string, r *triggers.Rule) {
	if r.Category != messaging.Utility || r.Mode == triggers.Off {
		return
	}
	for key, s := range r.Sends() {
		texts := map[string]string{"text": s.Text}
		for i, text := range s.Variables {
			texts[fmt.Sprintf("variables[%d]", i)] = text
		}
		for path, text := range texts {
			if words := advertises(text); words != "" {
				k.lint("marketing-as-utility", at+"."+key+"."+path, unlikeUtility(words),
					"say category: marketing, or write the message without it")
			}
		}
	}
}
