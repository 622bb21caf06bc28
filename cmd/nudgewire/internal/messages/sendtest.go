package messages

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// testFlags are what send-test takes beside the trigger.
type testFlags struct {
	event   string
	headers []string
	noWait  bool
}

func (c commands) sendTest() *cobra.Command {
	var in preview.TestSendRequest
	var f testFlags
	cmd := &cobra.Command{
		Use: "send-test TRIGGER", Short: "Send one message of a trigger to a phone of your own, marked as a test",
		Long: `send-test sends one message of a trigger to a number that the config names under test_numbers, filled
in from a stored event, a file with a webhook, or a sample of the sender. It leaves at once, whatever the
trigger's conditions, waits, mode, limits and consent say, and says what the trigger would have decided
for the real contact. Blocks and halts hold: then nothing is queued. A test is in no statistics and no
limit, and costs its points. A call whose outcome is unknown is in doubt, and is never sent again.

It stays until the message was delivered, failed or ended; --no-wait leaves at once.`,
		Example: `  nudgewire send-test abandoned-cart --to me
  nudgewire send-test abandoned-cart --to me --event 4711
  nudgewire send-test welcome --step 2 --to ann --event contact.json --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.Trigger = args[0]; in.To == "" {
				return exit.Fail(exit.Usage, "name one of test_numbers in the config, such as --to me", "to whom? --to is missing")
			}
			if err := f.read(cmd.Context(), c, &in); err != nil {
				return err
			}
			if !in.DryRun {
				if err := c.Confirm(fmt.Sprintf("Send a test of %s to %s?", in.Trigger, in.To)); err != nil {
					return err
				}
			}
			ask, done, err := c.Daemon()
			if err != nil {
				return err
			}
			defer done()
			v, err := server.SendTest.Call(cmd.Context(), ask, in)
			if err != nil {
				return err
			}
			if c.JSON {
				err = c.Print(v)
			} else {
				c.tellTest(&v)
			}
			if err != nil || in.DryRun || f.noWait {
				return err
			}
			return c.followTest(cmd.Context(), ask, v.Message)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&in.To, "to", "", "whose phone: a name under test_numbers in the config")
	flags.StringVar(&f.event, "event", "", "what it is filled in from: the number of a stored event, or a file with the body of a webhook, - for standard input (default: a sample of the sender)")
	flags.IntVar(&in.Step, "step", 0, "which step of a trigger with steps (default: the first)")
	flags.StringVar(&in.Connector, "connector", "", "whose webhook the file is, where the trigger listens to several")
	flags.StringVar(&in.Sample, "sample", "", "which of the connector's samples, without --event")
	flags.StringVarP(&in.Topic, "topic", "t", "", "the sender's topic of a file, where it travels in a header (checkouts/update)")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header of a file, as Name: value; may be given again")
	flags.BoolVar(&in.DryRun, "dry-run", false, "say what would be sent, and send nothing")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait for what becomes of it")
	return cmd
}

// read puts what the flags say of the event into a request.
func (f *testFlags) read(ctx context.Context, c commands, in *preview.TestSendRequest) error {
	for _, h := range f.headers {
		name, value, err := terminal.Header(h)
		if err != nil {
			return err
		}
		if in.Headers == nil {
			in.Headers = map[string]string{}
		}
		in.Headers[name] = value
	}
	if f.event == "" {
		return nil
	}
	if id, err := strconv.ParseInt(f.event, 10, 64); err == nil {
		if in.Event = messaging.EventID(id); id < 1 {
			return exit.Fail(exit.Usage, `"nudgewire events list" shows the numbers`, "--event %q is no number of an event", f.event)
		}
		return nil
	}
	var body []byte
	var err error
	if f.event == "-" {
		body, err = io.ReadAll(io.LimitReader(c.In, preview.MaxBody+1))
	} else {
		body, err = regular.Read(ctx, f.event, preview.MaxBody)
	}
	switch {
	case err != nil:
		return exit.Fail(exit.Usage, `--event takes the number of a stored event ("nudgewire events list") or a file`, "read the event: %w", err)
	case len(body) == 0:
		return exit.Fail(exit.Usage, "", "%s is empty", f.event)
	case len(body) > preview.MaxBody:
		return exit.Fail(exit.Usage, "", "%s is longer than %d bytes", f.event, preview.MaxBody)
	}
	in.Payload = preview.TryBody(body)
	return nil
}

// tellTest prints a test, and what its trigger would have decided.
func (c commands) tellTest(v *preview.TestSendView) {
	head := "test of " + v.Trigger
	if v.Step > 0 {
		head += ", " + triggers.StepWords(v.Step, v.Of)
	}
	c.Say("%s to %s (%s), filled in from %s\n", head, v.Test, v.Phone, v.Event)
	c.Say("  %s, %s\n", story.SendWords(&v.Send, v.Account), v.Category)
	story.TellSend(c.CLI, &v.Send, "    ")
	story.TellReads(c.CLI, &v.Send, v.Reads, "    ")
	if v.Points > 0 {
		c.Say("    costs       %s points\n", strconv.FormatFloat(v.Points, 'f', -1, 64))
	}
	switch {
	case v.Decision != nil:
		c.Say("  for the real contact ")
		story.TellDecision(c.CLI, v.Decision)
	case v.Silent != "":
		c.Say("  for a real contact the trigger says nothing: %s\n", v.Silent)
	}
	for _, words := range v.Assumed {
		c.Warn("assumed: %s\n", words)
	}
	switch {
	case v.Message == 0:
		c.Note("nothing was stored or sent")
	case v.Before:
		c.Note("it was asked for before, as message %d, and is not sent twice", v.Message)
	}
}

const (
	// lookAtTest is how often a test is looked at while somebody waits for it.
	lookAtTest = 200 * time.Millisecond
	// mostWait is how long somebody waits: a phone that is off may get it days later.
	mostWait = 2 * time.Minute
)

// followTest tells what becomes of a test until it ended, or was delivered.
func (c commands) followTest(ctx context.Context, ask *server.Client, id messaging.MessageID) error {
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	told := ""
	for {
		m, err := server.ShowMessage.Call(ctx, ask, strconv.FormatInt(int64(id), 10))
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			if now := stands(m); now != told {
				if told = now; c.JSON {
					if err := c.Print(m); err != nil {
						return err
					}
				} else {
					c.Say("message %d: %s\n", m.ID, story.WithReason(strings.ReplaceAll(now, "_", " "), reasonOf(m)))
				}
			}
			if rests, failed := restsSo(&m); rests && failed {
				return exit.Silent(exit.Failed)
			} else if rests {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			c.Note("it goes on; look at it with: nudgewire messages show %d", id)
			return nil
		case <-time.After(lookAtTest):
		}
	}
}

// restsSo reports whether nothing more is waited for, and whether the message did not arrive, as far as is known.
func restsSo(m *server.MessageView) (rests, failed bool) {
	switch m.State {
	case messaging.StateWaiting, messaging.StateSending:
		return false, false
	case messaging.StateAccepted:
		failed = m.Status == messaging.StatusFailed || m.Status == messaging.StatusExpired
		return m.NextPollAt.IsZero() || m.Status == messaging.StatusDelivered, failed
	default:
		return true, true
	}
}
