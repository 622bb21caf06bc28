package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/examples"
)

// sensible is a config without a fault, in which tests plant one.
const sensible = `api: {base_url: https://api.example.com/api/v1, key: "${API_KEY}", text_path: /send-message}
defaults: {country: GB, language: en, timezone: Europe/London, limit: [2 per day, 6 per 7d]}
connectors:
  shopify: {secret: "${SHOP_SECRET}"}
  woo: {preset: woocommerce, secret: "${WOO_SECRET}"}
  crm:
    verify: {kind: token, from: header, field: X-Token, secret: "${CRM_SECRET}"}
    event: {type: type, id: id, aliases: {lead: form.submitted}}
    map: {phone: phone, first_name: name, consent: agreed, form.id: id}
triggers:
  cart:
    on: [shopify.cart.created, shopify.cart.updated]
    if: [cart.total >= 50, customer.accepts_marketing]
    wait: 45m
    cancel_on: shopify.order.created
    send:
      template: cart_reminder
      variables: ['{{ customer.first_name | default: "there" }}', '{{ cart.url }}']
  paid:
    on: [shopify.order.paid, woo.order.paid]
    category: utility
    send: {template: order_paid, variables: ['{{ order.name | default: "your order" }}']}
  lead:
    on: crm.form.submitted
    if: customer.accepts_marketing
    steps:
      - {wait: 1h, send: {template: hello}}
      - {wait: 1d, if: previous.status != "failed", send: {template: hello_again}}
      - {wait: 2d, send: {template: last_hello}}
jobs:
  win-back:
    cron: "0 10 * * MON"
    source: {csv: list.csv}
    columns: {phone: phone, var_1: first_name}
    deliver: per_message
    send: {template: we_miss_you}
`

// A planting is an edit of the sensible config and the warning that it is to lead to, by its line, its path and the beginning of its words; "" for none.
type planting struct{ was, now, warns string }

