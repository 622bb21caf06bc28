package app_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const manySenders = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}"}
  stripe: {secret: "${SHOP_SECRET}"}
  woocommerce: {secret: "${SHOP_SECRET}"}
triggers:
  thanks:
    on: "*.order.created"
    category: utility
    send: {template: order_update, variables: ['{{ customer.first_name | default: "there" }}']}
tracking: {poll: [1s]}
`

func TestWhatIsNotTakenHasAnAnswerAndATrace(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: manySenders})
	post := func(path, contentType string, body io.Reader, headers ...string) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		return req
	}
	forged := h.signed("orders/create", "", []byte(`{"id":1}`))
	forged.Header.Set("X-Shopify-Hmac-Sha256", "AAAA"+forged.Header.Get("X-Shopify-Hmac-Sha256")[4:])
	get := h.signed("orders/create", "", []byte(`{}`))
	get.Method = http.MethodGet
	plain := h.signed("orders/create", "", []byte(`{"id":1}`))
	plain.Header.Set("Content-Type", "text/plain")
	big := bytes.Repeat([]byte("x"), 2_000_000)
	chunked := h.signed("orders/create", "", big)
	chunked.Body, chunked.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(big))), -1

	tests := map[string]struct {
		req    *http.Request
		status int
		stage  string
		reason string
	}{
		"a forged signature": {forged, 401, "verify", "the signature does not match: 1 signature tried against 1 key, body of 8 bytes"},
		"no signature": {
			post("/hooks/shopify", "application/json", strings.NewReader("{}")), 401, "verify",
			"there is no header X-Shopify-Hmac-Sha256 or Shopify-Hmac-Sha256",
		},
		"a timestamp of last year": {
			post("/hooks/stripe", "application/json", strings.NewReader(`{"id":"evt_1"}`),
				"Stripe-Signature", "t="+strconv.FormatInt(time.Now().AddDate(-1, 0, 0).Unix(), 10)+",v1=00"),
			401, "verify", "",
		},
		"a connector that is not there": {post("/hooks/nobody", "application/json", strings.NewReader("{}")), 404, "connector", "no connector of this name in the config: /hooks/nobody"},
		"a path behind the name":        {post("/hooks/shopify/anything", "application/json", strings.NewReader("{}")), 404, "connector", "the path goes on behind the connector's name, and this connector takes no token there"},
		"the wrong method":              {get, 405, "method", "the method is GET, and events come by POST"},
		"the wrong content type":        {plain, 415, "content", ""},
		"broken JSON":                   {h.signed("orders/create", "", []byte(`{"id":1`)), 400, "body", ""},
		"an empty body":                 {h.signed("orders/create", "", nil), 400, "body", ""},
		"two megabytes":                 {h.signed("orders/create", "", big), 413, "size", "the body is larger than 1,000,000 bytes; raise max_body if the sender is right"},
		"two megabytes in chunks":       {chunked, 413, "size", "the body is larger than 1,000,000 bytes; raise max_body if the sender is right"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := rejectedRequests(t, h)
			status, body := h.do(tt.req)
			if status != tt.status {
				t.Errorf("answered %d %s, want %d", status, body, tt.status)
			}
			if strings.Contains(body, shopSecret) || strings.Contains(body, "signature") {
				t.Errorf("the answer tells too much: %s", body)
			}
			after := rejectedRequests(t, h)
			if len(after) != len(before)+1 {
				t.Fatalf("%d rejected requests were kept, want 1", len(after)-len(before))
			}
			if r := after[0]; r.Stage != tt.stage || r.Status != tt.status || r.Reason == "" || (tt.reason != "" && r.Reason != tt.reason) {
				t.Errorf("kept %+v, want stage %s and reason %q", r, tt.stage, tt.reason)
			}
		})
	}
	if n := len(h.events()); n != 0 {
		t.Errorf("%d events were stored", n)
	}
}

func rejectedRequests(t *testing.T, h *house) []messaging.RejectedRequest {
	t.Helper()
	rows, err := server.ListRejectedRequests.Call(t.Context(), h.ask, server.ListQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestWhatIsTakenButQueuesNothingSaysWhy(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: manySenders})
	without := order("c1", phone(1), "10.00")
	delete(without, "phone")
	impossible := order("c2", "555-555-SHIP", "10.00")
	tests := map[string]struct {
		req    *http.Request
		kind   string
		reason string // of the decision; "" when no trigger listens
	}{
		"no phone":          {h.shopify("orders/create", "", without), "shopify.order.created", "no phone"},
		"an impossible one": {h.shopify("orders/create", "", impossible), "shopify.order.created", "has letters"},
		"an unknown kind":   {h.shopify("themes/publish", "", map[string]any{"id": 7}), "shopify.themes.publish", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h.mustTake(tt.req)
			e := h.events()[0]
			if e.Event != tt.kind {
				t.Errorf("event %s, want %s", e.Event, tt.kind)
			}
			switch {
			case tt.reason == "" && len(e.Decisions) != 0:
				t.Errorf("decisions: %+v", e.Decisions)
			case tt.reason != "" && (len(e.Decisions) != 1 || e.Decisions[0].Outcome != messaging.Skipped || !strings.Contains(e.Decisions[0].Reason, tt.reason)):
				t.Errorf("decisions %+v, want a refusal with %q", e.Decisions, tt.reason)
			}
		})
	}
	if n := len(h.messages()); n != 0 {
		t.Errorf("%d messages are queued", n)
	}
}

func TestAMonitoredConnectorTakesWhatItCannotProveAndSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(manySenders, `shopify: {secret: "${SHOP_SECRET}"}`, `shopify: {secret: "${SHOP_SECRET}", verify: {mode: monitor}}`, 1)})
	forged := h.shopify("orders/create", "", order("c1", phone(1), "10.00"))
	forged.Header.Set("X-Shopify-Hmac-Sha256", "AAAA"+forged.Header.Get("X-Shopify-Hmac-Sha256")[4:])
	h.mustTake(forged)
	if n := len(h.events()); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	kept := rejectedRequests(t, h)
	if len(kept) != 1 || kept[0].Stage != "monitor" || kept[0].Status != http.StatusOK || !strings.HasPrefix(kept[0].Reason, "the signature does not match") {
		t.Errorf("kept: %+v", kept)
	}
}

func TestABodyThatWasProvenAndCannotBeReadIsKeptInPartWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: manySenders + "server: {listen: \"127.0.0.1:0\", samples: true}\n"})
	if status, _ := h.do(h.signed("orders/create", "", []byte(`{"id":1`))); status != http.StatusBadRequest {
		t.Fatalf("answered %d", status)
	}
	if kept := rejectedRequests(t, h); len(kept) != 1 || kept[0].Sample != `{"id":1` {
		t.Errorf("kept: %+v", kept)
	}
}

// What is proven and taken, and holds no event, leaves a trace: else nobody would learn why
// nothing comes of a sender's requests.
func TestAProvenRequestWithoutAnEventLeavesATrace(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: "connectors: {own: {verify: {kind: token, from: bearer}, items: 'list[*]', secret: the-word-of-ours-0123456789}}\n"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/own", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer the-word-of-ours-0123456789")
	req.Header.Set("Content-Type", "application/json")
	if status, body := h.do(req); status != http.StatusOK {
		t.Fatalf("answered %d %s", status, body)
	}
	if kept := rejectedRequests(t, h); len(kept) != 1 || kept[0].Status != http.StatusOK || kept[0].Stage != "body" || kept[0].Reason != "taken, but there is no event in it" {
		t.Errorf("kept: %+v", kept)
	}
}

func TestTheHooksListenerShowsNothingElse(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	for _, path := range []string{"/", "/v1/status", "/api/v1/status", "/metrics", "/debug/pprof/", "/hooks", "/hooks/", "/hooks/shopify/a/b"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := h.do(req); status != http.StatusNotFound {
			t.Errorf("GET %s is answered %d, want 404", path, status)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := h.do(req); status != http.StatusOK {
			t.Errorf("GET %s is answered %d, want 200", path, status)
		}
	}
}

func TestWhatIsTurnedAwayAndNotKeptIsCounted(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	const flood = 300
	for range flood {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/shopify", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := h.do(req); status != http.StatusUnauthorized {
			t.Fatalf("answered %d", status)
		}
	}
	if n := len(rejectedRequests(t, h)); n >= flood {
		t.Errorf("%d traces of one address were kept", n)
	}
	h.eventually("every refusal counted", func() bool {
		s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
		return err == nil && s.Counts["requests_rejected"] == flood
	})
	slow, feed := io.Pipe()
	defer feed.Close()
	req := h.signed("orders/create", "", []byte("x"))
	req.Body, req.ContentLength = slow, 980_000
	if status, _ := h.do(req); status != http.StatusRequestTimeout {
		t.Errorf("a body that does not come is answered %d", status)
	}
	s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil || len(s.Daemon.Turned) != 1 || s.Daemon.Turned[0].Count != 1 || s.Daemon.Turned[0].From != "127.0.0.1" {
		t.Errorf("turned away: %+v %v", s.Daemon.Turned, err)
	}
}
