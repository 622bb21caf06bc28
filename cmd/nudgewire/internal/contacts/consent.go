package contacts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocarina/gocsv"
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) contactsFind() *cobra.Command {
	return &cobra.Command{
		Use: "find TEXT", Short: "Contacts by a part of a name or of an e-mail address, an order or a cart", Args: cobra.ExactArgs(1),
		Long: `find names at most 50 contacts: those whose events name the order, the cart or the e-mail address, the newest first, then those
with the text in their name or address, by when they came last. Small and capital letters are the same, and # before an order is not needed.
Who wrote a moment ago is found some seconds later. Phones are whole in --json.`,
		Example: "  nudgewire contacts find river\n  nudgewire contacts find '#1001' --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.FindContacts.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				nothing := exit.Fail(exit.Nothing, `"nudgewire why PHONE" tells the story of a phone`, "no contact is found by that name, e-mail address, order or cart")
				return terminal.List(c.CLI, rows, nothing, "PHONE | NAME | FOUND BY | EVENT | AT", func(f messaging.FoundContact) []string {
					event := ""
					if f.Event > 0 {
						event = strconv.FormatInt(int64(f.Event), 10)
					}
					return []string{f.Phone.Masked(), terminal.OrDash(f.Name), f.By, terminal.OrDash(event), c.Clock(f.At)}
				})
			})
		},
	}
}

// tellKnown prints what the events of a connector said of a contact.
func (c commands) tellKnown(k *messaging.KnownContact) {
	said := slices.DeleteFunc([]string{k.Name, k.Email, k.Language, k.Country, k.Timezone, strings.Join(k.Tags, ", ")}, func(word string) bool { return word == "" })
	c.Say("  %s: %s; events from %s to %s\n", k.Connector, terminal.OrDash(strings.Join(said, ", ")), c.Clock(k.FirstAt), c.Clock(k.LastAt))
	if k.Orders == 0 {
		return
	}
	words := []string{units.Count(k.Orders, "order"), "the newest " + k.OrderName + " of " + c.Clock(k.OrderAt)}
	for _, sum := range k.Spent {
		words = append(words, strings.TrimSpace("paid "+sum.Amount.String()+" "+sum.Currency))
	}
	c.Say("    %s\n", strings.Join(words, ", "))
}

func (c commands) contactsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show PHONE", Short: "What is known of a contact: who it is, a block, what it agreed to, whether it is forgotten", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				v, err := server.ShowContact.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(v)
				}
				c.Say("%s\n", v.Phone.Masked())
				for i := range v.Known {
					c.tellKnown(&v.Known[i])
				}
				switch {
				case !v.ForgottenAt.IsZero() && v.Forgetting != "":
					c.Say("  forgotten, blocked: since %s; what is stored goes yet, and waits for %s\n", c.Clock(v.ForgottenAt), v.Forgetting)
				case !v.ForgottenAt.IsZero():
					c.Say("  forgotten, blocked: since %s\n", c.Clock(v.ForgottenAt))
				case v.Block != nil:
					c.Say("  blocked: since %s, %s: %s\n", c.Clock(v.Block.At), v.Block.Source, terminal.OrDash(v.Block.Reason))
				default:
					c.Say("  not blocked\n")
				}
				if len(v.Consents) == 0 {
					c.Say("  consent: nothing is recorded\n")
				}
				for _, k := range v.Consents {
					c.Say("  consent (%s, %s): %s since %s, %s; %s\n", k.Channel, k.Category, k.Consent, c.Clock(k.Since), k.Source, terminal.OrDash(k.Proof))
				}
				return nil
			})
		},
	}
}

func (c commands) contactsConsent() *cobra.Command {
	var row server.ConsentRow
	var channel, category string
	cmd := &cobra.Command{
		Use: "consent PHONE given|withdrawn", Short: "Record what a contact agreed to, or took back", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if word := messaging.Consent(args[1]); word != messaging.ConsentGiven && word != messaging.ConsentWithdrawn {
				return exit.Fail(exit.Usage, "", "consent is given or withdrawn, not %q", args[1])
			}
			row.Phone, row.Consent, row.Channel, row.Category = args[0], messaging.Consent(args[1]), messaging.Channel(channel), messaging.Category(category)
			return c.WithDaemon(func(ask *server.Client) error {
				a, err := server.RecordConsents.Call(cmd.Context(), ask, server.ConsentRequest{Rows: []server.ConsentRow{row}})
				if err != nil {
					return err
				}
				return c.recorded(a, func(int) string { return args[0] })
			})
		},
	}
	cmd.Flags().StringVar(&channel, "channel", "phone", "phone or email")
	cmd.Flags().StringVar(&category, "category", "marketing", "marketing, utility or authentication")
	cmd.Flags().StringVar(&row.Proof, "proof", "", "how it is known, in words")
	return cmd
}

func (c commands) recorded(a server.ConsentAnswer, place func(row int) string) error {
	return c.took(a, a.Bad, place, "%d recorded, %d could not be read", a.Recorded, len(a.Bad))
}

// A consentLine is a row of a file of consents.
type consentLine struct {
	Phone    string `csv:"phone"`
	Consent  string `csv:"consent"`
	Channel  string `csv:"channel"`
	Category string `csv:"category"`
	At       string `csv:"at"`
	Source   string `csv:"source"`
	Proof    string `csv:"proof"`
}

