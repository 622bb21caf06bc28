package store

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Alerts is what the receivers of alerts were told, and what is still to be told.
func (s *Store) Alerts(ctx context.Context) (out messaging.AlertState, err error) {
	if r := s.restored.Load(); r != nil {
		out.RestoredAt = r.FoundAt
	}
	out.Alerts, err = List(ctx, s, `SELECT receiver, condition, code, subject, severity, about, words, hint, began, told_at, ended_at FROM alerts
		ORDER BY told_at, receiver, condition, code, subject`, nil, func(r *Row) (messaging.Alert, error) {
		a := messaging.Alert{Receiver: r.Text(), Condition: r.Text(), Trouble: trouble(r), Began: r.Time(), ToldAt: r.Time(), EndedAt: r.Time()}
		a.Trouble.Since = a.Began
		return a, r.Err
	})
	if err != nil {
		return out, Wrap(err, "alerts")
	}
	out.Notices, err = List(ctx, s, `SELECT notice, receiver, condition, code, subject, severity, about, words, hint, began, ended_at, created_at, attempts, next_at
		FROM alert_notices ORDER BY position`, nil, func(r *Row) (messaging.AlertNotice, error) {
		n := messaging.AlertNotice{
			ID: r.Text(), Receiver: r.Text(), Condition: r.Text(), Trouble: trouble(r), Began: r.Time(), EndedAt: r.Time(),
			CreatedAt: r.Time(), Attempts: int(r.Int()), NextAt: r.Time(),
		}
		n.Trouble.Since = n.Began
		return n, r.Err
	})
	if err != nil {
		return out, Wrap(err, "alerts to be told")
	}
	out.Receivers, err = List(ctx, s, `SELECT receiver, name, delivered_at, failed_at, failing_since, last_error FROM alert_receivers ORDER BY name, receiver`, nil,
		func(r *Row) (messaging.AlertReceiver, error) {
			return messaging.AlertReceiver{
				ID: r.Text(), Name: r.Text(), DeliveredAt: r.Time(), FailedAt: r.Time(), FailingSince: r.Time(), LastError: r.Text(),
			}, r.Err
		})
	return out, Wrap(err, "receivers of alerts")
}

func trouble(r *Row) messaging.Trouble {
	return messaging.Trouble{
		Code: messaging.TroubleCode(r.Text()), Subject: r.Text(), Severity: messaging.Severity(r.Text()), About: r.Text(), Words: r.Text(), Hint: r.Text(),
	}
}

var (
	dropAlertsSQL    = SQL(`DELETE FROM alerts`)
	dropNoticesSQL   = SQL(`DELETE FROM alert_notices`)
	dropReceiversSQL = SQL(`DELETE FROM alert_receivers`)
	keepAlertSQL     = SQL(`INSERT INTO alerts (receiver, condition, code, subject, severity, about, words, hint, began, told_at, ended_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`)
	keepNoticeSQL = SQL(`INSERT INTO alert_notices (position, notice, receiver, condition, code, subject, severity, about, words, hint, began, ended_at, created_at, attempts, next_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`)
	keepReceiverSQL = SQL(`INSERT INTO alert_receivers (receiver, name, delivered_at, failed_at, failing_since, last_error) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`)
)

// KeepAlerts puts it in place of what was kept before.
func (s *Store) KeepAlerts(ctx context.Context, state messaging.AlertState) error {
	err := s.Write(ctx, LaneWork, func(t *Tx) error {
		for _, drop := range []*Statement{dropAlertsSQL, dropNoticesSQL, dropReceiversSQL} {
			if err := t.Put(drop); err != nil {
				return err
			}
		}
		for i := range state.Alerts {
			a := &state.Alerts[i]
			tr := &a.Trouble
			if err := t.Put(keepAlertSQL, a.Receiver, a.Condition, string(tr.Code), tr.Subject, string(tr.Severity), tr.About, tr.Words, tr.Hint,
				Micro(a.Began), Micro(a.ToldAt), Micro(a.EndedAt)); err != nil {
				return err
			}
		}
		for i := range state.Notices {
			n := &state.Notices[i]
			tr := &n.Trouble
			if err := t.Put(keepNoticeSQL, int64(i), n.ID, n.Receiver, n.Condition, string(tr.Code), tr.Subject, string(tr.Severity), tr.About, tr.Words, tr.Hint,
				Micro(n.Began), Micro(n.EndedAt), Micro(n.CreatedAt), int64(n.Attempts), Micro(n.NextAt)); err != nil {
				return err
			}
		}
		for i := range state.Receivers {
			r := &state.Receivers[i]
			if err := t.Put(keepReceiverSQL, r.ID, r.Name, Micro(r.DeliveredAt), Micro(r.FailedAt), Micro(r.FailingSince), r.LastError); err != nil {
				return err
			}
		}
		return nil
	})
	return Wrap(err, "keep alerts")
}
