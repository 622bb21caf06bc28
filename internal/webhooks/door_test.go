package webhooks

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// An openDoor is a public door on loopback with one shop behind it.
type openDoor struct {
	*Hooks
	t     *testing.T
	at    string
	shop  *connectors.Connector
	store *noStore
}

func openTheDoor(t *testing.T, o Options, opt connectors.Options) *openDoor {
	t.Helper()
	d := &openDoor{t: t, shop: receiver(t, "shopify", connectors.Config{}, opt), store: &noStore{kept: make(chan messaging.RejectedRequest, 10_000)}}
	if o.Store == nil {
		o.Store = d.store
	}
	d.Hooks = door(o, Rules{Receivers: map[string]*connectors.Connector{
		"shopify": d.shop,
		"open":    receiver(t, "open", connectors.Config{Verify: &connectors.Verify{Kind: "none"}}, opt),
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.at = l.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := listeners.Serve(ctx, l, d.Handler(), d.Hooks, time.Second, zap.NewNop()); err != nil {
			t.Error(err)
		}
	})
	parts.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		parts.Wait()
		counted := func() int {
			connections, addresses, waiting := d.connLimiter.Counts()
			return connections + addresses + waiting
		}
		for end := time.Now().Add(time.Minute); counted() > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // idle connections are told of a moment after they are closed
		}
		if n, held := counted(), d.memory.held; n != 0 || held != 0 || len(d.memory.by)+d.memory.reading[stranger].Len() != 0 {
			t.Errorf("after the end %d connections, addresses and places are counted, %d bytes are held, %v", n, held, d.memory.by)
		}
	})
	return d
}

// dial connects from one of loopback's addresses and writes text.
func (d *openDoor) dial(from, text string) net.Conn {
	d.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
	c, err := dialer.Dial("tcp", d.at)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil && text == "" {
		d.t.Fatal(err)
	}
	return c
}

// head is the beginning of a webhook with something where the signature should be.
func head(length int) string {
	return fmt.Sprintf("POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nX-Shopify-Topic: orders/create\r\nX-Shopify-Hmac-Sha256: AAAA\r\nContent-Length: %d\r\n\r\n", length)
}

// honest posts one verified webhook from an address.
func (d *openDoor) honest(from string) (int, error) {
	r := signed(d.t, d.shop, "http://"+d.at+"/hooks/shopify", 500)
	r.RequestURI = ""
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, nil
}

func (d *openDoor) mustTake(from string) {
	d.t.Helper()
	if status, err := d.honest(from); err != nil || status != http.StatusOK {
		d.t.Errorf("an honest webhook from %s: %d %v", from, status, err)
	}
}

// count is how often webhooks were turned away for a reason.
func (d *openDoor) count(why shedReason) int64 {
	for _, v := range d.Turned() {
		if v.Why == shedWords[why] {
			return v.Count
		}
	}
	return 0
}

// statusLine is the status line on a connection.
func statusLine(t *testing.T, c net.Conn, within time.Duration) string {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(within))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

func TestIdleConnectionsThatAnnounceMuchCloseNoDoor(t *testing.T) {
	for name, sent := range map[string]string{"nothing of the body": "", "one byte of the body": "{"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openTheDoor(t, Options{}, connectors.Options{MaxBody: 1_000_000})
			for i := range 250 {
				d.dial("127.0.0.1", head(1_000_000-i*3900)+sent)
			}
			var bad atomic.Int64
			var posts sync.WaitGroup
			for range 60 { // 20 a second, past the time at which the idle ones are cut
				posts.Go(func() {
					if status, err := d.honest("127.0.0.1"); err != nil || status != http.StatusOK {
						bad.Add(1)
						t.Logf("honest: %d %v", status, err)
					}
				})
				time.Sleep(50 * time.Millisecond)
			}
			posts.Wait()
			if n := bad.Load(); n != 0 {
				t.Errorf("%d of 60 honest webhooks were not taken", n)
			}
			for end := time.Now().Add(time.Minute); d.count(shedSlow) < 250 && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			if n := d.count(shedSlow); n != 250 {
				t.Errorf("%d idle ones are counted, want 250: %+v", n, d.Turned())
			}
		})
	}
}

