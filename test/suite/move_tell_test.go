package suite

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// tales are what a store tells, by what it is about.
type tales struct {
	*ledger
	told map[string]any
}

func (w tales) tell(what string, v any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Errorf("%s: %v", what, err)
	}
	w.told[what] = v
}

// tellAll is all that a store tells people and the rooms that work on it.
func (l *ledger) tellAll() map[string]any {
	l.t.Helper()
	w := tales{l, map[string]any{}}
	phones := movedPhones()
	for i := range 7 {
		phones = append(phones, rowsOf(1, int64(i+1), 1)[0].Phone)
	}
	w.contacts(phones)
	w.messagesAndEvents()
	w.runs()
	w.figures()
	w.rooms(phones)
	return w.told
}

// contacts tells of each of them.
func (w tales) contacts(phones []messaging.Phone) {
	w.t.Helper()
	w.tell("the fields of events", []any{w.drifted(movedAt), w.countedHours()}, nil)
	for _, text := range []string{"1001", "ada"} {
		found, err := contacts.Records{Store: w.ledger.Store}.FindContacts(w.ctx, text)
		w.tell("found by "+text, found, err)
	}
	for _, p := range phones {
		story, err := history.Records{Store: w.ledger.Store}.Story(w.ctx, p, 1000)
		w.tell("why "+string(p), story, err)
		rows, err := w.PhoneRows(w.ctx, p, 1000)
		w.tell("rows of "+string(p), rows, err)
		b, found, err := w.BlockOf(w.ctx, p)
		w.tell("block of "+string(p), []any{b, found}, err)
		at, err := w.ForgottenAt(w.ctx, p)
		w.tell("forgotten "+string(p), at, err)
		consents, err := w.Consents(w.ctx, p, "", 100)
		w.tell("consents of "+string(p), consents, err)
		known, err := contacts.Records{Store: w.ledger.Store}.KnownContact(w.ctx, p)
		w.tell("what is known of "+string(p), known, err)
	}
}

// messagesAndEvents tells of each of them.
func (w tales) messagesAndEvents() {
	w.t.Helper()
	messages, err := w.Messages(w.ctx, store.MessageFilter{Limit: manyRows})
	w.tell("messages", messages, err)
	for i := range messages {
		d := &messages[i]
		if d.Step > 0 {
			facts, err := w.StepFacts(w.ctx, &d.Message)
			w.tell(fmt.Sprint("step ", d.ID), facts, err)
		}
	}
	events, err := w.Events(w.ctx, store.EventFilter{Limit: manyRows})
	w.tell("events", events, err)
}

// runs tells of each of them.
func (w tales) runs() {
	w.t.Helper()
	runs, err := w.Runs(w.ctx, store.RunFilter{Limit: manyRows})
	w.tell("runs", runs, err)
	for _, r := range runs {
		parts, err := w.Parts(w.ctx, r.ID)
		w.tell(fmt.Sprint("parts of run ", r.ID), parts, err)
		standing, err := w.CountRunMessages(w.ctx, r.ID)
		w.tell(fmt.Sprint("standing of run ", r.ID), standing, err)
		w.tell(fmt.Sprint("rows of run ", r.ID), w.rows(r.ID, 0), nil)
		w.tell(fmt.Sprint("messages of run ", r.ID), w.runMessages(r.ID), nil)
	}
}

