package duerules

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// drawn are rules, a message and all that may be known of it.
func drawn(t *rapid.T) (r *Rules, d *messaging.Message, f *messaging.DueFacts, now time.Time) {
	text := func(name string) string { return rapid.SampledFrom([]string{"", "", "", name}).Draw(t, name) }
	now = time.Date(2026, 3, 2, rapid.IntRange(0, 23).Draw(t, "hour"), 30, 0, 0, time.UTC)
	keys := Keys{QuietHours: QuietHours{Set: true, Windows: []hours.Window{{From: 21 * 60, To: 9 * 60, Days: hours.Days(127)}}}}
	if rapid.Bool().Draw(t, "drops") {
		keys.QuietHours.OnHit = Drop
	}
	if rapid.Bool().Draw(t, "limited") {
		keys.Limit.All = []Limit{{Count: units.Limit{Most: int64(rapid.IntRange(1, 2).Draw(t, "most")), Per: 24 * time.Hour}}}
	}
	if rapid.Bool().Draw(t, "consent") {
		keys.Consent = ConsentRequired
	}
	if rapid.Bool().Draw(t, "budget") {
		defer func() { r.Budget(Budget{Day: 3}) }()
	}
	r = New(time.UTC, Account{UniqueContacts: units.Limit{Most: 3, Per: 24 * time.Hour}})
	r.Trigger("a", keys, hours.Holidays{})
	r.Job("a", keys, hours.Holidays{})
	if rapid.Bool().Draw(t, "known") {
		r.Earlier = func(string) *Rules { return nil }
	}
	d = &messaging.Message{
		ID: 1, EventID: messaging.EventID(rapid.IntRange(0, 1).Draw(t, "event")), Trigger: rapid.SampledFrom([]string{"a", "gone"}).Draw(t, "trigger"), Zone: "UTC",
		Category: rapid.SampledFrom(messaging.Lanes[:]).Draw(t, "category"), DueAt: now.Add(-time.Minute),
	}
	if rapid.Bool().Draw(t, "expires") {
		d.ExpiresAt = now.Add(time.Duration(rapid.IntRange(-1, 12).Draw(t, "in")) * time.Hour)
	}
	f = &messaging.DueFacts{
		CalledOff: text("order.created"), Held: text("everything is halted"), Blocked: text("the contact is blocked"), Forgetting: text("shopify"), Service: text("the service refuses the key"),
		Spent: messaging.Spent{Day: int64(rapid.IntRange(0, 4000).Draw(t, "spent")), Cost: 1000}, Contacts: rapid.IntRange(0, 4).Draw(t, "contacts"), New: rapid.Bool().Draw(t, "new"),
		Consent: rapid.SampledFrom([]messaging.Consent{"", messaging.ConsentGiven, messaging.ConsentWithdrawn}).Draw(t, "agreed"),
	}
	if d.EventID == 0 && rapid.IntRange(0, 3).Draw(t, "messaged") == 0 {
		f.Messaged, f.Within = &messaging.Contacted{Trigger: "cart", At: now.Add(-time.Hour)}, 24*time.Hour
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "sends") {
		f.Sends = append(f.Sends, messaging.PastSend{At: now.Add(-time.Duration(i+1) * time.Hour), Category: messaging.Marketing})
	}
	if d.Trigger == "a" && rapid.Bool().Draw(t, "step") {
		f.Step = &messaging.Verdict{Action: messaging.DropSend, Rule: "if", Reason: "its condition does not hold"}
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
		i := order(whole)
		if whole.Action == messaging.AllowSend {
			if whole.Rule != "" || whole.Reason != "" {
				t.Fatalf("it goes, because of %+v", whole)
			}
		} else {
			if i == len(messaging.DueReasons) {
				t.Fatalf("%+v is none of the reasons", whole)
			}
			of := messaging.DueReasons[i]
			fits := whole.Action == messaging.DropSend && of.Never || whole.Action == messaging.DeferSend && of.Later || whole.Action == messaging.HoldSend && of.Held
			if !fits || whole.Reason == "" || (whole.Action == messaging.DeferSend) != whole.Until.After(now) {
				t.Fatalf("%+v is not of its class %+v", whole, of)
			}
		}
		// The claim knows no order that came later, nor what the step says; a preview knows what the config says alone.
		claim := *f
		claim.CalledOff, claim.Service, claim.Step = "", "", nil
		preview := messaging.DueFacts{Consent: f.Consent, Sends: f.Sends, FirstDue: f.FirstDue}
		for who, less := range map[string]messaging.DueFacts{"claim": claim, "preview": preview} {
			if v := MayGo(r, d, &less, now); v.Action != messaging.AllowSend && whole.Action == messaging.AllowSend {
				t.Fatalf("the %s, which knows less, holds back what goes: %+v", who, v)
			}
		}
		// The look before the call of what the claim let go: the same, without what the claim has counted already.
		if v := MayGo(r, d, &claim, now); v.Action == messaging.AllowSend {
			last := *f
			last.Claimed, last.Consent, last.Sends, last.Contacts, last.New = true, "", nil, 0, false
			if v := MayGo(r, d, &last, now); v != whole {
				t.Fatalf("the last look says %+v, and all facts at once %+v", v, whole)
			}
		}
	})
}

