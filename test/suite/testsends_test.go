package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// asTest makes a plan the order of a test of its trigger, as preview.TestSend stores one.
func asTest(p *messaging.Plan) {
	e, w := &p.Event, &p.Proposals[0]
	e.Connector, e.Kind, e.Topic, e.DedupeKey = messaging.People, messaging.TestRequested, "a test to me, asked for by ann", "test-"+e.DedupeKey
	w.Correlation.Key = "test " + e.DedupeKey
	w.Decision.Key, w.Message.Key = w.Correlation.Key, w.Correlation.Key
	w.OnRepeat, w.Cooldown = messaging.OnRepeat{Mode: messaging.Parallel}, messaging.Cooldown{Mode: messaging.CooldownNone}
	w.Message.Test, w.Message.Send.Forget = "me", true
}

// testSends are messages that somebody sends to a phone of their own to see them.
func (s suite) testSends(t *testing.T) {
	t.Run("nothing counts but the test and what it costs", s.ofATestNothingCounts)
	t.Run("one that fails is in no list of errors", s.aTestThatFailsIsInNoListOfErrors)
	t.Run("it is stored whatever was sent, waits or cancelled, and no event ends it", s.noMatterHasATest)
	t.Run("no limit and no cooldown looks at it", s.noLimitLooksAtATest)
	t.Run("halts hold it, and the mode of its trigger does not", s.haltsHoldATest)
	t.Run("a block drops it", s.aBlockDropsATest)
	t.Run("in doubt it stays, whatever its trigger and category say", s.aTestInDoubtStays)
	t.Run("it never goes again", s.aTestNeverGoesAgain)
	t.Run("no edit plans it anew, and no pause is made for it", s.noEditPlansATestAnew)
	t.Run("a rename takes it along", s.aRenameTakesATestAlong)
	t.Run("a restart finds it, and is in doubt about what was being sent", s.aRestartFindsATest)
	t.Run("what it says is not kept, and forgetting its number empties it", s.forgettingANumberEmptiesItsTests)
	t.Run("it is marked in what is told and in the views", s.aTestIsMarked)
	t.Run("it is no past of its trigger and no overlap", s.aTestIsNoPast)
}

func (s suite) ofATestNothingCounts(t *testing.T) {
	l := openWith(t, s.fresh(t), func(o *store.Options) {
		o.Points = func(account string, c messaging.Category, phone messaging.Phone) float64 {
			if account != "" || c != messaging.Marketing || phone != "447700900123" {
				t.Errorf("it asks what %s to %s by %q costs", c, phone, account)
			}
			return 0.8
		}
	})
	d := l.claimed("1", asTest)
	l.mustFinish(d, messaging.StateAccepted)
	l.seen(d.ID, messaging.Poll{Status: messaging.StatusRead, At: noon.Add(2 * time.Hour), Final: true})
	doubted := l.claimed("2", asTest)
	l.mustFinish(doubted, messaging.StateInDoubt)
	l.must(l.Resolve(l.ctx, doubted.ID, messaging.ResolveAccepted, "I have it"))
	l.must(l.CancelMessage(l.ctx, l.enqueue("3", asTest), ""))
	same(t, "counts", []string{
		"02 12:00 trigger test_points remind/reminder/GB/ 1600",
		"02 12:00 trigger tested remind/reminder/GB/ 2",
	}, l.counted(everything))
	l.totals(map[string]int64{
		"messages": 3, "decisions_planned": 0, "messages_accepted": 0, "messages_in_doubt": 0, "messages_cancelled": 0, "messages_delivered": 0, "messages_read": 0, "messages_untracked": 0,
	})
	v, err := report.Reports{Records: l.report(), Zone: func() *time.Location { return time.UTC }, Now: func() time.Time { return noon.Add(time.Hour) }}.Report(l.ctx, report.Query{Group: "trigger"})
	l.must(err)
	same(t, "the report", []report.Row{{Group: "remind", Stages: report.Stages{Tests: 2, Spent: 1.6, TestPoints: 1.6}}}, v.Rows)
	same(t, "all", report.Stages{Tests: 2, Spent: 1.6, TestPoints: 1.6}, v.Total)
	same(t, "what triggers said", []report.OutcomeCount{}, v.Outcomes)
}

