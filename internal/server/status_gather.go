package server

import (
	"cmp"
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/backup"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
)

// lookBack is how long ago what is worth a note may have happened.
const lookBack = 24 * time.Hour

// GatherStatus gives the facts that troubles are found in, and the troubles. It counts nothing but what is alive, so it may be
// asked again and again.
func GatherStatus(ctx context.Context, o AdminOptions) (StatusView, error) {
	v := StatusView{Storage: o.Data}
	err := admin{AdminOptions: o}.gatherStatus(ctx, &v)
	return v, err
}

// gatherStatus fills in the facts and what they show.
func (a admin) gatherStatus(ctx context.Context, v *StatusView) (err error) {
	now := a.Now()
	if v.Counts == nil {
		if v.Counts, err = (report.Records{Store: a.Store}).Totals(ctx); err != nil {
			return err
		}
	}
	at, err := a.reports().Attention(ctx)
	if err != nil {
		return err
	}
	v.InDoubt, v.PartsInDoubt, v.Behind = at.InDoubt.Count, at.PartsInDoubt.Count, behind(at.Next, now)
	v.InDoubtSince, v.PartsInDoubtSince = at.InDoubt.Since.UTC(), at.PartsInDoubt.Since.UTC()
	rejected, err := (report.Records{Store: a.Store}).Rejected(ctx, now)
	if err != nil {
		return err
	}
	for _, one := range rejected {
		v.Rejected = append(v.Rejected, RejectedView{one.State, one.Reason, one.N})
	}
	if v.Failing, err = a.failing(ctx); err != nil {
		return err
	}
	if v.LastEvents, err = (report.Records{Store: a.Store}).LastEvents(ctx); err != nil {
		return err
	}
	if a.Spend != nil {
		spend, err := a.Spend(ctx)
		if err != nil {
			return err
		}
		v.Spend = &spend
	}
	if v.Holds, err = a.holds(ctx); err != nil {
		return err
	}
	if v.WebhooksOut, err = a.receiverViews(ctx); err != nil {
		return err
	}
	if v.Held, err = a.held(ctx); err != nil {
		return err
	}
	if v.UnknownErrors, err = a.unknownErrors(ctx, now.Add(-lookBack)); err != nil {
		return err
	}
	if v.Unused, err = a.unused(ctx, v.LastEvents, now); err != nil {
		return err
	}
	if v.Drift, err = a.drifts().Todo(ctx); err != nil {
		return err
	}
	orders, err := a.privacy().Erasures(ctx)
	if err != nil {
		return err
	}
	for i := range orders {
		o := &orders[i]
		one := ForgettingView{Connector: o.Connector, Source: o.Source, Since: o.At.UTC(), Waits: cmp.Or(o.Waits, "its turn")}
		if o.Phone != "" {
			one.Phone = o.Phone.Masked()
		}
		v.Forgetting = append(v.Forgetting, one)
	}
	if v.Redactions, err = a.redactions().Open(ctx); err != nil {
		return err
	}
	due, err := a.Store.WipeDue(ctx)
	if err != nil {
		return err
	}
	if due {
		v.ForgettingRest = "what is left of forgotten contacts waits for " + waitsForRewrite
	}
	if v.DataRequests, err = openRequests(a.Storage); err != nil {
		return err
	}
	last, err := backup.ReadLast("sqlite:" + a.Storage)
	if err != nil {
		v.BackupError = err.Error()
	} else if last.File != "" {
		v.Backup = &BackupView{File: last.File, At: last.At.UTC(), Checked: last.Checked.UTC(), Bytes: last.Bytes}
	}
	chain, err := audit.Records{Store: a.Store}.State(ctx)
	if err != nil {
		return err
	}
	v.AuditBroken, v.AuditSince = chain.Broken, chain.Since.UTC()
	if v.Nodes, err = a.nodes(ctx); err != nil {
		return err
	}
	if a.Daemon != nil {
		d := a.Daemon.View()
		v.Daemon = &d
	}
	loaded := time.Time{}
	if v.Daemon != nil {
		loaded = v.Daemon.LoadedAt
	}
	if v.Unverified, err = a.unverified(ctx, v.LastEvents, loaded, now); err != nil {
		return err
	}
	v.Troubles = troubles(v, now)
	return nil
}

// held are the runs that wait to be approved, the oldest first.
func (a admin) held(ctx context.Context) (out []HeldView, err error) {
	open, err := a.Store.OpenRuns(ctx, "")
	for i := range open {
		if r := &open[i]; r.State == messaging.RunAwaiting {
			out = append(out, HeldView{r.ID, r.Job, r.Reason, r.CreatedAt.UTC(), r.ApprovedWords()})
		}
	}
	return out, err
}

// unknownErrors are the texts of the service since then that no rule knows; nil for none.
func (a admin) unknownErrors(ctx context.Context, since time.Time) (*UnknownView, error) {
	texts, err := report.Records{Store: a.Store}.ErrorTexts(ctx, since, MaxRows)
	var u UnknownView
	for i := range texts { // the newest first
		t := &texts[i]
		if ClassOf(a.errorRules(), t.Sample).Class != messaging.ErrorUnknown {
			continue
		}
		if u.Count++; u.Count == 1 {
			u.Last = t.Text
		}
		u.Since = t.First.UTC()
	}
	if err != nil || u.Count == 0 {
		return nil, err
	}
	return &u, nil
}

// Unread is what is wrong where the data cannot be read: that, and what the process knows by itself.
func Unread(d DaemonView, err error, hint string, now time.Time) []messaging.Trouble {
	if d.DataError == "" {
		d.DataError, d.DataHint = err.Error(), hint
	}
	v := StatusView{Daemon: &d}
	return troubles(&v, now)
}