func TestWhatCannotBeProvenIsRefusedBeforeItsBody(t *testing.T) {
	d := openTheDoor(t, Options{}, connectors.Options{})
	for request, want := range map[string]string{
		"POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{":                         "HTTP/1.1 401 Unauthorized",
		"POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n":                      "HTTP/1.1 401 Unauthorized",
		"PUT /hooks/shopify HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{":                          "HTTP/1.1 405 Method Not Allowed",
		"POST /hooks/nobody HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{":                          "HTTP/1.1 404 Not Found",
		strings.Replace(head(2_000_000), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1):                  "HTTP/1.1 413 Request Entity Too Large",
		"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{":                               "HTTP/1.1 405 Method Not Allowed",
		"POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 100_000) + "\r\n\r\n":       "HTTP/1.1 431 Request Header Fields Too Large",
		"POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nX-Shopify-Hmac-Sha256: A\r\nContent-Length: 2\r\n\r\n{}": "HTTP/1.1 401 Unauthorized",
	} {
		if got := statusLine(t, d.dial("127.0.0.1", request), time.Minute); got != want { // who waited for the body would say 408
			t.Errorf("%.90q is answered %s, want %s", request, got, want)
		}
	}
}

func TestASlowBodyIsCutAndTold(t *testing.T) {
	d := openTheDoor(t, Options{}, connectors.Options{})
	type trickle struct {
		head  string
		piece string
	}
	var all sync.WaitGroup
	for name, tt := range map[string]trickle{
		"by length":          {head(5000), "{"},
		"longer than a step": {head(200_000), "{"},
		"in chunks":          {strings.Replace(head(0), "Content-Length: 0", "Transfer-Encoding: chunked", 1), "1\r\n{\r\n"},
	} {
		c := d.dial("127.0.0.1", tt.head)
		all.Go(func() {
			all.Go(func() { // at this pace the whole body would take minutes
				for {
					if _, err := io.WriteString(c, tt.piece); err != nil {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
			if got := statusLine(t, c, time.Minute); got != "HTTP/1.1 408 Request Timeout" {
				t.Errorf("%s: %s", name, got)
			}
			_ = c.Close()
		})
	}
	all.Wait()
	if got := <-d.store.kept; got.Stage != stageSlow || got.Status != http.StatusRequestTimeout || got.Connector != "shopify" {
		t.Errorf("kept %+v", got)
	}
}

func TestABigBodyAtAFairPaceIsTaken(t *testing.T) {
	d := openTheDoor(t, Options{}, connectors.Options{MaxBody: 1_000_000})
	for _, size := range []int{1, 4000, 4096, 5000, 70_000, 900_000} {
		for _, chunked := range []bool{false, true} {
			r := signed(t, d.shop, "http://"+d.at+"/hooks/shopify", size)
			r.RequestURI = ""
			if chunked {
				r.ContentLength = -1
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("%d bytes, chunked %t: %s", size, chunked, res.Status)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestABodyThatIsCutIsNotTaken(t *testing.T) {
	d := openTheDoor(t, Options{}, connectors.Options{})
	for name, request := range map[string]string{
		"by length":             "POST /hooks/open HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"a\":1}",
		"a long one":            "POST /hooks/open HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n{\"a\":1}",
		"in chunks":             "POST /hooks/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n",
		"in the middle of one":  "POST /hooks/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"a\":1}",
		"in chunks, a long one": "POST /hooks/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n{\"a\":\"" + strings.Repeat("x", 4994) + "\r\n",
	} {
		c := d.dial("127.0.0.1", request)
		_ = c.(*net.TCPConn).CloseWrite()
		if got := statusLine(t, c, time.Minute); got != "HTTP/1.1 400 Bad Request" {
			t.Errorf("%s: %s", name, got)
		}
		if f := <-d.store.kept; f.Stage != stageCut {
			t.Errorf("%s: kept %+v", name, f)
		}
	}
}

func TestOneAddressUsesUpItsOwnShareOnly(t *testing.T) {
	t.Run("of memory", func(t *testing.T) {
		d := openTheDoor(t, Options{Memory: 1_000_000}, connectors.Options{MaxBody: 150_000})
		for range 12 {
			c := d.dial("127.0.0.2", head(150_000))
			_, _ = c.Write(bytes.Repeat([]byte("x"), 140_000)) // an error is what this is about
		}
		deadline := time.Now().Add(time.Minute)
		for d.count(shedUnproven) == 0 && time.Now().Before(deadline) {
			d.mustTake("127.0.0.1")
			time.Sleep(20 * time.Millisecond)
		}
		d.mustTake("127.0.0.1")
		if d.count(shedUnproven) == 0 || d.count(shedMemory) != 0 {
			t.Errorf("turned away: %+v", d.Turned())
		}
	})
	t.Run("of connections", func(t *testing.T) {
		d := openTheDoor(t, Options{Connections: 20}, connectors.Options{})
		for range 30 {
			d.dial("127.0.0.2", "POST /hooks/shopify HTTP/1.1\r\n")
		}
		for range 5 {
			d.mustTake("127.0.0.1")
		}
		if n := d.count(shedConnections); n != 20 {
			t.Errorf("%d connections were turned away, want 20", n)
		}
	})
}

// All places are taken by strangers of many addresses, and each who comes gets one; who brought a verified webhook keeps its own.
func TestWhoWaitsLongestMakesRoom(t *testing.T) {
	d := openTheDoor(t, Options{Connections: 20}, connectors.Options{})
	r := signed(t, d.shop, "http://"+d.at+"/hooks/shopify", 50)
	var request bytes.Buffer
	if err := r.Write(&request); err != nil {
		t.Fatal(err)
	}
	kept := d.dial("127.0.0.1", request.String())
	if got := statusLine(t, kept, time.Minute); got != "HTTP/1.1 200 OK" {
		t.Fatal(got)
	}
	first := d.dial("127.0.1.1", "POST /hooks/shopify HTTP/1.1\r\n")
	for i := range 60 {
		d.dial(fmt.Sprintf("127.0.2.%d", 1+i/4), "POST /hooks/shopify HTTP/1.1\r\n")
	}
	if got := statusLine(t, first, 4*time.Second); strings.HasPrefix(got, "HTTP") {
		t.Errorf("who waits longest is answered %s", got)
	}
	for range 5 {
		d.mustTake("127.0.0.3")
	}
	if _, err := kept.Write(request.Bytes()); err != nil {
		t.Fatal(err)
	}
	if got := statusLine(t, kept, time.Minute); got != "HTTP/1.1 200 OK" {
		t.Errorf("who brought a verified webhook is told %s", got)
	}
	if n, _, _ := d.connLimiter.Counts(); n > 22 {
		t.Errorf("%d connections are open", n)
	}
}

func TestAShareIsOfWhoIsBehindAProxy(t *testing.T) {
	shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{MaxBody: 1000})
	h := door(Options{Store: &noStore{}, Memory: 100_000}, Rules{
		Receivers: map[string]*connectors.Connector{"shopify": shop}, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, PublicURL: "http://x",
	})
	post := func(from string) int {
		r := signed(t, shop, "http://x/hooks/shopify", 10)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header.Set("X-Forwarded-For", from)
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		return w.Code
	}
	who := netip.MustParseAddr("203.0.113.9")
	holds := holding{of: &h.memory, who: who, biggest: 1000}
	if _, ok := holds.more(25_000); !ok {
		t.Fatal("no room")
	}
	holds.done()
	if got := post("203.0.113.9"); got != http.StatusServiceUnavailable {
		t.Errorf("who holds its share is answered %d", got)
	}
	if got := post("203.0.113.10"); got != http.StatusOK {
		t.Errorf("another behind the same proxy is answered %d", got)
	}
	// A share is never less than one whole webhook.
	one := holding{of: &h.memory, who: netip.MustParseAddr("203.0.113.11"), biggest: 40_000}
	if _, ok := one.more(requestCharge + 40_000); !ok {
		t.Error("one webhook of the size that is allowed does not fit")
	}
}

func TestAllAreCountedAndAFloodHidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		store := &noStore{kept: make(chan messaging.RejectedRequest, 10_000)}
		shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{})
		h := door(Options{Store: store, Log: zap.New(core)}, Rules{Receivers: map[string]*connectors.Connector{"shopify": shop}})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- h.Run(ctx) }()
		serve := func(r *http.Request, from string) int {
			r.RemoteAddr = from + ":1"
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, r)
			return w.Code
		}
		for i := range 4000 {
			serve(httptest.NewRequest(http.MethodPost, "/hooks/shopify", strings.NewReader("{}")), "192.0.2.7")
			serve(httptest.NewRequest(http.MethodPost, fmt.Sprintf("/hooks/%d", i), strings.NewReader("{}")), fmt.Sprintf("198.51.%d.%d", i/250, i%250))
		}
		if n := store.refused.Load(); n != strangeBurst+traceBurst {
			t.Errorf("%d traces were kept, want %d", n, strangeBurst+traceBurst)
		}
		// The real sender's mistake leaves a trace all the same: verified, or from its own address.
		broken := []byte(`{"id":1`)
		r := httptest.NewRequest(http.MethodPost, "http://x/hooks/shopify", bytes.NewReader(broken))
		r.Header.Set("X-Shopify-Topic", "orders/create")
		signed, err := shop.Sign(connectors.Request{Method: http.MethodPost, URL: "http://x/hooks/shopify", Path: "/hooks/shopify", Header: r.Header, Body: broken, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		r.Header = signed.Header
		serve(r, "192.0.2.7")
		serve(httptest.NewRequest(http.MethodPost, "/hooks/shopify", strings.NewReader("{}")), "203.0.113.9")
		if n := store.refused.Load(); n != strangeBurst+traceBurst+2 {
			t.Errorf("%d traces were kept, want two more", n)
		}
		time.Sleep(countEvery + time.Second)
		synctest.Wait()
		if n := store.refused.Load() + store.counted.Load(); n != 8002 {
			t.Errorf("%d refusals are counted, want 8002", n)
		}
		if n := logs.Len(); n > strangeBurst+traceBurst+2 {
			t.Errorf("%d log lines", n)
		}
		cancel()
		<-ran
	})
}

func TestTroubleThatRepeatsIsOneLineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.DebugLevel)
		shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{})
		full := errors.New("database or disk is full")
		h := door(Options{Store: failing{full}, Log: zap.New(core), Ready: func(context.Context) error { return full }, Memory: 2 * requestCharge},
			Rules{Receivers: map[string]*connectors.Connector{"shopify": shop}})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- h.Run(ctx) }()
		for range 1000 {
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, signed(t, shop, "http://x/hooks/shopify", 10))
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
				t.Fatalf("answered %d", w.Code)
			}
			h.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil))
			h.turn(shedMemory, netip.MustParseAddr("192.0.2.7"))
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		for what, want := range map[string]int{"webhook not stored": 2, "not ready": 2, "webhooks turned away": 1} {
			if got := logs.FilterMessage(what).All(); len(got) != want {
				t.Errorf("%d lines %q, want %d: %v", len(got), what, want, got)
			} else if count := got[want-1].ContextMap(); count["more_within_a_minute"] != int64(999) && count["since_start"] != int64(1000) {
				t.Errorf("%q does not say how many: %v", what, count)
			}
		}
		cancel()
		<-ran
	})
}

