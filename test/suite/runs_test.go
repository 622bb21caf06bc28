package suite

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// aRun is a run of a job at a local time, as the scheduler stores it.
func aRun(job, slot string) messaging.Run {
	return messaging.Run{
		Job: job, Slot: slot, DueAt: noon, Cause: messaging.CauseCron, Source: "csv list.csv", Config: "v1",
		State: messaging.RunPlanned, Deliver: messaging.DeliverCSV, Category: messaging.Marketing, CreatedAt: noon,
	}
}

func (l *ledger) mustStart(r messaging.Run) messaging.Run {
	l.t.Helper()
	id, won, err := l.StartRun(l.ctx, r)
	if err != nil || !won {
		l.t.Fatalf("start: won %v, %v", won, err)
	}
	r.ID = id
	return r
}

// mustSet moves a run on.
func (l *ledger) mustSet(r messaging.Run, to messaging.RunState) messaging.Run {
	l.t.Helper()
	from := r.State
	r.State, r.Reason = to, "as the test says"
	if to.Final() {
		r.EndedAt, r.Owner = noon.Add(time.Minute), ""
	}
	if to == messaging.RunPaused {
		r.Before = from
	}
	if to == messaging.RunPaused || to == messaging.RunCancelled {
		r.Stopped = messaging.StopPerson
	}
	if err := l.SetRun(l.ctx, "", r, from); err != nil {
		l.t.Fatalf("%s to %s: %v", from, to, err)
	}
	return r
}

// uploading is a run of n parts that go out.
func (l *ledger) uploading(slot string, n int) messaging.Run {
	l.t.Helper()
	r := l.mustSet(l.mustStart(aRun("winback", slot)), messaging.RunBuilding)
	r.State, r.Owner, r.Reason = messaging.RunUploading, "", ""
	r.Tally = messaging.Tally{
		Rows: 110, Kept: 100, Parts: n, Bytes: 4000, Points: 0.1,
		Excluded: []messaging.Excluded{{Kind: "phone", Reason: "the phone is too short for GB", Count: 10, First: 7}},
	}
	if err := l.SaveParts(l.ctx, "", r, parts(r.ID, n)); err != nil {
		l.t.Fatalf("save parts: %v", err)
	}
	return r
}

func (l *ledger) run(id messaging.RunID) messaging.Run {
	l.t.Helper()
	r, err := l.Run(l.ctx, id)
	l.must(err)
	return r
}

func moved(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, messaging.ErrMoved) {
		t.Errorf("%s: %v, want ErrMoved", what, err)
	}
}

func (s suite) runs(t *testing.T) {
	t.Run("of many who start a run of one job and slot one wins, and all get its number", s.ofManyWhoStartARunOneWins)
	t.Run("rows leave in the windows of a rate", s.rowsLeaveInTheWindowsOfARate)
	t.Run("a run comes back as it was stored", s.aRunComesBackAsItWasStored)
	t.Run("of people who approve a run at the same time all count", s.allWhoApproveAtTheSameTimeCount)
	t.Run("the law of states holds for every pair", s.theLawOfStatesOfRuns)
	t.Run("only its owner, or a person, changes a run", s.onlyItsOwnerOrAPersonChangesARun)
	t.Run("a planned run waits for the older one of its job", s.aPlannedRunWaitsForTheOlderOne)
	t.Run("a part is claimed once, and finished by the attempt that claimed it", s.aPartIsClaimedOnce)
	t.Run("a cancelled run takes its parts along, but not the one on its way", s.aCancelledRunTakesItsPartsAlong)
	t.Run("a clock is attended from when it was first seen, then from its newest run", s.aClockIsAttendedFromItsNewestRun)
	t.Run("whose files went out is known by their parts", s.whoseFilesWentOutIsKnownByTheirParts)
}

