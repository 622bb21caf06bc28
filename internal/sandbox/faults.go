package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/time/rate"

	"github.com/nudgewire/nudgewire/internal/units"
)

// Faults are what breaks, of every API request. Rates are shares between 0 and 1, rolled
// anew for each request. The zero value breaks nothing.
type Faults struct {
	Latency       units.Duration `json:"latency,omitempty"`        // before anything else happens
	LatencyJitter units.Duration `json:"latency_jitter,omitempty"` // up to this much more

	RateLimit  float64        `json:"rate_limit,omitempty"`  // requests a second, beyond which the answer is 429 with Retry-After; 0 for no limit
	RetryAfter units.Duration `json:"retry_after,omitempty"` // sent with 429 (else one second) and with the error answers (else nothing)

	ErrorRate float64 `json:"error_rate,omitempty"` // answered with Status, not processed
	Status    int     `json:"status,omitempty"`     // 500 when 0

	CutBefore       float64 `json:"cut_before,omitempty"`        // the connection is closed, not processed
	CutAfter        float64 `json:"cut_after,omitempty"`         // processed, then the connection is closed without an answer
	HangAfterAccept float64 `json:"hang_after_accept,omitempty"` // processed, then never answered
	Junk            float64 `json:"junk,omitempty"`              // processed, then a 2xx answer that nobody can read

	// Endpoints are the only ones that break, by the names in Stats; none means all.
	Endpoints []string `json:"endpoints,omitempty"`
}

// UnmarshalJSON refuses names it does not know and values that make no sense.
func (f *Faults) UnmarshalJSON(text []byte) error {
	type plain Faults // without this method
	var given plain
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil {
		return err
	}
	if err := Faults(given).check(); err != nil {
		return err
	}
	*f = Faults(given)
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

// activeFaults are the Faults that apply now, with the bucket of their rate limit.
type activeFaults struct {
	Faults
	bucket *rate.Limiter // nil for no limit
	only   [endpoints]bool
}

func (f Faults) activate() *activeFaults {
	t := &activeFaults{Faults: f}
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
var calm = Faults{}.activate()

// for endpoint e, what breaks.
func (t *activeFaults) at(e endpoint) *activeFaults {
	if t.only[e] {
		return t
	}
	return calm
}
