package scheduler

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A met is a store in which messages are queued and claimed at one moment.
type met struct {
	t      *testing.T
	dsn    string
	store  *store.Store
	at     time.Time
	queued int
}

func meeting(t *testing.T, due func() messaging.DueRules) *met {
	t.Helper()
	m := &met{t: t, at: time.Now().UTC().Truncate(time.Second)}
	var err error
	m.dsn = "sqlite:" + filepath.Join(t.TempDir(), "nudgewire.db")
	m.store, err = store.Open(t.Context(), store.Options{DSN: m.dsn, Settle: triggers.Settle, Due: due})
	m.must(err)
	t.Cleanup(func() { m.must(m.store.Close()) })
	return m
}

func (m *met) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func contact(n int) messaging.Phone { return messaging.Phone(fmt.Sprintf("4479111%05d", n)) }

// queue has a message due.
func (m *met) queue(phone messaging.Phone, trigger string, c messaging.Category) messaging.MessageID {
	m.t.Helper()
	m.queued++
	key := fmt.Sprint(m.queued)
	got, err := m.store.Accept(m.t.Context(), []messaging.Plan{{
		Event: messaging.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: key, ReceivedAt: m.at, Contact: messaging.Contact{Phone: phone}},
		Proposals: []messaging.Proposal{{
			Decision:    messaging.Decision{Trigger: trigger, Outcome: messaging.Planned, Key: key, At: m.at},
			Correlation: messaging.Correlation{Trigger: trigger, Key: key, Phone: phone},
			Message:     messaging.Message{Phone: phone, Category: c, DueAt: m.at, Send: messaging.Send{Text: "hello"}},
		}},
	}})
	m.must(err)
	return got[0].Decisions[0].MessageID
}

// claim takes all that may go.
func (m *met) claim() []messaging.Message {
	m.t.Helper()
	claimed, err := m.store.Claim(m.t.Context(), messaging.ClaimRequest{Owner: "test", Now: m.at, Lease: time.Hour, Authentication: 99, Utility: 99, Marketing: 99})
	m.must(err)
	return claimed
}

