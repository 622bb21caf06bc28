package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/internal/store/spent"
)

// The rules of the due moment are asked inside the claim's own commit, with facts as that commit sees them. So two
// claims can never both find room for one message, and a rule that is new or changed holds for all that waits.
// Nothing is read that no rule needs.

// atDue asks the rules for one claim. It remembers what was sent to a phone, so that many messages to
// one phone cost one look.
type atDue struct {
	rules    messaging.DueRules // nil for none
	hash     func(...string) int64
	now      time.Time
	triggers []string // every name there is, read at the first look
	phones   map[messaging.Phone]*sentTo
	contacts *reach.Contacts                  // of the account; nil before the first look
	flying   map[int64]bool                   // contacts that its messages are on their way to
	beside   int                              // how many of flying are not among contacts
	windows  map[string]*messaging.UsedWindow // of triggers with a rate; as they are with what this claim takes
	used     []string                         // triggers whose windows it takes from
	spent    messaging.Spent                  // with what this claim spends
	locked   bool                             // nobody else spends meanwhile
	counted  bool                             // spent is read
}

// sentTo is what was sent to a phone since a time, the newest first.
type sentTo struct {
	phone   messaging.Phone
	since   int64
	contact int64   // its hash
	hashes  []int64 // that lead to what its triggers queued
	sends   []messaging.PastSend
	known   bool // sends is read
}

// dueRules are the rules that a claim asks.
func (s *Store) dueRules(now time.Time) atDue {
	a := atDue{hash: s.hash, now: now}
	if s.due != nil {
		a.rules = s.due()
	}
	return a
}

// prepare makes ready what is asked about the rows of a round of a claim: who was forgotten, and the facts that the
// rules need, one row's beside the other's. It leaves out those whose contacts another transaction has in hand.
func (a *atDue) prepare(t *Tx, found []claimed) ([]claimed, error) {
	busy, err := a.lock(t, found)
	if err != nil {
		return nil, err
	}
	if len(busy) > 0 {
		found = slices.DeleteFunc(found, func(d claimed) bool { return busy[d.Phone] })
	}
	if a.rules == nil && !t.Marks.Any.Load() {
		return found, nil
	}
	if err := a.readForgotten(t, found); err != nil || a.rules == nil {
		return found, err
	}
	return found, a.readFacts(t, found)
}

// readForgotten finds out whom nothing may be sent because he was forgotten.
func (a *atDue) readForgotten(t *Tx, found []claimed) error {
	if !t.Marks.Any.Load() {
		return nil
	}
	var asked []*claimed
	var marks [][]any
	for i := range found {
		if d := &found[i]; d.Category.Blockable() && d.facts.Blocked == "" && d.Phone != "" {
			asked, marks = append(asked, d), append(marks, []any{t.Marks.Of(d.Phone)})
		}
	}
	err := t.QueryMany(forgottenSQL, marks, func(i int, r *engine.Row) error {
		at, _, allowed := scanForgotten(r)
		if at > 0 && !allowed {
			asked[i].facts.Blocked = messaging.BlockedWords(messaging.ForgottenWords)
		}
		return r.Err
	})
	return Wrap(err, "who was forgotten")
}

// readFacts reads what rules need about rows that may go: consents, and what was sent to their phones.
func (a *atDue) readFacts(t *Tx, found []claimed) error {
	var asked []*claimed
	var contacts [][]any
	var phones []*sentTo
	for i := range found {
		d := &found[i]
		if duerules.MayGo(nil, &d.Message, &d.facts, a.now).Action != messaging.AllowSend {
			continue
		}
		needs := a.rules.Needs(&d.Message)
		if needs.Consent {
			asked, contacts = append(asked, d), append(contacts, []any{string(d.Phone)})
		}
		if to := a.phones[d.Phone]; needs.Sends > 0 && !to.known {
			to.known = true
			phones = append(phones, to)
		}
	}
	err := t.QueryMany(consentSQL, contacts, func(i int, r *engine.Row) error { asked[i].facts.Consent = messaging.Consent(r.Text()); return r.Err })
	if err == nil {
		err = t.pastSends(phones)
	}
	return Wrap(err, "what the rules need")
}

