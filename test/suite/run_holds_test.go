package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// handedOver is a run that goes out message by message, with its first n rows queued at noon.
func (l *ledger) handedOver(slot string, n int) messaging.Run {
	l.t.Helper()
	r := l.uploading(slot, 1)
	if n > 0 {
		l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, n)))
	}
	return r
}

// keys are those of what a claim gets, by due time.
func (l *ledger) keys(at time.Time) string {
	l.t.Helper()
	var got []string
	for _, d := range l.mustClaim(at, 99) {
		got = append(got, d.Key)
		if !d.DueAt.Equal(noon) {
			l.t.Errorf("%s was due at %s and is now at %s", d.Key, noon, d.DueAt)
		}
		if h, halted := l.Held(&d); halted {
			l.t.Errorf("%s was claimed, and a last look says: %s", d.Key, h.Why())
		}
	}
	return strings.Join(got, ", ")
}

func (l *ledger) halted() (out []string) {
	l.t.Helper()
	halts, err := l.Holds(l.ctx)
	l.must(err)
	for _, h := range halts {
		out = append(out, h.Why())
	}
	return out
}

// hold is what a run that stops means for the rows that it handed over.
func (s suite) hold(t *testing.T) {
	t.Run("what a paused run handed over waits with its due time, over a restart, until it is resumed", s.whatAPausedRunHandedOverWaits)
	t.Run("a run holds its own rows and nobody else's", s.aRunHoldsItsOwnRowsAlone)
	t.Run("a pause that comes too late holds nothing", s.aPauseThatComesTooLateHoldsNothing)
	t.Run("a run that handed nothing over halts nothing", s.aRunThatHandedNothingOverHaltsNothing)
	t.Run("a canary's pause is a pause, whoever sets it", s.aCanarysPauseIsAPause)
	t.Run("what expires while its run is paused is dropped", s.whatExpiresWhileItsRunIsPausedIsDropped)
	t.Run("a backlog that a pause holds hides nothing", s.aBacklogThatAPauseHoldsHidesNothing)
	t.Run("of a cancelled run nothing leaves, whatever is between the commit and its rows", s.ofACancelledRunNothingLeaves)
	t.Run("a claim that comes back after the cancel is ended, too", s.aClaimThatComesBackAfterTheCancelIsEnded)
	t.Run("a cancel of what a paused run holds leaves other pauses alone", s.aCancelLeavesOtherPausesAlone)
	t.Run("a run that has ended is paused while messages of it wait", s.pauseSent)
	t.Run("a pause is for its run to end", s.aPauseIsForItsRunToEnd)
	t.Run("a row is known by its key", s.aRowIsKnownByItsKey)
}

func (s suite) whatAPausedRunHandedOverWaits(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	paused, other := l.handedOver("1", 3), l.handedOver("2", 1)
	claimed := l.mustClaim(soon, 1)[0] // just before the pause
	if _, halted := l.Held(&claimed); halted {
		t.Error("halted before the pause")
	}
	paused = l.mustSet(paused, messaging.RunPaused)
	if h, halted := l.Held(&claimed); !halted || h.Why() != "run 1: as the test says" {
		t.Errorf("the last look at a claim made before says %v %q", halted, h.Why())
	}
	l = reopenAfter(t, l)
	same(t, "halts", []string{"run 1: as the test says"}, l.halted())
	same(t, "claimed", "run 2 row 1", l.keys(soon))
	if _, ok, err := l.NextDue(l.ctx); ok || err != nil {
		t.Errorf("next due: %v, %v; want nothing", ok, err)
	}
	// The one that was claimed comes back, and is held like the others.
	l.mustFinish(claimed, messaging.StateWaiting)
	same(t, "claimed after it came back", "", l.keys(noon.Add(30*time.Minute)))
	moved(t, "rows of a paused run", l.Enqueue(l.ctx, paused.ID, 4, rowsOf(paused.ID, 4, 1)))

	l.at(noon.Add(40 * time.Minute))
	l.mustSet(paused, messaging.RunUploading)
	same(t, "the sender is woken for", noon.Add(40*time.Minute), l.woken(noon.Add(40*time.Minute)))
	same(t, "halts of a resumed run", []string{}, l.halted())
	same(t, "resumed", 3, len(l.mustClaim(noon.Add(59*time.Minute), 99)))
	same(t, "the other run", map[string]int64{"sending": 1}, l.runMessages(other.ID))
}

func (s suite) aRunHoldsItsOwnRowsAlone(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	var runs []messaging.Run
	for i := range 12 {
		runs = append(runs, l.handedOver(fmt.Sprint(i), 0))
	}
	for _, i := range []int{0, 1, 11} {
		l.must(l.Enqueue(l.ctx, runs[i].ID, 1, rowsOf(runs[i].ID, 1, 1)))
	}
	l.enqueue("run 1 row 7", due(noon)) // the key of an event's correlation key
	first, last := l.mustSet(runs[0], messaging.RunPaused), l.mustSet(runs[11], messaging.RunPaused)
	same(t, "with runs 1 and 12 paused", "run 2 row 1, run 1 row 7", l.keys(soon))
	l.mustSet(last, messaging.RunUploading)
	same(t, "with run 12 resumed", "run 12 row 1", l.keys(soon))
	l.mustSet(first, messaging.RunUploading)
	same(t, "with both resumed", "run 1 row 1", l.keys(soon))
}

