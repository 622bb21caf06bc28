package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

const yearsConfig = `
api: {base_url: "https://api.example.com/api/v1", key: key}
defaults: {country: GB, language: en, limit: {count: 2 per 7d, on_hit: drop}}
connectors:
  shopify: {secret: a-secret-that-is-long-enough}
triggers:
  cart:
    on: shopify.cart.updated
    if: cart.total >= 50
    wait: 45m
    cancel_on: shopify.order.created
    send: {template: cart_reminder, variables: ['{{ customer.first_name | default: "there" }}']}
  thanks:
    on: shopify.order.created
    category: utility
    steps:
      - {send: {template: thanks}}
      - {wait: 45d, if: order.total >= 50, send: {template: review}}
  news:
    on: shopify.contact.updated
    category: utility
    cooldown: 35d
    send: {template: news}
`

// years is a shop whose days go by at once: the real rules, planner and store, and a service that takes what it is sent.
type years struct {
	*testing.T
	*store.Store
	cfg   *config.Config
	path  string
	began time.Time
	now   time.Time
	n     int
	sent  map[messaging.Phone][]time.Time // marketing
	news  map[messaging.Phone]time.Time   // the last
	steps int                             // second steps that were confirmed
	doubt messaging.MessageID             // never resolved
}

func openYears(t *testing.T) *years {
	t.Helper()
	cfg, problems := config.Parse("config.yaml", []byte(yearsConfig), nil)
	if n := problems.Errors(); n > 0 {
		t.Fatal(problems)
	}
	y := &years{T: t, cfg: cfg, path: filepath.Join(t.TempDir(), "nudgewire.db"), sent: map[messaging.Phone][]time.Time{}, news: map[messaging.Phone]time.Time{}}
	y.now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	y.began = y.now
	y.open()
	t.Cleanup(func() { _ = y.Close() })
	return y
}

func (y *years) open() {
	y.Helper()
	s, err := store.Open(y.Context(), store.Options{
		DSN: "sqlite:" + y.path, Settle: triggers.Settle, Now: func() time.Time { return y.now }, Due: func() messaging.DueRules { return y.cfg.Due },
	})
	y.must(err)
	y.Store = s
}

func (y *years) must(err error) {
	y.Helper()
	if err != nil {
		y.Fatal(err)
	}
}

// plan is what the rules want because of an event about somebody's cart or order.
func (y *years) plan(kind, key string, phone messaging.Phone, dedupe string) messaging.Plan {
	y.n++
	e := messaging.Event{
		Connector: "shopify", Kind: kind, Topic: kind, DedupeKey: dedupe, OccurredAt: y.now, ReceivedAt: y.now, ContentType: "application/json",
		Contact: messaging.Contact{Phone: phone, FirstName: "Ada"}, Payload: []byte(fmt.Sprintf(`{"n": %d, "key": %q, "note": %q}`, y.n, key, strings.Repeat("x", 500))),
	}
	switch kind {
	case "cart.updated":
		e.Cart = messaging.Cart{ID: key, Total: messaging.AmountOf(60), Currency: "GBP"}
	case "order.created":
		e.Cart.ID, e.Order = key, messaging.Order{ID: "o-" + key, Total: messaging.AmountOf(60), Currency: "GBP"}
	}
	p := y.cfg.Triggers.Match(&e, y.now)
	p.Window = y.cfg.Receivers["shopify"].DedupeWindow()
	return p
}

func (y *years) accept(plans ...messaging.Plan) []messaging.Receipt {
	y.Helper()
	got, err := y.Accept(y.Context(), plans)
	y.must(err)
	return got
}

// outcome is what a trigger said.
func outcome(r messaging.Receipt, trigger string) messaging.Outcome {
	for _, d := range r.Decisions {
		if d.Trigger == trigger {
			return d.Outcome
		}
	}
	return ""
}

