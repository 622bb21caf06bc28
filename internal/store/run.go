package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// StartRun stores a run unless there is one of the same job and slot, and gives it its number.
// won is false when there is, and id is that one's.
func (s *Store) StartRun(ctx context.Context, r messaging.Run) (id messaging.RunID, won bool, err error) {
	return s.StartRunOf(ctx, r, nil)
}

var (
	insertRunSQL = engine.SQL(`INSERT INTO runs (id, job, slot, due_at, cause, source, config, state, reason, before, deliver, campaign, template_id, template, language,
			category, expires, columns, tally, kept, approved, owner, lease_ends, created_at, started_at, ended_at, began, stopped, stopped_by, overruled, repeats, send, waits, wait_until, canary, approvals, held, released, again_of, account, again_classes, again_wait, again_until)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43)
		ON CONFLICT (job, slot) DO NOTHING`)
	runOfSlotSQL = engine.SQL(`SELECT id FROM runs WHERE job = ?1 AND slot = ?2`)
)

// StartRunOf is StartRun for a run whose parts are there already, in one commit.
func (s *Store) StartRunOf(ctx context.Context, r messaging.Run, parts []messaging.Part) (id messaging.RunID, won bool, err error) {
	r.Job = s.jobNow(r.Job)
	args, err := runArgs(&r)
	if err != nil {
		return 0, false, fmt.Errorf("start a run of %s: %w", r.Job, err)
	}
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		id, won = 0, false
		err := t.Query(runOfSlotSQL, func(row *engine.Row) error { id = messaging.RunID(row.Int()); return nil }, r.Job, r.Slot)
		if err != nil || id != 0 {
			return err
		}
		n, err := t.allocate(numbers.Runs)
		if err != nil {
			return err
		}
		all := append([]any{n, r.Job, r.Slot, engine.Micro(r.DueAt), string(r.Cause)}, args[:18]...)
		added, err := t.Exec(insertRunSQL, append(append(append(all, engine.Micro(r.CreatedAt)), args[18:]...), r.Released, int64(r.RetryOf), r.Account, string(r.RetryClasses), int64(r.RetryWait/time.Microsecond), engine.Micro(r.RetryUntil))...)
		if err != nil {
			return err
		}
		if added == 0 { // another node was faster since the look above
			return t.Query(runOfSlotSQL, func(row *engine.Row) error { id = messaging.RunID(row.Int()); return nil }, r.Job, r.Slot)
		}
		id, won = messaging.RunID(n), true
		made := r
		made.ID = id
		t.runState(&made, "")
		for i := range parts {
			if err := t.insertPart(id, &parts[i]); err != nil {
				return fmt.Errorf("part %d: %w", parts[i].Number, err)
			}
		}
		return nil
	})
	if r.ID = id; won {
		_ = observe(err, s.observer.Run, r)
	}
	return id, won, Wrap(err, "start a run of %s", r.Job)
}

// runArgs are what SetRun may change of a run, in the order of updateRunSQL.
func runArgs(r *messaging.Run) ([]any, error) {
	before := r.Before
	if r.State != messaging.RunPaused {
		before = "" // it says where a paused run goes on, and nothing else
	}
	waits, until := r.Waits, r.WaitUntil
	if !waits.In(r.State) {
		waits, until = "", time.Time{} // whoever lets it go on has it look anew
	}
	send := ""
	if r.Send.Template+r.Send.Campaign+r.Send.Text != "" {
		send = string(stored.AppendSend(nil, &r.Send))
	}
	tally, err := json.Marshal(r.Tally)
	if err != nil {
		return nil, fmt.Errorf("encode the tally: %w", err)
	}
	columns := ""
	if r.Columns != nil {
		text, err := json.Marshal(r.Columns)
		if err != nil {
			return nil, fmt.Errorf("encode the columns: %w", err)
		}
		columns = string(text)
	}
	approvals := ""
	if a := &r.Approvals; a.Need != 0 || a.Starter != "" || len(a.By) > 0 {
		text, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("encode the approvals: %w", err)
		}
		approvals = string(text)
	}
	held := r.Held
	if r.State != messaging.RunPaused {
		held = "" // whoever pauses it says it
	}
	return []any{
		r.Source, r.Config, string(r.State), r.Reason, string(before), string(r.Deliver), r.CampaignName, r.TemplateID, r.Send.Template,
		r.Send.Language, string(r.Category), int64(r.Expires / time.Microsecond), columns, string(tally), r.Tally.Kept, r.Approved, r.Owner, engine.Micro(r.LeaseEnd),
		engine.Micro(r.StartedAt), engine.Micro(r.EndedAt), r.Began, string(r.Stopped), r.StoppedBy, r.Overruled, int64(r.Repeats),
		send, string(waits), engine.Micro(until), r.Canary, approvals, held,
	}, nil
}

