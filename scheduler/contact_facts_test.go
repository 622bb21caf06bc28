package scheduler

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/triggers"
)

// A message of a trigger and a row of a job with the same rules, to a contact of whom the same is known, are told the same: by the claim of the
// one, by the part and by the forecast of the other, in the same words.
func TestClaimPartAndForecastSayTheSame(t *testing.T) {
	keys := duerules.Keys{Consent: duerules.ConsentRequired, Limit: duerules.Limits{All: []duerules.Limit{{Count: units.Limit{Most: 1, Per: 24 * time.Hour}, OnHit: duerules.Drop}}}}
	rules := duerules.New(time.UTC, duerules.Account{})
	rules.Trigger("offer", keys, hours.Holidays{})
	rules.Job("winback", keys, hours.Holidays{})
	var now nudgewire.DueRules // nil while what was sent before is made
	st, err := store.Open(t.Context(), store.Options{
		DSN: "sqlite:" + filepath.Join(t.TempDir(), "nudgewire.db"), Settle: triggers.Settle, Due: func() nudgewire.DueRules { return now },
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	defer func() { must(st.Close()) }()
	at := time.Now().UTC().Truncate(time.Second)
	s := New(Options{Store: st, Owner: "test", Facts: NewHistory(st), Rules: func() *duerules.Rules { return rules }, Now: func() time.Time { return at }})

	queued := 0
	claim := func(phone nudgewire.Phone, trigger string, c nudgewire.Category) (nudgewire.Message, []nudgewire.Message) {
		t.Helper()
		queued++
		key := fmt.Sprint(queued)
		got, err := st.Accept(t.Context(), []nudgewire.Plan{{
			Event: nudgewire.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: key, ReceivedAt: at, Contact: nudgewire.Contact{Phone: phone}},
			Proposals: []nudgewire.Proposal{{
				Decision:    nudgewire.Decision{Trigger: trigger, Outcome: nudgewire.Planned, Key: key, At: at},
				Correlation: nudgewire.Correlation{Trigger: trigger, Key: key, Phone: phone},
				Message:     nudgewire.Message{Phone: phone, Category: c, DueAt: at, Send: nudgewire.Send{Text: "hello"}},
			}},
		}})
		must(err)
		claimed, err := st.Claim(t.Context(), nudgewire.ClaimRequest{Owner: "test", Now: at, Lease: time.Hour, Authentication: 9, Utility: 9, Marketing: 9})
		must(err)
		d, err := st.Message(t.Context(), got[0].Decisions[0].MessageID)
		must(err)
		return d, claimed
	}
	job := jobOf(t, people(1), Job{})
	job.Name = "winback"
	told := map[string]bool{}
	phones := 0
	for _, category := range nudgewire.Lanes {
		for _, consent := range []nudgewire.Consent{"", nudgewire.ConsentGiven, nudgewire.ConsentWithdrawn} {
			for _, before := range []int{0, 1} {
				for _, blocked := range []string{"", "asked for it", "forgotten"} {
					phones++
					phone := nudgewire.Phone(fmt.Sprintf("4479111%05d", phones))
					now = nil
					for range before {
						claim(phone, "cart", nudgewire.Marketing)
					}
					if consent != "" {
						must(st.SaveConsents(t.Context(), []nudgewire.ConsentRecord{{Phone: phone, Consent: consent}}))
					}
					switch blocked {
					case "":
					case "forgotten":
						must(st.Forget(t.Context(), []nudgewire.Phone{phone}, "a test"))
					default:
						_, err := st.Block(t.Context(), []store.Block{{Phone: phone, Reason: blocked}})
						must(err)
					}
					now = rules
					job.category = category
					r := nudgewire.Run{ID: 1, Job: "winback", Deliver: nudgewire.DeliverCSV, Category: category, DueAt: at}
					part, err := s.mayGo(t.Context(), &nudgewire.Run{Job: r.Job, Deliver: r.Deliver, Category: r.Category, DueAt: r.DueAt}, job, []nudgewire.Phone{phone}, nil)
					must(err)
					forecast, err := s.asked(r, job)(t.Context(), []nudgewire.Phone{phone}, nil)
					must(err)
					d, claimed := claim(phone, "offer", category)
					want := nudgewire.Verdict{}
					if len(claimed) == 0 {
						want = nudgewire.Verdict{Action: nudgewire.DropSend, Reason: d.Reason}
					}
					for who, v := range map[string]nudgewire.Verdict{"part": part[0].Verdict, "forecast": forecast[0].Verdict} {
						if v.Action != want.Action || v.Reason != want.Reason {
							t.Errorf("%s, consent %q, %d before, %q: the claim says %s %q, the %s %+v", category, consent, before, blocked, want.Action, want.Reason, who, v)
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
