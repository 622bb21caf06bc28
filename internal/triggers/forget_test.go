package triggers

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestWhoseVariablesAreKept(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		category messaging.Category
		keep     *bool
		holds    string
		forgets  bool // the plan
		send     bool // what it queues
	}{
		"a code":                       {messaging.Authentication, nil, "cart.total >= 50", true, true},
		"a code that shall be kept":    {messaging.Authentication, &yes, "cart.total >= 50", false, false},
		"a reminder":                   {messaging.Marketing, nil, "cart.total >= 50", false, false},
		"a reminder that is not kept":  {messaging.Marketing, &no, "cart.total >= 50", true, true},
		"an event that is none of his": {messaging.Authentication, nil, "cart.total >= 5000", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := reminder()
			r.Category, r.Keep, r.If = tt.category, tt.keep, []string{tt.holds}
			plan := compiled(t, shops, r).Match(aCart(t), noon)
			if send := plan.Proposals[0].Message.Send.Forget; plan.Forgets != tt.forgets || send != tt.send {
				t.Errorf("the plan forgets: %v, its send: %v", plan.Forgets, send)
			}
		})
	}
}

// Every reason that repeats what an event said is made without it.
func TestAForgottenEventIsNowhereInItsDecisions(t *testing.T) {
	code, other := reminder(), reminder()
	code.Category, code.If = messaging.Authentication, nil
	other.Name, other.If = "other", []string{`customer.first_name == "Bob"`}
	third := reminder()
	third.Name, third.If, third.Send.Header = "third", nil, &Header{Image: "{{ customer.first_name }}"}
	e := aCart(t)
	e.Unread = []string{`amount is "Ann", which is no amount`}
	plan := compiled(t, shops, code, other, third).Match(e, noon)
	before := plan.Event.Payload
	plan.Later = true
	if plan.Forget(); plan.Event.Forgotten {
		t.Fatal("forgotten before it was looked up")
	}
	plan.Later = false
	plan.Forget()
	if e.Payload == nil || len(before) == 0 || plan.Event.Payload != nil || !plan.Event.Forgotten {
		t.Error("the event is kept, or the one that was matched is gone")
	}
	var said []string
	for _, w := range plan.Proposals {
		for _, c := range w.Decision.Clauses {
			if len(c.Values) > 0 {
				t.Errorf("a clause keeps %v", c.Values)
			}
		}
		said = append(said, string(w.Decision.Outcome)+" "+w.Decision.Reason)
	}
	const want = `planned amount is "…", which is no amount|skipped customer.first_name == "Bob" does not hold|skipped the header's image: "…" is not an absolute http or https address; amount is "…", which is no amount`
	if got := strings.Join(said, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if v := plan.Proposals[0].Message.Send.Variables; len(v) == 0 || v[0] != "Ann" {
		t.Errorf("what is sent is %v", v)
	}
}
