package scheduler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// sieve leaves out the phones that end so.
func sieve(ends ...string) Ask {
	return func(_ context.Context, phones []nudgewire.Phone) ([]Why, error) {
		out := make([]Why, len(phones))
		for i, p := range phones {
			if slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(string(p), end) }) {
				out[i].Reason = "is blocked"
			}
		}
		return out, nil
	}
}

// Of the files that a retry sends, those lose rows whose people are left out by now; the others stay
// as they are. What was made of a file is still that file: it is not taken up a second time.
func TestARetryOfFilesIsRechecked(t *testing.T) {
	dir := t.TempDir()
	job := jobOf(t, people(60), Job{})
	job.MaxSize = units.Size(500)
	parts, _ := built(t, job, dir, nil)
	if len(parts) < 3 {
		t.Fatalf("%d parts", len(parts))
	}
	run := nudgewire.Run{ID: 12, Job: "winback", State: nudgewire.RunFailed, Deliver: nudgewire.DeliverCSV, Folder: dir}
	for i := range parts {
		parts[i].RunID, parts[i].State, parts[i].Attempt = run.ID, nudgewire.PartRejected, 1
	}
	phones := func(p nudgewire.Part) (out []string) {
		if err := ReadPart(t.Context(), onDisk, dir, &p, func(_ int64, phone string) error { out = append(out, phone); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	last := phones(parts[len(parts)-1])
	gone := []string{phones(parts[0])[1], phones(parts[0])[3]}
	gone = append(gone, last...) // nobody is left on the last one
	retry := func(nth int, family []nudgewire.Part, of nudgewire.Run) Retry {
		t.Helper()
		r, err := RetryParts(of, family, "Ann", nth, false, monday)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	counted := retry(1, parts, run)
	if err := counted.Recheck(t.Context(), onDisk, sieve(gone...), false); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.retry*")); err != nil || len(left) != 0 {
		t.Errorf("counting wrote %q, %v", left, err)
	}
	// What an earlier retry of this name left behind that was cut off, is written over.
	for _, name := range []string{"part-0001.retry-1-of-run-12.csv", "excluded.retry-1-of-run-12.csv", "rows.retry-1-of-run-12.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := retry(1, parts, run)
	if err := first.Recheck(t.Context(), onDisk, sieve(gone...), true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counted.Run.Tally, first.Run.Tally); diff != "" {
		t.Errorf("counted and made:\n%s", diff)
	}
	want := []nudgewire.Excluded{{Kind: KindContact, Reason: "the contact is blocked", Count: int64(len(gone)), First: 3}}
	if diff := cmp.Diff(want, first.Run.Tally.Excluded); diff != "" || first.Run.Tally.Kept != 60-int64(len(gone)) || first.Run.Tally.Rows != 60 || first.Run.Tally.Parts != len(parts)-1 {
		t.Errorf("%+v\n%s", first.Run.Tally, diff)
	}
	next := int64(1)
	for i, p := range first.Parts {
		if p.Number != i+1 || p.First != next || !whole(t, dir, p) {
			t.Errorf("part %d: %+v", i+1, p)
		}
		next += p.Rows
	}
	if p := first.Parts[0]; p.File != "part-0001.retry-1-of-run-12.csv" || p.Rows != parts[0].Rows-2 || first.Parts[1].File != "part-0002.csv" || first.Parts[1].SHA256 != parts[1].SHA256 {
		t.Errorf("parts: %+v", first.Parts)
	}
	whole := phones(parts[0])
	kept := slices.DeleteFunc(slices.Clone(whole), func(p string) bool { return slices.Contains(gone, p) })
	if diff := cmp.Diff(kept, phones(first.Parts[0])); diff != "" {
		t.Error(diff)
	}
	// Where its rows stand in the list is known, and which it left out.
	stored := first.Run
	stored.ID = 15
	find := PositionFinder{Files: onDisk, Store: folderStore{fakeParts{15: first.Parts}, dir}}
	defer find.Close()
	for i, phone := range kept {
		at, err := find.Of(t.Context(), 15, int64(i+1))
		if want := int64(slices.Index(whole, phone)) + 2; err != nil || at.Row != want {
			t.Errorf("row %d stands in row %d, want %d, %v", i+1, at.Row, want, err)
		}
	}
	var left []string
	if err := ReadExcluded(t.Context(), onDisk, ExcludedFiles(&stored, nil)[0], func(x ExcludedRow) error {
		left = append(left, fmt.Sprintf("%d %s", x.Row, x.Digits))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(left) != len(gone) || left[0] != "3 "+gone[0] || left[1] != "5 "+gone[1] {
		t.Errorf("left out: %q", left)
	}

	// The retry's part 1 was rejected again: it goes again from there, and from the first run nothing but
	// the file on which nobody was left.
	for i := range first.Parts {
		first.Parts[i].RunID, first.Parts[i].State = 15, nudgewire.PartAccepted
	}
	first.Parts[0].State = nudgewire.PartRejected
	family := append(slices.Clone(parts), first.Parts...)
	rest := retry(2, family, run)
	if len(rest.Parts) != 1 || rest.Parts[0].File != parts[len(parts)-1].File {
		t.Errorf("of the first run goes again %+v", rest.Parts)
	}
	stored.State = nudgewire.RunPartial
	second := retry(1, family, stored)
	if err := second.Recheck(t.Context(), onDisk, sieve(kept[0]), true); err != nil {
		t.Fatal(err)
	}
	if p := second.Parts[0]; p.File != "part-0001.retry-1-of-run-15.csv" || p.Rows != int64(len(kept)-1) {
		t.Errorf("the retry's own retry: %+v", second.Parts)
	}
	again := PositionFinder{Files: onDisk, Store: folderStore{fakeParts{16: second.Parts}, dir}}
	defer again.Close()
	if at, err := again.Of(t.Context(), 16, 1); err != nil || at.Row != int64(slices.Index(whole, kept[1]))+2 {
		t.Errorf("its first row stands in %+v, %v", at, err)
	}
	_, _, err := ResolvePart(nudgewire.Run{ID: 12, State: nudgewire.RunPartial}, append(partsOf(12, nudgewire.PartInDoubt), first.Parts[0]), 1, nudgewire.ResolveResend, "Ann", "", monday)
	if want := "part 1 of run 12 went again as part 1 of run 15, which is rejected | look at jobs show 15"; err == nil || hinted(err) != want {
		t.Errorf("a word on a part that went again: %v", err)
	}
}

// A file that is gone or was changed is no reason against the others: its upload says what is wrong.
func TestAFileThatCannotBeRecheckedStaysIn(t *testing.T) {
	dir := t.TempDir()
	job := jobOf(t, people(40), Job{})
	job.MaxSize = units.Size(500)
	parts, _ := built(t, job, dir, nil)
	for i := range parts {
		parts[i].RunID, parts[i].State = 12, nudgewire.PartRejected
	}
	r, err := RetryParts(nudgewire.Run{ID: 12, Job: "winback", State: nudgewire.RunFailed, Deliver: nudgewire.DeliverCSV, Folder: dir}, parts, "Ann", 1, false, monday)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, parts[0].File)); err != nil {
		t.Fatal(err)
	}
	if err := r.Recheck(t.Context(), onDisk, sieve("447911100039"), true); err != nil {
		t.Fatal(err)
	}
	if r.Run.Tally.Kept != 39 || len(r.Parts) != len(parts) || r.Parts[0].File != parts[0].File {
		t.Errorf("%+v %+v", r.Run.Tally, r.Parts)
	}
	failed := fmt.Errorf("the store is gone")
	ask := func(context.Context, []nudgewire.Phone) ([]Why, error) { return nil, failed }
	if err := r.Recheck(t.Context(), onDisk, ask, true); err == nil || !strings.Contains(err.Error(), "the store is gone") {
		t.Errorf("nobody can be asked: %v", err)
	}
}

func TestAForecastSaysWhatItsTimeIsReckonedFrom(t *testing.T) {
	for rate, want := range map[float64]string{
		10: "10 a second", 0.5: "30 a minute", 100.0 / 60: "100 a minute", 7.0 / 3600: "7 an hour", 3.0 / 86400: "3 a day", 0.123456789: "0.12 a second", 2000: "2,000 a second",
	} {
		if got := rateWords(rate); got != want {
			t.Errorf("%v is %q, want %q", rate, got, want)
		}
	}
	s := &Scheduler{Options: Options{Rate: func(string) float64 { return 10 }}}
	single := &Compiled{Job: Job{Deliver: nudgewire.DeliverPerMessage}}
	if took, basis := s.takes(single, nudgewire.Tally{Kept: 560, Parts: 1}); took.Seconds() != 56 || basis != "560 messages at 10 a second (api.rate)" {
		t.Errorf("%s: %s", took, basis)
	}
	if took, basis := s.takes(&Compiled{}, nudgewire.Tally{Kept: 1, Parts: 1, Bytes: 2_000_000}); took.Seconds() != 2.1 || basis != "1 upload at 10 a second (api.rate), and 2,000,000 bytes at a guess of 1 MB a second" {
		t.Errorf("%s: %s", took, basis)
	}
}

func TestAGuardCountsOneRowAsOne(t *testing.T) {
	got := Guard{MaxChange: 3}.stops(nudgewire.Tally{Kept: 1}, &nudgewire.Tally{Kept: 10})
	got = append(got, Guard{ApproveOver: 1, MaxRows: 1}.stops(nudgewire.Tally{Kept: 2}, nil)...)
	want := []string{
		"1 row is only 10% of the last run's 10, and guard.max_change is 300%",
		"2 rows are more than guard.max_rows, 1", "2 rows are more than guard.approve_over, 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// whole reports whether the file of a part is as it was built.
func whole(t *testing.T, folder string, p nudgewire.Part) bool {
	t.Helper()
	why, err := intact(t.Context(), onDisk, folder, &p)
	if err != nil {
		t.Error(err)
	}
	return why == ""
}
