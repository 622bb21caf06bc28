package webhooks

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// Rules are the part of the config that a webhook meets. They are replaced as a whole when
// the config is reloaded, so a request sees one config from its first byte to its last.
type Rules struct {
	Receivers map[string]*connectors.Connector
	Triggers  *triggers.Set
	PublicURL string                    // as senders know us; "" takes it from the request
	Proxies   []netip.Prefix            // whose X-Forwarded-For is believed
	Callers   map[string]*x509.CertPool // who vouches for those who connect, by connector; of those that ask
}

// A Store makes events last. Package store is the real one.
type Store interface {
	// Accept stores the events of one request in one commit and returns once it is on disk.
	Accept(ctx context.Context, plans []messaging.Plan) ([]messaging.Receipt, error)
	// RejectRequest keeps a trace of a request that was not taken, and counts it.
	RejectRequest(ctx context.Context, r messaging.RejectedRequest) error
	// CountUnused counts something that came to nothing and of which no event is stored.
	CountUnused(ctx context.Context, why messaging.Unused, e messaging.Event) error
	// Event is a stored event.
	Event(ctx context.Context, id messaging.EventID) (messaging.Event, error)
	// CountRejectedRequests counts n requests that were not taken and of which no trace is kept.
	CountRejectedRequests(ctx context.Context, n int64) error
}

// Options are what Hooks is made of.
type Options struct {
	Rules *atomic.Pointer[Rules]
	Store Store
	Log   *zap.Logger
	Now   func() time.Time
	// Memory bounds the bodies held at one time, in bytes; beyond it a sender is told to come
	// back. 0 is 64 MiB.
	Memory int64
	// Connections bounds those that are open at one time. 0 is three quarters of the files that the
	// system lets the process open, at most 10,000. No more than 1,200 of them wait to show a verified webhook.
	Connections int
	// DiskShort says that there is hardly any disk left; nil never is. Requests of connectors that verify nothing
	// are not taken then.
	DiskShort func() bool
	// Samples keeps the beginning of a body that was verified and could not be read.
	Samples bool
	// Ready says why the daemon cannot take webhooks at present; nil when it can.
	Ready func(context.Context) error
	// Answered is told of each webhook when its answer is known; nil is nobody. The goroutine of the request waits for it.
	Answered func(*AnsweredHook)
	// Unreviewed says what a person has to review before anything is sent, "the damage"; "" for nothing, and nil is never.
	Unreviewed func() string
}

// An AnsweredHook is a webhook and what it was answered.
type AnsweredHook struct {
	Request      string // its id
	Connector    string // a name of the config, or "(unknown)"
	Status       int
	Stage        string // where it was rejected; "" for one that was taken
	Began, Ended time.Time
	Receipts     []messaging.Receipt // of its events, in their order
}

// Hooks is the public door: POST /hooks/{connector}, GET /healthz and GET /readyz.
type Hooks struct {
	Options
	memory      budget
	connLimiter *listeners.Connections
	turned      tally
	traces      traces
	rates       rates
	repeats     Repeats
	refusing    storeFailures
	lines       struct{ notStored, notKept, notReady, turned listeners.LogLimiter }
}

// New returns the public door.
func New(o Options) *Hooks {
	if o.Memory == 0 {
		o.Memory = 64 << 20
	}
	if o.Connections == 0 {
		o.Connections = mostOpen(disk.Files())
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Hooks{Options: o}
	h.memory = budget{most: o.Memory, by: map[netip.Addr]*tenant{}}
	h.connLimiter = listeners.NewConnections(o.Connections, min(mostConnections, max(1, o.Connections/2)), mostWaiting)
	h.traces = traces{kinds: map[traceKey]*rate.Limiter{}, strange: map[strangeKey]*rate.Limiter{}}
	h.rates.by = map[string]*rate.Limiter{}
	return h
}

const (
	// mostConnections is how many connections one address may have open.
	mostConnections = 1000
	// mostWaiting is how many connections without a verified webhook are held: net/http needs some 40 kB for each.
	mostWaiting = 1200
)

// mostOpen leaves a quarter of the files that may be open to the data and to calls.
func mostOpen(files int) int {
	const most = 10_000
	if files == 0 {
		return most
	}
	return max(1, min(most, files/4*3))
}

var nosniff = []string{"nosniff"}

// Handler routes the public listener. Every path that is not listed is 404, and nothing here
// shows or changes what the daemon holds.
func (h *Hooks) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Content-Type-Options"] = nosniff
		if h.connLimiter.OverLimit() {
			w.Header().Set("Connection", "close")
		}
		switch path := r.URL.Path; {
		case path != "/healthz" && path != "/readyz":
			h.hook(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			h.away(w)
			listeners.WriteWords(w, http.StatusMethodNotAllowed, "only GET is answered here")
		case path == "/healthz":
			listeners.WriteWords(w, http.StatusOK, "ok")
		default:
			h.ready(w, r)
		}
	})
}