var plantings = map[string]planting{
	"a field that a cart never has": {"if: [cart.total >= 50,", "if: [order.total >= 50,", "13: triggers.cart.if[0]: order.total is never in shopify.cart.created or shopify.cart.updated"},
	"a variable of one":             {"'{{ cart.url }}'", "'{{ order.url | default: \"x\" }}'", "18: triggers.cart.send.variables[1]: order.url is never in"},
	"a picture that the lines of a cart lack": {
		"      template: cart_reminder\n", "      template: cart_reminder\n      header: {image: '{{ cart.items[0].image }}'}\n",
		"18: triggers.cart.send.header.image: cart.items.image is never in",
	},
	"a field that nobody mapped":                   {"if: customer.accepts_marketing\n    steps", "if: [customer.accepts_marketing, form.name == \"x\"]\n    steps", "25: triggers.lead.if[1]: form.name is never in crm.form.submitted"},
	"a consent that one of two says is well":       {"    category: utility\n", "    if: customer.accepts_marketing or order.total > 1000\n    category: utility\n", ""},
	"a consent that the shop never says":           {"on: [shopify.order.paid, woo.order.paid]\n", "on: woo.order.paid\n    if: customer.accepts_marketing\n", "21: triggers.paid.if: contact.accepts_marketing is never in woo.order.paid"},
	"a name out of the first one is well":          {"{wait: 1h, send: {template: hello}}", "{wait: 1h, send: {template: hello, variables: ['{{ customer.name }}']}}", ""},
	"a language of the phone's is well":            {"{wait: 1h, send: {template: hello}}", "{wait: 1h, send: {template: hello, language: '{{ customer.language }}'}}", ""},
	"what stands in the body is well":              {"if: [cart.total >= 50,", "if: [raw.total >= 50,", ""},
	"a field that one of two events has is well":   {"on: [shopify.order.paid, woo.order.paid]\n", "on: [shopify.order.paid, woo.order.paid, crm.form.submitted]\n    if: order.total > 10 or form.id != \"\"\n", ""},
	"an event that can never meet a condition":     {"on: [shopify.order.paid, woo.order.paid]\n", "on: [shopify.order.paid, woo.order.paid, crm.form.submitted]\n    if: order.total > 10\n", "20: triggers.paid.on[2]: crm.form.submitted never has order.total, and \"order.total > 10\" cannot hold without it"},
	"every connector's event, one of which has it": {"on: [shopify.order.paid, woo.order.paid]", "on: \"*.order.paid\"", ""},
	"a connector whose shape somebody chooses": {
		"triggers:\n  cart:", "  own: {preset: generic, secret: \"${SHOP_SECRET}\"}\ntriggers:\n  open: {on: own.cart.updated, category: utility, if: order.total > 5 and raw.x == 1, send: {text: hi}}\n  cart:", "",
	},

	"a number that is more and less":     {"if: [cart.total >= 50,", "if: [cart.total >= 50, cart.total < 20,", "13: triggers.cart.if[1]: \"cart.total < 20\" contradicts \"cart.total >= 50\""},
	"in one condition":                   {"if: [cart.total >= 50,", "if: [cart.total >= 50 and cart.total < 20,", "13: triggers.cart.if[0]: \"cart.total >= 50 and cart.total < 20\" contradicts itself"},
	"two countries at once":              {"if: [cart.total >= 50,", "if: ['customer.country == \"GB\"', 'contact.country in [\"DE\", \"AT\"]',", "13: triggers.cart.if[1]: \"contact.country in"},
	"a tag that is there and is not":     {"if: [cart.total >= 50,", "if: ['customer.tags contains \"vip\"', 'not (customer.tags contains \"vip\")',", "13: triggers.cart.if[1]"},
	"three that only together do":        {"if: [cart.total >= 50,", "if: [cart.total > 50 or customer.country == \"GB\", cart.total < 50, customer.country == \"DE\",", "13: triggers.cart.if[2]"},
	"a step that its trigger excludes":   {"{wait: 1d, if: previous.status != \"failed\"", "{wait: 1d, if: not customer.accepts_marketing", "28: triggers.lead.steps[1].if: \"not customer.accepts_marketing\" contradicts the if of the trigger"},
	"a step that excludes itself":        {"{wait: 1d, if: previous.status != \"failed\"", "{wait: 1d, if: ['previous.status == \"failed\"', 'previous.status == \"sent\"']", "28: triggers.lead.steps[1].if[1]"},
	"a window of numbers is well":        {"if: [cart.total >= 50,", "if: [cart.total >= 50, cart.total < 200,", ""},
	"its very edge is well":              {"if: [cart.total >= 50,", "if: [cart.total >= 50, cart.total <= 50,", ""},
	"either of two is well":              {"if: [cart.total >= 50,", "if: [cart.total >= 50 or cart.total < 20,", ""},
	"two tags are well":                  {"if: [cart.total >= 50,", "if: ['customer.tags contains \"vip\"', 'customer.tags contains \"gold\"',", ""},
	"two values of the body are well":    {"if: [cart.total >= 50,", "if: [raw.a == 1, raw.b == 2,", ""},
	"a time that has come later is well": {"{wait: 1d, if: previous.status != \"failed\"", "{wait: 1d, if: now - event.occurred_at > 20h", ""},

	"a time of day in quiet hours of a job": {"    deliver: per_message\n", "    deliver: per_message\n    at: \"08:30\"\n    quiet_hours: 21:00-09:00\n", "36: jobs.win-back.at: 08:30 is in quiet hours, 21:00-09:00: the row goes when they end"},
	"quiet hours that drop what a job has":  {"    deliver: per_message\n", "    deliver: per_message\n    quiet_hours: {hours: 09:00-11:00, on_hit: drop}\n", "32: jobs.win-back.cron: fires at 10:00, which is in quiet hours, 09:00-11:00, and on_hit is drop"},
	"one of two times":                      {"cron: \"0 10 * * MON\"", "cron: \"0 8,12 * * *\"\n    quiet_hours: {hours: 21:00-09:00, on_hit: drop}", "32: jobs.win-back.cron: fires at 08:00,"},
	"a day that is quiet is well":           {"cron: \"0 10 * * MON\"", "cron: \"0 10 * * *\"\n    quiet_hours: {hours: [\"sun 00:00-24:00\"], on_hit: drop}", ""},
	"put off is well":                       {"    deliver: per_message\n", "    deliver: per_message\n    quiet_hours: 09:00-11:00\n", ""},
	"the minute after they end is well":     {"    deliver: per_message\n", "    deliver: per_message\n    quiet_hours: {hours: 21:00-10:00, on_hit: drop}\n", ""},
	"a limit lower than the steps":          {"    steps:\n", "    limit: 2 per 7d\n    steps:\n", "26: triggers.lead.limit: 3 steps fall due within 3d, and 2 per 7d lets 2 of them go: step 3 waits"},
	"a limit of defaults":                   {"limit: [2 per day, 6 per 7d]", "limit: [2 per day, 2 per 7d]", "29: triggers.lead.steps[2]: 3 steps fall due within 3d"},
	"of one day":                            {"{wait: 1d, if: previous.status != \"failed\", send: {template: hello_again}}", "{wait: 2h, send: {template: hello_again}}\n      - {wait: 2h, send: {template: hello_today}}", "29: triggers.lead.steps[2]: 3 steps fall due within 4h, and 2 per day"},
	"as many as it allows are well":         {"    steps:\n", "    limit: 3 per 7d\n    steps:\n", ""},
	"steps further apart are well":          {"    steps:\n", "    limit: 1 per 24h\n    steps:\n", ""},
	"steps for different people are well":   {"{wait: 1d, if: previous.status != \"failed\", send: {template: hello_again}}\n      - {wait: 2d,", "{wait: 1d, if: 'customer.first_name == \"A\"', send: {template: hello_again}}\n      - {wait: 2d, if: 'customer.first_name != \"A\"',", ""},
	"a limit of utility is another":         {"    steps:\n", "    limit: {count: 2 per 7d, category: utility}\n    steps:\n", ""},
	"an expiry shorter than the wait":       {"    wait: 45m\n", "    wait: 2d\n    expires: 1d\n", "15: triggers.cart.expires: 1d is shorter than the wait of 2d, and counts from its end"},
	"an age shorter than the wait":          {"    wait: 45m\n", "    wait: 4d\n    max_age: 3d\n", "15: triggers.cart.max_age: 3d is shorter than the wait of 4d"},
	"longer than the wait is well":          {"    wait: 45m\n", "    wait: 45m\n    expires: 18h\n    max_age: 3d\n", ""},
	"after a time of day it is well":        {"    wait: 45m\n", "    wait: {days: 3, at: \"10:00\"}\n    expires: 3h\n", ""},
	"an age of defaults is about all":       {"limit: [2 per day, 6 per 7d]", "limit: [2 per day, 6 per 7d], max_age: 1h", ""},
	"a cancel key that no sample has":       {"cancel_on: shopify.order.created", "cancel_on: [shopify.order.created, shopify.contact.created]", "15: triggers.cart.cancel_on[1]: shopify.contact.created has no cart.id, the key here"},
	"one that its map has not":              {"cancel_on: shopify.order.created", "cancel_on: [shopify.order.created, crm.form.submitted]", "15: triggers.cart.cancel_on[1]: crm.form.submitted has no cart.id"},
	"under stop_on it is well":              {"cancel_on: shopify.order.created", "cancel_on: shopify.order.created\n    stop_on: woo.order.created", ""},
	"a key that both have is well":          {"cancel_on: shopify.order.created", "cancel_on: [shopify.order.created, woo.order.created]\n    key: customer.email", ""},
	"one event and one template":            {"  paid:\n", "  late: {on: shopify.cart.updated, if: customer.accepts_marketing, wait: 2d, cancel_on: shopify.order.created, send: {template: cart_reminder, variables: [a, b]}}\n  paid:\n", "19: triggers.late.send.template: cart sends it because of the same event"},
	"whose ifs exclude each other are well": {"  paid:\n", "  late: {on: shopify.cart.updated, if: [customer.accepts_marketing, cart.total < 50], wait: 2d, cancel_on: shopify.order.created, send: {template: cart_reminder, variables: [a, b]}}\n  paid:\n", ""},
	"tried out beside it is well":           {"  paid:\n", "  late: {on: shopify.cart.updated, mode: shadow, if: customer.accepts_marketing, wait: 2d, cancel_on: shopify.order.created, send: {template: cart_reminder, variables: [a, b]}}\n  paid:\n", ""},

	"a variable that a sample leaves empty": {"['{{ order.name | default: \"your order\" }}']", "['{{ raw.po_number }}']", "22: triggers.paid.send.variables[0]: is empty in the sample"},
	"one with a default is well":            {"['{{ order.name | default: \"your order\" }}']", "['{{ raw.po_number | default: \"-\" }}']", ""},
	"one whose condition asks for it":       {"    category: utility\n", "    category: utility\n    if: raw.po_number != \"\"\n", ""},
	"one that all samples have is well":     {"['{{ order.name | default: \"your order\" }}']", "['{{ order.id }}']", ""},

	"an advertisement as utility":         {"['{{ order.name | default: \"your order\" }}']", "['{{ order.name }}, and 20% off the next']", "22: triggers.paid.send.variables[0]: \"20% off\" is what an advertisement says"},
	"in a text":                           {"send: {template: order_paid, variables: ['{{ order.name | default: \"your order\" }}']}", "send: {text: 'Paid. Flash sale, only today!'}", "22: triggers.paid.send.text: \"Flash sale\""},
	"in marketing it is well":             {"{template: hello}", "{text: '20% off, buy now'}", ""},
	"words that only look alike are well": {"send: {template: order_paid, variables: ['{{ order.name | default: \"your order\" }}']}", "send: {text: 'Wholesale order 20 of 100 paid. Your salesperson will call.'}", ""},
	"other numbers of variables":          {"{template: hello_again}", "{template: order_paid}", "28: triggers.lead.steps[1].send.template: order_paid gets 0 variables here and 1 variable in paid"},
	"other categories":                    {"{template: hello_again}", "{template: order_paid, variables: [a]}", "28: triggers.lead.steps[1].send.template: order_paid is sent as marketing here and as utility in paid"},
	"other languages":                     {"{template: we_miss_you}", "{template: hello, language: en_GB}\n    columns: {}", "36: jobs.win-back.send.template: hello is sent in en_GB here and in en in lead"},
	"a job's other number":                {"{template: we_miss_you}", "{template: hello}", "36: jobs.win-back.send.template: hello gets 1 variable here and 0 variables in lead"},
}

