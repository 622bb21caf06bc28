package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A register is Facts: what it has of a contact by now is known.
type register struct {
	mu  sync.Mutex
	who map[messaging.Phone]Known
}

func (r *register) block(phones ...messaging.Phone) {
	r.set(messaging.DueFacts{Blocked: messaging.BlockedWords("")}, phones...)
}

func (r *register) set(facts messaging.DueFacts, phones ...messaging.Phone) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range phones {
		r.who[p] = Known{DueFacts: facts}
	}
}

func (r *register) About(_ context.Context, phones []messaging.Phone, _ Question) ([]Known, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Known, len(phones))
	for i, p := range phones {
		out[i] = r.who[p]
	}
	return out, nil
}

// withRegister has a desk ask a register.
func withRegister(d *desk) *register {
	r := &register{who: map[messaging.Phone]Known{}}
	d.Facts = r
	return r
}

// Whoever may not get it any more when a part's turn comes does not get it, however the run came to wait.
func TestWhoIsBlockedInAnyGapGetsNothing(t *testing.T) {
	refused := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.NotAccepted, HTTPStatus: 429}
	lost := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.InDoubt, Err: errors.New("connection reset")}
	const gone = "447911100001"
	gaps := map[string]func(t *testing.T, d *desk, block func()){
		"while it waits to be approved": func(t *testing.T, d *desk, block func()) {
			d.all()[0].Guard = Guard{ApproveOver: 1}
			fireDue(t, d)
			block()
			if err := d.Approve(t.Context(), 1, by("Ann")); err != nil {
				t.Fatal(err)
			}
		},
		"while it is paused": func(t *testing.T, d *desk, block func()) {
			d.all()[0].Guard = Guard{ApproveOver: 1}
			fireDue(t, d)
			if err := errors.Join(d.Approve(t.Context(), 1, by("Ann")), d.Pause(t.Context(), 1, "Ann")); err != nil {
				t.Fatal(err)
			}
			block()
			if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
				t.Fatal(err)
			}
		},
		"while it is halted": func(t *testing.T, d *desk, block func()) {
			looks := 0
			d.Held = heldWhile(func(*messaging.Run) bool {
				if looks++; looks == 3 {
					block()
				}
				return looks < 6
			})
		},
		"while it waits for the rate": func(_ *testing.T, d *desk, block func()) {
			d.Line = func(string) Line { return Line{d.service, admit(block)} }
		},
		"while it waits to be tried again": func(_ *testing.T, d *desk, block func()) {
			d.service.answer = func(int) error {
				d.service.mu.Lock()
				defer d.service.mu.Unlock()
				d.service.got, d.service.answer = nil, nil // the service took nothing, once
				block()
				return refused
			}
		},
		"before a start after a crash": func(t *testing.T, d *desk, block func()) {
			d.crashAt = "SaveParts"
			fireDue(t, d)
			block()
			d.revive()
			who := d.Facts
			d.open("two")
			d.Facts = who
		},
		"after a recheck that a crash cut off": func(t *testing.T, d *desk, block func()) {
			d.all()[0].Guard = Guard{ApproveOver: 1}
			fireDue(t, d)
			block()
			if err := d.Approve(t.Context(), 1, by("Ann")); err != nil {
				t.Fatal(err)
			}
			d.crashAt = "NoteRows"
			d.settle(t)
			d.revive()
			who := d.Facts
			d.open("two")
			d.Facts = who
		},
		"before a part in doubt goes again": func(t *testing.T, d *desk, block func()) {
			d.service.answer = func(int) error { return lost }
			fireDue(t, d)
			block()
			d.service.answer, d.service.got = nil, nil
			r, p, err := ResolvePart(d.the(t), d.parts[1], 1, messaging.ResolveResend, "Ann", "", d.now())
			if err != nil {
				t.Fatal(err)
			}
			d.runs[0], d.parts[1][0] = r, p
		},
	}
	for name, gap := range gaps {
		t.Run(name, func(t *testing.T) {
			d := begin(t, jobOf(t, people(3), Job{Cron: "0 10 * * *"}))
			who := withRegister(d)
			gap(t, d, func() { who.block(gone) })
			fireDue(t, d)
			r := d.the(t)
			if phones := d.service.phones(t); !slices.Equal(phones, []string{"447911100000", "447911100002"}) || r.State == messaging.RunPaused {
				t.Fatalf("%s: %q were sent to", r.State, phones)
			}
			p := d.parts[1][0]
			want := []messaging.Excluded{{Kind: KindContact, Reason: "the contact is blocked", Count: 1, First: 3, Late: true}}
			if diff := cmp.Diff(want, r.Tally.Excluded); diff != "" || r.Tally.Kept != 2 || r.Tally.Rows != 3 || r.Tally.Bytes != p.Bytes || p.Rows != 2 || p.Ranges.Has(2) {
				t.Errorf("%+v, part %+v\n%s", r.Tally, p, diff)
			}
			if diff := cmp.Diff([]string{"the contact is blocked"}, d.reasons(1)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A part may lose rows more than once, and all of them: what it lost adds up, and the run ends well.
func TestAPartMayLoseAllItsRows(t *testing.T) {
	d := begin(t, jobOf(t, people(3), Job{Cron: "0 10 * * *"}))
	who := withRegister(d)
	again := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.NotAccepted, HTTPStatus: 429}
	d.service.answer = func(n int) error {
		who.block(messaging.Phone(fmt.Sprintf("44791110000%d", n-1)))
		return again
	}
	fireDue(t, d)
	r, p := d.the(t), d.parts[1][0]
	if r.State != messaging.RunDone || p.State != messaging.PartExcluded || p.Rows != 0 || r.Tally.Kept != 0 || r.Tally.ExcludedRows() != 3 {
		t.Fatalf("%s %q, %+v, part %+v", r.State, r.Reason, r.Tally, p)
	}
	if n := len(d.service.uploads()); n != 3 {
		t.Errorf("%d uploads", n)
	}
	if n := len(d.reasons(1)); n != 3 {
		t.Errorf("%d rows say why", n)
	}
	if _, err := RetryParts(r, d.parts[1], "Ann", 1, false, d.now()); err == nil {
		t.Error("what nobody is left on goes again")
	}
}

// Rows that are handed over one by one are asked about in the batch in which they are, and one that may not
// get it is dropped with the reason: it has its number, and is not asked about twice.
func TestARowThatMayNotGoIsDroppedWhenItIsHandedOver(t *testing.T) {
	d := begin(t, perMessage(t, 3, Job{Guard: Guard{ApproveOver: 1}, Exclude: Exclude{MessagedWithin: units.Duration(7 * 24 * time.Hour)}}))
	who := withRegister(d)
	fireDue(t, d)
	who.set(messaging.DueFacts{Messaged: &messaging.Contacted{Run: 7, Trigger: "weekly", At: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)}}, "447911100001")
	if err := d.Approve(t.Context(), 1, by("Ann")); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	var states []string
	for n := int64(1); n <= 3; n++ {
		states = append(states, string(d.queued[1][n].State)+" "+d.queued[1][n].Reason)
	}
	want := []string{"waiting ", "dropped the contact was messaged within 7d, by run 7 of weekly on 2026-05-04 09:00 UTC", "waiting "}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
}

// perMessage is a job of n rows that are sent one by one.
func perMessage(t *testing.T, n int, j Job) *Compiled {
	t.Helper()
	j.Cron, j.Deliver, j.Send = "0 10 * * *", messaging.DeliverPerMessage, &Message{Template: "winback"}
	return jobOf(t, people(n), j)
}

// Two marks: who let it pass its guard says nothing about its canary, however the run came by it.
func TestApprovingTheGuardLeavesTheCanary(t *testing.T) {
	canary := &Canary{First: Share{Rows: 5}, Wait: 3e9, StopIf: failedOver(0.1)}
	for name, fire := range map[string]func(d *desk) error{
		"approved when it was held": func(d *desk) error { fireDue(t, d); return d.Approve(t.Context(), 1, by("Ann")) },
		"approved in advance": func(d *desk) error {
			_, err := d.RunNow(t.Context(), d.all()[0], d.now(), HandOrder{Approved: "Ann"})
			return err
		},
		"approved, paused and resumed by a person": func(d *desk) error {
			fireDue(t, d)
			return errors.Join(d.Approve(t.Context(), 1, by("Ann")), d.Pause(t.Context(), 1, "Ann"), d.Resume(t.Context(), 1, "Ben"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := begin(t, perMessage(t, 30, Job{Guard: Guard{ApproveOver: 10}, Canary: canary}))
			d.ended, d.failed = 5, 1
			if err := fire(d); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			r := d.the(t)
			if r.State != messaging.RunPaused || r.Stopped != messaging.StopCanary || r.Approved != "Ann" || r.Overruled != "" || len(d.queued[1]) != 5 {
				t.Fatalf("%s by %q, approved by %q, %d rows handed over", r.State, r.Stopped, r.Approved, len(d.queued[1]))
			}
			if err := d.Resume(t.Context(), 1, "Ben"); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			if r = d.the(t); r.State != messaging.RunDone || r.Overruled != "Ben" || r.Stopped != "" || len(d.queued[1]) != 30 {
				t.Errorf("%s by %q, overruled by %q, %d rows", r.State, r.Stopped, r.Overruled, len(d.queued[1]))
			}
		})
	}
}

// What the words of a reason are, nothing hangs on: a run that a person paused is no canary's, whatever
// that person is called.
func TestNobodyIsTakenForACanaryByWords(t *testing.T) {
	d := begin(t, perMessage(t, 30, Job{Guard: Guard{ApproveOver: 10}, Canary: &Canary{First: Share{Rows: 5}, Wait: 3e9, StopIf: failedOver(0.1)}}))
	d.ended, d.failed = 5, 1
	fireDue(t, d)
	if err := d.Pause(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.runs[0].Reason = "the canary stopped it: so they said"
	if err := d.Resume(t.Context(), 1, "Ben"); err != nil || d.runs[0].Overruled != "" {
		t.Errorf("overruled by %q, %v", d.runs[0].Overruled, err)
	}
}

// The service refuses the campaign, not the file: the run stops before the next one, and goes on with
// the refused one where that can help.
func TestARefusalOfTheCampaignStopsTheRun(t *testing.T) {
	for status, want := range map[int]struct {
		stop    messaging.RunStop
		words   string
		part    messaging.PartState
		uploads int // once it is resumed
	}{
		401: {messaging.StopKey, "the service refuses the API key; resume after correcting api.key", messaging.PartWaiting, 4},
		402: {messaging.StopRejection, "create-with-csv: 402 Payment Required: insufficient points; resume once the account has points", messaging.PartWaiting, 4},
		404: {messaging.StopRejection, "create-with-csv: 404 Not Found: insufficient points; resume after correcting api.base_url, or the template", messaging.PartWaiting, 4},
		413: {messaging.StopSize, "create-with-csv: 413 Request Entity Too Large: insufficient points; set max_size of the job lower, reload, and resume: what is left is cut anew", messaging.PartWaiting, 4},
		400: {messaging.StopRejection, "create-with-csv: 400 Bad Request: insufficient points; resume sends the parts after it, and jobs retry then sends this one again", messaging.PartRejected, 3},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			d := begin(t, jobOf(t, people(200), Job{Cron: "0 10 * * *", MaxSize: 2000}))
			d.service.answer = func(n int) error {
				if n == 1 {
					return &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.Rejected, HTTPStatus: status, Words: "insufficient points"}
				}
				return nil
			}
			fireDue(t, d)
			r := d.the(t)
			if r.State != messaging.RunPaused || r.Stopped != want.stop || r.Reason != want.words || len(d.service.uploads()) != 1 || d.parts[1][0].State != want.part || d.parts[1][1].State != messaging.PartWaiting {
				t.Fatalf("%s by %s %q after %d uploads, part %s", r.State, r.Stopped, r.Reason, len(d.service.uploads()), d.parts[1][0].State)
			}
			if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			if n := len(d.service.uploads()); n != want.uploads || !d.the(t).State.Final() {
				t.Errorf("%s after %d uploads", d.the(t).State, n)
			}
		})
	}
}

// After 413 the rest is cut anew: everybody gets it once, what was taken stays, and what was cut is not
// sent by a retry.
func TestWhatIsTooLargeIsCutAnew(t *testing.T) {
	for _, crash := range []string{"", "Point", "ClaimPart 4"} {
		t.Run("crash "+crash, func(t *testing.T) {
			l := people(200)
			d := begin(t, jobOf(t, l, Job{Cron: "0 10 * * *", MaxSize: 2000}))
			d.service.answer = func(n int) error {
				if n != 2 {
					return nil
				}
				d.service.mu.Lock()
				d.service.got = d.service.got[:1]
				d.service.answer = nil
				d.service.mu.Unlock()
				return &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.Rejected, HTTPStatus: 413}
			}
			fireDue(t, d)
			if r := d.the(t); r.Stopped != messaging.StopSize {
				t.Fatalf("%s by %q: %s", r.State, r.Stopped, r.Reason)
			}
			less := jobOf(t, l, Job{Cron: "0 10 * * *", MaxSize: 1000})
			d.Use([]*Compiled{less})
			if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
				t.Fatal(err)
			}
			d.crashAt = crash
			d.settle(t)
			if crash != "" {
				d.revive()
				d.open("two")
				d.settle(t)
			}
			r, parts := d.the(t), d.parts[1]
			phones := d.service.phones(t)
			slices.Sort(phones)
			if crash == "ClaimPart 4" {
				if r.State != messaging.RunPartial || parts[3].State != messaging.PartInDoubt || int64(len(phones)) != 200-parts[3].Rows {
					t.Fatalf("%s %q with %d phones", r.State, r.Reason, len(phones))
				}
				return
			}
			if r.State != messaging.RunDone || len(slices.Compact(phones)) != 200 || len(phones) != 200 {
				t.Fatalf("%s %q: %d phones", r.State, r.Reason, len(phones))
			}
			rows := int64(0)
			for i, p := range parts {
				if rows += p.Rows; i > 0 && p.Bytes > 1000 || p.State != messaging.PartAccepted {
					t.Errorf("part %d of %d bytes is %s", p.Number, p.Bytes, p.State)
				}
			}
			if rows != 200 || r.Tally.Kept != 200 || r.Tally.Parts != len(parts) {
				t.Errorf("%d rows, %+v", rows, r.Tally)
			}
			if _, err := RetryParts(r, parts, "Ann", 1, false, d.now()); err == nil {
				t.Error("a part that was cut goes again")
			}
		})
	}
}