// A message of a trigger and a row of a job with the same rules, to a contact of whom the same is known, are told the same: by the claim of the
// one, by the part and by the forecast of the other, in the same words; by the forecast what is said of the contact, and not of the moment.
func TestClaimPartAndForecastSayTheSame(t *testing.T) {
	keys := duerules.Keys{Consent: duerules.ConsentRequired, Limit: duerules.Limits{All: []duerules.Limit{{Count: units.Limit{Most: 1, Per: 24 * time.Hour}, OnHit: duerules.Drop}}}}
	rules := duerules.New(time.UTC, duerules.Account{})
	rules.Trigger("offer", keys, hours.Holidays{})
	rules.Job("winback", keys, hours.Holidays{})
	var now messaging.DueRules // nil while what was sent before is made
	h := meeting(t, func() messaging.DueRules { return now })
	st, at, must := h.store, h.at, h.must
	s := New(Options{Store: st, Owner: "test", Facts: NewHistory(st), Rules: func() *duerules.Rules { return rules }, Now: func() time.Time { return at }})
	job := jobOf(t, people(1), Job{})
	job.Name = "winback"
	told := map[string]bool{}
	phones := 0
	run, _, err := st.StartRun(t.Context(), messaging.Run{Job: "winback", Slot: "2026-11-20 10:00", Cause: messaging.CauseHand, State: messaging.RunUploading, DueAt: at, CreatedAt: at})
	must(err)
	for _, category := range messaging.Lanes {
		for _, consent := range []messaging.Consent{"", messaging.ConsentGiven, messaging.ConsentWithdrawn} {
			for _, before := range []int{0, 1} {
				for _, blocked := range []string{"", "asked for it", "forgotten"} {
					phones++
					phone := contact(phones)
					now = nil
					for range before {
						h.queue(phone, "cart", messaging.Marketing)
						h.claim()
					}
					if consent != "" {
						must(st.SaveConsents(t.Context(), []messaging.ConsentRecord{{Phone: phone, Consent: consent}}))
					}
					switch blocked {
					case "":
					case "forgotten":
						must(st.Forget(t.Context(), []messaging.Phone{phone}, "a test"))
					default:
						_, err := st.Block(t.Context(), []store.Block{{Phone: phone, Reason: blocked}})
						must(err)
					}
					now = rules
					job.category = category
					r := messaging.Run{ID: run, Job: "winback", Deliver: messaging.DeliverCSV, Category: category, DueAt: at}
					part, err := s.mayGo(t.Context(), &r, job, []messaging.Phone{phone}, nil, atTurn)
					must(err)
					forecast, err := s.asked(r, job, whileRead)(t.Context(), []messaging.Phone{phone}, nil)
					must(err)
					id, want := h.queue(phone, "offer", category), messaging.Verdict{}
					if len(h.claim()) == 0 {
						d, err := st.Message(t.Context(), id)
						must(err)
						want = messaging.Verdict{Action: messaging.DropSend, Reason: d.Reason}
					}
					ofContact := want
					if !part[0].OfContact() {
						ofContact = messaging.Verdict{}
					}
					for _, one := range []struct {
						who       string
						v, wanted messaging.Verdict
					}{{"part", part[0].Verdict, want}, {"forecast", forecast[0].Verdict, ofContact}} {
						if one.v.Action != one.wanted.Action || one.v.Reason != one.wanted.Reason {
							t.Errorf("%s, consent %q, %d before, %q: the claim says %s %q, the %s %+v", category, consent, before, blocked, want.Action, want.Reason, one.who, one.v)
						}
					}
					if part[0].forgotten != (blocked == "forgotten") {
						t.Errorf("%s: forgotten is %v", blocked, part[0].forgotten)
					}
					told[want.Reason] = true
				}
			}
		}
	}
	if len(told) < 6 { // nothing, a block, a forgotten contact, no consent, one taken back, a limit
		t.Errorf("only these were told: %v", told)
	}
}

// The room of an account is reckoned for a whole part. As many fit as a claim lets go of messages to the same contacts, one after the other.
func TestAsManyFitOnAPartAsAClaimLetsGo(t *testing.T) {
	for before := range 4 {
		for again := range 3 { // of those on the list who were reached before
			rules := duerules.New(time.UTC, duerules.Account{UniqueContacts: units.Limit{Most: 5, Per: 24 * time.Hour}})
			h := meeting(t, func() messaging.DueRules { return rules })
			for i := range before {
				h.queue(contact(i), "cart", messaging.Marketing)
			}
			h.claim()
			var on []messaging.Phone
			for i := range min(again, before) {
				on = append(on, contact(i))
			}
			for i := range 6 {
				on = append(on, contact(10+i))
			}
			reach := rules.Reach("", messaging.Marketing)
			room, err := h.store.Room(t.Context(), roomFor(reach, "", on, h.at))
			h.must(err)
			for _, phone := range on {
				h.queue(phone, "offer", messaging.Marketing)
			}
			if claimed := len(h.claim()); room.Fits != claimed {
				t.Errorf("%d reached before, %d of them again: %d of %d fit on a part, and a claim takes %d", before, again, room.Fits, len(on), claimed)
			}
		}
	}
}

// An interruption has something happen once the contacts of a part were asked about, and before the part is claimed.
type interruption struct {
	*History
	happens []func()
	asked   int
}

func (b *interruption) About(ctx context.Context, phones []messaging.Phone, q Question) ([]Known, error) {
	known, err := b.History.About(ctx, phones, q)
	if q.Rows {
		b.asked += len(phones)
		for _, happens := range b.happens {
			happens()
		}
		b.happens = nil
	}
	return known, err
}

