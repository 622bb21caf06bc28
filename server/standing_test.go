package server

import (
	"testing"

	"github.com/nudgewire/nudgewire"
)

func TestTheStandingOfARun(t *testing.T) {
	for want, v := range map[string]RunView{
		"done":                     {State: nudgewire.RunDone, Messages: map[string]int64{"delivered": 3, "failed": 1}},
		"handed over, 273 waiting": {State: nudgewire.RunDone, Messages: map[string]int64{"waiting": 270, "sending": 3, "delivered": 27}},
		"done, 80% failed":         {State: nudgewire.RunDone, Messages: map[string]int64{"rejected": 2, "failed": 2, "read": 1}},
		"uploading":                {State: nudgewire.RunUploading, Messages: map[string]int64{"failed": 3}},
	} {
		if got := v.Standing(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	v := RunView{WaitsFor: []nudgewire.RunID{4, 5}}
	if got := v.Waiting(); got != "waits for a place: runs 4 and 5 are reading (server.lists_at_once)" {
		t.Errorf("%q", got)
	}
}
