package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/webhooks"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

const shopper = "447700900123"

// week is jobs of which nothing can be ordered.
type week struct{ calendar }

func (week) Forecast(context.Context, string) (scheduler.Forecast, error) {
	return scheduler.Forecast{Job: "winback-weekly", Source: "list for +" + shopper}, nil
}

func (week) Fire(context.Context, string, scheduler.HandOrder) (messaging.RunID, error) {
	return 0, messaging.ErrNotFound
}

func (week) Approve(context.Context, messaging.RunID, messaging.Approval) error {
	return messaging.ErrNotFound
}
func (week) Pause(context.Context, messaging.RunID, string) error  { return messaging.ErrNotFound }
func (week) Resume(context.Context, messaging.RunID, string) error { return messaging.ErrNotFound }
func (week) Cancel(context.Context, messaging.RunID, string) error { return messaging.ErrNotFound }
func (week) ForecastRetry(context.Context, messaging.RunID, string, scheduler.RetryOrder) (scheduler.Retry, error) {
	return scheduler.Retry{}, messaging.ErrNotFound
}

func (week) Retry(context.Context, messaging.RunID, string, scheduler.RetryOrder) (messaging.RunID, error) {
	return 0, messaging.ErrNotFound
}

func (week) ResolvePart(context.Context, messaging.RunID, int, messaging.Resolution, string, string) error {
	return messaging.ErrNotFound
}
func (week) Missed(context.Context, time.Time) ([]scheduler.Missed, error) { return nil, nil }

type quietAlerts struct{}

func (quietAlerts) View() alerts.View { return alerts.View{} }
func (quietAlerts) Test(context.Context, string) ([]alerts.Tested, error) {
	return []alerts.Tested{}, nil
}

type outs struct{}

func (outs) Receivers() []server.ReceiverPlan           { return []server.ReceiverPlan{{Name: "crm"}} }
func (outs) TestReceiver(context.Context, string) error { return nil }

// lively is the whole API over data in which the shopper's phone stands wherever a phone may stand.
func lively(t *testing.T) *server.API {
	t.Helper()
	return livelyAt(t, time.Now)
}

