package server_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A tower is the API with its tokens and its audit over one store, which may have other towers.
type tower struct {
	t      *testing.T
	store  *store.Store
	file   string
	now    time.Time
	slow   chan struct{} // holds a reload up where it is not nil
	begun  chan struct{}
	loads  atomic.Int64
	ask    *server.Client // as ann at the socket
	access http.Handler   // for tokens
	api    *server.API    // for whom the context names
}

func (w *tower) View() server.DaemonView { return named{}.View() }

func (w *tower) Reload(context.Context, string) ([]preview.RuleChange, error) {
	if w.slow != nil {
		close(w.begun)
		<-w.slow
	}
	w.loads.Add(1)
	return nil, nil
}

func (w *tower) Plan(context.Context, server.PlanRequest) (p server.ConfigPlan, err error) {
	return p, nil
}

func (w *tower) Rollback(context.Context, string) (v server.RollbackView, _ []preview.RuleChange, err error) {
	return v, nil, nil
}

func newTower(t *testing.T) *tower {
	t.Helper()
	file := filepath.Join(t.TempDir(), "n.db")
	w := newTowerOn(t, "sqlite:"+file)
	w.file = file
	return w
}

func newTowerOn(t *testing.T, dsn string) *tower {
	t.Helper()
	w := &tower{t: t, now: time.Now()}
	var err error
	if w.store, err = store.Open(t.Context(), store.Options{DSN: dsn, Settle: triggers.Settle}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() }) // a test may have closed it
	api := server.Admin(server.AdminOptions{Store: w.store, Daemon: w, SignIns: w.door(), ConsoleURL: func() string { return consoleURL }, Country: "GB", Now: func() time.Time { return w.now }, Log: zap.NewNop()})
	w.ask = server.Local(api, access.Who{Name: "ann (1000)", Scopes: access.Scopes, From: access.FromSocket})
	w.api = api
	w.access = console(api, w.store, func() time.Time { return w.now })
	return w
}

func console(api http.Handler, s *store.Store, now func() time.Time) http.Handler {
	door := &signin.Tokens{Store: auth.Records{Store: s}, Now: now, Log: zap.NewNop()}
	return server.Console(server.ConsoleOptions{API: api, Token: door.Who, Proxies: func() []netip.Prefix { return nil }, Now: now, Log: zap.NewNop()})
}