func (s suite) aTestThatFailsIsInNoListOfErrors(t *testing.T) {
	l := s.open(t)
	rejected := attempt(l.claimed("1", asTest), messaging.StateRejected)
	rejected.Words = "no such template"
	l.must(l.Finish(l.ctx, rejected))
	failed := l.claimed("2", asTest)
	l.mustFinish(failed, messaging.StateAccepted)
	l.seen(failed.ID, messaging.Poll{Status: messaging.StatusFailed, Error: "no such number", Class: messaging.ErrorPermanent, At: noon.Add(2 * time.Hour), Final: true})
	texts, err := report.Records{Store: l.Store}.ErrorTexts(l.ctx, time.Time{}, 9)
	l.must(err)
	same(t, "what the service said", []report.ErrorText{}, texts)
	same(t, "counts", []string{"02 12:00 trigger tested remind/reminder/GB/ 1"}, l.counted(everything))
	optOut := attempt(l.claimed("3", asTest), messaging.StateRejected)
	optOut.Words, optOut.Class = "he does not want any", messaging.ErrorOptOut
	l.must(l.Finish(l.ctx, optOut))
	if !l.blocks("447700900123") {
		t.Error("who does not want any is not blocked")
	}
}

func (s suite) noMatterHasATest(t *testing.T) {
	l := s.open(t)
	l.settleBy(func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		if len(f.Waiting)+len(f.Open) > 0 || f.Last != nil {
			t.Errorf("%s knows of %+v", w.Correlation.Key, f)
		}
		return insert(w, f)
	})
	byPhone := func(p *messaging.Plan) {
		p.Proposals[0].Correlation.Key, p.Event.DedupeKey = "", p.Event.DedupeKey+" by phone"
	}
	l.mustAccept(order("1"))
	l.mustAccept(order("2", byPhone))
	waits := l.enqueue("1", asTest)
	l.mustAccept(order("3", byPhone)) // ends all of the phone, whatever the key
	l.mustAccept(order("1", dedupe("again")))
	same(t, "it waits", messaging.StateWaiting, l.message(waits).State)
	sent := l.ids(noon.Add(time.Hour))
	same(t, "claimed", []messaging.MessageID{waits}, sent)
	l.enqueue("4") // of the phone to which the test goes, by its own key
}

func (s suite) noLimitLooksAtATest(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	var asked []messaging.DueFacts
	l.ruleBy(atMost{n: 1, within: 24 * time.Hour, asked: &asked})
	d := l.claimed("1", asTest)
	l.mustFinish(d, messaging.StateAccepted)
	sent, err := l.SentTo(l.ctx, []messaging.Phone{"447700900123"}, noon)
	l.must(err)
	same(t, "sent to it", []messaging.Contacted{}, sent)
	customers := l.enqueue("2")
	same(t, "a real one goes", []messaging.MessageID{customers}, l.ids(at.Add(time.Minute)))
	for _, f := range asked {
		same(t, "what a rule is told", []messaging.PastSend{}, f.Sends)
	}
}

func (s suite) haltsHoldATest(t *testing.T) {
	for _, c := range []struct {
		name  string
		halt  func(*ledger)
		holds bool
	}{
		{"everything", func(l *ledger) { l.mustHalt(messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}) }, true},
		{"its trigger", func(l *ledger) {
			l.mustHalt(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"})
		}, true},
		{"its template", func(l *ledger) {
			l.mustHalt(messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "reminder"})
		}, true},
		{"its trigger is off", func(l *ledger) { l.mustPause(map[string]string{"remind": "is off"}) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.open(t)
			id := l.enqueue("1", asTest, due(noon))
			customers := l.enqueue("2", due(noon))
			c.halt(l)
			d := l.message(id)
			if _, held := l.Held(&d); held != c.holds {
				t.Errorf("the last look: %v", held)
			}
			got := l.ids(noon.Add(time.Minute))
			if c.holds {
				same(t, "claimed", []messaging.MessageID{}, got)
				return
			}
			same(t, "claimed", []messaging.MessageID{id}, got)
			same(t, "a real one waits", messaging.StateWaiting, l.message(customers).State)
		})
	}
}

