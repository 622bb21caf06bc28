package app_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const consoleConfig = plainConfig + "console: {listen: '127.0.0.1:0'}\n"

// The listener for programs serves the API to who proves who they are, stays where it is over reloads, and is gone with the daemon.
func TestTheConsolesListenerServesTheAPI(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: consoleConfig})
	at := "http://" + h.ConsoleAddr().String()
	status := func() int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+server.Base+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got)
	}
	s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil || s.Daemon.Console != at {
		t.Errorf("status says that the API is at %q, want %q (%v)", s.Daemon.Console, at, err)
	}
	h.edit("console: {listen: '127.0.0.1:0'}", "console: {listen: '127.0.0.1:1'}")
	d, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{})
	if want := "console.listen is still 127.0.0.1:0"; err != nil || !slices.Contains(d.NeedsRestart, want) || d.Console != at {
		t.Errorf("a reload says %q and %q, want %q (%v)", d.NeedsRestart, d.Console, want, err)
	}
	h.edit("listen: '127.0.0.1:1'", "listen: ':8484'")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err == nil || !strings.Contains(err.Error(), "console.listen") {
		t.Errorf("a listener in the clear is taken: %v", err)
	}
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("after reloads: %d", got)
	}
	taken := h.ConsoleAddr().String()
	_, err = app.New(t.Context(), app.Options{ConfigFile: other(t, h, taken), Version: "test", Env: testEnv})
	if port, is := errors.AsType[*app.PortError](err); !is || port.Key != "console.listen" || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a daemon with the same console: %v", err)
	}
	h.stop()
	if c, err := net.Dial("tcp", taken); err == nil {
		_ = c.Close()
		t.Error("the listener outlives the daemon")
	}
}

// other is the config of another daemon, whose console is at an address.
func other(t *testing.T, h *house, console string) string {
	t.Helper()
	o := &house{t: t, folder: t.TempDir()}
	o.write("api: {base_url: http://127.0.0.1:1/api/v1, key: \"${API_KEY}\"}\nstorage: sqlite:" + o.folder + "/n.db\n" +
		withServer(plainConfig) + "console: {listen: '" + console + "'}\n")
	return o.file()
}

// A token that is made on the socket lets in at the listener, over restarts and reloads, and the audit says who did what with which config.
func TestATokenOverRestartsAndTheAudit(t *testing.T) {
	o := options{config: consoleConfig, folder: t.TempDir()}
	h := open(t, o)
	made, err := server.CreateToken.Call(t.Context(), h.ask, signin.TokenRequest{Name: "ops", Scopes: []access.Scope{access.Read, access.Operate, access.Manage}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h = open(t, o)
	far, err := server.Remote("http://"+h.ConsoleAddr().String(), made.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if _, err := server.Halt.Call(t.Context(), far, server.HaltRequest{Scope: "all", Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Reload.Call(t.Context(), far, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.RevokeToken.Call(t.Context(), h.ask, "ops"); err != nil {
		t.Fatal(err)
	}
	var no *refusal.Error
	if _, err := server.ShowStatus.Call(t.Context(), far, server.None{}); !errors.As(err, &no) || no.Status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %v", err)
	}
	all, err := server.ListAudit.Call(t.Context(), h.ask, server.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range slices.Backward(all) {
		who := e.Who
		if e.Via == string(access.FromProcess) {
			who = "the daemon"
		}
		got = append(got, who+": "+e.Action)
		if strings.Contains(e.Subject+e.Detail, phone(1)[1:]) || strings.Contains(e.Detail, made.Token) {
			t.Errorf("an entry shows too much: %+v", e)
		}
	}
	ops := "ops (" + made.ID + ")"
	want := []string{
		"the daemon: start", me() + ": POST /tokens", me() + ": POST /blocks", me() + ": POST /contacts/forget", "the daemon: start",
		ops + ": POST /halt", ops + ": POST /reload", ops + ": reload", me() + ": DELETE /tokens/{token}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v, err := server.VerifyAudit.Call(t.Context(), h.ask, ""); err != nil || v.Broken != "" || v.Entries != int64(len(want)) {
		t.Errorf("verify: %+v, %v", v, err)
	}
}

// A program with a token posts what a connector's sender would, without its secret, and once.
func TestEventsArePostedByTheAPI(t *testing.T) {
	h := open(t, options{config: consoleConfig})
	made, err := server.CreateToken.Call(t.Context(), h.ask, signin.TokenRequest{Name: "crm", Scopes: []access.Scope{access.Sending}})
	if err != nil {
		t.Fatal(err)
	}
	post := func(connector, body string) (int, server.PostedView) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.ConsoleAddr().String()+server.Base+"/events/"+connector, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+made.Token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Shopify-Topic", "orders/create")
		req.Header.Set("X-Shopify-Webhook-Id", "one-delivery")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var v server.PostedView
		if res.StatusCode == http.StatusOK {
			if err := json.NewDecoder(res.Body).Decode(&v); err != nil {
				t.Fatal(err)
			}
		}
		return res.StatusCode, v
	}
	one, err := json.Marshal(order("c1", phone(1), "49.90"))
	if err != nil {
		t.Fatal(err)
	}
	body := string(one)
	status, v := post("shopify", body)
	if status != 200 || len(v.Events) != 1 || v.Events[0].Duplicate || len(v.Events[0].Decisions) == 0 {
		t.Fatalf("posted: %d %+v", status, v)
	}
	if status, again := post("shopify", body); status != 200 || len(again.Events) != 1 || !again.Events[0].Duplicate || again.Events[0].ID != v.Events[0].ID {
		t.Errorf("posted again: %d %+v", status, again)
	}
	h.eventually("one delivered message", func() bool {
		m := h.messages()
		return len(m) == 1 && m[0].Status == messaging.StatusDelivered
	})
	for _, wrong := range []struct {
		connector, body string
		status          int
	}{{"shopfy", body, 404}, {"shopify", "{", 400}} {
		if status, _ := post(wrong.connector, wrong.body); status != wrong.status {
			t.Errorf("%+v is answered %d", wrong, status)
		}
	}
	res, err := http.Post(h.url+"/hooks/shopify", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a webhook without a signature is answered %d", res.StatusCode)
	}
}
