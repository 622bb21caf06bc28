package app_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// requestConfig has the tests' own address for a proxy.
const requestConfig = plainConfig + `
server: {listen: "127.0.0.1:0", public_url: "https://hooks.example.com", trusted_proxies: [127.0.0.1/32]}
`

// postedBy posts a webhook that says X-Request-Id, and is the id that the answer says.
func (h *house) postedBy(req *http.Request, id string) string {
	h.t.Helper()
	if id != "" {
		req.Header.Set("X-Request-Id", id)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.Header.Get("X-Request-Id")
}

// lines are the messages of the log's lines about a request.
func lines(logs *observer.ObservedLogs, request string) (out []string) {
	for _, e := range logs.FilterField(zap.String("request", request)).All() {
		out = append(out, e.Message)
	}
	return out
}

// A webhook's request id is in the log lines of its decision, its send and its status change, and in what the
// commands show; also where the daemon was restarted in between.
func TestARequestIsFoundFromItsWebhookToItsStatus(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.DebugLevel)
	o := options{config: requestConfig, log: zap.New(core), folder: t.TempDir()}
	o.sandbox.Pace.Sent, o.sandbox.Pace.Delivered, o.sandbox.Pace.Read = time.Millisecond, time.Millisecond, -1
	h := open(t, o)
	id := h.postedBy(h.shopify("orders/create", "", order("c1", phone(1), "80.00")), "")
	if len(id) != 16 {
		t.Fatalf("the answer's id is %q", id)
	}
	h.eventually("delivered", func() bool {
		m := h.messages()
		return len(m) == 1 && m[0].Status == messaging.StatusDelivered
	})
	h.eventually("lines", func() bool { return strings.Contains(strings.Join(lines(logs, id), ","), "message delivered") })
	for _, want := range []string{"webhook taken", "decision planned", "message accepted", "message delivered"} {
		if !strings.Contains(strings.Join(lines(logs, id), ","), want) {
			t.Errorf("no line %q about the request, but %q", want, lines(logs, id))
		}
	}
	for _, entry := range logs.FilterMessage("message delivered").All() {
		if fields := entry.ContextMap(); fields["before"] == "" || fields["before"] == "delivered" || fields["status"] != nil {
			t.Errorf("the line about the delivery says %v", fields)
		}
	}

	// One that waits over a restart.
	proxys := h.postedBy(h.shopify("checkouts/update", "", cart("c2", phone(2), "80.00")), "7f3a.from-the_proxy")
	if proxys != "7f3a.from-the_proxy" {
		t.Fatalf("the proxy's id became %q", proxys)
	}
	h.stop()
	h = open(t, o)
	waiting := h.messages()[0]
	if waiting.State != messaging.StateWaiting {
		t.Fatalf("the cart's message is %s", waiting.State)
	}
	shown, err := server.ShowMessage.Call(t.Context(), h.ask, strconv.FormatInt(int64(waiting.ID), 10))
	if err != nil || shown.Request != proxys {
		t.Errorf("messages show tells of request %q, %v", shown.Request, err)
	}
	story, err := server.ShowEvent.Call(t.Context(), h.ask, waiting.EventID)
	if err != nil || story.Event.Request != proxys {
		t.Errorf("events show tells of request %q, %v", story.Event.Request, err)
	}
	why, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(2), Limit: 10})
	if err != nil || len(why) != 1 || why[0].Event.Request != proxys {
		t.Errorf("why tells %+v, %v", why, err)
	}
}

// What is rejected has an id, too; a strange id is not taken up, and neither is one from who is no proxy.
func TestARequestsIDIsOursUnlessAProxyGaveACleanOne(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	h := open(t, options{config: requestConfig, log: zap.New(core)})
	for _, bad := range []string{"447700900123", "a\tb", "x y", strings.Repeat("a", 65), "a\u202e", `"a"`} {
		req := h.shopify("orders/create", "", order("c1", phone(1), "80.00"))
		req.Header.Set("X-Shopify-Hmac-Sha256", "forged")
		got := h.postedBy(req, bad)
		if got == bad || len(got) != 16 {
			t.Errorf("the id %q became %q", bad, got)
		}
		h.eventually("the line", func() bool { return strings.Join(lines(logs, got), ",") == "webhook rejected" })
	}
	stranger := open(t, options{})
	if got := stranger.postedBy(stranger.shopify("orders/create", "", order("c1", phone(1), "80.00")), "from-a-stranger"); got == "from-a-stranger" {
		t.Error("a stranger chose the id")
	}
}

// A webhook that comes again has an id of its own; its event keeps the one that brought it.
func TestARepetitionKeepsTheFirstRequestsID(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	first := h.postedBy(h.shopify("checkouts/update", "w1", cart("c1", phone(1), "80.00")), "")
	again := h.postedBy(h.shopify("checkouts/update", "w1", cart("c1", phone(1), "80.00")), "")
	if first == again || again == "" {
		t.Fatalf("ids %q and %q", first, again)
	}
	story, err := server.ShowEvent.Call(t.Context(), h.ask, 1)
	if err != nil || story.Event.Request != first {
		t.Errorf("the event tells of request %q, %v; want %q", story.Event.Request, err, first)
	}
}

// The event keeps its request while it waits for a look-up.
func TestALookUpKeepsTheRequest(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.DebugLevel)
	h := open(t, options{config: crmConfig(newCRM(t, contact).URL, withToken), log: zap.New(core)})
	id := h.postedBy(h.created(10011), "")
	h.eventually("all lines", func() bool {
		all := strings.Join(lines(logs, id), ",")
		return strings.Contains(all, "decision planned") && strings.Contains(all, "message accepted")
	})
	if story, err := server.ShowEvent.Call(t.Context(), h.ask, 1); err != nil || story.Event.Request != id {
		t.Errorf("the event tells of request %q, %v; want %q", story.Event.Request, err, id)
	}
}

// What is forgotten has no request any more.
func TestForgettingTakesTheRequest(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.postedBy(h.shopify("orders/create", "", order("c1", phone(1), "80.00")), "")
	h.eventually("delivered", func() bool {
		m := h.messages()
		return len(m) == 1 && m[0].Status == messaging.StatusDelivered
	})
	if _, err := server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	h.eventually("forgotten", func() bool {
		story, err := server.ShowEvent.Call(t.Context(), h.ask, 1)
		return err == nil && story.Event.Request == ""
	})
}
