package suite

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// aRun is a run of a job at a local time, as the scheduler stores it.
func aRun(job, slot string) nudgewire.Run {
	return nudgewire.Run{
		Job: job, Slot: slot, DueAt: noon, Cause: nudgewire.CauseCron, Source: "csv list.csv", Config: "v1",
		State: nudgewire.RunPlanned, Deliver: nudgewire.DeliverCSV, Category: nudgewire.Marketing, CreatedAt: noon,
	}
}

func (l *ledger) mustStart(r nudgewire.Run) nudgewire.Run {
	l.t.Helper()
	id, won, err := l.StartRun(l.ctx, r)
	if err != nil || !won {
		l.t.Fatalf("start: won %v, %v", won, err)
	}
	r.ID = id
	return r
}

// mustSet moves a run on.
func (l *ledger) mustSet(r nudgewire.Run, to nudgewire.RunState) nudgewire.Run {
	l.t.Helper()
	from := r.State
	r.State, r.Reason = to, "as the test says"
	if to.Final() {
		r.EndedAt, r.Owner = noon.Add(time.Minute), ""
	}
	if to == nudgewire.RunPaused {
		r.Before = from
	}
	if to == nudgewire.RunPaused || to == nudgewire.RunCancelled {
		r.Stopped = nudgewire.StopPerson
	}
	if err := l.SetRun(l.ctx, "", r, from); err != nil {
		l.t.Fatalf("%s to %s: %v", from, to, err)
	}
	return r
}

// uploading is a run of n parts that go out.
func (l *ledger) uploading(slot string, n int) nudgewire.Run {
	l.t.Helper()
	r := l.mustSet(l.mustStart(aRun("winback", slot)), nudgewire.RunBuilding)
	r.State, r.Owner, r.Reason = nudgewire.RunUploading, "", ""
	r.Tally = nudgewire.Tally{
		Rows: 110, Kept: 100, Parts: n, Bytes: 4000, Points: 0.1,
		Excluded: []nudgewire.Excluded{{Kind: "phone", Reason: "the phone is too short for GB", Count: 10, First: 7}},
	}
	if err := l.SaveParts(l.ctx, "", r, parts(r.ID, n)); err != nil {
		l.t.Fatalf("save parts: %v", err)
	}
	return r
}

func (l *ledger) run(id nudgewire.RunID) nudgewire.Run {
	l.t.Helper()
	r, err := l.Run(l.ctx, id)
	l.must(err)
	return r
}

func moved(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, nudgewire.ErrMoved) {
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
	ids, wins := make([]nudgewire.RunID, n), make([]bool, n)
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
	r.Send = nudgewire.Send{Template: "winback", Language: "{{ lang }}", Header: &nudgewire.Header{Type: "document", URL: "{{ url }}", Filename: "offer.pdf"}}
	r.Waits, r.WaitUntil, r.Canary = nudgewire.WaitCanary, noon.Add(time.Hour), "10 of 10 ended well"
	r.Approved, r.Owner, r.LeaseEnd, r.StartedAt = "Ann", owner, noon.Add(time.Minute), noon
	r.Approvals = nudgewire.Approvals{Need: 2, Starter: "Ann", By: []nudgewire.Approval{{Who: "crm (abc)", Person: "Ben", Via: "token", At: noon, Of: "ab", Rows: 7}}}
	l.must(l.SetRun(l.ctx, "", r, nudgewire.RunUploading))
	same(t, "run", r, l.run(r.ID))
	for _, r.Waits = range nudgewire.RunWaits {
		if !r.Waits.In(r.State) {
			continue
		}
		l.must(l.SetRun(l.ctx, owner, r, nudgewire.RunUploading))
		same(t, "run", r, l.run(r.ID))
	}
	built := l.mustSet(l.mustStart(aRun("other", "2026-03-02 13:00")), nudgewire.RunBuilding)
	built.Waits, built.WaitUntil, built.Reason = nudgewire.WaitSource, noon.Add(10*time.Minute), "list.csv: file does not exist"
	l.must(l.SetRun(l.ctx, "", built, nudgewire.RunBuilding))
	same(t, "run that is built", built, l.run(built.ID))
	built.Waits, built.WaitUntil = "", time.Time{}
	l.mustSet(built, nudgewire.RunFailed)
	open, err := l.OpenRuns(l.ctx, "winback")
	l.must(err)
	same(t, "open runs", []nudgewire.Run{r}, open)
	r = l.mustSet(r, nudgewire.RunDone)
	last, ok, err := l.LastSent(l.ctx, "winback")
	if err != nil || !ok {
		t.Fatalf("last sent: %v %v", ok, err)
	}
	same(t, "last sent", l.run(r.ID), last)
	listed, err := l.Runs(l.ctx, store.RunFilter{Job: "winback", State: nudgewire.RunDone, Since: noon})
	if err != nil || len(listed) != 1 {
		t.Errorf("listed %d, %v", len(listed), err)
	}
	if _, err := l.Run(l.ctx, 99); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("run 99: %v", err)
	}
}

