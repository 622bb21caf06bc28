package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A templateUse is one place that sends a template.
type templateUse struct {
	at       string // of what names it: "triggers.cart.send"
	by       string // the trigger or job
	template string
	count    int    // of variables
	language string // "" where the event or the row says it
	category messaging.Category
}

// templateUses are all of them, in the order of the file.
func (c *Config) templateUses() (uses []templateUse) {
	constant := func(language string) string {
		if language = cmp.Or(language, c.Defaults.Language); strings.Contains(language, "{{") {
			return ""
		}
		return language
	}
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		for key, s := range e.Value.Sends() {
			if s.Template != "" {
				uses = append(uses, templateUse{yamlpos.Join("triggers", e.Key) + "." + key, e.Key, s.Template, len(s.Variables), constant(s.Language), e.Value.Category})
			}
		}
	}
	for i := range c.in.Jobs {
		e := &c.in.Jobs[i]
		if s := e.Value.Send; s != nil && s.Template != "" {
			category := messaging.Category(e.Value.Category)
			if strings.Contains(string(category), "{{") {
				category = "" // a row says it
			} else if category == "" {
				category = c.Defaults.Category
			}
			uses = append(uses, templateUse{yamlpos.Join("jobs", e.Key) + ".send", e.Key, s.Template, variablesOf(&e.Value.Columns), constant(s.Language), category})
		}
	}
	return uses
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
		if strings.ContainsAny(u.template, " \t\u00a0") && !strings.Contains(u.template, "{{") {
			k.lint(u.at+".template", fmt.Sprintf("%q has a space, and names of templates have none", u.template), "copy the name as the messaging service shows it")
		}
		for _, before := range first[u.template] {
			if k.lintUses(u, before) {
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
		k.lint(u.at+".template", fmt.Sprintf("%s gets %s here and %s in %s", u.template, counted(u.count), counted(before.count), before.by), "a template has one number of variables")
	case u.category != before.category && u.category != "" && before.category != "":
		k.lint(u.at+".template", fmt.Sprintf("%s is sent as %s here and as %s in %s", u.template, u.category, before.category, before.by), "a template has one category: write it in both as the messaging service shows it")
	case u.language != before.language && u.language != "" && before.language != "" && bareLanguage(u.language) == bareLanguage(before.language):
		k.lint(u.at+".template", fmt.Sprintf("%s is sent in %s here and in %s in %s", u.template, u.language, before.language, before.by),
			"write the language as the messaging service shows it; all is well where it has both")
	default:
		return false
	}
	return true
}

// bareLanguage is a language without its region: en of en_GB.
func bareLanguage(language string) string {
	if at := strings.IndexAny(language, "_-"); at >= 0 {
		return language[:at]
	}
	return language
}

func counted(n int) string {
	if n == 1 {
		return "1 variable"
	}
	return fmt.Sprintf("%d variables", n)
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
				k.lint(at+"."+key+"."+path, fmt.Sprintf("%q is what an advertisement says, and the category is utility: a messaging network takes the message for marketing, or stops the template", words),
					"say category: marketing, or write the message without it")
			}
		}
	}
}