// send sends all that is due, and has the service tell of the end of what it took before.
func (y *years) send() {
	y.Helper()
	polls, err := y.ClaimPolls(y.Context(), y.now, time.Hour, 100)
	y.must(err)
	var all sync.WaitGroup
	for _, m := range polls {
		all.Go(func() {
			if err := y.FinishPoll(y.Context(), messaging.Poll{MessageID: m.ID, Status: messaging.StatusDelivered, Final: true, At: y.now}); err != nil {
				y.Error(err)
			}
		})
	}
	all.Wait()
	due, err := y.Claim(y.Context(), messaging.ClaimRequest{Owner: "me", Now: y.now, Lease: time.Hour, Authentication: 200, Utility: 200, Marketing: 200})
	y.must(err)
	for i := range due {
		d := &due[i]
		a := messaging.Attempt{MessageID: d.ID, Owner: "me", Number: d.Attempt, State: messaging.StateAccepted, At: y.now}
		if d.Step > 1 {
			facts, err := y.StepFacts(y.Context(), d)
			y.must(err)
			v := y.cfg.Triggers.Step(d, &facts, y.now)
			if facts.Event.Cleared || facts.Event.FactsCleared || v.Decision == nil || v.Decision.Outcome != messaging.Confirmed {
				y.Errorf("step %d of event %d, 45 days after it: %+v", d.Step, d.EventID, v)
			}
			a.Decision = v.Decision
			y.steps++
		}
		switch {
		case y.doubt == 0 && d.Category == messaging.Marketing:
			y.doubt, a.State, a.Reason = d.ID, messaging.StateInDoubt, "the answer got lost"
		case d.ID%11 == 0:
			a.State, a.Reason = messaging.StateRejected, "no such template"
		default:
			a.Message = &messaging.Message{ServiceID: messaging.ServiceID(fmt.Sprint(1000 + d.ID)), Phone: d.Phone, Category: d.Category, Status: "accepted", NextPollAt: y.now.Add(time.Minute)}
		}
		if d.Category == messaging.Marketing && a.State != messaging.StateRejected {
			y.sent[d.Phone] = append(y.sent[d.Phone], y.now)
		}
		all.Go(func() {
			if err := y.Finish(y.Context(), a); err != nil {
				y.Error(err)
			}
		})
		if d.Trigger == "news" && a.State == messaging.StateAccepted {
			y.news[d.Phone] = y.now
		}
	}
	all.Wait()
}

func (y *years) size() int64 {
	y.Helper()
	info, err := os.Stat(y.path)
	y.must(err)
	return info.Size()
}

func customer(i int) messaging.Phone { return messaging.Phone(fmt.Sprintf("4477009%05d", i)) }

// Day by day for 600 days: the file levels off once messages of 400 days are in it, why tells what is kept and
// says of the rest that it is not, and nothing that a rule looks back at is forgotten before its time.
func TestFourHundredDaysAndMore(t *testing.T) {
	const (
		day     = 24 * time.Hour
		days    = 600
		regular = messaging.Phone("447800995000") // no other one looks like it when it is masked
	)
	y := openYears(t)
	sizes := map[int]int64{}
	waits := y.plan("cart.updated", "far", customer(90_001), "far")
	waits.Proposals[0].Message.DueAt = y.now.AddDate(50, 0, 0)
	waits.Proposals[0].Message.ExpiresAt = time.Time{}
	far := y.accept(waits)[0]
	for i := range days {
		y.now = y.began.Add(time.Duration(i)*day + time.Duration(i%5)*time.Hour)
		key := func(what string) string { return fmt.Sprintf("%s-%d", what, i) }
		got := y.accept(
			y.plan("cart.updated", key("c"), customer(i), key("w1")),
			y.plan("cart.updated", key("r"), regular, key("w2")), // every day: the limit holds it back
			y.plan("order.created", key("first"), customer(i+1), key("w3")),
			y.plan("cart.updated", key("first"), customer(i+1), key("w4")), // after its order
			y.plan("order.created", key("o"), customer(i+2), key("w5")),
			y.plan("contact.updated", "", customer(i%20), key("w6")),
			y.plan("cart.updated", "once", customer(90_002), key("w7")), // every day the same cart
		)
		if o := outcome(got[3], "cart"); o != messaging.Cancelled {
			t.Fatalf("day %d: a cart after its order is %s", i, o)
		}
		// The cooldown of 35 days, to the day.
		last := y.news[customer(i%20)]
		want := messaging.Planned
		if !last.IsZero() && y.now.Before(last.Add(35*day)) {
			want = messaging.Skipped
		}
		if o := outcome(got[5], "news"); o != want && o != messaging.Restarted {
			t.Fatalf("day %d: news are %s, want %s; the last went %s", i, o, want, last)
		}
		if i > 2 {
			if o := outcome(got[6], "cart"); o != messaging.Skipped {
				t.Fatalf("day %d: a cart that got its message is %s", i, o)
			}
		}
		if i >= 7 { // a webhook of almost a week ago comes once more
			before := fmt.Sprintf("w1-%d", i-6)
			if again := y.accept(y.plan("cart.updated", fmt.Sprintf("c-%d", i-6), customer(i-6), before)); !again[0].Duplicate {
				t.Fatalf("day %d: a webhook of six days ago is new", i)
			}
		}
		if i%10 == 0 {
			y.must(y.RejectRequest(t.Context(), messaging.RejectedRequest{Connector: "shopify", Status: 401, Stage: "verify", Reason: "no", At: y.now}))
		}
		y.now = y.now.Add(time.Hour)
		y.send()
		if i%5 == 4 {
			_, err := privacy.Records{Store: y.Store}.Retain(t.Context(), withoutRest(y.cfg), y.now)
			y.must(err)
		}
		if i%25 == 24 {
			y.must(y.Close()) // what was in memory is in the file before the keys are swept
			y.open()
		}
		if i == 460 || i == 530 || i == days-1 {
			sizes[i] = y.size()
		}
	}
	t.Logf("sizes: %v; %d second steps", sizes, y.steps)
	if sizes[530] > sizes[460]*11/10 || sizes[days-1] > sizes[460]*115/100 {
		t.Errorf("the file grows: %v", sizes)
	}
	// No two and a bit within seven days.
	for phone, at := range y.sent {
		for i := 2; i < len(at); i++ {
			if at[i].Sub(at[i-2]) < 7*day {
				t.Errorf("%s got three within %s at %s", phone, at[i].Sub(at[i-2]), at[i])
			}
		}
	}
	if n := len(y.sent[regular]); n < days/4 || y.steps < days/2 {
		t.Errorf("the test is weak: %d messages to the regular, %d second steps", n, y.steps)
	}
	y.told(regular, days)
	// What has not ended is there whole.
	for _, id := range []messaging.MessageID{y.doubt, far.Decisions[0].MessageID} {
		d, err := y.Message(t.Context(), id)
		y.must(err)
		e, err := y.Event(t.Context(), d.EventID)
		y.must(err)
		if d.State.Final() || e.Cleared || len(e.Payload) == 0 {
			t.Errorf("message %d, which has not ended: %s, its event %+v", id, d.State, e)
		}
	}
	v, err := privacy.Records{Store: y.Store}.RetentionState(t.Context())
	y.must(err)
	for kind, most := range map[string]int{"payloads": days + 1, "facts": days + 1, "decisions": days + 1, "rejected_requests": 40, "attempts": days + 1} {
		if age := y.now.Sub(v.Oldest[kind]); age > time.Duration(most)*day {
			t.Errorf("the oldest of %s is %s old", kind, age)
		}
	}
	y.must(y.Check(t.Context()))
}

