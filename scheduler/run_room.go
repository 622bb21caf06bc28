package scheduler

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/duerules"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/units"
)

// The limit of an account (unique_contacts) holds for files as it does for single messages. Nobody is taken off a list for
// it: a file waits until those on it have room, and one that is larger than the room is cut, so that what has room goes.

// reach is what the limit of the run's account lets it reach, by the config of now.
func (w *working) reach() duerules.Reach { return w.rules().Reach(w.run.Account, w.run.Category) }

func roomFor(reach duerules.Reach, account string, phones []nudgewire.Phone, now time.Time) nudgewire.RoomQuestion {
	return nudgewire.RoomQuestion{Account: account, Now: now, Per: reach.Per(), Most: reach.Most(), Least: reach.Least(), Phones: phones}
}

// phonesOn are those on the file of a part.
func (w *working) phonesOn(ctx context.Context, p *nudgewire.Part) ([]nudgewire.Phone, error) {
	phones := make([]nudgewire.Phone, 0, p.Rows)
	err := PhonesOf(ctx, w.Files, files.Join(w.run.Folder, p.File), func(phone nudgewire.Phone) { phones = append(phones, phone) })
	return phones, err
}

// accountRoom waits until the account has room for those on the file of a part, and says so in the run's row with the numbers.
// waited says that it did: then other rules are asked anew. Where only the first of them have room the
// part is cut, and comes back as that. A reload with another limit is heeded at once.
func (w *working) accountRoom(ctx context.Context, p *nudgewire.Part) (waited bool, err error) {
	if w.run.Deliver != nudgewire.DeliverCSV {
		return false, nil
	}
	for {
		reach := w.reach()
		room, all, err := w.roomOn(ctx, reach, p)
		switch {
		case err != nil:
			return waited, err
		case room.Fits >= all:
			if w.run.Waits == nudgewire.WaitLimits {
				err = w.waits(ctx, "", time.Time{}, "")
			}
			return waited, err
		case int64(room.Fits) >= reach.Least():
			return waited, w.cutToRoom(ctx, reach, p, room.Fits)
		}
		until := w.Now().Add(reach.Pause()) // what is rejected meanwhile makes room, too
		if room.Next.After(w.Now()) && room.Next.Before(until) {
			until = room.Next
		}
		w.log.Info("the account's limit holds the run back", zap.Int64("contacts", room.Contacts), zap.Time("until", until))
		if err := w.waits(ctx, nudgewire.WaitLimits, until, reach.Why(room.Contacts)); err != nil {
			return waited, err
		}
		for waited = true; w.reach() == reach && w.Now().Before(until); {
			if err := w.await(ctx, w.Now().Add(min(time.Second, until.Sub(w.Now())))); err != nil {
				return waited, err
			}
		}
	}
}

// roomOn asks about a part; of one whose file cannot be read its upload says what is wrong.
func (w *working) roomOn(ctx context.Context, reach duerules.Reach, p *nudgewire.Part) (room nudgewire.Room, all int, err error) {
	if reach.IsZero() {
		return room, 0, nil
	}
	if why, err := w.intact(ctx, p); err != nil || why != "" {
		return room, 0, err
	}
	phones, err := w.phonesOn(ctx, p)
	if err != nil {
		return room, 0, err
	}
	room, err = w.Store.Room(ctx, roomFor(reach, w.run.Account, phones, w.Now().UTC()))
	return room, len(phones), err
}

// cutToRoom makes a file of its own of the first rows of a part.
func (w *working) cutToRoom(ctx context.Context, reach duerules.Reach, p *nudgewire.Part, first int) error {
	parts, err := w.Store.Parts(ctx, w.run.ID)
	if err != nil {
		return err
	}
	if _, err := w.recut(ctx, *p, len(parts), int64(first), "marketing may reach "+reach.String()+" (unique_contacts)"); err != nil {
		return err
	}
	p.State = nudgewire.PartRecut
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
