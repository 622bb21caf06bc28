//go:build unix

package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Of two daemons one runs on a machine whose clock is an hour ahead, and one on a machine whose clock is an hour behind. Webhooks that are
// signed now are taken at both. Neither sends in quiet hours nor before a message is due, though by each machine it is no quiet hour.
func TestNodesWhoseClocksAreWrong(t *testing.T) {
	t.Parallel()
	const half, near = 30 * time.Minute, 10 * time.Minute
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().In(london)
	config := strings.Replace(tinBellConfig, "  reminder:\n", fmt.Sprintf(`  at-once:
    on: tin-bell.cart.abandoned
    category: utility
    send: {template: order_update}
  later:
    on: tin-bell.cart.abandoned
    category: utility
    wait: 30m
    send: {template: order_update}
  reminder:
    quiet_hours: "%s-%s"
`, began.Add(-half).Format("15:04"), began.Add(half).Format("15:04")), 1)
	_, address := onPostgres(t)
	var all []*house
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		all = append(all, open(t, options{storage: address, config: config, now: func() time.Time { return time.Now().Add(off) }}))
	}
	soon := func(what string, at time.Time, in time.Duration) {
		t.Helper()
		if off := time.Until(at) - in; off.Abs() > near {
			t.Errorf("%s is %s from now, want %s", what, off+in, in)
		}
	}
	for i, h := range all {
		h.mustTake(h.rings(time.Now(), ring{What: "rang", ID: fmt.Sprint(i), Basket: fmt.Sprint(i), Worth: "75.50", Who: who{phone(i), "Ada"}}))
	}
	for i, h := range all {
		of := func(trigger string) *server.MessageView { return h.of(trigger, phone(i)) }
		h.eventually("what is due goes", func() bool { m := of("at-once"); return m != nil && !m.AcceptedAt.IsZero() })
		soon("when it was accepted", of("at-once").AcceptedAt, 0)
		h.eventually("the reminder is put off", func() bool { return len(of("reminder").Verdicts) > 0 })
		for _, trigger := range []string{"reminder", "later"} {
			m := of(trigger)
			if m.State != messaging.StateWaiting {
				t.Errorf("%s is %s", trigger, m.State)
			}
			soon("the time of "+trigger, m.DueAt, half)
		}
	}
}
