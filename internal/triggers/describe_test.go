package triggers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// told are the sentences of a trigger as it is written in YAML.
func told(t *testing.T, text string) map[string]string {
	t.Helper()
	var rule Rule
	doc, problems := yamlpos.Decode("t.yaml", []byte(text), &rule)
	if problems.Err() != nil || doc == nil {
		t.Fatal(problems)
	}
	rule.Name = "t"
	set, faults := Compile([]Rule{rule}, Env{Language: "en", Timezone: "Europe/London", TextAllowed: true, Connectors: map[string]ConnectorInfo{"shopify": {}, "crm": {}}})
	if set == nil {
		t.Fatal(faults)
	}
	out := map[string]string{}
	for _, s := range set.Tell("t") {
		if out[s.Key] != "" {
			t.Errorf("%s is told twice", s.Key)
		}
		if s.About == "" {
			t.Errorf("nobody says what %s is about (aboutKeys)", s.Key)
		}
		out[s.Key] = s.Text
	}
	return out
}

func TestARuleIsReadBackInSentences(t *testing.T) {
	const usual = "on: shopify.cart.updated\nsend: {template: x}\nwait: 45m\n"
	for _, tt := range []struct{ rule, key, want string }{
		{"on: [shopify.cart.created, shopify.cart.updated, crm.deal.*, '*.order.paid']\nsend: {template: x}", "on", "It begins with cart.created, cart.updated from shopify, any deal event from crm or order.paid from any connector."},
		{"on: shopify.*\nsend: {template: x}", "on", "It begins with any event from shopify."},
		{usual + "if: [cart.total >= 50, customer.accepts_marketing, 'cart.total < 100 or true']", "if", "It goes on only if cart.total is at least 50, and customer.accepts_marketing is true, and cart.total < 100 or true."},
		{usual, "wait", "It waits for 45 minutes, counted from when the event happened."},
		{"on: shopify.cart.updated\nsend: {template: x}", "wait", "It is sent at once."},
		{"on: shopify.cart.updated\nsend: {template: x}\nwait: {until: '09:00'}", "wait", "It waits until the next 09:00 on the contact's clock; where that is not known, on the clock of Europe/London."},
		{"on: shopify.cart.updated\nsend: {template: x}\nwait: {until: 'cart.expires_at - 2h'}", "wait", "It waits until the moment cart.expires_at - 2h."},
		{usual + "cancel_on: shopify.order.created\nremember_cancel: 48h", "cancel_on", "While it waits it is cancelled by order.created from shopify. If that comes first, it is remembered for 2 days."},
		{usual + "on_repeat: ignore", "on_repeat", "While it waits, another event of the same cart changes nothing."},
		{usual + "on_repeat: parallel\nkey: raw.x", "on_repeat", "Another event of the same value of raw.x queues a message of its own."},
		{usual + "on_repeat: {max: 20, within: 24h}\nkey: cart.id", "on_repeat", "While it waits, another event of the same cart takes its place and the wait begins anew, at most 20 times and within 1 day of the first."},
		{usual, "cooldown", "The same cart gets this message once. An event that names none goes by its phone, which may get it again."},
		{usual + "cooldown: 3d", "cooldown", "The same cart gets no other message of this trigger for 3 days."},
		{usual + "cooldown: none", "cooldown", "The same cart may get this message again and again."},
		{usual + "cooldown: once", "cooldown", "The same cart gets this message once."},
		{usual + "max_age: 72h", "max_age", "An event that happened more than 3 days ago sends nothing."},
		{usual + "expires: 90m", "expires", "If it could not be sent within 1 hour and 30 minutes of its time, it is dropped."},
		{usual + "expires: off", "expires", "It is sent however late it is."},
		{usual, "quiet_hours", "It may be sent at any hour."},
		{usual + "quiet_hours: 21:00-09:00", "quiet_hours", "It is not sent in the quiet hours of the contact's place (21:00-09:00): it waits until they end."},
		{usual + "quiet_hours: {hours: 21:00-09:00, max_defer: 12h}", "quiet_hours", "It is not sent in the quiet hours of the contact's place (21:00-09:00): it waits until they end, at most 12 hours."},
		{usual + "quiet_hours: {hours: 21:00-09:00, on_hit: drop}", "quiet_hours", "It is not sent in the quiet hours of the contact's place (21:00-09:00): it is dropped."},
		{usual + "quiet_hours: 21:00-09:00\ncategory: utility", "quiet_hours", "It may be sent at any hour: quiet hours are for marketing."},
		{usual, "limit", "No limit per contact holds it back."},
		{usual, "rate", "It has no rate of its own: it goes as fast as the account may."},
		{usual + "rate: 5000 per day", "rate", "At most 5,000 messages of it leave in a day, all at once if they can; what is beyond that waits until the next day."},
		{usual + "rate: 1 per day", "rate", "At most 1 message of it leaves in a day; what is beyond that waits until the next day."},
		{usual + "rate: 500/h", "rate", "At most 500 messages of it leave in 1 hour, all at once if they can; what is beyond that waits until that window ends."},
		{usual + "limit: [2 per day, 6 per 7d]", "limit", "A contact gets at most 2 marketing messages a day, from all triggers and jobs together; beyond it, it waits until there is room. " +
			"A contact gets at most 6 marketing messages in any 7 days, from all triggers and jobs together; beyond it, it waits until there is room."},
		{usual + "limit: 2 per day\ncategory: utility", "limit", "No limit per contact holds it back: the limits are not for utility."},
		{usual, "send", `It sends the template "x" in en as marketing.`},
		{
			"on: shopify.cart.updated\nsend: {template: x, language: de, variables: ['{{ customer.first_name | default: \"there\" }}', '{{ cart.url }}', 'Hi {{ cart.id }}'], header: {image: '{{ cart.items[0].image }}'}}", "send",
			`It sends the template "x" in de (customer.first_name or "there", cart.url, "Hi {{ cart.id }}", the image cart.items[0].image) as marketing.`,
		},
		{"on: shopify.cart.updated\nsend: {campaign: 417}\ncategory: utility", "send", `It sends campaign "417" as utility.`},
		{"on: shopify.cart.updated\nsend: {text: 'Hello'}", "send", `It sends the text "Hello" as marketing.`},
		{"on: shopify.cart.updated\nsend: {template: x}\nwait: {days: 3, at: '10:00'}", "wait", "It waits for 3 days of the calendar from when the event happened, until 10:00 on the contact's clock."},
		{"on: shopify.cart.updated\nsend: {template: x}\nwait: {days: 1}", "wait", "It waits for 1 day of the calendar from when the event happened."},
		{usual + "stop_on: '*.message.received'", "stop_on", "Everything of it that waits for a contact ends with message.received from any connector."},
		{
			"on: shopify.cart.updated\nsteps:\n- {wait: 45m, send: {template: a}}\n- {wait: 3d, if: cart.total > 5, send: {template: b}}", "steps",
			`Step 1 of 2: It waits for 45 minutes, counted from when the event happened. It sends the template "a" in en as marketing. ` +
				`Step 2 of 2: It waits for 3 days, counted from when the step before it was due. It goes on only if then cart.total is more than 5. It sends the template "b" in en as marketing.`,
		},
		{usual, "consent", "It goes to every contact that is not blocked; recorded consent is not asked for."},
		{usual + "consent: required", "consent", "It goes only to contacts whose consent to messages is recorded."},
		{usual + "consent: required\ncategory: utility", "consent", "It goes to every contact: consent is asked for marketing."},
		{usual, "on_doubt", "If nobody knows whether the service took it, a person decides."},
		{usual + "category: authentication", "on_doubt", "If nobody knows whether the service took it, it is sent again, three times at the most."},
		{usual + "on_doubt: drop", "on_doubt", "If nobody knows whether the service took it, it is let be."},
		{usual + "keep_variables: false", "keep_variables", "What was filled in is not kept once it was sent."},
		{usual + "mode: shadow", "mode", "It only decides, and sends nothing (mode: shadow)."},
		{usual + "mode: off", "mode", "It is off: it does not listen."},
		{usual, "on_change", "When this trigger is edited, what waits stays as it was planned."},
		{usual + "on_change: migrate", "on_change", "When this trigger is edited, what waits is planned anew, and cancelled where the trigger would not plan it any more."},
		{usual + "on_change: cancel", "on_change", "When this trigger is edited, what waits is cancelled."},
	} {
		if diff := cmp.Diff(tt.want, told(t, tt.rule)[tt.key]); diff != "" {
			t.Errorf("%s of\n%s\n(-want +got):\n%s", tt.key, tt.rule, diff)
		}
	}
	if got := told(t, "on: crm.login_code\nsend: {template: x}\ncategory: authentication"); got["on_repeat"] != "" || got["cooldown"] != "The same phone may get this message again and again." {
		t.Errorf("a code: %q", got)
	}
}

