package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
)

// A fussy connection takes only the first bytes of each write, and then fails.
type fussy struct {
	net.Conn
	takes int
	got   strings.Builder
}

var errFussy = errors.New("the cable was cut")

func (f *fussy) Write(p []byte) (int, error) {
	n := min(f.takes, len(p))
	f.got.Write(p[:n])
	if n < len(p) {
		return n, errFussy
	}
	return n, nil
}

func TestALineKnowsWhatLeft(t *testing.T) {
	tests := map[string]struct {
		takes int
		write bool
		left  bool
	}{
		"nothing was tried":                  {100, false, false},
		"a write of which nothing was taken": {0, true, false},
		"a write of which a part was taken":  {3, true, true},
		"a whole write":                      {100, true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inner := &fussy{takes: 100}
			l := &line{Conn: inner}
			if _, err := l.Write([]byte("an earlier request")); err != nil {
				t.Fatal(err)
			}
			inner.takes = tt.takes
			m := newMemo([]byte("{}"))
			m.gotConn(httptrace.GotConnInfo{Conn: tls.Client(l, new(tls.Config))})
			if tt.write {
				_, _ = l.Write([]byte("this one"))
			}
			if left := m.seal(); left != tt.left {
				t.Errorf("left %v, want %v", left, tt.left)
			}
			before := inner.got.Len()
			if n, err := l.Write([]byte("late")); n != 0 || !errors.Is(err, errSealed) || inner.got.Len() != before {
				t.Errorf("a write after the end: %d bytes, error %v", n, err)
			}
		})
	}
	t.Run("no connection", func(t *testing.T) {
		if newMemo(nil).seal() {
			t.Error("left without a connection")
		}
	})
	t.Run("a connection nobody counts", func(t *testing.T) {
		m := newMemo(nil)
		m.gotConn(httptrace.GotConnInfo{Conn: &fussy{}})
		if !m.seal() {
			t.Error("told as proven what nobody watched")
		}
	})
}

// The connection breaks under the request without taking a byte of it, which the transport
// learns only by writing.
func TestABrokenLineWasNotSent(t *testing.T) {
	base := answer(t, func(w http.ResponseWriter, _ *http.Request) { t.Error("the request was served") })
	c := open(t, base)
	dial := c.transport.DialContext
	c.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil {
			l := conn.(*line)
			l.Conn = &fussy{Conn: l.Conn}
		}
		return conn, err
	}
	_, err := c.SendTemplate(t.Context(), message)
	checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: .*the cable was cut`}, err)
}

// counting counts writes.
type counting struct {
	net.Conn
	writes int
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes++
	return c.Conn.Write(p)
}

func TestAMessageTravelsInOneWrite(t *testing.T) {
	base := answer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"message_id":1}`)
	})
	c := open(t, base)
	var counted *counting
	dial := c.transport.DialContext
	c.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil {
			l := conn.(*line)
			counted = &counting{Conn: l.Conn}
			l.Conn = counted
		}
		return conn, err
	}
	for range 3 {
		if _, err := c.SendTemplate(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	if counted.writes != 3 {
		t.Errorf("3 messages took %d writes", counted.writes)
	}
}
