package tracker

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// endless is a Store and an API that cost nothing, to see what the tracker itself costs.
type endless struct {
	left atomic.Int64
	done chan struct{}
	row  messaging.Message
}

func (e *endless) ClaimPolls(_ context.Context, _ time.Time, _ time.Duration, n int) ([]messaging.Message, error) {
	rows := make([]messaging.Message, n)
	for i := range rows {
		rows[i] = e.row
	}
	return rows, nil
}

func (e *endless) FinishPoll(context.Context, messaging.Poll) error {
	if e.left.Add(-1) == 0 {
		close(e.done)
	}
	return nil
}

func (*endless) NextPoll(context.Context) (time.Time, bool, error) { return time.Time{}, false, nil }

func (*endless) MessageStatus(context.Context, string) (apiclient.Status, error) {
	return apiclient.Status{MessageID: "1", Status: "sent"}, nil
}

// BenchmarkOverhead is the tracker's own cost of one poll at 64 calls at a time.
func BenchmarkOverhead(b *testing.B) {
	e := &endless{done: make(chan struct{}), row: messaging.Message{
		ID: 1, ServiceID: "1", Phone: phone, Status: messaging.StatusQueued, AcceptedAt: time.Now(),
	}}
	e.left.Store(int64(b.N))
	tracker := New(Options{Store: e, API: e, Budget: pace.NewBudget(0), Concurrency: 64})
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	run.Go(func() { _ = tracker.Run(ctx) })
	<-e.done
	b.StopTimer()
	stop()
	run.Wait()
}

func (*endless) OverduePolls(context.Context, time.Time, time.Time, int) ([]messaging.Message, error) {
	return nil, nil
}
