package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Facts knows what may keep contacts of lists from getting a message.
type Facts interface {
	// About says what is known of each phone. It is asked for up to 512 phones at a time.
	About(ctx context.Context, phones []messaging.Phone, q Question) ([]Known, error)
}

// Known is what is known of one contact, for duerules.MayGo.
type Known struct {
	messaging.DueFacts
	Forgotten bool // its phone is kept nowhere, and not with the row either
}

// A Question says what has to be known of contacts beside who is blocked.
type Question struct {
	Now        time.Time          // what Within and Needs.Sends are counted back from
	Within     time.Duration      // Exclude.MessagedWithin; 0 for none
	Needs      messaging.DueNeeds // of the rules
	Forgetting bool               // who may have to be forgotten
	Rows       bool               // a row of another run that waits counts within Within
	// Of is the run whose rows they are. What it sent, or a run that sends some of its rows again, is no
	// reason against them: a message that failed must not keep itself from being repeated. 0 for none.
	Of messaging.RunID
}

// An answer is what duerules.MayGo says to a row of a list.
type answer struct {
	messaging.Verdict
	forgotten bool
}

// never reports that the row may never go.
func (a *answer) never() bool { return a.Action == messaging.DropSend }

// always reports that the row may never go, whenever its turn comes.
func (a *answer) always() bool { return a.never() && a.OfContact() }

// forgotten is the answer to a row whose contact was forgotten.
var forgotten = answer{messaging.Verdict{Action: messaging.DropSend, Rule: messaging.RuleBlock, Reason: messaging.BlockedWords(messaging.ForgottenWords)}, true}

// asking is when rows of a list are asked about.
type asking int

const (
	whileRead asking = iota // the list is read: of what is said of the contact it is rid, whenever the turn of its rows comes
	atTurn                  // a part is cut, or rows are handed over as messages
	foretold                // a forecast asks all that is asked from now on until they go
)

// mayGo asks about contacts on the list of a run, as the job has it now: of a list that leaves in files with the rules of the config, and of one that
// leaves message by message without them, because the claim of each asks them; a forecast asks them itself. of is the category of each, where a row
// has its own; nil for that of the run. What a run is, it says itself: its job may deliver otherwise by now.
func (s *Scheduler) mayGo(ctx context.Context, r *messaging.Run, job *Compiled, phones []messaging.Phone, of func(i int) messaging.Category, when asking) ([]answer, error) {
	if job == nil {
		return nil, unknownRules(r)
	}
	d := messaging.Message{Trigger: r.Job, Account: r.Account, Category: r.Category, Config: r.Config, DueAt: r.DueAt}
	q := Question{Now: s.Now(), Of: r.ID, Within: job.Exclude.MessagedWithin.D(), Rows: when != whileRead}
	var turns *turns
	if when != whileRead && r.EndedAt.IsZero() { // else it is about a retry, whose rows have turns of their own
		turns = job.turns(r, q.Now)
	}
	file := r.Deliver == messaging.DeliverCSV
	var rules messaging.DueRules
	if file || when == foretold {
		rules = s.dueRules()
		for _, d.Category = range messaging.Lanes {
			if of == nil && d.Category != r.Category {
				continue
			}
			q.Forgetting = q.Forgetting || d.Category == messaging.Marketing
			if rules != nil {
				q.needs(rules.Needs(&d))
			}
		}
		if d.Category = r.Category; when == whileRead {
			q.Needs.Sends = 0
		}
	}
	known := make([]Known, len(phones))
	if s.Facts != nil {
		var err error
		if known, err = s.Facts.About(ctx, phones, q); err == nil && len(known) != len(phones) {
			err = fmt.Errorf("%d answers for %d phones", len(known), len(phones))
		}
		if err != nil {
			return nil, fmt.Errorf("ask who must not be sent to: %w", err)
		}
	}
	answers := make([]answer, len(phones))
	for i, phone := range phones {
		k := &known[i]
		if phone == "" || phone == forgottenPhone {
			answers[i] = forgotten
			continue
		}
		if d.Phone = phone; of != nil {
			d.Category = of(i)
		}
		k.File, k.Within, k.FirstDue = file || when != foretold, q.Within, r.DueAt
		at, now := turns.of(phone), q.Now
		if turns != nil {
			k.OwnClock, k.FirstDue, d.DueAt = file, at.at, at.at
			now = turns.due(phone, now)
		}
		if when == foretold && !file && r.Expires > 0 {
			d.ExpiresAt = now.Add(r.Expires)
		}
		answers[i] = answer{duerules.MayGo(rules, &d, &k.DueFacts, now), k.Forgotten}
		if answers[i].Action == messaging.AllowSend && now.After(q.Now) {
			answers[i].Verdict = turns.waits(at)
		}
		if answers[i].Rule == messaging.RuleConfig {
			return nil, unknownRules(r)
		}
	}
	return answers, nil
}

