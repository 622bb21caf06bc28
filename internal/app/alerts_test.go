package app_test

import (
	"cmp"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A desk is where alerts arrive: a web server and a mail server.
type desk struct {
	url, mail string
	refuses   atomic.Bool // the web server does
	away      atomic.Bool // what takes webhooks out is

	mu      sync.Mutex
	told    []string // "begun key" and "over key", by the webhook
	hints   []string // of what begun, by the webhook: "key: hint"
	letters []string // subjects
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/crm" {
			if d.away.Load() {
				http.Error(w, "no", http.StatusServiceUnavailable)
			}
			return
		}
		var in struct {
			Test   bool
			Alerts []struct{ State, Code, Words, Hint string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Errorf("a webhook that is no JSON: %v", err)
		}
		if d.refuses.Load() {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, one := range in.Alerts {
			d.told = append(d.told, one.State+" "+one.Code)
			if one.State == "begun" {
				d.hints = append(d.hints, one.Code+": "+one.Hint)
			}
			if one.Words == "" || (one.State == "begun") != (one.Hint != "") {
				t.Errorf("told %+v", one)
			}
		}
	}))
	d.url = web.URL
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.mail = l.Addr().String()
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return d, nil }))
	s.Domain = "localhost"
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return d
}

func (d *desk) Mail(string, *smtp.MailOptions) error { return nil }
func (d *desk) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (d *desk) Reset()                               {}
func (d *desk) Logout() error                        { return nil }

func (d *desk) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, rest, _ := strings.Cut(string(text), "\r\nSubject: ")
	subject, _, _ := strings.Cut(rest, "\r\n")
	d.letters = append(d.letters, subject)
	return nil
}

func (d *desk) state() (told []string, letters int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.told), len(d.letters)
}

// section is the part of a config that has the desk told of something.
func (d *desk) section(when string) string {
	return fmt.Sprintf("\nalerts: [{when: [%s], webhook: %q, email: [ops@example.com], allow_private: true}]\nmail: {smtp: %q, from: n@example.com, tls: off, allow_private: true}\n", when, d.url, d.mail)
}

// quick is a pace for tests: what is told does not depend on it.
var quick = alerts.Pace{Every: 50 * time.Millisecond, Calm: 300 * time.Millisecond}

// A provocation makes a trouble, and ends it.
type provocation struct {
	code    messaging.TroubleCode
	config  string // "" is plainConfig
	before  func(t *testing.T, folder string)
	sandbox sandbox.Options
	calls   string // more of the section api
	make    func(s *scene)
	mend    func(s *scene)
}

// A scene is a house in trouble.
type scene struct {
	template string // of messages by hand; "" is other

	*house
	*desk
	ahead *atomic.Int64 // of the clock that webhooks and looks go by
	free  *atomic.Uint64
	ids   []messaging.MessageID
	run   messaging.RunID
	gate  *gate
}

func (s *scene) forward(d time.Duration) { s.ahead.Store(int64(d)) }

// hang has the service answer nothing of a kind, so that with oneCall what stands behind a call is late.
func (s *scene) hang(endpoint string) {
	s.service.SetFaults(sandbox.Faults{Latency: units.Duration(time.Hour), Endpoints: []string{endpoint}})
}

const oneCall = ", concurrency: 1"

// sends asks for n messages, which the service answers with a status, or as always for 0.
func (s *scene) sends(n, status int) {
	s.t.Helper()
	s.service.SetFaults(sandbox.Faults{})
	if status != 0 {
		s.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: status, Endpoints: []string{"send-template"}})
	}
	for range n {
		m, err := server.SendMessage.Call(s.t.Context(), s.ask, server.SendRequest{Phone: phone(len(s.ids)), Category: messaging.Utility, Send: messaging.Send{Template: cmp.Or(s.template, "other"), Language: "en"}})
		if err != nil {
			s.t.Fatal(err)
		}
		s.ids = append(s.ids, m.ID)
	}
}

