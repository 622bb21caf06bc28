package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/chain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// What an operation changes it says here, where it makes the change, and it calls no counter itself. Each change is noted with those whom it
// concerns, who have a part of the batch each: what is counted (package tally), receivers under webhooks_out (package outgoing), parts that are being
// cut (run_cuts.go), the audit (package chain), and whoever waits for work. At the end of the transaction writeNoted has them write what was noted; after the commit
// notifySubscribers wakes whoever waits. Metrics and the log come last, from the goroutine whose operation it was (observer.go).

// writeNoted writes what was noted, in this order. The audit is the last that waits for anybody: others wait for who holds the end of its chain.
func (t *Tx) writeNoted() error {
	var err error
	if !t.outgoing.Empty() {
		err = t.outgoing.Write(t.Tx, t.allocate)
	}
	if err == nil && t.bare {
		err = t.tally.Hours.WritePoints(t.Tx)
	} else if err == nil {
		err = t.tally.Write(t.Tx)
	}
	if err == nil {
		err = t.cuts.write(t)
	}
	if err == nil {
		err = t.writeAudit()
	}
	if at, waits := t.dues.Earliest(); waits && err == nil {
		err = t.peers.TellDue(t.Tx, at)
	}
	return err
}

// writeAudit waits for whoever else writes to the audit, and then adds to it.
func (t *Tx) writeAudit() error {
	if t.audits.Empty() {
		return nil
	}
	if err := t.Lock(chain.Lock); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return t.audits.Write(t.Tx, &t.Chain)
}

// Audit adds an entry behind the last one. Of two processes one waits for the other's commit.
func (s *Store) Audit(ctx context.Context, e chain.Entry) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error { t.Audit(&e); return nil })
	return Wrap(err, "record in the audit")
}

// Audit says what was ordered. The entry gets its number and its place at the end of the transaction that does it.
func (t *Tx) Audit(e *chain.Entry) { t.audits.Add(e) }

// notifySubscribers tells, after a commit, what it left to do.
func (w *writer) notifySubscribers() {
	w.audits.Committed(&w.Chain)
	w.recent.add(w.off)
	w.dues.Tell(w.hooks.due)
	w.polls.Tell(w.hooks.poll)
	w.outgoing.Due.Tell(w.hooks.out)
	if w.lookup != 0 && w.hooks.lookup != nil {
		w.hooks.lookup(engine.Moment(w.lookup))
	}
}

// Note notes a change if somebody wants to know it.
func (t *Tx) Note(about, word string, change messaging.Change, filled bool) {
	if t.tells == nil {
		return
	}
	if to := t.tells(about, word); len(to) > 0 {
		t.outgoing.Add(to, about+"."+word, change, filled)
	}
}

// WakeReceiver has those who tell a receiver hear, after the commit, that something is due for it at that moment.
func (t *Tx) WakeReceiver(name string, at int64) { t.outgoing.Due.Note(name, at, t.At) }

// eventStored says that an event is new.
func (t *Tx) eventStored(e *messaging.Event, received int64) {
	t.tally.LastSeen.See(e.Connector, received)
	t.tally.Totals.Add(tally.CountEvents, 1)
	if e.OfTest() {
		return
	}
	t.tally.Hours.Add(tally.HourKey{About: tally.AboutConnector, What: tally.HourEvent, Name: e.Connector, Detail: e.Kind}, 1)
}

// eventRepeated says that an event came that was there before.
func (t *Tx) eventRepeated(e *messaging.Event, received int64) {
	t.tally.LastSeen.See(e.Connector, received)
	t.tally.Totals.Add(tally.CountDuplicates, 1)
	t.tally.Hours.Add(tally.HourKey{About: tally.AboutConnector, What: tally.HourDuplicate, Name: e.Connector}, 1)
}

// eventPlanned says why nothing can come of an event that was stored, "" where something may. That ends what one without a phone began.
func (t *Tx) eventPlanned(e *messaging.Event, why messaging.Unused, id int64) {
	if why != "" {
		t.tally.Unused.Add(unusedKey(e, why), id)
	}
	if e.Contact.Phone != "" {
		t.tally.Unused.Used(unusedKey(e, messaging.UnusedPhone))
	}
}

