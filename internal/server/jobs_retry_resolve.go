package server

import (
	"context"
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A RetryView says what would be sent again of a run that has ended. In Tally, Rows are those
// that were looked at, Kept those that would go, and Excluded what keeps the others from it.
type RetryView struct {
	Run     messaging.RunID      `json:"run"`
	Job     string               `json:"job" kind:"ours"`
	Deliver messaging.Deliver    `json:"deliver"`
	Tally   messaging.Tally      `json:"tally"`
	Causes  []messaging.Excluded `json:"causes,omitempty"` // what ended the messages that would go again
}

// A RetryOrder sends once more what of a run did not arrive.
type RetryOrder struct {
	Run      messaging.RunID `json:"-" path:"id"`
	InDoubt  bool            `json:"in_doubt,omitempty"`    // parts in doubt, too
	Classes  string          `json:"classes,omitempty"`     // only rows of these, with commas between them
	MinWait  time.Duration   `json:"min_wait_ns,omitempty"` // only rows that ended that long ago; 0 is as their class rests
	Deadline time.Duration   `json:"deadline_ns,omitempty"` // what is not sent within that is dropped
}

// retryOrder is what a person's word says of a retry.
func (a admin) retryOrder(in RetryOrder) (what scheduler.RetryOrder, err error) {
	if in.MinWait < 0 || in.Deadline < 0 {
		return what, refusal.Newf(http.StatusBadRequest, "", "a wait and a deadline are not negative")
	}
	what.InDoubt, what.MinWait = in.InDoubt, in.MinWait
	if in.Deadline > 0 {
		what.Until = a.Now().Add(in.Deadline).UTC()
	}
	what.Classes, err = parseClasses(in.Classes)
	return what, err
}

func (a admin) retry(ctx context.Context, in RetryOrder) (RunView, error) {
	what, err := a.retryOrder(in)
	if err != nil {
		return RunView{}, err
	}
	id, err := a.Jobs.Retry(ctx, in.Run, access.NameOf(ctx), what)
	return a.ordered(ctx, "retry", in.Run, id, err)
}

func (a admin) forecastRetry(ctx context.Context, in RetryOrder) (RetryView, error) {
	what, err := a.retryOrder(in)
	if err != nil {
		return RetryView{}, err
	}
	f, err := a.Jobs.ForecastRetry(ctx, in.Run, "", what)
	if err != nil {
		return RetryView{}, jobError(err)
	}
	return RetryView{Run: in.Run, Job: f.Run.Job, Deliver: f.Run.Deliver, Tally: f.Run.Tally, Causes: f.Causes}, nil
}

// A PartWord is a person's word on a part in doubt.
type PartWord struct {
	Run    messaging.RunID      `json:"-" path:"id"`
	Part   int                  `json:"-" path:"number"`
	As     messaging.Resolution `json:"as"` // accepted or resend
	Reason string               `json:"reason,omitempty"`
}

func (a admin) resolvePart(ctx context.Context, in PartWord) (RunView, error) {
	if in.As != messaging.ResolveAccepted && in.As != messaging.ResolveResend {
		return RunView{}, refusal.Fieldf("as", "", "as %q: want accepted or resend", in.As)
	}
	if err := a.Jobs.ResolvePart(ctx, in.Run, in.Part, in.As, access.NameOf(ctx), in.Reason); err != nil {
		return RunView{}, jobError(err)
	}
	return a.runOf(ctx, in.Run)
}