// A disk that is nearly full takes the look at it and no webhook: the door is not ready until one is stored, or a minute is over.
func TestTheDoorIsNotReadyWhileTheDiskTakesNoWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{})
		disk := &failing{syscall.ENOSPC}
		core, logs := observer.New(zap.DebugLevel)
		h := door(Options{Store: disk, Log: zap.New(core), Ready: func(context.Context) error { return nil }},
			Rules{Receivers: map[string]*connectors.Connector{"shopify": shop}})
		ready := func() int {
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			return w.Code
		}
		post := func() {
			h.Handler().ServeHTTP(httptest.NewRecorder(), signed(t, shop, "http://x/hooks/shopify", 10))
		}
		if post(); ready() != http.StatusServiceUnavailable {
			t.Error("a full disk, and /readyz says ready")
		}
		disk.err = nil
		if post(); ready() != http.StatusOK {
			t.Error("a webhook is stored, and /readyz does not say ready")
		}
		if got := logs.FilterMessage("webhook taken").All(); len(got) != 1 || got[0].ContextMap()["connector"] != "shopify" {
			t.Errorf("the debug log does not tell what was taken: %v", got)
		}
		disk.err = syscall.ENOSPC
		post()
		if time.Sleep(failureCountsFor); ready() != http.StatusOK {
			t.Error("nobody would send a webhook to a door that is never ready again")
		}
		disk.err = errors.New("of another kind")
		if post(); ready() != http.StatusOK {
			t.Error("what is no trouble of the disk says nothing of the next webhook")
		}
	})
}

