package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// audienceOf is a job whose list is that audience, before the triggers.
func audienceOf(contacts string) string {
	return "jobs:\n  news:\n    source: {contacts: '" + contacts + "'}\n    columns: {phone: phone}\n    campaign: {name: n, template_id: 7}\ntriggers:"
}

// Ages that contradict each other, or that are shorter than a rule looks back, are told with their hint.
func TestAgesThatCannotBe(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new  string
		retention string
		want      []string
	}{
		"the defaults are good": {"", "", "", nil},
		"off is for ever":       {"", "", "payloads: off, facts: off, decisions: off, messages: off, attempts: off, rejected_requests: off", nil},
		"payloads outlive their events": {
			"", "", "payloads: 90d, messages: 60d",
			[]string{"7:23: retention.payloads: 90d is longer than events are kept, 60d: what an event carried goes with it; set retention.events to 90d, or this to 60d or less"},
		},
		"facts outlive their events": {
			"", "", "facts: 90d, messages: 60d",
			[]string{"7:20: retention.facts: 90d is longer than events are kept, 60d: what was mapped from an event goes with it; set retention.events to 90d, or this to 60d or less"},
		},
		"payloads outlive their facts": {
			"", "", "payloads: 90d, facts: 60d",
			[]string{"7:35: retention.facts: 60d is shorter than payloads are kept, 90d: the same stands in them; set this to 90d or more, or retention.payloads to 60d or less"},
		},
		"facts outlive phones": {
			"", "", "facts: 80d, phones: 60d",
			[]string{"7:20: retention.facts: 80d is longer than phones are kept whole, 60d: phones stand in it; set retention.phones to 80d or more, or this to 60d or less"},
		},
		"messages outlive their events": {
			"", "", "messages: off, events: 60d",
			[]string{"7:23: retention.messages: off is longer than events are kept, 60d: a message is found through its event; set retention.events to off, or this to 60d or less"},
		},
		"attempts outlive their messages": {
			"", "", "messages: 60d, attempts: 61d",
			[]string{"7:38: retention.attempts: 61d is longer than messages are kept, 60d: the attempts at a message go with it; set retention.messages to 61d, or this to 60d or less"},
		},
		"too short":            {"", "", "rejected_requests: 5m", []string{"7:32: retention.rejected_requests: 5m is shorter than 1h; write days, such as 30d"}},
		"too short for limits": {"", "", "runs: 90d", []string{"7:19: retention.runs: 90d is shorter than 100d: limits look back at whom lists reached; write 100d or more, such as 730d"}},
		"too short at all":     {"", "", "runs: 5m", []string{"7:19: retention.runs: 5m is shorter than 1h; write days, such as 30d"}},
		"too long":             {"", "", "messages: 4000d", []string{"7:23: retention.messages: 4000d is longer than 3650d; write off to keep it for ever"}},
		"no age":               {"", "", "messages: soon", []string{`7:23: retention.messages: "soon" is not a duration; write a number with a unit: 90s, 45m, 2h, 3d, 1w or 1h30m`}},
		"the window in which a webhook may come again": {
			`secret: "${SHOP_SECRET}"`, `secret: "${SHOP_SECRET}", dedupe: {window: 30d}`, "messages: 20d",
			[]string{"7:23: retention.messages: 20d is shorter than connectors.shopify.dedupe.window looks back, 30d: a webhook that comes again would be taken for new; set retention.events to 30d or more"},
		},
		"a cooldown, where the age is written": {
			"wait: 45m", "wait: 45m\n    cooldown: 90d", "messages: 60d",
			[]string{"7:23: retention.messages: 60d is shorter than triggers.remind.cooldown looks back, 90d: the cooldown would forget its message; set retention.messages to 90d or more"},
		},
		"a cooldown, where it is not": {
			"wait: 45m", "wait: 45m\n    cooldown: 500d", "",
			[]string{"11:15: triggers.remind.cooldown: 500d is longer than messages are kept, 400d: the cooldown would forget its message; set retention.messages to 500d or more"},
		},
		"cooldown: once is no age": {"wait: 45m", "wait: 45m\n    cooldown: once", "messages: 10d", nil},
		"phones outlive their messages": {
			"", "", "phones: 500d",
			[]string{"7:21: retention.phones: 500d is longer than messages are kept, 400d: a phone goes with its message; set retention.messages to 500d, or this to 400d or less"},
		},
		"phones are off as long as the message": {"", "", "phones: off", nil},
		"what phones stand in outlives them": {
			"", "", "phones: 60d, decisions: 80d",
			[]string{"7:37: retention.decisions: 80d is longer than phones are kept whole, 60d: phones stand in it; set retention.phones to 80d or more, or this to 60d or less"},
		},
		"phones, and a cooldown": {
			"wait: 45m", "wait: 45m\n    cooldown: 90d", "phones: 60d",
			[]string{"7:21: retention.phones: 60d is shorter than triggers.remind.cooldown looks back, 90d: the cooldown would forget its message; set retention.phones to 90d or more"},
		},
		"phones, and the window in which a webhook may come again": {
			`secret: "${SHOP_SECRET}"`, `secret: "${SHOP_SECRET}", dedupe: {window: 30d}`, "phones: 20d",
			[]string{"7:21: retention.phones: 20d is shorter than connectors.shopify.dedupe.window looks back, 30d: a webhook that comes again would be taken for new; set retention.phones to 30d or more"},
		},
		"a limit of the defaults": {
			"language: en", "language: en, limit: 6 per 30d", "messages: 20d",
			[]string{"7:23: retention.messages: 20d is shorter than defaults.limit looks back, 30d: the limit would forget what was sent; set retention.messages to 30d or more"},
		},
		"an audience that sums": {
			"triggers:", audienceOf(`sum("*.order.paid", order.total, 365d) >= 500`), "",
			[]string{"9:24: jobs.news.source.contacts: 365d is longer than facts are kept, 90d: what was said before that would not be known; set retention.facts to 365d or more"},
		},
		"an audience that counts, where the age is written": {
			"triggers:", audienceOf(`count("shopify.order.paid", 90d) > 1`), "events: 60d, messages: 60d",
			[]string{"12:21: retention.events: 60d is shorter than jobs.news.source.contacts looks back, 90d: what came before that would not be known; set retention.events to 90d or more"},
		},
		"an audience of who was messaged": {
			"triggers:", audienceOf(`not messaged(500d)`), "",
			[]string{"9:24: jobs.news.source.contacts: 500d is longer than messages are kept, 400d: who was messaged before that would not be known; set retention.messages to 500d or more"},
		},
		"an audience that looks back as far as there is anything": {"triggers:", audienceOf(`last("*.order.*").age > 90d`), "events: 60d, messages: 60d", nil},
		"a limit of a trigger": {
			"wait: 45m", "wait: 45m\n    limit: 6 per month", "messages: 20d",
			[]string{"7:23: retention.messages: 20d is shorter than triggers.remind.limit looks back, 31d2h: the limit would forget what was sent; set retention.messages to 31d2h or more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := base
			if tt.old != "" {
				if !strings.Contains(base, tt.old) {
					t.Fatalf("base has no %q", tt.old)
				}
				text = strings.Replace(base, tt.old, tt.new, 1)
			}
			if tt.retention != "" {
				text = strings.Replace(text, "triggers:", "retention: {"+tt.retention+"}\ntriggers:", 1)
			}
			_, ps := Parse("config.yaml", []byte(text), environ)
			if diff := cmp.Diff(tt.want, said(ps)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// What was not written follows what was.
func TestAgesThatFollow(t *testing.T) {
	const days = 24 * time.Hour
	c, ps := Parse("config.yaml", []byte(strings.Replace(base, "triggers:", "retention: {messages: 20d}\ntriggers:", 1)), environ)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	r := c.Retention
	for name, kept := range map[string]time.Duration{"events": r.Events.For, "payloads": r.Payloads.For, "decisions": r.Decisions.For, "attempts": r.Attempts.For} {
		if kept != 20*days {
			t.Errorf("%s: %s", name, kept)
		}
	}
	if r.RejectedRequests.For != 30*days {
		t.Errorf("rejected requests: %s", r.RejectedRequests.For)
	}
}

// Facts are kept no shorter than payloads, whichever of the two is written.
func TestFactsFollowPayloads(t *testing.T) {
	const days = 24 * time.Hour
	for retention, want := range map[string][2]time.Duration{
		"attempts: 90d":             {30 * days, 90 * days},
		"payloads: 120d":            {120 * days, 120 * days},
		"facts: 10d":                {10 * days, 10 * days},
		"phones: 50d":               {30 * days, 50 * days},
		"payloads: 5d, facts: 170d": {5 * days, 170 * days},
	} {
		c, ps := Parse("config.yaml", []byte(strings.Replace(base, "triggers:", "retention: {"+retention+"}\ntriggers:", 1)), environ)
		if len(ps) > 0 {
			t.Fatal(said(ps))
		}
		if got := [2]time.Duration{c.Retention.Payloads.For, c.Retention.Facts.For}; got != want {
			t.Errorf("%s: payloads and facts are kept for %v, want %v", retention, got, want)
		}
	}
	c, ps := Parse("config.yaml", []byte(strings.Replace(base, "triggers:", "retention: {payloads: off, messages: off}\ntriggers:", 1)), environ)
	if len(ps) > 0 || !c.Retention.Facts.Off {
		t.Errorf("beside payloads that are kept for ever facts are kept for %s (%v)", keptWords(c.Retention.Facts), said(ps))
	}
}

// Phones that no age is written for are kept as long as anything needs them, so a config of before stays what it was.
func TestPhonesFollow(t *testing.T) {
	const days = 24 * time.Hour
	for name, tt := range map[string]struct {
		rule, retention string
		phones          time.Duration
		off             bool
	}{
		"by themselves":          {"", "payloads: 30d", 180 * days, false},
		"a long cooldown":        {"\n    cooldown: 300d", "payloads: 30d", 300 * days, false},
		"long decisions":         {"", "decisions: 350d", 350 * days, false},
		"short messages":         {"", "messages: 50d", 50 * days, false},
		"payloads that are kept": {"", "payloads: off, messages: off", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(base, "wait: 45m", "wait: 45m"+tt.rule, 1)
			c, ps := Parse("config.yaml", []byte(strings.Replace(text, "triggers:", "retention: {"+tt.retention+"}\ntriggers:", 1)), environ)
			if len(ps) > 0 {
				t.Fatal(said(ps))
			}
			if got := c.Retention.Phones; got.Off != tt.off || !tt.off && got.For != tt.phones {
				t.Errorf("kept %+v", got)
			}
		})
	}
}