// needs adds what the rules need about another category.
func (q *Question) needs(n messaging.DueNeeds) {
	q.Needs.Sends, q.Needs.Account = max(q.Needs.Sends, n.Sends), max(q.Needs.Account, n.Account)
	q.Needs.Consent, q.Needs.Window = q.Needs.Consent || n.Consent, q.Needs.Window || n.Window
}

// asked is mayGo for the building of a list, of which no row goes yet.
func (s *Scheduler) asked(r messaging.Run, job *Compiled, when asking) func(context.Context, []messaging.Phone, func(int) messaging.Category) ([]answer, error) {
	r.ID = 0 // it has sent nothing
	return func(ctx context.Context, phones []messaging.Phone, of func(int) messaging.Category) ([]answer, error) {
		return s.mayGo(ctx, &r, job, phones, of, when)
	}
}

// A HistoryStore is what a History needs of package store.
type HistoryStore interface {
	// Blocked says which of the phones are blocked, those of contacts that were forgotten among them, and why.
	Blocked(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]string, error)
	// Agreed says what the phones said of messages of marketing; nothing of one that said nothing.
	Agreed(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]messaging.Consent, error)
	// Forgotten says which of the phones are of contacts that were forgotten, and since when.
	Forgotten(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]time.Time, error)
	// Redacting says which of the phones came by a connector all of which is asked to be forgotten, and by which.
	Redacting(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]string, error)
	// Family are a run, the runs that it repeats, and those that repeat it.
	Family(ctx context.Context, id messaging.RunID) ([]messaging.RunID, error)
	// RowsTo are the rows of runs to these phones that wait, are on their way, or may have been taken
	// since then.
	RowsTo(ctx context.Context, phones []messaging.Phone, since time.Time) ([]messaging.Contacted, error)
	// SentTo are the messages that were sent to these phones since then, are being sent, or may have been sent.
	SentTo(ctx context.Context, phones []messaging.Phone, since time.Time) ([]messaging.Contacted, error)
	// FilesTo are the files with these phones that left since then, or may have.
	FilesTo(ctx context.Context, phones []messaging.Phone, since time.Time) ([]messaging.Contacted, error)
}

// A History is the Facts of everyday: it knows who is blocked, and who was messaged of late, message
// by message or by a file that was uploaded.
type History struct{ store HistoryStore }

// NewHistory makes a History.
func NewHistory(store HistoryStore) *History { return &History{store} }

