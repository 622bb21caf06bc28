package scheduler

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// How a run ends says how far its messages can be followed.
func TestARunSaysWhetherItsMessagesAreFollowed(t *testing.T) {
	part := func(rows, followed int64) messaging.Part {
		return messaging.Part{State: messaging.PartAccepted, Rows: rows, Followed: followed}
	}
	for name, tt := range map[string]struct {
		deliver messaging.Deliver
		parts   []messaging.Part
		want    string
	}{
		"no answer names messages":     {messaging.DeliverCSV, []messaging.Part{part(5, 0), part(5, 0)}, "Upload accepted. The service returned no message ids; see its dashboard for delivery."},
		"one of two does":              {messaging.DeliverCSV, []messaging.Part{part(5000, 5000), part(1500, 0)}, "Upload accepted. The service returned 5,000 message ids for 6,500 rows; see its dashboard for the others."},
		"both do":                      {messaging.DeliverCSV, []messaging.Part{part(5, 5), part(5, 5)}, ""},
		"each row is a message":        {messaging.DeliverPerMessage, []messaging.Part{part(5, 0)}, ""},
		"an answer names more than it": {messaging.DeliverCSV, []messaging.Part{part(5, 6)}, ""},
	} {
		state, reason := verdict(tt.parts)
		if note := Untracked(&messaging.Run{State: state, Deliver: tt.deliver}, tt.parts); state != messaging.RunDone || reason != "" || note != tt.want {
			t.Errorf("%s: %s %q %q, want %q", name, state, reason, note, tt.want)
		}
	}
}
