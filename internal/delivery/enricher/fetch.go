package enricher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/netguard"
)

// A FetchError is why a look-up led to nothing. Its words hold neither the address, whose
// parameters may be somebody's, nor a token, nor anything of the answer.
type FetchError struct {
	Host       string
	Status     int    // HTTP status; 0 when there was no answer
	Words      string // "404 Not Found"
	Final      bool   // to try again cannot help
	Free       bool   // nothing was asked: the attempt does not count
	RetryAfter time.Duration
	Err        error // what lies beneath; not part of the words
}

// Error goes on from "the phone".
func (e *FetchError) Error() string { return "could not be looked up at " + e.Host + ": " + e.Words }

func (e *FetchError) Unwrap() error { return e.Err }

// ClientOptions are what a Client is made of.
type ClientOptions struct {
	Timeout   time.Duration // of one request, its redirects and its answer together; default DefaultTimeout
	UserAgent string
	MaxAnswer int64     // bytes; default 1 MiB
	Refreshed Refreshed // where refresh tokens outlive a restart; nil: nowhere
}

// A Client makes look-ups over HTTP. It may be used from many goroutines; Close it at the end.
type Client struct {
	ClientOptions
	guarded, open *http.Client
	cache         *cache
	hosts         hosts
	tokens        tokens

	mu      sync.Mutex
	flights map[string]*flight
}

// A flight is a look-up under way whose answer others wait for, too.
type flight struct {
	done   chan struct{}
	answer []byte
	err    error
}

const (
	cacheEntries = 4096
	cacheBytes   = 32 << 20

	// maxRetryAfter bounds what one Retry-After can ask for.
	maxRetryAfter = time.Hour

	maxRedirects = 3
)

// NewClient makes a Client.
func NewClient(o ClientOptions) *Client {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = 1 << 20
	}
	client := func(private bool) *http.Client {
		t := netguard.Transport(o.Timeout, private)
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 32, 8
		return &http.Client{Transport: t, Timeout: o.Timeout, CheckRedirect: sameHost}
	}
	return &Client{
		ClientOptions: o, guarded: client(false), open: client(true),
		cache: newCache(cacheEntries, cacheBytes), flights: map[string]*flight{},
	}
}

// Close lets go of idle connections.
func (c *Client) Close() {
	c.guarded.CloseIdleConnections()
	c.open.CloseIdleConnections()
}

var errElsewhere = errors.New("it answers with a redirect to another host")

// sameHost follows a redirect only where the token was meant to go.
func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if !strings.EqualFold(next.URL.Host, first.Host) || next.URL.Scheme != first.Scheme || next.URL.User != nil {
		return errElsewhere
	}
	if len(via) > maxRedirects {
		return errors.New("it answers with too many redirects")
	}
	return nil
}

// Fetch makes the look-up, or takes its answer from the cache or from the same look-up under
// way. The error is a *FetchError.
func (c *Client) Fetch(ctx context.Context, l connectors.Lookup) ([]byte, error) {
	if l.Cache <= 0 {
		return c.fetch(ctx, &l)
	}
	key := l.Connector + "\x00" + l.URL
	for {
		if answer, ok := c.cache.get(key, time.Now()); ok {
			return answer, nil
		}
		c.mu.Lock()
		f, under := c.flights[key]
		if !under {
			f = &flight{done: make(chan struct{})}
			c.flights[key] = f
		}
		c.mu.Unlock()
		if !under {
			f.answer, f.err = c.fetch(ctx, &l)
			if f.err == nil {
				c.cache.put(key, f.answer, time.Now().Add(l.Cache))
			}
			c.mu.Lock()
			delete(c.flights, key)
			c.mu.Unlock()
			close(f.done)
			return f.answer, f.err
		}
		select {
		case <-f.done:
			if f.err == nil || ctx.Err() == nil && !errors.Is(f.err, context.Canceled) {
				return f.answer, f.err
			}
			// The other one was cut; its end says nothing about ours.
		case <-ctx.Done():
			return nil, c.noAnswer(&l, ctx.Err())
		}
		if ctx.Err() != nil {
			return nil, c.noAnswer(&l, ctx.Err())
		}
	}
}