// Whoever gives triggers a new key says what it means: what the source of tell.go does not name has no sentence.
func TestEveryKeyOfATriggerHasASentence(t *testing.T) {
	keys, _ := yamlpos.Schema(Rule{})["properties"].(map[string]any)
	elsewhere := []string{"key", "category", "remember_cancel"} // in the sentences of others
	all := Rule{
		Name: "t", On: []string{"shopify.cart.updated"}, If: []string{"cart.total > 5"}, Wait: Wait{For: time.Hour}, CancelOn: []EventIf{"shopify.order.created"},
		MaxAge: Lifetime{Set: true, For: time.Hour}, Send: Send{Template: "x"}, Keep: new(bool), Mode: Shadow, Account: "de", RememberCancel: units.Duration(time.Hour), Category: messaging.Marketing, Was: "u",
	}
	set, problems := Compile([]Rule{all}, Env{Language: "en", Connectors: map[string]ConnectorInfo{"shopify": {}}})
	if set == nil {
		t.Fatal(problems)
	}
	var said []string
	for _, s := range set.Tell("t") {
		said = append(said, s.Key)
	}
	all.StopOn, all.Steps, all.Wait, all.Send = all.CancelOn, []Step{{Send: Send{Template: "x"}}}, Wait{}, Send{}
	if set, problems = Compile([]Rule{all}, Env{Language: "en", Connectors: map[string]ConnectorInfo{"shopify": {}}}); set == nil {
		t.Fatal(problems)
	}
	for _, s := range set.Tell("t") {
		said = append(said, s.Key)
	}
	for key := range keys {
		if !slices.Contains(said, key) && !slices.Contains(elsewhere, key) {
			t.Errorf("%s has no sentence: give it one in tell.go (said: %s)", key, strings.Join(said, ", "))
		}
	}
	if set.Tell("other") != nil {
		t.Error("a trigger that is not there has sentences")
	}
}

