package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/scheduler"
)

// ForecastRetry says what sending an ended run again would send.
func (c *campaigns) ForecastRetry(ctx context.Context, id nudgewire.RunID, who string, doubtful bool) (scheduler.Retry, error) {
	return c.retryOf(ctx, id, who, doubtful, false)
}

// retryOf makes ready what goes again; with write, also the files that it needs.
func (c *campaigns) retryOf(ctx context.Context, id nudgewire.RunID, who string, doubtful, write bool) (scheduler.Retry, error) {
	now := c.Now()
	r, err := c.store.Run(ctx, id)
	if err != nil {
		return scheduler.Retry{}, runError(err)
	}
	if err := scheduler.MayRetry(r, doubtful); err != nil {
		return scheduler.Retry{}, err
	}
	before, err := c.store.RetriesOf(ctx, id)
	if err != nil {
		return scheduler.Retry{}, err
	}
	if r.Deliver != nudgewire.DeliverPerMessage {
		family, err := c.store.PartsOfFolder(ctx, r.Job, r.Folder)
		if err != nil {
			return scheduler.Retry{}, err
		}
		again, err := scheduler.Again(r, family, who, before+1, doubtful, now)
		if err != nil {
			return again, err
		}
		return again, again.Recheck(ctx, func(ctx context.Context, phones []nudgewire.Phone) ([]scheduler.Why, error) {
			return c.excluded(ctx, r, phones)
		}, write)
	}
	left, err := c.leavings(ctx, r)
	if err != nil {
		return scheduler.Retry{}, err
	}
	return left.Retry(r, who, before+1, c.points(r.Category, ""), now)
}

// excluded says why contacts are excluded from what goes again of a run: they are blocked by now, or were
// messaged for another reason than this run within the time that the job names, as it is now.
func (c *campaigns) excluded(ctx context.Context, r nudgewire.Run, phones []nudgewire.Phone) ([]scheduler.Why, error) {
	within := time.Duration(0)
	if j, err := c.job(r.Job); err == nil { // one that is not in the config any more excludes nobody
		within = j.Exclude.MessagedWithin.D()
	}
	return c.who.Excluded(ctx, phones, scheduler.Question{Within: within, Now: c.Now(), Of: r.ID})
}

func phonesOfRows(rows []nudgewire.RunRow) []nudgewire.Phone {
	phones := make([]nudgewire.Phone, len(rows))
	for i := range rows {
		phones[i] = rows[i].Dispatch.Phone
	}
	return phones
}

// leavings adds up what may go again of a run that was delivered message by message.
func (c *campaigns) leavings(ctx context.Context, r nudgewire.Run) (left *scheduler.Remaining, err error) {
	left = &scheduler.Remaining{}
	places := scheduler.PositionFinder{Store: c.store}
	defer func() { err = errors.Join(err, places.Close()) }()
	var some []nudgewire.RunRow
	flush := func() error {
		answers, err := c.excluded(ctx, r, phonesOfRows(some))
		for i := range some {
			if err != nil {
				return err
			}
			if row := &some[i]; row.ReadBy != 0 {
				row.Position, _ = places.Of(ctx, row.ReadBy, row.ReadNumber) // counts do not need it
			}
			left.Add(&some[i], answers[i])
		}
		some = some[:0]
		return ctx.Err()
	}
	err = c.store.RunRows(ctx, r.ID, 0, func(row *nudgewire.RunRow) error {
		if some = append(some, *row); len(some) == rowsAgain {
			return flush()
		}
		return nil
	})
	return left, errors.Join(err, flush())
}

// Retry sends again what ForecastRetry names, as a run of its own.
func (c *campaigns) Retry(ctx context.Context, id nudgewire.RunID, who string, doubtful bool) (nudgewire.RunID, error) {
	c.afterwards.Lock()
	defer c.afterwards.Unlock()
	retry, err := c.retryOf(ctx, id, who, doubtful, true)
	if err != nil {
		return 0, err
	}
	next, won, err := c.store.StartRunOf(ctx, retry.Run, retry.Parts)
	if err == nil && !won {
		err = fmt.Errorf("run %d is that retry already", next)
	}
	if err != nil {
		return 0, err
	}
	retry.Run.ID = next
	tell(c.watch.Run, retry.Run)
	c.Wake()
	return next, nil
}

// ResolvePart settles a part in doubt by a person's word.
func (c *campaigns) ResolvePart(ctx context.Context, id nudgewire.RunID, number int, as nudgewire.Resolution, who, reason string) error {
	c.afterwards.Lock()
	defer c.afterwards.Unlock()
	r, err := c.store.Run(ctx, id)
	if err != nil {
		return runError(err)
	}
	family, err := c.store.PartsOfFolder(ctx, r.Job, r.Folder)
	if err != nil {
		return err
	}
	next, p, err := scheduler.ResolvePart(r, family, number, as, who, reason, c.Now())
	if err != nil {
		return err
	}
	if err := c.store.ResolvePart(ctx, r.State, next, p); err != nil {
		return runError(err)
	}
	tell(c.watch.Part, p)
	tell(c.watch.Run, next)
	c.Wake()
	return nil
}
