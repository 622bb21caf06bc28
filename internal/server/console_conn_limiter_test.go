package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Slow strangers at the console's listener wait in each other's place: who is known keeps a connection, and who comes gets one.
func TestSlowStrangersDoNotFillTheConsole(t *testing.T) {
	const most = 16
	none := func() []netip.Prefix { return nil }
	connLimiter := listeners.NewConsoleConnLimiter(most, none, zap.NewNop())
	h := server.Console(server.ConsoleOptions{
		API: lively(t), ConnLimiter: connLimiter, Log: zap.NewNop(), Now: time.Now, Proxies: none,
		Token: func(context.Context, string) (access.Who, error) {
			return access.Who{Name: "crm", Scopes: []access.Scope{access.Read}, From: access.FromToken}, nil
		},
	})
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- listeners.Serve(ctx, l, h, connLimiter, time.Second, zap.NewNop()) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	dial := func(from, text string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = c.Write([]byte(text)) // a connection that is closed already is what this is about
		return c
	}
	const request = "GET " + server.Base + "/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
	answer := func(c net.Conn) string {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		return res.Status
	}
	kept := dial("127.0.0.1", request)
	if got := answer(kept); got != "200 OK" {
		t.Fatal(got)
	}
	var slow []net.Conn
	for i := range 5 * most {
		slow = append(slow, dial(fmt.Sprintf("127.0.2.%d", 1+i/4), "GET /")) // as few from each as an address may have
	}
	for range 3 {
		if got := answer(dial("127.0.0.3", strings.Replace(request, "Host: x", "Host: x\r\nConnection: close", 1))); got != "200 OK" {
			t.Errorf("who comes then is told: %s", got)
		}
	}
	if _, err := kept.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	if got := answer(kept); got != "200 OK" {
		t.Errorf("who was known is told: %s", got)
	}
	open := 0
	for _, c := range slow {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); err != nil && strings.Contains(err.Error(), "timeout") {
			open++
		}
	}
	if open > most/2 {
		t.Errorf("%d slow connections are open, want at most %d", open, most/2)
	}
	var crowd []net.Conn
	for range most { // one address has a quarter
		crowd = append(crowd, dial("127.0.3.1", "GET /"))
	}
	if got := answer(dial("127.0.3.1", strings.Replace(request, "Host: x", "Host: x\r\nConnection: close", 1))); got != "200 OK" {
		t.Errorf("who comes from an address that has all of its places is told: %s", got)
	}
	open = 0
	for _, c := range crowd {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); err != nil && strings.Contains(err.Error(), "timeout") {
			open++
		}
	}
	if open > most/4 {
		t.Errorf("one address has %d connections, want at most %d", open, most/4)
	}
}