// livelyAt is lively by a clock of the routes' own.
func livelyAt(t *testing.T, clock func() time.Time) *server.API {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db"), Settle: triggers.Settle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	now := clock().UTC()
	e := messaging.Event{
		Connector: "shop", Kind: "order.created", DedupeKey: "order of +44 7700 900123", ReceivedAt: now, Contact: messaging.Contact{Phone: shopper},
		Payload: []byte(`{"to":"0044 (0) 7700  900 123"}`), ContentType: "application/json",
	}
	d := messaging.Message{
		Trigger: "reminder", Key: "phone:" + shopper, Phone: shopper, Category: messaging.Marketing,
		Send:  messaging.Send{Template: "hello", Language: "en", Variables: []string{"call " + shopper}},
		State: messaging.StateWaiting, DueAt: now.Add(time.Hour), ExpiresAt: now.Add(2 * time.Hour), CreatedAt: now, UpdatedAt: now,
	}
	if _, err := s.Accept(t.Context(), []messaging.Plan{{Event: e, Proposals: []messaging.Proposal{{
		Decision: messaging.Decision{
			Trigger: "reminder", Outcome: messaging.Planned, Reason: "because of " + shopper, Key: d.Key, At: now,
			Clauses: []messaging.Clause{{Text: "phone != ''", Held: true, Values: []messaging.Value{{Name: "phone", Value: "+44-7700-900-123"}}}},
		},
		Correlation: messaging.Correlation{Trigger: "reminder", Key: d.Key, Phone: shopper},
		Message:     d, OnRepeat: messaging.OnRepeat{Mode: messaging.Parallel}, Cooldown: messaging.Cooldown{Mode: messaging.CooldownNone}, EventAt: now,
	}}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.RejectRequest(t.Context(), messaging.RejectedRequest{Connector: "shop", Status: 400, Stage: "body", Reason: "no order of " + shopper, Method: "POST", Sample: "phone=" + shopper, At: now}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Block(t.Context(), []store.Block{{Phone: shopper, Reason: "asked from +" + shopper, Source: "form", At: now}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveConsents(t.Context(), []messaging.ConsentRecord{{Phone: shopper, Consent: messaging.ConsentGiven, At: now, Source: "form", Proof: "sms from " + shopper}}); err != nil {
		t.Fatal(err)
	}
	var rules atomic.Pointer[webhooks.Rules]
	shop, problems := connectors.Compile("open", connectors.Config{Verify: &connectors.Verify{Kind: "none"}}, connectors.Options{Country: "GB"})
	if shop == nil {
		t.Fatal(problems)
	}
	rules.Store(&webhooks.Rules{Receivers: map[string]*connectors.Connector{"open": shop}, Triggers: new(triggers.Set)})
	return server.Admin(server.AdminOptions{
		Rules: &rules, Store: s, Daemon: named{}, Jobs: week{}, Alerts: quietAlerts{}, Outgoing: outs{}, Country: "GB", Now: clock, Log: zap.NewNop(),
		Storage: filepath.Join(t.TempDir(), "n.db"), SignIns: &signin.Sessions{Store: auth.Records{Store: s}, Now: time.Now, Log: zap.NewNop()}, ConsoleURL: func() string { return consoleURL },
		Config: func(context.Context) (server.ConfigView, error) {
			return server.ConfigView{Files: []server.ConfigFileView{{Name: "config.yaml", Lines: []string{"# call +" + shopper}}}}, nil
		},
		Trial: func(string) (preview.Trial, yamlpos.Problems) {
			return preview.Trial{Receivers: rules.Load().Receivers, Triggers: rules.Load().Triggers, Due: duerules.New(time.UTC, duerules.Account{}), TestNumbers: messaging.TestNumbers{{Name: "me", Phone: shopper}}}, nil
		},
	})
}

// path is a route's path with numbers and names that there are.
func path(rt *server.Route) string {
	p := strings.NewReplacer("{phone}", shopper, "{name}", "winback-weekly", "{id}", "1", "{number}", "1", "{event}", "1", "{token}", "crm", "{user}", "ann", "{connector}", "open").Replace(rt.Path)
	if p == "/why" {
		p += "?phone=" + shopper
	}
	return server.Base + p
}

func call(h http.Handler, who *access.Who, method, path, body string) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if who != nil {
		r = r.WithContext(access.WithWho(r.Context(), *who))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// body is a request that a route can read, and that changes little.
func body(rt *server.Route) string {
	switch rt.Path {
	case "/messages":
		return `{"phone":"+` + shopper + `","send":{"template":"hello","language":"en"},"dry_run":true}`
	case "/messages/cancel", "/messages/retry", "/messages/resolve":
		return `{"trigger":"reminder","state":"rejected","as":"drop","dry_run":true}`
	case "/blocks":
		return `{"phones":["+` + shopper + `","call ` + shopper + `"]}`
	case "/consents":
		return `{"rows":[{"phone":"` + shopper + `","consent":"maybe"}]}`
	case "/halt", "/resume":
		return `{"scope":"trigger","name":"reminder"}`
	case "/tokens":
		return `{"name":"+` + shopper + `","scopes":["read"]}`
	case "/users":
		return `{"name":"+` + shopper + `","role":"viewer"}`
	case "/contacts/forget":
		return `{"phones":["call ` + shopper + `"]}`
	}
	return "{}"
}

func TestEachRouteAsksForItsScopeAndForNoOther(t *testing.T) {
	h := lively(t)
	for _, rt := range server.Routes() {
		at := rt.Method + " " + rt.Path
		if res := call(h, nil, rt.Method, path(&rt), body(&rt)); res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s answers somebody who proved nothing %s", at, res.Status)
		}
		if rt.Scope == "" && rt.Path != "/whoami" && rt.Path != "/openapi.json" {
			t.Errorf("%s has no scope", at)
		}
		if rt.Words == "" || !strings.HasSuffix(rt.Words, ".") {
			t.Errorf("%s is described as %q", at, rt.Words)
		}
		if rt.Method == http.MethodGet && rt.Changes || rt.Method != http.MethodGet && !rt.Changes && !slices.Contains([]string{"/config/plan", "/jobs/{name}/forecast", "/messages", "/messages/retry/plan", "/test-sends", "/events/{connector}", "/try"}, rt.Path) {
			t.Errorf("%s: changes something: %v", at, rt.Changes)
		}
		for _, scope := range access.Scopes {
			res := call(h, &access.Who{Name: "key", Scopes: []access.Scope{scope}}, rt.Method, path(&rt), body(&rt))
			_, _ = io.Copy(io.Discard, res.Body)
			allowed := rt.Scope == "" || scope == rt.Scope
			if (res.StatusCode == http.StatusForbidden) == allowed || res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusMethodNotAllowed {
				t.Errorf("%s answers scope %s %s", at, scope, res.Status)
			}
		}
		others := slices.DeleteFunc(slices.Clone(access.Scopes), func(s access.Scope) bool { return s == rt.Scope })
		if res := call(h, &access.Who{Name: "key", Scopes: others}, rt.Method, path(&rt), body(&rt)); rt.Scope != "" && res.StatusCode != http.StatusForbidden {
			t.Errorf("%s answers who has every other scope %s", at, res.Status)
		}
	}
}

// Whoever may do everything but see phones sees no whole one in any answer: not of a list, not of an order, not of an error.
func TestWithoutTheScopeNoAnswerHasAWholePhone(t *testing.T) {
	h := lively(t)
	all := access.Process("ann")
	blind := access.Who{Name: "viewer", Scopes: slices.DeleteFunc(slices.Clone(access.Scopes), func(s access.Scope) bool { return s == access.Phones })}
	digits := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r == '*' || r == '"' {
				return r
			}
			return -1
		}, text)
	}
	shown := 0
	read := func(who *access.Who, rt *server.Route) (string, int) {
		res := call(h, who, rt.Method, path(rt), body(rt))
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), res.StatusCode
	}
	for _, rt := range server.Routes() {
		text, status := read(&blind, &rt)
		if strings.Contains(digits(text), "7700900123") {
			t.Errorf("%s %s shows a phone to who may not see it (%d): %s", rt.Method, rt.Path, status, text)
		}
		each := []string{text}
		if strings.HasSuffix(rt.Path, "/export") { // one JSON object a line
			each = strings.Split(strings.TrimSpace(text), "\n")
		}
		if slices.ContainsFunc(each, func(one string) bool { return !json.Valid([]byte(one)) }) {
			t.Errorf("%s %s answers no JSON: %s", rt.Method, rt.Path, text)
		}
		if strings.Contains(text, "0044 (0)") {
			t.Errorf("%s %s shows what a webhook carried: %s", rt.Method, rt.Path, text)
		}
		if text, _ := read(&all, &rt); strings.Contains(digits(text), "7700900123") {
			shown++
		}
	}
	if shown < 10 {
		t.Errorf("only %d routes show a phone to who may see it: the test looks at too little", shown)
	}
}

// A name in the query that a route does not know is refused, with the one that was meant, before anything is done. Each that it knows is let through.
func TestARouteKnowsTheNamesOfItsQuery(t *testing.T) {
	h, ann := lively(t), access.Process("ann")
	blind := access.Who{Name: "ben", Scopes: []access.Scope{access.Read, access.Operate, access.Contacts, access.Manage, access.Sending}}
	for _, rt := range server.Routes() {
		what, at := rt.Method+" "+rt.Path, server.Base+rt.Path
		who := &ann
		ask := func(query string) refusal.Error {
			res := call(h, who, rt.Method, strings.Split(path(&rt), "?")[0]+"?"+query, body(&rt))
			defer res.Body.Close()
			p := refusal.Error{Status: res.StatusCode}
			if res.StatusCode >= http.StatusBadRequest {
				if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
					t.Fatal(err)
				}
			}
			return p
		}
		unknown := func(p *refusal.Error) bool { return strings.Contains(p.Words, "which the route does not know") }
		others := "takes no query"
		if len(rt.Query) > 0 {
			others = "it knows " + strings.Join(rt.Query, ", ")
		}
		p := ask("utm_source=mail")
		if p.Status != http.StatusBadRequest || p.Field != "utm_source" || !unknown(&p) || !strings.Contains(p.Words, rt.Method+" "+at) || !strings.Contains(p.Hint, others) {
			t.Errorf("%s?utm_source: %+v", what, p)
		}
		for _, name := range rt.Query {
			if p := ask(name + "=x"); unknown(&p) {
				t.Errorf("%s does not know its %s: %+v", what, name, p)
			}
			if p := ask(name + "s1=x"); len(name) > 5 && (p.Status != http.StatusBadRequest || !strings.HasPrefix(p.Hint, "did you mean "+name+"? ")) {
				t.Errorf("%s?%ss1: %+v", what, name, p)
			}
		}
		if p := ask("limit=1;state=waiting"); p.Status != http.StatusBadRequest || !strings.Contains(p.Words, "cannot be read") {
			t.Errorf("%s with a semicolon: %+v", what, p)
		}
		who = &blind
		if p := ask(shopper + "=1"); p.Status < http.StatusBadRequest || strings.Contains(p.Words+p.Hint, shopper) {
			t.Errorf("%s tells a phone: %+v", what, p)
		}
	}
}

func TestWhatIsNoRouteIsAProblem(t *testing.T) {
	h := lively(t)
	ann := access.Process("ann")
	for _, tt := range []struct {
		method, path, body string
		status             int
		field, allow       string
	}{
		{"GET", "/", "", 404, "", ""},
		{"GET", "/v1/status", "", 404, "", ""},
		{"GET", server.Base + "/nothing", "", 404, "", ""},
		{"DELETE", server.Base + "/status", "", 405, "", "GET"},
		{"GET", server.Base + "/halt", "", 405, "", "POST"},
		{"PUT", server.Base + "/blocks", "", 405, "", "GET, POST"},
		{"POST", server.Base + "/halt", `{"scope":"trigger"}`, 400, "name", ""},
		{"POST", server.Base + "/halt", `{"scope":"tigger"}`, 400, "scope", ""},
		{"POST", server.Base + "/halt", `{"scope":1}`, 400, "scope", ""},
		{"POST", server.Base + "/halt", `{"who":"the CEO"}`, 400, "who", ""},
		{"POST", server.Base + "/halt", ``, 400, "", ""},
		{"POST", server.Base + "/halt", `{"reason":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "", ""},
		{"POST", server.Base + "/messages", `{"phone":"447700900123","send":{"template":"a","language":"en","header":{"type":"gif","url":"https://a.example/x"}}}`, 400, "send.header.type", ""},
		{"POST", server.Base + "/messages", `{"send":{"text":"a"}}`, 400, "phone", ""},
		{"GET", server.Base + "/events?limit=1x", "", 400, "limit", ""},
		{"GET", server.Base + "/events?since=yesterday", "", 400, "since", ""},
		{"GET", server.Base + "/messages?state=lost", "", 400, "state", ""},
		{"GET", server.Base + "/events/one", "", 400, "id", ""},
		{"GET", server.Base + "/why", "", 400, "phone", ""},
	} {
		res := call(h, &ann, tt.method, tt.path, tt.body)
		var p refusal.Error
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
			t.Fatalf("%s %s: %v", tt.method, tt.path, err)
		}
		if res.StatusCode != tt.status || p.Status != tt.status || p.Title != http.StatusText(tt.status) || p.Words == "" || p.Field != tt.field || res.Header.Get("Allow") != tt.allow || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s %q %+v, want %d about %q", tt.method, tt.path, res.Status, res.Header, p, tt.status, tt.field)
		}
	}
}
