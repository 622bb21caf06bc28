package console

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// TableCSV is the address of a table of the numbers as a file.
func (v numbersPage) TableCSV(table string) string {
	return "/numbers.csv?" + url.Values{"range": {v.Stretch.Key}, "table": {table}}.Encode()
}

// table is a table of the numbers with its head; nil where there is none of that name.
func (v *numbersPage) table(name string) [][]string {
	bars := func(what, number string, all []bar) [][]string {
		rows := [][]string{{what, "note", number}}
		for i := range all {
			rows = append(rows, []string{all[i].Name, all[i].Note, cmp.Or(all[i].Words, strconv.FormatInt(all[i].N, 10))})
		}
		return rows
	}
	switch name {
	case "ended":
		return bars("reason", "messages", v.Ended)
	case "arrivals":
		return bars("time", "messages", v.Arrivals)
	case "calendar":
		return bars("day", "messages", v.Calendar)
	case "countries":
		return bars("country", "points", v.Countries)
	case "heat":
		rows := [][]string{{"day", "hour", "messages"}}
		for _, day := range v.Heat.Rows {
			for hour := range day.Hours {
				rows = append(rows, []string{day.Day, fmt.Sprintf("%02d:00", hour), strconv.FormatInt(day.Hours[hour].N, 10)})
			}
		}
		return rows
	}
	return nil
}

// numbersFile is a table of the numbers as a file.
func (c *Console) numbersFile(r *http.Request, begin func(kind, name string) io.Writer) error {
	name := r.URL.Query().Get("table")
	if new(numbersPage).table(name) == nil {
		return &refusal.Error{Status: http.StatusNotFound, Words: "there is no such table", Hint: "table is ended, arrivals, calendar, countries or heat"}
	}
	v, err := c.askNumbers(r)
	if err != nil {
		return err
	}
	out := csv.NewWriter(begin("text/csv; charset=utf-8", name+".csv"))
	for _, row := range v.table(name) {
		for i := range row {
			row[i] = plain.Cell(row[i])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// reportFile is a report as a file.
func (c *Console) reportFile(r *http.Request, begin func(kind, name string) io.Writer) error {
	zone := c.Zone()
	s := timeRangeOf(r)
	q := report.Query{Since: s.since(c.Now().In(zone)), By: s.by, Group: r.URL.Query().Get("group"), Trigger: r.URL.Query().Get("trigger"), Only: report.OnlyRows}
	v, err := server.ShowReport.Call(r.Context(), c.Ask, q)
	if err != nil {
		return err
	}
	return report.WriteCSV(begin("text/csv; charset=utf-8", "report.csv"), &v, &q, zone)
}
