package suite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

const day = 24 * time.Hour

// kept is what the sample config keeps.
var kept = privacy.Retention{
	Payloads: 30 * day, Facts: 60 * day, Decisions: 90 * day, Events: 400 * day, Messages: 400 * day, Attempts: 90 * day, RejectedRequests: 30 * day,
}

// retain has days gone by since noon, and what is old then removed.
func (l *ledger) retain(days int) privacy.RetentionRun {
	l.t.Helper()
	now := noon.Add(time.Duration(days) * day)
	l.at(now)
	run, err := l.privacy().Retain(l.ctx, kept, now)
	l.must(err)
	return run
}

func masked(p messaging.Phone) messaging.Phone { return messaging.Phone(p.Masked()) }

// retention is what other rules and orders find of what is old.
func (s suite) retention(t *testing.T) {
	t.Run("of a run that ended, what is in doubt, waits or is still asked about stays, and nothing else is counted", s.whatIsNotOverStaysOfARunThatEnded)
	t.Run("a run that is paused loses no row, and goes on without one queued twice", s.aRunThatIsPausedLosesNoRow)
	t.Run("what is halted waits with its due time", s.whatIsHaltedIsKept)
	t.Run("messages that an upload's answer named go, and are not counted as on their way", s.messagesOfAnUploadGo)
	t.Run("phones are masked where they stand: of events, of rows of runs, of what an upload's answer named", s.phonesAreMaskedWhereTheyStand)
	t.Run("a message whose event lost its payload is sent again as it was, and stays as long as its successor", s.aMessageStaysAsLongAsItsSuccessor)
	t.Run("a contact is forgotten in what is left", s.aContactIsForgottenInWhatIsLeft)
	t.Run("facts outlive the payload: they go by their own age, and forgetting finds them", s.factsOutliveThePayload)
	t.Run("other ages hold at the next run", s.otherAgesHoldAtTheNextRun)
}

func (s suite) whatIsNotOverStaysOfARunThatEnded(t *testing.T) {
	l := s.open(t)
	r := l.sevenRows()
	l.retain(399)
	same(t, "before", int64(7), sum(l.runMessages(r.ID)))
	l.retain(401)
	same(t, "after", map[string]int64{"delivered": 1, "in_doubt": 1, "waiting": 1}, l.runMessages(r.ID))
	same(t, "rows", 3, len(l.rows(r.ID, 0)))
	l.retain(4000)
	same(t, "years later", map[string]int64{"delivered": 1, "in_doubt": 1, "waiting": 1}, l.runMessages(r.ID))
}

func (s suite) aRunThatIsPausedLosesNoRow(t *testing.T) {
	l := s.open(t)
	r := l.handedOver("1", 3)
	d := l.mustClaim(noon, 1)[0]
	l.mustFinish(d, messaging.StateRejected)
	r = l.mustSet(r, messaging.RunPaused)
	l.retain(1000)
	same(t, "rows", map[string]int64{"rejected": 1, "waiting": 2}, l.runMessages(r.ID))
	r = l.mustSet(r, messaging.RunUploading)
	l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)))
	same(t, "rows after it went on", map[string]int64{"rejected": 1, "waiting": 2}, l.runMessages(r.ID))
	l.mustSet(r, messaging.RunDone)
	l.retain(1001)
	if err := l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)); err == nil {
		t.Error("a run that ended took rows")
	}
	same(t, "rows after its end", map[string]int64{"waiting": 2}, l.runMessages(r.ID))
}

func (s suite) whatIsHaltedIsKept(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("c1")
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, At: noon})
	l.retain(1000)
	d := l.message(id)
	same(t, "state", messaging.StateWaiting, d.State)
	if e, err := l.Event(l.ctx, d.EventID); err != nil || e.Cleared {
		t.Errorf("its event: cleared %v, %v", e.Cleared, err)
	}
}

func (s suite) messagesOfAnUploadGo(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	l.accept(r, 1, numbers(100, 3), nil)
	l.retain(1000)
	same(t, "while they are asked about", map[string]int64{"accepted": 3}, l.runMessages(r.ID))
	l.at(noon)
	for id := range messaging.MessageID(2) {
		l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: id + 1, Status: messaging.StatusDelivered, Final: true, At: noon}))
	}
	run := l.retain(401)
	same(t, "removed", int64(2), run.Removed["messages"])
	same(t, "afterwards", map[string]int64{"accepted": 1}, l.runMessages(r.ID))
	same(t, "again", 0, len(l.retain(402).Removed))
}