func (s suite) aBlockDropsATest(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1", asTest, due(noon))
	l.person("447700900123")
	same(t, "claimed", []messaging.MessageID{}, l.ids(noon.Add(time.Minute)))
	same(t, "it is", messaging.StateDropped, l.message(id).State)
}

func (s suite) aTestInDoubtStays(t *testing.T) {
	for _, c := range messaging.Lanes {
		for _, rule := range []messaging.OnDoubt{"", messaging.DoubtResend, messaging.DoubtDrop} {
			t.Run(string(c)+" "+string(rule), func(t *testing.T) {
				l := s.open(t)
				l.inDoubt(rule)
				d := l.claimed("1", asTest, category(c))
				l.lapse()
				same(t, "it is", messaging.StateInDoubt, l.message(d.ID).State)
				same(t, "claimed again", []messaging.MessageID{}, l.ids(noon.Add(9*time.Hour)))
				if err := l.Resolve(l.ctx, d.ID, messaging.ResolveResend, ""); err == nil {
					t.Error("a person has it sent again, and what it said is not kept")
				}
			})
		}
	}
}

func (s suite) aTestNeverGoesAgain(t *testing.T) {
	l := s.open(t)
	l.mustFinish(l.claimed("1", asTest), messaging.StateRejected)
	failed := l.claimed("2", asTest)
	l.mustFinish(failed, messaging.StateAccepted)
	l.seen(failed.ID, messaging.Poll{Status: messaging.StatusFailed, Error: "Insufficient points", Class: messaging.ErrorNoPoints, At: noon.Add(2 * time.Hour), Final: true})
	went, stayed, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{State: messaging.StateRejected}, Now: noon.Add(3 * time.Hour)})
	l.must(err)
	same(t, "went", []store.Tally{}, went)
	same(t, "stayed", []store.Tally{{Words: "is a test: send another (send-test)", N: 1}}, stayed)
	all, err := l.Messages(l.ctx, store.MessageFilter{})
	l.must(err)
	same(t, "messages", 2, len(all))
	waits := l.claimed("3", asTest)
	l.mustFinish(waits, messaging.StateWaiting)
	same(t, "a refused call is made again", []messaging.MessageID{waits.ID}, l.ids(noon.Add(5*time.Hour)))
}

func (s suite) noEditPlansATestAnew(t *testing.T) {
	l := s.open(t)
	l.enqueue("1", asTest)
	names, err := l.UnsentTriggers(l.ctx)
	l.must(err)
	same(t, "triggers to pause", []string{}, names)
	waits, err := l.WaitingByConfig(l.ctx)
	l.must(err)
	same(t, "what waits by config", []store.PlannedBy{}, waits)
	n, err := l.Replan(l.ctx, "remind", "v1", func(*messaging.Message, func() (messaging.Event, error)) (store.Replanned, error) {
		t.Error("it is asked about")
		return store.Replanned{Cancel: "edited"}, nil
	})
	l.must(err)
	same(t, "planned anew", store.Replans{}, n)
}

func (s suite) aRenameTakesATestAlong(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1", asTest, due(noon))
	l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge", At: noon}}))
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "nudge"})
	same(t, "claimed", []messaging.MessageID{}, l.ids(noon.Add(time.Minute)))
	same(t, "it is of", "nudge", l.message(id).Trigger)
}