var triggerNamesSQL = engine.SQL(`SELECT name FROM trigger_names WHERE name > ''`)

// lock keeps other transactions from sending to the phones of a round of a claim, where that matters to a rule. It waits for the few
// locks that all claims share, and for no phone: it has rows already, and whoever has the phone may need these. Busy are the
// phones that others have.
func (a *atDue) lock(t *Tx, found []claimed) (busy map[messaging.Phone]bool, err error) {
	if a.rules == nil {
		return nil, nil
	}
	phones, err := a.asks(t, found)
	if err == nil && len(t.locked) > 0 {
		err = t.peers.Lock(t.Tx, t.locked, nil)
	}
	if err != nil {
		return nil, err
	}
	return a.lockPhones(t, phones)
}

// asks notes what the rules are going to look at for a round of a claim: the phones that are new to it, and in t.locked what is shared.
func (a *atDue) asks(t *Tx, found []claimed) (phones []*sentTo, err error) {
	accountLocked := false
	t.locked = t.locked[:0]
	for i := range found {
		d := &found[i].Message
		needs := a.rules.Needs(d)
		if needs.Account > 0 && !accountLocked {
			accountLocked, t.locked = true, append(t.locked, peers.ReachLock(d.Account, a.hash))
		}
		if needs.Window && a.windows[d.Trigger] == nil {
			if a.windows == nil {
				a.windows = map[string]*messaging.UsedWindow{}
			}
			a.windows[d.Trigger] = &messaging.UsedWindow{Used: unread}
			t.locked = append(t.locked, a.hash("rate", d.Trigger))
		}
		if needs.Budget != nil && !a.locked {
			a.locked, t.locked = true, append(t.locked, spent.Lock(a.hash))
		}
		back := needs.Sends
		if back <= 0 {
			continue
		}
		if a.phones == nil {
			a.phones = map[messaging.Phone]*sentTo{}
			if a.triggers, err = t.triggerNames(); err != nil {
				return nil, err
			}
		}
		to, since := a.phones[d.Phone], engine.Micro(a.now.Add(-back))
		if to == nil {
			to = &sentTo{phone: d.Phone, since: since, contact: reach.HashOf(d.Phone, a.hash), hashes: hashesTo(d.Phone, a.triggers, a.hash)}
			a.phones[d.Phone] = to
			phones = append(phones, to)
		}
		if since < to.since {
			to.since, to.known = since, false
		}
	}
	return phones, nil
}

func (a *atDue) lockPhones(t *Tx, phones []*sentTo) (busy map[messaging.Phone]bool, err error) {
	if len(phones) == 0 {
		return nil, nil
	}
	t.locked = t.locked[:0]
	reads := make([][]int64, len(phones))
	for i, to := range phones {
		t.locked, reads[i] = append(t.locked, to.contact), to.hashes
	}
	held, err := t.peers.TryLock(t.Tx, t.locked, reads)
	for i := range held {
		if held[i] {
			if busy == nil {
				busy = map[messaging.Phone]bool{}
			}
			busy[phones[i].phone] = true
			delete(a.phones, phones[i].phone)
		}
	}
	return busy, err
}

