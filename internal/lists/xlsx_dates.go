package lists

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/units"
)

// dates are the columns of a worksheet that have dates. A date that somebody typed where the spreadsheet did not know it for one is a
// text, and stays as it was typed: 06/03/2026 beside 2026-03-07 is worth a look.
type dates struct {
	columns map[int]*dateColumn
}

type dateColumn struct {
	dates int64
	shown string // the first of them
	texts int64
	typed string // the first of those
	row   int64  // where it stands
}

var typedDate = regexp.MustCompile(`^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}( |$)`)

// add looks at one cell that is not empty: as it is shown, and as it is stored.
func (d *dates) add(column int, shown, stored string, row int64) {
	if shown[0] < '0' || shown[0] > '9' || !typedDate.MatchString(shown) {
		return
	}
	c := d.columns[column]
	if c == nil {
		if d.columns == nil {
			d.columns = map[int]*dateColumn{}
		}
		c = &dateColumn{}
		d.columns[column] = c
	}
	if shown != stored { // a number of days, in the format of its cell
		if c.dates++; c.dates == 1 {
			c.shown = shown
		}
	} else if c.texts++; c.texts == 1 {
		c.typed, c.row = shown, row
	}
}

// notes say how dates were read, and which cells look like dates and are none to the spreadsheet.
func (d *dates) notes(header []string) (notes []string) {
	var read, mixed []string
	example := ""
	for i, name := range header {
		c := d.columns[i]
		if c == nil || c.dates == 0 {
			continue
		}
		read = append(read, name)
		if example == "" {
			example = c.shown
		}
		if c.texts > 0 {
			mixed = append(mixed, fmt.Sprintf("column %s: beside %s, %s typed as text and kept so, such as %s in row %s", mask.Quote(Shorten(name)),
				units.Count(c.dates, "real date"), units.Number(c.texts), mask.Quote(c.typed), units.Number(c.row)))
		}
	}
	if len(read) > 0 {
		notes = append(notes, fmt.Sprintf("dates are read as %s, in %s", mask.Quote(example), Names(read)))
	}
	return slices.Concat(notes, mixed)
}
