package scheduler

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/duerules"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A file that a retry made of another is called after it and after its own slot:
// part-0002.retry-1-of-run-12.csv. So the two are known as one file, which goes out once.

// ofSlot is the name of a file that a retry makes in place of another.
func ofSlot(file, slot string) string {
	name, _, _ := strings.Cut(file, ".")
	return name + "." + fileName(slot) + ".csv"
}

// ofRetry is the name of the file that stands beside part as file does beside the first one.
func ofRetry(file, part string) string {
	_, rest, _ := strings.Cut(part, ".")
	name, _, _ := strings.Cut(file, ".")
	return name + "." + rest
}

// fileOf is the name of the file that a run built, of which a retry may have made another.
func fileOf(file string) string {
	name, _, _ := strings.Cut(file, ".")
	return name + ".csv"
}

// An Ask says of each phone why it is excluded by now, as Excluder.Excluded does. It is asked for up
// to 512 phones at a time.
type Ask func(ctx context.Context, phones []nudgewire.Phone) ([]Why, error)

// Recheck excludes from a retry that uploads files who must not be sent to by now: between the run and
// its retry a contact may have been blocked, or messaged by another campaign. With write it makes new files
// in place of those that lose rows; without, it only counts. A file that cannot be read stays in:
// its upload will say what is wrong with it.
func (t *Retry) Recheck(ctx context.Context, in files.Store, ask Ask, write bool) (err error) {
	s := newRechecking(in, t.Run.Folder, ask)
	defer func() { err = errors.Join(err, s.positions.close()) }()
	if write {
		s.write(ctx, ofSlot(excludedFile, t.Run.Slot), ofSlot(positionsFile, t.Run.Slot))
		defer func() {
			if err != nil || s.reasons.count() == 0 {
				err = errors.Join(err, s.discard())
			}
		}()
	}
	parts := t.Parts
	t.Parts, t.Run.Tally.Kept, t.Run.Tally.Bytes = nil, 0, 0
	for _, p := range parts {
		if p, err = s.part(ctx, p, ofSlot(p.File, t.Run.Slot)); err != nil {
			return err
		}
		if p.Rows == 0 {
			if err := s.remove(ctx, p); err != nil {
				return err
			}
			continue
		}
		p.Number, p.First = len(t.Parts)+1, t.Run.Tally.Kept+1
		t.Parts = append(t.Parts, p)
		t.Run.Tally.Kept += p.Rows
		t.Run.Tally.Bytes += p.Bytes
	}
	t.Run.Tally.Parts, t.Run.Tally.Excluded = len(t.Parts), s.files.short(s.reasons.list())
	if len(t.Parts) == 0 {
		top := t.Run.Tally.Excluded[0]
		return nothingLeft(t.Run.RetryOf, fmt.Sprintf("nobody on its files is left to send to: of %s %s because %s", units.Count(s.reasons.count(), "row"), units.Number(top.Count), top.Reason))
	}
	if !write || s.reasons.count() == 0 {
		return nil
	}
	return s.settle()
}

// A rechecking goes through parts and excludes who must not be sent to by now.
type rechecking struct {
	in        files.Store
	folder    string
	ask       Ask
	reasons   excludedReasons
	lost      func(phone string) // is called for each who is excluded; nil for nobody
	positions positionsReader
	files     fileNames
	excluded  *excludedList // nil to count only
	kept      *positions
}

func newRechecking(in files.Store, folder string, ask Ask) *rechecking {
	return &rechecking{in: in, folder: folder, ask: ask, positions: positionsReader{in: in, folder: folder}}
}

// write has it make files, not only count: lists of those names, of the rows that are excluded and of
// where the others stand.
func (s *rechecking) write(ctx context.Context, excludedName, keptName string) {
	to := makerIn(ctx, s.in, s.folder)
	s.excluded, s.kept = &excludedList{make: to, name: excludedName}, &positions{make: to, name: keptName}
}

// discard gives up the lists.
func (s *rechecking) discard() error { return errors.Join(s.excluded.abandon(), s.kept.abandon()) }

// settle keeps the lists.
func (s *rechecking) settle() error { return errors.Join(s.excluded.close(), s.kept.close()) }

// remove takes the file of a part away that nobody is left on.
func (s *rechecking) remove(ctx context.Context, p nudgewire.Part) error {
	if s.excluded == nil {
		return nil
	}
	return s.in.Remove(ctx, files.Join(s.folder, p.File))
}