// mayGo asks whether a row that is due goes, and takes it into account where it does. allowed are the rows before it that go, and that are not
// stored as that yet. What the rules need is read only where nothing else keeps the row back.
func (a *atDue) mayGo(t *Tx, d *claimed, allowed []claimed) (v messaging.Verdict, err error) {
	if v = duerules.MayGo(nil, &d.Message, &d.facts, a.now); v.Action != messaging.AllowSend || a.rules == nil {
		return v, nil
	}
	if err = a.facts(t, d, allowed); err != nil {
		return v, err
	}
	if v = duerules.MayGo(a.rules, &d.Message, &d.facts, a.now); v.Action != messaging.AllowSend {
		return v, nil
	}
	if to := a.phones[d.Phone]; to != nil && to.known {
		to.sends = messaging.AddSend(to.sends, a.begins(d))
	}
	if a.contacts != nil {
		a.flies(reach.HashOf(d.Phone, a.hash))
	}
	if !v.Window.IsZero() {
		a.use(d.Trigger, v.Window)
	}
	if a.counted {
		a.spend(t, d)
	}
	return v, nil
}

// pass puts off or drops a row that does not go. What the config's rules said is kept.
func (a *atDue) pass(t *Tx, p *pass) error {
	v := &p.verdict
	switch v.Action {
	case messaging.DeferSend:
		return t.deferUntil(&p.claimed, v, a.now)
	case messaging.DropSend:
		v.Until = time.Time{}
		err := t.dropMessage(&p.claimed, v, a.now)
		if err == nil && v.Kept() {
			err = t.recordVerdict(p.ID, v, engine.Micro(a.now))
		}
		return err
	}
	return fmt.Errorf("message %d: a claim does not know what %q means", p.ID, v.Action)
}

// begins is the send of a row that goes now.
func (a *atDue) begins(d *claimed) messaging.PastSend {
	return messaging.PastSend{At: engine.Moment(engine.Micro(a.now)), Category: d.Category, Trigger: d.Trigger}
}

// facts reads what the rules need to decide about d.
func (a *atDue) facts(t *Tx, d *claimed, allowed []claimed) (err error) {
	needs := a.rules.Needs(&d.Message)
	if needs.Sends > 0 {
		d.facts.Sends = a.phones[d.Phone].sends
	}
	if needs.Window {
		d.facts.Window, err = a.window(t, d.Trigger)
	}
	if err == nil && needs.Account > 0 {
		err = a.account(t, d, needs.Account, allowed, &d.facts)
	}
	if err == nil && needs.Budget != nil {
		err = a.budget(t, d, needs.Budget, allowed)
	}
	return err
}

// budget tells what was spent, and what d costs.
func (a *atDue) budget(t *Tx, d *claimed, of messaging.Calendar, allowed []claimed) (err error) {
	if !a.counted {
		if a.spent, err = t.sums.Read(t.Query, of, a.now, t.At, t.tally.Hours.Points(), t.points); err != nil {
			return err
		}
		a.counted = true
		for i := range allowed {
			a.spend(t, &allowed[i])
		}
	}
	d.facts.Spent = a.spent
	d.facts.Spent.Cost = t.cost(&d.Message)
	return nil
}

// spend counts a row that goes.
func (a *atDue) spend(t *Tx, d *claimed) {
	cost := t.cost(&d.Message)
	a.spent.Day, a.spent.Month = a.spent.Day+cost, a.spent.Month+cost
}

// cost is what a message costs by the prices of now, in thousandths of points.
func (t *Tx) cost(d *messaging.Message) int64 {
	if t.points == nil {
		return 0
	}
	return messaging.Thousandths(t.points(d.Account, d.Category, d.Phone))
}

// Spent is what was spent on the day and in the month of a moment.
func (s *Store) Spent(ctx context.Context, of messaging.Calendar, at time.Time) (messaging.Spent, error) {
	return s.sums.Read(func(of *engine.Statement, each func(*engine.Row) error, args ...any) error {
		return s.Rows(ctx, of.String(), args, each)
	}, of, at, engine.Micro(s.now()), 0, s.points)
}

// unread marks a window that is locked and not read yet.
const unread = -1

var (
	windowSQL    = engine.SQL(`SELECT since, used FROM windows WHERE about = ?1 AND name = ?2`)
	setWindowSQL = engine.SQL(`INSERT INTO windows (about, name, since, used) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (about, name) DO UPDATE SET since = excluded.since, used = excluded.used`)
)

