package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

var monday = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// fireDue ticks at the desk's time and takes all runs to their rest.
func fireDue(t testing.TB, d *desk) {
	t.Helper()
	if _, err := d.Tick(t.Context(), d.now()); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
}

// begin puts a job on the desk that fires every minute, has its line seen a minute ago, and
// fires it.
func begin(t testing.TB, j *Compiled) *desk {
	t.Helper()
	d := newDesk(t, monday)
	d.Use([]*Compiled{j})
	if _, err := d.Tick(t.Context(), monday.Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestARunUploadsEachPartOnce(t *testing.T) {
	l := people(1000)
	d := begin(t, jobOf(t, l, Job{Cron: "0 10 * * *", MaxSize: 4000, Campaign: &Campaign{Name: "Winback {{ run.date }}", TemplateID: 7}}))
	fireDue(t, d)
	r := d.the(t)
	if r.State != messaging.RunDone || r.Tally.Kept != 1000 || r.Reason != "" {
		t.Fatalf("the run ended as %s %q with %+v", r.State, r.Reason, r.Tally)
	}
	got := d.service.uploads()
	if len(got) != r.Tally.Parts || len(got) < 5 {
		t.Fatalf("%d uploads of %d parts", len(got), r.Tally.Parts)
	}
	var bytes int64
	for i, u := range got {
		if int64(len(u.body)) > 4000 || !strings.HasPrefix(u.body, "phone,var_1\n") || u.template != 7 {
			t.Errorf("upload %d: %d bytes, %.20q, template %d", i, len(u.body), u.body, u.template)
		}
		if want := fmt.Sprintf("Winback 2026-05-04 (%d of %d)", i+1, len(got)); u.name != want {
			t.Errorf("name %q, want %q", u.name, want)
		}
		bytes += int64(len(u.body))
	}
	if bytes != r.Tally.Bytes {
		t.Errorf("%d bytes were uploaded, the tally says %d", bytes, r.Tally.Bytes)
	}
	phones := d.service.phones(t)
	if len(phones) != 1000 || phones[0] != "447911100000" || phones[999] != "447911100999" {
		t.Errorf("%d phones from %s on", len(phones), phones[0])
	}
	fireDue(t, d)
	if n := len(d.service.uploads()); n != len(got) || len(d.runs) != 1 {
		t.Errorf("a second look led to %d uploads and %d runs", n, len(d.runs))
	}
}

func TestACrashAnywhereUploadsNoPartTwice(t *testing.T) {
	job := func(t testing.TB) *Compiled {
		return jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000})
	}
	calls := []string{"SetRun building", "SaveParts", "ClaimPart 1", "FinishPart 1", "ClaimPart 3", "FinishPart 3", "FinishPart 4", "SetRun done"}
	for _, call := range calls {
		t.Run("behind "+call, func(t *testing.T) {
			d := begin(t, job(t))
			d.crashAt = call
			fireDue(t, d)
			d.revive()
			d.open("two")
			d.settle(t)
			r := d.the(t)
			parts := d.parts[r.ID]
			seen := map[string]int{}
			for _, u := range d.service.uploads() {
				seen[u.file]++
			}
			accepted := 0
			for _, p := range parts {
				name := fmt.Sprintf("winback-part-%04d.csv", p.Number)
				switch p.State {
				case messaging.PartAccepted:
					accepted++
					if seen[name] != 1 {
						t.Errorf("part %d is accepted and was uploaded %d times", p.Number, seen[name])
					}
				case messaging.PartInDoubt:
					if seen[name] > 1 || p.Reason != "nudgewire stopped before it could store how its upload ended" {
						t.Errorf("part %d is in doubt (%s) and was uploaded %d times", p.Number, p.Reason, seen[name])
					}
				default:
					t.Errorf("part %d ended as %s", p.Number, p.State)
				}
			}
			want := messaging.RunDone
			if accepted < len(parts) {
				want = messaging.RunPartial
			}
			if doubt := strings.HasPrefix(call, "ClaimPart"); r.State != want || (accepted < len(parts)) != doubt || len(parts) < 4 {
				t.Errorf("the run ended as %s with %d of %d parts accepted: %s", r.State, accepted, len(parts), r.Reason)
			}
		})
	}
}

