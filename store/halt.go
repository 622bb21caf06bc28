package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A HaltScope is what kind of thing a halt stops.
type HaltScope string

// The scopes, as the command takes them.
const (
	HaltAll      HaltScope = "all"
	HaltTrigger  HaltScope = "trigger"
	HaltTemplate HaltScope = "template"
	HaltJob      HaltScope = "job"
)

// HaltRun holds the rows of a run, named by its number, that were handed over. No command takes
// it: it comes and goes with the state of the run (see run_row_halts.go).
const HaltRun HaltScope = "run"

// HaltMode holds what waits of a trigger that the present config does not send by: its mode is off
// or shadow, or it is gone. Released marks one of those of which a person sends what waits all the
// same; it holds nothing. No command takes them: they come and go with the config (see halt_pause.go).
const (
	HaltMode HaltScope = "mode"
	Released HaltScope = "released"
)

// HaltGone is of an account that the present config does not have: what waits for it stays. No command takes
// it, and no row holds it (see account.go).
const HaltGone HaltScope = "account"

// HaltService holds what is sent with a template that the service does not send now. No command sets it: it comes
// with the service's words and ends by itself, or by a person's word (see halt_templates.go).
const HaltService HaltScope = "service"

// HaltScopes lists every scope that a command takes.
var HaltScopes = []HaltScope{HaltAll, HaltTrigger, HaltTemplate, HaltJob}

// Scopes lists every scope: those that a command takes, and those that come by themselves.
var Scopes = append(slices.Clone(HaltScopes), HaltRun, HaltMode, Released, HaltGone, HaltService, HaltDamage, HaltRestored)

// A Halt says that a person stopped something: it waits, and keeps its due time, until a
// person lets it go on.
type Halt struct {
	Scope  HaltScope
	Name   string // "" for HaltAll
	Reason string // in a person's words; "" for none given
	At     time.Time

	// Of HaltService alone. Name is the template's, or the campaign's id, "" for texts.
	Kind     string // template, campaign or text
	Origin   string // "trigger reminder" or "run 12", whose messages alone wait; "" for all
	Refused  bool   // the service refuses one message after the other; else it says that the template is paused
	Account  string
	Until    time.Time            // when one message goes as a probe
	Probe    nudgewire.DispatchID // that message; 0 while there is none
	ByStatus bool                 // the service took such messages, and failed them later
}

// What names the halt for people: "everything", `trigger "reminder"`.
func (h Halt) What() string {
	if h.Scope == HaltAll || h.Scope == HaltDamage || h.Scope == HaltRestored {
		return nudgewire.Everything
	}
	if h.Scope == HaltRun {
		return "run " + h.Name
	}
	if h.Scope == HaltService {
		return h.what()
	}
	scope := h.Scope
	switch scope {
	case HaltMode, Released:
		scope = HaltTrigger
	}
	return string(scope) + ` "` + h.Name + `"`
}

// Why says why what it stops is not sent: `trigger "reminder" is halted`, "run 12: paused by Ann".
func (h Halt) Why() string {
	switch h.Scope {
	case HaltRun:
		return h.What() + ": " + h.Reason
	case HaltMode, HaltGone:
		return h.What() + " " + h.Reason
	case HaltService:
		does := " is paused by the service until "
		if h.Refused {
			does = " is refused by the service, one message after the other, and waits until "
		}
		return h.What() + does + h.Until.UTC().Format(time.DateTime) + " UTC: " + h.Reason
	}
	if h.Scope == HaltDamage {
		return "everything is halted until somebody has reviewed what was lost"
	}
	if h.Scope == HaltRestored {
		return "everything is halted until somebody has reviewed the restored data"
	}
	return h.What() + " is halted"
}

// what names what the service does not take: `template "cart"`, `campaign "417" of trigger reminder`, "texts of run 12".
func (h Halt) what() string {
	words := cmp.Or(h.Kind, "template") + ` "` + h.Name + `"`
	if h.Kind == "text" {
		words = "texts"
	}
	if h.Origin != "" {
		words += " of " + h.Origin
	}
	return words
}

