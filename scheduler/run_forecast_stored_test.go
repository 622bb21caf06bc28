package scheduler

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// busyFacts are Facts: the first time that they are asked, something happens.
type busyFacts struct {
	Facts
	happens func()
}

func (b *busyFacts) About(ctx context.Context, phones []messaging.Phone, q Question) ([]Known, error) {
	if now := b.happens; now != nil {
		b.happens = nil
		now()
	}
	return b.Facts.About(ctx, phones, q)
}

// What another node does with a run while it is forecast is said: the answer is the whole forecast of a run that awaits approval, or says what the
// run is by now. The forecast itself claims and writes nothing.
func TestARunThatMovesOnWhileItIsForecast(t *testing.T) {
	t.Parallel()
	bob, eve := by("Bob"), by("Eve")
	for name, tt := range map[string]struct {
		happens func(d *desk) error
		is      string // "" where it awaits approval still
	}{
		"nothing":            {func(*desk) error { return nil }, ""},
		"the first approves": {func(d *desk) error { return d.Approve(t.Context(), 1, bob) }, ""},
		"a pause and its end": {func(d *desk) error {
			return errors.Join(d.Pause(t.Context(), 1, "Bob"), d.Resume(t.Context(), 1, "Bob"))
		}, ""},
		"a pause":  {func(d *desk) error { return d.Pause(t.Context(), 1, "Bob") }, "paused"},
		"a cancel": {func(d *desk) error { return d.Cancel(t.Context(), 1, "Bob") }, "cancelled"},
		"both approve": {func(d *desk) error {
			return errors.Join(d.Approve(t.Context(), 1, bob), d.Approve(t.Context(), 1, eve))
		}, "uploading"},
		"both approve, and more": {func(d *desk) error {
			return errors.Join(d.Approve(t.Context(), 1, bob), d.Approve(t.Context(), 1, eve))
		}, "done"},
		"a cancel, and no rows": {func(d *desk) error { // as its retention may have it
			err := d.Cancel(t.Context(), 1, "Bob")
			d.book.mu.Lock()
			defer d.book.mu.Unlock()
			delete(d.rows, 1)
			return err
		}, "cancelled"},
	} {
		for _, deliver := range []messaging.Deliver{messaging.DeliverCSV, messaging.DeliverPerMessage} {
			t.Run(name+", "+string(deliver), func(t *testing.T) {
				t.Parallel()
				j := Job{Cron: "0 10 * * *", Deliver: deliver, Guard: Guard{ApproveOver: 1, ApproveBy: 2}}
				if deliver == messaging.DeliverPerMessage {
					j.Send = &Message{Template: "winback"}
				}
				const rows = 2500 // which are asked about in several turns
				d := begin(t, jobOf(t, people(rows), j))
				fireDue(t, d)
				one := d.Scheduler
				d.open("two")
				busy := &busyFacts{&register{who: map[messaging.Phone]Known{}}, func() {
					if err := tt.happens(d); err != nil {
						t.Error(err)
					}
					if tt.is == "done" {
						d.settle(t)
					}
				}}
				one.Facts = busy
				before := d.the(t)
				f, err := one.ForecastRun(t.Context(), 1)
				if busy.happens != nil {
					t.Fatal("nothing happened in between")
				}
				if tt.is == "" {
					if err != nil || f.Tally.Kept != rows || len(f.Previews) != maxPreviews {
						t.Errorf("%+v, %v", f.Tally, err)
					}
				} else if err == nil || !strings.Contains(err.Error(), "run 1 does not await approval: it is "+tt.is) || f.Tally.Kept != 0 {
					t.Errorf("%+v, %v", f.Tally, err)
				}
				if now := d.the(t); name == "nothing" {
					if diff := cmp.Diff(before, now); diff != "" || len(d.parts[1]) > 1 || len(d.queued[1]) > 0 {
						t.Errorf("the forecast changed the run, of %d parts: %s", len(d.parts[1]), diff)
					}
				}
			})
		}
	}
}
