package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// skipsAll says of every phone that it was messaged.
type skipsAll struct{}

func (skipsAll) About(_ context.Context, phones []messaging.Phone, _ Question) ([]Known, error) {
	out := make([]Known, len(phones))
	for i := range out {
		out[i].Messaged = &messaging.Contacted{Trigger: "cart", At: monday}
	}
	return out, nil
}

func TestARunWhoseGoodRowsAreAllSkippedIsDone(t *testing.T) {
	header := []string{"phone", "name"}
	good, bad := []string{"+447911100001", "A"}, []string{"12", "B"}
	tests := map[string]struct {
		rows   [][]string
		state  messaging.RunState
		reason string
	}{
		"all skipped":                   {[][]string{good}, messaging.RunDone, "nobody is left to send to: the only row was excluded"},
		"all skipped but one bad phone": {[][]string{good, bad}, messaging.RunDone, "nobody is left to send to: 1 of 2 rows was excluded, 1 cannot be used"},
		"one of them is there twice":    {[][]string{good, good}, messaging.RunDone, "nobody is left to send to: 1 of 2 rows was excluded, 1 repeats an earlier one"},
		"no row can be used":            {[][]string{bad, bad}, messaging.RunFailed, "none of the 2 rows can be sent: 2 of them because the phone is too short for GB (first in row 2); mend the list, or columns: of the job, then: nudgewire jobs run winback"},
		"the only row cannot be used":   {[][]string{bad}, messaging.RunFailed, "the only row, row 2, cannot be sent: the phone is too short for GB; mend the list, or columns: of the job, then: nudgewire jobs run winback"},
		"several are skipped":           {[][]string{good, {"+447911100002", "C"}, bad, bad}, messaging.RunDone, "nobody is left to send to: 2 of 4 rows were excluded, 2 cannot be used"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := begin(t, jobOf(t, listSource{header: header, rows: tt.rows}, Job{Cron: "0 10 * * *"}))
			d.Facts = skipsAll{}
			fireDue(t, d)
			if r := d.the(t); r.State != tt.state || r.Reason != tt.reason {
				t.Errorf("%s %q, want %s %q", r.State, r.Reason, tt.state, tt.reason)
			}
		})
	}
}

func partsOf(run messaging.RunID, states ...messaging.PartState) (out []messaging.Part) {
	for i, s := range states {
		out = append(out, messaging.Part{
			RunID: run, Number: i + 1, List: 12, Ranges: messaging.RowRanges{{First: int64(10*i + 1), Last: int64(10*i + 10)}}, Rows: 10, Bytes: 100, State: s, Attempt: 1, Reason: "why",
		})
	}
	return out
}

func hinted(err error) string {
	msg, hint := clockErrorWords(err)
	return msg + " | " + hint
}

func TestARetryTakesUpEachRowOnce(t *testing.T) {
	run := messaging.Run{ID: 12, Job: "winback", State: messaging.RunPartial, Deliver: messaging.DeliverCSV, TemplateID: 7}
	family := partsOf(12, messaging.PartAccepted, messaging.PartRejected, messaging.PartInDoubt, messaging.PartCancelled)
	files := func(r Retry) (out []string) {
		for _, p := range r.Parts {
			out = append(out, fmt.Sprintf("%d has rows %v", p.Number, p.Ranges))
		}
		return out
	}
	first, err := RetryParts(run, family, "Ann", 1, false, monday)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 has rows [{11 20}]", "2 has rows [{31 40}]"}, files(first)); diff != "" {
		t.Error(diff)
	}
	if r := first.Run; r.RetryOf != 12 || r.Slot != "retry 1 of run 12" || r.State != messaging.RunUploading || r.Tally.Kept != 20 || r.Approved != "Ann" || r.TemplateID != 7 {
		t.Errorf("the new run is %+v", r)
	}
	doubtful, err := RetryParts(run, family, "Ann", 1, true, monday)
	if err != nil || len(doubtful.Parts) != 3 {
		t.Errorf("with what is in doubt: %v, %v", files(doubtful), err)
	}

	// The retry has sent part 2, and part 4 was rejected once more.
	retried := partsOf(15, messaging.PartAccepted, messaging.PartRejected)
	retried[0].Ranges, retried[1].Ranges = family[1].Ranges, family[3].Ranges
	family = append(family, retried...)
	_, err = RetryParts(run, family, "Ann", 2, false, monday)
	if want := "run 12 has nothing that can be sent again | 1 part is in doubt; --only in_doubt sends what is in doubt again, and who got it gets it twice"; hinted(err) != want {
		t.Errorf("a second time: %s", hinted(err))
	}
	family[2].State = messaging.PartAccepted
	_, err = RetryParts(run, family, "Ann", 2, false, monday)
	if want := "run 12 has nothing that can be sent again | run 15 has sent the rest of it again: look at jobs show 15"; hinted(err) != want {
		t.Errorf("a second time: %s", hinted(err))
	}
	next, err := RetryParts(messaging.Run{ID: 15, Job: "winback", State: messaging.RunPartial, Deliver: messaging.DeliverCSV}, family, "Ann", 1, false, monday)
	if err != nil || len(next.Parts) != 1 || !slices.Equal(next.Parts[0].Ranges, family[3].Ranges) {
		t.Errorf("the retry's own retry: %v, %v", files(next), err)
	}
}

