package store

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What an operation changes it says here, where it makes the change, and it calls no counter itself. Each change is noted for those whom it
// concerns: totals, counts of the hour, reasons of refusals, what came to nothing, when a connector was last seen, who was reached, receivers under
// webhooks_out, the audit, and whoever waits for work. At the end of the transaction atEnd writes what was noted, a row for all
// that are alike; after the commit tell wakes whoever waits. Metrics and the log come last, from the goroutine whose operation it was (observer.go).

// atEnd are those who write what was noted, in this order. The audit is last: who holds the end of its chain waits for nobody any more.
var atEnd = [...]func(*Tx) error{
	(*Tx).writeNoted, (*Tx).writeCounts, (*Tx).writeHours, (*Tx).writeUnused, (*Tx).writeLastSeen, (*Tx).trimRejections, (*Tx).writeErrorTexts, (*Tx).writeChanged, (*Tx).writeAudit,
}

// notifySubscribers tells, after a commit, what it left to do.
func (w *writer) notifySubscribers() {
	w.noteAudit(w.auditEnd)
	w.recent.add(w.off)
	w.dues.wakeWaiting(w.hooks.due)
	w.polls.wakeWaiting(w.hooks.poll)
	w.outs.wakeWaiting(w.hooks.out)
	if w.lookup != 0 && w.hooks.lookup != nil {
		w.hooks.lookup(engine.Moment(w.lookup))
	}
}

// eventStored says that an event is new.
func (t *Tx) eventStored(e *messaging.Event, received int64) {
	t.see(e.Connector, received)
	t.counts[countEvents]++
	if e.OfTest() {
		return
	}
	t.countHour(hourKey{about: aboutConnector, what: hourEvent, name: e.Connector, detail: e.Kind}, 1)
}

// eventRepeated says that an event came that was there before.
func (t *Tx) eventRepeated(e *messaging.Event, received int64) {
	t.see(e.Connector, received)
	t.counts[countDuplicates]++
	t.countHour(hourKey{about: aboutConnector, what: hourDuplicate, name: e.Connector}, 1)
}

// eventPlanned says why nothing can come of an event that was stored, "" where something may. That ends what one without a phone began.
func (t *Tx) eventPlanned(e *messaging.Event, why messaging.Unused, id int64) {
	if why != "" {
		t.addUnused(unusedKey{e.Connector, why, e.Kind}, id)
	}
	if key := (unusedKey{e.Connector, messaging.UnusedPhone, e.Kind}); e.Contact.Phone != "" && t.unusedKnown.has(key) {
		t.unused[key] = unused{used: true}
	}
}

// requestRejected says that a request was not taken, and why.
func (t *Tx) requestRejected(connector string, r *messaging.RejectedRequest) {
	if r.Empty {
		t.addUnused(unusedKey{connector: connector, why: messaging.UnusedRequest}, 0)
	}
	t.counts[countRejectedRequests]++
	t.countHour(hourKey{about: aboutConnector, what: hourRefused, name: mask.Phones(connector), detail: r.Stage}, 1)
}

// requestsRejected says that n requests were not taken of which no trace is kept.
func (t *Tx) requestsRejected(n int64) {
	t.counts[countRejectedRequests] += n
	t.countHour(hourKey{about: aboutConnector, what: hourRefused, name: hourOther, detail: hourOther}, n)
}

// decided says what a trigger said to an event about that contact. test is as in messaging.Message: an order for a test is nothing that the
// trigger said, and is told all the same.
func (t *Tx) decided(d *messaging.Decision, c *messaging.Contact, test string) {
	if test == "" {
		t.counts[outcomeCounts[d.Outcome]]++
		t.countHour(hourKey{about: aboutTrigger, what: hourDecision, name: d.Trigger, detail: string(d.Outcome)}, 1)
	}
	t.Note(messaging.AboutDecision, string(d.Outcome), messaging.Change{
		Message: d.MessageID, Phone: c.Phone, SentAs: c.SentAs, Trigger: d.Trigger, Event: d.EventID, Outcome: d.Outcome, Reason: d.Reason, Test: test,
	}, c.Phone != "")
}

// messageShadowed says that a message would have been queued, but for the mode of its trigger.
func (t *Tx) messageShadowed(p *eventLabels) { t.countMessage(p, hourShadowed, "") }

// messageQueued says that a message is new, and when it is due.
func (t *Tx) messageQueued(id messaging.MessageID, p *eventLabels, due int64, reason string) {
	t.counts[countMessages]++
	t.countMessage(p, hourQueued, "")
	t.Note(messaging.AboutMessage, string(messaging.StateWaiting), messaging.Change{Message: id, State: string(messaging.StateWaiting), Reason: reason}, false)
	t.wakeSender(p.account, due)
	if p.about == aboutJob || p.name == messaging.ByHand { // it counts while it waits; what an event caused does once it is claimed
		t.noteContact(p.phone, factSend)
	}
}

