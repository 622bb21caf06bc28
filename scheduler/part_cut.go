package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Between the building of a run and the moment at which its rows leave lie a guard, a pause, a halt,
// the rate, the parts before, a restart, a day of tries: time in which a contact may be blocked, or
// another campaign may reach it. So a part is cut when its turn comes, of the rows that may go then, and the
// store claims it only if nothing of that has changed since (internal/store/run_cuts.go). From the question until the store knows that they get it no other run of this
// process asks (Scheduler.leaving): of two runs with one list the first has them, and the other leaves them out.

// forgottenPhone stands in a message of a row whose contact was forgotten.
const forgottenPhone messaging.Phone = "00000000000"

// An Ask says of each phone whether it may get it by now. It is asked for up to 512 phones at a time.
type Ask func(ctx context.Context, phones []messaging.Phone) ([]answer, error)

// ask says who may be sent to, as the job has it now.
func (w *working) ask(ctx context.Context, phones []messaging.Phone) ([]answer, error) {
	return w.mayGo(ctx, &w.run, w.brakes(), phones, nil, atTurn)
}

// errFull ends the reading of rows once a file has no room for more.
var errFull = errors.New("the file is full")

// A cutting makes the file of one part, of the rows that may go now.
type cutting struct {
	ask     Ask
	columns []string
	most    units.Size // of the file
	first   int64      // most rows of it; 0 for as many as fit
	turns   *turns     // of its rows
	now     time.Time

	taken, left messaging.RowRanges // the rows on the file, and those that wait for another
	phones      []messaging.Phone   // of those on it
	gone        []lostRow           // that may never go
	late        []lostRow           // that may go later
	later       laterRows           // how many wait for each turn that is to come
	file        bytes.Buffer
	nth         int // of the files of its run, from 1

	head        int64 // bytes of the header
	enc         *encoder
	some, going []messaging.ListRow // at hand, and those of them that may go
	large       []messaging.ListRow // those of them that are alone larger than a file
	stop        int64               // the first row that found no room; 0 while there is some
}

// A lostRow is a row that does not go, or not yet.
type lostRow struct {
	messaging.ListRow
	kind     string
	rule     string             // that says so, where one does
	why      string             // as reasons are counted
	whole    string             // with what caused it
	until    time.Time          // zero for never
	turn     turn               // that it waits for; then nothing was asked about it
	category messaging.Category // its own; "" is that of the run
}

// cut reads the rows of a part in their order until the file is full.
func (c *cutting) cut(ctx context.Context, from ListStore, p *messaging.Part) error {
	c.enc = newEncoder(len(c.columns), c.takeRow)
	head, err := c.enc.head(c.columns)
	if err != nil {
		return err
	}
	c.file.Write(head)
	c.head = int64(len(head))
	err = from.ListRows(ctx, p.List, p.Ranges, func(row *messaging.ListRow) error {
		if c.some = append(c.some, *row); len(c.some) < batchRows {
			return ctx.Err()
		}
		return c.batch(ctx)
	})
	if err == nil {
		err = c.batch(ctx)
	}
	if err != nil && !errors.Is(err, errFull) {
		return err
	}
	if c.stop > 0 {
		for _, r := range p.Ranges.From(c.stop) {
			c.left = c.left.Add(r)
		}
	}
	return nil
}

