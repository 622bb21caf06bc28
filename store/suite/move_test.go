package suite

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/store"
)

// A move is a way between engines, for runMove.
type move struct {
	From, To func(t testing.TB) string             // DSNs of empty places
	Restored func(t testing.TB, dsn string) string // the data at dsn as one that was restored finds it
	Unmark   func(t testing.TB, dsn string)        // takes the mark away that the data was moved
	Messages int                                   // that are there beside the others, delivered long ago
}

// runMove fills a place with all that a store can hold, moves it, and wants the new place to tell and decide the same as the old one.
func runMove(t *testing.T, m move) {
	open := func(t *testing.T, dsn string) *ledger {
		l := reopen(t, dsn)
		l.settleBy(modelSettle)
		return l
	}
	moved := func(t *testing.T, old *ledger) (was, is *ledger) {
		t.Helper()
		old.close()
		to := m.To(t)
		debug.FreeOSMemory()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		began, most := time.Now(), before.HeapInuse
		done, err := store.Transfer(t.Context(), store.TransferOptions{From: old.dsn, To: to, Progress: func(string, int64) {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d rows moved in %s; the heap grew by at most %.1f MB", done.Rows(), time.Since(began).Round(time.Millisecond), float64(most-before.HeapInuse)/1e6)
		for _, table := range done.Tables {
			signedIn := table.Name == "console_sessions" || table.Name == "console_links" // whoever had signed in does so anew
			if (table.Rows == 0) != signedIn {
				t.Errorf("%d rows of %s moved", table.Rows, table.Name)
			}
		}
		m.Unmark(t, old.dsn)
		return open(t, old.dsn), open(t, to)
	}
	t.Run("all that there is", func(t *testing.T) {
		was, is := moved(t, fillAll(t, m))
		same(t, "what is told", was.tellAll(), is.tellAll())
		random := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
		same(t, "a day", was.aDay(random()), is.aDay(random()))
	})
	t.Run("in review", func(t *testing.T) {
		l := fillAll(t, m)
		l.close()
		l = open(t, m.Restored(t, l.dsn))
		if err := l.PrepareReview(l.ctx, movedAt, true); err != nil {
			t.Fatal(err)
		}
		was, is := moved(t, l)
		if _, review := is.InReview(); !review {
			t.Error("the review was lost on the way")
		}
		same(t, "what is told", was.tellAll(), is.tellAll())
		for _, l := range []*ledger{was, is} {
			if got := l.mustClaim(movedAt, 100); len(got) > 0 {
				t.Errorf("%d messages are claimed in a review", len(got))
			}
			if _, err := l.EndReview(l.ctx, time.Time{}); err != nil {
				t.Error(err)
			}
		}
		random := func() *rand.Rand { return rand.New(rand.NewPCG(3, 4)) }
		same(t, "a day", was.aDay(random()), is.aDay(random()))
	})
}

// movedAt is when the data is moved, with a history behind it.
var movedAt = noon.Add(100 * day)

// manyRows is more than the filled data has beside move.Messages.
const manyRows = 1 << 12

// movedPhones are those that the filled data has in it.
func movedPhones() (all []nudgewire.Phone) {
	all = append(all, "447700900101", "447700900102", "447700900123", "447700900999")
	for i := range 12 {
		all = append(all, movedPhone(i))
	}
	return all
}

func movedPhone(i int) nudgewire.Phone { return nudgewire.Phone(fmt.Sprintf("4477009002%02d", i)) }

// happened says when an event did.
func happened(at time.Time) change {
	return func(p *nudgewire.Plan) {
		p.Event.ReceivedAt = at
		for i := range p.Proposals {
			p.Proposals[i].EventAt, p.Proposals[i].Decision.At = at, at
		}
	}
}

// fillAll is a place that holds something of every kind: what is old and partly gone by its age, what ended, and what is under way.
func fillAll(t *testing.T, m move) *ledger {
	l := reopen(t, m.From(t))
	l.settleBy(modelSettle)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l.tell("crm", "message.*", "run.*")
	must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedJob, Was: "former", Name: "later"}}))
	// What is a hundred days old when the data moves.
	must(l.SaveConfig(l.ctx, "v1", "api: {}", noon))
	must(l.SaveConfig(l.ctx, "v2", "api: {rate: 1/s}", noon.Add(time.Hour)))
	for i := range 4 {
		d := l.claimed(fmt.Sprint("old ", i), phone(movedPhone(i)))
		l.mustFinish(d, nudgewire.StateAccepted)
		if i > 0 {
			must(l.FinishPoll(l.ctx, nudgewire.Poll{MessageID: d.ID, Status: nudgewire.StatusDelivered, Final: true, At: noon.Add(time.Hour)}))
		}
	}
	l.mustFinish(l.claimed("refused"), nudgewire.StateRejected)
	l.enqueue("waits for years", phone(movedPhone(9)), due(noon.AddDate(2, 0, 0)))
	l.sevenRows()
	l.at(movedAt.Add(-day))
	ages := store.Retention{
		Payloads: 30 * day, Decisions: 90 * day, Events: 400 * day, Messages: 95 * day, Phones: 40 * day, Attempts: 30 * day,
		Once: func(string, bool) bool { return true },
	}
	_, err := l.Retain(l.ctx, ages, movedAt.Add(-day))
	must(err)
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
	must(l.PrepareReview(l.ctx, movedAt.Add(-day), true))
	_, err = l.EndReview(l.ctx, time.Time{})
	must(err)
	l.at(movedAt)

	// What ended.
	now := movedAt.Add(-2 * time.Hour)
	ended := func(key string, state nudgewire.State, changes ...change) nudgewire.Message {
		changes = append(changes, happened(now), due(now))
		d := l.claimedAt(movedAt.Add(-time.Hour), key, changes...)
		if state != "" {
			l.mustFinish(d, state)
		}
		return d
	}
	for i, state := range []nudgewire.State{nudgewire.StateAccepted, nudgewire.StateRejected, nudgewire.StateDropped, nudgewire.StateInDoubt} {
		ended(fmt.Sprint("ended ", i), state, phone(movedPhone(i)))
	}
	delivered := ended("delivered", nudgewire.StateAccepted, phone(movedPhone(4)))
	must(l.FinishPoll(l.ctx, nudgewire.Poll{MessageID: delivered.ID, Status: nudgewire.StatusDelivered, Final: true, At: movedAt}))
	failed := ended("failed", nudgewire.StateAccepted, phone(movedPhone(5)))
	l.says(failed.ID, nudgewire.StatusFailed, nudgewire.ErrorRecipientLimit, "error 131049: no", movedAt)
	must(l.Resolve(l.ctx, ended("resolved", nudgewire.StateInDoubt, phone(movedPhone(4))).ID, nudgewire.ResolveAccepted, "it is in the service's list"))
	must(l.CancelMessage(l.ctx, l.enqueue("cancelled", happened(now), phone(movedPhone(6)), due(movedAt.Add(time.Hour))), "by hand"))
	ended("with é and 🧵", nudgewire.StateAccepted, phone(movedPhone(7)))

	// What is under way: claimed, called off while it was claimed, tried again, deferred, steps, a code that is not kept.
	ended("claimed", "", phone(movedPhone(6)))
	ended("called off", "", phone(movedPhone(7)))
	l.mustAccept(order("called off", happened(now)))
	again := ended("again", "", phone(movedPhone(8)))
	l.refused(ended("its template is paused", "", phone(movedPhone(8)), template("paused by the service")), nudgewire.StateWaiting, nudgewire.ErrorTemplate, "template is paused", movedAt)
	a := attempt(again, nudgewire.StateWaiting)
	a.RetryAt = movedAt.Add(time.Hour)
	must(l.Finish(l.ctx, a))
	l.mustAccept(order("tombstone", happened(now), func(p *nudgewire.Plan) { p.Proposals[0].Forget = movedAt.Add(30 * time.Hour) }))
	l.sequence("steps", happened(now), phone(movedPhone(9)), due(movedAt.Add(time.Hour)))
	l.enqueue("code", happened(now), code, phone(movedPhone(10)), due(movedAt.Add(30*time.Minute)))
	l.ruleBy(atMost{n: 1, within: 24 * time.Hour, quiet: nightUntil(movedAt.Add(8 * time.Hour))})
	l.enqueue("deferred", happened(now), phone(movedPhone(11)), due(now))
	same(t, "claimed at night", 0, len(l.mustClaim(movedAt, 10)))
	l.ruleBy(paced{most: map[string]int64{"paced": 1}})
	l.enqueue("paced", happened(now), trigger("paced"), phone(movedPhone(11)), due(now))
	l.enqueue("paced too", happened(now), trigger("paced"), phone(movedPhone(10)), due(now))
	same(t, "claimed at its pace", 1, len(l.mustClaim(movedAt, 10)))
	l.ruleBy(nil)
	l.mustAccept(later("looked up", happened(now)))
	l.mustAccept(later("being looked up", happened(now)))
	l.claimLookups(movedAt, 1)

	// Runs in each of their ways.
	held := aRun("winback", "held")
	held.State, held.Reason, held.Cause = nudgewire.RunAwaiting, "more than twice the rows of the last one", nudgewire.CauseHand
	held.Approvals = nudgewire.Approvals{Need: 2, Starter: "ann", By: []nudgewire.Approval{{Who: "ben", Person: "ben", Via: "socket", At: movedAt, Of: "ab", Rows: 7}}}
	l.mustStart(held)
	approved := l.mustStart(aRun("winback", "approved"))
	l.mustSet(approved, nudgewire.RunBuilding)
	up := l.listed("uploading", []nudgewire.Phone{movedPhone(0), movedPhone(1)}, []nudgewire.Phone{movedPhone(2)}, []nudgewire.Phone{movedPhone(5)})
	p, err := l.claim(up.ID, 1, movedAt)
	must(err)
	l.endPart(p, nudgewire.PartInDoubt)
	_, err = l.claim(up.ID, 2, movedAt)
	must(err)
	named := l.uploading("named", 1)
	l.accept(named, 1, numbers(100, 2), []string{string(movedPhone(3)), string(movedPhone(4))})
	rows := l.handedOver("rows", 4)
	if _, _, err := l.EnqueueAtRate(l.ctx, rows.ID, 5, rowsOf(rows.ID, 5, 1), nudgewire.RateWindow{Job: "winback", Most: 3, From: now, Now: movedAt}); err != nil {
		t.Fatal(err)
	}
	l.mustSet(rows, nudgewire.RunPaused)
	again7 := l.sevenRowsOf("again")
	ids, _, err := l.toGoAgain(again7.ID, 0, 10)
	must(err)
	_, err = l.EnqueueRetries(l.ctx, l.retry(again7, "a retry").ID, ids, movedAt)
	must(err)
	_, err = l.LastScheduled(l.ctx, "winback", "a line", now)
	must(err)

	// What people and events said.
	_, err = l.Block(l.ctx, []store.Block{{Phone: "447700900101", Reason: "asked for it", Source: "by hand", At: now}})
	must(err)
	out := cart("", phone("447700900102"), dedupe("stop"), happened(now))
	out.Proposals[0] = nudgewire.Proposal{
		Decision:    nudgewire.Decision{Trigger: nudgewire.OptOut, Outcome: nudgewire.Blocked, At: now},
		Correlation: nudgewire.Correlation{Trigger: nudgewire.OptOut, Phone: "447700900102"}, EventAt: now,
	}
	l.mustAccept(out)
	must(l.SaveConsents(l.ctx, []nudgewire.ConsentRecord{{
		Phone: movedPhone(0), Channel: nudgewire.ChannelPhone, Category: nudgewire.Marketing, Consent: nudgewire.ConsentGiven, Since: now, At: now, Source: "a file", Proof: "the form of May",
	}}))
	must(l.Forget(l.ctx, []nudgewire.Phone{"447700900999"}, "by hand"))
	l.mustHalt(nudgewire.Hold{Scope: nudgewire.ScopeTrigger, Kind: nudgewire.HoldHalt, Name: "halted", Reason: "wrong text", At: now})
	l.mustHalt(nudgewire.Hold{Scope: nudgewire.ScopeJob, Kind: nudgewire.HoldHalt, Name: "newsletter", At: now})
	must(l.PauseTriggers(l.ctx, map[string]string{"paused": "is off"}, now))
	must(l.KeepRefreshToken(l.ctx, sha256.Sum256([]byte("crm")), "r-1", "r-2"))
	must(l.KeepAlerts(l.ctx, someAlerts(now)))
	same(t, "paused", true, l.swap(l.Account("", 0).Pause(store.HeldSends, "one"), pace.Halted{}, refused(now, 2)))
	must(l.AddToken(l.ctx, store.Token{ID: "t1", Name: "till", Hash: sha256.Sum256([]byte("secret")), Scopes: []string{"read", "send"}, CreatedAt: now, CreatedBy: "by hand"}))
	must(l.AddUser(l.ctx, person("ann", admins), manyOf))
	must(l.BeginSession(l.ctx, store.Session{Hash: hashOf("a session"), Who: "ann", User: "ann", BeganAt: movedAt, SeenAt: movedAt}, hashed1, manyOf))
	must(l.AddLink(l.ctx, store.SignInLink{Hash: hashOf("a link"), Who: "root (0)", Until: movedAt.Add(time.Minute)}, movedAt, manyOf))
	l.redact("left", "left-1", now)
	must(l.CountUnused(l.ctx, nudgewire.UnusedRepeated, nudgewire.Event{Connector: "shop", Kind: "order.created"}))
	for i := range 3 {
		_, err = l.Audit(l.ctx, store.AuditEntry{At: now, Who: "ada", Via: "socket", Action: "POST /halt", Detail: fmt.Sprint("no ", i)})
		must(err)
	}
	for _, o := range l.outgoing("crm", movedAt, 3) {
		l.endOutgoing(o, nudgewire.OutgoingDelivered, movedAt, time.Time{})
	}
	for _, o := range l.outgoing("crm", movedAt, 1) {
		l.endOutgoing(o, nudgewire.OutgoingWaiting, movedAt, movedAt.Add(time.Minute))
	}
	must(l.RejectRequest(l.ctx, nudgewire.RejectedRequest{Connector: "shop", Status: 401, Stage: "verify", Reason: "the signature does not match", At: now, Sample: "{\"a\": 1}"}))
	return l
}

