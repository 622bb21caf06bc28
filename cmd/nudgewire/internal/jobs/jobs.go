package jobs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
)

func (c commands) jobs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "jobs", Short: "Scheduled campaigns: what runs when, what it would send, and every run with its counts",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.jobsList(), c.jobsExplain(), c.jobsRun(), c.jobsForecast(), c.jobsHistory(), c.jobsShow(),
		c.jobsOrder("approve", server.ApproveRun, "Let a run go that awaits approval: past its guard, or with the list that the last run sent; who is blocked by then is excluded, and its canary looks all the same", true), c.jobsOrder("pause", server.PauseRun, "Stop a run for now: nothing of it leaves any more, but for what is on its way", false),
		c.jobsOrder("resume", server.ResumeRun, "Let a paused run go on where it was; of one that its canary or a restoration stopped after a question", false), c.jobsOrder("cancel", server.CancelRun, "End a run; what was uploaded stays uploaded", true),
		c.jobsRetry(), c.jobsResolve(), c.jobsExport())
	return cmd
}

func (c commands) jobsList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "The jobs of the config: when each fires next, and how its last run ended", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask, done, err := c.jobsReader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			jobs, err := server.ListJobs.Call(cmd.Context(), ask, server.None{})
			if err != nil {
				return err
			}
			nothing := exit.Fail(exit.Nothing, "see jobs: in docs/config.md", "no jobs in the config")
			return terminal.List(c.CLI, jobs, nothing, "JOB | CRON | ZONE | NEXT | DELIVER | SOURCE | LAST", func(j server.JobView) []string {
				next, last := "by hand", "never ran"
				switch {
				case j.Off:
					next = "off"
				case !j.NextAt.IsZero():
					next = terminal.ClockIn(j.NextAt, terminal.ZoneOf(j.Timezone))
				}
				if j.Last != nil {
					last = fmt.Sprintf("run %d %s", j.Last.ID, j.Last.StatusText())
				}
				return []string{j.Name, terminal.OrDash(j.Cron), j.Timezone, next, string(j.Deliver), j.Source, last}
			})
		},
	}
}

func (c commands) jobsRun() *cobra.Command {
	var dry, approve, wait bool
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Run a job now, or with --dry-run say what it would send", Args: cobra.ExactArgs(1),
		Example: "  nudgewire jobs run weekly-winback --dry-run\n  nudgewire jobs run weekly-winback --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry {
				return c.forecast(cmd, args[0])
			}
			return c.WithDaemon(func(ask *server.Client) error {
				repeats, err := c.askToRun(cmd, ask, args[0])
				if err != nil {
					return err
				}
				r, err := server.RunJob.Call(cmd.Context(), ask, server.JobOrder{Job: args[0], Approve: approve, Repeats: repeats})
				if err != nil {
					return err
				}
				if !wait {
					c.Note("run %d has begun; follow it with: nudgewire jobs show %d --follow", r.ID, r.ID)
					if c.JSON {
						return c.Print(r)
					}
					return nil
				}
				return c.follow(cmd.Context(), ask, r)
			})
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "read the source and count; send nothing")
	cmd.Flags().BoolVar(&approve, "approve", false, "let it pass its guard, also with the list that the last run sent; its canary looks all the same")
	cmd.Flags().BoolVar(&wait, "wait", false, "stay until it ends, with its progress")
	return cmd
}

// askToRun asks whether to run a job now, with the rows that it would send. It gives the run whose list
// would be sent once more, if the person agreed to that. With --yes nothing is counted and nobody has
// agreed to that: such a run awaits approval.
func (c commands) askToRun(cmd *cobra.Command, ask *server.Client, name string) (messaging.RunID, error) {
	if c.Yes {
		return 0, nil
	}
	_, end := c.Working("reading the list")
	f, err := server.ForecastJob.Call(cmd.Context(), ask, name)
	if end(); err != nil {
		return 0, err
	}
	if f.Repeats != 0 {
		return f.Repeats, c.Confirm(fmt.Sprintf("Run job %s now: %s. Send it again?", name, f.Repeat))
	}
	return 0, c.Confirm(fmt.Sprintf("Run job %s now and send to %s?", name, units.Count(f.Tally.Kept, "row")))
}

