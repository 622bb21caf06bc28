package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// Faults are what breaks, of every API request. Rates are shares between 0 and 1, rolled
// anew for each request. The zero value breaks nothing.
//
// In JSON the names are in snake case and durations are texts such as "250ms".
type Faults struct {
	Latency       time.Duration // before anything else happens
	LatencyJitter time.Duration // up to this much more

	RateLimit  float64       // requests a second, beyond which the answer is 429 with Retry-After; 0 for no limit
	RetryAfter time.Duration // sent with 429 (else one second) and with the error answers (else nothing)

	ErrorRate float64 // answered with Status, not processed
	Status    int     // 500 when 0

	CutBefore       float64 // the connection is closed, not processed
	CutAfter        float64 // processed, then the connection is closed without an answer
	HangAfterAccept float64 // processed, then never answered
	Junk            float64 // processed, then a 2xx answer that nobody can read

	// Endpoints are the only ones that break, by the names in Stats; none means all.
	Endpoints []string
}

// wireFaults is Faults as JSON shows it.
type wireFaults struct {
	Latency         string   `json:"latency,omitempty"`
	LatencyJitter   string   `json:"latency_jitter,omitempty"`
	RateLimit       float64  `json:"rate_limit,omitempty"`
	RetryAfter      string   `json:"retry_after,omitempty"`
	ErrorRate       float64  `json:"error_rate,omitempty"`
	Status          int      `json:"status,omitempty"`
	CutBefore       float64  `json:"cut_before,omitempty"`
	CutAfter        float64  `json:"cut_after,omitempty"`
	HangAfterAccept float64  `json:"hang_after_accept,omitempty"`
	Junk            float64  `json:"junk,omitempty"`
	Endpoints       []string `json:"endpoints,omitempty"`
}

// MarshalJSON leaves out what is not broken.
func (f Faults) MarshalJSON() ([]byte, error) {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	return json.Marshal(wireFaults{
		text(f.Latency), text(f.LatencyJitter), f.RateLimit, text(f.RetryAfter), f.ErrorRate, f.Status,
		f.CutBefore, f.CutAfter, f.HangAfterAccept, f.Junk, f.Endpoints,
	})
}

// UnmarshalJSON refuses names it does not know and values that make no sense.
func (f *Faults) UnmarshalJSON(text []byte) error {
	var w wireFaults
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return err
	}
	var wrong []error
	span := func(name, text string) time.Duration {
		if text == "" {
			return 0
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %q is not a duration such as 250ms or 2s", name, text))
		}
		return d
	}
	g := Faults{
		Latency: span("latency", w.Latency), LatencyJitter: span("latency_jitter", w.LatencyJitter),
		RateLimit: w.RateLimit, RetryAfter: span("retry_after", w.RetryAfter), ErrorRate: w.ErrorRate, Status: w.Status,
		CutBefore: w.CutBefore, CutAfter: w.CutAfter, HangAfterAccept: w.HangAfterAccept, Junk: w.Junk, Endpoints: w.Endpoints,
	}
	if err := errors.Join(append(wrong, g.check())...); err != nil {
		return err
	}
	*f = g
	return nil
}

func (f Faults) check() error {
	var wrong []error
	for _, r := range []struct {
		name string
		rate float64
	}{
		{"error_rate", f.ErrorRate},
		{"cut_before", f.CutBefore},
		{"cut_after", f.CutAfter},
		{"hang_after_accept", f.HangAfterAccept},
		{"junk", f.Junk},
	} {
		if !share(r.rate) {
			wrong = append(wrong, fmt.Errorf("%s %v must be between 0 and 1", r.name, r.rate))
		}
	}
	if f.Latency < 0 || f.LatencyJitter < 0 || f.RetryAfter < 0 || f.RateLimit < 0 {
		wrong = append(wrong, errors.New("latency, latency_jitter, retry_after and rate_limit must not be negative"))
	}
	if f.Status != 0 && (f.Status < 300 || f.Status > 599) {
		wrong = append(wrong, fmt.Errorf("status %d must be between 300 and 599", f.Status))
	}
	for _, name := range f.Endpoints {
		if _, ok := endpointByName(name); !ok {
			wrong = append(wrong, fmt.Errorf("endpoint %q is not known: use %s", name, endpointNames()))
		}
	}
	return errors.Join(wrong...)
}

// troubles are Faults in force: with the bucket of their rate limit.
type troubles struct {
	Faults
	bucket *rate.Limiter // nil for no limit
	only   [endpoints]bool
}

func (f Faults) begin() *troubles {
	t := &troubles{Faults: f}
	if f.RateLimit > 0 {
		t.bucket = rate.NewLimiter(rate.Limit(f.RateLimit), max(1, int(f.RateLimit)))
	}
	for i := range t.only {
		t.only[i] = len(f.Endpoints) == 0
	}
	for _, name := range f.Endpoints {
		if e, ok := endpointByName(name); ok {
			t.only[e] = true
		}
	}
	return t
}

// calm is what endpoints meet that do not break.
var calm = Faults{}.begin()

// for endpoint e, what breaks.
func (t *troubles) at(e endpoint) *troubles {
	if t.only[e] {
		return t
	}
	return calm
}