// Opened and Closed keep count of the connections of the listener. A connection that is one too
// many is turned away.
func (h *Hooks) Opened(c net.Conn) (welcome bool) {
	turned, welcome := h.connLimiter.Opened(c, h.Rules.Load().Proxies)
	if turned.IsValid() {
		h.turn(shedConnections, turned)
	}
	return welcome
}

// Closed is told of every connection that Opened was asked about.
func (h *Hooks) Closed(c net.Conn) { h.connLimiter.Closed(c) }

func (h *Hooks) turn(why shedReason, from netip.Addr) { h.turned.add(why, from, h.Now()) }

// Turned says how many webhooks were turned away since the start, and why.
func (h *Hooks) Turned() []TurnedView { return h.turned.views() }

// Run writes what is only counted, until ctx is done: rejected requests without a trace into the store, and
// once a minute what was turned away into the log.
func (h *Hooks) Run(ctx context.Context) error {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	told := map[string]int64{}
	for {
		select {
		case <-ctx.Done():
			h.count(context.WithoutCancel(ctx))
			return nil
		case <-tick.C:
			h.count(ctx)
			h.tellTurned(told)
			h.tellRest()
		}
	}
}

// countEvery is how often counts are written that nothing else writes.
const countEvery = 2 * time.Second

func (h *Hooks) count(ctx context.Context) {
	n := h.traces.counted.Swap(0)
	if n == 0 {
		return
	}
	if err := h.Store.CountRejectedRequests(ctx, n); err != nil {
		h.traces.counted.Add(n)
		if _, ok := h.lines.notKept.Line(h.Now()); ok {
			h.Log.Warn("rejected requests not counted", zap.Error(err))
		}
	}
}

// tellTurned writes a line for each reason that turned webhooks away since the last one; told is
// how many of each were told before.
func (h *Hooks) tellTurned(told map[string]int64) {
	var news []TurnedView
	for _, v := range h.Turned() {
		if v.Count > told[v.Why] {
			news = append(news, v)
		}
	}
	if len(news) == 0 {
		return
	}
	if _, ok := h.lines.turned.Line(h.Now()); !ok {
		return
	}
	for _, v := range news {
		h.Log.Warn("webhooks turned away", zap.String("because", v.Why), zap.Int64("since_last_line", v.Count-told[v.Why]),
			zap.Int64("since_start", v.Count), zap.String("last_from", v.From))
		told[v.Why] = v.Count
	}
}

func (h *Hooks) tellRest() {
	now := h.Now()
	for what, q := range map[string]*listeners.LogLimiter{"webhook not stored": &h.lines.notStored, "rejected request not stored": &h.lines.notKept, "not ready": &h.lines.notReady} {
		if n := q.Rest(now); n > 0 {
			h.Log.Warn(what, zap.Int64("more_within_a_minute", n))
		}
	}
}

func (h *Hooks) ready(w http.ResponseWriter, r *http.Request) {
	err := h.refusing.lately(h.Now())
	if err == nil && h.Ready != nil {
		err = h.Ready(r.Context())
	}
	if err != nil {
		// Anybody may ask, so all that is known goes to the log, and to them what kind of trouble it is.
		if others, ok := h.lines.notReady.Line(h.Now()); ok {
			h.Log.Warn("not ready", zap.Error(err), zap.Int64("more_within_a_minute", others))
		}
		Readiness{Why: engine.Unready(err), Hint: engine.Hint(err)}.write(w)
		return
	}
	v := Readiness{Ready: true}
	what := ""
	if h.Unreviewed != nil {
		what = h.Unreviewed()
	}
	if what != "" {
		v.Note = "webhooks are taken; nothing is sent until " + what + " is reviewed"
	} else if h.DiskShort != nil && h.DiskShort() {
		v.Note = "the disk is short: marketing waits, and webhooks that nothing verifies are turned away"
	}
	v.write(w)
}