// batch asks about the rows at hand, and takes those that may go.
func (c *cutting) batch(ctx context.Context) error {
	if len(c.some) == 0 {
		return nil
	}
	due, lost := c.due()
	phones := make([]messaging.Phone, len(due))
	for i := range due {
		phones[i] = due[i].Phone
	}
	var answers []answer
	if len(due) > 0 {
		var err error
		if answers, err = c.ask(ctx, phones); err != nil {
			return err
		}
	}
	c.going, c.large = c.going[:0], c.large[:0]
	for i, row := range due {
		if v := &answers[i]; v.Action == messaging.AllowSend {
			c.going = append(c.going, row)
		} else {
			lost = append(lost, lostRow{ListRow: row, kind: KindContact, rule: v.Rule, why: v.Counted(), whole: v.Reason, until: v.Until})
		}
	}
	err := c.enc.write(len(c.going), func(i int) contactRow {
		return contactRow{c.going[i].Phone.Spelled(c.going[i].Given), c.going[i].Cells}
	})
	for _, row := range c.large {
		words := fmt.Sprintf("the row alone is larger than a part of %s may be (max_size)", c.most)
		lost = append(lost, lostRow{ListRow: row, kind: KindSize, why: words, whole: words})
	}
	slices.SortFunc(lost, func(a, b lostRow) int { return cmp.Compare(a.Number, b.Number) })
	for _, l := range lost {
		switch {
		case c.stop > 0 && l.Number >= c.stop: // it is asked about again, with the rows behind it
		case l.turn.at.After(c.now):
			c.later.turn(l.turn, 1)
			c.left = c.left.Add(messaging.RowRange{First: l.Number, Last: l.Number})
		case l.until.IsZero():
			c.gone = append(c.gone, l)
		default:
			c.late = append(c.late, l)
			c.left = c.left.Add(messaging.RowRange{First: l.Number, Last: l.Number})
		}
	}
	c.some = c.some[:0]
	return err
}

// due takes those of the rows at hand whose turn has come from the others.
func (c *cutting) due() (due []messaging.ListRow, lost []lostRow) {
	if c.turns == nil {
		return c.some, nil
	}
	for _, row := range c.some {
		if at := c.turns.of(row.Phone); at.at.After(c.now) {
			lost = append(lost, lostRow{ListRow: row, turn: at})
		} else {
			due = append(due, row)
		}
	}
	return due, lost
}

// takeRow puts the i-th of the rows that may go into the file, if there is room.
func (c *cutting) takeRow(i int, row []byte) error {
	one, n := &c.going[i], int64(len(row))
	switch most := c.most.Bytes(); {
	case c.head+n > most:
		c.large = append(c.large, *one)
		return nil
	case int64(c.file.Len())+n > most, c.first > 0 && int64(len(c.phones)) == c.first:
		c.stop = one.Number
		return errFull
	}
	c.file.Write(row)
	c.taken = c.taken.Add(messaging.RowRange{First: one.Number, Last: one.Number})
	c.phones = append(c.phones, one.Phone)
	return nil
}

// sha256 is the hash of the file, hex.
func (c *cutting) sha256() string {
	sum := sha256.Sum256(c.file.Bytes())
	return hex.EncodeToString(sum[:])
}

// notes are what is kept of the rows that do not go, or not yet.
func (c *cutting) notes() []messaging.RowNote {
	notes := make([]messaging.RowNote, 0, len(c.gone)+len(c.late))
	for _, l := range c.gone {
		notes = append(notes, messaging.RowNote{Number: l.Number, Reason: l.whole})
	}
	for _, l := range c.late {
		notes = append(notes, messaging.RowNote{Number: l.Number, Until: l.until})
	}
	return notes
}

// free is when the first of those that were put off may go, and why it waits; zero for none.
func (c *cutting) free() (at time.Time, why string) {
	for _, l := range c.late {
		if at.IsZero() || l.until.Before(at) {
			at, why = l.until, l.whole
		}
	}
	if next := c.later.next(); !next.IsZero() && (at.IsZero() || next.Before(at)) {
		at, why = next, turnWords(c.turns.clock, c.later)
	}
	return at, why
}

// lose takes the rows that do not go off a tally.
func (c *cutting) lose(t messaging.Tally, r *messaging.Run, prices Prices) messaging.Tally {
	t.Excluded = slices.Clone(t.Excluded)
	var reasons excludedReasons
	var names fileNames
	for _, l := range c.gone {
		names.see(l.File)
		reasons.add(l.kind, l.why, position{l.Position, int(l.Number)})
		if prices != nil {
			t.Points = decimal(t.Points - prices.Of(cmp.Or(l.category, r.Category), string(l.Phone)))
		}
	}
	for _, x := range names.short(reasons.list()) {
		t.Excluded = addLate(t.Excluded, x)
	}
	t.Kept -= int64(len(c.gone))
	return t
}

