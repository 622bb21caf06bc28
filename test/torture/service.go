package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A call is what one message asks of the service: customers have a phone each.
type call struct{ phone, template string }

// A service is the sandbox behind a listener that can go away, with a memory of every
// request that arrived, whatever became of it.
type service struct {
	box     *sandbox.Sandbox
	address string

	mu       sync.Mutex
	server   *http.Server // nil while the service is down
	serving  sync.WaitGroup
	asked    []time.Time // when requests of any kind arrived
	arrivals map[call][]time.Time
	taken    map[call][]time.Time     // accepted, by when the request arrived
	waiting  map[string]chan struct{} // closed when the phone's first reminder arrives
}

func newService(ctx context.Context, key string, seed uint64) (*service, error) {
	s := &service{arrivals: map[call][]time.Time{}, taken: map[call][]time.Time{}, waiting: map[string]chan struct{}{}}
	s.box = sandbox.New(sandbox.Options{
		Keys: []string{key}, Seed: seed, OnRequest: s.record, Points: -1,
		Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}, {Name: "news", Language: "en", ID: 1042, Variables: -1}},
		Pace:      sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
	})
	var err error
	if s.address, err = testserver.FreeAddress(); err != nil {
		return nil, err
	}
	return s, s.up(ctx)
}

// up begins to listen.
func (s *service) up(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.server = server
	s.serving.Go(func() { _ = server.Serve(l) }) // its end is the close below
	return nil
}

// down cuts every connection; from then on none is taken.
func (s *service) down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	s.server = nil
	return err
}

func (s *service) close() error {
	s.box.Close()
	err := s.down()
	s.serving.Wait()
	return err
}

// maxCall is more than any send of the config has.
const maxCall = 64 << 10

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	s.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/send-template") {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxCall))
		if err != nil {
			panic(http.ErrAbortHandler) // the daemon was killed while it wrote
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m struct{ Phone, Template string }
		if json.Unmarshal(body, &m) == nil {
			s.arrive(call{m.Phone, m.Template})
		}
	}
	s.box.Handler().ServeHTTP(w, r)
}

func (s *service) arrive(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals[c] = append(s.arrivals[c], time.Now())
	if first := s.waiting[c.phone]; c.template == reminder && first != nil {
		close(first)
		delete(s.waiting, c.phone)
	}
}

// arrived is closed when the phone's first reminder from now on arrives.
func (s *service) arrived(phone string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := make(chan struct{})
	s.waiting[phone] = first
	return first
}

// record is told of each request by the sandbox.
func (s *service) record(r sandbox.Record) {
	if r.Messages == 0 || r.Kind != "template" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := call{r.Phone, r.Name}
	s.taken[c] = append(s.taken[c], r.At)
}

// requests are the times at which requests of any kind arrived, in their order.
func (s *service) requests() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(slices.Values(s.asked), time.Time.Compare)
}

// accepted is when the service took what c asks for: the times at which the requests arrived.
func (s *service) accepted(c call) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.taken[c]...)
}

// saw reports whether a request of c arrived since then.
func (s *service) saw(c call, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.arrivals[c]
	return len(all) > 0 && !all[len(all)-1].Before(since)
}

// reachable reports whether the service listens.
func (s *service) reachable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server != nil
}

// between counts the sends that arrived in a span of time.
func (s *service) between(from, to time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.arrivals {
		for _, at := range all {
			if at.After(from) && at.Before(to) {
				n++
			}
		}
	}
	return n
}