// A call is a request on its way in.
type call struct {
	*http.Request
	rules *Rules
	id    string                // of the request, that its answer and every line about it name
	name  string                // of the connector; unknown when there is none
	path  string                // as the connector sees it
	from  netip.Addr            // the sender's address
	to    *connectors.Connector // nil when there is none
	body  []byte                // as far as it was read

	status   int
	stage    string // where it was rejected
	receipts []messaging.Receipt
}

// hook serves one webhook. The senders' own shapes of answer come from the connector.
func (h *Hooks) hook(w http.ResponseWriter, r *http.Request) {
	rules := h.Rules.Load()
	c := call{Request: r, id: listeners.RequestID(r, rules.Proxies), rules: rules, name: unknown, from: listeners.Remote(r, rules.Proxies)}
	w.Header().Set(listeners.RequestHeader, c.id)
	if h.Answered != nil {
		defer func(began time.Time) {
			h.Answered(&AnsweredHook{
				Request: c.id, Connector: c.name, Status: c.status, Stage: c.stage, Began: began, Ended: h.Now(), Receipts: c.receipts,
			})
		}(h.Now())
	}
	reply, err := h.take(w, &c)
	c.status = reply.Status
	if err != nil {
		h.reject(w, &c, err)
		return
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	if reply.ContentType != "" {
		w.Header().Set("Content-Type", reply.ContentType)
	}
	w.WriteHeader(reply.Status)
	w.Write(reply.Body)
}

// take is the way of a webhook from the wire to the disk.
func (h *Hooks) take(w http.ResponseWriter, c *call) (reply connectors.Reply, err error) {
	name, path, ok := hookPath(c.URL)
	to := c.rules.Receivers[name]
	if !ok || to == nil {
		return reply, h.nobody(c, ok)
	}
	c.name, c.path, c.to = name, path, to
	if strings.Count(path, "/") > 2 && !to.TakesPath() {
		return reply, &connectors.Rejected{
			Status: http.StatusNotFound, Stage: stageConnector, Public: "no such connector",
			Reason: "the path goes on behind the connector's name, and this connector takes no token there",
		}
	}
	if by := c.rules.Callers[name]; by != nil {
		if err := certificates.VerifyClient(c.TLS, by, h.Now()); err != nil {
			return reply, &connectors.Rejected{Status: http.StatusUnauthorized, Stage: stageCertificate, Public: certificates.NeedsCertificate, Reason: err.Error()}
		}
	}
	if !to.Verifies() {
		// Who verifies nothing is let in by measure, and before anything is read of it.
		if h.DiskShort != nil && h.DiskShort() {
			return reply, shedError{shedDisk}
		}
		if err := h.measure(to); err != nil {
			return reply, err
		}
	}
	in := connectors.Request{
		Method: c.Method, URL: calledURL(c.Request, c.rules), Path: path, RawQuery: c.URL.RawQuery,
		Header: c.Header, Remote: c.from, Now: h.Now(),
	}
	limit, no := to.Worth(&in, c.ContentLength)
	if limit == 0 {
		return reply, no
	}
	conn := http.NewResponseController(w)
	at, who := listeners.Connection(c.Context()), listeners.AddressBlock(c.from)
	hold := holding{of: &h.memory, who: who, standing: standingOf(h.connLimiter.Proven(at, who)), biggest: to.MaxBody()}
	hold.cut = func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) } // as in bodyReader.some
	if why, ok := hold.more(requestCharge); !ok {
		return reply, shedError{why}
	}
	defer hold.end()

	if c.ContentLength != 0 {
		b := bodyReader{from: c.Body, conn: conn, hold: &hold, limit: limit, began: time.Now()}
		c.body, err = b.all(c.ContentLength)
	}
	hold.done()
	if err != nil {
		if no != nil && errors.Is(err, errBeyond) {
			return reply, no
		}
		return reply, bodyError(err, limit)
	}
	in.Body = c.body
	got, err := to.Receive(in)
	if err != nil {
		return reply, err
	}
	if to.Verifies() && got.Handshake == "" { // a handshake may be anybody's
		h.connLimiter.NoteProven(at, who)
	}
	if to.Verifies() && len(got.Events) > 0 {
		if err := h.measure(to); err != nil {
			return reply, err
		}
	}
	if got.Unverified != "" {
		// Mode monitor: taken, and what would have been wrong is kept, so that one can tell when
		// it is safe to enforce.
		h.keep(c, &connectors.Rejected{Status: got.Reply.Status, Stage: stageMonitor, Reason: got.Unverified})
	}
	if got.Empty > 0 {
		h.keep(c, &connectors.Rejected{Status: got.Reply.Status, Stage: connectors.StageBody, Reason: noEvent(&got)})
	}
	if len(got.Events) == 0 {
		return withReceipts(got, nil), nil
	}
	plans := enricher.Plans(to, c.rules.Triggers, got.Events, c.id, in.Now)
	// The sender may hang up while the commit is under way. What it sent is welcome all the
	// same: dropping it now would make its retry the first one we know of.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), AcceptFor)
	defer cancel()
	receipts, err := h.Store.Accept(ctx, plans)
	if err != nil {
		return reply, err
	}
	c.receipts = receipts
	h.refusing.over()
	h.repeats.Count(ctx, h.Store, to, plans, receipts)
	h.tell(c, plans, receipts)
	return withReceipts(got, receipts), nil
}