func TestHowAnUploadEnds(t *testing.T) {
	notSent := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.NotAccepted, HTTPStatus: 429, RetryAfter: time.Minute}
	lost := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.InDoubt, Err: errors.New("connection reset")}
	refused := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.Rejected, HTTPStatus: 422, Words: "template 1042 is paused"}
	key := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.Rejected, HTTPStatus: 401}
	on := func(errs map[int]error) func(int) error {
		return func(n int) error { return errs[n] }
	}
	tests := map[string]struct {
		answer  func(int) error
		state   messaging.RunState
		reason  string
		uploads int
	}{
		"what was surely not taken goes again": {
			on(map[int]error{1: notSent, 2: notSent}), messaging.RunDone, "", 5,
		},
		"an answer that was lost is in doubt and not sent again": {
			on(map[int]error{2: lost}), messaging.RunPartial,
			"2 of 3 parts were accepted; part 2 is in doubt: create-with-csv: sent, but not answered: connection reset", 3,
		},
		"two lost answers in a row stop the run": {
			on(map[int]error{1: lost, 2: lost}), messaging.RunPaused,
			"2 uploads in a row got no readable answer; resume when the service is well", 2,
		},
		"a refused part stops the run before the others": {
			func(int) error { return refused }, messaging.RunPaused,
			"create-with-csv: 422 Unprocessable Entity: template 1042 is paused; resume sends the parts after it, and jobs retry then sends this one again", 1,
		},
		"the last one has none to keep at home": {
			on(map[int]error{3: refused}), messaging.RunPartial,
			"2 of 3 parts were accepted; part 3 was not accepted: create-with-csv: 422 Unprocessable Entity: template 1042 is paused", 3,
		},
		"a wrong key waits for the right one": {
			on(map[int]error{2: key}), messaging.RunPaused,
			"the service refuses the API key; resume after correcting api.key", 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := begin(t, jobOf(t, people(200), Job{Cron: "0 10 * * *", MaxSize: 2000}))
			d.service.answer = tt.answer
			fireDue(t, d)
			r := d.the(t)
			if r.State != tt.state || r.Reason != tt.reason || len(d.service.uploads()) != tt.uploads {
				t.Errorf("%s %q after %d uploads, want %s %q after %d", r.State, r.Reason, len(d.service.uploads()), tt.state, tt.reason, tt.uploads)
			}
		})
	}
	t.Run("the right key takes the rest", func(t *testing.T) {
		d := begin(t, jobOf(t, people(200), Job{Cron: "0 10 * * *", MaxSize: 2000}))
		d.service.answer = on(map[int]error{2: key})
		fireDue(t, d)
		if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		if r := d.the(t); r.State != messaging.RunDone || len(d.service.uploads()) != 4 {
			t.Errorf("%s after %d uploads", r.State, len(d.service.uploads()))
		}
	})
	t.Run("trying ends after a day", func(t *testing.T) {
		d := begin(t, jobOf(t, people(10), Job{Cron: "0 10 * * *"}))
		d.service.answer = func(int) error { return notSent }
		fireDue(t, d)
		r := d.the(t)
		if r.State != messaging.RunFailed || !strings.Contains(r.Reason, "given up after") || d.now().Sub(monday) < 23*time.Hour {
			t.Errorf("%s %q after %s", r.State, r.Reason, d.now().Sub(monday))
		}
	})
}