func (c commands) jobsForecast() *cobra.Command {
	return &cobra.Command{
		Use: "forecast NAME|RUN", Short: "What a run would send: rows, who is excluded, parts, points, time, first rows", Args: cobra.ExactArgs(1),
		Long: `forecast reads the list of a job and says what a run would send now. With the number of a run that awaits approval it says what that would send,
of the rows that it has read. Limits, consent, blocks and quiet hours are asked as they are at this moment.`,
		Example: "  nudgewire jobs forecast weekly-winback\n  nudgewire jobs forecast 12",
		RunE: func(cmd *cobra.Command, args []string) error {
			if id, err := strconv.ParseInt(args[0], 10, 64); err == nil {
				return c.WithReader(cmd.Context(), func(ask *server.Client) error {
					_, end := c.Working("reading the list")
					f, err := server.ForecastRun.Call(cmd.Context(), ask, messaging.RunID(id))
					if end(); err != nil {
						return err
					}
					return c.tellForecast(&f)
				})
			}
			return c.forecast(cmd, args[0])
		},
	}
}

func (c commands) forecast(cmd *cobra.Command, name string) error {
	ask, done, err := c.jobsReader(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	_, end := c.Working("reading the list")
	f, err := server.ForecastJob.Call(cmd.Context(), ask, name)
	if end(); err != nil {
		return err
	}
	return c.tellForecast(&f)
}

// tellForecast prints what a run would send.
func (c commands) tellForecast(f *server.ForecastView) error {
	if c.JSON {
		return c.Print(*f)
	}
	c.Say("%s from %s\n", c.Paint(c.Out, "1", f.Job), f.Source)
	if f.Before != "" {
		c.Say("  compared    %s\n", f.Before)
	}
	c.tellTally(f.Tally, f.Priced)
	if f.Seconds > 0 {
		c.Say("  takes       about %s: %s\n", terminal.Roughly(f.Seconds), f.Basis)
	}
	if !f.Ends.IsZero() {
		c.Say("  ends        about %s, if it begins now\n", c.Clock(f.Ends))
	}
	if f.Nothing != "" {
		c.Say("  would send  nothing: %s\n", f.Nothing)
	}
	if f.Halted != "" {
		c.Say("  halted      %s\n", c.Paint(c.Out, "33", f.Halted))
	}
	for _, l := range f.Later {
		if l.Zone != "" {
			c.Say("  later       %s at %s (%s, as in %s)\n", units.Count(l.Rows, "row"), c.Clock(l.Until), l.Rule, l.Zone)
			continue
		}
		c.Say("  later       %s, the first %s (%s)\n", units.Count(l.Rows, "row"), c.Clock(l.Until), l.Rule)
	}
	for _, why := range f.Awaiting {
		c.Say("  would wait  for jobs approve: %s\n", why)
	}
	if len(f.First) > 0 {
		head := append([]string{"PHONE"}, f.Columns...)
		var rows [][]string
		for _, p := range f.First {
			row := []string{p.Phone.Masked()}
			for _, v := range p.Variables {
				row = append(row, terminal.Sanitized(v))
			}
			rows = append(rows, row)
		}
		c.Say("\n")
		if err := c.Table(strings.Join(head, " | "), rows); err != nil {
			return err
		}
		if reads := f.First[0].Reads; reads != "" {
			c.Say("\nThe first reads: %s\n", terminal.Sanitized(reads))
		}
	}
	c.Note("\nnothing was sent")
	return nil
}

// maxPhoneReasons is how many reasons about phones are shown.
const maxPhoneReasons = 3

// tellTally prints the counts of a run.
func (c commands) tellTally(t messaging.Tally, priced bool) {
	if t.ReadAs != "" {
		c.Say("  read as     %s\n", t.ReadAs)
	}
	c.Say("  rows        %s, %s to send\n", units.Number(t.Rows), units.Number(t.Kept))
	phones := 0 // one mistake in a list gives many reasons about phones: the most frequent are first
	for _, x := range t.Excluded {
		if x.Kind == scheduler.KindPhone {
			if phones++; phones > maxPhoneReasons {
				continue
			}
		}
		words := units.Number(x.Count)
		if x.Late {
			words += " excluded since it was built"
		}
		c.Say("  excluded    %s: %s%s\n", words, x.Reason, firstIn(x))
	}
	if more := phones - maxPhoneReasons; more > 0 {
		c.Say("  excluded    and %s about phones: --json has all\n", units.Count(more, "more reason"))
	}
	for _, note := range t.Notes {
		c.Say("  note        %s\n", note)
	}
	if t.Parts > 0 {
		c.Say("  parts       %d, %s\n", t.Parts, units.Count(t.Bytes, "byte"))
	}
	if priced || t.Points > 0 {
		c.Say("  points      %.1f\n", t.Points)
	}
}

// firstIn says where the first row of a kind stands, where that is known.
func firstIn(x messaging.Excluded) string {
	if x.First == 0 {
		return ""
	}
	return " (first in " + story.PlaceOf(x.First, x.File) + ")"
}

func (c commands) jobsHistory() *cobra.Command {
	var f terminal.ListFlags
	var state string
	cmd := &cobra.Command{
		Use: "history [NAME]", Short: "Runs, newest first: those that sent, those that were skipped, and why", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.Query(c.Now())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				q.Trigger = args[0]
			}
			q.State = state
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				runs, err := server.ListRuns.Call(cmd.Context(), ask, q)
				if err != nil {
					return err
				}
				head := "RUN | JOB | FOR | STATE | ROWS | EXCLUDED | PARTS | MESSAGES | WHY"
				return terminal.List(c.CLI, runs, exit.Fail(exit.Nothing, "", "no runs"), head, func(r server.RunView) []string {
					return []string{
						strconv.FormatInt(int64(r.ID), 10), r.Job, r.Slot, r.StatusText(), units.Number(r.Tally.Kept), units.Number(r.Tally.ExcludedRows()),
						strconv.Itoa(r.Tally.Parts), terminal.OrDash(byStatus(r.Messages)), terminal.OrDash(cmp.Or(oneLine(r.Reason), r.Halted, c.waitWords(r))),
					}
				})
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only in this state: "+strings.Join(server.RunWords(), ", "))
	return cmd
}

func runID(text string) (messaging.RunID, error) {
	return terminal.Number[messaging.RunID](text, "a run's number", `"nudgewire jobs history" shows the numbers`)
}

func (c commands) jobsShow() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "show RUN", Short: "One run: source, counts, parts with their hashes and the service's answers", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				r, err := server.ShowRun.Call(cmd.Context(), ask, id)
				if err != nil {
					return err
				}
				if follow {
					return c.follow(cmd.Context(), ask, r)
				}
				return c.ran(r)
			})
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "stay until it ends, with its progress")
	return cmd
}