func unusedKey(e *messaging.Event, why messaging.Unused) tally.UnusedKey {
	return tally.UnusedKey{Connector: e.Connector, Why: why, Kind: e.Kind}
}

// requestRejected says that a request was not taken, and why.
func (t *Tx) requestRejected(connector string, r *messaging.RejectedRequest) {
	if r.Empty {
		t.tally.Unused.Add(tally.UnusedKey{Connector: connector, Why: messaging.UnusedRequest}, 0)
	}
	t.tally.Totals.Add(tally.CountRejectedRequests, 1)
	t.tally.Hours.Add(tally.HourKey{About: tally.AboutConnector, What: tally.HourRefused, Name: mask.Phones(connector), Detail: r.Stage}, 1)
}

// requestsRejected says that n requests were not taken of which no trace is kept.
func (t *Tx) requestsRejected(n int64) {
	t.tally.Totals.Add(tally.CountRejectedRequests, n)
	t.tally.Hours.Add(tally.HourKey{About: tally.AboutConnector, What: tally.HourRefused, Name: tally.HourOther, Detail: tally.HourOther}, n)
}

// decided says what a trigger said to an event about that contact. test is as in messaging.Message: an order for a test is nothing that the
// trigger said, and is told all the same.
func (t *Tx) decided(d *messaging.Decision, c *messaging.Contact, test string) {
	if test == "" {
		t.tally.Totals.Add(outcomeCounts[d.Outcome], 1)
		t.tally.Hours.Add(tally.HourKey{About: tally.AboutTrigger, What: tally.HourDecision, Name: d.Trigger, Detail: string(d.Outcome)}, 1)
	}
	t.Note(messaging.AboutDecision, string(d.Outcome), messaging.Change{
		Message: d.MessageID, Phone: c.Phone, SentAs: c.SentAs, Trigger: d.Trigger, Event: d.EventID, Outcome: d.Outcome, Reason: d.Reason, Test: test,
	}, c.Phone != "")
}

// messageShadowed says that a message would have been queued, but for the mode of its trigger.
func (t *Tx) messageShadowed(p *labels.Labels) { t.countMessage(p, tally.HourShadowed, "") }

// messageQueued says that a message is new, and when it is due.
func (t *Tx) messageQueued(id messaging.MessageID, p *labels.Labels, due int64, reason string) {
	t.tally.Totals.Add(tally.CountMessages, 1)
	t.countMessage(p, tally.HourQueued, "")
	t.Note(messaging.AboutMessage, string(messaging.StateWaiting), messaging.Change{Message: id, State: string(messaging.StateWaiting), Reason: reason}, false)
	t.wakeSender(p.Account, due)
	if p.About == tally.AboutJob || p.Name == messaging.ByHand { // it counts while it waits; what an event caused does once it is claimed
		t.noteContact(p.Phone, factSend)
	}
}

// messageNamed says that the answer to an upload named a message, which is new.
func (t *Tx) messageNamed(p *labels.Labels) {
	t.tally.Totals.Add(tally.CountFollowed, 1)
	t.countMessage(p, string(messaging.StateAccepted), "")
}

// messageClaimed says that a message to that phone is on its way to a call.
func (t *Tx) messageClaimed(phone messaging.Phone) {
	t.tally.Totals.Add(tally.CountAttempts, 1)
	t.noteContact(phone, factSend)
}

// CountNamed counts n by a name that has a slash in it, beside the counters that are always there.
func (t *Tx) CountNamed(name string, n int64) { t.tally.Totals.AddNamed(name, n) }

// heldBack says what a rule said to a message that it did not let go.
func (t *Tx) heldBack(v *messaging.Verdict) {
	t.CountNamed(verdictPrefix+v.Rule+"/"+string(v.Action), 1)
}

