package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Each fault, as a client meets it, and whether the message was accepted all the same.
func TestFaults(t *testing.T) {
	tests := map[string]struct {
		faults   sandbox.Faults
		outcome  apiclient.Outcome
		status   int
		wait     time.Duration
		accepted int
		counts   sandbox.Counts
	}{
		"nothing":           {sandbox.Faults{}, apiclient.Accepted, 0, 0, 1, sandbox.Counts{Requests: 1, OK: 1}},
		"an error":          {sandbox.Faults{ErrorRate: 1}, apiclient.InDoubt, 500, 0, 0, sandbox.Counts{Requests: 1, Errors: 1}},
		"503 with a time":   {sandbox.Faults{ErrorRate: 1, Status: 503, RetryAfter: units.Duration(1500 * time.Millisecond)}, apiclient.NotAccepted, 503, 2 * time.Second, 0, sandbox.Counts{Requests: 1, Errors: 1}},
		"503 without":       {sandbox.Faults{ErrorRate: 1, Status: 503}, apiclient.InDoubt, 503, 0, 0, sandbox.Counts{Requests: 1, Errors: 1}},
		"a chosen refusal":  {sandbox.Faults{ErrorRate: 1, Status: 403}, apiclient.Rejected, 403, 0, 0, sandbox.Counts{Requests: 1, Rejected: 1}},
		"cut before":        {sandbox.Faults{CutBefore: 1}, apiclient.InDoubt, 0, 0, 0, sandbox.Counts{Requests: 1, Cut: 1}},
		"cut after":         {sandbox.Faults{CutAfter: 1}, apiclient.InDoubt, 0, 0, 1, sandbox.Counts{Requests: 1, OK: 1, Cut: 1}},
		"hang after accept": {sandbox.Faults{HangAfterAccept: 1}, apiclient.InDoubt, 0, 0, 1, sandbox.Counts{Requests: 1, OK: 1, Hung: 1}},
		"junk":              {sandbox.Faults{Junk: 1}, apiclient.Accepted, 0, 0, 1, sandbox.Counts{Requests: 1, OK: 1, Junk: 1}},
		"latency":           {sandbox.Faults{Latency: units.Duration(time.Millisecond), LatencyJitter: units.Duration(time.Millisecond)}, apiclient.Accepted, 0, 0, 1, sandbox.Counts{Requests: 1, OK: 1}},
		"latency too long":  {sandbox.Faults{Latency: units.Duration(time.Hour)}, apiclient.InDoubt, 0, 0, 0, sandbox.Counts{Requests: 1, Cut: 1}},
		"another endpoint":  {sandbox.Faults{ErrorRate: 1, Endpoints: []string{"message-status"}}, apiclient.Accepted, 0, 0, 1, sandbox.Counts{Requests: 1, OK: 1}},
		"this endpoint":     {sandbox.Faults{ErrorRate: 1, Endpoints: []string{"send-template"}}, apiclient.InDoubt, 500, 0, 0, sandbox.Counts{Requests: 1, Errors: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := account()
			o.Faults = tt.faults
			ended := make(chan sandbox.Record, 1)
			o.OnRequest = func(r sandbox.Record) { ended <- r }
			s := serve(t, o, func(o *apiclient.Options) { o.Timeout = 150 * time.Millisecond })
			a, err := s.client.SendTemplate(t.Context(), reminder(phone))
			if got := apiclient.OutcomeOf(err); got != tt.outcome {
				t.Errorf("outcome %q, want %q: %v", got, tt.outcome, err)
			}
			if call, ok := errors.AsType[*apiclient.CallError](err); ok && (call.HTTPStatus != tt.status || call.RetryAfter != tt.wait) {
				t.Errorf("status %d after %s, want %d after %s", call.HTTPStatus, call.RetryAfter, tt.status, tt.wait)
			}
			r := <-ended // a handler may end after its client
			if s.Accepted(phone) != tt.accepted || r.Messages != tt.accepted {
				t.Errorf("accepted %d, recorded %d, want %d", s.Accepted(phone), r.Messages, tt.accepted)
			}
			if (a.MessageID != "") != (tt.outcome == apiclient.Accepted && tt.faults.Junk == 0) {
				t.Errorf("message id %q", a.MessageID)
			}
			if diff := cmp.Diff(tt.counts, s.Stats().Endpoints["send-template"]); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRateLimit(t *testing.T) {
	c := newClock()
	o := account()
	o.Now, o.Faults.RateLimit = c.now, 2
	s := serve(t, o)
	send := func() string {
		_, err := s.client.SendTemplate(t.Context(), reminder(phone))
		if err != nil {
			return err.Error()
		}
		return "ok"
	}
	got := []string{send(), send(), send()}
	c.move(time.Second)
	got = append(got, send())
	want := []string{"ok", "ok", "send-template: 429 Too Many Requests: too many requests: at most 2 a second; try again in 1s", "ok"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sends (-want +got):\n%s", diff)
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	o := account()
	o.Faults.HangAfterAccept = 1
	s := serve(t, o, func(o *apiclient.Options) { o.Timeout = time.Minute })
	ended := make(chan error)
	go func() {
		_, err := s.client.SendTemplate(t.Context(), reminder(phone))
		ended <- err
	}()
	for s.Accepted(phone) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	s.Close() // closing twice is harmless
	if err := <-ended; apiclient.OutcomeOf(err) != apiclient.InDoubt {
		t.Errorf("the hanging send ended with %v", err)
	}
}

// Half of all requests break in some way; what the client reports must fit what was accepted.
func TestWhatTheClientReportsFitsTheLedger(t *testing.T) {
	o := account()
	o.Seed = 7
	o.Faults = sandbox.Faults{CutBefore: 0.1, CutAfter: 0.1, ErrorRate: 0.1, Junk: 0.1, HangAfterAccept: 0.05}
	s := serve(t, o, func(o *apiclient.Options) { o.Timeout = 100 * time.Millisecond })
	reported := map[apiclient.Outcome]int{}
	for i := range 200 {
		to := fmt.Sprintf("4477009%05d", 10+i)
		_, err := s.client.SendTemplate(t.Context(), reminder(to))
		outcome, accepted := apiclient.OutcomeOf(err), s.Accepted(to)
		reported[outcome]++
		if accepted > 1 || (outcome == apiclient.Accepted && accepted != 1) || (outcome == apiclient.NotAccepted && accepted != 0) {
			t.Errorf("reported %q, accepted %d times: %v", outcome, accepted, err)
		}
	}
	if reported[apiclient.Accepted] < 80 || reported[apiclient.InDoubt] < 30 {
		t.Errorf("reported %v", reported)
	}
}

func TestFaultsAsJSON(t *testing.T) {
	f := sandbox.Faults{
		Latency: units.Duration(250 * time.Millisecond), LatencyJitter: units.Duration(time.Second), RateLimit: 2.5, RetryAfter: units.Duration(time.Minute), ErrorRate: 0.1, Status: 502,
		CutBefore: 0.2, CutAfter: 0.3, HangAfterAccept: 0.4, Junk: 0.5, Endpoints: []string{"text"},
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"latency":"250ms","latency_jitter":"1s","rate_limit":2.5,"retry_after":"1m","error_rate":0.1,"status":502,` +
		`"cut_before":0.2,"cut_after":0.3,"hang_after_accept":0.4,"junk":0.5,"endpoints":["text"]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var back sandbox.Faults
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, back); diff != "" {
		t.Errorf("back (-want +got):\n%s", diff)
	}
}

func TestOptionsCheck(t *testing.T) {
	o := sandbox.Options{
		Keys: []string{"a b"}, Templates: []sandbox.Template{{Name: "t", Header: "audio"}}, Price: -1, FailRate: 2, Shape: "round",
		Pace: sandbox.Pace{Jitter: 3}, Faults: sandbox.Faults{Junk: -1, Latency: -1, Status: 200, Endpoints: []string{"send"}},
	}
	want := `shape "round" is not known: use flat, string, nested or bare
fail rate 2 must be between 0 and 1
jitter 3 must be between 0 and 1
price -1 must not be negative
template "t": header "audio" is not known: use image, video or document
a key is empty or holds white space
junk -1 must be between 0 and 1
latency, latency_jitter, retry_after and rate_limit must not be negative
status 200 must be between 300 and 599
endpoint "send" is not known: use send-template, send-campaign, text, create-with-csv, message-status`
	if diff := cmp.Diff(want, o.Check().Error()); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
	for _, text := range []string{fmt.Sprintf("%v", o), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o)} {
		if want := "sandbox with 1 templates and 0 campaigns"; text != want {
			t.Errorf("prints %s", text)
		}
	}
}
