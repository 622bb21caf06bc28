package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Before is the job's newest run that was sent, for a comparison with one that awaits approval.
type Before struct {
	Run       messaging.Run
	Same      bool // it sent the same list
	OtherSend bool // it sent something else, such as another template
}

// ForecastRun says what a run that awaits approval would send, were it let go now: of the rows that are stored for it, by the code that cuts its
// files or hands its rows over. Who may not get it any more since the list was read stands in Tally.Excluded, with Late. A run that moves on meanwhile
// has none: what was read of it is partly from before and partly from after.
func (s *Scheduler) ForecastRun(ctx context.Context, id messaging.RunID) (Forecast, error) {
	r, err := s.Store.Run(ctx, id)
	if err != nil {
		return Forecast{}, err
	}
	if r.State != messaging.RunAwaiting {
		return Forecast{}, awaitsNot(&r)
	}
	f := &storedForecast{working: &working{Scheduler: s, run: r, job: s.brakesOf(&r)}, columns: layoutOf(r.Columns)}
	if f.job == nil {
		return Forecast{}, unknownRules(&r)
	}
	f.out = Forecast{Job: r.Job, Run: r, Source: r.Source, Tally: r.Tally, Awaiting: []string{r.Reason}, Columns: titles(r.Columns), Priced: s.prices(r.Account) != nil}
	f.out.Before, err = s.before(ctx, &r)
	if err == nil {
		err = f.read(ctx)
	}
	if now, failed := s.Store.Run(ctx, id); failed == nil && now.State != messaging.RunAwaiting {
		err = awaitsNot(&now)
	} else if err == nil {
		err = failed
	}
	if err != nil {
		return Forecast{}, err
	}
	return f.out, s.conclude(ctx, &f.out, f.job)
}

func awaitsNot(r *messaging.Run) error {
	return &wordError{fmt.Sprintf("run %d does not await approval: it is %s", r.ID, strings.ReplaceAll(string(r.State), "_", " ")), fmt.Sprintf("nudgewire jobs show %d tells of it", r.ID)}
}

// before is the run before one of the same job; nil for none.
func (s *Scheduler) before(ctx context.Context, r *messaging.Run) (*Before, error) {
	last, ok, err := s.Store.LastSent(ctx, r.Job)
	if err != nil || !ok {
		return nil, err
	}
	return &Before{Run: last, Same: last.Tally.SHA256 == r.Tally.SHA256, OtherSend: last.TemplateID != r.TemplateID || !last.Send.Same(r.Send)}, nil
}

// A storedForecast is one reading of the rows that are stored for a run.
type storedForecast struct {
	*working
	columns layout
	out     Forecast
	some    []messaging.ListRow // at hand
}

func (f *storedForecast) read(ctx context.Context) error {
	all := messaging.RowRanges{{First: 1, Last: f.run.Tally.Kept}}
	if f.run.Tally.Kept == 0 {
		return nil
	}
	if f.run.Deliver == messaging.DeliverCSV {
		return f.files(ctx, all)
	}
	err := f.Store.ListRows(ctx, f.run.ID, all, func(row *messaging.ListRow) error {
		if f.some = append(f.some, *row); len(f.some) < batchRows {
			return ctx.Err()
		}
		return f.messages(ctx)
	})
	if err != nil {
		return err
	}
	return f.messages(ctx)
}

// files cuts all files of the run, as their turns come.
func (f *storedForecast) files(ctx context.Context, rows messaging.RowRanges) error {
	f.out.Tally.Parts, f.out.Tally.Bytes = 0, 0
	turns, now := f.job.turns(&f.run, f.Now()), f.Now()
	if turns == nil {
		return f.filesOf(ctx, rows, turn{})
	}
	of, at := map[time.Time]messaging.RowRanges{}, []turn(nil)
	err := f.Store.ListRows(ctx, f.run.ID, rows, func(row *messaging.ListRow) error {
		one := turns.of(row.Phone)
		if !one.at.After(now) {
			one = turn{}
		}
		if _, known := of[one.at]; !known {
			at = append(at, one)
		}
		of[one.at] = of[one.at].Add(messaging.RowRange{First: row.Number, Last: row.Number})
		return ctx.Err()
	})
	slices.SortFunc(at, func(a, b turn) int { return a.at.Compare(b.at) })
	for _, one := range at {
		if err == nil {
			err = f.filesOf(ctx, of[one.at], one)
		}
	}
	return err
}

