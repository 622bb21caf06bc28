package connectors

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
)

// A shownConnector is everything about one connector that can be said without its secret.
type shownConnector struct {
	Name       string              `json:"name"`
	Title      string              `json:"title"`
	Preset     string              `json:"preset,omitempty"`
	Configured bool                `json:"configured"`
	URL        string              `json:"url"`
	TokenURL   string              `json:"token_url,omitempty"` // where the sender can set no headers
	Setup      string              `json:"setup"`
	Docs       string              `json:"docs,omitempty"`
	Verifier   string              `json:"verifier"`
	Needs      []connectors.Need   `json:"needs"`
	Kinds      []string            `json:"kinds"`
	Words      map[string][]string `json:"words,omitempty"`   // by kind: what the sender calls it
	Consent    []string            `json:"consent,omitempty"` // where it says whether somebody agreed

	EmailConsent []string `json:"email_consent,omitempty"`
	Duties       string   `json:"duties,omitempty"`

	Lookups  []string `json:"lookups,omitempty"` // what is asked for what a webhook leaves out
	Timeout  string   `json:"timeout,omitempty"`
	Retries  string   `json:"retries,omitempty"`
	Disables string   `json:"disables,omitempty"`
	Verified string   `json:"verified"`
	Warnings []string `json:"warnings,omitempty"`
	Snippet  string   `json:"snippet"`
}

// noHost stands for the public address where the config does not say it.
const noHost = "https://YOUR_HOST"

func (c commands) connectorsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "How to set a connector up: the URL to paste and where, what verifies it, what it makes",
		Long: `show prints what to do at the sender and in the config to connect a system. It needs no
config: every preset can be looked at.`,
		Example: "  nudgewire connectors show shopify",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg := c.optional()
			v, err := shown(cfg, args[0])
			if err != nil {
				return err
			}
			if c.JSON {
				return c.Print(v)
			}
			c.showConnector(v)
			return nil
		},
	}
}

func shown(cfg *config.Config, name string) (shownConnector, error) {
	var info connectors.Info
	var warnings []string
	r, configured := cfg.Receivers[name]
	if configured {
		info, warnings = r.Info(), r.Warnings()
	} else {
		var ok bool
		if info, ok = connectors.PresetInfo(name); !ok {
			return shownConnector{}, noConnector(name, cfg.Receivers)
		}
	}
	base := cfg.Server.PublicURL
	if base == "" {
		base = noHost
	}
	v := shownConnector{
		Name: info.Name, Title: info.Title, Preset: info.Preset, Configured: configured,
		URL: info.URL(base), TokenURL: info.TokenURL(base), Setup: info.Setup, Docs: info.Docs,
		Verifier: info.Verifier, Needs: info.Needs, Kinds: info.Kinds, Words: info.Words, Consent: info.Consent, EmailConsent: info.EmailConsent, Duties: info.Duties, Lookups: info.Lookups,
		Retries: info.Sender.Retries, Disables: info.Sender.Disables, Verified: info.Verified, Warnings: warnings, Snippet: info.Snippet(),
	}
	if entry := cfg.Connector(name); entry != "" {
		v.Snippet = entry + info.Starter()
	}
	if info.Address != "" {
		v.URL = info.Address
	}
	if info.Sender.Timeout != 0 {
		v.Timeout = info.Sender.Timeout.String()
	}
	return v, nil
}

func (c commands) showConnector(v shownConnector) {
	say := func(format string, args ...any) { c.Say(format+"\n", args...) }
	head := func(text string) { say("\n%s", c.Paint(c.Out, "1", text)) }
	state := "not in your config"
	if v.Configured {
		state = "in your config"
	}
	say("%s (%s, %s)", c.Paint(c.Out, "1", v.Title), v.Name, state)
	for _, w := range v.Warnings {
		say("  %s", c.Paint(c.Out, "33", w))
	}

	head("The URL to paste")
	say("  %s", v.URL)
	if strings.Contains(v.URL, connectors.TokenPlaceholder) {
		say("  %s is where the secret goes: whoever knows this URL can post events", connectors.TokenPlaceholder)
	}
	if v.TokenURL != "" {
		say("  %s", v.TokenURL)
		say("  where the sender can set no headers; %s is where the secret goes", connectors.TokenPlaceholder)
	}
	if strings.HasPrefix(v.URL, noHost) {
		say("  YOUR_HOST is where the internet reaches the daemon; set server.public_url to it")
	}

	if v.Setup != "" {
		head("At the sender")
		say("%s", terminal.Indent(v.Setup, "  "))
	}
	if v.Docs != "" {
		say("  %s", v.Docs)
	}

	head("What verifies a request")
	say("  %s", v.Verifier)
	for _, n := range v.Needs {
		say("  %s: %s", n.Key, n.Is)
	}

	head("What it makes")
	for _, kind := range v.Kinds {
		say("  %-34s %s", v.Name+"."+kind, strings.Join(v.Words[kind], ", "))
	}
	if len(v.Kinds) == 0 {
		say("  whatever its sender calls its events, as %s.<word>", v.Name)
	}

	if len(v.Consent) > 0 {
		say("  consent is read from %s", strings.Join(v.Consent, ", "))
	}
	if len(v.EmailConsent) > 0 {
		say("  permission to be sent e-mail, which is another thing, from %s", strings.Join(v.EmailConsent, ", "))
	}
	for _, at := range v.Lookups {
		say("  looks up %s", at)
	}

	if v.Timeout != "" || v.Retries != "" || v.Disables != "" {
		head("What its sender does")
		if v.Timeout != "" {
			say("  waits %s for the answer", v.Timeout)
		}
		if v.Retries != "" {
			say("  repeats: %s", v.Retries)
		}
		if v.Disables != "" {
			say("  gives up: %s", v.Disables)
		}
	}

	if v.Duties != "" {
		head("What is left to you")
		say("%s", terminal.Indent(v.Duties, "  "))
	}
	if v.Verified != "" {
		head("What is tested, and what is not")
		say("%s", terminal.Indent(v.Verified, "  "))
	}

	head("To start from")
	say("%s", terminal.Indent(v.Snippet, "  "))
}
