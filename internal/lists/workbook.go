package lists

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// Bounds of the work that a workbook makes, whatever its size. The library fills the cells that a row leaves out up to its last
// one, and copies a shared text for each cell that shows it; and what is packed tightest costs most for each byte of the file.
const (
	mostCells    = 32 << 20  // rows x columns, up to the last cell of each row
	mostTexts    = 512 << 20 // bytes of all cells together
	mostPacked   = 100       // times smaller than it is, for what is larger than freelyPacked. Lists are 10 to 30 times smaller
	freelyPacked = 4 << 20
)

// openWorkbook opens a workbook that was looked through before: the library would unpack whatever it holds, and
// takes a worksheet that breaks off, or holds a character that XML does not allow, for one that ends there.
func openWorkbook(ctx context.Context, r io.Reader) (_ *excelize.File, err error) {
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
	if err := lookThrough(ctx, spool, size); err != nil {
		return nil, err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	// Excel shows the dates that people type as their own computer does, which no file tells: they are read as ISO dates.
	book, err := excelize.OpenReader(spool, excelize.Options{
		UnzipSizeLimit: largestUnpacked, UnzipXMLSizeLimit: largestInMemory, ShortDatePattern: "yyyy-mm-dd", LongDatePattern: "yyyy-mm-dd", LongTimePattern: "hh:mm:ss",
	})
	if err != nil {
		return nil, fmt.Errorf("is no workbook that can be read: %w", err)
	}
	return book, nil
}

// lookThrough refuses a zip file that would unpack to too much or make too much work, and one with a worksheet that cannot be
// read to its end. The directory of the file is taken at its word here; package zip refuses a member that holds more than it says.
func lookThrough(ctx context.Context, file io.ReaderAt, size int64) error {
	z, err := zip.NewReader(file, size)
	if err != nil {
		return fmt.Errorf("is no workbook that can be read: %w", err)
	}
	if !slices.ContainsFunc(z.File, func(member *zip.File) bool { return streamed(member.Name) == ofRows }) {
		return noWorkbook(z)
	}
	var all, around uint64
	var sheets []*zip.File // the shared texts first: what a cell holds may stand there
	for _, member := range z.File {
		bytes := min(member.UncompressedSize64, largestUnpacked+1) // so that nothing overflows
		all += bytes
		switch streamed(member.Name) {
		case ofTexts:
			sheets = slices.Insert(sheets, 0, member)
		case ofRows:
			sheets = append(sheets, member)
		default:
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
		if size := member.UncompressedSize64; size > freelyPacked && size/mostPacked > member.CompressedSize64 {
			return fmt.Errorf("is a workbook that is packed tighter than a list can be (%s): save it as CSV", Shorten(member.Name))
		}
	}
	work := bookWork{ctx: ctx}
	for _, member := range sheets {
		if err := work.look(member); err != nil {
			return within(strings.TrimPrefix(member.Name, "xl/"), err)
		}
	}
	return nil
}

// noWorkbook says what a zip file is that has no worksheet.
func noWorkbook(z *zip.Reader) error {
	for _, member := range z.File {
		switch strings.ToLower(member.Name) {
		case "content.xml":
			return errors.New("is a workbook of the .ods kind: save it as .xlsx or CSV")
		case "word/document.xml":
			return errors.New("is a document and no workbook: save its table as .xlsx or CSV")
		}
	}
	return errors.New("is a zip file and no workbook: unpack it, and name the list that is in it")
}

// The depths at which the pieces stand of which a member is made: texts of the list of texts, rows of a worksheet.
const (
	ofTexts = 2
	ofRows  = 3
)

// streamed is the depth at which the pieces stand of which a member is made: rows of a worksheet, texts of the list
// of texts; 0 for other members.
func streamed(name string) int {
	name = strings.ToLower(strings.ReplaceAll(name, "\\", "/"))
	switch {
	case strings.HasPrefix(name, "xl/worksheets/sheet"):
		return ofRows
	case name == "xl/sharedstrings.xml":
		return ofTexts
	default:
		return 0
	}
}

// A bookWork counts what reading a workbook will take.
type bookWork struct {
	ctx    context.Context // one look, which it bounds
	texts  []int64         // how long each shared text is, with its marks
	cells  int64
	bytes  int64
	column int   // of the cell at hand, 1-based
	shared bool  // the cell at hand shows a shared text
	begins int64 // where the piece at hand begins in its member
}

var (
	errManyCells = errors.New("has more than 32 million cells, counted up to the last one of each row: empty the cells far to the right, or save it as CSV")
	errManyTexts = errors.New("has cells with more than 512 MiB of text together: save it as CSV")
)

// look reads a member to its end. No piece of it may be larger than 16 MiB.
func (b *bookWork) look(member *zip.File) (err error) {
	text, err := member.Open()
	if err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	depth := streamed(member.Name)
	watch := &lineWatch{r: text, left: longestLine}
	decoder := xml.NewDecoder(watch)
	for at, row, n := 0, 0, 0; ; n++ {
		if n&0xfff == 0 && b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
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
			if at == depth {
				b.begins, b.column = decoder.InputOffset(), 0
			}
			switch {
			case depth != ofRows:
			case at == depth && token.Name.Local == "row":
				if row, err = rowNumber(token.Attr, row); err != nil {
					return err
				}
			case token.Name.Local == "c":
				if err := b.cell(token.Attr); err != nil {
					return err
				}
			}
		case xml.CharData:
			if depth == ofRows && at > depth {
				if err := b.text(token); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if at == depth && depth == ofTexts && token.Name.Local == "si" {
				b.texts = append(b.texts, decoder.InputOffset()-b.begins)
			}
			at--
		}
		if at < depth {
			watch.left = longestLine
		}
	}
}

// cell counts a cell, and those that a row leaves out before it.
func (b *bookWork) cell(attributes []xml.Attr) error {
	before := b.column
	b.column, b.shared = before+1, false
	for _, one := range attributes {
		switch one.Name.Local {
		case "r":
			if column, _, err := excelize.CellNameToCoordinates(one.Value); err == nil { // else the library says so
				b.column = column
			}
		case "t":
			b.shared = one.Value == "s"
		}
	}
	if b.cells += int64(max(1, b.column-before)); b.cells > mostCells {
		return errManyCells
	}
	return nil
}

// text counts what a cell shows.
func (b *bookWork) text(shown []byte) error {
	b.bytes += int64(len(shown))
	if b.shared {
		if i, err := strconv.Atoi(string(shown)); err == nil && i >= 0 && i < len(b.texts) {
			b.bytes += b.texts[i]
		}
	}
	if b.bytes > mostTexts {
		return errManyTexts
	}
	return nil
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
