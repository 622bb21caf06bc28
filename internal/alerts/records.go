package alerts

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Records are what alerts told, as a store has them.
type Records struct{ *store.Store }

// Alerts is what the receivers of alerts were told, and what is still to be told.
func (s Records) Alerts(ctx context.Context) (out messaging.AlertState, err error) {
	out.RestoredAt = s.RestoredAt()
	out.Alerts, err = store.List(ctx, s.Store, `SELECT receiver, condition, code, subject, severity, about, words, hint, began, told_at, ended_at FROM alerts
		ORDER BY told_at, receiver, condition, code, subject`, nil, func(r *engine.Row) (messaging.Alert, error) {
		a := messaging.Alert{Receiver: r.Text(), Condition: r.Text(), Trouble: scanTrouble(r), Began: r.Time(), ToldAt: r.Time(), EndedAt: r.Time()}
		a.Trouble.Since = a.Began
		return a, r.Err
	})
	if err != nil {
		return out, store.Wrap(err, "alerts")
	}
	out.Notices, err = store.List(ctx, s.Store, `SELECT notice, receiver, condition, code, subject, severity, about, words, hint, began, ended_at, created_at, attempts, next_at
		FROM alert_notices ORDER BY position`, nil, func(r *engine.Row) (messaging.AlertNotice, error) {
		n := messaging.AlertNotice{
			ID: r.Text(), Receiver: r.Text(), Condition: r.Text(), Trouble: scanTrouble(r), Began: r.Time(), EndedAt: r.Time(),
			CreatedAt: r.Time(), Attempts: int(r.Int()), NextAt: r.Time(),
		}
		n.Trouble.Since = n.Began
		return n, r.Err
	})
	if err != nil {
		return out, store.Wrap(err, "alerts to be told")
	}
	out.Receivers, err = store.List(ctx, s.Store, `SELECT receiver, name, delivered_at, failed_at, failing_since, last_error FROM alert_receivers ORDER BY name, receiver`, nil,
		func(r *engine.Row) (messaging.AlertReceiver, error) {
			return messaging.AlertReceiver{
				ID: r.Text(), Name: r.Text(), DeliveredAt: r.Time(), FailedAt: r.Time(), FailingSince: r.Time(), LastError: r.Text(),
			}, r.Err
		})
	return out, store.Wrap(err, "receivers of alerts")
}

func scanTrouble(r *engine.Row) messaging.Trouble {
	return messaging.Trouble{
		Code: messaging.TroubleCode(r.Text()), Subject: r.Text(), Severity: messaging.Severity(r.Text()), About: r.Text(), Words: r.Text(), Hint: r.Text(),
	}
}

var (
	dropAlertsSQL    = engine.SQL(`DELETE FROM alerts`)
	dropNoticesSQL   = engine.SQL(`DELETE FROM alert_notices`)
	dropReceiversSQL = engine.SQL(`DELETE FROM alert_receivers`)
	keepAlertSQL     = engine.SQL(`INSERT INTO alerts (receiver, condition, code, subject, severity, about, words, hint, began, told_at, ended_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`)
	keepNoticeSQL = engine.SQL(`INSERT INTO alert_notices (position, notice, receiver, condition, code, subject, severity, about, words, hint, began, ended_at, created_at, attempts, next_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`)
	keepReceiverSQL = engine.SQL(`INSERT INTO alert_receivers (receiver, name, delivered_at, failed_at, failing_since, last_error) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`)
)

// KeepAlerts puts it in place of what was kept before.
func (s Records) KeepAlerts(ctx context.Context, state messaging.AlertState) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		for _, drop := range []*engine.Statement{dropAlertsSQL, dropNoticesSQL, dropReceiversSQL} {
			if err := t.Put(drop); err != nil {
				return err
			}
		}
		for i := range state.Alerts {
			a := &state.Alerts[i]
			tr := &a.Trouble
			if err := t.Put(keepAlertSQL, a.Receiver, a.Condition, string(tr.Code), tr.Subject, string(tr.Severity), tr.About, tr.Words, tr.Hint,
				engine.Micro(a.Began), engine.Micro(a.ToldAt), engine.Micro(a.EndedAt)); err != nil {
				return err
			}
		}
		for i := range state.Notices {
			n := &state.Notices[i]
			tr := &n.Trouble
			if err := t.Put(keepNoticeSQL, int64(i), n.ID, n.Receiver, n.Condition, string(tr.Code), tr.Subject, string(tr.Severity), tr.About, tr.Words, tr.Hint,
				engine.Micro(n.Began), engine.Micro(n.EndedAt), engine.Micro(n.CreatedAt), int64(n.Attempts), engine.Micro(n.NextAt)); err != nil {
				return err
			}
		}
		for i := range state.Receivers {
			r := &state.Receivers[i]
			if err := t.Put(keepReceiverSQL, r.ID, r.Name, engine.Micro(r.DeliveredAt), engine.Micro(r.FailedAt), engine.Micro(r.FailingSince), r.LastError); err != nil {
				return err
			}
		}
		return nil
	})
	return store.Wrap(err, "keep alerts")
}