// A failing store stores nothing while it has an error.
type failing struct{ err error }

func (f failing) Accept(context.Context, []messaging.Plan) ([]messaging.Receipt, error) {
	if f.err == nil {
		return []messaging.Receipt{{EventID: 1}}, nil
	}
	return nil, f.err
}

func (f failing) RejectRequest(context.Context, messaging.RejectedRequest) error { return f.err }

func (f failing) CountUnused(context.Context, messaging.Unused, messaging.Event) error { return f.err }

func (f failing) Event(context.Context, messaging.EventID) (messaging.Event, error) {
	return messaging.Event{}, f.err
}
func (f failing) CountRejectedRequests(context.Context, int64) error { return f.err }

func TestWhoProvesNothingIsLetInByMeasure(t *testing.T) { synctest.Test(t, letInByMeasure) }

func letInByMeasure(t *testing.T) {
	var short atomic.Bool
	shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{})
	watched := receiver(t, "shopify", connectors.Config{Verify: &connectors.Verify{Mode: "monitor"}}, connectors.Options{})
	nobody := receiver(t, "open", connectors.Config{Verify: &connectors.Verify{Kind: "none"}}, connectors.Options{})
	h := door(Options{Store: &noStore{}, DiskShort: short.Load}, Rules{Receivers: map[string]*connectors.Connector{"shopify": shop, "watched": watched, "open": nobody}})
	post := func(name string) int {
		r := signed(t, shop, "http://x/hooks/"+name, 10)
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		return w.Code
	}
	for _, name := range []string{"watched", "open"} {
		taken := 0
		for range 300 {
			switch got := post(name); got {
			case http.StatusOK:
				taken++
			case http.StatusTooManyRequests:
			default:
				t.Fatalf("%s: answered %d", name, got)
			}
		}
		if taken < 100 || taken > 150 {
			t.Errorf("%s: %d of 300 were taken at once, want some 100", name, taken)
		}
	}
	short.Store(true)
	if got := post("open"); got != http.StatusServiceUnavailable {
		t.Errorf("with a short disk it is answered %d", got)
	}
	for range 300 {
		if got := post("shopify"); got != http.StatusOK {
			t.Fatalf("a connector that verifies is answered %d", got)
		}
	}
}

