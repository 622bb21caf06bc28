package lists

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/nudgewire/nudgewire/internal/units"
)

// paging watches the pages of one list go by and judges where it ends.
//
// Nothing about a page but its being empty says that it is the last: servers cap the size that is asked for, and
// servers that filter what they have cut into pages give short ones in the middle. So the page behind a short one
// is asked for, too. Some servers refuse a page behind the last one, and some give the last one again; both end
// the list only where nothing speaks for more.
type paging struct {
	number   int              // pages begun
	seen     map[[32]byte]int // addresses, and the page each was asked for
	total    int64            // that the answer counts; 0 while it does not
	onPage   int64            // rows given out of the page at hand
	last     int64            // rows of the page before it
	firstOne int64            // rows of the first page
	largest  int64            // rows of the largest page
	before   []uint64         // marks of the first rows of the page before
	marks    []uint64         // the same of the page at hand
	moved    bool             // two pages differed, so the server knows which page it is asked for
	repeated bool             // the page at hand is the one before once more

	held    []heldRow // of the page at hand, while it looks like the one before
	ready   int       // of held are given out
	holding bool
	heldEnd error // what ended the page while rows were held
	refused int   // status of an answer that was taken for the end; 0 for none
}

type heldRow struct {
	row  Row
	line int64
	err  error
}

// maxMarks is how many first rows tell a page from the one before.
const maxMarks = 1000

// errNoPage is an answer that stands for a page without rows.
var errNoPage = errors.New("there is no such page")

var markSeed = maphash.MakeSeed()