func (s suite) aPauseThatComesTooLateHoldsNothing(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	r := l.handedOver("1", 1)
	late := r
	late.State, late.Before, late.Reason, late.Stopped = messaging.RunPaused, messaging.RunAwaiting, "paused by Ann", messaging.StopPerson
	moved(t, "a pause of a held run", l.SetRun(l.ctx, "", late, messaging.RunAwaiting))
	same(t, "halts", []string{}, l.halted())
	l.mustSet(r, messaging.RunPaused)
	moved(t, "a resume of another's", l.SetRun(l.ctx, "other", r, messaging.RunPaused))
	same(t, "claimed", "", l.keys(soon))
	held := rowsOf(r.ID, 1, 1)[0]
	if _, halted := l.Held(&held); !halted {
		t.Error("a resume that was refused let the rows go")
	}
}

func (s suite) aRunThatHandedNothingOverHaltsNothing(t *testing.T) {
	l := s.open(t)
	r := l.mustSet(l.handedOver("1", 0), messaging.RunPaused)
	l.mustSet(r, messaging.RunCancelled)
	same(t, "halts", []string{}, l.halted())
}

func (s suite) aCanarysPauseIsAPause(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	l.handedOver("1", 2)
	mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Hour), nil)
	if err != nil || len(mine) != 1 {
		t.Fatal(mine, err)
	}
	r := mine[0]
	r.State, r.Before, r.Reason, r.Owner, r.LeaseEnd = messaging.RunPaused, messaging.RunUploading, "the canary stopped it", "", time.Time{}
	r.Stopped = messaging.StopCanary
	l.must(l.SetRun(l.ctx, owner, r, messaging.RunUploading))
	same(t, "halts", []string{"run 1: the canary stopped it"}, l.halted())
	same(t, "claimed", "", l.keys(soon))
}

func (s suite) whatExpiresWhileItsRunIsPausedIsDropped(t *testing.T) {
	l := s.open(t)
	r := l.mustSet(l.handedOver("1", 2), messaging.RunPaused)
	l.mustClaim(noon.Add(2*time.Hour), 9)
	same(t, "rows", map[string]int64{"dropped": 2}, l.runMessages(r.ID))
}

func (s suite) aBacklogThatAPauseHoldsHidesNothing(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	r := l.mustSet(l.handedOver("1", 40), messaging.RunPaused)
	l.enqueue("a", due(noon))
	same(t, "behind it", "a", l.keys(soon))
	l.enqueue("b", due(noon))
	same(t, "behind it, later", "b", l.keys(soon))
	// Another halt stays, so claims go on looking from where they had come to.
	l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "another"}))
	same(t, "nothing more", "", l.keys(soon))
	l.at(soon)
	l.mustSet(r, messaging.RunUploading)
	same(t, "resumed", 40, len(l.mustClaim(soon, 99)))
}

func (s suite) ofACancelledRunNothingLeaves(t *testing.T) {
	soon := noon.Add(time.Minute)
	for _, was := range []messaging.RunState{messaging.RunPaused, messaging.RunUploading} {
		l := s.open(t)
		r := l.handedOver("1", 5)
		if was == messaging.RunPaused {
			r = l.mustSet(r, was)
		}
		r = l.mustSet(r, messaging.RunCancelled)
		same(t, "claimed", "", l.keys(soon))
		l = reopenAfter(t, l) // killed before its rows were ended
		same(t, "claimed after a crash", "", l.keys(soon))
		if n, left, err := l.EndCancelled(l.ctx); n != 5 || left || err != nil {
			t.Errorf("%d rows ended, %v", n, err)
		}
		same(t, "rows", map[string]int64{"cancelled": 5}, l.runMessages(r.ID))
		same(t, "reason", "as the test says", l.message(1).Reason)
		same(t, "halts", []string{}, l.halted())
	}
}

