package lists

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The encodings of a text.
const (
	utf8Text    = "utf-8"
	utf16Text   = "utf-16"    // by its BOM, else little endian
	utf16BEText = "utf-16-be" // found out only
	westernText = "windows-1252"
)

const byteOrderMark = "\xef\xbb\xbf"

// A charset makes text of the bytes of cells. UTF-8 and Windows-1252 differ only in bytes above
// 127, so a list is in neither until its first such byte, and in one of them from then on: no
// list need be read twice, and an accent in its last row counts as much as one in its first.
//
// Where bytes speak for both, a list is in two encodings, mostly because somebody pasted one
// into another. Taking it for either would send people names such as "ZoÃ«", so it is not taken.
type charset struct {
	is      string // "" while every byte was below 128
	set     bool   // by the job: then no byte speaks against it
	decoded bool   // the bytes were made UTF-8 before: is names what they were
	seen    string // for utf8Text and westernText: what spoke for it, as the beginning of a sentence
	country string // whose spreadsheets wrote the list; "" where nobody says
	page    string // what they write it in (codePage)
	letters string // for westernText: characters beyond ASCII that it has, which show whether it is
}

// charsetOf says how a text is written as far as its beginning shows: by its BOM, or by the zeros
// between Latin letters in UTF-16. set is source.encoding, and country that of the list's people.
func charsetOf(head []byte, set, country string) charset {
	if is, _ := canonical(set); is != "" {
		return charset{is: is, set: true, decoded: is != utf8Text && is != westernText}
	}
	switch {
	case bytes.HasPrefix(head, []byte(byteOrderMark)):
		return charset{is: utf8Text, seen: "it begins with the mark of UTF-8 (EF BB BF)"}
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return charset{is: utf16Text}
	}
	even, odd := 0, 0
	for i, b := range head {
		if b == 0 {
			if i%2 == 0 {
				even++
			} else {
				odd++
			}
		}
	}
	switch {
	case odd*3 > len(head) && even < odd/4:
		return charset{is: utf16Text}
	case even*3 > len(head) && odd < even/4:
		return charset{is: utf16BEText}
	}
	return charset{country: country, page: codePage(country)}
}

// String is the encoding for people.
func (c *charset) String() string {
	switch c.is {
	case westernText:
		return "windows-1252"
	case utf16Text, utf16BEText:
		return "UTF-16"
	case "", utf8Text:
		return "UTF-8"
	default:
		return c.is
	}
}

// read makes text of the cells of a row, in place. place names the row. The error ends the list,
// but for a *RowError: a row that is not in UTF-8, in a list of which the job says that it is.
func (c *charset) read(row Row, place func() string) error {
	for i, cell := range row {
		switch {
		case c.is == "" && isASCII(cell):
		case c.is == westernText && isASCII(cell):
		case c.is == "" || c.is == westernText:
			if err := c.look(cell, place); err != nil {
				return err
			}
			if c.is == westernText {
				row[i] = western(cell)
				c.letters = withLetters(c.letters, row[i], shownLetters)
			}
		case c.decoded && strings.ContainsRune(cell, utf8.RuneError):
			return &RowError{Reason: "the row is not written in " + c.is}
		case utf8.ValidString(cell):
		case c.set:
			return &RowError{Reason: "the row is not written in UTF-8"}
		default:
			if err := c.look(cell, place); err != nil {
				return err
			}
		}
	}
	return nil
}