func (s suite) ofManyWhoStartARunOneWins(t *testing.T) {
	l := s.open(t)
	const n = 20
	ids, wins := make([]messaging.RunID, n), make([]bool, n)
	together(n, func(i int) {
		var err error
		if ids[i], wins[i], err = l.StartRun(l.ctx, aRun("winback", "2026-11-01 01:30")); err != nil {
			t.Error(err)
		}
	})
	won := 0
	for i := range n {
		if ids[i] != ids[0] {
			t.Errorf("numbers %d and %d", ids[0], ids[i])
		}
		if wins[i] {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
	again := reopenAfter(t, l)
	if _, won, err := again.StartRun(again.ctx, aRun("winback", "2026-11-01 01:30")); won || err != nil {
		t.Errorf("after a restart: won %v, %v", won, err)
	}
	if next := again.mustStart(aRun("winback", "2026-11-02 01:30")); next.ID <= ids[0] {
		t.Errorf("the next one is %d", next.ID)
	}
}

func (s suite) aRunComesBackAsItWasStored(t *testing.T) {
	l := s.open(t)
	r := l.uploading("2026-03-02 12:00", 2)
	r.CampaignName, r.TemplateID, r.Expires, r.Columns = "Winback", 1042, time.Hour, []string{"var_1", "language"}
	r.Send = messaging.Send{Template: "winback", Language: "{{ lang }}", Header: &messaging.Header{Type: "document", URL: "{{ url }}", Filename: "offer.pdf"}}
	r.Waits, r.WaitUntil, r.Canary = messaging.WaitCanary, noon.Add(time.Hour), "10 of 10 ended well"
	r.Approved, r.Owner, r.LeaseEnd, r.StartedAt = "Ann", owner, noon.Add(time.Minute), noon
	r.Approvals = messaging.Approvals{Need: 2, Starter: "Ann", StarterMakers: []string{"Eve"}, By: []messaging.Approval{{Who: "crm (abc)", Person: "Ben", Via: "token", At: noon, Of: "ab", Rows: 7, Makers: []string{"Ann"}, LetInAt: noon}}}
	l.must(l.SetRun(l.ctx, "", r, messaging.RunUploading))
	same(t, "run", r, l.run(r.ID))
	for _, r.Waits = range messaging.RunWaits {
		if !r.Waits.In(r.State) {
			continue
		}
		l.must(l.SetRun(l.ctx, owner, r, messaging.RunUploading))
		same(t, "run", r, l.run(r.ID))
	}
	built := l.mustSet(l.mustStart(aRun("other", "2026-03-02 13:00")), messaging.RunBuilding)
	built.Waits, built.WaitUntil, built.Reason = messaging.WaitSource, noon.Add(10*time.Minute), "list.csv: file does not exist"
	l.must(l.SetRun(l.ctx, "", built, messaging.RunBuilding))
	same(t, "run that is built", built, l.run(built.ID))
	built.Waits, built.WaitUntil = "", time.Time{}
	l.mustSet(built, messaging.RunFailed)
	open, err := l.OpenRuns(l.ctx, "winback")
	l.must(err)
	same(t, "open runs", []messaging.Run{r}, open)
	r = l.mustSet(r, messaging.RunDone)
	last, ok, err := l.LastSent(l.ctx, "winback")
	if err != nil || !ok {
		t.Fatalf("last sent: %v %v", ok, err)
	}
	same(t, "last sent", l.run(r.ID), last)
	listed, err := l.Runs(l.ctx, store.RunFilter{Job: "winback", State: messaging.RunDone, Since: noon})
	if err != nil || len(listed) != 1 {
		t.Errorf("listed %d, %v", len(listed), err)
	}
	if _, err := l.Run(l.ctx, 99); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("run 99: %v", err)
	}
}

func (s suite) allWhoApproveAtTheSameTimeCount(t *testing.T) {
	l := s.open(t)
	r := l.mustSet(l.mustStart(aRun("winback", "held")), messaging.RunBuilding)
	r.Approvals.Need = 6
	r = l.mustSet(r, messaging.RunAwaiting)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			errs[i] = l.ApproveRun(l.ctx, r.ID, func(r *messaging.Run) error {
				if r.State != messaging.RunAwaiting {
					return messaging.ErrMoved
				}
				who := strconv.Itoa(i % 7) // one of them comes twice
				return r.Approve(messaging.Approval{Who: who, Person: who, At: noon})
			})
		})
	}
	all.Wait()
	late := 0
	for _, err := range errs {
		if errors.Is(err, messaging.ErrMoved) {
			late++
		} else if err != nil {
			t.Error(err)
		}
	}
	got := l.run(r.ID)
	if got.State != messaging.RunUploading || len(got.Approvers()) != 6 || late > 2 {
		t.Errorf("%s with %d approvals, %d came too late", got.State, len(got.Approvers()), late)
	}
	if err := l.ApproveRun(l.ctx, 99, func(*messaging.Run) error { return nil }); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("run 99: %v", err)
	}
}