func (s suite) phonesAreMaskedWhereTheyStand(t *testing.T) {
	l := s.open(t)
	const phone, hidden = "447700900321", "4477******21"
	r := l.uploading("1", 2)
	l.accept(r, 1, numbers(100, 2), []string{phone, phone})
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: 1, Status: messaging.StatusFailed, Error: "no such number " + phone, Final: true, At: noon}))
	rows := l.handedOver("2", 1)
	row := l.mustClaim(noon, 1)[0]
	l.mustFinish(row, messaging.StateRejected)
	l.mustSet(rows, messaging.RunDone)
	caused := l.claimed("c1")
	l.mustFinish(caused, messaging.StateRejected)
	phonesOf := func() (all []messaging.Phone) {
		t.Helper()
		for _, id := range []messaging.MessageID{row.ID, caused.ID} {
			d, err := l.Message(l.ctx, id)
			l.must(err)
			all = append(all, d.Phone)
		}
		for id := range messaging.MessageID(2) {
			m, err := l.Message(l.ctx, id+1)
			l.must(err)
			all = append(all, m.Phone)
		}
		e, err := l.Event(l.ctx, caused.EventID)
		l.must(err)
		return append(all, e.Contact.Phone)
	}
	mask := privacy.Retention{Payloads: 30 * day, Decisions: 90 * day, Attempts: 90 * day, Phones: 180 * day}
	before := phonesOf()
	for _, days := range []int{179, 181, 182} {
		now := noon.Add(time.Duration(days) * day)
		l.at(now)
		run, err := l.privacy().Retain(l.ctx, mask, now)
		l.must(err)
		want, n := before, int64(0)
		if days > 180 { // the second of the upload is still asked about
			want = []messaging.Phone{masked(row.Phone), masked(caused.Phone), hidden, phone, masked(caused.Phone)}
		}
		if days == 181 {
			n = 4
		}
		same(t, "phones", want, phonesOf())
		same(t, "masked", n, run.Removed["phones"])
	}
	if m, err := l.Message(l.ctx, 1); err != nil || m.Error != "no such number 999999999999" {
		t.Errorf("%q (%v)", m.Error, err)
	}
	for _, who := range []messaging.Phone{row.Phone, caused.Phone} {
		if found, err := l.Messages(l.ctx, store.MessageFilter{Phone: who}); err != nil || len(found) != 0 {
			t.Errorf("%d are found by a phone that is masked (%v)", len(found), err)
		}
	}
	if found, err := l.Messages(l.ctx, store.MessageFilter{Phone: phone}); err != nil || len(found) != 1 {
		t.Errorf("%d of the upload are found (%v)", len(found), err)
	}
	went, stayed, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{State: messaging.StateRejected}, Now: noon.Add(182 * day)})
	if err != nil || len(went) != 0 || len(stayed) != 1 || !strings.Contains(stayed[0].Words, "retention.phones") {
		t.Errorf("went %v, stayed %v, %v", went, stayed, err)
	}
	again, err := l.RowsToGoAgain(l.ctx, rows.ID, 0, 9, func(*messaging.RunRow) bool { return true })
	if err != nil || len(again) != 0 {
		t.Errorf("%d rows go again, %v", len(again), err)
	}
}

func (s suite) aMessageStaysAsLongAsItsSuccessor(t *testing.T) {
	l := s.open(t)
	first := l.claimed("c1")
	l.mustFinish(first, messaging.StateRejected)
	l.retain(100)
	if e, err := l.Event(l.ctx, first.EventID); err != nil || !e.Cleared {
		t.Fatalf("its event: cleared %v, %v", e.Cleared, err)
	}
	later := noon.Add(300 * day)
	l.at(later)
	went, stayed, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{State: messaging.StateRejected}, Now: later})
	if err != nil || len(went) != 1 {
		t.Fatalf("went %v, stayed %v, %v", went, stayed, err)
	}
	got := l.mustClaim(later.Add(time.Minute), 5)
	if len(got) != 1 || got[0].Send.Template != first.Send.Template || got[0].Phone != first.Phone {
		t.Fatalf("claimed %+v", got)
	}
	a := attempt(got[0], messaging.StateRejected)
	a.At = later
	l.must(l.Finish(l.ctx, a))
	l.retain(690)
	story, err := history.Records{Store: l.Store}.EventStory(l.ctx, first.EventID)
	if err != nil || len(story.Messages) != 2 {
		t.Errorf("390 days after the successor's end: %d messages, %v", len(story.Messages), err)
	}
	l.retain(702)
	for _, id := range []messaging.MessageID{first.ID, got[0].ID} { // without the second, the first could be sent once more
		if _, err := l.Message(l.ctx, id); !errors.Is(err, messaging.ErrNotFound) {
			t.Errorf("402 days after the successor's end message %d is there: %v", id, err)
		}
	}
	if _, err := l.Event(l.ctx, first.EventID); err == nil {
		t.Error("402 days after the successor's end the event is there")
	}
}

