package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// A Column is a number of each row of a report.
type Column struct {
	Name string
	Of   func(*Stages) float64
}

// Text is the number as it is written.
func (c *Column) Text(s *Stages) string { return strconv.FormatFloat(c.Of(s), 'f', -1, 64) }

// Columns are those that commands, pages and files show, in their order.
var Columns = []Column{
	{"events", func(s *Stages) float64 { return float64(s.Events) }},
	{"decisions", func(s *Stages) float64 { return float64(s.Decisions) }},
	{"queued", func(s *Stages) float64 { return float64(s.Queued) }},
	{"shadowed", func(s *Stages) float64 { return float64(s.Shadowed) }},
	{"accepted", func(s *Stages) float64 { return float64(s.Accepted) }},
	{"uploaded", func(s *Stages) float64 { return float64(s.Uploaded) }},
	{"points", func(s *Stages) float64 { return s.Spent }},
	{"uploaded_points", func(s *Stages) float64 { return s.Points }},
	{"delivered", func(s *Stages) float64 { return float64(s.Delivered) }},
	{"read", func(s *Stages) float64 { return float64(s.Read) }},
	{"failed", func(s *Stages) float64 { return float64(s.Failed) }},
	{"rejected", func(s *Stages) float64 { return float64(s.Rejected) }},
	{"cancelled", func(s *Stages) float64 { return float64(s.Cancelled) }},
	{"dropped", func(s *Stages) float64 { return float64(s.Dropped) }},
	{"in_doubt", func(s *Stages) float64 { return float64(s.InDoubt) }},
	{"tests", func(s *Stages) float64 { return float64(s.Tests) }},
	{"test_points", func(s *Stages) float64 { return s.TestPoints }},
}

// Heads are the names of what stands before the numbers of a row.
func (q *Query) Heads() (names []string) {
	if q.By != "" {
		names = append(names, q.By)
	}
	if q.Group != "" {
		names = append(names, q.Group)
	}
	return names
}

// Cells are what stands before the numbers of a row, with times in a zone.
func (q *Query) Cells(row *Row, zone *time.Location) (cells []string) {
	switch q.By {
	case "hour":
		cells = append(cells, row.At.In(zone).Format("2006-01-02 15:04 -07:00"))
	case "day":
		cells = append(cells, row.At.In(zone).Format(time.DateOnly))
	}
	if q.Group != "" {
		cells = append(cells, row.Group)
	}
	return cells
}

// WriteCSV writes the rows of a report as CSV, for spreadsheets: no text of it is a formula there.
func WriteCSV(to io.Writer, v *View, q *Query, zone *time.Location) error {
	w := csv.NewWriter(to)
	head := q.Heads()
	for _, col := range Columns {
		head = append(head, col.Name)
	}
	err := w.Write(head)
	for i := 0; i < len(v.Rows) && err == nil; i++ {
		cells := q.Cells(&v.Rows[i], zone)
		for j := range cells {
			cells[j] = plain.Cell(cells[j])
		}
		for _, col := range Columns {
			cells = append(cells, col.Text(&v.Rows[i].Stages))
		}
		err = w.Write(cells)
	}
	if w.Flush(); err == nil {
		err = w.Error()
	}
	return err
}
