package connectors

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// A testedRequest is what a connector says to a request.
type testedRequest struct {
	Verdict    string        `json:"verdict"` // taken, rejected or handshake
	Status     int           `json:"status"`  // what the sender would be answered
	Stage      string        `json:"stage,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Handshake  string        `json:"handshake,omitempty"`
	Unverified string        `json:"unverified,omitempty"` // why enforce would reject what monitor took
	Signed     bool          `json:"signed_by_us"`
	Events     []testedEvent `json:"events"`
	Skipped    []string      `json:"skipped,omitempty"`
}

type testedEvent struct {
	Event        string            `json:"event"`
	Topic        string            `json:"topic,omitempty"`
	DedupeKey    string            `json:"dedupe_key"`
	OccurredAt   time.Time         `json:"occurred_at,omitzero"`
	Phone        string            `json:"phone,omitempty"`
	PhoneProblem string            `json:"phone_problem,omitempty"`
	Unread       []string          `json:"unread,omitempty"`  // what was given and cannot be read
	LookUp       *connectors.Asked `json:"look_up,omitempty"` // that the daemon would make where a trigger listens; not made here
	mapping.Reading
}

func (c commands) connectorsTest() *cobra.Command {
	var f sampleFlags
	var asIs bool
	var url string
	cmd := &cobra.Command{
		Use: "test NAME [FILE]", Short: "Show how a connector reads a request: verdict, events, and the path each field came from",
		Long: `test reads a request body as the connector would and asks no trigger. The file is signed with
the connector's own secret first, so that only its content is looked at; --as-is judges the
request as it was given, with the headers named by -H, as for a request that was rejected.

A preset that is not in the config is tried with a secret made up for it.`,
		Example: `  nudgewire connectors test shopify
  nudgewire connectors test hubspot contact.json
  nudgewire connectors test stripe event.json --as-is -H 'Stripe-Signature: t=1763600000,v1=…'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg := c.optional()
			r, ours, err := testable(cfg, args[0])
			if err != nil {
				return err
			}
			if ours && asIs {
				return exit.Fail(exit.Usage, "add it to the config with its secret", "--as-is needs the connector's own secret, and %q is not in the config", args[0])
			}
			if cfg.Server.Listen == "" {
				cfg.Server.PublicURL = "https://hooks.example.com"
			}
			req, err := c.unsigned(cfg, r, terminal.Argument(args, 1), &f)
			if err != nil {
				return err
			}
			if url != "" {
				called(&req, r, url)
			}
			if !asIs {
				if err := sign(&req, r); err != nil {
					if !ours {
						return exit.Fail(exit.Failed, "give the request as it came, with --as-is and its headers as -H", "%w", err)
					}
					c.Note("cannot be signed without the sender's private key, so it is sent unsigned")
				}
			}
			return c.tellTest(r, req, !asIs)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asIs, "as-is", false, "judge the request as given, without signing it")
	cmd.Flags().StringVar(&url, "url", "", "the URL as the sender called it, for senders that sign it and tokens in it")
	return cmd
}

// testable is the connector of that name from the config, or a preset with a secret of our own.
func testable(cfg *config.Config, name string) (r *connectors.Connector, ours bool, err error) {
	if r, ok := cfg.Receivers[name]; ok {
		return r, false, nil
	}
	base, ok := connectors.Preset(name)
	if !ok {
		return nil, false, noConnector(name, cfg.Receivers)
	}
	made := make([]byte, 24)
	_, _ = rand.Read(made) // never fails, by its documentation
	word := hex.EncodeToString(made)
	// One of these is what any preset takes for a secret.
	for _, text := range []string{word, "whsec_" + base64.StdEncoding.EncodeToString(made), "user:" + word} {
		own := connectors.Config{Preset: name, Secret: secret.New(text), VerifyToken: secret.New(word)}
		// Nobody but the sender can sign with a private key; the content can be looked at all the same.
		switch v := base.Verify; {
		case v == nil || !v.Asymmetric():
		case v.Key == nil || len(v.Key.PublicKeys) == 0: // the key is each account's own
			own = connectors.Config{Preset: name, VerifyToken: own.VerifyToken, Verify: &connectors.Verify{Kind: "none"}}
		default:
			own.Verify = &connectors.Verify{Mode: "monitor"}
		}
		r, problems := connectors.Compile(name, own, connectors.Options{
			Country: cfg.Defaults.Country, Language: cfg.Defaults.Language, Timezone: cfg.Defaults.Timezone,
		})
		if r != nil {
			return r, true, nil
		}
		err = exit.Fail(exit.Failed, "", "preset %q: %v", name, problems)
	}
	return nil, false, err
}

