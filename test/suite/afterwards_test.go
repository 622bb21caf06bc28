package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// afterwards is what a person does after a run.
func (s suite) afterwards(t *testing.T) {
	t.Run("what did not reach the phone is queued once more, once", s.enqueueRetries)
	t.Run("many who retry the same rows queue each of them once", s.enqueueRetriesTogether)
	t.Run("the rows of a run are told with what became of them", s.runRows)
	t.Run("a phone leads to the rows of runs", s.phoneRows)
	t.Run("a person's word settles a part in doubt", s.resolvePart)
	t.Run("a retry is no measure of a list", s.retryIsNoMeasure)
	t.Run("a run that was cancelled half-way was sent", s.cancelledWasSent)
	t.Run("the messages of a part are known by phone where the answer said whose they are", s.messagesOfPart)
}

// sevenRows is a run of seven rows that delivers message by message and has ended: accepted and
// failed, accepted and delivered, rejected, in doubt, dropped, cancelled, still waiting.
func (l *ledger) sevenRows() messaging.Run {
	l.t.Helper()
	return l.sevenRowsOf("1")
}

func (l *ledger) sevenRowsOf(slot string) messaging.Run {
	l.t.Helper()
	r := l.uploading(slot, 1)
	l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 7)))
	got := l.mustClaim(noon, 5)
	for i, d := range got {
		a := messaging.Attempt{MessageID: d.ID, Owner: owner, Number: 1, At: noon, Reason: "the test's words"}
		switch i {
		case 0, 1:
			a.State, a.Reason, a.Message = messaging.StateAccepted, "", &messaging.Message{ServiceID: messaging.ServiceID(fmt.Sprint(100 + i))}
		case 2:
			a.State, a.Words, a.Class = messaging.StateRejected, "the service's words", messaging.ErrorPermanent
		case 3:
			a.State = messaging.StateInDoubt
		case 4:
			a.State, a.DroppedBy = messaging.StateDropped, messaging.EndedByTries
		}
		l.must(l.Finish(l.ctx, a))
	}
	for i, status := range []messaging.Status{messaging.StatusFailed, messaging.StatusDelivered} {
		l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: got[i].ID, Status: status, Error: "insufficient points", At: noon, NextPollAt: noon.Add(time.Hour)}))
	}
	l.must(l.CancelMessage(l.ctx, got[0].ID+5, "by hand"))
	return l.mustSet(r, messaging.RunDone)
}

// A cancelled run was sent where some of it left, or may have.
func (s suite) cancelledWasSent(t *testing.T) {
	for state, sent := range map[messaging.PartState]bool{
		messaging.PartAccepted: true, messaging.PartInDoubt: true, messaging.PartUploading: true, messaging.PartRejected: false, messaging.PartWaiting: false,
	} {
		t.Run(string(state), func(t *testing.T) {
			l := s.open(t)
			r := l.uploading("1", 2)
			if state != messaging.PartWaiting {
				if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
					t.Fatal(err)
				}
				p, err := l.claim(r.ID, 1, noon)
				if p.State, p.Reason = state, "as the test says"; err == nil && state != messaging.PartUploading {
					err = l.FinishPart(l.ctx, p)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			l.mustSet(r, messaging.RunCancelled)
			if last, ok, err := l.LastSent(l.ctx, "winback"); err != nil || ok != sent || ok && last.ID != r.ID {
				t.Errorf("the last run that was sent is %d (%v), %v", last.ID, ok, err)
			}
		})
	}
	t.Run("rows that were handed over", func(t *testing.T) {
		l := s.open(t)
		l.mustSet(l.handedOver("1", 1), messaging.RunCancelled)
		if _, ok, err := l.LastSent(l.ctx, "winback"); err != nil || !ok {
			t.Errorf("%v, %v", ok, err)
		}
	})
}