// An answer that is known is held until it can be stored, however long that takes.
func TestAnAnswerIsHeldUntilItCanBeStored(t *testing.T) {
	d := begin(t, jobOf(t, people(3), Job{Cron: "0 10 * * *"}))
	full := monday.Add(10 * time.Minute)
	d.Store = &fullDisk{book: d.book, now: d.now, until: full}
	fireDue(t, d)
	r, p := d.the(t), d.parts[1][0]
	if r.State != messaging.RunDone || p.State != messaging.PartAccepted || d.now().Before(full) || len(d.service.uploads()) != 1 {
		t.Errorf("%s, part %s %q at %s", r.State, p.State, p.Reason, d.now())
	}
}

// A fullDisk stores no part's end until some time.
type fullDisk struct {
	*book
	now   func() time.Time
	until time.Time
}

func (f *fullDisk) FinishPart(ctx context.Context, p messaging.Part) error {
	if f.now().Before(f.until) {
		return errors.New("database or disk is full")
	}
	return f.book.FinishPart(ctx, p)
}

// A stalledSource sends nothing until its reading is given up.
type stalledSource struct{ begun chan struct{} }

func (stalledSource) String() string { return "stalled" }

func (s stalledSource) Open(ctx context.Context) (lists.Rows, error) {
	close(s.begun)
	<-ctx.Done()
	return nil, ctx.Err()
}

