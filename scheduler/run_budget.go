package scheduler

import (
	"context"
	"sort"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// The budget holds for files as it does for single messages: a file is cut no larger than what may still be spent, and what is left waits for the
// next day or month.

// purse is the budget that the files of the run go by, by the config of now; nil for none.
func (w *working) purse() *duerules.Purse { return w.rules().Purse().Of(w.run.Category) }

// fits is how many of the first rows of a file may leave by the limit of the account and by the budget. Errors: a *noRoomError, a *noBudgetError.
func (w *working) fits(ctx context.Context, c *cutting) (int, error) {
	fits := len(c.phones)
	if reach := w.reach(); !reach.IsZero() && fits > 0 {
		room, err := w.Store.Room(ctx, roomFor(reach, w.run.Account, c.phones, w.Now().UTC()))
		if err != nil {
			return 0, err
		}
		if room.Fits < fits && int64(room.Fits) < reach.Least() {
			return 0, &noRoomError{room, reach}
		}
		fits = min(fits, room.Fits)
	}
	purse, prices := w.purse(), w.prices(w.run.Account)
	if purse == nil || prices == nil || fits == 0 {
		return fits, nil
	}
	now := w.Now()
	spent, err := w.Store.Spent(ctx, purse, now)
	if err != nil {
		return 0, err
	}
	left := max(0, purse.Left(spent))
	cost := func(n int) int64 { return costOf(shares(c.phones[:n], w.run.Category, prices)) }
	if cost(fits) <= left {
		return fits, nil
	}
	paid := sort.Search(fits, func(n int) bool { return cost(n+1) > left })
	if paid > 0 {
		return paid, nil
	}
	spent.Cost = cost(1)
	until, why := purse.Full(spent, now)
	return 0, &noBudgetError{until, why}
}

// costOf is what a file costs, in thousandths of points.
func costOf(goes []messaging.PartShare) (sum int64) {
	for _, share := range goes {
		sum += messaging.Thousandths(share.Points)
	}
	return sum
}

// lasts is how long a list waits for the budget in all, and what that is reckoned from; 0 where it has room.
func (s *Scheduler) lasts(ctx context.Context, job *Compiled, points float64) (time.Duration, string, error) {
	purse := s.rules().Purse().Of(job.category)
	if purse == nil {
		return 0, "", nil
	}
	now := s.Now()
	spent, err := s.Store.Spent(ctx, purse, now)
	spent.Cost = messaging.Thousandths(points)
	last := purse.Lasts(spent, now)
	return last.Sub(now), purse.Words(spent), err
}

// A noBudgetError says that the budget has nothing left for a file.
type noBudgetError struct {
	until time.Time
	why   string
}

func (*noBudgetError) Error() string { return "the budget has no room" }

// awaitBudget waits for the next day or month, and says so in the run's row. A reload with another budget is heeded at once.
func (w *working) awaitBudget(ctx context.Context, no *noBudgetError) error {
	w.log.Info("the budget holds the run back", zap.Time("until", no.until))
	return w.awaitRules(ctx, messaging.WaitBudget, no.until, no.why)
}
