package suite

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/transfer"
)

// A move is a way between engines, for runMove.
type move struct {
	From, To func(t testing.TB) string             // DSNs of empty places
	Restored func(t testing.TB, dsn string) string // the data at dsn as one that was restored finds it
	Unmark   func(t testing.TB, dsn string)        // takes the mark away that the data was moved
	Messages int                                   // that are there beside the others, delivered long ago
}

// runMove fills a place with all that a store can hold, moves it, and wants the new place to tell and decide the same as the old one.
func runMove(t *testing.T, m move) {
	open := func(t *testing.T, dsn string) *ledger {
		l := reopen(t, dsn)
		l.settleBy(modelSettle)
		return l
	}
	moved := func(t *testing.T, old *ledger) (was, is *ledger) {
		t.Helper()
		old.close()
		to := m.To(t)
		debug.FreeOSMemory()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		began, most := time.Now(), before.HeapInuse
		done, err := transfer.Run(t.Context(), transfer.Options{From: old.dsn, To: to, Progress: func(string, int64) {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d rows moved in %s; the heap grew by at most %.1f MB", done.Rows(), time.Since(began).Round(time.Millisecond), float64(most-before.HeapInuse)/1e6)
		for _, table := range done.Tables {
			// Whoever had signed in does so anew, and a part that was being cut is cut anew.
			stays := slices.Contains([]string{"console_sessions", "console_links", "cuts", "cut_changes"}, table.Name)
			if (table.Rows == 0) != stays {
				t.Errorf("%d rows of %s moved", table.Rows, table.Name)
			}
		}
		m.Unmark(t, old.dsn)
		return open(t, old.dsn), open(t, to)
	}
	t.Run("all that there is", func(t *testing.T) {
		was, is := moved(t, fillAll(t, m))
		same(t, "what is told", was.tellAll(), is.tellAll())
		random := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
		same(t, "a day", was.aDay(random()), is.aDay(random()))
	})
	t.Run("in review", func(t *testing.T) {
		l := fillAll(t, m)
		l.close()
		l = open(t, m.Restored(t, l.dsn))
		l.must(l.PrepareReview(l.ctx, movedAt, true))
		was, is := moved(t, l)
		if _, review := is.InReview(); !review {
			t.Error("the review was lost on the way")
		}
		same(t, "what is told", was.tellAll(), is.tellAll())
		for _, l := range []*ledger{was, is} {
			if got := l.mustClaim(movedAt, 100); len(got) > 0 {
				t.Errorf("%d messages are claimed in a review", len(got))
			}
			if _, err := l.EndReview(l.ctx, time.Time{}); err != nil {
				t.Error(err)
			}
		}
		random := func() *rand.Rand { return rand.New(rand.NewPCG(3, 4)) }
		same(t, "a day", was.aDay(random()), is.aDay(random()))
	})
}

// movedAt is when the data is moved, with a history behind it.
var movedAt = noon.Add(100 * day)

// manyRows is more than the filled data has beside move.Messages.
const manyRows = 1 << 12

// movedPhones are those that the filled data has in it.
func movedPhones() (all []messaging.Phone) {
	all = append(all, "447700900101", "447700900102", "447700900123", "447700900999")
	for i := range 12 {
		all = append(all, movedPhone(i))
	}
	return all
}

func movedPhone(i int) messaging.Phone { return messaging.Phone(fmt.Sprintf("4477009002%02d", i)) }

// happened says when an event did.
func happened(at time.Time) change {
	return func(p *messaging.Plan) {
		p.Event.ReceivedAt = at
		for i := range p.Proposals {
			p.Proposals[i].EventAt, p.Proposals[i].Decision.At = at, at
		}
	}
}
