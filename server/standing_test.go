package server

import (
	"testing"

	"github.com/nudgewire/nudgewire"
)

func TestTheStandingOfARun(t *testing.T) {
	failed := map[string]int64{"rejected": 2, "failed": 2, "read": 1}
	for name, tc := range map[string]struct {
		run   RunView
		words string
		state nudgewire.RunState
	}{
		"most arrived":      {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"delivered": 3, "failed": 1}}, "done", nudgewire.RunDone},
		"some wait":         {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"waiting": 270, "sending": 3, "delivered": 27}}, "handed over, 273 waiting", nudgewire.RunDone},
		"most failed":       {RunView{State: nudgewire.RunDone, Messages: failed}, "partial, 80% failed", nudgewire.RunPartial},
		"half failed":       {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"failed": 2, "sent": 2}}, "partial, 50% failed", nudgewire.RunPartial},
		"all failed":        {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"failed": 2, "rejected": 1}}, "failed, none arrived", nudgewire.RunFailed},
		"one in doubt":      {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"failed": 2, "in_doubt": 1}}, "partial, 67% failed", nudgewire.RunPartial},
		"dropped by a rule": {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"dropped": 9, "cancelled": 3}}, "done", nudgewire.RunDone},
		"failed or dropped": {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"dropped": 9, "failed": 1}}, "failed, none arrived", nudgewire.RunFailed},
		"failed and waits":  {RunView{State: nudgewire.RunDone, Messages: map[string]int64{"failed": 2, "waiting": 6}}, "handed over, 6 waiting, 100% failed", nudgewire.RunDone},
		"cancelled":         {RunView{State: nudgewire.RunCancelled, Messages: failed}, "cancelled, 80% failed", nudgewire.RunCancelled},
		"not ended":         {RunView{State: nudgewire.RunUploading, Messages: map[string]int64{"failed": 3}}, "uploading", nudgewire.RunUploading},
		"all went again and arrived": {
			RunView{State: nudgewire.RunDone, Deliver: nudgewire.DeliverPerMessage, Tally: nudgewire.Tally{Kept: 10}, Messages: map[string]int64{"failed": 10, "delivered": 10}},
			"done", nudgewire.RunDone,
		},
		"all went again and wait": {
			RunView{State: nudgewire.RunDone, Deliver: nudgewire.DeliverPerMessage, Tally: nudgewire.Tally{Kept: 10}, Messages: map[string]int64{"failed": 10, "waiting": 10}},
			"handed over, 10 waiting", nudgewire.RunDone,
		},
		"few of a file are known": {
			RunView{State: nudgewire.RunDone, Deliver: nudgewire.DeliverCSV, Tally: nudgewire.Tally{Kept: 10}, Messages: map[string]int64{"failed": 1}},
			"done", nudgewire.RunDone,
		},
	} {
		tc.run.judge()
		if got := tc.run.Standing(); got != tc.words || tc.run.State != tc.state {
			t.Errorf("%s: %q and %s, want %q and %s", name, got, tc.run.State, tc.words, tc.state)
		}
	}
	v := RunView{WaitsFor: []nudgewire.RunID{4, 5}}
	if got := v.Waiting(); got != "waits for a place: runs 4 and 5 are reading (server.lists_at_once)" {
		t.Errorf("%q", got)
	}
}
