package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// stopIf reads a canary's condition.
func stopIf(t testing.TB, text string) (s StopIf) {
	t.Helper()
	if err := s.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

func fileCanary(t testing.TB, rows int, c Canary) *Compiled {
	t.Helper()
	c.Wait = units.Duration(10 * time.Minute)
	return jobOf(t, people(rows), Job{Cron: "0 10 * * *", MaxSize: 8000, Campaign: &Campaign{Name: "Winback", TemplateID: 7}, Canary: &c})
}

// rowsOf are how many rows each upload had.
func rowsOf(d *desk) (rows []int) {
	for _, u := range d.service.uploads() {
		rows = append(rows, strings.Count(u.body, "\n")-1)
	}
	return rows
}

// eachOnce fails unless every one of n people is in the uploads once, in the order of the list.
func eachOnce(t *testing.T, d *desk, n int) {
	t.Helper()
	got := d.service.phones(t)
	if len(got) != n || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != n {
		t.Errorf("%d phones were uploaded, want each of %d once in the list's order", len(got), n)
	}
}

func TestTheCanaryOfAFileIsAFileOfItsOwn(t *testing.T) {
	for first, want := range map[Share]int{{Rows: 20}: 20, {Of: 0.5}: 500, {Rows: 1}: 1} {
		t.Run(first.String(), func(t *testing.T) {
			d := begin(t, fileCanary(t, 1000, Canary{First: first, StopIf: failedOver(0.1)}))
			var at []time.Time
			d.service.answer = func(int) error { at = append(at, d.now()); return nil }
			fireDue(t, d)
			r := d.the(t)
			if r.State != messaging.RunDone || r.Canary != fmt.Sprintf("the first %s accepted, and more is not known: the service named no messages", rowsWere(int64(want))) {
				t.Fatalf("%s %q, canary %q", r.State, r.Reason, r.Canary)
			}
			eachOnce(t, d, 1000)
			sum, looked := 0, -1
			for i, n := range rowsOf(d) {
				if sum += n; sum == want {
					looked = i
				}
			}
			if looked < 0 {
				t.Fatalf("no file ends with row %d: %v", want, rowsOf(d))
			}
			if gap := at[looked+1].Sub(at[looked]); gap < 10*time.Minute {
				t.Errorf("the rest left after %s", gap)
			}
			if looked > 0 && at[looked].Sub(at[0]) > time.Minute {
				t.Errorf("the first files did not go together: %v", at[:looked+1])
			}
			all := d.service.uploads()
			for i, u := range all {
				if u.name != fmt.Sprintf("Winback (%d of %d)", i+1, len(all)) {
					t.Errorf("upload %d is called %s", i+1, u.name)
				}
			}
		})
	}
}

func TestTheCanaryOfAFileLooksAtWhatIsKnown(t *testing.T) {
	tests := map[string]struct {
		condition           string
		named, ended, fails int64
		read                int64
		stops               bool
		want                string
	}{
		"too many failed":        {"failed > 10%", 20, 20, 3, 0, true, "the canary stopped it: 20 of the first 20 messages have ended and 3 of these failed, which is more than 10%"},
		"few failed":             {"failed > 10%", 20, 20, 2, 0, false, "20 of the first 20 messages have ended, 2 of these failed"},
		"none may fail":          {"failed > 0%", 20, 20, 1, 0, true, "the canary stopped it: 20 of the first 20 messages have ended and 1 of these failed, which is more than 0%"},
		"none has ended":         {"failed > 10%", 20, 0, 0, 0, true, "the canary stopped it: none of the first 20 messages ended within 10m, so nobody knows how they did"},
		"few are named":          {"failed > 10%", 8, 8, 0, 0, false, "8 of the first 8 messages have ended, 0 of these failed; of 12 rows the service named no message"},
		"too few were read":      {"read < 20%", 20, 20, 0, 3, true, "the canary stopped it: 20 of the first 20 messages have arrived and 3 of these were read, which is less than 20%"},
		"enough were read":       {"failed > 50% or read < 20%", 20, 20, 5, 3, false, "20 of the first 20 messages have ended, 5 of these failed, and 3 were read"},
		"none arrived":           {"read < 20%", 20, 20, 20, 0, true, "the canary stopped it: 0 of the first 20 messages have arrived and 0 of these were read, which is less than 20%"},
		"no condition":           {"", 20, 20, 19, 0, false, "the first 20 rows were accepted; 20 of 20 messages have ended, 19 of these failed"},
		"nothing is named":       {"failed > 10%", 0, 0, 0, 0, false, "the first 20 rows were accepted, and more is not known: the service named no messages"},
		"nothing is named, read": {"read < 20%", 0, 0, 0, 0, false, "the first 20 rows were accepted, and more is not known: the service named no messages"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Canary{First: Share{Rows: 20}}
			if tt.condition != "" {
				c.StopIf = stopIf(t, tt.condition)
			}
			d := begin(t, fileCanary(t, 100, c))
			d.named, d.ended, d.failed, d.read = tt.named, tt.ended, tt.fails, tt.read
			fireDue(t, d)
			r := d.the(t)
			if got := rowsOf(d); tt.stops != (len(got) == 1) || got[0] != 20 {
				t.Errorf("uploads of %v rows", got)
			}
			if said := r.Reason + r.Canary; said != tt.want {
				t.Errorf("%s: %q, want %q", r.State, said, tt.want)
			}
			if !tt.stops && r.Tally.Parts != len(rowsOf(d)) {
				t.Errorf("%d parts are counted for %d uploads", r.Tally.Parts, len(rowsOf(d)))
			}
			if !tt.stops {
				return
			}
			if r.State != messaging.RunPaused || r.Stopped != messaging.StopCanary {
				t.Fatalf("%s, stopped by %s", r.State, r.Stopped)
			}
			if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			if r = d.the(t); r.State != messaging.RunDone || r.Overruled != "Ann" {
				t.Errorf("resumed: %s %q", r.State, r.Reason)
			}
			eachOnce(t, d, 100)
		})
	}
}

