package suite

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

// fillAll is a place that holds something of every kind: what is old and partly gone by its age, what ended, and what is under way.
func fillAll(t *testing.T, m move) *ledger {
	l := reopen(t, m.From(t))
	l.settleBy(modelSettle)
	l.fillOld()
	l.close()

	if m.Messages > 0 {
		l = reopen(t, l.dsn)
		l.deliverMany(m.Messages)
		l.close()
	}

	// A restoration that was reviewed.
	l = reopen(t, m.Restored(t, l.dsn))
	l.settleBy(modelSettle)
	l.tell("crm", "message.*", "run.*")
	l.at(movedAt.Add(-day))
	l.must(l.PrepareReview(l.ctx, movedAt.Add(-day), true))
	_, err := l.EndReview(l.ctx, time.Time{})
	l.must(err)
	l.at(movedAt)

	l.fillEnded()
	l.fillUnderWay()
	l.fillRuns()
	l.fillPeople()
	l.fillKeepers()
	return l
}

// beforeMove is when what is not old happened.
var beforeMove = movedAt.Add(-2 * time.Hour)

// fillOld stores what is a hundred days old when the data moves.
func (l *ledger) fillOld() {
	l.t.Helper()
	l.tell("crm", "message.*", "run.*")
	l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedJob, Was: "former", Name: "later"}}))
	l.must(history.Records{Store: l.Store}.SaveConfig(l.ctx, &history.Config{Version: "v1", Text: "api: {}", Files: []history.ConfigFile{{Name: "config.yaml", Text: "# ours\napi: {}"}, {Name: "more/a.yaml", Text: ""}}}, noon))
	l.must(history.Records{Store: l.Store}.SaveConfig(l.ctx, &history.Config{Version: "v2", Text: "api: {rate: 1/s}"}, noon.Add(time.Hour)))
	for i := range 4 {
		d := l.claimed(fmt.Sprint("old ", i), phone(movedPhone(i)))
		l.mustFinish(d, messaging.StateAccepted)
		if i > 0 {
			l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: d.ID, Status: messaging.StatusDelivered, Final: true, At: noon.Add(time.Hour)}))
		}
	}
	l.mustFinish(l.claimed("refused"), messaging.StateRejected)
	l.enqueue("waits for years", phone(movedPhone(9)), due(noon.AddDate(2, 0, 0)))
	l.sevenRows()
	l.at(movedAt.Add(-day))
	ages := privacy.Retention{
		Payloads: 30 * day, Decisions: 90 * day, Events: 400 * day, Messages: 95 * day, Phones: 40 * day, Attempts: 30 * day,
		Once: func(string, bool) bool { return true },
	}
	_, err := l.privacy().Retain(l.ctx, ages, movedAt.Add(-day))
	l.must(err)
}

// endedJustNow is a message whose claim ended so before the data moves; "" leaves it claimed.
func (l *ledger) endedJustNow(key string, state messaging.State, changes ...change) messaging.Message {
	l.t.Helper()
	d := l.claimedAt(movedAt.Add(-time.Hour), key, append(changes, happened(beforeMove), due(beforeMove))...)
	if state != "" {
		l.mustFinish(d, state)
	}
	return d
}

func (l *ledger) fillEnded() {
	l.t.Helper()
	for i, state := range []messaging.State{messaging.StateAccepted, messaging.StateRejected, messaging.StateDropped, messaging.StateInDoubt} {
		l.endedJustNow(fmt.Sprint("ended ", i), state, phone(movedPhone(i)))
	}
	delivered := l.endedJustNow("delivered", messaging.StateAccepted, phone(movedPhone(4)))
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: delivered.ID, Status: messaging.StatusDelivered, Final: true, At: movedAt}))
	failed := l.endedJustNow("failed", messaging.StateAccepted, phone(movedPhone(5)))
	l.says(failed.ID, messaging.StatusFailed, messaging.ErrorRecipientLimit, "error 131049: no", movedAt)
	l.must(l.Resolve(l.ctx, l.endedJustNow("resolved", messaging.StateInDoubt, phone(movedPhone(4))).ID, messaging.ResolveAccepted, "it is in the service's list"))
	l.must(l.CancelMessage(l.ctx, l.enqueue("cancelled", happened(beforeMove), phone(movedPhone(6)), due(movedAt.Add(time.Hour))), "by hand"))
	l.endedJustNow("with é and 🧵", messaging.StateAccepted, phone(movedPhone(7)))
}

