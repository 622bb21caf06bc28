package sandbox_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

func TestStatusesMoveWithTime(t *testing.T) {
	pace := sandbox.Pace{Queued: time.Second, Sent: 2 * time.Second, Delivered: 3 * time.Second, Read: 4 * time.Second}
	tests := map[string]struct {
		phone string
		pace  sandbox.Pace
		want  []string // at the seconds 0, 1, 3, 6, 10 and 100
	}{
		"an ordinary phone": {"447700900123", pace, []string{"404", "queued", "sent", "delivered", "read", "read"}},
		"…0000 fails":       {"447700900000", pace, []string{"404", "queued", "failed recipient is not on the network", "failed recipient is not on the network", "failed recipient is not on the network", "failed recipient is not on the network"}},
		"…0001 is queued":   {"447700900001", pace, []string{"404", "queued", "queued", "queued", "queued", "queued"}},
		"…0002 is sent":     {"447700900002", pace, []string{"404", "queued", "sent", "sent", "sent", "sent"}},
		"…0003 is unread":   {"447700900003", pace, []string{"404", "queued", "sent", "delivered", "delivered", "delivered"}},
		"a step of no time": {"447700900123", sandbox.Pace{Read: 7 * time.Second}, []string{"delivered", "delivered", "delivered", "delivered", "read", "read"}},
		"a step never made": {"447700900123", sandbox.Pace{Sent: time.Second, Delivered: -1}, []string{"queued", "sent", "sent", "sent", "sent", "sent"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			o := account()
			o.Now, o.Pace = c.now, tt.pace
			s := serve(t, o)
			a, err := s.client.SendTemplate(t.Context(), reminder(tt.phone))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			last := time.Duration(0)
			for _, second := range []int{0, 1, 3, 6, 10, 100} {
				at := time.Duration(second) * time.Second
				c.move(at - last)
				last = at
				got = append(got, look(t, s.client, a.MessageID))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
		})
	}
}

// look is a message's status in words, checked against the rules of the API document.
func look(t *testing.T, c *apiclient.Client, id string) string {
	t.Helper()
	s, err := c.MessageStatus(t.Context(), id)
	if call, ok := errors.AsType[*apiclient.CallError](err); ok && call.HTTPStatus == 404 {
		return "404"
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.MessageID != id || (s.Status == "failed") != (s.Error != "") || s.Delivered != (s.Status == "delivered" || s.Status == "read") || s.Delivered == s.Timestamp.IsZero() {
		t.Errorf("status breaks the rules: %+v", s)
	}
	if s.Error != "" {
		return s.Status + " " + s.Error
	}
	return s.Status
}

func TestTheTimestampIsThatOfDelivery(t *testing.T) {
	c := newClock()
	o := account()
	o.Now, o.Pace = c.now, sandbox.Pace{Sent: time.Second, Delivered: time.Second, Read: time.Second}
	s := serve(t, o)
	a, err := s.client.SendTemplate(t.Context(), reminder(phone))
	if err != nil {
		t.Fatal(err)
	}
	want := c.now().Add(2 * time.Second)
	c.move(time.Hour)
	st, err := s.client.MessageStatus(t.Context(), a.MessageID)
	if err != nil || !st.Timestamp.Equal(want) || st.Status != "read" {
		t.Errorf("status %+v, error %v; want the time %s", st, err, want)
	}
	if want := `{"success":true,"message_id":100001,"status":"read","delivered":true,"timestamp":"2026-03-08T14:00:02.000Z"}`; st.Raw != want {
		t.Errorf("answer %s, want %s", st.Raw, want)
	}
}

func TestPoints(t *testing.T) {
	c := newClock()
	o := account()
	o.Now, o.Points, o.Price = c.now, 0.3, 0.1
	s := serve(t, o)
	var got []string
	for range 4 {
		a, err := s.client.SendTemplate(t.Context(), reminder(phone))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, look(t, s.client, a.MessageID))
	}
	want := []string{"queued", "queued", "queued", "failed insufficient points"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if left := s.Stats().Points; left > 1e-9 || left < 0 {
		t.Errorf("%v points left", left)
	}
}

// What failed for want of points was never sent, so it may come again once the balance is topped up.
func TestPointsAreToppedUp(t *testing.T) {
	o := account()
	o.Points, o.Price = 0.5, 1
	s := serve(t, o)
	send := func() string {
		a, err := s.client.SendTemplate(t.Context(), reminder(phone))
		if err != nil {
			t.Fatal(err)
		}
		return look(t, s.client, a.MessageID)
	}
	topUp := func(text string, want int) {
		t.Helper()
		if status, body, _ := s.ask(t, http.MethodPut, "/_sandbox/points", text); status != want {
			t.Errorf("%s: %d %s", text, status, body)
		}
	}
	got := []string{send(), send()}
	topUp(`{}`, 400)
	topUp(`{"points":"many"}`, 400)
	topUp(`{"points":1}`, 200)
	got = append(got, send())
	if n := s.Stats().Duplicates; n != 0 {
		t.Errorf("%d duplicates before anything was sent twice", n)
	}
	topUp(`{"points":-1}`, 200)
	got = append(got, send())
	want := []string{"failed insufficient points", "failed insufficient points", "queued", "queued"}
	if diff := cmp.Diff(want, got); diff != "" || s.Stats().Duplicates != 1 {
		t.Errorf("%d duplicates; statuses (-want +got):\n%s", s.Stats().Duplicates, diff)
	}
}

func TestTheSeedDecidesWhoFails(t *testing.T) {
	run := func(seed uint64) []string {
		c := newClock()
		o := account()
		o.Now, o.Seed, o.FailRate, o.Pace = c.now, seed, 0.4, sandbox.Pace{Sent: time.Second, Delivered: time.Second, Read: -1, Jitter: 0.5}
		s := serve(t, o)
		var got []string
		for i := range 60 {
			if _, err := s.client.SendTemplate(t.Context(), reminder(fmt.Sprintf("4477009%05d", 10+i))); err != nil {
				t.Fatal(err)
			}
		}
		c.move(2 * time.Second)
		for i := range 60 {
			m := s.Messages(fmt.Sprintf("4477009%05d", 10+i))
			got = append(got, m[0].Status+m[0].Error)
		}
		return got
	}
	first, again, other := run(1), run(1), run(2)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same seed (-first +again):\n%s", diff)
	}
	if cmp.Equal(first, other) {
		t.Error("another seed changes nothing")
	}
	counts := map[string]int{}
	for _, s := range first {
		counts[s]++
	}
	failed := 0
	for status, n := range counts {
		if strings.HasPrefix(status, "failed") {
			failed += n
		}
	}
	if failed < 12 || failed > 36 || counts["sent"] == 0 || counts["delivered"] == 0 {
		t.Errorf("60 messages of which 24 should fail, some late by jitter: %v", counts)
	}
}
