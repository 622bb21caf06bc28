package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// ConsoleOptions are what Console is made of.
type ConsoleOptions struct {
	API   http.Handler // as Admin gives it
	Pages http.Handler // everything that is not below /api/; nil is nothing. It sees who asks (WhoOf) where that is known
	// Token says whose a bearer token is; ErrUnknownToken for nobody's. nil knows none.
	Token func(ctx context.Context, token string) (access.Who, error)
	// Session says who signed in, by the request's cookie; nil knows nobody.
	Session     func(r *http.Request) (w access.Who, known bool, err error)
	Proxies     func() []netip.Prefix         // whose X-Forwarded-For is believed
	ConnLimiter *listeners.ConsoleConnLimiter // learns whose connections are known; nil for none
	Now         func() time.Time
	Log         *zap.Logger
}

// How often one may ask. A page with all that it shows takes some ten requests.
const (
	eachSecond, eachBurst   = 50, 200             // requests of one token or person
	wrongEvery, wrongBurst  = 6 * time.Second, 20 // wrong tokens of one address
	mostLimits              = 10_000              // tokens and addresses that are remembered
	strangerEach, strangers = 20, 100             // requests of an address that proved nothing
)

// Console is the listener for people and programs: the API below Base, and pages. It finds out who asks; what they may do is said by
// the table of routes.
func Console(o ConsoleOptions) http.Handler {
	c := &console{
		ConsoleOptions: o,
		known:          limits{each: eachSecond, burst: eachBurst},
		wrong:          limits{each: rate.Every(wrongEvery), burst: wrongBurst},
		unknown:        limits{each: strangerEach, burst: strangers},
	}
	return http.HandlerFunc(c.serve)
}

type console struct {
	ConsoleOptions
	known, wrong, unknown limits
}

func (c *console) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	a := admin{AdminOptions: AdminOptions{Log: c.Log}}
	if c.ConnLimiter.OverLimit() {
		w.Header().Set("Connection", "close")
	}
	from := "address " + AddressKey(r, c.Proxies())
	who, known, err := c.who(r, from)
	switch {
	case err != nil:
		if e, is := errors.AsType[*refusal.Error](err); is && e.Wait > 0 {
			w.Header().Set("Connection", "close")
		}
		a.refuse(w, refusalFor(access.Who{}, err))
		return
	case known:
		c.ConnLimiter.Known(r)
		r = r.WithContext(access.WithWho(r.Context(), who))
		if wait := c.known.countRequest(string(who.From)+" "+who.Name, c.Now()); wait > 0 {
			a.refuse(w, refusalFor(who, tooOften(wait)))
			return
		}
	default:
		if wait := c.unknown.countRequest(from, c.Now()); wait > 0 {
			a.refuse(w, refusalFor(who, tooOften(wait)))
			return
		}
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		w.Header().Set("Cache-Control", "no-store")
		c.API.ServeHTTP(w, r)
	case c.Pages != nil:
		c.Pages.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// who finds out who asks, by a token or a session. A wrong token counts against its address, and is looked at all the same: else whoever
// sends wrong ones would lock out the good ones of programs on the same machine. What bounds guessing is the size of a secret; an address
// that sends too many wrong ones is told to wait, and begins a new connection for each.
func (c *console) who(r *http.Request, from string) (w access.Who, known bool, err error) {
	if given := r.Header.Get("Authorization"); given != "" {
		kind, token, _ := strings.Cut(given, " ")
		err = signin.ErrUnknownToken
		if strings.EqualFold(kind, "Bearer") && c.Token != nil {
			w, err = c.Token(r.Context(), strings.TrimSpace(token))
		}
		if !errors.Is(err, signin.ErrUnknownToken) {
			return w, err == nil, c.unsaid(err)
		}
		if wait := c.wrong.countRequest(from, c.Now()); wait > 0 {
			return w, false, tooOften(wait)
		}
		return w, false, &refusal.Error{Status: http.StatusUnauthorized, Words: mask.Text(err.Error()), Hint: "nudgewire token list shows those that there are"}
	}
	if c.Session == nil {
		return w, false, nil
	}
	w, known, err = c.Session(r)
	return w, known, c.unsaid(err)
}

// unsaid keeps why it cannot be found out who asks from those who may be strangers.
func (c *console) unsaid(err error) error {
	if err == nil {
		return nil
	}
	c.Log.Error("who asks cannot be found out", zap.Error(err))
	return &refusal.Error{Status: http.StatusServiceUnavailable, Words: "who asks cannot be found out at present: the data cannot be read", Hint: "try again in a moment"}
}

func tooOften(wait time.Duration) error {
	return &refusal.Error{Status: http.StatusTooManyRequests, Words: "too many requests", Hint: "ask again in " + seconds(wait) + " seconds", Wait: wait}
}

// seconds are whole ones, at least 1.
func seconds(d time.Duration) string { return strconv.Itoa(max(1, int(math.Ceil(d.Seconds())))) }

// limits are how often each of many may ask.
type limits struct {
	each  rate.Limit
	burst int

	mu sync.Mutex
	by map[string]*rate.Limiter
}

// countRequest counts one for key. It gives how long to wait where that is one too many, and then counts none.
func (l *limits) countRequest(key string, now time.Time) (wait time.Duration) {
	r := l.of(key, now).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

func (l *limits) of(key string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.by[key]
	if one != nil {
		return one
	}
	if l.by == nil {
		l.by = map[string]*rate.Limiter{}
	}
	for other, at := range l.by { // whoever has rested long enough is like one that never came
		if len(l.by) < mostLimits {
			break
		}
		if at.TokensAt(now) >= float64(l.burst) {
			delete(l.by, other)
		}
	}
	if len(l.by) >= mostLimits { // so many strangers at a time share what is left
		if key = ""; l.by[key] != nil {
			return l.by[key]
		}
	}
	one = rate.NewLimiter(l.each, l.burst)
	l.by[key] = one
	return one
}

// AddressKey names where a request comes from, for limits: its address behind the proxies, and of IPv6 the whole network of one
// machine.
func AddressKey(r *http.Request, proxies []netip.Prefix) string {
	return listeners.AddressBlock(listeners.Remote(r, proxies)).String()
}
