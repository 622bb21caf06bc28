package app_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	shopSecret = "shop-secret-of-the-tests"
	apiKey     = "key-of-the-tests"
)

func testEnv(name string) (string, bool) {
	v, ok := map[string]string{"SHOP_SECRET": shopSecret, "API_KEY": apiKey}[name]
	return v, ok
}

// A house is a whole daemon on loopback with a pretended service before it.
type house struct {
	*app.App
	t       *testing.T
	folder  string
	url     string
	service *sandbox.Sandbox
	ask     *server.Client
	stop    func()
}

// options of a house; the zero value is the plain one.
type options struct {
	config  string // what follows api: in the file
	storage string // address of a database; a file in the folder unless said
	api     string // the section api; that of the house's own service unless said
	calls   string // more of that section
	folder  string // reused after a stop
	now     func() time.Time
	watch   store.Observer
	log     *zap.Logger
	sandbox sandbox.Options
	env     func(string) (string, bool) // beside testEnv
	space   func(string) (free, all uint64, err error)
	alerts  alerts.Pace
	await   bool // a start waits for its data
}

func (o *options) lookup(name string) (string, bool) {
	if v, ok := testEnv(name); ok || o.env == nil {
		return v, ok
	}
	return o.env(name)
}

const plainConfig = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  thanks:
    on: shopify.order.created
    category: utility
    send: {template: order_update, variables: ['{{ customer.first_name | default: "there" }}', '{{ order.total }}']}
  reminder:
    on: [shopify.cart.created, shopify.cart.updated]
    if: cart.total >= 50
    wait: 1h
    cancel_on: shopify.order.created
    send: {template: cart_reminder, variables: ['{{ customer.first_name | default: "there" }}']}
