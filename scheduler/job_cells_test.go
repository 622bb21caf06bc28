package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A cell is what a person sees in it: one of which nothing can be seen is empty, and so is an error of the spreadsheet.
func TestACellIsWhatAPersonSeesInIt(t *testing.T) {
	l := listSource{header: []string{"phone", "name"}}
	for _, name := range []string{"Ann", "", "#N/A", "#DIV/0!", "#1 fan", "\x00", "\u200b\u2060", "\u3164", "12 High Street\r\nLeeds", "a      b", " \u00a0 "} {
		l.rows = append(l.rows, []string{"+4479111000" + string(rune('0'+len(l.rows)/10)) + string(rune('0'+len(l.rows)%10)), name})
	}
	given := jobOf(t, l, Job{Columns: columns("phone", "phone", "var_1", `{{ name | default: "there" }}`)})
	list, _ := built(t, given, nil)
	text := list.files(t, []string{"var_1"}, 1e6)[0].file.String()
	want := "phone,var_1\n447911100000,Ann\n447911100001,there\n447911100002,there\n447911100003,there\n447911100004,#1 fan\n447911100005,there\n447911100006,there\n" +
		"447911100007,there\n447911100008,12 High Street Leeds\n447911100009,a b\n447911100010,there\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bare := jobOf(t, l, Job{Columns: columns("phone", "phone", "var_1", "name")})
	_, b := built(t, bare, nil)
	reasons := []messaging.Excluded{
		{Kind: KindVariable, Reason: "var_1 is empty: {{ name }}; give it a default", Count: 5, First: 3},
		{Kind: KindVariable, Reason: "var_1 is an error of the spreadsheet, #N/A: mend the formula of that cell, or give {{ name }} a default", Count: 1, First: 4},
		{Kind: KindVariable, Reason: "var_1 is an error of the spreadsheet, #DIV/0!: mend the formula of that cell, or give {{ name }} a default", Count: 1, First: 5},
	}
	if diff := cmp.Diff(reasons, b.tally.Excluded); diff != "" {
		t.Errorf("without a default (-want +got):\n%s", diff)
	}
}

// A row that ends early goes where all that the job asks of it is there.
func TestARowThatEndsEarlyGoesWhereItsCellsAreThere(t *testing.T) {
	path := put(t, "list.csv", []byte("phone,name,note\n+447911100000,Ann,x\n+447911100001,Ben\n+447911100002\n"))
	for column, want := range map[string]int64{"name": 2, "note": 1} {
		job := compile(t, Job{Source: lists.Origin{CSV: path}, Columns: columns("phone", "phone", "var_1", column)})
		_, b := built(t, job, nil)
		if b.tally.Kept != want || b.tally.Rows != 3 {
			t.Errorf("with %s: %d of %d kept, want %d: %v", column, b.tally.Kept, b.tally.Rows, want, b.tally.Excluded)
		}
	}
}

// A run says how its list was read where that is not what the job expects.
func TestARunSaysHowItsListWasRead(t *testing.T) {
	l := listSource{header: []string{"phone", "name"}, rows: [][]string{{"+447400123450", "Ann"}, {"+447400123451", "#N/A"}, {"+353861234567", "#REF!"}, {"+447400123452", ""}}}
	_, b := built(t, jobOf(t, l, Job{Columns: columns("phone", "phone", "var_1", `{{ name | default: "there" }}`)}), nil)
	want := []string{"2 rows: a cell is an error of a spreadsheet, such as #N/A, and a default took its place (first in row 3)", "phones by country: GB 3, IE 1"}
	if diff := cmp.Diff(want, b.tally.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// A list that begins with a title, and a source without columns, say so.
func TestAListWithoutItsColumnNamesSaysSo(t *testing.T) {
	people := [][]string{{"phone", "name"}, {"+447400123450", "Ann"}, {"+447400123451", "Ben"}}
	for name, tt := range map[string]struct {
		list listSource
		want string
	}{
		"a title":                     {listSource{header: []string{"Customers of June"}, rows: people}, "the first row has 1 cell, and the rows below it have more: if it is a title, take it out, so that the column names come first"},
		"a title as wide as its rows": {listSource{header: []string{"Customers of June", ""}, rows: people}, "the first row has 1 cell, and the rows below it have more: if it is a title, take it out, so that the column names come first"},
		"no columns":                  {listSource{rows: [][]string{{}}}, "where it is a query, begin it with select or with"},
	} {
		b := &building{job: jobOf(t, tt.list, Job{Columns: columns("var_1", "name")}), mayGo: everybody, now: monday}
		err := b.run(t.Context())
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if _, hint := clockErrorWords(err); hint != tt.want {
			t.Errorf("%s: %v: %q, want %q", name, err, hint, tt.want)
		}
	}
}

// A job that does not name the column of the phone is told which one it is.
func TestTheColumnOfThePhoneIsProposed(t *testing.T) {
	l := listSource{header: []string{"Order", "Billing Phone", "Shipping Phone"}}
	for i := range 30 {
		l.rows = append(l.rows, []string{"#10" + string(rune('0'+i%10)), "+4479111000" + string(rune('0'+i/10)) + string(rune('0'+i%10)), ""})
	}
	l.rows[3][1] = "ask"
	job := jobOf(t, l, Job{Columns: columns("var_1", "Order")})
	b := &building{job: job, mayGo: everybody, now: monday}
	err := b.run(t.Context())
	if _, hint := clockErrorWords(err); hint != `write columns: {phone: "Billing Phone"}; 29 of the first 30 of its cells are phones` {
		t.Errorf("%v: %q", err, hint)
	}
}
