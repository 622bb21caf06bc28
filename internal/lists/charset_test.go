package lists

import (
	cmpx "cmp"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const twoHints = "save the list as UTF-8; or set source.encoding, to utf-8, which excludes the rows that are not, or to windows-1252, which takes every byte for a character"

// end is how a source ended, with its hint.
func end(t *testing.T, o Origin) (rows []string, readAs, text string) {
	t.Helper()
	o.Country = cmpx.Or(o.Country, "GB")
	s, err := newSource(o, "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Open(t.Context())
	if err != nil {
		return nil, "", strings.ReplaceAll(err.Error(), o.CSV, "PATH") + hintOf(err)
	}
	defer all.Close()
	for {
		row, _, err := all.Next()
		if bad, ok := errors.AsType[*RowError](err); ok {
			rows = append(rows, "! "+bad.Reason)
			continue
		}
		if errors.Is(err, io.EOF) {
			return rows, all.(fromText).ReadAs(), ""
		}
		if err != nil {
			return rows, "", strings.ReplaceAll(err.Error(), o.CSV, "PATH") + hintOf(err)
		}
		rows = append(rows, strings.Join(row, "|"))
	}
}

func hintOf(err error) string {
	if _, hint := words(err); hint != "" {
		return " | " + hint
	}
	return ""
}

// A list is read in one encoding, which every byte of it agrees with, or not at all.
func TestTheEncodingOfAListIsNeverGuessedAgainstItsBytes(t *testing.T) {
	const utf8Row, westernRow, plainRow = "1,Zoë\n", "2,Zo\xeb\n", "3,Ben\n"
	deep := strings.Repeat(plainRow, 40_000) // far behind what is looked at first
	const late = "40002"
	tests := map[string]struct {
		text     string
		encoding string
		rows     []string // the last ones
		readAs   string
		end      string
	}{
		"ASCII":                         {plainRow, "", []string{"3|Ben"}, `UTF-8 with "," between cells`, ""},
		"UTF-8":                         {utf8Row, "", []string{"1|Zoë"}, `UTF-8 with "," between cells`, ""},
		"UTF-8, late":                   {deep + utf8Row, "", []string{"1|Zoë"}, `UTF-8 with "," between cells`, ""},
		"Windows-1252":                  {westernRow, "", []string{"2|Zoë"}, `windows-1252 with "," between cells`, ""},
		"Windows-1252, late":            {deep + westernRow, "", []string{"2|Zoë"}, `windows-1252 with "," between cells`, ""},
		"signs that Latin-1 has not":    {"2,\x80 \x93x\x94\n", "", []string{"2|€ “x”"}, `windows-1252 with "," between cells`, ""},
		"both, at once":                 {utf8Row + westernRow, "", []string{"1|Zoë"}, "", `PATH: two encodings in one list: row 3 has the byte EB, which is not UTF-8, and row 2 has the bytes C3 AB, which are UTF-8 for "ë" | ` + twoHints},
		"both, the other way around":    {westernRow + utf8Row, "", []string{"2|Zoë"}, "", `PATH: two encodings in one list: row 3 has the bytes C3 AB, which are UTF-8 for "ë", and row 2 has the byte EB, which is not UTF-8 | ` + twoHints},
		"both in one cell":              {"1,Zoë Zo\xeb\n", "", nil, "", `PATH: two encodings in one list: row 2 has the byte EB, which is not UTF-8, and row 2 has the bytes C3 AB, which are UTF-8 for "ë" | ` + twoHints},
		"both, late":                    {utf8Row + deep + westernRow, "", []string{"3|Ben"}, "", `PATH: two encodings in one list: row 40003 has the byte EB, which is not UTF-8, and row 2 has the bytes C3 AB, which are UTF-8 for "ë" | ` + twoHints},
		"both, all of it late":          {deep + westernRow + utf8Row, "", []string{"2|Zoë"}, "", `PATH: two encodings in one list: row 40003 has the bytes C3 AB, which are UTF-8 for "ë", and row ` + late + ` has the byte EB, which is not UTF-8 | ` + twoHints},
		"behind the mark of UTF-8":      {"\ufeff" + westernRow, "", nil, "", ""},
		"both, told utf-8":              {utf8Row + westernRow + plainRow, "utf-8", []string{"1|Zoë", "! the row is not written in UTF-8", "3|Ben"}, `UTF-8 with "," between cells`, ""},
		"both, told windows-1252":       {utf8Row + westernRow, "windows-1252", []string{"1|ZoÃ«", "2|Zoë"}, `windows-1252 with "," between cells`, ""},
		"cells with lines, then a byte": {"1,\"a\nZoë\nb\"\n" + westernRow, "", []string{"1|a\nZoë\nb"}, "", `PATH: two encodings in one list: row 3 (line 5 of the file) has the byte EB, which is not UTF-8, and row 2 has the bytes C3 AB, which are UTF-8 for "ë" | ` + twoHints},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := "phone,name\n" + tt.text
			if bom, rest, found := strings.Cut(tt.text, westernRow); found && bom == "\ufeff" {
				text, tt.end = bom+"phone,name\n"+westernRow+rest, `PATH: two encodings in one list: row 2 has the byte EB, which is not UTF-8, and it begins with the mark of UTF-8 (EF BB BF) | `+twoHints
			}
			rows, readAs, ended := end(t, Origin{CSV: put(t, "list.csv", []byte(text)), Encoding: tt.encoding})
			if diff := cmp.Diff(tt.end, ended); diff != "" {
				t.Errorf("its end (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.rows, rows[max(0, len(rows)-len(tt.rows)):]); diff != "" && len(tt.rows) > 0 {
				t.Errorf("its last rows (-want +got):\n%s", diff)
			}
			if readAs != tt.readAs {
				t.Errorf("read as %q, want %q", readAs, tt.readAs)
			}
		})
	}
	t.Run("names of columns in another encoding than told", func(t *testing.T) {
		_, _, got := end(t, Origin{CSV: put(t, "list.csv", []byte("phone,pr\xe9nom\n"+utf8Row)), Encoding: "utf-8"})
		if want := "PATH: row 1, the column names, is not written in UTF-8 | save the list as UTF-8, or set source.encoding: windows-1252"; got != want {
			t.Errorf("it ended with %q", got)
		}
	})
	t.Run("tabs", func(t *testing.T) {
		if _, readAs, _ := end(t, Origin{CSV: put(t, "list.csv", []byte("phone\tname\n1\tZo\xeb\n"))}); readAs != "windows-1252 with tabs between cells" {
			t.Errorf("read as %q", readAs)
		}
	})
}

// Whatever a list holds, what is read of it without an error is what its author wrote, in UTF-8
// or in Windows-1252: no name is half one and half the other.
func TestALetterIsOneOfTheListsEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l charset
		var raw, got []string
		for _, cell := range rapid.SliceOf(rapid.SampledFrom([]string{"Ben", "Zoë", "Zo\xeb", "NESTL\xc9\xae", "“x”", "\x93x\x94", "12345678", "1234567\xe9"})).Draw(t, "cells") {
			row := Row{cell}
			if err := l.read(row, func() string { return "row 1" }); err != nil {
				return
			}
			raw, got = append(raw, cell), append(got, row[0])
		}
		all := strings.Join(raw, ",")
		asUTF8, asWestern := strings.Join(got, ",") == all && strings.ToValidUTF8(all, "?") == all, strings.Join(got, ",") == western(all)
		if !asUTF8 && !asWestern {
			t.Fatalf("%q was read as %q", raw, got)
		}
	})
}
