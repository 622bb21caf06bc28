package tracker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

const phone messaging.Phone = "447700900123"

// memory is a Store.
type memory struct {
	mu     sync.Mutex
	rows   map[messaging.MessageID]*messaging.Message
	claims []int // rows of each claim that got any
	asked  int   // claims and looks ahead

	commit time.Duration              // each write takes so long
	fails  func() error               // of claims
	gone   bool                       // the account is not in the config
	finish func(messaging.Poll) error // nil error is no failure
	wake   func(time.Time)            // told of each next poll, as the store does
}

func newMemory(n int) *memory {
	m := &memory{rows: make(map[messaging.MessageID]*messaging.Message)}
	for range n {
		m.add(messaging.Message{})
	}
	return m
}

// add stores a message accepted now and due for its first look.
func (m *memory) add(row messaging.Message) messaging.MessageID {
	m.mu.Lock()
	defer m.mu.Unlock()
	row.ID = messaging.MessageID(len(m.rows) + 1)
	row.ServiceID = messaging.ServiceID(fmt.Sprint(row.ID))
	row.Phone, row.Status, row.AcceptedAt = phone, messaging.StatusAccepted, time.Now()
	if row.NextPollAt.IsZero() {
		row.NextPollAt = time.Now()
	}
	m.rows[row.ID] = &row
	return row.ID
}

func (m *memory) ClaimPolls(_ context.Context, now time.Time, lease time.Duration, n int) ([]messaging.Message, error) {
	time.Sleep(m.commit)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.fails != nil {
		if err := m.fails(); err != nil {
			return nil, err
		}
	}
	var due []*messaging.Message
	for _, row := range m.rows {
		if !row.Final && !row.NextPollAt.After(now) {
			due = append(due, row)
		}
	}
	slices.SortFunc(due, func(a, b *messaging.Message) int {
		if c := a.NextPollAt.Compare(b.NextPollAt); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	var got []messaging.Message
	for _, row := range due[:min(n, len(due))] {
		row.NextPollAt = now.Add(lease)
		got = append(got, *row)
	}
	if len(got) > 0 {
		m.claims = append(m.claims, len(got))
	}
	return got, nil
}

func (m *memory) FinishPoll(_ context.Context, p messaging.Poll) error {
	time.Sleep(m.commit)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finish != nil {
		if err := m.finish(p); err != nil {
			return err
		}
	}
	row := m.rows[p.MessageID]
	row.Polls++
	if p.Status != "" {
		row.Status, row.Error = p.Status, p.Error
	}
	row.Final, row.NextPollAt = p.Final, p.NextPollAt
	if m.wake != nil && !p.NextPollAt.IsZero() {
		m.wake(p.NextPollAt)
	}
	return nil
}

func (m *memory) OverduePolls(_ context.Context, now, accepted time.Time, n int) (out []messaging.Message, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, row := range m.rows {
		if len(out) < n && !row.Final && !row.NextPollAt.After(now) && !row.AcceptedAt.After(accepted) && (row.Polls > 0 || m.gone) {
			out = append(out, *row)
		}
	}
	return out, nil
}

func (m *memory) NextPoll(context.Context) (time.Time, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	var next time.Time
	for _, row := range m.rows {
		if !row.Final && (next.IsZero() || row.NextPollAt.Before(next)) {
			next = row.NextPollAt
		}
	}
	return next, !next.IsZero(), nil
}

func (m *memory) row(id messaging.MessageID) messaging.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.rows[id]
}

// in counts the messages at a status.
func (m *memory) in(s messaging.Status) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, row := range m.rows {
		if row.Status == s {
			n++
		}
	}
	return n
}

// service is an API: answer decides; nil says delivered.
type service struct {
	mu     sync.Mutex
	calls  []made
	answer func(ctx context.Context, n int, id string) (apiclient.Status, error) // n counts from 1
}

type made struct {
	at time.Time
	id string
}

func (s *service) MessageStatus(ctx context.Context, id string) (apiclient.Status, error) {
	s.mu.Lock()
	s.calls = append(s.calls, made{time.Now(), id})
	n := len(s.calls)
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(ctx, n, id)
	}
	return apiclient.Status{MessageID: id, Status: "delivered", Delivered: true}, nil
}

func (s *service) made() []made {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// tells gives the statuses one after the other, the last one for ever.
func tells(statuses ...string) func(context.Context, int, string) (apiclient.Status, error) {
	return func(_ context.Context, n int, id string) (apiclient.Status, error) {
		return apiclient.Status{MessageID: id, Status: statuses[min(n, len(statuses))-1]}, nil
	}
}

// takes says delivered after d, or what a cut call brings.
func takes(d time.Duration) func(context.Context, int, string) (apiclient.Status, error) {
	return func(ctx context.Context, _ int, id string) (apiclient.Status, error) {
		select {
		case <-time.After(d):
			return apiclient.Status{MessageID: id, Status: "delivered"}, nil
		case <-ctx.Done():
			return apiclient.Status{}, &apiclient.CallError{Call: "message-status", Outcome: apiclient.NotAccepted, Err: ctx.Err()}
		}
	}
}

// running is a Tracker at work, stopped by the test's end.
type running struct {
	*Tracker
	store   *memory
	service *service
	logs    *observer.ObservedLogs
	stop    func() time.Duration // stops, and says how long that took
}

func start(t *testing.T, store *memory, api *service, change func(*Options)) *running {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	o := Options{
		Store: store, API: api, Budget: pace.NewBudget(0), Log: zap.New(core), Concurrency: 8,
		Jitter: func() float64 { return even },
	}
	if change != nil {
		change(&o)
	}
	tracker := New(o)
	store.wake = tracker.Wake
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := tracker.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	r := &running{Tracker: tracker, store: store, service: api, logs: logs}
	r.stop = func() time.Duration {
		began := time.Now()
		cancel()
		wg.Wait()
		return time.Since(began)
	}
	t.Cleanup(func() {
		r.stop()
		if n := r.Stats().InHand; n != 0 {
			t.Errorf("after the stop: %d in hand", n)
		}
		for _, entry := range logs.All() {
			if p := entry.ContextMap()["phone"]; p != nil && p != phone.Masked() {
				t.Errorf("the log tells the phone %v", p)
			}
		}
	})
	return r
}

// pass lets d go by, and what it set in motion come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