// Content is the template or campaign that the service does not take, as a person names it: "texts" for those.
func (h Halt) Content() string {
	if h.Kind == "text" {
		return "texts"
	}
	return h.Name
}

// marks are what a dispatch is known by that a pause of HaltService holds: what its send contains, and its trigger or what the keys of its
// run begin with, "" for any.
func (h Halt) marks() (send, trigger, run string) {
	s := nudgewire.Send{Template: h.Name}
	switch h.Kind {
	case "campaign":
		s = nudgewire.Send{Campaign: h.Name}
	case "text":
		s = nudgewire.Send{}
	}
	if name, is := strings.CutPrefix(h.Origin, "trigger "); is {
		trigger = name
	} else if number, is := strings.CutPrefix(h.Origin, "run "); is {
		run = "run " + number + " row "
	}
	return contentMark(s), trigger, run
}

// runHalt is the halt of a run's rows.
func runHalt(run nudgewire.RunID, reason string) Halt {
	return Halt{Scope: HaltRun, Name: strconv.FormatInt(int64(run), 10), Reason: reason}
}

// run is the run whose rows the halt holds; 0 for none.
func (h Halt) run() nudgewire.RunID {
	if h.Scope != HaltRun {
		return 0
	}
	id, err := strconv.ParseInt(h.Name, 10, 64)
	if err != nil {
		return 0
	}
	return nudgewire.RunID(id)
}

// mark is what a dispatch is known by where no column of it holds the halt's name: a piece of
// what it sends, or what its key begins with.
func (h Halt) mark() string {
	switch h.Scope {
	case HaltTemplate:
		return templateMark(h.Name)
	case HaltRun:
		return nudgewire.RowKeys(h.run())
	default:
		return ""
	}
}

// Stops reports whether the halt keeps d back. unhalted says the same in SQL.
func (h Halt) Stops(d *nudgewire.Dispatch) bool {
	switch h.Scope {
	case HaltTrigger, HaltMode:
		return d.EventID != 0 && d.Trigger == h.Name
	case Released:
		return false
	case HaltGone:
		return d.Account == h.Name
	case HaltTemplate:
		return d.Send.Template == h.Name
	case HaltService:
		kind, name := d.Send.Content()
		return kind == h.Kind && name == h.Name && d.Account == h.Account && d.ID != h.Probe && (h.Origin == "" || h.Origin == d.Origin())
	case HaltJob:
		return d.EventID == 0 && d.Trigger == h.Name
	case HaltRun:
		return d.EventID == 0 && strings.HasPrefix(d.Key, h.mark())
	default:
		return h.Scope.OfEverything()
	}
}

// unhalted is unhaltedByPeople, and that the service does not pause what is sent.
const unhalted = unhaltedByPeople + `
	AND NOT EXISTS (SELECT 1 FROM send_pauses WHERE lifted_at = 0 AND of_account = account AND probe <> id AND replace(send, mark, '') <> send
		AND (origin = '' OR of_trigger <> '' AND event_id <> 0 AND of_trigger = trigger_name
			OR run_mark <> '' AND event_id = 0 AND substr(correlation_key, 1, length(run_mark)) = run_mark))`

// unhaltedByPeople is the condition on a dispatch that no halt keeps it back. A dispatch without an
// event is a row of a job. Each look is a search by the key, and over an empty table it costs
// next to nothing. The text that names a template holds quotes that are not escaped, so no
// variable can contain it.
const unhaltedByPeople = `NOT EXISTS (SELECT 1 FROM halts WHERE scope = 'all' OR scope = 'damage')
	AND NOT EXISTS (SELECT 1 FROM restorations WHERE reviewed_at = 0)
	AND NOT EXISTS (SELECT 1 FROM halts WHERE scope = CASE WHEN event_id = 0 THEN 'job' ELSE 'trigger' END AND name = trigger_name)
	AND NOT EXISTS (SELECT 1 FROM halts WHERE scope = 'mode' AND event_id <> 0 AND name = trigger_name)
	AND NOT EXISTS (SELECT 1 FROM halts WHERE scope = 'template' AND replace(send, mark, '') <> send)
	AND NOT EXISTS (SELECT 1 FROM halts WHERE scope = 'run' AND event_id = 0 AND substr(correlation_key, 1, length(mark)) = mark)`

