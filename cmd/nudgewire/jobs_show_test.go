package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/server"
)

// A run whose files are gone says so and when, and names no list of rejects that is not there.
func TestARunTellsOfItsFilesAndMessages(t *testing.T) {
	ended := time.Date(2025, 3, 2, 12, 0, 0, 0, time.Local)
	run := server.RunView{
		ID: 3, Job: "winback", Slot: "2025-03-02 12:00", State: nudgewire.RunDone, Source: "csv list.csv", Folder: "runs/winback/3",
		Tally:    nudgewire.Tally{Rows: 5, Kept: 4, Parts: 1, Bytes: 100, Exclusions: []nudgewire.Exclusion{{Reason: "the phone is too short for GB", Count: 1, First: 2}}},
		Messages: map[string]int64{"failed": 1, "delivered": 1200, "accepted": 1},
	}
	const head = "run 3 of winback for 2025-03-02 12:00: done\n  source      csv list.csv\n  rows        5, 4 to send\n" +
		"  left out    1: the phone is too short for GB (first in row 2)\n  parts       1, 100 bytes\n"
	const messages = "  messages    1,200 delivered, 1 accepted, 1 failed\n"
	for name, tt := range map[string]struct {
		removed *time.Time
		want    string
	}{
		"while they are there": {nil, head + "  rejects     runs/winback/3/rejects.csv\n" + messages},
		"once they are gone":   {&ended, head + "  files       removed 2025-03-02 12:00 (retention.lists)\n" + messages},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := &cli{streams: streams{out: &out, err: &out}}
			run.FilesRemovedAt = tt.removed
			if err := c.ran(run); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}