func TestTheCanaryOfAFileThatWasNotTaken(t *testing.T) {
	refused := &apiclient.CallError{Call: "create-with-csv", HTTPStatus: 422, Outcome: apiclient.Rejected, Err: fmt.Errorf("no such template")}
	lost := &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.InDoubt, Err: fmt.Errorf("reset")}
	tests := map[string]struct {
		answer error
		stops  []messaging.RunStop
		reason string
	}{
		"refused":  {refused, []messaging.RunStop{messaging.StopRejection, messaging.StopCanary}, "the canary stopped it: none of the first rows was accepted"},
		"in doubt": {lost, []messaging.RunStop{messaging.StopCanary}, "the canary stopped it: part 1 is in doubt: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := begin(t, fileCanary(t, 100, Canary{First: Share{Rows: 20}}))
			d.service.answer = func(n int) error {
				if n == 1 {
					return tt.answer
				}
				return nil
			}
			fireDue(t, d)
			for i, by := range tt.stops {
				r := d.the(t)
				if r.State != messaging.RunPaused || r.Stopped != by || len(d.service.uploads()) != 1 {
					t.Fatalf("stop %d: %s by %s %q, %d uploads", i+1, r.State, r.Stopped, r.Reason, len(d.service.uploads()))
				}
				if i == len(tt.stops)-1 && !strings.HasPrefix(r.Reason, tt.reason) {
					t.Errorf("stopped with %q", r.Reason)
				}
				if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
					t.Fatal(err)
				}
				d.settle(t)
			}
			if r := d.the(t); r.State != messaging.RunPartial || len(d.service.phones(t)) != 100 {
				t.Errorf("in the end %s %q, %d phones", r.State, r.Reason, len(d.service.phones(t)))
			}
		})
	}
}

func TestACrashAnywhereOfTheCanaryOfAFile(t *testing.T) {
	for _, call := range []string{"SaveParts", "Point", "FinishPart 1", "SetRun uploading", "ClaimPart 2", "FinishPart 2"} {
		t.Run(call, func(t *testing.T) {
			d := begin(t, fileCanary(t, 100, Canary{First: Share{Rows: 20}, StopIf: failedOver(0.1)}))
			var at []time.Time
			d.service.answer = func(int) error { at = append(at, d.now()); return nil }
			d.crashAt = call
			fireDue(t, d)
			began := d.the(t).WaitUntil
			d.advance(time.Minute)
			d.revive()
			d.open("two")
			d.settle(t)
			r := d.the(t)
			if call == "ClaimPart 2" { // it may have arrived
				if got := rowsOf(d); r.State != messaging.RunPartial || len(got) != 1 || got[0] != 20 {
					t.Errorf("%s %q, uploads of %v", r.State, r.Reason, got)
				}
				return
			}
			if got := rowsOf(d); r.State != messaging.RunDone || len(got) != 2 || got[0] != 20 || got[1] != 80 {
				t.Fatalf("%s %q, uploads of %v rows", r.State, r.Reason, got)
			}
			eachOnce(t, d, 100)
			gap := at[1].Sub(at[0])
			if gap < 10*time.Minute {
				t.Errorf("the rest left after %s", gap)
			}
			if call == "SetRun uploading" && (began.IsZero() || at[1].Before(began) || at[1].After(began.Add(5*time.Second))) {
				t.Errorf("the wait until %s went on until %s", began, at[1])
			}
		})
	}
}