func (w *tower) token(name string, expires time.Time, scopes ...access.Scope) signin.TokenView {
	w.t.Helper()
	v, err := server.CreateToken.Call(w.t.Context(), w.ask, signin.TokenRequest{Name: name, Scopes: scopes, ExpiresAt: expires})
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func with(token, method, path, body string, h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, server.Base+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func TestATokenLetsInUntilItEnds(t *testing.T) {
	w := newTower(t)
	crm := w.token("crm", w.now.Add(time.Hour), access.Operate, access.Read)
	if !strings.HasPrefix(crm.Token, "nw_"+crm.ID+"_") || len(crm.Token) < 60 || crm.CreatedBy != "ann (1000)" || !slices.Equal(crm.Scopes, []access.Scope{access.Read, access.Operate}) {
		t.Errorf("made: %+v", crm)
	}
	status := func(token string) int { return with(token, "GET", "/whoami", "", w.access).Code }
	if rec := with(crm.Token, "GET", "/whoami", "", w.access); rec.Code != 200 || rec.Body.String() != `{"name":"crm (`+crm.ID+`)","from":"token","scopes":["read","operate"]}`+"\n" {
		t.Errorf("who asks: %d %s", rec.Code, rec.Body)
	}
	last := crm.Token[len(crm.Token)-1:]
	for what, token := range map[string]string{
		"another secret": strings.TrimSuffix(crm.Token, last) + map[bool]string{true: "b", false: "a"}[last == "a"],
		"no secret":      "nw_" + crm.ID + "_", "the id": crm.ID, "an id of nobody": "nw_aaaaaaaaaaaa_" + crm.Token[16:],
		"too long": crm.Token + strings.Repeat("a", 1<<10), "in capitals": strings.ToUpper(crm.Token), "cut": crm.Token[:len(crm.Token)-1],
	} {
		if got := status(token); got != 401 {
			t.Errorf("%s is answered %d", what, got)
		}
	}
	all, err := server.ListTokens.Call(t.Context(), w.ask, server.None{})
	if err != nil || len(all) != 1 || all[0].Token != "" || all[0].UsedAt.IsZero() || all[0].State != "good" {
		t.Errorf("listed: %+v, %v", all, err)
	}
	w.now = w.now.Add(time.Hour)
	if got := status(crm.Token); got != 401 {
		t.Errorf("an expired one is answered %d", got)
	}
	again := w.token("crm", time.Time{}, access.Read) // its name is free
	if got := status(again.Token); got != 200 {
		t.Errorf("one without an end is answered %d", got)
	}
	w.now = w.now.Add(24 * 365 * time.Hour)
	other := console(http.NotFoundHandler(), w.store, func() time.Time { return w.now }) // another node: it knows what the data says
	if got := with(again.Token, "GET", "/whoami", "", other).Code; got != 404 {
		t.Errorf("another node answers %d", got)
	}
	if _, err := server.RevokeToken.Call(t.Context(), w.ask, "crm"); err != nil {
		t.Fatal(err)
	}
	if here, there := status(again.Token), with(again.Token, "GET", "/whoami", "", other).Code; here != 401 || there != 401 {
		t.Errorf("a revoked one is answered %d, by another node %d", here, there)
	}
	if all, _ := server.ListTokens.Call(t.Context(), w.ask, server.None{}); len(all) != 2 || all[0].State != "revoked" || all[1].State != "expired" {
		t.Errorf("listed: %+v", all)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(w.file)
	if err != nil || !strings.Contains(string(data), again.ID) || strings.Contains(string(data), again.Token[16:]) {
		t.Errorf("the data holds what lets in (%v)", err)
	}
}

func TestAWrongTokenRequestIsRefused(t *testing.T) {
	w := newTower(t)
	w.token("crm", time.Time{}, access.Read)
	for _, tt := range []struct {
		name   string
		in     signin.TokenRequest
		status int
		field  string
	}{
		{"no scope", signin.TokenRequest{Name: "a"}, 400, "scopes"},
		{"a misspelt scope", signin.TokenRequest{Name: "a", Scopes: []access.Scope{"raed"}}, 400, "scopes"},
		{"no name", signin.TokenRequest{Scopes: []access.Scope{access.Read}}, 400, "name"},
		{"a phone for a name", signin.TokenRequest{Name: "+" + shopper, Scopes: []access.Scope{access.Read}}, 400, "name"},
		{"a name that steers", signin.TokenRequest{Name: "a\x1b[31m", Scopes: []access.Scope{access.Read}}, 400, "name"},
		{"a name that is taken", signin.TokenRequest{Name: "crm", Scopes: []access.Scope{access.Read}}, 409, "name"},
		{"in the past", signin.TokenRequest{Name: "a", Scopes: []access.Scope{access.Read}, ExpiresAt: w.now}, 400, "expires_at"},
	} {
		_, err := server.CreateToken.Call(t.Context(), w.ask, tt.in)
		no, is := err.(*refusal.Error) //nolint:errorlint // the client gives it as it is
		if !is || no.Status != tt.status || no.Field != tt.field {
			t.Errorf("%s: %+v", tt.name, err)
		}
	}
	if _, err := server.RevokeToken.Call(t.Context(), w.ask, "nobody"); err == nil {
		t.Error("a token that is not there was revoked")
	}
}

// Who was let in before is served to the end: its token is asked for once.
func TestARevokedTokenEndsNoRequestUnderWay(t *testing.T) {
	w := newTower(t)
	w.slow, w.begun = make(chan struct{}), make(chan struct{})
	boss := w.token("boss", time.Time{}, access.Manage)
	answered := make(chan int, 1)
	go func() { answered <- with(boss.Token, "POST", "/reload", "", w.access).Code }()
	<-w.begun
	if _, err := server.RevokeToken.Call(t.Context(), w.ask, boss.ID); err != nil {
		t.Fatal(err)
	}
	close(w.slow)
	if got := <-answered; got != 200 {
		t.Errorf("the request under way is answered %d", got)
	}
	if got := with(boss.Token, "POST", "/reload", "", w.access).Code; got != 401 || w.loads.Load() != 1 {
		t.Errorf("the next one is answered %d, and %d reloads were made", got, w.loads.Load())
	}
}

func TestOrdersAreInTheAuditWithWhoGaveThem(t *testing.T) {
	w := newTower(t)
	ops := w.token("ops", time.Time{}, access.Operate, access.Contacts, access.Sending)
	do := func(method, path, body string) int { return with(ops.Token, method, path, body, w.access).Code }
	halt := `{"scope":"trigger","name":"reminder","reason":"call +44 7700 900123"}`
	block := `{"phones":["+447700900123","07700900124"],"reason":"asked"}`
	forget := `{"phones":["+447700900123"]}`
	for i, want := range []struct {
		status             int
		method, path, body string
	}{
		{200, "POST", "/halt", halt},
		{404, "POST", "/halt", strings.Replace(halt, "reminder", "remainder", 1)},
		{403, "POST", "/reload", ""}, // nobody may fill the audit with what they may not do
		{200, "POST", "/blocks", block},
		{200, "DELETE", "/blocks/447700900123", ""},
		{200, "POST", "/contacts/forget", forget},
		{200, "POST", "/messages", `{"phone":"+447700900125","send":{"template":"hello","language":"en","variables":["Ada"]}}`},
	} {
		if got := do(want.method, want.path, want.body); got != want.status {
			t.Fatalf("order %d is answered %d", i, got)
		}
	}
	all, err := server.ListAudit.Call(t.Context(), w.ask, server.AuditQuery{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range slices.Backward(all) {
		got = append(got, strings.Join([]string{e.Who, e.Via, e.Action, e.Subject, e.Detail, e.Outcome}, " | "))
	}
	by := "ops (" + ops.ID + ") | token | "
	want := []string{
		`ann (1000) | socket | POST /tokens | /tokens | {"name":"ops","scopes":["operate","contacts","send"]} | `,
		by + `POST /halt | /halt | {"name":"reminder","reason":"call +44 77** ****23","scope":"trigger"} | `,
		by + `POST /halt | /halt | {"name":"remainder","reason":"call +44 77** ****23","scope":"trigger"} | `,
		by + `POST /halt | /halt |  | refused: 404`,
		by + `POST /blocks | /blocks | {"phones":"2 of them","reason":"asked"} | `,
		by + `DELETE /blocks/{phone} | /blocks/4477******23 |  | `,
		by + `POST /contacts/forget | /contacts/forget | {"phones":"1 of them"} | `,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v, err := server.VerifyAudit.Call(t.Context(), w.ask, ""); err != nil || v.Entries != int64(len(want)) || v.Broken != "" || v.Hash != all[0].Hash {
		t.Errorf("verify: %+v, %v", v, err)
	}
	// A message says itself who asked for it.
	story, err := server.Why.Call(t.Context(), w.ask, server.ListQuery{Phone: "+447700900125", Limit: 10})
	if err != nil || story[0].Event.Topic != "asked for by ops ("+ops.ID+")" {
		t.Errorf("the message: %+v, %v", story, err)
	}
	if messages, err := w.store.Messages(t.Context(), store.MessageFilter{Limit: 1, State: messaging.StateWaiting}); err != nil || len(messages) != 1 {
		t.Errorf("waiting: %+v, %v", messages, err)
	}
}

// On a full disk, or while the database is away, nothing is done that cannot be recorded.
func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	w := newTower(t)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := server.Reload.Call(t.Context(), w.ask, server.ReloadRequest{})
	no, is := err.(*refusal.Error) //nolint:errorlint // the client gives it as it is
	if !is || no.Status != http.StatusServiceUnavailable || !strings.HasPrefix(no.Words, "nothing was done: the audit cannot be written") || w.loads.Load() != 0 {
		t.Errorf("%+v, and %d reloads were made", err, w.loads.Load())
	}
}

// The disk is full: tokens can be read, and what they order is not done.
func TestOrdersAtTheConsoleWhileTheDiskIsFull(t *testing.T) {
	w := newTower(t)
	boss := w.token("boss", time.Time{}, access.Manage, access.Read)
	other, err := sql.Open("sqlite3", w.file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	disk := func(does string) {
		t.Helper()
		if _, err := other.ExecContext(t.Context(), does); err != nil {
			t.Fatal(err)
		}
	}
	disk(`CREATE TRIGGER no_room BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`)
	if rec := with(boss.Token, "POST", "/reload", "", w.access); rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Content-Type") != "application/problem+json" || w.loads.Load() != 0 {
		t.Errorf("an order is answered %d %s, and %d reloads were made", rec.Code, rec.Body, w.loads.Load())
	}
	if rec := with(boss.Token, "GET", "/events", "", w.access); rec.Code != http.StatusOK {
		t.Errorf("a look is answered %d %s", rec.Code, rec.Body)
	}
	disk(`DROP TRIGGER no_room`)
	if rec := with(boss.Token, "POST", "/reload", "", w.access); rec.Code != http.StatusOK || w.loads.Load() != 1 {
		t.Errorf("with room again: %d %s, and %d reloads were made", rec.Code, rec.Body, w.loads.Load())
	}
}

// Two nodes have one list of tokens and one audit: what one makes lets in at the other, and what one revokes ends there only requests to come.
func TestTokensAtTwoNodes(t *testing.T) {
	dsn, err := testserver.ForTest(t).NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, b := newTowerOn(t, dsn+"#"+t.TempDir()), newTowerOn(t, dsn+"#"+t.TempDir())
	b.slow, b.begun = make(chan struct{}), make(chan struct{})
	boss := a.token("boss", time.Time{}, access.Manage)
	answered := make(chan int, 1)
	go func() { answered <- with(boss.Token, "POST", "/reload", "", b.access).Code }()
	<-b.begun
	if _, err := server.RevokeToken.Call(t.Context(), a.ask, boss.ID); err != nil {
		t.Fatal(err)
	}
	for name, node := range map[string]*tower{"here": a, "there": b} {
		if got := with(boss.Token, "GET", "/tokens", "", node.access).Code; got != http.StatusUnauthorized {
			t.Errorf("a revoked token is answered %d %s", got, name)
		}
	}
	close(b.slow)
	if got := <-answered; got != http.StatusOK || b.loads.Load() != 1 {
		t.Errorf("the request under way at the other node is answered %d", got)
	}
	if got := with(boss.Token, "POST", "/reload", "", b.access).Code; got != http.StatusUnauthorized || b.loads.Load() != 1 {
		t.Errorf("the next one is answered %d", got)
	}
	v, err := server.VerifyAudit.Call(t.Context(), a.ask, "")
	if err != nil || v.Broken != "" || v.Entries != 3 { // the token made, the order at the other node, the token revoked
		t.Errorf("the audit of both: %+v, %v", v, err)
	}
}

// An id is told apart from a name, and what an answer exists for is never masked.
func TestAnIDOfATokenWinsOverANameAndIsShownWhole(t *testing.T) {
	w := newTower(t)
	const id = "ab2345672xyz" // as one may come out: with what looks like a phone
	old := auth.Token{ID: id, Name: "old", Hash: [32]byte{1}, Scopes: []string{"read"}, CreatedAt: w.now.UTC(), CreatedBy: "ann"}
	if err := w.door().Store.AddToken(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	taken := w.token("taken", time.Time{}, access.Read)
	_, err := server.CreateToken.Call(t.Context(), w.ask, signin.TokenRequest{Name: taken.ID, Scopes: []access.Scope{access.Read}})
	if no, is := errors.AsType[*refusal.Error](err); !is || no.Field != "name" { // 409, or 400 where the id looks like a phone
		t.Errorf("a token called as another's id: %v", err)
	}
	newer := auth.Token{ID: "newertokenab", Name: id, Hash: [32]byte{2}, Scopes: []string{"read"}, CreatedAt: w.now.Add(time.Second).UTC(), CreatedBy: "ann"} // from before that was refused
	if err := w.door().Store.AddToken(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	boss := w.token("boss", time.Time{}, access.Manage)
	if rec := with(boss.Token, "GET", "/tokens", "", w.access); !strings.Contains(rec.Body.String(), `"id":"`+id+`"`) {
		t.Errorf("listed without the scope phones: %s", rec.Body)
	}
	if rec := with(boss.Token, "DELETE", "/tokens/"+id, "", w.access); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"id":"`+id+`"`) {
		t.Errorf("revoked: %d %s", rec.Code, rec.Body)
	}
	if rec := with(boss.Token, "DELETE", "/tokens/"+id, "", w.access); rec.Code != http.StatusConflict {
		t.Errorf("revoked once more: %d %s", rec.Code, rec.Body)
	}
	if all, err := server.ListTokens.Call(t.Context(), w.ask, server.None{}); err != nil || !slices.ContainsFunc(all, func(v signin.TokenView) bool { return v.ID == newer.ID && v.State == "good" }) {
		t.Errorf("%+v, %v", all, err)
	}
	if rec := with(boss.Token, "POST", "/tokens", `{"name":"next","scopes":["read"]}`, w.access); strings.Contains(rec.Body.String(), "*") {
		t.Errorf("made: %s", rec.Body)
	}
}

// A client elsewhere shows its token to the one server that was named, and never in the clear.
func TestAClientElsewhere(t *testing.T) {
	w := newTower(t)
	crm := w.token("crm", time.Time{}, access.Read)
	s := httptest.NewServer(w.access)
	defer s.Close()
	ask, err := server.Remote(s.URL+"/", crm.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer ask.Close()
	if v, err := server.ShowStatus.Call(t.Context(), ask, server.None{}); err != nil || v.Daemon == nil {
		t.Errorf("status: %+v, %v", v, err)
	}
	if _, err := server.Halt.Call(t.Context(), ask, server.HaltRequest{Scope: "all"}); err == nil || err.(*refusal.Error).Status != 403 { //nolint:errorlint // the client gives it as it is
		t.Errorf("a halt by a reader: %v", err)
	}
	for _, address := range []string{"", "nudgewire.example.com", "ftp://a.example", "http://nudgewire.example.com", "https://a:b@n.example", "https://n.example/api/v1", "https://n.example?x=1"} {
		if _, err := server.Remote(address, crm.Token); err == nil {
			t.Errorf("%q is taken for a server", address)
		}
	}
	if _, err := server.Remote(s.URL, ""); err == nil {
		t.Error("nothing is taken for a token")
	}
	shown := ""
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown = r.Header.Get("Authorization") }))
	defer thief.Close()
	leads := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer leads.Close()
	led, err := server.Remote(leads.URL, crm.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	if _, err := server.ShowStatus.Call(t.Context(), led, server.None{}); err == nil || shown != "" {
		t.Errorf("a redirect was followed: %v, %q", err, shown)
	}
}

// A program that lost an answer asks again with the same key, and gets the message that there is.
func TestAMessageWithAnIdempotencyKeyIsSentOnce(t *testing.T) {
	w := newTower(t)
	crm, shop := w.token("crm", time.Time{}, access.Sending), w.token("shop", time.Time{}, access.Sending)
	const hello = `{"phone":"+447700900123","send":{"template":"hello","language":"en"}}`
	send := func(token, key, body string) (int, string) {
		r := httptest.NewRequest("POST", server.Base+"/messages", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		if key != "-" {
			r.Header.Set("Idempotency-Key", key)
		}
		rec := httptest.NewRecorder()
		w.access.ServeHTTP(rec, r)
		var v struct {
			ID    int64  `json:"id"`
			Field string `json:"field"`
		}
		if err := json.NewDecoder(rec.Body).Decode(&v); err != nil {
			t.Fatal(err)
		}
		return rec.Code, fmt.Sprint(v.ID, v.Field)
	}
	for i, tt := range []struct {
		token, key, body string
		status           int
		want             string
	}{
		{crm.Token, "order-1", hello, 200, "1"},
		{crm.Token, "order-1", hello, 200, "1"},
		{crm.Token, "order-1", strings.Replace(hello, "hello", "bye", 1), 409, "0Idempotency-Key"},
		{crm.Token, "order-2", hello, 200, "2"},
		{shop.Token, "order-1", hello, 200, "3"}, // another program's keys are its own
		{crm.Token, "-", hello, 200, "4"},
		{crm.Token, "-", hello, 200, "5"},
		{crm.Token, "", hello, 400, "0Idempotency-Key"},
		{crm.Token, strings.Repeat("k", 201), hello, 400, "0Idempotency-Key"},
	} {
		if status, got := send(tt.token, tt.key, tt.body); status != tt.status || got != tt.want {
			t.Errorf("request %d: %d %s, want %d %s", i, status, got, tt.status, tt.want)
		}
	}
	var all sync.WaitGroup // at once, by a program that has no patience
	for range 8 {
		all.Go(func() {
			if status, got := send(crm.Token, "order-3", hello); status != 200 || got != "6" {
				t.Errorf("at once: %d %s", status, got)
			}
		})
	}
	all.Wait()
	if m, err := w.store.Messages(t.Context(), store.MessageFilter{Limit: 50}); err != nil || len(m) != 6 {
		t.Errorf("%d messages (%v), want 6", len(m), err)
	}
	// The contact is forgotten, and allowed again: the key stays one that was used.
	if err := w.store.Forget(t.Context(), []messaging.Phone{shopper}, "by hand"); err != nil {
		t.Fatal(err)
	}
	if status, _ := send(crm.Token, "order-1", hello); status != http.StatusConflict {
		t.Errorf("while it is blocked: %d", status)
	}
	records := privacy.Records{Store: w.store}
	orders, err := records.Erasures(t.Context())
	if err == nil {
		_, err = records.Erase(t.Context(), orders)
	}
	if err = errors.Join(err, records.Erased(t.Context(), orders), w.store.Allow(t.Context(), shopper)); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"order-1": http.StatusGone, "order-3": http.StatusGone, "order-9": http.StatusOK} {
		if status, got := send(crm.Token, key, hello); status != want || want == http.StatusGone && got != "0Idempotency-Key" {
			t.Errorf("%s after it was forgotten and allowed again: %d %s, want %d", key, status, got, want)
		}
	}
	if m, err := w.store.Messages(t.Context(), store.MessageFilter{State: messaging.StateWaiting, Limit: 50}); err != nil || len(m) != 1 {
		t.Errorf("%d messages wait (%v), want the one of the new key", len(m), err)
	}
}

// A phone that is a number, in a body that is too long to be kept whole, is no phone in the audit either.
func TestALongOrderLeavesNoPhoneInTheAudit(t *testing.T) {
	w := newTower(t)
	ops := w.token("ops", time.Time{}, access.Operate)
	body := `{"about":447700900123,"reason":"` + strings.Repeat("so ", 400) + `"}`
	if got := with(ops.Token, "POST", "/halt", body, w.access).Code; got != http.StatusBadRequest {
		t.Fatalf("a field that there is none of is answered %d", got)
	}
	all, err := server.ListAudit.Call(t.Context(), w.ask, server.AuditQuery{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range all {
		found = found || strings.Contains(e.Detail, "4477******23")
		if strings.Contains(e.Detail, "447700900123") {
			t.Errorf("the audit has a whole phone: %s", e.Detail)
		}
	}
	if !found {
		t.Errorf("the order is not in the audit: %+v", all)
	}
}

// Who may not see phones gets hashes of the audit as they are: one with asterisks would not be found again.
func TestHashesOfTheAuditAreNotTakenForPhones(t *testing.T) {
	w := newTower(t)
	keeper := w.token("keeper", time.Time{}, access.Manage)
	for range 20 { // most hashes have seven digits in a row somewhere
		w.token("more"+strings.Repeat("x", int(w.loads.Add(1))), time.Time{}, access.Read)
	}
	whole, err := server.VerifyAudit.Call(t.Context(), w.ask, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := with(keeper.Token, "GET", "/audit/verify", "", w.access).Body.String(); !strings.Contains(got, whole.Hash) {
		t.Errorf("verify: %s, want the hash %s", got, whole.Hash)
	}
	if got := with(keeper.Token, "GET", "/audit", "", w.access).Body.String(); strings.Contains(got, "*") || !strings.Contains(got, whole.Hash) {
		t.Errorf("the audit: %s", got)
	}
}

// A session knows nothing of the token that would have made it, so it would go on when that is revoked.
func TestATokenMakesNoLinkToTheConsole(t *testing.T) {
	w := newTower(t)
	all := w.token("all", time.Time{}, access.Scopes...)
	if rec := with(all.Token, "POST", "/console/link", "{}", w.access); rec.Code != http.StatusConflict || !strings.Contains(rec.Body.String(), "a token makes no links") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// What takes longer than an answer may take to be written is answered all the same, once it is done.
func TestWorkMayTakeLongerThanItsAnswer(t *testing.T) {
	const bound = 20 * time.Millisecond
	w := newTower(t)
	w.slow, w.begun = make(chan struct{}), make(chan struct{})
	boss := w.token("boss", time.Time{}, access.Manage)
	s := httptest.NewUnstartedServer(w.access)
	s.Config.WriteTimeout = bound
	s.Start()
	defer s.Close()
	go func() {
		<-w.begun
		time.Sleep(5 * bound)
		close(w.slow)
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+server.Base+"/reload", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+boss.Token)
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%d %s, %v", res.StatusCode, body, err)
	}
}

// bounded is an answer that notes its bounds, and how many of them came before the first byte.
type bounded struct {
	*httptest.ResponseRecorder
	set    chan time.Time
	before int
}

func (b *bounded) SetWriteDeadline(at time.Time) error { b.set <- at; return nil }

func (b *bounded) WriteHeader(status int) {
	b.before = len(b.set)
	b.ResponseRecorder.WriteHeader(status)
}

// With HTTP/2 an answer whose bound passes during the work is reset at once, so the bound is lifted before the work begins. It is set
// anew before the first byte.
func TestTheBoundOfAnAnswerBeginsWithItsWriting(t *testing.T) {
	w := newTower(t)
	w.slow, w.begun = make(chan struct{}), make(chan struct{})
	boss := w.token("boss", time.Time{}, access.Manage)
	answer := &bounded{ResponseRecorder: httptest.NewRecorder(), set: make(chan time.Time, 10)}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, server.Base+"/reload", http.NoBody)
	req.Header.Set("Authorization", "Bearer "+boss.Token)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.access.ServeHTTP(answer, req)
	}()
	<-w.begun
	select {
	case at := <-answer.set:
		if !at.IsZero() {
			t.Errorf("during the work the bound is %s", at)
		}
	default:
		t.Error("the work begins under the bound of its answer")
	}
	close(w.slow)
	<-done
	if answer.Code != http.StatusOK || answer.before != 1 || (<-answer.set).IsZero() {
		t.Errorf("status %d; %d bounds were set between the work and the first byte", answer.Code, answer.before)
	}
}
