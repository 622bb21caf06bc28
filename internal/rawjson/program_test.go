package rawjson

import "testing"

func TestALooseProgramFindsNamesInAnySpelling(t *testing.T) {
	p := NewProgram()
	p.Loose = true
	slot := p.Add([]string{"customer", "phone_number"})
	for text, want := range map[string]string{
		`{"customer":{"phone_number":"1"}}`:                   `"1"`,
		`{"Customer":{"Phone Number":"1"}}`:                   `"1"`,
		`{"CUSTOMER":{"phoneNumber":"1"}}`:                    `"1"`,
		`{"customer":{"phone-number":"1"}}`:                   `"1"`,
		`{"customer":{"phone\u005fnumber":"1"}}`:              `"1"`,
		`{"customer":{"phoneNumber":"1","phone_number":"2"}}`: `"2"`, // the very name
		`{"customer":{"phone_number":"2","phoneNumber":"1"}}`: `"2"`,
		`{"customer":{"PhoneNumber":"1","Phone Number":"2"}}`: `"1"`, // the first of others
		`{"Customer":{"phone_number":"1"},"customer":{}}`:     ``,
		`{"customer":{"phone_numbers":"1"}}`:                  ``,
		`{"customer":{"phone":"1"},"phone_number":"2"}`:       ``,
	} {
		found := make([]Span, p.Slots)
		if err := p.Run(text, found); err != nil {
			t.Fatal(err)
		}
		if at := found[slot]; text[at.From:at.To] != want {
			t.Errorf("%s: found %s, want %s", text, text[at.From:at.To], want)
		}
	}
}