func TestWrongPathsAreToldAndASlashAtTheEndIsNone(t *testing.T) {
	store := &noStore{kept: make(chan messaging.RejectedRequest, 100)}
	shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{})
	h := door(Options{Store: store}, Rules{Receivers: map[string]*connectors.Connector{"shopify": shop}})
	post := func(path string) (int, string) {
		r := signed(t, shop, "http://x/hooks/shopify", 10)
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		r.URL, r.RequestURI = u, path
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is answered without nosniff", path)
		}
		return w.Code, w.Body.String()
	}
	for _, path := range []string{"/hooks/shopify", "/hooks/shopify/", "/hooks/shopify?x=1"} {
		if got, words := post(path); got != http.StatusOK {
			t.Errorf("%s is answered %d %s", path, got, words)
		}
	}
	for path, want := range map[string]string{
		"/hooks/shopify/a/b":                    "webhooks go to /hooks/NAME, and this went to /hooks/shopify/…/…",
		"/HOOKS/shopify":                        "webhooks go to /hooks/NAME, and this went to /HOOKS/shopify",
		"//hooks/shopify":                       "webhooks go to /hooks/NAME, and this went to //hooks/…",
		"/hooks/":                               "webhooks go to /hooks/NAME, and this went to /hooks/",
		"/hooks":                                "webhooks go to /hooks/NAME, and this went to /hooks",
		"/hooks/shopfy":                         "no connector of this name in the config: /hooks/shopfy",
		"/hooks/shopify//":                      "webhooks go to /hooks/NAME, and this went to /hooks/shopify//",
		"/hooks/a/b/c/d/e/f":                    "webhooks go to /hooks/NAME, and this went to /hooks/a/…/…",
		"/":                                     "webhooks go to /hooks/NAME, and this went to /",
		"/hooks/%1b%5b31mRED%0a":                "no connector of this name in the config: /hooks/…",
		"/hooks/Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg": "no connector of this name in the config: /hooks/…",
		"/hooks/447700900123":                   "no connector of this name in the config: /hooks/…",
	} {
		got, words := post(path)
		if got != http.StatusNotFound || !strings.HasPrefix(words, `{"error":"`) {
			t.Errorf("%s is answered %d %s", path, got, words)
		}
		if f := <-store.kept; f.Connector != unknown || f.Reason != want {
			t.Errorf("%s is kept as %s: %s, want %s", path, f.Connector, f.Reason, want)
		}
	}
}

