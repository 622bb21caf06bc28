package webhooks

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// An attack is slow senders beside an honest one, by a script: who connects from where, and what they send when.
type attack struct {
	addresses   int  // from which the slow ones come, as many connections from each
	connections int  // of all addresses together
	own         bool // they come from the honest sender's address
	slow        func(c net.Conn, ended <-chan struct{})
	again       time.Duration // at which a connection that was ended is made anew, reckoned from its beginning
}

// slowBodies send 72 kB within a second and then 1,200 bytes a second of the megabyte that they announce.
func slowBodies(c net.Conn, ended <-chan struct{}) {
	if _, err := io.WriteString(c, head(999_999)); err != nil {
		return
	}
	first, rest := strings.Repeat("x", 4000), strings.Repeat("x", 60)
	drip(c, ended, 50*time.Millisecond, func(n int) string {
		if n < 18 {
			return first
		}
		return rest
	})
}

// slowHeads send a head byte by byte.
func slowHeads(c net.Conn, ended <-chan struct{}) {
	const text = "POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nX-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	drip(c, ended, 500*time.Millisecond, func(n int) string { return text[n%len(text) : n%len(text)+1] })
}

// slowSmallBodies send a head, and then a small body byte by byte.
func slowSmallBodies(c net.Conn, ended <-chan struct{}) {
	if _, err := io.WriteString(c, head(4000)+"{"); err != nil {
		return
	}
	drip(c, ended, 300*time.Millisecond, func(int) string { return "x" })
}

func drip(c net.Conn, ended <-chan struct{}, every time.Duration, piece func(n int) string) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ended:
			return
		case <-tick.C:
			if _, err := io.WriteString(c, piece(n)); err != nil {
				return
			}
		}
	}
}

// attackers are the scripts by name. big is their size in the world; the other fits the small door of the check.
func attackers(big bool) map[string]attack {
	all := map[string]attack{
		"bodies from 5 addresses":                   {addresses: 5, connections: 750, slow: slowBodies, again: 2250 * time.Millisecond}, // 24 MB a second
		"bodies from 100 addresses":                 {addresses: 100, connections: 800, slow: slowBodies, again: 2250 * time.Millisecond},
		"heads from the honest address":             {connections: 2000, own: true, slow: slowHeads, again: 500 * time.Millisecond},
		"small bodies from the honest address":      {connections: 2000, own: true, slow: slowSmallBodies, again: 500 * time.Millisecond},
		"bodies of 72 kB from the honest address":   {connections: 750, own: true, slow: slowBodies, again: 2250 * time.Millisecond},
		"heads from 1,000 addresses, two from each": {addresses: 1000, connections: 2000, slow: slowHeads, again: 500 * time.Millisecond},
	}
	if !big {
		for name, one := range all {
			one.connections /= 5
			one.addresses = min(one.addresses, one.connections)
			all[name] = one
		}
	}
	return all
}

// Of honest webhooks, one each tenth of a second on a connection of its own, nine in ten at the least are taken beside each attack.
// In the check the net is a pipe and time is the test's own, so that no machine is too slow. NUDGEWIRE_ATTACK=127.0.0.1:8080 has the
// attacks in their full size against the daemon that listens there, with a connector "shopify" whose secret is
// NUDGEWIRE_ATTACK_SECRET, for NUDGEWIRE_ATTACK_FOR (20s) each.
func TestAttacksKeepFewWebhooksOut(t *testing.T) {
	if to := os.Getenv("NUDGEWIRE_ATTACK"); to != "" {
		lasts, err := time.ParseDuration(os.Getenv("NUDGEWIRE_ATTACK_FOR"))
		if err != nil {
			lasts = 20 * time.Second
		}
		shop, problems := connectors.Compile("shopify", connectors.Config{Secret: secret.New(os.Getenv("NUDGEWIRE_ATTACK_SECRET"))}, connectors.Options{Country: "GB"})
		if shop == nil {
			t.Fatal(problems)
		}
		dial := func(from netip.Addr) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: 5 * time.Second}
			return d.DialContext(t.Context(), "tcp", to)
		}
		for name, one := range attackers(true) {
			t.Run(name, func(t *testing.T) { meetAttack(t, one, shop, dial, lasts) })
		}
		return
	}
	for name, one := range attackers(false) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shop := receiver(t, "shopify", connectors.Config{}, connectors.Options{MaxBody: 1_000_000})
				h := door(Options{Store: &noStore{kept: make(chan messaging.RejectedRequest, 100_000)}, Memory: 6_400_000, Connections: 200},
					Rules{Receivers: map[string]*connectors.Connector{"shopify": shop}})
				l := newPipes()
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- listeners.Serve(ctx, l, h.Handler(), h, time.Second, zap.NewNop()) }()
				meetAttack(t, one, shop, l.dial, 6*time.Second)
				stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
				synctest.Wait() // a connection is counted until its own goroutine has seen its end
				if n, _, _ := h.connLimiter.Counts(); h.memory.held != 0 || n != 0 {
					t.Errorf("%d bytes are held and %d connections counted afterwards", h.memory.held, n)
				}
			})
		})
	}
}

