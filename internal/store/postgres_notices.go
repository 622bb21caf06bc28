package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What a process remembers of the data, so that it need not ask before each call, another node may change. Every change of
// that kind leaves a row in notices, in its own commit (triggers of the schema write it), and each node reads the new rows
// every noticeEvery. Rare changes also notify, so that this comes at once. The claim itself always looks in the database.

const (
	noticeEvery = 500 * time.Millisecond
	noticeFor   = 5 * time.Second // bounds one look

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

// notices is what a node has heard of the others.
type notices struct {
	s       *Store
	connect func(context.Context) (*pgx.Conn, error)
	wake    chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup

	since   string          // the lowest transaction that was open at the last look
	seen    map[notice]bool // from since on
	looked  time.Time       // the last look that succeeded; zero: everything has to be read
	trimmed time.Time
}

func newNotices(s *Store, cfg *pgx.ConnConfig) *notices {
	return &notices{
		s: s, wake: make(chan struct{}, 1), stop: func() {},
		connect: func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, cfg.Copy()) },
	}
}

// begin has it hear; close ends that.
func (n *notices) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	n.running.Go(func() { n.listen(ctx) })
	n.running.Go(func() { n.poll(ctx) })
}

func (n *notices) close() {
	if n == nil {
		return
	}
	n.stop()
	n.running.Wait()
}

// listen has poll look at once when somebody notifies. Without its connection poll goes on by the clock.
func (n *notices) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = n.listenOnce(ctx) // poll meets the same trouble, or none
		pause(ctx, noticeEvery)
	}
}

func (n *notices) listenOnce(ctx context.Context) (err error) {
	conn, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(ctx))
	}()
	if _, err := conn.Exec(ctx, `LISTEN nudgewire`); err != nil {
		return err
	}
	for {
		select {
		case n.wake <- struct{}{}:
		default:
		}
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (n *notices) poll(ctx context.Context) {
	ticker := time.NewTicker(noticeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-n.wake:
		}
		_ = n.look(ctx) // while the database is away nothing can be claimed; what was missed is read afterwards
	}
}

// look reads what is new and does what it says.
func (n *notices) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, noticeFor)
	defer cancel()
	began := time.Now()
	var fresh []notice
	var off []calledOff
	since, seen := "", map[notice]bool{}
	all := n.looked.IsZero() || began.Sub(n.looked) > noticesKept/2
	if all {
		n.looked = time.Time{} // until everything is read
		n.since = ""
	}
	err := n.s.Rows(ctx, changesSince, []any{n.since}, func(r *Row) error {
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
			off = append(off, calledOff{messaging.MessageID(one.id), why})
		}
		return r.Err
	})
	if err == nil && all {
		off, err = List(ctx, n.s, `SELECT id, called_off FROM messages WHERE state = 'sending' AND called_off <> ''`, nil,
			func(r *Row) (calledOff, error) {
				return calledOff{messaging.MessageID(r.Int()), r.Text()}, r.Err
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
func (n *notices) apply(ctx context.Context, fresh []notice) error {
	holds, due := false, int64(0)
	for _, one := range fresh {
		switch one.kind {
		case noticeHolds:
			holds = true
		case noticeBlocks:
			n.s.writer.lastBlock.Store(Micro(n.s.now()))
			if err := n.s.marks.load(ctx, n.s); err != nil {
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
		due = Micro(n.s.now()) // what it held may go
	}
	if due != 0 && n.s.writer.hooks.due != nil {
		n.s.writer.hooks.due(EveryAccount, Moment(due))
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

// loadAll reads the marks of forgotten contacts, and the key that all nodes make them with.
func (m *erasureHashes) loadAll(ctx context.Context, s *Store) error {
	err := s.Rows(ctx, `SELECT key FROM forgotten_key`, nil, func(r *Row) (err error) {
		if m.key, err = hex.DecodeString(r.Text()); err != nil || len(m.key) != keySize {
			return errors.New("the table forgotten_key is damaged, and without it those who were forgotten are not known again; restore it from the backup that the database came from")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.load(ctx, s)
}

// wakeUps says now and then to other nodes that something waits: one that has nothing to do may be quicker than this one.
type wakeUps struct {
	mu   sync.Mutex
	told time.Time
	at   int64
}

// worth reports whether others should hear of something that is due then.
func (w *wakeUps) worth(at int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.told) < noticeEvery && at >= w.at {
		return false
	}
	w.told, w.at = time.Now(), at
	return true
}

var noticeDueSQL = postgresStatement(`INSERT INTO notices (kind, id) VALUES ('due', $1)`)

// tellDue has a batch tell of what it leaves waiting.
func (m *manyWriters) tellDue(t *Tx) error {
	if len(t.dues) == 0 {
		return nil
	}
	at := t.dues[0].at
	for _, one := range t.dues[1:] {
		at = min(at, one.at)
	}
	if !m.wakes.worth(max(at, t.At)) {
		return nil
	}
	return t.Put(noticeDueSQL, max(at, t.At))
}
