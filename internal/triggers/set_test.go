package triggers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func problemLines(problems []Problem) []string {
	var lines []string
	for _, p := range problems {
		line := p.Error()
		if p.Warning {
			line = "warning: " + line
		}
		lines = append(lines, line)
	}
	return lines
}

func TestProblemsOfARule(t *testing.T) {
	tests := map[string]struct {
		rule func(*Rule)
		env  func(*Env)
		want []string
	}{
		"a rule without events": {
			rule: func(r *Rule) { r.On = nil },
			want: []string{"abandoned-cart.on: the trigger listens to nothing; name an event, as in on: shopify.cart.updated"},
		},
		"a misspelt connector": {
			rule: func(r *Rule) { r.On = []string{"shopfy.cart.updated"} },
			want: []string{`abandoned-cart.on[0]: there is no connector "shopfy"; did you mean "shopify"?`},
		},
		"an unknown connector": {
			rule: func(r *Rule) { r.On = []string{"magento.cart.updated"} },
			want: []string{`abandoned-cart.on[0]: there is no connector "magento"; the connectors are hubspot, loyalty, shopify`},
		},
		"a misspelt kind": {
			rule: func(r *Rule) { r.CancelOn = []EventIf{"shopify.order.create"} },
			want: []string{`warning: abandoned-cart.cancel_on[0]: shopify is not known to send order.create; did you mean "shopify.order.created"?`},
		},
		"a beginning that a connector is not known to send": {
			rule: func(r *Rule) { r.On = []string{"shopify.form.*"} },
			want: []string{`warning: abandoned-cart.on[0]: shopify is not known to send form.*; it is known to send cart.created, cart.updated, order.created, order.paid`},
		},
		"a condition of on": {
			rule: func(r *Rule) { r.On = []string{"shopify.cart.updated if cart.total > 5"} },
			want: []string{"abandoned-cart.on[0]: on takes the name of an event alone, and has a condition after shopify.cart.updated; write it under if, where each condition of the rule stands"},
		},
		"a condition that cannot be read": {
			rule: func(r *Rule) { r.CancelOn = []EventIf{"shopify.order.created if order.totl > 5"} },
			want: []string{`abandoned-cart.cancel_on[0]: unknown name "totl" in order; did you mean "total"?`},
		},
		"an event without its connector": {
			rule: func(r *Rule) { r.On = []string{"order.paid"} },
			want: []string{`abandoned-cart.on[0]: there is no connector "order"; did you mean "shopify.order.paid"?`},
		},
		"events without their connector": {
			rule: func(r *Rule) { r.On = []string{"deal.*"} },
			want: []string{`abandoned-cart.on[0]: there is no connector "deal"; did you mean "hubspot.deal.*"?`},
		},
		"several events in one text": {
			rule: func(r *Rule) { r.On = []string{"shopify.order.created, shopify.order.paid"} },
			want: []string{`abandoned-cart.on[0]: "shopify.order.created, shopify.order.paid" names several events in one text; write a list: [shopify.order.created, shopify.order.paid]`},
		},
		"a kind that a connector is not known to send": {
			rule: func(r *Rule) { r.On = []string{"hubspot.invoice"} },
			want: []string{`warning: abandoned-cart.on[0]: hubspot is not known to send invoice; if it does, add kinds: [invoice] to connectors.hubspot, or event: {aliases: {…}} to give its word another name`},
		},
		"a star in the middle": {
			rule: func(r *Rule) { r.On = []string{"shopify.*.paid"} },
			want: []string{"abandoned-cart.on[0]: * stands for a whole connector, or for the rest of a kind; write *.order.paid, shopify.* or shopify.order.*"},
		},
		"a connector alone": {
			rule: func(r *Rule) { r.On = []string{"shopify"} },
			want: []string{`abandoned-cart.on[0]: "shopify" does not name an event; write connector.kind, as in shopify.cart.updated`},
		},
		"a key that is no single value": {
			rule: func(r *Rule) { r.Key = "cart.items" },
			want: []string{"abandoned-cart.key: cart.items is a list; name one value, as in cart.id"},
		},
		"a wait that is no time": {
			rule: func(r *Rule) { r.Wait = Wait{Until: "cart.id"} },
			want: []string{"abandoned-cart.wait.until: cart.id is text, not a time; time(cart.id) reads it as a time"},
		},
		"a wait that is a length": {
			rule: func(r *Rule) { r.Wait = Wait{Until: "45m"} },
			want: []string{"abandoned-cart.wait.until: 45m is a length of time, not a time; for a length of time write wait: 45m, without until"},
		},
		"nothing to send": {
			rule: func(r *Rule) { r.Send = Send{} },
			want: []string{"abandoned-cart.send: there is nothing to send; name a template, a campaign or a text"},
		},
		"two things to send": {
			rule: func(r *Rule) { r.Send = Send{Template: "a", Campaign: "417"} },
			want: []string{"abandoned-cart.send.campaign: template and campaign cannot be sent together; keep one of them; write a trigger for each"},
		},
		"a text without its endpoint": {
			rule: func(r *Rule) { r.Send = Send{Text: "Hi {{ customer.name }}"} },
			want: []string{"abandoned-cart.send.text: plain texts cannot be sent: their endpoint is not known; set api.text_path to the path of the service's text endpoint"},
		},
		"variables of a campaign": {
			rule: func(r *Rule) { r.Send = Send{Campaign: "417", Variables: []string{"x"}, Language: "en"} },
			want: []string{
				"abandoned-cart.send.variables: variables belongs to a template, and there is none; remove it, or name a template",
				"abandoned-cart.send.language: language belongs to a template, and there is none; remove it, or name a template",
			},
		},
		"a template without a language": {
			env:  func(e *Env) { e.Language = "" },
			want: []string{"abandoned-cart.send.template: the template's language is not known; set send.language or defaults.language"},
		},
		"a template that depends on the event": {
			rule: func(r *Rule) { r.Send.Template = "cart_{{ customer.language }}" },
			want: []string{"abandoned-cart.send.template: it cannot depend on the event; name it in plain letters; use several triggers for several of them"},
		},
		"a header without media": {
			rule: func(r *Rule) { r.Send.Header = &Header{Filename: "a.pdf"} },
			want: []string{
				"abandoned-cart.send.header: the header has no media; write {image: …}, {video: …} or {document: …}",
				"abandoned-cart.send.header.filename: only a document has a file name; remove it",
			},
		},
		"two headers": {
			rule: func(r *Rule) {
				r.Send.Header = &Header{Image: "https://a.example/a.jpg", Video: "https://a.example/a.mp4"}
			},
			want: []string{"abandoned-cart.send.header.video: a template has one header, and here are image and video; keep one of them"},
		},
		"a header that can never be an address": {
			rule: func(r *Rule) { r.Send.Header = &Header{Image: "mug.jpg"} },
			want: []string{`abandoned-cart.send.header.image: "mug.jpg" is not an absolute http or https address; write an address such as https://shop.example/picture.jpg`},
		},
		"a header with a password": {
			rule: func(r *Rule) { r.Send.Header = &Header{Image: "https://us:secret@shop.example/x.png"} },
			want: []string{`abandoned-cart.send.header.image: the address has a user name or password in it, which the service would be given; write an address such as https://shop.example/picture.jpg`},
		},
		"a header on this machine": {
			rule: func(r *Rule) { r.Send.Header = &Header{Image: "http://localhost/x.png"} },
			want: []string{`abandoned-cart.send.header.image: "http://localhost/x.png" cannot be fetched from outside: its host is not one of the public internet; write an address such as https://shop.example/picture.jpg`},
		},
		"a header in the office": {
			rule: func(r *Rule) { r.Send.Header = &Header{Video: "https://192.168.1.5:8080/x.mp4"} },
			want: []string{`abandoned-cart.send.header.video: "https://192.168.1.5:8080/x.mp4" cannot be fetched from outside: its host is not one of the public internet; write an address such as https://shop.example/picture.jpg`},
		},
		"a header without TLS": {
			rule: func(r *Rule) { r.Send.Header = &Header{Image: "http://shop.example/x.png"} },
			want: []string{`warning: abandoned-cart.send.header.image: "http://shop.example/x.png" is not encrypted, and a messaging network may not fetch it; write https:// where the server has it`},
		},
		"a zone that is none": {
			env:  func(e *Env) { e.Timezone = "Europe/Lundon" },
			want: []string{`defaults.timezone: "Europe/Lundon" is not a time zone; write a name such as Europe/London`},
		},
		"cancelling without a wait is only a warning": {
			rule: func(r *Rule) { r.Wait = Wait{} },
			want: []string{"warning: abandoned-cart.cancel_on: there is hardly anything to cancel: without a wait the message leaves at once; give it a wait, as in wait: 45m"},
		},
		"every problem at once": {
			rule: func(r *Rule) {
				r.On = []string{"shopfy.cart.updated"}
				r.If = []string{"cart.totl > 5", "cart.total > 5", "cart.total"}
				r.Send.Variables = []string{"{{ custmer.name }}", "x", "{{ cart.items }}"}
			},
			want: []string{
				`abandoned-cart.on[0]: there is no connector "shopfy"; did you mean "shopify"?`,
				`abandoned-cart.if[0]: unknown name "totl" in cart; did you mean "total"?`,
				"abandoned-cart.if[2]: cart.total is an amount, not true or false; compare it, as in cart.total > 0",
				`abandoned-cart.send.variables[0]: unknown name "custmer"; did you mean "customer"?`,
				`abandoned-cart.send.variables[2]: cart.items is a list and cannot be printed; print one entry, cart.items[0].title, or all: join(map(cart.items, .title), ", ")`,
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, env := reminder(), shops
			if tt.rule != nil {
				tt.rule(&r)
			}
			if tt.env != nil {
				tt.env(&env)
			}
			set, problems := Compile([]Rule{r}, env)
			if diff := cmp.Diff(tt.want, problemLines(problems)); diff != "" {
				t.Errorf("Compile (-want +got):\n%s", diff)
			}
			warnings := true
			for _, p := range problems {
				warnings = warnings && p.Warning
			}
			if (set != nil) != warnings {
				t.Errorf("there is a set: %v, only warnings: %v", set != nil, warnings)
			}
		})
	}
}

