package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// The answer to an upload may name the messages that its rows became. Each is then a message
// like any other, accepted when it is first known, and asked about until its end. Which row an id belongs to is known only where the
// answer says so; a guess would put one customer's failure on another.

// followAtOnce is how many messages are stored in one commit. An upload may name several
// hundred thousand, and webhooks wait while a commit is made.
const followAtOnce = 2048

// followAll stores the messages of p, whose first ones may be stored already, some at a time.
func (s *Store) followAll(ctx context.Context, p *messaging.Part) error {
	for p.Followed < int64(len(p.MessageIDs)) {
		var followed int64
		err := s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
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
	followedSQL = engine.SQL(`SELECT CAST(coalesce(sum(id_count), 0) AS BIGINT), CAST(coalesce(sum(CASE WHEN part = ?2 THEN id_count ELSE 0 END), 0) AS BIGINT)
		FROM run_messages WHERE run_id = ?1`)
	insertFollowedSQL = engine.SQL(`INSERT INTO run_messages (run_id, part, first_id, id_count, message) VALUES (?1, ?2, ?3, ?4, ?5)`)
	insertNamedSQL    = engine.SQL(`INSERT INTO messages (id, run_id, part, trigger_name, phone, category, account, send, config, state, attempt, due_at, claimed_at, created_at, updated_at, ` + stored.ServiceColumns + `)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'accepted', 1, ?10, ?10, ?10, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)`)
	allFollowedSQL = engine.SQL(`UPDATE parts SET message_ids = '' WHERE run_id = ?1 AND number = ?2`)
)

// follow stores the next messages of p and says how many of them are stored now.
func (t *Tx) follow(r *messaging.Run, p *messaging.Part, first func(string, time.Time, int64) time.Time) (followed int64, err error) {
	var ofRun int64
	err = t.Query(followedSQL, func(row *engine.Row) error { ofRun, followed = row.Int(), row.Int(); return nil }, int64(p.RunID), int64(p.Number))
	if err != nil {
		return 0, err
	}
	all := int64(len(p.MessageIDs))
	n := min(all-followed, followAtOnce)
	if n <= 0 {
		return followed, nil
	}
	id, err := t.peers.Allocate(t.Tx, numbers.Messages, n)
	if err == nil {
		err = t.Put(insertFollowedSQL, int64(p.RunID), int64(p.Number), followed+1, n, id)
	}
	if err != nil {
		return 0, err
	}
	send := string(stored.AppendSend(nil, &messaging.Send{Campaign: r.CampaignName}))
	for i := followed; i < followed+n; i++ {
		m := messaging.Message{
			ID: messaging.MessageID(id + i - followed), ServiceID: messaging.ServiceID(p.MessageIDs[i]),
			AcceptedAt: p.UpdatedAt, NextPollAt: first(r.Account, p.UpdatedAt, ofRun+i-followed),
		}
		m.BeginStatus(p.UpdatedAt)
		var phone messaging.Phone
		if p.Phones != nil {
			phone, _ = messaging.PhoneOf(p.Phones[i])
		}
		of := labels.Of(0, r.Job, r.CampaignName, phone)
		of.Account = r.Account
		t.messageNamed(&of)
		err := t.Put(insertNamedSQL, append([]any{
			int64(m.ID), int64(p.RunID), int64(p.Number), r.Job, string(phone), string(cmp.Or(r.Category, messaging.Marketing)), r.Account, send, r.Config, t.At,
		}, serviceArgs(&m)...)...)
		if err != nil {
			return 0, fmt.Errorf("message %s: %w", m.ServiceID, err)
		}
		t.messageTaken(&m, &of, true)
	}
	if followed += n; followed == all {
		err = t.Put(allFollowedSQL, int64(p.RunID), int64(p.Number))
	}
	return followed, err
}

// FollowRest makes messages of the ids that are left of uploads' answers: it is called after
// FinishPart, and at the start, because a crash may have come in between. The ids are on disk
// with their part until the last of them is a message, and making the same one twice is not
// possible, so that a second caller does no harm.
func (s *Store) FollowRest(ctx context.Context) error {
	left, err := List(ctx, s, `SELECT `+stored.PartColumns+` FROM parts WHERE message_ids <> '' ORDER BY run_id, number`, nil, stored.ScanPart)
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

// addFollowed fills in how many messages of each part are followed.
func (s *Store) addFollowed(ctx context.Context, run messaging.RunID, parts []messaging.Part) error {
	return s.Rows(ctx, `SELECT part, CAST(sum(id_count) AS BIGINT) FROM run_messages WHERE run_id = ?1 GROUP BY part`, []any{int64(run)}, func(r *engine.Row) error {
		number, n := int(r.Int()), r.Int()
		if i := slices.IndexFunc(parts, func(p messaging.Part) bool { return p.Number == number }); i >= 0 {
			parts[i].Followed = n
		}
		return nil
	})
}