// A person's word ends the reading of a list of which nothing comes, and the place is free for the run that
// waits for it and says so.
func TestAPersonsWordEndsTheReading(t *testing.T) {
	for name, say := range map[string]func(d *desk) error{
		"cancel": func(d *desk) error { return d.Cancel(t.Context(), 1, "Ann") },
		"pause":  func(d *desk) error { return d.Pause(t.Context(), 1, "Ann") },
	} {
		t.Run(name, func(t *testing.T) {
			stalled := stalledSource{make(chan struct{})}
			slow := jobOf(t, stalled, Job{Name: "slow"})
			next := jobOf(t, people(3), Job{Name: "next"})
			d := newDesk(t, monday)
			d.Scheduler.slots = make(chan struct{}, 1)
			d.Use([]*Compiled{slow, next})
			ctx, stop := context.WithCancel(t.Context())
			d.Scheduler.Now = time.Now
			if _, err := d.RunNow(ctx, slow, time.Now(), HandOrder{}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- d.Scheduler.Run(ctx) }()
			<-stalled.begun
			if _, err := d.RunNow(ctx, next, time.Now(), HandOrder{}); err != nil {
				t.Fatal(err)
			}
			until(t, func() bool { return slices.Equal(d.WaitsFor(2), []messaging.RunID{1}) })
			said := time.Now()
			if err := say(d); err != nil {
				t.Fatal(err)
			}
			until(t, func() bool { r, err := d.book.Run(ctx, 2); return err == nil && r.State == messaging.RunDone })
			if took := time.Since(said); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func until(t *testing.T, what func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !what(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to that")
		}
	}
}

// The list of the last run, sent once more with the same template, waits for a person; unless one was told
// which run it was and agreed, or the job may.
func TestTheSameListTwiceIsHeld(t *testing.T) {
	fire := func(d *desk, j *Compiled, o HandOrder) messaging.Run {
		t.Helper()
		d.advance(2 * time.Second)
		if _, err := d.RunNow(t.Context(), j, d.now(), o); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		return d.the(t)
	}
	for name, tt := range map[string]struct {
		second *Compiled
		order  HandOrder
		held   string
	}{
		"by hand":              {jobOf(t, people(3), Job{}), HandOrder{}, "3 rows, the same list that run 1 sent on 2026-05-04 10:00:02 UTC"},
		"told and agreed":      {jobOf(t, people(3), Job{}), HandOrder{Repeats: 1}, ""},
		"told of another run":  {jobOf(t, people(3), Job{}), HandOrder{Repeats: 7}, "3 rows, the same list that run 1 sent on 2026-05-04 10:00:02 UTC"},
		"approved in advance":  {jobOf(t, people(3), Job{}), HandOrder{Approved: "Ann"}, ""},
		"the job may":          {jobOf(t, people(3), Job{Guard: Guard{Repeat: RepeatSend}}), HandOrder{}, ""},
		"another row":          {jobOf(t, people(4), Job{}), HandOrder{}, ""},
		"with another message": {jobOf(t, people(3), Job{Campaign: &Campaign{TemplateID: 7}}), HandOrder{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, monday)
			first := jobOf(t, people(3), Job{})
			d.Use([]*Compiled{first})
			if r := fire(d, first, HandOrder{}); r.State != messaging.RunDone {
				t.Fatalf("%s %q", r.State, r.Reason)
			}
			d.Use([]*Compiled{tt.second})
			f, err := d.DryRun(t.Context(), tt.second, d.now(), nil)
			if same := tt.second.Guard.Repeat != RepeatSend && name != "another row" && name != "with another message"; err != nil || (f.Repeats == 1) != same {
				t.Errorf("forecast: %d %q, %v", f.Repeats, f.RepeatWords, err)
			}
			r := fire(d, tt.second, tt.order)
			if held := r.State == messaging.RunAwaiting; held != (tt.held != "") || r.Reason != tt.held {
				t.Errorf("%s %q, want %q", r.State, r.Reason, tt.held)
			}
		})
	}
}

// Who is excluded between two runs makes no other list of it, in either order.
func TestWhoIsExcludedMakesNoOtherList(t *testing.T) {
	const one = "447911100001"
	for name, tt := range map[string]struct {
		exclude       Exclude
		before, after bool // excluded at the first run, at the second
		held          bool
	}{
		"blocked between them":                       {Exclude{}, false, true, true},
		"unblocked between them":                     {Exclude{}, true, false, true},
		"reached of late, so it cannot get it twice": {Exclude{MessagedWithin: units.Duration(time.Hour)}, true, true, false},
		"reached longer ago":                         {Exclude{MessagedWithin: units.Duration(time.Second)}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, people(3), Job{Exclude: tt.exclude})
			d := newDesk(t, monday)
			d.Use([]*Compiled{j})
			for _, excluded := range []bool{tt.before, tt.after} {
				r := withRegister(d)
				if excluded {
					r.block(one)
				}
				d.advance(2 * time.Second)
				if _, err := d.RunNow(t.Context(), j, d.now(), HandOrder{}); err != nil {
					t.Fatal(err)
				}
				d.settle(t)
			}
			if r := d.the(t); (r.State == messaging.RunAwaiting) != tt.held || tt.held && !strings.Contains(r.Reason, "the same list that run 1 sent") {
				t.Errorf("%s %q", r.State, r.Reason)
			}
		})
	}
}

