package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// ForecastRetry says what sending an ended run again would send.
func (s *Scheduler) ForecastRetry(ctx context.Context, id messaging.RunID, who string, what RetryOrder) (Retry, error) {
	return s.retry(ctx, id, who, what, false)
}

// retry makes ready what goes again; with write, it notes with the rows who does not.
func (s *Scheduler) retry(ctx context.Context, id messaging.RunID, who string, what RetryOrder, write bool) (Retry, error) {
	now := s.Now()
	r, err := s.Store.Run(ctx, id)
	if err != nil {
		return Retry{}, err
	}
	if err := MayRetry(r, what); err != nil {
		return Retry{}, err
	}
	before, err := s.Store.RetriesOf(ctx, id)
	if err != nil {
		return Retry{}, err
	}
	if r.Deliver != messaging.DeliverPerMessage {
		family, err := s.family(ctx, r.ID)
		if err != nil {
			return Retry{}, err
		}
		again, err := RetryParts(r, family, who, before+1, what.InDoubt, now)
		if err != nil {
			return again, err
		}
		job := s.brakesOf(&r)
		if job == nil {
			return again, unknownRules(&r)
		}
		notes, err := again.Recheck(ctx, s.Store, func(ctx context.Context, phones []messaging.Phone) ([]answer, error) {
			return s.mayGo(ctx, &r, job, phones, nil, atTurn)
		}, job.MaxSize, nil)
		if err == nil && write {
			err = s.Store.NoteRows(ctx, again.Parts[0].List, notes)
		}
		return again, err
	}
	if !what.Until.IsZero() && !what.Until.After(now) {
		return Retry{}, &wordError{"the deadline is past", "name a time to come, or a duration such as 6h"}
	}
	left, err := s.remaining(ctx, r, what, now)
	if err != nil {
		return Retry{}, err
	}
	return left.Retry(r, who, before+1, now)
}

// remaining adds up what may go again of a run that was delivered message by message.
func (s *Scheduler) remaining(ctx context.Context, r messaging.Run, what RetryOrder, now time.Time) (left *Remaining, err error) {
	left = &Remaining{Order: what, At: now, Rules: s.errorRules(), Prices: s.prices(r.Account)}
	var some []messaging.RunRow
	flush := func() error {
		answers, err := s.mayGoAgain(ctx, &r, s.brakesOf(&r), some)
		for i := range some {
			if err != nil {
				return err
			}
			left.Add(&some[i], &answers[i].Verdict)
		}
		some = some[:0]
		return ctx.Err()
	}
	err = s.Store.RunRows(ctx, r.ID, 0, func(row *messaging.RunRow) error {
		if some = append(some, *row); len(some) == rowsAgain {
			return flush()
		}
		return nil
	})
	return left, errors.Join(err, flush())
}

// family are the parts of all runs that send rows of the list of a run.
func (s *Scheduler) family(ctx context.Context, id messaging.RunID) ([]messaging.Part, error) {
	own, err := s.Store.Parts(ctx, id)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	return s.Store.PartsOfList(ctx, own[0].List)
}

// errorRules are those of the config in use.
func (s *Scheduler) errorRules() *messaging.ErrorRules {
	if s.Errors == nil {
		return nil
	}
	return s.Errors()
}

// Retry sends again what ForecastRetry names, as a run of its own.
func (s *Scheduler) Retry(ctx context.Context, id messaging.RunID, who string, what RetryOrder) (messaging.RunID, error) {
	s.afterwards.Lock()
	defer s.afterwards.Unlock()
	retry, err := s.retry(ctx, id, who, what, true)
	if err != nil {
		return 0, err
	}
	if s.heldBy(retry.Run.Job) != "" {
		retry.Run.Released = who
	}
	next, won, err := s.Store.StartRunOf(ctx, retry.Run, retry.Parts)
	if err == nil && !won {
		err = fmt.Errorf("run %d is that retry already", next)
	}
	if err != nil {
		return 0, err
	}
	s.Wake()
	return next, nil
}

// ResolvePart settles a part in doubt by a person's word.
func (s *Scheduler) ResolvePart(ctx context.Context, id messaging.RunID, number int, as messaging.Resolution, who, reason string) error {
	s.afterwards.Lock()
	defer s.afterwards.Unlock()
	r, err := s.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	if as == messaging.ResolveResend {
		if err := s.letGo(ctx, &r, who); err != nil {
			return err
		}
	}
	family, err := s.family(ctx, r.ID)
	if err != nil {
		return err
	}
	next, p, err := ResolvePart(r, family, number, as, who, reason, s.Now())
	if err != nil {
		return err
	}
	if err := s.Store.ResolvePart(ctx, r.State, next, p); err != nil {
		return err
	}
	s.Wake()
	return nil
}