// meetAttack is an attack for a time, and the honest webhooks beside it.
func meetAttack(t *testing.T, a attack, shop *connectors.Connector, dial func(from netip.Addr) (net.Conn, error), lasts time.Duration) {
	honest := netip.MustParseAddr("127.0.0.1")
	ctx, stop := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	for i := range a.connections {
		from := honest
		if !a.own {
			from = netip.AddrFrom4([4]byte{127, 9, byte(i % a.addresses / 250), byte(1 + i%a.addresses%250)})
		}
		slow.Go(func() {
			wait(ctx, time.Duration(i)*a.again/time.Duration(a.connections)) // not all at once
			for ctx.Err() == nil {
				next := time.Now().Add(a.again)
				if c, err := dial(from); err == nil {
					hold(ctx, c, a.slow)
				}
				wait(ctx, time.Until(next))
			}
		})
	}
	wait(ctx, 3*time.Second) // the attack is under way
	var mu sync.Mutex
	taken, refused := 0, map[string]int{}
	var posts sync.WaitGroup
	for range int(lasts / (100 * time.Millisecond)) {
		posts.Go(func() {
			got := honestPost(t, shop, dial, honest)
			mu.Lock()
			defer mu.Unlock()
			if got == "200" {
				taken++
			} else {
				refused[got]++
			}
		})
		wait(ctx, 100*time.Millisecond)
	}
	posts.Wait()
	stop()
	slow.Wait()
	all := int(lasts / (100 * time.Millisecond))
	t.Logf("%d of %d honest webhooks were taken (%d%%); the others: %v", taken, all, 100*taken/all, refused)
	if taken*10 < all*9 {
		t.Errorf("%d of %d honest webhooks were taken, want nine in ten", taken, all)
	}
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// hold keeps a slow connection until the door ends it.
func hold(ctx context.Context, c net.Conn, slow func(net.Conn, <-chan struct{})) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, c) // whatever it is told
		_ = c.Close()
	}()
	slow(c, ended)
	_ = c.Close()
	<-ended
}

// honestPost is one honest webhook of 4 kB on a connection of its own, and its status or why there is none.
func honestPost(t *testing.T, shop *connectors.Connector, dial func(from netip.Addr) (net.Conn, error), from netip.Addr) string {
	r := signed(t, shop, "http://hooks.example.com/hooks/shopify", 4000)
	var text bytes.Buffer
	r.Close = true
	if err := r.Write(&text); err != nil {
		return err.Error()
	}
	c, err := dial(from)
	if err != nil {
		return "no connection"
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(text.Bytes()); err != nil {
		return "cut while it was sent"
	}
	res, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		return "cut before its answer"
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return strconv.Itoa(res.StatusCode)
}

// Pipes are a net without one: connections of a listener come from the addresses that they say.
type pipes struct {
	come chan net.Conn
	end  chan struct{}
	once sync.Once
	mu   sync.Mutex
	port uint16
}

func newPipes() *pipes { return &pipes{come: make(chan net.Conn), end: make(chan struct{})} }

func (p *pipes) dial(from netip.Addr) (net.Conn, error) {
	p.mu.Lock()
	p.port++
	at := &net.TCPAddr{IP: from.AsSlice(), Port: int(p.port)}
	p.mu.Unlock()
	ours, theirs := net.Pipe()
	select {
	case p.come <- piped{theirs, at}:
		return ours, nil
	case <-p.end:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.end:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.end) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

type piped struct {
	net.Conn
	from net.Addr
}

func (p piped) RemoteAddr() net.Addr { return p.from }
