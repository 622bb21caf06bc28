package jobs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A run whose rows are blank says so and when.
func TestARunTellsOfItsRowsAndMessages(t *testing.T) {
	ended := time.Date(2025, 3, 2, 12, 0, 0, 0, time.UTC)
	const began = "2025-03-02 12:00:00 UTC"
	run := server.RunView{
		Run: messaging.Run{
			ID: 3, Job: "winback", Slot: "2025-03-02 12:00", State: messaging.RunDone, Source: "csv list.csv", Cause: messaging.CauseCron, CreatedAt: ended,
			Tally: messaging.Tally{Rows: 5, Kept: 4, Parts: 1, Bytes: 100, Excluded: []messaging.Excluded{{Reason: "the phone is too short for GB", Count: 1, First: 2}}},
		}, Messages: map[string]int64{"failed": 1, "delivered": 1200, "accepted": 1},
	}
	head := "run 3 of winback for 2025-03-02 12:00: done\n  began       by its cron line, " + began + "\n  source      csv list.csv\n  rows        5, 4 to send\n" +
		"  excluded    1: the phone is too short for GB (first in row 2)\n  parts       1, 100 bytes\n"
	const messages = "  messages    1,200 delivered, 1 accepted, 1 failed\n"
	for name, tt := range map[string]struct {
		removed time.Time
		want    string
	}{
		"while they are there": {time.Time{}, head + "              nudgewire jobs export 3 lists them\n" + messages},
		"once they are gone":   {ended, head + "  rows        what they said was removed 2025-03-02 12:00:00 UTC (retention.lists)\n" + messages},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := commands{&terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}}
			run.BlankedAt = tt.removed
			if err := c.ran(run); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}

// What was to be sent and what became of it add up.
func TestARunCountsTheRowsThatItNeverHandedOver(t *testing.T) {
	for name, tt := range map[string]struct {
		deliver messaging.Deliver
		kept    int64
		want    string
	}{
		"stopped midway":         {messaging.DeliverPerMessage, 3000, "  not sent    440 rows not handed over\n"},
		"all but one":            {messaging.DeliverPerMessage, 2561, "  not sent    1 row not handed over\n"},
		"all":                    {messaging.DeliverPerMessage, 2560, ""},
		"files hand over nobody": {messaging.DeliverCSV, 3000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := commands{&terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}}
			run := server.RunView{Run: messaging.Run{ID: 5, Job: "winback", Slot: "s", State: messaging.RunCancelled, Deliver: tt.deliver, Tally: messaging.Tally{Kept: tt.kept}}, Messages: map[string]int64{"delivered": 991, "cancelled": 1569}}
			if err := c.ran(run); err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(out.String(), "  messages    1,569 cancelled, 991 delivered\n")
			said, _, _ := strings.Cut(rest, "  next ")
			if said != tt.want {
				t.Errorf("behind the messages stands %q, want %q; all of it:\n%s", said, tt.want, out.String())
			}
		})
	}
}

