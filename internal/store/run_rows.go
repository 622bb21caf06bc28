package store

import (
	"context"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// RunRows tells what became of each row that a run delivers message by message, by number from
// the one after after. It holds no more than some hundreds of them at a time, and no
// transaction while each is called: a slow reader hinders nobody.
func (s *Store) RunRows(ctx context.Context, run messaging.RunID, after int64, each func(*messaging.RunRow) error) error {
	var readBy lastRead
	var places rowPlaces
	ranges, err := List(ctx, s, `SELECT first_row, row_count, message FROM run_rows WHERE run_id = ?1 AND first_row + row_count > ?2 + 1 ORDER BY first_row`,
		[]any{int64(run), after}, scanRange)
	for _, one := range ranges {
		if skip := after + 1 - one.first; skip > 0 {
			one = rowRange{one.first + skip, one.count - skip, one.message + skip}
		}
		for err == nil && one.count > 0 {
			some := rowRange{one.first, min(one.count, engine.PerList), one.message}
			err = s.rowsOfRange(ctx, run, some, &readBy, &places, each)
			one = rowRange{one.first + some.count, one.count - some.count, one.message + some.count}
		}
	}
	return Wrap(err, "rows of run %d", run)
}

func (s *Store) rowsOfRange(ctx context.Context, run messaging.RunID, one rowRange, readBy *lastRead, places *rowPlaces, each func(*messaging.RunRow) error) error {
	args := []any{one.message, one.message + one.count}
	of := func(id int64) int64 { return id - one.message }
	list := make([]messaging.RunRow, one.count)
	phones := make([]messaging.Phone, 0, one.count)
	err := s.Rows(ctx, `SELECT `+stored.MessageColumns+`, `+stored.ServiceColumns+`, replaces, coalesce((SELECT n.id FROM messages n WHERE n.replaces = messages.id AND n.replaces > 0), 0)
			FROM messages WHERE id >= ?1 AND id < ?2 ORDER BY id`, args, func(r *engine.Row) error {
		d, _ := stored.ScanMessage(r)
		stored.ScanService(r, &d)
		at := of(int64(d.ID))
		list[at] = messaging.RunRow{Run: run, Number: one.first + at, Message: d, RetryOf: messaging.MessageID(r.Int()), RetriedAs: messaging.MessageID(r.Int())}
		phones = append(phones, d.Phone)
		return r.Err
	})
	if err == nil {
		err = s.Rows(ctx, `SELECT message, number, state, words, error_class FROM attempts
			WHERE message >= ?1 AND message < ?2 AND state <> 'accepted' ORDER BY message, number`, args, func(r *engine.Row) error {
			one, number, state := &list[of(r.Int())], int(r.Int()), messaging.State(r.Text())
			if state == messaging.StateInDoubt {
				one.Doubted = append(one.Doubted, number)
			}
			one.Words, one.Class = r.Text(), messaging.ErrorClass(r.Text())
			return nil
		})
	}
	var blocked map[messaging.Phone]string
	if err == nil {
		blocked, err = s.Blocked(ctx, phones)
	}
	for i := range list {
		if err != nil {
			return err
		}
		if list[i].Message.ID == 0 {
			continue // gone by retention
		}
		if m := &list[i].Message; m.Status != "" {
			list[i].Words, list[i].Class = m.Error, m.ErrorClass
		}
		list[i].Blocked = blocked[list[i].Message.Phone] != ""
		list[i].ReadBy, list[i].ReadNumber = run, list[i].Number
		if list[i].RetryOf != 0 {
			if list[i].ReadBy, list[i].ReadNumber, err = s.readRow(ctx, list[i].RetryOf, readBy); err != nil {
				return err
			}
		}
		if one := &list[i]; one.ReadBy != 0 {
			if one.Position, err = places.of(ctx, s, one.ReadBy, one.ReadNumber); err != nil {
				return err
			}
		}
		err = each(&list[i])
	}
	return err
}

// A rowPlaces is where rows of a list stand in their source, some hundreds at a time: neighbours are asked for together.
type rowPlaces struct {
	run   messaging.RunID
	first int64
	at    map[int64]messaging.Position
}

func (p *rowPlaces) of(ctx context.Context, s *Store, run messaging.RunID, number int64) (messaging.Position, error) {
	if p.run != run || number < p.first || number >= p.first+PerRows {
		*p = rowPlaces{run, number, map[int64]messaging.Position{}}
		err := s.Rows(ctx, `SELECT number, line, file FROM list_rows WHERE run_id = ?1 AND number >= ?2 AND number < ?3`, []any{int64(run), number, number + PerRows}, func(r *engine.Row) error {
			n := r.Int()
			p.at[n] = messaging.Position{Row: r.Int(), File: r.Text()}
			return r.Err
		})
		if err != nil {
			return messaging.Position{}, err
		}
	}
	return p.at[number], nil
}

// The reads that answer why, and must not walk history: commit_plan_test.go holds them to it.
const (
	rowOfMessage = `SELECT run_id, first_row, row_count, message FROM run_rows WHERE message <= ?1 ORDER BY message DESC LIMIT 1`
	rowsOfPhone  = `SELECT id FROM messages WHERE event_id = 0 AND phone <> '' AND phone = ?1 ORDER BY id DESC LIMIT ?2`
	placesOf     = `SELECT replaces, coalesce((SELECT n.id FROM messages n WHERE n.replaces = ?1 AND n.replaces > 0), 0) FROM messages WHERE id = ?1`
	retriesOfRun = `SELECT count(*) FROM runs WHERE again_of = ?1 AND again_of > 0`
	runsAgain    = `SELECT id FROM runs WHERE again_of = ?1 AND again_of > 0 ORDER BY id`
)

// RowOf finds the row of a run behind a message; ok is false for one that is of no run.
func (s *Store) RowOf(ctx context.Context, id messaging.MessageID) (run messaging.RunID, number int64, ok bool, err error) {
	err = s.Rows(ctx, rowOfMessage, []any{int64(id)}, func(r *engine.Row) error {
		of, one := messaging.RunID(r.Int()), rowRange{r.Int(), r.Int(), r.Int()}
		if ok = int64(id) < one.message+one.count; ok {
			run, number = of, one.first+int64(id)-one.message
		}
		return nil
	})
	return run, number, ok, Wrap(err, "row of message %d", id)
}

// lastRead is where a row that goes again was read, kept so that neighbours are not asked for one by
// one.
type lastRead struct {
	run      messaging.RunID
	of       rowRange
	original bool // nothing of the range took another's place
}

// ReadRow finds the row that a message sends: its run, which read it from its source, and its number
// there, however often it went again since. The run is 0 for a message that is of none.
func (s *Store) ReadRow(ctx context.Context, id messaging.MessageID) (run messaging.RunID, number int64, err error) {
	run, number, err = s.readRow(ctx, id, &lastRead{})
	return run, number, Wrap(err, "row of message %d", id)
}

// readRow finds the row that a message stood for at first: the one of the run that read it from
// its source, however often it went again since. Its run is 0 where that is not known any more.
func (s *Store) readRow(ctx context.Context, id messaging.MessageID, last *lastRead) (run messaging.RunID, number int64, err error) {
	for {
		of := last.of
		if !last.original || int64(id) < of.message || int64(id) >= of.message+of.count {
			*last = lastRead{}
			err := s.Rows(ctx, rowOfMessage, []any{int64(id)}, func(r *engine.Row) error {
				last.run, last.of = messaging.RunID(r.Int()), rowRange{r.Int(), r.Int(), r.Int()}
				return nil
			})
			if of = last.of; err != nil || int64(id) >= of.message+of.count {
				return 0, 0, err
			}
			_, before, err := s.AgainOf(ctx, id)
			if err != nil {
				return 0, 0, err
			}
			if before != 0 {
				id = before
				continue
			}
			last.original = true // one commit queues rows that are read, or rows that go again
		}
		return last.run, of.first + int64(id) - of.message, nil
	}
}

// A RowStory is a row of a run with its attempts and its message.
type RowStory struct {
	MessageStory
	Run    messaging.Run
	Number int64 // of the row, among those that the run kept

	// The run that read the row from its source, and its number there: another where Run sends it again.
	ReadBy     messaging.RunID
	ReadNumber int64
	RetriedAs  messaging.MessageID // the message that took its place; 0 for none
	RetryOf    messaging.MessageID // the message whose place it took; 0 for none
}

// PhoneRows tells of the rows of runs that queued a phone a message, and of the messages to it that the answers to
// uploads named, at most limit (0: 50), the newest last.
func (s *Store) PhoneRows(ctx context.Context, phone messaging.Phone, limit int) (out []RowStory, err error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	ids, err := s.rowsOf(ctx, phone, limit)
	var rows []MessageStory
	if err == nil {
		rows, err = s.StoriesByID(ctx, ids)
	}
	for i := range rows {
		out = append(out, RowStory{MessageStory: rows[i]})
	}
	runs := map[messaging.RunID]messaging.Run{}
	for i := 0; err == nil && i < len(out); i++ {
		one := &out[i]
		id := one.Message.Run
		if id == 0 {
			continue // sent by hand
		}
		if _, known := runs[id]; !known {
			if runs[id], err = s.Run(ctx, id); err != nil {
				break
			}
		}
		one.Run = runs[id]
		if one.Part > 0 {
			continue
		}
		_, one.Number, _, err = s.RowOf(ctx, one.ID)
		if err == nil {
			one.RetriedAs, one.RetryOf, err = s.AgainOf(ctx, one.ID)
		}
		if one.ReadBy, one.ReadNumber = id, one.Number; err == nil && one.RetryOf != 0 {
			one.ReadBy, one.ReadNumber, err = s.readRow(ctx, one.RetryOf, &lastRead{})
		}
	}
	return out, Wrap(err, "rows of %s", phone.Masked())
}

// AgainOf tells what took a message's place, and whose place it took; 0 for none.
func (s *Store) AgainOf(ctx context.Context, id messaging.MessageID) (as, of messaging.MessageID, err error) {
	err = s.Rows(ctx, placesOf, []any{int64(id)}, func(r *engine.Row) error {
		of, as = messaging.MessageID(r.Int()), messaging.MessageID(r.Int())
		return r.Err
	})
	return as, of, err
}

// rowsOf lists the newest messages of runs to a phone, ascending.
func (s *Store) rowsOf(ctx context.Context, phone messaging.Phone, limit int) (ids []messaging.MessageID, err error) {
	ids, err = List(ctx, s, rowsOfPhone, []any{string(phone), int64(limit)}, engine.Number[messaging.MessageID])
	slices.Reverse(ids)
	return ids, err
}

// MessagesOfPart are the messages of one uploaded part by phone, where the answer to the upload
// said whose each of them is.
func (s *Store) MessagesOfPart(ctx context.Context, run messaging.RunID, part int) (map[messaging.Phone]messaging.Message, error) {
	var out map[messaging.Phone]messaging.Message
	err := s.Rows(ctx, `SELECT `+stored.ColumnsOf("m", stored.FollowedColumns)+` FROM run_messages r
		JOIN messages m ON m.id >= r.message AND m.id < r.message + r.id_count
		WHERE r.run_id = ?1 AND r.part = ?2 AND m.phone <> ''`, []any{int64(run), int64(part)}, func(r *engine.Row) error {
		m, err := stored.ScanFollowed(r)
		if out == nil {
			out = map[messaging.Phone]messaging.Message{}
		}
		out[m.Phone] = m
		return err
	})
	return out, Wrap(err, "messages of part %d of run %d", part, run)
}

// PastRows calls each for the messages of the rows of a run, as PastMessages are, with the number of the row.
func (s *Store) PastRows(ctx context.Context, run messaging.RunID, each func(number int64, m *messaging.Message)) error {
	ranges, err := List(ctx, s, `SELECT first_row, row_count, message FROM run_rows WHERE run_id = ?1 ORDER BY first_row`, []any{int64(run)}, scanRange)
	for i := 0; err == nil && i < len(ranges); i++ {
		one := ranges[i]
		for at := one.message; err == nil && at < one.message+one.count; at += engine.PerList {
			var q engine.Select
			q.And("id >= ?", at)
			q.And("id < ?", min(at+engine.PerList, one.message+one.count))
			var some []messaging.Message
			some, err = s.pastMessages(ctx, &q, engine.PerList)
			for j := range some {
				each(one.first+int64(some[j].ID)-one.message, &some[j])
			}
		}
	}
	return Wrap(err, "messages of run %d", run)
}
