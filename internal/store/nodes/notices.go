package nodes

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// What a process remembers of the data, so that it need not ask before each call, another node may change. Every change of
// that kind leaves a row in notices, in its own commit (triggers of the schema write it), and each node reads the new rows
// every NoticeEvery. Rare changes also notify, so that this comes at once. The claim itself always looks in the database.

// NoticeEvery is how often a node looks for what is new.
const NoticeEvery = 500 * time.Millisecond

// Notices have a node look for what others have changed.
type Notices struct {
	look    func(context.Context) error
	connect func(context.Context) (*pgx.Conn, error)
	wake    chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewNotices are notices that are read by look, from one goroutine. Begin has it hear.
func NewNotices(cfg *pgx.ConnConfig, look func(context.Context) error) *Notices {
	return &Notices{
		look: look, wake: make(chan struct{}, 1), stop: func() {},
		connect: func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, cfg.Copy()) },
	}
}

// Begin has it hear; Close ends that.
func (n *Notices) Begin() {
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	n.running.Go(func() { n.listen(ctx) })
	n.running.Go(func() { n.poll(ctx) })
}

// Close waits until nobody looks any more.
func (n *Notices) Close() {
	if n == nil {
		return
	}
	n.stop()
	n.running.Wait()
}

// listen has poll look at once when somebody notifies. Without its connection poll goes on by the clock.
func (n *Notices) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = n.listenOnce(ctx) // poll meets the same trouble, or none
		select {
		case <-ctx.Done():
		case <-time.After(NoticeEvery):
		}
	}
}

func (n *Notices) listenOnce(ctx context.Context) (err error) {
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

func (n *Notices) poll(ctx context.Context) {
	ticker := time.NewTicker(NoticeEvery)
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

// WakeUps say now and then to other nodes that something waits: one that has nothing to do may be quicker than this one.
type WakeUps struct {
	mu   sync.Mutex
	told time.Time
	at   int64
}

// Worth reports whether others should hear of something that is due then.
func (w *WakeUps) Worth(at int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.told) < NoticeEvery && at >= w.at {
		return false
	}
	w.told, w.at = time.Now(), at
	return true
}

// turnFor bounds how long the end of a turn takes.
const turnFor = 2 * time.Second

// Turn takes a lock on a task that only one process may do at a time, waits for it, and keeps it until end is called. It is a lock of a
// connection of its own: it ends with the process, and is lost with the connection.
func (n *Notices) Turn(ctx context.Context, what, which string) (end func(), err error) {
	conn, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), turnFor)
		defer cancel()
		// Unlocked with a word of its own: the server may see the end of a connection later.
		_, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtext('nudgewire ' || $1), hashtext($2))`, what, which)
		_ = conn.Close(ctx)
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('nudgewire ' || $1), hashtext($2))`, what, which); err != nil {
		end()
		return nil, err
	}
	return end, nil
}