// well has the service take what comes again.
func (s *scene) well() {
	s.t.Helper()
	s.sends(1, 0)
	if err := s.Reload(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) halt(scope messaging.HoldScope, name string) {
	s.t.Helper()
	if _, err := server.Halt.Call(s.t.Context(), s.ask, server.HaltRequest{Scope: scope, Name: name, Reason: "a test"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) resume(scope messaging.HoldScope, name string) {
	s.t.Helper()
	if _, err := server.Resume.Call(s.t.Context(), s.ask, server.HaltRequest{Scope: scope, Name: name}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) review() {
	s.t.Helper()
	if _, err := server.Resume.Call(s.t.Context(), s.ask, server.HaltRequest{Reviewed: true}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) cart() { s.mustTake(s.shopify("checkouts/update", "", cart("c1", phone(1), "60.00"))) }

// posts has a connector that takes a bearer token take n webhooks, each body with its number.
func (s *scene) posts(connector string, n int, body string) {
	s.t.Helper()
	for i := range n {
		if status, answer := s.hook(connector, fmt.Sprintf(body, i)); status != http.StatusOK {
			s.t.Fatalf("a webhook to %s: %d %s", connector, status, answer)
		}
	}
}

// seen is a person's word on what came to nothing.
func (s *scene) seen() {
	s.t.Helper()
	if _, err := server.EndUnused.Call(s.t.Context(), s.ask, server.UnusedRequest{Connector: ""}); err != nil {
		s.t.Fatal(err)
	}
}

// Each alert comes once to a web server and to a mail server, and ends once.
func TestEachAlertComesOnceAndEnds(t *testing.T) {
	listed := func(more string) string { return "LIST" + more }
	forget := "\nerrors: [{match: '/./', class: %s}]\n"
	unheard := strings.Replace(plainConfig, "secret: \"${SHOP_SECRET}\",", "secret: \"${SHOP_SECRET}\", silent_after: 24h,", 1)
	failing := func(status int) func(*scene) { return func(s *scene) { s.sends(5, status) } }
	mended := (*scene).well
	later := func(s *scene) { s.forward(25 * time.Hour) }
	all := []provocation{
		{code: "halt", make: func(s *scene) { s.halt(messaging.ScopeAll, "") }, mend: func(s *scene) { s.resume(messaging.ScopeAll, "") }},
		{code: "review", before: func(t *testing.T, folder string) {
			if err := os.WriteFile(filepath.Join(folder, "nudgewire.db.damaged"), []byte(`{"commits":3,"until":"2026-11-22T10:02:00Z"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}, make: func(*scene) {}, mend: func(s *scene) { s.review() }},
		{code: "data", make: func(s *scene) {
			if err := os.Rename(s.folder+"/nudgewire.db", s.folder+"/aside"); err != nil {
				s.t.Fatal(err)
			}
		}, mend: func(s *scene) {
			if err := os.Rename(s.folder+"/aside", s.folder+"/nudgewire.db"); err != nil {
				s.t.Fatal(err)
			}
		}},
		{code: "key", make: failing(401), mend: mended},
		{code: "points", make: failing(402), mend: mended},
		{code: "address", make: failing(404), mend: mended},
		{code: "budget", calls: ", price: {marketing: 1, utility: 1, authentication: 1}", config: plainConfig + "\nbudget: {day: 5}\n", make: func(s *scene) {
			s.sends(4, 0)
		}, mend: func(s *scene) {
			s.edit("{day: 5}", "{day: 50}")
			s.reload()
		}},
		{code: "outage", make: failing(500), mend: mended},
		{code: "rejections", make: func(s *scene) {
			for i := range 5 { // of different templates
				s.template = fmt.Sprint("other ", i)
				s.sends(1, 422)
			}
			s.template = ""
		}, mend: mended},
		{code: "paused", make: func(s *scene) {
			s.cart()
			s.edit(sends, stops["off"])
			s.reload()
		}, mend: func(s *scene) {
			s.edit(stops["off"], sends)
			s.reload()
		}},
		{code: "template", config: plainConfig + fmt.Sprintf(forget, "template"), make: failing(422), mend: func(s *scene) {
			s.service.SetFaults(sandbox.Faults{})
			s.resume(messaging.ScopeTemplate, "other")
		}},
		{code: "approval", config: listed(byCSV + "    guard: {approve_over: 1}\n"), make: func(s *scene) { s.run = s.fire("winback").ID }, mend: func(s *scene) { s.house.order(s.run, "cancel") }},
		{code: "overdue", calls: oneCall, make: func(s *scene) {
			s.hang("send-template")
			for i := range 9 {
				s.mustTake(s.shopify("checkouts/update", "", cart(fmt.Sprint("c", i), phone(i), "60.00")))
			}
			s.forward(3 * time.Hour)
		}, mend: func(s *scene) { s.forward(0) }},
		{code: "disk", make: func(s *scene) { s.free.Store(1e8) }, mend: func(s *scene) { s.free.Store(50e9) }},
		{code: "config", make: func(s *scene) {
			s.edit("wait: 1h", "weit: 1h")
			app.LookAtConfigFile(s.App)
		}, mend: func(s *scene) {
			s.edit("weit: 1h", "wait: 1h")
			app.LookAtConfigFile(s.App)
		}},
		{
			code: "polls", sandbox: sandbox.Options{Pace: sandbox.Pace{Sent: time.Hour, Delivered: time.Hour, Read: -1}},
			calls: oneCall, mend: func(s *scene) { s.forward(0) }, make: func(s *scene) {
				s.sends(40, 0)
				s.hang("message-status")
				s.forward(3 * time.Hour)
			},
		},
		{code: "in_doubt", make: func(s *scene) { s.sends(1, 500) }, mend: func(s *scene) {
			if _, err := server.ResolveMessage.Call(s.t.Context(), s.ask, server.ResolveRequest{ID: s.ids[0], As: messaging.ResolveAccepted, Reason: "seen"}); err != nil {
				s.t.Fatal(err)
			}
		}},
		{code: "files_in_doubt", config: listed(byCSV), make: func(s *scene) {
			s.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: 500})
			s.run = s.fire("winback").ID
		}, mend: func(s *scene) {
			if _, err := server.ResolvePart.Call(s.t.Context(), s.ask, server.PartWord{Run: s.run, Part: 1, As: messaging.ResolveAccepted}); err != nil {
				s.t.Fatal(err)
			}
		}},
		{code: "failed_rate", config: plainConfig + fmt.Sprintf(forget, "permanent"), make: func(s *scene) {
			app.NoteTotals(s.App, time.Now().Add(time.Second))
			s.sends(25, 422)
			s.eventually("they are rejected", func() bool { return s.status().Counts["messages_rejected"] == 25 })
			app.NoteTotals(s.App, time.Now().Add(2*time.Second))
		}, mend: func(s *scene) {
			app.NoteTotals(s.App, time.Now().Add(time.Hour))
			app.NoteTotals(s.App, time.Now().Add(2*time.Hour))
		}},
		{code: "failing", config: listed(perMessage) + fmt.Sprintf(forget, "permanent"), make: func(s *scene) {
			s.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: 422, Endpoints: []string{"send-template"}})
			s.run = s.fire("winback").ID
		}, mend: later},
		{code: "silent", config: unheard, make: func(s *scene) {
			s.cart()
			s.forward(26 * time.Hour)
			app.LookForSilence(s.App)
		}, mend: func(s *scene) { s.forward(0); app.LookForSilence(s.App) }},
		{code: "turned_away", make: func(s *scene) {
			slow, feed := io.Pipe()
			defer feed.Close()
			req := s.signed("orders/create", "", []byte("x"))
			req.Body, req.ContentLength = slow, 900_000 // that do not come
			if status, _ := s.do(req); status != http.StatusRequestTimeout {
				s.t.Errorf("answered %d", status)
			}
		}, mend: func(s *scene) { s.forward(2 * time.Hour) }},
		{code: "unknown_errors", make: func(s *scene) { s.sends(1, 422) }, mend: later},
		{code: "rejected", make: func(s *scene) { s.sends(1, 422) }, mend: later},
		{code: "backup", config: plainConfig + "\nbackup: {to: backups}\n", make: func(s *scene) {
			s.eventually("there is a backup", func() bool { return s.status().Backup != nil })
			s.forward(26 * time.Hour)
		}, mend: func(s *scene) { s.forward(0) }},
		{code: "data_request", make: func(s *scene) {
			s.mustTake(s.law("customers/data_request", map[string]any{"id": 191167, "email": "ada@example.com", "phone": phone(1)}))
		}, mend: func(s *scene) { s.answerRequests() }},
		{
			code: "certificate", config: plainConfig + tlsServer,
			before: func(t *testing.T, folder string) {
				t.Helper()
				doorPair(t, folder, "one", 1, time.Now().AddDate(0, 0, 60), x509.NewCertPool())
			},
			make: func(s *scene) { s.forward(59 * 24 * time.Hour) }, mend: func(s *scene) { s.forward(0) },
		},
		{
			code: "webhooks_out", config: plainConfig + "\nwebhooks_out: [{name: crm, url: DESK/crm, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, on: [message.*], allow_private: true}]\n",
			make: func(s *scene) {
				s.away.Store(true)
				s.sends(1, 0)
				s.eventually("the receiver fails", func() bool {
					all := s.status().WebhooksOut
					return len(all) == 1 && !all[0].FailingSince.IsZero()
				})
				s.forward(time.Hour)
			},
			mend: func(s *scene) { s.away.Store(false) },
		},
		{code: "forgetting", make: func(s *scene) {
			s.gate = s.gated() // what is being sent ends first
			if _, err := server.SendMessage.Call(s.t.Context(), s.ask, server.SendRequest{Phone: phone(1), Category: messaging.Utility, Send: messaging.Send{Template: cmp.Or(s.template, "other"), Language: "en"}}); err != nil {
				s.t.Fatal(err)
			}
			s.eventually("it is on its way", func() bool { return s.status().Sending == 1 })
			if _, err := server.ForgetContacts.Call(s.t.Context(), s.ask, server.ForgetRequest{Phones: []string{phone(1)}}); err != nil {
				s.t.Fatal(err)
			}
			s.forward(25 * time.Hour)
		}, mend: func(s *scene) { s.gate.open() }},
		{code: "redaction", make: func(s *scene) {
			s.cart()
			s.mustTake(s.law("shop/redact", nil))
		}, mend: func(s *scene) {
			if _, err := server.RefuseRedaction.Call(s.t.Context(), s.ask, "shopify"); err != nil {
				s.t.Fatal(err)
			}
		}},
		{code: "audit", make: func(s *scene) {
			db, err := sql.Open("sqlite3", "file:"+s.folder+"/nudgewire.db?_busy_timeout=30000") // as another program would write
			if err != nil {
				s.t.Fatal(err)
			}
			defer db.Close()
			s.eventually("the end of the audit is cut off", func() bool {
				cut, err := db.ExecContext(s.t.Context(), "DELETE FROM audit WHERE id = (SELECT max(id) FROM audit)")
				if err != nil {
					return false // the daemon writes
				}
				n, err := cut.RowsAffected()
				return err == nil && n == 1
			})
		}, mend: func(s *scene) {
			if _, err := server.AcceptAudit.Call(s.t.Context(), s.ask, server.None{}); err != nil {
				s.t.Fatal(err)
			}
		}},
		{code: "opt_out_missed", config: unusedConfig, make: func(s *scene) {
			s.posts("chat", 1, `{"messages":[{"id":"m%d","from":"somebody","text":"STOP"}]}`)
		}, mend: (*scene).seen},
		{code: "unknown_kind", config: unusedConfig, make: func(s *scene) {
			s.posts("generic", 10, `{"event_id":"u%d","phone":"+447700900123"}`)
		}, mend: (*scene).seen},
		{code: "no_phone", config: unusedConfig, make: func(s *scene) {
			s.posts("generic", 10, `{"event":"order.created","event_id":"o%d"}`)
		}, mend: func(s *scene) {
			s.posts("generic", 1, `{"event":"order.created","event_id":"p%d","phone":"+447700900123"}`)
		}},
		{code: "unknown_topic", make: func(s *scene) {
			for i := range 10 {
				s.mustTake(s.shopify("app/made_up", fmt.Sprint("w", i), map[string]any{"id": i}))
			}
		}, mend: func(s *scene) {
			s.takeUp(`shopify: {secret: "${SHOP_SECRET}",`, `shopify: {secret: "${SHOP_SECRET}", kinds: [app.made.up],`)
		}},
		{code: "drift", config: driftConfig, make: func(s *scene) {
			s.posts("crm", 20, posted("phone"))
			s.posts("crm", 10, posted("mobile"))
		}, mend: func(s *scene) { s.posts("crm", 1, strings.Replace(posted("phone"), "%d", "again%d", 1)) }},
		{code: "repeated_id", config: unusedConfig, make: func(s *scene) {
			for _, total := range []string{"5.00", "6.00"} {
				s.posts("generic", 10, `{"event":"order.created","event_id":"o%d","phone":"+447700900123","total":"`+total+`"}`)
			}
		}, mend: later},
		{code: "unverified", make: func(s *scene) {
			s.mustTake(s.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
			for i := range 10 {
				req := s.shopify("checkouts/update", "", cart("c"+fmt.Sprint(10+i), phone(2), "60.00"))
				req.Header.Set("X-Shopify-Hmac-Sha256", "bm90IGl0cyBzaWduYXR1cmU=")
				if status, body := s.do(req); status != http.StatusUnauthorized {
					s.t.Fatal(status, body)
				}
			}
		}, mend: func(s *scene) {
			s.mustTake(s.shopify("checkouts/update", "", cart("c2", phone(3), "60.00")))
		}},
		{code: "no_event", config: unusedConfig, make: func(s *scene) {
			s.posts("chat", 10, `{"statuses":[{"id":"s%d"}]}`)
		}, mend: func(s *scene) {
			s.posts("chat", 1, `{"messages":[{"id":"m%d","from":"+447700900123","text":"hello"}]}`)
		}},
	}
	codes := map[messaging.TroubleCode]bool{messaging.TroubleUntracked: true, messaging.TroubleReceiver: true, messaging.TroubleNodes: true, messaging.TroubleClock: true, messaging.TroubleReader: true} // the first is none, the others have tests of their own
	for _, p := range all {
		codes[p.code] = true
		t.Run(string(p.code), func(t *testing.T) {
			t.Parallel()
			p.play(t)
		})
	}
	for _, code := range messaging.TroubleCodes {
		if !codes[code] {
			t.Errorf("nobody provokes %s", code)
		}
	}
}

func (p *provocation) play(t *testing.T) {
	s := &scene{desk: newDesk(t), ahead: &atomic.Int64{}, free: &atomic.Uint64{}}
	s.free.Store(50e9)
	folder := t.TempDir()
	if p.before != nil {
		p.before(t, folder)
	}
	config := p.config
	if config == "" {
		config = plainConfig
	}
	if more, ok := strings.CutPrefix(config, "LIST"); ok {
		list(t, filepath.Join(folder, "list.csv"), 30)
		config = jobConfig(folder, more)
	}
	s.house = open(t, options{
		config: strings.ReplaceAll(config, "DESK", s.desk.url) + s.section(string(p.code)+" for 0s"), folder: folder, alerts: quick, sandbox: p.sandbox, calls: p.calls,
		now:   func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
		space: func(string) (uint64, uint64, error) { return s.free.Load(), 100e9, nil },
	})
	wants := func(what string, want ...string) {
		t.Helper()
		s.eventually(what, func() bool {
			told, letters := s.desk.state()
			return len(told) >= len(want) && letters >= len(want)
		})
		told, letters := s.desk.state()
		if !slices.Equal(told, want) || letters != len(want) {
			t.Errorf("%s: told %q, and %d letters", what, told, letters)
		}
	}
	p.make(s)
	wants("it begins", "begun "+string(p.code))
	p.mend(s)
	wants("it ends", "begun "+string(p.code), "over "+string(p.code))
}

// answerRequests says that the open requests for data were answered.
func (s *scene) answerRequests() {
	s.t.Helper()
	open, err := server.ListDataRequests.Call(s.t.Context(), s.ask, server.None{})
	if err != nil || len(open) == 0 {
		s.t.Fatal(open, err)
	}
	for _, one := range open {
		if _, err := server.CloseDataRequest.Call(s.t.Context(), s.ask, one.Event); err != nil {
			s.t.Fatal(err)
		}
	}
}

// A receiver that is down is told to the others, and to itself when it is back is nothing of that told. A restart and a reload tell
// nothing again.
func TestAReceiverThatCannotBeReachedIsToldToTheOthers(t *testing.T) {
	t.Parallel()
	one, two := newDesk(t), newDesk(t)
	config := plainConfig + fmt.Sprintf("\nalerts:\n  - {name: one, when: all, webhook: %q, allow_private: true}\n  - {name: two, when: all, webhook: %q, allow_private: true}\n", one.url, two.url)
	folder := t.TempDir()
	h := open(t, options{config: config, folder: folder, alerts: quick})
	two.refuses.Store(true)
	tested, err := server.TestAlerts.Call(t.Context(), h.ask, server.TestRequest{Name: ""})
	if err != nil || len(tested) != 2 || tested[0] != (alerts.Tested{Name: "one"}) || tested[1] != (alerts.Tested{Name: "two", Error: "it answers 503: no"}) {
		t.Errorf("%+v, %v", tested, err)
	}
	wants := func(d *desk, want ...string) {
		t.Helper()
		h.eventually(fmt.Sprint("it is told ", want), func() bool { told, _ := d.state(); return len(told) >= len(want) })
		if told, _ := d.state(); !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	}
	wants(one, "begun receiver")
	if _, err := server.TestAlerts.Call(t.Context(), h.ask, server.TestRequest{Name: "tow"}); err == nil || !strings.Contains(err.Error(), `no receiver of alerts is called "tow"`) {
		t.Errorf("%v", err)
	}
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	wants(one, "begun receiver", "begun halt")
	if v, err := server.ShowAlerts.Call(t.Context(), h.ask, server.None{}); err != nil || len(v.Alerts) != 3 || v.Receivers[1].Waiting != 1 || v.Receivers[1].FailingSince.IsZero() {
		t.Errorf("%+v, %v", v, err)
	}
	h.reload()
	h.stop()
	two.refuses.Store(false)
	h = open(t, options{config: config, folder: folder, alerts: quick})
	wants(two, "begun halt")
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	wants(two, "begun halt", "over halt")
	h.eventually("one hears of both ends", func() bool { told, _ := one.state(); return len(told) == 4 })
	told, _ := one.state()
	slices.Sort(told)
	if !slices.Equal(told, []string{"begun halt", "begun receiver", "over halt", "over receiver"}) {
		t.Errorf("told %q", told)
	}
}