// addLate adds a reason that came after the building to the ones of its kind.
func addLate(all []messaging.Excluded, x messaging.Excluded) []messaging.Excluded {
	x.Late = true
	for i := range all {
		if one := &all[i]; one.Late && one.Kind == x.Kind && one.Reason == x.Reason {
			one.Count += x.Count
			return all
		}
	}
	return append(all, x)
}

// cut makes the file of a part as it may leave now, with that many rows at the most; 0 for as many as fit.
func (w *working) cut(ctx context.Context, p *messaging.Part, first int64) (*cutting, error) {
	c := &cutting{ask: w.ask, columns: w.run.Columns, most: w.brakes().MaxSize, first: first, turns: w.turns(), now: w.Now()}
	// A buffer that grows by itself is half empty in the end, and leaves as much behind.
	if t := &w.run.Tally; t.Kept > 0 {
		rows := p.Rows
		if first > 0 {
			rows = min(rows, first)
		}
		c.file.Grow(int(min(c.most.Bytes(), t.Bytes/t.Kept*rows*21/20)))
	}
	return c, c.cut(ctx, w.Store, p)
}

// errChanged is a part that has to be cut anew, because something changed while it was cut.
var errChanged = errors.New("who may get the part has changed")

// claim cuts a part and claims it, with no more than first rows, 0 for as many as fit. file is nil where nobody on it may go now: it is
// then as the store has it. Errors: errChanged, a *noRoomError, a *noBudgetError.
func (w *working) claim(ctx context.Context, p messaging.Part, parts []messaging.Part, first int64) (_ messaging.Part, file *cutting, err error) {
	w.leaving.Lock()
	defer w.leaving.Unlock()
	point, err := w.Store.Point(ctx, w.run.ID)
	if err != nil {
		return p, nil, err
	}
	job, rules := w.brakes(), w.rules()
	c, err := w.cut(ctx, &p, first)
	if err != nil {
		return p, nil, err
	}
	if fits, err := w.fits(ctx, c); err != nil {
		return p, nil, err
	} else if fits < len(c.phones) {
		if c, err = w.cut(ctx, &p, int64(fits)); err != nil {
			return p, nil, err
		}
	}
	if err := w.Store.NoteRows(ctx, p.List, c.notes()); err != nil {
		return p, nil, err
	}
	tally := c.lose(w.run.Tally, &w.run, w.prices(w.run.Account))
	if len(c.taken) == 0 {
		p, err = w.nobody(ctx, p, c, tally)
		return p, nil, err
	}
	p.Ranges, p.Bytes, p.SHA256 = c.taken, int64(c.file.Len()), c.sha256()
	p.Goes = shares(c.phones, w.run.Category, w.prices(w.run.Account))
	w.count(&tally, parts, &p, c)
	claim := messaging.PartClaim{
		Owner: w.Owner, At: w.Now().UTC(), Point: point, Part: p, Phones: c.phones, Left: c.left, Tally: tally,
		Still: func() bool {
			return w.brakes() == job && w.rules() == rules && !w.held()
		},
	}
	if reach := w.reach(); !reach.IsZero() {
		q := roomFor(reach, w.run.Account, c.phones, claim.At)
		claim.Room = &q
	}
	if purse := w.purse(); purse != nil {
		claim.Budget, claim.Pays = purse, func(s messaging.Spent) bool { return costOf(p.Goes) <= max(0, purse.Left(s)) }
	}
	now, err := w.claimAsCut(ctx, claim)
	if err != nil {
		return p, nil, err
	}
	w.run.Tally = tally
	return now, c, nil
}

