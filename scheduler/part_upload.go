package scheduler

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
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

// Reconfigure takes up another config. Runs under way keep the job that they were built from.
func (s *Scheduler) Reconfigure(to Uploader, jobs []*Compiled) {
	s.uploader.Store(&to)
	s.Use(jobs)
}

// create uploads one file. What the answer shows about the service, the budget learns.
func (s *Scheduler) create(ctx context.Context, name string, templateID int64, fileName string, file io.Reader, size int64) (apiclient.Answer, error) {
	began := time.Now()
	answer, err := (*s.uploader.Load()).CreateCampaign(ctx, name, templateID, fileName, file, size)
	if s.Budget == nil {
		return answer, err
	}
	call, _ := errors.AsType[*apiclient.CallError](err)
	switch trouble := apiclient.TroubleOf(err); {
	case trouble == apiclient.TroubleBusy || trouble == apiclient.TroubleOutage:
		if ctx.Err() == nil { // else it was us who cut the call
			s.Budget.Slow(pace.Upload, began, call.RetryAfter)
		}
	default:
		s.Budget.Took(pace.Upload)
	}
	return answer, err
}
