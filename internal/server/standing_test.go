package server

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestTheStandingOfARun(t *testing.T) {
	failed := map[string]int64{"rejected": 2, "failed": 2, "read": 1}
	for name, tc := range map[string]struct {
		run   RunView
		words string
		state messaging.RunState
	}{
		"most arrived":                  {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"delivered": 3, "failed": 1}}, "done", messaging.RunDone},
		"some wait":                     {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"waiting": 270, "sending": 3, "delivered": 27}}, "handed over, 273 waiting", messaging.RunDone},
		"most failed":                   {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: failed}, "partial, 80% failed", messaging.RunPartial},
		"half failed":                   {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"failed": 2, "sent": 2}}, "partial, 50% failed", messaging.RunPartial},
		"all failed":                    {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"failed": 2, "rejected": 1}}, "failed, none arrived", messaging.RunFailed},
		"one in doubt":                  {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"failed": 2, "in_doubt": 1}}, "partial, 67% failed", messaging.RunPartial},
		"dropped by a rule":             {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"dropped": 9, "cancelled": 3}}, "done", messaging.RunDone},
		"failed or dropped":             {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"dropped": 9, "failed": 1}}, "failed, none arrived", messaging.RunFailed},
		"failed and waits":              {RunView{Run: messaging.Run{State: messaging.RunDone}, Messages: map[string]int64{"failed": 2, "waiting": 6}}, "handed over, 6 waiting, 100% failed", messaging.RunDone},
		"cancelled":                     {RunView{Run: messaging.Run{State: messaging.RunCancelled}, Messages: failed}, "cancelled, 80% failed", messaging.RunCancelled},
		"not ended":                     {RunView{Run: messaging.Run{State: messaging.RunUploading}, Messages: map[string]int64{"failed": 3}}, "uploading", messaging.RunUploading},
		"waits for the night to end":    {RunView{Run: messaging.Run{State: messaging.RunUploading, Waits: messaging.WaitQuietHours}}, "uploading, waits for the end of quiet hours", messaging.RunUploading},
		"halted while its canary looks": {RunView{Run: messaging.Run{State: messaging.RunUploading, Waits: messaging.WaitCanary}, Halted: "everything"}, "uploading, held", messaging.RunUploading},
		"awaits approval under a halt":  {RunView{Run: messaging.Run{State: messaging.RunAwaiting}, Halted: "everything"}, "awaiting approval, held", messaging.RunAwaiting},
		"paused under a halt":           {RunView{Run: messaging.Run{State: messaging.RunPaused}, Halted: "everything"}, "paused", messaging.RunPaused},
		"all went again and arrived": {
			RunView{Run: messaging.Run{State: messaging.RunDone, Deliver: messaging.DeliverPerMessage, Tally: messaging.Tally{Kept: 10}}, Messages: map[string]int64{"failed": 10, "delivered": 10}},
			"done", messaging.RunDone,
		},
		"all went again and wait": {
			RunView{Run: messaging.Run{State: messaging.RunDone, Deliver: messaging.DeliverPerMessage, Tally: messaging.Tally{Kept: 10}}, Messages: map[string]int64{"failed": 10, "waiting": 10}},
			"handed over, 10 waiting", messaging.RunDone,
		},
		"few of a file are known": {
			RunView{Run: messaging.Run{State: messaging.RunDone, Deliver: messaging.DeliverCSV, Tally: messaging.Tally{Kept: 10}}, Messages: map[string]int64{"failed": 1}},
			"done", messaging.RunDone,
		},
	} {
		tc.run.judge()
		if got := tc.run.StatusText(); got != tc.words || tc.run.State != tc.state {
			t.Errorf("%s: %q and %s, want %q and %s", name, got, tc.run.State, tc.words, tc.state)
		}
	}
	for _, w := range messaging.RunWaits {
		if w.Words() == "" {
			t.Errorf("a run that waits for %s says nothing", w)
		}
	}
	v := RunView{WaitsFor: []messaging.RunID{4, 5}}
	if got := v.Waiting(); got != "waits for a place: runs 4 and 5 are reading (server.lists_at_once)" {
		t.Errorf("%q", got)
	}
}
