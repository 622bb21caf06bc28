package simulation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A runDeed is something about a run that a player does at a time: it begins, or somebody approves or cancels it.
type runDeed struct {
	at  time.Time
	run *messaging.Run
	do  func(ctx context.Context) error
}

// playedLists are what a player has of lists.
type playedLists struct {
	deeds        []runDeed                           // that wait for their time
	simulatedRun map[messaging.RunID]messaging.RunID // of real runs in the world
	realRun      map[messaging.RunID]messaging.RunID // and back
	why          map[messaging.RunID]string          // why a run is not played by its config
	notes        []string
	rowsUnknown  map[messaging.RunID]bool // nobody can know what its rows say by this config
	rows         rowNumbers
	gone         int64 // rows whose contact was forgotten
	failed       error
}

// readRuns reads which runs were, and counts those that cannot be played.
func (c *comparing) readRuns(ctx context.Context) error {
	all, err := c.Store.Runs(ctx, store.RunFilter{Since: c.From.Add(-c.Warm), Limit: math.MaxInt32})
	if err != nil {
		return err
	}
	slices.Reverse(all)
	for i := range all {
		c.readRun(&all[i])
	}
	slices.SortStableFunc(c.runs, func(a, b *messaging.Run) int { return a.StartedAt.Compare(b.StartedAt) })
	return nil
}

func (c *comparing) readRun(r *messaging.Run) {
	compared := !r.CreatedAt.Before(c.From)
	switch {
	case r.CreatedAt.After(c.Until), !r.StartedAt.IsZero() && r.StartedAt.After(c.Until):
		return
	case r.RetryOf != 0:
		c.left.again++
		return
	case !r.BlankedAt.IsZero():
		c.left.blanked++
	case rowsOf(r) == 0 || r.StartedAt.IsZero():
		if compared && (r.State == messaging.RunSkipped || r.State == messaging.RunFailed) {
			c.left.unread++
		}
	case r.State == messaging.RunPlanned || r.State == messaging.RunBuilding: // it is read just now
	default:
		c.known[r.ID] = r
		if compared {
			c.out.Runs++
			c.left.excluded += max(0, r.Tally.Rows-rowsOf(r))
		}
	}
	c.runs = append(c.runs, r)
}

// rowsOf is how many rows of a run could go when its list was read.
func rowsOf(r *messaging.Run) int64 {
	n := r.Tally.Kept
	for _, x := range r.Tally.Excluded {
		if x.Late {
			n += x.Count
		}
	}
	return n
}

// planRuns plans when a player begins which run, and what people say of it.
func (c *comparing) planRuns(p *player, r *Rules) {
	p.playedLists = playedLists{
		simulatedRun: map[messaging.RunID]messaging.RunID{}, realRun: map[messaging.RunID]messaging.RunID{}, why: map[messaging.RunID]string{}, rowsUnknown: map[messaging.RunID]bool{},
	}
	p.rows.of = p.Store
	at := c.firings(p, r)
	for _, run := range c.runs {
		if c.known[run.ID] == nil {
			continue
		}
		f, why := at.of(run, r.job(run.Job))
		if why != "" {
			p.why[run.ID] = why
			continue
		}
		begins := run.StartedAt
		if !f.At.Equal(run.DueAt) {
			begins = f.At
		}
		p.rowsUnknown[run.ID] = !r.job(run.Job).HasColumns(run.Columns)
		p.deeds = append(p.deeds, runDeed{begins, run, func(ctx context.Context) error { return c.fire(ctx, p, run, f) }})
		p.planDeedsOfPeople(run, begins)
	}
	slices.SortStableFunc(p.deeds, func(a, b runDeed) int { return a.at.Compare(b.at) })
}

// planDeedsOfPeople plans what people said and did of a run, which is not before it begins.
func (p *player) planDeedsOfPeople(run *messaging.Run, begins time.Time) {
	say := func(at time.Time, do func(ctx context.Context, id messaging.RunID) error) {
		if at.Before(begins) {
			at = begins
		}
		p.deeds = append(p.deeds, runDeed{at, run, func(ctx context.Context) error {
			if id := p.simulatedRun[run.ID]; id != 0 {
				return do(ctx, id)
			}
			return nil
		}})
	}
	for _, by := range run.Approvals.By {
		say(by.At, func(ctx context.Context, id messaging.RunID) error { return p.ApproveRun(ctx, id, by) })
	}
	if run.State == messaging.RunCancelled && run.Stopped == messaging.StopPerson {
		say(run.EndedAt, func(ctx context.Context, id messaging.RunID) error { return p.CancelRun(ctx, id, run.StoppedBy) })
	}
}

