package app_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A mute takes whatever comes and answers nothing until speaks: an HTTP server, and what only takes connections.
type mute struct {
	url, address string
	asked        atomic.Int64 // requests and connections that hang
	well         atomic.Bool
	hangs        chan struct{}
}

// newMute makes one that, once it is well, answers as then does.
func newMute(t *testing.T, then http.Handler) *mute {
	t.Helper()
	m := &mute{hangs: make(chan struct{})}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.well.Load() {
			then.ServeHTTP(w, r)
			return
		}
		m.asked.Add(1)
		<-m.hangs
	}))
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.url, m.address = web.URL, l.Addr().String()
	var taking sync.WaitGroup
	taking.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.asked.Add(1)
			taking.Go(func() { <-m.hangs; _ = c.Close() })
		}
	})
	t.Cleanup(func() {
		m.speaks()
		web.Close()
		_ = l.Close()
		taking.Wait()
	})
	return m
}

// speaks ends what hangs.
func (m *mute) speaks() {
	if m.well.CompareAndSwap(false, true) {
		close(m.hangs)
	}
}

// A daemon stops whatever it waits for: what hangs hangs until after its end, so a stop that waited for it would never end. What was answered
// is there at the next start, and nothing goes twice.
func TestAStopMeetsWhatHangs(t *testing.T) {
	t.Parallel()
	const source = "\njobs:\n  winback:\n    columns: {phone: phone}\n    campaign: {template_id: 1042}\n    source: "
	buys := func(h *house) {
		h.mustTake(h.shopify("orders/create", "o1", map[string]any{
			"id": "o1", "currency": "GBP", "total_price": "80.00", "phone": phone(1), "customer": map[string]any{"phone": phone(1), "first_name": "Ada"},
		}))
	}
	runs := func(h *house) {
		if _, err := server.RunJob.Call(h.t.Context(), h.ask, server.JobOrder{Job: "winback"}); err != nil {
			h.t.Fatal(err)
		}
	}
	thanked := func(h *house) { // once, by what happened before the stop
		h.eventually("the message is delivered", func() bool {
			m := h.messages()
			return len(m) == 1 && m[0].Status == messaging.StatusDelivered
		})
	}
	followed := func(h *house) { // asked again when the lease of the question ends, which a slow machine may have done by now
		m := h.messages()
		if len(m) != 1 || m[0].State != messaging.StateAccepted || m[0].NextPollAt.IsZero() && m[0].Status != messaging.StatusDelivered || h.service.Stats().Messages != 1 {
			h.t.Errorf("messages: %+v", m)
		}
	}
	doubtful := func(h *house) { // nobody knows whether it was taken, so nothing goes again
		if m := h.messages(); len(m) != 1 || m[0].State != messaging.StateInDoubt {
			h.t.Errorf("messages: %+v", m)
		}
	}
	begun := func(h *house) { // the run is there, and begins anew or says why not
		if v := h.run(1); v.State == messaging.RunDone || v.State == messaging.RunUploading {
			h.t.Errorf("the run is %s: %s", v.State, v.Reason)
		}
	}
	for name, tt := range map[string]struct {
		config string // after URL, the one that hangs, and ADDRESS
		api    string // the path of the service that hangs
		makes  func(*house)
		after  func(*house)
	}{
		"nothing":                          {plainConfig, "", func(*house) {}, func(*house) {}},
		"a call to the service":            {plainConfig, "/send-template", buys, doubtful},
		"a question of a message's status": {plainConfig, "/message-status/", buys, followed},
		"a look-up":                        {crmConfig("URL", withToken), "", func(h *house) { h.mustTake(h.created(10011)) }, thanked},
		"a list over HTTP": {plainConfig + source + "{http: {url: \"URL\", allow_private: true}}\n", "", runs, func(h *house) {
			if v := h.ended(1); v.State != messaging.RunDone || h.service.Stats().Messages != 2 {
				h.t.Errorf("the run is %s (%s), %d messages", v.State, v.Reason, h.service.Stats().Messages)
			}
		}},
		"a list from PostgreSQL": {plainConfig + source + "{postgres: \"postgres://u:p@ADDRESS/crm?sslmode=disable\", query: SELECT phone FROM people}\n", "", runs, begun},
		"a list from MySQL":      {plainConfig + source + "{mysql: \"u:p@tcp(ADDRESS)/crm\", query: SELECT phone FROM people}\n", "", runs, begun},
		"a list from SFTP":       {plainConfig + source + "{sftp: {host: ADDRESS, user: u, password: p, path: /list.csv, known_hosts: KNOWN, allow_private: true}}\n", "", runs, begun},
		"a list from S3":         {plainConfig + source + "{s3: {bucket: lists, key: list.csv, endpoint: \"URL\", allow_private: true}}\n", "", runs, begun},
		"a file on its way": {plainConfig + source + "{csv: LIST}\n", "/create-with-csv", runs, func(h *house) {
			if v := h.ended(1); len(v.Parts) != 1 || v.Parts[0].State != messaging.PartInDoubt || h.service.Stats().Uploads != 0 {
				h.t.Errorf("the run is %s: %s; %+v", v.State, v.Reason, v.Parts)
			}
		}},
		"a receiver of webhooks out": {plainConfig + "\nwebhooks_out: [{name: crm, url: \"URL\", secret: " + crmSecret + ", on: [message.waiting], allow_private: true}]\n", "", buys, thanked},
		"a receiver of alerts": {plainConfig + "\nalerts: [{when: [halt for 0s], webhook: \"URL\", allow_private: true}]\n", "", func(h *house) {
			buys(h)
			if _, err := server.Halt.Call(h.t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}); err != nil {
				h.t.Fatal(err)
			}
		}, thanked},
		"a mail server": {plainConfig + "\nalerts: [{when: [halt for 0s], email: [ops@example.com]}]\nmail: {smtp: \"ADDRESS\", from: n@example.com, tls: off, allow_private: true}\n", "", func(h *house) {
			buys(h)
			if _, err := server.Halt.Call(h.t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}); err != nil {
				h.t.Fatal(err)
			}
		}, thanked},
		"a collector of traces":        {plainConfig + "\ntracing: {endpoint: \"URL\"}\n", "", buys, thanked},
		"an authority of certificates": {plainConfig + "\nserver: {listen: \"127.0.0.1:0\", tls: {acme: {domains: [hooks.example.com], directory: \"URL\"}}}\n", "", func(*house) {}, func(*house) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMute(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/contacts/") {
					contact(0, w, r)
					return
				}
				fmt.Fprint(w, "phone\n"+phone(1)+"\n"+phone(2)+"\n")
			}))
			var sends atomic.Int64
			service := sandbox.New(sandbox.Options{
				Keys: []string{apiKey}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1, Header: "*"}}, Campaigns: []string{"*"},
				Pace: sandbox.Pace{Sent: 1, Delivered: 1, Read: -1},
			})
			t.Cleanup(service.Close)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.api != "" && strings.Contains(r.URL.Path, tt.api) && !m.well.Load() {
					if m.asked.Add(1); r.Method == http.MethodPost {
						sends.Add(1)
					}
					<-m.hangs
					return
				}
				service.Handler().ServeHTTP(w, r)
			}))
			t.Cleanup(api.Close)
			t.Cleanup(m.speaks) // before the others wait for their answers
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte("phone\n"+phone(1)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "known_hosts"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			o := options{
				folder: folder, alerts: quick, api: "{base_url: " + api.URL + "/api/v1, key: \"${API_KEY}\", rate: 5000/s, timeout: 5m}",
				config: strings.NewReplacer("URL", m.url, "ADDRESS", m.address, "LIST", filepath.Join(folder, "list.csv"), "KNOWN", filepath.Join(folder, "known_hosts")).Replace(tt.config),
			}
			h := open(t, o)
			h.service = service
			tt.makes(h)
			if name != "nothing" {
				h.eventually("it hangs", func() bool { return m.asked.Load() > 0 })
			}
			// A sender whose body never ends is on the line, too.
			c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, "POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nX-Shopify-Hmac-Sha256: AAAA\r\nContent-Length: 90000\r\n\r\n"+strings.Repeat("x", 9000)); err != nil {
				t.Fatal(err)
			}
			h.stop() // fails when its end is no clean one
			if m.well.Load() {
				t.Fatal("something ended before the stop did")
			}
			if n := sends.Load(); n > 1 {
				t.Errorf("%d calls of one message or file", n)
			}
			m.speaks()
			h = open(t, o)
			h.service = service
			tt.after(h)
			if stats := service.Stats(); stats.Duplicates != 0 {
				t.Errorf("%d went twice", stats.Duplicates)
			}
		})
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
		if v := h.ended(r.ID); v.State != messaging.RunFailed || !strings.Contains(v.Reason, "is no regular file") {
			t.Errorf("run %d is %s: %s", r.ID, v.State, v.Reason)
		}
	}
	began := time.Now()
	h.stop()
	t.Logf("the stop took %s", time.Since(began))
}
