package scheduler

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// rules are the rules of the due moment; nil for none.
func (s *Scheduler) rules() *duerules.Rules {
	if s.Rules == nil {
		return nil
	}
	return s.Rules()
}

// dueRules are rules for duerules.MayGo.
func (s *Scheduler) dueRules() messaging.DueRules {
	if r := s.rules(); r != nil {
		return r
	}
	return nil
}

// Rows that are sent one by one are decided about one by one, where they are claimed, on the clock of each
// contact. A file leaves whole, so it obeys the quiet hours on the clock of its job; where the job has a time of day, each of its rows obeys them on
// the clock of its contact.

// quietAtFirst says why a run of files is not begun at all, "" for one that is: its quiet hours drop what meets
// them, or let it go too late.
func (w *working) quietAtFirst() string {
	if w.job.Deliver != messaging.DeliverCSV || w.run.State != messaging.RunPlanned {
		return ""
	}
	if v := w.fileMayGo(&w.run, w.job.category, w.job, false); v.Action == messaging.DropSend {
		return v.Reason
	}
	return ""
}

// fileMayGo asks about a file of a run as a whole, on the clock of its job. Consent and limits are asked for each row of it.
func (s *Scheduler) fileMayGo(r *messaging.Run, c messaging.Category, job *Compiled, begun bool) messaging.Verdict {
	file := messaging.Message{Trigger: r.Job, Account: r.Account, Category: c, Config: r.Config, Zone: job.zone.String(), DueAt: r.DueAt}
	return duerules.MayGo(s.dueRules(), &file, &messaging.DueFacts{Claimed: true, File: job.At != nil, Begun: begun, FirstDue: r.DueAt}, s.Now())
}

// held reports whether nothing of the run may leave at present, whatever its rules say.
func (w *working) held() bool {
	if w.Held == nil {
		return false
	}
	facts := w.Held(&w.run)
	return duerules.MayGo(nil, &messaging.Message{Category: w.run.Category}, &facts, w.Now()).Action == messaging.HoldSend
}

// quietHours waits until the files of the run may leave, and says so in its row. A reload that changes the
// hours is heeded at once.
func (w *working) quietHours(ctx context.Context) error {
	for w.run.Deliver == messaging.DeliverCSV {
		until := w.quietUntil()
		if until.IsZero() {
			break
		}
		if w.run.Waits != messaging.WaitQuietHours || !w.run.WaitUntil.Equal(until) {
			w.log.Info("quiet hours hold the run back", zap.Time("until", until))
			if err := w.waits(ctx, messaging.WaitQuietHours, until, ""); err != nil {
				return err
			}
		}
		if err := w.await(ctx, w.Now().Add(min(w.Heed, until.Sub(w.Now())))); err != nil {
			return err
		}
	}
	if w.run.Waits == messaging.WaitQuietHours {
		return w.waits(ctx, "", time.Time{}, "")
	}
	return nil
}

// quietUntil is when the quiet hours of now end; zero outside of them.
func (w *working) quietUntil() time.Time {
	if v := w.fileMayGo(&w.run, w.run.Category, w.brakes(), true); v.Rule == messaging.RuleQuietHours {
		return v.Until
	}
	return time.Time{}
}

// waits notes with the run what it waits for, until when, and why where that has numbers; "" for nothing.
func (w *working) waits(ctx context.Context, what messaging.RunWait, until time.Time, why string) error {
	return w.change(ctx, messaging.RunUploading, why, func(r *messaging.Run) { r.Waits, r.WaitUntil = what, until.UTC() })
}