tracking: {poll: [1s]}
`

func open(t *testing.T, o options) *house {
	t.Helper()
	if o.config == "" {
		o.config = plainConfig
	}
	if o.folder == "" {
		o.folder = t.TempDir()
	}
	o.sandbox.Keys = append(o.sandbox.Keys, apiKey)
	if o.sandbox.Templates == nil {
		o.sandbox.Templates = []sandbox.Template{{Name: "*", Language: "*", Variables: -1, Header: "*"}}
		o.sandbox.Campaigns = []string{"*"}
	}
	if o.sandbox.Pace == (sandbox.Pace{}) {
		o.sandbox.Pace = sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1}
	}
	h := &house{t: t, folder: o.folder, service: sandbox.New(o.sandbox)}
	api := httptest.NewServer(h.service.Handler())
	storage, dsn := "sqlite:"+h.folder+"/nudgewire.db", "sqlite:"+h.folder+"/nudgewire.db"
	if o.storage != "" {
		storage, dsn = o.storage+"\nnode: {folder: "+h.folder+"}", o.storage+"#"+h.folder
	}
	if o.api == "" {
		o.api = "{base_url: " + api.URL + "/api/v1, key: \"${API_KEY}\", rate: 5000/s, timeout: 30s" + o.calls + "}"
	}
	h.write("api: " + o.api + "\n" +
		"storage: " + storage + "\n" + withServer(o.config))
	a, err := app.New(t.Context(), app.Options{
		ConfigFile: h.file(), Version: "test", Now: o.now, Observer: o.watch,
		Env: o.lookup, Log: o.log, Space: o.space, Alerts: o.alerts, AwaitDisk: o.await,
	})
	if err != nil {
		api.Close()
		t.Fatalf("New: %v", err)
	}
	h.App, h.url = a, "http://"+a.Addr().String()
	h.ask = server.Dial(app.SocketPath(dsn))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- a.Run(ctx) }()
	stopped := false
	h.stop = func() {
		if stopped {
			return
		}
		stopped = true
		h.ask.Close()
		http.DefaultClient.CloseIdleConnections()
		cancel()
		select {
		case err := <-ran:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(3 * time.Minute):
			t.Error("the daemon did not stop")
		}
		h.service.Close()
		api.Close()
	}
	t.Cleanup(func() {
		h.stop()
		*h = house{t: t} // a parallel test is kept, with what its cleanups held, until the last of them has ended
	})
	return h
}

func withServer(config string) string {
	if strings.Contains(config, "\nserver:") {
		return config
	}
	return config + "\nserver: {listen: \"127.0.0.1:0\"}\n"
}

func (h *house) file() string { return filepath.Join(h.folder, "config.yaml") }

func (h *house) write(config string) {
	h.t.Helper()
	if err := os.WriteFile(h.file(), []byte(config), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// edit replaces text in the config file.
func (h *house) edit(old, now string) {
	h.t.Helper()
	text, err := os.ReadFile(h.file())
	if err != nil {
		h.t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		h.t.Fatalf("the config does not hold %q", old)
	}
	h.write(strings.Replace(string(text), old, now, 1))
}

// shopify is a webhook as Shopify sends it.
func (h *house) shopify(topic, id string, content map[string]any) *http.Request {
	h.t.Helper()
	body, err := json.Marshal(content)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.signed(topic, id, body)
}

func (h *house) signed(topic, id string, body []byte) *http.Request {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/shopify", bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(shopSecret))
	mac.Write(body)
	if id == "" {
		id = rand.Text()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Shopify-Topic", topic)
	req.Header.Set("X-Shopify-Webhook-Id", id)
	req.Header.Set("X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return req
}

func cart(token, phone, total string) map[string]any {
	return map[string]any{
		"token": token, "currency": "GBP", "total_price": total, "phone": phone, "buyer_accepts_marketing": true,
		"updated_at": time.Now().UTC().Format(time.RFC3339), "abandoned_checkout_url": "https://shop.example/c/" + token,
		"line_items": []any{map[string]any{"title": "Walking boots", "quantity": 1, "price": total}},
		"customer":   map[string]any{"first_name": "Ada", "last_name": "Byrne"},
	}
}

func order(token, phone, total string) map[string]any {
	o := cart(token, phone, total)
	delete(o, "token")
	delete(o, "abandoned_checkout_url")
	o["id"], o["checkout_token"], o["name"], o["order_number"] = 9007199254740993, token, "#1001", 1001
	o["created_at"] = time.Now().UTC().Format(time.RFC3339)
	return o
}

// do posts a request and returns the status and the body of the answer.
func (h *house) do(req *http.Request) (int, string) {
	h.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatalf("post: %v", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatalf("read the answer: %v", err)
	}
	return res.StatusCode, string(body)
}

func (h *house) mustTake(req *http.Request) {
	h.t.Helper()
	if status, body := h.do(req); status != http.StatusOK {
		h.t.Fatalf("answered %d %s", status, body)
	}
}

// eventually waits until ok holds; the bound is for hangs only.
func (h *house) eventually(what string, ok func() bool) {
	h.t.Helper()
	h.within(2*time.Minute, what, ok)
}

// within is eventually with a limit of its own, for what takes minutes under the race detector.
func (h *house) within(limit time.Duration, what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		asked := time.Now()
		if ok() {
			return
		}
		time.Sleep(max(5*time.Millisecond, 9*time.Since(asked))) // a machine has better to do than to be asked: a tenth of one processor at most
	}
	h.t.Fatalf("waited in vain: %s", what)
}

func (h *house) messages() []server.MessageView {
	h.t.Helper()
	rows, err := server.ListMessages.Call(h.t.Context(), h.ask, server.ListQuery{Limit: 1000})
	if err != nil {
		h.t.Fatalf("messages: %v", err)
	}
	return rows
}

func (h *house) events() []server.EventView {
	h.t.Helper()
	rows, err := server.ListEvents.Call(h.t.Context(), h.ask, server.ListQuery{Limit: 1000})
	if err != nil {
		h.t.Fatalf("events: %v", err)
	}
	return rows
}

func phone(n int) string { return fmt.Sprintf("+4477009%05d", 10010+n) }
