package contacts

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func utf16LE(text string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestPhonesAreReadOfWhateverAListIs(t *testing.T) {
	two := phoneList{[]string{"+447700900123", "07700 900124"}, []int{2, 4}}
	for name, tt := range map[string]struct {
		text, column string
		want         phoneList
	}{
		"one a line":               {"+447700900123\n# a remark\n\n07700 900124\n", "", phoneList{two.phones, []int{1, 4}}},
		"a header":                 {"name,phone\nAda,+447700900123\n\nBob,07700 900124\n", "", two},
		"semicolons":               {"name;phone\nAda;+447700900123\n\nBob;07700 900124\n", "", two},
		"UTF-16":                   {utf16LE("name\tphone\r\nAda\t+447700900123\r\n\r\nBob\t07700 900124\r\n"), "", two},
		"a byte order mark":        {"\ufeffphone\n+447700900123\n\n07700 900124\n", "", two},
		"another name":             {"phone,Mobile-Number\n1,+447700900123\n2\n3,07700 900124,more\n", "mobile number", two},
		"phone is not the one":     {"phone,cell\n1,+447700900123\n2,\n3,07700 900124\n", "cell", two},
		"two columns of one name":  {"phone,phone\n+447700900123,1\n,2\n07700 900124,3\n", "", two},
		"an empty file":            {"", "", phoneList{}},
		"a header alone":           {"phone\n", "", phoneList{}},
		"nothing but remarks":      {"# a\n#b\n", "", phoneList{}},
		"columns without a header": {"+447700900123,Ada\n\n\n07700 900124,Bob\n", "", phoneList{two.phones, []int{1, 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readPhones(strings.NewReader(tt.text), "list.csv", tt.column)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(phoneList{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for text, want := range map[string]string{
		"phone\r+447700900123\r": "list.csv: its lines end with CR alone",
		"a,b\n1,2\n":             "list.csv:1: which column holds the phone? There are a, b",
	} {
		if _, err := readPhones(strings.NewReader(text), "list.csv", ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
