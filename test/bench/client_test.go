package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// postTo is a load against a handler.
func postTo(t *testing.T, o load, h http.HandlerFunc) (tally, error) {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	o.addrs = []string{s.Listener.Addr().String()}
	return new(lab).post(t.Context(), o)
}

// In a closed loop the server below takes 20 ms for each answer. Here it gets a webhook each 5 ms,
// so the last of 20 is answered 400 ms after the first one came, and was due after 95 ms.
func TestAnOpenLoopCountsFromTheMomentAWebhookWasDue(t *testing.T) {
	got, err := postTo(t, load{conns: 1, rate: 200, duration: 100 * time.Millisecond}, func(http.ResponseWriter, *http.Request) {
		time.Sleep(20 * time.Millisecond)
	})
	if err != nil || got.posted != 20 || len(got.waits) != 20 {
		t.Fatalf("%d webhooks were posted and %d answered 2xx, want 20; %v", got.posted, len(got.waits), err)
	}
	if last := slices.Max(got.waits); last < 300*time.Millisecond {
		t.Errorf("the last answer took %v, want 305 ms or more", last)
	}
	if rate := got.reading().value; rate > 50 {
		t.Errorf("%.0f/s were answered, want 50 or less", rate)
	}
}

func TestAnOpenLoopCountsTheAnswersThatAreNot2xx(t *testing.T) {
	var n atomic.Int64
	got, err := postTo(t, load{conns: 4, rate: 1000, duration: 100 * time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%4 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if r := got.reading(); err != nil || got.posted != 100 || r.good != 0.75 {
		t.Errorf("%v of %d were answered 2xx, want 0.75 of 100; %v", r.good, got.posted, err)
	}
}

// A figure must not count what was rejected.
func TestAClosedLoopEndsAtAnAnswerThatIsNot2xx(t *testing.T) {
	_, err := postTo(t, load{conns: 1, duration: time.Second}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if err == nil || err.Error() != "a webhook was answered 503" {
		t.Errorf("a 503 brought %v", err)
	}
}

// A server closes a connection that asked nothing for a while: the next webhook goes over another one. What ends a connection in use is an
// error.
func TestAnIdleConnectionIsDialedAnew(t *testing.T) {
	for name, tt := range map[string]struct {
		used time.Time
		good bool
	}{
		"idle": {time.Now().Add(-2 * idle), true}, "in use, however slow the machine is": {time.Now().Add(time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			var met atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			s.Config.ConnState = func(c net.Conn, state http.ConnState) {
				if state == http.StateNew && met.Add(1) == 1 {
					_ = c.Close()
				}
			}
			s.Start()
			defer s.Close()
			o := load{duration: time.Second}
			w, err := dial(t.Context(), o, s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			w.used = tt.used
			if status, err := w.exchange(t.Context(), o, 1); (err == nil && status == http.StatusOK) != tt.good {
				t.Errorf("status %d, %v", status, err)
			}
		})
	}
}