// fillUnderWay stores what is claimed, called off while it was claimed, tried again, deferred, steps, and a code that is not kept.
func (l *ledger) fillUnderWay() {
	l.t.Helper()
	l.endedJustNow("claimed", "", phone(movedPhone(6)))
	l.endedJustNow("called off", "", phone(movedPhone(7)))
	l.mustAccept(order("called off", happened(beforeMove)))
	again := l.endedJustNow("again", "", phone(movedPhone(8)))
	l.refused(l.endedJustNow("its template is paused", "", phone(movedPhone(8)), template("paused by the service")), messaging.StateWaiting, messaging.ErrorTemplate, "template is paused", movedAt)
	a := attempt(again, messaging.StateWaiting)
	a.RetryAt = movedAt.Add(time.Hour)
	l.must(l.Finish(l.ctx, a))
	l.mustAccept(order("tombstone", happened(beforeMove), func(p *messaging.Plan) { p.Proposals[0].Forget = movedAt.Add(30 * time.Hour) }))
	l.sequence("steps", happened(beforeMove), phone(movedPhone(9)), due(movedAt.Add(time.Hour)))
	l.enqueue("code", happened(beforeMove), code, phone(movedPhone(10)), due(movedAt.Add(30*time.Minute)))
	l.ruleBy(atMost{n: 1, within: 24 * time.Hour, quiet: nightUntil(movedAt.Add(8 * time.Hour))})
	l.enqueue("deferred", happened(beforeMove), phone(movedPhone(11)), due(beforeMove))
	same(l.t, "claimed at night", 0, len(l.mustClaim(movedAt, 10)))
	l.ruleBy(paced{most: map[string]int64{"paced": 1}})
	l.enqueue("paced", happened(beforeMove), trigger("paced"), phone(movedPhone(11)), due(beforeMove))
	l.enqueue("paced too", happened(beforeMove), trigger("paced"), phone(movedPhone(10)), due(beforeMove))
	same(l.t, "claimed at its pace", 1, len(l.mustClaim(movedAt, 10)))
	l.ruleBy(nil)
	l.mustAccept(later("looked up", happened(beforeMove)))
	l.mustAccept(later("being looked up", happened(beforeMove)))
	l.claimLookups(movedAt, 1)
}

// fillRuns stores runs in each of their ways.
func (l *ledger) fillRuns() {
	l.t.Helper()
	held := aRun("winback", "held")
	held.State, held.Reason, held.Cause = messaging.RunAwaiting, "more than twice the rows of the last one", messaging.CauseHand
	held.Approvals = messaging.Approvals{Need: 2, Starter: "ann", By: []messaging.Approval{{Who: "ben", Person: "ben", Via: "socket", At: movedAt, Of: "ab", Rows: 7}}}
	l.mustStart(held)
	approved := l.mustStart(aRun("winback", "approved"))
	l.mustSet(approved, messaging.RunBuilding)
	up := l.listed("uploading", []messaging.Phone{movedPhone(0), movedPhone(1)}, []messaging.Phone{movedPhone(2)}, []messaging.Phone{movedPhone(5)})
	p, err := l.claim(up.ID, 1, movedAt)
	l.must(err)
	l.endPart(p, messaging.PartInDoubt)
	_, err = l.claim(up.ID, 2, movedAt)
	l.must(err)
	named := l.uploading("named", 1)
	l.accept(named, 1, numbers(100, 2), []string{string(movedPhone(3)), string(movedPhone(4))})
	rows := l.handedOver("rows", 4)
	if _, _, err := l.EnqueueAtRate(l.ctx, rows.ID, 5, rowsOf(rows.ID, 5, 1), messaging.RateWindow{Job: "winback", Most: 3, From: beforeMove, Now: movedAt}); err != nil {
		l.t.Fatal(err)
	}
	l.mustSet(rows, messaging.RunPaused)
	again7 := l.sevenRowsOf("again")
	ids, _, err := l.toGoAgain(again7.ID, 0, 10)
	l.must(err)
	_, err = l.EnqueueRetries(l.ctx, l.retry(again7, "a retry").ID, ids, nil, movedAt)
	l.must(err)
	_, err = l.LastScheduled(l.ctx, "winback", "a line", beforeMove)
	l.must(err)
}

