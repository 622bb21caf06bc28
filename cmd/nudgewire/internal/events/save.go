package events

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/ruletest"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) eventsSaveAsTest() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "save-as-test ID ...", Short: "Make a test of a stored event, or of several, without what is about a person", Args: cobra.MinimumNArgs(1),
		Long: `save-as-test writes a test beside the config: the event's body with phones, addresses, names, numbers of persons and
orders, links and free text replaced, and what happened then as what is expected. Events that belong together, such
as a cart and its order, are named together: what was the same in them is the same in the test. Look at the files
before you give them to anybody.`,
		Example: "  nudgewire events save-as-test 4211\n  nudgewire events save-as-test 4211 4215 && nudgewire test",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.LoadToLook()
			if err != nil {
				return err
			}
			ask, done, err := c.Reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			s := saving{cfg: cfg, folder: filepath.Join(filepath.Dir(c.Config), ruletest.Folder)}
			for _, arg := range args {
				id, err := terminal.Number[messaging.EventID](arg, "an event's number", `"nudgewire events list" shows the numbers`)
				if err != nil {
					return err
				}
				told, err := server.ShowEvent.Call(cmd.Context(), ask, id)
				if err != nil {
					return err
				}
				s.stories = append(s.stories, told)
			}
			return s.save(c.CLI, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write over files that are there")
	return cmd
}

// A saving makes a test of stored events.
type saving struct {
	cfg     *config.Config
	folder  string
	stories []server.StoryView
	redact  *ruletest.Redactor
	files   []terminal.NewFile
}

func (s *saving) save(c *terminal.CLI, force bool) error {
	slices.SortStableFunc(s.stories, func(a, b server.StoryView) int { return a.Event.ReceivedAt.Compare(b.Event.ReceivedAt) })
	var conditions []string
	for i := range s.stories {
		for _, d := range s.stories[i].Event.Decisions {
			for _, clause := range d.Clauses {
				conditions = append(conditions, clause.Text)
			}
		}
	}
	s.redact = ruletest.NewRedactor(ruletest.Words(conditions))
	text, err := s.test()
	if err != nil {
		return err
	}
	path := filepath.Join(s.folder, fmt.Sprintf("event-%d.yaml", s.stories[0].Event.ID))
	s.files = append(s.files, terminal.NewFile{Path: path, Text: []byte(text), Mode: 0o600})
	if err := terminal.WriteNew(s.files, force); err != nil {
		return err
	}
	for _, f := range s.files {
		c.Say("wrote %s\n", f.Path)
	}
	c.Note("what may be about a person was replaced: look at the files before you give them to anybody; play them with \"nudgewire test %s\"", path)
	return nil
}

// test is the test in YAML; the bodies go into s.files.
func (s *saving) test() (string, error) {
	first := &s.stories[0].Event
	start := first.ReceivedAt.Truncate(time.Second)
	zone := terminal.ZoneOf(s.cfg.Defaults.Timezone)
	var b strings.Builder
	fmt.Fprintf(&b, "- test: %s\n  start: %s %s\n  events:\n", inQuotes(fmt.Sprintf("event %d, %s, as it went", first.ID, first.Event)), start.In(zone).Format("2006-01-02T15:04:05"), zone)
	for i := range s.stories {
		line, err := s.event(&s.stories[i].Event, start)
		if err != nil {
			return "", err
		}
		b.WriteString(line)
	}
	sent, reasons := s.happened(start)
	if len(sent) == 0 {
		b.WriteString("  expect: nothing\n")
	} else {
		b.WriteString("  expect:\n" + strings.Join(sent, ""))
	}
	if len(reasons) > 0 {
		fmt.Fprintf(&b, "  because: [%s]\n", strings.Join(reasons, ", "))
	}
	return b.String(), nil
}

// event is an event of the test, whose body is written beside it.
func (s *saving) event(e *server.EventView, start time.Time) (string, error) {
	name, kind, _ := strings.Cut(e.Event, ".")
	cannot := func(format string, args ...any) (string, error) {
		return "", exit.Fail(exit.Failed, `"nudgewire events show" has what is stored of it, and docs/testing.md says how to write a test`, "event %d cannot be made a test: %s", e.ID, fmt.Sprintf(format, args...))
	}
	to := s.cfg.Receivers[name]
	switch {
	case e.Forgotten || e.Cleared || e.Payload == "":
		return cannot("its body is not kept")
	case to == nil:
		return cannot("the config has no connector %q", name)
	}
	body, err := s.redact.Body([]byte(e.Payload))
	if err != nil {
		return cannot("%v", err)
	}
	topic := ""
	req := connectors.Request{Method: http.MethodPost, Path: "/hooks/" + name, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Now: e.ReceivedAt, Proven: true}
	if header := to.TopicHeader(); header != "" {
		topic = e.Topic
		req.Header.Set(header, topic)
	}
	got, err := to.Receive(req)
	switch {
	case err != nil:
		return cannot("what is left of it would not be taken: %v", err)
	case len(got.Events) != 1 || got.Events[0].Kind != kind:
		return cannot("what is left of it is read as another event")
	case (got.Events[0].Contact.Phone == "") != (e.Phone == ""):
		return cannot("what is left of it has no phone that can be read, or one that it had not")
	}
	file := fmt.Sprintf("event-%d.json", e.ID)
	s.files = append(s.files, terminal.NewFile{Path: filepath.Join(s.folder, file), Text: body, Mode: 0o600})
	line := fmt.Sprintf("    - {at: %s, connector: %s, file: %s", after(start, e.ReceivedAt), inQuotes(name), file)
	if topic != "" {
		line += ", topic: " + inQuotes(topic)
	}
	return line + "}\n", nil
}

// happened is what left, as entries of expect, and why the rest did not.
func (s *saving) happened(start time.Time) (sent, reasons []string) {
	add := func(word string) {
		if word = inQuotes(word); !slices.Contains(reasons, word) {
			reasons = append(reasons, word)
		}
	}
	seen := map[messaging.MessageID]bool{}
	for i := range s.stories {
		for _, d := range s.stories[i].Event.Decisions {
			switch d.Outcome {
			case messaging.Skipped, messaging.Shadowed, messaging.Cancelled, messaging.Blocked:
				add(string(d.Outcome))
			}
		}
		for _, m := range s.stories[i].Messages {
			if seen[m.ID] {
				continue
			}
			seen[m.ID] = true
			if m.State != messaging.StateAccepted && m.State != messaging.StateWaiting {
				add(string(m.State))
				continue
			}
			line := fmt.Sprintf("    - {at: %s, trigger: %s", after(start, m.DueAt), inQuotes(m.Trigger))
			if m.Step > 0 {
				line += fmt.Sprintf(", step: %d", m.Step)
			}
			if m.Send.Template != "" {
				line += ", template: " + inQuotes(m.Send.Template)
			}
			sent = append(sent, line+"}\n")
		}
	}
	return sent, reasons
}

// after is when something was, from the start on, in whole seconds: +45m.
func after(start, at time.Time) string {
	return "+" + units.Duration(at.Truncate(time.Second).Sub(start)).String()
}

// inQuotes is a text as YAML takes it in braces.
func inQuotes(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(out)
}
