// Package readers tells who keeps the data from being cleared up: whoever reads it in one transaction that stays open.
package readers

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Whoever reads the data in one transaction keeps it as it was for as long as that is open. On SQLite the log cannot begin anew meanwhile and
// grows with each commit; a server keeps what was removed or changed, and its tables grow. nudgewire's own reads have an end.

// Long is from when on a reader is told. Litestream holds one that it lets go each minute.
const Long = 90 * time.Second

// tryToMove is for how long what is in the log is left to the checkpoints that its length brings about.
const tryToMove = 20 * time.Second

// A Reader is a transaction of another program that has been open for long.
type Reader struct {
	PID   int       // of the process, or of the backend of the server; 0 where it is not known
	Name  string    // its role and program, where the server tells
	Since time.Time // when it was seen first; it may have begun before
	Log   int64     // bytes of the log that wait for it; 0 on a server
}

// A Watch is what is known of them. It is filled by one caller and read by all.
type Watch struct {
	Guard      *sqlite.Guard // of the file; nil where the data is on a server
	Checkpoint func()        // moves what is in the log
	Reads      engine.Pool   // of the server

	mu     sync.Mutex
	index  sqlite.Index // as it was when it was seen first that something in it was not moved
	since  time.Time
	tried  bool                 // a checkpoint was made since
	seen   map[string]time.Time // transactions on a server, by their names
	looked time.Time
	found  atomic.Pointer[Reader]
}

// Longest is the transaction of another program that has been open the longest, as Look found it; nil for none.
func (r *Watch) Longest() *Reader { return r.found.Load() }

// Look looks for transactions that stay open. It is for one caller, about each second.
func (r *Watch) Look(ctx context.Context, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *Reader
	var err error
	if r.Guard != nil {
		found, err = r.readerOfLog(now)
	} else {
		found, err = r.readerOnServer(ctx, now)
	}
	if err != nil {
		return fmt.Errorf("look for readers: %w", err)
	}
	r.found.Store(found)
	return nil
}

// readerOfLog goes by what a checkpoint cannot move: frames stay in the log for whom they are new.
func (r *Watch) readerOfLog(now time.Time) (*Reader, error) {
	x, err := r.Guard.Index()
	if err != nil || x == (sqlite.Index{}) {
		return nil, err
	}
	if x.GoesOn(&r.index) {
		r.index, r.since, r.tried = x, now, false
		return nil, nil
	}
	// Perhaps there was just no reason to move anything.
	long := now.Sub(r.since) >= Long
	if !long && (r.tried || now.Sub(r.since) < tryToMove) {
		return nil, nil
	}
	r.Checkpoint()
	if x, err = r.Guard.Index(); err != nil || x.GoesOn(&r.index) {
		r.index, r.since = x, now // a reader that is left by this keeps the rest
		return nil, err
	}
	if r.tried = true; !long {
		return nil, nil
	}
	pid, known, err := r.Guard.Reader(&x)
	if err != nil || known && pid == 0 {
		return nil, err // it is a read of this process, such as its backup
	}
	return &Reader{PID: max(pid, 0), Since: r.since, Log: x.Kept()}, nil
}

// lookAtServerEvery is how often a server is asked for its transactions.
const lookAtServerEvery = 10 * time.Second

// openTransactions are those of others that do not run a statement at this moment, as far as the role may know that. Of a transaction
// everybody sees the lock on its own number, which it has from its begin to its end.
const openTransactions = `SELECT a.pid, l.virtualtransaction, coalesce(a.usename, ''), coalesce(a.application_name, '')
	FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'virtualxid' AND l.granted AND a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.state IS DISTINCT FROM 'active'
	ORDER BY a.pid`

func (r *Watch) readerOnServer(ctx context.Context, now time.Time) (*Reader, error) {
	if now.Sub(r.looked) < lookAtServerEvery && !now.Before(r.looked) {
		return r.found.Load(), nil
	}
	open := map[string]time.Time{}
	var oldest *Reader
	err := r.Reads.Rows(ctx, openTransactions, nil, func(row *engine.Row) error {
		one := Reader{PID: int(row.Int())}
		key, role, program := fmt.Sprint(one.PID, " ", row.Text()), row.Text(), row.Text()
		if one.Name = role; program != "" {
			one.Name += " by " + program
		}
		var known bool
		if one.Since, known = r.seen[key]; !known {
			one.Since = now
		}
		open[key] = one.Since
		if now.Sub(one.Since) >= Long && (oldest == nil || one.Since.Before(oldest.Since)) {
			oldest = &one
		}
		return row.Err
	})
	if err != nil {
		return nil, err
	}
	r.seen, r.looked = open, now
	return oldest, nil
}