// part gives the part as it is now: with fewer rows and another file, of that name, where somebody on
// it is excluded by now.
func (s *rechecking) part(ctx context.Context, p nudgewire.Part, name string) (_ nudgewire.Part, err error) {
	if why, err := intact(ctx, s.in, s.folder, &p); err != nil || why != "" {
		return p, err
	}
	f, err := s.in.Open(ctx, files.Join(s.folder, p.File))
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows := csv.NewReader(bufio.NewReaderSize(f, 1<<16))
	header, err := rows.Read()
	if err != nil {
		return p, fmt.Errorf("read %s again: %w", p.File, err)
	}
	to := maker(nowhere)
	if s.excluded != nil {
		to = makerIn(ctx, s.in, s.folder)
	}
	out, err := newPartWriter(to, math.MaxInt64, header, nil, func(*nudgewire.Part, int) error { return nil })
	if err != nil {
		return p, err
	}
	out.name = func(int) string { return name }
	if err = out.begin(); err == nil {
		err = s.rows(ctx, p, rows, out)
	}
	if err == nil && out.kept == p.Rows { // nobody is excluded: it stays as it is
		return p, out.abandon()
	}
	if err == nil {
		err = out.finish()
	}
	if err != nil {
		return p, errors.Join(fmt.Errorf("read %s again: %w", p.File, err), out.abandon())
	}
	now := out.last()
	p.Rows, p.Bytes = now.Rows, now.Bytes
	if s.excluded != nil {
		p.File, p.SHA256 = name, now.SHA256
	}
	return p, nil
}

