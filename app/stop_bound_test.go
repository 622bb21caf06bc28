package app_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/sandbox"
	"github.com/nudgewire/nudgewire/server"
)

// A daemon in which everything hangs at once ends by itself: a list, a receiver, a call to the service, a webhook that drips. What was
// answered is there afterwards.
func TestAStopMeetsWhatHangs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	hangs := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1); <-hangs }))
	t.Cleanup(func() { close(hangs); silent.Close() })
	o := options{folder: t.TempDir(), config: plainConfig + `
webhooks_out:
  - {name: crm, url: "` + silent.URL + `", secret: ` + crmSecret + `, on: [dispatch.waiting], allow_private: true}
jobs:
  winback:
    source: {http: {url: "` + silent.URL + `", allow_private: true}}
    columns: {phone: phone}
    campaign: {template_id: 1042}
`}
	h := open(t, o)
	h.service.SetFaults(sandbox.Faults{HangAfterAccept: 1})
	h.mustTake(h.shopify("orders/create", "o1", map[string]any{
		"id": "o1", "currency": "GBP", "total_price": "80.00", "phone": phone(1), "customer": map[string]any{"phone": phone(1), "first_name": "Ada"},
	}))
	if _, err := h.ask.RunJob(t.Context(), "winback", server.RunOrder{}); err != nil {
		t.Fatal(err)
	}
	h.eventually("the list, the receiver and the service hang", func() bool { return asked.Load() >= 2 && h.status().Sending == 1 })
	c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nX-Shopify-Hmac-Sha256: AAAA\r\nContent-Length: 90000\r\n\r\n"+strings.Repeat("x", 9000)); err != nil {
		t.Fatal(err)
	}
	h.stop() // fails when the daemon's end is no clean one; a test that hangs here is what this is about
	h.service.SetFaults(sandbox.Faults{})
	h = open(t, o)
	m := h.messages()
	if len(m) != 1 || m[0].State != nudgewire.StateInDoubt && m[0].State != nudgewire.StateAccepted {
		t.Errorf("messages: %+v", m)
	}
}

// A list that is a pipe ends its run at once, and its place is free for the next.
func TestAListThatIsAPipeKeepsNoPlace(t *testing.T) {
	t.Parallel()
	lists := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(lists, "list.csv"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, options{config: jobConfig(lists, byCSV)})
	for range 3 { // two lists are read at a time
		r := h.fire("winback")
		if v := h.ended(r.ID); v.State != nudgewire.RunFailed || !strings.Contains(v.Reason, "is no regular file") {
			t.Errorf("run %d is %s: %s", r.ID, v.State, v.Reason)
		}
	}
	began := time.Now()
	h.stop()
	t.Logf("the stop took %s", time.Since(began))
}
