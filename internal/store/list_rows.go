package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// Rows of lists are stored while their run is built, some at a time, in a lane of their own of which each batch takes one, so
// that a long list holds up nobody's message. Whoever lost the run to another process meanwhile stores nothing more.

// PerRows is how many rows of a list share a commit.
const PerRows = 512

var addRowSQL = engine.SQL(`INSERT INTO list_rows (run_id, number, line, file, phone, given, cells, reason, wait_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)`)

// AddRows stores rows of a run that is being built, while it is owner's: ErrMoved otherwise.
func (s *Store) AddRows(ctx context.Context, owner string, run messaging.RunID, rows []messaging.ListRow) error {
	cells := make([]string, len(rows))
	for i := range rows {
		text, err := encodeCells(rows[i].Cells)
		if err != nil {
			return fmt.Errorf("row %d of run %d: %w", rows[i].Number, run, err)
		}
		cells[i] = text
	}
	err := s.Write(ctx, commit.LaneRows, func(t *Tx) error {
		r, err := t.run(run)
		if err != nil {
			return err
		}
		if r.State != messaging.RunBuilding || r.Owner != owner {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		for i := range rows {
			one := &rows[i]
			if err := t.Put(addRowSQL, int64(run), one.Number, one.Row, one.File, string(one.Phone), one.Given, cells[i], one.Reason); err != nil {
				return err
			}
		}
		return nil
	})
	return Wrap(err, "store rows of run %d", run)
}

// encodeCells is a JSON list, "" for none.
func encodeCells(cells []string) (string, error) {
	if len(cells) == 0 {
		return "", nil
	}
	text, err := json.Marshal(cells)
	return string(text), err
}

var dropRowsSQL = engine.SQL(`DELETE FROM list_rows WHERE run_id = ?1 AND number IN (SELECT number FROM list_rows WHERE run_id = ?1 AND number > ?2 ORDER BY number DESC LIMIT 512)`)

// DropRows removes the rows of a run that was not built to its end, unless it is another's by now. excluded says that those go,
// too, which were excluded: else they stay, for whoever mends the list.
func (s *Store) DropRows(ctx context.Context, owner string, run messaging.RunID, excluded bool) error {
	above := int64(0)
	if excluded {
		above = -1 << 62
	}
	for n := int64(1); n > 0; {
		err := s.Write(ctx, commit.LaneRows, func(t *Tx) error {
			n = 0
			r, err := t.run(run)
			if err != nil {
				return err
			}
			parts := false
			err = t.Query(partSQL, func(*engine.Row) error { parts = true; return nil }, int64(run), int64(1))
			if err != nil || parts || r.Owner != "" && r.Owner != owner {
				return err
			}
			n, err = t.Exec(dropRowsSQL, int64(run), above)
			return err
		})
		if err != nil {
			return Wrap(err, "remove rows of run %d", run)
		}
	}
	return nil
}

var noteRowSQL = engine.SQL(`UPDATE list_rows SET reason = ?3, wait_until = ?4 WHERE run_id = ?1 AND number = ?2`)

// NoteRows notes why rows of a list do not go, or until when they wait. What goes in a file all the same says so by its part.
func (s *Store) NoteRows(ctx context.Context, list messaging.RunID, notes []messaging.RowNote) error {
	for some := range slices.Chunk(notes, PerRows) {
		err := s.Write(ctx, commit.LaneRows, func(t *Tx) error {
			for i := range some {
				n := &some[i]
				if err := t.Put(noteRowSQL, int64(list), n.Number, n.Reason, engine.Micro(n.Until)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return Wrap(err, "note rows of run %d", list)
		}
	}
	return nil
}

const listColumns = `run_id, number, line, file, phone, given, cells, reason, wait_until`

func scanListRow(r *engine.Row) (v messaging.ListRow, err error) {
	v = messaging.ListRow{Run: messaging.RunID(r.Int()), Number: r.Int()}
	v.Row, v.File, v.Phone, v.Given = r.Int(), r.Text(), r.Phone(), r.Text()
	cells := r.Text()
	v.Reason, v.WaitUntil = r.Text(), r.Time()
	if r.Err == nil && cells != "" {
		if err := json.Unmarshal([]byte(cells), &v.Cells); err != nil {
			return v, fmt.Errorf("row %d of run %d: %w", v.Number, v.Run, err)
		}
	}
	return v, r.Err
}

// ListRows calls each for the rows of a list in these ranges, in their order. It holds no more than some hundreds of them at a time,
// and no transaction while each is called.
func (s *Store) ListRows(ctx context.Context, of messaging.RunID, in messaging.RowRanges, each func(*messaging.ListRow) error) error {
	for len(in) > 0 {
		// Many short ranges that lie close together are read at once.
		first, last, n := in[0].First, in[0].First, 0
		for ; n < len(in) && in[n].First-first < PerRows; n++ {
			last = min(in[n].Last, first+PerRows-1)
		}
		rows, err := List(ctx, s, `SELECT `+listColumns+` FROM list_rows WHERE run_id = ?1 AND number >= ?2 AND number <= ?3 ORDER BY number`,
			[]any{int64(of), first, last}, scanListRow)
		if err != nil {
			return Wrap(err, "rows of run %d", of)
		}
		for i := range rows {
			if in.Has(rows[i].Number) {
				if err := each(&rows[i]); err != nil {
					return err
				}
			}
		}
		in = in.From(last + 1)
	}
	return nil
}

// ExcludedRows calls each for the rows that a run excluded when it read its list, in the order in which it met them.
func (s *Store) ExcludedRows(ctx context.Context, run messaging.RunID, each func(*messaging.ListRow) error) error {
	for before := int64(0); ; {
		rows, err := List(ctx, s, `SELECT `+listColumns+` FROM list_rows WHERE run_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3`,
			[]any{int64(run), before, int64(PerRows)}, scanListRow)
		if err != nil || len(rows) == 0 {
			return Wrap(err, "rows that run %d excluded", run)
		}
		for i := range rows {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		before = rows[len(rows)-1].Number
	}
}

// LeftOutRows calls each for the rows of a list that do not go, for a reason that was found when their turn came.
func (s *Store) LeftOutRows(ctx context.Context, run messaging.RunID, each func(*messaging.ListRow) error) error {
	for after := int64(0); ; {
		rows, err := List(ctx, s, `SELECT `+listColumns+` FROM list_rows WHERE run_id = ?1 AND number > ?2 AND reason <> '' ORDER BY number LIMIT ?3`,
			[]any{int64(run), after, int64(PerRows)}, scanListRow)
		if err != nil || len(rows) == 0 {
			return Wrap(err, "rows that run %d left out", run)
		}
		for i := range rows {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		after = rows[len(rows)-1].Number
	}
}

// The reads of rows by what they name, which must not walk a list: commit_plan_test.go holds them to it.
var (
	rowsByPhone = `SELECT ` + listColumns + ` FROM list_rows WHERE phone = ?1 AND phone <> '' ORDER BY run_id DESC, number DESC LIMIT ?2`
	rowsByGiven = `SELECT ` + listColumns + ` FROM list_rows WHERE given = ?1 AND phone = '' AND given <> '' ORDER BY run_id DESC, number DESC LIMIT ?2`
	rowPlace    = `SELECT line, file FROM list_rows WHERE run_id = ?1 AND number = ?2`
	partsOfList = `SELECT ` + stored.PartColumns + ` FROM parts WHERE list_id = ?1 ORDER BY run_id, number`
	// partsWith are the parts that have rows which one of the above finds, the oldest first.
	partsWith = func(found string) string {
		return `SELECT found.run_id, found.number, ` + stored.ColumnsOf("p", stored.PartColumns) + ` FROM (` + found + `) found
			JOIN parts p ON p.list_id = found.run_id JOIN part_rows x ON ` + HasRow("found.number") + ` ORDER BY p.run_id, p.number`
	}
)

// A ListRowStory is a row of a list with the run that it is of, and the newest part that has it.
type ListRowStory struct {
	messaging.ListRow
	Of   messaging.Run  // that sends it: of one that went again not the one that read it
	Part messaging.Part // without its rows; Number is 0 where none has it
}

// ListRowsOf returns at most limit rows of lists that have this phone, newest run first and last row first. With an empty phone it returns the
// rows whose phone could not be read and is exactly text.
func (s *Store) ListRowsOf(ctx context.Context, phone messaging.Phone, text string, limit int) (out []ListRowStory, err error) {
	query, arg := rowsByPhone, string(phone)
	if phone == "" {
		query, arg = rowsByGiven, text
	}
	type place struct {
		List   messaging.RunID
		Number int64
	}
	args := []any{arg, int64(limit)}
	rows, err := List(ctx, s, query, args, scanListRow)
	newest, runs := map[place]messaging.Part{}, map[messaging.RunID]messaging.Run{}
	for i := range rows {
		runs[rows[i].Run] = messaging.Run{}
	}
	if err == nil {
		err = s.Rows(ctx, partsWith(query), args, func(r *engine.Row) error {
			at := place{messaging.RunID(r.Int()), r.Int()}
			p, err := stored.ScanPart(r)
			newest[at], runs[p.RunID] = p, messaging.Run{}
			return err
		})
	}
	if err == nil {
		err = s.Rows(ctx, `SELECT `+stored.RunColumns+` FROM runs WHERE id IN `+engine.In(slices.Collect(maps.Keys(runs))), nil, func(r *engine.Row) error {
			one, err := stored.ScanRun(r)
			runs[one.ID] = one
			return err
		})
	}
	for i := 0; err == nil && i < len(rows); i++ {
		one := ListRowStory{ListRow: rows[i], Part: newest[place{rows[i].Run, rows[i].Number}]}
		if one.Of = runs[cmp.Or(one.Part.RunID, one.Run)]; one.Of.ID != 0 { // else it leaves at this moment
			out = append(out, one)
		}
	}
	return out, Wrap(err, "rows of lists")
}

// NewestWith is the newest of the parts that has a row; nil for none.
func NewestWith(parts []messaging.Part, number int64) *messaging.Part {
	for i := range slices.Backward(parts) {
		if parts[i].Ranges.Has(number) {
			return &parts[i]
		}
	}
	return nil
}

// RowPlace is where a row of a list stands in its source; zero where that is not known any more.
func (s *Store) RowPlace(ctx context.Context, run messaging.RunID, number int64) (at messaging.Position, err error) {
	err = s.Rows(ctx, rowPlace, []any{int64(run), number}, func(r *engine.Row) error {
		at = messaging.Position{Row: r.Int(), File: r.Text()}
		return r.Err
	})
	return at, Wrap(err, "row %d of run %d", number, run)
}

// FilesTo are the files with these phones that left since then, or may have.
func (s *Store) FilesTo(ctx context.Context, phones []messaging.Phone, since time.Time) (out []messaging.Contacted, err error) {
	for some := range slices.Chunk(phones, engine.PerList) {
		if err != nil {
			break
		}
		in, args := engine.ListOf(some)
		args = append(args, engine.Micro(since))
		err = s.Rows(ctx, `SELECT DISTINCT l.phone, p.run_id, r.job, r.category, p.claimed_at FROM list_rows l
			JOIN parts p ON p.list_id = l.run_id JOIN runs r ON r.id = p.run_id JOIN part_rows x ON `+HasRow("l.number")+`
			WHERE l.phone <> '' AND l.number > 0 AND l.phone IN (`+in+`) AND p.claimed_at > 0 AND p.claimed_at >= ?`+strconv.Itoa(len(args))+` AND `+reach.MayHaveArrived, args, func(r *engine.Row) error {
			out = append(out, messaging.Contacted{Phone: r.Phone(), Run: messaging.RunID(r.Int()), Trigger: r.Text(), Category: messaging.Category(r.Text()), At: r.Time()})
			return r.Err
		})
	}
	return out, Wrap(err, "files to phones")
}

// HasRow is the condition on the rows x of a part p that it has the row of its list with that number. Ranges of a part do not meet, so one is asked.
func HasRow(number string) string {
	return `x.run_id = p.run_id AND x.part = p.number AND x.last_row >= ` + number + ` AND x.first_row =
		(SELECT max(y.first_row) FROM part_rows y WHERE y.run_id = p.run_id AND y.part = p.number AND y.first_row <= ` + number + `)`
}

// An empty text is added to the phone because SQLite plans a statement anew each time that a bare parameter is bound which may decide whether an
// index with a condition helps, here that of phones that are not empty: it took nine tenths of the query.
var pastPartsSQL = engine.SQL(`SELECT DISTINCT p.run_id, p.number, p.claimed_at, r.category, r.job FROM list_rows l
		JOIN parts p ON p.list_id = l.run_id JOIN runs r ON r.id = p.run_id JOIN part_rows x ON ` + HasRow("l.number") + `
		WHERE l.phone = ?1 || '' AND l.phone <> '' AND l.number > 0 AND p.claimed_at >= ?2 AND ` + reach.MayHaveArrived)

// pastParts calls each for the files with a phone that were uploaded since then, are being uploaded, or may have been: once for a file, however
// often the phone stands on it.
func (t *Tx) pastParts(phone messaging.Phone, since int64, each func(messaging.PastSend)) error {
	return t.Query(pastPartsSQL, func(r *engine.Row) error {
		_, _ = r.Int(), r.Int()
		each(messaging.PastSend{At: r.Time(), Category: messaging.Category(r.Text()), Trigger: r.Text()})
		return r.Err
	}, string(phone), max(since, 1))
}