func (c *Client) fetch(ctx context.Context, l *connectors.Lookup) ([]byte, error) {
	for renewed := false; ; renewed = true {
		token, err := c.token(ctx, l)
		if err != nil {
			return nil, err
		}
		at := c.hosts.of(l.Connector, l.Host, l.Rate)
		wait, err := at.enter(ctx, time.Now())
		if err != nil {
			return nil, c.noAnswer(l, err)
		}
		if wait > 0 {
			return nil, &FetchError{Host: l.Host, Words: "it is asked no faster than it allows", Free: true, RetryAfter: wait}
		}
		answer, failed := c.get(ctx, l, token)
		if failed == nil {
			return answer, nil
		}
		if failed.Status == http.StatusTooManyRequests {
			at.pause(time.Now().Add(failed.RetryAfter))
		}
		// An access token can end before its time: it is renewed once.
		if failed.Status != http.StatusUnauthorized || l.Auth.Kind != connectors.AuthOAuth2 || renewed {
			return nil, failed
		}
		c.tokens.forget(l, token)
	}
}

// get makes one request.
func (c *Client) get(ctx context.Context, l *connectors.Lookup, token string) ([]byte, *FetchError) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL, http.NoBody)
	if err != nil {
		return nil, &FetchError{Host: l.Host, Words: "its address is broken", Final: true, Err: err}
	}
	for name, values := range l.Header {
		req.Header[name] = values
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	c.identify(req, l)
	prove(req, l, token)
	res, err := c.client(l).Do(req)
	if err != nil {
		return nil, c.noAnswer(l, err)
	}
	defer func() { _ = res.Body.Close() }() // what was not read is of no use
	if res.StatusCode != http.StatusOK {
		return nil, refused(l.Host, res)
	}
	return c.read(l.Host, res.Body)
}

func (c *Client) client(l *connectors.Lookup) *http.Client {
	if l.AllowPrivate {
		return c.open
	}
	return c.guarded
}

// identify says who asks: as the config says (enrich.headers), where it does. Some systems demand a name that they know the app by.
func (c *Client) identify(req *http.Request, l *connectors.Lookup) {
	if own, ok := l.Header["User-Agent"]; ok {
		req.Header["User-Agent"] = own
	} else if c.UserAgent != "" {
		req.Header.Set("User-Agent", c.UserAgent)
	}
}

func prove(req *http.Request, l *connectors.Lookup, token string) {
	switch l.Auth.Kind {
	case connectors.AuthBasic:
		req.SetBasicAuth(l.Auth.User, token)
	case connectors.AuthBearer, connectors.AuthHeader, connectors.AuthOAuth2:
		req.Header.Set(l.Auth.Header, l.Auth.Prefix+token)
	}
}

func (c *Client) read(host string, from io.Reader) ([]byte, *FetchError) {
	answer, err := io.ReadAll(io.LimitReader(from, c.MaxAnswer+1))
	if err != nil {
		return nil, &FetchError{Host: host, Words: "its answer was cut short" + timeWords(err), Err: err}
	}
	if int64(len(answer)) > c.MaxAnswer {
		return nil, &FetchError{Host: host, Words: fmt.Sprintf("its answer is longer than %d bytes", c.MaxAnswer), Final: true}
	}
	return answer, nil
}

// refused judges an answer other than 200.
func refused(host string, res *http.Response) *FetchError {
	words := strconv.Itoa(res.StatusCode)
	if text := http.StatusText(res.StatusCode); text != "" {
		words += " " + text
	}
	e := &FetchError{Host: host, Status: res.StatusCode, Words: words, Final: true}
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		e.Words += ", so its token is wrong, has ended, or may not see this"
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		e.Final = false
		e.RetryAfter = retryAfter(res.Header.Get("Retry-After"), time.Now())
		if code == http.StatusTooManyRequests && e.RetryAfter == 0 {
			e.RetryAfter = firstPause
		}
	}
	return e
}

// retryAfter reads the header: seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return min(max(0, time.Duration(seconds)*time.Second), maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	return 0
}

// noAnswer puts an error of the network into words of our own: those of net/http repeat the
// whole address.
func (c *Client) noAnswer(l *connectors.Lookup, err error) *FetchError {
	e := &FetchError{Host: l.Host, Err: err}
	var dns *net.DNSError
	switch {
	case errors.Is(err, netguard.ErrPrivate):
		e.Words, e.Final = "its address is private or special, and the connector does not have allow_private: true", true
	case errors.Is(err, errElsewhere):
		e.Words, e.Final = errElsewhere.Error(), true
	case errors.Is(err, context.Canceled):
		e.Words = "the request was cut"
	case errors.As(err, &dns):
		e.Words = "its name leads to no address"
	case timeWords(err) != "":
		e.Words = "it did not answer within " + c.Timeout.String()
	default:
		e.Words = "it did not answer"
		if failed, ok := errors.AsType[*url.Error](err); ok {
			if op, ok := errors.AsType[*net.OpError](failed.Err); ok {
				e.Words += " (" + op.Op + ": " + op.Err.Error() + ")"
			}
		}
	}
	return e
}

func timeWords(err error) string {
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return " by the time limit"
	}
	return ""
}
