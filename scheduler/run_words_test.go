package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire"
)

// tried builds a job's list as a forecast does.
func tried(t *testing.T, j *Compiled) (nudgewire.Tally, error) {
	t.Helper()
	b := &building{job: j, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), make: nowhere}
	_, err := b.run(t.Context())
	return b.tally, err
}

func TestPhonesThatNoPlanKnowsAreCounted(t *testing.T) {
	rows := listSource{header: []string{"phone", "name"}, rows: [][]string{
		{"07911123456", "A"}, {"0740012345", "B"}, {"+44740012345678", "C"}, {"074001234", "D"}, {"+15555555555", "E"}, {"+5511987654321", "F"},
	}}
	got, err := tried(t, jobOf(t, rows, Job{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2 rows: not valid in GB, sent as written (first in row 3)", "1 row: not valid in country code 1, sent as written (first in row 6)"}, got.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if got.Kept != 5 || len(got.Excluded) != 1 || got.Excluded[0].Reason != "the phone is too short for GB" {
		t.Errorf("%+v", got)
	}
}

func TestShortenedPhonesAreOneReasonWithTheFirstCell(t *testing.T) {
	rows := listSource{header: []string{"phone", "name"}, rows: [][]string{{"3.36123E+10", "A"}, {"07911123456", "B"}, {"4.47911E+11", "C"}}}
	got, err := tried(t, jobOf(t, rows, Job{}))
	if err != nil || len(got.Excluded) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := nudgewire.Excluded{Kind: KindPhone, Reason: "the phone was shortened by a spreadsheet (3.36123E+10 lost its last digits); format that column as text", Count: 2, First: 2}
	if diff := cmp.Diff(want, got.Excluded[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAListWithoutNamesIsSaidToHaveNone(t *testing.T) {
	j := jobOf(t, listSource{header: []string{"", " "}}, Job{})
	if _, err := tried(t, j); err == nil || err.Error() != "the list has no column names" {
		t.Errorf("%v", err)
	}
	j = jobOf(t, listSource{header: []string{"mobile", "name"}}, Job{})
	j.columns.unsaid = true
	if _, err := tried(t, j); err == nil || !strings.Contains(err.Error(), `the source has no column "phone", and columns does not say which one holds the phone`) {
		t.Errorf("%v", err)
	}
}