// A run that was cancelled after some of it left has sent, and one that was cancelled before has not.
func TestACancelledRunThatSentCounts(t *testing.T) {
	for name, after := range map[string]int{"before it sent": 0, "after its first part": 1} {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, people(300), Job{MaxSize: 2000})
			d := newDesk(t, monday)
			d.Use([]*Compiled{j})
			d.service.answer = func(n int) error {
				if n > after {
					return &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.Rejected, HTTPStatus: 402, Words: "insufficient points"}
				}
				return nil
			}
			if _, err := d.RunNow(t.Context(), j, d.now(), HandOrder{}); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			if err := d.Cancel(t.Context(), 1, "Ann"); err != nil {
				t.Fatal(err)
			}
			d.service.answer = nil
			d.advance(2 * time.Second)
			if _, err := d.RunNow(t.Context(), j, d.now(), HandOrder{}); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			want := ""
			if after > 0 {
				want = "300 rows, the same list that run 1 sent in part and was cancelled on 2026-05-04 10:00:00 UTC"
			}
			if r := d.the(t); (r.State == messaging.RunAwaiting) != (want != "") || r.Reason != want {
				t.Errorf("%s %q, want %q", r.State, r.Reason, want)
			}
		})
	}
}

func TestAJobThatFiresOftenIsWarnedOf(t *testing.T) {
	for line, times := range map[string]int{"* 10 * * MON": 60, "* * * * *": 60, "*/15 * * * *": 4, "0 * * * *": 0, "0 10 * * 7": 0, "0,30 9 1 * *": 2} {
		j := Job{Name: "winback", Cron: line, Source: lists.Origin{CSV: "x.csv"}, Columns: columns("phone", "phone"), Campaign: &Campaign{TemplateID: 7}}
		_, problems := Compile([]Job{j}, Env{Country: "GB"})
		var got []string
		for _, p := range problems {
			got = append(got, p.Msg)
			if !p.Warning {
				t.Errorf("%s: %v", line, p)
			}
		}
		want := fmt.Sprintf("%q fires %d times within an hour, and each time sends to the whole list", line, times)
		if times == 0 && len(got) > 0 || times > 0 && !slices.Contains(got, want) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestSundayIsSevenToo(t *testing.T) {
	from := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC) // a Monday
	for line, want := range map[string][]int{"0 10 * * 7": {10, 17}, "0 10 * * 6-7": {9, 10}, "0 10 * * 1,7": {4, 10}, "0 10 * * 5-7/2": {8, 10}, "0 10 * * SUN": {10, 17}} {
		s, err := ParseSchedule(line, time.UTC)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		at := from
		for _, day := range want {
			f, ok := s.Next(at)
			if at = f.At; !ok || at.Day() != day {
				t.Errorf("%s: %s, want day %d", line, at, day)
			}
		}
	}
	for _, line := range []string{"0 10 L * *", "0 10 * * L"} {
		if _, err := ParseSchedule(line, time.UTC); err == nil || !strings.Contains(err.Error(), "the last day of a month is not known here") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestPointsAreDecimals(t *testing.T) {
	d := newDesk(t, monday)
	d.Prices = func(string) Prices { return prices(func(messaging.Category, string) float64 { return 0.1 }) }
	j := jobOf(t, people(8000), Job{Guard: Guard{MaxPoints: 800}})
	f, err := d.DryRun(t.Context(), j, monday, nil)
	if err != nil || f.Tally.Points != 800 || len(f.Awaiting) != 0 {
		t.Errorf("%v points, held by %q, %v", f.Tally.Points, f.Awaiting, err)
	}
}

// A part that changes again and again while it is cut waits longer each time, and is cut smaller: it neither spins nor starves.
func TestAPartThatChangesAgainWaitsAndGetsSmaller(t *testing.T) {
	d := begin(t, jobOf(t, people(64), Job{Cron: "0 10 * * *"}))
	d.changes = 5
	began := d.now()
	fireDue(t, d)
	r := d.the(t)
	first := d.parts[1][0]
	if waited := d.now().Sub(began); r.State != messaging.RunDone || first.Rows != 4 || waited < 15*time.Second {
		t.Errorf("%s: its first part has %d rows, after %s", r.State, first.Rows, waited)
	}
	if phones := d.service.phones(t); len(phones) != 64 || len(d.parts[1]) != 2 {
		t.Errorf("%d were sent to, in %d parts", len(phones), len(d.parts[1]))
	}
}
