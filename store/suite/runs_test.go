package suite

import (
	"errors"
	"fmt"
	"slices"
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

func parts(run nudgewire.RunID, n int) (out []nudgewire.Part) {
	for i := range n {
		out = append(out, nudgewire.Part{
			RunID: run, Number: i + 1, List: run, Ranges: nudgewire.RowRanges{{First: int64(10*i + 1), Last: int64(10*i + 10)}}, Rows: 10, State: nudgewire.PartWaiting, UpdatedAt: noon,
		})
	}
	return out
}

// listed is a run whose list has rows with these phones, each group of them a part that goes out. It is owner's.
func (l *ledger) listed(slot string, groups ...[]nudgewire.Phone) nudgewire.Run {
	l.t.Helper()
	r := l.mustStart(aRun("winback", slot))
	r.Owner, r.LeaseEnd, r.State = owner, noon.Add(time.Hour), nudgewire.RunBuilding
	if err := l.SetRun(l.ctx, "", r, nudgewire.RunPlanned); err != nil {
		l.t.Fatal(err)
	}
	var rows []nudgewire.ListRow
	var parts []nudgewire.Part
	n := int64(0)
	for i, phones := range groups {
		first := n + 1
		for _, phone := range phones {
			n++
			rows = append(rows, nudgewire.ListRow{Number: n, Position: nudgewire.Position{Row: n + 1, File: "list.csv"}, Phone: phone, Cells: []string{"x"}})
		}
		parts = append(parts, nudgewire.Part{Number: i + 1, Ranges: nudgewire.RowRanges{{First: first, Last: n}}, Rows: n - first + 1, State: nudgewire.PartWaiting, UpdatedAt: noon})
	}
	for some := range slices.Chunk(rows, store.PerRows) {
		if err := l.AddRows(l.ctx, owner, r.ID, some); err != nil {
			l.t.Fatal(err)
		}
	}
	r.State, r.Tally = nudgewire.RunUploading, nudgewire.Tally{Rows: n, Kept: n, Parts: len(parts)}
	if err := l.SaveParts(l.ctx, owner, r, parts); err != nil {
		l.t.Fatal(err)
	}
	return r
}

// cut is the claim of a part with all of its rows, as of now.
func (l *ledger) cut(id nudgewire.RunID, number int, at time.Time) nudgewire.PartClaim {
	l.t.Helper()
	point, err := l.Point(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	p := l.part(id, number)
	p.Bytes, p.SHA256 = 400, "abc"
	return nudgewire.PartClaim{Owner: owner, At: at, Point: point, Part: p, Tally: l.run(id).Tally}
}

// claim claims a part with all of its rows.
func (l *ledger) claim(id nudgewire.RunID, number int, at time.Time) (nudgewire.Part, error) {
	l.t.Helper()
	p, claimed, err := l.ClaimPart(l.ctx, l.cut(id, number, at))
	if err == nil && !claimed {
		l.t.Errorf("part %d of run %d was not claimed", number, id)
	}
	return p, err
}

func (l *ledger) run(id nudgewire.RunID) nudgewire.Run {
	l.t.Helper()
	r, err := l.Run(l.ctx, id)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *ledger) part(id nudgewire.RunID, number int) nudgewire.Part {
	l.t.Helper()
	ps, err := l.Parts(l.ctx, id)
	if err != nil || len(ps) < number {
		l.t.Fatalf("%d parts, %v", len(ps), err)
	}
	return ps[number-1]
}

func moved(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, nudgewire.ErrMoved) {
		t.Errorf("%s: %v, want ErrMoved", what, err)
	}
}

func (s suite) runs(t *testing.T) {
	t.Run("of many who start a run of one job and slot one wins, and all get its number", func(t *testing.T) {
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
	})
	t.Run("rows leave in the windows of a rate", func(t *testing.T) {
		l := s.open(t)
		r := l.uploading("1", 1)
		window := func(now time.Time, waiting int64) nudgewire.RateWindow {
			return nudgewire.RateWindow{Job: "winback", Most: 3, From: now.Add(time.Microsecond - time.Hour), Now: now, Waiting: waiting}
		}
		take := func(first int64, rows []nudgewire.Message, w nudgewire.RateWindow, want int, since time.Time) {
			t.Helper()
			done, at, err := l.EnqueueAtRate(l.ctx, r.ID, first, rows, w)
			if err != nil || done != want || !at.Equal(since) {
				t.Errorf("%d rows of the window of %s, %v; want %d of %s", done, at, err, want, since)
			}
		}
		later := noon.Add(time.Hour)
		take(1, rowsOf(r.ID, 1, 2), window(noon, 0), 2, noon)
		take(1, rowsOf(r.ID, 1, 2), window(noon, 0), 2, noon) // after a crash: they are known
		rows := rowsOf(r.ID, 3, 4)
		rows[0].State, rows[0].Reason = nudgewire.StateDropped, "the contact is blocked"
		take(3, rows, window(noon.Add(time.Minute), 0), 2, noon) // one needs no room, one has it
		if n, err := l.Backlog(l.ctx, r.ID); err != nil || n != 3 {
			t.Errorf("%d wait, %v", n, err)
		}
		l = reopenAfter(t, l)
		take(5, rowsOf(r.ID, 5, 2), window(later.Add(-time.Microsecond), 0), 0, noon)
		take(5, rowsOf(r.ID, 5, 4), window(later, 2), 1, later) // two of the last window are still to leave
		if n, since, err := l.UseRate(l.ctx, window(later.Add(time.Hour), 0), 5); err != nil || n != 3 || !since.Equal(later.Add(time.Hour)) {
			t.Errorf("%d of the window of %s, %v", n, since, err)
		}
	})
	t.Run("a run comes back as it was stored", func(t *testing.T) {
		l := s.open(t)
		r := l.uploading("2026-03-02 12:00", 2)
		r.CampaignName, r.TemplateID, r.Expires, r.Columns = "Winback", 1042, time.Hour, []string{"var_1", "language"}
		r.Send = nudgewire.Send{Template: "winback", Language: "{{ lang }}", Header: &nudgewire.Header{Type: "document", URL: "{{ url }}", Filename: "offer.pdf"}}
		r.Waits, r.WaitUntil, r.Canary = nudgewire.WaitCanary, noon.Add(time.Hour), "10 of 10 ended well"
		r.Approved, r.Owner, r.LeaseEnd, r.StartedAt = "Ann", owner, noon.Add(time.Minute), noon
		r.Approvals = nudgewire.Approvals{Need: 2, Starter: "Ann", By: []nudgewire.Approval{{Who: "crm (abc)", Person: "Ben", Via: "token", At: noon, Of: "ab", Rows: 7}}}
		if err := l.SetRun(l.ctx, "", r, nudgewire.RunUploading); err != nil {
			t.Fatal(err)
		}
		same(t, "run", r, l.run(r.ID))
		for _, r.Waits = range nudgewire.RunWaits {
			if !r.Waits.In(r.State) {
				continue
			}
			if err := l.SetRun(l.ctx, owner, r, nudgewire.RunUploading); err != nil {
				t.Fatal(err)
			}
			same(t, "run", r, l.run(r.ID))
		}
		built := l.mustSet(l.mustStart(aRun("other", "2026-03-02 13:00")), nudgewire.RunBuilding)
		built.Waits, built.WaitUntil, built.Reason = nudgewire.WaitSource, noon.Add(10*time.Minute), "list.csv: file does not exist"
		if err := l.SetRun(l.ctx, "", built, nudgewire.RunBuilding); err != nil {
			t.Fatal(err)
		}
		same(t, "run that is built", built, l.run(built.ID))
		built.Waits, built.WaitUntil = "", time.Time{}
		l.mustSet(built, nudgewire.RunFailed)
		open, err := l.OpenRuns(l.ctx, "winback")
		if err != nil {
			t.Fatal(err)
		}
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
	})
	t.Run("of people who approve a run at the same time all count", func(t *testing.T) {
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
	})
	t.Run("the law of states holds for every pair", func(t *testing.T) {
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
	})
	t.Run("only its owner, or a person, changes a run", func(t *testing.T) {
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
	})
	t.Run("a planned run waits for the older one of its job", func(t *testing.T) {
		l := s.open(t)
		l.mustSet(l.mustSet(l.mustStart(aRun("winback", "1")), nudgewire.RunBuilding), nudgewire.RunAwaiting)
		l.mustStart(aRun("winback", "2"))
		other := l.mustStart(aRun("birthday", "1"))
		mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil)
		if err != nil || len(mine) != 1 || mine[0].ID != other.ID {
			t.Errorf("adopted %v, %v", mine, err)
		}
	})
	t.Run("a part is claimed once, and finished by the attempt that claimed it", func(t *testing.T) {
		l := s.open(t)
		r := l.uploading("1", 3)
		_, err := l.claim(r.ID, 1, noon)
		moved(t, "a run that is nobody's", err)
		if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
			t.Fatal(err)
		}
		p, err := l.claim(r.ID, 1, noon)
		if err != nil || p.State != nudgewire.PartUploading || p.Attempt != 1 {
			t.Fatalf("claimed %+v, %v", p, err)
		}
		same(t, "part", p, l.part(r.ID, 1))
		_, err = l.claim(r.ID, 1, noon)
		moved(t, "a second claim", err)
		p.State, p.CampaignID, p.MessageIDs, p.Answer, p.HTTPStatus = nudgewire.PartAccepted, "417", []string{"9007199254740993"}, `{"ok":true}`, 200
		late := p
		late.Attempt = 2
		moved(t, "another attempt's", l.FinishPart(l.ctx, late))
		if err := l.FinishPart(l.ctx, p); err != nil {
			t.Fatal(err)
		}
		p.MessageIDs, p.Followed = nil, 1 // it is a message now
		same(t, "part", p, l.part(r.ID, 1))
		moved(t, "an accepted part", l.FinishPart(l.ctx, p))

		p, err = l.claim(r.ID, 2, noon)
		if err != nil {
			t.Fatal(err)
		}
		p.State, p.Reason = nudgewire.PartInDoubt, "the answer was lost"
		if err := l.FinishPart(l.ctx, p); err != nil {
			t.Fatal(err)
		}
		_, err = l.claim(r.ID, 2, noon)
		moved(t, "a part in doubt", err)
		p.State, p.Reason = nudgewire.PartAccepted, "" // the late answer of the same attempt
		if err := l.FinishPart(l.ctx, p); err != nil {
			t.Error(err)
		}
	})
	t.Run("a cancelled run takes its parts along, but not the one on its way", func(t *testing.T) {
		l := s.open(t)
		r := l.uploading("1", 3)
		if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
			t.Fatal(err)
		}
		onWay, err := l.claim(r.ID, 1, noon)
		if err != nil {
			t.Fatal(err)
		}
		l.mustSet(l.mustSet(r, nudgewire.RunPaused), nudgewire.RunCancelled)
		if a, b := l.part(r.ID, 1).State, l.part(r.ID, 2).State; a != nudgewire.PartUploading || b != nudgewire.PartCancelled {
			t.Errorf("parts are %s and %s", a, b)
		}
		onWay.State, onWay.Reason = nudgewire.PartWaiting, "surely not taken"
		if err := l.FinishPart(l.ctx, onWay); err != nil {
			t.Fatal(err)
		}
		if p := l.part(r.ID, 1); p.State != nudgewire.PartCancelled || p.Reason != "as the test says" {
			t.Errorf("the part that came back is %s %q", p.State, p.Reason)
		}
	})
	t.Run("a clock is attended from when it was first seen, then from its newest run", func(t *testing.T) {
		l := s.open(t)
		at := func(line string, now time.Time) time.Time {
			got, err := l.LastScheduled(l.ctx, "winback", line, now)
			if err != nil {
				t.Fatal(err)
			}
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
	})
	t.Run("whose files went out is known by their parts", func(t *testing.T) {
		l := s.open(t)
		r := l.listed("1", []nudgewire.Phone{"447700900101", "447700900102"}, []nudgewire.Phone{"447700900103"})
		if _, err := l.claim(r.ID, 2, noon); err != nil {
			t.Fatal(err)
		}
		got, err := l.FilesTo(l.ctx, []nudgewire.Phone{"447700900101", "447700900103"}, noon.Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "on files", []nudgewire.Contacted{{Phone: "447700900103", Trigger: "winback", Run: r.ID, Category: r.Category, At: noon}}, got)
		if got, err := l.FilesTo(l.ctx, []nudgewire.Phone{"447700900103"}, noon.Add(time.Minute)); err != nil || len(got) != 0 {
			t.Errorf("later: %v, %v", got, err)
		}
	})
}