func (s suite) forgettingANumberEmptiesItsTests(t *testing.T) {
	l := s.open(t)
	sent := l.claimed("1", asTest)
	same(t, "what leaves", []string{"Ana", "1"}, sent.Send.Variables)
	l.mustFinish(sent, messaging.StateAccepted)
	same(t, "what is kept", messaging.Send{Template: "reminder", Forget: true}, l.message(sent.ID).Send)
	waits := l.enqueue("2", asTest)
	l.must(l.Forget(l.ctx, []messaging.Phone{"447700900123"}, "by hand"))
	l.erased()
	for _, id := range []messaging.MessageID{sent.ID, waits} {
		if d := l.message(id); d.Phone != "" || d.Key != "" || d.State == messaging.StateWaiting || d.Test != "me" {
			t.Errorf("it is left: %+v", d)
		}
	}
	if story := l.eventRow(l.message(sent.ID).EventID); story.Contact.Phone != "" || !story.Forgotten {
		t.Errorf("its event is left: %+v", story)
	}
}

func (s suite) aTestIsMarked(t *testing.T) {
	l := s.open(t)
	l.tell("crm", "message.*", "decision.*")
	d := l.claimed("1", asTest)
	l.mustFinish(d, messaging.StateAccepted)
	l.claimed("2")
	db := l.rawSQL()
	rows, err := db.Query(`SELECT kind, subject, body FROM webhooks_out ORDER BY id`)
	l.must(err)
	defer rows.Close()
	var told []string
	for rows.Next() {
		var kind, body string
		var subject messaging.MessageID
		l.must(rows.Scan(&kind, &subject, &body))
		if marked := strings.Contains(body, `"test":"me"`); marked != (subject == d.ID) {
			t.Errorf("%s of message %d: %s", kind, subject, body)
		}
		told = append(told, fmt.Sprintf("%d %s", subject, kind))
	}
	l.must(rows.Err())
	same(t, "told", []string{"1 message.waiting", "1 decision.planned", "1 message.accepted", "2 message.waiting", "2 decision.planned"}, told)
	var test, other *string
	l.must(db.QueryRow(`SELECT test FROM v_messages WHERE id = 1`).Scan(&test))
	l.must(db.QueryRow(`SELECT test FROM v_messages WHERE id = 2`).Scan(&other))
	if test == nil || *test != "me" || other != nil {
		t.Errorf("v_messages has %v and %v", test, other)
	}
	contacts := -1
	l.must(db.QueryRow(`SELECT count(*) FROM v_contacts`).Scan(&contacts))
	same(t, "contacts to whom messages went", 0, contacts)
}

func (s suite) aTestIsNoPast(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1", asTest)
	l.mustFinish(d, messaging.StateAccepted)
	past, err := l.PastMessages(l.ctx, 0, 9)
	l.must(err)
	same(t, "past messages", []messaging.Message{}, past)
	l.sentTo("2", "thanks", "447700900123", noon.Add(2*time.Hour))
	overlaps, err := report.Reports{Records: l.report(), Now: func() time.Time { return noon.Add(day) }}.Overlap(l.ctx, report.OverlapQuery{})
	l.must(err)
	same(t, "overlaps", []report.OverlapView{}, overlaps)
}

func (s suite) aRestartFindsATest(t *testing.T) {
	l := s.open(t)
	sending := l.claimed("1", asTest)
	waits := l.enqueue("2", asTest)
	l = reopenAfter(t, l)
	_, err := l.RescueClaims(l.ctx, noon.Add(2*time.Hour), "node:2:new")
	l.must(err)
	same(t, "what was being sent", messaging.StateInDoubt, l.message(sending.ID).State)
	same(t, "claimed", []messaging.MessageID{waits}, l.ids(noon.Add(3*time.Hour)))
	if d := l.message(waits); d.Test != "me" {
		t.Errorf("it is %+v", d)
	}
}

// Another node takes a test that waits, and hears of its halt.
func (p pair) nodeTests(t *testing.T) {
	a, b := p.two(t)
	id := a.enqueue("1", asTest, due(noon))
	b.mustHalt(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"})
	same(t, "claimed while it is halted", []messaging.MessageID{}, a.ids(noon.Add(time.Minute)))
	b.must(b.EndHold(b.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"}))
	same(t, "claimed by the other", []messaging.MessageID{id}, b.ids(noon.Add(time.Minute)))
	same(t, "claimed once", []messaging.MessageID{}, a.ids(noon.Add(time.Minute)))
}
