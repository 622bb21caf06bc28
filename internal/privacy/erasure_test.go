package privacy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

const forgottenPhone, otherPhone = "447700900123", "447700900999"

// erasing is a store with a life in it: events of two contacts, messages in every state, words, traces.
type erasing struct {
	*testing.T
	Records
	dsn, path string
	now       time.Time
	n         int
	settle    store.Settle // nil has what is planned stored, and what cancels remembered
	tells     func(about, word string) []string
}

func openErasing(t *testing.T) *erasing {
	t.Helper()
	e := &erasing{T: t, path: filepath.Join(t.TempDir(), "nudgewire.db"), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	e.dsn = "sqlite:" + e.path
	e.reopen()
	t.Cleanup(func() { _ = e.Store.Close() })
	return e
}

func (e *erasing) reopen() {
	e.Helper()
	if e.Store != nil {
		if err := e.Store.Close(); err != nil {
			e.Fatal(err)
		}
	}
	var err error
	e.Store, err = store.Open(e.Context(), store.Options{DSN: e.dsn, Tells: e.tells, Now: func() time.Time { return e.now }, Settle: func(p messaging.Proposal, f messaging.Facts) messaging.Settlement {
		if e.settle != nil {
			return e.settle(p, f)
		}
		return messaging.Settlement{Outcome: p.Decision.Outcome, Insert: p.Decision.Outcome == messaging.Planned, RecordTombstone: p.Decision.Outcome == messaging.Cancelling}
	}})
	if err != nil {
		e.Fatal(err)
	}
}

func (e *erasing) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// event is one of a contact, whose phone stands in everything that it can stand in.
func (e *erasing) event(phone, mentions string, change ...func(*messaging.Plan)) messaging.Receipt {
	e.Helper()
	got, err := e.Accept(e.Context(), []messaging.Plan{e.plan(phone, mentions, change...)})
	e.must(err)
	return got[0]
}

func (e *erasing) plan(phone, mentions string, change ...func(*messaging.Plan)) messaging.Plan {
	e.n++
	p := messaging.Plan{
		Event: messaging.Event{
			Connector: "shop", Kind: "cart.updated", Topic: "carts/update", DedupeKey: fmt.Sprintf("d%d-%s", e.n, mentions), ReceivedAt: e.now, ContentType: "application/json",
			Contact: messaging.Contact{Phone: messaging.Phone(phone), Name: "Ada River", Email: "ada@example.com", Consent: true, AcceptsMarketing: true},
			Payload: []byte(`{"a":"+44 7700 900 123 is another form","phone":"` + mentions + `","number":` + mentions + `,"fill":"` + strings.Repeat("x", 300) + `"}`),
			Form:    messaging.Form{Answers: map[string]string{"call": "07700 900123"}},
		},
		Proposals: []messaging.Proposal{{
			Decision: messaging.Decision{Trigger: "cart", Outcome: messaging.Planned, Reason: "waits for " + mentions, Key: mentions, At: e.now, Clauses: []messaging.Clause{
				{Text: "phone", Held: true, Values: []messaging.Value{{Name: "phone", Value: mentions}}},
			}},
			Correlation: messaging.Correlation{Trigger: "cart", Key: fmt.Sprintf("c%d-%s", e.n, mentions), Phone: messaging.Phone(phone)},
			Message: messaging.Message{
				Phone: messaging.Phone(phone), Category: messaging.Marketing, DueAt: e.now, CreatedAt: e.now,
				Send: messaging.Send{Template: "t", Language: "en", Variables: []string{"Ada", mentions}},
			},
		}},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func (e *erasing) claim(n int) []messaging.Message {
	e.Helper()
	got, err := e.Claim(e.Context(), messaging.ClaimRequest{Owner: "me", Now: e.now, Lease: time.Hour, Authentication: n, Utility: n, Marketing: n})
	e.must(err)
	return got
}

func (e *erasing) finish(d *messaging.Message, s messaging.State, change ...func(*messaging.Attempt)) {
	e.Helper()
	a := messaging.Attempt{MessageID: d.ID, Owner: "me", Number: d.Attempt, State: s, At: e.now, Answer: `{"to":"` + string(d.Phone) + `"}`}
	if s != messaging.StateAccepted {
		a.Reason = "not to " + string(d.Phone)
	} else {
		a.Message = &messaging.Message{ServiceID: messaging.ServiceID(fmt.Sprint(1000 + int64(d.ID))), Phone: d.Phone, Category: d.Category, Status: "accepted", NextPollAt: e.now.Add(time.Minute)}
	}
	for _, c := range change {
		c(&a)
	}
	e.must(e.Finish(e.Context(), a))
}

// erase carries out all orders, as the daemon does it.
func (e *erasing) erase() (waits string) {
	e.Helper()
	all, err := e.Erasures(e.Context())
	e.must(err)
	if waits, err = e.Erase(e.Context(), all); err != nil || waits != "" {
		e.must(err)
		return waits
	}
	e.must(e.Erased(e.Context(), all))
	waits, err = e.Wipe(e.Context(), Finder(all))
	e.must(err)
	return waits
}

// holds lists where the phone still stands: every column of every table, unpacked, and every file.
func (e *erasing) holds(phone string) (found []string) {
	e.Helper()
	national := regexp.MustCompile(strings.Join(strings.Split(phone[2:], ""), `[ ()/.-]*`))
	tables, err := store.List(e.Context(), e.Store, `SELECT name FROM sqlite_master WHERE type = 'table'`, nil, engine.Text)
	e.must(err)
	for _, table := range tables {
		columns, err := store.List(e.Context(), e.Store, `SELECT name FROM pragma_table_info('`+table+`')`, nil, engine.Text)
		e.must(err)
		e.must(e.Rows(e.Context(), `SELECT "`+strings.Join(columns, `", "`)+`" FROM "`+table+`"`, nil, func(r *engine.Row) error {
			for _, column := range columns {
				text := fmt.Sprintf("%s", r.Value())
				if table == "events" && column == "content" {
					facts, payload, err := stored.UnpackContent([]byte(text))
					e.must(err)
					text = facts + string(payload)
				}
				if national.MatchString(text) {
					found = append(found, table+"."+column)
				}
			}
			return r.Err
		}))
	}
	files, err := filepath.Glob(filepath.Dir(e.path) + "/*")
	e.must(err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		e.must(err)
		if bytes.Contains(b, []byte(phone)) || bytes.Contains(b, []byte(phone[2:])) {
			found = append(found, filepath.Base(name))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestNothingStoredTellsOfAForgottenContact(t *testing.T) {
	e := openErasing(t)
	for i := range 1000 {
		phone := otherPhone
		if i%10 == 0 {
			phone = forgottenPhone
		}
		mentions := phone
		if i%7 == 0 {
			mentions = forgottenPhone // a friend's event names it
		}
		e.event(phone, mentions, func(p *messaging.Plan) {
			p.Event.Form.Answers["nth"] = fmt.Sprint(i)
			if i%3 == 0 {
				p.Proposals[0].Decision.Outcome, p.Proposals[0].Message = messaging.Cancelling, messaging.Message{}
				p.Proposals[0].Forget = e.now.Add(time.Hour)
			}
		})
	}
	for i, d := range e.claim(600) {
		switch i % 5 {
		case 0:
			e.finish(&d, messaging.StateAccepted)
		case 1:
			e.finish(&d, messaging.StateRejected)
		case 2:
			e.finish(&d, messaging.StateInDoubt)
		case 3:
			e.finish(&d, messaging.StateWaiting, func(a *messaging.Attempt) { a.RetryAt = e.now.Add(time.Hour) })
		default:
			e.finish(&d, messaging.StateDropped)
		}
	}
	e.must(e.SaveConsents(e.Context(), []messaging.ConsentRecord{{Phone: otherPhone, Consent: messaging.ConsentGiven, At: e.now.Add(time.Second), Source: "friend " + forgottenPhone, Proof: forgottenPhone}}))
	_, err := e.Block(e.Context(), []store.Block{{Phone: forgottenPhone, Reason: "asked"}, {Phone: otherPhone, Reason: "friend of " + forgottenPhone}})
	e.must(err)
	e.must(e.RejectRequest(e.Context(), messaging.RejectedRequest{Connector: "shop", Status: 400, Stage: "map", Reason: "no", Sample: "phone=%2B44+7700+900123", At: e.now}))
	e.must(history.Records{Store: e.Store}.SaveConfig(e.Context(), &history.Config{Version: "v1", Text: "test: +" + forgottenPhone, Files: []history.ConfigFile{{Name: "config.yaml", Text: "test: +" + forgottenPhone}}}, e.now))
	if before := e.holds(forgottenPhone); len(before) < 15 {
		t.Fatalf("the test is weak: only %s hold it", before)
	}
	totals, err := report.Records{Store: e.Records.Store}.Totals(e.Context())
	e.must(err)

	e.must(e.Forget(e.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
	if waits := e.erase(); waits != "" {
		t.Fatal(waits)
	}
	if found := e.holds(forgottenPhone); len(found) > 0 {
		t.Errorf("it stands in %s", found)
	}
	events, err := e.Events(e.Context(), store.EventFilter{Phone: otherPhone, Limit: 2000})
	e.must(err)
	if len(events) != 900 {
		t.Errorf("%d events of the other", len(events))
	}
	after, err := report.Records{Store: e.Records.Store}.Totals(e.Context())
	e.must(err)
	for _, same := range []string{"events", "messages", "messages_accepted"} {
		if totals[same] != after[same] {
			t.Errorf("%s: %d, was %d", same, after[same], totals[same])
		}
	}
	e.reopen()
	blocked, err := e.Blocked(e.Context(), []messaging.Phone{forgottenPhone, "447700900555"})
	e.must(err)
	if blocked[forgottenPhone] == "" || len(blocked) != 1 {
		t.Errorf("blocked: %v", blocked)
	}
	e.event(forgottenPhone, "x")
	if got := e.claim(5); len(got) > 0 {
		t.Errorf("claimed %+v", got)
	}
}

// Every text that a table has is one that forgetting goes through, or one in which no phone can stand.
func TestForgettingKnowsEveryText(t *testing.T) {
	known := map[string]bool{}
	for _, x := range erasedTexts {
		known[x.table+"."+x.column] = true
	}
	for _, other := range []string{
		// changed or dropped with their row
		"events.phone", "messages.phone", "messages.sent_as", "tombstones.phone", "tombstones.correlation_key", "blocks.phone", "opt_outs.phone", "consents.phone",
		"events.content", "events.content_type", "messages.zone", "forgetting.phone", "contacts.phone",
		// names, states and hashes, which no contact chooses
		"events.connector", "contacts.connector", "events.kind", "events.content_key", "messages.trigger_name", "messages.category", "messages.state", "messages.owner", "messages.config",
		"messages.account", "messages.test", "attempts.state", "attempts.owner", "messages.message_id", "messages.status", "tombstones.trigger_name", "tombstones.ref",
		"rejected_requests.connector", "rejected_requests.stage", "rejected_requests.method", "counts.name", "configs.version", "config_files.version", "config_files.name", "lookups.connector", "lookups.owner",
		"runs.job", "runs.slot", "runs.cause", "runs.config", "runs.state", "runs.before", "runs.deliver", "runs.template", "runs.language", "runs.category", "runs.columns", "runs.owner",
		"runs.began", "runs.stopped", "runs.held", "parts.file", "parts.sha256", "parts.state", "parts.campaign_id", "parts.message_ids", "parts.resolved", "job_clocks.job", "job_clocks.line",
		"holds.scope", "holds.name", "holds.kind", "holds.of_account", "holds.part", "holds.way", "holds.who", "holds.cause", "holds.mark", "resolutions.resolved", "refresh_tokens.source", "refresh_tokens.token", "consents.channel", "consents.category", "consents.consent",
		"trigger_names.name", "list_rows.file", "runs.waits", "runs.canary", "verdicts.rule", "verdicts.action", "steps.conditions", "steps.wait", "windows.about", "windows.name", "forgotten.mark", "forgetting.connector", "forgetting.source", "forgetting.waits", "redactions.connector", "redactions.source", "runs.account", "runs.again_classes",
		"events.cleared", "decisions.trigger_name", "decisions.outcome", "decisions.config", "decisions.later", "attempts.error_class", "messages.error_class",
		"error_texts.text",                              // no number stands in it
		"unused.connector", "unused.why", "unused.kind", // names and kinds
		"drift_hours.connector", "drift_hours.kind", "drift_hours.fields", "drift_kinds.connector", "drift_kinds.kind", "drift_kinds.found", // names of fields, and none that may be data (package drift)
		"renames.about", "renames.was", "renames.name", // names of the config
		"hourly_counts.about", "hourly_counts.what", "hourly_counts.name", "hourly_counts.detail", "hourly_counts.country", "hourly_counts.class", // names and kinds
		// changed or dropped with their row, or what no contact chooses
		"webhooks_out.phone", "webhooks_out.receiver", "webhooks_out.kind", "webhooks_out.state", "webhook_receivers.receiver",
		// whatever is told leaves the machine, so no whole phone stands in it (package alerts)
		"alerts.receiver", "alerts.condition", "alerts.code", "alerts.subject", "alerts.severity", "alerts.about", "alerts.words", "alerts.hint",
		"alert_notices.notice", "alert_notices.receiver", "alert_notices.condition", "alert_notices.code", "alert_notices.subject", "alert_notices.severity",
		"alert_notices.about", "alert_notices.words", "alert_notices.hint", "alert_receivers.receiver", "alert_receivers.name", "alert_receivers.last_error",
		// masked by who writes them (package server)
		"audit.who", "audit.via", "audit.action", "audit.subject", "audit.detail", "audit.outcome", "audit.hash",
		"api_tokens.id", "api_tokens.name", "api_tokens.hash", "api_tokens.scopes", "api_tokens.created_by", "api_tokens.makers",
		// of people who work with nudgewire, whose names are no phones (package server), and hashes
		"users.name", "users.role", "users.password", "users.source", "users.subject", "users.setup", "users.created_by", "users.makers", "audit_end.hash", "audit_end.broken",
		"console_sessions.hash", "console_sessions.who", "console_sessions.user_name", "console_sessions.scopes", "console_links.hash", "console_links.who", "console_links.scopes",
		"restorations.how", "restorations.config", "sent_once.state", "cut_changes.fact",
		"parts.goes", "list_rows.phone", // of a row that is forgotten it goes as a whole
	} {
		known[other] = true
	}
	e := openErasing(t)
	e.must(e.Rows(t.Context(), `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%' AND c.type IN ('TEXT', 'BLOB')`, nil, func(r *engine.Row) error {
		if column := r.Text() + "." + r.Text(); !known[column] {
			t.Errorf("%s: may a phone stand in it? Add it to erasedTexts, or to this test", column)
		}
		return r.Err
	}))
}

// What is being sent ends first; what waits, or is in doubt, ends at once.
func TestForgettingMeetsEachState(t *testing.T) {
	e := openErasing(t)
	states := []messaging.State{messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt, messaging.StateWaiting, messaging.StateDropped, messaging.StateSending}
	for range states {
		e.event(forgottenPhone, forgottenPhone)
	}
	held := e.claim(len(states))
	if len(held) != len(states) {
		t.Fatalf("%d claimed", len(held))
	}
	for i, s := range states {
		if s != messaging.StateSending {
			e.finish(&held[i], s, func(a *messaging.Attempt) {
				if s == messaging.StateWaiting {
					a.RetryAt = e.now.Add(time.Hour)
				}
			})
		}
	}
	e.must(e.Forget(e.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
	if waits := e.erase(); waits != "message 6 is being sent" {
		t.Fatalf("waits for %q", waits)
	}
	want := map[messaging.MessageID]messaging.State{1: "accepted", 2: "rejected", 3: "dropped", 4: "cancelled", 5: "dropped", 6: "sending"}
	check := func() {
		t.Helper()
		for id, state := range want {
			d, err := e.Message(t.Context(), id)
			e.must(err)
			if d.State != state {
				t.Errorf("message %d is %s, want %s", id, d.State, state)
			}
		}
	}
	check()
	// A restart changes nothing: the order stands, and so does what it waits for.
	e.reopen()
	if waits := e.erase(); waits != "message 6 is being sent" {
		t.Fatalf("after a restart it waits for %q", waits)
	}
	// It fails and would wait again: then it ends.
	e.finish(&held[5], messaging.StateWaiting, func(a *messaging.Attempt) { a.RetryAt = e.now })
	if waits := e.erase(); waits != "" {
		t.Fatal(waits)
	}
	want[6] = "dropped"
	check()
	if found := e.holds(forgottenPhone); len(found) > 0 {
		t.Errorf("it stands in %s", found)
	}
	if d, err := e.Message(t.Context(), 2); err != nil || !d.Forgotten() || d.Send.Template != "t" || d.Send.Variables != nil {
		t.Errorf("%+v, %v", d, err)
	}
	// A late answer to what was in doubt changes nothing any more.
	late := messaging.Attempt{MessageID: 3, Owner: "me", Number: 1, State: messaging.StateAccepted, At: e.now, Message: &messaging.Message{ServiceID: "77", Phone: forgottenPhone, Category: "marketing"}}
	if err := e.Finish(t.Context(), late); err == nil {
		t.Error("a late answer was taken")
	}
	if found := e.holds(forgottenPhone); len(found) > 0 {
		t.Errorf("after a late answer it stands in %s", found)
	}
}

// A crash in the middle loses no order and leaves nothing behind.
func TestForgettingGoesOnAfterACrash(t *testing.T) {
	for steps := range 10 {
		e := openErasing(t)
		for i := range 40 {
			e.event([]string{forgottenPhone, otherPhone}[i%2], forgottenPhone)
		}
		for _, d := range e.claim(30) {
			e.finish(&d, messaging.StateRejected)
		}
		e.must(e.Forget(t.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
		all, err := e.Erasures(t.Context())
		e.must(err)
		half := e.newEraser(all)
		if _, err := half.stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, step := range half.steps() {
			if i < steps {
				e.must(step(t.Context()))
			}
		}
		e.reopen()
		if waits := e.erase(); waits != "" {
			t.Fatal(waits)
		}
		if found := e.holds(forgottenPhone); len(found) > 0 {
			t.Errorf("cut off after %d steps it stands in %s", steps, found)
		}
	}
}

func TestTheBlockOfAForgottenContact(t *testing.T) {
	says := func(e *erasing, what messaging.Outcome, at time.Time) string {
		r := e.event(forgottenPhone, "x", func(p *messaging.Plan) {
			p.Event.OccurredAt, p.Event.ReceivedAt = at, e.now
			p.Proposals[0] = messaging.Proposal{
				Decision:    messaging.Decision{Trigger: messaging.OptOut, Outcome: what, At: e.now},
				Correlation: messaging.Correlation{Trigger: messaging.OptOut, Phone: forgottenPhone}, EventAt: at,
			}
		})
		return r.Decisions[0].Reason
	}
	for _, c := range []struct {
		name string
		do   func(e *erasing)
		want bool
	}{
		{"holds", func(*erasing) {}, true},
		{"an opt-in of before", func(e *erasing) { says(e, messaging.Allowed, e.now.Add(-time.Hour)) }, true},
		{"an opt-in of later", func(e *erasing) {
			e.now = e.now.Add(time.Hour)
			if got := says(e, messaging.Allowed, e.now); got != "the contact's block ends" && !strings.Contains(got, "only a person ends it") {
				t.Errorf("said: %s", got)
			}
		}, false},
		{"an opt-out of later", func(e *erasing) { e.now = e.now.Add(time.Hour); says(e, messaging.Blocked, e.now) }, true},
		{"a person allows", func(e *erasing) { e.must(e.Allow(t.Context(), forgottenPhone)) }, false},
		{"a person blocks", func(e *erasing) {
			n, err := e.Block(t.Context(), []store.Block{{Phone: forgottenPhone}})
			if e.must(err); n != 0 {
				t.Errorf("%d newly blocked", n)
			}
		}, true},
		{"a person blocks, then an opt-in of later", func(e *erasing) {
			_, err := e.Block(t.Context(), []store.Block{{Phone: forgottenPhone}})
			e.must(err)
			e.now = e.now.Add(time.Hour)
			if got := says(e, messaging.Allowed, e.now); !strings.Contains(got, "only a person ends it") {
				t.Errorf("said: %s", got)
			}
		}, true},
		{"a restart", func(e *erasing) { e.reopen() }, true},
	} {
		for _, byHand := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, blocked by a person before: %v", c.name, byHand), func(t *testing.T) {
				e := openErasing(t)
				if byHand {
					_, err := e.Block(t.Context(), []store.Block{{Phone: forgottenPhone}})
					e.must(err)
				}
				e.must(e.Forget(t.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
				e.erase()
				c.do(e)
				want := c.want || byHand && c.name == "an opt-in of later"
				blocked, err := e.Blocked(t.Context(), []messaging.Phone{forgottenPhone})
				e.must(err)
				if (blocked[forgottenPhone] != "") != want {
					t.Errorf("blocked: %v", blocked)
				}
				e.event(forgottenPhone, "x")
				if got := len(e.claim(5)); (got == 0) != want {
					t.Errorf("%d claimed", got)
				}
				if found := e.holds(forgottenPhone); want && c.name == "a person blocks" && slices.Contains(found, "blocks.phone") {
					t.Error("the block keeps the phone")
				}
			})
		}
	}
}

// What came by one connector goes; another's stays.
func TestForgettingAllThatCameByAConnector(t *testing.T) {
	e := openErasing(t)
	for i := range 30 {
		phone := fmt.Sprintf("4477009002%02d", i)
		e.event(phone, phone)
	}
	e.event(otherPhone, otherPhone, func(p *messaging.Plan) { p.Event.Connector = "crm" })
	for _, d := range e.claim(10) {
		e.finish(&d, messaging.StateRejected)
	}
	e.must(e.ForgetConnector(t.Context(), "shop", "shop.shop.redacted"))
	if waits := e.erase(); waits != "" {
		t.Fatal(waits)
	}
	if found := e.holds("447700900217"); len(found) > 0 {
		t.Errorf("it stands in %s", found)
	}
	if left := e.claim(50); len(left) != 1 || left[0].Phone != otherPhone {
		t.Errorf("left: %+v", left)
	}
}

func TestALostKeyIsToldBeforeAnythingIsSent(t *testing.T) {
	e := openErasing(t)
	e.must(e.Forget(t.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
	key := e.path + ".forgotten-key"
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	e.must(e.Store.Close())
	e.must(os.Rename(key, key+".away"))
	if _, err := store.Open(t.Context(), store.Options{DSN: e.dsn}); err == nil || !strings.Contains(err.Error(), "restore it from the backup") {
		t.Errorf("%v", err)
	}
	e.must(os.Rename(key+".away", key))
	e.Store = nil
	e.reopen()
}

var firstToldSQL = engine.SQL(`UPDATE webhooks_out SET state = 'delivered', ended_at = ?1 WHERE id = (SELECT min(id) FROM webhooks_out)`)

func TestForgettingRemovesWebhooksOut(t *testing.T) {
	e := openErasing(t)
	e.tells = func(_, _ string) []string { return []string{"crm"} }
	e.reopen()
	for _, phone := range []string{forgottenPhone, otherPhone} {
		e.event(phone, phone)
	}
	for _, d := range e.claim(2) {
		e.finish(&d, messaging.StateRejected)
	}
	e.must(e.Write(t.Context(), commit.LaneWork, func(t *store.Tx) error { return t.Put(firstToldSQL, t.At) })) // the rest waits
	e.must(e.Forget(e.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
	if waits := e.erase(); waits != "" {
		t.Fatal(waits)
	}
	if found := e.holds(forgottenPhone); len(found) > 0 {
		t.Errorf("the phone stands in %v", found)
	}
	left, err := store.List(t.Context(), e.Store, `SELECT phone FROM webhooks_out WHERE receiver = 'crm'`, nil, engine.Text)
	e.must(err)
	if len(left) != 3 {
		t.Errorf("left of the other contact: %v", left)
	}
	for _, phone := range left {
		if phone != otherPhone {
			t.Errorf("left of %s", phone)
		}
	}
}

// Who was told of a contact stays in the audit when the contact is forgotten, and is found by its phone as before.
func TestForgettingLeavesTheAudit(t *testing.T) {
	e := openErasing(t)
	tell := func(phone messaging.Phone) {
		t.Helper()
		subject, err := e.Marks.Contact(phone)
		e.must(err)
		err = e.Audit(t.Context(), chain.Entry{At: e.now, Who: "ann", Via: "session", Action: "GET /why", Subject: subject})
		e.must(err)
	}
	tell(forgottenPhone)
	tell(otherPhone)
	e.must(e.Forget(t.Context(), []messaging.Phone{forgottenPhone}, "event 7"))
	orders, err := e.Erasures(t.Context())
	e.must(err)
	for i := range orders {
		orders[i].Recorded = false // as a webhook's is
	}
	e.must(e.RecordErasures(t.Context(), orders)) // by hand: it is recorded already
	if waits := e.erase(); waits != "" {
		t.Fatal(waits)
	}
	tell(forgottenPhone)
	n, _, err := audit.Records{Store: e.Store}.Verify(t.Context(), 0, "")
	e.must(err)
	of, err := audit.Records{Store: e.Store}.Entries(t.Context(), audit.Search{Contact: forgottenPhone, Limit: 100})
	e.must(err)
	if n != 3 || len(of) != 2 {
		t.Errorf("%d entries, %d of them about the contact", n, len(of))
	}
	if found := e.holds(forgottenPhone); len(found) > 0 {
		t.Errorf("the phone stands in %v", found)
	}
}
