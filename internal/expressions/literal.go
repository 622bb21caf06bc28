package expressions

import (
	"strings"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A literal is a duration written into an expression: `now - event.occurred_at > 2h30m`.
type literal struct {
	from, to int // bytes in the expression; they are ASCII
	word     string
}

// hideDurations finds the durations in an expression and covers each with an identifier of
// the same length, because the parser knows no durations. Nothing moves, so every
// position that the parser reports stays right; parse puts the texts back into the tree.
//
// Only what could not be anything else is taken: digits and a unit that stand alone, outside
// quotes and comments. The result is text unchanged where there is none.
func hideDurations(text string) (covered string, found []literal) {
	var b []byte
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`' || c == '/':
			i = skipQuoted(text, i)
		case digit(c):
			end := i + wordLength(text[i:])
			if word := text[i:end]; duration(word) {
				if b == nil {
					b = []byte(text)
				}
				for j := i; j < end; j++ {
					b[j] = '_'
				}
				found = append(found, literal{i, end, word})
			}
			i = end
		case letter(text[i:]):
			i += wordLength(text[i:])
		default:
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
		}
	}
	if b == nil {
		return text, nil
	}
	return string(b), found
}

// skipQuoted is the index after the quoted text or comment that begins at i, or the end of
// text where it is not closed; i+1 for a slash that begins no comment.
func skipQuoted(text string, i int) int {
	after := func(end string, from int) int {
		if n := strings.Index(text[min(from, len(text)):], end); n >= 0 {
			return from + n + len(end)
		}
		return len(text)
	}
	switch quote := text[i]; {
	case strings.HasPrefix(text[i:], "//"):
		return after("\n", i+2)
	case strings.HasPrefix(text[i:], "/*"):
		return after("*/", i+2)
	case quote == '/':
		return i + 1
	case quote == '`': // a doubled ` inside is read as two texts, which end at the same position
		return after("`", i+1)
	default:
		for j := i + 1; j < len(text); j++ {
			if text[j] == '\\' {
				j++
			} else if text[j] == quote {
				return j + 1
			}
		}
		return len(text)
	}
}

// wordLength is how many bytes of text are one number or name. A dot belongs to it between
// two digits, where text begins with a digit: "1.5h", but not the "0" of "items[0].title".
func wordLength(text string) int {
	number, n := digit(text[0]), 0
	for n < len(text) {
		if number && text[n] == '.' && n+1 < len(text) && digit(text[n+1]) {
			n += 2
			continue
		}
		if !digit(text[n]) && !letter(text[n:]) {
			break
		}
		_, size := utf8.DecodeRuneInString(text[n:])
		n += size
	}
	return n
}

// duration reports whether a word that begins with a digit is digits and units in turn.
func duration(word string) bool {
	for rest := word; rest != ""; {
		number := strings.TrimLeft(rest, "0123456789.")
		unit := strings.TrimLeft(number, "abcdefghijklmnopqrstuvwxyz")
		if len(number) == len(rest) || len(unit) == len(number) {
			return false
		}
		rest = unit
	}
	_, err := units.ParseDuration(word)
	return err == nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func letter(text string) bool {
	c := text[0]
	return c == '_' || c == '$' || c >= utf8.RuneSelf || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
