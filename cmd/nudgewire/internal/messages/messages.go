package messages

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) messages() *cobra.Command {
	cmd := &cobra.Command{
		Use: "messages", Short: "What is queued and what was sent: list, show, cancel, resolve, retry, export",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.messagesList(), c.messagesShow(), c.messagesCancel(), c.messagesResolve(), c.messagesRetry(), c.messagesExport())
	return cmd
}

func (c commands) messagesList() *cobra.Command {
	var f terminal.ListFlags
	var state, trigger, account, phone string
	cmd := &cobra.Command{
		Use: "list", Short: "Messages with their status, newest first", Args: cobra.NoArgs,
		Example: "  nudgewire messages list --state in_doubt\n  nudgewire messages list --state failed --since 2h",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.Query(c.Now())
			if err != nil {
				return err
			}
			q.State, q.Trigger, q.Account, q.Phone = state, trigger, account, phone
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListMessages.Call(cmd.Context(), ask, q)
				if err != nil {
					return err
				}
				what := func(m server.MessageView) string {
					switch {
					case m.Test != "":
						return m.What + ", a test to " + m.Test
					case m.Step == 0:
						return m.What
					}
					return m.What + ", " + triggers.StepWords(m.Step, m.Steps)
				}
				head := "MESSAGE | DUE | TRIGGER | PHONE | WHAT | STATUS | WHY"
				return c.NoteLimit(terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "", "no messages"), head, func(m server.MessageView) []string {
					return []string{
						terminal.OrDash(numberOf(m)), c.Clock(m.DueAt), m.Trigger, terminal.OrDash(m.Phone.Masked()), terminal.OrDash(what(m)), stands(m), terminal.OrDash(reasonOf(m)),
					}
				}), len(rows), f.Limit)
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only in this state: "+strings.Join(server.StateWords(), ", ")+"; shadowed is what triggers in mode shadow would have sent")
	cmd.Flags().StringVar(&trigger, "trigger", "", "only of this trigger")
	cmd.Flags().StringVar(&account, "account", "", "only by this account: a name under accounts, or api")
	cmd.Flags().StringVar(&phone, "phone", "", "only to this phone")
	return cmd
}

// numberOf is "" for what was only shadowed.
func numberOf(m server.MessageView) string {
	if m.ID == 0 {
		return ""
	}
	return strconv.FormatInt(int64(m.ID), 10)
}

// stands is where a message is, in one word: the service's once it has it, ours before.
func stands(m server.MessageView) string {
	if m.State == messaging.StateAccepted && m.Status != "" {
		return string(m.Status)
	}
	return string(m.State)
}

func reasonOf(m server.MessageView) string {
	if m.Error != "" {
		return m.Error
	}
	if m.Held != "" {
		return m.Held
	}
	return m.Reason
}

func (c commands) messagesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "One message with its attempts; ID is the message's number or the service's message_id", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				m, err := server.ShowMessage.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(m)
				}
				story.TellMessage(c.CLI, m, "")
				c.tellDecided(m)
				switch {
				case m.Test != "":
					c.Say("  variables   not kept, because it is a test\n")
				case m.Send.Forget:
					c.Say("  variables   not kept (keep_variables: false), and not shown\n")
				}
				story.TellSend(c.CLI, &m.Send, "  ")
				story.TellReads(c.CLI, &m.Send, m.Reads, "  ")
				cause := fmt.Sprintf("event %d", m.EventID)
				if m.Request != "" {
					cause += ", request " + m.Request
				}
				switch {
				case m.Row > 0:
					cause = fmt.Sprintf("run %d, %s", m.Run, story.PlaceOf(m.Row, m.File))
				case m.Run > 0 && m.Part == 0:
					cause = fmt.Sprintf("run %d", m.Run)
				case m.EventID == 0: // an uploaded part
					cause = m.Key
				}
				c.Say("  because of  %s\n", cause)
				return nil
			})
		},
	}
}

// tellDecided prints what is asked of a step when it falls due, or what was said then.
func (c commands) tellDecided(m server.MessageView) {
	switch {
	case m.Decided != nil:
		c.Say("  %s %s\n", story.Outcome(c.CLI, m.Decided.Outcome), m.Decided.Reason)
		for _, clause := range m.Decided.Clauses {
			story.TellClause(c.CLI, clause)
		}
	case m.State == messaging.StateWaiting:
		for _, text := range m.If {
			c.Say("  sent if     %s\n", text)
		}
	}
}

