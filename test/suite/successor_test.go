package suite

import (
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// successors meets a message that failed for the account's trouble with everything that may have
// happened since it was accepted.
func (s suite) successors(t *testing.T) {
	at := noon.Add(time.Hour + time.Second)
	t.Run("of an event", func(t *testing.T) { s.successorsOfEvents(t, at) })
	t.Run("of a run", func(t *testing.T) { s.successorsOfRuns(t) })
	t.Run("what fails again goes again, once each time", func(t *testing.T) {
		at, l := at, s.open(t)
		first := l.followed("1")
		l.failed(first, at, messaging.ErrorNoPoints)
		for i := range 3 { // the first times at once, and from the third on after a rest
			if i == 2 {
				if got := l.mustClaim(at.Add(59*time.Second), 9); len(got) != 0 {
					t.Fatalf("claimed %+v", got)
				}
				at = at.Add(time.Minute)
			}
			got := l.mustClaim(at, 9)
			if len(got) != 1 {
				t.Fatalf("claimed %+v", got)
			}
			l.mustFinish(got[0], messaging.StateAccepted)
			l.failed(got[0].ID, at, messaging.ErrorNoPoints)
			l.failed(got[0].ID, at, messaging.ErrorNoPoints)
		}
		if got := l.mustClaim(at.Add(2*time.Minute), 9); len(got) != 1 || got[0].Tries != 4 || len(l.besides(first)) != 4 {
			t.Errorf("claimed %+v", got)
		}
		l.recount()
	})
	t.Run("a person and the ledger make one successor", func(t *testing.T) {
		l := s.open(t)
		first := l.followed("1")
		l.failed(first, at, messaging.ErrorNoPoints)
		went, stayed, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{Status: messaging.StatusFailed}, Now: at})
		if err != nil || len(went) != 0 || len(stayed) != 1 || stayed[0].Words != "was sent again already" {
			t.Errorf("%+v went, %+v stayed, %v", went, stayed, err)
		}
		if got := l.mustClaim(at, 9); len(got) != 1 {
			t.Errorf("claimed %+v", got)
		}
	})
	t.Run("an upload's message is for a person", func(t *testing.T) {
		l := s.open(t)
		r := l.uploading("1", 1)
		l.accept(r, 1, numbers(1, 1), nil)
		l.failed(1, at, messaging.ErrorNoPoints)
		if got := l.mustClaim(at, 9); len(got) != 0 {
			t.Errorf("claimed %+v", got)
		}
	})
}

func (s suite) successorsOfEvents(t *testing.T, at time.Time) {
	tests := map[string]struct {
		changes []change
		before  func(l *ledger, d messaging.Message) // of the failure
		kept    bool                                 // it failed for a reason of its own
		after   func(l *ledger, d messaging.Message)
		want    messaging.State // of the successor; "" for none
	}{
		"nothing happened":             {want: messaging.StateWaiting},
		"its own failure":              {kept: true},
		"a login code":                 {changes: []change{category(messaging.Authentication)}},
		"what it said is kept no more": {changes: []change{code, category(messaging.Utility)}},
		"its trigger is off":           {changes: []change{trigger("switched off")}},
		"it expired meanwhile":         {changes: []change{func(p *messaging.Plan) { p.Proposals[0].Message.ExpiresAt = at }}},
		"it expires later":             {changes: []change{func(p *messaging.Plan) { p.Proposals[0].Message.ExpiresAt = at.Add(time.Second) }}, want: messaging.StateWaiting},
		"its contact was blocked": {before: func(l *ledger, d messaging.Message) {
			if _, err := l.Block(l.ctx, []store.Block{{Phone: d.Phone}}); err != nil {
				l.t.Fatal(err)
			}
		}},
		"its order came before the failure": {before: func(l *ledger, _ messaging.Message) { l.mustAccept(order("1")) }},
		"its order, which is not remembered, came before the failure": {before: func(l *ledger, _ messaging.Message) {
			l.mustAccept(order("1", func(p *messaging.Plan) { p.Proposals[0].Forget = time.Time{} }))
		}},
		"its order came after the failure": {after: func(l *ledger, _ messaging.Message) { l.mustAccept(order("1")) }, want: messaging.StateCancelled},
		"an order of its phone came after": {after: func(l *ledger, _ messaging.Message) { l.mustAccept(order("", dedupe("o"))) }, want: messaging.StateCancelled},
		"an order of another cart":         {before: func(l *ledger, _ messaging.Message) { l.mustAccept(order("2")) }, want: messaging.StateWaiting},
		"everything is halted": {before: func(l *ledger, _ messaging.Message) {
			l.mustHalt(messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt})
		}, want: messaging.StateWaiting},
		"a later message of its matter waits by now": {before: func(l *ledger, _ messaging.Message) { l.settleBy(refuse) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			d := l.claimed("1", tt.changes...)
			l.mustFinish(d, messaging.StateAccepted)
			if tt.before != nil {
				tt.before(l, d)
			}
			class := messaging.ErrorNoPoints
			if tt.kept {
				class = messaging.ErrorPermanent
			}
			l.failed(d.ID, at, class)
			if tt.after != nil {
				tt.after(l, d)
			}
			others := l.besides(d.ID)
			if tt.want == "" {
				if len(others) > 0 {
					t.Errorf("it has successors: %+v", others)
				}
				return
			}
			if len(others) != 1 {
				t.Fatalf("its successors: %+v", others)
			}
			got := l.message(others[0].ID)
			if got.State != tt.want || got.Phone != d.Phone || got.Key != d.Key || !got.DueAt.Equal(at) || !got.ExpiresAt.Equal(d.ExpiresAt) || got.Send.What() != d.Send.What() {
				t.Errorf("its successor: %+v", got)
			}
			l.recount()
		})
	}
}