// About implements Facts.
func (h *History) About(ctx context.Context, phones []messaging.Phone, q Question) ([]Known, error) {
	blocked, err := h.store.Blocked(ctx, phones)
	if err != nil {
		return nil, err
	}
	gone, err := h.store.Forgotten(ctx, phones)
	if err != nil {
		return nil, err
	}
	var agreed map[messaging.Phone]messaging.Consent
	if q.Needs.Consent {
		if agreed, err = h.store.Agreed(ctx, phones); err != nil {
			return nil, err
		}
	}
	var redacting map[messaging.Phone]string
	if q.Forgetting {
		if redacting, err = h.store.Redacting(ctx, phones); err != nil {
			return nil, err
		}
	}
	var last map[messaging.Phone]messaging.Contacted
	var sends map[messaging.Phone][]messaging.PastSend
	if q.Within > 0 || q.Needs.Sends > 0 {
		if last, sends, err = h.messaged(ctx, phones, q); err != nil {
			return nil, err
		}
	}
	out := make([]Known, len(phones))
	for i, p := range phones {
		k := &out[i]
		k.Forgotten, k.Blocked, k.Forgetting, k.Consent, k.Sends = !gone[p].IsZero(), blocked[p], redacting[p], agreed[p], sends[p]
		if by, ok := last[p]; ok {
			k.Messaged = &by
		}
	}
	return out, nil
}

// messaged is the newest message to each of the phones that counts against it, and all that was sent to
// each, the newest first, for its limits.
func (h *History) messaged(ctx context.Context, phones []messaging.Phone, q Question) (last map[messaging.Phone]messaging.Contacted, sends map[messaging.Phone][]messaging.PastSend, err error) {
	var own []messaging.RunID
	var rows []messaging.Contacted
	if q.Of != 0 {
		own, err = h.store.Family(ctx, q.Of)
	}
	if err == nil && q.Rows && q.Within > 0 {
		// A row of another run that waits to be sent will be: of two runs the first has it.
		rows, err = h.store.RowsTo(ctx, phones, q.Now.Add(-q.Within))
	}
	var found []messaging.Contacted
	if err == nil {
		found, err = h.found(ctx, phones, q)
	}
	if err != nil {
		return nil, nil, err
	}
	last = map[messaging.Phone]messaging.Contacted{}
	for _, c := range slices.Concat(rows, found) {
		if before, known := last[c.Phone]; q.Within == 0 || c.At.Before(q.Now.Add(-q.Within)) || slices.Contains(own, c.Run) || known && !before.At.Before(c.At) {
			continue
		}
		last[c.Phone] = c
	}
	if q.Needs.Sends > 0 {
		sends = sendsOf(found, own, q.Now.Add(-q.Needs.Sends))
	}
	return last, sends, nil
}

// sendsOf are the sends to each phone, the newest first. What the own run sent does not count: it was
// counted when it was to leave. A message that the answer to an upload named is the row of its file.
func sendsOf(found []messaging.Contacted, own []messaging.RunID, since time.Time) map[messaging.Phone][]messaging.PastSend {
	type row struct {
		phone messaging.Phone
		run   messaging.RunID
	}
	files, seen := map[row]bool{}, map[messaging.MessageID]bool{}
	for _, c := range found {
		if c.ID == 0 {
			files[row{c.Phone, c.Run}] = true
		}
	}
	sends := map[messaging.Phone][]messaging.PastSend{}
	for _, c := range found {
		twice := c.ID != 0 && (seen[c.ID] || files[row{c.Phone, c.Run}])
		if seen[c.ID] = true; twice || c.At.Before(since) || slices.Contains(own, c.Run) {
			continue
		}
		sends[c.Phone] = append(sends[c.Phone], messaging.PastSend{At: c.At, Category: c.Category, Trigger: c.Trigger})
	}
	for _, of := range sends {
		slices.SortFunc(of, messaging.NewestFirst)
	}
	return sends
}

// found is everything that is known to have been sent to the phones, or may have been.
func (h *History) found(ctx context.Context, phones []messaging.Phone, q Question) ([]messaging.Contacted, error) {
	since := q.Now.Add(-max(q.Within, q.Needs.Sends))
	found, err := h.store.SentTo(ctx, phones, since)
	if err != nil {
		return nil, err
	}
	files, err := h.store.FilesTo(ctx, phones, since)
	return append(found, files...), err
}
