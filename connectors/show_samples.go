package connectors

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Sign makes of r the request to which Receive says yes: for trying a connector out without its sender. The headers of r
// are kept; its URL and its body are others where the proof is part of them.
//
// Errors: senders that sign with a private key cannot be imitated without one, and a token
// that is a field of the body must already be there.
func (c *Connector) Sign(r Request) (Request, error) {
	r.URL = c.address(r)
	out := signing{header: r.Header.Clone(), url: r.URL, body: r.Body}
	if out.header == nil {
		out.header = http.Header{}
	}
	signed := r
	signed.Header = out.header
	if err := c.verify.sign(&signed, &out); err != nil {
		return r, err
	}
	r.Header, r.URL, r.Body = out.header, out.url, out.body
	path, query, _ := strings.Cut(out.url, "?")
	if r.RawQuery = query; c.TakesPath() { // the rest of the path is the daemon's own, which a proxy's may be another than
		r.Path = "/hooks/" + c.name + path[strings.LastIndexByte(path, '/'):]
	}
	return r, nil
}

// A Sample is an invented request in the sender's shape.
type Sample struct {
	Name   string
	Kind   string
	Topic  string
	Page   string // the sender's page that shows such a body; "" if the connector names none
	Method string
	Header map[string]string
	Body   []byte
}

// Samples are the connector's samples at a moment that never changes, so that their bytes
// can be compared.
func (c *Connector) Samples() []Sample {
	return c.SamplesAt(sampleTime, 1)
}

var sampleTime = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// SamplesAt are the connector's samples as sent at now. n goes into their ids: samples with
// different n are different events, samples with the same n belong together (a cart and the
// order that follows it).
func (c *Connector) SamplesAt(now time.Time, n int) []Sample {
	secret := ""
	if len(c.secrets) > 0 {
		secret = c.secrets[0]
	}
	return samplesOf(&c.config, now, n, secret)
}

// SamplesWithoutSecret are SamplesAt for somebody who need not know the secret: where it is part of one stands <<secret>>.
func (c *Connector) SamplesWithoutSecret(now time.Time, n int) []Sample {
	return samplesOf(&c.config, now, n, "")
}

// FillSample puts the moment and the number into a body that holds <<now>>, <<unix>>, <<millis>> or <<n>>, as
// samples do: a body in a file would be too old for its sender's proof one day.
func FillSample(body []byte, now time.Time, n int) []byte {
	return []byte(sampleMarks(now, n, "").Replace(string(body)))
}

func sampleMarks(now time.Time, n int, secret string) *strings.Replacer {
	marks := []string{
		"<<now>>", now.UTC().Format(time.RFC3339),
		"<<unix>>", strconv.FormatInt(now.Unix(), 10),
		"<<millis>>", strconv.FormatInt(now.UnixMilli(), 10),
		"<<n>>", strconv.Itoa(n),
	}
	if secret != "" {
		marks = append(marks, "<<secret>>", secret)
	}
	return strings.NewReplacer(marks...)
}

func samplesOf(c *Config, now time.Time, n int, secret string) []Sample {
	fill := sampleMarks(now, n, secret)
	out := make([]Sample, 0, len(c.Samples))
	for _, s := range c.Samples {
		one := Sample{Name: s.Name, Kind: s.Kind, Topic: s.Topic, Page: s.Page, Method: s.Method, Header: map[string]string{}}
		if one.Method == "" {
			one.Method = http.MethodPost
		}
		for _, h := range s.Header {
			one.Header[http.CanonicalHeaderKey(h.Key)] = fill.Replace(h.Value)
		}
		one.Body = []byte(fill.Replace(strings.TrimSuffix(s.Body, "\n")))
		out = append(out, one)
	}
	return out
}

// takeSample takes one of Samples as if it had come, proven.
func (c *Connector) takeSample(s *Sample) (Received, error) {
	r := Request{Method: s.Method, Header: http.Header{}, Body: s.Body, Now: sampleTime}
	for name, value := range s.Header {
		r.Header.Set(name, value)
	}
	return c.take(&r, Received{})
}

// A SampleEvent is an event that one of the connector's samples becomes.
type SampleEvent struct {
	Sample string // its name
	messaging.Event
}

// SampleEvents are the events of a kind among the samples, but for those that a look-up would complete: nobody knows what they will have.
func (c *Connector) SampleEvents(kind string) (events []SampleEvent) {
	for _, s := range c.Samples() {
		if s.Kind != kind {
			continue
		}
		got, err := c.takeSample(&s)
		if err != nil {
			continue // of a body that is not taken nothing is known
		}
		for i := range got.Events {
			e := &got.Events[i]
			if l, _, err := c.next(e); e.Kind == kind && l == nil && err == nil {
				e.ReceivedAt = sampleTime
				events = append(events, SampleEvent{s.Name, *e})
			}
		}
	}
	return events
}