// carryOut does what is planned next.
func (p *player) carryOut(ctx context.Context) error {
	one := p.deeds[0]
	p.deeds = p.deeds[1:]
	if err := p.RunUntil(ctx, one.at); err != nil {
		return err
	}
	if err := one.do(ctx); err != nil {
		return fmt.Errorf("run %d: %w", one.run.ID, err)
	}
	return p.failed
}

// fire begins a run with the rows that are stored of it.
func (c *comparing) fire(ctx context.Context, p *player, run *messaging.Run, f scheduler.Firing) error {
	list := &scheduler.PastList{Columns: run.Columns, SHA256: run.Tally.SHA256, Rows: func(ctx context.Context, each func(*messaging.ListRow) error) error {
		return c.Store.ListRows(ctx, run.ID, messaging.RowRanges{{First: 1, Last: rowsOf(run)}}, func(row *messaging.ListRow) error {
			if row.Phone == "" || row.Phone.IsMasked() {
				p.gone++
				return nil
			}
			return each(row)
		})
	}}
	past := *run
	past.Repeats = p.simulatedRun[run.Repeats]
	id, err := p.FirePast(ctx, &past, f, list)
	if err != nil {
		return err
	}
	p.simulatedRun[run.ID], p.realRun[id] = id, run.ID
	return nil
}

// playUntil plays events, and the runs among them, in both worlds until a time. It stops at each run, so that no more is held in memory
// than a run has rows.
func (c *comparing) playUntil(ctx context.Context, events []messaging.Event, until time.Time) error {
	for {
		stop := until
		for _, p := range []*player{c.was, c.is} {
			if p != nil && len(p.deeds) > 0 && p.deeds[0].at.Before(stop) {
				stop = p.deeds[0].at
			}
		}
		if err := c.readRunLedgers(ctx, stop); err != nil {
			return err
		}
		n := 0
		for n < len(events) && (!events[n].ReceivedAt.After(stop) || stop.Equal(until)) {
			n++
		}
		some := events[:n]
		events = events[n:]
		if err := c.both(func(p *player) error { return p.play(ctx, some, stop) }); err != nil {
			return err
		}
		c.settle()
		if !stop.Before(until) {
			return nil
		}
	}
}

// lastRun is when the last run begins, or something is said of one; Until where none does after that.
func (c *comparing) lastRun() time.Time {
	last := c.Until
	for _, p := range []*player{c.was, c.is} {
		if p != nil && len(p.deeds) > 0 && p.deeds[len(p.deeds)-1].at.After(last) {
			last = p.deeds[len(p.deeds)-1].at
		}
	}
	return last
}

// readRunLedgers reads what became of the runs that begin until a time in one of the worlds.
func (c *comparing) readRunLedgers(ctx context.Context, until time.Time) error {
	for _, p := range []*player{c.was, c.is} {
		if p == nil {
			continue
		}
		for i := range p.deeds {
			if p.deeds[i].at.After(until) {
				break
			}
			if err := c.readRunLedger(ctx, p.deeds[i].run); err != nil {
				return err
			}
		}
	}
	for len(c.runs) > 0 && !c.runs[0].StartedAt.After(until) { // those, too, that neither begins
		if c.known[c.runs[0].ID] != nil {
			if err := c.readRunLedger(ctx, c.runs[0]); err != nil {
				return err
			}
		}
		c.runs = c.runs[1:]
	}
	return nil
}

func (c *comparing) readRunLedger(ctx context.Context, run *messaging.Run) error {
	if c.readOf[run.ID] {
		return nil
	}
	c.readOf[run.ID] = true
	if run.Deliver != messaging.DeliverPerMessage {
		return c.readFiles(ctx, run)
	}
	if err := c.readRemovedRows(ctx, run.ID); err != nil {
		return err
	}
	return c.Store.PastRows(ctx, run.ID, func(number int64, m *messaging.Message) {
		if m.Phone != "" && !m.Phone.IsMasked() && (m.Tries > 0 || !m.AcceptedAt.IsZero()) {
			c.sentReally(messageKey{trigger: run.Job, run: run.ID, row: number}, m)
		}
	})
}

// sentReally takes up a message that was sent.
func (c *comparing) sentReally(key messageKey, m *messaging.Message) {
	one := c.pair(key, m.Phone)
	one.ledger = versionOf(m, c.rules)
	switch m.Status {
	case messaging.StatusSent, messaging.StatusDelivered, messaging.StatusRead, messaging.StatusFailed:
		one.fate, one.recorded = Fate{Status: m.Status, Error: m.Error}, true
	}
}