func TestASampleShowsNoPhoneThatItsEndCuts(t *testing.T) {
	const phone = "447700900123"
	for cut := range len(phone) + 2 {
		body := strings.Repeat("x", sampleSize-cut) + phone + strings.Repeat("y", sampleSize)
		got := sampleOf([]byte(body))
		if len(got) != sampleSize || strings.Contains(got, phone[:5]) || strings.Contains(got, "\xff") {
			t.Errorf("%d before the end: %q", cut, got[sampleSize-20:])
		}
	}
	if got := sampleOf([]byte("é\xff")); got != "é?" {
		t.Errorf("%q", got)
	}
}

func TestAProvenBodyThatCannotBeReadShowsNoPhone(t *testing.T) {
	for _, samples := range []bool{false, true} {
		store := &noStore{kept: make(chan messaging.RejectedRequest, 1)}
		core, logs := observer.New(zap.DebugLevel)
		shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{})
		h := door(Options{Store: store, Samples: samples, Log: zap.New(core)}, Rules{Receivers: map[string]*connectors.Connector{"shopify": shop}})
		body := []byte(`{"phone": +447700900123}`)
		r := httptest.NewRequest(http.MethodPost, "http://x/hooks/shopify", bytes.NewReader(body))
		r.Header.Set("X-Shopify-Topic", "orders/create")
		signed, err := shop.Sign(connectors.Request{Method: http.MethodPost, URL: "http://x/hooks/shopify", Path: "/hooks/shopify", Header: r.Header, Body: body, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		r.Header = signed.Header
		h.Handler().ServeHTTP(httptest.NewRecorder(), r)
		f := <-store.kept
		said := fmt.Sprint(f, logs.All()[0].ContextMap())
		if f.Stage != connectors.StageBody || strings.Contains(said, "900123") || (f.Sample != "") != samples {
			t.Errorf("samples %t: kept %s", samples, said)
		}
	}
}
