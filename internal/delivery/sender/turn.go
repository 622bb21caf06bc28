package sender

import (
	"context"
	"errors"

	"github.com/nudgewire/nudgewire/internal/claims"
)

// ErrHalted says that sending is halted, so that what waits would go by probes as the service recovers.
var ErrHalted = errors.New("sending is halted")

// Turn takes each message that is due by Options.Now to its recorded end, one after the other, and returns when nothing more is due: for
// whoever steps the clock, in the place of Run. The store must know Options.Owner (RescueClaims). It probes nothing: a halt is ErrHalted.
func (s *Sender) Turn(ctx context.Context) (taken int, err error) {
	for {
		if len(s.keepsBack()) > 0 {
			return taken, ErrHalted
		}
		got, err := s.claim(ctx, s.seats())
		if err != nil || len(got) == 0 {
			return taken, err
		}
		for i := range got {
			s.work(ctx, ctx, ctx, &got[i], &claims.Seat{})
		}
		taken += len(got)
	}
}