func (c commands) tellTest(r *connectors.Connector, req connectors.Request, signed bool) error {
	got, readings, err := r.Inspect(req)
	v := testedRequest{Verdict: "taken", Status: got.Reply.Status, Unverified: got.Unverified, Handshake: got.Handshake, Signed: signed, Events: []testedEvent{}}
	if no, ok := errors.AsType[*connectors.Rejected](err); ok {
		v.Verdict, v.Status, v.Stage, v.Reason = "rejected", no.Status, no.Stage, no.Reason
	} else if err != nil {
		return err
	}
	if got.Handshake != "" {
		v.Verdict = "handshake"
	}
	for _, s := range got.Skipped {
		v.Skipped = append(v.Skipped, s.Reason)
	}
	for i := range got.Events {
		v.Events = append(v.Events, testedOf(r, &got.Events[i], readings[i]))
	}
	if c.JSON {
		if err := c.Print(v); err != nil {
			return err
		}
	} else {
		c.showTest(v)
	}
	if v.Verdict == "rejected" {
		return exit.Silent(exit.Failed)
	}
	return nil
}

func testedOf(r *connectors.Connector, e *messaging.Event, reading mapping.Reading) testedEvent {
	return testedEvent{
		Event: e.Ref(), Topic: e.Topic, DedupeKey: e.DedupeKey, Phone: string(e.Contact.Phone), PhoneProblem: e.Contact.PhoneProblem,
		OccurredAt: e.OccurredAt.UTC(), Unread: e.Unread, LookUp: r.Asks(e), Reading: reading,
	}
}

func (c commands) showTest(v testedRequest) {
	say := func(format string, args ...any) { c.Say(format+"\n", args...) }
	switch v.Verdict {
	case "rejected":
		say("%s: the sender is answered %d (%s)", c.Paint(c.Out, "31", "rejected"), v.Status, v.Stage)
		say("  %s", v.Reason)
		return
	case "handshake":
		say("a handshake (%s), answered %d; no event", v.Handshake, v.Status)
		return
	}
	say("%s: the sender is answered %d %s", c.Paint(c.Out, "32", "taken"), v.Status, http.StatusText(v.Status))
	if v.Unverified != "" {
		say("  not verified, and taken because verify.mode is monitor: %s", v.Unverified)
	}
	for _, s := range v.Skipped {
		say("  an item became no event: %s", s)
	}
	if len(v.Events) == 0 {
		say("  no events in it")
	}
	for _, e := range v.Events {
		say("\n%s", c.Paint(c.Out, "1", e.Event))
		rows := [][2]string{{"topic", e.Topic}, {"dedupe key", e.DedupeKey}}
		if !e.OccurredAt.IsZero() {
			rows = append(rows, [2]string{"happened", e.OccurredAt.Format(time.RFC3339)})
		}
		rows = append(rows, [2]string{"phone", e.Phone})
		if e.Phone == "" {
			rows[len(rows)-1][1] = "none: " + e.PhoneProblem
		}
		for _, r := range rows {
			if r[1] != "" {
				say("  %-26s %s", r[0], r[1])
			}
		}
		for _, row := range story.LookUpRows(e.LookUp) {
			say("  %-26s %s", "look-up", row)
		}
		for _, f := range e.Fields {
			more := ""
			if f.Body != "" {
				more = ", where it says " + f.Body
			}
			if f.Used {
				more += " (used)"
			}
			say("  %-26s %-28s from %s%s", f.Field, f.Value, f.Path, more)
		}
		for _, what := range e.Unread {
			say("  %-26s %s", "not read", what)
		}
		for _, l := range e.Unmapped {
			say("  %-26s %-28s not mapped; triggers have it as raw.%s", "", l.Value, l.Path)
		}
		if e.More > 0 {
			say("  %-26s and %d more that are not mapped", "", e.More)
		}
	}
}
