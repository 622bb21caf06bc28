package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What receivers of alerts were told is there after a restart as it was kept, and what was kept before is gone.
func (s suite) alerts(t *testing.T) {
	l := s.open(t)
	full := someAlerts(noon)
	smaller := messaging.AlertState{Alerts: full.Alerts[:1], Receivers: full.Receivers[:1]}
	for _, state := range []messaging.AlertState{full, smaller, full, {}} {
		l.must(l.alerts().KeepAlerts(l.ctx, state))
		l.close()
		l = reopen(t, l.dsn)
		got, err := l.alerts().Alerts(l.ctx)
		l.must(err)
		same(t, "alerts", state, got)
	}
}

// someAlerts is what two receivers were told, and are still to be told.
func someAlerts(since time.Time) messaging.AlertState {
	at := func(d time.Duration) time.Time { return since.Add(d).UTC() }
	trouble := func(subject string) messaging.Trouble {
		return messaging.Trouble{
			Code: messaging.TroubleSilent, Subject: subject, Severity: messaging.Bad, About: "connector " + subject, Since: at(0), Words: "nothing", Hint: "look",
		}
	}
	return messaging.AlertState{
		Alerts: []messaging.Alert{
			{Receiver: "r1", Condition: "all", Trouble: trouble("a"), Began: at(0), ToldAt: at(time.Minute)},
			{Receiver: "r2", Condition: "silent for 1h", Trouble: trouble("b"), Began: at(0), ToldAt: at(time.Hour), EndedAt: at(2 * time.Hour)},
		},
		Notices: []messaging.AlertNotice{
			{ID: "z", Receiver: "r1", Condition: "all", Trouble: trouble("a"), Began: at(0), CreatedAt: at(time.Minute), Attempts: 3, NextAt: at(time.Hour)},
			{ID: "y", Receiver: "r2", Condition: "all", Trouble: trouble("b"), Began: at(0), EndedAt: at(2 * time.Hour), CreatedAt: at(2 * time.Hour)},
		},
		Receivers: []messaging.AlertReceiver{
			{ID: "r1", Name: "ops", DeliveredAt: at(0), FailedAt: at(time.Minute), FailingSince: at(time.Second), LastError: "no route"},
			{ID: "r2", Name: "slack"},
		},
	}
}
