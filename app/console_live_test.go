package app_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/server"
)

// watch opens the stream of the page Live, and gives its lines as they come; closed when it ends.
func (b *browser) watch(last string) (lines <-chan string, status int) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+"/live/stream", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", last)
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		defer res.Body.Close()
		for all := bufio.NewScanner(res.Body); all.Scan(); {
			out <- all.Text()
		}
	}()
	return out, res.StatusCode
}

// streams waits for words in a stream.
func streams(t *testing.T, lines <-chan string, words string) {
	t.Helper()
	hang := time.After(time.Minute)
	for {
		select {
		case line, more := <-lines:
			if strings.Contains(line, words) {
				return
			}
			if !more {
				t.Fatalf("the stream ended without %q", words)
			}
		case <-hang:
			t.Fatalf("the stream never said %q", words)
		}
	}
}

// Who watches sees what comes; with the rights goes the next stream, and the stop waits for none.
func TestWatchersLeaveWithTheirRightsAndAtTheStop(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	ann, bob := h.user("ann", server.RoleViewer), h.user("bob", server.RoleOperator)
	viewer, status := ann.watch("")
	if status != http.StatusOK {
		t.Fatalf("a viewer's stream answers %d", status)
	}
	operator, _ := bob.watch("")
	streams(t, viewer, "begun")
	streams(t, operator, "begun")
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "120.00")))
	streams(t, viewer, "******")
	streams(t, operator, strings.TrimPrefix(phone(1), "+"))
	if _, err := h.ask.DisableUser(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if _, status := ann.watch(""); status != http.StatusUnauthorized {
		t.Errorf("after that the viewer's stream answers %d", status)
	}
	h.stop() // fails where it does not end
	for range operator {
	}
}

// What a page asks by itself is no use of a session.
func TestAnOpenPageKeepsNoSessionAlive(t *testing.T) {
	clock := newHandClock()
	h := open(t, options{config: withPages(plainConfig), now: clock.now})
	b := h.browser()
	b.signIn(false)
	for range 11 {
		clock.on(time.Hour)
		if res := b.send(http.MethodGet, "/", nil, map[string]string{"HX-Request": "true"}); res.StatusCode != http.StatusOK {
			t.Fatalf("a page that is open is answered %d", res.StatusCode)
		}
	}
	clock.on(time.Hour + time.Minute)
	if res := b.send(http.MethodGet, "/", nil, map[string]string{"HX-Request": "true"}); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after twelve hours without a person: %d", res.StatusCode)
	}
}