func TestAGuardHoldsUntilApproved(t *testing.T) {
	job := jobOf(t, people(100), Job{Cron: "* * * * *", Guard: Guard{MaxChange: 3}})
	d := begin(t, job)
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunDone {
		t.Fatalf("the first run: %s %s", r.State, r.Reason)
	}
	job.source = people(500)
	d.advance(time.Minute)
	fireDue(t, d)
	r := d.the(t)
	if r.State != messaging.RunAwaiting || r.Reason != "500 rows are 500% of the last run's 100, and guard.max_change is 300%" || len(d.service.uploads()) != 1 {
		t.Fatalf("%s %q", r.State, r.Reason)
	}
	if err := d.Approve(t.Context(), r.ID, by("Ann")); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r = d.the(t); r.State != messaging.RunDone || r.Approved != "Ann" || len(d.service.phones(t)) != 600 {
		t.Errorf("%s, approved by %q, %d phones", r.State, r.Approved, len(d.service.phones(t)))
	}
	if err := d.Approve(t.Context(), r.ID, by("Ann")); err == nil || err.Error() != "run 2 is done: there is nothing to approve" {
		t.Errorf("a second approval: %v", err)
	}
}

func TestWhatGuardsSay(t *testing.T) {
	last := &messaging.Tally{Kept: 900}
	tests := map[string]struct {
		guard Guard
		tally messaging.Tally
		last  *messaging.Tally
		want  []string
	}{
		"nothing set holds nothing":         {Guard{}, messaging.Tally{Kept: 1e6}, last, nil},
		"too many rows":                     {Guard{MaxRows: 200000}, messaging.Tally{Kept: 200001}, nil, []string{"200,001 rows are more than guard.max_rows, 200,000"}},
		"as many as allowed":                {Guard{MaxRows: 200000}, messaging.Tally{Kept: 200000}, nil, nil},
		"too few against the last":          {Guard{MaxChange: 3}, messaging.Tally{Kept: 100}, last, []string{"100 rows are only 11% of the last run's 900, and guard.max_change is 300%"}},
		"exactly three times":               {Guard{MaxChange: 3}, messaging.Tally{Kept: 2700}, last, nil},
		"no last run":                       {Guard{MaxChange: 3}, messaging.Tally{Kept: 2700}, nil, nil},
		"too many points, and over approve": {Guard{MaxPoints: 10, ApproveOver: 5}, messaging.Tally{Kept: 11, Points: 11}, nil, []string{"11 points are more than guard.max_points, 10", "11 rows are more than guard.approve_over, 5"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.guard.stops(tt.tally, tt.last)); diff != "" {
				t.Errorf("holds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverlap(t *testing.T) {
	tests := map[string]struct {
		overlap Overlap
		first   messaging.RunState
		second  messaging.RunState
		reason  string
	}{
		"skip leaves a row with its reason":   {OverlapSkip, messaging.RunAwaiting, messaging.RunSkipped, "run 1 of 2026-05-04 10:00 is still awaiting approval (overlap: skip)"},
		"queue waits":                         {OverlapQueue, messaging.RunAwaiting, messaging.RunPlanned, "queued behind run 1"},
		"cancel_previous takes the old place": {OverlapCancel, messaging.RunCancelled, messaging.RunAwaiting, "10 rows are more than guard.approve_over, 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := begin(t, jobOf(t, people(10), Job{Cron: "* * * * *", Overlap: tt.overlap, Guard: Guard{ApproveOver: 1}}))
			fireDue(t, d)
			d.advance(time.Minute)
			fireDue(t, d)
			if d.runs[0].State != tt.first || d.runs[1].State != tt.second || d.runs[1].Reason+d.runs[1].Began != tt.reason {
				t.Errorf("first %s, second %s %q", d.runs[0].State, d.runs[1].State, d.runs[1].Reason)
			}
			if tt.overlap == OverlapCancel {
				if p := d.parts[1][0]; p.State != messaging.PartCancelled || d.runs[0].Reason != "the run of 2026-05-04 10:01 took its place (overlap: cancel_previous)" {
					t.Errorf("part %s, %q", p.State, d.runs[0].Reason)
				}
			}
			if tt.overlap == OverlapQueue {
				if err := d.Cancel(t.Context(), 1, "Ann"); err != nil {
					t.Fatal(err)
				}
				d.settle(t)
				if d.runs[1].State != messaging.RunAwaiting {
					t.Errorf("the queued run is %s", d.runs[1].State)
				}
			}
		})
	}
}

func TestARunByHandBesideAnOpenOneSaysWhatToDo(t *testing.T) {
	tests := map[messaging.RunState]string{
		messaging.RunAwaiting:  "let it send: nudgewire jobs approve 1; or end it: nudgewire jobs cancel 1",
		messaging.RunPaused:    "let it go on: nudgewire jobs resume 1; or end it: nudgewire jobs cancel 1",
		messaging.RunUploading: "wait for it; or end it: nudgewire jobs cancel 1",
	}
	for state, want := range tests {
		t.Run(string(state), func(t *testing.T) {
			job := jobOf(t, people(10), Job{Cron: "* * * * *", Guard: Guard{ApproveOver: 1}})
			d := begin(t, job)
			fireDue(t, d)
			d.runs[0].State = state
			_, err := d.RunNow(t.Context(), job, monday, HandOrder{})
			if err == nil {
				t.Fatal("started beside it")
			}
			if msg, hint := clockErrorWords(err); msg != "run 1 of 2026-05-04 10:00 is still "+state.Words() || hint != want {
				t.Errorf("%s\n%s", msg, hint)
			}
		})
	}
}

func TestANightInNewYork(t *testing.T) {
	tests := map[string]struct {
		cron, slot string
		day        time.Time
		told       string
	}{
		"autumn": {"30 1 * * *", "2026-11-01 01:30", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), ""},
		"spring": {"30 2 * * *", "2026-03-08 03:00", time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), "02:30 does not exist on this day: the clock skips it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tt.day)
			job := jobOf(t, people(3), Job{Cron: tt.cron, Timezone: "America/New_York"})
			d.Use([]*Compiled{job})
			for range 20 * 60 { // twenty hours, each minute
				if _, err := d.Tick(t.Context(), d.now()); err != nil {
					t.Fatal(err)
				}
				d.advance(time.Minute)
			}
			if len(d.runs) != 1 || d.runs[0].Slot != tt.slot || d.runs[0].Began != tt.told {
				t.Fatalf("runs: %+v", d.runs)
			}
			d.settle(t)
			if n := len(d.service.uploads()); n != 1 {
				t.Errorf("%d uploads", n)
			}
		})
	}
}

