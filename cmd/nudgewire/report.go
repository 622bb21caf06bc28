package main

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/server"
)

// A reportColumn is a number of each row of a report.
type reportColumn struct {
	name string
	of   func(*server.Stages) int64
}

var reportColumns = []reportColumn{
	{"events", func(s *server.Stages) int64 { return s.Events }},
	{"decisions", func(s *server.Stages) int64 { return s.Decisions }},
	{"queued", func(s *server.Stages) int64 { return s.Queued }},
	{"accepted", func(s *server.Stages) int64 { return s.Accepted }},
	{"delivered", func(s *server.Stages) int64 { return s.Delivered }},
	{"read", func(s *server.Stages) int64 { return s.Read }},
	{"failed", func(s *server.Stages) int64 { return s.Failed }},
	{"rejected", func(s *server.Stages) int64 { return s.Rejected }},
	{"cancelled", func(s *server.Stages) int64 { return s.Cancelled }},
	{"dropped", func(s *server.Stages) int64 { return s.Dropped }},
	{"in_doubt", func(s *server.Stages) int64 { return s.InDoubt }},
}

func (c *cli) report() *cobra.Command {
	var q server.ReportQuery
	var since, until string
	var asCSV bool
	cmd := &cobra.Command{
		Use: "report", Short: "What was queued, sent, delivered, read and failed, by day, trigger, template or country", Args: cobra.NoArgs,
		Long: `report counts what happened in a time: the last seven days, unless --since and --until say otherwise. Days are those of
defaults.timezone. Each number says how often something happened in that time, and not what became later of what began in it, so a
report of yesterday stays as it is. Behind the rows stand why messages were not sent or failed, how long they took to arrive, and
the same time a week before.`,
		Example: "  nudgewire report\n  nudgewire report --since 24h --by hour\n  nudgewire report --since 2026-11-01 --until 2026-12-01 --group template --csv > november.csv",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if q.Since, err = parseSince(since, c.now()); err != nil {
				return err
			}
			if q.Until, err = parseSince(until, c.now()); err != nil {
				return fail(exitUsage, "", "--until %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", until)
			}
			if asCSV && c.json {
				return fail(exitUsage, "", "--csv and --json: choose one of them")
			}
			if q.By == "" && (q.Group == "" || q.Group == "day") {
				q.By = "day"
			}
			if q.Group == "day" {
				q.Group = ""
			}
			return c.asking(cmd.Context(), func(ask *server.Client) error {
				v, err := ask.Report(cmd.Context(), q)
				switch {
				case err != nil:
					return err
				case c.json:
					return c.print(v)
				case asCSV:
					return c.reportCSV(&v, &q)
				case len(v.Rows) == 0:
					return fail(exitNothing, "", "nothing was counted in that time")
				default:
					return c.reportTable(&v, &q)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "from this long ago (24h, 30d) or this date on")
	flags.StringVar(&until, "until", "", "up to this long ago or this date")
	flags.StringVar(&q.By, "by", "", "a row for each hour or day")
	flags.StringVar(&q.Group, "group", "", "a row for each trigger, job, template, country, connector or day")
	flags.StringVar(&q.Trigger, "trigger", "", "only of this trigger")
	flags.StringVar(&q.Job, "job", "", "only of this job")
	flags.BoolVar(&asCSV, "csv", false, "the rows as CSV")
	return cmd
}

// rowHead are the first cells of a row, and their names.
func (c *cli) rowHead(row *server.ReportRow, q *server.ReportQuery) (names, cells []string) {
	switch q.By {
	case "hour":
		names, cells = append(names, "hour"), append(cells, row.At.In(c.location()).Format("2006-01-02 15:04 -07:00"))
	case "day":
		names, cells = append(names, "day"), append(cells, row.At.In(c.location()).Format(time.DateOnly))
	}
	if q.Group != "" {
		names, cells = append(names, q.Group), append(cells, row.Group)
	}
	return names, cells
}

func (c *cli) reportCSV(v *server.ReportView, q *server.ReportQuery) error {
	w := csv.NewWriter(c.out)
	head, _ := c.rowHead(&server.ReportRow{}, q)
	for _, col := range reportColumns {
		head = append(head, col.name)
	}
	err := w.Write(head)
	for i := range v.Rows {
		_, cells := c.rowHead(&v.Rows[i], q)
		for j := range cells {
			cells[j] = plain.Cell(cells[j])
		}
		for _, col := range reportColumns {
			cells = append(cells, strconv.FormatInt(col.of(&v.Rows[i].Stages), 10))
		}
		if err == nil {
			err = w.Write(cells)
		}
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return err
}

func (c *cli) reportTable(v *server.ReportView, q *server.ReportQuery) error {
	columns := slices.DeleteFunc(slices.Clone(reportColumns), func(col reportColumn) bool { return col.of(&v.Total) == 0 })
	head, _ := c.rowHead(&server.ReportRow{}, q)
	for _, col := range columns {
		head = append(head, col.name)
	}
	row := func(cells []string, s *server.Stages) []string {
		for _, col := range columns {
			cells = append(cells, strconv.FormatInt(col.of(s), 10))
		}
		return cells
	}
	var rows [][]string
	for i := range v.Rows {
		_, cells := c.rowHead(&v.Rows[i], q)
		for j := range cells {
			cells[j] = orDash(tamed(cells[j]))
		}
		rows = append(rows, row(cells, &v.Rows[i].Stages))
	}
	for i, s := range []*server.Stages{&v.Total, &v.Before} {
		cells := make([]string, len(head)-len(columns))
		cells[0] = []string{"all", "a week before"}[i]
		rows = append(rows, row(cells, s))
	}
	if err := c.table(strings.ToUpper(strings.Join(head, " | ")), rows); err != nil {
		return err
	}
	for _, f := range v.Failures {
		c.say("%d %s: %s\n", f.Messages, f.State, f.Class)
	}
	if v.Arrivals.Messages > 0 {
		c.say("%d arrived; half took at most %s, and 95 of 100 at most %s\n", v.Arrivals.Messages, server.SecondsWords(v.Arrivals.P50), server.SecondsWords(v.Arrivals.P95))
	}
	c.say("from %s to %s, %s\n", c.clock(v.Since), c.clock(v.Until), v.Zone)
	if v.CountedSince.After(v.Since) {
		c.warn("counts by the hour begin at %s\n", c.clock(v.CountedSince))
	}
	return nil
}
