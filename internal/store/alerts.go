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
	out.Alerts, err = list(ctx, s, `SELECT receiver, condition, code, subject, severity, about, words, hint, began, told_at, ended_at FROM alerts
		ORDER BY told_at, receiver, condition, code, subject`, nil, func(r *row) (messaging.Alert, error) {
		a := messaging.Alert{Receiver: r.text(), Condition: r.text(), Trouble: trouble(r), Began: r.time(), ToldAt: r.time(), EndedAt: r.time()}
		a.Trouble.Since = a.Began
		return a, r.err
	})
	if err != nil {
		return out, wrap(err, "alerts")
	}
	out.Notices, err = list(ctx, s, `SELECT notice, receiver, condition, code, subject, severity, about, words, hint, began, ended_at, created_at, attempts, next_at
		FROM alert_notices ORDER BY position`, nil, func(r *row) (messaging.AlertNotice, error) {
		n := messaging.AlertNotice{
			ID: r.text(), Receiver: r.text(), Condition: r.text(), Trouble: trouble(r), Began: r.time(), EndedAt: r.time(),
			CreatedAt: r.time(), Attempts: int(r.int()), NextAt: r.time(),
		}
		n.Trouble.Since = n.Began
		return n, r.err
	})
	if err != nil {
		return out, wrap(err, "alerts to be told")
	}
	out.Receivers, err = list(ctx, s, `SELECT receiver, name, delivered_at, failed_at, failing_since, last_error FROM alert_receivers ORDER BY name, receiver`, nil,
		func(r *row) (messaging.AlertReceiver, error) {
			return messaging.AlertReceiver{
				ID: r.text(), Name: r.text(), DeliveredAt: r.time(), FailedAt: r.time(), FailingSince: r.time(), LastError: r.text(),
			}, r.err
		})
	return out, wrap(err, "receivers of alerts")
}

func trouble(r *row) messaging.Trouble {
	return messaging.Trouble{
		Code: messaging.TroubleCode(r.text()), Subject: r.text(), Severity: messaging.Severity(r.text()), About: r.text(), Words: r.text(), Hint: r.text(),
	}
}

var (
	dropAlertsSQL    = statementOf(`DELETE FROM alerts`)
	dropNoticesSQL   = statementOf(`DELETE FROM alert_notices`)
	dropReceiversSQL = statementOf(`DELETE FROM alert_receivers`)
	keepAlertSQL     = statementOf(`INSERT INTO alerts (receiver, condition, code, subject, severity, about, words, hint, began, told_at, ended_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`)
	keepNoticeSQL = statementOf(`INSERT INTO alert_notices (position, notice, receiver, condition, code, subject, severity, about, words, hint, began, ended_at, created_at, attempts, next_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`)
	keepReceiverSQL = statementOf(`INSERT INTO alert_receivers (receiver, name, delivered_at, failed_at, failing_since, last_error) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`)
)

// KeepAlerts puts it in place of what was kept before.
func (s *Store) KeepAlerts(ctx context.Context, state messaging.AlertState) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		for _, drop := range []*statement{dropAlertsSQL, dropNoticesSQL, dropReceiversSQL} {
			if err := t.put(drop); err != nil {
				return err
			}
		}
		for i := range state.Alerts {
			a := &state.Alerts[i]
			tr := &a.Trouble
			if err := t.put(keepAlertSQL, a.Receiver, a.Condition, string(tr.Code), tr.Subject, string(tr.Severity), tr.About, tr.Words, tr.Hint,
				micro(a.Began), micro(a.ToldAt), micro(a.EndedAt)); err != nil {
				return err
			}
		}
		for i := range state.Notices {
			n := &state.Notices[i]
			tr := &n.Trouble
			if err := t.put(keepNoticeSQL, int64(i), n.ID, n.Receiver, n.Condition, string(tr.Code), tr.Subject, string(tr.Severity), tr.About, tr.Words, tr.Hint,
				micro(n.Began), micro(n.EndedAt), micro(n.CreatedAt), int64(n.Attempts), micro(n.NextAt)); err != nil {
				return err
			}
		}
		for i := range state.Receivers {
			r := &state.Receivers[i]
			if err := t.put(keepReceiverSQL, r.ID, r.Name, micro(r.DeliveredAt), micro(r.FailedAt), micro(r.FailingSince), r.LastError); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "keep alerts")
}