// window is how much of its rate a trigger or a job has used.
func (t *Tx) window(about, name string) (w messaging.UsedWindow, err error) {
	err = t.Query(windowSQL, func(r *engine.Row) error { w.Since, w.Used = r.Time(), r.Int(); return r.Err }, about, name)
	return w, Wrap(err, "window of the rate of %s", name)
}

func (t *Tx) setWindow(about, name string, w messaging.UsedWindow) error {
	return Wrap(t.Put(setWindowSQL, about, name, engine.Micro(w.Since), w.Used), "window of the rate of %s", name)
}

// window is how much of its rate a trigger has used, with what this claim takes.
func (a *atDue) window(t *Tx, trigger string) (_ messaging.UsedWindow, err error) {
	w := a.windows[trigger]
	if w.Used == unread {
		*w, err = t.window(RenamedTrigger, trigger)
	}
	return *w, err
}

// use counts a row that goes in the window that began then. A claim that comes to nothing (it is given back, rejected,
// tried again) stays counted until the window ends: so never do more leave than the rate says.
func (a *atDue) use(trigger string, since time.Time) {
	w := a.windows[trigger]
	if since = engine.Moment(engine.Micro(since)); !w.Since.Equal(since) {
		w.Since, w.Used = since, 0
	}
	w.Used++
	a.used = append(a.used, trigger)
}

// keepWindows stores what a claim has used of its triggers' rates, in its own commit.
func (a *atDue) keepWindows(t *Tx) error {
	slices.Sort(a.used)
	for _, trigger := range slices.Compact(a.used) {
		if err := t.setWindow(RenamedTrigger, trigger, *a.windows[trigger]); err != nil {
			return err
		}
	}
	return nil
}

// account tells how many contacts the account of d reached, and whether that of d is one of them. A claim is of
// one account.
func (a *atDue) account(t *Tx, d *claimed, back time.Duration, allowed []claimed, f *messaging.DueFacts) (err error) {
	since := engine.Micro(a.now.Add(-back))
	if a.contacts == nil {
		if a.contacts, err = t.peers.Contacts(t.Tx, d.Account, since, a.hash); err != nil {
			return err
		}
		a.flying = map[int64]bool{}
		if err := reach.Flying(t.Tx, d.Account, since, a.hash, a.flies); err != nil {
			return err
		}
		for i := range allowed {
			a.flies(reach.HashOf(allowed[i].Phone, a.hash))
		}
	}
	own := reach.HashOf(d.Phone, a.hash)
	f.Contacts, f.New = a.contacts.Count()+a.beside, !a.flying[own] && !a.contacts.Has(own)
	return nil
}

// flies notes a contact that a message is on its way to.
func (a *atDue) flies(hash int64) {
	if a.flying[hash] {
		return
	}
	a.flying[hash] = true
	if !a.contacts.Has(hash) {
		a.beside++
	}
}

// soonest is how long a deferral lasts at the least, or a rule that names a time in the past would be asked again and
// again by one claim.
const soonest = time.Second

// An owner stays, so that the late answer of an earlier attempt is known.
var deferSQL = engine.SQL(`UPDATE messages SET reason = ?2, due_at = ?3, expires_at = ?4, updated_at = ?5,
			first_due_at = CASE WHEN first_due_at = 0 THEN due_at ELSE first_due_at END
		WHERE id = ?1 AND state{{checked}} = 'waiting'`)