func TestWhatCannotBeRetriedSaysWhy(t *testing.T) {
	if err := MayRetry(messaging.Run{ID: 1, State: messaging.RunDone, Deliver: messaging.DeliverCSV}, RetryOrder{MinWait: time.Hour}); hinted(err) !=
		"run 1 uploads files, which go again as they are: no row has a time of its own | nudgewire jobs retry 1 --dry-run, without --min-wait and --deadline" {
		t.Errorf("files that rest: %s", hinted(err))
	}
	tests := map[string]struct {
		run      messaging.Run
		doubtful bool
		classes  messaging.ErrorClassList
		want     string
	}{
		"files by class": {
			messaging.Run{ID: 1, State: messaging.RunDone, Deliver: messaging.DeliverCSV},
			false, "no_points",
			"run 1 uploads files, which go again as they are: there is no choosing by what the service said of one message | nudgewire jobs retry 1 --dry-run, without --class",
		},
		"a run under way": {messaging.Run{ID: 1, State: messaging.RunPaused}, false, "", "run 1 is still paused | wait until it has ended, or resume it"},
		"doubts of messages": {
			messaging.Run{ID: 1, Job: "winback", State: messaging.RunDone, Deliver: messaging.DeliverPerMessage},
			true, "",
			"run 1 was delivered message by message: what is in doubt is settled one by one | list it with messages list --trigger winback --state in_doubt, then say with messages resolve what became of each",
		},
		"files that were cleared away": {
			messaging.Run{ID: 1, Job: "winback", State: messaging.RunPartial, Deliver: messaging.DeliverCSV, BlankedAt: monday},
			false, "",
			"what the rows of run 1 said was removed on 2026-05-04 (retention.lists) | run the job again: nudgewire jobs run winback",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := MayRetry(tt.run, RetryOrder{InDoubt: tt.doubtful, Classes: tt.classes}); hinted(err) != tt.want {
				t.Errorf("MayRetry: %s\nwant %s", hinted(err), tt.want)
			}
		})
	}
}

