package demo

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) sandbox() *cobra.Command {
	var o sandbox.Options
	var listen, shape string
	var templates []string
	cmd := &cobra.Command{
		Use: "sandbox", Short: "Run the messaging service of the API document, pretended, with faults on demand", Args: cobra.NoArgs,
		Long: `sandbox is the messaging service as a server of this machine: it checks requests strictly,
moves each message from queued to read, and breaks on demand. Point api.base_url at it, and see
what your triggers do before you have an account. It sends nothing to anybody.

The last digits of a phone decide: …0000 fails, …0001 never leaves queued, …0002 stops at sent,
…0003 is never read, …0004 is rejected at once.

While it runs, /_sandbox/faults changes what breaks, /_sandbox/points tops the balance up, and
/_sandbox/stats counts.`,
		Example: `  nudgewire sandbox --key test
  nudgewire sandbox --fail 0.05 --hang 0.01 --latency 50ms
  curl -X PUT 127.0.0.1:8091/_sandbox/faults -d '{"error_rate":0.2}'
  curl -X PUT 127.0.0.1:8091/_sandbox/points -d '{"points":1000}'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Shape = sandbox.Shape(shape)
			var err error
			if o.Templates, err = parseTemplates(templates); err != nil {
				return err
			}
			if err := o.Check(); err != nil {
				return exit.Fail(exit.Usage, "", "%w", err)
			}
			if !c.Quiet {
				o.OnRequest = c.sandboxLine
			}
			return c.runSandbox(cmd.Context(), listen, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8091", "address to listen on")
	f.StringArrayVar(&o.Keys, "key", nil, "bearer key that is taken (default: any)")
	f.StringArrayVar(&templates, "template", []string{"*"}, "template as name[:language[:variables[:id]]]; * takes any")
	f.StringArrayVar(&o.Campaigns, "campaign", []string{"*"}, "campaign id; * takes any")
	f.Float64Var(&o.Points, "points", -1, "balance in points; below 0 it has no end")
	f.Float64Var(&o.Price, "price", 1, "points for each message")
	f.Float64Var(&o.FailRate, "fail", 0, "share of messages that end as failed, 0 to 1")
	f.StringVar(&shape, "shape", string(sandbox.ShapeFlat), "shape of the answers that the API document does not show: flat, string, nested, bare")
	f.BoolVar(&o.ListIDs, "list-ids", false, "the answer to an upload lists the message ids of its rows")
	f.BoolVar(&o.Phones, "list-phones", false, "with --list-ids: that list says whose each message is")
	f.StringVar(&o.TextPath, "text-path", "/send-message", "path of the endpoint for plain texts")
	f.BoolVar(&o.BigIDs, "big-ids", false, "message ids beyond 2^53")
	f.Uint64Var(&o.Seed, "seed", 1, "decides every roll of the dice")
	f.DurationVar(&o.Pace.Sent, "sent-after", time.Second, "time from queued to sent")
	f.DurationVar(&o.Pace.Delivered, "delivered-after", 2*time.Second, "time from sent to delivered")
	f.DurationVar(&o.Pace.Read, "read-after", 5*time.Second, "time from delivered to read")
	f.DurationVar((*time.Duration)(&o.Faults.Latency), "latency", 0, "wait before every answer")
	f.Float64Var(&o.Faults.ErrorRate, "errors", 0, "share of requests answered 500, 0 to 1")
	f.Float64Var(&o.Faults.RateLimit, "rate-limit", 0, "requests a second beyond which the answer is 429; 0 is none")
	f.Float64Var(&o.Faults.HangAfterAccept, "hang", 0, "share of sends that are taken and never answered")
	f.Float64Var(&o.Faults.CutBefore, "cut-before", 0, "share of connections cut before the request is looked at")
	f.Float64Var(&o.Faults.CutAfter, "cut-after", 0, "share of connections cut after the send was taken")
	f.Float64Var(&o.Faults.Junk, "junk", 0, "share of answers that cannot be read")
	return cmd
}

func (c commands) runSandbox(ctx context.Context, listen string, o sandbox.Options) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	s := sandbox.New(o)
	c.Note("the pretended service listens on %s", l.Addr())
	c.Note("  api.base_url: http://%s/api/v1", l.Addr())
	// Handlers that hang by a fault end when the sandbox is closed, or the stop would wait for them.
	defer context.AfterFunc(ctx, s.Close)()
	err = listeners.Serve(ctx, l, s.Handler(), nil, time.Second, zap.NewNop())
	stats := s.Stats()
	c.Note("accepted %s, %d of them twice", units.Count(stats.Messages, "message"), stats.Duplicates)
	return err
}

// sandboxLine prints one request to the pretended service.
func (c commands) sandboxLine(r sandbox.Record) {
	if c.JSON {
		if err := c.Print(r); err != nil {
			c.Note("print: %v", err)
		}
		return
	}
	parts := []string{fmt.Sprintf("%s  %-16s %d", r.At.Format("15:04:05.000"), r.Endpoint, r.HTTPStatus)}
	for _, part := range []string{mask.Number(r.Phone), r.Name, r.MessageID, r.Words} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if r.Fault != "" {
		parts = append(parts, "fault: "+r.Fault)
	}
	c.Say("%s\n", strings.Join(parts, "  "))
}

// parseTemplates reads name[:language[:variables[:id]]].
func parseTemplates(texts []string) ([]sandbox.Template, error) {
	var out []sandbox.Template
	for _, text := range texts {
		t := sandbox.Template{Language: "*", Variables: -1, Header: "*"}
		for i, part := range strings.Split(text, ":") {
			var err error
			switch i {
			case 0:
				t.Name = part
			case 1:
				t.Language = part
			case 2:
				t.Variables, err = strconv.Atoi(part)
			case 3:
				t.ID, err = strconv.ParseInt(part, 10, 64)
			default:
				err = strconv.ErrSyntax
			}
			if err != nil {
				return nil, exit.Fail(exit.Usage, "", "--template %q: want name[:language[:variables[:id]]]", text)
			}
		}
		out = append(out, t)
	}
	return out, nil
}