// Wherever a run waits for a person, or left something open, it names the next step. One that is sent
// message by message has no parts.
func TestARunNamesTheNextStep(t *testing.T) {
	csv := server.RunView{Run: messaging.Run{ID: 7, Job: "winback", Slot: "2025-03-02 12:00", Deliver: messaging.DeliverCSV, Source: "csv list.csv", Tally: messaging.Tally{Rows: 1, Kept: 1, Parts: 1, Bytes: 1, ReadAs: `windows-1252 with ";" between cells`}}}
	single := csv
	single.Deliver, single.State, single.Tally = messaging.DeliverPerMessage, messaging.RunDone, messaging.Tally{Rows: 1, Kept: 1}
	part := func(r server.RunView, run messaging.RunState, reason string, s messaging.PartState) server.RunView {
		r.State, r.Reason = run, reason
		r.Parts = []messaging.Part{{Number: 1, State: s, Rows: 1}}
		if s != messaging.PartWaiting { // it was cut
			r.Parts[0].Attempt, r.Parts[0].Bytes, r.Parts[0].SHA256 = 1, 1, "0123456789abcdef"
		}
		return r
	}
	retried := func(r server.RunView, times int) server.RunView { r.Retries = times; return r }
	const head = "run 7 of winback for 2025-03-02 12:00: "
	const counts = "  source      csv list.csv\n  read as     windows-1252 with \";\" between cells\n  rows        1, 1 to send\n  parts       1, 1 byte\n"
	const numbers = "1 row, 1 byte, sha256 0123456789ab\n"
	const again = "nudgewire jobs retry 7 --dry-run\n"
	for name, tt := range map[string]struct {
		run  server.RunView
		want string
	}{
		"held": {
			part(csv, messaging.RunAwaiting, "2 rows are more than guard.max_rows, 1", messaging.PartWaiting),
			head + "awaiting approval\n  because     2 rows are more than guard.max_rows, 1\n" + counts + "  part 1      waiting   1 row\n" +
				"  next        nudgewire jobs approve 7 lets it go, nudgewire jobs cancel 7 ends it\n",
		},
		"paused": {
			part(csv, messaging.RunPaused, "paused by Ann", messaging.PartWaiting),
			head + "paused\n  because     paused by Ann\n" + counts + "  part 1      waiting   1 row\n  next        nudgewire jobs resume 7 lets it go on, nudgewire jobs cancel 7 ends it\n",
		},
		"in doubt": {
			part(csv, messaging.RunPartial, "part 1 is in doubt: reset", messaging.PartInDoubt),
			head + "partial\n  because     part 1 is in doubt: reset\n" + counts + "  part 1      in_doubt  " + numbers +
				"  next        part 1: look for it on the service's dashboard, then: nudgewire jobs resolve 7 1 --as accepted|resend\n",
		},
		"rejected": {
			part(csv, messaging.RunFailed, "part 1 was not accepted: no", messaging.PartRejected),
			head + "failed\n  because     part 1 was not accepted: no\n" + counts + "  part 1      rejected  " + numbers + "  next        what did not arrive may go again: " + again,
		},
		"rejected, retried": {
			retried(part(csv, messaging.RunFailed, "no", messaging.PartRejected), 1),
			head + "failed\n  because     no\n" + counts + "  part 1      rejected  " + numbers + "  next        retried once, as jobs history winback shows; what is left of it: " + again,
		},
		"rejected, retried twice": {
			retried(part(csv, messaging.RunFailed, "no", messaging.PartRejected), 2),
			head + "failed\n  because     no\n" + counts + "  part 1      rejected  " + numbers + "  next        retried 2 times, as jobs history winback shows; what is left of it: " + again,
		},
		"done": {
			part(csv, messaging.RunDone, "Upload accepted. The service returned no message ids; see its dashboard for delivery.", messaging.PartAccepted),
			head + "done\n  note        Upload accepted. The service returned no message ids; see its dashboard for delivery.\n" + counts + "  part 1      accepted  " + numbers,
		},
		"message by message": {single, head + "done\n  source      csv list.csv\n  rows        1, 1 to send\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := commands{&terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}}
			if err := c.ran(tt.run); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountsAreOneOrSeveral(t *testing.T) {
	for got, want := range map[string]string{
		amount(messaging.Tally{Kept: 1}):                     "1 row",
		amount(messaging.Tally{Kept: 1, Parts: 1}):           "1 row in 1 part",
		amount(messaging.Tally{Kept: 2000, Parts: 2}):        "2,000 rows in 2 parts",
		firstIn(messaging.Excluded{First: 1200}):             " (first in row 1,200)",
		firstIn(messaging.Excluded{First: 2, File: "b.csv"}): " (first in row 2 of b.csv)",
		firstIn(messaging.Excluded{}):                        "",
		resolveQuestion(server.RunView{Run: messaging.Run{ID: 3, Job: "spring"}, Parts: []messaging.Part{{Number: 1, Rows: 1}}}, 1, messaging.ResolveResend): "Upload part 1 of run 3 of spring, 1 row, again? If it did arrive, everybody on it gets the message twice.",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