// ran prints one run.
func (c commands) ran(r server.RunView) error {
	if c.JSON {
		return c.Print(r)
	}
	c.Say("run %d of %s for %s: %s\n", r.ID, c.Paint(c.Out, "1", r.Job), r.Slot, r.StatusText())
	if r.Reason != "" {
		label := "because"
		if r.State == messaging.RunDone { // nothing is wrong with it
			label = "note"
		}
		if n := r.Messages[string(messaging.StateCancelled)]; r.State == messaging.RunCancelled && n > 0 {
			r.Reason += ": " + units.Count(n, "row")
		}
		c.Say("  %-11s %s\n", label, oneLine(r.Reason))
	}
	if r.Note != "" {
		c.Say("  note        %s\n", r.Note)
	}
	if r.Cause != "" {
		c.Say("  began       %s\n", c.beganWords(r))
	}
	if r.Account != "" {
		c.Say("  account     %s\n", r.Account)
	}
	if r.Approvals != nil && r.Approved == "" {
		c.Say("  approval    %s\n", r.Approvals.Words)
	}
	if r.Approved != "" {
		c.Say("  approved    by %s\n", r.Approved)
	}
	if r.Canary != "" {
		c.Say("  canary      %s\n", r.Canary)
	}
	if r.Overruled != "" {
		c.Say("  canary      stopped it, and %s let it go on\n", r.Overruled)
	}
	if words := c.waitWords(r); words != "" {
		c.Say("  waiting     %s\n", words)
	}
	if words := r.Waiting(); words != "" {
		c.Say("  waiting     %s\n", words)
	}
	if r.Halted != "" {
		c.Say("  halted      %s\n", c.Paint(c.Out, "33", r.Halted))
	}
	if r.RetryOf != 0 {
		c.Say("  retry of    run %d\n", r.RetryOf)
	}
	if !r.RetryUntil.IsZero() {
		c.Say("  deadline    %s: what was not sent by then is dropped\n", c.Clock(r.RetryUntil))
	}
	c.Say("  source      %s\n", r.Source)
	if r.Sends != "" {
		c.Say("  sends       %s\n", r.Sends)
	}
	c.tellTally(r.Tally, false)
	switch {
	case !r.BlankedAt.IsZero():
		c.Say("  rows        what they said was removed %s (retention.lists)\n", c.Clock(r.BlankedAt))
	case r.Tally.ExcludedRows() > 0:
		c.Say("              nudgewire jobs export %d lists them\n", r.ID)
	}
	for _, p := range r.Parts {
		line := fmt.Sprintf("  part %-6d %-9s %s, %s, sha256 %.12s", p.Number, p.State, units.Count(p.Rows, "row"), units.Count(p.Bytes, "byte"), p.SHA256)
		if p.Attempt == 0 {
			line = fmt.Sprintf("  part %-6d %-9s %s", p.Number, p.State, units.Count(p.Rows, "row"))
		}
		if p.CampaignID != "" {
			line += ", campaign " + p.CampaignID
		}
		if p.Reason != "" {
			line += ": " + p.Reason
		}
		if p.Resolved != "" && p.Resolved != p.Reason {
			line += " (" + p.Resolved + ")"
		}
		c.Say("%s\n", line)
	}
	if len(r.Messages) > 0 {
		c.Say("  messages    %s\n", byStatus(r.Messages))
		if n := r.NotHandedOver(); n > 0 {
			c.Say("  not sent    %s not handed over\n", units.Count(n, "row"))
		}
	}
	if r.State == messaging.RunPaused {
		c.tellPaused(r)
	}
	for _, step := range nextSteps(r) {
		c.Say("  next        %s\n", step)
	}
	return nil
}

