package connectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/connectors"
)

// connectorsDocs is for the Makefile: the pages are in the repository, and CI holds them
// against what this writes.
func (c commands) connectorsDocs() *cobra.Command {
	return &cobra.Command{
		Use: "docs DIR", Short: "Write a page for every preset, and a list of them", Args: cobra.ExactArgs(1), Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // pages for everybody
				return err
			}
			all := connectors.Presets()
			pages := map[string]string{"README.md": docsIndex(all), "own.md": docsOwn()}
			for _, i := range all {
				pages[i.Name+".md"] = docsPage(i)
			}
			for name, text := range pages {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil { //nolint:gosec // pages for everybody
					return err
				}
			}
			c.Note("wrote %d pages to %s", len(pages), args[0])
			return nil
		},
	}
}

const docsMark = "<!-- Made by \"make generate\" from connectors/presets. Change it there. -->\n\n"

func docsIndex(all []connectors.Info) string {
	var b strings.Builder
	b.WriteString(docsMark)
	b.WriteString("# Systems that can be connected\n\n")
	b.WriteString("Find yours, open its page, and follow the steps: one URL to paste there, one secret to paste here.\n")
	b.WriteString("`nudgewire connectors show NAME` prints the same with your own address in it.\n\n")
	b.WriteString("| System | Name in the config | What verifies a request |\n|---|---|---|\n")
	for _, i := range all {
		fmt.Fprintf(&b, "| [%s](%s.md) | `%s` | %s |\n", cell(i.Title), i.Name, i.Name, cell(i.Verifier))
	}
	b.WriteString("\nYours is not there? If it can post JSON or a form, start with [generic](generic.md). If it signs its\n")
	b.WriteString("requests, or says things its own way, [describe it in a few lines](own.md).\n")
	return b.String()
}

func docsPage(i connectors.Info) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	b.WriteString(docsMark)
	say("# %s\n", i.Title)
	say("%s posts what happens there to nudgewire, and your triggers decide who gets which message.", subject(i.Title))
	say("In the config it is called `%s`.\n", i.Name)

	say("## The URL to paste\n")
	say("    %s\n", i.URL(noHost))
	if token := i.TokenURL(noHost); token != "" {
		say("Where no header can be set, the secret goes into the URL:\n")
		say("    %s\n", token)
	}
	say("`YOUR_HOST` is the address at which the internet reaches your daemon (`server.public_url`).")
	if strings.Contains(i.URL("")+i.TokenURL(""), connectors.TokenPlaceholder) {
		say("`%s` is the secret of this connector. Whoever knows that URL can post events, so keep it to yourself.", connectors.TokenPlaceholder)
	}
	if i.SignsURL() {
		say("The URL is part of the signature: paste exactly the one that `server.public_url` makes.")
	}

	say("\n## Steps\n")
	if i.Setup != "" {
		say("%s", i.Setup)
	}
	if i.Docs != "" {
		say("\nThe vendor's page: <%s>", i.Docs)
	}

	say("\n## In config.yaml\n")
	say("```yaml\n%s```", i.Snippet())

	say("\n## What you can react to\n")
	if len(i.Kinds) == 0 {
		say("Whatever the sender calls its events, under the sender's own word: an event `user.created` is")
		say("`%s.user.created`.", i.Name)
	} else {
		say("| In a trigger | When | What the sender calls it |\n|---|---|---|")
		says := map[string]string{}
		for _, k := range connectors.CanonicalKinds() {
			says[k.Kind] = k.Says
		}
		for _, kind := range i.Kinds {
			meaning := says[kind]
			if meaning == "" {
				meaning = "the sender's own word"
			}
			say("| `on: %s.%s` | %s | %s |", i.Name, kind, meaning, cell(quoted(i.Words[kind])))
		}
		if i.Open {
			say("\nThese are examples: you choose the words. `order.on_hold` or `OrderOnHold` in a request would be")
			say("`on: %[1]s.order.on.hold`.", i.Name)
		} else {
			say("\nWhat is not in the table keeps the sender's own word: `Order.OnHold` would be `on: %s.order.on.hold`,", i.Name)
			say("which `check` warns of until the connector has `kinds: [order.on.hold]`.")
		}
	}
	if len(i.Consent) > 0 {
		say("\nWhether somebody agreed to messages is read from %s: `customer.accepts_marketing` in a trigger's `if`.", quotedConsent(i.Consent))
	} else {
		say("\nIts requests do not say whether somebody agreed to messages, as far as is known here: map it (`map: {consent: …}`)")
		say("where yours do, or keep consent in nudgewire (`nudgewire contacts`).")
	}
	if len(i.EmailConsent) > 0 {
		say("\nPermission to be sent e-mail is another thing: `customer.accepts_email`, read from %s. It is no consent to messages.", quotedConsent(i.EmailConsent))
	}
	if len(i.Lookups) > 0 {
		say("\nWith a `token` (or `oauth`) what the request leaves out is fetched from %s.", quoted(i.Lookups))
	}

	if i.Duties != "" {
		say("\n## What is left to you\n\n%s", i.Duties)
	}

	if len(i.Samples) > 0 {
		s := i.Samples[0]
		say("\n## A request, for a look\n")
		say("This becomes `%s.%s`. Names and numbers are invented. `nudgewire connectors test %s` shows what is read from it.\n", i.Name, s.Kind, i.Name)
		if s.Page != "" {
			say("Its shape is that of <%s>.\n", s.Page)
		}
		language, body := sampleText(s.Body)
		say("```%s\n%s\n```", language, body)
	}

	say("\n## What is tested, and what is not\n")
	say("A request is accepted when this verifies it: %s.\n", i.Verifier)
	if i.Verified != "" {
		say("%s", i.Verified)
	}
	if i.Sender.Timeout != 0 || i.Sender.Retries != "" || i.Sender.Disables != "" {
		say("\n| The sender | |\n|---|---|")
		if i.Sender.Timeout != 0 {
			say("| waits for the answer | %s |", i.Sender.Timeout)
		}
		if i.Sender.Retries != "" {
			say("| repeats what was not taken | %s |", cell(i.Sender.Retries))
		}
		if i.Sender.Disables != "" {
			say("| gives up | %s |", cell(i.Sender.Disables))
		}
	}
	return b.String()
}

// quoted is texts as code, with commas between them.
func quoted(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = "`" + t + "`"
	}
	return strings.Join(out, ", ")
}

// quotedConsent quotes paths of consent, and not what is said of each in brackets.
func quotedConsent(paths []string) string {
	out := make([]string, len(paths))
	for i, p := range paths {
		path, words, _ := strings.Cut(p, " (")
		out[i] = "`" + path + "` (" + words
	}
	return strings.Join(out, ", ")
}

// sampleText is a body as people read it: JSON on lines of its own, everything else as it is.
func sampleText(body []byte) (language, text string) {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") == nil {
		return "json", b.String()
	}
	return "text", string(body)
}

// subject is a title without what is in brackets behind it.
func subject(title string) string {
	name, _, _ := strings.Cut(title, " (")
	return name
}

// cell is text for a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
