package triggers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestAnAbandonedCartQueuesAReminder(t *testing.T) {
	set := compiled(t, shops, reminder())
	plan := set.Match(aCart(t), noon)
	happenedAt := noon.Add(-time.Minute)
	want := []messaging.Proposal{{
		Decision: messaging.Decision{
			Trigger: "abandoned-cart", Outcome: messaging.Planned, Key: "cart-1", Config: "v1", At: noon,
			Clauses: []messaging.Clause{
				{Text: "cart.total >= 50", Held: true, Values: []messaging.Value{{Name: "cart.total", Value: "79.90"}}},
				{Text: "customer.accepts_marketing", Held: true, Values: []messaging.Value{{Name: "customer.accepts_marketing", Value: "true"}}},
				{Text: `not (customer.tags contains "wholesale")`, Held: true, Values: []messaging.Value{{Name: "customer.tags", Value: "VIP, spring"}}},
			},
		},
		Correlation: messaging.Correlation{Trigger: "abandoned-cart", Key: "cart-1", Phone: "447700900123"},
		Message: messaging.Message{
			Trigger: "abandoned-cart", Key: "cart-1", Phone: "447700900123", Category: messaging.Marketing,
			Send: messaging.Send{
				Template: "cart_reminder", Language: "en",
				Variables: []string{"Ann", "Blue mug", "https://shop.example/cart/1"},
				Header:    &messaging.Header{Type: "image", URL: "https://shop.example/mug.jpg"},
			},
			State: messaging.StateWaiting, DueAt: happenedAt.Add(45 * time.Minute),
			ExpiresAt: happenedAt.Add(45*time.Minute + 6*time.Hour),
			CreatedAt: noon, UpdatedAt: noon, Config: "v1", Zone: "Europe/London",
		},
		OnRepeat: messaging.OnRepeat{Mode: messaging.Restart},
		Cooldown: messaging.Cooldown{Mode: messaging.CooldownFor, For: 72 * time.Hour},
		EventAt:  happenedAt,
	}}
	if diff := cmp.Diff(want, plan.Proposals); diff != "" {
		t.Errorf("Match (-want +got):\n%s", diff)
	}
}

