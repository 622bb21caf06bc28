package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A call is one send as the service saw it.
type call struct {
	at       time.Time
	template string
	phone    string
	status   int
}

// A ward is a service that is unwell as its script says, and logs each send.
type ward struct {
	t       *testing.T
	address string
	fails   func(request) int // the status of a refusal, 0 to take it
	all     bool              // also questions, of whatever message
	words   string
	after   time.Duration // Retry-After

	mu     sync.Mutex
	log    []call
	mended bool
	serves *http.Server
}

func (w *ward) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var in request
	asks := r.Method == http.MethodGet
	if !asks {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.t.Errorf("the service was asked for something else: %v", err)
		}
	}
	status := 0
	if !w.mended && (!asks || w.all) {
		status = w.fails(in)
	}
	if !asks {
		w.log = append(w.log, call{time.Now(), in.Template, in.Phone, status})
	}
	switch {
	case status != 0:
		if w.after > 0 {
			out.Header().Set("Retry-After", strconv.Itoa(int(w.after/time.Second)))
		}
		out.WriteHeader(status)
		_, _ = fmt.Fprintf(out, `{"success":false,"error":%q}`, w.words)
	case asks:
		_, _ = io.WriteString(out, `{"success":true,"message_id":1,"status":"delivered","delivered":true}`)
	default:
		_, _ = fmt.Fprintf(out, `{"success":true,"message_id":%d}`, len(w.log))
	}
}

// opens has it listen, at the address that it had before.
func (w *ward) opens() {
	w.t.Helper()
	var lc net.ListenConfig
	var l net.Listener
	var err error
	for range 100 { // the port is nobody else's, and may take a moment to be free
		if l, err = lc.Listen(w.t.Context(), "tcp", w.address); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.address, w.serves = l.Addr().String(), &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(l) }(w.serves)
}

// mend has it take everything from now on, and gives the log until then.
func (w *ward) mend() []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mended = true
	return slices.Clone(w.log)
}

func (w *ward) calls() []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// taken is how many sends of a template were taken.
func (w *ward) taken(template string) (n int) {
	for _, one := range w.calls() {
		if one.template == template && one.status == 0 {
			n++
		}
	}
	return n
}

const wardConfig = `
defaults: {country: GB, language: en, quiet_hours: off, limit: off}
connectors: {generic: {secret: "${SHOP_SECRET}"}}
triggers:
  code: {on: generic.code, category: authentication, send: {template: code}}
  parcel: {on: generic.parcel, category: utility, send: {template: parcel}}
  promo: {on: generic.promo, category: marketing, send: {template: promo}}
  bad0: {on: generic.bad0, category: LANE, send: {template: bad0}}
  bad1: {on: generic.bad1, category: LANE, send: {template: bad1}}
  bad2: {on: generic.bad2, category: LANE, send: {template: bad2}}
  bad3: {on: generic.bad3, category: LANE, send: {template: bad3}}
  bad4: {on: generic.bad4, category: LANE, send: {template: bad4}}
tracking: {poll: [1s]}
`

