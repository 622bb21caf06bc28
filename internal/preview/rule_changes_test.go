package preview_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/preview"
)

func TestAChangeOfARuleHasItsWords(t *testing.T) {
	for want, c := range map[string]preview.RuleChange{
		"cart: edited, 1,204 wait: pinned": {Trigger: "cart", Change: "edited", Waiting: 1204, OnChange: "pin", Done: true},
		"cart: edited, 1 waits: cancelled": {Trigger: "cart", Change: "edited", Waiting: 1, OnChange: "cancel"},
		"cart: edited, 2 wait: planned anew, and cancelled where the trigger would not plan it any more": {Trigger: "cart", Change: "edited", Waiting: 2, OnChange: "migrate"},
		"cart: edited, 1,204 waited: 1,190 planned anew, 11 cancelled, 2 pinned, 1 left meanwhile":       {Trigger: "cart", Change: "edited", Waiting: 1204, OnChange: "migrate", Done: true, Anew: 1190, Cancelled: 11, Pinned: 2},
		"cart: is gone from the config, 3 wait: paused":                                                  {Trigger: "cart", Change: "is gone from the config", Waiting: 3, Paused: true},
		"cart: is off, 3 wait: sent all the same, by a person's word":                                    {Trigger: "cart", Change: "is off", Waiting: 3, Released: true},
	} {
		if got := c.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