// readConsents reads a CSV file as spreadsheets save it. The phone's column may have any of its usual names, and the consent any of
// the words that senders of webhooks use for it.
func readConsents(in io.Reader, source string) (lines []consentLine, err error) {
	r, err := spreadsheet(in, source)
	if err != nil {
		return nil, err
	}
	rows, err := gocsv.NewUnmarshaller(r, consentLine{})
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, exit.Fail(exit.Usage, "it is a CSV file with the columns phone and consent", "read %s: %w", source, err)
	}
	var names []string
	if err := rows.RenormalizeHeaders(func(headers []string) []string {
		for _, one := range headers {
			name := fold(one)
			if slices.Contains(phoneColumns, name) && !slices.Contains(names, "phone") {
				name = "phone"
			}
			names = append(names, name)
		}
		return names
	}); err != nil {
		return nil, fmt.Errorf("read %s: %w", source, err)
	}
	for _, needed := range []string{"phone", "consent"} {
		if !slices.Contains(names, needed) {
			return nil, exit.Fail(exit.Usage, "it is a CSV file with the columns phone and consent; there are "+lists.Names(names), "%s: there is no column %s", source, needed)
		}
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", source, err)
		}
		line := row.(consentLine) //nolint:forcetypeassert // what the reader was made for
		if word, said := mapping.ConsentOf(line.Consent); said {
			line.Consent = string(word)
		}
		lines = append(lines, line)
	}
}

// importConsents records a file of consents.
func (c commands) importConsents(cmd *cobra.Command, name string) error {
	in, source := c.In, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return exit.Fail(exit.Usage, "", "%w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in, source = f, filepath.Base(name)
	}
	lines, err := readConsents(in, source)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return exit.Fail(exit.Nothing, "", "no consents in %s", source)
	}
	var rows []server.ConsentRow
	var all server.ConsentAnswer
	places := make([]int, 0, len(lines)) // of rows, among the lines
	for i, l := range lines {
		at, err := parseAt(l.At, c.Location())
		if err != nil {
			all.Bad = append(all.Bad, server.BadRow{Row: i + 1, Reason: err.Error()})
			continue
		}
		places = append(places, i+1)
		rows = append(rows, server.ConsentRow{Phone: l.Phone, Consent: messaging.Consent(l.Consent), Channel: messaging.Channel(l.Channel), Category: messaging.Category(l.Category), At: at, Source: l.Source, Proof: l.Proof})
	}
	return c.WithDaemon(func(ask *server.Client) error {
		for from := 0; from < len(rows); from += importBatch {
			a, err := server.RecordConsents.Call(cmd.Context(), ask, server.ConsentRequest{Rows: rows[from:min(from+importBatch, len(rows))], Source: source})
			if err != nil {
				return err
			}
			all.Recorded += a.Recorded
			for _, b := range a.Bad {
				b.Row = places[from+b.Row-1]
				all.Bad = append(all.Bad, b)
			}
		}
		slices.SortStableFunc(all.Bad, func(a, b server.BadRow) int { return a.Row - b.Row })
		return c.recorded(all, func(row int) string { return fmt.Sprintf("%s:%d", source, row+1) })
	})
}

// parseAt reads when a consent was given: a moment with its offset, or a date, which begins at midnight in the zone. Nothing is the
// zero time, for which the daemon takes now.
func parseAt(text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("at is %q; write 2026-11-20, or 2026-11-20T09:00:00Z", text)
	}
	return at, nil
}

func (c commands) contactsExport() *cobra.Command {
	return &cobra.Command{
		Use: "export [PHONE]", Short: "All consents as CSV, or all that is stored about one contact as JSON", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				if len(args) == 1 {
					v, err := server.ShowContactData.Call(cmd.Context(), ask, args[0])
					if err != nil {
						return err
					}
					return c.Print(v)
				}
				all := []consentLine{}
				var after messaging.Phone
				for {
					rows, err := server.ListConsents.Call(cmd.Context(), ask, after)
					if err != nil {
						return err
					}
					if len(rows) == 0 {
						break
					}
					for _, r := range rows {
						if c.JSON {
							if err := c.Print(r); err != nil {
								return err
							}
							continue
						}
						all = append(all, consentLine{
							string("+" + r.Phone), string(r.Consent), string(r.Channel), string(r.Category), r.At.Format(time.RFC3339),
							plain.Cell(r.Source), plain.Cell(r.Proof),
						})
					}
					after = rows[len(rows)-1].Phone
				}
				if c.JSON {
					return nil
				}
				return gocsv.Marshal(all, c.Out)
			})
		},
	}
}

// untouched tells whoever has a contact forgotten what is out of the daemon's reach.
const untouched = "left to you: the lists that jobs read, files that were exported, backups, what a restoration put aside (folders nudgewire.db.before-*), and what the sender and the messaging service hold"

func (c commands) contactsForget() *cobra.Command {
	return &cobra.Command{
		Use: "forget PHONE...", Short: "Forget contacts: nothing stored tells of them, and they stay blocked", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				if err := c.Confirm(fmt.Sprintf("Forget %s for good: nothing stored tells of them, and they stay blocked?", units.Count(len(args), "contact"))); err != nil {
					return err
				}
				a, err := server.ForgetContacts.Call(cmd.Context(), ask, server.ForgetRequest{Phones: args})
				if err != nil {
					return err
				}
				if a.Ordered > 0 {
					c.Note("%s", untouched)
				}
				return c.took(a, a.Bad, func(row int) string { return args[row-1] },
					"%d blocked and being forgotten; contacts show PHONE says how far it is", a.Ordered)
			})
		},
	}
}
