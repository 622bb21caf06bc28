package connectors

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

func (c commands) trigger() *cobra.Command {
	var f sampleFlags
	var url string
	var list bool
	cmd := &cobra.Command{
		Use: "trigger CONNECTOR [FILE]", Short: "Post a signed webhook to the running daemon, a sample or your own",
		Example: `  nudgewire trigger shopify
  nudgewire trigger shopify --list
  nudgewire trigger shopify order.json --topic orders/create`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return c.listSamples(args[0])
			}
			cfg, _, req, err := c.webhook(c.LoadConfig, args, &f)
			if err != nil {
				return err
			}
			client := http.DefaultClient
			if url == "" {
				url, client = terminal.LocalURL(cfg), terminal.LocalClient(cfg, 0)
			}
			defer client.CloseIdleConnections()
			status, answer, err := terminal.PostWebhook(cmd.Context(), client, url, req)
			if err != nil {
				return err
			}
			if c.JSON {
				if err := c.Print(posted(status, answer)); err != nil {
					return err
				}
			} else {
				c.Say("%d %s\n%s", status, http.StatusText(status), terminal.Block(answer))
			}
			if status >= http.StatusBadRequest {
				return notTaken(status)
			}
			c.Note(`see what came of it with "nudgewire events list"`)
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&url, "url", "", "where the daemon listens (default: server.listen of the config)")
	cmd.Flags().BoolVar(&list, "list", false, "list the connector's samples")
	return cmd
}

// notTaken is a webhook that the daemon did not take. What it could not store it could not write down as rejected either.
func notTaken(status int) error {
	switch {
	case status >= http.StatusInternalServerError:
		return exit.Fail(exit.TryLater, `"nudgewire doctor" says what is in the way; then post it again, as its sender would`, "the webhook was not stored")
	case exit.OfAnswer(status) == exit.TryLater:
		return exit.Fail(exit.TryLater, "post it again in a moment, as its sender would", "the webhook was not taken: there are too many at a time")
	default:
		return exit.Fail(exit.Failed, `"nudgewire events rejected" says why`, "the webhook was rejected")
	}
}

// A postedWebhook is what the daemon answered to a webhook.
type postedWebhook struct {
	Status int `json:"status"`
	Answer any `json:"answer"` // its JSON, or its text where it is none
}

func posted(status int, answer []byte) postedWebhook {
	if json.Valid(answer) {
		return postedWebhook{status, json.RawMessage(answer)}
	}
	return postedWebhook{status, string(answer)}
}

func (c commands) listSamples(connector string) error {
	cfg, err := c.LoadToLook()
	if err != nil {
		return err
	}
	r, err := receiver(cfg, connector)
	if err != nil {
		return err
	}
	var rows []listedSample
	for _, s := range r.Samples() {
		rows = append(rows, listedSample{s.Name, s.Topic, r.Name() + "." + s.Kind})
	}
	nothing := exit.Fail(exit.Nothing, "name a file with a body", "connector %q has no samples", connector)
	return terminal.List(c.CLI, rows, nothing, "SAMPLE | TOPIC | EVENT", func(s listedSample) []string { return []string{s.Sample, s.Topic, s.Event} })
}

// A listedSample is a webhook that a connector has at hand.
type listedSample struct {
	Sample string `json:"sample"`
	Topic  string `json:"topic,omitempty"`
	Event  string `json:"event"`
}

func (c commands) sign() *cobra.Command {
	var f sampleFlags
	var curl bool
	cmd := &cobra.Command{
		Use: "sign CONNECTOR [FILE]", Short: "Print the headers that a webhook of this connector would carry",
		Long: `sign prints what a sender would put beside a body, made with the connector's own secret, so
that a webhook can be posted by hand. --curl prints the whole command.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			_, _, req, err := c.webhook(c.LoadConfig, args, &f)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.Print(map[string]any{"method": req.Method, "url": req.URL, "headers": req.Header, "body": string(req.Body)})
			}
			if curl {
				c.Say("curl -X %s %s", req.Method, quote(req.URL))
			}
			for _, name := range slices.Sorted(maps.Keys(req.Header)) {
				for _, value := range req.Header[name] {
					if curl {
						c.Say(" \\\n  -H %s", quote(name+": "+value))
					} else {
						c.Say("%s: %s\n", name, value)
					}
				}
			}
			if curl {
				c.Say(" \\\n  --data-binary %s\n", quote(string(req.Body)))
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&curl, "curl", false, "print a curl command with the body")
	return cmd
}

// quote puts text into single quotes for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
