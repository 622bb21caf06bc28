package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A run that two people have to approve, through what may happen between the first and the second.
func TestTwoPeopleApproveWhatWasBuilt(t *testing.T) {
	type during struct {
		do    func(t *testing.T, d *desk) error
		state messaging.RunState // after it, and after the second approval where that comes
		words string             // after it
		then  messaging.RunState
	}
	order := func(do func(d *desk) error) func(*testing.T, *desk) error {
		return func(_ *testing.T, d *desk) error { return do(d) }
	}
	for name, tt := range map[string]during{
		"nothing":               {order(func(*desk) error { return nil }), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunDone},
		"the same person again": {order(func(d *desk) error { return d.Approve(t.Context(), 1, by("Ann")) }), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunDone},
		"a pause and its end": {order(func(d *desk) error {
			return errors.Join(d.Pause(t.Context(), 1, "Eve"), d.Resume(t.Context(), 1, "Eve"))
		}), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunDone},
		"a pause":                   {order(func(d *desk) error { return d.Pause(t.Context(), 1, "Eve") }), messaging.RunPaused, "1 of 2 approved: Ann", ""},
		"a cancel":                  {order(func(d *desk) error { return d.Cancel(t.Context(), 1, "Eve") }), messaging.RunCancelled, "1 of 2 approved: Ann", ""},
		"a reload that wants one":   {order(func(d *desk) error { d.all()[0].Guard.ApproveBy = 1; return nil }), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunDone},
		"a reload that wants three": {order(func(d *desk) error { d.all()[0].Guard.ApproveBy = 3; return nil }), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunAwaiting},
		"a reload without a guard":  {order(func(d *desk) error { d.all()[0].Guard = Guard{}; return nil }), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunDone},
		"somebody is forgotten": {order(func(d *desk) error {
			d.book.mu.Lock()
			defer d.book.mu.Unlock()
			d.rows[1][1].Phone, d.rows[1][1].Cells = "", nil
			return nil
		}), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunDone},
		"a restart": {order(func(d *desk) error { d.settle(t); return nil }), messaging.RunAwaiting, "1 of 2 approved: Ann", messaging.RunDone},
		"another list in its place": {order(func(d *desk) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.runs[0].Tally.SHA256 = "another"
			return nil
		}), messaging.RunAwaiting, "0 of 2 approved", messaging.RunAwaiting},
	} {
		t.Run(name, func(t *testing.T) {
			d := begin(t, jobOf(t, people(20), Job{Cron: "0 10 * * *", Guard: Guard{ApproveOver: 1, ApproveBy: 2}}))
			fireDue(t, d)
			if r := d.the(t); r.State != messaging.RunAwaiting || r.ApprovedWords() != "0 of 2 approved" {
				t.Fatalf("%s, %q", r.State, r.ApprovedWords())
			}
			if err := d.Approve(t.Context(), 1, by("Ann")); err != nil {
				t.Fatal(err)
			}
			if err := tt.do(t, d); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			r := d.the(t)
			if r.State != tt.state || r.ApprovedWords() != tt.words || len(d.service.uploads()) != 0 {
				t.Fatalf("%s, %q, %d uploads; want %s, %q", r.State, r.ApprovedWords(), len(d.service.uploads()), tt.state, tt.words)
			}
			why := map[messaging.RunState]string{
				messaging.RunAwaiting:  "20 rows are more than guard.approve_over, 1",
				messaging.RunPaused:    "paused by Eve before it was approved: 20 rows are more than guard.approve_over, 1",
				messaging.RunCancelled: "cancelled by Eve",
			}[r.State]
			if r.Why() != why {
				t.Errorf("it is %s because %q, not %q", r.State, r.Why(), why)
			}
			err := d.Approve(t.Context(), 1, by("Ben"))
			if tt.then == "" {
				if refused, is := errors.AsType[*wordError](err); !is {
					t.Errorf("approved while it is %s: %v", r.State, refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			if r = d.the(t); r.State != tt.then || (tt.then == messaging.RunDone) != (r.Approved == "Ann, Ben") {
				t.Errorf("after the second one: %s by %q", r.State, r.Approved)
			}
		})
	}
}

// Who starts a run by hand approves nothing by that, and is not the last to approve it.
func TestWhoStartsARunIsNotTheLastToApproveIt(t *testing.T) {
	d := begin(t, jobOf(t, people(20), Job{Guard: Guard{ApproveOver: 1, ApproveBy: 2}}))
	_, err := d.RunNow(t.Context(), d.all()[0], d.now(), HandOrder{Person: "Ann", Approved: "Ann"})
	if words, hint := clockErrorWords(err); words != "guard.approve_by of winback has 2 people approve what was read, and nothing was yet" || hint == "" {
		t.Errorf("approved in advance: %v", err)
	}
	if _, err := d.RunNow(t.Context(), d.all()[0], d.now(), HandOrder{Person: "Ann"}); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if err := d.Approve(t.Context(), 1, by("Ben")); err != nil {
		t.Fatal(err)
	}
	err = d.Approve(t.Context(), 1, by("Ann"))
	if words, hint := clockErrorWords(err); words != "you started run 1 by hand: the last to approve it has to be somebody else" || hint != "have somebody else approve it: nudgewire jobs approve 1" {
		t.Errorf("approved by who started it: %v", err)
	}
	if err := d.Approve(t.Context(), 1, by("Cleo")); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunDone || r.Approved != "Ben, Cleo" {
		t.Errorf("%s by %q", r.State, r.Approved)
	}
}

// An approval in advance, of a time when one was enough, lets nothing go once several are needed.
func TestAnEarlierApprovalInAdvanceDoesNotCountForTwo(t *testing.T) {
	d := begin(t, jobOf(t, people(20), Job{Guard: Guard{ApproveOver: 1}}))
	if _, err := d.RunNow(t.Context(), d.all()[0], d.now(), HandOrder{Person: "Ann", Approved: "Ann"}); err != nil {
		t.Fatal(err)
	}
	d.all()[0].Guard.ApproveBy = 2
	d.advance(time.Second)
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunAwaiting || r.Approved != "" || r.ApprovedWords() != "0 of 2 approved" {
		t.Errorf("%s by %q, %q", r.State, r.Approved, r.ApprovedWords())
	}
}

// One person does not get around the others: not by ending the run and sending again what is left of it, and not by a word at the start.
func TestOnePersonDoesNotGetAroundTheOthers(t *testing.T) {
	d := begin(t, jobOf(t, people(20), Job{Guard: Guard{ApproveOver: 1, ApproveBy: 2}}))
	if _, err := d.RunNow(t.Context(), d.all()[0], d.now(), HandOrder{Person: "Ann"}); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if err := errors.Join(d.Approve(t.Context(), 1, by("Ann")), d.Cancel(t.Context(), 1, "Ann")); err != nil {
		t.Fatal(err)
	}
	_, err := d.Retry(t.Context(), 1, "Ann", RetryOrder{})
	if words, hint := clockErrorWords(err); words != "run 1 was never let go: 2 people had to approve it" || hint == "" {
		t.Errorf("sent again: %v", err)
	}

	d = begin(t, jobOf(t, people(20), Job{}))
	if _, err := d.RunNow(t.Context(), d.all()[0], d.now(), HandOrder{Person: "Ann"}); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	d.all()[0].Guard.ApproveBy = 2
	d.advance(time.Second)
	if _, err := d.RunNow(t.Context(), d.all()[0], d.now(), HandOrder{Person: "Ann", Repeats: 1}); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.runs[1]; r.State != messaging.RunAwaiting || len(d.service.uploads()) != 1 {
		t.Errorf("the same list once more, by one word: %s, %d uploads", r.State, len(d.service.uploads()))
	}
}
