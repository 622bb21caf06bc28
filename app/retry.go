package app

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/scheduler"
)

// ForecastRetry says what sending an ended run again would send.
func (c *campaigns) ForecastRetry(ctx context.Context, id nudgewire.RunID, who string, doubtful bool) (scheduler.Retry, error) {
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
		return scheduler.Again(r, family, who, before+1, doubtful, c.Now())
	}
	var left scheduler.Leavings
	err = c.store.RunRows(ctx, id, 0, func(row *nudgewire.RunRow) error {
		left.Add(row)
		return ctx.Err()
	})
	if err != nil {
		return scheduler.Retry{}, err
	}
	return left.Retry(r, who, before+1, c.points(r.Category, ""), c.Now())
}

// Retry sends again what ForecastRetry names, as a run of its own.
func (c *campaigns) Retry(ctx context.Context, id nudgewire.RunID, who string, doubtful bool) (nudgewire.RunID, error) {
	c.afterwards.Lock()
	defer c.afterwards.Unlock()
	retry, err := c.ForecastRetry(ctx, id, who, doubtful)
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
