package lists

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The number of a row is the one that a spreadsheet shows beside it: lines that go on with a cell
// are no rows, empty rows are.
func TestARowHasTheNumberThatASpreadsheetShows(t *testing.T) {
	tests := map[string]struct {
		text   string
		origin Origin
		want   []int64
	}{
		"plain":                         {"phone,name\n1,a\n2,b\n", Origin{}, []int64{2, 3}},
		"cells with line breaks":        {"phone,name\n1,\"a\nb\nc\"\n\"2\n\",\"b\n\"\n3,c\n", Origin{}, []int64{2, 3, 4}},
		"line breaks of Windows":        {"phone,name\r\n1,\"a\r\nb\"\r\n2,b\r\n", Origin{}, []int64{2, 3}},
		"column names with line breaks": {"phone,\"first\nname\"\n1,a\n", Origin{}, []int64{2}},
		"empty rows":                    {"\nphone,name\n\n1,\"a\nb\"\n\n\n2,b\n", Origin{}, []int64{4, 7}},
		"Excel's own first line":        {"sep=,\nphone,name\n1,a\n", Origin{}, []int64{2}},
		"no column names":               {"1,a\n2,b\n", Origin{Header: []string{"phone", "name"}}, []int64{1, 2}},
		"broken rows":                   {"phone,name\n1,\"a\nb\",c\n2\n3,d\n", Origin{}, []int64{2, 3, 4}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.origin.CSV = put(t, "list.csv", []byte(tt.text))
			got := readAll(t, tt.origin)
			if diff := cmp.Diff(tt.want, got.Lines); diff != "" || got.End != "" {
				t.Errorf("numbers (-want +got), end %q:\n%s", got.End, diff)
			}
		})
	}
	t.Run("an error names the line, too", func(t *testing.T) {
		got := readAll(t, Origin{CSV: put(t, "list.csv", []byte("sep=,\nphone,name\n1,\"a\nb\"\n2,x\"y\n"))})
		if want := `row 3 (line 5 of the file) has a quote inside a cell that does not begin with one`; got.End[len(got.End)-len(want):] != want {
			t.Errorf("it ended with %q", got.End)
		}
	})
	t.Run("a row without end", func(t *testing.T) {
		_, _, got := end(t, Origin{CSV: put(t, "list.csv", append([]byte("phone,name\n1,a\n\"2,"), make([]byte, longestLine+sample)...))})
		if want := "PATH: the row behind row 2 is longer than 16 MB: a quote that opens a cell in it is never closed | close it, or set source.quoting: lazy"; got != want {
			t.Errorf("it ended with %q", got)
		}
	})
}
