package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Sandbox is one account of the service. Make it with New.
type Sandbox struct {
	options   Options
	keys      map[[sha256.Size]byte]bool
	templates map[templateKey]Template
	byID      map[int64]Template
	textPath  string

	book   atomic.Pointer[ledger] // replaced whole by Reset
	faults atomic.Pointer[activeFaults]
	rolls  atomic.Uint64

	countsMu sync.Mutex
	counts   [endpoints]Counts

	origins *http.CrossOriginProtection
	closing sync.Once
	closed  chan struct{}
}

type templateKey struct{ name, language string }

// firstBigID is the first integer that a float64 cannot hold.
const (
	firstID    = 100_001
	firstBigID = 1<<53 + 1
)

// New makes a sandbox. Options.Check says beforehand what would be wrong with o.
func New(o Options) *Sandbox {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pace == (Pace{}) {
		o.Pace = defaultPace
	}
	if len(o.Reasons) == 0 {
		o.Reasons = defaultReasons
	}
	s := &Sandbox{
		options: o, keys: map[[sha256.Size]byte]bool{},
		templates: map[templateKey]Template{}, byID: map[int64]Template{},
		origins: http.NewCrossOriginProtection(), closed: make(chan struct{}),
	}
	if o.TextPath != "" {
		s.textPath = "/" + strings.Trim(o.TextPath, "/")
	}
	for _, k := range o.Keys {
		s.keys[sha256.Sum256([]byte(k))] = true
	}
	for _, t := range o.Templates {
		s.templates[templateKey{t.Name, t.Language}] = t
		if t.ID != 0 {
			s.byID[t.ID] = t
		}
	}
	first := int64(firstID)
	if o.BigIDs {
		first = firstBigID
	}
	s.begin(first)
	return s
}

// begin opens an empty ledger whose first message has the id first.
func (s *Sandbox) begin(first int64) {
	l := newLedger(first, keepMessages, s.options.Points, s.options.Price)
	for _, id := range s.options.Campaigns {
		if id != "*" {
			l.campaign[id] = len(l.campaigns)
			l.campaigns = append(l.campaigns, Campaign{ID: id, Predefined: true})
		}
	}
	s.book.Store(l)
	s.faults.Store(s.options.Faults.activate())
}

// Close ends the handlers that hang or sleep by a fault. The sandbox goes on answering.
func (s *Sandbox) Close() { s.closing.Do(func() { close(s.closed) }) }

// SetFaults breaks what f says from the next request on.
func (s *Sandbox) SetFaults(f Faults) { s.faults.Store(f.activate()) }

// Faults returns what breaks now.
func (s *Sandbox) Faults() Faults { return s.faults.Load().Faults }

// SetPoints makes the balance what it is from the next message on; below 0 it has no end. What
// failed for want of points stays failed.
func (s *Sandbox) SetPoints(points float64) {
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.points = points
}

// Reset forgets messages, contacts, uploads and counts, restores the points, and goes back
// to the faults of the options. Message ids go on, so that no id ever means two messages.
func (s *Sandbox) Reset() {
	old := s.book.Load()
	old.mu.Lock()
	next := old.first + int64(old.next)
	old.mu.Unlock()
	s.begin(next)
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	clear(s.counts[:])
}

// basePath is where the API begins: a client's base URL ends in it.
const basePath = "/api/v1"

// Handler serves the API below /api/v1 and the control endpoints below /_sandbox.
func (s *Sandbox) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Sandbox) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPath) {
		s.control(w, r)
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, basePath)
	if !ok {
		say(http.StatusNotFound, "no such path: the API begins at "+basePath).write(w)
		return
	}
	e, rest := s.route(path)
	ask := request{endpoint: e, rest: rest, now: s.options.Now(), http: r, writer: w}
	s.count(e, func(c *Counts) { c.Requests++ })
	a, fault := s.answer(&ask)
	s.count(e, func(c *Counts) { c.ended(a.status, fault) })
	if s.options.OnRequest != nil {
		s.options.OnRequest(ask.record(a, fault, s.options.Now()))
	}
	switch fault {
	case faultCutBefore, faultCutAfter:
		panic(http.ErrAbortHandler) // the one way to close a connection that HTTP/2 knows, too
	case faultHang:
		s.sleep(r.Context(), -1)
		panic(http.ErrAbortHandler)
	default:
		a.write(w)
	}
}

// The faults as Record names them.
const (
	faultLimit     = "rate limit"
	faultError     = "error"
	faultCutBefore = "cut before"
	faultCutAfter  = "cut after"
	faultHang      = "hang"
	faultJunk      = "junk"
)

// answer decides what a request comes to: what breaks before, the work, what breaks after.
func (s *Sandbox) answer(ask *request) (a reply, fault string) {
	f := s.faults.Load().at(ask.endpoint)
	if f.Latency > 0 || f.LatencyJitter > 0 {
		d := f.Latency.D()
		if f.LatencyJitter > 0 {
			d += time.Duration(s.roll() * float64(f.LatencyJitter))
		}
		// net/http notices that a client is gone only once the body is read; an upload, which
		// streams, sleeps on.
		if ask.endpoint != createWithCSV {
			ask.fetch()
		}
		if !s.sleep(ask.http.Context(), d) {
			return reply{}, faultCutBefore
		}
	}
	switch {
	case f.bucket != nil && !f.bucket.AllowN(ask.now, 1):
		a = say(http.StatusTooManyRequests, "too many requests: at most "+strconv.FormatFloat(f.RateLimit, 'f', -1, 64)+" a second")
		a.retryAfter = max(f.RetryAfter.D(), time.Second)
		return a, faultLimit
	case s.hit(f.CutBefore):
		return reply{}, faultCutBefore
	case s.hit(f.ErrorRate):
		status := f.Status
		if status == 0 {
			status = http.StatusInternalServerError
		}
		a = say(status, "a fault of the sandbox")
		a.retryAfter = f.RetryAfter.D()
		return a, faultError
	}
	a = s.process(ask)
	if a.status != http.StatusOK {
		return a, ""
	}
	switch {
	case s.hit(f.HangAfterAccept):
		return a, faultHang
	case s.hit(f.CutAfter):
		return a, faultCutAfter
	case s.hit(f.Junk):
		a.body = append(a.body[:0], `{"success":tru`...)
		return a, faultJunk
	}
	return a, ""
}

// process does the work of a request.
func (s *Sandbox) process(ask *request) reply {
	if words := s.authorize(ask.http); words != "" {
		return say(http.StatusUnauthorized, words)
	}
	method, work := http.MethodPost, s.sendTemplate
	switch ask.endpoint {
	case sendTemplate:
	case sendCampaign:
		work = s.sendCampaign
	case sendText:
		work = s.sendText
	case createWithCSV:
		work = s.createWithCSV
	case messageStatus:
		method, work = http.MethodGet, s.messageStatus
	default:
		return say(http.StatusNotFound, "no such endpoint")
	}
	if ask.http.Method != method {
		a := say(http.StatusMethodNotAllowed, "method "+ask.http.Method+" is not allowed here: use "+method)
		a.allow = method
		return a
	}
	a, err := work(ask)
	if no, ok := errors.AsType[*refusal](err); ok {
		return say(no.status, no.words)
	}
	if err != nil {
		return say(http.StatusInternalServerError, err.Error())
	}
	return a
}

// sleep waits for d, or for ever when d is below 0, and reports whether nothing cut it short.
func (s *Sandbox) sleep(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	case <-s.closed:
		return false
	}
}