// isASCII reports whether every byte is below 128.
func isASCII(s string) bool {
	for len(s) >= 8 { // one load: cells are looked at once for each row of a list
		eight := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if eight&0x8080808080808080 != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// look takes from the bytes of a cell which encoding the list is in; an error where they, or these
// and earlier ones, speak for both.
func (c *charset) look(cell string, place func() string) error {
	if c.set {
		return nil
	}
	good, bad := "", ""
	for i := 0; i < len(cell); {
		_, size := utf8.DecodeRuneInString(cell[i:])
		switch {
		case cell[i] < utf8.RuneSelf:
		case size > 1:
			if good == "" {
				good = cell[i : i+size]
			}
		case bad == "":
			bad = cell[i : i+1]
		}
		i += size
	}
	speaks := func(is, of string) {
		if c.is == "" {
			c.is, c.seen = is, of
		}
	}
	asUTF8, asWestern := "", ""
	if good != "" {
		asUTF8 = fmt.Sprintf("%s has the bytes % X, which are UTF-8 for %q", place(), good, good)
		speaks(utf8Text, asUTF8)
	}
	if bad != "" {
		asWestern = fmt.Sprintf("%s has the byte %X, which is not UTF-8", place(), bad)
		speaks(westernText, asWestern)
	}
	switch {
	case c.is == westernText && good == "" && c.page != westernText:
		return c.notWestern(cell, asWestern)
	case c.is == utf8Text && bad != "":
		return c.twoEncodings(asWestern)
	case c.is == westernText && good != "":
		return c.twoEncodings(asUTF8)
	}
	return nil
}

// twoEncodings is a list of which seen speaks for another encoding than what was seen before.
func (c *charset) twoEncodings(seen string) error {
	hint := "save the list as UTF-8; or set source.encoding, to utf-8, which excludes the rows that are not, or to windows-1252, which takes every byte for a character"
	if c.page != "" && c.page != westernText {
		hint = fmt.Sprintf("save the list as UTF-8; or set source.encoding, to %s, in which spreadsheets of %s are written, or to utf-8, which excludes the rows that are not", c.page, c.country)
	}
	return &wordError{"two encodings in one list: " + seen + ", and " + c.seen, hint}
}

// notWestern is a list that is not in UTF-8, and whose people are not known to write in Windows-1252: read in it all the same, each
// name with such a letter would be another one.
func (c *charset) notWestern(cell, seen string) error {
	const say = "say in source.encoding how the list is written"
	if c.page == "" {
		return &wordError{
			seen + ", and no country says which encoding it is",
			fmt.Sprintf("%s (%s), or save it as UTF-8; letters of that cell are %q in windows-1252", say, encodingNames, letters(cell, westernText)),
		}
	}
	return &wordError{
		fmt.Sprintf("%s, and spreadsheets of %s do not write windows-1252", seen, c.country),
		fmt.Sprintf("%s, or save it as UTF-8; letters of that cell are %q in %s, %q in windows-1252", say, letters(cell, c.page), c.page, letters(cell, westernText)),
	}
}

// westernCharacters are the characters of Windows-1252 above 127.
var westernCharacters = func() (all [128]rune) {
	for i := range all {
		all[i] = charmap.Windows1252.DecodeByte(byte(128 + i))
	}
	return all
}()

// western is the text of a cell in Windows-1252.
func western(cell string) string {
	var b strings.Builder
	b.Grow(len(cell) + len(cell)/4 + utf8.UTFMax)
	for i := range len(cell) {
		if one := cell[i]; one < utf8.RuneSelf {
			b.WriteByte(one)
		} else {
			b.WriteRune(westernCharacters[one-utf8.RuneSelf])
		}
	}
	return b.String()
}

// decode takes the BOM away and makes UTF-8 of what is in another encoding. Bytes of UTF-8 and of Windows-1252 pass: what parts cells
// and rows is the same in both, and a charset looks at the cells.
func decode(r *bufio.Reader, encoding string) io.Reader {
	switch encoding {
	case utf16Text:
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case utf16BEText:
		return transform.NewReader(r, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder())
	case "", utf8Text, westernText:
		if head, err := r.Peek(len(byteOrderMark)); err == nil && string(head) == byteOrderMark {
			_, _ = r.Discard(len(byteOrderMark)) // it was just seen
		}
		return r
	default:
		found, err := htmlindex.Get(encoding)
		if err != nil {
			return r // check refused it
		}
		return transform.NewReader(r, found.NewDecoder())
	}
}
