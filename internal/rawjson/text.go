package rawjson

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is what a JSON value says as one text: a string without its quotes, a number with all its
// digits, true or false. A list of one says what its element says (relays such as Zapier wrap each
// field so); null, objects and other lists say nothing. The text shares raw's memory where it can.
func Text(raw string) string {
	for raw != "" {
		switch raw[0] {
		case '"':
			return Unquote(raw)
		case 'n', '{':
			return ""
		case '[':
			raw = Only(raw)
		default:
			return raw
		}
	}
	return ""
}

// Empty reports whether a JSON value holds nothing: null, a text of blanks, and objects and lists of such alone.
func Empty(raw string) bool {
	if raw == "" {
		return true
	}
	switch raw[0] {
	case 'n':
		return true
	case '"':
		return strings.TrimSpace(Unquote(raw)) == ""
	case '[':
		for one := range Elements(raw) {
			if !Empty(one) {
				return false
			}
		}
		return true
	case '{':
		for _, one := range Members(raw) {
			if !Empty(one) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// Unquote reads a JSON string. Bytes that are no UTF-8 and lone surrogates become the replacement
// character, and NUL goes away, because no store keeps them.
func Unquote(raw string) string {
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

// Elements yields the values of a JSON array.
func Elements(raw string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if raw == "" || raw[0] != '[' {
			return
		}
		for i := SkipSpace(raw, 1); i < len(raw) && raw[i] != ']'; {
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

// Members yields the names, unquoted, and values of a JSON object.
func Members(raw string) func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		if raw == "" || raw[0] != '{' {
			return
		}
		for i := SkipSpace(raw, 1); i < len(raw) && raw[i] != '}'; {
			keyEnd, err := skipKey(raw, i)
			if err != nil {
				return
			}
			at := skipColon(raw, keyEnd)
			end, err := skipValue(raw, at, 0)
			if err != nil || !yield(Unquote(raw[i:keyEnd]), raw[at:end]) {
				return
			}
			var done bool
			if i, done, err = skipComma(raw, end, '}'); done || err != nil {
				return
			}
		}
	}
}

// Member is the value of an object's member; "" when there is none. Of several with
// one name the last counts, as in most readers.
func Member(raw, name string) string {
	found := ""
	for key, value := range Members(raw) {
		if key == name {
			found = value
		}
	}
	return found
}

// Only is the element of a list of one; "" for any other list.
func Only(raw string) string {
	only := ""
	for element := range Elements(raw) {
		if only != "" {
			return ""
		}
		only = element
	}
	return only
}

// Element is the n-th element of a list, counted from the end for a negative n; "" for none.
func Element(raw string, n int) string {
	if n < 0 {
		for range Elements(raw) {
			n++
		}
	}
	for element := range Elements(raw) {
		if n == 0 {
			return element
		}
		n--
	}
	return ""
}

// OneReading takes out of JSON what its readers would read in different ways: bytes that are no
// UTF-8 become the replacement character, and NUL, which no store keeps, goes away. Nearly every
// text passes as it is.
func OneReading(body []byte) []byte {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	const nul = `\u0000`
	if !bytes.Contains(body, []byte(nul)) {
		return body
	}
	out := make([]byte, 0, len(body))
	text := false // inside quotes
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '"':
			text = !text
		case body[i] == '\\' && text && bytes.HasPrefix(body[i:], []byte(nul)):
			i += len(nul) - 1
			continue
		case body[i] == '\\' && text && i+1 < len(body):
			out = append(out, body[i])
			i++
		}
		out = append(out, body[i])
	}
	return out
}

// AppendString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD. It escapes no
// more than JSON demands: HTML's characters and everything beyond ASCII stay as they are.
func AppendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[from:i]...)
			b = append(b, "\uFFFD"...)
			i++
			from = i
			continue
		}
		i += size
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
