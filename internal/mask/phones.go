package mask

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// A sign is what a character may be in a phone number.
type sign int

const (
	other   sign = iota // no part of a phone
	digit               // of any script, also as a picture: 7, ٧, ７, ⁷, ⑦
	between             // what people write between digits
	comma               // also between digits, but with a blank behind it it ends a number
	unseen              // nobody sees it, and so it does not divide
)

const (
	separators  = " \t.()/-_+*~|\\%" // % because an address writes a blank as %20
	mostBetween = 3                  // separators in a row: "+44 (0) 7700"
	drawn       = "·•∙⋅‧−⁄"          // separators that are neither dashes nor blanks
)

func signOf(r rune) sign {
	switch {
	case r < utf8.RuneSelf:
		return asciiSign(r)
	case plain.Unseen(r), unicode.In(r, unicode.Mn, unicode.Me):
		return unseen
	case unicode.IsDigit(r):
		return digit
	case unicode.IsSpace(r), unicode.Is(unicode.Pd, r), strings.ContainsRune(drawn, r):
		return between
	}
	return folded(r)
}

func asciiSign(r rune) sign {
	switch {
	case '0' <= r && r <= '9':
		return digit
	case r == ',':
		return comma
	case strings.ContainsRune(separators, r):
		return between
	case plain.Unseen(r):
		return unseen
	}
	return other
}

// folded is the sign of what NFKC makes of a character: ⑦ is 7, and a wide comma is a comma.
func folded(r rune) sign {
	var raw [utf8.UTFMax]byte
	is := other
	for _, one := range string(norm.NFKC.Bytes(raw[:utf8.EncodeRune(raw[:], r)])) {
		switch s := asciiSign(one); {
		case one >= utf8.RuneSelf || s == other:
			return other
		case is != digit:
			is = s
		}
	}
	return is
}

// days are dates, with the hour behind them or the seconds of a time before them, and from one to another.
var days = regexp.MustCompile(`^(?:[0-5]\d[ -]{1,3})?(?:(?:19|20)\d\d-[01]\d-[0-3]\d(?: [0-2]\d)?(?:[ /-]{1,3}|$))+$`)

// seconds are those of a time of RFC 3339 from the minute on.
var (
	seconds = regexp.MustCompile(`^[0-5]\d\.\d{1,9}(?:[+-]\d\d)?$`)
	minutes = regexp.MustCompile(`(?:19|20)\d\d-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d:$`)
)

// harmless reports whether the digits text[from:to] are a date, a time or an address of a network.
func harmless(text string, from, to int) bool {
	run := text[from:to]
	if _, err := netip.ParseAddr(run); err == nil || days.MatchString(run) {
		return true
	}
	if _, err := netip.ParsePrefix(run); err == nil {
		return true
	}
	return seconds.MatchString(run) && minutes.MatchString(text[max(0, from-len("2006-01-02T15:04:")):from])
}

// Phones hides what may be a phone number in the text of a stranger: seven or more digits in a row, or nine or more with separators
// ("+44 7700 900123"), in the digits of any script, whatever nobody sees between them. Dates, times and IP addresses stay.
func Phones(text string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && (c < '0' || c > '9') {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if signOf(r) != digit {
			i += size
			continue
		}
		n := readNumber(text[i:])
		if n.may() && !harmless(text, i, i+n.length) {
			out.WriteString(text[done:i])
			n.hide(&out, text[i:i+n.length])
			done = i + n.length
		}
		i += n.length
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// A number is a run of digits with separators between them.
type number struct {
	length  int // bytes, from its first digit to its last
	digits  int
	longest int // digits without a separator
}

// readNumber reads the number that a text begins with.
func readNumber(text string) number {
	var n number
	row, gap, listed := 0, 0, false
	for i := 0; i < len(text); {
		s, size := nextSign(text[i:])
		i += size
		switch {
		case s == digit:
			if gap > 0 {
				row, gap, listed = 0, 0, false
			}
			n.digits++
			row++
			n.longest = max(n.longest, row)
			n.length = i
		case s == unseen:
		case s == other, gap == mostBetween, listed, s == comma && gap > 0: // "12, 13, 14" are three numbers
			return n
		default:
			gap++
			listed = s == comma
		}
	}
	return n
}

// may reports whether the number may be a phone.
func (n number) may() bool { return n.digits >= fewestShown || n.longest >= fewestInRow }

// hide writes the number's text with asterisks: of nine digits the first four and the last two stay, of fewer none.
func (n number) hide(to *strings.Builder, text string) {
	for i, nth := 0, 0; i < len(text); {
		s, size := nextSign(text[i:])
		if s == digit {
			nth++
		}
		if s == digit && (n.digits < fewestShown || nth > head && nth <= n.digits-tail) {
			to.WriteByte('*')
		} else {
			to.WriteString(text[i : i+size])
		}
		i += size
	}
}

// escapes are how our sentences quote (%q) what nobody sees, and JSON a tab.
var escapes = regexp.MustCompile(`^\\(?:t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})`)

// nextSign is the sign that a text begins with, and how long it is in bytes.
func nextSign(text string) (sign, int) {
	if text[0] == '\\' {
		if found := escapes.FindString(text); found != "" {
			if r, _, _, err := strconv.UnquoteChar(found, '"'); err == nil && signOf(r) != digit {
				return signOf(r), len(found)
			}
		}
	}
	r, size := utf8.DecodeRuneInString(text)
	return signOf(r), size
}
