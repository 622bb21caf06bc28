package browser

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

//go:embed shop.yaml
var shopConfig string

const shopSecret, apiKey = "a-secret-of-the-shop", "a-key-of-the-service"

// A shop is a daemon with everything that pages show: what was sent and what was not, each for another reason.
type shop struct {
	t       *testing.T
	app     *app.App
	ask     *server.Client
	service *sandbox.Sandbox
	Facts   facts
}

// facts are what the walk is told of the shop: where it is, and the numbers in its addresses.
type facts struct {
	Base   string         `json:"base"`
	Hooks  string         `json:"hooks"`
	Secret string         `json:"secret"`
	Admin  string         `json:"admin"`  // a link that signs in with all rights
	Viewer string         `json:"viewer"` // one that shows no whole phone
	Event  map[string]int `json:"event"`  // by what it is for
	Msg    map[string]int `json:"message"`
	Run    map[string]int `json:"run"`
	Config string         `json:"config"` // path of the config file
	Setup  firstRun       `json:"setup"`
}

// night is quiet hours that it is within now, on the clock of the shop's customers.
func night(now time.Time) string {
	return fmt.Sprintf("%02d:00-%02d:00", (now.Hour()+22)%24, (now.Hour()+4)%24)
}

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, Facts: facts{Event: map[string]int{}, Msg: map[string]int{}, Run: map[string]int{}}}
	s.service = sandbox.New(sandbox.Options{
		Keys: []string{apiKey}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1, ID: 1043}}, Campaigns: []string{"*"}, Points: -1,
		Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
	})
	api := httptest.NewServer(s.service.Handler())
	t.Cleanup(func() { s.service.Close(); api.Close() })
	folder := t.TempDir()
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	config := "api: {base_url: " + api.URL + "/api/v1, key: \"${API_KEY}\"}\nstorage: sqlite:" + folder + "/nudgewire.db\n" + shopConfig
	for name, text := range map[string]string{"config.yaml": config, "customers.csv": customers(), "birthdays.csv": "first_name,mobile\nIris,+447700900501\nJo,+447700900502\nNobody,12\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"API_KEY": apiKey, "SHOP_SECRET": shopSecret, "NIGHT": night(time.Now().In(london))}
	s.app, err = app.New(t.Context(), app.Options{
		ConfigFile: filepath.Join(folder, "config.yaml"), Version: "test", Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	s.Facts.Config = filepath.Join(folder, "config.yaml")
	s.ask = server.Dial(app.SocketPath("sqlite:" + folder + "/nudgewire.db"))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- s.app.Run(ctx) }()
	t.Cleanup(func() {
		s.ask.Close()
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	s.Facts.Base, s.Facts.Hooks, s.Facts.Secret = "http://"+s.app.ConsoleAddr().String(), "http://"+s.app.Addr().String()+"/hooks/shop", shopSecret
	s.live()
	return s
}

// customers are a list as shops have them: some twice, some with a phone that a spreadsheet has shortened.
func customers() string {
	var out strings.Builder
	out.WriteString("first_name,mobile\n")
	for i := range 120 {
		phone := fmt.Sprintf("+44 7700 93%04d", 1000+i)
		switch i % 40 {
		case 13:
			phone = "4.47700E+11"
		case 27:
			phone = fmt.Sprintf("07700 93%04d", 1000+i-1)
		}
		fmt.Fprintf(&out, "%s,%s\n", []string{"Ada", "Ben", "Chloe", ""}[i%4], phone)
	}
	return out.String()
}

// An act is one thing that happens, and the name by which the walk knows its event and its newest message.
type act struct {
	name, event, phone, first string
	more                      map[string]any
}

// post posts a webhook as the shop does, and gives the status of the answer.
func (s *shop) post(a act, secret string) int {
	s.t.Helper()
	body := map[string]any{"event": a.event, "event_id": "e-" + a.name, "phone": a.phone, "first_name": a.first, "occurred_at": time.Now().UTC()}
	for k, v := range a.more {
		body[k] = v
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // as most senders write
	if err := e.Encode(body); err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.Facts.Hooks, &text)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode
}

// asksToForget has a shop of Shopify's send a checkout, and ask that all of it is forgotten.
func (s *shop) asksToForget(connector string) {
	s.t.Helper()
	for _, one := range [][2]string{
		{"checkouts/update", `{"id":7001,"token":"t","phone":"+447700900140","total_price":"30.00","currency":"GBP"}`},
		{"shop/redact", `{"shop_id":954889,"shop_domain":"old.example"}`},
	} {
		topic, body := one[0], one[1]
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, strings.TrimSuffix(s.Facts.Hooks, "shop")+connector, strings.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + shopSecret},
			"X-Shopify-Topic": {topic}, "X-Shopify-Webhook-Id": {topic + connector}, "X-Shopify-Shop-Domain": {"old.example"},
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			s.t.Fatalf("%s of %s: %d, %v", topic, connector, res.StatusCode, err)
		}
	}
}

// play does what happens, one after the other, each to its end: so numbers are the same every time.
func (s *shop) play(acts ...act) {
	s.t.Helper()
	for _, a := range acts {
		if status := s.post(a, shopSecret); status != http.StatusOK {
			s.t.Fatalf("%s: answered %d", a.name, status)
		}
		s.eventually(a.name+" has settled", func() bool {
			events, err := server.ListEvents.Call(s.t.Context(), s.ask, server.ListQuery{Limit: 1})
			if err != nil || len(events) != 1 {
				return false
			}
			s.Facts.Event[a.name] = int(events[0].ID)
			messages, err := server.ListMessages.Call(s.t.Context(), s.ask, server.ListQuery{Event: events[0].ID})
			for _, m := range messages {
				if s.Facts.Msg[a.name] == 0 {
					s.Facts.Msg[a.name] = int(m.ID)
				}
				s.Facts.Msg[a.name] = min(s.Facts.Msg[a.name], int(m.ID))
			}
			return err == nil && !slices.ContainsFunc(messages, func(m server.MessageView) bool { return onItsWay(&m) })
		})
	}
}

// onItsWay says that a message will be another one in a moment.
func onItsWay(m *server.MessageView) bool {
	switch m.State {
	case messaging.StateSending:
		return true
	case messaging.StateAccepted:
		return !m.NextPollAt.IsZero()
	case messaging.StateWaiting:
		return m.DueAt.Before(time.Now()) && m.Held == ""
	default:
		return false
	}
}

// live makes the shop's days.
func (s *shop) live() {
	s.t.Helper()
	for _, connector := range []string{"old-shop", "sold-shop"} {
		s.asksToForget(connector)
	}
	cart := func(name, phone, first, total string, more ...any) act {
		m := map[string]any{"cart_id": "c-" + name, "cart_total": total, "cart_url": "https://hillside-outdoor.example/cart/" + name, "currency": "GBP", "tags": []string{}}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return act{name, "cart.abandoned", phone, first, m}
	}
	order := func(name, phone, first, total string) act {
		return act{name, "order.created", phone, first, map[string]any{"order_id": "o-" + name, "order_number": "#1001", "total": total, "currency": "GBP", "cart_id": "c-cancelled"}}
	}
	s.play(
		cart("waiting", "+447700900101", "Ada", "129.00"),
		cart("skipped", "+447700900102", "Ben", "12.00"),
		cart("cancelled", "+447700900103", "Chloe", "249.00"),
		order("delivered", "+447700900103", "Chloe", "249.00"),
		cart("wholesale", "+447700900106", "Dev", "89.50", "tags", []string{"wholesale", "north"}),
		order("failed", "+447700910000", "Farid", "34.90"),
		order("rejected", "+447700900004", "Gwen", "75.00"),
		cart("strange", "+447700900107", `<script>alert("Grace")</script>{{ order.total }}`, "60.00"),
		act{"welcome", "contact.created", "+447700900108", "Hugo", nil},
		act{"limited", "contact.created", "+447700900108", "Hugo", nil},
		act{"night", "stock.back", "+447700900109", "Ida", nil},
		act{"shadow", "order.shipped", "+447700900101", "Ada", nil},
		cart("stopped", "+447700900110", "Jonas", "89.50"),
		act{"stop", "message.received", "+447700900110", "Jonas", map[string]any{"text": "STOP"}},
	)
	// What actions are done to, each to its own.
	s.play(
		cart("to-cancel", "+447700900120", "Lena", "61.00"),
		cart("to-cancel-all", "+447700900121", "Max", "62.00"),
		act{"to-cancel-all-too", "stock.back", "+447700900121", "Max", nil},
		cart("to-forget", "+447700900122", "Nia", "63.00"),
		order("to-retry", "+447700920000", "Oda", "20.00"),
		order("to-retry-all", "+447700930000", "Pia", "21.00"),
		order("to-retry-all-too", "+447700930000", "Pia", "22.00"),
	)
	s.service.SetFaults(sandbox.Faults{CutAfter: 1, Endpoints: []string{"send-template", "create-with-csv"}})
	s.play(
		order("doubt", "+447700900111", "Kaya", "45.00"),
		order("to-resolve-all", "+447700900123", "Quinn", "23.00"),
		order("to-resolve-all-too", "+447700900123", "Quinn", "24.00"),
	)
	s.Facts.Run["doubt"] = s.run("club-news", messaging.RunPartial)
	s.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusUnprocessableEntity, Endpoints: []string{"create-with-csv"}})
	s.Facts.Run["failed"] = s.run("flash-news", messaging.RunFailed)
	s.service.SetFaults(sandbox.Faults{})
	if status := s.post(cart("forged", "+447700900199", "Mallory", "500.00"), "a guess"); status != http.StatusUnauthorized {
		s.t.Fatalf("a forged webhook is answered %d", status)
	}
	for _, job := range []string{"spring-news", "birthday"} {
		s.Facts.Run[job] = s.run(job, messaging.RunDone, messaging.RunPartial)
	}
	s.Facts.Run["approve"] = s.run("spring-news", messaging.RunAwaiting)
	s.Facts.Run["pause"] = s.run("winter-news", messaging.RunAwaiting)
	s.Facts.Run["later"] = s.run("autumn-news", messaging.RunAwaiting)
	for name, role := range map[string]access.Role{"ann": access.RoleOperator, "bob": access.RoleViewer} {
		if _, err := server.AddUser.Call(s.t.Context(), s.ask, signin.UserRequest{Name: name, Role: role}); err != nil {
			s.t.Fatalf("add %s: %v", name, err)
		}
	}
	if _, err := server.DisableUser.Call(s.t.Context(), s.ask, "ann"); err != nil {
		s.t.Fatalf("disable ann: %v", err)
	}
	for _, h := range []server.HaltRequest{{Scope: messaging.ScopeTrigger, Name: "vip", Reason: "the offer is being rewritten"}} {
		if _, err := server.Halt.Call(s.t.Context(), s.ask, h); err != nil {
			s.t.Fatal(err)
		}
	}
	s.play(act{"halted", "vip", "+447700900112", "Liam", nil})
}

// run runs a job until it is in one of the states, and gives its number.
func (s *shop) run(job string, until ...messaging.RunState) int {
	s.t.Helper()
	r, err := server.RunJob.Call(s.t.Context(), s.ask, server.JobOrder{Job: job})
	if err != nil {
		s.t.Fatalf("run %s: %v", job, err)
	}
	s.eventually(job+" has run", func() bool {
		now, err := server.ShowRun.Call(s.t.Context(), s.ask, r.ID)
		return err == nil && slices.Contains(until, now.State)
	})
	return int(r.ID)
}

// links are made anew for each browser that signs in: each works once.
func (s *shop) links() {
	s.t.Helper()
	for to, r := range map[*string]signin.LinkRequest{&s.Facts.Admin: {}, &s.Facts.Viewer: {Masked: true}} {
		link, err := server.LinkToConsole.Call(s.t.Context(), s.ask, r)
		if err != nil {
			s.t.Fatalf("ask for a link: %v", err)
		}
		*to = link.URL
	}
}

// eventually waits until ok holds; the bound is for hangs only.
func (s *shop) eventually(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	s.t.Fatalf("did not happen: %s", what)
}