// Each fault of the list is told once, where it stands; what is like one and right is not told of.
func TestPlantedFaultsAreFound(t *testing.T) {
	for name, tt := range plantings {
		t.Run(name, func(t *testing.T) {
			if strings.Count(sensible, tt.was) != 1 {
				t.Fatalf("%q is in the config %d times", tt.was, strings.Count(sensible, tt.was))
			}
			src := strings.Replace(sensible, tt.was, tt.now, 1)
			if strings.Contains(tt.now, "columns: {}") {
				src = strings.Replace(strings.Replace(src, "\n    columns: {}", "", 1), "{phone: phone, var_1: first_name}", "{phone: phone}", 1)
			}
			_, ps := Parse("config.yaml", []byte(src), environ)
			var got []string
			for _, p := range ps {
				got = append(got, fmt.Sprintf("%d: %s: %s", p.Line, p.Path, p.Msg))
			}
			switch {
			case tt.warns == "" && len(got) > 0:
				t.Errorf("warns of what is right:\n%s", strings.Join(got, "\n"))
			case tt.warns != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.warns)):
				t.Errorf("says\n%s\nand not one warning that begins\n%s", strings.Join(got, "\n"), tt.warns)
			case tt.warns != "" && ps[0].Hint == "":
				t.Error("names no cure")
			case tt.warns != "" && !ps[0].Warning:
				t.Error("is no warning")
			}
		})
	}
}