func TestAPersonsWordDuringTheCanaryOfAFile(t *testing.T) {
	// word is said five minutes into the wait.
	during := func(t *testing.T, word func(d *desk)) *desk {
		d := begin(t, fileCanary(t, 100, Canary{First: Share{Rows: 20}}))
		said := false
		sleep := d.Sleep
		d.Sleep = func(ctx context.Context, by time.Duration) error {
			if r := d.the(t); !said && r.Waits == messaging.WaitCanary && r.WaitUntil.Sub(d.now()) < 5*time.Minute {
				said = true
				word(d)
			}
			return sleep(ctx, by)
		}
		fireDue(t, d)
		if !said {
			t.Fatal("it never waited")
		}
		return d
	}
	t.Run("cancel", func(t *testing.T) {
		d := during(t, func(d *desk) {
			if err := d.Cancel(t.Context(), 1, "Ann"); err != nil {
				t.Error(err)
			}
		})
		if r := d.the(t); r.State != messaging.RunCancelled || r.Waits != "" || len(d.service.uploads()) != 1 {
			t.Errorf("%s, waits for %q, %d uploads", r.State, r.Waits, len(d.service.uploads()))
		}
	})
	t.Run("pause and resume", func(t *testing.T) {
		d := during(t, func(d *desk) {
			if err := d.Pause(t.Context(), 1, "Ann"); err != nil {
				t.Error(err)
			}
		})
		r := d.the(t)
		if r.State != messaging.RunPaused || r.Stopped != messaging.StopPerson || len(d.service.uploads()) != 1 {
			t.Fatalf("%s by %s, %d uploads", r.State, r.Stopped, len(d.service.uploads()))
		}
		d.advance(time.Hour)
		resumed := d.now()
		if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		if r = d.the(t); r.State != messaging.RunDone || r.Overruled != "" || r.Canary == "" || d.now().Sub(resumed) < 10*time.Minute {
			t.Errorf("%s, overruled by %q, %s after it was resumed", r.State, r.Overruled, d.now().Sub(resumed))
		}
		eachOnce(t, d, 100)
	})
}

func TestAGuardThenTheCanaryOfAFile(t *testing.T) {
	job := jobOf(t, people(100), Job{Cron: "0 10 * * *", Guard: Guard{ApproveOver: 10}, Canary: &Canary{First: Share{Rows: 20}, StopIf: failedOver(0.1)}})
	d := begin(t, job)
	d.named, d.ended, d.failed = 20, 20, 20
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunAwaiting || len(d.service.uploads()) != 0 {
		t.Fatalf("%s %q", r.State, r.Reason)
	}
	if err := d.Approve(t.Context(), 1, by("Ann")); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunPaused || r.Stopped != messaging.StopCanary || len(d.service.uploads()) != 1 {
		t.Errorf("%s by %s, %d uploads", r.State, r.Stopped, len(d.service.uploads()))
	}
}

// Who is blocked is none of the first ones, and no reason to cut the canary twice.
func TestWhoIsBlockedIsNoReasonToCutTheCanaryTwice(t *testing.T) {
	d := begin(t, fileCanary(t, 100, Canary{First: Share{Rows: 20}}))
	d.crashAt = "SaveParts"
	fireDue(t, d)
	d.revive()
	d.open("two")
	who := withRegister(d)
	who.block("447911100003")
	who.block("447911100017")
	d.crashAt = "SetRun uploading"
	d.settle(t)
	d.revive()
	d.open("three")
	d.Facts = who
	d.settle(t)
	if got, r := rowsOf(d), d.the(t); r.State != messaging.RunDone || !slices.Equal(got, []int{20, 78}) {
		t.Errorf("%s %q: uploads of %v rows", r.State, r.Reason, got)
	}
}