var runSQL = engine.SQL(`SELECT ` + stored.RunColumns + ` FROM runs WHERE id = ?1 {{for update}}`)

// run reads one run inside a commit; its ID is 0 when there is none.
func (t *Tx) run(id messaging.RunID) (r messaging.Run, err error) {
	err = t.Query(runSQL, func(row *engine.Row) (err error) { r, err = stored.ScanRun(row); return err }, int64(id))
	return r, err
}

// SetRun stores r in place of the run of its ID (all but ID, Job, Slot, DueAt, Cause and
// CreatedAt) while that is in one of from and its Owner is by; ErrMoved otherwise. For by ""
// any owner will do: a person's order has none. A run that becomes cancelled takes its parts
// that are built along, in the same commit. One that becomes paused or cancelled holds the rows
// that it handed over, and one that goes on lets them go. An order that docs/internals/states.md forbids
// is ErrMoved, too.
func (s *Store) SetRun(ctx context.Context, by string, r messaging.Run, from ...messaging.RunState) error {
	return s.changeRun(ctx, by, r, from, nil)
}

var updateRunSQL = engine.SQL(`UPDATE runs SET source = ?2, config = ?3, state = ?4, reason = ?5, before = ?6, deliver = ?7, campaign = ?8, template_id = ?9, template = ?10,
			language = ?11, category = ?12, expires = ?13, columns = ?14, tally = ?15, kept = ?16, approved = ?17, owner = ?18, lease_ends = ?19,
			started_at = ?20, ended_at = ?21, began = ?22, stopped = ?23, stopped_by = ?24, overruled = ?25, repeats = ?26, send = ?27, waits = ?28, wait_until = ?29, canary = ?30, approvals = ?31, held = ?32
		WHERE id = ?1 AND ended_at = 0`)

// ApproveRun has approve change a run as it is at that moment, and stores what became of it, so that of people who approve it at the
// same time all count. Where approve gives an error, that comes back and nothing is changed. It may be called more than once.
func (s *Store) ApproveRun(ctx context.Context, id messaging.RunID, approve func(*messaging.Run) error) error {
	var r messaging.Run
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		if r, err = t.run(id); err != nil {
			return err
		}
		if r.ID == 0 {
			return commit.NoWrite{Err: messaging.ErrNotFound}
		}
		was := r.State
		if err := approve(&r); err != nil {
			return commit.NoWrite{Err: err}
		}
		if r.State != was && !was.May(r.State) {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		args, err := runArgs(&r)
		if err == nil {
			err = t.Put(updateRunSQL, append([]any{int64(id)}, args...)...)
		}
		if err != nil {
			return err
		}
		t.runState(&r, was)
		return t.holdRows(&r, was)
	})
	return observe(Wrap(err, "approve run %d", id), s.observer.Run, r)
}

var (
	dropPartsSQL       = engine.SQL(`DELETE FROM parts WHERE run_id = ?1`)
	dropRowsOfPartsSQL = engine.SQL(`DELETE FROM part_rows WHERE run_id = ?1`)
)

// SaveParts stores r as SetRun does from building, and its parts in place of earlier ones.
func (s *Store) SaveParts(ctx context.Context, by string, r messaging.Run, parts []messaging.Part) error {
	return s.changeRun(ctx, by, r, []messaging.RunState{messaging.RunBuilding}, func(t *Tx) error {
		if err := errors.Join(t.Put(dropPartsSQL, int64(r.ID)), t.Put(dropRowsOfPartsSQL, int64(r.ID))); err != nil {
			return err
		}
		for i := range parts {
			if err := t.insertPart(r.ID, &parts[i]); err != nil {
				return fmt.Errorf("part %d: %w", parts[i].Number, err)
			}
		}
		return nil
	})
}

