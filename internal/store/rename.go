package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// A trigger or job that gets another name keeps its memory. What is open, its holds, its windows and its runs take the new
// name; what has ended keeps the old one, since it may be millions of rows, and is found by both: a correlation key is looked up
// under the hash of each name that its trigger ever had. To whom an old row belongs is said by when it was made, so the
// old name may be given to another trigger later.

// The things that may be renamed.
const (
	RenamedTrigger = "trigger"
	RenamedJob     = "job"
)

// A Rename says that what was called Was is called Name.
type Rename struct {
	About     string // RenamedTrigger or RenamedJob
	Was, Name string
	At        time.Time // until when what is made under the old name is the new one's
}

const (
	// renameGrace is how much longer the old name counts: what was decided by the config before is stored by then, on other
	// nodes, too. A node whose config has the key renews it, so a node with the config before may be as late as it likes.
	renameGrace = 3 * time.Minute

	// renameHeard is how long nodes have to hear of a rename before anything takes the new name.
	renameHeard = 2 * nodes.NoticeEvery
)

// Renames are those that were ever carried out, the oldest first.
func (s *Store) Renames() []Rename {
	if all := s.renames.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

func (s *Store) loadRenames(ctx context.Context) error {
	all, err := List(ctx, s, `SELECT about, was, name, at FROM renames ORDER BY at, about, was, name`, nil, func(r *engine.Row) (Rename, error) {
		return Rename{r.Text(), r.Text(), r.Text(), r.Time()}, r.Err
	})
	if err == nil {
		s.renames.Store(&all)
	}
	return Wrap(err, "read what was renamed")
}

// Rename has all that is open under old names, and all memory of them, be that of the new ones, in one commit. Doing it
// again takes along what came under an old name since.
//
// Where other nodes may write, they are told first, and have a second to hear of it: a node that knows only the old name would
// find nothing of what stands under the new one, and plan it again.
func (s *Store) Rename(ctx context.Context, all []Rename) error {
	if len(all) == 0 {
		return nil
	}
	if err := s.announce(ctx, all); err != nil {
		return Wrap(err, "announce what is renamed")
	}
	s.pausing.Lock()
	defer s.pausing.Unlock()
	err := s.changeHolds(ctx, nil, func(t *Tx) error {
		for _, r := range all {
			if err := t.rename(r); err != nil {
				return fmt.Errorf("%s %q, which was %q: %w", r.About, r.Name, r.Was, err)
			}
		}
		t.peers.LowWater().Lower(messaging.EveryAccount, 0)
		t.wakeSender(messaging.EveryAccount, t.At)
		return nil
	})
	if err == nil {
		err = s.loadRenames(ctx)
	}
	return Wrap(err, "rename what is open")
}

// announce tells the other nodes of renames that are new.
func (s *Store) announce(ctx context.Context, all []Rename) error {
	known := s.Renames()
	fresh := slices.DeleteFunc(slices.Clone(all), func(r Rename) bool { return slices.ContainsFunc(known, r.Same) })
	if len(fresh) == 0 || !s.Shares() {
		return nil
	}
	if err := s.RenewRenames(ctx, fresh); err != nil {
		return err
	}
	select {
	case <-time.After(renameHeard):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RenewRenames has the old names count as the new ones for longer, and takes nothing along.
func (s *Store) RenewRenames(ctx context.Context, all []Rename) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		for _, r := range all {
			if err := t.noteRename(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.loadRenames(ctx)
	}
	return Wrap(err, "renew what is renamed")
}

// Same reports whether two say the same, whenever they were carried out.
func (r Rename) Same(other Rename) bool {
	return r.About == other.About && r.Was == other.Was && r.Name == other.Name
}

// takesBack are the renames that lead from the new name to the old one: what has a name of earlier again is called that, and not what came after it.
func (r Rename) takesBack(all []Rename) (back []Rename) {
	between := NamesOf(all, r.About, r.Was)
	for _, one := range all {
		if one.About == r.About && one.Was == r.Name && slices.Contains(between, one.Name) {
			back = append(back, one)
		}
	}
	return back
}

// After are the renames that hold once r is carried out, too.
func (r Rename) After(all []Rename) []Rename {
	back := r.takesBack(all)
	return append(slices.DeleteFunc(slices.Clone(all), func(one Rename) bool { return slices.ContainsFunc(back, one.Same) }), r)
}

var (
	renameSQL   = engine.SQL(`INSERT INTO renames (about, was, name, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (about, was, name) DO UPDATE SET at = excluded.at`)
	takeBackSQL = engine.SQL(`DELETE FROM renames WHERE about = ?1 AND was = ?2 AND name = ?3`)
)

func (t *Tx) noteRename(r Rename) error {
	err := t.Put(renameSQL, r.About, r.Was, r.Name, t.At+renameGrace.Microseconds())
	if all := t.renames.Load(); all != nil {
		for _, one := range r.takesBack(*all) {
			if err == nil {
				err = t.Put(takeBackSQL, one.About, one.Was, one.Name)
			}
		}
	}
	return err
}

func (t *Tx) rename(r Rename) error {
	renamed, ends, ended := renameTrigger, endTrigger, endNewHoldsSQL
	if r.About == RenamedJob {
		renamed, ends, ended = renameJob, endJob, endNewJobHoldsSQL
	}
	err := t.noteRename(r)
	if err == nil {
		err = t.Put(ended, r.Name)
	}
	if err == nil {
		err = t.Put(renameWindowSQL, r.Was, r.Name, r.About)
	}
	if err == nil {
		err = t.Put(endOldWindowSQL, r.Was, r.About)
	}
	for _, s := range renamed {
		if err == nil {
			err = t.Put(s, r.Was, r.Name)
		}
	}
	for _, s := range ends {
		if err == nil {
			err = t.Put(s, r.Was)
		}
	}
	return err
}

var (
	renameWaitingSQL = engine.SQL(`UPDATE messages SET trigger_name = ?2 WHERE state = 'waiting' AND event_id <> 0 AND trigger_name = ?1`)
	renameSendingSQL = engine.SQL(`UPDATE messages SET trigger_name = ?2 WHERE state = 'sending' AND event_id <> 0 AND trigger_name = ?1`)
	renameDoubtSQL   = engine.SQL(`UPDATE messages SET trigger_name = ?2 WHERE state = 'in_doubt' AND event_id <> 0 AND trigger_name = ?1`)
	// A hold of the old name goes on under the new one; what has ended there gives way.
	endNewHoldsSQL = engine.SQL(`DELETE FROM holds WHERE ended_at > 0 AND ((scope = 'trigger' AND name = ?1) OR part = 'trigger ' || ?1)`)
	renameHoldsSQL = engine.SQL(`UPDATE holds SET name = ?2 WHERE scope = 'trigger' AND name = ?1 AND NOT EXISTS (SELECT 1 FROM holds n WHERE n.scope = 'trigger' AND n.name = ?2 AND n.kind = holds.kind)`)
	renamePartsSQL = engine.SQL(`UPDATE holds SET part = 'trigger ' || ?2 WHERE part = 'trigger ' || ?1 AND NOT EXISTS (SELECT 1 FROM holds n
		WHERE n.scope = holds.scope AND n.name = holds.name AND n.kind = holds.kind AND n.of_account = holds.of_account AND n.part = 'trigger ' || ?2)`)
	endOldHoldsSQL  = engine.SQL(`DELETE FROM holds WHERE (scope = 'trigger' AND name = ?1) OR part = 'trigger ' || ?1`)
	renameWindowSQL = engine.SQL(`INSERT INTO windows (about, name, since, used) SELECT about, CAST(?2 AS TEXT), since, used FROM windows WHERE name = ?1 AND about = ?3
		ON CONFLICT (about, name) DO UPDATE SET used = windows.used + excluded.used`)
	endOldWindowSQL      = engine.SQL(`DELETE FROM windows WHERE name = ?1 AND about = ?2`)
	renameRowsSQL        = engine.SQL(`UPDATE messages SET trigger_name = ?2 WHERE state = 'waiting' AND event_id = 0 AND trigger_name = ?1`)
	renameRowsSendingSQL = engine.SQL(`UPDATE messages SET trigger_name = ?2 WHERE state = 'sending' AND event_id = 0 AND trigger_name = ?1`)
	renameRowsDoubtSQL   = engine.SQL(`UPDATE messages SET trigger_name = ?2 WHERE state = 'in_doubt' AND event_id = 0 AND trigger_name = ?1`)
	endNewJobHoldsSQL    = engine.SQL(`DELETE FROM holds WHERE ended_at > 0 AND scope = 'job' AND name = ?1`)
	renameJobHoldsSQL    = engine.SQL(`UPDATE holds SET name = ?2 WHERE scope = 'job' AND name = ?1 AND NOT EXISTS (SELECT 1 FROM holds n WHERE n.scope = 'job' AND n.name = ?2)`)
	endOldJobHoldsSQL    = engine.SQL(`DELETE FROM holds WHERE scope = 'job' AND name = ?1`)
	renameClocksSQL      = engine.SQL(`INSERT INTO job_clocks (job, line, since) SELECT CAST(?2 AS TEXT), line, since FROM job_clocks WHERE job = ?1
		ON CONFLICT (job, line) DO UPDATE SET since = CASE WHEN excluded.since < job_clocks.since THEN excluded.since ELSE job_clocks.since END`)
	endOldClocksSQL = engine.SQL(`DELETE FROM job_clocks WHERE job = ?1`)
	renameRunsSQL   = engine.SQL(`UPDATE runs SET job = ?2 WHERE job = ?1 AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.job = ?2 AND n.slot = runs.slot)`)
)

// What is renamed, and then what is left under the old name because the new one has its own.
var (
	renameTrigger = []*engine.Statement{renameWaitingSQL, renameSendingSQL, renameDoubtSQL, renameHoldsSQL, renamePartsSQL}
	endTrigger    = []*engine.Statement{endOldHoldsSQL}
	renameJob     = []*engine.Statement{renameRowsSQL, renameRowsSendingSQL, renameRowsDoubtSQL, renameJobHoldsSQL, renameClocksSQL, renameRunsSQL}
	endJob        = []*engine.Statement{endOldJobHoldsSQL, endOldClocksSQL}
)

// NameNow is what a trigger or job is called now that had that name at that time.
func NameNow(all []Rename, about, name string, at time.Time) string {
	for range all { // each rename once, at the most
		i := slices.IndexFunc(all, func(r Rename) bool { return r.About == about && r.Was == name && !at.After(r.At) })
		if i < 0 {
			break
		}
		name = all[i].Name
	}
	return name
}

// NamesOf are all names that a trigger or job ever had, the present one first.
func NamesOf(all []Rename, about, name string) []string {
	names := []string{name}
	for i := 0; i < len(names); i++ {
		for _, r := range all {
			if r.About == about && r.Name == names[i] && !slices.Contains(names, r.Was) {
				names = append(names, r.Was)
			}
		}
	}
	return names
}

// callsNow is NameNow for a trigger, as the writers know it.
func (s *shared) callsNow(trigger string, at time.Time) string {
	return s.nameNow(RenamedTrigger, trigger, at)
}

// jobNow is NameNow for a job that a config has at present: that of this node may be the one before a rename.
func (s *shared) jobNow(job string) string { return s.nameNow(RenamedJob, job, s.now()) }

func (s *shared) nameNow(about, name string, at time.Time) string {
	if all := s.renames.Load(); all != nil {
		return NameNow(*all, about, name, at)
	}
	return name
}

// A named is a proposal under one of the names of its trigger, with its hashes there.
type named struct {
	trigger string
	ready   *readyProposal
}

// underNames is a proposal under each name that its trigger ever had, beginning with its own.
func (t *Tx) underNames(w *messaging.Proposal, ready *readyProposal) []named {
	own := w.Correlation.Trigger
	all := t.renames.Load()
	found := []named{{own, ready}}
	if all == nil || len(*all) == 0 {
		return found
	}
	for _, name := range NamesOf(*all, RenamedTrigger, t.callsNow(own, engine.Moment(t.At))) {
		if name == own {
			continue
		}
		under := *w
		under.Correlation.Trigger = name
		other := &readyProposal{}
		other.find(&under, keyindex.Hash)
		found = append(found, named{name, other})
	}
	return found
}