// noEvent is the reason of a trace of a request that was taken and has no event in it, or in some of several bodies.
func noEvent(got *connectors.Received) string {
	if len(got.Events)+len(got.Skipped) > 0 {
		return fmt.Sprintf("taken, but there is no event in %d of the bodies in it", got.Empty)
	}
	return "taken, but there is no event in it"
}

// withReceipts is the connector's answer, or where it says nothing what came of the request.
func withReceipts(got connectors.Received, receipts []messaging.Receipt) connectors.Reply {
	if got.Handshake == "" && got.Reply.Body == nil && got.Reply.ContentType == "" {
		got.Reply.ContentType, got.Reply.Body = "application/json", receiptBody(receipts, len(got.Skipped))
	}
	return got.Reply
}

// AcceptFor is how long an event may take to be stored, and a trace of what was rejected. The least patient senders give up after five
// seconds, and count that as their own trouble; one that is told to come again does, and what was stored all the same is known then.
const AcceptFor = 4 * time.Second

// tell writes a line for each event that was taken and for each decision about it, for who looks closely.
func (h *Hooks) tell(c *call, plans []messaging.Plan, receipts []messaging.Receipt) {
	if !h.Log.Core().Enabled(zap.DebugLevel) {
		return
	}
	for i := range receipts {
		r := &receipts[i]
		h.Log.Debug("webhook taken", zap.String("request", c.id), zap.String("connector", c.name), zap.Int64("event", int64(r.EventID)),
			zap.String("kind", mask.Text(plans[i].Event.Kind)), zap.Bool("duplicate", r.Duplicate), zap.Int("decisions", len(r.Decisions)), zap.Int("bytes", len(c.body)))
		if !r.Duplicate {
			enricher.TellDecisions(h.Log, c.id, r)
		}
	}
}

// nobody is the answer for a path that no connector has.
func (h *Hooks) nobody(c *call, isHook bool) error {
	no := &connectors.Rejected{
		Status: http.StatusNotFound, Stage: stageConnector, Public: "no such connector",
		Reason: "no connector of this name in the config: " + listeners.ShownPath(c.URL),
	}
	if !isHook {
		no.Public, no.Reason = "webhooks go to /hooks/NAME", "webhooks go to /hooks/NAME, and this went to "+listeners.ShownPath(c.URL)
	}
	return no
}

// rates are the limiters of connectors that have one.
type rates struct {
	mu sync.Mutex
	by map[string]*rate.Limiter
}

// burstSeconds is how many seconds' worth of a connector's rate may come at once.
const burstSeconds = 10

// measure holds a request to its connector's rate.
func (h *Hooks) measure(to *connectors.Connector) error {
	limit := rate.Limit(to.Rate())
	if limit == 0 {
		return nil
	}
	h.rates.mu.Lock()
	l := h.rates.by[to.Name()]
	if l == nil || l.Limit() != limit {
		l = rate.NewLimiter(limit, max(1, int(limit*burstSeconds)))
		h.rates.by[to.Name()] = l
	}
	h.rates.mu.Unlock()
	if l.Allow() {
		return nil
	}
	return shedError{shedRate}
}

// receiptBody tells a sender that reads answers which events it made:
// {"events":[12,13],"duplicates":1}, and how many items a rule of the connector skipped, if any: "skipped":2.
func receiptBody(receipts []messaging.Receipt, skipped int) []byte {
	out := append(make([]byte, 0, 64), `{"events":[`...)
	duplicates := 0
	for i, r := range receipts {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(r.EventID), 10)
		if r.Duplicate {
			duplicates++
		}
	}
	out = append(out, `],"duplicates":`...)
	out = strconv.AppendInt(out, int64(duplicates), 10)
	if skipped > 0 {
		out = strconv.AppendInt(append(out, `,"skipped":`...), int64(skipped), 10)
	}
	return append(out, '}', '\n')
}