// told looks at the story of a phone that has one event a day.
func (y *years) told(phone messaging.Phone, days int) {
	y.Helper()
	stories, err := history.Records{Store: y.Store}.Story(y.Context(), phone, 2000)
	y.must(err)
	slices.Reverse(stories)                    // the newest first
	if n := len(stories); n < 180 || n > 192 { // then their phone is masked
		y.Fatalf("%d stories of %d days", n, days)
	}
	hidden := y.masked(phone)
	if n := len(hidden) + len(stories); n < 400 || n > 412 {
		y.Fatalf("%d stories of %d days have the phone masked", len(hidden), days)
	}
	for age, s := range append(stories, hidden...) {
		whole, err := y.Event(y.Context(), s.ID)
		y.must(err)
		messages, reasons := len(s.Messages), ""
		if len(s.Decisions) == 1 {
			reasons = s.Decisions[0].Reason
		}
		switch {
		case age < 29 && (whole.Cleared || s.Unsaid || len(s.Decisions) != 1 || len(s.Decisions[0].Clauses) != 1):
			y.Errorf("of %d days ago: %+v", age, s)
		case age > 37 && age < 89 && (!whole.Cleared || whole.FactsCleared || whole.Cart.Total.String() != "60" || s.Unsaid || len(s.Decisions) != 1 || messages != 1):
			y.Errorf("of %d days ago: %+v", age, s)
		case age > 97 && age < 399 && (!whole.FactsCleared || whole.Cart.ID != "" || !s.Unsaid || messages != 1 || !strings.Contains(reasons, "retention.decisions")):
			y.Errorf("of %d days ago: unsaid %v, cleared %v, %d messages, %q", age, s.Unsaid, whole.Cleared, messages, reasons)
		}
	}
}

// masked are the stories of events whose phone is masked and looks like this one, the newest first.
func (y *years) masked(phone messaging.Phone) (stories []history.Story) {
	y.Helper()
	events, err := y.Events(y.Context(), store.EventFilter{Limit: 100_000})
	y.must(err)
	for _, e := range events {
		if string(e.Contact.Phone) != phone.Masked() {
			continue
		}
		s, err := history.Records{Store: y.Store}.EventStory(y.Context(), e.ID)
		y.must(err)
		for _, d := range s.Messages {
			if d.Phone != e.Contact.Phone || d.Key != "" || len(d.Send.Variables) > 0 {
				y.Errorf("message %d of a masked event tells of %s, %q, %v", d.ID, d.Phone, d.Key, d.Send.Variables)
			}
		}
		stories = append(stories, s)
	}
	return stories
}

// withoutRest is retention by a config, at once.
func withoutRest(cfg *config.Config) privacy.Retention {
	r := retentionOf(cfg)
	r.Rest = nil
	return r
}
