package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
)

// StatusText is the run's state for people: what it waits for, what of its messages still waits, and, where at least half of
// those that ended failed, how many. It needs Messages.
func (v *RunView) StatusText() string {
	words := v.State.Words()
	switch {
	case v.Halted != "" && v.State != messaging.RunPaused:
		words += ", held"
	case v.Waits != "" && !v.State.Final():
		words += ", waits " + v.Waits.Words()
	}
	if waiting := v.waiting(); v.State == messaging.RunDone && waiting > 0 {
		words = "handed over, " + units.Number(waiting) + " waiting"
	}
	switch f, mostly := v.failing(); {
	case mostly && v.State == messaging.RunFailed:
		words += ", none arrived"
	case mostly:
		words += fmt.Sprintf(", %.0f%% failed", 100*float64(f.Failed)/float64(f.Messages))
	}
	return words
}

// NotHandedOver is how many rows of a run that is sent message by message have no message: it was stopped before, or has
// not come so far. It needs Messages.
func (v *RunView) NotHandedOver() int64 {
	if v.Deliver != messaging.DeliverPerMessage {
		return 0
	}
	n := v.Tally.Kept
	for _, some := range v.Messages {
		n -= some
	}
	return max(0, n)
}

// Unsent is how many phones a paused run still sends to when it goes on. It needs Messages and Parts.
func (v *RunView) Unsent() int64 {
	n := v.NotHandedOver() + v.Messages[string(messaging.StateWaiting)]
	if v.Deliver == messaging.DeliverCSV {
		for i := range v.Parts {
			if v.Parts[i].State == messaging.PartWaiting {
				n += v.Parts[i].Rows
			}
		}
	}
	return n
}

// Overruling says what a person does who resumes a run that its canary stopped: what the canary found, and how many
// more get it. It is "" for any other run.
func (v *RunView) Overruling() string {
	if v.State != messaging.RunPaused || v.Stopped != messaging.StopCanary {
		return ""
	}
	return v.Reason + ": resume it all the same, and send to " + units.Count(v.Unsent(), "more phone") + " without another look"
}

// Restored says what a person does who resumes a run that whoever had the data before it was restored may have gone on with: what may have left
// already, and what goes. It is "" for any other run. It needs Messages and Parts.
func (v *RunView) Restored() string {
	if v.State != messaging.RunPaused || v.Stopped != messaging.StopRestored {
		return ""
	}
	var words []string
	for i := range v.Parts {
		if p := &v.Parts[i]; p.State == messaging.PartInDoubt {
			words = append(words, fmt.Sprintf("part %d, %s, stays in doubt until somebody says what became of it (jobs resolve %d %d)", p.Number, units.Count(p.Rows, "row"), v.ID, p.Number))
		}
	}
	if len(words) == 0 && len(v.Parts) == 0 {
		words = append(words, "all of it that the copy does not know as sent may have left already")
	}
	goes := "read its list"
	if v.Tally.Rows > 0 {
		goes = "send to " + units.Count(v.Unsent(), "more phone")
	}
	if v.Before == messaging.RunAwaiting {
		goes = "have it wait for approval"
	}
	return strings.Join(append([]string{"whoever had the data before it was restored may have gone on with it"}, words...), "; ") + ": resume it, and " + goes
}

// A FailingView is a run that has ended and of whose messages at least half failed.
type FailingView struct {
	Run      messaging.RunID `json:"run"`
	Job      string          `json:"job" kind:"ours"`
	Failed   int64           `json:"failed"`
	Messages int64           `json:"messages"` // that ended: those that failed, and those that the service has or may have
	Since    time.Time       `json:"since,omitzero"`
}

// Words says which run it is, and how many failed.
func (v FailingView) Words() string {
	return fmt.Sprintf("run %d of %s: %s", v.Run, v.Job, v.count())
}

func (v FailingView) count() string {
	return fmt.Sprintf("%s of %s failed", units.Number(v.Failed), units.Count(v.Messages, "message"))
}

func (v *RunView) waiting() int64 {
	return v.Messages[string(messaging.StateWaiting)] + v.Messages[string(messaging.StateSending)]
}

// failing reports whether the run has ended and at least half of its messages that ended failed. It needs
// Messages.
//
// A row that failed and went again by itself stands twice in Messages, so a run has more of those than rows:
// such a failure was not the end of its row. A file's answer may name some of its messages only: of the
// others nothing is known, which is not a failure. What was dropped or cancelled counts for neither side,
// because mostly a rule or a person wanted it so.
func (v *RunView) failing() (f FailingView, mostly bool) {
	f = FailingView{Run: v.ID, Job: v.Job, Since: v.EndedAt, Failed: v.Messages[string(messaging.StatusFailed)] + v.Messages[string(messaging.StateRejected)]}
	var all int64
	for _, n := range v.Messages {
		all += n
	}
	if again := all - v.Tally.Kept; v.Deliver == messaging.DeliverPerMessage && again > 0 && v.Tally.Kept > 0 {
		f.Failed, all = max(0, f.Failed-again), v.Tally.Kept
	}
	if v.Deliver == messaging.DeliverCSV {
		all = max(all, v.Tally.Kept)
	}
	f.Messages = all - v.waiting() - v.Messages[string(messaging.StateDropped)] - v.Messages[string(messaging.StateCancelled)]
	return f, v.State.Final() && f.Failed > 0 && 2*f.Failed >= f.Messages
}

// judge makes State what it is for people: a run that is stored as done, all of whose messages have ended,
// is failed when none of them arrived, and partial when at least half of them failed. It needs Messages.
func (v *RunView) judge() {
	f, mostly := v.failing()
	if v.State != messaging.RunDone || v.waiting() > 0 || !mostly {
		return
	}
	v.State = messaging.RunPartial
	if f.Failed == f.Messages {
		v.State = messaging.RunFailed
	}
	if v.Reason != "" {
		v.Reason += "; "
	}
	v.Reason += f.count()
}

// judged fills in what became of the run's messages, and judges it by that.
func (a admin) judged(ctx context.Context, v *RunView) (err error) {
	if v.Messages, err = a.Store.RunMessages(ctx, v.ID); err == nil {
		v.judge()
	}
	return err
}

// runsIn lists the runs that are in a state for people, the newest first. What became of messages is
// counted and not stored, so it looks through the runs that are stored as done as well, the newest of them.
func (a admin) runsIn(ctx context.Context, f store.RunFilter) ([]RunView, error) {
	state, limit := f.State, f.Limit
	if state == messaging.RunPartial || state == messaging.RunFailed {
		f.State, f.Limit = "", max(f.Limit, mostJudged)
	}
	all, err := a.runsOf(ctx, f)
	if err != nil || state == "" {
		return all, err
	}
	found := []RunView{}
	for i := range all {
		if all[i].State == state && (limit <= 0 || len(found) < limit) {
			found = append(found, all[i])
		}
	}
	return found, nil
}

// mostJudged is how many runs are looked through at the most for those whose messages failed.
const mostJudged = 200