func (s suite) theLawOfStatesOfRuns(t *testing.T) {
	l := s.open(t)
	paths := map[messaging.RunState][]messaging.RunState{
		messaging.RunPlanned: {}, messaging.RunBuilding: {messaging.RunBuilding}, messaging.RunAwaiting: {messaging.RunBuilding, messaging.RunAwaiting},
		messaging.RunUploading: {messaging.RunBuilding, messaging.RunUploading}, messaging.RunPaused: {messaging.RunPaused},
		messaging.RunDone: {messaging.RunBuilding, messaging.RunDone}, messaging.RunPartial: {messaging.RunBuilding, messaging.RunUploading, messaging.RunPartial},
		messaging.RunFailed: {messaging.RunFailed}, messaging.RunSkipped: {messaging.RunSkipped}, messaging.RunCancelled: {messaging.RunCancelled},
	}
	for i, from := range messaging.RunStates {
		for k, to := range messaging.RunStates {
			if from == to {
				continue
			}
			r := l.mustStart(aRun("law", fmt.Sprintf("%d-%d", i, k)))
			for _, next := range paths[from] {
				r = l.mustSet(r, next)
			}
			r.State, r.Reason, r.EndedAt, r.Stopped = to, "a test", time.Time{}, ""
			if to.Final() {
				r.EndedAt = noon
			}
			if to == messaging.RunPaused || to == messaging.RunCancelled {
				r.Stopped = messaging.StopPerson
			}
			if to == messaging.RunPaused {
				r.Before = from
			}
			err := l.SetRun(l.ctx, "", r, from)
			if from.May(to) && err != nil {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if !from.May(to) {
				moved(t, fmt.Sprintf("%s to %s", from, to), err)
			}
		}
	}
}

func (s suite) onlyItsOwnerOrAPersonChangesARun(t *testing.T) {
	l := s.open(t)
	l.mustStart(aRun("winback", "1"))
	mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil)
	if err != nil || len(mine) != 1 || mine[0].Owner != owner {
		t.Fatalf("adopted %v, %v", mine, err)
	}
	r := mine[0]
	r.State = messaging.RunBuilding
	moved(t, "another's", l.SetRun(l.ctx, "other", r, messaging.RunPlanned))
	moved(t, "from another state", l.SetRun(l.ctx, owner, r, messaging.RunAwaiting))
	if err := l.SetRun(l.ctx, owner, r, messaging.RunPlanned); err != nil {
		t.Error(err)
	}
	if others, err := l.ClaimRuns(l.ctx, "other", noon.Add(time.Second), noon.Add(time.Minute), nil); err != nil || len(others) != 0 {
		t.Errorf("another adopted %v, %v", others, err)
	}
	_, err = l.Renew(l.ctx, r.ID, "other", noon.Add(time.Hour))
	moved(t, "another's lease", err)
	if kept, err := l.Renew(l.ctx, r.ID, owner, noon.Add(time.Hour)); err != nil || !kept.LeaseEnd.Equal(noon.Add(time.Hour)) {
		t.Errorf("renewed: %v, %v", kept.LeaseEnd, err)
	}
	if others, err := l.ClaimRuns(l.ctx, "other", noon.Add(2*time.Hour), noon.Add(3*time.Hour), nil); err != nil || len(others) != 1 {
		t.Errorf("after the lease another adopted %v, %v", others, err)
	}
	if err := l.FreeRuns(l.ctx, "third"); err != nil {
		t.Error(err)
	}
	if got := l.run(r.ID); got.Owner != "" || !got.LeaseEnd.IsZero() {
		t.Errorf("freed: %q until %s", got.Owner, got.LeaseEnd)
	}
}

func (s suite) aPlannedRunWaitsForTheOlderOne(t *testing.T) {
	l := s.open(t)
	l.mustSet(l.mustSet(l.mustStart(aRun("winback", "1")), messaging.RunBuilding), messaging.RunAwaiting)
	l.mustStart(aRun("winback", "2"))
	other := l.mustStart(aRun("birthday", "1"))
	mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil)
	if err != nil || len(mine) != 1 || mine[0].ID != other.ID {
		t.Errorf("adopted %v, %v", mine, err)
	}
}

func (s suite) aClockIsAttendedFromItsNewestRun(t *testing.T) {
	l := s.open(t)
	at := func(line string, now time.Time) time.Time {
		got, err := l.LastScheduled(l.ctx, "winback", line, now)
		l.must(err)
		return got
	}
	if got := at("0 10 * * *", noon); !got.Equal(noon) {
		t.Errorf("first seen: %s", got)
	}
	if got := at("0 10 * * *", noon.Add(time.Hour)); !got.Equal(noon) {
		t.Errorf("seen again: %s", got)
	}
	r := aRun("winback", "1")
	r.DueAt = noon.Add(2 * time.Hour)
	l.mustStart(r)
	hand := aRun("winback", "2")
	hand.DueAt, hand.Cause = noon.Add(9*time.Hour), messaging.CauseHand
	l.mustStart(hand)
	if got := at("0 10 * * *", noon.Add(3*time.Hour)); !got.Equal(r.DueAt) {
		t.Errorf("after a run: %s", got)
	}
	if got := at("0 11 * * *", noon.Add(5*time.Hour)); !got.Equal(noon.Add(5 * time.Hour)) {
		t.Errorf("another line: %s", got)
	}
}

func (l *ledger) runMessages(id messaging.RunID) map[string]int64 {
	l.t.Helper()
	by, err := l.RunMessages(l.ctx, id)
	l.must(err)
	return by
}
