package app

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/scheduler"
	"github.com/nudgewire/nudgewire/store"
)

// Watch is told what the daemon has just committed. A nil function is not called. The calls
// come from many goroutines, and what they are slow at, the daemon is slow at.
type Watch struct {
	// Accepted is told of an event that waits for a look-up twice: with Plan.Later when it is
	// stored, and when it is planned.
	Accepted func(plan nudgewire.Plan, receipt nudgewire.Receipt)
	Refused  func(r nudgewire.RejectedRequest)
	Finished func(a nudgewire.Attempt)
	Polled   func(p nudgewire.Poll)

	Run      func(r nudgewire.Run)  // a run that was stored or moved on
	Part     func(p nudgewire.Part) // a part that is on its way, or whose upload ended
	Progress func(p scheduler.Progress)
}

// hookStore is the store as the hooks see it.
type hookStore struct {
	store *store.Store
	watch Watch
}

func (l hookStore) Accept(ctx context.Context, plans []nudgewire.Plan) ([]nudgewire.Receipt, error) {
	receipts, err := l.store.Accept(ctx, plans)
	if err == nil && l.watch.Accepted != nil {
		for i := range receipts {
			l.watch.Accepted(plans[i], receipts[i])
		}
	}
	return receipts, err
}

func (l hookStore) RejectRequest(ctx context.Context, r nudgewire.RejectedRequest) error {
	err := l.store.RejectRequest(ctx, r)
	if err == nil && l.watch.Refused != nil {
		l.watch.Refused(r)
	}
	return err
}

func (l hookStore) CountRejectedRequests(ctx context.Context, n int64) error {
	return l.store.CountRejectedRequests(ctx, n)
}

// lookStore is the store as the enricher sees it.
type lookStore struct {
	store *store.Store
	watch Watch
}

func (l lookStore) ClaimLookups(ctx context.Context, now time.Time, lease time.Duration, n int) ([]nudgewire.PendingLookup, error) {
	return l.store.ClaimLookups(ctx, store.LookupRequest{Now: now, Lease: lease, N: n})
}

func (l lookStore) RetryLookup(ctx context.Context, r nudgewire.LookupRetry) error {
	return l.store.RetryLookup(ctx, r)
}

func (l lookStore) Complete(ctx context.Context, p nudgewire.PendingLookup, plan nudgewire.Plan) (nudgewire.Receipt, error) {
	receipt, err := l.store.Complete(ctx, p, plan)
	if err == nil && l.watch.Accepted != nil {
		l.watch.Accepted(plan, receipt)
	}
	return receipt, err
}

func (l lookStore) NextLookup(ctx context.Context) (time.Time, bool, error) {
	return l.store.NextLookup(ctx)
}

// sendStore is the store as the sender sees it.
type sendStore struct {
	store    *store.Store
	watch    Watch
	accepted func(*nudgewire.Message) // is told of each message that was taken
}

func (l sendStore) Claim(ctx context.Context, owner string, now time.Time, lease time.Duration, urgent, marketing int) ([]nudgewire.Dispatch, error) {
	return l.store.Claim(ctx, store.ClaimRequest{Owner: owner, Now: now, Lease: lease, Urgent: urgent, Marketing: marketing})
}

func (l sendStore) Finish(ctx context.Context, a nudgewire.Attempt) error {
	err := l.store.Finish(ctx, a)
	if err == nil && a.State == nudgewire.StateAccepted {
		l.accepted(a.Message)
	}
	if err == nil && l.watch.Finished != nil {
		l.watch.Finished(a)
	}
	return err
}

func (l sendStore) NextDue(ctx context.Context) (time.Time, bool, error) {
	return l.store.NextDue(ctx)
}

func (l sendStore) RescueClaims(ctx context.Context, now time.Time, owner string) (int, error) {
	n, err := l.store.RescueClaims(ctx, now, owner)
	return n.Doubtful, err
}

func (l sendStore) BeginCall(slot int, id nudgewire.DispatchID, attempt int) error {
	return l.store.BeginCall(slot, id, attempt)
}

// pollStore is the store as the tracker sees it.
type pollStore struct {
	store *store.Store
	watch Watch
}

func (l pollStore) ClaimPolls(ctx context.Context, now time.Time, lease time.Duration, n int) ([]nudgewire.Message, error) {
	return l.store.ClaimPolls(ctx, store.PollRequest{Now: now, Lease: lease, N: n})
}

func (l pollStore) FinishPoll(ctx context.Context, p nudgewire.Poll) error {
	err := l.store.FinishPoll(ctx, p)
	if err == nil && l.watch.Polled != nil {
		l.watch.Polled(p)
	}
	return err
}

func (l pollStore) OverduePolls(ctx context.Context, now, accepted time.Time, n int) ([]nudgewire.Message, error) {
	return l.store.OverduePolls(ctx, now, accepted, n)
}

func (l pollStore) NextPoll(ctx context.Context) (time.Time, bool, error) {
	return l.store.NextPoll(ctx)
}