// besides are all messages but one, the newest first: a slow machine leaves numbers out.
func (l *ledger) besides(id messaging.MessageID) []store.MessageStory {
	l.t.Helper()
	all, err := l.Messages(l.ctx, store.MessageFilter{Limit: 100})
	l.must(err)
	return slices.DeleteFunc(all, func(m store.MessageStory) bool { return m.ID == id })
}

// refuse is the settlement of a correlation key that went on.
func refuse(messaging.Proposal, messaging.Facts) messaging.Settlement {
	return messaging.Settlement{Outcome: messaging.Skipped, Reason: "already waiting"}
}

// acceptedOfRun is a run that handed n rows over, of which the service took the first.
func (s suite) acceptedOfRun(t *testing.T, n, accepted int) (*ledger, messaging.Run, []messaging.Message) {
	t.Helper()
	l := s.open(t)
	r := l.handedOver("1", n)
	got := l.mustClaim(noon, accepted)
	for _, d := range got {
		l.mustFinish(d, messaging.StateAccepted)
	}
	return l, r, got
}

func (s suite) successorsOfRuns(t *testing.T) {
	at := noon.Add(time.Minute)
	t.Run("they are rows of the run, beside those that it hands over later", s.successorsAreRowsOfTheRun)
	for name, tt := range map[string]struct {
		before, after messaging.RunState // of the run, before and after the failure
		by            map[string]int64
		claimed       int
	}{
		"it is done":                       {before: messaging.RunDone, by: map[string]int64{"failed": 1, "waiting": 1}, claimed: 1},
		"it is paused":                     {before: messaging.RunPaused, by: map[string]int64{"failed": 1, "waiting": 1}},
		"it is paused afterwards":          {after: messaging.RunPaused, by: map[string]int64{"failed": 1, "waiting": 1}},
		"it was cancelled":                 {before: messaging.RunCancelled, by: map[string]int64{"failed": 1}},
		"it is cancelled afterwards":       {after: messaging.RunCancelled, by: map[string]int64{"failed": 1, "cancelled": 1}},
		"it was paused, and goes on again": {before: messaging.RunPaused, after: messaging.RunUploading, by: map[string]int64{"failed": 1, "waiting": 1}, claimed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, r, got := s.acceptedOfRun(t, 1, 1)
			move := func(to messaging.RunState) {
				if to == "" {
					return
				}
				if to == messaging.RunPaused {
					r.Before, r.Reason, r.Stopped = messaging.RunUploading, "paused by Ann", messaging.StopPerson
				} else {
					r.Before, r.Reason, r.Stopped = "", "as Ann said", ""
				}
				r = l.mustSet(r, to)
			}
			move(tt.before)
			l.failed(got[0].ID, at, messaging.ErrorNoPoints)
			move(tt.after)
			if tt.after == messaging.RunCancelled {
				if n, err := l.CancelRows(l.ctx, r.ID, "as Ann said"); err != nil || n != 1 {
					t.Errorf("%d rows were cancelled, %v", n, err)
				}
			}
			same(t, "of the run", tt.by, l.runMessages(r.ID))
			if due := l.mustClaim(at, 9); len(due) != tt.claimed {
				t.Errorf("%d are claimed, want %d", len(due), tt.claimed)
			}
			l.recount()
		})
	}
	t.Run("a retry of the run and the ledger make one successor", s.aRetryAndTheLedgerMakeOneSuccessorOfARow)
	t.Run("its list was a while ago: what expired stays failed", s.aRowThatExpiredStaysFailed)
}