// deferUntil makes a row that is due wait longer. Its expiry moves along: it says how late a message may be, and
// what a rule puts off is not late.
func (t *Tx) deferUntil(d *claimed, v *messaging.Verdict, now time.Time) error {
	if least := now.Add(soonest); v.Until.Before(least) {
		v.Until = least
	}
	v.Until = engine.Moment(engine.Micro(v.Until))
	expires := d.ExpiresAt
	if !expires.IsZero() {
		expires = expires.Add(v.Until.Sub(d.DueAt))
	}
	if err := t.Put(deferSQL, int64(d.ID), v.Reason, engine.Micro(v.Until), engine.Micro(expires), engine.Micro(now)); err != nil {
		return err
	}
	t.wakeSender(d.Account, engine.Micro(v.Until))
	return t.recordVerdict(d.ID, v, engine.Micro(now))
}

// maxVerdicts is how many rows a message gets; what is said beyond that takes the place of the newest.
const maxVerdicts = 50

// recordVerdict keeps what a rule said, and counts it.
func (t *Tx) recordVerdict(id messaging.MessageID, v *messaging.Verdict, at int64) error {
	t.heldBack(v)
	return t.keepVerdict(id, v, at)
}

var (
	verdictSQL       = engine.SQL(`SELECT number, rule, action, until_at FROM verdicts WHERE message = ?1 ORDER BY number DESC LIMIT 1`)
	insertVerdictSQL = engine.SQL(`INSERT INTO verdicts (message, number, rule, action, reason, until_at, at, last_at, times)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1)`)
	repeatVerdictSQL = engine.SQL(`UPDATE verdicts SET rule = ?3, action = ?4, reason = ?5, until_at = ?6, last_at = ?7, times = times + 1
		WHERE message = ?1 AND number = ?2`)
)

// A newestVerdict is the last that was said to a message, but for its reason.
type newestVerdict struct {
	number int64 // 0 for none
	messaging.Verdict
}

func scanNewestVerdict(r *engine.Row) (v newestVerdict) {
	v.number = r.Int()
	v.Rule, v.Action, v.Until = r.Text(), messaging.VerdictAction(r.Text()), r.Time()
	return v
}

// keepVerdict keeps what was said to a message, beside its reason, which the next rule overwrites.
func (t *Tx) keepVerdict(id messaging.MessageID, v *messaging.Verdict, at int64) error {
	newest, known := t.foreseen.verdicts[int64(id)]
	var err error
	if !known {
		err = t.Query(verdictSQL, func(r *engine.Row) error { newest = scanNewestVerdict(r); return r.Err }, int64(id))
	}
	number, same := newest.number, newest.Verdict == messaging.Verdict{Rule: v.Rule, Action: v.Action, Until: v.Until}
	switch {
	case err != nil:
	case same || number == maxVerdicts:
		err = t.Put(repeatVerdictSQL, int64(id), number, v.Rule, string(v.Action), v.Reason, engine.Micro(v.Until), at)
	default:
		err = t.Put(insertVerdictSQL, int64(id), number+1, v.Rule, string(v.Action), v.Reason, engine.Micro(v.Until), at)
	}
	return Wrap(err, "verdict")
}

// maxLookedAt bounds the messages of one phone that are looked at, the newest first. The order of their numbers is
// not that of their sends: one that waited for months has an old number and a new send. So a look does not end
// where the sends are too old; it goes on to this bound, far beyond what anybody is sent.
const maxLookedAt = maxOfPhone

const pastColumns = `id, claimed_at, category, trigger_name, run_id`

var (
	pastSendsSQL = engine.SQL(`SELECT ` + pastColumns + ` FROM messages
		WHERE id IN (` + engine.Placeholders(3) + `) AND phone = ?1 AND ` + WasSent)
	pastRowsSQL = engine.SQL(`SELECT ` + pastColumns + ` FROM messages
		WHERE id IN (SELECT id FROM messages WHERE event_id = 0 AND phone <> '' AND phone = ?1 AND part = 0 ORDER BY id DESC LIMIT ?3 + 0) AND ` + WasSent)
)