func TestACleanRuleHasNoProblem(t *testing.T) {
	if _, problems := Compile([]Rule{reminder()}, shops); len(problems) != 0 {
		t.Errorf("got %q", problemLines(problems))
	}
}

func TestAProblemCountsBytesOfTheText(t *testing.T) {
	r := reminder()
	r.Send.Variables = []string{`Grüße {{ customer.first_nam }}`}
	_, problems := Compile([]Rule{r}, shops)
	if len(problems) != 1 || problems[0].Offset != len(`Grüße {{ customer.`) || problems[0].Path != "send.variables[0]" {
		t.Errorf("got %+v", problems)
	}
}

func TestATextIsSentWhereTheServiceTakesTexts(t *testing.T) {
	env := shops
	env.TextAllowed, env.Category = true, messaging.Utility
	r := Rule{Name: "t", On: []string{"shopify.cart.updated"}, Send: Send{Text: "Hi {{ customer.first_name }},\n\nyour cart waits."}}
	enqueue := compiled(t, env, r).Match(aCart(t), noon).Proposals[0].Message
	if want := "Hi Ann,\n\nyour cart waits."; enqueue.Send.Text != want || enqueue.Category != messaging.Utility || enqueue.ExpiresAt.Sub(enqueue.DueAt) != 24*time.Hour {
		t.Errorf("got %+v", enqueue)
	}
}