func TestTwoProcessesFireARunOnce(t *testing.T) {
	d := begin(t, jobOf(t, people(10), Job{Cron: "0 10 * * *", Overlap: OverlapCancel}))
	other := &desk{book: d.book, service: d.service, dir: t.TempDir(), at: monday}
	other.open("other")
	other.Use(d.all())
	for _, one := range []*desk{d, other, d} {
		if _, err := one.Tick(t.Context(), monday); err != nil {
			t.Fatal(err)
		}
	}
	d.settle(t)
	other.settle(t)
	if len(d.runs) != 1 || len(d.service.uploads()) != 1 {
		t.Errorf("%d runs, %d uploads", len(d.runs), len(d.service.uploads()))
	}
}

func TestAMissedTimeIsRecorded(t *testing.T) {
	d := newDesk(t, monday)
	d.Use([]*Compiled{jobOf(t, people(3), Job{Cron: "0 10 * * *"})})
	fireDue(t, d) // first seen; it has missed nothing
	if len(d.runs) != 0 {
		t.Fatalf("a new job fired at once: %+v", d.runs)
	}
	d.advance(26 * time.Hour)
	fireDue(t, d)
	r := d.the(t)
	if r.State != messaging.RunSkipped || r.Cause != messaging.CauseMissed || r.Reason != "missed: nudgewire was not running at 2026-05-05 10:00; on_missed is skip" {
		t.Errorf("%s %s %q", r.State, r.Cause, r.Reason)
	}
	fireDue(t, d)
	if len(d.runs) != 1 {
		t.Errorf("%d runs after a second look", len(d.runs))
	}
}