// Halt stops what h names. When it returns, no claim takes it any more. A second halt of the
// same changes the reason and not the time.
func (s *Store) Halt(ctx context.Context, h Halt) error {
	if !slices.Contains(HaltScopes, h.Scope) || (h.Scope == HaltAll) != (h.Name == "") {
		return fmt.Errorf("halt: %q %q is nothing that can be halted", h.Scope, h.Name)
	}
	if err := s.changeHalts(ctx, nil, func(t *tx) error { return t.halt(h) }); err != nil {
		return fmt.Errorf("halt: %w", err)
	}
	return nil
}

// Resume ends a halt, and what waited for it is due at once; ErrNotFound when there was none. HaltDamage is
// ended by nothing else. The halt of a run is not for it to end.
func (s *Store) Resume(ctx context.Context, scope HaltScope, name string) error {
	if scope != HaltDamage && !slices.Contains(HaltScopes, scope) {
		return fmt.Errorf("resume: %q %q is nothing that can be halted", scope, name)
	}
	var n int64
	err := s.changeHalts(ctx, Halt{Scope: scope, Name: name}.same, func(t *tx) (err error) {
		n, err = t.unhalt(scope, name)
		return err
	})
	if err == nil && n == 0 {
		err = nudgewire.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

var haltSQL = statementOf(`INSERT INTO halts (scope, name, mark, reason, at) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (scope, name) DO UPDATE SET reason = excluded.reason`)

func (t *tx) halt(h Halt) error {
	at := micro(h.At)
	if at == 0 {
		at = t.at
	}
	return t.put(haltSQL, string(h.Scope), h.Name, h.mark(), h.Reason, at)
}

var unhaltSQL = statementOf(`DELETE FROM halts WHERE scope = ?1 AND name = ?2`)

// unhalt makes what the halt held due at once, and says how many halts there were: one or none.
func (t *tx) unhalt(scope HaltScope, name string) (n int64, err error) {
	n, err = t.exec(unhaltSQL, string(scope), name)
	if n > 0 {
		t.peers.lowWater().lower(EveryAccount, 0)
		t.leavesDue(EveryAccount, t.at)
	}
	return n, err
}

// same reports whether two halts are of the same thing.
func (h Halt) same(other Halt) bool {
	return h.Scope == other.Scope && h.Name == other.Name && h.Account == other.Account && h.Kind == other.Kind && h.Origin == other.Origin
}

// changeHalts makes a change that may set halts and end those that ends reports; nil for none.
// When it returns, Halted knows of it.
func (s *Store) changeHalts(ctx context.Context, ends func(Halt) bool, change op) error {
	s.halting.Lock()
	defer s.halting.Unlock()
	// The commit wakes the sender, and what it claims then must not meet a last look that still
	// says no: the claim would come back at once, again and again.
	if ends != nil {
		others := slices.DeleteFunc(slices.Clone(s.haltsNow()), ends)
		s.halted.Store(&others)
	}
	err := s.write(ctx, laneWork, change)
	return errors.Join(err, s.loadHalts(context.WithoutCancel(ctx)))
}

// Halts lists what is halted, the longest first; runs that are paused are among it where rows of
// them were handed over, and last the accounts that are gone from the config while something waits for them.
func (s *Store) Halts(ctx context.Context) (out []Halt, err error) {
	out, err = s.storedHalts(ctx)
	if err == nil {
		var gone []Halt
		gone, err = s.goneHalts(ctx)
		out = append(out, gone...)
	}
	return out, wrap(err, "list halts")
}

// storedHalts are those that claims look at.
func (s *Store) storedHalts(ctx context.Context) (out []Halt, err error) {
	err = s.rows(ctx, `SELECT scope, name, reason, at FROM halts ORDER BY at, scope, name`, nil, func(r *row) error {
		out = append(out, Halt{Scope: HaltScope(r.text()), Name: r.text(), Reason: r.text(), At: r.time()})
		return nil
	})
	if err == nil {
		var paused []Halt
		paused, err = s.sendPauses(ctx)
		out = append(out, paused...)
	}
	if err == nil && s.file != nil && s.file.fault != nil {
		var h Halt
		h, err = s.file.fault.halt(ctx, s, s.file.fault.Until)
		out = append(out, h)
	}
	var copied *Restoration
	if err == nil {
		copied, err = s.restoration(ctx)
	}
	if s.unrecognised != nil {
		copied = s.unrecognised
	}
	if err != nil {
		return nil, err
	}
	if copied != nil && copied.ReviewedAt.IsZero() {
		out = slices.Insert(out, 0, copied.halt()) // whatever else is halted, this comes first
	}
	return out, nil
}

// loadHalts renews what Halted, JobHalted and AccountPauses look at without asking the database.
func (s *Store) loadHalts(ctx context.Context) error {
	all, err := s.storedHalts(ctx)
	if err != nil {
		return err
	}
	s.halted.Store(&all)
	return s.loadAccountPauses(ctx)
}

// Halted is the halt that keeps a dispatch back, for one that was claimed before it.
func (s *Store) Halted(d *nudgewire.Dispatch) (Halt, bool) {
	for _, h := range s.haltsNow() {
		if h.Stops(d) {
			return h, true
		}
	}
	return Halt{}, false
}

// OfEverything reports whether halts of the scope stop each message, whatever it is of: a halt of everything by a person, or a
// review of data that was damaged or restored.
func (s HaltScope) OfEverything() bool {
	return s == HaltAll || s == HaltDamage || s == HaltRestored
}

// EverythingHalted are the halts that stop everything. It asks no database.
func (s *Store) EverythingHalted() (out []Halt) {
	for _, h := range s.haltsNow() {
		if h.Scope.OfEverything() {
			out = append(out, h)
		}
	}
	return out
}

// RunHalted is the halt that keeps a run back: its job is halted, or everything, or the
// template that its rows are sent with.
func (s *Store) RunHalted(ctx context.Context, r *nudgewire.Run) (Halt, bool, error) {
	all, err := s.Halts(ctx)
	if err != nil {
		return Halt{}, false, err
	}
	d := nudgewire.Dispatch{Trigger: r.Job, Account: r.Account, Send: nudgewire.Send{Template: r.Send.Template}}
	for _, h := range all {
		if h.Stops(&d) {
			return h, true, nil
		}
	}
	return Halt{}, false, nil
}

// Unsent reports whether anything that a halt of this scope and name would stop is not at its
// end yet: what waits, what is on its way, what is in doubt and may be sent again, and for a
// job also its open runs. It is how a name is known that has left the config.
func (s *Store) Unsent(ctx context.Context, scope HaltScope, name string) (found bool, err error) {
	var condition string
	args := []any{name}
	switch scope {
	case HaltTrigger:
		condition = `event_id <> 0 AND trigger_name = ?1`
	case HaltJob:
		condition = `event_id = 0 AND trigger_name = ?1`
	case HaltTemplate:
		condition, args = `replace(send, ?1, '') <> send`, []any{templateMark(name)}
	default:
		return false, fmt.Errorf("unsent of %q: nothing that has a name", scope)
	}
	// One search by index for each state: an OR of them would walk history.
	var looks []string
	for _, state := range liveStates {
		looks = append(looks, `SELECT 1 FROM dispatches WHERE `+stateCondition(state)+` AND `+condition)
	}
	if scope == HaltJob {
		looks = append(looks, `SELECT 1 FROM runs WHERE ended_at = 0 AND job = ?1`)
	}
	for i := 0; i < len(looks) && err == nil && !found; i++ {
		err = s.rows(ctx, looks[i]+` LIMIT 1`, args, func(*row) error { found = true; return nil })
	}
	if err != nil {
		return false, fmt.Errorf("look for what %s %q has not sent: %w", scope, name, err)
	}
	return found, nil
}

// JobHalted reports whether a job is halted, by its name or with everything.
func (s *Store) JobHalted(name string) bool {
	_, halted := s.Halted(&nudgewire.Dispatch{Trigger: name})
	return halted
}
