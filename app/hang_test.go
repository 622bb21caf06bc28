//go:build unix

package app_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/server"
)

// A stall stands between a daemon and its database server. While it is shut, connections are taken and stay, and nothing comes through.
type stall struct {
	server  string
	listens net.Listener
	running sync.WaitGroup

	mu   sync.Mutex
	open chan struct{} // closed while all passes
	all  []net.Conn
}

// stalled gives the address of a database by way of a stall.
func stalled(t *testing.T, address string) (s *stall, by string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = &stall{server: u.Host, listens: l, open: make(chan struct{})}
	close(s.open)
	s.running.Go(s.accept)
	t.Cleanup(func() {
		s.shut(false)
		_ = l.Close()
		s.mu.Lock()
		for _, c := range s.all {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	u.Host = l.Addr().String()
	return s, u.String()
}

func (s *stall) shut(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.open:
		if yes {
			s.open = make(chan struct{})
		}
	default:
		if !yes {
			close(s.open)
		}
	}
}

func (s *stall) wait() {
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	<-open
}

func (s *stall) accept() {
	for {
		client, err := s.listens.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", s.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		s.mu.Lock()
		s.all = append(s.all, client, server)
		s.mu.Unlock()
		s.running.Go(func() { s.pass(client, server) })
		s.running.Go(func() { s.pass(server, client) })
	}
}

func (s *stall) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	some := make([]byte, 32<<10)
	for {
		n, err := from.Read(some)
		s.wait()
		if n > 0 {
			if _, err := to.Write(some[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// A database server that takes connections and answers nothing: senders hear so while it hangs, people are told, and nothing is stored or
// sent twice when it goes on.
func TestADatabaseServerThatHangs(t *testing.T) {
	_, address := onPostgres(t)
	s, by := stalled(t, address)
	core, lines := observer.New(zap.ErrorLevel)
	h := open(t, options{storage: by, log: zap.New(core)})
	h.mustTake(h.shopify("orders/create", "", order("one", phone(1), "10")))
	h.eventually("the message of the first order is taken", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
	s.shut(true)
	for range 3 { // as a sender does that comes again
		began := time.Now()
		res, err := http.DefaultClient.Do(h.shopify("orders/create", "two", another(order("two", phone(2), "10"))))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		t.Logf("answered %d after %s", res.StatusCode, time.Since(began).Round(time.Millisecond))
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("answered %d, Retry-After %q; want 503 and when to come again", res.StatusCode, res.Header.Get("Retry-After"))
		}
	}
	h.eventually("the log tells", func() bool { return lines.FilterMessage("webhooks are rejected and nothing is sent").Len() > 0 })
	began := time.Now()
	res, err := http.Get(h.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	t.Logf("not ready after %s", time.Since(began).Round(time.Millisecond))
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d", res.StatusCode)
	}
	began = time.Now()
	_, err = h.ask.Status(t.Context())
	t.Logf("status after %s: %v", time.Since(began).Round(time.Millisecond), err)
	if told, is := errors.AsType[*server.Error](err); !is || told.Status != http.StatusServiceUnavailable || !strings.HasPrefix(told.Hint, "look at the database server") {
		t.Errorf("status says %+v", err)
	}
	s.shut(false)
	h.eventually("the order is taken when it comes again", func() bool {
		status, _ := h.do(h.shopify("orders/create", "two", another(order("two", phone(2), "10"))))
		return status == http.StatusOK
	})
	h.eventually("its message is taken", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
	h.eventually("status is well again", func() bool {
		s, err := h.ask.Status(t.Context())
		return err == nil && s.Daemon.DataError == ""
	})
	if n := len(h.events()); n != 2 {
		t.Errorf("%d events are stored, want 2", n)
	}
	for n := range 2 {
		if got := h.service.Accepted(phone(n + 1)[1:]); got != 1 {
			t.Errorf("the message of order %d was taken %d times", n+1, got)
		}
	}
}
