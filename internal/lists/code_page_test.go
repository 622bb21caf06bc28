package lists

import (
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// A column that a job names tells in which encoding the list is, where that was not asked.
func TestTheNameOfAColumnTellsTheEncoding(t *testing.T) {
	for name, encoding := range map[string]string{
		"Телефон": "windows-1251", "Τηλέφωνο": "windows-1253", "טלפון": "windows-1255", "الهاتف": "windows-1256",
		"電話番号": "shift_jis", "โทรศัพท์": "windows-874", "Telefoonnummer": "", "Ügyfél": "",
	} {
		written := encoding
		if written == "" {
			written = westernText
		}
		found, err := htmlindex.Get(written)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := found.NewEncoder().String(name)
		if err != nil {
			t.Fatal(err)
		}
		columns := []string{"name", western(raw) + " "}
		if got := EncodingOf(name, columns); got != encoding {
			t.Errorf("%s: %q, want %q", name, got, encoding)
		}
		if got := EncodingOf("Mobil", columns); got != "" {
			t.Errorf("%s: a name that no column has is in %q", name, got)
		}
	}
}
