package lists

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// Bounds of a workbook, in bytes. The library holds the zip file and most of its members in memory; worksheets and
// their texts beyond largestInMemory it unpacks to temporary files and streams from there.
const (
	largestWorkbook = 100 << 20
	largestUnpacked = 512 << 20 // all members
	largestAround   = 64 << 20  // all members but worksheets and texts
	largestInMemory = 8 << 20
	lastRow         = 1 << 20 // of a worksheet
)

// openWorkbook opens a workbook that was looked through before: the library would unpack whatever it holds, and
// takes a worksheet that breaks off, or holds a character that XML does not allow, for one that ends there.
func openWorkbook(r io.Reader) (_ *excelize.File, err error) {
	spool, err := os.CreateTemp("", "nudgewire-*.xlsx")
	if err != nil {
		return nil, fmt.Errorf("keep the workbook while it is read: %w", err)
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	size, err := io.Copy(spool, &limited{r: r, left: largestWorkbook, read: new(int64)})
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, errors.New("is a workbook of more than 100 MiB: save it as CSV")
	case err != nil:
		return nil, err
	}
	if err := lookThrough(spool, size); err != nil {
		return nil, err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	book, err := excelize.OpenReader(spool, excelize.Options{UnzipSizeLimit: largestUnpacked, UnzipXMLSizeLimit: largestInMemory})
	if err != nil {
		return nil, fmt.Errorf("is no workbook that can be read: %w", err)
	}
	return book, nil
}

// lookThrough refuses a zip file that would unpack to too much, and one with a worksheet that cannot be read to its
// end. The directory of the file is taken at its word here; package zip refuses a member that holds more than it says.
func lookThrough(file io.ReaderAt, size int64) error {
	z, err := zip.NewReader(file, size)
	if err != nil {
		return fmt.Errorf("is no workbook that can be read: %w", err)
	}
	var all, around uint64
	for _, member := range z.File {
		bytes := min(member.UncompressedSize64, largestUnpacked+1) // so that nothing overflows
		all += bytes
		if depth := streamed(member.Name); depth == 0 {
			around += bytes
		}
		if all > largestUnpacked {
			return errors.New("is a workbook that unpacks to more than 512 MiB: save it as CSV")
		}
		if around > largestAround {
			return errors.New("is a workbook with more than 64 MiB beside its worksheets, such as pictures: copy the list into one of its own, or save it as CSV")
		}
	}
	for _, member := range z.File {
		if depth := streamed(member.Name); depth > 0 {
			if err := readable(member, depth); err != nil {
				return within(strings.TrimPrefix(member.Name, "xl/"), err)
			}
		}
	}
	return nil
}

// streamed is the depth at which the pieces stand of which a member is made: rows of a worksheet, texts of the list
// of texts; 0 for other members.
func streamed(name string) int {
	name = strings.ToLower(strings.ReplaceAll(name, "\\", "/"))
	switch {
	case strings.HasPrefix(name, "xl/worksheets/sheet"):
		return 3
	case name == "xl/sharedstrings.xml":
		return 2
	default:
		return 0
	}
}

// readable reads a member to its end. No piece of it may be larger than 16 MiB.
func readable(member *zip.File, depth int) (err error) {
	text, err := member.Open()
	if err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	watch := &lineWatch{r: text, left: longestLine}
	decoder := xml.NewDecoder(watch)
	for at, row := 0, 0; ; {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF): // of the member: one that is cut is a syntax error
			return nil
		case errors.Is(err, errLongLine):
			return fmt.Errorf("has a row or cell of more than 16 MB, behind row %d", row)
		case err != nil:
			return fmt.Errorf("cannot be read behind row %d: %w", row, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if at++; at > 64 {
				return errors.New("is nested too deep")
			}
			if depth == 3 && at == 3 && token.Name.Local == "row" {
				if row, err = rowNumber(token.Attr, row); err != nil {
					return err
				}
			}
		case xml.EndElement:
			at--
		}
		if at < depth {
			watch.left = longestLine
		}
	}
}

// rowNumber is the number of a row. The library gives a row that has the number of one before to nobody, or to
// that one.
func rowNumber(attributes []xml.Attr, before int) (int, error) {
	number := before + 1
	for _, one := range attributes {
		if one.Name.Local != "r" {
			continue
		}
		n, err := strconv.Atoi(one.Value)
		if err != nil || n <= before || n > lastRow {
			return 0, fmt.Errorf("has the row number %q behind row %d: numbers go up, to %d at most", Shorten(one.Value), before, lastRow)
		}
		number = n
	}
	return number, nil
}