// reject answers a request that was not taken, counts it, and keeps a trace of it.
func (h *Hooks) reject(w http.ResponseWriter, c *call, err error) {
	var no *connectors.Rejected
	var turned shedError
	switch {
	case errors.As(err, &turned):
		h.turn(turned.why, c.from)
		no = turned.rejected()
	case errors.Is(err, commit.ErrOverloaded):
		h.turn(shedStore, c.from)
		no = shedError{shedStore}.rejected()
	case errors.As(err, &no):
	default:
		// Ours, not the sender's: it may come again when we are well.
		if engine.Away(err) != "" {
			h.refusing.now(h.Now(), err)
		}
		if others, ok := h.lines.notStored.Line(h.Now()); ok {
			h.Log.Error("webhook not stored", zap.String("request", c.id), zap.String("connector", c.name), zap.Error(err), zap.Int64("more_within_a_minute", others))
		}
		no = &connectors.Rejected{Status: http.StatusServiceUnavailable, Stage: stageStore, Public: "not stored, try again"}
	}
	c.status, c.stage = no.Status, no.Stage
	switch no.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "5")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", strings.Join(no.Allow, ", "))
	}
	if !wasVerified(no.Stage) && no.Stage != stageStore {
		h.away(w)
	}
	if no.Stage != stageOverload && no.Stage != stageStore {
		h.keep(c, no)
	}
	listeners.WriteWords(w, no.Status, no.Public)
}

// away ends a connection with its answer: what is left of the body is not worth a wait, and a
// connection of an unverified caller is not worth keeping.
func (h *Hooks) away(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(leavePatience)) // as in bodyReader.some
}

// leavePatience is how long the rest of a body is waited for that nobody reads, so that its sender
// gets to read the answer.
const leavePatience = 500 * time.Millisecond

// sampleSize is how much of a body is kept with a rejected request.
const sampleSize = 512

// keep stores a trace of a request that was not taken, or was taken unverified, and counts those
// that there are too many of. A part of the body goes with it only where the request was verified
// and could not be read, and only when that is wanted: a stranger's words are not worth keeping.
func (h *Hooks) keep(c *call, no *connectors.Rejected) {
	verified := wasVerified(no.Stage) && c.to != nil && c.to.Verifies()
	if !h.traces.keeps(c.name, verified, c.from) {
		if no.Status >= http.StatusBadRequest {
			h.traces.counted.Add(1)
		}
		return
	}
	f := messaging.RejectedRequest{
		Connector: c.name, Status: no.Status, Stage: no.Stage, Reason: mask.Text(no.Reason),
		Empty: no.Stage == connectors.StageBody && no.Status < http.StatusBadRequest, Method: c.Method, Bytes: int(max(0, c.ContentLength, int64(len(c.body)))), At: h.Now(),
	}
	if h.Samples && verified {
		f.Sample = sampleOf(c.to.Shown(c.body))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), AcceptFor)
	defer cancel()
	if err := h.Store.RejectRequest(ctx, f); err != nil {
		if others, ok := h.lines.notKept.Line(h.Now()); ok {
			h.Log.Warn("rejected request not stored", zap.String("request", c.id), zap.String("connector", f.Connector), zap.Error(err), zap.Int64("more_within_a_minute", others))
		}
	}
	h.Log.Info("webhook rejected", zap.String("request", c.id), zap.String("connector", f.Connector), zap.Int("status", no.Status),
		zap.String("stage", no.Stage), zap.String("reason", f.Reason))
}

// sampleOf is the beginning of a body without whole phones, and without what the cut leaves of one.
func sampleOf(body []byte) string {
	const phone = 256 // bytes of one with what stands in it, in any script
	read := body[:min(len(body), sampleSize+phone)]
	masked := mask.Text(strings.ToValidUTF8(string(read), "?"))
	return strings.ToValidUTF8(masked[:min(len(masked), sampleSize)], "")
}

// calledURL is the address the sender believes it called, which some of them sign. Behind a proxy
// only public_url knows it, so a config with trusted_proxies has one: what a proxy says in
// X-Forwarded-Host it may have from the stranger.
func calledURL(r *http.Request, rules *Rules) string {
	if rules.PublicURL != "" {
		return strings.TrimSuffix(rules.PublicURL, "/") + r.URL.RequestURI()
	}
	if r.TLS != nil {
		return "https://" + r.Host + r.URL.RequestURI()
	}
	return "http://" + r.Host + r.URL.RequestURI()
}