// Each cause of a halt, each lane that meets it: what is halted by status, what goes on meanwhile by the service's log, who is asked first once
// there is something to ask (the most urgent lane that is halted, with another template and for another phone than failed), and that in the
// end everything that waited went once and nothing was dropped.
func TestLanesHaltsAndProbes(t *testing.T) {
	t.Parallel()
	goods := map[messaging.Category]string{messaging.Authentication: "code", messaging.Utility: "parcel", messaging.Marketing: "promo"}
	bad := func(status int) func(request) int {
		return func(r request) int {
			if strings.HasPrefix(r.Template, "bad") {
				return status
			}
			return 0
		}
	}
	everything := func(status int) func(request) int { return func(request) int { return status } }
	for name, tt := range map[string]struct {
		kinds   []string // of the messages that meet it, one after the other
		fails   func(request) int
		account bool // all that the service is asked is answered so
		words   string
		after   time.Duration
		shut    bool
		cause   string // in status; "" halts nothing
		lane    bool   // halts their lane alone
		told    messaging.TroubleCode
		ends    []messaging.State // of what met it, in the end
	}{
		"the key is refused": {
			kinds: []string{"bad0"}, fails: everything(401), account: true, words: "no", cause: "key", told: messaging.TroubleKey, ends: []messaging.State{messaging.StateAccepted},
		},
		"points are used up": {
			kinds: []string{"bad0"}, fails: everything(402), account: true, words: "no", cause: "points", told: messaging.TroublePoints, ends: []messaging.State{messaging.StateAccepted},
		},
		"it answers 503": {
			kinds: []string{"bad0", "bad0", "bad0"}, fails: everything(503), account: true, words: "no", cause: "outage", told: messaging.TroubleOutage,
			ends: []messaging.State{messaging.StateInDoubt, messaging.StateAccepted},
		},
		"nobody listens": {
			kinds: []string{"bad0", "bad0"}, fails: everything(0), shut: true, cause: "outage", told: messaging.TroubleOutage, ends: []messaging.State{messaging.StateAccepted},
		},
		"the address is wrong": {
			kinds: []string{"bad0", "bad0", "bad0"}, fails: bad(404), words: "no", cause: "address", lane: true, told: messaging.TroubleAddress,
			ends: []messaging.State{messaging.StateAccepted, messaging.StateRejected},
		},
		"different templates are refused alike": {
			kinds: []string{"bad0", "bad1", "bad2", "bad3", "bad4"}, fails: bad(422), words: "the account is not verified", cause: "rejections", lane: true, told: messaging.TroubleRejections,
			ends: []messaging.State{messaging.StateAccepted, messaging.StateRejected},
		},
		"one template is refused": {
			kinds: slices.Repeat([]string{"bad0"}, 6), fails: bad(400), words: "no such template", told: messaging.TroubleTemplate,
			ends: []messaging.State{messaging.StateAccepted, messaging.StateRejected},
		},
		"it asks to come later": {
			kinds: []string{"bad0"}, fails: everything(429), words: "slow", after: 3 * time.Second, ends: []messaging.State{messaging.StateAccepted},
		},
		"a contact has got enough": {
			kinds: []string{"bad0"}, fails: bad(400), words: "limit per recipient reached", ends: []messaging.State{messaging.StateWaiting},
		},
		"one message finds no points": {
			kinds: []string{"bad0"}, fails: bad(402), words: "insufficient points", ends: []messaging.State{messaging.StateAccepted, messaging.StateWaiting},
		},
	} {
		for _, lane := range messaging.Lanes {
			t.Run(name+", "+string(lane), func(t *testing.T) {
				t.Parallel()
				address, err := testserver.FreeAddress() // it closes and opens again there
				if err != nil {
					t.Fatal(err)
				}
				w := &ward{t: t, address: address, fails: tt.fails, all: tt.account, words: tt.words, after: tt.after}
				w.opens()
				t.Cleanup(func() { _ = w.serves.Close() })
				h := open(t, options{
					api:    "{base_url: http://" + w.address + "/api/v1, key: \"${API_KEY}\", rate: 5000/s, timeout: 30s}",
					config: strings.ReplaceAll(wardConfig, "LANE", string(lane)),
				})
				if tt.shut {
					_ = w.serves.Close()
				}
				for i, kind := range tt.kinds {
					h.crmEvent(kind, 100+i)
				}
				// What is halted.
				halted := func() []messaging.SendingHalt { return h.status().Daemon.Halts }
				if tt.cause != "" {
					h.eventually("it is halted", func() bool {
						v := halted()
						want := messaging.Category("")
						if tt.lane {
							want = lane
						}
						return len(v) == 1 && v[0].Cause == tt.cause && v[0].Lane == want
					})
				} else {
					h.eventually("it was met", func() bool {
						n := 0
						for _, one := range w.calls() {
							if one.status != 0 {
								n++
							}
						}
						return n >= min(len(tt.kinds), 5) && (tt.after == 0 || h.status().Sending == 0) // and the answer was read
					})
				}
				if tt.told != "" {
					h.eventually("status tells it", func() bool {
						return slices.ContainsFunc(h.status().Troubles, func(one messaging.Trouble) bool { return one.Code == tt.told && one.Hint != "" })
					})
				}
				// What goes on: the least urgent come first, so that their order is no help.
				before := len(w.calls())
				for _, kind := range []string{"promo", "parcel", "code"} {
					h.crmEvent(kind, 10)
				}
				if !tt.account && !tt.shut && tt.after == 0 {
					h.eventually("what the service takes goes", func() bool {
						for other, good := range goods {
							if (!tt.lane || other != lane) && w.taken(good) != 1 {
								return false
							}
						}
						return true
					})
				} else if tt.after == 0 {
					h.eventually("all wait", func() bool { s := h.status(); return s.Sending == 0 && s.Waiting >= 3 })
				}
				// Who is asked first.
				var until []call
				if tt.shut {
					until = w.calls()
					w.opens()
				} else if !tt.lane && tt.cause != "" || tt.after > 0 {
					until = w.mend()
				}
				switch {
				case tt.after > 0:
					h.eventually("it is asked again", func() bool { return len(w.calls()) > before })
					first, next := w.calls()[0], w.calls()[1]
					if apart := next.at.Sub(first.at); apart < tt.after {
						t.Errorf("it is asked again after %v, and asked for %v", apart, tt.after)
					}
				case tt.lane:
					h.eventually("the lane is asked", func() bool { return w.taken(goods[lane]) == 1 })
					for _, one := range w.calls()[before:] {
						if one.template == goods[lane] {
							break
						}
						if strings.HasPrefix(one.template, "bad") {
							t.Errorf("before its probe the lane was asked with %s, which failed", one.template)
						}
					}
				case tt.cause != "":
					h.eventually("it is asked", func() bool { return len(w.calls()) > len(until) })
					failed := map[string]bool{}
					for _, one := range until {
						failed[one.template] = true
					}
					probe := w.calls()[len(until)]
					for _, category := range messaging.Lanes {
						if good := goods[category]; !failed[good] {
							if probe.template != good {
								t.Errorf("the probe is %s, want %s; %+v", probe.template, good, w.calls())
							}
							break
						}
					}
				}
				// In the end.
				for _, good := range goods {
					h.eventually(good+" went", func() bool { return w.taken(good) == 1 })
				}
				if tt.lane {
					w.mend()
				}
				h.eventually("nothing is halted", func() bool { return len(halted()) == 0 })
				w.mend()
				if tt.told == messaging.TroubleTemplate && w.taken("bad0") == 0 {
					_ = h.resumes("template", "bad0") // a probe may have been faster
				}
				h.eventually("each ended as it should", func() bool {
					return !slices.ContainsFunc(h.messages(), func(m server.MessageView) bool {
						good := !strings.HasPrefix(m.Trigger, "bad")
						return good && m.State != messaging.StateAccepted || !good && !slices.Contains(tt.ends, m.State)
					})
				})
				phones := map[string]int{}
				for _, one := range w.calls() {
					if one.status == 0 {
						phones[one.template+one.phone]++
					}
				}
				for one, n := range phones {
					if n != 1 {
						t.Errorf("%s was taken %d times", one, n)
					}
				}
			})
		}
	}
}
