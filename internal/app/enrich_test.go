package app_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A crm is HubSpot's API as far as look-ups meet it.
type crm struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // paths
	tokens []string
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

func newCRM(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *crm {
	t.Helper()
	c := &crm{answer: answer}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked = append(c.asked, r.URL.Path)
		c.tokens = append(c.tokens, r.Header.Get("Authorization"))
		n := len(c.asked)
		c.mu.Unlock()
		c.answer(n, w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *crm) times() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// contact answers with a contact whose phone ends in the number asked for.
func contact(_ int, w http.ResponseWriter, r *http.Request) {
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	fmt.Fprintf(w, `{"id":%q,"properties":{"firstname":"Noor","phone":"+4477009%05s"}}`, id, id)
}

// The connector asks the test's own CRM, which is at a loopback address.
func crmConfig(api, more string) string {
	return `
defaults: {country: GB, language: en}
connectors:
  hubspot: {secret: "${SHOP_SECRET}", api_url: "` + api + `"` + more + `}
triggers:
  welcome:
    on: hubspot.contact.created
    category: utility
    send: {template: welcome, variables: ['{{ customer.first_name | default: "there" }}']}
tracking: {poll: [1s]}
server: {listen: "127.0.0.1:0", public_url: "https://hooks.example.com"}
`
}

const withToken = `, token: "${API_KEY}", allow_private: true`

// created is HubSpot's word that a contact was created: no name, no phone.
func (h *house) created(id int) *http.Request {
	h.t.Helper()
	body := fmt.Appendf(nil, `[{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":%d,"subscriptionType":"contact.creation","objectId":%d}]`,
		time.Now().UnixMilli(), id)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/hubspot", bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	at := strconv.FormatInt(time.Now().UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(shopSecret))
	mac.Write([]byte("POSThttps://hooks.example.com/hooks/hubspot" + string(body) + at))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-HubSpot-Request-Timestamp", at)
	req.Header.Set("X-HubSpot-Signature-v3", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return req
}

// decision waits until the newest event has one, and returns both.
func (h *house) decision() (server.EventView, messaging.Decision) {
	h.t.Helper()
	var e server.EventView
	h.eventually("a decision", func() bool {
		rows := h.events()
		if len(rows) > 0 {
			e = rows[0]
		}
		return len(e.Decisions) > 0
	})
	return e, e.Decisions[0]
}

func TestAContactWithoutAPhoneIsLookedUpAndGetsItsMessage(t *testing.T) {
	t.Parallel()
	api := newCRM(t, contact)
	h := open(t, options{config: crmConfig(api.URL, withToken)})
	h.mustTake(h.created(10011))
	h.eventually("the message is delivered", func() bool {
		rows := h.messages()
		return len(rows) == 1 && rows[0].Status == messaging.StatusDelivered
	})
	if m := h.messages()[0]; m.Phone != "447700910011" || m.Send.Variables[0] != "Noor" {
		t.Errorf("message %+v", m)
	}
	if api.times() != 1 || api.asked[0] != "/crm/v3/objects/contacts/10011" || api.tokens[0] != "Bearer "+apiKey {
		t.Errorf("asked %v by %v", api.asked, api.tokens)
	}
	stories, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: "447700910011", Limit: 10})
	if err != nil || len(stories) != 1 || stories[0].Event.Lookup != nil || stories[0].Event.Decisions[0].Outcome != messaging.Planned {
		t.Errorf("why: %+v (%v)", stories, err)
	}
	story, err := server.ShowEvent.Call(t.Context(), h.ask, stories[0].Event.ID)
	if err != nil || !strings.Contains(story.Event.Payload, `"contact":{"id":"10011"`) {
		t.Errorf("payload %s (%v)", story.Event.Payload, err)
	}
}

func TestTheSenderIsAnsweredBeforeTheCRMAndCanSeeHowFarTheLookUpIs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	api := newCRM(t, func(n int, w http.ResponseWriter, r *http.Request) {
		<-release
		contact(n, w, r)
	})
	h := open(t, options{config: crmConfig(api.URL, withToken)})
	h.mustTake(h.created(10012))
	h.eventually("the CRM is asked", func() bool { return api.times() == 1 })
	e := h.events()[0]
	if e.Lookup == nil || e.Lookup.Attempt != 1 || !e.Lookup.UnderWay || len(e.Decisions) != 0 {
		t.Errorf("event %+v", e)
	}
	if s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil || s.Lookups != 1 {
		t.Errorf("status counts %d (%v)", s.Lookups, err)
	}
	close(release)
	if _, d := h.decision(); d.Outcome != messaging.Planned {
		t.Errorf("decision %+v", d)
	}
	if s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil || s.Lookups != 0 {
		t.Errorf("status counts %d (%v)", s.Lookups, err)
	}
}

func TestWhatCannotBeLookedUpIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	notThere := func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	tests := map[string]struct {
		more   string
		answer func(int, http.ResponseWriter, *http.Request)
		want   string // HOST stands for the CRM's
		asked  int
	}{
		"a contact that is not there": {withToken, notThere, "the phone could not be looked up at HOST: 404 Not Found; no phone number in ", 1},
		"a connector without a token": {`, allow_private: true`, contact, "the phone was not looked up at HOST: connectors.hubspot.token is not set; no phone number in ", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			api := newCRM(t, tt.answer)
			h := open(t, options{config: crmConfig(api.URL, tt.more)})
			h.mustTake(h.created(10013))
			_, d := h.decision()
			want := strings.ReplaceAll(tt.want, "HOST", strings.TrimPrefix(api.URL, "http://"))
			if d.Outcome != messaging.Skipped || !strings.HasPrefix(d.Reason, want) || strings.Contains(d.Reason, apiKey) || api.times() != tt.asked {
				t.Errorf("%s: %s, asked %d times", d.Outcome, d.Reason, api.times())
			}
			if len(h.messages()) != 0 {
				t.Error("something was sent")
			}
		})
	}
}

func TestALookUpGoesOnAfterARestartAndUnderANewConfig(t *testing.T) {
	t.Parallel()
	api := newCRM(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+shopSecret {
			contact(n, w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	h := open(t, options{config: crmConfig(api.URL, withToken)})
	h.mustTake(h.created(10014))
	var e server.EventView
	h.eventually("the look-up is put off", func() bool {
		e = h.events()[0]
		return e.Lookup != nil && e.Lookup.Reason != ""
	})
	host := strings.TrimPrefix(api.URL, "http://")
	if e.Lookup.Reason != "could not be looked up at "+host+": 503 Service Unavailable" || e.Lookup.Attempt != 1 || e.Lookup.UnderWay {
		t.Errorf("look-up %+v", e.Lookup)
	}
	h.stop()
	h = open(t, options{folder: h.folder, config: crmConfig(api.URL, withToken)})
	h.edit(`token: "${API_KEY}"`, `token: "${SHOP_SECRET}"`)
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, d := h.decision(); d.Outcome != messaging.Planned {
		t.Errorf("decision %+v", d)
	}
	if got := h.events()[0].Phone; got != "447700910014" {
		t.Errorf("phone %s", got.Masked())
	}
}

func TestABatchOfOneContactAsksOnce(t *testing.T) {
	t.Parallel()
	api := newCRM(t, contact)
	h := open(t, options{config: crmConfig(api.URL, withToken)})
	for range 5 { // five changes of one contact, each an event of its own
		h.mustTake(h.created(10015))
		time.Sleep(2 * time.Millisecond) // another millisecond is another event
	}
	h.eventually("all are decided", func() bool {
		n := 0
		for _, e := range h.events() {
			n += len(e.Decisions)
		}
		return n == 5
	})
	if api.times() != 1 {
		t.Errorf("asked %d times", api.times())
	}
}

// zoho is Zoho CRM, which here gives a new refresh token each time and takes an old one no more.
func zoho(t *testing.T) (api *crm, refused func() int) {
	t.Helper()
	var mu sync.Mutex
	good, n, wrong := apiKey, 0, 0
	api = newCRM(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.URL.Path != "/token":
			id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
			fmt.Fprintf(w, `{"data":[{"First_Name":"Noor","Mobile":"+4477009%05s"}]}`, id)
		case r.PostFormValue("refresh_token") != good:
			wrong++
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
		default:
			n++
			good = fmt.Sprintf("rotated-%d", n)
			fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":%q,"expires_in":3600}`, n, good)
		}
	})
	return api, func() int { mu.Lock(); defer mu.Unlock(); return wrong }
}

func TestARotatedRefreshTokenOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	api, refused := zoho(t)
	config := `
defaults: {country: GB, language: en}
connectors:
  zoho_crm: {secret: "${SHOP_SECRET}", api_url: "` + api.URL + `", allow_private: true,
    oauth: {token_url: "` + api.URL + `/token", client_id: id, client_secret: "${SHOP_SECRET}", refresh_token: "${API_KEY}"}}
triggers:
  welcome: {on: zoho_crm.contact.created, category: utility, send: {template: welcome}}
tracking: {poll: [1s]}
`
	h := &house{folder: t.TempDir()}
	for start := range 3 {
		h = open(t, options{folder: h.folder, config: config})
		id := 10020 + start
		body := fmt.Sprintf(`{"module":"Leads","operation":"insert","ids":["%d"],"server_time":%d,"token":%q}`, id, time.Now().UnixMilli(), shopSecret)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/zoho_crm", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		h.mustTake(req)
		if _, d := h.decision(); d.Outcome != messaging.Planned || refused() > 0 {
			t.Fatalf("start %d: %s: %s", start, d.Outcome, d.Reason)
		}
		h.stop()
	}
}