var cancelPartsSQL = engine.SQL(`UPDATE parts SET state = 'cancelled', reason = ?2, retry_at = 0, updated_at = ?3 WHERE run_id = ?1 AND state = 'waiting'`)

func (s *Store) changeRun(ctx context.Context, by string, r messaging.Run, from []messaging.RunState, more func(*Tx) error) error {
	args, err := runArgs(&r)
	if err != nil {
		return fmt.Errorf("change run %d: %w", r.ID, err)
	}
	change := func(t *Tx) error {
		old, err := t.run(r.ID)
		if err != nil {
			return err
		}
		allowed := old.ID != 0 && slices.Contains(from, old.State) && (by == "" || old.Owner == by) &&
			(old.State == r.State || old.State.May(r.State))
		if !allowed {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		if err := t.Put(updateRunSQL, append([]any{int64(r.ID)}, args...)...); err != nil {
			return err
		}
		t.runState(&r, old.State)
		if r.State == messaging.RunCancelled {
			if err := t.Put(cancelPartsSQL, int64(r.ID), r.Reason, t.At); err != nil {
				return err
			}
		}
		if err := t.holdRows(&r, old.State); err != nil {
			return err
		}
		if more != nil {
			return more(t)
		}
		return nil
	}
	switch {
	case r.State == messaging.RunPaused || r.State == messaging.RunCancelled:
		err = s.changeHolds(ctx, nil, change)
	case slices.Contains(from, messaging.RunPaused):
		err = s.changeHolds(ctx, messaging.RunHold(r.ID, "").Same, change)
	default:
		err = s.Write(ctx, commit.LaneWork, change)
	}
	return observe(Wrap(err, "change run %d", r.ID), s.observer.Run, r)
}

var (
	openRunsSQL = engine.SQL(`SELECT ` + stored.RunColumns + ` FROM runs WHERE ended_at = 0 ORDER BY id {{for update}}`)
	leaseRunSQL = engine.SQL(`UPDATE runs SET owner = ?2, lease_ends = ?3 WHERE id = ?1 AND ended_at = 0`)
)

// ClaimRuns gives owner the runs that are planned, building or uploading and nobody's, its own,
// or of an owner that does not live (at once where it may be buried, else when its lease has ended), and makes their lease end at until. A planned run
// is left while an older one of its job is not final. The oldest come first. Those that may says no to stay as they are; nil
// says no to none.
func (s *Store) ClaimRuns(ctx context.Context, owner string, now, until time.Time, may func(*messaging.Run) bool) ([]messaging.Run, error) {
	// Looking costs no commit, and mostly there is nothing.
	if open, err := s.OpenRuns(ctx, ""); err != nil || len(open) == 0 {
		return nil, err
	}
	var mine []messaging.Run
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		mine = mine[:0]
		var found []messaging.Run
		older := map[string]bool{}
		err := t.Query(openRunsSQL, func(row *engine.Row) error {
			r, err := stored.ScanRun(row)
			if err != nil {
				return err
			}
			waits := older[r.Job]
			older[r.Job] = true
			switch r.State {
			case messaging.RunPlanned:
				if waits {
					return nil
				}
			case messaging.RunBuilding, messaging.RunUploading:
			default:
				return nil
			}
			found = append(found, r)
			return nil
		})
		if err != nil {
			return err
		}
		for _, r := range found {
			free := r.Owner == "" || r.Owner == owner
			if !free { // who lives may be late to renew its lease of the run
				alive, err := t.peers.Alive(t.Tx, r.Owner, owner)
				if err != nil {
					return err
				}
				free = !alive && (r.LeaseEnd.Before(now) || t.peers.Buries())
			}
			if free && (may == nil || may(&r)) {
				r.Owner, r.LeaseEnd = owner, engine.Moment(engine.Micro(until))
				mine = append(mine, r)
			}
		}
		for i := range mine {
			if err := t.Put(leaseRunSQL, int64(mine[i].ID), owner, engine.Micro(until)); err != nil {
				return err
			}
		}
		return nil
	})
	return mine, Wrap(err, "adopt runs")
}

