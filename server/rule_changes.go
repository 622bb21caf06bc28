package server

import (
	"net/http"
	"strings"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A RuleChange is a trigger of which something waits that a config would not plan as it is, and what becomes of it.
type RuleChange struct {
	Trigger  string `json:"trigger,omitempty"`
	Account  string `json:"account,omitempty"`   // in place of a trigger: one that the config does not have
	Change   string `json:"change"`              // "edited", or why it does not send: "is off"
	Waiting  int64  `json:"waiting"`             // messages
	Runs     int64  `json:"runs,omitempty"`      // of an account: runs that have not ended
	OnChange string `json:"on_change,omitempty"` // of an edit: pin, migrate or cancel
	Paused   bool   `json:"paused,omitempty"`
	Released bool   `json:"released,omitempty"` // by a person's word it is sent all the same

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

// maxPrinted bounds a config as it is printed, which may be of several files.
const maxPrinted = 64 << 20

type changesRequest struct {
	Config string `json:"config,omitempty"` // as it is printed; "" is the daemon's file
}

func (a admin) changes(r *http.Request, in changesRequest) (any, error) {
	changes, err := a.Daemon.Changes(r.Context(), in.Config)
	if err != nil {
		return nil, rejectf(http.StatusUnprocessableEntity, "a reload would change nothing", "%v", err)
	}
	if changes == nil {
		changes = []RuleChange{}
	}
	return changes, nil
}
