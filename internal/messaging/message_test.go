package messaging

import (
	"testing"
	"time"
)

func TestWhatIsSentAgainInDoubt(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		d    Message
		want bool
		rule OnDoubt
	}{
		"a code that was tried twice":                  {Message{Category: Authentication, Tries: 1, ExpiresAt: now.Add(time.Second)}, true, ""},
		"a code that never expires":                    {Message{Category: Authentication, Attempt: 1}, true, ""},
		"a code that was tried thrice":                 {Message{Category: Authentication, Tries: 2}, false, ""},
		"a code that expires just then":                {Message{Category: Authentication, Attempt: 1, ExpiresAt: now}, false, ""},
		"an order's confirmation":                      {Message{Category: Utility, Attempt: 1}, false, ""},
		"an order's confirmation, as its trigger says": {Message{Category: Utility, Tries: 1}, true, DoubtResend},
		"and it was tried thrice":                      {Message{Category: Utility, Tries: 2}, false, DoubtResend},
		"a code that its trigger holds":                {Message{Category: Authentication, Attempt: 1}, false, DoubtHold},
		"a code that its trigger drops":                {Message{Category: Authentication, Attempt: 1}, false, DoubtDrop},
		"a reminder":                                   {Message{Category: Marketing, Attempt: 1}, false, ""},
	} {
		if got := tt.d.ResendsInDoubt(tt.rule, now); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
