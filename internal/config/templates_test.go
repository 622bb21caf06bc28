package config

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

const declared = `templates:
  cart_reminder: {id: 1042, category: marketing, header: none, languages: {en: "Hi {{1}}, your cart: {{2}}", de: "Hallo {{1}}, {{ 2 }}"}}
  order_paid: {category: utility, languages: {en: "{{1}} is paid."}}
`

// What is declared of a template holds for all that send it.
func TestUsesAreHeldToDeclaredTemplates(t *testing.T) {
	const cart = "      template: cart_reminder\n"
	for name, tt := range map[string]struct{ was, now, want string }{
		"as they are":                       {"", "", ""},
		"fewer variables":                   {", '{{ cart.url }}']", "]", "21: triggers.cart.send.variables: cart_reminder gets 1 variable, and its text has 2"},
		"none at all":                       {"{template: order_paid, variables: ['{{ order.name | default: \"your order\" }}']}", "{template: order_paid}", "25: triggers.paid.send.variables: order_paid gets 0 variables, and its text has 1"},
		"a language that it has":            {cart, cart + "      language: de\n", ""},
		"one that it has not":               {cart, cart + "      language: fr\n", "21: triggers.cart.send.language: cart_reminder has no language fr"},
		"one of the event":                  {cart, cart + "      language: '{{ customer.language }}'\n", ""},
		"the language of the defaults":      {"  order_paid: {category: utility, languages: {en: \"{{1}} is paid.\"}}\ndefaults: {country: GB, language: en,", "defaults: {country: GB, language: en_GB,", "18: triggers.cart.send.language: cart_reminder has no language en_GB"},
		"another category":                  {"    category: utility\n", "    category: authentication\n", "24: triggers.paid.category: order_paid is utility, and is sent here as authentication"},
		"a header that it has not":          {cart, cart + "      header: {image: https://shop.example/a.jpg}\n", "21: triggers.cart.send.header: cart_reminder has no header, and image is given"},
		"no header where it has one":        {"header: none", "header: video", "19: triggers.cart.send.header: cart_reminder has the header video, and none is given"},
		"a step":                            {"send: {template: hello_again}", "send: {template: cart_reminder}", "31: triggers.lead.steps[1].send.variables: cart_reminder gets 0 variables, and its text has 2"},
		"by its number":                     {cart, "      template: \"1042\"\n", ""},
		"by its number, with too few":       {"      template: cart_reminder\n      variables: ['{{ customer.first_name | default: \"there\" }}', '{{ cart.url }}']\n", "      template: \"1042\"\n      variables: [a]\n", "21: triggers.cart.send.variables: cart_reminder gets 1 variable, and its text has 2"},
		"files of a job, by its number":     {"    deliver: per_message\n    send: {template: we_miss_you}\n", "    campaign: {template_id: 1042}\n", "37: jobs.win-back.columns: cart_reminder gets 1 variable, and its text has 2"},
		"files of a job, of another":        {"    deliver: per_message\n    send: {template: we_miss_you}\n", "    campaign: {template_id: 17}\n", ""},
		"rows of a job":                     {"send: {template: we_miss_you}", "send: {template: cart_reminder}", "37: jobs.win-back.columns: cart_reminder gets 1 variable, and its text has 2"},
		"a name that is nearly one":         {cart, "      template: cart_remindr\n", "20: triggers.cart.send.template: \"cart_remindr\" is not among the templates that are declared"},
		"a template of another account":     {"{id: 1042,", "{account: other, id: 1042,", ""},
		"an account that is not there":      {"{id: 1042,", "{account: nobody, id: 1042,", "3: templates.cart_reminder.account: there is no account \"nobody\""},
		"other variables in a language":     {"Hallo {{1}}, {{ 2 }}", "Hallo {{1}}", "3: templates.cart_reminder.languages.de: has 1 variable, and en has 2"},
		"a gap":                             {"Hallo {{1}}, {{ 2 }}", "Hallo {{1}}, {{3}}", "3: templates.cart_reminder.languages.de: has {{3}} and no {{2}}"},
		"a name in place of a number":       {"Hallo {{1}}, {{ 2 }}", "Hallo {{name}}", "3: templates.cart_reminder.languages.de: {{name}} is not the number of a variable"},
		"a number that another has":         {"order_paid: {category", "order_paid: {id: 1042, category", "4: templates.order_paid.id: 1042 is the number of cart_reminder, too"},
		"an advertisement as utility":       {"{{1}} is paid.", "{{1}} is paid. Shop now!", "4: templates.order_paid.languages.en: \"Shop now\" is what an advertisement says"},
		"two languages of one undeclared":   {"send: {template: we_miss_you}", "send: {template: hello, language: de}\n    columns: {}", "39: jobs.win-back.send.template: hello is sent in de here and in en in lead"},
		"a language that is no code at all": {"de: \"Hallo", "german words: \"Hallo", "3: templates.cart_reminder.languages[\"german words\"]: \"german words\" is not a language code"},
	} {
		t.Run(name, func(t *testing.T) {
			first, rest, _ := strings.Cut(sensible, "\n")
			src := first + "\n" + declared + rest
			if strings.Contains(tt.now, "account: other") {
				src += "accounts: {other: {key: \"${OTHER_KEY}\"}}\n"
			}
			if !strings.Contains(src, tt.was) {
				t.Fatalf("%q is not in the config", tt.was)
			}
			src = strings.Replace(src, tt.was, tt.now, 1)
			if strings.Contains(tt.now, "columns: {}") {
				src = strings.Replace(strings.Replace(src, "\n    columns: {}", "", 1), "{phone: phone, var_1: first_name}", "{phone: phone}", 1)
			}
			_, ps := Parse("config.yaml", []byte(src), environ)
			var got []string
			for _, p := range ps {
				if !strings.HasPrefix(p.Path, "accounts.other") {
					got = append(got, fmt.Sprintf("%d: %s: %s", p.Line, p.Path, p.Msg))
				}
			}
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.want)) {
				t.Errorf("says\n%s\nand not\n%s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

func TestTextsOfTemplatesAreFilledIn(t *testing.T) {
	cfg, ps := Parse("config.yaml", []byte(sensible+declared), environ)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	for name, tt := range map[string]struct {
		send messaging.Send
		want string
	}{
		"by its name":            {messaging.Send{Template: "cart_reminder", Language: "en", Variables: []string{"Ada", "https://x"}}, "Hi Ada, your cart: https://x"},
		"by its number":          {messaging.Send{Template: "1042", Language: "de", Variables: []string{"Ada", "https://x"}}, "Hallo Ada, https://x"},
		"what looks like a hole": {messaging.Send{Template: "cart_reminder", Language: "en", Variables: []string{"{{2}}", "b"}}, "Hi {{2}}, your cart: b"},
		"too few":                {messaging.Send{Template: "cart_reminder", Language: "en", Variables: []string{"Ada"}}, "Hi Ada, your cart: {{2}}"},
		"a language it lacks":    {messaging.Send{Template: "cart_reminder", Language: "fr", Variables: []string{"Ada", "b"}}, ""},
		"undeclared":             {messaging.Send{Template: "hello", Language: "en"}, ""},
		"a text":                 {messaging.Send{Text: "hi"}, "hi"},
	} {
		if got := cfg.Templates.Reads(tt.send, ""); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	var printed bytes.Buffer
	if err := cfg.Print(&printed); err != nil || !strings.Contains(printed.String(), "Hi {{1}}, your cart: {{2}}") {
		t.Errorf("config print: %v\n%s", err, printed.String())
	}
	if _, ps := Parse("printed.yaml", printed.Bytes(), environ); strings.Contains(ps.Error(), "templates.") {
		t.Errorf("what is printed is not read again: %v", ps)
	}
}