func (s suite) aClaimThatComesBackAfterTheCancelIsEnded(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	r := l.handedOver("1", 5)
	claims := l.mustClaim(soon, 2)
	r = l.mustSet(r, messaging.RunCancelled)
	if n, err := l.CancelRows(l.ctx, r.ID, "cancelled by Ann"); n != 3 || err != nil {
		t.Fatalf("%d rows ended, %v", n, err)
	}
	for i := range claims {
		if _, halted := l.Held(&claims[i]); !halted {
			t.Errorf("the last look lets %s go", claims[i].Key)
		}
	}
	l.mustFinish(claims[0], messaging.StateWaiting)
	same(t, "claimed", "", l.keys(soon))
	if n, left, err := l.EndCancelled(l.ctx); n != 0 || !left || err != nil {
		t.Errorf("with one under way %d rows ended, %v", n, err)
	}
	l.mustFinish(claims[1], messaging.StateAccepted)
	if n, left, err := l.EndCancelled(l.ctx); n != 1 || left || err != nil {
		t.Errorf("with none under way %d rows ended, %v", n, err)
	}
	same(t, "halts", []string{}, l.halted())
	same(t, "rows", int64(4), l.runMessages(r.ID)["cancelled"])
	same(t, "claimed at last", "", l.keys(noon.Add(30*time.Minute)))
	if n, left, err := l.EndCancelled(l.ctx); n != 0 || left || err != nil {
		t.Errorf("again %d rows ended, %v", n, err)
	}
}

func (s suite) aCancelLeavesOtherPausesAlone(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	a, b := l.mustSet(l.handedOver("1", 1), messaging.RunPaused), l.mustSet(l.handedOver("2", 1), messaging.RunPaused)
	l.mustSet(a, messaging.RunCancelled)
	if n, left, err := l.EndCancelled(l.ctx); n != 1 || left || err != nil {
		t.Errorf("%d rows ended, %v", n, err)
	}
	same(t, "halts", []string{"run 2: as the test says"}, l.halted())
	same(t, "the other", map[string]int64{"waiting": 1}, l.runMessages(b.ID))
	same(t, "claimed", "", l.keys(soon))
}

func (s suite) aPauseIsForItsRunToEnd(t *testing.T) {
	soon := noon.Add(time.Minute)
	l := s.open(t)
	l.mustSet(l.handedOver("1", 1), messaging.RunPaused)
	wantErr(t, l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeRun, Name: "1", Kind: messaging.HoldRun}), `resume: "run" "1" is nothing that can be halted`)
	wantErr(t, l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeRun, Kind: messaging.HoldRun, Name: "1"}), `halt: "run" "1" is nothing that can be halted`)
	same(t, "claimed", "", l.keys(soon))
	// Beside a halt of its job neither ends the other.
	l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt, Name: "winback"}))
	l.mustSet(l.run(1), messaging.RunUploading)
	same(t, "resumed, with the job halted", "", l.keys(soon))
	l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeJob, Name: "winback", Kind: messaging.HoldHalt}))
	same(t, "both at an end", "run 1 row 1", l.keys(soon))
}

func (s suite) aRowIsKnownByItsKey(t *testing.T) {
	l := s.open(t)
	r := l.handedOver("1", 0)
	err := l.Enqueue(l.ctx, r.ID, 2, rowsOf(r.ID, 1, 1))
	wantErr(t, err, `queue row 2 of run 1: its key is "run 1 row 1" and not "run 1 row 2"`)
}

func (s suite) pauseSent(t *testing.T) {
	soon := noon.Add(time.Minute)
	pause := func(l *ledger, id messaging.RunID, want bool) {
		t.Helper()
		if paused, err := l.PauseSent(l.ctx, id, "Ann", "", "paused by Ann"); paused != want || err != nil {
			t.Errorf("pause of a run that is %s: %v, %v", l.run(id).State, paused, err)
		}
	}
	for _, end := range []messaging.RunState{messaging.RunDone, messaging.RunPartial, messaging.RunFailed} {
		l := s.open(t)
		r := l.mustSet(l.handedOver("1", 3), end)
		pause(l, r.ID, true)
		want := l.run(r.ID)
		want.State, want.Before, want.Reason, want.EndedAt = messaging.RunPaused, messaging.RunUploading, "paused by Ann", time.Time{}
		same(t, "run", want, l.run(r.ID))
		same(t, "claimed", "", l.keys(soon))
		pause(l, r.ID, false)
		l = reopenAfter(t, l)
		same(t, "halts", []string{"run 1: paused by Ann"}, l.halted())
		l.mustSet(l.run(r.ID), messaging.RunUploading)
		same(t, "resumed", "run 1 row 1, run 1 row 2, run 1 row 3", l.keys(soon))
		l.mustSet(l.run(r.ID), end)
		pause(l, r.ID, true) // those that are claimed may come back
	}
	l := s.open(t)
	gone := l.handedOver("1", 1)
	l.mustFinish(l.mustClaim(soon, 1)[0], messaging.StateRejected)
	pause(l, l.mustSet(gone, messaging.RunDone).ID, false)
	cancelled := l.mustSet(l.handedOver("2", 1), messaging.RunCancelled)
	pause(l, cancelled.ID, false)
	open := l.handedOver("3", 1)
	pause(l, open.ID, false) // that is SetRun's
	same(t, "an open run", messaging.RunUploading, l.run(open.ID).State)
	pause(l, l.mustSet(l.handedOver("4", 0), messaging.RunDone).ID, false)
	same(t, "halts", []string{"run 2: as the test says"}, l.halted())
}
