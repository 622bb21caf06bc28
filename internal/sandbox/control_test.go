package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/units"
)

func TestControl(t *testing.T) {
	o := account()
	o.Pace = sandbox.Pace{Sent: time.Hour}
	s := serve(t, o)
	for range 2 {
		if _, err := s.client.SendTemplate(t.Context(), reminder(phone)); err != nil {
			t.Fatal(err)
		}
	}
	get := func(path string, v any) {
		t.Helper()
		status, body, _ := s.ask(t, http.MethodGet, path, "", "Authorization", "")
		if status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		if err := json.Unmarshal([]byte(body), v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	t.Run("stats", func(t *testing.T) {
		var got struct {
			sandbox.Stats
			ByPhone map[string]int `json:"accepted_by_phone"`
		}
		get("/_sandbox/stats", &got)
		if diff := cmp.Diff(map[string]int{phone: 2}, got.ByPhone); diff != "" || got.Duplicates != 1 || got.Messages != 2 || got.Endpoints["send-template"].OK != 2 {
			t.Errorf("stats %+v, by phone (-want +got):\n%s", got, diff)
		}
	})
	t.Run("messages of a phone", func(t *testing.T) {
		var got struct{ Messages []sandbox.Message }
		get("/_sandbox/messages?phone="+phone, &got)
		if len(got.Messages) != 2 || got.Messages[0].ID != "100001" || got.Messages[1].Status != "queued" {
			t.Errorf("messages %+v", got.Messages)
		}
		get("/_sandbox/messages?phone=447700900199", &got)
		if got.Messages == nil || len(got.Messages) != 0 {
			t.Errorf("messages of nobody %+v", got.Messages)
		}
	})
	t.Run("the newest messages", func(t *testing.T) {
		var got struct{ Messages []sandbox.Message }
		get("/_sandbox/messages?limit=1", &got)
		if len(got.Messages) != 1 || got.Messages[0].ID != "100002" {
			t.Errorf("messages %+v", got.Messages)
		}
	})
	t.Run("campaigns", func(t *testing.T) {
		var got struct{ Campaigns []sandbox.Campaign }
		get("/_sandbox/campaigns", &got)
		if diff := cmp.Diff([]sandbox.Campaign{{ID: "417", Predefined: true}}, got.Campaigns); diff != "" {
			t.Errorf("campaigns (-want +got):\n%s", diff)
		}
	})
	t.Run("faults", func(t *testing.T) {
		status, body, _ := s.ask(t, http.MethodPut, "/_sandbox/faults", `{"latency":"1ms","error_rate":1,"status":503,"retry_after":"3s"}`)
		if status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		want := sandbox.Faults{Latency: units.Duration(time.Millisecond), ErrorRate: 1, Status: 503, RetryAfter: units.Duration(3 * time.Second)}
		var got sandbox.Faults
		get("/_sandbox/faults", &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
		if _, err := s.client.SendTemplate(t.Context(), reminder(phone)); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("send: %v", err)
		}
	})
	t.Run("reset", func(t *testing.T) {
		if status, body, _ := s.ask(t, http.MethodPost, "/_sandbox/reset", "", "Authorization", ""); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		st := s.Stats()
		if st.Messages != 0 || st.Phones != 0 || st.Duplicates != 0 || len(st.Endpoints) != 0 || s.Faults().ErrorRate != 0 {
			t.Errorf("stats after reset %+v", st)
		}
		a, err := s.client.SendTemplate(t.Context(), reminder(phone))
		if err != nil || a.MessageID != "100003" {
			t.Errorf("message %q, error %v: ids must go on", a.MessageID, err)
		}
		if got := look(t, s.client, "100001"); got != "404" {
			t.Errorf("a forgotten message is %s", got)
		}
	})
}

func TestControlRefusals(t *testing.T) {
	s := serve(t, account())
	tests := map[string]struct {
		method, path, body string
		want               string
	}{
		"an unknown path":       {"GET", "/_sandbox/x", "", "404 no such control endpoint: there are GET and PUT faults, PUT points, GET stats, GET messages, GET campaigns, POST reset"},
		"the wrong method":      {"GET", "/_sandbox/reset", "", "404 no such control endpoint: there are GET and PUT faults, PUT points, GET stats, GET messages, GET campaigns, POST reset"},
		"an unknown fault":      {"PUT", "/_sandbox/faults", `{"errors":1}`, `400 faults: json: unknown field "errors"`},
		"a rate above one":      {"PUT", "/_sandbox/faults", `{"junk":1.5}`, "400 faults: junk 1.5 must be between 0 and 1"},
		"a duration of no unit": {"PUT", "/_sandbox/faults", `{"latency":"5"}`, `400 faults: "5" has no unit`},
		"a phone of letters":    {"GET", "/_sandbox/messages?phone=abc", "", "400 phone must be 7 to 15 digits"},
		"a limit of words":      {"GET", "/_sandbox/messages?limit=all", "", "400 limit must be a number from 1 to 10000"},
		"too much":              {"PUT", "/_sandbox/faults", strings.Repeat(" ", 70_000), "413 body is too large"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status, body, _ := s.ask(t, tt.method, tt.path, tt.body)
			var got struct{ Error string }
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, fmt.Sprintf("%d %s", status, got.Error)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoMayControl(t *testing.T) {
	s := sandbox.New(account())
	defer s.Close()
	tests := map[string]struct {
		from   string
		header map[string]string
		want   int
	}{
		"this machine":                 {"127.0.0.1:5000", nil, 200},
		"this machine by IPv6":         {"[::1]:5000", nil, 200},
		"another machine":              {"192.0.2.1:5000", nil, 401},
		"another machine with a key":   {"192.0.2.1:5000", map[string]string{"Authorization": "Bearer " + key}, 200},
		"a proxy on this machine":      {"127.0.0.1:5000", map[string]string{"X-Forwarded-For": "192.0.2.1"}, 401},
		"a page of another site":       {"127.0.0.1:5000", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"something without an address": {"", nil, 401},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_sandbox/reset", nil)
			r.RemoteAddr = tt.from
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d: %s", w.Code, tt.want, w.Body)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	c := newClock()
	var got []sandbox.Record
	o := account()
	o.Now, o.OnRequest = c.now, func(r sandbox.Record) { got = append(got, r) }
	s := serve(t, o)
	if _, err := s.client.SendTemplate(t.Context(), reminder("447700900000")); err != nil {
		t.Fatal(err)
	}
	c.move(time.Minute)
	look(t, s.client, "100001")
	if _, err := s.client.SendCampaign(t.Context(), phone, "nope"); err == nil {
		t.Fatal("an unknown campaign was taken")
	}
	at := c.now()
	want := []sandbox.Record{
		{At: at.Add(-time.Minute), Endpoint: "send-template", Phone: "447700900000", Kind: "template", Name: "cart_reminder", HTTPStatus: 200, MessageID: "100001", Messages: 1},
		{At: at, Endpoint: "message-status", Phone: "447700900000", HTTPStatus: 200, MessageID: "100001", Words: "recipient is not on the network"},
		{At: at, Endpoint: "send-campaign", Phone: phone, Kind: "campaign", Name: "nope", HTTPStatus: 400, Words: `campaign "nope" does not exist`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
