package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLintsWarnOfWhatIsLikelyNotMeant(t *testing.T) {
	_, behindAPI, _ := strings.Cut(base, "defaults:")
	both, _, _ := strings.Cut(behindAPI, "triggers:")
	more := func(lines string) [2]string { return [2]string{"triggers:\n", "triggers:\n" + lines} }
	const ownText = "  own: {verify: {kind: token, from: header, field: X-T, secret: \"${WOO_SECRET}\"}, event: {type: t, id: id}, map: {phone: p}}\n"
	own := func(rule string) [2]string {
		return [2]string{"triggers:\n", ownText + "triggers:\n  first: " + rule + "\n"}
	}
	tests := map[string]struct {
		change [2]string
		want   []string
	}{
		"nothing but an api": {
			[2]string{"defaults:" + behindAPI, ""},
			[]string{
				"1:1: warning: connectors: there are no connectors: nobody can post webhooks; write connectors: {shopify: {secret: ${SHOPIFY_WEBHOOK_SECRET}}}",
				"1:1: warning: triggers: there are no triggers: events are stored and nothing is sent; \"nudgewire init other.yaml\" writes one to start from",
			},
		},
		"no country": {
			[2]string{"country: GB, ", ""},
			[]string{"4:1: warning: defaults.country: is not set: phone numbers without a country code cannot be read; set it to where most customers are, such as country: GB"},
		},
		"a country of every connector is enough": {
			[2]string{"defaults:" + both, "defaults: {language: en}\nconnectors:\n  shopify: {secret: \"${SHOP_SECRET}\", defaults: {country: GB}}\n"}, nil,
		},
		"a connector whose posts are all history": {
			[2]string{"shopify: {", "shopify: {history: true, "},
			[]string{"6:22: warning: connectors.shopify.history: all that shopify posts is history: stored, and sends nothing; when the past is in, remove it, or write until when it is so: history: 2026-12-01 18:00"},
		},
		"a history that is over": {
			[2]string{"shopify: {", "shopify: {history: 2020-12-01 18:00, "},
			[]string{"6:22: warning: connectors.shopify.history: 2020-12-01 18:00 has passed: what shopify posts is no history any more; remove it"},
		},
		"what queues and stops by a star": {
			[2]string{"cancel_on: shopify.order.created", "cancel_on: shopify.order.created\n    stop_on: \"*\""},
			[]string{`12:14: warning: triggers.remind.stop_on: some events are * as well as shopify.cart.updated: they stop what waits and queue the next; name the events of stop_on one by one`},
		},
		"what queues and stops": {
			[2]string{"cancel_on: shopify.order.created", "cancel_on: shopify.order.created\n    stop_on: [shopify.cart.updated, shopify.order.created]"},
			[]string{
				"12:15: warning: triggers.remind.stop_on[0]: shopify.cart.updated both queues a message and stops what waits; take it out of on or out of stop_on",
			},
		},
		"steps that nothing ends, wait for ever and give one template other variables": {
			more("  first: {on: shopify.cart.created, if: customer.accepts_marketing, steps: [{send: {template: a}}, {wait: 400d, send: {template: b}}, {wait: {days: 400}, if: [cart.total > 1, cart.total > 1], send: {template: a, variables: [x]}}]}\n"),
			[]string{
				"8:3: warning: triggers.first: nothing cancels it: who buys while it waits is reminded all the same; add cancel_on: shopify.order.created",
				"8:107: warning: triggers.first.steps[1].wait: 400d is a very long wait; check the unit: m is minutes, d is days",
				"8:142: warning: triggers.first.steps[2].wait: 400 days is a very long wait; check the number",
				"8:176: warning: triggers.first.steps[2].if[1]: is here twice; remove one of the two",
				"8:210: warning: triggers.first.steps[2].send.template: a gets 1 variable here and 0 variables in first; a template has one number of variables",
			},
		},
		"a connector nobody listens to": {
			[2]string{"connectors:\n", "connectors:\n  idle: {preset: woocommerce, secret: \"${WOO_SECRET}\"}\n"},
			[]string{"6:3: warning: connectors.idle: no trigger listens to it: its events are stored and send nothing; remove it, or name it in a trigger's on"},
		},
		"a network that nobody listens to brings STOP": {
			[2]string{"connectors:\n", "connectors:\n  infobip: {secret: \"user:${WOO_SECRET}\"}\n"}, nil,
		},
		"a network that nobody listens to, and whose STOP is not heard": {
			[2]string{"connectors:\n", "connectors:\n  infobip: {secret: \"user:${WOO_SECRET}\", opt_out: off}\n"},
			[]string{"6:3: warning: connectors.infobip: no trigger listens to it: its events are stored and send nothing; remove it, or name it in a trigger's on"},
		},
		"what stands twice": {
			[2]string{"    if: customer.accepts_marketing\n", "    if: [customer.accepts_marketing, cart.total > 1, cart.total > 1]\n"},
			[]string{
				"13:54: warning: triggers.remind.if[2]: is here twice; remove one of the two",
			},
		},
		"an event that stands twice": {
			[2]string{"on: shopify.cart.updated", "on: [shopify.cart.updated, shopify.cart.updated]"},
			[]string{
				"9:32: warning: triggers.remind.on[1]: is here twice; remove one of the two",
			},
		},
		"an event that queues and cancels": {
			[2]string{"cancel_on: shopify.order.created", "cancel_on: [shopify.order.created, shopify.cart.updated]"},
			[]string{"11:40: warning: triggers.remind.cancel_on[1]: shopify.cart.updated both queues a message and cancels it; take it out of on or out of cancel_on"},
		},
		"events that queue and cancel by a star": {
			[2]string{"cancel_on: shopify.order.created", "cancel_on: [shopify.order.created, shopify.cart.*, \"*.cart.updated\"]"},
			[]string{
				"11:40: warning: triggers.remind.cancel_on[1]: some events are shopify.cart.* as well as shopify.cart.updated: they cancel a message and queue the next; name the events of on one by one",
				"11:56: warning: triggers.remind.cancel_on[2]: some events are *.cart.updated as well as shopify.cart.updated: they cancel a message and queue the next; name the events of on one by one",
			},
		},
		"an event that never carries a phone": {
			[2]string{"triggers:\n", "  square: {secret: \"${WOO_SECRET}\"}\nserver: {public_url: \"https://h.example.com\"}\ntriggers:\n  visit: {on: [square.contact.created, square.booking.created], category: utility, send: {template: t}}\n"},
			[]string{"10:40: warning: triggers.visit.on[1]: square.booking.created never carries a phone here, and nothing is sent without one; set token in connectors.square: it is then looked up at connect.squareup.com"},
		},
		"it carries one by a look-up": {
			[2]string{"triggers:\n", "  square: {secret: \"${WOO_SECRET}\", token: \"${SHOP_SECRET}\"}\nserver: {public_url: \"https://h.example.com\"}\ntriggers:\n  visit: {on: square.booking.created, category: utility, send: {template: t}}\n"},
			nil,
		},
		"it would, and is off": {
			[2]string{"triggers:\n", "  square: {secret: \"${WOO_SECRET}\"}\nserver: {public_url: \"https://h.example.com\"}\ntriggers:\n  visit: {on: square.booking.created, mode: \"off\", send: {template: t}}\n"},
			nil,
		},
		"everything": {
			more("  first: {on: \"*\", wait: 5m, if: customer.accepts_marketing, send: {template: form}}\n"),
			[]string{"8:15: warning: triggers.first.on: hears every event of every connector; name what it is about, such as shopify.cart.updated, shopify.* or *.order.paid"},
		},
		"a reminder that nothing ends": {
			[2]string{"    cancel_on: shopify.order.created\n", ""},
			[]string{"8:3: warning: triggers.remind: nothing cancels it: who buys while it waits is reminded all the same; add cancel_on: shopify.order.created"},
		},
		"in mode shadow it may try":  {[2]string{"    cancel_on: shopify.order.created\n", "    mode: shadow\n"}, nil},
		"at once there is no reason": {[2]string{"    wait: 45m\n    cancel_on: shopify.order.created\n", "    cooldown: 3d\n"}, nil},
		"at once on every change": {
			[2]string{"    wait: 45m\n    cancel_on: shopify.order.created\n", ""},
			[]string{"9:9: warning: triggers.remind.on: sends at once when something changes, and one edit at the sender often makes several events; add wait: 15m, which begins anew with each change, and cooldown: 7d"},
		},
		"at once on every change, in mode shadow": {[2]string{"    wait: 45m\n    cancel_on: shopify.order.created\n", "    mode: shadow\n"}, nil},
		"at once on every change, by a key":       {[2]string{"    wait: 45m\n    cancel_on: shopify.order.created\n", "    key: cart.id\n"}, nil},
		"at once on every change, no marketing":   {[2]string{"    wait: 45m\n    cancel_on: shopify.order.created\n", "    category: utility\n"}, nil},
		"a wait of half a year":                   {[2]string{"45m", "180d"}, []string{"10:11: warning: triggers.remind.wait: 180d is a very long wait; check the unit: m is minutes, d is days"}},
		"a moment to send in": {
			[2]string{"    wait:", "    expires: 5s\n    wait:"},
			[]string{"10:14: warning: triggers.remind.expires: 5s leaves hardly a moment to send: a busy minute drops the message; give it some minutes"},
		},
		"a cooldown within the wait": {
			[2]string{"    wait:", "    cooldown: 10m\n    wait:"},
			[]string{"10:15: warning: triggers.remind.cooldown: a cooldown of 10m is over before the wait of 45m is; make it longer than the wait"},
		},
		"too young to repeat": {
			[2]string{"    wait:", "    max_age: 10s\n    wait:"},
			[]string{"10:14: warning: triggers.remind.max_age: 10s is less than senders need to repeat a webhook that was lost; give it hours"},
		},
		"the same message twice": {
			[2]string{
				"    if: customer.accepts_marketing\n",
				"    category: utility\n  second: {on: shopify.cart.updated, wait: 5m, cancel_on: shopify.order.created, category: utility, send: {template: cart_reminder}}\n",
			},
			[]string{"14:118: warning: triggers.second.send.template: remind sends it because of the same event: a person gets it twice; remove one of the two, make them steps of one trigger, or give each an if that excludes the other's"},
		},
		"a template with two numbers of variables": {
			more("  first: {on: shopify.order.paid, category: utility, send: {template: cart_reminder, variables: [a]}}\n"),
			[]string{"13:22: warning: triggers.remind.send.template: cart_reminder gets 0 variables here and 1 variable in first; a template has one number of variables"},
		},
		"a job gives a template another number of variables": {
			[2]string{"triggers:\n", "jobs: {winback: {source: {csv: a.csv}, columns: {phone: tel, var_1: name}, deliver: per_message, send: {template: cart_reminder}}}\ntriggers:\n"},
			[]string{"7:115: warning: jobs.winback.send.template: cart_reminder gets 1 variable here and 0 variables in remind; a template has one number of variables"},
		},
		"marketing that asks for no consent": {
			[2]string{"    if: customer.accepts_marketing\n", ""},
			[]string{"8:3: warning: triggers.remind: does not ask whether the customer agreed to messages, and shopify says it; add customer.accepts_marketing, or consent: required: consent to messages on the phone"},
		},
		"marketing of a sender that says nothing of consent": {
			own(`{on: own.form.submitted, send: {template: form}}`),
			[]string{"9:3: warning: triggers.first: is marketing and does not ask whether the customer agreed to messages; add consent: required, and record who agreed (docs/consent.md); or say category: utility if it is an answer that somebody waits for"},
		},
		"whose triggers ask for it":     {own(`{on: own.form.submitted, consent: required, send: {template: form}}`), nil},
		"whose payload says it":         {own(`{on: own.form.submitted, if: raw.agreed, send: {template: form}}`), nil},
		"which is in shadow":            {own(`{on: own.form.submitted, mode: shadow, send: {template: form}}`), nil},
		"to whom subscribed just now":   {own(`{on: own.contact.subscribed, send: {template: form}}`), nil},
		"all of which ask, by defaults": {[2]string{both + "triggers:", strings.Replace(both, "country: GB", "consent: required, country: GB", 1) + ownText + "triggers:\n  first: {on: own.form.submitted, send: {template: form}}"}, nil},
		"marketing that asks about e-mail": {
			[2]string{"customer.accepts_marketing", "customer.accepts_email"},
			[]string{"13:9: warning: triggers.remind.if: permission to be sent e-mail is no consent to messages; add customer.accepts_marketing, or consent: required: consent to messages on the phone"},
		},
		"marketing that goes twice": {
			[2]string{"    if: customer.accepts_marketing\n", "    if: customer.accepts_marketing\n    on_doubt: resend\n"},
			[]string{"14:15: warning: triggers.remind.on_doubt: marketing that is sent again in doubt may reach a person twice; write hold and look at messages resolve, or drop to let it be"},
		},
		"utility may go twice":               {[2]string{"if: customer.accepts_marketing", "category: utility\n    on_doubt: resend"}, nil},
		"a tag may hold the consent":         {[2]string{"customer.accepts_marketing", `customer.tags contains "messages-yes"`}, nil},
		"what is asked for needs no consent": {[2]string{"if: customer.accepts_marketing", "category: utility"}, nil},
		"a kind that nobody sends": {
			more("  first: {on: \"*.form.submitted\", if: customer.accepts_marketing, send: {template: form}}\n"),
			[]string{"8:15: warning: triggers.first.on: no connector of this config sends form.submitted; see the kinds of each in docs/connectors/README.md"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(base, tt.change[0]) {
				t.Fatalf("base has no %q", tt.change[0])
			}
			c, ps := Parse("config.yaml", []byte(strings.Replace(base, tt.change[0], tt.change[1], 1)), environ)
			if diff := cmp.Diff(tt.want, said(ps)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if ps.Errors() == 0 && c.Triggers == nil {
				t.Error("warnings kept the config from running")
			}
		})
	}
}

func TestALintOfAListThatIsNotThere(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "config.yaml")
	jobs := "jobs:\n"
	for name, source := range map[string]string{"there": "{csv: there*.csv}", "gone": "{csv: gone*.csv}", "crm": "{sqlite: crm.db, query: select 1}"} {
		jobs += "  " + name + ": {source: " + source + ", columns: {phone: phone}, campaign: {template_id: 1}}\n"
	}
	for name, text := range map[string]string{file: base + jobs, filepath.Join(folder, "there-1.csv"): "phone\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, problems := Load(file, environ)
	var got []string
	for _, p := range problems {
		got = append(got, p.Path+": "+p.Msg)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"jobs.crm.source.sqlite: no file has such a name now", "jobs.gone.source.csv: no file has such a name now"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if _, problems := LoadWithoutSecrets(file, func(string) (string, bool) { return "", false }); len(problems) > 0 {
		t.Errorf("away from the daemon's machine: %v", problems)
	}
}

// One closing quote or bracket less, anywhere in the sample config: the problem is told where it is missing.
func TestWhatIsNotClosedIsToldOnItsLine(t *testing.T) {
	whole, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines, tried := strings.Split(string(whole), "\n"), 0
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") || strings.Contains(line, "${") || strings.Contains(line, "interval '") {
			continue // what is in a reference or a query is no sign of YAML
		}
		code, _, _ := strings.Cut(line, " #")
		code = strings.TrimRight(code, " ")
		last := len(code) - 1
		if last < 0 || !strings.ContainsRune(`]}'"`, rune(code[last])) {
			continue
		}
		tried++
		broken := slices.Clone(lines)
		broken[i] = code[:last] + line[len(code):]
		_, problems := Parse("config.yaml", []byte(strings.Join(broken, "\n")), environ)
		if problems.Errors() == 0 || problems.Faults()[0].Line != i+1 {
			t.Errorf("line %d without its last sign, %s: %v", i+1, broken[i], problems)
		}
	}
	if tried < 20 {
		t.Errorf("%d lines were tried", tried)
	}
}
