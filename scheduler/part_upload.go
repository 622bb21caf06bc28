package scheduler

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// An Uploader creates campaigns; *apiclient.Client is one. Its errors answer to
// apiclient.OutcomeOf.
type Uploader interface {
	CreateCampaign(ctx context.Context, name string, templateID int64, fileName string, file io.Reader, size int64) (apiclient.Answer, error)
}

// A Budget of requests is shared by everybody who calls the service; *pace.Budget is one.
type Budget interface {
	Wait(ctx context.Context, c pace.Class, by time.Time) error
	Slow(c pace.Class, began time.Time, retryAfter time.Duration)
	Took(c pace.Class) (whole bool)
}

// A Line is how uploads of one account of the service leave.
type Line struct {
	Uploader Uploader // nil where there is no such account, or no job delivers by CSV
	Budget   Budget   // nil lets every upload go at once
}

// account is that of the job's runs, as rows name it.
func (j *Job) account() string { return messaging.AccountKey(j.Account) }

// errNoAccount keeps an upload back whose account was taken out of the config a moment ago.
var errNoAccount = errors.New("its account is gone from the config")

// create uploads one file. What the answer shows about the service, the budget learns.
func (s *Scheduler) create(ctx context.Context, account, name string, templateID int64, fileName string, file io.Reader, size int64) (apiclient.Answer, error) {
	began, line := s.Now(), s.Line(account)
	if line.Uploader == nil {
		return apiclient.Answer{}, &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.NotAccepted, Err: errNoAccount}
	}
	answer, err := line.Uploader.CreateCampaign(ctx, name, templateID, fileName, file, size)
	if line.Budget == nil {
		return answer, err
	}
	call, _ := errors.AsType[*apiclient.CallError](err)
	switch trouble := apiclient.TroubleOf(err); {
	case trouble == apiclient.TroubleBusy || trouble == apiclient.TroubleOutage:
		if ctx.Err() == nil { // else it was us who cut the call
			line.Budget.Slow(pace.Upload, began, call.RetryAfter)
		}
	default:
		line.Budget.Took(pace.Upload)
	}
	return answer, err
}