// readFiles reads which rows of a run left in files.
func (c *comparing) readFiles(ctx context.Context, run *messaging.Run) error {
	files, err := c.Store.PastFiles(ctx, run.ID)
	for i := 0; err == nil && i < len(files); i++ {
		err = c.Store.ListRows(ctx, files[i].List, files[i].Ranges, func(row *messaging.ListRow) error {
			if row.Phone != "" && !row.Phone.IsMasked() {
				one := c.pair(messageKey{trigger: run.Job, run: run.ID, row: row.Number}, row.Phone)
				one.ledger, one.recorded = fileVersion(c.rules, run, row, files[i].At), true
			}
			return nil
		})
	}
	return err
}

// fileVersion is a row of a file as it is sent.
func fileVersion(r *Rules, run *messaging.Run, row *messaging.ListRow, at time.Time) *Version {
	m := messaging.Message{Account: run.Account, Category: run.Category, Phone: row.Phone, SentAs: row.Given, DueAt: at}
	m.Send = messaging.Send{Template: strconv.FormatInt(run.TemplateID, 10), Variables: row.Cells}
	if j := r.job(run.Job); j != nil {
		m.Send.Language = j.Language()
	}
	v := versionOf(&m, r)
	v.Language = ""
	return v
}

// uploaded takes up a file that leaves in the world.
func (p *player) uploaded(ctx context.Context, run *messaging.Run, part *messaging.Part, at time.Time) error {
	of := p.realRun[run.ID]
	return p.Store.ListRows(ctx, part.List, part.Ranges, func(row *messaging.ListRow) error {
		v := fileVersion(&p.World.rules, run, row, at)
		p.assume(v, of)
		p.sent = append(p.sent, sent{messageKey{trigger: run.Job, run: of, row: row.Row}, row.Phone, v})
		return nil
	})
}

// assume leaves out of a version what nobody can know.
func (p *player) assume(v *Version, run messaging.RunID) {
	if p.rowsUnknown[run] {
		v.Language, v.Variables, v.Reads, v.assumed = "", nil, "", true
	}
}

// readOtherwise notes which jobs make other rows of their lists in one config than in the other.
func (c *comparing) readOtherwise(was, is *Rules) {
	if was == nil {
		return
	}
	for _, j := range is.Jobs {
		before := was.job(j.Name)
		if before == nil || scheduler.SameRows(before, j) {
			continue
		}
		c.is.notes = append(c.is.notes, fmt.Sprintf("job %s reads its list otherwise in the two configs: who is on it is taken as it was, and what its rows say is not known", j.Name))
		for _, run := range c.runs {
			c.is.rowsUnknown[run.ID] = c.is.rowsUnknown[run.ID] || run.Job == j.Name
		}
	}
}

// keyOfRow is the key of the message of a row.
func (p *player) keyOfRow(m *messaging.Message) messageKey {
	id, number, is := messaging.RowOfKey(m.Key)
	if !is {
		return messageKey{trigger: m.Trigger}
	}
	row, err := p.rows.real(id, number)
	if err != nil && p.failed == nil {
		p.failed = err
	}
	return messageKey{trigger: m.Trigger, run: p.realRun[id], row: row}
}

// rowNumbers are the real numbers of rows of runs of a world, some hundreds at a time: neighbours are asked for one after the other.
type rowNumbers struct {
	of    *store.Store
	run   messaging.RunID
	first int64
	at    []int64
}

func (r *rowNumbers) real(run messaging.RunID, number int64) (int64, error) {
	if r.run != run || number < r.first || number >= r.first+int64(len(r.at)) {
		r.run, r.first, r.at = run, number, r.at[:0]
		in := messaging.RowRanges{{First: number, Last: number + store.PerRows - 1}}
		err := r.of.ListRows(context.Background(), run, in, func(row *messaging.ListRow) error { r.at = append(r.at, row.Row); return nil })
		if err == nil && len(r.at) == 0 {
			err = errors.New("it is not stored")
		}
		if err != nil {
			return 0, fmt.Errorf("row %d of run %d: %w", number, run, err)
		}
	}
	return r.at[number-r.first], nil
}

// listNotes say what was left out of lists, or assumed.
func (c *comparing) listNotes() (notes []string) {
	if c.is.gone > 0 {
		notes = append(notes, units.Count(c.is.gone, "row")+" of lists, whose contact was forgotten: left out")
	}
	for _, p := range []*player{c.was, c.is} {
		if p == nil {
			continue
		}
		for _, note := range p.notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	if c.out.Runs > 0 {
		notes = append(notes, "lists are as they were read: another source, or other columns, would make others of them")
	}
	return notes
}