// A file of a job that is not there is told by who reads the config where it lies.
func TestAFileThatIsNotThereIsFound(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(path, []byte(sensible), 0o600); err != nil {
		t.Fatal(err)
	}
	_, ps := Load(path, environ)
	if len(ps) != 1 || ps[0].Line != 33 || ps[0].Path != "jobs.win-back.source.csv" || !ps[0].Warning {
		t.Errorf("says %v", ps)
	}
	if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte("phone,first_name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ps := Load(path, environ); len(ps) > 0 {
		t.Errorf("and when it is there: %v", ps)
	}
}

// No recipe has one of the faults, nor the demo.
func TestRecipesAndTheDemoHaveNoFault(t *testing.T) {
	all, err := examples.Recipes()
	if err != nil || len(all) == 0 {
		t.Fatal("no recipes: ", err)
	}
	for _, r := range all {
		_, ps := Load(filepath.Join("../../examples", r.Name, "config.yaml"), environ)
		if len(ps) > 0 {
			t.Errorf("%s: %v", r.Name, ps)
		}
	}
	src, err := os.ReadFile("../../cmd/nudgewire/internal/demo/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"DEMO_SERVICE": "http://127.0.0.1:1/api/v1", "DEMO_KEY": "a-key-of-nobody", "DEMO_SECRET": "a-secret-that-is-long-enough", "DEMO_NIGHT": "21:00-09:00", "DEMO_FOLDER": "/tmp"}
	_, ps := Parse("demo.yaml", src, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if slices.ContainsFunc(said(ps), func(p string) bool { return !strings.Contains(p, "consent") }) {
		t.Errorf("the demo: %v", ps)
	}
}