// ask is working.ask of rows as of their turns.
func (f *storedForecast) ask(ctx context.Context, phones []messaging.Phone) ([]answer, error) {
	answers, err := f.mayGo(ctx, &f.run, f.job, phones, nil, foretold)
	for i := range answers {
		if answers[i].Rule == messaging.RuleAt {
			answers[i].Verdict = messaging.Verdict{}
		}
	}
	return answers, err
}

// filesOf cuts the files of those rows, which all have that turn.
func (f *storedForecast) filesOf(ctx context.Context, rows messaging.RowRanges, at turn) error {
	for {
		c := &cutting{ask: f.ask, columns: f.run.Columns, most: f.job.MaxSize}
		if err := c.cut(ctx, f.Store, &messaging.Part{List: f.run.ID, Ranges: rows}); err != nil {
			return err
		}
		f.out.Tally = c.lose(f.out.Tally, &f.run, f.prices(f.run.Account))
		for _, l := range c.late {
			f.out.Later.count(&messaging.Verdict{Rule: l.rule, Until: l.until}, 1)
		}
		if len(c.phones) > 0 {
			if !at.at.IsZero() {
				f.out.Later.turn(at, int64(len(c.phones)))
			}
			f.out.Tally.Parts++
			f.out.Tally.Bytes += int64(c.file.Len())
			if err := f.show(ctx, c.taken); err != nil {
				return err
			}
		}
		if c.stop == 0 {
			return nil
		}
		rows = rows.From(c.stop)
	}
}

// errShown ends the reading of rows that are shown.
var errShown = errors.New("enough rows are shown")

// show fills in the first rows of a file.
func (f *storedForecast) show(ctx context.Context, rows messaging.RowRanges) error {
	if len(f.out.Previews) >= maxPreviews {
		return nil
	}
	err := f.Store.ListRows(ctx, f.run.ID, rows, func(row *messaging.ListRow) error {
		if f.preview(row); len(f.out.Previews) == maxPreviews {
			return errShown
		}
		return nil
	})
	if errors.Is(err, errShown) {
		return nil
	}
	return err
}

// messages asks about the rows at hand, each of which is handed over as a message.
func (f *storedForecast) messages(ctx context.Context) error {
	if len(f.some) == 0 {
		return nil
	}
	rows, phones := make([]messaging.Message, len(f.some)), make([]messaging.Phone, len(f.some))
	for i := range f.some {
		rows[i] = f.message(f.columns, &f.some[i])
		phones[i] = rows[i].Phone
	}
	answers, err := f.mayGo(ctx, &f.run, f.job, phones, func(i int) messaging.Category { return rows[i].Category }, foretold)
	if err != nil {
		return err
	}
	lost := cutting{}
	for i, row := range f.some {
		switch v := &answers[i]; v.Action {
		case messaging.DropSend:
			lost.gone = append(lost.gone, lostRow{ListRow: row, kind: KindContact, why: v.Counted(), category: rows[i].Category})
			continue
		case messaging.DeferSend:
			f.out.Later.count(&v.Verdict, 1)
		}
		if len(f.out.Previews) < maxPreviews {
			f.preview(&row)
		}
	}
	f.out.Tally = lost.lose(f.out.Tally, &f.run, f.prices(f.run.Account))
	f.some = f.some[:0]
	return nil
}

// preview keeps a row as it would be sent.
func (f *storedForecast) preview(row *messaging.ListRow) {
	m := f.message(f.columns, row)
	f.out.Previews = append(f.out.Previews, Preview{Phone: m.Phone, SentAs: row.Given, Variables: slices.Clone(row.Cells), Reads: f.job.shown(m.Send, f.run.TemplateID, f.run.Account)})
}

// Words say how the run differs from the one before.
func (b *Before) Words(kept int64) string {
	words := fmt.Sprintf("%s, and run %d of %s sent %s", units.Count(kept, "row"), b.Run.ID, b.Run.EndedAt.UTC().Format("2006-01-02 15:04 UTC"), units.Number(b.Run.Tally.Kept))
	switch {
	case b.Same:
		words += ", the same list"
	case b.Run.Tally.Kept > 0:
		words += fmt.Sprintf(" (%+.1f %%)", 100*(float64(kept)/float64(b.Run.Tally.Kept)-1))
	}
	if b.OtherSend {
		words += "; that run sent something else"
	}
	return words
}