func TestRowsAreCountedBeforeTheyGoAgain(t *testing.T) {
	run := messaging.Run{ID: 12, Job: "winback", State: messaging.RunDone, Deliver: messaging.DeliverPerMessage, Expires: time.Hour, Category: messaging.Marketing}
	left := Remaining{Prices: prices(func(c messaging.Category, phone string) float64 {
		if phone == "" {
			t.Error("the price is asked of nobody")
		}
		return map[messaging.Category]float64{messaging.Marketing: 2, messaging.Utility: 0.5}[c]
	})}
	category := func(s messaging.State) messaging.Category {
		if s == messaging.StateDropped {
			return messaging.Utility
		}
		return messaging.Marketing
	}
	for i, s := range []messaging.State{messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt, messaging.StateRejected, messaging.StateDropped} {
		left.Add(&messaging.RunRow{Number: int64(i + 1), Position: messaging.Position{Row: int64(i + 2)}, Message: messaging.Message{State: s, Phone: "447911100000", Reason: "no points", Category: category(s)}}, &messaging.Verdict{})
	}
	got, err := left.Retry(run, "Ann", 1, monday)
	if err != nil {
		t.Fatal(err)
	}
	want := messaging.Tally{Rows: 5, Kept: 3, Points: 4.5, Excluded: []messaging.Excluded{
		{Kind: KindMessage, Reason: "the message was taken by the service, which does not say that it failed", Count: 1, First: 2},
		{Kind: KindMessage, Reason: "the message is in doubt: the phone may have it", Count: 1, First: 4},
	}}
	if diff := cmp.Diff(want, got.Run.Tally); diff != "" {
		t.Error(diff)
	}
	causes := []messaging.Excluded{
		{Kind: KindRetry, Reason: "was rejected by the service: no points", Count: 2, First: 3},
		{Kind: KindRetry, Reason: "was dropped before it was sent", Count: 1, First: 6},
	}
	if diff := cmp.Diff(causes, got.Causes); diff != "" {
		t.Error(diff)
	}
	if got.Run.Expires != time.Hour || len(got.Parts) != 0 {
		t.Errorf("the new run is %+v", got.Run)
	}
	var none Remaining
	none.Add(&messaging.RunRow{Number: 1, Message: messaging.Message{State: messaging.StateWaiting}}, &messaging.Verdict{})
	_, err = none.Retry(run, "Ann", 1, monday)
	if want := "run 12 has nothing that can be sent again | its one row cannot: the message is still on its way"; hinted(err) != want {
		t.Errorf("nothing left: %s", hinted(err))
	}
}

func TestRowsOfSomeClassesAreCounted(t *testing.T) {
	run := messaging.Run{ID: 12, Job: "winback", State: messaging.RunDone, Deliver: messaging.DeliverPerMessage}
	left := Remaining{Order: RetryOrder{Classes: "no_points,unknown"}, At: monday}
	for i, words := range []string{"insufficient points", "recipient has opted out", "what is this", ""} {
		left.Add(&messaging.RunRow{Number: int64(i + 1), Words: words, Position: messaging.Position{Row: int64(i + 2)}, Message: messaging.Message{State: messaging.StateRejected}}, &messaging.Verdict{})
	}
	// What no rule of today knows counts by the class that it had.
	left.Add(&messaging.RunRow{Number: 5, Words: "gone", Class: messaging.ErrorPermanent, Position: messaging.Position{Row: 6}, Message: messaging.Message{State: messaging.StateRejected}}, &messaging.Verdict{})
	got, err := left.Retry(run, "Ann", 1, monday)
	if err != nil {
		t.Fatal(err)
	}
	want := []messaging.Excluded{
		{Kind: KindMessage, Reason: "the message failed with words of class opt_out", Count: 1, First: 3},
		{Kind: KindMessage, Reason: "the message failed with words of class permanent", Count: 1, First: 6},
	}
	if diff := cmp.Diff(want, got.Run.Tally.Excluded); diff != "" || got.Run.Tally.Kept != 3 || got.Run.RetryClasses != left.Order.Classes {
		t.Errorf("%d go, for %q\n%s", got.Run.Tally.Kept, got.Run.RetryClasses, diff)
	}
	if want := "what of run 12 failed with words of class no_points, unknown, again for Ann"; got.Run.Began != want {
		t.Errorf("it began because of %q, want %q", got.Run.Began, want)
	}
}

// A run that repeats the rows of another queues them some at a time, goes on after a crash where
// it was, and counts what it sent in the end.
func TestARunThatRepeatsRowsGoesOnAfterACrash(t *testing.T) {
	t.Run("all", func(t *testing.T) {
		repeatsRows(t, "", "1 of 6 rows could not go again any more when its turn came", 2, 3, 5, 8, 9)
	})
	t.Run("of some classes", func(t *testing.T) {
		repeatsRows(t, "no_points,recipient_limit", "2 of 6 rows could not go again any more when their turn came", 2, 3, 8, 9)
	})
}