// reopenAfter closes a ledger and opens its data again.
func reopenAfter(t testing.TB, l *ledger) *ledger {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, l.dsn)
}

// rowsOf are messages of a run's rows.
func rowsOf(run nudgewire.RunID, first int64, n int) (out []nudgewire.Message) {
	for i := range int64(n) {
		out = append(out, nudgewire.Message{
			Trigger: "winback", Key: fmt.Sprintf("run %d row %d", run, first+i), Phone: nudgewire.Phone(fmt.Sprintf("4479111%05d", first+i)),
			Category: nudgewire.Marketing, Send: nudgewire.Send{Template: "winback", Language: "en", Variables: []string{"Ana"}},
			State: nudgewire.StateWaiting, DueAt: noon, CreatedAt: noon, UpdatedAt: noon, ExpiresAt: noon.Add(time.Hour), Config: "v1",
		})
	}
	return out
}

func (s suite) enqueue(t *testing.T) {
	t.Run("each row is queued once, however often it is handed over", func(t *testing.T) {
		l := s.open(t)
		r := l.uploading("1", 1)
		for _, batch := range []struct {
			first int64
			n     int
		}{{1, 10}, {1, 10}, {21, 5}, {6, 25}} {
			if err := l.Enqueue(l.ctx, r.ID, batch.first, rowsOf(r.ID, batch.first, batch.n)); err != nil {
				t.Fatal(err)
			}
		}
		got := l.mustClaim(noon, 100)
		if len(got) != 30 {
			t.Fatalf("%d messages, want 30", len(got))
		}
		seen := map[string]bool{}
		for _, d := range got {
			if seen[d.Key] {
				t.Errorf("%s is queued twice", d.Key)
			}
			seen[d.Key] = true
		}
		want := rowsOf(r.ID, 1, 1)[0]
		want.Run = r.ID
		want.ID, want.State, want.Attempt, want.Owner, want.LeaseEnds = got[0].ID, nudgewire.StateSending, 1, owner, noon.Add(time.Minute)
		same(t, "message", want, got[0])
		l.totals(map[string]int64{"messages": 30})
	})
	t.Run("rows of two runs are apart", func(t *testing.T) {
		l := s.open(t)
		a, b := l.uploading("1", 1), l.uploading("2", 1)
		for _, r := range []nudgewire.Run{a, b} {
			if err := l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := l.CancelRows(l.ctx, a.ID, "cancelled by Ann"); err != nil || n != 3 {
			t.Errorf("cancelled %d, %v", n, err)
		}
		if n, err := l.Backlog(l.ctx, b.ID); err != nil || n != 3 {
			t.Errorf("the other run's backlog is %d, %v", n, err)
		}
		by, err := l.RunMessages(l.ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "messages", map[string]int64{"cancelled": 3}, by)
	})
	t.Run("a run that does not send queues nothing more", func(t *testing.T) {
		l := s.open(t)
		r := l.mustSet(l.uploading("1", 1), nudgewire.RunPaused)
		moved(t, "paused", l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)))
	})
	t.Run("its standing counts what has ended", func(t *testing.T) {
		l := s.open(t)
		r := l.uploading("1", 1)
		if err := l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)); err != nil {
			t.Fatal(err)
		}
		for i, d := range l.mustClaim(noon, 3) {
			a := nudgewire.Attempt{MessageID: d.ID, Owner: owner, Number: 1, State: nudgewire.StateRejected, Reason: "no such phone", At: noon}
			if i > 0 {
				a.State, a.Reason, a.Message = nudgewire.StateAccepted, "", &nudgewire.Message{ServiceID: nudgewire.ServiceID(fmt.Sprint(100 + i)), Status: nudgewire.StatusAccepted}
			}
			if err := l.Finish(l.ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := l.Standing(l.ctx, r.ID); err != nil || s != (nudgewire.Standing{Messages: 3, Ended: 1, Failed: 1}) {
			t.Errorf("%+v, %v", s, err)
		}
		told, err := l.SentTo(l.ctx, []nudgewire.Phone{rowsOf(r.ID, 1, 1)[0].Phone, rowsOf(r.ID, 2, 1)[0].Phone, rowsOf(r.ID, 3, 1)[0].Phone}, noon.Add(-time.Hour))
		if err != nil || len(told) != 2 || told[0].Run != r.ID {
			t.Errorf("messaged: %v, %v", told, err)
		}
		rows, err := l.RowsTo(l.ctx, []nudgewire.Phone{"447700900101"}, noon.Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range rows {
			if one.Run != r.ID || one.Trigger != r.Job {
				t.Errorf("a row of run %d is told as %+v", r.ID, one)
			}
		}
	})
}

func (s suite) blocks(t *testing.T) {
	l := s.open(t)
	const ana, ben = "447700900101", "447700900102"
	block := func(phones ...nudgewire.Phone) int {
		var all []store.Block
		for _, p := range phones {
			all = append(all, store.Block{Phone: p, Reason: "asked for it", Source: "by hand", At: noon})
		}
		n, err := l.Block(l.ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := block(ana, ben, ana); n != 2 {
		t.Errorf("%d were new, want 2", n)
	}
	if n := block(ana); n != 0 {
		t.Errorf("%d were new, want 0", n)
	}
	found, err := l.Blocked(l.ctx, []nudgewire.Phone{ana, "447700900199"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "blocked", map[nudgewire.Phone]string{ana: "the contact is blocked: asked for it"}, found)
	if err := l.Allow(l.ctx, ana); err != nil {
		t.Error(err)
	}
	if err := l.Allow(l.ctx, ana); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	list, err := l.Blocks(l.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "blocks", []store.Block{{Phone: ben, Reason: "asked for it", Source: "by hand", At: noon}}, list)
}
