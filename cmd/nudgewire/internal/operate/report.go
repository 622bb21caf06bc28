package operate

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) report() *cobra.Command {
	var q report.Query
	var since, until string
	var asCSV bool
	cmd := &cobra.Command{
		Use: "report", Short: "What was queued, sent, delivered, read and failed, by day, trigger, template or country", Args: cobra.NoArgs,
		Long: `report counts what happened in a time: the last seven days, unless --since and --until say otherwise. Days are those of
defaults.timezone. Each number says how often something happened in that time, and not what became later of what began in it, so a
report of yesterday stays as it is. "uploaded" are rows of lists in files that the service took without naming their messages, so
nobody can say whether they arrived. "points" is what messages, such files and tests cost by the prices of the config when they left, "uploaded_points" the part of files,
"test_points" that of tests. Behind the rows stand what is spent of the budget now, why messages were not sent or failed, how long they took to arrive, and
the same time a week before.`,
		Example: "  nudgewire report\n  nudgewire report --since 24h --by hour\n  nudgewire report --since 2026-11-01 --until 2026-12-01 --group template --csv > november.csv",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if q.Since, err = terminal.ParseSince(since, c.Now()); err != nil {
				return err
			}
			if q.Until, err = terminal.ParseSince(until, c.Now()); err != nil {
				return exit.Fail(exit.Usage, "", "--until %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", until)
			}
			if asCSV && c.JSON {
				return exit.Fail(exit.Usage, "", "--csv and --json: choose one of them")
			}
			if q.By == "" && (q.Group == "" || q.Group == "day") {
				q.By = "day"
			}
			if q.Group == "day" {
				q.Group = ""
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				v, err := server.ShowReport.Call(cmd.Context(), ask, q)
				switch {
				case err != nil:
					return err
				case c.JSON:
					return c.Print(v)
				case asCSV:
					return report.WriteCSV(c.Out, &v, &q, c.Location())
				case len(v.Rows) == 0:
					return exit.Fail(exit.Nothing, "", "nothing was counted in that time")
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

func (c commands) reportTable(v *report.View, q *report.Query) error {
	columns := slices.DeleteFunc(slices.Clone(report.Columns), func(col report.Column) bool { return col.Of(&v.Total) == 0 })
	head := q.Heads()
	for _, col := range columns {
		head = append(head, col.Name)
	}
	row := func(cells []string, s *report.Stages) []string {
		for _, col := range columns {
			cells = append(cells, col.Text(s))
		}
		return cells
	}
	var rows [][]string
	var most int64 // sent in a row
	if terminal.IsTerminal(c.Out) {
		for i := range v.Rows {
			most = max(most, v.Rows[i].Sent())
		}
	}
	for i := range v.Rows {
		cells := q.Cells(&v.Rows[i], c.Location())
		for j := range cells {
			cells[j] = terminal.OrDash(terminal.Sanitized(cells[j]))
		}
		rows = append(rows, row(cells, &v.Rows[i].Stages))
		if most > 0 {
			rows[i] = append(rows[i], bar(v.Rows[i].Sent(), most))
		}
	}
	if most > 0 {
		head = append(head, "sent")
	}
	for i, s := range []*report.Stages{&v.Total, &v.Before} {
		cells := make([]string, len(q.Heads()))
		cells[0] = []string{"all", "a week before"}[i]
		rows = append(rows, row(cells, s))
	}
	if err := c.Table(strings.ToUpper(strings.Join(head, " | ")), rows); err != nil {
		return err
	}
	for _, e := range v.Ended {
		c.Say("%d %s: %s\n", e.Messages, e.State, report.EndedWords(e.Reason))
	}
	if v.Arrivals.Messages > 0 {
		c.Say("%d arrived; half took at most %s, and 95 of 100 at most %s\n", v.Arrivals.Messages, report.SecondsWords(v.Arrivals.P50), report.SecondsWords(v.Arrivals.P95))
	}
	if v.Spend != nil {
		for _, b := range v.Spend.Budget {
			c.Say("%s are spent, until %s\n", b.Words(), c.Clock(b.Until))
		}
		if !v.Spend.Priced {
			c.Say("the config names no price (api.price), so points are not counted\n")
		}
	}
	c.Say("from %s to %s, %s\n", c.Clock(v.Since), c.Clock(v.Until), v.Zone)
	if v.CountedSince.After(v.Since) {
		c.Warn("counts by the hour begin at %s\n", c.Clock(v.CountedSince))
	}
	return nil
}

// widestBar is the bar of the largest number, in characters.
const widestBar = 20

// bar is a number as a bar beside the largest one, in eighths of a character; whatever is not 0 is seen.
func bar(n, most int64) string {
	eighths := n * widestBar * 8 / most
	if n > 0 {
		eighths = max(eighths, 1)
	}
	words := strings.Repeat("█", int(eighths/8))
	if rest := eighths % 8; rest > 0 {
		words += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return words
}