// repeatsRows has a run repeat rows 2, 3, 5, 8 and 9 of another, crash and go on: those of the classes go.
func repeatsRows(t *testing.T, classes messaging.ErrorClassList, want string, wanted ...messaging.MessageID) {
	t.Helper()
	d := newDesk(t, monday)
	d.Use([]*Compiled{jobOf(t, people(9), Job{})})
	old := messaging.Run{Job: "winback", Slot: "1", State: messaging.RunDone, Deliver: messaging.DeliverPerMessage, Tally: messaging.Tally{Kept: 9}}
	old.ID, _, _ = d.book.StartRun(t.Context(), old)
	d.queued[old.ID] = map[int64]messaging.Message{}
	for n := range int64(9) {
		d.queued[old.ID][n+1] = messaging.Message{ID: messaging.MessageID(n + 1)}
	}
	d.again = map[int64]bool{2: true, 3: true, 5: true, 8: true, 9: true}
	d.words = map[int64]string{2: "Insufficient points", 3: "not enough credits", 5: "recipient has opted out", 8: "frequency cap", 9: "no balance"}
	again := retryOf(old, "Ann", 1, monday)
	again.RetryClasses = classes
	again.Tally = messaging.Tally{Rows: 9, Kept: 6, Excluded: []messaging.Excluded{{Kind: KindMessage, Reason: "the message was taken", Count: 3, First: 1}}}
	id, _, err := d.book.StartRun(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	d.crashAt = "EnqueueRetries"
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunUploading || len(d.queued[id]) != 2 {
		t.Fatalf("after the crash the run is %s with %d rows", r.State, len(d.queued[id]))
	}
	d.revive()
	d.open("two")
	d.settle(t)
	r := d.the(t)
	if r.State != messaging.RunDone || r.Reason != want || r.Tally.Kept != int64(len(wanted)) || r.Tally.Rows != 9 || r.Tally.ExcludedRows() != 9-int64(len(wanted)) {
		t.Errorf("the run is %s %q with %+v", r.State, r.Reason, r.Tally)
	}
	var ids []messaging.MessageID
	for n := range int64(len(d.queued[id])) {
		ids = append(ids, d.queued[id][n+1].ID)
	}
	if diff := cmp.Diff(wanted, ids); diff != "" {
		t.Error(diff)
	}
}

func TestAWordOnAPartInDoubt(t *testing.T) {
	partial := messaging.Run{ID: 12, Job: "winback", State: messaging.RunPartial, Deliver: messaging.DeliverCSV, EndedAt: monday}
	in := func(s messaging.RunState) messaging.Run { r := partial; r.State = s; return r }
	one := partsOf(12, messaging.PartAccepted, messaging.PartInDoubt)
	two := partsOf(12, messaging.PartInDoubt, messaging.PartInDoubt)
	again := partsOf(15, messaging.PartUploading)
	again[0].Ranges = one[1].Ranges
	removed := partial
	removed.BlankedAt = monday
	const yes = "Ann said on 2026-05-04 10:00 UTC that it was accepted: campaign 417"
	const no = "Ann said on 2026-05-04 10:00 UTC that it was not accepted, and had it sent again: campaign 417"
	tests := map[string]struct {
		run    messaging.Run
		family []messaging.Part
		as     messaging.Resolution
		state  messaging.RunState
		reason string
		part   messaging.PartState
		word   string
		err    string
	}{
		"the last doubt, accepted":   {partial, one, messaging.ResolveAccepted, messaging.RunDone, "", messaging.PartAccepted, yes, ""},
		"one doubt of two, accepted": {partial, two, messaging.ResolveAccepted, messaging.RunPartial, "1 of 2 parts was accepted; part 1 is in doubt: why", messaging.PartAccepted, yes, ""},
		"sent again":                 {partial, one, messaging.ResolveResend, messaging.RunUploading, "", messaging.PartWaiting, no, ""},
		"sent again once resumed":    {in(messaging.RunPaused), one, messaging.ResolveResend, messaging.RunPaused, "", messaging.PartWaiting, no, ""},
		"accepted, though cancelled": {in(messaging.RunCancelled), one, messaging.ResolveAccepted, messaging.RunCancelled, "", messaging.PartAccepted, yes, ""},
		"cancelled": {
			run: in(messaging.RunCancelled), family: one, as: messaging.ResolveResend,
			err: "run 12 is cancelled: it uploads nothing more | send the part as a run of its own: jobs retry 12 --only in_doubt",
		},
		"under way":         {run: in(messaging.RunUploading), family: one, as: messaging.ResolveResend, err: "run 12 is uploading and has its parts in hand | wait until it has ended, or pause it first"},
		"not in doubt":      {run: partial, family: partsOf(12, messaging.PartInDoubt, messaging.PartAccepted), as: messaging.ResolveAccepted, err: "part 2 of run 12 is accepted, not in doubt | look at jobs show 12"},
		"no such part":      {run: partial, family: partsOf(12, messaging.PartInDoubt), as: messaging.ResolveAccepted, err: "run 12 has no part 2 | it has 1: look at jobs show 12"},
		"retried meanwhile": {run: partial, family: append(one[:2:2], again...), as: messaging.ResolveResend, err: "part 2 of run 12 went again as part 1 of run 15, which is uploading | look at jobs show 15"},
		"its file is gone":  {run: removed, family: one, as: messaging.ResolveResend, err: "what the rows of run 12 said was removed on 2026-05-04 (retention.lists) | run the job again: nudgewire jobs run winback"},
		"another word":      {run: partial, family: one, as: messaging.ResolveDrop, err: `a part in doubt cannot be resolved as "drop" | want accepted or resend`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, p, err := ResolvePart(tt.run, append([]messaging.Part(nil), tt.family...), 2, tt.as, "Ann", "campaign 417", monday)
			if tt.err != "" {
				if err == nil || hinted(err) != tt.err {
					t.Errorf("error: %v\nwant %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.State != tt.state || r.Reason != tt.reason || p.State != tt.part || p.Resolved != tt.word {
				t.Errorf("the run is %s %q, the part %s %q", r.State, r.Reason, p.State, p.Resolved)
			}
			if r.State.Final() != !r.EndedAt.IsZero() && r.State != messaging.RunPaused {
				t.Errorf("a run that is %s ended at %s", r.State, r.EndedAt)
			}
		})
	}
}

// Somebody has a part in doubt sent again while the run is paused; resumed, the run uploads it.
func TestAResumedRunUploadsWhatAPersonSentAgain(t *testing.T) {
	d := begin(t, jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000}))
	d.service.answer = func(n int) error {
		if n <= 2 {
			return &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.InDoubt}
		}
		return nil
	}
	fireDue(t, d)
	r := d.the(t)
	parts, err := d.Parts(t.Context(), r.ID)
	if err != nil || r.State != messaging.RunPaused || parts[1].State != messaging.PartInDoubt {
		t.Fatalf("the run is %s, %v", r.State, err)
	}
	_, p, err := ResolvePart(r, parts, 2, messaging.ResolveResend, "Ann", "", monday)
	if err != nil {
		t.Fatal(err)
	}
	d.parts[r.ID][1] = p
	if err := d.Resume(t.Context(), r.ID, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	r = d.the(t)
	again := 0
	for _, u := range d.service.uploads() {
		if strings.HasSuffix(u.file, "part-0002.csv") {
			again++
		}
	}
	all := len(d.parts[r.ID])
	if want := fmt.Sprintf("%d of %d parts were accepted; part 1 is in doubt: ", all-1, all); r.State != messaging.RunPartial || !strings.HasPrefix(r.Reason, want) || again != 2 {
		t.Errorf("the run is %s %q, and part 2 was uploaded %d times", r.State, r.Reason, again)
	}
}

