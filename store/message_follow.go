package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire"
)

// The answer to an upload may name the messages that its rows became. Each is then a message
// like any other, asked about until its end, with a number from the dispatches' sequence and no
// dispatch: nothing was queued row by row. Which row an id belongs to is known only where the
// answer says so; a guess would put one customer's failure on another.

// followAtOnce is how many messages are stored in one commit. An upload may name several
// hundred thousand, and webhooks wait while a commit is made.
const followAtOnce = 2048

// followAll stores the messages of p, whose first ones may be stored already, some at a time.
func (s *Store) followAll(ctx context.Context, p *nudgewire.Part) error {
	for p.Followed < int64(len(p.MessageIDs)) {
		var followed int64
		err := s.write(ctx, laneWork, func(t *tx) (err error) {
			r, err := t.run(p.RunID)
			if err == nil {
				followed, err = t.follow(&r, p, s.first)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("follow the messages of part %d of run %d: %w", p.Number, p.RunID, err)
		}
		p.Followed = followed
	}
	return nil
}

var (
	// Messages that have no dispatch of their own: those that an upload's answer named. And the files of runs.
	followedSQL = statementOf(`SELECT CAST(coalesce(sum(id_count), 0) AS BIGINT), CAST(coalesce(sum(CASE WHEN part = ?2 THEN id_count ELSE 0 END), 0) AS BIGINT)
		FROM run_messages WHERE run_id = ?1`)
	insertFollowedSQL = statementOf(`INSERT INTO run_messages (run_id, part, first_id, id_count, dispatch_id) VALUES (?1, ?2, ?3, ?4, ?5)`)
	allFollowedSQL    = statementOf(`UPDATE parts SET message_ids = '' WHERE run_id = ?1 AND number = ?2`)
)

// follow stores the next messages of p and says how many of them are stored now.
func (t *tx) follow(r *nudgewire.Run, p *nudgewire.Part, first func(string, time.Time, int64) time.Time) (followed int64, err error) {
	var ofRun int64
	err = t.query(followedSQL, func(row *row) error { ofRun, followed = row.int(), row.int(); return nil }, int64(p.RunID), int64(p.Number))
	if err != nil {
		return 0, err
	}
	all := int64(len(p.MessageIDs))
	n := min(all-followed, followAtOnce)
	if n <= 0 {
		return followed, nil
	}
	id, err := t.peers.allocate(t, dispatchIDs, n)
	if err == nil {
		err = t.put(insertFollowedSQL, int64(p.RunID), int64(p.Number), followed+1, n, id)
	}
	if err != nil {
		return 0, err
	}
	for i := followed; i < followed+n; i++ {
		m := nudgewire.Message{
			DispatchID: nudgewire.DispatchID(id + i - followed), ID: nudgewire.MessageID(p.MessageIDs[i]),
			Category: r.Category, Account: r.Account, AcceptedAt: p.UpdatedAt,
		}
		if p.Phones != nil {
			m.Phone, _ = nudgewire.PhoneOf(p.Phones[i])
		}
		m.NextPollAt = first(r.Account, p.UpdatedAt, ofRun+i-followed)
		of := partyOf(0, r.Job, r.Send.Template, m.Phone)
		t.countMessage(&of, string(nudgewire.StateAccepted), "")
		if err := t.insertBegun(begin(m, p.UpdatedAt), &of); err != nil {
			return 0, fmt.Errorf("message %s: %w", m.ID, err)
		}
	}
	t.counts[countFollowed] += n
	if followed += n; followed == all {
		err = t.put(allFollowedSQL, int64(p.RunID), int64(p.Number))
	}
	return followed, err
}

// FollowRest makes messages of the ids that are left of uploads' answers: it is called after
// FinishPart, and at the start, because a crash may have come in between. The ids are on disk
// with their part until the last of them is a message, and making the same one twice is not
// possible, so that a second caller does no harm.
func (s *Store) FollowRest(ctx context.Context) error {
	left, err := list(ctx, s, `SELECT `+partColumns+` FROM parts WHERE message_ids <> '' ORDER BY run_id, number`, nil, scanPart)
	if err != nil {
		return fmt.Errorf("look for messages that are not followed yet: %w", err)
	}
	for i := range left {
		if err := s.followAll(ctx, &left[i]); err != nil {
			return err
		}
	}
	return nil
}

// A FollowedMessage is a message without a dispatch: the answer to an upload named it.
type FollowedMessage struct {
	nudgewire.Message
	Run          nudgewire.RunID
	Part         int
	Job          string
	Slot, Source string // of the run
	CampaignName string
}

// maxFollowed is how many ranges a list of followed messages looks at, newest first: two
// million messages.
const maxFollowed = 1000

// A followedRange is messages of one part whose numbers have no gap.
type followedRange struct {
	first, count int64
	of           FollowedMessage
}

const followedColumns = `m.dispatch_id, m.id_count, m.run_id, m.part, r.job, r.slot, r.source, r.campaign`

func (s *Store) followedRanges(ctx context.Context, q *select_, limit int) (found []followedRange, err error) {
	err = s.rows(ctx, q.sql(followedColumns, "run_messages m JOIN runs r ON r.id = m.run_id", "m.dispatch_id DESC", limit), q.args, func(r *row) error {
		one := followedRange{first: r.int(), count: r.int()}
		one.of.Run, one.of.Part = nudgewire.RunID(r.int()), int(r.int())
		one.of.Job, one.of.Slot, one.of.Source, one.of.CampaignName = r.text(), r.text(), r.text(), r.text()
		found = append(found, one)
		return nil
	})
	return found, err
}

// Followed lists messages without a dispatch that a filter of dispatches lets through, newest
// first. Their state is accepted, and their trigger is the job's name.
func (s *Store) Followed(ctx context.Context, f DispatchFilter) (out []FollowedMessage, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	if f.EventID != 0 || f.Template != "" || (f.State != "" && f.State != nudgewire.StateAccepted) {
		return nil, nil
	}
	var which select_
	which.when(f.Trigger != "", "r.job = ?", f.Trigger)
	which.when(f.Before > 0, "m.dispatch_id < ?", int64(f.Before))
	which.when(f.DownTo > 0, "m.dispatch_id + m.id_count > ?", int64(f.DownTo))
	ranges, err := s.followedRanges(ctx, &which, maxFollowed)
	for i := 0; err == nil && i < len(ranges) && len(out) < f.Limit; i++ {
		g := ranges[i]
		var q select_
		q.and("dispatch_id >= ?", g.first)
		q.and("dispatch_id < ?", g.first+g.count)
		q.when(f.Before > 0, "dispatch_id < ?", int64(f.Before))
		q.when(f.DownTo > 0, "dispatch_id >= ?", int64(f.DownTo))
		q.when(f.Phone != "", "phone = ?", string(f.Phone))
		q.when(f.Status != "", "status = ?", string(f.Status))
		q.when(f.Account != "", "account = ?", nudgewire.AccountKey(f.Account))
		if f.Class != "" {
			q.and("status = 'failed'")
			q.and("error_class = ?", string(classOf(f.Class)))
		}
		q.when(!f.Since.IsZero(), "accepted_at >= ?", micro(f.Since))
		q.when(!f.Until.IsZero(), "accepted_at < ?", micro(f.Until))
		err = s.rows(ctx, q.sql(messageColumns, "messages", "dispatch_id DESC", f.Limit-len(out)), q.args, func(r *row) (err error) {
			one := g.of
			one.Message, err = scanMessage(r)
			out = append(out, one)
			return err
		})
	}
	return out, wrap(err, "list followed messages")
}

// FollowedMessage is the message of that number, where it has no dispatch. ErrNotFound when
// there is none.
func (s *Store) FollowedMessage(ctx context.Context, id nudgewire.DispatchID) (m FollowedMessage, err error) {
	var q select_
	q.and("m.dispatch_id <= ?", int64(id))
	ranges, err := s.followedRanges(ctx, &q, 1)
	if err == nil && (len(ranges) == 0 || int64(id) >= ranges[0].first+ranges[0].count) {
		err = nudgewire.ErrNotFound
	}
	if err == nil {
		m = ranges[0].of
		m.Message, err = s.oneMessage(ctx, `WHERE dispatch_id = ?1`, int64(id))
	}
	return m, wrap(err, "followed message %d", id)
}

// addFollowed fills in how many messages of each part are followed.
func (s *Store) addFollowed(ctx context.Context, run nudgewire.RunID, parts []nudgewire.Part) error {
	return s.rows(ctx, `SELECT part, CAST(sum(id_count) AS BIGINT) FROM run_messages WHERE run_id = ?1 GROUP BY part`, []any{int64(run)}, func(r *row) error {
		number, n := int(r.int()), r.int()
		if i := slices.IndexFunc(parts, func(p nudgewire.Part) bool { return p.Number == number }); i >= 0 {
			parts[i].Followed = n
		}
		return nil
	})
}
