package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire"
)

// What an operation changes it says here, where it makes the change. Each change goes to the totals, then to the counts of the hour, then to the
// reasons of refusals, then to receivers under webhooks_out, all inside the transaction. Wake-ups, metrics and the log come after
// the commit (commit_writer.go, observer.go).

// messageQueued says that a message is new.
func (t *tx) messageQueued(id nudgewire.MessageID, p *party, reason string) {
	t.counts[countMessages]++
	t.countMessage(p, hourQueued, "")
	t.note(nudgewire.AboutMessage, string(nudgewire.StateWaiting), nudgewire.Change{Message: id, State: string(nudgewire.StateWaiting), Reason: reason}, false)
}

// messageState says what a message became, when it was something before. waiting is that it waits once more.
func (t *tx) messageState(id nudgewire.MessageID, p *party, state nudgewire.State, reason string, class nudgewire.ErrorClass) {
	t.counts[stateCounts[state]]++
	what := string(state)
	if state == nudgewire.StateWaiting {
		what = hourAgain
	}
	t.countMessage(p, what, string(class))
	if state == nudgewire.StateRejected {
		t.countRejection(string(state), reason)
	}
	if nudgewire.ToldState(state) {
		t.note(nudgewire.AboutMessage, string(state), nudgewire.Change{Message: id, State: string(state), Reason: reason, ErrorClass: class}, false)
	}
}

var stateCounts = map[nudgewire.State]counter{
	nudgewire.StateWaiting:   countRetries,
	nudgewire.StateAccepted:  countAccepted,
	nudgewire.StateRejected:  countRejected,
	nudgewire.StateInDoubt:   countInDoubt,
	nudgewire.StateCancelled: countCancelled,
	nudgewire.StateDropped:   countDropped,
}

// messageStatus says what the service told of a message at that time. before is empty where it was just taken; p is asked only where there
// is news.
func (t *tx) messageStatus(before, after *nudgewire.Message, p *party, at time.Time) {
	t.countSeen(before, after)
	t.countNews(newsOf(before, after), p, after, at)
	if failedNow(before, after) {
		t.countRejection(string(nudgewire.StatusFailed), after.Error)
	}
	t.leavesPoll(after.Account, micro(after.NextPollAt))
	if after.Status == before.Status {
		return
	}
	word := string(after.Status)
	if !slices.Contains(nudgewire.Statuses, after.Status) {
		word = nudgewire.OtherStatus
	}
	t.note(nudgewire.AboutMessage, word, nudgewire.Change{
		Message: after.ID, MessageID: after.ServiceID, Phone: after.Phone, Account: after.Account, Status: after.Status,
		Reason: cmp.Or(after.Error, after.Reason), ErrorClass: after.ErrorClass,
	}, false)
}

// runState says that a run ended, if it did not before.
func (t *tx) runState(r *nudgewire.Run, before nudgewire.RunState) {
	if r.State == before || !r.State.Final() {
		return
	}
	t.note(nudgewire.AboutRun, string(r.State), nudgewire.Change{
		Run: r.ID, Job: r.Job, Account: r.Account, State: string(r.State), Reason: r.Reason, Rows: r.Tally.Kept,
	}, true)
}

// partUploaded says that the service took a file of a run. Its rows are counted, without those that its answer named: these are
// messages. Rows have no country here: webhooks would wait while the phones of a whole file are read.
func (t *tx) partUploaded(r *nudgewire.Run, rows, named int64) {
	if n := rows - named; n > 0 {
		t.countHour(hourKey{about: aboutJob, what: hourUploaded, name: r.Job, detail: r.CampaignName}, n)
	}
}

// decided says what a trigger said to an event about that contact.
func (t *tx) decided(d *nudgewire.Decision, c *nudgewire.Contact) {
	t.counts[outcomeCounts[d.Outcome]]++
	t.countHour(hourKey{about: aboutTrigger, what: hourDecision, name: d.Trigger, detail: string(d.Outcome)}, 1)
	t.note(nudgewire.AboutDecision, string(d.Outcome), nudgewire.Change{
		Message: d.MessageID, Phone: c.Phone, SentAs: c.SentAs, Trigger: d.Trigger, Event: d.EventID, Outcome: d.Outcome, Reason: d.Reason,
	}, c.Phone != "")
}