func (s suite) allWhoApproveAtTheSameTimeCount(t *testing.T) {
	l := s.open(t)
	r := l.mustSet(l.mustStart(aRun("winback", "held")), nudgewire.RunBuilding)
	r.Approvals.Need = 6
	r = l.mustSet(r, nudgewire.RunAwaiting)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			errs[i] = l.ApproveRun(l.ctx, r.ID, func(r *nudgewire.Run) error {
				if r.State != nudgewire.RunAwaiting {
					return nudgewire.ErrMoved
				}
				who := strconv.Itoa(i % 7) // one of them comes twice
				return r.Approve(nudgewire.Approval{Who: who, Person: who, At: noon})
			})
		})
	}
	all.Wait()
	late := 0
	for _, err := range errs {
		if errors.Is(err, nudgewire.ErrMoved) {
			late++
		} else if err != nil {
			t.Error(err)
		}
	}
	got := l.run(r.ID)
	if got.State != nudgewire.RunUploading || len(got.Approvers()) != 6 || late > 2 {
		t.Errorf("%s with %d approvals, %d came too late", got.State, len(got.Approvers()), late)
	}
	if err := l.ApproveRun(l.ctx, 99, func(*nudgewire.Run) error { return nil }); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("run 99: %v", err)
	}
}

func (s suite) theLawOfStatesOfRuns(t *testing.T) {
	l := s.open(t)
	paths := map[nudgewire.RunState][]nudgewire.RunState{
		nudgewire.RunPlanned: {}, nudgewire.RunBuilding: {nudgewire.RunBuilding}, nudgewire.RunAwaiting: {nudgewire.RunBuilding, nudgewire.RunAwaiting},
		nudgewire.RunUploading: {nudgewire.RunBuilding, nudgewire.RunUploading}, nudgewire.RunPaused: {nudgewire.RunPaused},
		nudgewire.RunDone: {nudgewire.RunBuilding, nudgewire.RunDone}, nudgewire.RunPartial: {nudgewire.RunBuilding, nudgewire.RunUploading, nudgewire.RunPartial},
		nudgewire.RunFailed: {nudgewire.RunFailed}, nudgewire.RunSkipped: {nudgewire.RunSkipped}, nudgewire.RunCancelled: {nudgewire.RunCancelled},
	}
	for i, from := range nudgewire.RunStates {
		for k, to := range nudgewire.RunStates {
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
			if to == nudgewire.RunPaused || to == nudgewire.RunCancelled {
				r.Stopped = nudgewire.StopPerson
			}
			if to == nudgewire.RunPaused {
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
	r.State = nudgewire.RunBuilding
	moved(t, "another's", l.SetRun(l.ctx, "other", r, nudgewire.RunPlanned))
	moved(t, "from another state", l.SetRun(l.ctx, owner, r, nudgewire.RunAwaiting))
	if err := l.SetRun(l.ctx, owner, r, nudgewire.RunPlanned); err != nil {
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
	l.mustSet(l.mustSet(l.mustStart(aRun("winback", "1")), nudgewire.RunBuilding), nudgewire.RunAwaiting)
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
	hand.DueAt, hand.Cause = noon.Add(9*time.Hour), nudgewire.CauseHand
	l.mustStart(hand)
	if got := at("0 10 * * *", noon.Add(3*time.Hour)); !got.Equal(r.DueAt) {
		t.Errorf("after a run: %s", got)
	}
	if got := at("0 11 * * *", noon.Add(5*time.Hour)); !got.Equal(noon.Add(5 * time.Hour)) {
		t.Errorf("another line: %s", got)
	}
}

func (l *ledger) runMessages(id nudgewire.RunID) map[string]int64 {
	l.t.Helper()
	by, err := l.RunMessages(l.ctx, id)
	l.must(err)
	return by
}
