package sender

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/claims"
)

// A claim is a dispatch in hand.
type claim struct {
	nudgewire.Dispatch
	ends  time.Time // of the lease, by our own clock and never later than the store's word
	probe bool      // it is the one that shows whether the service is well again
}

// claim takes dispatches from the store.
func (s *Sender) claim(ctx context.Context, n claims.Lanes) ([]claim, error) {
	now := time.Now()
	if n.Marketing > 0 || !s.health.keepsBack().UrgentPass {
		if may, err := s.mayClaim(ctx, now); err != nil || !may {
			return nil, err
		}
	}
	rows, err := s.Store.Claim(ctx, nudgewire.ClaimRequest{Owner: s.Owner, Now: now, Lease: s.Lease, Urgent: n.Urgent, Marketing: n.Marketing})
	if err != nil {
		return nil, err
	}
	_, probe := s.health.halt.State()
	all := make([]claim, len(rows))
	for i := range rows {
		rows[i].Owner = s.Owner
		all[i] = claim{rows[i], now.Add(s.Lease), probe}
	}
	return all, nil
}