// messageState says what a message became, when it was something before. waiting is that it waits once more. by is the Rule or the EndedBy by
// which it was dropped or cancelled, and class that of the service's words, if they were the reason.
func (t *Tx) messageState(id messaging.MessageID, p *labels.Labels, state messaging.State, reason, by string, class messaging.ErrorClass) {
	if !p.Test {
		t.tally.Totals.Add(stateCounts[state], 1)
	}
	what := string(state)
	if state == messaging.StateWaiting {
		what = tally.HourAgain
		t.noteContact(p.Phone, factSend)
	}
	t.countMessage(p, what, cmp.Or(by, string(class)))
	if state == messaging.StateRejected && !p.Test {
		t.tally.Rejected(string(state), reason, t.At)
	}
	if messaging.ToldState(state) {
		t.Note(messaging.AboutMessage, string(state), messaging.Change{Message: id, State: string(state), Reason: reason, ErrorClass: class}, false)
	}
}

var stateCounts = map[messaging.State]tally.Counter{
	messaging.StateWaiting:   tally.CountRetries,
	messaging.StateAccepted:  tally.CountAccepted,
	messaging.StateRejected:  tally.CountRejected,
	messaging.StateInDoubt:   tally.CountInDoubt,
	messaging.StateCancelled: tally.CountCancelled,
	messaging.StateDropped:   tally.CountDropped,
}

// mayHaveArrived says that a contact may have a message although it waits again, or has ended, at that time. So it may have cost, and nobody will
// ever know.
func (t *Tx) mayHaveArrived(p *labels.Labels, at int64) {
	t.countCost(p)
	t.peers.NoteRecipient(p.Account, p.Phone, at)
}

// messageTaken says that the service took a message, or with answered false that a person says so.
func (t *Tx) messageTaken(m *messaging.Message, p *labels.Labels, answered bool) {
	m.Phone, m.Account = p.Phone, p.Account
	switch {
	case p.Test:
		t.tally.Hours.Add(tally.HourKey{About: p.About, What: tally.HourTested, Name: p.Name, Detail: p.Template, Country: p.Country}, 1)
	case answered && !m.Tracked():
		t.tally.Totals.Add(tally.CountUntracked, 1)
	}
	if p.Category != "" { // else an upload's answer named it, and the whole file is counted
		t.countCost(p)
	}
	t.messageStatus(m, "", m.KnownStatus(), p, m.StatusAt)
	t.peers.NoteRecipient(m.Account, m.Phone, engine.Micro(m.AcceptedAt))
}

// messagePolled says what a look at a message brought.
func (t *Tx) messagePolled(p *messaging.Poll, l *polled) {
	if !p.Unasked {
		t.tally.Totals.Add(tally.CountPolls, 1)
	}
	t.messageStatus(&l.message, l.before, l.news, &l.of, p.At)
}

// messageStatus says what the service told of a message at that time. before is its status until then, "" where it was just taken; p is asked
// only where there is news.
func (t *Tx) messageStatus(m *messaging.Message, before messaging.Status, n messaging.StatusNews, p *labels.Labels, at time.Time) {
	if n != (messaging.StatusNews{}) {
		t.countNews(n, p, m, at)
	}
	t.wakeTracker(m.Account, engine.Micro(m.NextPollAt))
	if m.Status == before {
		return
	}
	word := string(m.Status)
	if !slices.Contains(messaging.Statuses, m.Status) {
		word = messaging.OtherStatus
	}
	t.Note(messaging.AboutMessage, word, messaging.Change{
		Message: m.ID, MessageID: m.ServiceID, Phone: m.Phone, Account: m.Account, Status: m.Status,
		Reason: cmp.Or(m.Error, m.Reason), ErrorClass: m.ErrorClass,
	}, false)
}

// runState says that a run ended, if it did not before.
func (t *Tx) runState(r *messaging.Run, before messaging.RunState) {
	if r.State == before || !r.State.Final() {
		return
	}
	t.Note(messaging.AboutRun, string(r.State), messaging.Change{
		Run: r.ID, Job: r.Job, Account: r.Account, State: string(r.State), Reason: r.Reason, Rows: r.Tally.Kept,
	}, true)
}

