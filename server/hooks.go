package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/enricher"
	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/triggers"
)

// Rules are the part of the config that a webhook meets. They are replaced as a whole when
// the config is reloaded, so a request sees one config from its first byte to its last.
type Rules struct {
	Receivers map[string]*connectors.Connector
	Triggers  *triggers.Set
	PublicURL string         // as senders know us; "" takes it from the request
	Proxies   []netip.Prefix // whose X-Forwarded-* is believed
}

// A Ledger makes events last. Package store is the real one.
type Ledger interface {
	// Accept stores the events of one request in one commit and returns once it is on disk.
	Accept(ctx context.Context, plans []nudgewire.Plan) ([]nudgewire.Receipt, error)
	// Refuse keeps a trace of a request that was not taken.
	Refuse(ctx context.Context, r nudgewire.Refusal) error
}

// HooksOptions are what Hooks is made of.
type HooksOptions struct {
	Rules  *atomic.Pointer[Rules]
	Ledger Ledger
	Log    *zap.Logger
	Now    func() time.Time
	// Memory bounds the bodies held at one time, in bytes; beyond it a sender is told to come
	// back. 0 is 64 MiB.
	Memory int64
	// Ready says why the daemon cannot take webhooks at present; nil when it can.
	Ready func(context.Context) error
	// Held says whether damage keeps everything from being sent; nil is never.
	Held func() bool
}

// Hooks is the public door: POST /hooks/{connector}, GET /healthz and GET /readyz.
type Hooks struct {
	HooksOptions
	held   atomic.Int64  // bytes of bodies in memory, with a charge for each request
	traces *rate.Limiter // of refusals kept: a flood of them must not become a flood of writes
}

// requestCharge is what a request weighs beside its body: connection buffers and a stack.
const requestCharge = 16 << 10

// refusalsKept is how many refusals are written each second; the rest are only counted.
const refusalsKept = 50

// NewHooks returns the public door.
func NewHooks(o HooksOptions) *Hooks {
	if o.Memory == 0 {
		o.Memory = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Hooks{HooksOptions: o, traces: rate.NewLimiter(refusalsKept, refusalsKept)}
}

// Handler routes the public listener. Every path that is not listed is 404, and nothing here
// shows or changes what the daemon holds.
func (h *Hooks) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hooks/{connector}", h.hook)
	mux.HandleFunc("/hooks/{connector}/{token}", h.hook)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", h.ready)
	return mux
}

func (h *Hooks) ready(w http.ResponseWriter, r *http.Request) {
	if h.Ready != nil {
		if err := h.Ready(r.Context()); err != nil {
			// Anybody may ask, so the reason goes to the log and not to them.
			h.Log.Warn("not ready", zap.Error(err))
			say(w, http.StatusServiceUnavailable, "not ready")
			return
		}
	}
	if h.Held != nil && h.Held() {
		say(w, http.StatusOK, "ready for webhooks; nothing is sent until the damage is reviewed")
		return
	}
	say(w, http.StatusOK, "ready")
}

// hook serves one webhook. The senders' own shapes of answer come from the connector.
func (h *Hooks) hook(w http.ResponseWriter, r *http.Request) {
	reply, body, err := h.take(w, r)
	if err != nil {
		h.refuse(w, r, body, err)
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

// take is the way of a webhook from the wire to the disk. The body comes back, too, as far as
// it was read.
func (h *Hooks) take(w http.ResponseWriter, r *http.Request) (reply connectors.Reply, body []byte, err error) {
	rules := h.Rules.Load()
	c, ok := rules.Receivers[r.PathValue("connector")]
	if !ok {
		return reply, nil, &connectors.Refused{
			Status: http.StatusNotFound, Stage: "connector", Public: "no such connector",
			Reason: "no connector of this name in the config",
		}
	}
	charge := requestCharge + c.MaxBody()
	if n := r.ContentLength; n >= 0 && n < c.MaxBody() {
		charge = requestCharge + n
	}
	if h.held.Add(charge) > h.Memory {
		h.held.Add(-charge)
		return reply, nil, errBusy
	}
	defer h.held.Add(-charge)

	body, err = readBody(w, r, c.MaxBody())
	if err != nil {
		return reply, nil, err
	}
	now := h.Now()
	got, err := c.Receive(connectors.Request{
		Method: r.Method, URL: calledURL(r, rules), Path: r.URL.Path, RawQuery: r.URL.RawQuery,
		Header: r.Header, Body: body, Remote: remote(r, rules.Proxies), Now: now,
	})
	if err != nil {
		return reply, body, err
	}
	if got.Unproven != "" {
		// Mode monitor: taken, and what would have been wrong is kept, so that one can tell when
		// it is safe to enforce.
		h.keep(r, nil, &connectors.Refused{Status: got.Reply.Status, Stage: "monitor", Reason: got.Unproven})
	}
	if len(got.Events) == 0 {
		return got.Reply, body, nil
	}
	plans := make([]nudgewire.Plan, len(got.Events))
	for i := range got.Events {
		plans[i] = enricher.First(c, rules.Triggers, &got.Events[i], now)
	}
	// The sender may hang up while the commit is under way. What it sent is welcome all the
	// same: dropping it now would make its retry the first one we know of.
	receipts, err := h.Ledger.Accept(context.WithoutCancel(r.Context()), plans)
	if err != nil {
		return reply, body, err
	}
	if got.Reply.Body == nil && got.Reply.ContentType == "" {
		got.Reply.ContentType, got.Reply.Body = "application/json", receiptBody(receipts)
	}
	return got.Reply, body, nil
}

// receiptBody tells a sender that reads answers which events it made:
// {"events":[12,13],"duplicates":1}.
func receiptBody(receipts []nudgewire.Receipt) []byte {
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
	return append(out, '}', '\n')
}

// errBusy is the answer while more is held in memory than is good.
var errBusy = &connectors.Refused{
	Status: http.StatusServiceUnavailable, Stage: "overload", Public: "busy, try again",
	Reason: "too many requests at one time",
}

// readBody reads at most limit bytes, whether or not the sender said how many would come.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	in := http.MaxBytesReader(w, r.Body, limit)
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(in, body)
	} else {
		body, err = io.ReadAll(in)
	}
	if err == nil {
		return body, nil
	}
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return nil, tooLarge(limit)
	}
	return nil, &connectors.Refused{
		Status: http.StatusBadRequest, Stage: "body", Public: "body cut short",
		Reason: "the body ended early: " + err.Error(),
	}
}

