package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What can be done to see a message of a trigger on a phone of one's own.
var testActions = map[string]action{
	"send-test": {server.SendTest.Scope, (*Console).confirmSendTest, (*Console).sendTest},
}

// tested is the test that a form asks for.
func (f form) tested() (preview.TestSendRequest, error) {
	in := preview.TestSendRequest{Trigger: f.Get("trigger"), To: f.Get("to")}
	in.Event = messaging.EventID(f.number("event"))
	if in.Step = int(f.number("step")); in.Step < 0 {
		return in, refusal.Fieldf("step", "write a whole number, or leave it empty for the first", "%q is no step", f.Get("step"))
	}
	if in.Event < 0 {
		return in, refusal.Fieldf("event", "the page Events has the numbers; leave it empty for a sample of the sender", "%q is no number of an event", f.Get("event"))
	}
	return in, nil
}

func (c *Console) confirmSendTest(ctx context.Context, f form) (confirmPage, error) {
	status, err := server.ShowStatus.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return confirmPage{}, err
	}
	p := confirmPage{
		Title: "Send a test of " + f.Get("trigger") + "?", Yes: "Send the test",
		Words: []string{
			"One message of it goes to a phone of your own at once, whatever its conditions, times, limits and consent say. Blocks and halts hold. It is marked as a test, is in no statistics, and costs its points.",
		},
		Fields: []field{
			{Name: "to", Label: "To whom (test_numbers)", Required: true},
		},
	}
	if event := f.Get("event"); event != "" {
		p.Words = append(p.Words, "It is filled in with event "+event+", as it is stored.")
	} else {
		p.Fields = append(p.Fields, field{Name: "event", Label: "Number of a stored event", Note: "Empty: a sample of the sender.", Longest: 20})
	}
	if status.Daemon == nil || len(status.Daemon.TestNumbers) == 0 {
		p.Nothing = true
		p.Words = append(p.Words, `The config names no number that a test may go to: add test_numbers: {me: "+447700900123"} with your own phone, and reload.`)
		return p, nil
	}
	for _, name := range status.Daemon.TestNumbers {
		p.Fields[0].Options = append(p.Fields[0].Options, [2]string{name, name})
	}
	if n := c.stepsOf(f.Get("trigger")); n > 0 {
		p.Fields = append(p.Fields, field{Name: "step", Label: "Step", Note: fmt.Sprintf("1 to %d; empty: the first.", n), Longest: 2})
	}
	return p, nil
}

// stepsOf is how many steps a trigger has, 0 for one message.
func (c *Console) stepsOf(trigger string) int {
	for _, r := range c.Rules() {
		if r.Name == trigger {
			return r.Steps
		}
	}
	return 0
}

func (c *Console) sendTest(ctx context.Context, f form) (did, error) {
	in, err := f.tested()
	if err != nil {
		return did{}, err
	}
	v, err := server.SendTest.Call(ctx, c.Ask, in)
	if err != nil {
		return did{}, err
	}
	words := []string{"A test goes to " + v.Test + " as this message"}
	if len(v.Send.Variables) > 0 {
		words = append(words, "filled in with "+strings.Join(v.Send.Variables, ", "))
	}
	return did{words: strings.Join(words, ", ") + ". " + testDecision(&v), place: fmt.Sprintf("/messages/%d", v.Message)}, nil
}

// testDecision says what the trigger would have decided about the event of a test.
func testDecision(v *preview.TestSendView) string {
	switch d := v.Decision; {
	case d == nil && v.Silent != "":
		return "For a real contact it would have said nothing: " + v.Silent
	case d == nil:
		return "For a real contact it would have said nothing"
	default:
		words := "For the real contact it would be " + string(d.Outcome)
		if d.Reason != "" {
			words += ": " + d.Reason
		}
		if d.Message != nil && d.Message.Held != nil {
			words += "; " + string(d.Message.Held.Action) + " by " + d.Message.Held.Rule + ": " + d.Message.Held.Reason
		}
		return words
	}
}
