package messages

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) errorsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "errors", Short: "What the service says about messages that it did not send, and what that means", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.errorsList(), c.errorsClassify())
	return cmd
}

func (c commands) errorsList() *cobra.Command {
	var f terminal.ListFlags
	var class string
	cmd := &cobra.Command{
		Use: "list", Short: "What the service said about messages that it did not send, with class and count, the newest first", Args: cobra.NoArgs,
		Long: `list shows what the service said, once for all texts that differ by numbers only: how many calls it
rejected so (REJECTED), how many messages it took and failed later (FAILED), when last, and the
number of one message. CLASS is what the rules make of it today. What is unknown is a to-do: read
it, and write a rule for it under errors: in the config. The newest 1,000 texts are kept.`,
		Example: "  nudgewire errors list --class unknown --since 7d\n  nudgewire errors list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.Query(c.Now())
			if err != nil {
				return err
			}
			q.Class = class
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListErrors.Call(cmd.Context(), ask, q)
				if err != nil {
					return err
				}
				return c.NoteLimit(terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "", "the service said nothing of the kind"), "LAST | CLASS | REJECTED | FAILED | MESSAGE | TEXT", func(v server.ErrorTextView) []string {
					return []string{c.Clock(v.Last), v.Class.Words(), units.Number(v.Rejected), units.Number(v.Failed), strconv.FormatInt(int64(v.Message), 10), v.Text}
				}), len(rows), f.Limit)
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&class, "class", "", "only this class; unknown is what no rule knows")
	return cmd
}

// A classified is one of the service's texts and what the rules make of it.
type classified struct {
	server.ClassView
	Text string `json:"text"`
}

func (c commands) errorsClassify() *cobra.Command {
	return &cobra.Command{
		Use: "classify FILE", Short: "Say which rule matches each text of a file, one a line; - is standard input", Args: cobra.ExactArgs(1),
		Long: `classify reads texts as the service writes them, one a line, and says which class the rules give
each, and by which rule: those of errors: in the config file as it is now, and behind them those
that come with nudgewire. So a rule can be tried before "nudgewire reload" takes it up.`,
		Example: "  nudgewire errors classify texts.txt\n  echo 'Insufficient points' | nudgewire errors classify -",
		RunE: func(_ *cobra.Command, args []string) (err error) {
			cfg, err := c.LoadToLook()
			if err != nil {
				return err
			}
			in := c.In
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return exit.Fail(exit.Usage, "", "%w", err)
				}
				defer func() { _ = f.Close() }() // it was only read
				in = f
			}
			var rows []classified
			unknown := 0
			lines := bufio.NewScanner(io.LimitReader(in, maxTexts))
			for lines.Scan() {
				text := strings.TrimSpace(lines.Text())
				if text == "" {
					continue
				}
				v := classified{server.ClassOf(cfg.Errors, text), text}
				if v.Class == messaging.ErrorUnknown {
					unknown++
				}
				rows = append(rows, v)
			}
			if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
				return exit.Fail(exit.Usage, "write one text a line", "a line is longer than any text of the service")
			} else if err != nil {
				return exit.Fail(exit.Usage, "", "read texts: %w", err)
			}
			err = terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "write one text a line", "no texts in %s", args[0]), "CLASS | RULE | TEXT", func(v classified) []string {
				return []string{v.Class.Words(), terminal.Sanitized(terminal.OrDash(v.By())), v.Text}
			})
			if err == nil && unknown > 0 {
				c.Note("no rule matches %s: such a message ends, and nothing else follows. Write a rule under errors: in %s", units.Count(unknown, "text"), c.Config)
			}
			return err
		},
	}
}

// maxTexts is how much of a file of texts is read, in bytes.
const maxTexts = 16 << 20
