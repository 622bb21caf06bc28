package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// tried builds a job's list as a forecast does.
func tried(t *testing.T, j *Compiled) (messaging.Tally, error) {
	t.Helper()
	b := &building{job: j, mayGo: everybody, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	err := b.run(t.Context())
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
	if diff := cmp.Diff([]string{"2 rows: not valid in GB, sent as written (first in row 3)", "1 row: not valid in country code 1, sent as written (first in row 6)", "phones by country: GB 2, BR 1, GG 1, US 1"}, got.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if got.Kept != 5 || len(got.Excluded) != 1 || got.Excluded[0].Reason != "the phone is too short for GB" {
		t.Errorf("%+v", got)
	}
}

// What could be a number of the list's country and is one of another goes to nobody; what can only be another
// country's goes there, and is told.
func TestPhonesThatMayBeOfAnotherCountry(t *testing.T) {
	rows := listSource{header: []string{"phone", "name"}, rows: [][]string{
		{"(212) 555-0142", "A"}, {"497-829-0000", "B"}, {"659-123-4567", "C"}, {"33612345678", "D"}, {"4.47911123456E11", "E"}, {"555-555-5555x12", "F"}, {"+4978290000", "G"},
	}}
	for _, tt := range []struct {
		phones phones.Spelling
		sent   []messaging.Phone
		notes  []string
	}{
		{"", []messaging.Phone{"12125550142", "33612345678", "447911123456", "15555555555", "4978290000"}, []string{
			"2 rows read as numbers of other countries, first in row 5", "1 row: not valid in country code 1, sent as written (first in row 7)", "phones by country: US 2, DE 1, FR 1, GG 1",
		}},
		{phones.National, []messaging.Phone{"12125550142", "14978290000", "16591234567", "15555555555", "4978290000"}, []string{
			"3 rows: not valid in country code 1, sent as written (first in row 3)", "phones by country: US 4, DE 1",
		}},
	} {
		j := jobOf(t, rows, Job{Country: "US", Phones: tt.phones})
		b := &building{job: j, mayGo: everybody, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
		if err := b.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sent []messaging.Phone
		for _, p := range b.first {
			sent = append(sent, p.Phone)
		}
		if diff := cmp.Diff(tt.sent, sent); diff != "" {
			t.Errorf("%q: sent (-want +got):\n%s", tt.phones, diff)
		}
		if diff := cmp.Diff(tt.notes, b.tally.Notes); diff != "" {
			t.Errorf("%q: notes (-want +got):\n%s", tt.phones, diff)
		}
		for _, x := range b.tally.Excluded {
			if x.Kind != KindPhone || tt.phones == "" && !strings.HasPrefix(x.Reason, "the phone could be a number of US that no plan knows, or one of ") {
				t.Errorf("%q: %+v", tt.phones, x)
			}
		}
	}
}

func TestShortenedPhonesAreOneReasonWithTheFirstCell(t *testing.T) {
	rows := listSource{header: []string{"phone", "name"}, rows: [][]string{{"3.36123E+10", "A"}, {"07911123456", "B"}, {"4.47911E+11", "C"}}}
	got, err := tried(t, jobOf(t, rows, Job{}))
	if err != nil || len(got.Excluded) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := messaging.Excluded{Kind: KindPhone, Reason: "the phone was shortened by a spreadsheet (3.36123E+10 lost its last digits); format that column as text", Count: 2, First: 2}
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

// What a column says of who, what and how much is never taken as missing where it cannot be read: each mapped field of a
// list in turn holds a word that it cannot be, beside a default, and the row goes to nobody, with the reason.
func TestNoSpoiltCellOfAListIsReadAsMissing(t *testing.T) {
	header := []string{"phone", "total", "when", "wait", "lang", "kind", "pic"}
	whole := []string{"07911123456", "12.50", "2026-11-20", "2h", "de", "utility", "https://cdn.example.com/a.jpg"}
	job := Job{
		Deliver: messaging.DeliverPerMessage, Category: `{{ kind | default: "utility" }}`, Columns: columns("phone", "phone",
			"var_1", `{{ money(number(total), "EUR") | default: "a little" }}`, "var_2", `{{ date(time(when), "D MMM") | default: "soon" }}`,
			"var_3", `{{ duration(wait) | default: "a while" }}`),
		Send: &Message{Template: "t", Language: `{{ lang | default: "en" }}`, Header: &Header{Image: `{{ pic | default: "https://cdn.example.com/b.jpg" }}`}},
	}
	try := func(row []string) messaging.Tally {
		got, err := tried(t, jobOf(t, listSource{header: header, rows: [][]string{row}}, job))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := try(whole); got.Kept != 1 {
		t.Fatalf("%+v", got.Excluded)
	}
	for i, name := range header {
		row := slices.Clone(whole)
		if row[i] = ""; i > 0 {
			if got := try(row); got.Kept != 1 {
				t.Errorf("%s is missing, and there is a default: %+v", name, got.Excluded)
			}
		}
		row[i] = "xqzzy !"
		if got := try(row); got.Kept != 0 || len(got.Excluded) != 1 || got.Excluded[0].Reason == "" {
			t.Errorf("%s cannot be read, and the row is sent: %+v", name, got)
		}
	}
}
