package sender

import (
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A claim is a message in hand.
type claim struct {
	messaging.Message
	ends  time.Time // of the lease, by our own clock and never later than the store's word
	probe bool      // it is the one that shows whether the service is well again
}

// claim takes messages from the store.
func (s *Sender) claim(ctx context.Context, n claims.Lanes) ([]claim, error) {
	now := s.Now()
	rows, err := s.Store.Claim(ctx, messaging.ClaimRequest{
		Owner: s.Owner, Now: now, Lease: s.Lease, Authentication: n[0], Utility: n[1], Marketing: n[2],
	})
	return s.claimed(rows, now, false), err
}

// claimProbe takes one message of those lanes, which shows whether the service is well again.
func (s *Sender) claimProbe(ctx context.Context, of [claims.MaxLanes]bool) ([]claim, error) {
	now, h := s.Now(), &s.health
	var lanes []messaging.Category
	scope := everything
	for lane, is := range of {
		if is {
			lanes = append(lanes, messaging.Lanes[lane])
		}
	}
	if _, all := h.halts[everything].State(); !all && len(lanes) == 1 {
		scope = lanes[0].Lane()
	}
	if may, err := s.mayProbe(ctx, now, scope, lanes); err != nil || !may {
		return nil, err
	}
	p := messaging.ProbeRequest{Owner: s.Owner, Now: now, Lease: s.Lease, Lanes: of}
	h.mu.Lock()
	p.Phones, p.Contents = slices.Clone(h.failed[scope].phones), slices.Clone(h.failed[scope].contents)
	h.mu.Unlock()
	rows, err := s.Store.ClaimProbe(ctx, p)
	return s.claimed(rows, now, true), err
}

func (s *Sender) claimed(rows []messaging.Message, now time.Time, probe bool) []claim {
	all := make([]claim, len(rows))
	for i := range rows {
		rows[i].Owner = s.Owner
		all[i] = claim{rows[i], now.Add(s.Lease), probe}
	}
	return all
}
