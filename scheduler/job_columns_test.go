package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/lists"
)

func TestColumnsTakeTheExpressionsOfTriggers(t *testing.T) {
	header := []string{"phone", "first_name", "Last Name", "e-mail", "total", "vip", "Phone 1 - Value", "Größe (cm): max."}
	row := lists.Row{"+447700900101", " Ada ", "Byrne", "ada@example.com", "49.90", "", "+447700900102", "180"}
	facts := factsOf("winback", time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC), time.UTC)
	tests := map[string]struct{ text, want, trouble string }{
		"plain text":                      {"Hello", "Hello", ""},
		"a column":                        {"{{ first_name }}", "Ada", ""},
		"a column among text":             {"Dear {{ first_name }}!", "Dear Ada!", ""},
		"a column with a space":           {"{{ Last Name }}", "Byrne", ""},
		"a column by its slug":            {"{{ last_name }}", "Byrne", ""},
		"a column with a dash":            {"{{ e-mail }}", "ada@example.com", ""},
		"a column with any signs":         {`{{ row["Größe (cm): max."] }}/{{ row['Phone 1 - Value'] }}`, "180/+447700900102", ""},
		"the first of two":                {`{{ row["vip"] ?? row["Phone 1 - Value"] }}`, "+447700900102", ""},
		"a function":                      {"{{ upper(first_name) }}", "ADA", ""},
		"a calculation":                   {"{{ number(total) * 2 }}", "99.80", ""},
		"a condition":                     {`{{ number(total) > 20 ? "big" : "small" }}`, "big", ""},
		"an empty cell with a default":    {`{{ vip | default: "no" }}`, "no", ""},
		"an empty cell":                   {"{{ vip }}", "", "is empty: {{ vip }}; give it a default"},
		"a default that is an expression": {`{{ vip | default: lower(first_name) }}`, "ada", ""},
		"what cannot be counted":          {"{{ number(first_name) + 1 }}", "", `is empty: {{ number(first_name) + 1 }} ("Ada" is not a decimal number); give it a default`},
		"the run":                         {"{{ run.job }} {{ run.date }} {{ run.time }}", "winback 2026-05-04 09:30", ""},
		"the time":                        {"{{ now }}", "4 May 2026 09:30", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, faults := expressions.CompileRow(tt.text)
			if len(faults) > 0 {
				t.Fatalf("faults: %+v", faults)
			}
			f, err := bindText(c, header, facts)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a filler is used for row after row
				text, trouble := f.Fill(row)
				if diff := cmp.Diff([]string{tt.want, tt.trouble}, []string{text, trouble}); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestMistakesInColumnsHavePlaces(t *testing.T) {
	compile := map[string]struct {
		text string
		want []expressions.Fault
	}{
		"not closed":         {"Hi {{ first_name", []expressions.Fault{{Offset: 3, Msg: `"{{" is not closed`, Hint: "write }} after the value; quotes inside have to be closed, too"}}},
		"unknown function":   {"{{ uper(first_name) }}", []expressions.Fault{{Offset: 3, Msg: `unknown function "uper"`, Hint: `did you mean "upper"?`}}},
		"a fact that is not": {"Run {{ run.datte }}", []expressions.Fault{{Offset: 11, Msg: `unknown name "datte" in run`, Hint: `did you mean "date"?`}}},
	}
	for name, tt := range compile {
		t.Run(name, func(t *testing.T) {
			_, faults := expressions.CompileRow(tt.text)
			if diff := cmp.Diff(tt.want, faults); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	bind := map[string]struct{ text, msg, hint string }{
		"a misspelt column":               {"{{ frist_name }}", `the source has no column "frist_name"`, `did you mean "first_name"? The source has “phone”, “first_name”`},
		"a misspelt column in a function": {"{{ upper(frist_name) }}", `the source has no column "frist_name"`, `did you mean "first_name"? The source has “phone”, “first_name”`},
		"a name of no column":             {"{{ Last Name }}", `the source has no column "Last Name"`, `did you mean "first_name"? The source has “phone”, “first_name”`},
	}
	for name, tt := range bind {
		t.Run(name, func(t *testing.T) {
			c, faults := expressions.CompileRow(tt.text)
			if len(faults) > 0 {
				t.Fatalf("faults: %+v", faults)
			}
			_, err := bindText(c, []string{"phone", "first_name"}, nil)
			if err == nil {
				t.Fatal("it was bound")
			}
			msg, hint := clockErrorWords(err)
			if diff := cmp.Diff([]string{tt.msg, tt.hint}, []string{msg, hint}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzTemplates(f *testing.F) {
	f.Add(`{{ a | default: "x" }} and {{ b }}`, "cell")
	f.Fuzz(func(t *testing.T, text, cell string) {
		c, faults := expressions.CompileRow(text)
		if len(faults) > 0 {
			for _, one := range faults {
				if one.Offset < 0 || one.Offset > len(text) {
					t.Fatalf("fault at %d of %d", one.Offset, len(text))
				}
			}
			return
		}
		if f, err := bindText(c, []string{"a", "b"}, map[string]string{"run.date": "d"}); err == nil {
			f.Fill(lists.Row{cell})
		}
	})
}