func TestACanaryKnowsItsCondition(t *testing.T) {
	for text, want := range map[string]string{
		"failed > 10%":                "failed > 10%",
		"read<20%":                    "read < 20%",
		" read < 20 % or failed > 5%": "failed > 5% or read < 20%",
	} {
		if got := stopIf(t, text).String(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"failed < 10%":                 `"failed < 10%" is no condition of a canary`,
		"read > 10%":                   `"read > 10%" is no condition of a canary`,
		"failed > 10% or failed > 20%": `"failed > 10% or failed > 20%" is no condition of a canary`,
		"failed > 10":                  `"10" is not a percentage`,
		"read < 200%":                  `200% of the messages are more than all of them`,
		"":                             `"" is no condition of a canary`,
	} {
		var s StopIf
		if err := s.UnmarshalText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestACanaryOfMessagesLooksAtWhatWasRead(t *testing.T) {
	for read, stops := range map[int64]bool{1: true, 2: false} {
		t.Run(fmt.Sprint(read), func(t *testing.T) {
			job := canaryJob(t)
			job.Canary.StopIf = stopIf(t, "failed > 50% or read < 20%")
			d := begin(t, job)
			d.ended, d.read = 10, read
			fireDue(t, d)
			r := d.the(t)
			if stops {
				if r.State != messaging.RunPaused || len(d.queued[1]) != 10 || r.Reason != "the canary stopped it: 10 of the first 10 messages have arrived and 1 of these were read, which is less than 20%" {
					t.Errorf("%s %q, %d rows", r.State, r.Reason, len(d.queued[1]))
				}
				return
			}
			if r.State != messaging.RunDone || len(d.queued[1]) != 1000 || r.Canary != "10 of the first 10 messages have ended, 0 of these failed, and 2 were read" {
				t.Errorf("%s %q, %d rows, canary %q", r.State, r.Reason, len(d.queued[1]), r.Canary)
			}
		})
	}
}

func TestAPassedCanaryIsPassedForGood(t *testing.T) {
	d := begin(t, canaryJob(t))
	d.ended = 10
	passed := time.Time{}
	d.Held = heldWhile(func(*messaging.Run) bool { // stops it right after it passed
		if r := d.the(t); r.Canary != "" && passed.IsZero() {
			passed = d.now()
			d.book.mu.Lock()
			d.crashed = true
			d.book.mu.Unlock()
		}
		return false
	})
	fireDue(t, d)
	d.ended, d.failed = 10, 10 // by now, and nobody looks at it once more
	d.revive()
	d.open("two")
	d.settle(t)
	if r := d.the(t); passed.IsZero() || r.State != messaging.RunDone || len(d.queued[1]) != 1000 || d.now().Sub(passed) > time.Minute {
		t.Errorf("passed at %s: %s %q with %d rows at %s", passed, r.State, r.Reason, len(d.queued[1]), d.now())
	}
}

// A time that was missed runs later with its canary: the wait and the look are those of the run, and a restart
// in the midst of the wait neither fires it again nor asks the canary twice.
func TestARunThatWasMissedHasItsCanary(t *testing.T) {
	job := Job{
		Cron: "0 10 * * *", OnMissed: OnMissed{RunOnce: true}, Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "winback"},
		Canary: &Canary{First: Share{Rows: 10}, Wait: units.Duration(10 * time.Minute), StopIf: failedOver(0.1)},
	}
	d := newDesk(t, monday)
	d.Use([]*Compiled{jobOf(t, people(100), job)})
	fireDue(t, d) // first seen
	d.advance(26 * time.Hour)
	missed := d.now()
	d.ended, d.failed = 8, 2
	fireDue(t, d)
	r := d.the(t)
	if r.State != messaging.RunPaused || r.Cause != messaging.CauseMissed || len(d.queued[1]) != 10 || d.now().Sub(missed) < 10*time.Minute {
		t.Fatalf("%s (%s) %q after %s, %d rows queued", r.State, r.Cause, r.Reason, d.now().Sub(missed), len(d.queued[1]))
	}
	fireDue(t, d)
	if len(d.runs) != 1 {
		t.Errorf("%d runs after a second look", len(d.runs))
	}
	if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r = d.the(t); r.State != messaging.RunDone || len(d.queued[1]) != 100 {
		t.Errorf("%s %q, %d rows queued", r.State, r.Reason, len(d.queued[1]))
	}
}
