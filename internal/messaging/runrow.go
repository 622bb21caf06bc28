package messaging

import (
	"strconv"
	"strings"
	"time"
)

// A RunRow is one row of a run that delivers message by message, and what became of it.
type RunRow struct {
	Run       RunID
	Number    int64      // among the rows that the run kept, from 1
	Message   Message    // Send is left empty in lists
	Doubted   []int      // attempts whose answer was lost, by number
	Words     string     // what the service said of its newest attempt, or with its status
	Class     ErrorClass // that the rules of that day gave them
	Blocked   bool       // its phone gets nothing
	RetriedAs MessageID
	RetryOf   MessageID // the message whose place this one took; 0 for none

	// The run that read the row from its source, and its number there. They differ from Run and
	// Number where this run sends the row again.
	ReadBy     RunID
	ReadNumber int64
	Position   Position // in the source; zero where that is not known any more
}

// EndedAt is when what became of the row was known, for one that ended.
func (r *RunRow) EndedAt() time.Time {
	if r.Message.Status != "" {
		return r.Message.StatusAt
	}
	return r.Message.UpdatedAt
}

// RowKey is the correlation key of a run's row: no two rows have the same, and no row is met by another
// correlation key.
func RowKey(run RunID, row int64) string { return RowKeys(run) + strconv.FormatInt(row, 10) }

// RowKeys is what the keys of a run's rows begin with, and those of no other run.
func RowKeys(run RunID) string { return "run " + strconv.FormatInt(int64(run), 10) + " row " }

// RunOfKey is the run that a row's key names; ok is false for another key.
func RunOfKey(key string) (run RunID, ok bool) {
	number, found := strings.CutPrefix(key, "run ")
	number, _, row := strings.Cut(number, " row ")
	id, err := strconv.ParseInt(number, 10, 64)
	if !found || !row || err != nil || id < 1 {
		return 0, false
	}
	return RunID(id), true
}

// RowOfKey is the row that a key names, and its run; ok is false for another key.
func RowOfKey(key string) (run RunID, row int64, ok bool) {
	if run, ok = RunOfKey(key); ok {
		row, _ = strconv.ParseInt(key[len(RowKeys(run)):], 10, 64)
	}
	return run, row, ok && row > 0
}

// MayGoAgain reports whether the row surely did not reach the phone and may be queued once more,
// and why: what ended it, or what keeps it from going. docs/internals/states.md holds the table.
//
// What the service said no to may go again, although the same request would be refused again:
// between the two a person has read the reason and mended it. A person's own no is not overruled.
func (r *RunRow) MayGoAgain() (may bool, why string) {
	d := &r.Message
	switch {
	case r.RetriedAs != 0:
		return false, "was sent again already"
	case d.Test != "":
		return false, "is a test: send another (send-test)"
	case d.Part > 0:
		return false, "left with a file: jobs retry sends that again"
	case d.Phone.IsMasked():
		return false, "ended so long ago that its phone is masked (retention.phones)"
	case d.Category.ResendsInDoubt():
		return false, "is a code, which is worth nothing later"
	case d.Forgotten():
		return false, "said what is kept no more (keep_variables: false)"
	}
	switch d.State {
	case StateWaiting, StateSending:
		return false, "is still on its way"
	case StateInDoubt:
		return false, "is in doubt: the phone may have it"
	case StateCancelled:
		return false, "was cancelled by a person"
	case StateAccepted:
		if r.Message.Status != StatusFailed {
			return false, "was taken by the service, which does not say that it failed"
		}
		why = "failed at the service" + colon(r.Message.Error)
	case StateRejected:
		why = "was rejected by the service" + colon(d.Reason)
	case StateDropped:
		why = "was dropped before it was sent"
	default:
		return false, "is " + string(d.State)
	}
	for _, number := range r.Doubted {
		// The last attempt's own definite end clears its doubt; nothing clears an earlier one.
		if number != d.Attempt || d.State == StateDropped {
			return false, "was in doubt once: the phone may have it"
		}
	}
	if r.Blocked {
		return false, "goes to a contact that is blocked"
	}
	return true, why
}

func colon(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}
