package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
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
		l.failed(first, at, nudgewire.ErrorNoPoints)
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
			l.mustFinish(got[0], nudgewire.StateAccepted)
			l.failed(got[0].ID, at, nudgewire.ErrorNoPoints)
			l.failed(got[0].ID, at, nudgewire.ErrorNoPoints)
		}
		if got := l.mustClaim(at.Add(2*time.Minute), 9); len(got) != 1 || got[0].ID != first+4 || got[0].Tries != 4 {
			t.Errorf("claimed %+v", got)
		}
		l.recount()
	})
	t.Run("a person and the ledger make one successor", func(t *testing.T) {
		l := s.open(t)
		first := l.followed("1")
		l.failed(first, at, nudgewire.ErrorNoPoints)
		went, stayed, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{Status: nudgewire.StatusFailed}, Now: at})
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
		l.failed(1, at, nudgewire.ErrorNoPoints)
		if got := l.mustClaim(at, 9); len(got) != 0 {
			t.Errorf("claimed %+v", got)
		}
	})
}

func (s suite) successorsOfEvents(t *testing.T, at time.Time) {
	tests := map[string]struct {
		changes []change
		before  func(l *ledger, d nudgewire.Message) // of the failure
		kept    bool                                 // it failed for a reason of its own
		after   func(l *ledger, d nudgewire.Message)
		want    nudgewire.State // of the successor; "" for none
	}{
		"nothing happened":             {want: nudgewire.StateWaiting},
		"its own failure":              {kept: true},
		"a login code":                 {changes: []change{category(nudgewire.Authentication)}},
		"what it said is kept no more": {changes: []change{code, category(nudgewire.Utility)}},
		"its trigger is off":           {changes: []change{trigger("switched off")}},
		"it expired meanwhile":         {changes: []change{func(p *nudgewire.Plan) { p.Proposals[0].Message.ExpiresAt = at }}},
		"it expires later":             {changes: []change{func(p *nudgewire.Plan) { p.Proposals[0].Message.ExpiresAt = at.Add(time.Second) }}, want: nudgewire.StateWaiting},
		"its contact was blocked": {before: func(l *ledger, d nudgewire.Message) {
			if _, err := l.Block(l.ctx, []store.Block{{Phone: d.Phone}}); err != nil {
				l.t.Fatal(err)
			}
		}},
		"its order came before the failure": {before: func(l *ledger, _ nudgewire.Message) { l.mustAccept(order("1")) }},
		"its order, which is not remembered, came before the failure": {before: func(l *ledger, _ nudgewire.Message) {
			l.mustAccept(order("1", func(p *nudgewire.Plan) { p.Proposals[0].Forget = time.Time{} }))
		}},
		"its order came after the failure": {after: func(l *ledger, _ nudgewire.Message) { l.mustAccept(order("1")) }, want: nudgewire.StateCancelled},
		"an order of its phone came after": {after: func(l *ledger, _ nudgewire.Message) { l.mustAccept(order("", dedupe("o"))) }, want: nudgewire.StateCancelled},
		"an order of another cart":         {before: func(l *ledger, _ nudgewire.Message) { l.mustAccept(order("2")) }, want: nudgewire.StateWaiting},
		"everything is halted": {before: func(l *ledger, _ nudgewire.Message) {
			l.mustHalt(nudgewire.Hold{Scope: nudgewire.ScopeAll, Kind: nudgewire.HoldHalt})
		}, want: nudgewire.StateWaiting},
		"a later message of its matter waits by now": {before: func(l *ledger, _ nudgewire.Message) { l.settleBy(refuse) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			d := l.claimed("1", tt.changes...)
			l.mustFinish(d, nudgewire.StateAccepted)
			if tt.before != nil {
				tt.before(l, d)
			}
			class := nudgewire.ErrorNoPoints
			if tt.kept {
				class = nudgewire.ErrorPermanent
			}
			l.failed(d.ID, at, class)
			next := d.ID + 1
			if tt.after != nil {
				tt.after(l, d)
			}
			got, err := l.Message(l.ctx, next)
			if tt.want == "" {
				if !errors.Is(err, nudgewire.ErrNotFound) {
					t.Errorf("message %d: %+v, %v", next, got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.State != tt.want || got.Phone != d.Phone || got.Key != d.Key || !got.DueAt.Equal(at) || !got.ExpiresAt.Equal(d.ExpiresAt) || got.Send.What() != d.Send.What() {
				t.Errorf("its successor: %+v", got)
			}
			l.recount()
		})
	}
}

// refuse is the settlement of a correlation key that went on.
func refuse(nudgewire.Proposal, nudgewire.Facts) nudgewire.Settlement {
	return nudgewire.Settlement{Outcome: nudgewire.Skipped, Reason: "already waiting"}
}

// acceptedOfRun is a run that handed n rows over, of which the service took the first.
func (s suite) acceptedOfRun(t *testing.T, n, accepted int) (*ledger, nudgewire.Run, []nudgewire.Message) {
	t.Helper()
	l := s.open(t)
	r := l.handedOver("1", n)
	got := l.mustClaim(noon, accepted)
	for _, d := range got {
		l.mustFinish(d, nudgewire.StateAccepted)
	}
	return l, r, got
}

func (s suite) successorsOfRuns(t *testing.T) {
	at := noon.Add(time.Minute)
	t.Run("they are rows of the run, beside those that it hands over later", s.successorsAreRowsOfTheRun)
	for name, tt := range map[string]struct {
		before, after nudgewire.RunState // of the run, before and after the failure
		by            map[string]int64
		claimed       int
	}{
		"it is done":                       {before: nudgewire.RunDone, by: map[string]int64{"failed": 1, "waiting": 1}, claimed: 1},
		"it is paused":                     {before: nudgewire.RunPaused, by: map[string]int64{"failed": 1, "waiting": 1}},
		"it is paused afterwards":          {after: nudgewire.RunPaused, by: map[string]int64{"failed": 1, "waiting": 1}},
		"it was cancelled":                 {before: nudgewire.RunCancelled, by: map[string]int64{"failed": 1}},
		"it is cancelled afterwards":       {after: nudgewire.RunCancelled, by: map[string]int64{"failed": 1, "cancelled": 1}},
		"it was paused, and goes on again": {before: nudgewire.RunPaused, after: nudgewire.RunUploading, by: map[string]int64{"failed": 1, "waiting": 1}, claimed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, r, got := s.acceptedOfRun(t, 1, 1)
			move := func(to nudgewire.RunState) {
				if to == "" {
					return
				}
				if to == nudgewire.RunPaused {
					r.Before, r.Reason, r.Stopped = nudgewire.RunUploading, "paused by Ann", nudgewire.StopPerson
				} else {
					r.Before, r.Reason, r.Stopped = "", "as Ann said", ""
				}
				r = l.mustSet(r, to)
			}
			move(tt.before)
			l.failed(got[0].ID, at, nudgewire.ErrorNoPoints)
			move(tt.after)
			if tt.after == nudgewire.RunCancelled {
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
		l.failed(d.ID, at, nudgewire.ErrorNoPoints)
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
	l.failed(got[0].ID, at, nudgewire.ErrorNoPoints)
	l.failed(got[1].ID, at, nudgewire.ErrorPermanent)
	r = l.mustSet(r, nudgewire.RunDone)
	again := l.retry(r, "retry 1 of run 1")
	total, err := l.EnqueueRetries(l.ctx, again.ID, []nudgewire.MessageID{got[0].ID, got[1].ID}, at)
	if err != nil || total != 1 {
		t.Errorf("%d rows are queued, %v", total, err)
	}
	// What fails of the retry while it still hands over is no row that it hands over.
	due := l.mustClaim(at, 9)
	for _, d := range due {
		l.mustFinish(d, nudgewire.StateAccepted)
		l.failed(d.ID, at, nudgewire.ErrorNoPoints)
	}
	if total, err = l.EnqueueRetries(l.ctx, again.ID, []nudgewire.MessageID{got[0].ID, got[1].ID}, at); err != nil || total != 1 || len(due) != 2 {
		t.Errorf("%d rows are queued of %d that were claimed, %v", total, len(due), err)
	}
	same(t, "of the retry", map[string]int64{"failed": 1, "waiting": 1}, l.runMessages(again.ID))
	same(t, "of the run", map[string]int64{"failed": 3, "waiting": 1}, l.runMessages(r.ID))
}

func (s suite) aRowThatExpiredStaysFailed(t *testing.T) {
	l, r, got := s.acceptedOfRun(t, 1, 1)
	l.failed(got[0].ID, noon.Add(2*time.Hour), nudgewire.ErrorNoPoints)
	same(t, "of the run", map[string]int64{"failed": 1}, l.runMessages(r.ID))
}
