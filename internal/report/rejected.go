package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// A RejectedCount is how many messages ended for one reason.
type RejectedCount struct {
	State  string // "rejected", or "failed" after it was accepted
	Reason string // the service's words, digits of long numbers hidden
	N      int64
}

// Rejected counts the messages that the service rejected, or that failed, in the last 24 hours, by
// reason, the most first.
func (s Records) Rejected(ctx context.Context, now time.Time) (out []RejectedCount, err error) {
	sums := map[[2]string]int64{}
	from := tally.RejectedSince(now)
	err = s.named(ctx, from, tally.RejectedPrefix, func(name string, n int64) {
		state, reason, _ := strings.Cut(name[len(from)-len(tally.RejectedPrefix):], "/")
		sums[[2]string{state, reason}] += n
	})
	if err != nil {
		return nil, fmt.Errorf("count what was rejected: %w", err)
	}
	for of, n := range sums {
		out = append(out, RejectedCount{of[0], of[1], n})
	}
	slices.SortFunc(out, func(a, b RejectedCount) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.State, a.State), cmp.Compare(a.Reason, b.Reason))
	})
	return out, nil
}
