package connectors

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// textOf is what a JSON value says as one text: a string without its quotes, a number with
// all its digits, true or false. A list of one says what its element says (relays such as
// Zapier wrap each field so); null, objects and other lists say nothing.
//
// raw must be JSON that was checked. The text shares raw's memory where it can.
func textOf(raw string) string {
	for raw != "" {
		switch raw[0] {
		case '"':
			return unquote(raw)
		case 'n', '{':
			return ""
		case '[':
			only := ""
			for element := range elements(raw) {
				if only != "" {
					return ""
				}
				only = element
			}
			raw = only
		default:
			return raw
		}
	}
	return ""
}

// unquote reads a checked JSON string. Bytes that are no UTF-8 and lone surrogates become
// the replacement character, and NUL goes away, because no store keeps them.
func unquote(raw string) string {
	inside := raw[1 : len(raw)-1]
	if strings.IndexByte(inside, '\\') >= 0 {
		inside = unescape(inside)
	}
	if !utf8.ValidString(inside) {
		inside = strings.ToValidUTF8(inside, "\uFFFD")
	}
	if strings.IndexByte(inside, 0) >= 0 {
		inside = strings.ReplaceAll(inside, "\x00", "")
	}
	return inside
}

func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, _ := hex4(s, i+1)
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if i+2 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
					low, _ = hex4(s, i+3)
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			b.WriteRune(r)
		default: // quote, backslash, slash
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// elements yields the values of a checked JSON array.
func elements(raw string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if raw == "" || raw[0] != '[' {
			return
		}
		for i := skipSpace(raw, 1); i < len(raw) && raw[i] != ']'; {
			end, err := skipValue(raw, i, 0)
			if err != nil || !yield(raw[i:end]) {
				return
			}
			var done bool
			if i, done, err = skipComma(raw, end, ']'); done || err != nil {
				return
			}
		}
	}
}

// members yields the names, unquoted, and values of a checked JSON object.
func members(raw string) func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		if raw == "" || raw[0] != '{' {
			return
		}
		for i := skipSpace(raw, 1); i < len(raw) && raw[i] != '}'; {
			keyEnd, err := skipKey(raw, i)
			if err != nil {
				return
			}
			at := skipColon(raw, keyEnd)
			end, err := skipValue(raw, at, 0)
			if err != nil || !yield(unquote(raw[i:keyEnd]), raw[at:end]) {
				return
			}
			var done bool
			if i, done, err = skipComma(raw, end, '}'); done || err != nil {
				return
			}
		}
	}
}

// member is the value of a checked object's member; "" when there is none. Of several with
// one name the last counts, as in most readers.
func member(raw, name string) string {
	found := ""
	for key, value := range members(raw) {
		if key == name {
			found = value
		}
	}
	return found
}

// appendQuoted appends text as a JSON string.
func appendQuoted(b []byte, text string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range text { // bytes that are no UTF-8 arrive as U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
