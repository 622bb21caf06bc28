package sender

import (
	"context"
	"errors"

	"github.com/nudgewire/nudgewire/internal/claims"
)

// ErrHalted says that sending is halted, so that what waits would go by probes as the service recovers.
var ErrHalted = errors.New("sending is halted")

// Turn claims what is due by Options.Now, as much as there is room for, and takes each message to its recorded end, one after the other: for
// whoever steps the clock, in the place of Run. The store must know Options.Owner (RescueClaims). It probes nothing: a halt is ErrHalted.
func (s *Sender) Turn(ctx context.Context) (taken int, err error) {
	if len(s.keepsBack()) > 0 {
		return 0, ErrHalted
	}
	got, err := s.claim(ctx, s.seats())
	for i := range got {
		s.work(ctx, ctx, ctx, &got[i], &claims.Seat{})
	}
	return len(got), err
}
