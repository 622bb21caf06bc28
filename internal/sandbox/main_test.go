package sandbox_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key   = "nw_test_5f0c2a91"
	phone = "447700900123"
)

// A clock that moves only when told.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 8, 14, 0, 0, 0, time.UTC)} }

// account is a sandbox with a template of each kind.
func account() sandbox.Options {
	return sandbox.Options{
		Keys: []string{key},
		Templates: []sandbox.Template{
			{Name: "cart_reminder", Language: "en", ID: 1042, Variables: 2},
			{Name: "cart_reminder", Language: "de", ID: 1043, Variables: 2},
			{Name: "invoice", Language: "en", ID: 7, Variables: 0, Header: "document"},
			{Name: "anything", Language: "*", Variables: -1, Header: "*"},
		},
		Campaigns: []string{"417"},
		Points:    -1,
		TextPath:  "/send-message",
	}
}

// A stand is a sandbox on a real socket, and a client of it.
type stand struct {
	*sandbox.Sandbox
	url    string
	client *apiclient.Client
}

func serve(t testing.TB, o sandbox.Options, set ...func(*apiclient.Options)) *stand {
	t.Helper()
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	s := sandbox.New(o)
	server := httptest.NewUnstartedServer(s.Handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	co := apiclient.Options{BaseURL: server.URL + "/api/v1", Key: key, TextPath: "/send-message", Timeout: 5 * time.Second}
	for _, f := range set {
		f(&co)
	}
	c, err := apiclient.New(co)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		c.Close()
		server.Close()
	})
	return &stand{s, server.URL, c}
}

// ask makes one request by hand and returns status and body.
func (s *stand) ask(t testing.TB, method, path, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(header); i += 2 {
		if req.Header.Del(header[i]); header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

func reminder(to string) apiclient.TemplateMessage {
	return apiclient.TemplateMessage{Phone: to, Template: "cart_reminder", Language: "en", Variables: []string{"Ada", "Kettle"}}
}
