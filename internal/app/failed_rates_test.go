package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheShareOfFailuresIsThatOfItsWindow(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	type total struct {
		at               time.Duration
		failed, arrived  int64
		quarter, anyHour string // failed/ended in 15 minutes and in an hour, with ! where that is too many
	}
	for name, totals := range map[string][]total{
		"what failed before the start is no news": {{0, 900, 100, "", ""}},
		"a window forgets what has left it": {
			{0, 0, 0, "", ""},
			{5 * time.Minute, 30, 70, "30/100!", "30/100"},
			{15 * time.Minute, 30, 70, "30/100!", "30/100"},
			{20 * time.Minute, 30, 170, "0/100", "30/200"},
			{70 * time.Minute, 30, 270, "0/100", "0/200"}, // of the hour the note before it began
		},
		"few say nothing":                         {{0, 0, 0, "", ""}, {time.Minute, 19, 0, "19/19", "19/19"}, {2 * time.Minute, 20, 0, "20/20!", "20/20!"}},
		"a clock that was set back begins anew":   {{0, 0, 0, "", ""}, {time.Minute, 50, 50, "50/100!", "50/100"}, {-time.Hour, 60, 60, "", ""}, {-time.Hour + time.Minute, 60, 70, "0/10", "0/10"}},
		"a clock that was set forward loses some": {{0, 0, 0, "", ""}, {time.Minute, 50, 50, "50/100!", "50/100"}, {100 * time.Hour, 60, 60, "10/20!", "10/20"}},
	} {
		t.Run(name, func(t *testing.T) {
			var f failedRates
			f.use([]failedWindow{usualRate, {subject: "> 50% over 1h", above: 50, over: time.Hour}})
			for _, one := range totals {
				f.noteTotals(map[string]int64{"messages_rejected": one.failed / 2, "messages_failed": one.failed - one.failed/2, "messages_delivered": one.arrived}, noon.Add(one.at))
				got := [2]string{}
				for _, v := range f.views() {
					text := fmt.Sprintf("%d/%d", v.Failed, v.Ended)
					if v.TooMany() {
						text += "!"
					}
					got[map[string]int{"": 0, "> 50% over 1h": 1}[v.Subject]] = text
				}
				if diff := cmp.Diff([2]string{one.quarter, one.anyHour}, got); diff != "" {
					t.Errorf("at %v (-want +got):\n%s", one.at, diff)
				}
			}
		})
	}
}
