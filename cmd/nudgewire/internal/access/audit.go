package access

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) audit() *cobra.Command {
	var limit int
	var before int64
	var phone string
	var configs bool
	cmd := &cobra.Command{
		Use: "audit", Short: "Who ordered what, the newest first", Args: cobra.NoArgs,
		Long: `audit shows what people and programs ordered, which config was taken up, and who was told of which contact. An order is written before
it is carried out; one that was refused has a second entry that says so. Phones are masked, and contacts are named by a keyed hash:
--phone shows who looked at that one.`,
		Example: "  nudgewire audit --limit 20\n  nudgewire audit --phone +447700900123\n  nudgewire audit --configs\n  nudgewire audit verify",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListAudit.Call(cmd.Context(), ask, server.AuditQuery{Before: before, Limit: limit, Phone: phone, Configs: configs})
				if err != nil {
					return err
				}
				return c.NoteLimit(terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "", "there is no such entry yet"), "ENTRY | AT | WHO | DID | VIA | ABOUT | DETAIL", func(e server.AuditView) []string {
					about := e.Subject
					if e.Outcome != "" {
						about += " " + e.Outcome
					}
					return []string{strconv.FormatInt(e.ID, 10), c.Clock(e.At), e.Who, e.Words, e.Via, terminal.OrDash(about), terminal.OrDash(e.Detail)}
				}), len(rows), limit)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many")
	cmd.Flags().Int64Var(&before, "before", 0, "only entries before this one")
	cmd.Flags().StringVar(&phone, "phone", "", "only what is about this contact: who was told of it, and which webhook had it forgotten")
	cmd.Flags().BoolVar(&configs, "configs", false, "only which config was taken up, and who ordered a reload")
	cmd.MarkFlagsMutuallyExclusive("configs", "phone")
	cmd.AddCommand(c.auditVerify(), c.auditAccept())
	return cmd
}

func (c commands) auditAccept() *cobra.Command {
	return &cobra.Command{
		Use: "accept", Short: "Say that what is missing of the audit was looked into", Args: cobra.NoArgs,
		Long: `accept ends the trouble "audit" once somebody has looked into it. It mends nothing: verify goes on to name what is missing, and the
audit says who accepted it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				v, err := server.AcceptAudit.Call(cmd.Context(), ask, server.None{})
				if err == nil && c.JSON {
					return c.Print(v)
				}
				if err == nil {
					c.Say("accepted; the audit ends with %d:%s\n", v.Entries, v.Hash)
				}
				return err
			})
		},
	}
}

func (c commands) auditVerify() *cobra.Command {
	var known string
	cmd := &cobra.Command{
		Use: "verify", Short: "Say whether the audit is as it was written", Args: cobra.NoArgs,
		Long: `verify reads the whole audit. Each entry has a hash of itself and of the one before it: one that was changed or taken out
breaks the chain there, and the data notes what the last one was. Who changed that, too, is seen by a hash from before: give an entry and
its hash as --known, as verify, the daemon's log (once a day) and each backup name them.`,
		Example: "  nudgewire audit verify\n  nudgewire audit verify --known 41:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				v, err := server.VerifyAudit.Call(cmd.Context(), ask, known)
				if err != nil {
					return err
				}
				if c.JSON {
					if err := c.Print(v); err != nil {
						return err
					}
				}
				if v.Broken != "" {
					return exit.Fail(exit.Failed, "somebody who can write the database changed it, or a backup was put back", "the audit is broken: %s", v.Broken)
				}
				if c.JSON {
					return nil
				}
				c.Say("%s, whole\n", units.Count(v.Entries, "record"))
				if v.Entries > 0 {
					c.Say("%d:%s\n", v.Entries, v.Hash)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&known, "known", "", "what verify printed before: an entry and its hash")
	return cmd
}