// claimAsCut claims a part as it was cut. Of whom something changed meanwhile is asked about once more, and it goes as it is while all of them may
// get it: else a list whose contacts get single messages all the time would never go. Error: errChanged.
func (w *working) claimAsCut(ctx context.Context, c messaging.PartClaim) (messaging.Part, error) {
	for {
		p, claimed, err := w.Store.ClaimPart(ctx, c)
		if err != nil || claimed {
			return p, err
		}
		changed, same, err := w.Store.ChangedContacts(ctx, w.run.ID, c.Point, c.Phones)
		if err != nil {
			return p, err
		}
		if !same || len(changed) == 0 {
			return p, errChanged
		}
		for some := range slices.Chunk(changed, batchRows) {
			answers, err := w.ask(ctx, some)
			if err != nil {
				return p, err
			}
			if slices.ContainsFunc(answers, func(a answer) bool { return a.Action != messaging.AllowSend }) {
				return p, errChanged
			}
		}
	}
}

// shares are how many of a file's phones each country has, and what they cost by a table; nil is none.
func shares(file []messaging.Phone, category messaging.Category, prices Prices) (out []messaging.PartShare) {
	at := map[string]int{}
	for _, phone := range file {
		country := phones.TariffCountry(string(phone))
		i, known := at[country]
		if !known {
			i = len(out)
			at[country] = i
			out = append(out, messaging.PartShare{Country: country})
		}
		out[i].Rows++
		if prices != nil {
			out[i].Points += prices.Of(category, string(phone))
		}
	}
	for i := range out {
		out[i].Points = decimal(out[i].Points)
	}
	slices.SortFunc(out, func(a, b messaging.PartShare) int { return strings.Compare(a.Country, b.Country) })
	return out
}

// nobody stores a part of which nobody may go now.
func (w *working) nobody(ctx context.Context, p messaging.Part, c *cutting, tally messaging.Tally) (messaging.Part, error) {
	r := w.run
	r.Tally = tally
	p.Ranges, p.Rows, p.UpdatedAt = c.left, c.left.Count(), w.Now().UTC()
	if at, why := c.free(); !at.IsZero() {
		p.RetryAt, p.Reason = at, why
	} else {
		p.State, p.RetryAt = messaging.PartExcluded, time.Time{}
		p.Reason = fmt.Sprintf("nobody on it is left to send to: %s excluded since the list was read", units.Count(len(c.gone), "row"))
	}
	if err := w.Store.ReplacePart(ctx, w.Owner, r, p); err != nil {
		return p, err
	}
	w.run = r
	return p, nil
}

// count reckons how many files the run has once this one has left, and their bytes: what is left is reckoned by what has gone.
func (w *working) count(t *messaging.Tally, parts []messaging.Part, p *messaging.Part, c *cutting) {
	t.Parts, t.Bytes, c.nth = 1, p.Bytes, 1
	left := c.left.Count()
	for _, turn := range c.later { // each has a file of its own
		left -= turn.Rows
		w.countRows(t, p, c, turn.Rows)
	}
	for i := range parts {
		switch one := &parts[i]; {
		case one.Number == p.Number || one.State == messaging.PartExcluded:
		case one.State == messaging.PartWaiting:
			left += one.Rows
		default:
			t.Parts++
			t.Bytes += one.Bytes
			if one.Number < p.Number {
				c.nth++
			}
		}
	}
	ahead := min(left, max(0, c.first-int64(len(c.phones)))) // of the canary's look; no file goes past that
	for _, rows := range []int64{ahead, left - ahead} {
		w.countRows(t, p, c, rows)
	}
}

// countRows adds files of that many rows, by the one that has gone.
func (w *working) countRows(t *messaging.Tally, p *messaging.Part, c *cutting, rows int64) {
	if rows > 0 {
		body, most := (p.Bytes-c.head)*rows/int64(len(c.phones)), w.brakes().MaxSize.Bytes()-c.head
		files := (body + most - 1) / most
		t.Parts += int(files)
		t.Bytes += body + files*c.head
	}
}
