package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c *cli) errorsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "errors", Short: "What the service says about messages that it did not send, and what that means", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.errorsClassify())
	return cmd
}

// A classified is one of the service's texts and what the rules make of it.
type classified struct {
	Text  string               `json:"text"`
	Class nudgewire.ErrorClass `json:"class"` // "" is unknown
	Match string               `json:"match,omitempty"`
	Rule  string               `json:"rule,omitempty"` // where the rule stands: "errors[0]", "default"
}

func classify(rules *nudgewire.ErrorRules, text string) classified {
	m := rules.Match(text)
	v := classified{Text: text, Class: m.Class, Match: m.Rule}
	switch {
	case m.Own >= 0:
		v.Rule = fmt.Sprintf("errors[%d]", m.Own)
	case m.Rule != "":
		v.Rule = "default"
	}
	return v
}

// by says which rule it was.
func (v classified) by() string {
	if v.Rule == "" {
		return "-"
	}
	return v.Rule + ": " + v.Match
}

func (c *cli) errorsClassify() *cobra.Command {
	return &cobra.Command{
		Use: "classify FILE", Short: "Say which rule matches each text of a file, one a line; - is standard input", Args: cobra.ExactArgs(1),
		Long: `classify reads texts as the service writes them, one a line, and says which class the rules give
each, and by which rule: those of errors: in the config file as it is now, and behind them those
that come with nudgewire. So a rule can be tried before "nudgewire reload" takes it up.`,
		Example: "  nudgewire errors classify texts.txt\n  echo 'Insufficient points' | nudgewire errors classify -",
		RunE: func(_ *cobra.Command, args []string) (err error) {
			cfg, err := c.loadToLook()
			if err != nil {
				return err
			}
			in := c.in
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return fail(exitUsage, "", "%w", err)
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
				v := classify(cfg.Errors, text)
				if v.Class == nudgewire.ErrorUnknown {
					unknown++
				}
				rows = append(rows, v)
			}
			if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
				return fail(exitUsage, "write one text a line", "a line is longer than any text of the service")
			} else if err != nil {
				return fail(exitUsage, "", "read texts: %w", err)
			}
			err = list(c, rows, fail(exitNothing, "write one text a line", "no texts in %s", args[0]), "CLASS | RULE | TEXT", func(v classified) []string {
				return []string{v.Class.Words(), tamed(v.by()), v.Text}
			})
			if err == nil && unknown > 0 {
				c.note("no rule matches %s: such a message ends, and nothing else follows. Write a rule under errors: in %s", units.Count(unknown, "text"), c.config)
			}
			return err
		},
	}
}

// maxTexts is how much of a file of texts is read, in bytes.
const maxTexts = 16 << 20