func TestRowsOfARunAreKept(t *testing.T) {
	l := people(100)
	l.rows = append(l.rows, []string{"12", "short"}, []string{"+447911100001", "again"})
	d := begin(t, jobOf(t, l, Job{Cron: "0 10 * * *", MaxSize: 1000}))
	fireDue(t, d)
	r := d.the(t)
	next := int64(1)
	err := d.ListRows(t.Context(), r.ID, messaging.RowRanges{{First: 1, Last: 1000}}, func(row *messaging.ListRow) error {
		if want := l.rows[row.Number-1]; row.Number != next || string(row.Phone) != want[0][1:] || row.Row != next+1 || !slices.Equal(row.Cells, want[1:]) {
			t.Fatalf("row %d is %+v", next, row)
		}
		next++
		return nil
	})
	if err != nil || next != 101 {
		t.Errorf("%d rows, %v", next-1, err)
	}
	var left []messaging.ListRow
	for _, row := range d.rows[r.ID] {
		if row.Number < 0 {
			left = append(left, row)
		}
	}
	want := []messaging.ListRow{
		{Run: 1, Number: -1, Position: messaging.Position{Row: 102}, Reason: "the phone is too short for GB", Given: "12"},
		{Run: 1, Number: -2, Position: messaging.Position{Row: 103}, Reason: "an earlier row has the same phone", Given: "+447911100001", Phone: "447911100001"},
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
	parts, err := d.Parts(t.Context(), r.ID)
	if err != nil || len(parts) < 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	// Until its outcome is known the same file can be made again.
	for i, p := range parts {
		c := &cutting{ask: sieve(), columns: r.Columns, most: 1000}
		if err := c.cut(t.Context(), d.book, &p); err != nil || c.sha256() != p.SHA256 || c.file.String() != d.service.uploads()[i].body || len(c.left) > 0 {
			t.Errorf("part %d is made again as another file, %v", p.Number, err)
		}
	}
}

func TestRowsRestBeforeTheyGoAgain(t *testing.T) {
	run := messaging.Run{ID: 12, Job: "winback", State: messaging.RunDone, Deliver: messaging.DeliverPerMessage}
	ended := map[string]time.Duration{"rate limit for this recipient": 23 * time.Hour, "too many messages to this user: frequency cap": 25 * time.Hour, "insufficient points": time.Minute, "what": 2 * time.Hour}
	tests := map[string]struct {
		order RetryOrder
		goes  []string
	}{
		"all at once":         {RetryOrder{}, []string{"insufficient points", "rate limit for this recipient", "too many messages to this user: frequency cap", "what"}},
		"as the classes rest": {RetryOrder{Classes: "recipient_limit,no_points"}, []string{"insufficient points", "too many messages to this user: frequency cap"}},
		"an hour":             {RetryOrder{Classes: "recipient_limit,no_points", MinWait: time.Hour}, []string{"rate limit for this recipient", "too many messages to this user: frequency cap"}},
		"an hour, every one":  {RetryOrder{MinWait: time.Hour}, []string{"rate limit for this recipient", "too many messages to this user: frequency cap", "what"}},
		"with a deadline":     {RetryOrder{MinWait: 24 * time.Hour, Until: monday.Add(time.Hour)}, []string{"too many messages to this user: frequency cap"}},
	}
	rules, faults := messaging.CompileErrorRules([]messaging.ErrorRule{{Match: "rate limit for this recipient", Class: messaging.ErrorRecipientLimit}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var went []string
			for words, ago := range ended {
				row := &messaging.RunRow{
					Number: 1, Words: words, Message: messaging.Message{State: messaging.StateAccepted, UpdatedAt: monday.Add(-30 * time.Hour), Status: messaging.StatusFailed, StatusAt: monday.Add(-ago)},
				}
				left := Remaining{Order: tt.order, At: monday, Rules: rules}
				left.Add(row, &messaging.Verdict{})
				again, err := left.Retry(run, "Ann", 1, monday)
				if err != nil {
					continue
				}
				went = append(went, words)
				// The run decides about its rows as the forecast did, however much later its turn comes.
				if order := orderOf(&again.Run); order != tt.order || order.keeps(row, rules.Now(row.Words, row.Class), again.Run.CreatedAt) != "" {
					t.Errorf("the run goes by %+v", order)
				}
			}
			slices.Sort(went)
			if !slices.Equal(went, tt.goes) {
				t.Errorf("go: %q, want %q", went, tt.goes)
			}
		})
	}
}
