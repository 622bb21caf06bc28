package server

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// A disclosure is what a route tells of people, by which reading it is in the audit.
type disclosure int

const (
	ofOne disclosure = iota + 1 // of the contact that the request names: once an hour for each who asks
	ofAll                       // whatever is stored about one, or rows of many: each time
)

// recordRead is what comes before people are told of: nobody is told what is not in the audit. A contact stands there as a keyed hash. Without
// a daemon nothing is recorded: who may read the files can read them by any program.
func (a admin) recordRead(ctx context.Context, rt *Route, q *asked) error {
	err := a.noteRead(ctx, rt, q)
	if err == nil {
		return nil
	}
	a.Log.Error("nobody is told of a contact, because it cannot be recorded", zap.String("action", rt.action()), zap.Error(err))
	return &refusal.Error{
		Status: http.StatusServiceUnavailable, Words: "nothing was shown: the audit cannot be written: " + mask.Text(err.Error()), Hint: "nudgewire status says what is wrong with the data",
	}
}

func (a admin) noteRead(ctx context.Context, rt *Route, q *asked) error {
	text := cmp.Or(q.path["phone"], q.query.Get("phone"), q.query.Get("find"))
	phone, unread := a.phone(text, a.Country)
	if rt.discloses == ofOne && (text == "" || q.path["phone"] != "" && unread != nil) {
		return nil //nolint:nilerr // it is about nobody
	}
	var err error
	e := a.entry(ctx, rt, q)
	if unread == nil {
		if e.Subject, err = a.Store.Marks.Contact(phone); err != nil {
			return err //nolint:wrapcheck // it says what it is
		}
	}
	if rt.discloses == ofAll {
		rest := maps.Clone(q.query)
		for _, personal := range []string{"phone", "after"} {
			rest.Del(personal)
		}
		e.Detail = mask.Line(rest.Encode())
		err = a.Store.Audit(ctx, e)
		return err //nolint:wrapcheck // it says what it is
	}
	key := e.Via + " " + strconv.Quote(e.Who) + " " + e.Subject
	if a.reads.within(e.At, key) {
		return nil
	}
	if err = a.Store.Audit(context.WithoutCancel(ctx), e); err == nil {
		a.reads.note(e.At, key)
	}
	return err //nolint:wrapcheck // it says what it is
}

// readers remembers which readings of this hour are in the audit, so that a page that asks by itself does not fill it. What is forgotten of it,
// by a restart or because there is too much, is recorded once more.
type readers struct {
	mu   sync.Mutex
	hour time.Time
	keys map[string]bool
}

// mostReaders bounds how many are remembered.
const mostReaders = 20_000

func (m *readers) within(at time.Time, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys[key] && m.hour.Equal(at.Truncate(time.Hour))
}

func (m *readers) note(at time.Time, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if hour := at.Truncate(time.Hour); m.keys == nil || !m.hour.Equal(hour) || len(m.keys) >= mostReaders {
		m.hour, m.keys = hour, map[string]bool{}
	}
	m.keys[key] = true
}