func tooLarge(limit int64) *connectors.Refused {
	return &connectors.Refused{
		Status: http.StatusRequestEntityTooLarge, Stage: "size", Public: "body too large",
		Reason: "the body is larger than " + strconv.FormatInt(limit, 10) + " bytes; raise max_body if the sender is right",
	}
}

// refuse answers a request that was not taken and keeps a trace of it.
func (h *Hooks) refuse(w http.ResponseWriter, r *http.Request, body []byte, err error) {
	no, ok := errors.AsType[*connectors.Refused](err)
	switch {
	case errors.Is(err, store.ErrOverloaded):
		no = errBusy
	case !ok:
		// Ours, not the sender's: it may come again when we are well.
		h.Log.Error("webhook not stored", zap.String("connector", r.PathValue("connector")), zap.Error(err))
		no = &connectors.Refused{Status: http.StatusServiceUnavailable, Stage: "store", Public: "not stored, try again", Reason: err.Error()}
	}
	if no.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	if no.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", strings.Join(no.Allow, ", "))
	}
	if no.Status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close") // what is left of the body is not worth reading
	}
	if no.Stage != "overload" && no.Stage != "store" {
		h.keep(r, body, no)
	}
	say(w, no.Status, no.Public)
}

// sampleSize is how much of a body is kept with its refusal.
const sampleSize = 512

// keep stores a trace of a request that was not taken, or was taken unproven. A part of the
// body goes with it only where the request was proven and could not be read: a stranger's
// words are not worth keeping.
func (h *Hooks) keep(r *http.Request, body []byte, no *connectors.Refused) {
	if !h.traces.Allow() {
		return
	}
	name := strings.ToValidUTF8(r.PathValue("connector"), "?")
	f := nudgewire.Refusal{
		Connector: name[:min(len(name), 100)], Status: no.Status, Stage: no.Stage, Reason: no.Reason,
		Method: r.Method, Bytes: int(max(0, r.ContentLength, int64(len(body)))), At: h.Now(),
	}
	if no.Stage == connectors.StageBody || no.Stage == connectors.StageMap {
		f.Sample = strings.ToValidUTF8(string(body[:min(len(body), sampleSize)]), "?")
	}
	if err := h.Ledger.Refuse(context.WithoutCancel(r.Context()), f); err != nil {
		h.Log.Warn("refusal not stored", zap.String("connector", f.Connector), zap.Error(err))
	}
	h.Log.Info("webhook refused", zap.String("connector", f.Connector), zap.Int("status", no.Status),
		zap.String("stage", no.Stage), zap.String("reason", no.Reason))
}

// calledURL is the address the sender believes it called, which some of them sign.
func calledURL(r *http.Request, rules *Rules) string {
	if rules.PublicURL != "" {
		return strings.TrimSuffix(rules.PublicURL, "/") + r.URL.RequestURI()
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if trusted(peer(r), rules.Proxies) {
		if s := r.Header.Get("X-Forwarded-Proto"); s == "https" || s == "http" {
			scheme = s
		}
		if s := r.Header.Get("X-Forwarded-Host"); s != "" {
			host = s
		}
	}
	return scheme + "://" + host + r.URL.RequestURI()
}

// peer is the address at the other end of the connection.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// remote is the sender's address: the last one in X-Forwarded-For that a trusted proxy did
// not add itself, else the peer's. Earlier entries are the sender's own claim.
func remote(r *http.Request, proxies []netip.Prefix) netip.Addr {
	at := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && trusted(at, proxies); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		at = next.Unmap()
	}
	return at
}

func trusted(addr netip.Addr, proxies []netip.Prefix) bool {
	for _, p := range proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// say answers in one small JSON shape, so that a person with curl can read it.
func say(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	key := "status"
	if status >= http.StatusBadRequest {
		key = "error"
	}
	w.Write([]byte(`{"` + key + `":` + strconv.Quote(words) + "}\n"))
}