func TestPauseAndResumeGoOnExactly(t *testing.T) {
	d := begin(t, jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000}))
	d.service.begun, d.service.block = make(chan struct{}), make(chan struct{})
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		fireDue(t, d)
	}()
	<-d.service.begun
	if err := d.Pause(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	close(d.service.block) // the part on its way is taken to its end
	<-settled
	r := d.the(t)
	if r.State != messaging.RunPaused || r.Reason != "paused by Ann" || d.parts[1][0].State != messaging.PartAccepted || len(d.service.uploads()) != 1 {
		t.Fatalf("%s %q, part 1 %s, %d uploads", r.State, r.Reason, d.parts[1][0].State, len(d.service.uploads()))
	}
	d.service.begun = nil
	if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	phones := d.service.phones(t)
	slices.Sort(phones)
	if r = d.the(t); r.State != messaging.RunDone || len(phones) != 300 || len(slices.Compact(phones)) != 300 {
		t.Errorf("%s with %d phones", r.State, len(phones))
	}
}

func TestCancelKeepsTheRestHome(t *testing.T) {
	d := begin(t, jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000}))
	d.service.begun, d.service.block = make(chan struct{}), make(chan struct{})
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		fireDue(t, d)
	}()
	<-d.service.begun
	if err := d.Cancel(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	close(d.service.block)
	<-settled
	if r := d.the(t); r.State != messaging.RunCancelled || len(d.service.uploads()) != 1 || d.parts[1][0].State != messaging.PartAccepted || d.parts[1][1].State != messaging.PartCancelled {
		t.Errorf("%s, %d uploads, parts %s %s", r.State, len(d.service.uploads()), d.parts[1][0].State, d.parts[1][1].State)
	}
	if err := d.Cancel(t.Context(), 1, "Ann"); err == nil || err.Error() != "run 1 is cancelled: there is nothing to cancel" {
		t.Errorf("a second cancel: %v", err)
	}
}

func TestAStopLetsTheUploadEnd(t *testing.T) {
	d := begin(t, jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000}))
	if _, err := d.Tick(t.Context(), monday); err != nil {
		t.Fatal(err)
	}
	d.service.begun, d.service.block = make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- d.Scheduler.Run(ctx) }()
	<-d.service.begun
	stop()
	close(d.service.block)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if r := d.the(t); r.State != messaging.RunUploading || r.Owner != "" || d.parts[1][0].State != messaging.PartAccepted || len(d.service.uploads()) != 1 {
		t.Fatalf("%s owned by %q, part 1 %s", r.State, r.Owner, d.parts[1][0].State)
	}
	d.service.begun = nil
	d.open("two")
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunDone || len(d.service.phones(t)) != 300 {
		t.Errorf("%s with %d phones", r.State, len(d.service.phones(t)))
	}
}

func TestAStopCutsAnUploadAfterTheGrace(t *testing.T) {
	d := begin(t, jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000}))
	d.Grace = time.Millisecond
	if _, err := d.Tick(t.Context(), monday); err != nil {
		t.Fatal(err)
	}
	d.service.begun, d.service.block = make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- d.Scheduler.Run(ctx) }()
	<-d.service.begun
	stop()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if p := d.parts[1][0]; p.State != messaging.PartInDoubt || p.Reason != "context canceled" {
		t.Errorf("part 1 is %s %q", p.State, p.Reason)
	}
}

// A shortDisk is a store that is full after some rows.
type shortDisk struct {
	*book
	left int
}

func (s *shortDisk) AddRows(ctx context.Context, owner string, id messaging.RunID, rows []messaging.ListRow) error {
	if s.left -= len(rows); s.left < 0 {
		return &os.PathError{Op: "write", Path: "nudgewire.db", Err: syscall.ENOSPC}
	}
	return s.book.AddRows(ctx, owner, id, rows)
}