// figures tells what is counted, held and listed.
func (w tales) figures() {
	w.t.Helper()
	counts, err := report.Records{Store: w.ledger.Store}.Counts(w.ctx)
	w.tell("counts", counts, err)
	halts, err := w.Holds(w.ctx)
	w.tell("halts", halts, err)
	redactions, err := w.Redactions(w.ctx)
	w.tell("redactions", redactions, err)
	blocks, err := w.Blocks(w.ctx, 1000)
	w.tell("blocks", blocks, err)
	alerts, err := w.alerts().Alerts(w.ctx)
	w.tell("alerts", alerts, err)
	last, err := report.Records{Store: w.ledger.Store}.LastEvents(w.ctx)
	w.tell("last events", last, err)
	requests, err := history.Records{Store: w.ledger.Store}.RejectedRequests(w.ctx, history.RejectedRequestFilter{})
	w.tell("rejected requests", requests, err)
	texts, err := report.Records{Store: w.ledger.Store}.ErrorTexts(w.ctx, time.Time{}, 0)
	w.tell("error texts", texts, err)
	rejected, err := report.Records{Store: w.ledger.Store}.Rejected(w.ctx, movedAt)
	w.tell("rejected", rejected, err)
	hours, err := w.report().Hours(w.ctx, report.HourQuery{From: movedAt.Add(-1000 * day), Until: movedAt.Add(1000 * day), By: report.ByHour, Names: true, Details: true, Countries: true, Classes: true})
	slices.SortFunc(hours, func(a, b report.HourCount) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	w.tell("counts by the hour", hours, err)
	unused, err := w.Unused(w.ctx, movedAt)
	w.tell("what came to nothing", unused, err)
	verdicts, err := w.VerdictCounts(w.ctx)
	w.tell("verdicts", verdicts, err)
	receivers, err := w.outbox().ReceiverStates(w.ctx)
	w.tell("receivers", receivers, err)
	byConfig, err := w.WaitingByConfig(w.ctx)
	w.tell("waiting by config", byConfig, err)
}

// rooms tells what the other rooms keep, and when each of them is to wake.
func (w tales) rooms(phones []messaging.Phone) {
	w.t.Helper()
	erasures, err := w.privacy().Erasures(w.ctx)
	w.tell("erasures", erasures, err)
	token, err := w.tokens.RefreshToken(w.ctx, sha256.Sum256([]byte("crm")))
	w.tell("refresh token", token, err)
	retention, err := w.privacy().RetentionState(w.ctx)
	w.tell("retention", retention, err)
	tokens, err := w.auth().Tokens(w.ctx)
	w.tell("tokens", tokens, err)
	users, err := w.auth().Users(w.ctx)
	w.tell("users", users, err)
	length, end, err := audit.Records{Store: w.ledger.Store}.Verify(w.ctx, 0, "")
	w.tell("audit", []any{length, end}, err)
	w.tell("pauses", w.AccountHolds("", store.HeldSends), nil)
	review, found, err := w.Restoration(w.ctx)
	w.tell("restoration", []any{review, found}, err)
	open, inReview := w.InReview()
	w.tell("in review", []any{open, inReview}, nil)
	attention, err := w.report().Attention(w.ctx)
	w.tell("attention", attention, err)
	scheduled, err := w.LastScheduled(w.ctx, "winback", "a line", movedAt)
	w.tell("last scheduled", scheduled, err)
	row, err := w.ListRowsOf(w.ctx, movedPhone(1), "", 9)
	w.tell("a row of a list", row, err)
	var configs []string
	err = history.Records{Store: w.ledger.Store}.Configs(w.ctx, func(version, text string) bool { configs = append(configs, version+text); return false })
	w.tell("configs", configs, err)
	files, err := history.Records{Store: w.ledger.Store}.ConfigFiles(w.ctx, "v1")
	w.tell("files of a config", files, err)
	room, err := w.Room(w.ctx, messaging.QuotaQuestion{Now: movedAt, Per: 7 * day, Most: 20, Least: 1, Phones: phones})
	w.tell("room", room, err)
	for name, next := range map[string]func() (time.Time, bool, error){
		"due":      func() (time.Time, bool, error) { return w.NextDue(w.ctx) },
		"poll":     func() (time.Time, bool, error) { return w.NextPoll(w.ctx) },
		"look-up":  func() (time.Time, bool, error) { return w.NextLookup(w.ctx) },
		"outgoing": func() (time.Time, bool, error) { return w.outbox().NextOutgoing(w.ctx, "crm") },
	} {
		at, ok, err := next()
		w.tell("next "+name, []any{at, ok}, err)
	}
}