// pastSends reads what was sent to phones since the time of each, is being sent, or may have been sent, the newest first: by events, to
// which hashes lead, by rows of runs, and by their files.
func (t *Tx) pastSends(phones []*sentTo) error {
	for _, to := range phones {
		to.sends = nil
	}
	err := t.pastMessages(phones, func(to *sentTo, c *messaging.Contacted) {
		to.sends = append(to.sends, messaging.PastSend{At: c.At, Category: c.Category, Trigger: c.Trigger})
	})
	for _, to := range phones {
		if err == nil {
			err = t.pastParts(to.phone, to.since, func(s messaging.PastSend) { to.sends = append(to.sends, s) })
		}
		slices.SortStableFunc(to.sends, messaging.NewestFirst)
	}
	return err
}

// pastMessages calls each for the messages among them.
func (t *Tx) pastMessages(phones []*sentTo, each func(to *sentTo, c *messaging.Contacted)) (err error) {
	var events, rows [][]any
	var ofEvents []*sentTo // whose each of events is
	for _, to := range phones {
		ids := []int64{}
		for _, hash := range to.hashes {
			if ids, err = t.peers.Find(t.Tx, peers.Correlations, peers.Correlations, hash, ids); err != nil {
				return err
			}
		}
		ids = ids[max(0, len(ids)-maxLookedAt):]
		for some := range slices.Chunk(ids, engine.RowsAtOnce) {
			events, ofEvents = append(events, engine.Padded([]any{string(to.phone), to.since}, some)), append(ofEvents, to)
		}
		rows = append(rows, []any{string(to.phone), to.since, int64(maxLookedAt)})
	}
	tell := func(to *sentTo, r *engine.Row) error {
		c := messaging.Contacted{ID: messaging.MessageID(r.Int()), Phone: to.phone, At: r.Time(), Category: messaging.Category(r.Text()), Trigger: r.Text()}
		c.Run = messaging.RunID(r.Int())
		each(to, &c)
		return r.Err
	}
	err = t.QueryMany(pastSendsSQL, events, func(i int, r *engine.Row) error { return tell(ofEvents[i], r) })
	if err == nil {
		err = t.QueryMany(pastRowsSQL, rows, func(i int, r *engine.Row) error { return tell(phones[i], r) })
	}
	return err
}

// triggerNames are the names by which something was queued.
func (t *Tx) triggerNames() (names []string, err error) {
	err = t.Query(triggerNamesSQL, func(r *engine.Row) error { names = append(names, r.Text()); return nil })
	return names, Wrap(err, "names of triggers")
}

// hashesTo lead to what triggers queued to a phone.
func hashesTo(phone messaging.Phone, triggers []string, hash func(...string) int64) (hashes []int64) {
	for _, trigger := range triggers {
		hashes = append(hashes, correlationHash(messaging.Correlation{Trigger: trigger, Phone: phone}, hash))
	}
	return hashes
}

var nameTriggerSQL = engine.SQL(`INSERT INTO trigger_names (name) VALUES (?1) ON CONFLICT (name) DO NOTHING`)

// nameTrigger notes a name by which something is queued.
func (t *Tx) nameTrigger(name string) error {
	err := t.Put(nameTriggerSQL, name)
	t.triggers[name] = true
	return Wrap(err, "name of a trigger")
}

// A Verdict is what a rule said to a message when it was due.
type Verdict struct {
	messaging.Verdict
	At     time.Time `json:"at"`               // for the first time
	LastAt time.Time `json:"last_at,omitzero"` // for the last time
	Times  int64     `json:"times"`            // that it was said
}

// addVerdicts fills in what rules said to each message.
func (s *Store) addVerdicts(ctx context.Context, ids []messaging.MessageID, at map[messaging.MessageID]*MessageStory) error {
	return s.Rows(ctx, `SELECT message, rule, action, reason, until_at, at, last_at, times FROM verdicts
		WHERE message IN `+engine.In(ids)+` ORDER BY message, number`, nil, func(r *engine.Row) error {
		d := at[messaging.MessageID(r.Int())]
		d.Verdicts = append(d.Verdicts, Verdict{
			Verdict: messaging.Verdict{Rule: r.Text(), Action: messaging.VerdictAction(r.Text()), Reason: r.Text(), Until: r.Time()},
			At:      r.Time(), LastAt: r.Time(), Times: r.Int(),
		})
		return nil
	})
}