// A list that leaves in files asks in three steps: its file about quiet hours, each row, and the account about the room for all of them. Together
// they say what a message of the job is told, and the reason is the same.
func TestAFileAndItsRowsAreAskedAsMessagesAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, f, now := drawn(t)
		d.EventID, d.ExpiresAt = 0, time.Time{}
		f.Service, f.Step, f.FirstDue = "", nil, d.DueAt
		message := MayGo(r, d, f, now)

		onFile := *f
		onFile.File = true
		row := MayGo(r, d, &onFile, now)
		file := MayGo(r, d, &messaging.DueFacts{Claimed: true, FirstDue: d.DueAt}, now)
		room := messaging.Verdict{}
		if reach := r.Reach("", d.Category); !reach.IsZero() && f.New && int64(f.Contacts) >= reach.Most() {
			room = messaging.Verdict{Action: messaging.DeferSend, Rule: messaging.RuleAccount, Reason: reach.Why(int64(f.Contacts))}
		}
		if p := r.Purse().Of(d.Category); p != nil && room.Action == messaging.AllowSend {
			if until, why := p.Full(f.Spent, now); !until.IsZero() {
				room = messaging.Verdict{Action: messaging.DeferSend, Rule: messaging.RuleBudget, Reason: why}
			}
		}
		want := row
		switch {
		case order(row) < order(file): // a rule before quiet hours says no
		case file.Action != messaging.AllowSend:
			want = file
		case row.Action == messaging.AllowSend:
			want = room
		}
		if message.Rule == messaging.RuleRedaction { // which a list does not wait for
			if row.Rule != message.Rule || row.Action != messaging.DropSend || row.Reason != message.Reason {
				t.Fatalf("a message: %+v; a row: %+v", message, row)
			}
			return
		}
		if message.Rule == messaging.RuleLimit || message.Rule == messaging.RuleAccount || message.Rule == messaging.RuleBudget {
			// What quiet hours make of the time until then, a file asks when its turn comes.
			words, _, _ := strings.Cut(message.Reason, "; next at ")
			if message.Rule != want.Rule || !strings.HasPrefix(want.Reason, words) {
				t.Fatalf("a message: %+v; a file, its rows and its account: %+v", message, want)
			}
			return
		}
		if message != want {
			t.Fatalf("a message: %+v; a file, its rows and its account: %+v (%+v, %+v)", message, want, row, file)
		}
		// Of a list that was begun nothing is lost to quiet hours.
		begun := MayGo(r, d, &messaging.DueFacts{Claimed: true, Begun: true, FirstDue: d.DueAt}, now)
		if begun.Action == messaging.DropSend || (begun.Action == messaging.AllowSend) != (file.Action == messaging.AllowSend) || begun.Action == messaging.DeferSend && !begun.Until.After(now) {
			t.Fatalf("a file of a list that was begun: %+v; of another: %+v", begun, file)
		}
	})
}

// order is the place of a verdict's rule among the reasons; that of what lets go is behind all.
func order(v messaging.Verdict) int {
	if i := slices.IndexFunc(messaging.DueReasons, func(r messaging.DueReason) bool { return r.Rule == v.Rule }); i >= 0 {
		return i
	}
	return len(messaging.DueReasons)
}

// The page of states says of each reason what the list says.
func TestThePageOfStatesHasEveryReason(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/states.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range messaging.DueReasons {
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
			t.Errorf("docs/internals/states.md has no line %q", line)
		}
	}
}
