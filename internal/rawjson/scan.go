package rawjson

import (
	"fmt"
	"math/bits"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may be nested. Senders' bodies stay below 20; a body of
// brackets alone must not exhaust the stack.
const MaxDepth = 100

// A Fault says where a text stops being JSON. Its words repeat nothing of the text.
type Fault struct {
	At  int // byte offset
	Msg string
}

func (f *Fault) Error() string { return fmt.Sprintf("byte %d: %s", f.At+1, f.Msg) }

// classOf names the kind of a text's first character. The character itself is not shown: it may
// be part of a phone number.
func classOf(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size <= 1:
		return "a byte that is no UTF-8"
	case unicode.IsLetter(r):
		return "a letter"
	case unicode.IsDigit(r):
		return "a digit"
	case unicode.IsSpace(r):
		return "a space that is not JSON's"
	case r < ' ' || r == 0x7f:
		return "a control character"
	case r < 0x80:
		return "a symbol"
	default:
		return "a character beyond ASCII"
	}
}

// SkipSpace goes from i to the first byte that is no space of JSON.
func SkipSpace(s string, i int) int {
	for i < len(s) {
		switch s[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// SkipValue goes from the first byte of a value to behind its last, and checks it (RFC 8259).
func SkipValue(s string, i int) (int, error) { return skipValue(s, i, 0) }

func skipValue(s string, i, depth int) (int, error) {
	if i >= len(s) {
		return i, &Fault{i, "the text ends where a value should be"}
	}
	switch c := s[i]; {
	case c == '"':
		return skipString(s, i)
	case c == '{':
		return noNames.walkObject(s, i, depth, nil)
	case c == '[':
		return skipArray(s, i, depth)
	case c == '-', c >= '0' && c <= '9':
		return skipNumber(s, i)
	case c == 't':
		return skipWord(s, i, "true")
	case c == 'f':
		return skipWord(s, i, "false")
	case c == 'n':
		return skipWord(s, i, "null")
	case c == '\'':
		return i, &Fault{i, "a single quote where JSON wants a double one"}
	default:
		return i, &Fault{i, classOf(s[i:]) + " where a value should be"}
	}
}

func skipArray(s string, i, depth int) (int, error) {
	if depth >= MaxDepth {
		return i, &Fault{i, "is nested too deep"}
	}
	i = SkipSpace(s, i+1)
	if i < len(s) && s[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = skipValue(s, i, depth+1); err != nil {
			return i, err
		}
		var done bool
		if i, done, err = skipComma(s, i, ']'); err != nil || done {
			return i, err
		}
	}
}

// skipKey walks over a member's name and the space behind it, up to its colon.
func skipKey(s string, i int) (int, error) {
	if i >= len(s) || s[i] != '"' {
		if i < len(s) && s[i] == '\'' {
			return i, &Fault{i, "a single quote where JSON wants a double one"}
		}
		return i, &Fault{i, "a name in double quotes should be here"}
	}
	end, err := skipString(s, i)
	if err != nil {
		return end, err
	}
	if at := SkipSpace(s, end); at >= len(s) || s[at] != ':' {
		return at, &Fault{at, "a colon should be here"}
	}
	return end, nil
}

// skipColon goes from behind a key, known to be followed by a colon, to its value.
func skipColon(s string, i int) int { return SkipSpace(s, SkipSpace(s, i)+1) }

// skipComma goes from behind a member to the next one, or over the closing bracket.
func skipComma(s string, i int, closing byte) (next int, done bool, err error) {
	i = SkipSpace(s, i)
	if i >= len(s) {
		return i, false, &Fault{i, fmt.Sprintf("the text ends before %q", closing)}
	}
	switch s[i] {
	case closing:
		return i + 1, true, nil
	case ',':
		i = SkipSpace(s, i+1)
		if i < len(s) && s[i] == closing {
			return i, false, &Fault{i, "a comma before the closing bracket"}
		}
		return i, false, nil
	default:
		return i, false, &Fault{i, fmt.Sprintf("a comma or %q should be here", closing)}
	}
}

func skipString(s string, i int) (int, error) {
	for i = plainUntil(s, i+1); i < len(s); i = plainUntil(s, i+1) {
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			i++
			if i >= len(s) {
				return len(s), &Fault{len(s), "a text without its closing quote"}
			}
			switch s[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := hex4(s, i+1); !ok {
					return i, &Fault{i, "\\u without four hexadecimal digits"}
				}
				i += 4
			default:
				return i, &Fault{i, "a backslash and " + classOf(s[i:]) + ", which is no escape of JSON"}
			}
		case c < 0x20:
			return i, &Fault{i, "a control character inside a text"}
		}
	}
	return len(s), &Fault{len(s), "a text without its closing quote"}
}

// plainUntil goes from i to the first quote, backslash or control character; to the end of s where
// there is none. Texts are most of a body, so it looks at eight bytes at once.
func plainUntil(s string, i int) int {
	const (
		each = 0x0101010101010101
		high = 0x80 * each
	)
	for ; i+8 <= len(s); i += 8 {
		eight := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := eight^each*'"', eight^each*'\\'
		// x-1 sets the high bit of a byte that is 0, x-0x20 that of one below 0x20; &^x excludes those
		// that had it. A borrow can set it in the bytes above such a one, too, so only the lowest
		// counts, and it is the one wanted.
		stop := ((quote-each)&^quote | (slash-each)&^slash | (eight-0x20*each)&^eight) & high
		if stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
	}
	for ; i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= 0x20; i++ {
	}
	return i
}

func skipNumber(s string, i int) (int, error) {
	start := i
	if s[i] == '-' {
		i++
	}
	switch {
	case i < len(s) && s[i] == '0':
		i++
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			return start, &Fault{start, "a number with a zero in front"}
		}
	default:
		at := i
		if i = skipDigits(s, i); i == at {
			return i, &Fault{i, "a digit should be here"}
		}
	}
	if i < len(s) && s[i] == '.' {
		at := i + 1
		if i = skipDigits(s, at); i == at {
			return i, &Fault{i, "a digit should be here"}
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		at := i
		if i = skipDigits(s, i); i == at {
			return i, &Fault{i, "a digit should be here"}
		}
	}
	return i, nil
}

func skipDigits(s string, i int) int {
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

func skipWord(s string, i int, word string) (int, error) {
	if len(s)-i >= len(word) && s[i:i+len(word)] == word {
		return i + len(word), nil
	}
	return i, &Fault{i, "a word other than true, false and null"}
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	r, err := strconv.ParseUint(s[i:i+4], 16, 16)
	return rune(r), err == nil
}

// Check checks that s is one JSON value.
func Check(s string) error {
	i, err := skipValue(s, SkipSpace(s, 0), 0)
	if err != nil {
		return err
	}
	return atEnd(s, i)
}

func atEnd(s string, i int) error {
	if i = SkipSpace(s, i); i < len(s) {
		return &Fault{i, "more text behind the end of the value"}
	}
	return nil
}