// rows passes on the rows of a part that still may go.
func (s *rechecking) rows(ctx context.Context, p nudgewire.Part, from *csv.Reader, to *partWriter) (err error) {
	for number := int64(0); err == nil; {
		var rows [][]string
		var phones []nudgewire.Phone
		for len(rows) < batchRows && err == nil {
			var row []string
			if row, err = from.Read(); err == nil {
				phone, _ := nudgewire.PhoneOf(row[0])
				rows, phones = append(rows, row), append(phones, phone)
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		answers, failed := s.ask(ctx, phones)
		if failed != nil {
			return failed
		}
		for i, row := range rows {
			number++
			at, _ := s.positions.of(ctx, p.File, number) // where that is not known any more, the row goes or stays all the same
			if err := s.row(p.First+number, at, row, answers[i], to); err != nil {
				return err
			}
		}
	}
	return nil
}

// row passes one row on, or excludes it.
func (s *rechecking) row(nth int64, at nudgewire.Position, row []string, why Why, to *partWriter) error {
	s.files.see(at.File)
	if why.Reason != "" {
		s.reasons.add(KindContact, "the contact "+why.Reason, position{at, int(nth)})
		if s.lost != nil {
			s.lost(row[0])
		}
		if s.excluded == nil {
			return nil
		}
		phone, _ := nudgewire.PhoneOf(row[0])
		s.excluded.add(ExcludedRow{Position: at, Reason: why.whole(), Phone: why.shown(row[0]), Digits: why.shown(string(phone))})
		return s.excluded.failed()
	}
	if err := to.Write(row); err != nil {
		return err
	}
	if s.kept == nil || at == (nudgewire.Position{}) {
		return nil
	}
	return s.kept.add(to.last().File, to.last().Rows, at)
}

// Between the building of a run and the moment at which its rows leave lie a guard, a pause, a halt,
// the rate, the parts before, a restart, a day of tries: time in which a contact may be blocked, or
// another campaign may reach it. So everybody is asked about once more right before, and from the
// question until the store knows that they get it no other run asks (Scheduler.leaving): of two runs
// with one list the first has them, and the other excludes them.

// ask says who must not be sent to, as the job has it now.
func (w *working) ask(ctx context.Context, phones []nudgewire.Phone) ([]Why, error) {
	return w.excluded(ctx, &w.run, w.brakes(), phones)
}

// excluded says why contacts are excluded from what leaves of a run, or goes again of it: they are
// blocked by now, or were messaged for another reason than this run within the time that the job
// names. What a run is, it says itself: its job may deliver otherwise by now.
func (s *Scheduler) excluded(ctx context.Context, r *nudgewire.Run, job *Compiled, phones []nudgewire.Phone) ([]Why, error) {
	if s.Excluder == nil {
		return make([]Why, len(phones)), nil
	}
	if job == nil {
		return nil, unknownRules(r)
	}
	q := Question{Now: s.Now(), Of: r.ID, Within: job.Exclude.MessagedWithin.D(), Consent: s.needsConsent(r, job), Marketing: listsMarketing(r)}
	if r.Deliver == nudgewire.DeliverCSV { // else the claim of each message asks
		list := s.rules().List(r.Job, r.Config, r.Category)
		if list.Unknown() != "" {
			return nil, unknownRules(r)
		}
		q.Back = list.Back()
		q.Over = func(phone nudgewire.Phone, sends []nudgewire.PastSend) string { return list.Over(phone, sends, q.Now) }
	}
	answers, err := s.Excluder.Excluded(ctx, phones, q)
	if err == nil && len(answers) != len(phones) {
		err = fmt.Errorf("%d answers for %d phones", len(answers), len(phones))
	}
	if err != nil {
		return nil, fmt.Errorf("ask who must not be sent to: %w", err)
	}
	return answers, nil
}

// needsConsent reports whether those on a list are excluded whose consent is not recorded. What goes as messages of
// its own, whose categories may differ, is asked about when each falls due.
func (s *Scheduler) needsConsent(r *nudgewire.Run, job *Compiled) bool {
	return listsMarketing(r) && (job.Consent == duerules.ConsentRequired || s.rules().List(r.Job, r.Config, r.Category).Consent())
}

// listsMarketing reports whether a run leaves in files of marketing.
func listsMarketing(r *nudgewire.Run) bool {
	return r.Deliver == nudgewire.DeliverCSV && r.Category == nudgewire.Marketing
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
	at := w.Now().UTC()
	if w.run.Deliver == nudgewire.DeliverCSV {
		// Before the claim, so that nobody gets the file of whom a limit does not know it.
		phones, err := w.phonesOn(ctx, &p)
		if isAway(err) {
			return p, err
		}
		if err != nil {
			w.Log.Warn("who is on a file cannot be read; limits do not count it", zap.String("file", p.File), zap.Error(err))
		} else if err := w.Store.NoteContacts(ctx, w.run.ID, p.Number, at, phones); err != nil {
			return p, err
		}
		if reach := w.reach(); !reach.IsZero() {
			return w.Store.ClaimPartInRoom(ctx, w.run.ID, p.Number, w.Owner, at, roomFor(reach, w.run.Account, phones, at))
		}
	}
	return w.Store.ClaimPart(ctx, w.run.ID, p.Number, w.Owner, at)
}

// recheck takes those off a part who must not be sent to by now: it writes another file, then has the
// store know it. A crash between the two leaves a file that nobody asks for, and the next recheck
// writes it anew.
func (w *working) recheck(ctx context.Context, p nudgewire.Part) (_ nudgewire.Part, err error) {
	gone := map[nudgewire.Phone]Why{} // asked once: the file must be the one that was counted
	in := w.files()
	count := newRechecking(in, w.run.Folder, func(ctx context.Context, phones []nudgewire.Phone) ([]Why, error) {
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
	s := newRechecking(in, w.run.Folder, func(_ context.Context, phones []nudgewire.Phone) ([]Why, error) {
		answers := make([]Why, len(phones))
		for i, p := range phones {
			answers[i] = gone[p]
		}
		return answers, nil
	})
	defer func() { err = errors.Join(err, s.positions.close()) }()
	r := w.run
	r.Tally.Excluded = slices.Clone(r.Tally.Excluded)
	if prices := w.prices(w.run.Account); prices != nil {
		s.lost = func(phone string) { r.Tally.Points = decimal(r.Tally.Points - prices.Of(r.Category, phone)) }
	}
	name := rechecked(p, p.Rows-now.Rows)
	s.write(ctx, ofRetry(excludedFile, name), ofRetry(positionsFile, name))
	if err := s.copyExcluded(ctx, p); err != nil {
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
func (s *rechecking) copyExcluded(ctx context.Context, p nudgewire.Part) error {
	if p.Excluded == 0 {
		return nil
	}
	return ReadExcluded(ctx, s.in, excludedFileOf(s.folder, &p), func(x ExcludedRow) error {
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
