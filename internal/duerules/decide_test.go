package duerules

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// keys are what a config says.
func keys(t testing.TB, yaml string) Keys {
	t.Helper()
	var k Keys
	if _, problems := yamlpos.Decode("c.yaml", []byte(yaml), &k); len(problems) > 0 {
		t.Fatalf("decode: %v", problems)
	}
	return k
}

// ruled are the rules of one marketing trigger, "remind", in London where nothing else is known.
func ruled(t testing.TB, yaml string) *Rules {
	t.Helper()
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	r := New(london, Account{})
	r.Trigger("remind", keys(t, yaml), hours.Holidays{})
	return r
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func reminder() *messaging.Message {
	return &messaging.Message{ID: 7, EventID: 3, Trigger: "remind", Phone: "447700900123", Category: messaging.Marketing}
}

// sent are messages sent at these moments, the newest first.
func sent(t testing.TB, at ...string) []messaging.PastSend {
	t.Helper()
	var all []messaging.PastSend
	for _, one := range at {
		all = append(all, messaging.PastSend{At: moment(t, one), Category: messaging.Marketing, Trigger: "cart"})
	}
	return all
}

func TestWhatIsDecidedAtTheDueMoment(t *testing.T) {
	tests := map[string]struct {
		yaml   string
		now    string
		alter  func(d *messaging.Message, f *messaging.DueFacts)
		sends  []string
		action messaging.VerdictAction
		until  string
		reason string // a part of it
	}{
		"by day nothing holds it":                 {yaml: "quiet_hours: 21:00-09:00", now: "2026-11-22 12:00"},
		"no rule asks for consent":                {yaml: "consent: optional", now: "2026-11-22 12:00"},
		"consent was never given":                 {yaml: "consent: required", now: "2026-11-22 12:00", action: messaging.DropSend, reason: "the contact's consent to messages is not recorded"},
		"consent was withdrawn":                   {yaml: "consent: required", now: "2026-11-22 12:00", action: messaging.DropSend, reason: "the contact has withdrawn it", alter: func(_ *messaging.Message, f *messaging.DueFacts) { f.Consent = messaging.ConsentWithdrawn }},
		"consent was given":                       {yaml: "consent: required", now: "2026-11-22 12:00", alter: func(_ *messaging.Message, f *messaging.DueFacts) { f.Consent = messaging.ConsentGiven }},
		"utility needs no consent":                {yaml: "consent: required", now: "2026-11-22 12:00", alter: func(d *messaging.Message, _ *messaging.DueFacts) { d.Category = messaging.Utility }},
		"by hand needs no consent":                {yaml: "consent: required", now: "2026-11-22 12:00", alter: func(d *messaging.Message, _ *messaging.DueFacts) { d.Trigger = messaging.ByHand }},
		"in the evening it waits for the morning": {yaml: "quiet_hours: 21:00-09:00", now: "2026-11-22 23:15", action: messaging.DeferSend, until: "2026-11-23 09:00", reason: "quiet hours are 21:00-09:00, and it is Sun 23:15 in Europe/London; next at 2026-11-23 09:00 in Europe/London"},
		"on the contact's own clock": {
			yaml: "quiet_hours: 21:00-09:00", now: "2026-11-22 12:00", action: messaging.DeferSend, until: "2026-11-23 00:00", reason: "it is Sun 21:00 in Asia/Tokyo; next at 2026-11-23 09:00 in Asia/Tokyo",
			alter: func(d *messaging.Message, _ *messaging.DueFacts) { d.Zone = "Asia/Tokyo" },
		},
		"on_hit drop":      {yaml: "quiet_hours: {hours: 21:00-09:00, on_hit: drop}", now: "2026-11-22 23:15", action: messaging.DropSend, reason: "quiet hours are"},
		"within max_defer": {yaml: "quiet_hours: {hours: 21:00-09:00, max_defer: 12h}", now: "2026-11-22 21:00", action: messaging.DeferSend, until: "2026-11-23 09:00"},
		"beyond max_defer": {yaml: "quiet_hours: {hours: 21:00-09:00, max_defer: 6h}", now: "2026-11-22 23:00", action: messaging.DropSend, reason: "more than 6h (max_defer) after it first fell due"},
		"max_defer counts from the first due moment": {
			yaml: "quiet_hours: {hours: 21:00-09:00, max_defer: 12h}", now: "2026-11-22 21:00", action: messaging.DropSend, reason: "(max_defer)",
			alter: func(_ *messaging.Message, f *messaging.DueFacts) { f.FirstDue = f.FirstDue.Add(-time.Hour) },
		},
		"it would expire": {
			yaml: "quiet_hours: 21:00-09:00", now: "2026-11-22 21:00", action: messaging.DropSend, reason: "and it expires at 2026-11-23 09:00",
			alter: func(d *messaging.Message, _ *messaging.DueFacts) { d.ExpiresAt = d.DueAt.Add(12 * time.Hour) },
		},
		"what was put off before counts, too": {
			yaml: "limit: 1 per 12h", now: "2026-11-22 21:00", sends: []string{"2026-11-22 20:00"}, action: messaging.DropSend, reason: "and it expires at 2026-11-23 07:00",
			alter: func(d *messaging.Message, f *messaging.DueFacts) {
				d.ExpiresAt, f.FirstDue = d.DueAt.Add(24*time.Hour), d.DueAt.Add(-14*time.Hour)
			},
		},
		"no hour is left":         {yaml: "quiet_hours: 00:00-24:00", now: "2026-11-22 12:00", action: messaging.DropSend, reason: "leave no time to send it"},
		"one is allowed":          {yaml: "limit: 2 per day", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00", "2026-11-21 23:59"}},
		"a full calendar day":     {yaml: "limit: 2 per day", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00", "2026-11-22 00:00"}, action: messaging.DeferSend, until: "2026-11-23 00:00", reason: "2 of 2 per day were sent to this contact: at 2026-11-22 10:00 by cart, at 2026-11-22 00:00 by cart; next at 2026-11-23 00:00 in Europe/"},
		"and outside quiet hours": {yaml: "limit: 2 per day\nquiet_hours: 21:00-09:00", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00", "2026-11-22 09:00"}, action: messaging.DeferSend, until: "2026-11-23 09:00"},
		"a rolling day":           {yaml: "limit: 2 per 24h", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00", "2026-11-21 15:00"}, action: messaging.DeferSend, until: "2026-11-22 15:00", reason: "2 of 2 per 24h"},
		"the moment it is over":   {yaml: "limit: 2 per 24h", now: "2026-11-22 15:00", sends: []string{"2026-11-22 10:00", "2026-11-21 15:00"}},
		"more than a new limit":   {yaml: "limit: 1 per 24h", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00", "2026-11-22 09:00", "2026-11-21 15:00"}, action: messaging.DeferSend, until: "2026-11-23 10:00", reason: "3 of 1 per 24h"},
		"a week begins on Monday": {yaml: "limit: 1 per week", now: "2026-11-22 12:00", sends: []string{"2026-11-16 00:00"}, action: messaging.DeferSend, until: "2026-11-23 00:00", reason: "1 of 1 per week was sent"},
		"last week's":             {yaml: "limit: 1 per week", now: "2026-11-22 12:00", sends: []string{"2026-11-15 23:59"}},
		"a month":                 {yaml: "limit: 1 per month", now: "2026-12-22 12:00", sends: []string{"2026-12-01 00:00"}, action: messaging.DeferSend, until: "2027-01-01 00:00"},
		"the longest of several":  {yaml: "limit: [2 per day, 2 per 7d]", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00", "2026-11-22 09:00"}, action: messaging.DeferSend, until: "2026-11-29 09:00", reason: "2 of 2 per 7d"},
		"limit on_hit drop":       {yaml: "limit: {count: 1 per day, on_hit: drop}", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00"}, action: messaging.DropSend, reason: "1 of 1 per day was sent"},
		"limit beyond max_defer":  {yaml: "limit: {count: 1 per day, max_defer: 2h}", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00"}, action: messaging.DropSend, reason: "more than 2h (max_defer)"},
		"none at all":             {yaml: "limit: 0 per day", now: "2026-11-22 12:00", action: messaging.DropSend, reason: "0 per day lets no message go"},
		"quiet hours come first":  {yaml: "quiet_hours: 21:00-09:00\nlimit: 1 per day", now: "2026-11-22 22:00", sends: []string{"2026-11-22 10:00"}, action: messaging.DeferSend, until: "2026-11-23 09:00", reason: "quiet hours"},
		"what was sent in another category does not count": {
			yaml: "limit: 1 per day", now: "2026-11-22 12:00", sends: []string{"2026-11-22 10:00"},
			alter: func(_ *messaging.Message, f *messaging.DueFacts) { f.Sends[0].Category = messaging.Utility },
		},
		"what a person sends by hand has no rules": {
			yaml: "quiet_hours: 21:00-09:00", now: "2026-11-22 23:00",
			alter: func(d *messaging.Message, _ *messaging.DueFacts) { d.EventID, d.Trigger = 0, messaging.ByHand },
		},
		"a job of the trigger's name is another": {
			yaml: "quiet_hours: 21:00-09:00", now: "2026-11-22 23:00",
			alter: func(d *messaging.Message, _ *messaging.DueFacts) { d.EventID = 0 },
		},
		"many are named in short": {
			yaml: "limit: 1 per day", now: "2026-11-22 12:00", action: messaging.DeferSend, until: "2026-11-23 00:00", reason: ", and 2 more; next at",
			sends: []string{"2026-11-22 11:00", "2026-11-22 10:00", "2026-11-22 09:00", "2026-11-22 08:00", "2026-11-22 07:00", "2026-11-22 06:00", "2026-11-22 05:00"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, d, now := ruled(t, tt.yaml), reminder(), moment(t, tt.now)
			d.DueAt = now
			f := &messaging.DueFacts{Sends: sent(t, tt.sends...), FirstDue: now}
			if tt.alter != nil {
				tt.alter(d, f)
			}
			v := r.Decide(d, f, now)
			if v.Action != tt.action || !strings.Contains(v.Reason, tt.reason) || (tt.reason == "" && tt.action == "" && v.Reason != "") {
				t.Errorf("%q: %s, want %q: …%s…", v.Action, v.Reason, tt.action, tt.reason)
			}
			if got := v.Until; tt.until == "" && !got.IsZero() || tt.until != "" && !got.Equal(moment(t, tt.until)) {
				t.Errorf("until %s, want %s", got, tt.until)
			}
			if (v.Action == messaging.AllowSend) != (v.Rule == "") {
				t.Errorf("the rule is %q", v.Rule)
			}
		})
	}
}

func TestWhatIsInNoConfigHasTheDefaults(t *testing.T) {
	r := ruled(t, "quiet_hours: off")
	r.Job("list", Keys{}, hours.Holidays{})
	night := moment(t, "2026-11-22 23:00")
	d := reminder()
	d.EventID, d.Trigger = 0, "gone"
	if v := r.Decide(d, &messaging.DueFacts{}, night); r.Any() || v.Action != messaging.AllowSend {
		t.Errorf("without defaults: %+v", v)
	}
	r.Defaults(keys(t, "quiet_hours: 21:00-09:00"), hours.Holidays{})
	for name, want := range map[string]messaging.VerdictAction{"gone": messaging.DeferSend, "list": messaging.AllowSend, messaging.ByHand: messaging.AllowSend} {
		d.Trigger = name
		if v := r.Decide(d, &messaging.DueFacts{}, night); !r.Any() || v.Action != want {
			t.Errorf("%s: %+v", name, v)
		}
	}
	d.EventID, d.Trigger = 1, "remind"
	if v := r.Decide(d, &messaging.DueFacts{}, night); v.Action != messaging.AllowSend {
		t.Errorf("a trigger that switched it off: %+v", v)
	}
}

func TestOtherCategoriesAreExempt(t *testing.T) {
	r := New(time.UTC, Account{})
	k := keys(t, "quiet_hours: 21:00-09:00\nlimit: [1 per day, {count: 3 per 1h, category: authentication}]")
	r.Trigger("paid", k, hours.Holidays{})
	r.Trigger("code", k, hours.Holidays{})
	night := moment(t, "2026-11-22 23:00")
	d := reminder()
	d.Trigger, d.Category = "paid", messaging.Utility
	if n := r.Needs(d); n != (messaging.DueNeeds{}) {
		t.Errorf("a utility message needs %+v", n)
	}
	if v := r.Decide(d, &messaging.DueFacts{Sends: sent(t, "2026-11-22 22:00")}, night); v.Action != messaging.AllowSend {
		t.Errorf("a utility message is held: %+v", v)
	}
	d.Trigger, d.Category = "code", messaging.Authentication
	if n := r.Needs(d); n.Sends != time.Hour {
		t.Errorf("a code needs %+v", n)
	}
	f := &messaging.DueFacts{Sends: sent(t, "2026-11-22 22:50", "2026-11-22 22:40", "2026-11-22 22:30")}
	if v := r.Decide(d, f, night); v.Action != messaging.AllowSend {
		t.Errorf("marketing counts against codes: %+v", v)
	}
	for i := range f.Sends {
		f.Sends[i].Category = messaging.Authentication
	}
	if v := r.Decide(d, f, night); v.Action != messaging.DeferSend || !v.Until.Equal(moment(t, "2026-11-22 23:30")) {
		t.Errorf("the fourth code of an hour: %+v", v)
	}
}

func TestTheAccountsLimitKeepsAReserve(t *testing.T) {
	var in struct {
		Limits Account `yaml:"limits"`
	}
	if _, problems := yamlpos.Decode("c.yaml", []byte("limits: {unique_contacts: 1000 per 24h, reserve: 10%}"), &in); len(problems) > 0 {
		t.Fatal(problems)
	}
	r := New(time.UTC, in.Limits)
	now := moment(t, "2026-11-22 12:00")
	d := reminder()
	if n := r.Needs(d); n.Account != 24*time.Hour {
		t.Errorf("needs %+v", n)
	}
	for _, tt := range []struct {
		contacts int
		known    bool
		category messaging.Category
		held     bool
	}{
		{899, false, messaging.Marketing, false},
		{900, false, messaging.Marketing, true},
		{5000, true, messaging.Marketing, false}, // it is one of them
		{999, false, messaging.Utility, false},
		{5000, false, messaging.Authentication, false},
	} {
		d.Category = tt.category
		v := r.Decide(d, &messaging.DueFacts{Contacts: tt.contacts, New: !tt.known}, now)
		if (v.Action == messaging.DeferSend) != tt.held {
			t.Errorf("%+v: %+v", tt, v)
		}
		if tt.held && (v.Rule != "limits" || !v.Until.Equal(now.Add(time.Hour)) || !strings.Contains(v.Reason, "900 contacts were messaged in the last 24h, and marketing may reach 900 of 1,000 (100 are kept for utility and authentication); next at")) {
			t.Errorf("%+v", v)
		}
	}
}

func TestOneContactIsNotSeveral(t *testing.T) {
	r := New(time.UTC, Account{UniqueContacts: units.Limit{Most: 2, Per: 24 * time.Hour}, Reserve: 0.5})
	v := r.Decide(reminder(), &messaging.DueFacts{Contacts: 1, New: true}, moment(t, "2026-11-22 12:00"))
	if want := "1 contact was messaged in the last 24h, and marketing may reach 1 of 2 (1 is kept for utility and authentication); next at "; !strings.HasPrefix(v.Reason, want) {
		t.Errorf("%s\nwant %s", v.Reason, want)
	}
}

func TestAGuessedZoneIsCounted(t *testing.T) {
	r := ruled(t, "quiet_hours: 21:00-09:00")
	guesses := 0
	r.Guessed = func() { guesses++ }
	d := reminder()
	r.Decide(d, &messaging.DueFacts{}, moment(t, "2026-11-22 12:00"))
	if guesses != 0 {
		t.Errorf("a British number was a guess")
	}
	d.Phone = "870123456789"
	if v := r.Decide(d, &messaging.DueFacts{}, moment(t, "2026-11-22 22:00")); v.Action != messaging.DeferSend || guesses != 1 {
		t.Errorf("%+v after %d guesses", v, guesses)
	}
	// The zones of a free number reach from Samoa to Newfoundland.
	r = ruled(t, "quiet_hours: 19:00-11:00")
	r.Guessed = func() { guesses++ }
	d.Phone = "18005550123"
	if v := r.Decide(d, &messaging.DueFacts{}, moment(t, "2026-11-22 12:00")); v.Action != messaging.AllowSend || guesses != 2 {
		t.Errorf("zones with no hour in common: %+v after %d guesses", v, guesses)
	}
}

func TestNoRuleNeedsNothing(t *testing.T) {
	r := New(time.UTC, Account{})
	r.Trigger("remind", Keys{}, hours.Holidays{})
	d := reminder()
	if r.Any() || r.Needs(d) != (messaging.DueNeeds{}) || r.Decide(d, nil, time.Now()) != (messaging.Verdict{}) {
		t.Error("a trigger without rules has some")
	}
	if (*Rules)(nil).Any() {
		t.Error("no rules are some")
	}
}

func BenchmarkDecide(b *testing.B) {
	r := ruled(b, "quiet_hours: 21:00-09:00\nlimit: [2 per day, 6 per 7d]")
	d, now := reminder(), moment(b, "2026-11-22 12:00")
	f := &messaging.DueFacts{Sends: sent(b, "2026-11-22 10:00", "2026-11-20 10:00", "2026-11-18 10:00")}
	b.ReportAllocs()
	for b.Loop() {
		r.Decide(d, f, now)
	}
}

// Each account has a limit of its own, or that of the section limits.
func TestAnAccountHasItsOwnLimit(t *testing.T) {
	day := func(most int64) Account { return Account{UniqueContacts: units.Limit{Most: most, Per: 24 * time.Hour}} }
	r := New(time.UTC, day(10))
	r.Account("small", day(2))
	r.Account("free", Account{})
	full := &messaging.DueFacts{Contacts: 5, New: true}
	for name, held := range map[string]bool{"": false, "small": true, "free": false, "gone": false} {
		d := &messaging.Message{EventID: 1, Trigger: "cart", Account: name, Category: messaging.Marketing}
		if v := r.Decide(d, full, moment(t, "2026-11-22 12:00")); (v.Action == messaging.DeferSend) != held {
			t.Errorf("account %q: %+v", name, v)
		}
		if n := r.Needs(d).Account; (n > 0) != (name != "free") {
			t.Errorf("account %q looks back %s", name, n)
		}
	}
	if r := New(time.UTC, Account{}); r.Any() {
		t.Error("no rule is a rule")
	} else if r.Account("small", day(2)); !r.Any() {
		t.Error("the limit of an account is none")
	}
}
