package preview

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A RuleChange is a trigger of which something waits that a config would not plan as it is, and what becomes of it; or a run whose
// job a config has otherwise, or does not have.
type RuleChange struct {
	Trigger  string `json:"trigger,omitempty" kind:"ours"`
	Account  string `json:"account,omitempty" kind:"ours"`   // in place of a trigger: one that the config does not have
	Change   string `json:"change" kind:"ours"`              // "edited", or why it does not send: "is off"
	Waiting  int64  `json:"waiting"`                         // messages
	Runs     int64  `json:"runs,omitempty"`                  // of an account: runs that have not ended
	OnChange string `json:"on_change,omitempty" kind:"ours"` // of an edit: pin, migrate or cancel
	Paused   bool   `json:"paused,omitempty"`

	// Of a run, in place of a trigger.
	Run    messaging.RunID    `json:"run,omitempty"`
	Job    string             `json:"job,omitempty" kind:"ours"`
	State  messaging.RunState `json:"state,omitempty"`
	Waits  string             `json:"waits,omitempty" kind:"ours"`  // what it waits for, and until when
	Brakes []string           `json:"brakes,omitempty" kind:"ours"` // what holds it back otherwise from now on; of a job that is gone, what still does
	Built  []string           `json:"built,omitempty" kind:"ours"`  // keys that are another, and that it keeps as it was built
	Config string             `json:"config,omitempty" kind:"ours"` // that it began with, where its rules are those of that

	Was      string `json:"was,omitempty" kind:"ours"` // the name that left the config and had the rule of Trigger or Job, which are new
	Released bool   `json:"released,omitempty"`        // by a person's word it is sent all the same

	// What was done, once it was.
	Done      bool  `json:"done,omitempty"`
	Anew      int64 `json:"planned_anew,omitempty"`
	Cancelled int64 `json:"cancelled,omitempty"`
	Pinned    int64 `json:"pinned,omitempty"` // of migrate: what cannot be planned anew
}

// Words are the change for people: "abandoned-cart: edited, 1,204 wait: pinned".
func (c RuleChange) Words() string {
	verb := "wait"
	if c.Waiting == 1 {
		verb = "waits"
	}
	switch {
	case c.Was != "" && c.Done:
		return c.Trigger + c.Job + " was " + c.Was + ": it takes along what is open and what is remembered"
	case c.Was != "":
		return c.Trigger + c.Job + " has the rule that " + c.Was + " had: write was: " + c.Was + " to keep its memory; without it " + c.Trigger + c.Job +
			" knows nothing of what " + c.Was + " sent, and what is open stays under the old name"
	case c.Run != 0:
		return c.runWords()
	}
	if c.Account != "" {
		words := "account " + c.Account + ": " + c.Change + ", " + units.Count(c.Waiting, "message") + " " + verb
		if c.Runs > 0 {
			words += ", and " + units.Count(c.Runs, "run") + " not ended"
		}
		return words + ": paused until it is back, or you cancel them"
	}
	head := c.Trigger + ": " + c.Change + ", " + units.Number(c.Waiting) + " "
	switch {
	case c.Released:
		return head + verb + ": sent all the same, by a person's word"
	case c.Paused:
		return head + verb + ": paused"
	case c.Done && c.OnChange != "pin":
		var parts []string
		for _, p := range []struct {
			n     int64
			words string
		}{{c.Anew, "planned anew"}, {c.Cancelled, "cancelled"}, {c.Pinned, "pinned"}, {c.Waiting - c.Anew - c.Cancelled - c.Pinned, "left meanwhile"}} {
			if p.n > 0 {
				parts = append(parts, units.Number(p.n)+" "+p.words)
			}
		}
		return head + "waited: " + strings.Join(parts, ", ")
	case c.OnChange == "migrate":
		return head + verb + ": planned anew, and cancelled where the trigger would not plan it any more"
	case c.OnChange == "cancel":
		return head + verb + ": cancelled"
	default:
		return head + verb + ": pinned"
	}
}

// runWords are what an edit takes from a run: "run 12 of winback (uploading; waits until 21:00 UTC: quiet hours): its job is off: paused".
func (c RuleChange) runWords() string {
	words := fmt.Sprintf("run %d of %s (%s", c.Run, c.Job, c.State.Words())
	if c.Waits != "" {
		words += "; waits " + c.Waits
	}
	words += "): "
	if c.Change != "edited" {
		words += "its job " + c.Change
		switch {
		case c.Released:
			words += "; it goes on all the same, by a person's word"
		case c.State == messaging.RunAwaiting:
			words += fmt.Sprintf("; nothing of it is sent until the job is back and somebody approves it, or somebody approves it as it is: nudgewire jobs approve %d", c.Run)
		default:
			words += fmt.Sprintf("; it is paused until the job is back, or somebody lets it go on: nudgewire jobs resume %d", c.Run)
		}
		if c.Config != "" {
			words += "; then by what config " + c.Config + " said"
		}
		if len(c.Brakes) > 0 {
			words += " (" + strings.Join(c.Brakes, ", ") + ")"
		}
		return words
	}
	var parts []string
	if len(c.Brakes) > 0 {
		parts = append(parts, strings.Join(c.Brakes, ", ")+" at once")
	}
	if len(c.Built) > 0 {
		parts = append(parts, "it keeps what it was built with, whatever is another in "+strings.Join(c.Built, ", "))
	}
	return words + strings.Join(parts, "; ")
}
