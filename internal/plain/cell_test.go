package plain

import (
	"strings"
	"testing"
)

func TestCellsForSpreadsheetsAreNoFormulas(t *testing.T) {
	for text, want := range map[string]string{
		`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`, "@SUM(1+1)": "'@SUM(1+1)", "-2+3": "'-2+3", "+1+cmd|' /C calc'!A0": "'+1+cmd|' /C calc'!A0",
		"\t=1+1": "'\t=1+1", "\x1b[31mred": "[31mred", "\r=1": "'=1", "\n=1": "'\n=1", "  =1+1": "'  =1+1", "＝1+1": "'＝1+1", "＠SUM(1)": "'＠SUM(1)",
		"\u202e=1": "'=1", "\ufeff=1": "'=1", "\u2066+1+1": "'+1+1", "\xff=1": "\ufffd=1",
		"+44 (0)7700-900123": "+44 (0)7700-900123", "+447700900123": "+447700900123", "-5": "-5", "-12.50": "-12.50", "--1": "'--1", "+": "+", "-cmd": "'-cmd",
		"Ann": "Ann", "": "", "a=b": "a=b", "a,b\n\"c\"": "a,b\n\"c\"", " Ann": " Ann", "   ": "   ",
	} {
		if got := Cell(text); got != want {
			t.Errorf("Cell(%q) = %q, want %q", text, got, want)
		}
	}
}

// Whatever stands in a cell, a spreadsheet finds a text or a number in it.
func FuzzCell(f *testing.F) {
	for _, seed := range []string{"=1", "\x00\r\n=1", "+44", "'=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Cell(text)
		if head := strings.TrimLeft(got, " "); head != "" && strings.ContainsAny(head[:1], "=@\t\n\r") {
			t.Errorf("Cell(%q) = %q", text, got)
		}
		if again := Cell(got); again != got {
			t.Errorf("Cell(%q) = %q, and once more %q", text, got, again)
		}
	})
}
