package stored

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// RunColumns are in the order in which ScanRun reads them. Where a run may go is decided by the transitions of package
// messaging on the row as it is read in the same transaction; the guards in WHERE are the second lock on that door.
const RunColumns = `id, job, slot, due_at, cause, source, config, state, reason, before, deliver, campaign, template_id, template, language, category, expires, columns, tally, approved, owner, lease_ends, created_at, started_at, ended_at, began, stopped, stopped_by, overruled, repeats, again_of, blanked_at, account, send, waits, wait_until, canary, again_classes, again_wait, again_until, approvals, held, released`

// ScanRun reads RunColumns.
func ScanRun(r *engine.Row) (v messaging.Run, err error) {
	v = messaging.Run{
		ID: messaging.RunID(r.Int()), Job: r.Text(), Slot: r.Text(), DueAt: r.Time(), Cause: messaging.RunCause(r.Text()),
		Source: r.Text(), Config: r.Text(), State: messaging.RunState(r.Text()), Reason: r.Text(), Before: messaging.RunState(r.Text()),
		Deliver: messaging.Deliver(r.Text()), CampaignName: r.Text(), TemplateID: r.Int(), Send: messaging.Send{Template: r.Text(), Language: r.Text()},
		Category: messaging.Category(r.Text()), Expires: time.Duration(r.Int()) * time.Microsecond,
	}
	columns, tally := r.Text(), r.Text()
	v.Approved, v.Owner, v.LeaseEnd = r.Text(), r.Text(), r.Time()
	v.CreatedAt, v.StartedAt, v.EndedAt = r.Time(), r.Time(), r.Time()
	v.Began, v.Stopped, v.StoppedBy, v.Overruled = r.Text(), messaging.RunStop(r.Text()), r.Text(), r.Text()
	v.Repeats, v.RetryOf, v.BlankedAt, v.Account = messaging.RunID(r.Int()), messaging.RunID(r.Int()), r.Time(), r.Text()
	send := r.Text()
	v.Waits, v.WaitUntil, v.Canary = messaging.RunWait(r.Text()), r.Time(), r.Text()
	v.RetryClasses, v.RetryWait, v.RetryUntil = messaging.ErrorClassList(r.Text()), time.Duration(r.Int())*time.Microsecond, r.Time()
	approvals := r.Text()
	v.Held, v.Released = r.Text(), r.Text()
	if r.Err != nil {
		return v, r.Err
	}
	if send != "" { // else the template's name and its language are all of it
		if err := json.Unmarshal([]byte(send), &v.Send); err != nil {
			return v, fmt.Errorf("run %d: send: %w", v.ID, err)
		}
	}
	if columns != "" {
		if err := json.Unmarshal([]byte(columns), &v.Columns); err != nil {
			return v, fmt.Errorf("run %d: columns: %w", v.ID, err)
		}
	}
	if approvals != "" {
		if err := json.Unmarshal([]byte(approvals), &v.Approvals); err != nil {
			return v, fmt.Errorf("run %d: approvals: %w", v.ID, err)
		}
	}
	if err := json.Unmarshal([]byte(tally), &v.Tally); err != nil {
		return v, fmt.Errorf("run %d: tally: %w", v.ID, err)
	}
	return v, nil
}