// verdicts are the proposals of a plan in short: "outcome key: reason".
func verdicts(p messaging.Plan) string {
	var lines []string
	for _, w := range p.Proposals {
		line := strings.TrimSpace(fmt.Sprintf("%s %s", w.Decision.Outcome, w.Decision.Key))
		if w.Decision.Reason != "" {
			line += ": " + w.Decision.Reason
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " | ")
}

func TestWhatATriggerAnswers(t *testing.T) {
	tests := map[string]struct {
		rule  func(*Rule)
		event func(*messaging.Event)
		want  string
	}{
		"an event that nobody listens to leaves nothing": {
			event: func(e *messaging.Event) { e.Kind = "cart.created" }, want: "",
		},
		"a trigger that is off does not listen": {
			rule: func(r *Rule) { r.Mode = Off }, want: "",
		},
		"a shadow says what it would do": {
			rule: func(r *Rule) { r.Mode = Shadow },
			want: `shadowed cart-1: mode: shadow; it would send template "cart_reminder", due 2026-11-27 12:44:00 UTC (in 44m)`,
		},
		"a condition that does not hold is named with its value": {
			event: func(e *messaging.Event) { e.Cart.Total = messaging.AmountOf(12) },
			want:  "skipped: cart.total >= 50 does not hold (cart.total = 12)",
		},
		"a flag that does not hold is not said twice": {
			event: func(e *messaging.Event) { e.Contact.AcceptsMarketing = false },
			want:  "skipped: customer.accepts_marketing does not hold (false)",
		},
		"a condition that cannot be decided skips": {
			rule: func(r *Rule) { r.If = []string{"raw.points > 5"} },
			want: "skipped: cannot tell whether raw.points > 5: raw.points is missing",
		},
		"an event without a phone says why it has none": {
			event: func(e *messaging.Event) {
				e.Contact.Phone, e.Contact.PhoneProblem = "", `"12" is too short to be a phone`
			},
			want: `skipped: "12" is too short to be a phone`,
		},
		"an event that names no phone at all": {
			event: func(e *messaging.Event) { e.Contact.Phone = "" },
			want:  "skipped: the event names no phone",
		},
		"an event that is too old sends nothing": {
			event: func(e *messaging.Event) { e.OccurredAt = noon.Add(-73 * time.Hour) },
			want:  "skipped: the event is 3d1h old; max_age is 3d",
		},
		"a variable that comes out empty skips": {
			event: func(e *messaging.Event) { e.Cart.Items = nil },
			want:  "skipped cart-1: variable 2 is empty: {{ cart.items[0].title }} (cart.items is missing); give it a default",
		},
		"a text that is not reported and has no default skips": {
			event: func(e *messaging.Event) { e.Cart.URL = " " },
			want:  "skipped cart-1: variable 3 is empty: {{ cart.url }}; give it a default",
		},
		"a link that is too long is not cut": {
			event: func(e *messaging.Event) { e.Cart.URL = "https://shop.example/" + strings.Repeat("x", 1100) },
			want:  "skipped cart-1: variable 3 is 1121 characters long: at most 1024 are sent, and a link cannot be cut",
		},
		"a header that is no web address skips": {
			event: func(e *messaging.Event) { e.Cart.Items[0].Image = "/mug.jpg" },
			want:  `skipped cart-1: the header's image: "/mug.jpg" is not an absolute http or https address`,
		},
		"a header that cannot be fetched from outside skips": {
			event: func(e *messaging.Event) { e.Cart.Items[0].Image = "http://[::1]:8080/mug.jpg" },
			want:  `skipped cart-1: the header's image: "http://[::1]:8080/mug.jpg" cannot be fetched from outside: its host is not one of the public internet`,
		},
		"a header with a password skips, and does not show it": {
			event: func(e *messaging.Event) { e.Cart.Items[0].Image = "https://us:secret@shop.example/mug.jpg" },
			want:  "skipped cart-1: the header's image: the address has a user name or password in it, which the service would be given",
		},
		"a broken header with a password does not show it": {
			event: func(e *messaging.Event) { e.Cart.Items[0].Image = "https://us:sec%ret@shop.example/mug.jpg" },
			want:  "skipped cart-1: the header's image: the address is not a web address",
		},
		"a header address is not a script": {
			event: func(e *messaging.Event) { e.Cart.Items[0].Image = "javascript:alert(1)" },
			want:  `skipped cart-1: the header's image: "javascript:alert(1)" is not an absolute http or https address`,
		},
		"an order cancels by the cart's key": {
			event: func(e *messaging.Event) { e.Kind = "order.created" },
			want:  "cancelling cart-1",
		},
		"an order without a cart cancels by phone": {
			event: func(e *messaging.Event) { e.Kind, e.Cart.ID = "order.created", "" },
			want:  "cancelling",
		},
		"an order with neither cancels nothing": {
			event: func(e *messaging.Event) { e.Kind, e.Cart.ID, e.Contact.Phone = "order.created", "", "" },
			want:  "skipped: cancels nothing: neither key nor phone",
		},
		"an order without a phone cancels by key": {
			event: func(e *messaging.Event) { e.Kind, e.Contact.Phone = "order.created", "" },
			want:  "cancelling cart-1",
		},
		"a shadow still cancels what was planned when it was live": {
			rule:  func(r *Rule) { r.Mode = Shadow },
			event: func(e *messaging.Event) { e.Kind = "order.created" },
			want:  "cancelling cart-1",
		},
		"a reply whose condition holds stops": {
			rule:  func(r *Rule) { r.StopOn = []EventIf{`*.message.received if message.text matches "(?i)^no"`} },
			event: func(e *messaging.Event) { e.Kind, e.Message.Text = "message.received", "No, thanks" },
			want:  "cancelling",
		},
		"a reply whose condition does not hold stops nothing": {
			rule:  func(r *Rule) { r.StopOn = []EventIf{`*.message.received if message.text matches "(?i)^no"`} },
			event: func(e *messaging.Event) { e.Kind, e.Message.Text = "message.received", "yes" },
			want:  `skipped: stops nothing: message.text matches "(?i)^no" does not hold (message.text = yes)`,
		},
		"a reply whose condition cannot be told stops nothing": {
			rule:  func(r *Rule) { r.StopOn = []EventIf{`*.message.received if message.button == "No"`} },
			event: func(e *messaging.Event) { e.Kind, e.Message.Text = "message.received", "yes" },
			want:  `skipped: stops nothing: cannot tell whether message.button == "No": message.button is missing`,
		},
		"one of several conditions is enough": {
			rule: func(r *Rule) {
				r.StopOn = []EventIf{`*.message.received if message.button == "No"`, `*.message.received if message.text == "no"`}
			},
			event: func(e *messaging.Event) { e.Kind, e.Message.Text = "message.received", "no" },
			want:  "cancelling",
		},
		"an entry without a condition needs none": {
			rule: func(r *Rule) {
				r.StopOn = []EventIf{`*.message.received if message.text == "no"`, "shopify.message.*"}
			},
			event: func(e *messaging.Event) { e.Kind, e.Message.Text = "message.received", "yes" },
			want:  "cancelling",
		},
		"an order whose condition does not hold cancels nothing": {
			rule:  func(r *Rule) { r.CancelOn = []EventIf{"shopify.order.created if order.total >= 1000"} },
			event: func(e *messaging.Event) { e.Kind, e.Order.Total = "order.created", messaging.AmountOf(20) },
			want:  "skipped: cancels nothing: order.total >= 1000 does not hold (order.total = 20)",
		},
		"an order whose condition holds cancels by the key": {
			rule:  func(r *Rule) { r.CancelOn = []EventIf{"shopify.order.created if order.total >= 1000"} },
			event: func(e *messaging.Event) { e.Kind, e.Order.Total = "order.created", messaging.AmountOf(2000) },
			want:  "cancelling cart-1",
		},
		"an event that both cancels and plans cancels first": {
			rule: func(r *Rule) { r.CancelOn = []EventIf{"shopify.cart.*"} },
			want: "cancelling cart-1 | planned cart-1",
		},
		"without a key expression the kind's own identifier is the key": {
			rule: func(r *Rule) { r.Key = "" }, want: "planned cart-1",
		},
		"several sorts of event keep their keys apart": {
			rule: func(r *Rule) {
				r.Key, r.On = "", []string{"shopify.cart.updated", "shopify.order.paid"}
			},
			want: "planned cart:cart-1",
		},
		"a cancelling event ends the correlation keys of each sort": {
			rule: func(r *Rule) {
				r.Key, r.On = "", []string{"shopify.cart.updated", "shopify.order.paid"}
			},
			event: func(e *messaging.Event) { e.Kind = "order.created" },
			want:  "cancelling cart:cart-1 | cancelling order:o-7",
		},
		"a key that is the phone is no key": {
			rule: func(r *Rule) { r.Key = "contact.phone" }, want: "planned",
		},
		"a key that is missing leaves the phone": {
			rule: func(r *Rule) { r.Key = "raw.nothing" }, want: "planned",
		},
		"a number is a key": {
			rule: func(r *Rule) { r.Key = "raw.big" }, want: "planned 12345678901234567890",
		},
		"a key that is too long is skipped": {
			event: func(e *messaging.Event) { e.Cart.ID = strings.Repeat("k", 256) },
			want:  "skipped: the key is 256 bytes long; at most 255 are kept",
		},
		"a moment that is long past is skipped": {
			rule: func(r *Rule) { r.Wait = Wait{Until: "cart.expires_at - 20h"} },
			want: "skipped cart-1: the moment to send, 2026-11-26 22:00:00 UTC, is past by more than 6h (expires)",
		},
		"a moment that is missing is skipped": {
			rule:  func(r *Rule) { r.Wait = Wait{Until: "cart.expires_at - 2h"} },
			event: func(e *messaging.Event) { e.Cart.ExpiresAt = time.Time{} },
			want:  "skipped cart-1: wait until cart.expires_at - 2h: cart.expires_at is missing",
		},
		"a moment of the payload that is no time is skipped": {
			rule: func(r *Rule) { r.Wait = Wait{Until: "raw.when"} },
			want: "skipped cart-1: wait until raw.when: it is text, not a time",
		},
		"a language may come from the contact": {
			rule: func(r *Rule) { r.Send.Language = "{{ raw.lang }}" },
			want: "skipped cart-1: the language is empty: {{ raw.lang }} (raw.lang is missing); give it a default",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, e := reminder(), aCart(t)
			if tt.rule != nil {
				tt.rule(&r)
			}
			if tt.event != nil {
				tt.event(e)
			}
			set := compiled(t, shops, r)
			if got := verdicts(set.Match(e, noon)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestWhenAMessageFallsDue(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v.UTC()
	}
	tests := map[string]struct {
		rule     func(*Rule)
		event    func(*messaging.Event)
		due      time.Time
		lifetime time.Duration // 0 for never
	}{
		"a wait counts from when it happened": {due: noon.Add(44 * time.Minute), lifetime: 6 * time.Hour},
		"a sender whose clock is ahead does not delay it": {
			event: func(e *messaging.Event) { e.OccurredAt = noon.Add(time.Hour) },
			due:   noon.Add(45 * time.Minute), lifetime: 6 * time.Hour,
		},
		"a late webhook is due at once, and lives as long": {
			event: func(e *messaging.Event) { e.OccurredAt = noon.Add(-2 * time.Hour) },
			due:   noon, lifetime: 6 * time.Hour,
		},
		"no wait is due at once": {rule: func(r *Rule) { r.Wait = Wait{} }, due: noon, lifetime: 6 * time.Hour},
		"a time of day is the next one in the contact's zone": {
			rule:  func(r *Rule) { r.Wait = Wait{Until: "09:00"} },
			event: func(e *messaging.Event) { e.Contact.Timezone = "America/New_York" },
			due:   at("2026-11-27T14:00:00Z"), lifetime: 6 * time.Hour,
		},
		"a time of day that has passed is tomorrow's": {
			rule: func(r *Rule) { r.Wait = Wait{Until: "09:00"} }, due: at("2026-11-28T09:00:00Z"), lifetime: 6 * time.Hour,
		},
		"an unknown zone is the default one": {
			rule:  func(r *Rule) { r.Wait = Wait{Until: "13:00"} },
			event: func(e *messaging.Event) { e.Contact.Timezone = "Mars/Olympus" },
			due:   at("2026-11-27T13:00:00Z"), lifetime: 6 * time.Hour,
		},
		"a moment is counted from the payload": {
			rule: func(r *Rule) { r.Wait = Wait{Until: "cart.expires_at - 2h"} }, due: noon.Add(4 * time.Hour), lifetime: 6 * time.Hour,
		},
		"a moment just past is due at once and expires from itself": {
			rule: func(r *Rule) { r.Wait = Wait{Until: "cart.expires_at - 8h"} }, due: noon, lifetime: 4 * time.Hour,
		},
		"expires: off is never": {rule: func(r *Rule) { r.Expires = Lifetime{Set: true, Off: true} }, due: noon.Add(44 * time.Minute)},
		"marketing lives a day by default": {
			rule: func(r *Rule) { r.Expires = Lifetime{} }, due: noon.Add(44 * time.Minute), lifetime: 24 * time.Hour,
		},
		"a login code lives ten minutes by default": {
			rule: func(r *Rule) { r.Expires, r.Category, r.Wait = Lifetime{}, messaging.Authentication, Wait{} },
			due:  noon, lifetime: 10 * time.Minute,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, e := reminder(), aCart(t)
			if tt.rule != nil {
				tt.rule(&r)
			}
			if tt.event != nil {
				tt.event(e)
			}
			plan := compiled(t, shops, r).Match(e, noon)
			if len(plan.Proposals) != 1 || plan.Proposals[0].Decision.Outcome != messaging.Planned {
				t.Fatalf("not planned: %s", verdicts(plan))
			}
			enqueue := plan.Proposals[0].Message
			var expires time.Time
			if tt.lifetime > 0 {
				expires = tt.due.Add(tt.lifetime)
			}
			if !enqueue.DueAt.Equal(tt.due) || !enqueue.ExpiresAt.Equal(expires) {
				t.Errorf("due %v, expires %v; want %v, %v", enqueue.DueAt, enqueue.ExpiresAt, tt.due, expires)
			}
		})
	}
}

func TestATimeOfDayOnTheDaysWhenClocksChange(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		from, clock, want string
	}{
		"inside the gap of spring it is the first minute after it": {"2026-03-08T05:00:00Z", "02:30", "2026-03-08T07:00:00Z"},
		"what shows twice in autumn is the first of both":          {"2026-11-01T04:00:00Z", "01:30", "2026-11-01T05:30:00Z"},
		"after the first of both it is the next day's":             {"2026-11-01T05:31:00Z", "01:30", "2026-11-02T06:30:00Z"},
		"exactly now is now": {"2026-06-01T13:00:00Z", "09:00", "2026-06-01T13:00:00Z"},
		"midnight":           {"2026-06-01T13:00:00Z", "00:00", "2026-06-02T04:00:00Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			from, err := time.Parse(time.RFC3339, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			c, err := hours.ParseClock(tt.clock)
			if err != nil {
				t.Fatal(err)
			}
			if got := (hours.Places{newYork}).Next(c, from).Format(time.RFC3339); got != tt.want {
				t.Errorf("next %s after %s is %s, want %s", tt.clock, tt.from, got, tt.want)
			}
		})
	}
}

func TestWhatASenderWritesIsNeverATemplate(t *testing.T) {
	e := aCart(t)
	e.Contact.FirstName = `{{ contact.phone }} {{raw.code | default: "x"}}`
	e.Cart.Items[0].Title = "Mug\r\n\tblue     and   \u202ewhite\u0000"
	plan := compiled(t, shops, reminder()).Match(e, noon)
	want := []string{`{{ contact.phone }} {{raw.code | default: "x"}}`, "Mug blue and white", "https://shop.example/cart/1"}
	if diff := cmp.Diff(want, plan.Proposals[0].Message.Send.Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestAVariableIsCutAtItsBound(t *testing.T) {
	e := aCart(t)
	e.Contact.FirstName = strings.Repeat("ü", 2000)
	got := compiled(t, shops, reminder()).Match(e, noon).Proposals[0].Message.Send.Variables[0]
	if want := strings.Repeat("ü", expressions.MaxVariable-1) + "…"; got != want {
		t.Errorf("got %d characters ending in %q", len([]rune(got)), got[len(got)-6:])
	}
}

// A reply that ends something says by which words, and so does a rule that has left the config, or was edited since.
func TestAConditionEndsByTheRuleThatPlanned(t *testing.T) {
	with := reminder()
	with.StopOn = []EventIf{`*.message.received if message.text == "no"`}
	without := reminder()
	without.StopOn = nil
	said := func(text string) *messaging.Event {
		e := aCart(t)
		e.Kind, e.Message.Text = "message.received", text
		return e
	}
	left, known := compiled(t, shops, without).Holding(nil, []Rule{with})
	if !slices.Equal(known, []bool{true}) {
		t.Fatalf("the rule that left is known: %v", known)
	}
	for name, set := range map[string]*Set{
		"the rule": compiled(t, shops, with), "a rule that left": left,
		"as it was before an edit": compiled(t, shops, without).Cancelling([]Earlier{{with, noon}}),
	} {
		ends := func(text string) (clauses []messaging.Clause, ended bool) {
			for _, w := range set.Match(said(text), noon).Proposals {
				if w.Decision.Outcome == messaging.Cancelling {
					return w.Decision.Clauses, true
				}
			}
			return nil, false
		}
		if clauses, ended := ends("no"); !ended || len(clauses) != 1 || !clauses[0].Held {
			t.Errorf("%s: no ends it: %t, by %v", name, ended, clauses)
		}
		if clauses, ended := ends("maybe"); ended {
			t.Errorf("%s: maybe ends it, by %v", name, clauses)
		}
	}
	if with.CancelsLike(without) {
		t.Error("an edit of the condition is taken for none")
	}
}

func TestAnEventThatCancelsAndPlansIsNotRemembered(t *testing.T) {
	r := reminder()
	r.CancelOn = []EventIf{"shopify.cart.updated"}
	proposals := compiled(t, shops, r).Match(aCart(t), noon).Proposals
	if s := Settle(proposals[0], messaging.Facts{}); s.RecordTombstone || s.Outcome != messaging.Cancelling {
		t.Errorf("it would end what it queues itself: %+v", s)
	}
	if s := Settle(proposals[1], messaging.Facts{}); !s.Insert {
		t.Errorf("it queues nothing: %+v", s)
	}
}

func TestPatternsListen(t *testing.T) {
	tests := map[string]struct {
		on        string
		connector string
		kind      string
		want      bool
	}{
		"a name in full":                   {"shopify.cart.updated", "shopify", "cart.updated", true},
		"another kind":                     {"shopify.cart.updated", "shopify", "cart.created", false},
		"another connector":                {"shopify.cart.updated", "woo", "cart.updated", false},
		"a whole connector":                {"shopify.*", "shopify", "order.paid", true},
		"a whole connector is not another": {"shopify.*", "woo", "order.paid", false},
		"a kind of every connector":        {"*.order.paid", "woo", "order.paid", true},
		"a kind is not another":            {"*.order.paid", "woo", "order.created", false},
		"a family of one connector":        {"shopify.order.*", "shopify", "order.paid", true},
		"a family is not a longer word":    {"*.order.*", "woo", "orders.paid", false},
		"everything":                       {"*", "woo", "anything.at.all", true},
		"a test of the sender":             {"shopify.*", "shopify", messaging.TestKinds + "order.created", false},
		"a test, to who hears everything":  {"*", "shopify", messaging.TestKinds + "order.created", false},
		"a generic connector's kind":       {"loyalty.login_code", "loyalty", "login_code", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set := compiled(t, shops, Rule{Name: "r", On: []string{tt.on}, Send: Send{Campaign: "417"}})
			e := aCart(t)
			e.Connector, e.Kind = tt.connector, tt.kind
			if got := len(set.Match(e, noon).Proposals) == 1; got != tt.want {
				t.Errorf("%s listens to %s: %v, want %v", tt.on, e.Ref(), got, tt.want)
			}
		})
	}
}

// lines are a decision as people see it.
func lines(d messaging.Decision) string {
	var all []string
	for _, c := range d.Clauses {
		all = append(all, ClauseLine(c))
	}
	return strings.Join(append(all, "→ "+string(d.Outcome)+": "+d.Reason), "\n")
}

func TestExplainedDecisionsReadAsSentences(t *testing.T) {
	set := compiled(t, shops, reminder())
	e := aCart(t)
	e.Contact.AcceptsMarketing = false
	got := lines(set.Match(e, noon).Proposals[0].Decision)
	want := `✓ cart.total >= 50 (cart.total = 79.90)
✗ customer.accepts_marketing (false)
→ skipped: customer.accepts_marketing does not hold (false)`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r := reminder()
	r.If = []string{`contact.phone startsWith "44"`, `raw.code > 5`}
	got = lines(compiled(t, shops, r).Match(e, noon).Proposals[0].Decision)
	want = `✓ contact.phone startsWith "44" (contact.phone = 4477******23)
✗ raw.code > 5 (raw.code = 0123): raw.code is text, not a number like 5; number(raw.code) reads it as a number
→ skipped: cannot tell whether raw.code > 5: raw.code is text, not a number like 5; number(raw.code) reads it as a number`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSilentTriggersSayWhatTheyListenTo(t *testing.T) {
	off := reminder()
	off.Name, off.Mode = "sleeping", Off
	set := compiled(t, shops, reminder(), off)
	got := set.Silent("shopify", "order.paid")
	want := []Silence{
		{"abandoned-cart", "listens to shopify.cart.updated, is cancelled by shopify.order.created"},
		{"sleeping", "listens to shopify.cart.updated, is cancelled by shopify.order.created"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Silent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Silence{{"sleeping", "mode: off"}}, set.Silent("shopify", "cart.updated")); diff != "" {
		t.Errorf("Silent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"abandoned-cart", "sleeping"}, set.Names()); diff != "" {
		t.Errorf("Names (-want +got):\n%s", diff)
	}
}

func BenchmarkMatchTheAbandonedCart(b *testing.B) {
	set, e := compiled(b, shops, reminder()), aCart(b)
	b.ReportAllocs()
	for b.Loop() {
		set.Match(e, noon)
	}
}

func BenchmarkMatchWhatNobodyListensTo(b *testing.B) {
	set, e := compiled(b, shops, reminder(), Rule{Name: "w", On: []string{"*.order.paid"}, Send: Send{Campaign: "1"}}), aCart(b)
	e.Kind = "contact.updated"
	b.ReportAllocs()
	for b.Loop() {
		set.Match(e, noon)
	}
}

func BenchmarkMatchWithThePayload(b *testing.B) {
	r := reminder()
	r.If = []string{"raw.total >= 50", "raw.vip", `raw.nested.deep.x == "y"`}
	set, e := compiled(b, shops, r), aCart(b)
	b.ReportAllocs()
	for b.Loop() {
		set.Match(e, noon)
	}
}

// What is off, or has left the config, cancels as it did, and plans nothing.
func TestARuleThatDoesNotSendCancelsWhatStillWaits(t *testing.T) {
	rule, env := reminder(), shops
	rule.Key = "cart.id"
	off := rule
	off.Mode = Off
	for name, set := range map[string]func() (*Set, bool){
		"off": func() (*Set, bool) {
			all, problems := Compile([]Rule{off}, env)
			if all == nil {
				t.Fatal(problems)
			}
			with, _ := all.Holding([]string{rule.Name}, nil)
			return with, true
		},
		"gone with its connector": func() (*Set, bool) {
			all, problems := Compile(nil, Env{})
			if all == nil {
				t.Fatal(problems)
			}
			with, known := all.Holding(nil, []Rule{rule})
			return with, known[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, known := set()
			if !known {
				t.Fatal("what cancels it could not be read")
			}
			e := &messaging.Event{Connector: "shopify", Kind: "order.created", ReceivedAt: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
			e.Cart.ID, e.Contact.Phone = "c1", "447700900123"
			proposals := s.Match(e, e.ReceivedAt).Proposals
			if len(proposals) != 1 || proposals[0].Decision.Outcome != messaging.Cancelling || proposals[0].Correlation.Key != "c1" || proposals[0].Forget.IsZero() {
				t.Errorf("its order: %+v", proposals)
			}
			e.Kind = "cart.updated"
			if proposals := s.Match(e, e.ReceivedAt).Proposals; len(proposals) != 0 {
				t.Errorf("its cart: %+v", proposals)
			}
		})
	}
	all, _ := Compile([]Rule{off}, env)
	e := &messaging.Event{Connector: "shopify", Kind: "order.created", ReceivedAt: time.Now()}
	if proposals := all.Match(e, e.ReceivedAt).Proposals; len(proposals) != 0 {
		t.Errorf("with nothing waiting, one that is off says %+v", proposals)
	}
	rule.Key = "cart.totl"
	if _, known := all.Holding(nil, []Rule{rule}); known[0] {
		t.Error("a key that cannot be read is said to be known")
	}
}

// What a sender posts as history cancels, and sends nothing.
func TestHistorySendsNothing(t *testing.T) {
	r := reminder()
	r.CancelOn = append(r.CancelOn, "shopify.order.paid")
	set := compiled(t, shops, r)
	e := aCart(t)
	e.History = true
	w := set.Match(e, noon).Proposals[0]
	if w.Decision.Outcome != messaging.Skipped || w.Decision.Reason != "it was posted as history (connectors.shopify.history), which sends nothing" || len(w.Decision.Clauses) != 3 {
		t.Errorf("%s: %s", w.Decision.Outcome, w.Decision.Reason)
	}
	e.Kind = "order.paid"
	if w := set.Match(e, noon).Proposals[0]; w.Decision.Outcome != messaging.Cancelling {
		t.Errorf("%s: %s", w.Decision.Outcome, w.Decision.Reason)
	}
}

// One edit of a contact makes several events: without a word about it, an hour passes before the next message.
func TestTheUsualCooldown(t *testing.T) {
	none, once := messaging.Cooldown{Mode: messaging.CooldownNone}, messaging.Cooldown{Mode: messaging.CooldownOnce}
	hour := messaging.Cooldown{Mode: messaging.CooldownFor, For: time.Hour}
	for name, tt := range map[string]struct {
		kind   string
		change func(*Rule)
		want   messaging.Cooldown
	}{
		"a change of a contact":      {"contact.updated", nil, hour},
		"a change with a key":        {"contact.updated", func(r *Rule) { r.Key = "contact.id" }, once},
		"a change with an empty key": {"contact.updated", func(r *Rule) { r.Key = "cart.id" }, none},
		"a code":                     {"contact.updated", func(r *Rule) { r.Category = messaging.Authentication }, none},
		"a new contact":              {"contact.created", nil, none},
		"a cart with a number":       {"cart.updated", nil, once},
		"what the trigger says":      {"contact.updated", func(r *Rule) { r.Cooldown.Cooldown = none }, none},
	} {
		r := Rule{Name: "t", On: []string{"loyalty." + tt.kind}, Send: Send{Template: "x"}}
		if tt.change != nil {
			tt.change(&r)
		}
		e := &messaging.Event{Connector: "loyalty", Kind: tt.kind, DedupeKey: "1", ReceivedAt: noon, Contact: messaging.Contact{Phone: "447700900123", ID: "7"}}
		if tt.kind == "cart.updated" {
			e.Cart.ID = "c"
		}
		if got := compiled(t, shops, r).Match(e, noon).Proposals[0].Cooldown; got != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A try that took long enough asks no further rule, and says how many are left out.
func TestATryIsBoundedBetweenTriggers(t *testing.T) {
	var rules []Rule
	for i := range 800 {
		one := reminder()
		one.Name = fmt.Sprintf("reminder-%d", i)
		rules = append(rules, one)
	}
	asked := 0
	set, unasked := compiled(t, shops, rules...).Within(func() bool { asked++; return asked > 10 })
	if got := len(set.Match(aCart(t), noon).Proposals); got != 10 || *unasked != 790 {
		t.Errorf("%d of 800 rules were asked and %d were not, want 10 and 790", got, *unasked)
	}
}
