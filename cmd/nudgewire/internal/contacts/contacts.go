package contacts

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

func (c commands) contacts() *cobra.Command {
	cmd := &cobra.Command{
		Use: "contacts", Short: "Who they are and who wants messages: search, blocks, consent, and being forgotten",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.contactsBlock(), c.contactsAllow(), c.contactsList(), c.contactsImport(),
		c.contactsFind(), c.contactsShow(), c.contactsConsent(), c.contactsExport(), c.contactsForget(),
		c.contactsRequests(), c.contactsAnswered(), c.contactsRedactions())
	return cmd
}

func (c commands) contactsBlock() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "block PHONE...", Short: "Send contacts nothing from now on, but for the codes of their own log-ins", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				a, err := server.BlockContacts.Call(cmd.Context(), ask, server.BlockRequest{Phones: args, Reason: reason})
				if err != nil {
					return err
				}
				return c.blocked(a, func(row int) string { return args[row-1] })
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

// took prints what came of rows that were sent to the daemon: its answer, the rows that it could not read, whose place is
// where they stand, and what became of the others.
func (c commands) took(answer any, bad []server.BadRow, place func(row int) string, format string, args ...any) error {
	if c.JSON {
		if err := c.Print(answer); err != nil {
			return err
		}
	} else {
		for _, b := range bad {
			c.Note("%s: %s", place(b.Row), b.Reason)
		}
		c.Say(format+"\n", args...)
	}
	if len(bad) > 0 {
		return exit.Silent(exit.Failed)
	}
	return nil
}

func (c commands) blocked(a server.BlockAnswer, place func(row int) string) error {
	return c.took(a, a.Bad, place, "%d blocked, %d blocked already, %d could not be read", a.Blocked, a.Before, len(a.Bad))
}

func (c commands) contactsAllow() *cobra.Command {
	return &cobra.Command{
		Use: "allow PHONE", Short: "End a contact's block", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				b, err := server.AllowContact.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(b)
				}
				c.Say("%s is not blocked any more\n", b.Phone.Masked())
				return nil
			})
		},
	}
}

func (c commands) contactsList() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "Blocked contacts, with who blocked them and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := (&terminal.ListFlags{Limit: limit}).Query(c.Now())
			if err != nil {
				return err
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListBlocks.Call(cmd.Context(), ask, q)
				if err != nil {
					return err
				}
				return c.NoteLimit(terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "", "nobody is blocked"), "PHONE | SINCE | BY | WHY", func(b store.Block) []string {
					return []string{b.Phone.Masked(), c.Clock(b.At), b.Source, terminal.OrDash(b.Reason)}
				}), len(rows), limit)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "most rows")
	return cmd
}

// importBatch is how many phones travel in one request.
const importBatch = 5000

func (c commands) contactsImport() *cobra.Command {
	var reason, column string
	var consents bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Block every phone of a file; - is standard input", Args: cobra.ExactArgs(1),
		Long: `import reads a list of phones that must not be messaged, such as an export of opt-outs: one
a line, or a CSV file. Of a CSV file it reads the column whose header says phone, or --column,
or the first one where there is no header. Empty lines and lines that begin with # are passed
over. A phone that cannot be read is named with its line, and the others are blocked all the
same; one that is there twice counts as blocked already the second time.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if consents {
				return c.importConsents(cmd, args[0])
			}
			in, source := c.In, "standard input"
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return exit.Fail(exit.Usage, "", "%w", err)
				}
				defer func() { _ = f.Close() }() // it was only read
				in, source = f, filepath.Base(args[0])
			}
			list, err := readPhones(in, source, column)
			if err != nil {
				return err
			}
			phones, lines := list.phones, list.lines
			if len(phones) == 0 {
				return exit.Fail(exit.Nothing, "", "no phones in %s", source)
			}
			return c.WithDaemon(func(ask *server.Client) error {
				var all server.BlockAnswer
				for at := 0; at < len(phones); at += importBatch {
					some := phones[at:min(at+importBatch, len(phones))]
					a, err := server.BlockContacts.Call(cmd.Context(), ask, server.BlockRequest{Phones: some, Reason: reason, Source: source})
					if err != nil {
						return err
					}
					all.Blocked, all.Before = all.Blocked+a.Blocked, all.Before+a.Before
					for _, b := range a.Bad {
						b.Row = lines[at+b.Row-1]
						all.Bad = append(all.Bad, b)
					}
				}
				return c.blocked(all, func(row int) string { return fmt.Sprintf("%s:%d", source, row) })
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	cmd.Flags().BoolVar(&consents, "consents", false, "record consents: a CSV file with the columns phone, consent and, where there are any, channel, category, at, source, proof")
	cmd.Flags().StringVar(&column, "column", "", "header of the column that holds the phone")
	return cmd
}
