package connectors

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// tryFlags are what try takes beside what describes the webhook.
type tryFlags struct {
	sampleFlags
	moment, rules string
}

func (c commands) try() *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use: "try CONNECTOR [FILE]", Short: "Show what a webhook would lead to, without storing or sending anything",
		Long: `try reads a webhook as the daemon would and prints the events in it, what each trigger says
to them clause by clause, the messages that would be queued, and when the rules would let them go.

It asks the config file, and says what it assumes of the contacts. With --server it asks a daemon: by
the rules that it has loaded, and by what it knows of the phone's consent, blocks and limits, and of
what waits and was sent already.
--rules takes the triggers of a file, which begins with "triggers:", in place of those of the same
name, so that an edit is tried before it is made.`,
		Example: "  nudgewire try shopify\n  nudgewire try shopify checkout.json --topic checkouts/update\n  nudgewire try shopify --sample order --at \"2026-12-24 22:00\" --rules edited.yaml",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			edited, err := c.editedRules(f.rules)
			if err != nil {
				return err
			}
			if f.moment != "" {
				if f.at, err = terminal.ParseSince(f.moment, c.Now()); err != nil {
					return exit.Fail(exit.Usage, "", "--at %q: want a time such as \"2026-12-24 22:00\", or how long ago, such as 3h", f.moment)
				}
			}
			if c.Server != "" {
				return c.tryElsewhere(cmd.Context(), args, &f, edited)
			}
			cfg, r, req, err := c.webhook(c.LoadToLook, args, &f.sampleFlags)
			if err != nil {
				return err
			}
			if edited != "" {
				with, problems := cfg.With(edited)
				c.RenderProblems(problems)
				if with == nil {
					return exit.Silent(exit.Config)
				}
				cfg = with
			}
			trial := app.TrialOf(cfg)
			tried, err := trial.Request(cmd.Context(), r, req)
			if err != nil {
				return err
			}
			return c.tellTry(tried)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.moment, "at", "", "when it arrives: a date, a date and time, or how long ago (default: now)")
	cmd.Flags().StringVar(&f.rules, "rules", "", "a file with edited triggers, in place of those of the same name")
	return cmd
}

// editedRules are those of a file, "" for none.
func (c commands) editedRules(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", exit.Fail(exit.Usage, "", "read the rules: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", exit.Fail(exit.Usage, `begin it with "triggers:"`, "%s is empty", file)
	}
	return string(text), nil
}

// tryElsewhere asks a daemon, by the rules that it has loaded.
func (c commands) tryElsewhere(ctx context.Context, args []string, f *tryFlags, edited string) error {
	ask, done, err := c.Remote()
	if err != nil {
		return err
	}
	defer done()
	in := preview.TryRequest{Connector: args[0], Sample: f.sample, Number: f.number, Topic: f.topic, Headers: map[string]string{}, Triggers: edited}
	for _, h := range f.headers {
		name, value, err := terminal.Header(h)
		if err != nil {
			return err
		}
		in.Headers[name] = value
	}
	if file := terminal.Argument(args, 1); file != "" {
		body, err := c.bodyOf(file, f.now(), &f.sampleFlags)
		if err != nil {
			return err
		}
		in.Payload = preview.TryBody(body)
	}
	in.At = f.at
	v, err := server.TryWebhook.Call(ctx, ask, in)
	if err != nil {
		return err
	}
	if v.Edited == nil {
		return c.tellTry(v.TriedRequest)
	}
	c.RenderProblems(v.Edited.Problems)
	if !v.Edited.Usable {
		return exit.Silent(exit.Config)
	}
	v.Events, v.Unasked, v.Assumed = v.Edited.Events, v.Edited.Unasked, v.Edited.Assumed
	return c.tellTry(v.TriedRequest)
}

// A triedItem is a webhook, or an item of one, that makes no event.
type triedItem struct {
	Handshake string `json:"handshake,omitempty"`
	Status    int    `json:"status,omitempty"` // that a handshake is answered with
	Skipped   string `json:"skipped,omitempty"`
}

func (c commands) tellTry(t preview.TriedRequest) error {
	if no := t.Rejected; no != nil {
		return exit.Fail(exit.Failed, "", "the daemon would answer %d (%s): %s", no.Status, no.Stage, no.Reason)
	}
	if t.Handshake != "" {
		if c.JSON {
			return c.Print(triedItem{Handshake: t.Handshake, Status: t.Status})
		}
		c.Say("a handshake (%s), answered %d; no event\n", t.Handshake, t.Status)
		return nil
	}
	for _, reason := range t.Skipped {
		if c.JSON {
			if err := c.Print(triedItem{Skipped: reason}); err != nil {
				return err
			}
			continue
		}
		c.Say("skipped: %s\n", reason)
	}
	if len(t.Events) == 0 && !c.JSON {
		c.Say("no events in it\n")
	}
	for _, e := range t.Events {
		if c.JSON {
			if err := c.Print(e); err != nil {
				return err
			}
			continue
		}
		story.TellTried(c.CLI, e)
	}
	for _, what := range t.Assumed {
		if len(t.Events) > 0 {
			c.Warn("assumed: %s\n", what)
		}
	}
	if t.Cut > 0 {
		c.Warn("%s more are left out\n", units.Count(t.Cut, "event"))
	}
	if t.Unasked > 0 {
		c.Warn("the rules took too long to try: some triggers were not asked\n")
	}
	return nil
}