var releaseRunSQL = engine.SQL(`UPDATE runs SET released = ?2 WHERE id = ?1`)

// ReleaseRun notes with a run who lets it go on although the config does not send by its job; "" is nobody.
func (s *Store) ReleaseRun(ctx context.Context, id messaging.RunID, who string) error {
	return Wrap(s.Write(ctx, commit.LaneWork, func(t *Tx) error { return t.Put(releaseRunSQL, int64(id), who) }), "release run %d", id)
}

// RunsUnsent are the runs of jobs that of names, the oldest first, of which a message waits or is being sent. It walks all that waits.
func (s *Store) RunsUnsent(ctx context.Context, of func(job string) bool) (runs []messaging.Run, err error) {
	found := map[messaging.RunID]bool{}
	for _, state := range []messaging.State{messaging.StateWaiting, messaging.StateSending} {
		err = s.Rows(ctx, `SELECT trigger_name, correlation_key FROM messages WHERE `+stateCondition(state)+` AND event_id = 0`, nil, func(r *engine.Row) error {
			job, key := r.Text(), r.Text()
			if id, is := messaging.RunOfKey(key); is && of(job) {
				found[id] = true
			}
			return r.Err
		})
		if err != nil {
			return nil, Wrap(err, "look for runs of which messages wait")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		r, err := s.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Renew moves the lease of a run on and gives the run as it is now. ErrMoved when it is not
// owner's any more.
func (s *Store) Renew(ctx context.Context, id messaging.RunID, owner string, until time.Time) (r messaging.Run, err error) {
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		if r, err = t.run(id); err != nil {
			return err
		}
		if r.ID == 0 || r.Owner != owner {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		r.LeaseEnd = engine.Moment(engine.Micro(until))
		err = t.Put(leaseRunSQL, int64(id), owner, engine.Micro(until))
		return err
	})
	return r, Wrap(err, "keep run %d", id)
}

// FreeRuns ends the claims of processes that are gone. owner calls it once, before it claims.
func (s *Store) FreeRuns(ctx context.Context, owner string) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		var open []messaging.Run
		err := t.Query(openRunsSQL, func(row *engine.Row) error {
			r, err := stored.ScanRun(row)
			open = append(open, r)
			return err
		})
		for i := 0; err == nil && i < len(open); i++ {
			var alive bool
			if alive, err = t.peers.Alive(t.Tx, open[i].Owner, owner); err == nil && !alive && open[i].Owner != "" {
				err = t.Put(leaseRunSQL, int64(open[i].ID), "", int64(0))
			}
		}
		return err
	})
	return Wrap(err, "free runs")
}

var seeClockSQL = engine.SQL(`INSERT INTO job_clocks (job, line, since) VALUES (?1, ?2, ?3) ON CONFLICT (job, line) DO NOTHING`)

// LastScheduled is the time up to which a job's clock needs no more looking at: the newest DueAt
// among its runs by cron or missed, or, if that is later, when this line was first seen,
// which is now if it never was.
func (s *Store) LastScheduled(ctx context.Context, job, line string, now time.Time) (time.Time, error) {
	job = s.jobNow(job)
	last, _, err := s.Earliest(ctx, `SELECT due_at FROM runs WHERE job = ?1 AND cause <> 'hand' ORDER BY due_at DESC LIMIT 1`, job)
	if err != nil {
		return time.Time{}, fmt.Errorf("clock of %s: %w", job, err)
	}
	seen := `SELECT since FROM job_clocks WHERE job = ?1 AND line = ?2`
	since, known, err := s.Earliest(ctx, seen, job, line)
	if err == nil && !known {
		err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			return t.Put(seeClockSQL, job, line, engine.Micro(now))
		})
		if err == nil {
			since, _, err = s.Earliest(ctx, seen, job, line)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("clock of %s: %w", job, err)
	}
	if since.After(last) {
		return since, nil
	}
	return last, nil
}