func markOf(row Row) uint64 {
	var h maphash.Hash
	h.SetSeed(markSeed)
	for _, cell := range row {
		_, _ = h.WriteString(cell) // never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// begin counts a page. An address that was asked for before would bring the same pages again, for ever.
func (g *paging) begin(address string, p *Pages) error {
	if p != nil && g.number >= p.max() && !p.numbered() {
		return p.tooMany()
	}
	sum := sha256.Sum256([]byte(address))
	if at, ok := g.seen[sum]; ok {
		return fmt.Errorf("the pages go in a circle: behind it comes page %d again", at)
	}
	if g.seen == nil {
		g.seen = map[[32]byte]int{}
	}
	g.number++
	g.seen[sum] = g.number
	if g.number > 1 {
		g.before, g.marks = g.marks, g.before[:0]
		g.last = g.onPage
	}
	g.onPage, g.held, g.ready, g.heldEnd, g.repeated = 0, g.held[:0], 0, nil, false
	g.holding = p != nil && p.numbered() && len(g.before) > 0
	return nil
}

// next gives the next row of the page. While the rows are those of the page before they are held back: a page
// that comes twice must not be sent twice.
func (g *paging) next(at Rows) (Row, int64, error) {
	for g.holding {
		row, line, err := at.Next()
		if _, bad := errors.AsType[*RowError](err); err != nil && !bad {
			g.holding, g.heldEnd = false, err
			if errors.Is(err, io.EOF) && len(g.held) > 0 && int64(len(g.held)) == g.last {
				g.held, g.repeated = g.held[:0], true
			}
			break
		}
		mark := markOf(row)
		g.marks = append(g.marks, mark)
		g.held = append(g.held, heldRow{slices.Clone(row), line, err})
		if n := len(g.held); n > len(g.before) || mark != g.before[n-1] {
			g.holding = false
		} else if n == maxMarks {
			g.held, g.repeated = g.held[:0], true
			g.holding, g.heldEnd = false, io.EOF // the rest is the same, too
		}
	}
	if g.ready < len(g.held) {
		one := g.held[g.ready]
		g.ready++
		g.onPage++
		return one.row, one.line, one.err
	}
	if g.heldEnd != nil {
		return nil, 0, g.heldEnd
	}
	row, line, err := at.Next()
	if _, bad := errors.AsType[*RowError](err); err == nil || bad {
		g.onPage++
		if len(g.marks) < maxMarks {
			g.marks = append(g.marks, markOf(row))
		}
	}
	return row, line, err
}

// read takes note of a page that was read to its end.
func (g *paging) read(at page, p *Pages) error {
	if g.number == 1 {
		g.firstOne = g.onPage
	} else if !g.repeated {
		g.moved = true
	}
	g.largest = max(g.largest, g.onPage)
	if g.number > p.max() && g.onPage > 0 { // one behind the last may be asked for, but not filled
		return p.tooMany()
	}
	if p.Total == "" {
		return nil
	}
	total, err := strconv.ParseInt(at.cursor(p.Total), 10, 64)
	if err != nil || total < 0 {
		if g.number > 1 {
			return nil // the last word stands
		}
		return &wordError{fmt.Sprintf("the answer has no number at %q", p.Total), "set source.http.pages.total to the path of the count of all rows, or remove it"}
	}
	g.total = total
	return nil
}

// ended reports whether the page that was read ends a list whose pages are asked for by number. n are the rows so far.
func (g *paging) ended(n int64, p *Pages) (bool, error) {
	if g.repeated && !g.moved && (p.Total == "" || n < g.total) {
		return false, &wordError{
			fmt.Sprintf("it holds the same rows as page %d, so the server seems not to know the parameter %q", g.number-1, p.param()),
			"set source.http.pages.param; where this server gives its last page again instead of an empty one, set source.http.pages.total to the path of the count of all rows",
		}
	}
	return g.onPage == 0, nil
}

// short reports a page with fewer rows than the server gives or was asked for.
func (g *paging) short(rows int64, p *Pages) bool {
	return rows < g.firstOne || p.SizeBy != "" && rows < int64(p.size())
}

// beyond are the answers that servers give to a page behind the last.
var beyond = []int{http.StatusNoContent, http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusRequestedRangeNotSatisfiable, http.StatusUnprocessableEntity}

// behind judges an answer that refuses the page asked for: errNoPage when the list has ended with the page before,
// else err. Without a count of all rows, only a short page speaks for that. n are the rows so far.
func (g *paging) behind(err error, n int64, p *Pages) error {
	refused, ok := errors.AsType[*statusError](err)
	if !ok || p == nil || !p.numbered() || g.number == 1 || !slices.Contains(beyond, refused.code) {
		return err
	}
	if p.Total != "" && n >= g.total || p.Total == "" && (refused.code == http.StatusNoContent || g.short(g.last, p)) {
		g.refused = refused.code
		return errNoPage
	}
	return &wordError{err.Error(), "if this server answers so behind the last page, set source.http.pages.total to the path of the count of all rows"}
}

// whole is the error of a list that ended before all rows came that the answers count.
func (g *paging) whole(n int64, p *Pages) error {
	if p.Total == "" || n >= g.total {
		return nil
	}
	return &awayError{fmt.Errorf("the list ended after %s of the %s that the answer counts (%s): rows were hidden, or taken away while it was read", units.Number(n), units.Count(g.total, "row"), p.Total)}
}

// notes are what is worth a look in a list that was read whole.
func (g *paging) notes(p *Pages) (notes []string) {
	pages := g.number
	if p.numbered() {
		pages-- // the last was empty
	}
	if p.SizeBy != "" && pages > 1 && g.largest < int64(p.size()) {
		notes = append(notes, fmt.Sprintf("the server gives at most %s a page, and %s were asked for (source.http.pages.size)", units.Count(g.largest, "row"), units.Number(int64(p.size()))))
	}
	if g.refused != 0 && g.refused != http.StatusNoContent {
		notes = append(notes, fmt.Sprintf("the server answers %d to page %d, which is taken for the end of the list", g.refused, g.number))
	}
	if pages == 1 && !p.numbered() && p.SizeBy != "" && g.largest >= int64(p.size()) {
		notes = append(notes, fmt.Sprintf("the first page is full, and nothing in it leads to a next one: see source.http.pages.%s", p.By))
	}
	return notes
}

// numbered reports pages that are asked for by number, so that only the pages themselves say which is the last.
func (p *Pages) numbered() bool { return p.By == "page" || p.By == "offset" }

func (p *Pages) max() int {
	if p.Max > 0 {
		return p.Max
	}
	return 100_000
}

func (p *Pages) tooMany() error {
	return fmt.Errorf("there are more than %d pages (source.http.pages.max)", p.max())
}

// nextPaths are where answers name their next page, for a word to those who read one page only.
var nextPaths = []string{
	"next", "next_page", "next_page_url", "next_url", "next_cursor", "nextCursor", "next_page_token", "nextPageToken", "nextRecordsUrl", "@odata.nextLink",
	"paging.next", "paging.next.link", "paging.next.after", "pagination.next", "pagination.next_cursor", "meta.next", "meta.next_cursor", "meta.next_page", "links.next", "_links.next.href", "has_more", "hasMore",
}
