package contacts

import (
	"fmt"
	"strings"
	"testing"
)

// A file of consents is read as spreadsheets save it, in the words that their senders use.
func TestAFileOfConsentsIsReadAsSpreadsheetsSaveIt(t *testing.T) {
	for text, want := range map[string]string{
		"phone,consent\n+441,given\n":                           "+441 given",
		"phone;consent\n+441;withdrawn\n":                       "+441 withdrawn",
		"phone\tconsent\n+441\tyes\n":                           "+441 given",
		"Phone,Consent\r\n+441,TRUE\r\n":                        "+441 given",
		"\ufeffMobile Phone,Consent\n+441,SUBSCRIBED\n":         "+441 given",
		"consent,phone number\nopted out,+441\nNo,+442\n":       "+441 withdrawn, +442 withdrawn",
		"# from the shop\nphone,consent\n+441,perhaps\n+442,\n": "+441 perhaps, +442 ",
		"phone,mobile,consent\n+441,+442,given\n":               "+441 given",
		"":                         "",
		"phone,agreed\n+441,yes\n": "x.csv: there is no column consent",
		"name,consent\nAnn,yes\n":  "x.csv: there is no column phone",
	} {
		lines, err := readConsents(strings.NewReader(text), "x.csv")
		var got []string
		for _, l := range lines {
			got = append(got, l.Phone+" "+l.Consent)
		}
		if err != nil {
			got = []string{fmt.Sprint(err)}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}
