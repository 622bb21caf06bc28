package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
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

// A PartWord is a person's word on a part in doubt.
type PartWord struct {
	As     messaging.Resolution `json:"as"` // accepted or resend
	Reason string               `json:"reason,omitempty"`
}

func (a admin) forecastRetry(r *http.Request) (any, error) {
	id, err := runNumber(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	order := RunOrder{InDoubt: q.Get("in_doubt") == "true", Classes: q.Get("classes")}
	for name, to := range map[string]*time.Duration{"min_wait_ns": &order.MinWait, "deadline_ns": &order.Deadline} {
		if text := q.Get(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, badField(name, "", "%s %q is no number of nanoseconds", name, text)
			}
			*to = time.Duration(n)
		}
	}
	what, err := a.retryOrder(order)
	if err != nil {
		return nil, err
	}
	f, err := a.Jobs.ForecastRetry(r.Context(), id, "", what)
	if err != nil {
		return nil, jobError(err)
	}
	return RetryView{Run: id, Job: f.Run.Job, Deliver: f.Run.Deliver, Tally: f.Run.Tally, Causes: f.Causes}, nil
}

func (a admin) resolvePart(r *http.Request, in PartWord) (any, error) {
	id, err := runNumber(r)
	if err != nil {
		return nil, err
	}
	part, err := number(r, "number", `"nudgewire jobs show" shows the parts`, "a part's number")
	if err != nil {
		return nil, err
	}
	if in.As != messaging.ResolveAccepted && in.As != messaging.ResolveResend {
		return nil, badField("as", "", "as %q: want accepted or resend", in.As)
	}
	if err := a.Jobs.ResolvePart(r.Context(), id, int(part), in.As, person(r), in.Reason); err != nil {
		return nil, jobError(err)
	}
	return a.runOf(r.Context(), id)
}
