package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// How a node hears of what others changed is told in package nodes. Here is what it then reads anew.

const (
	noticeFor = 5 * time.Second // bounds one look

	// noticesKept is how long rows are kept. A node that has not looked for half of it reads everything anew.
	noticesKept = 2 * time.Minute
)

// The kinds of notices, as the schema has them.
const (
	noticeHolds  = "holds"  // holds, restorations, renames
	noticeBlocks = "blocks" // blocks, and who is forgotten
	noticeOff    = "off"    // a claimed message is called off; the id is its number
	noticeDue    = "due"    // something waits; the id is when it is due
)

// A notice is one row.
type notice struct {
	kind string
	id   int64
	xid  string
}

// peerNotices is what a node has heard of the others.
type peerNotices struct {
	s       *Store
	since   string          // the lowest transaction that was open at the last look
	seen    map[notice]bool // from since on
	looked  time.Time       // the last look that succeeded; zero: everything has to be read
	trimmed time.Time
}

// readNotices reads what is new and does what it says.
func (n *peerNotices) readNotices(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, noticeFor)
	defer cancel()
	began := time.Now()
	var fresh []notice
	var off []cancelRequest
	since, seen := "", map[notice]bool{}
	all := n.looked.IsZero() || began.Sub(n.looked) > noticesKept/2
	if all {
		n.looked = time.Time{} // until everything is read
		n.since = ""
	}
	err := n.s.Rows(ctx, changesSince, []any{n.since}, func(r *engine.Row) error {
		since = r.Text()
		one := notice{r.Text(), r.Int(), r.Text()}
		why := r.Text()
		if one.kind == "" {
			return r.Err
		}
		seen[one] = true
		if n.seen[one] {
			return r.Err
		}
		fresh = append(fresh, one)
		if one.kind == noticeOff && why != "" {
			off = append(off, cancelRequest{messaging.MessageID(one.id), why})
		}
		return r.Err
	})
	if err == nil && all {
		off, err = List(ctx, n.s, `SELECT id, called_off FROM messages WHERE state = 'sending' AND called_off <> ''`, nil,
			func(r *engine.Row) (cancelRequest, error) {
				return cancelRequest{messaging.MessageID(r.Int()), r.Text()}, r.Err
			})
		fresh = []notice{{kind: noticeBlocks}, {kind: noticeHolds}}
	}
	if err != nil {
		return fmt.Errorf("notices: %w", err)
	}
	n.s.recent.add(off)
	if err := n.apply(ctx, fresh); err != nil {
		return err
	}
	n.since, n.seen, n.looked = since, seen, began
	if began.Sub(n.trimmed) > noticesKept/4 {
		n.trimmed = began
		_, err = n.s.reads.ExecContext(ctx, `DELETE FROM notices WHERE at < now() - $1::bigint * interval '1 millisecond'`, noticesKept.Milliseconds())
	}
	return err
}

// changesSince always gives a row, because of its first column. Nobody who commits later has a lower number than that.
const changesSince = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text, coalesce(n.kind, ''), coalesce(n.id, 0), coalesce(n.xid::text, ''), coalesce(m.called_off, '')
	FROM (SELECT 1) AS once
	LEFT JOIN notices n ON n.xid >= CASE WHEN ?1 = '' THEN pg_snapshot_xmin(pg_current_snapshot())::text ELSE ?1 END::xid8
	LEFT JOIN messages m ON n.kind = 'off' AND m.id = n.id`

// apply renews what this process remembers.
func (n *peerNotices) apply(ctx context.Context, fresh []notice) error {
	holds, due := false, int64(0)
	for _, one := range fresh {
		switch one.kind {
		case noticeHolds:
			holds = true
		case noticeBlocks:
			n.s.writer.lastBlock.Store(engine.Micro(n.s.now()))
			if err := n.s.loadMarks(ctx); err != nil {
				return err
			}
		case noticeDue:
			if due == 0 || one.id < due {
				due = one.id
			}
		}
	}
	if holds {
		if err := n.s.holdsAgain(ctx); err != nil {
			return err
		}
		if n.s.writer.hooks.pauses != nil {
			n.s.writer.hooks.pauses()
		}
		due = engine.Micro(n.s.now()) // what it held may go
	}
	if due != 0 && n.s.writer.hooks.due != nil {
		n.s.writer.hooks.due(messaging.EveryAccount, engine.Moment(due))
	}
	return nil
}

// holdsAgain reads what another node may have held, let go on, or renamed.
func (s *Store) holdsAgain(ctx context.Context) error {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := s.loadRestoration(ctx); err != nil {
		return err
	}
	return errors.Join(s.loadRenames(ctx), s.loadHolds(ctx))
}

// loadServerMarks reads the marks of forgotten contacts, and the key that all nodes make them with.
func (s *Store) loadServerMarks(ctx context.Context) error {
	err := s.Rows(ctx, `SELECT key FROM forgotten_key`, nil, func(r *engine.Row) error { return s.Marks.TakeKey(r.Text()) })
	if err != nil {
		return err
	}
	return s.loadMarks(ctx)
}