func TestBadInputEndsInAClearState(t *testing.T) {
	header := []string{"phone", "name"}
	broken := people(5000)
	broken.fail = errors.New("connection reset")
	tests := map[string]struct {
		source lists.Source
		job    Job
		disk   int
		state  messaging.RunState
		reason string
	}{
		"header only":     {listSource{header: header}, Job{}, 0, messaging.RunDone, "the list has column names and no rows, so there is nobody to send to; if that is wrong, mend what writes the list, then: nudgewire jobs run winback"},
		"no phone":        {listSource{header: []string{"tel", "name"}}, Job{}, 0, messaging.RunFailed, `columns.phone: the source has no column "phone"; the source has “tel”, “name”`},
		"two phones":      {listSource{header: []string{"phone", "name", "phone"}}, Job{}, 0, messaging.RunFailed, `columns.phone: the source has 2 columns named "phone", numbers 1 and 3; give one of them another name`},
		"a misspelt one":  {listSource{header: []string{"phone", "nmae"}}, Job{}, 0, messaging.RunFailed, `columns.var_1: the source has no column "name"; did you mean "nmae"? The source has “phone”, “nmae”`},
		"all bad":         {listSource{header: header, rows: [][]string{{"4.47911E+11", "A"}, {"12", "B"}, {"4.47911E+11", "C"}}}, Job{}, 0, messaging.RunFailed, "none of the 3 rows can be sent: 2 of them because the phone was shortened by a spreadsheet (4.47911E+11 lost its last digits); format that column as text (first in row 2); mend the list, or columns: of the job, then: nudgewire jobs run winback"},
		"broken half way": {broken, Job{MaxSize: 2000}, 0, messaging.RunFailed, "connection reset"},
		"disk full":       {people(50000), Job{MaxSize: 10_000}, 20_000, messaging.RunFailed, "the disk is full: free some space, then run the job again; nothing was uploaded (write nudgewire.db: no space left on device)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.job.Cron = "0 10 * * *"
			d := begin(t, jobOf(t, tt.source, tt.job))
			if tt.disk > 0 {
				d.Store = &shortDisk{d.book, tt.disk}
			}
			fireDue(t, d)
			r := d.the(t)
			if r.State != tt.state || r.Reason != tt.reason || len(d.service.uploads()) != 0 {
				t.Errorf("%s %q after %d uploads, want %s %q", r.State, r.Reason, len(d.service.uploads()), tt.state, tt.reason)
			}
			for _, row := range d.rows[r.ID] {
				if row.Number > 0 {
					t.Fatalf("row %d was left behind", row.Number)
				}
			}
		})
	}
}

func TestADryRunCountsWhatTheRunDoes(t *testing.T) {
	l := people(1000)
	l.rows = append(l.rows, []string{"+447911100001", "again"}, []string{"12", "short"}, []string{"+447911200000", " "})
	job := jobOf(t, l, Job{Cron: "0 10 * * *", MaxSize: 5000, Guard: Guard{MaxRows: 10}})
	d := begin(t, job)
	d.Prices = func(string) Prices {
		return prices(func(c messaging.Category, phone string) float64 {
			if c != messaging.Marketing || !strings.HasPrefix(phone, "44") {
				t.Errorf("a price is asked for %s %s", c, phone)
			}
			return 0.5
		})
	}
	d.Rate = func(string) float64 { return 2 }
	f, err := d.DryRun(t.Context(), job, monday, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.rows) != 0 || len(d.runs) != 0 {
		t.Errorf("the dry run left something behind: %d runs", len(d.runs))
	}
	want := []messaging.Excluded{
		{Kind: KindDuplicate, Reason: "an earlier row has the same phone", Count: 1, First: 1002},
		{Kind: KindPhone, Reason: "the phone is too short for GB", Count: 1, First: 1003},
		{Kind: KindVariable, Reason: "var_1 is empty: {{ name }}; give it a default", Count: 1, First: 1004},
	}
	if diff := cmp.Diff(want, f.Tally.Excluded); diff != "" {
		t.Errorf("excludedReasons (-want +got):\n%s", diff)
	}
	if f.Tally.Rows != 1003 || f.Tally.Kept != 1000 || f.Tally.Points != 500 || len(f.Previews) != 10 || f.Previews[0].Variables[0] != "Name 0" {
		t.Errorf("forecast %+v", f)
	}
	if diff := cmp.Diff([]string{"1,000 rows are more than guard.max_rows, 10"}, f.Awaiting); diff != "" {
		t.Error(diff)
	}
	if f.Takes < time.Duration(f.Tally.Parts)*time.Second/2 {
		t.Errorf("it takes %s", f.Takes)
	}
	fireDue(t, d)
	r := d.the(t)
	if diff := cmp.Diff(f.Tally, r.Tally); diff != "" {
		t.Errorf("run against forecast:\n%s", diff)
	}
	var left []string
	for _, row := range d.rows[r.ID] {
		if row.Number < 0 {
			left = append(left, fmt.Sprintf("%d,%s,%s,%s", row.Row, row.Reason, row.Given, row.Phone))
		}
	}
	text := []string{
		"1002,an earlier row has the same phone,+447911100001,447911100001",
		"1003,the phone is too short for GB,12,",
		"1004,var_1 is empty: {{ name }}; give it a default,+447911200000,447911200000",
	}
	if diff := cmp.Diff(text, left); diff != "" {
		t.Errorf("excluded (-want +got):\n%s", diff)
	}
}

