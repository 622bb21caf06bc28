package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// ResolvePart carries out a person's word on part number of a run that is in doubt. It gives the
// run and the part as they are then: a part that was accepted after all may make a partial run
// done; one that is to be sent again makes a partial run go on, and a paused one once it is
// resumed.
//
// family are the parts of all runs that send rows of its list, the oldest run first.
func ResolvePart(r messaging.Run, family []messaging.Part, number int, as messaging.Resolution, who, reason string, now time.Time) (messaging.Run, messaging.Part, error) {
	var parts []messaging.Part
	for _, p := range family {
		if p.RunID == r.ID {
			parts = append(parts, p)
		}
	}
	at := slices.IndexFunc(parts, func(p messaging.Part) bool { return p.Number == number })
	if at < 0 {
		return r, messaging.Part{}, &nothingError{&wordError{fmt.Sprintf("run %d has no part %d", r.ID, number), fmt.Sprintf("it has %d: look at jobs show %d", len(parts), r.ID)}}
	}
	p := &parts[at]
	if p.State != messaging.PartInDoubt {
		return r, *p, &wordError{fmt.Sprintf("part %d of run %d is %s, not in doubt", number, r.ID, p.State), fmt.Sprintf("look at jobs show %d", r.ID)}
	}
	switch r.State {
	case messaging.RunPartial, messaging.RunPaused:
	case messaging.RunCancelled:
		if as == messaging.ResolveResend {
			return r, *p, &wordError{fmt.Sprintf("run %d is cancelled: it uploads nothing more", r.ID), fmt.Sprintf("send the part as a run of its own: jobs retry %d --only in_doubt", r.ID)}
		}
	default:
		return r, *p, &wordError{fmt.Sprintf("run %d is %s and has its parts in hand", r.ID, r.State.Words()), "wait until it has ended, or pause it first"}
	}
	for _, other := range family {
		if other.RunID > r.ID && p.Ranges.Without(other.Ranges).Count() < p.Ranges.Count() {
			return r, *p, &wordError{
				fmt.Sprintf("part %d of run %d went again as part %d of run %d, which is %s", number, r.ID, other.Number, other.RunID, other.State),
				fmt.Sprintf("look at jobs show %d", other.RunID),
			}
		}
	}
	if as == messaging.ResolveResend {
		if err := rowsRemoved(r); err != nil {
			return r, *p, err
		}
	}
	word := fmt.Sprintf("%s said on %s that it ", who, now.UTC().Format("2006-01-02 15:04 UTC"))
	p.UpdatedAt, p.RetryAt = now.UTC(), time.Time{}
	switch as {
	case messaging.ResolveAccepted:
		p.State, p.Resolved = messaging.PartAccepted, word+"was accepted"
	case messaging.ResolveResend:
		p.State, p.Resolved = messaging.PartWaiting, word+"was not accepted, and had it sent again"
	default:
		return r, *p, &wordError{fmt.Sprintf("a part in doubt cannot be resolved as %q", as), "want accepted or resend"}
	}
	if reason != "" {
		p.Resolved += ": " + reason
	}
	p.Reason = p.Resolved
	if r.State != messaging.RunPartial {
		return r, *p, nil
	}
	if as == messaging.ResolveResend {
		r.State, r.Reason, r.EndedAt = messaging.RunUploading, "", time.Time{}
		return r, *p, nil
	}
	r.State, r.Reason = verdict(parts)
	return r, *p, nil
}
