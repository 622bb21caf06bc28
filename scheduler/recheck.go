package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Between the building of a run and the moment at which its rows leave lie a guard, a pause, a halt,
// the rate, the parts before, a restart, a day of tries: time in which a contact may be blocked, or
// another campaign may reach it. So everybody is asked about once more right before, and from the
// question until the store knows that they get it no other run asks (Scheduler.leaving): of two runs
// with one list the first has them, and the other excludes them.

// asking is the question about the rows of the run, as the job has it now; one that is not in the
// config any more names no time.
func (w *working) asking() Question {
	q := Question{Now: w.Now(), Of: w.run.ID}
	if w.job != nil {
		q.Within = w.job.Exclude.MessagedWithin.D()
	}
	return q
}

func (w *working) ask(ctx context.Context, phones []nudgewire.Phone) ([]Why, error) {
	if w.Excluder == nil {
		return make([]Why, len(phones)), nil
	}
	answers, err := w.Excluder.Excluded(ctx, phones, w.asking())
	if err == nil && len(answers) != len(phones) {
		err = fmt.Errorf("%d answers for %d phones", len(answers), len(phones))
	}
	if err != nil {
		return nil, fmt.Errorf("ask who must not be sent to: %w", err)
	}
	return answers, nil
}

// claim rechecks a part that is uploaded as a file, and claims it. A part that nobody is left on comes
// back excluded.
func (w *working) claim(ctx context.Context, p nudgewire.Part) (nudgewire.Part, error) {
	if w.run.Deliver == nudgewire.DeliverCSV && w.Excluder != nil {
		w.leaving.Lock()
		defer w.leaving.Unlock()
		var err error
		if p, err = w.recheck(ctx, p); err != nil || p.State != nudgewire.PartBuilt {
			return p, err
		}
	}
	return w.Store.ClaimPart(ctx, w.run.ID, p.Number, w.Owner, w.Now().UTC())
}

// recheck takes those off a part who must not be sent to by now: it writes another file, then has the
// store know it. A crash between the two leaves a file that nobody asks for, and the next recheck
// writes it anew.
func (w *working) recheck(ctx context.Context, p nudgewire.Part) (_ nudgewire.Part, err error) {
	gone := map[nudgewire.Phone]Why{} // asked once: the file must be the one that was counted
	count := newRechecking(w.run.Folder, func(ctx context.Context, phones []nudgewire.Phone) ([]Why, error) {
		answers, err := w.ask(ctx, phones)
		for i, why := range answers {
			if why.Reason != "" {
				gone[phones[i]] = why
			}
		}
		return answers, err
	})
	now, err := count.part(ctx, p, "")
	if err = errors.Join(err, count.positions.close()); err != nil || now.Rows == p.Rows {
		return p, err
	}
	s := newRechecking(w.run.Folder, func(_ context.Context, phones []nudgewire.Phone) ([]Why, error) {
		answers := make([]Why, len(phones))
		for i, p := range phones {
			answers[i] = gone[p]
		}
		return answers, nil
	})
	defer func() { err = errors.Join(err, s.positions.close()) }()
	r := w.run
	r.Tally.Excluded = slices.Clone(r.Tally.Excluded)
	if w.Points != nil {
		s.lost = func(phone string) { r.Tally.Points = decimal(r.Tally.Points - w.Points(r.Category, phone)) }
	}
	name := rechecked(p, p.Rows-now.Rows)
	if err := s.write(ofRetry(excludedFile, name), ofRetry(positionsFile, name)); err != nil {
		return p, err
	}
	if err := s.copyExcluded(p); err != nil {
		return p, errors.Join(err, s.discard())
	}
	if now, err = s.part(ctx, p, name); err != nil {
		return p, errors.Join(err, s.discard())
	}
	if err := s.settle(); err != nil {
		return p, err
	}
	lost := p.Rows - now.Rows
	now.Excluded, now.UpdatedAt = p.Excluded+lost, w.Now().UTC()
	if now.Rows == 0 {
		now.State, now.RetryAt = nudgewire.PartExcluded, time.Time{}
		now.Reason = fmt.Sprintf("nobody on it is left to send to: %s excluded since it was built", units.Count(now.Excluded, "row"))
	}
	r.Tally.Kept -= lost
	r.Tally.Bytes += now.Bytes - p.Bytes
	for _, x := range s.files.short(s.reasons.list()) {
		r.Tally.Excluded = addLate(r.Tally.Excluded, x)
	}
	if err := w.Store.ReplacePart(ctx, w.Owner, r, now); err != nil {
		return p, err
	}
	w.run = r
	return now, nil
}

// rechecked is the name of the file that a part has once it has lost that many more rows. It is
// known as the same file by what stands before the first dot, and no other part of the folder, and
// no earlier file of this one, is called so.
func rechecked(p nudgewire.Part, lost int64) string {
	name := strings.TrimSuffix(p.File, ".csv")
	if p.Excluded > 0 {
		name = name[:strings.LastIndexByte(name, '.')]
	}
	return fmt.Sprintf("%s.part-%d-without-%d.csv", name, p.Number, p.Excluded+lost)
}

// copyExcluded begins the list of what a part has lost with what it lost before.
func (s *rechecking) copyExcluded(p nudgewire.Part) error {
	if p.Excluded == 0 {
		return nil
	}
	return ReadExcluded(excludedFileOf(s.folder, &p), func(x ExcludedRow) error {
		s.excluded.add(x)
		return s.excluded.failed()
	})
}

// addLate adds an excludedReason that came after the building to the ones of its reason.
func addLate(all []nudgewire.Excluded, x nudgewire.Excluded) []nudgewire.Excluded {
	x.Late = true
	for i := range all {
		if one := &all[i]; one.Late && one.Kind == x.Kind && one.Reason == x.Reason {
			one.Count += x.Count
			return all
		}
	}
	return append(all, x)
}