// fillPeople stores what people and events said of contacts.
func (l *ledger) fillPeople() {
	l.t.Helper()
	_, err := l.Block(l.ctx, []store.Block{{Phone: "447700900101", Reason: "asked for it", Source: "by hand", At: beforeMove}})
	l.must(err)
	out := cart("", phone("447700900102"), dedupe("stop"), happened(beforeMove))
	out.Proposals[0] = messaging.Proposal{
		Decision:    messaging.Decision{Trigger: messaging.OptOut, Outcome: messaging.Blocked, At: beforeMove},
		Correlation: messaging.Correlation{Trigger: messaging.OptOut, Phone: "447700900102"}, EventAt: beforeMove,
	}
	l.mustAccept(out)
	l.must(l.SaveConsents(l.ctx, []messaging.ConsentRecord{{
		Phone: movedPhone(0), Channel: messaging.ChannelPhone, Category: messaging.Marketing, Consent: messaging.ConsentGiven, Since: beforeMove, At: beforeMove, Source: "a file", Proof: "the form of May",
	}}))
	l.must(l.Forget(l.ctx, []messaging.Phone{"447700900999"}, "by hand"))
	l.mustAccept(bought(purchase{"shop", "order.paid", "1001", "20.50", "Ada", "ada@example.com", movedPhone(0), beforeMove, nil}))
	l.readFields(l.watch())
	l.mustAccept(bought(purchase{"shop", "order.paid", "1002", "20.50", "Ada", "", movedPhone(0), beforeMove, nil})) // which nobody has read
}

// fillKeepers stores what the rooms keep: halts and pauses, tokens, users, the audit, what was told and what was rejected.
func (l *ledger) fillKeepers() {
	l.t.Helper()
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "halted", Reason: "wrong text", At: beforeMove})
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt, Name: "newsletter", At: beforeMove})
	l.must(l.PauseTriggers(l.ctx, map[string]string{"paused": "is off"}, beforeMove))
	l.must(l.tokens.KeepRefreshToken(l.ctx, sha256.Sum256([]byte("crm")), "r-1", "r-2"))
	l.must(l.alerts().KeepAlerts(l.ctx, someAlerts(beforeMove)))
	same(l.t, "paused", true, l.swap(l.Account("", 0).Pause(store.HeldSends, "one"), pace.Halted{}, refused(beforeMove, 2)))
	l.must(l.auth().AddToken(l.ctx, auth.Token{ID: "t1", Name: "till", Hash: sha256.Sum256([]byte("secret")), Scopes: []string{"read", "send"}, CreatedAt: beforeMove, CreatedBy: "by hand"}))
	l.must(l.auth().AddUser(l.ctx, person("ann", admins), manyOf))
	l.must(l.auth().BeginSession(l.ctx, auth.Session{Hash: hashOf("a session"), Who: "ann", User: "ann", BeganAt: movedAt, SeenAt: movedAt}, hashed1, manyOf))
	l.must(l.auth().AddLink(l.ctx, auth.SignInLink{Hash: hashOf("a link"), Who: "root (0)", Until: movedAt.Add(time.Minute)}, movedAt, manyOf))
	l.redact("left", "left-1", beforeMove)
	l.must(l.CountUnused(l.ctx, messaging.UnusedRepeated, messaging.Event{Connector: "shop", Kind: "order.created"}))
	for i := range 3 {
		err := l.Audit(l.ctx, chain.Entry{At: beforeMove, Who: "ada", Via: "socket", Action: "POST /halt", Detail: fmt.Sprint("no ", i)})
		l.must(err)
	}
	for _, o := range l.outgoing("crm", movedAt, 3) {
		l.endOutgoing(o, messaging.OutgoingDelivered, movedAt, time.Time{})
	}
	for _, o := range l.outgoing("crm", movedAt, 1) {
		l.endOutgoing(o, messaging.OutgoingWaiting, movedAt, movedAt.Add(time.Minute))
	}
	l.must(l.RejectRequest(l.ctx, messaging.RejectedRequest{Connector: "shop", Status: 401, Stage: "verify", Reason: "the signature does not match", At: beforeMove, Sample: "{\"a\": 1}"}))
}

// deliverMany fills the data with messages that were delivered in the past, each of an event of its own.
func (l *ledger) deliverMany(n int) {
	l.t.Helper()
	const some = 100
	at := movedAt.Add(-3 * day)
	l.at(at)
	var failed sync.Map
	note := func(err error) {
		if err != nil {
			failed.Store(err.Error(), true)
		}
	}
	for done := 0; done < n; {
		together(8, func(worker int) {
			plans := make([]messaging.Plan, some)
			for i := range plans {
				number := done + worker*some + i
				plans[i] = cart(fmt.Sprint("many ", number), happened(at), due(at), phone(messaging.Phone(fmt.Sprintf("4475%08d", number))))
			}
			_, err := l.Accept(l.ctx, plans)
			note(err)
		})
		for {
			got := l.mustClaim(at, 8*some)
			if len(got) == 0 {
				break
			}
			together(len(got), func(i int) {
				a := attempt(got[i], messaging.StateAccepted)
				a.At = at
				note(l.Finish(l.ctx, a))
				note(l.FinishPoll(l.ctx, messaging.Poll{MessageID: got[i].ID, Status: messaging.StatusDelivered, Final: true, At: at}))
			})
			done += len(got)
		}
	}
	failed.Range(func(words, _ any) bool { l.t.Error(words); return true })
}