func TestARuleIsALineOfTime(t *testing.T) {
	for name, tt := range map[string]struct {
		rule string
		want []Stage
	}{
		"at once": {"on: shopify.order.paid\nsend: {template: thanks}", []Stage{{Kind: "begins", Words: "order.paid from shopify"}, {Kind: "sends", Words: `template "thanks"`}}},
		"after a wait": {
			"on: shopify.cart.updated\nif: [cart.total >= 50]\nwait: 45m\ncancel_on: shopify.order.created\nstop_on: [shopify.order.paid, shopify.order.created]\nsend: {template: reminder}",
			[]Stage{{Kind: "begins", Words: "cart.updated from shopify", If: "cart.total is at least 50"}, {Kind: "waits", Words: "45 minutes", Ends: "order.created or order.paid from shopify"}, {Kind: "sends", Words: `template "reminder"`}},
		},
		"steps": {
			"on: shopify.cart.updated\nsteps:\n- {wait: 1d, send: {template: a}}\n- {wait: {until: '10:00'}, if: 'previous.status == \"read\"', send: {template: b}}",
			[]Stage{{Kind: "begins", Words: "cart.updated from shopify"}, {Kind: "waits", Words: "1 day"}, {Kind: "sends", Words: `template "a"`}, {Kind: "waits", Words: "until 10:00"}, {Kind: "sends", Words: `template "b"`, If: `previous.status is "read"`}},
		},
		"with its words": {
			"on: shopify.order.paid\nsteps:\n- {send: {template: hello, variables: ['{{ customer.first_name | default: \"there\" }}', Sale]}}\n- {send: {template: hello, language: de, variables: ['{{ order.name }}', x]}}\n- {send: {template: bare}}",
			[]Stage{{Kind: "begins", Words: "order.paid from shopify"}, {Kind: "sends", Words: `template "hello"`, Says: `Hi [customer.first_name or "there"]: Sale`}, {Kind: "sends", Words: `template "hello"`, Says: "Hallo [order.name]: x"}, {Kind: "sends", Words: `template "bare"`}},
		},
		"in a language of each contact": {
			"on: shopify.order.paid\nsend: {template: hello, language: '{{ contact.language }}', variables: [a, b]}",
			[]Stage{{Kind: "begins", Words: "order.paid from shopify"}, {Kind: "sends", Words: `template "hello"`, Says: "Hallo a: b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			texts := messaging.Templates{{Name: "hello", Languages: yamlpos.Ordered[string]{{Key: "de", Value: "Hallo {{1}}: {{2}}"}, {Key: "en", Value: "Hi {{1}}: {{2}}"}}}, {Name: "bare"}}
			var rule Rule
			if _, problems := yamlpos.Decode("t.yaml", []byte(tt.rule), &rule); problems.Err() != nil {
				t.Fatal(problems)
			}
			rule.Name = "t"
			set, faults := Compile([]Rule{rule}, Env{Language: "en", Timezone: "Europe/London", Connectors: map[string]ConnectorInfo{"shopify": {}}})
			if set == nil {
				t.Fatal(faults)
			}
			if diff := cmp.Diff(tt.want, set.Stages("t", texts)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if set.Stages("other", texts) != nil {
				t.Error("a trigger that is not there has stages")
			}
		})
	}
}
