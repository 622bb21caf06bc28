package lists

import (
	"slices"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

func TestDatesOfAWorkbookAreNoted(t *testing.T) {
	day := time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		rows [][]any
		want []string
	}{
		"none":            {[][]any{{"phone", "code"}, {"447700900123", "12.3"}}, nil},
		"dates":           {[][]any{{"phone", "seen"}, {"1", day}, {"2", day}}, []string{`dates are read as “2026-03-06”, in “seen”`}},
		"typed ones only": {[][]any{{"phone", "seen"}, {"1", "06/03/2026"}}, nil},
		"both": {[][]any{{"phone", "seen"}, {"1", "06/03/2026"}, {"2", day}, {"3", "7.3.26"}, {"4", "never"}}, []string{
			`dates are read as “2026-03-06”, in “seen”`, `column “seen”: beside 1 real date, 2 typed as text and kept so, such as “06/03/2026” in row 2`,
		}},
		"two columns": {[][]any{{"phone", "seen", "born"}, {"1", day, day}}, []string{`dates are read as “2026-03-06”, in “seen”, “born”`}},
	} {
		t.Run(name, func(t *testing.T) {
			book := excelize.NewFile()
			for i, row := range tt.rows {
				cell, err := excelize.CoordinatesToCellName(1, i+1)
				if err == nil {
					err = book.SetSheetRow("Sheet1", cell, &row)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			folder := t.TempDir()
			if err := book.SaveAs(folder + "/list.xlsx"); err != nil {
				t.Fatal(err)
			}
			source, problems := (&Origin{XLSX: "list.xlsx"}).Compile(folder)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			rows, err := source.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, _, err = rows.Next()
			}
			if got := Notes(rows); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
