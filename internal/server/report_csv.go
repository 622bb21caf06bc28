package server

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// A ReportColumn is a number of each row of a report.
type ReportColumn struct {
	Name string
	Of   func(*Stages) float64
}

// Text is the number as it is written.
func (c *ReportColumn) Text(s *Stages) string { return strconv.FormatFloat(c.Of(s), 'f', -1, 64) }

// ReportColumns are those that commands, pages and files show, in their order.
var ReportColumns = []ReportColumn{
	{"events", func(s *Stages) float64 { return float64(s.Events) }},
	{"decisions", func(s *Stages) float64 { return float64(s.Decisions) }},
	{"queued", func(s *Stages) float64 { return float64(s.Queued) }},
	{"shadowed", func(s *Stages) float64 { return float64(s.Shadowed) }},
	{"accepted", func(s *Stages) float64 { return float64(s.Accepted) }},
	{"uploaded", func(s *Stages) float64 { return float64(s.Uploaded) }},
	{"uploaded_points", func(s *Stages) float64 { return s.Points }},
	{"delivered", func(s *Stages) float64 { return float64(s.Delivered) }},
	{"read", func(s *Stages) float64 { return float64(s.Read) }},
	{"failed", func(s *Stages) float64 { return float64(s.Failed) }},
	{"rejected", func(s *Stages) float64 { return float64(s.Rejected) }},
	{"cancelled", func(s *Stages) float64 { return float64(s.Cancelled) }},
	{"dropped", func(s *Stages) float64 { return float64(s.Dropped) }},
	{"in_doubt", func(s *Stages) float64 { return float64(s.InDoubt) }},
}

// Heads are the names of what stands before the numbers of a row.
func (q *ReportQuery) Heads() (names []string) {
	if q.By != "" {
		names = append(names, q.By)
	}
	if q.Group != "" {
		names = append(names, q.Group)
	}
	return names
}

// Cells are what stands before the numbers of a row, with times in a zone.
func (q *ReportQuery) Cells(row *ReportRow, zone *time.Location) (cells []string) {
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

// ReportCSV writes the rows of a report as CSV, for spreadsheets: no text of it is a formula there.
func ReportCSV(to io.Writer, v *ReportView, q *ReportQuery, zone *time.Location) error {
	w := csv.NewWriter(to)
	head := q.Heads()
	for _, col := range ReportColumns {
		head = append(head, col.Name)
	}
	err := w.Write(head)
	for i := 0; i < len(v.Rows) && err == nil; i++ {
		cells := q.Cells(&v.Rows[i], zone)
		for j := range cells {
			cells[j] = plain.Cell(cells[j])
		}
		for _, col := range ReportColumns {
			cells = append(cells, col.Text(&v.Rows[i].Stages))
		}
		err = w.Write(cells)
	}
	if w.Flush(); err == nil {
		err = w.Error()
	}
	return err
}
