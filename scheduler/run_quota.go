package scheduler

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// The limit of an account (unique_contacts) holds for files as it does for single messages. Nobody is taken off a list for
// it: a file waits until those on it have room, and is cut no larger than the room, so that what has room goes.

// reach is what the limit of the run's account lets it reach, by the config of now.
func (w *working) reach() duerules.Reach { return w.rules().Reach(w.run.Account, w.run.Category) }

func roomFor(reach duerules.Reach, account string, phones []messaging.Phone, now time.Time) messaging.QuotaQuestion {
	return messaging.QuotaQuestion{Account: account, Now: now, Per: reach.Per(), Most: reach.Most(), Least: reach.Least(), Phones: phones}
}

// A noRoomError says that the account has no room for a file.
type noRoomError struct {
	room  messaging.Room
	reach duerules.Reach
}

func (*noRoomError) Error() string { return "the account has no room" }

// awaitRoom waits until the account may have room again, and says so in the run's row with the numbers. A reload with another limit is heeded at once.
func (w *working) awaitRoom(ctx context.Context, no *noRoomError) error {
	until := w.Now().Add(no.reach.Pause()) // what is rejected meanwhile makes room, too
	if next := no.room.Next; next.After(w.Now()) && next.Before(until) {
		until = next
	}
	w.log.Info("the account's limit holds the run back", zap.Int64("contacts", no.room.Contacts), zap.Time("until", until))
	return w.awaitRules(ctx, messaging.WaitLimits, until, no.reach.Why(no.room.Contacts))
}

// awaitRules waits for what rules say until a time, or until a reload changes them.
func (w *working) awaitRules(ctx context.Context, what messaging.RunWait, until time.Time, why string) error {
	if err := w.waits(ctx, what, until, why); err != nil {
		return err
	}
	for rules := w.rules(); w.rules() == rules && w.Now().Before(until); {
		if err := w.await(ctx, w.Now().Add(min(w.Heed, until.Sub(w.Now())))); err != nil {
			return err
		}
	}
	return nil
}

// windowsOfReach is how long a list waits for the windows of its account's limit in all, about, where all on it are new to
// the account; 0 where one is enough, and without a limit.
func windowsOfReach(reach duerules.Reach, rows int64) time.Duration {
	if reach.IsZero() || rows <= reach.Most() {
		return 0
	}
	return time.Duration((rows-1)/max(1, reach.Most())) * reach.Per()
}

// reachBasis is what that is reckoned from, in words.
func reachBasis(reach duerules.Reach, rows int64) string {
	return units.Count(rows, "contact") + " at " + reach.String() + " (unique_contacts), if the account reached none of them before"
}
