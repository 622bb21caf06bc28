package server

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Whoever resumes a restored run is told what may have left, part by part.
func TestAResumeOfARestoredRunSaysWhatMayHaveLeft(t *testing.T) {
	restored := RunView{Run: messaging.Run{ID: 12, State: messaging.RunPaused, Stopped: messaging.StopRestored, Before: messaging.RunUploading, Deliver: messaging.DeliverCSV}}
	parted, single, awaits, byHand := restored, restored, restored, restored
	parted.Tally.Rows = 9
	parted.Parts = []messaging.Part{{Number: 1, State: messaging.PartAccepted, Rows: 3}, {Number: 2, State: messaging.PartInDoubt, Rows: 4}, {Number: 3, State: messaging.PartWaiting, Rows: 2}}
	single.Deliver, single.Tally.Rows, single.Tally.Kept = messaging.DeliverPerMessage, 5, 5
	awaits.Before = messaging.RunAwaiting
	byHand.Stopped = messaging.StopPerson
	const begins = "whoever had the data before it was restored may have gone on with it; "
	const all = "all of it that the copy does not know as sent may have left already: resume it, and "
	for _, tt := range []struct {
		v    RunView
		want string
	}{
		{parted, begins + "part 2, 4 rows, stays in doubt until somebody says what became of it (jobs resolve 12 2): resume it, and send to 2 more phones"},
		{single, begins + all + "send to 5 more phones"},
		{awaits, begins + all + "have it wait for approval"},
		{restored, begins + all + "read its list"},
		{byHand, ""},
	} {
		if got := tt.v.Restored(); got != tt.want {
			t.Errorf("it says\n%s\nwant\n%s", got, tt.want)
		}
	}
}