func messageID(text string) (messaging.MessageID, error) {
	return terminal.Number[messaging.MessageID](text, "a message's number", `"nudgewire messages list" shows the numbers`)
}

func (c commands) messagesCancel() *cobra.Command {
	var reason, state string
	var dryRun bool
	var f bulkFlags
	cmd := &cobra.Command{
		Use: "cancel [ID]", Short: "End a message that still waits, or all that match", Args: cobra.MaximumNArgs(1),
		Long: `cancel ends one message by its number, or all that wait and match the flags: it counts them, asks,
and ends them. What is being sent at that moment is not ended.`,
		Example: "  nudgewire messages cancel 17\n  nudgewire messages cancel --trigger abandoned-cart --due-before 2h --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if state != "" && state != string(messaging.StateWaiting) {
				return exit.Fail(exit.Usage, "", "--state %q: only what is waiting can be cancelled", state)
			}
			if bulk, err := f.asked(cmd, args, dryRun); err != nil {
				return err
			} else if bulk {
				r, err := f.request(c.Now(), reason)
				if err != nil {
					return err
				}
				return c.many(cmd, r, dryRun, func(n int64) string { return "Cancel " + units.Count(n, "message") + "?" }, "cancelled", server.CancelMessages)
			}
			id, err := messageID(args[0])
			if err != nil {
				return err
			}
			return c.WithDaemon(func(ask *server.Client) error {
				m, err := server.CancelMessage.Call(cmd.Context(), ask, server.CancelRequest{ID: id, Reason: reason})
				return c.acted(m, err)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&state, "state", "", "waiting, which is what it cancels in any case")
	cmd.Flags().StringVar(&f.dueBefore, "due-before", "", "all due before this date, or within this long (2h, 3d)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count the messages that match, and change nothing")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

func (c commands) messagesResolve() *cobra.Command {
	var as, reason, state string
	var dryRun bool
	var f bulkFlags
	cmd := &cobra.Command{
		Use: "resolve [ID] --as accepted|resend|drop", Short: "Say what became of a message in doubt, or of all that match", Args: cobra.MaximumNArgs(1),
		Long: `A message is in doubt when the request left and no readable answer came back: the service
may have sent it or not, and offers no way to ask. Look at the phone or at the service's own
pages, then say which it was:
  accepted  it arrived; nothing is sent
  resend    it did not; send it again
  drop      let it be

Without a number it is about all in doubt that match the flags: it counts them by their cause, and asks.`,
		Example: "  nudgewire messages resolve 17 --as accepted --reason 'seen on the phone'\n  nudgewire messages resolve --state in_doubt --run 5 --as resend",
		RunE: func(cmd *cobra.Command, args []string) error {
			if state != "" && state != string(messaging.StateInDoubt) {
				return exit.Fail(exit.Usage, "", "--state %q: only what is in_doubt can be resolved", state)
			}
			if len(args) == 0 && state != "" {
				return c.resolveMany(cmd, &f, messaging.Resolution(as), reason, dryRun)
			}
			if bulk, err := f.asked(cmd, args, dryRun); err != nil {
				return err
			} else if bulk {
				return c.resolveMany(cmd, &f, messaging.Resolution(as), reason, dryRun)
			}
			id, err := messageID(args[0])
			if err != nil {
				return err
			}
			how := messaging.Resolution(as)
			switch how {
			case messaging.ResolveAccepted, messaging.ResolveDrop:
			case messaging.ResolveResend:
				if err := c.Confirm(fmt.Sprintf("Send message %d again? If it did arrive, the person gets it twice.", id)); err != nil {
					return err
				}
			default:
				return exit.Fail(exit.Usage, "", "--as %q: want accepted, resend or drop", as)
			}
			return c.WithDaemon(func(ask *server.Client) error {
				m, err := server.ResolveMessage.Call(cmd.Context(), ask, server.ResolveRequest{ID: id, As: how, Reason: reason})
				return c.acted(m, err)
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "accepted, resend or drop")
	f.add(cmd)
	cmd.Flags().StringVar(&state, "state", "", "in_doubt: all of them, or those that the other flags leave")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count the messages that match, and change nothing")
	cmd.Flags().StringVar(&reason, "reason", "", "how you know, for the record")
	return cmd
}

// acted prints a message after something was done to it, unless that failed.
func (c commands) acted(m server.MessageView, err error) error {
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Print(m)
	}
	story.TellMessage(c.CLI, m, "")
	return nil
}