// A VerdictCount is how often a rule did not let a message go.
type VerdictCount struct {
	Rule   string // the YAML key
	Action messaging.VerdictAction
	N      int64
}

const verdictPrefix = "verdict/"

// VerdictCounts is how often each rule put a message off or dropped one since the data began, by rule.
func (s *Store) VerdictCounts(ctx context.Context) ([]VerdictCount, error) {
	out, err := List(ctx, s, `SELECT name, value FROM counters WHERE name >= ?1 AND name < ?2 ORDER BY name`,
		[]any{verdictPrefix, strings.TrimSuffix(verdictPrefix, "/") + "0"}, func(r *engine.Row) (VerdictCount, error) {
			rule, action, _ := strings.Cut(strings.TrimPrefix(r.Text(), verdictPrefix), "/")
			return VerdictCount{rule, messaging.VerdictAction(action), r.Int()}, nil
		})
	return out, Wrap(err, "count what rules said")
}

var reviewSQL = engine.SQL(`UPDATE messages SET due_at = ?2, expires_at = CASE WHEN expires_at = 0 THEN 0 ELSE expires_at - due_at + ?2 END
		WHERE id = ?1 AND due_at > ?2 AND ` + onlyDeferred)

// ReviewDeferred makes due at once what a rule put off and nothing else has moved since, and says how many there
// were. Call it when the rules have changed: they are asked anew, and what they still put off waits as it did.
func (s *Store) ReviewDeferred(ctx context.Context) (n int64, err error) {
	// A claim asks the rules inside its commit. One that asked those of before is over once this has had its turn, so what it
	// put off is seen below.
	if err := s.Write(ctx, commit.LaneWork, func(*Tx) error { return nil }); err != nil {
		return 0, Wrap(err, "review what was deferred")
	}
	var after int64
	for {
		ids, err := List(ctx, s, deferredRows, []any{after, int64(perBulk)}, engine.Number[int64])
		if err != nil || len(ids) == 0 {
			return n, Wrap(err, "review what was deferred")
		}
		after = ids[len(ids)-1]
		var moved int64
		err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			moved = 0 // a batch that is undone runs again
			for _, id := range ids {
				changed, err := t.Exec(reviewSQL, id, t.At)
				if err != nil {
					return err
				}
				moved += changed
			}
			t.wakeSender(messaging.EveryAccount, t.At)
			return nil
		})
		if n += moved; err != nil {
			return n, Wrap(err, "review what was deferred")
		}
	}
}

const deferredRows = `SELECT id FROM messages WHERE id > ?1 AND ` + onlyDeferred + ` ORDER BY id LIMIT ?2`

// WasSent holds for a message whose send began at ?2 or later and may have reached the phone: sending, accepted or in doubt, or dropped or
// cancelled after a doubt. A message that failed does not count, nor does a test.
var WasSent = `claimed_at >= ?2 AND (state = 'sending' OR state = 'accepted' OR state = 'in_doubt' OR ` + WasDroppedInDoubt("messages") + `) AND status <> 'failed' AND test = ''`

// WasDroppedInDoubt is the condition on a message that nobody will send it any more although it may have reached the phone.
func WasDroppedInDoubt(message string) string {
	return `((` + message + `.state = 'dropped' OR ` + message + `.state = 'cancelled') AND ` + reach.HadDoubt(message) + `)`
}

// onlyDeferred is the condition on a message that it waits for nothing but what a rule said.
const onlyDeferred = `state = 'waiting' AND first_due_at > 0
	AND due_at IN (SELECT until_at FROM verdicts WHERE message = messages.id AND action = 'deferred')`
