package phones

import (
	"bytes"

	"github.com/nyaruka/phonenumbers"
)

// A Finder finds numbers in texts however they are written there: with their country code or as at home, with a plus, brackets,
// spaces or dashes, in a form of a web page, in JSON. It is safe for concurrent use.
type Finder struct{ needles [][]byte }

// shortest is how many digits a number must have to be looked for as it is written at home. Fewer stand by chance in
// every other list of ids.
const shortest = 8

// fewest is how many digits there are in the shortest number that is looked for.
const fewest = 7

// NewFinder makes a Finder of numbers, which are digits with their country code. Each is found in all its spellings.
func NewFinder(numbers ...string) *Finder {
	f := &Finder{}
	for _, number := range numbers {
		if number == "" {
			continue
		}
		for _, digits := range Spellings(Identity(number)) {
			f.needles = append(f.needles, []byte(digits))
			if n, err := phonenumbers.Parse("+"+digits, ""); err == nil {
				if home := phonenumbers.GetNationalSignificantNumber(n); len(home) >= shortest {
					f.needles = append(f.needles, []byte(home))
				}
			}
		}
	}
	return f
}

// Blot puts a 9 in place of each digit of the numbers in text, which it changes, and reports whether there was one. So
// a number in JSON stays a number, and none begins with 99: nobody's phone comes of it.
func (f *Finder) Blot(text []byte) (found bool) {
	var digits []byte // of the run at hand
	var at []int      // where they stand
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		digits, at = digits[:0], at[:0]
		for i < len(text) {
			if isDigit(text[i]) {
				digits, at = append(digits, text[i]), append(at, i)
				i++
				continue
			}
			n := between(text[i:])
			if n == 0 {
				break
			}
			i += n
		}
		for _, needle := range f.needles {
			for from := 0; from < len(digits); {
				n := bytes.Index(digits[from:], needle)
				if n < 0 {
					break
				}
				n += from
				for k := n; k < n+len(needle); k++ {
					text[at[k]], digits[k] = '9', '9'
				}
				found, from = true, n+len(needle)
			}
		}
	}
	return found
}

// MayBeBlotted reports whether a number that Blot found may have stood in text: as many nines as the shortest has digits, with nothing between them but
// what stands in numbers.
func MayBeBlotted(text string) bool {
	nines := 0
	for i := 0; i < len(text); {
		switch {
		case text[i] == '9':
			if nines++; nines == fewest {
				return true
			}
			i++
		case nines > 0 && between([]byte(text[i:])) > 0:
			i += between([]byte(text[i:]))
		default:
			nines = 0
			i++
		}
	}
	return false
}

// Holds reports whether a number stands in text in one piece, without anything between its digits.
func (f *Finder) Holds(text []byte) bool {
	for _, needle := range f.needles {
		if bytes.Contains(text, needle) {
			return true
		}
	}
	return false
}

// BlotString is Blot of a text that does not change.
func (f *Finder) BlotString(text string) (string, bool) {
	if !f.may(text) {
		return text, false
	}
	b := []byte(text)
	if !f.Blot(b) {
		return text, false
	}
	return string(b), true
}

// may reports whether text has as many digits as a number that is looked for.
func (f *Finder) may(text string) bool {
	n := 0
	for i := range len(text) {
		if isDigit(text[i]) {
			if n++; n >= fewest {
				return true
			}
		}
	}
	return false
}

// between is how many bytes at the beginning of text may stand between two digits of a number: separators, up to
// four of them, with a digit behind; 0 for none.
func between(text []byte) int {
	n := 0
	for range 4 {
		one := separator(text[n:])
		if one == 0 {
			break
		}
		if n += one; n < len(text) && isDigit(text[n]) {
			return n
		}
	}
	return 0
}

// separators are as texts, web forms and JSON write them.
var separators = [][]byte{
	[]byte("%20"), []byte("%28"), []byte("%29"), []byte("%2D"), []byte("%2d"), []byte("%2E"), []byte("%2e"), []byte("%2F"), []byte("%2f"),
	[]byte(`\u00a0`), []byte(`\u00A0`), []byte(`\u202f`), []byte(`\u202F`), []byte(`\/`),
	[]byte("\u00a0"), []byte("\u202f"), []byte("\u2011"), []byte("\u2013"),
}

func separator(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case ' ', '-', '.', '/', '(', ')', '+', '_':
		return 1
	case '%', '\\', 0xC2, 0xE2:
		for _, s := range separators {
			if bytes.HasPrefix(text, s) {
				return len(s)
			}
		}
	}
	return 0
}
