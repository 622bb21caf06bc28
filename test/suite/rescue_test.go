package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
)

func (s suite) abandon(t *testing.T) {
	const dead = "node:0:dead"
	tests := map[string]struct {
		category messaging.Category
		attempts int // claims so far
		owner    string
		after    time.Duration
		expires  time.Duration
		want     messaging.State
		words    string
	}{
		"a dead owner's marketing is in doubt": {
			messaging.Marketing, 1, dead, 0, 0, messaging.StateInDoubt,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"a dead owner's utility is in doubt": {
			messaging.Utility, 1, dead, 0, 0, messaging.StateInDoubt,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"a dead owner's login code waits again": {
			messaging.Authentication, 1, dead, 0, 0, messaging.StateWaiting,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent; sent again, as its category (authentication) says",
		},
		"a login code is not tried a fourth time": {
			messaging.Authentication, 3, dead, 0, 0, messaging.StateInDoubt,
			"the daemon ended with attempt 3 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"an expired login code is not sent again": {
			messaging.Authentication, 1, dead, 2 * time.Minute, 2 * time.Minute, messaging.StateInDoubt,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"our own claim within its lease stays": {messaging.Marketing, 1, owner, time.Minute - time.Microsecond, 0, messaging.StateSending, ""},
		"our own claim after its lease is in doubt": {
			messaging.Marketing, 1, owner, time.Minute, 0, messaging.StateInDoubt,
			"attempt 1 had no outcome within its lease; it may have been sent",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			at := noon.Add(time.Hour)
			changes := []change{category(tt.category)}
			if tt.expires != 0 {
				changes = append(changes, expires(at.Add(tt.expires)))
			}
			id := l.enqueue("1", changes...)
			for n := range tt.attempts {
				got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: tt.owner, Now: at, Lease: time.Minute, Authentication: 1, Utility: 1, Marketing: 1})
				if err != nil || len(got) != 1 {
					t.Fatalf("claimed %+v (%v)", got, err)
				}
				if n < tt.attempts-1 {
					a := attempt(got[0], messaging.StateWaiting)
					a.RetryAt, a.Called = at, true
					l.must(l.Finish(l.ctx, a))
				}
			}
			n, err := l.RescueClaims(l.ctx, at.Add(tt.after), owner)
			l.must(err)
			d := l.message(id)
			if d.State != tt.want || d.Reason != tt.words {
				t.Errorf("%s: %s", d.State, d.Reason)
			}
			if stays := tt.want == messaging.StateSending; stays != (n.Doubtful == 0) {
				t.Errorf("RescueClaims says %+v", n)
			}
		})
	}
	t.Run("a thousand are recovered, each once", s.aThousandAreRecoveredOnceEach)
}

func (s suite) aThousandAreRecoveredOnceEach(t *testing.T) {
	l := s.open(t)
	plans := make([]messaging.Plan, 1000)
	for i := range plans {
		plans[i] = cart(strings.Repeat("k", i+1))
	}
	if _, err := l.Accept(l.ctx, plans); err != nil {
		t.Fatal(err)
	}
	l.mustClaim(noon.Add(time.Hour), 1000)
	n, err := l.RescueClaims(l.ctx, noon.Add(time.Hour), "a new owner")
	if err != nil || n.Doubtful != 1000 {
		t.Errorf("RescueClaims = %+v, %v", n, err)
	}
	c, err := report.Records{Store: l.Store}.Counts(l.ctx)
	if err != nil || c.InDoubt != 1000 || c.Sending != 0 {
		t.Errorf("%+v (%v)", c, err)
	}
}
