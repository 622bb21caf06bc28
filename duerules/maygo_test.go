package duerules

import (
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/units"
)

// drawn are rules, a message and all that may be known of it.
func drawn(t *rapid.T) (r *Rules, d *nudgewire.Message, f *nudgewire.DueFacts, now time.Time) {
	text := func(name string) string { return rapid.SampledFrom([]string{"", "", "", name}).Draw(t, name) }
	now = time.Date(2026, 3, 2, rapid.IntRange(0, 23).Draw(t, "hour"), 30, 0, 0, time.UTC)
	keys := Keys{QuietHours: QuietHours{Set: true, Windows: []hours.Window{{From: 21 * 60, To: 9 * 60, Days: hours.Days(127)}}}}
	if rapid.Bool().Draw(t, "limited") {
		keys.Limit.All = []Limit{{Count: units.Limit{Most: int64(rapid.IntRange(1, 2).Draw(t, "most")), Per: 24 * time.Hour}}}
	}
	if rapid.Bool().Draw(t, "consent") {
		keys.Consent = ConsentRequired
	}
	r = New(time.UTC, Account{UniqueContacts: units.Limit{Most: 3, Per: 24 * time.Hour}})
	r.Trigger("a", keys, hours.Holidays{})
	r.Job("a", keys, hours.Holidays{})
	if rapid.Bool().Draw(t, "known") {
		r.Earlier = func(string) *Rules { return nil }
	}
	d = &nudgewire.Message{
		ID: 1, EventID: nudgewire.EventID(rapid.IntRange(0, 1).Draw(t, "event")), Trigger: rapid.SampledFrom([]string{"a", "gone"}).Draw(t, "trigger"), Zone: "UTC",
		Category: rapid.SampledFrom(nudgewire.Lanes[:]).Draw(t, "category"), DueAt: now.Add(-time.Minute),
	}
	if rapid.Bool().Draw(t, "expires") {
		d.ExpiresAt = now.Add(time.Duration(rapid.IntRange(-1, 12).Draw(t, "in")) * time.Hour)
	}
	f = &nudgewire.DueFacts{
		CalledOff: text("order.created"), Held: text("everything is halted"), Blocked: text("the contact is blocked"), Forgetting: text("shopify"), Service: text("the service refuses the key"),
		Contacts: rapid.IntRange(0, 4).Draw(t, "contacts"), New: rapid.Bool().Draw(t, "new"),
		Consent: rapid.SampledFrom([]nudgewire.Consent{"", nudgewire.ConsentGiven, nudgewire.ConsentWithdrawn}).Draw(t, "agreed"),
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "sends") {
		f.Sends = append(f.Sends, nudgewire.PastSend{At: now.Add(-time.Duration(i+1) * time.Hour), Category: nudgewire.Marketing})
	}
	if d.Trigger == "a" && rapid.Bool().Draw(t, "step") {
		f.Step = &nudgewire.Verdict{Action: nudgewire.DropSend, Rule: "if", Reason: "its condition does not hold"}
	}
	return r, d, f, now
}

// Whoever asks gets one answer: what the claim lets go the look before the call lets go by the same facts, what one of them may never send the
// others may not either, and nobody who knows less is stricter.
func TestEverybodyWhoAsksGetsOneAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, f, now := drawn(t)
		before := *f
		whole := MayGo(r, d, f, now)
		if again := MayGo(r, d, f, now); again != whole || f.Held != before.Held || len(f.Sends) != len(before.Sends) {
			t.Fatalf("asked twice: %+v, %+v", whole, again)
		}
		i := -1
		for n, reason := range nudgewire.DueReasons {
			if reason.Rule == whole.Rule {
				i = n
			}
		}
		if whole.Action == nudgewire.AllowSend {
			if whole.Rule != "" || whole.Reason != "" {
				t.Fatalf("it goes, because of %+v", whole)
			}
		} else {
			if i < 0 {
				t.Fatalf("%+v is none of the reasons", whole)
			}
			of := nudgewire.DueReasons[i]
			fits := whole.Action == nudgewire.DropSend && of.Never || whole.Action == nudgewire.DeferSend && of.Later || whole.Action == nudgewire.HoldSend && of.Held
			if !fits || whole.Reason == "" || (whole.Action == nudgewire.DeferSend) != whole.Until.After(now) {
				t.Fatalf("%+v is not of its class %+v", whole, of)
			}
		}
		// The claim knows no order that came later, nor what the step says; a preview knows what the config says alone.
		claim := *f
		claim.CalledOff, claim.Service, claim.Step = "", "", nil
		preview := nudgewire.DueFacts{Consent: f.Consent, Sends: f.Sends, FirstDue: f.FirstDue}
		for who, less := range map[string]nudgewire.DueFacts{"claim": claim, "preview": preview} {
			if v := MayGo(r, d, &less, now); v.Action != nudgewire.AllowSend && whole.Action == nudgewire.AllowSend {
				t.Fatalf("the %s, which knows less, holds back what goes: %+v", who, v)
			}
		}
		// The look before the call of what the claim let go: the same, without what the claim has counted already.
		if v := MayGo(r, d, &claim, now); v.Action == nudgewire.AllowSend {
			last := *f
			last.Claimed, last.Consent, last.Sends, last.Contacts, last.New = true, "", nil, 0, false
			if v := MayGo(r, d, &last, now); v != whole {
				t.Fatalf("the last look says %+v, and all facts at once %+v", v, whole)
			}
		}
	})
}

// A row of a list meets what a message of a job meets, but for quiet hours, which are the list's, and the account's limit, which is asked
// about a whole part.
func TestARowOfAListIsAskedAsAMessageIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, f, now := drawn(t)
		d.EventID, d.Category, d.ExpiresAt, d.Phone, d.Zone, d.Config = 0, nudgewire.Marketing, time.Time{}, "447700900123", "", "v1"
		f.Contacts, f.Service, f.Step, f.FirstDue = 0, "", nil, d.DueAt
		noQuiet := New(time.UTC, Account{})
		noQuiet.Earlier = r.Earlier
		if p := r.jobs["a"]; p != nil {
			own := *p
			own.quiet = nil
			noQuiet.jobs["a"] = &own
		}
		row := noQuiet.List(d.Trigger, "v1", d.Category).MayGo(d.Phone, f, d.DueAt, now)
		if message := MayGo(noQuiet, d, f, now); row != message {
			t.Fatalf("a row: %+v; a message: %+v", row, message)
		}
	})
}

// The page of states says of each reason what the list says.
func TestThePageOfStatesHasEveryReason(t *testing.T) {
	page, err := os.ReadFile("../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range nudgewire.DueReasons {
		var becomes []string
		for _, one := range []struct {
			is   bool
			word string
		}{{r.Never, "never"}, {r.Later, "later"}, {r.Held, "held"}} {
			if one.is {
				becomes = append(becomes, one.word)
			}
		}
		if line := "| `" + r.Rule + "` | " + strings.Join(becomes, ", ") + " |"; !strings.Contains(string(page), line) {
			t.Errorf("docs/states.md has no line %q", line)
		}
	}
}