func (s suite) successorsAreRowsOfTheRun(t *testing.T) {
	at := noon.Add(time.Minute)
	l, r, got := s.acceptedOfRun(t, 4, 3)
	for _, d := range got {
		l.failed(d.ID, at, messaging.ErrorNoPoints)
	}
	l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 6)))
	same(t, "of the run", map[string]int64{"failed": 3, "waiting": 6}, l.runMessages(r.ID))
	l = reopenAfter(t, l) // a kill -9 would find no less: one commit
	rows := l.rows(r.ID, 0)
	if len(rows) != 9 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, row := range rows {
		switch {
		case i < 3 && row.RetriedAs != rows[6+i].Message.ID:
			t.Errorf("row %d went again as %d", row.Number, row.RetriedAs)
		case i >= 6 && (row.RetryOf != rows[i-6].Message.ID || row.ReadBy != r.ID || row.ReadNumber != int64(i-5) || row.Message.Phone != rows[i-6].Message.Phone):
			t.Errorf("row %d stands for %d, read by %d as %d", row.Number, row.RetryOf, row.ReadBy, row.ReadNumber)
		}
	}
	if backlog, err := l.Backlog(l.ctx, r.ID); err != nil || backlog != 6 {
		t.Errorf("%d wait, %v", backlog, err)
	}
	if due := l.mustClaim(at, 9); len(due) != 6 {
		t.Errorf("%d are claimed", len(due))
	}
}

func (s suite) aRetryAndTheLedgerMakeOneSuccessorOfARow(t *testing.T) {
	at := noon.Add(time.Minute)
	l, r, got := s.acceptedOfRun(t, 2, 2)
	l.failed(got[0].ID, at, messaging.ErrorNoPoints)
	l.failed(got[1].ID, at, messaging.ErrorPermanent)
	r = l.mustSet(r, messaging.RunDone)
	again := l.retry(r, "retry 1 of run 1")
	total, err := l.EnqueueRetries(l.ctx, again.ID, []messaging.MessageID{got[0].ID, got[1].ID}, nil, at)
	if err != nil || total != 1 {
		t.Errorf("%d rows are queued, %v", total, err)
	}
	// What fails of the retry while it still hands over is no row that it hands over.
	due := l.mustClaim(at, 9)
	for _, d := range due {
		l.mustFinish(d, messaging.StateAccepted)
		l.failed(d.ID, at, messaging.ErrorNoPoints)
	}
	if total, err = l.EnqueueRetries(l.ctx, again.ID, []messaging.MessageID{got[0].ID, got[1].ID}, nil, at); err != nil || total != 1 || len(due) != 2 {
		t.Errorf("%d rows are queued of %d that were claimed, %v", total, len(due), err)
	}
	same(t, "of the retry", map[string]int64{"failed": 1, "waiting": 1}, l.runMessages(again.ID))
	same(t, "of the run", map[string]int64{"failed": 3, "waiting": 1}, l.runMessages(r.ID))
}

func (s suite) aRowThatExpiredStaysFailed(t *testing.T) {
	l, r, got := s.acceptedOfRun(t, 1, 1)
	l.failed(got[0].ID, noon.Add(2*time.Hour), messaging.ErrorNoPoints)
	same(t, "of the run", map[string]int64{"failed": 1}, l.runMessages(r.ID))
}