// waitWords say what a run waits for, and until when; "" for nothing, and for one that is held: when that ends is not known.
func (c commands) waitWords(r server.RunView) string {
	if r.WaitUntil.IsZero() || r.Halted != "" {
		return ""
	}
	return story.WaitsUntil(r.Waits, c.Clock(r.WaitUntil))
}

// oneLine puts words of several lines on one, each of them once: a full disk says the same twice.
func oneLine(words string) string {
	var said []string
	for line := range strings.Lines(words) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.Join(said, "; ")
}

// beganWords says what made the run, and when.
func (c commands) beganWords(r server.RunView) string {
	words := map[messaging.RunCause]string{
		messaging.CauseCron: "by its cron line", messaging.CauseMissed: "late", messaging.CauseHand: "by hand",
	}[r.Cause]
	at := r.CreatedAt
	if !r.StartedAt.IsZero() {
		at = r.StartedAt
	}
	if words += ", " + c.Clock(at); r.Began != "" {
		words += ": " + r.Began
	}
	return words
}

// tellPaused says what of a paused run was handed over and stays, and what may still leave.
func (c commands) tellPaused(r server.RunView) {
	if n := r.Messages[string(messaging.StateWaiting)]; n > 0 {
		words := units.Count(n, "message") + " until it is resumed"
		if r.Expires != "" {
			words += "; what expires meanwhile is dropped, " + r.Expires + " after it was handed over"
		}
		c.Say("  paused      %s\n", words)
	}
	switch claimed := r.Messages[string(messaging.StateSending)]; {
	case claimed > r.UnderWay:
		c.Say("  under way   at most %s: what has begun ends as usual, and of %s claimed the others come back and stay\n",
			units.Count(r.UnderWay, "call"), units.Count(claimed, "message"))
	case claimed > 0:
		c.Say("  under way   at most %s: what has begun ends as usual\n", units.Count(claimed, "call"))
	}
}

// byStatus says how many messages stand where, the most first.
func byStatus(count map[string]int64) string {
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for i, word := range words {
		words[i] = units.Number(count[word]) + " " + word
	}
	return strings.Join(words, ", ")
}

// jobsOrder is a command that says one word to a run.
func (c commands) jobsOrder(word string, order *server.Operation[messaging.RunID, server.RunView], short string, asks bool) *cobra.Command {
	return &cobra.Command{
		Use: word + " RUN", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			return c.WithDaemon(func(ask *server.Client) error {
				r, err := server.ShowRun.Call(cmd.Context(), ask, id)
				if err != nil {
					return err
				}
				question, tally := "", r.Tally
				if word == "approve" && !c.JSON && !c.Yes && r.State == messaging.RunAwaiting {
					_, end := c.Working("reading the list")
					now, err := server.ForecastRun.Call(cmd.Context(), ask, id)
					if end(); err == nil {
						tally, err = now.Tally, c.tellForecast(&now)
					}
					if err != nil {
						return err
					}
				}
				if asks {
					question = fmt.Sprintf("%s run %d of %s: %s?", strings.ToUpper(word[:1])+word[1:], id, r.Job, amount(tally))
				} else if why := cmp.Or(r.Overruling(), r.Restored()); word == "resume" && why != "" {
					question = fmt.Sprintf("Run %d of %s: %s?", id, r.Job, why)
				}
				if question != "" {
					if err := c.Confirm(question); err != nil {
						return err
					}
				}
				if r, err = order.Call(cmd.Context(), ask, id); err != nil {
					return err
				}
				if a := r.Approvals; word == "approve" && r.State == messaging.RunAwaiting && a != nil {
					c.Note("%d of %d; somebody else has to approve, too", len(a.By), a.Need)
				}
				return c.ran(r)
			})
		},
	}
}
