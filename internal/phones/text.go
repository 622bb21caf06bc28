package phones

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/nudgewire/nudgewire/internal/plain"
)

var (
	scientific = regexp.MustCompile(`^\+?(\d+)(?:[.,](\d+))?[eE]\+?(\d{1,2})$`)
	wholeFloat = regexp.MustCompile(`^\+?\d{7,15}\.0+$`)
	extension  = regexp.MustCompile(`(?i)[\s,;]*(?:ext(?:ensio)?n?\.?|x|#)[\s:.=]*\d{1,7}$`)
	scheme     = regexp.MustCompile(`(?i)^(?:tel|sms|whatsapp|phone|p):\s*`)
	trunkZero  = regexp.MustCompile(`\(\s*0\s*\)`)
	// account is how a messaging network names the account of a number; a device may stand behind the number.
	account = regexp.MustCompile(`(?i)^\+?(\d{7,15})(?::\d+)?@(?:c\.us|s\.whatsapp\.net)$`)
)

// clean drops what surrounds a number without being part of it.
func clean(raw string) string {
	text := raw
	if !plainASCII(raw) {
		text = strings.Map(seen, raw)
		// A picture of a telephone stands in front or behind. Between digits it would separate two numbers.
		text = strings.TrimFunc(text, func(r rune) bool { return r == ' ' || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) })
	}
	text = strings.TrimLeft(strings.TrimSpace(text), "'\"=") // a spreadsheet's ways to say "this is text"
	text = strings.TrimSpace(strings.TrimRight(text, "'\""))
	text = scheme.ReplaceAllString(text, "")
	if found := account.FindStringSubmatch(text); found != nil {
		return "+" + found[1]
	}
	return text
}

func plainASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// seen is a character as it is read, and -1 for one that nobody can see.
func seen(r rune) rune {
	switch {
	case r == '\uff0b': // full-width plus
		return '+'
	case unicode.IsSpace(r):
		return ' '
	case plain.Unseen(r):
		return -1
	}
	return r
}

// exact writes a number with an exponent out, "4.47700900176E11", where all its digits are there. Ten of them are
// enough, and zeros are put behind: software that writes doubles leaves zeros out at the end, a float of 32 bits
// has nine digits, and a spreadsheet shows six. Else the error is a *ShortenedError. A text without an exponent
// is given back as it is.
func exact(text string) (string, error) {
	found := scientific.FindStringSubmatch(text)
	if found == nil {
		return text, nil
	}
	digits := found[1] + found[2]
	var power int
	_, _ = fmt.Sscan(found[3], &power) // two digits at most
	missing := power - len(found[2])
	if missing < 0 || strings.Trim(found[1], "0") == "" || missing > maxDigits || missing > 0 && len(digits) < minExact {
		return "", &ShortenedError{text}
	}
	return digits + strings.Repeat("0", missing), nil
}

// minExact is how many digits a number with an exponent needs that does not have all of them.
const minExact = 10

// A ShortenedError is a number of which a spreadsheet kept the first digits only.
type ShortenedError struct{ text string }

// Error quotes the cell, which holds no whole number, or else it would not be one.
func (e *ShortenedError) Error() string {
	text := e.text
	if at := strings.IndexAny(text, "eE"); at > minLenient {
		text = text[:3] + "…" + text[at:]
	}
	return "was shortened by a spreadsheet (" + text + " lost its last digits); format that column as text"
}

// characters refuses texts that hold more than one number's digits and separators. plus tells that the number
// begins with one.
func characters(text string) (plus bool, err error) {
	digit := false
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digit = true
		case r == ' ', r == '(', r == ')', r == '.', r == '-', r == '/', r == '*', r == '[', r == ']', r == '~', unicode.Is(unicode.Pd, r):
		case r == '+':
			if plus || digit {
				return plus, errors.New("holds more than one number")
			}
			plus = true
		case unicode.IsLetter(r):
			return plus, errors.New("has letters")
		case r == ',', r == ';', r == '|', r == '&':
			return plus, errors.New("holds more than one number")
		default:
			return plus, fmt.Errorf("has the character %q", r)
		}
	}
	if strings.Contains(text, "*") {
		return plus, errors.New("is masked with asterisks")
	}
	return plus, nil
}