// partState says what a part of a run became. Of one that the service took what it costs is counted, and its rows without those that its answer
// named: these are messages, each of its own country, so the rest of such a part has none.
func (t *Tx) partState(r *messaging.Run, p *messaging.Part, state messaging.PartState, named int64) {
	t.peers.FilesCount(state == messaging.PartUploading || state == messaging.PartAccepted || state == messaging.PartInDoubt)
	if state != messaging.PartAccepted {
		return
	}
	k := tally.HourKey{About: tally.AboutJob, What: tally.HourUploaded, Name: r.Job, Detail: "template " + strconv.FormatInt(r.TemplateID, 10)}
	rest := p.Rows - named
	for _, share := range p.Goes {
		k.Country = share.Country
		if named == 0 {
			t.tally.Hours.Add(k, share.Rows)
			rest -= share.Rows
		}
		if points := messaging.Thousandths(share.Points); points > 0 {
			k.What = tally.HourPoints
			t.tally.Hours.Add(k, points)
			k.What = tally.HourUploaded
		}
	}
	if k.Country = ""; rest > 0 {
		t.tally.Hours.Add(k, rest)
	}
}

// countMessage counts what happened to a message. Tests are no part of any statistics.
func (t *Tx) countMessage(p *labels.Labels, what, class string) {
	if p.Test {
		return
	}
	t.tally.Hours.Add(tally.HourKey{About: p.About, What: what, Name: p.Name, Detail: p.Template, Country: p.Country, Class: class}, 1)
}

// countCost counts what a message costs by the prices of now, tests apart from the others.
func (t *Tx) countCost(p *labels.Labels) {
	if t.points == nil {
		return
	}
	if points := messaging.Thousandths(t.points(p.Account, p.Category, p.Phone)); points > 0 {
		k := tally.HourKey{About: p.About, What: tally.HourSpent, Name: p.Name, Detail: p.Template, Country: p.Country}
		if p.Test {
			k.What = tally.HourTestCost
		}
		t.tally.Hours.Add(k, points)
	}
}

// countNews counts what is new in a message.
func (t *Tx) countNews(n messaging.StatusNews, p *labels.Labels, m *messaging.Message, at time.Time) {
	if p.Test {
		return
	}
	if n.Sent {
		t.tally.Totals.Add(tally.CountSent, 1)
	}
	if n.Delivered {
		t.tally.Totals.Add(tally.CountDelivered, 1)
	}
	if n.Arrived {
		if told := m.ToldAt; told.After(m.AcceptedAt) && told.Before(at) {
			at = told // the service knows better than a look that comes later
		}
		t.countMessage(p, tally.HourDelivered, tally.ArrivalTime(at.Sub(m.AcceptedAt)))
	}
	if n.Read {
		t.tally.Totals.Add(tally.CountRead, 1)
		t.countMessage(p, tally.HourRead, "")
	}
	if n.Failed {
		t.tally.Totals.Add(tally.CountFailed, 1)
		t.countMessage(p, tally.HourFailed, string(m.ErrorClass))
		t.tally.Rejected(string(messaging.StatusFailed), m.Error, t.At)
	}
	if n.Expired {
		t.tally.Totals.Add(tally.CountExpired, 1)
		t.countMessage(p, tally.HourExpired, "")
	}
}

// wakeSender says that a message of an account now waits for at.
func (t *Tx) wakeSender(account string, at int64) {
	t.dues.Note(account, at, t.At)
	t.peers.LowWater().Lower(account, at)
}

// wakeTracker says that a message of an account now waits to be asked about; 0 is that it does not.
func (t *Tx) wakeTracker(account string, at int64) {
	if at != 0 {
		t.polls.Note(account, at, t.At)
	}
}

// wakeEnricher says that a look-up now waits for at.
func (t *Tx) wakeEnricher(at int64) {
	if t.lookup == 0 || at < t.lookup {
		t.lookup = at
	}
}
