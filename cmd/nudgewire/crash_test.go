package main

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/test/testserver"
)

const (
	crashPosts   = 10_000
	crashWorkers = 64
)

// TestKilledWhilePosting posts ten thousand webhooks and kills the daemon with SIGKILL in
// the midst of them. The shop does what shops do: what was not answered 2xx is posted again
// once the daemon is back.
func TestKilledWhilePosting(t *testing.T) {
	service := sandbox.New(sandbox.Options{
		Keys:      []string{"key"},
		Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}},
		Pace:      sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
	})
	api := httptest.NewServer(service.Handler())
	defer api.Close()
	defer service.Close()

	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	config := fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key, rate: 2000/s, timeout: 5s}
defaults: {country: GB, language: en, category: utility}
connectors: {shopify: {secret: secret-of-the-crash}}
triggers:
  thanks: {on: shopify.order.created, send: {template: order_update, variables: ['{{ order.id }}']}}
storage: sqlite:%s/nudgewire.db
server: {listen: "%s"}
tracking: {poll: [1s]}
`, api.URL, c.folder, c.address)
	if err := os.WriteFile(filepath.Join(c.folder, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}

	answered := make([]atomic.Bool, crashPosts)
	daemon := c.start()
	var next, done atomic.Int64
	killed := make(chan struct{})
	post := func() {
		for i := int(next.Add(1)) - 1; i < crashPosts; i = int(next.Add(1)) - 1 {
			if i >= crashPosts*9/10 { // however quick they are, some come too late
				<-killed
			}
			if c.post(i) {
				answered[i].Store(true)
				done.Add(1)
			}
		}
	}
	var workers sync.WaitGroup
	for range crashWorkers {
		workers.Go(post)
	}
	for end := time.Now().Add(2 * time.Minute); done.Load() < crashPosts/3 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	err := daemon.Process.Kill()
	close(killed)
	if err != nil {
		t.Fatal(err)
	}
	daemon.Wait() // it was killed, and says so
	workers.Wait()
	if n := done.Load(); n == 0 || n == crashPosts {
		t.Fatalf("the kill came too early or too late: %d of %d were answered", n, crashPosts)
	}
	t.Logf("killed after %d of %d webhooks were answered", done.Load(), crashPosts)

	// Every event that was answered is there, before anything is posted again.
	stored := c.events()
	for i := range answered {
		if answered[i].Load() && stored[deliveryID(i)] != 1 {
			t.Errorf("webhook %d was answered 2xx and is stored %d times", i, stored[deliveryID(i)])
		}
	}

	daemon = c.start()
	next.Store(0)
	for range crashWorkers {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < crashPosts; i = int(next.Add(1)) - 1 {
				if !c.post(i) {
					t.Errorf("webhook %d was refused after the restart", i)
				}
			}
		})
	}
	workers.Wait()
	c.settled()
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon's end: %v", err)
	}

	stored = c.events()
	if len(stored) != crashPosts {
		t.Errorf("%d events stored, want %d", len(stored), crashPosts)
	}
	counts, inDoubt := c.ledger()
	for state := range counts {
		if state != messaging.StateAccepted && state != messaging.StateInDoubt {
			t.Errorf("%d messages are %s", counts[state], state)
		}
	}
	t.Logf("messages by state: %v", counts)
	missing := 0
	for i := range crashPosts {
		switch n := service.Accepted(crashPhone(i)[1:]); {
		case n > 1:
			t.Errorf("message of webhook %d was accepted %d times", i, n)
		case n == 0 && !inDoubt[messaging.Phone(crashPhone(i)[1:])]:
			t.Errorf("webhook %d never reached the service and is not in doubt", i)
		case n == 0:
			missing++
		}
	}
	if counts[messaging.StateInDoubt] < missing {
		t.Errorf("%d messages are missing at the service, %d are in doubt", missing, counts[messaging.StateInDoubt])
	}
}

// leavesUnanswered is a service of which the nth call of a path gets no answer: it is taken before, or not at all. calls counts those of the path, and
// reached is closed once the nth is there.
func leavesUnanswered(service *sandbox.Sandbox, path string, nth int32, taken bool) (api *httptest.Server, calls *atomic.Int32, reached chan struct{}) {
	calls, reached = new(atomic.Int32), make(chan struct{})
	api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, path) || calls.Add(1) != nth {
			service.Handler().ServeHTTP(w, r)
			return
		}
		if taken {
			service.Handler().ServeHTTP(httptest.NewRecorder(), r)
		}
		io.Copy(io.Discard, r.Body) // until then nobody sees that the daemon is gone
		close(reached)
		select { // no answer, until the daemon is gone
		case <-r.Context().Done():
		case <-time.After(2 * time.Minute):
		}
	}))
	return api, calls, reached
}

type crash struct {
	t       *testing.T
	folder  string
	address string
	stop    func() // ends the daemon that attended started
	begin   func() // starts it anew
}

// start runs the program and waits until it takes webhooks.
func (c *crash) start() *exec.Cmd {
	c.t.Helper()
	program, err := exec.LookPath("nudgewire") // testscript puts the test binary there
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(c.t.Context()), program, "serve", "--config", filepath.Join(c.folder, "config.yaml"), "--log-level", "error")
	out, err := cmd.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			c.t.Log(s.Text())
		}
	}()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		res, err := http.Get("http://" + c.address + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return cmd
			}
		}
	}
	c.t.Fatal("the daemon did not become ready")
	return nil
}

// post sends webhook i and reports whether it was answered 2xx.
func (c *crash) post(i int) bool {
	body, err := json.Marshal(map[string]any{
		"id": i + 1, "checkout_token": fmt.Sprint("c", i), "currency": "GBP", "total_price": "10.00", "phone": crashPhone(i),
		"line_items": []any{map[string]any{"title": "Walking boots", "quantity": 1, "price": "10.00"}},
	})
	if err != nil {
		c.t.Error(err)
		return false
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://"+c.address+"/hooks/shopify", strings.NewReader(string(body)))
	if err != nil {
		c.t.Error(err)
		return false
	}
	mac := hmac.New(sha256.New, []byte("secret-of-the-crash"))
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Shopify-Topic", "orders/create")
	req.Header.Set("X-Shopify-Webhook-Id", deliveryID(i))
	req.Header.Set("X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func deliveryID(i int) string { return fmt.Sprintf("delivery-%05d", i) }
func crashPhone(i int) string { return fmt.Sprintf("+44770%07d", 1_100_000+i*10+5) }

func (c *crash) open() *store.Store {
	c.t.Helper()
	s, err := store.Open(c.t.Context(), store.Options{DSN: "sqlite:" + c.folder + "/nudgewire.db", ReadOnly: true})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// events counts the stored events by the delivery they came with.
func (c *crash) events() map[string]int {
	c.t.Helper()
	s := c.open()
	defer s.Close()
	out := map[string]int{}
	for before := messaging.EventID(0); ; {
		rows, err := s.Events(c.t.Context(), store.EventFilter{Limit: 1000, Before: before})
		if err != nil {
			c.t.Fatal(err)
		}
		if len(rows) == 0 {
			return out
		}
		for _, r := range rows {
			out[r.DedupeKey]++
			before = r.ID
		}
	}
}

// settled waits until nothing waits or is being sent.
func (c *crash) settled() {
	c.t.Helper()
	s := c.open()
	defer s.Close()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		n, err := report.Records{Store: s}.Counts(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		if n.Waiting == 0 && n.Sending == 0 {
			return
		}
	}
	c.t.Fatal("the daemon did not get done")
}

// ledger counts messages by state and names the phones of those in doubt.
func (c *crash) ledger() (map[messaging.State]int, map[messaging.Phone]bool) {
	c.t.Helper()
	s := c.open()
	defer s.Close()
	counts, inDoubt := map[messaging.State]int{}, map[messaging.Phone]bool{}
	for before := messaging.MessageID(0); ; {
		rows, err := s.Messages(c.t.Context(), store.MessageFilter{Limit: 1000, Before: before})
		if err != nil {
			c.t.Fatal(err)
		}
		if len(rows) == 0 {
			return counts, inDoubt
		}
		for _, r := range rows {
			counts[r.State]++
			if r.State == messaging.StateInDoubt {
				inDoubt[r.Phone] = true
			}
			before = r.ID
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := testserver.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
