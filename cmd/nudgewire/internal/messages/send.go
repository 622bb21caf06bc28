package messages

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) send() *cobra.Command {
	var in server.SendRequest
	var category, image, video, document, filename string
	cmd := &cobra.Command{
		Use: "send PHONE", Short: "Send one message by hand, through the running daemon",
		Example: `  nudgewire send +447700900123 --template order_update --var Ada --var "#1001"
  nudgewire send 07700900123 --campaign 417 --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Phone, in.Category = args[0], messaging.Category(category)
			header, err := headerOf(image, video, document, filename)
			if err != nil {
				return err
			}
			in.Send.Header = header
			if err := in.Check(); err != nil {
				return err
			}
			if !in.DryRun {
				if err := c.Confirm(fmt.Sprintf("Send %s to %s?", in.Send.What(), args[0])); err != nil {
					return err
				}
			}
			ask, done, err := c.Daemon()
			if err != nil {
				return err
			}
			defer done()
			m, err := server.SendMessage.Call(cmd.Context(), ask, in)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.Print(m)
			}
			if in.DryRun {
				by := ""
				if m.Account != "" {
					by = " by account " + m.Account
				}
				c.Say("would send %s to %s as %s%s; nothing was stored\n", m.What, m.To(), m.Category, by)
				return nil
			}
			c.Say("message %d: %s to %s\n", m.ID, m.What, m.To())
			c.Note(`follow it with "nudgewire messages show %d"`, m.ID)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.Send.Template, "template", "", "approved template's name")
	f.StringVar(&in.Send.Language, "language", "", "template's language (default: defaults.language)")
	f.StringArrayVar(&in.Send.Variables, "var", nil, "template variable, in order; may be given again")
	f.StringVar(&in.Send.Campaign, "campaign", "", "campaign_id of a campaign at the service")
	f.StringVar(&in.Send.Text, "text", "", "plain text; needs api.text_path in the config")
	f.StringVar(&category, "category", "marketing", "marketing, utility or authentication")
	f.StringVar(&in.Account, "account", "", "account that sends it: a name under accounts, or api (default: api)")
	f.StringVar(&in.Country, "country", "", "country of a number without its code (default: defaults.country)")
	f.StringVar(&image, "image", "", "address of a header image")
	f.StringVar(&video, "video", "", "address of a header video")
	f.StringVar(&document, "document", "", "address of a header document")
	f.StringVar(&filename, "filename", "", "name shown for the document")
	f.BoolVar(&in.DryRun, "dry-run", false, "say what would be sent and send nothing")
	return cmd
}

func headerOf(image, video, document, filename string) (*messaging.Header, error) {
	var h *messaging.Header
	for kind, url := range map[string]string{"image": image, "video": video, "document": document} {
		if url == "" {
			continue
		}
		if h != nil {
			return nil, exit.Fail(exit.Usage, "", "want one of --image, --video and --document")
		}
		h = &messaging.Header{Type: kind, URL: url}
	}
	if filename != "" {
		if h == nil || h.Type != "document" {
			return nil, exit.Fail(exit.Usage, "", "--filename goes with --document")
		}
		h.Filename = filename
	}
	return h, nil
}
