package asjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// A Charset is how the bytes of a body encode characters. The zero value is UTF-8 that nobody named.
type Charset struct {
	name     string            // as it was written; "" where nobody named one
	encoding encoding.Encoding // nil: UTF-8
}

// ErrCharset is a charset that is not known here. It does not name it: the name may come out of a body.
var ErrCharset = errors.New("is in a charset that is not known here: send UTF-8, or one that browsers know, such as ISO-8859-1, windows-1252, Shift_JIS or UTF-16")

// CharsetOf finds a charset by its name, in any case (the labels of the WHATWG Encoding Standard). The error is ErrCharset.
func CharsetOf(name string) (Charset, error) {
	if name == "" {
		return Charset{}, nil
	}
	found, err := htmlindex.Get(name)
	if err != nil || found == encoding.Replacement {
		return Charset{}, ErrCharset
	}
	if found == unicode.UTF8 {
		found = nil
	}
	return Charset{name, found}, nil
}

// Wide reports whether the charset has no ASCII in it, so that nothing of a body can be read before it is decoded.
func (c Charset) Wide() bool {
	return c.encoding != nil && strings.HasPrefix(strings.ToLower(strings.TrimSpace(c.name)), "utf-16")
}

// Text is a text of the charset in UTF-8. A byte that means no character is an error and never left out: it was a letter
// when somebody wrote it.
func (c Charset) Text(text []byte) ([]byte, error) {
	if c.encoding != nil {
		made, err := c.encoding.NewDecoder().Bytes(text)
		if err != nil || bytes.ContainsRune(made, utf8.RuneError) {
			return nil, fmt.Errorf("holds bytes that are no %s, which its content type says", strings.TrimSpace(c.name))
		}
		return made, nil
	}
	if utf8.Valid(text) {
		return text, nil
	}
	at := 0
	for r, n := utf8.DecodeRune(text); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(text[at:]) {
		at += n
	}
	if c.name != "" {
		return nil, fmt.Errorf("holds bytes that are no UTF-8, which its content type says: the first is byte %d", at+1)
	}
	return nil, fmt.Errorf("holds bytes that are no UTF-8, and no content type says what else they are: the first is byte %d; "+
		"name the charset where it is sent (Content-Type: …; charset=ISO-8859-1), or in body.charset", at+1)
}

// Marked takes a byte order mark off a body. What follows one is in the charset of the mark, whatever a header says; it
// is decoded then, and marked says so. UTF-16 is known without one, too: JSON, XML and forms begin with ASCII.
func Marked(body []byte) (text []byte, marked bool, err error) {
	var as encoding.Encoding
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return body[3:], true, nil
	case bytes.HasPrefix(body, []byte("\xff\xfe")), len(body) > 1 && ascii(body[0]) && body[1] == 0:
		as = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(body, []byte("\xfe\xff")), len(body) > 1 && body[0] == 0 && ascii(body[1]):
		as = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	default:
		return body, false, nil
	}
	made, err := as.NewDecoder().Bytes(body)
	if err != nil || bytes.ContainsRune(made, utf8.RuneError) {
		return nil, true, errors.New("looks like UTF-16 and is none")
	}
	return made, true, nil
}

func ascii(c byte) bool { return c >= '\t' && c < utf8.RuneSelf }

// xmlReader reads the charset that an XML document says of itself.
func xmlReader(name string, input io.Reader) (io.Reader, error) {
	c, err := CharsetOf(name)
	if err != nil || c.encoding == nil {
		return input, err
	}
	raw, err := io.ReadAll(input)
	if err != nil {
		return nil, err
	}
	made, err := c.Text(raw)
	return bytes.NewReader(made), err
}