// tellAll is all that a store tells people and the rooms that work on it.
func (l *ledger) tellAll() map[string]any {
	l.t.Helper()
	out := map[string]any{}
	tell := func(what string, v any, err error) {
		l.t.Helper()
		if err != nil {
			l.t.Errorf("%s: %v", what, err)
		}
		out[what] = v
	}
	phones := movedPhones()
	for i := range 7 {
		phones = append(phones, rowsOf(1, int64(i+1), 1)[0].Phone)
	}
	for _, p := range phones {
		story, err := l.Story(l.ctx, p, 1000)
		tell("why "+string(p), story, err)
		rows, err := l.PhoneRows(l.ctx, p, 1000)
		tell("rows of "+string(p), rows, err)
		b, found, err := l.BlockOf(l.ctx, p)
		tell("block of "+string(p), []any{b, found}, err)
		at, err := l.ForgottenAt(l.ctx, p)
		tell("forgotten "+string(p), at, err)
		consents, err := l.Consents(l.ctx, p, "", 100)
		tell("consents of "+string(p), consents, err)
	}
	messages, err := l.Messages(l.ctx, store.MessageFilter{Limit: manyRows})
	tell("messages", messages, err)
	for i := range messages {
		d := &messages[i]
		attempts, err := l.Attempts(l.ctx, d.ID)
		tell(fmt.Sprint("attempts of ", d.ID), attempts, err)
		if d.Step > 0 {
			facts, err := l.StepFacts(l.ctx, &d.Message)
			tell(fmt.Sprint("step ", d.ID), facts, err)
		}
	}
	events, err := l.Events(l.ctx, store.EventFilter{Limit: manyRows})
	tell("events", events, err)
	runs, err := l.Runs(l.ctx, store.RunFilter{Limit: manyRows})
	tell("runs", runs, err)
	for _, r := range runs {
		parts, err := l.Parts(l.ctx, r.ID)
		tell(fmt.Sprint("parts of run ", r.ID), parts, err)
		standing, err := l.Standing(l.ctx, r.ID)
		tell(fmt.Sprint("standing of run ", r.ID), standing, err)
		tell(fmt.Sprint("rows of run ", r.ID), l.rows(r.ID, 0), nil)
		tell(fmt.Sprint("messages of run ", r.ID), l.runMessages(r.ID), nil)
	}
	counts, err := l.Counts(l.ctx)
	tell("counts", counts, err)
	halts, err := l.Holds(l.ctx)
	tell("halts", halts, err)
	redactions, err := l.Redactions(l.ctx)
	tell("redactions", redactions, err)
	blocks, err := l.Blocks(l.ctx, 1000)
	tell("blocks", blocks, err)
	alerts, err := l.Alerts(l.ctx)
	tell("alerts", alerts, err)
	last, err := l.LastEvents(l.ctx)
	tell("last events", last, err)
	requests, err := l.RejectedRequests(l.ctx, store.RejectedRequestFilter{})
	tell("rejected requests", requests, err)
	texts, err := l.ErrorTexts(l.ctx, time.Time{}, 0)
	tell("error texts", texts, err)
	rejected, err := l.Rejected(l.ctx, movedAt)
	tell("rejected", rejected, err)
	hours, err := l.Hours(l.ctx, store.HourQuery{From: movedAt.Add(-1000 * day), Until: movedAt.Add(1000 * day), By: store.ByHour, Names: true, Details: true, Countries: true, Classes: true})
	slices.SortFunc(hours, func(a, b store.HourCount) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	tell("counts by the hour", hours, err)
	unused, err := l.Unused(l.ctx, movedAt)
	tell("what came to nothing", unused, err)
	verdicts, err := l.VerdictCounts(l.ctx)
	tell("verdicts", verdicts, err)
	receivers, err := l.ReceiverStates(l.ctx)
	tell("receivers", receivers, err)
	byConfig, err := l.WaitingByConfig(l.ctx)
	tell("waiting by config", byConfig, err)
	erasures, err := l.Erasures(l.ctx)
	tell("erasures", erasures, err)
	token, err := l.RefreshToken(l.ctx, sha256.Sum256([]byte("crm")))
	tell("refresh token", token, err)
	retention, err := l.RetentionState(l.ctx)
	tell("retention", retention, err)
	tokens, err := l.Tokens(l.ctx)
	tell("tokens", tokens, err)
	users, err := l.Users(l.ctx)
	tell("users", users, err)
	length, end, err := l.VerifyAudit(l.ctx, 0, "")
	tell("audit", []any{length, end}, err)
	tell("pauses", l.AccountHolds("", store.HeldSends), nil)
	review, found, err := l.Restoration(l.ctx)
	tell("restoration", []any{review, found}, err)
	open, inReview := l.InReview()
	tell("in review", []any{open, inReview}, nil)
	attention, err := l.Attention(l.ctx)
	tell("attention", attention, err)
	scheduled, err := l.LastScheduled(l.ctx, "winback", "a line", movedAt)
	tell("last scheduled", scheduled, err)
	row, err := l.ListRowsOf(l.ctx, movedPhone(1), "", 9)
	tell("a row of a list", row, err)
	var configs []string
	err = l.Configs(l.ctx, func(version, text string) bool { configs = append(configs, version+text); return false })
	tell("configs", configs, err)
	room, err := l.Room(l.ctx, nudgewire.RoomQuestion{Now: movedAt, Per: 7 * day, Most: 20, Least: 1, Phones: phones})
	tell("room", room, err)
	for name, next := range map[string]func() (time.Time, bool, error){
		"due":      func() (time.Time, bool, error) { return l.NextDue(l.ctx) },
		"poll":     func() (time.Time, bool, error) { return l.NextPoll(l.ctx) },
		"look-up":  func() (time.Time, bool, error) { return l.NextLookup(l.ctx) },
		"outgoing": func() (time.Time, bool, error) { return l.NextOutgoing(l.ctx, "crm") },
	} {
		at, ok, err := next()
		tell("next "+name, []any{at, ok}, err)
	}
	return out
}

// aDay is what a store decides in a day of random traffic: carts, new ones and such as were stored before it moved, orders, claims under
// rules, answers of the service, polls, words of contacts, and restarts of what is told to receivers.
func (l *ledger) aDay(random *rand.Rand) (decided []string) {
	l.t.Helper()
	// A file gives numbers one by one, a database in blocks: what matters is which is meant.
	known := map[string]string{}
	name := func(number any) string {
		key := fmt.Sprintf("%T %v", number, number)
		if known[key] == "" {
			known[key] = fmt.Sprintf("%T number %d", number, len(known)+1)
		}
		return known[key]
	}
	named := regexp.MustCompile(`event \d+`)
	words := func(reason string) string {
		return named.ReplaceAllStringFunc(reason, func(event string) string {
			var id nudgewire.EventID
			_, _ = fmt.Sscanf(event, "event %d", &id)
			return name(id)
		})
	}
	receipts := func(all []nudgewire.Receipt) string {
		out := ""
		for _, r := range all {
			out += fmt.Sprint(name(r.EventID), " again ", r.Duplicate)
			for _, d := range r.Decisions {
				out += fmt.Sprintf("; %s %s %q %s %v", d.Trigger, d.Outcome, words(d.Reason), name(d.MessageID), d.Clauses)
			}
		}
		return out
	}
	note := func(what string, v any, err error) {
		decided = append(decided, fmt.Sprintf("%s: %+v, %v", what, v, err))
	}
	old := []string{"old 1", "waits for years", "ended 2", "delivered", "claimed", "called off", "again", "tombstone", "steps", "code", "deferred", "paced"}
	l.tell("crm", "message.*", "run.*")
	for step := range 24 * 3 {
		now := movedAt.Add(time.Duration(step) * 20 * time.Minute)
		l.at(now)
		morning := movedAt.Add(6 * time.Hour)
		if step < 50 {
			l.ruleBy(atMost{n: 1, within: 12 * time.Hour, quiet: nightUntil(morning)})
		} else {
			l.ruleBy(paced{most: map[string]int64{"remind": 2, "paced": 1}})
		}
		for range 3 {
			key := fmt.Sprint("new ", random.IntN(60))
			if random.IntN(3) == 0 {
				key = old[random.IntN(len(old))]
			}
			if random.IntN(4) == 0 {
				got, err := l.Accept(l.ctx, []nudgewire.Plan{order(key, happened(now), dedupe(fmt.Sprint("o-", key, "-", step/20)))})
				note("order "+key, receipts(got), err)
				continue
			}
			which := []string{"remind", "halted", "paced", "paused"}[random.IntN(4)]
			changes := []change{happened(now), due(now.Add(time.Duration(random.IntN(120)) * time.Minute)), phone(movedPhone(random.IntN(12))), trigger(which)}
			if random.IntN(2) == 0 { // a cart that came before is no new one
				changes = append(changes, dedupe(fmt.Sprint("d-", key, "-", step/20)))
			}
			got, err := l.Accept(l.ctx, []nudgewire.Plan{cart(key, changes...)})
			note("cart "+key, receipts(got), err)
		}
		claims, err := l.Claim(l.ctx, nudgewire.ClaimRequest{Owner: owner, Now: now, Lease: time.Minute, Authentication: 2, Utility: 2, Marketing: 2})
		for i := range claims {
			d := &claims[i]
			note("claim", fmt.Sprint(name(d.ID), d.Key, d.Phone, d.Attempt, d.DueAt.UTC(), d.Send), err)
			state := []nudgewire.State{nudgewire.StateAccepted, nudgewire.StateAccepted, nudgewire.StateRejected, nudgewire.StateInDoubt, nudgewire.StateWaiting}[random.IntN(5)]
			a := attempt(*d, state)
			a.At = now
			if state == nudgewire.StateWaiting {
				a.RetryAt = now.Add(time.Hour)
			}
			note("end "+string(state), name(d.ID), l.Finish(l.ctx, a))
		}
		polls, err := l.ClaimPolls(l.ctx, now, time.Minute, 2)
		for _, m := range polls {
			note("poll", fmt.Sprint(name(m.ID), m.ServiceID, m.Phone, m.Status), err)
			status := []nudgewire.Status{nudgewire.StatusSent, nudgewire.StatusDelivered, nudgewire.StatusFailed}[random.IntN(3)]
			p := nudgewire.Poll{MessageID: m.ID, Status: status, Final: status != nudgewire.StatusSent, At: now, NextPollAt: now.Add(time.Hour)}
			note("status "+string(status), name(m.ID), l.FinishPoll(l.ctx, p))
		}
		out, err := l.ClaimOutgoing(l.ctx, "crm", now, time.Minute, 3)
		for _, o := range out {
			note("told", fmt.Sprint(name(o.ID), o.Kind, o.Attempt), err)
			note("end", "", l.FinishOutgoing(l.ctx, nudgewire.OutgoingEnd{ID: o.ID, Attempt: o.Attempt, State: nudgewire.OutgoingDelivered, At: now}))
		}
		switch random.IntN(12) {
		case 0:
			fresh, err := l.Block(l.ctx, []store.Block{{Phone: movedPhone(random.IntN(12)), Source: "by hand", At: now}})
			note("block", fresh, err)
		case 1:
			note("allow", "", l.Allow(l.ctx, movedPhone(random.IntN(12))))
		case 2:
			_, won, err := l.StartRun(l.ctx, aRun("winback", []string{"held", "rows", "new"}[random.IntN(3)]))
			note("a slot", won, err)
		}
	}
	messages, err := l.Messages(l.ctx, store.MessageFilter{Limit: manyRows})
	for _, d := range slices.Backward(messages) {
		note("in the end", fmt.Sprint(name(d.ID), d.Key, d.Trigger, d.State, words(d.Reason), d.DueAt.UTC(), d.Attempt, d.Restarts), err)
	}
	counts, err := l.Counts(l.ctx)
	note("counts", counts, err)
	return decided
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
			plans := make([]nudgewire.Plan, some)
			for i := range plans {
				number := done + worker*some + i
				plans[i] = cart(fmt.Sprint("many ", number), happened(at), due(at), phone(nudgewire.Phone(fmt.Sprintf("4475%08d", number))))
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
				a := attempt(got[i], nudgewire.StateAccepted)
				a.At = at
				note(l.Finish(l.ctx, a))
				note(l.FinishPoll(l.ctx, nudgewire.Poll{MessageID: got[i].ID, Status: nudgewire.StatusDelivered, Final: true, At: at}))
			})
			done += len(got)
		}
	}
	failed.Range(func(words, _ any) bool { l.t.Error(words); return true })
}