// What changes of a contact while its part is cut is heeded before the part leaves, and what lets it go all the same has no part cut anew.
func TestWhatChangesWhileAPartIsCut(t *testing.T) {
	const rows = 4
	on := contact(1)
	for name, one := range map[string]struct {
		happens func(*met)
		goes    bool // all the same
		asked   int
	}{
		"nothing": {func(*met) {}, true, rows},
		"its consent is withdrawn": {func(m *met) {
			m.must(m.store.SaveConsents(m.t.Context(), []messaging.ConsentRecord{{Phone: on, Consent: messaging.ConsentWithdrawn, At: m.at.Add(time.Minute)}}))
		}, false, rows + 1 + rows},
		"it is blocked": {func(m *met) {
			_, err := m.store.Block(m.t.Context(), []store.Block{{Phone: on}})
			m.must(err)
		}, false, rows + 1 + rows},
		"it is forgotten":                                   {func(m *met) { m.must(m.store.Forget(m.t.Context(), []messaging.Phone{on}, "a test")) }, false, 2 * rows},
		"a message uses up a limit":                         {func(m *met) { m.queue(on, "cart", messaging.Marketing); m.claim() }, false, rows + 1 + rows},
		"a message uses up none":                            {func(m *met) { m.queue(on, "paid", messaging.Utility); m.claim() }, true, rows + 1},
		"another gets a message":                            {func(m *met) { m.queue(contact(99), "cart", messaging.Marketing); m.claim() }, true, rows},
		"all that came by its connector is to be forgotten": {func(m *met) { m.redact() }, false, 2 * rows},
	} {
		t.Run(name, func(t *testing.T) {
			rules := duerules.New(time.UTC, duerules.Account{})
			rules.Job("winback", duerules.Keys{Consent: duerules.ConsentRequired, Limit: duerules.Limits{All: []duerules.Limit{{Count: units.Limit{Most: 1, Per: 24 * time.Hour}, OnHit: duerules.Drop}}}}, hours.Holidays{})
			m := meeting(t, nil)
			for i := range rows {
				m.must(m.store.SaveConsents(t.Context(), []messaging.ConsentRecord{{Phone: contact(i), Consent: messaging.ConsentGiven, At: m.at}}))
			}
			m.queue(on, "seen", messaging.Utility) // by the connector shop
			m.claim()
			facts := &interruption{History: NewHistory(m.store)}
			uploads := &service{}
			s := New(Options{
				Store: m.store, Owner: "test", Facts: facts, Rules: func() *duerules.Rules { return rules }, Now: func() time.Time { return m.at },
				Line:  func(string) Line { return Line{Uploader: uploads} },
				Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
			})
			job := jobOf(t, people(rows), Job{})
			s.Use([]*Compiled{job})
			_, err := s.RunNow(t.Context(), job, m.at, HandOrder{})
			m.must(err)
			facts.happens = []func(){func() { one.happens(m) }}
			var runs sync.WaitGroup
			m.must(s.start(t.Context(), &runs))
			runs.Wait()
			if sent := slices.Contains(uploads.phones(t), string(on)); sent != one.goes || facts.asked != one.asked {
				t.Errorf("it goes: %v, and contacts were asked about %d times, want %d", sent, facts.asked, one.asked)
			}
			if sent := len(uploads.phones(t)); sent < rows-1 && name[:3] != "all" {
				t.Errorf("%d of the others go", sent)
			}
		})
	}
}

// redact has all that came by the connector shop asked to be forgotten.
func (m *met) redact() {
	m.t.Helper()
	_, err := m.store.Accept(m.t.Context(), []messaging.Plan{{
		Event: messaging.Event{Connector: "shop", Kind: "shop.redacted", DedupeKey: "redact", ReceivedAt: m.at},
		Proposals: []messaging.Proposal{{
			Decision: messaging.Decision{Trigger: messaging.Erasure, Outcome: messaging.ForgettingAll, At: m.at}, EventAt: m.at,
			Correlation: messaging.Correlation{Trigger: messaging.Erasure},
		}},
	}})
	m.must(err)
}