func TestPerMessageQueuesEachRowOnce(t *testing.T) {
	job := jobOf(t, people(2000), Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, MaxSize: 10_000, Send: &Message{Template: "winback", Expires: units.Duration(time.Hour)}})
	for _, call := range []string{"", "Enqueue", "SetRun done"} {
		t.Run("crash behind "+call, func(t *testing.T) {
			d := begin(t, job)
			d.crashAt = call
			fireDue(t, d)
			d.revive()
			d.open("two")
			d.settle(t)
			r := d.the(t)
			if r.State != messaging.RunDone || r.Reason != "" || len(d.queued[1]) != 2000 || len(d.service.uploads()) != 0 {
				t.Fatalf("%s %q, %d rows queued", r.State, r.Reason, len(d.queued[1]))
			}
			want := messaging.Message{
				Trigger: "winback", Key: "run 1 row 2000", Phone: "447911101999", Category: messaging.Marketing,
				Send:  messaging.Send{Template: "winback", Language: "en", Variables: []string{"Name 1999"}},
				State: messaging.StateWaiting, DueAt: monday, CreatedAt: monday, UpdatedAt: monday, ExpiresAt: monday.Add(time.Hour), Config: "v1",
			}
			got := d.queued[1][2000]
			if call != "" { // the clock went on while the store was gone
				want.DueAt, want.CreatedAt, want.UpdatedAt, want.ExpiresAt = got.DueAt, got.DueAt, got.DueAt, got.DueAt.Add(time.Hour)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the last row (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACanaryStopsAndAPersonLetsGo(t *testing.T) {
	job := jobOf(t, people(1000), Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "winback"}, Canary: &Canary{First: Share{Of: 0.01}, Wait: units.Duration(10 * time.Minute), StopIf: failedOver(0.1)}})
	d := begin(t, job)
	d.ended, d.failed = 8, 2
	fireDue(t, d)
	r := d.the(t)
	if r.State != messaging.RunPaused || len(d.queued[1]) != 10 || r.Reason != "the canary stopped it: 8 of the first 10 messages have ended and 2 of these failed, which is more than 10%" {
		t.Fatalf("%s %q, %d rows queued", r.State, r.Reason, len(d.queued[1]))
	}
	if d.now().Sub(monday) < 10*time.Minute {
		t.Errorf("it looked after %s", d.now().Sub(monday))
	}
	if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r = d.the(t); r.State != messaging.RunDone || len(d.queued[1]) != 1000 {
		t.Errorf("%s, %d rows queued", r.State, len(d.queued[1]))
	}
}

func TestARunByHand(t *testing.T) {
	job := jobOf(t, people(3), Job{})
	d := newDesk(t, monday)
	d.Use([]*Compiled{job})
	id, err := d.RunNow(t.Context(), job, monday, HandOrder{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.RunNow(t.Context(), job, monday, HandOrder{}); err == nil || err.Error() != "run 1 of 2026-05-04 10:00:00 by hand is still planned" {
		t.Errorf("a second one: %v", err)
	}
	d.settle(t)
	if r := d.the(t); r.ID != id || r.State != messaging.RunDone || r.Cause != messaging.CauseHand {
		t.Errorf("%+v", r)
	}
}

// A run that ends at once leaves room for another in the same second.
func TestTwoRunsByHandInOneSecond(t *testing.T) {
	job := jobOf(t, people(0), Job{})
	d := newDesk(t, monday)
	d.Use([]*Compiled{job})
	for _, slot := range []string{"2026-05-04 10:00:00 by hand", "2026-05-04 10:00:00 by hand 2", "2026-05-04 10:00:00 by hand 3"} {
		if _, err := d.RunNow(t.Context(), job, monday, HandOrder{}); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		if r := d.the(t); r.Slot != slot || r.State != messaging.RunDone {
			t.Errorf("%s %q, want %q", r.State, r.Slot, slot)
		}
	}
}

func TestAHaltHoldsTheNextPart(t *testing.T) {
	d := begin(t, jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000}))
	admitted := 0
	d.Line = func(string) Line { return Line{d.service, admit(func() { admitted++ })} }
	d.Held = heldWhile(func(r *messaging.Run) bool {
		return r.Job == "winback" && len(d.service.uploads()) == 1 && d.now().Before(monday.Add(time.Hour))
	})
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunDone || d.now().Before(monday.Add(time.Hour)) || admitted != len(d.service.uploads()) {
		t.Errorf("%s at %s, %d admitted", r.State, d.now(), admitted)
	}
}

// brokenSource panics in its middle.
type brokenSource struct{ listSource }

func (b brokenSource) Open(context.Context) (lists.Rows, error) {
	return &brokenRows{listRows{b.listSource, 0}}, nil
}

type brokenRows struct{ listRows }

func (b *brokenRows) Next() (lists.Row, int64, error) {
	if b.n == 700 {
		panic("index out of range")
	}
	return b.listRows.Next()
}

func TestAReaderThatBreaksEndsItsRunOnly(t *testing.T) {
	d := begin(t, jobOf(t, brokenSource{people(1000)}, Job{Cron: "0 10 * * *"}))
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunFailed || r.Reason != "the source cannot be read: its reader broke: index out of range" || len(d.service.uploads()) != 0 {
		t.Errorf("%s %q", r.State, r.Reason)
	}
}

func TestProgressCountsUp(t *testing.T) {
	d := begin(t, jobOf(t, people(2000), Job{Cron: "0 10 * * *", MaxSize: 20_000}))
	var got []Progress
	d.OnProgress = func(p Progress) { got = append(got, p) }
	d.service.answer = func(int) error { d.advance(time.Second); return nil }
	fireDue(t, d)
	last := got[len(got)-1]
	if last.State != messaging.RunUploading || last.Rows != 2000 || last.Of != 2000 || last.Parts != last.OfParts || last.OfParts < 2 || last.Left != 0 || last.PerSecond <= 0 {
		t.Errorf("the last of %d reports: %+v", len(got), last)
	}
	for i := range got {
		if i > 0 && got[i].State == got[i-1].State && got[i].Rows < got[i-1].Rows {
			t.Errorf("report %d goes back: %+v", i, got[i])
		}
	}
}

// A planned run whose job left the config is paused. Where nobody knows what that job said, no word lets it go.
func TestAJobThatLeftTheConfig(t *testing.T) {
	job := jobOf(t, people(3), Job{Cron: "0 10 * * *"})
	d := begin(t, job)
	if _, err := d.Tick(t.Context(), monday); err != nil {
		t.Fatal(err)
	}
	d.Use(nil)
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunPlanned {
		t.Errorf("nobody has looked at it: %s %q", r.State, r.Reason)
	}
	if err := d.Hold(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if r := d.the(t); r.State != messaging.RunPaused || r.Reason != "its job is gone from the config" || r.Before != messaging.RunPlanned {
		t.Errorf("%s %q", r.State, r.Reason)
	}
	err := d.Resume(t.Context(), 1, "Ann")
	if words, hint := clockErrorWords(err); !strings.HasPrefix(words, "winback is gone from the config, and what config ") || hint != "put the job back, or end the run: nudgewire jobs cancel" {
		t.Errorf("resumed by rules that nobody knows: %v", err)
	}
	d.Use([]*Compiled{job})
	if err := d.Hold(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunDone || r.Released != "" {
		t.Errorf("with its job back it is %s %q", r.State, r.Reason)
	}
}
