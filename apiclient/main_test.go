package apiclient

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testKey   = "nw_test_5f0c2a91"
	testPhone = "447700900123"
)

// open returns a client of base, closed with the test.
func open(t testing.TB, base string, set ...func(*Options)) *Client {
	t.Helper()
	o := Options{BaseURL: base, Key: testKey, TextPath: "/send-message", Timeout: 5 * time.Second}
	for _, f := range set {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func patience(d time.Duration) func(*Options) { return func(o *Options) { o.Timeout = d } }

// answer is a service that says the same to everybody.
func answer(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/api/v1"
}

// serve hands each connection to f on a goroutine of its own, and returns the address. The end of the
// test closes them all.
func serve(t testing.TB, f func(conn net.Conn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	var mu sync.Mutex
	var held []net.Conn
	busy.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			held = append(held, conn)
			mu.Unlock()
			busy.Go(func() {
				defer conn.Close()
				f(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range held {
			c.Close()
		}
		mu.Unlock()
		busy.Wait()
	})
	return ln.Addr().String()
}

// A wire is a service below HTTP: it hands each whole request, with the connection it came
// on, to a script, and counts what it was handed.
type wire struct {
	whole atomic.Int64 // requests read to the last byte of their body
	conns atomic.Int64
}

// scripted serves script on a socket of its own. script returns false to close the connection.
func scripted(t testing.TB, script func(conn net.Conn, nth int64, body []byte) (goOn bool)) (*wire, string) {
	t.Helper()
	w := &wire{}
	addr := serve(t, func(conn net.Conn) {
		w.conns.Add(1)
		in := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || !script(conn, w.whole.Add(1), body) {
				return
			}
		}
	})
	return w, "http://" + addr + "/api/v1"
}

// say writes a whole HTTP answer in raw form.
func say(conn net.Conn, raw string) bool {
	_, err := io.WriteString(conn, raw)
	return err == nil
}

// vacant is the address of a port that nobody listens on.
func vacant(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
