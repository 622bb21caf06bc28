package triggers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

func TestARuleIsReadFromYAML(t *testing.T) {
	const src = `
on: shopify.cart.updated
if:
  - cart.total >= 50
  - customer.accepts_marketing
key: cart.id
on_repeat: {max: 20, within: 24h}
cooldown: 3d
wait: {until: 'cart.expires_at - 2h'}
cancel_on: [shopify.order.created, "*.order.paid"]
max_age: 72h
expires: off
remember_cancel: 2d
category: utility
mode: shadow
send:
  template: cart_reminder
  language: en
  variables: ['{{ customer.first_name | default: "there" }}', '{{ cart.url }}']
  header: {document: 'https://a.example/{{ cart.id }}.pdf', filename: offer.pdf}
`
	var got Rule
	if _, problems := yamlpos.Decode("config.yaml", []byte(src), &got); len(problems) > 0 {
		t.Fatalf("decode: %v", problems)
	}
	want := Rule{
		On: []string{"shopify.cart.updated"}, If: []string{"cart.total >= 50", "customer.accepts_marketing"}, Key: "cart.id",
		OnRepeat: OnRepeat{messaging.OnRepeat{Mode: messaging.Restart, Max: 20, Within: 24 * time.Hour}},
		Cooldown: Cooldown{messaging.Cooldown{Mode: messaging.CooldownFor, For: 72 * time.Hour}},
		Wait:     Wait{Until: "cart.expires_at - 2h"},
		CancelOn: []EventIf{"shopify.order.created", "*.order.paid"},
		MaxAge:   Lifetime{Set: true, For: 72 * time.Hour}, Expires: Lifetime{Set: true, Off: true},
		Category: messaging.Utility, Mode: Shadow, RememberCancel: got.RememberCancel,
		Send: Send{
			Template: "cart_reminder", Language: "en",
			Variables: []string{`{{ customer.first_name | default: "there" }}`, "{{ cart.url }}"},
			Header:    &Header{Document: "https://a.example/{{ cart.id }}.pdf", Filename: "offer.pdf"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	if got.RememberCancel.D() != 48*time.Hour {
		t.Errorf("remember_cancel is %v", got.RememberCancel)
	}
}

func TestTheFriendlyFormsOfARule(t *testing.T) {
	tests := map[string]struct {
		src  string
		got  func(Rule) any
		want any
	}{
		"a plain wait":          {"wait: 45m", func(r Rule) any { return r.Wait }, Wait{For: 45 * time.Minute}},
		"calendar days":         {`wait: {days: 3, at: "10:00"}`, func(r Rule) any { return r.Wait }, Wait{Days: 3, At: "10:00"}},
		"a time of day":         {`wait: {until: "09:00"}`, func(r Rule) any { return r.Wait }, Wait{Until: "09:00"}},
		"no wait":               {"wait: 0", func(r Rule) any { return r.Wait }, Wait{}},
		"on_repeat in a word":   {"on_repeat: parallel", func(r Rule) any { return r.OnRepeat.Mode }, messaging.Parallel},
		"on_repeat in parts":    {"on_repeat: {mode: ignore}", func(r Rule) any { return r.OnRepeat.Mode }, messaging.Ignore},
		"once":                  {"cooldown: once", func(r Rule) any { return r.Cooldown.Cooldown }, messaging.Cooldown{Mode: messaging.CooldownOnce}},
		"a cooldown of nothing": {"cooldown: 0", func(r Rule) any { return r.Cooldown.Cooldown }, messaging.Cooldown{Mode: messaging.CooldownNone}},
		"a single condition":    {"if: order.number == 2", func(r Rule) any { return r.If }, []string{"order.number == 2"}},
		"a campaign is text":    {"send: {campaign: 0417}", func(r Rule) any { return r.Send.Campaign }, "0417"},
		"expires of nothing":    {"expires: 0", func(r Rule) any { return r.Expires }, Lifetime{Set: true, Off: true}},
		"what is not written":   {"on: a.b", func(r Rule) any { return r.Expires }, Lifetime{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r Rule
			if _, problems := yamlpos.Decode("c.yaml", []byte(tt.src), &r); len(problems) > 0 {
				t.Fatalf("decode: %v", problems)
			}
			if diff := cmp.Diff(tt.want, tt.got(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakesInARule(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"days and until":               {`wait: {days: 3, until: "09:00"}`, `c.yaml:1:7: wait: says until and days; keep one of them: {until: "09:00"} or {days: 3, at: "09:00"}`},
		"a time of day without days":   {`wait: {at: "10:00"}`, `c.yaml:1:7: wait: says a time of day and no days; write {days: 1, at: "10:00"}, or {until: "10:00"} for the next time that it is so late`},
		"no days":                      {`wait: {days: 0}`, `c.yaml:1:14: wait.days: "0" is no number of calendar days; write 1 or more, as in {days: 3, at: "10:00"}; for the same day write {until: "10:00"}`},
		"a day at no time":             {`wait: {days: 3, at: "25:00"}`, `c.yaml:1:21: wait.at: "25:00" is not a time of day such as 09:00; write hours and minutes, from "00:00" to "23:59"`},
		"a time of day as a wait":      {`wait: "09:00"`, `c.yaml:1:7: wait: "09:00" is a time of day, not a duration; to wait for it, write {until: "09:00"}`},
		"a wait without a unit":        {"wait: 45", `c.yaml:1:7: wait: "45" has no unit; write a number with a unit: 90s, 45m, 2h, 3d, 1w or 1h30m`},
		"a wait until nothing":         {"wait: {}", `c.yaml:1:7: wait: does not say until when; write {until: "09:00"}, {until: 'cart.expires_at - 2h'} or a duration`},
		"a misspelt until":             {"wait: {untl: x}", `c.yaml:1:8: wait.untl: unknown key; did you mean "until"?`},
		"a misspelt mode of on_repeat": {"on_repeat: restrat", `c.yaml:1:12: on_repeat: "restrat" is not known here; did you mean "restart"?`},
		"an unknown mode of on_repeat": {"on_repeat: maybe", `c.yaml:1:12: on_repeat: "maybe" is not known here; write restart, ignore, parallel`},
		"bounds of what is ignored":    {"on_repeat: {mode: ignore, max: 3}", `c.yaml:1:12: on_repeat: max and within bound restarts, and mode is ignore; remove them`},
		"a cooldown that is no time":   {"cooldown: week", `c.yaml:1:11: cooldown: "week" is not known here; write once, none or a duration such as 3d`},
		"an expires that is none":      {"expires: soon", `c.yaml:1:10: expires: "soon" is not a duration; write a number with a unit: 90s, 45m, 2h, 3d, 1w or 1h30m`},
		"no time to remember":          {"remember_cancel: 0", `c.yaml:1:18: remember_cancel: "0" is less than 1m; it is between 1m and 90d`},
		"too long to remember":         {"remember_cancel: 91d", `c.yaml:1:18: remember_cancel: "91d" is more than 90d; it is between 1m and 90d`},
		"a misspelt key":               {"cancel_in: a.b", `c.yaml:1:1: cancel_in: unknown key; did you mean "cancel_on"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r Rule
			_, problems := yamlpos.Decode("c.yaml", []byte(tt.src), &r)
			if len(problems) != 1 || problems[0].Error() != tt.want {
				t.Errorf("got  %v\nwant %s", problems, tt.want)
			}
		})
	}
}

func TestARuleDescribesItselfToEditors(t *testing.T) {
	keys, _ := yamlpos.Schema(Rule{})["properties"].(map[string]any)
	for key, schema := range keys {
		if one, ok := schema.(map[string]any); !ok || len(one) < 2 {
			t.Errorf("key %s has the schema %v", key, schema)
		}
	}
	if len(keys) < 15 {
		t.Errorf("there are %d keys", len(keys))
	}
}

func TestASlipInAVariableHasItsHint(t *testing.T) {
	for text, want := range map[string]string{
		"customer.first_name":         "for the value write {{ customer.first_name }}",
		"{ customer.first_name }":     "for the value write {{ customer.first_name }}",
		"%name%":                      "a value is written {{ customer.first_name }}",
		"{% if x %}":                  "a value is written {{ customer.first_name }}",
		"${cart.url}":                 "for the value write {{ cart.url }}",
		"":                            "every variable needs a value, or the service rejects the message; write a text or a {{ value }}",
		"{{ customer.first_name }}":   "",
		"50 % off":                    "",
		"Your order. It is here":      "",
		"https://shop.example/a?b=%c": "",
		"order":                       "",
	} {
		if got := slip(text); got != want {
			t.Errorf("slip(%q) = %q, want %q", text, got, want)
		}
	}
}