// messageNamed says that the answer to an upload named a message, which is new.
func (t *Tx) messageNamed(p *eventLabels) {
	t.counts[countFollowed]++
	t.countMessage(p, string(messaging.StateAccepted), "")
}

// messageClaimed says that a message to that phone is on its way to a call.
func (t *Tx) messageClaimed(phone messaging.Phone) {
	t.counts[countAttempts]++
	t.noteContact(phone, factSend)
}

// heldBack says what a rule said to a message that it did not let go.
func (t *Tx) heldBack(v *messaging.Verdict) {
	t.CountNamed(verdictPrefix+v.Rule+"/"+string(v.Action), 1)
}

// messageState says what a message became, when it was something before. waiting is that it waits once more. by is the Rule or the EndedBy by
// which it was dropped or cancelled, and class that of the service's words, if they were the reason.
func (t *Tx) messageState(id messaging.MessageID, p *eventLabels, state messaging.State, reason, by string, class messaging.ErrorClass) {
	if !p.test {
		t.counts[stateCounts[state]]++
	}
	what := string(state)
	if state == messaging.StateWaiting {
		what = hourAgain
		t.noteContact(p.phone, factSend)
	}
	t.countMessage(p, what, cmp.Or(by, string(class)))
	if state == messaging.StateRejected && !p.test {
		t.countRejection(string(state), reason)
	}
	if messaging.ToldState(state) {
		t.Note(messaging.AboutMessage, string(state), messaging.Change{Message: id, State: string(state), Reason: reason, ErrorClass: class}, false)
	}
}

var stateCounts = map[messaging.State]counter{
	messaging.StateWaiting:   countRetries,
	messaging.StateAccepted:  countAccepted,
	messaging.StateRejected:  countRejected,
	messaging.StateInDoubt:   countInDoubt,
	messaging.StateCancelled: countCancelled,
	messaging.StateDropped:   countDropped,
}

// mayHaveArrived says that a contact may have a message although it waits again, or has ended, at that time.
func (t *Tx) mayHaveArrived(p *eventLabels, at int64) { t.peers.noteRecipient(p.account, p.phone, at) }

// messageTaken says that the service took a message, or with answered false that a person says so.
func (t *Tx) messageTaken(m *messaging.Message, p *eventLabels, answered bool) {
	m.Phone, m.Account = p.phone, p.account
	switch {
	case p.test:
		t.countTest(p)
	case answered && !m.Tracked():
		t.counts[countUntracked]++
	}
	t.messageStatus(m, "", known(m), p, m.StatusAt)
	t.peers.noteRecipient(m.Account, m.Phone, engine.Micro(m.AcceptedAt))
}

// messagePolled says what a look at a message brought.
func (t *Tx) messagePolled(p *messaging.Poll, l *polled) {
	if !p.Unasked {
		t.counts[countPolls]++
	}
	t.messageStatus(&l.message, l.before, l.news, &l.of, p.At)
}

// messageStatus says what the service told of a message at that time. before is its status until then, "" where it was just taken; p is asked
// only where there is news.
func (t *Tx) messageStatus(m *messaging.Message, before messaging.Status, n news, p *eventLabels, at time.Time) {
	if n != (news{}) {
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
	t.peers.filesCount(state == messaging.PartUploading || state == messaging.PartAccepted || state == messaging.PartInDoubt)
	if state != messaging.PartAccepted {
		return
	}
	k := hourKey{about: aboutJob, what: hourUploaded, name: r.Job, detail: "template " + strconv.FormatInt(r.TemplateID, 10)}
	rest := p.Rows - named
	for _, share := range p.Goes {
		k.country = share.Country
		if named == 0 {
			t.countHour(k, share.Rows)
			rest -= share.Rows
		}
		if points := thousandths(share.Points); points > 0 {
			k.what = hourPoints
			t.countHour(k, points)
			k.what = hourUploaded
		}
	}
	if k.country = ""; rest > 0 {
		t.countHour(k, rest)
	}
}

// wakeSender says that a message of an account now waits for at.
func (t *Tx) wakeSender(account string, at int64) {
	t.dues.note(account, at, t.At)
	t.peers.lowWater().lower(account, at)
}

// wakeTracker says that a message of an account now waits to be asked about; 0 is that it does not.
func (t *Tx) wakeTracker(account string, at int64) {
	if at != 0 {
		t.polls.note(account, at, t.At)
	}
}

// wakeEnricher says that a look-up now waits for at.
func (t *Tx) wakeEnricher(at int64) {
	if t.lookup == 0 || at < t.lookup {
		t.lookup = at
	}
}
