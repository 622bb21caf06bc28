package sender

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

// endless is a Store and an API that cost nothing, to see what the sender itself costs.
type endless struct {
	left atomic.Int64
	done chan struct{}
	row  messaging.Message
}

func (e *endless) Claim(_ context.Context, q messaging.ClaimRequest) ([]messaging.Message, error) {
	rows := make([]messaging.Message, q.Utility+q.Marketing)
	for i := range rows {
		rows[i] = e.row
	}
	return rows, nil
}

func (e *endless) Finish(context.Context, messaging.Attempt) error {
	if e.left.Add(-1) == 0 {
		close(e.done)
	}
	return nil
}

func (*endless) NextDue(context.Context, ...messaging.Category) (time.Time, bool, error) {
	return time.Time{}, false, nil
}

func (*endless) RescueClaims(context.Context, time.Time, string) (n messaging.Rescued, _ error) {
	return n, nil
}

func (*endless) SendCampaign(context.Context, string, string) (a apiclient.Answer, err error) { return }

func (*endless) ClaimProbe(context.Context, messaging.ProbeRequest) (none []messaging.Message, _ error) {
	return
}

func (*endless) SendText(context.Context, string, string) (a apiclient.Answer, err error) { return }

func (*endless) SendTemplate(context.Context, apiclient.TemplateMessage) (apiclient.Answer, error) {
	return apiclient.Answer{MessageID: "1"}, nil
}

// BenchmarkOverhead is the sender's own cost of one send at 64 calls at a time.
func BenchmarkOverhead(b *testing.B) {
	e := &endless{done: make(chan struct{}), row: queued(messaging.Utility)}
	e.left.Store(int64(b.N))
	s := New(Options{Store: e, API: e, Budget: pace.NewBudget(0), Owner: "bench", Concurrency: 64})
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	run.Go(func() { _ = s.Run(ctx) })
	<-e.done
	b.StopTimer()
	stop()
	run.Wait()
}

// BenchmarkEventToCall is the time from Wake to the call of an idle sender whose claims take
// no time.
func BenchmarkEventToCall(b *testing.B) {
	store, api := newMemory(), &service{}
	called := make(chan struct{})
	api.answer = func(_ context.Context, n int, _ made) (apiclient.Answer, error) {
		called <- struct{}{}
		return accepts(n), nil
	}
	s := New(Options{Store: store, API: api, Budget: pace.NewBudget(0), Owner: "bench"})
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = s.Run(ctx) })
	b.ResetTimer()
	for range b.N {
		store.mu.Lock()
		clear(store.rows)
		store.mu.Unlock()
		store.add(queued(messaging.Authentication))
		s.Wake(time.Now())
		<-called
		for s.Stats().InHand > 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
	b.StopTimer()
	stop()
	run.Wait()
}

func (e *endless) MessageStatus(context.Context, string) (apiclient.Status, error) {
	return apiclient.Status{}, nil
}

func (*endless) BeginCall(int, messaging.MessageID, int) error { return nil }