func (s suite) aContactIsForgottenInWhatIsLeft(t *testing.T) {
	l := s.open(t)
	d := l.claimed("c1")
	l.mustFinish(d, messaging.StateRejected)
	l.enqueue("waits", func(p *messaging.Plan) { p.Proposals[0].Message.DueAt = noon.AddDate(9, 0, 0) })
	l.retain(100)
	l.must(l.Forget(l.ctx, []messaging.Phone{d.Phone}, "by hand"))
	all, err := l.privacy().Erasures(l.ctx)
	l.must(err)
	if waits, err := l.privacy().Erase(l.ctx, all); waits != "" || err != nil {
		t.Fatalf("waits for %q, %v", waits, err)
	}
	if story, err := (history.Records{Store: l.Store}).Story(l.ctx, d.Phone, 10); err != nil || len(story) != 0 {
		t.Errorf("%d stories, %v", len(story), err)
	}
	l.retain(101)
	l.retain(503) // 402 after the forgetting ended what waited
	if rows, err := l.Events(l.ctx, store.EventFilter{}); err != nil || len(rows) != 0 {
		t.Errorf("%d events are left, %v", len(rows), err)
	}
}

func (s suite) otherAgesHoldAtTheNextRun(t *testing.T) {
	l := s.open(t)
	d := l.claimed("c1")
	l.mustFinish(d, messaging.StateRejected)
	l.at(noon.Add(20 * day))
	for _, step := range []struct {
		ages    privacy.Retention
		cleared bool
	}{{privacy.Retention{}, false}, {kept, false}, {privacy.Retention{Payloads: 19 * day}, true}, {kept, true}} {
		if _, err := l.privacy().Retain(l.ctx, step.ages, noon.Add(20*day)); err != nil {
			t.Fatal(err)
		}
		if e, err := l.Event(l.ctx, d.EventID); err != nil || e.Cleared != step.cleared {
			t.Errorf("%+v: cleared %v, %v", step.ages, e.Cleared, err)
		}
	}
}

func (s suite) factsOutliveThePayload(t *testing.T) {
	l := s.open(t)
	const customer, other = messaging.Phone("447700900123"), messaging.Phone("447700900555")
	told := func(phone messaging.Phone, cartID string) messaging.EventID {
		return l.mustAccept(cart(string(phone), func(p *messaging.Plan) {
			p.Event.Contact.Phone, p.Event.Cart.ID, p.Proposals = phone, cartID, nil
		})).EventID
	}
	mine, others := told(customer, "c1"), told(other, "cart of "+string(customer))
	look := func(when string, id messaging.EventID, cleared, factsCleared bool, cart string) {
		t.Helper()
		e, err := l.Event(l.ctx, id)
		l.must(err)
		if e.Cleared != cleared || e.FactsCleared != factsCleared || (len(e.Payload) == 0) != cleared || e.Cart.ID != cart {
			t.Errorf("%s event %d: cleared %v, %v, payload %q, cart %q", when, id, e.Cleared, e.FactsCleared, e.Payload, e.Cart.ID)
		}
	}
	look("at first", mine, false, false, "c1")
	same(t, "after 31 days", int64(2), l.retain(31).Removed["payloads"])
	look("after 31 days", mine, true, false, "c1")
	same(t, "once more", 0, len(l.retain(32).Removed))
	l.must(l.Forget(l.ctx, []messaging.Phone{customer}, "by hand"))
	all, err := l.privacy().Erasures(l.ctx)
	l.must(err)
	if waits, err := l.privacy().Erase(l.ctx, all); waits != "" || err != nil {
		t.Fatalf("waits for %q, %v", waits, err)
	}
	if e, err := l.Event(l.ctx, others); err != nil || strings.Contains(e.Cart.ID, string(customer)) || e.Cart.ID == "" || !e.Cleared || e.FactsCleared {
		t.Errorf("the facts of another's event, after the contact was forgotten: %+v, %v", e, err)
	}
	if e, err := l.Event(l.ctx, mine); err != nil || !e.Forgotten || e.Cart.ID != "" {
		t.Errorf("the event of the forgotten: %+v, %v", e, err)
	}
	same(t, "after 61 days", int64(1), l.retain(61).Removed["facts"])
	look("after 61 days", others, true, true, "")
}

func sum(by map[string]int64) (n int64) {
	for _, one := range by {
		n += one
	}
	return n
}
