package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Slow connections of three kinds are held open beside ordinary webhooks, none of which may be refused. NUDGEWIRE_SLOW=10000
// NUDGEWIRE_SLOW_FOR=30s is the whole of it: it needs 20,000 open files, and holds the daemon's memory to a bound, which the race detector's is not.
func TestSlowConnectionsKeepNoWebhookOut(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8, and /proc")
	}
	slow, lasts := 600, 3*time.Second
	if text := os.Getenv("NUDGEWIRE_SLOW"); text != "" {
		var err error
		if slow, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		if lasts, err = time.ParseDuration(os.Getenv("NUDGEWIRE_SLOW_FOR")); err != nil {
			t.Fatal(err)
		}
	}
	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	c.put("config.yaml", fmt.Sprintf(`
api: {base_url: "http://127.0.0.1:1/api/v1", key: key}
defaults: {country: GB, language: en}
connectors: {shopify: {secret: secret-of-the-crash}}
triggers: {thanks: {on: shopify.order.created, mode: shadow, send: {template: order_update}}}
storage: sqlite:%s/nudgewire.db
server: {listen: "%s"}
`, c.folder, c.address))
	daemon := c.start()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var opened, held atomic.Int64
	for i := range slow {
		all.Go(func() {
			for ctx.Err() == nil {
				slowConnection(ctx, c.address, i, &opened, &held)
				select {
				case <-ctx.Done():
				case <-time.After(comeBack + time.Duration(i%1000)*comeBack/1000): // not all at once
				}
			}
		})
	}
	for end := time.Now().Add(time.Minute); opened.Load() < int64(slow)*9/10 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	began := held.Load()

	const everySecond = 200
	var refused atomic.Int64
	took := make([]time.Duration, int(lasts.Seconds()*everySecond))
	tick := time.NewTicker(time.Second / everySecond)
	var posts sync.WaitGroup
	for i := range took {
		<-tick.C
		posts.Go(func() {
			sent := time.Now()
			if !c.post(i) {
				refused.Add(1)
			}
			took[i] = time.Since(sent)
		})
	}
	posts.Wait()
	tick.Stop()
	slices.Sort(took)
	memory := peakMemory(t, daemon.Process.Pid)
	t.Logf("%d slow connections held at the beginning and %d at the end, %d opened in all; %d webhooks, %d refused; half within %s, 99%% within %s; most memory %d kB",
		began, held.Load(), opened.Load(), len(took), refused.Load(), took[len(took)/2], took[len(took)*99/100], memory)
	if os.Getenv("NUDGEWIRE_SLOW") != "" && memory > mostMemory {
		t.Errorf("the daemon took %d kB, more than %d", memory, mostMemory)
	}
	if refused.Load() > 0 {
		t.Errorf("%d of %d webhooks were not taken", refused.Load(), len(took))
	}
	stop()
	all.Wait()
	http.DefaultClient.CloseIdleConnections()
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Error(err)
	}
}

// comeBack is after how long, or up to twice that, a slow connection that the door ended is opened again.
const comeBack = 5 * time.Second

// slowConnection holds a connection until the door ends it: it says nothing, or sends a head or a body byte by byte.
func slowConnection(ctx context.Context, to string, i int, opened, held *atomic.Int64) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i/100), 1)}, Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	opened.Add(1)
	held.Add(1)
	defer held.Add(-1)
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if i%3 == 2 {
		_, _ = conn.Write([]byte("POST /hooks/shopify HTTP/1.1\r\nHost: x\r\nX-Shopify-Topic: orders/create\r\nX-Shopify-Hmac-Sha256: AAAA\r\nContent-Length: 100000\r\n\r\n"))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = conn.Read(make([]byte, 1))
	}()
	if i%3 == 0 {
		<-ended
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for text, n := "POST /hooks/shopify HTTP/1.1", 0; ; n++ {
		select {
		case <-ended:
			return
		case <-tick.C:
			if _, err := conn.Write([]byte{text[n%len(text)]}); err != nil {
				_ = conn.Close()
			}
		}
	}
}

// mostMemory is what the daemon may take beside them, in kB.
const mostMemory = 150_000

var highWater = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// peakMemory is the most that a process had in memory, in kB.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	m := highWater.FindSubmatch(text)
	if m == nil {
		t.Fatalf("no peak in %s", text)
	}
	kB, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kB
}
