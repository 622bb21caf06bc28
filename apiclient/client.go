// Package apiclient speaks to the messaging service: one method per endpoint of the
// Messaging Automation Service API v1, over net/http, with plain strings.
//
// The service knows no idempotency key, so the one thing a caller must learn from a call is
// whether it may be made again. Every call therefore ends in an Outcome: the answer was
// Accepted, or the error says NotAccepted (surely not taken), Rejected (understood and
// refused) or InDoubt (may have been taken). OutcomeOf reads it off the error.
//
// The package never repeats a call, keeps no queue, no pace and no breaker: those belong to
// its callers. It puts neither the key nor a whole phone number into an error.
package apiclient

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults for the fields of Options that are left zero.
const (
	defaultConcurrency = 32
	defaultTimeout     = 10 * time.Second
	defaultUserAgent   = "nudgewire"
)

// idleTimeout is how long a connection may wait unused. Widespread servers close theirs
// after five seconds, and a request written at that very moment ends in doubt although it
// was never read: whoever closes first avoids that.
const idleTimeout = 4 * time.Second

// Options say where the service is and how to speak to it.
type Options struct {
	// BaseURL ends in the version segment: "https://api.example.com/api/v1".
	BaseURL string
	// Key is the account's API key, sent as a bearer token and never printed.
	Key string `json:"-"`
	// TextPath is the path of the text endpoint below BaseURL ("/send-message"). The API
	// document does not show it; while it is empty, SendText refuses with ErrNoTextPath.
	TextPath string
	// Concurrency is the most connections held open at a time by calls that ask for something to be
	// done, and as many again by questions: slow answers to the one take no connection from the other.
	// Over HTTP/2 calls share a connection, and how many run at a time is their callers' choice.
	Concurrency int
	// Timeout bounds one call from start to the last byte of its answer. An upload may take
	// longer: see CreateCampaign.
	Timeout   time.Duration
	UserAgent string
	// Ended is called after each request with its call ("send-template"), how it ended and how long it took; nil is nobody.
	Ended func(call string, outcome Outcome, took time.Duration) `json:"-"`
	// CAFile holds certificates of authorities (PEM) that may vouch for the service beside those of the system; see Roots.
	CAFile string
}

// String names the service and hides the key.
func (o Options) String() string { return "messaging service at " + o.BaseURL }

// GoString is String: %#v must not print the key either.
func (o Options) GoString() string { return o.String() }

// ErrNoTextPath refuses a text while Options.TextPath is empty. Nothing was sent.
var ErrNoTextPath = errors.New("the path of the text endpoint is not known: set api.text_path")

// A Client calls one account of the service. It is safe for concurrent use.
type Client struct {
	transport *http.Transport
	asking    *http.Transport // of questions
	timeout   time.Duration
	base      string // for String
	ended     func(call string, outcome Outcome, took time.Duration)
	key       string // only to keep it out of the service's own words

	template, campaign, text, upload, status *endpoint
}

// Calls are the names of all calls, as errors and Options.Ended have them.
var Calls = []string{"send-template", "send-campaign", "text", "create-with-csv", "message-status"}

// An endpoint is one path of the service: the name it has in errors, and the request that
// every call to it copies. URL and header are shared by all copies and never written.
type endpoint struct {
	name    string
	pattern *http.Request
	longest int64 // most bytes of an answer that are looked at
}

// New returns a client, or what is wrong with the options in words for their writer.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if err := checkKey(o.Key); err != nil {
		return nil, err
	}
	if o.Concurrency < 0 || o.Timeout < 0 {
		return nil, errors.New("concurrency and timeout must not be negative")
	}
	o.Concurrency = cmp.Or(o.Concurrency, defaultConcurrency)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.UserAgent = cmp.Or(o.UserAgent, defaultUserAgent)
	roots, err := Roots(o.CAFile)
	if err != nil {
		return nil, err
	}
	c := &Client{
		transport: newTransport(o.Concurrency, o.Timeout, roots),
		asking:    newTransport(o.Concurrency, o.Timeout, roots),
		timeout:   o.Timeout,
		base:      base.String(),
		key:       o.Key,
		ended:     o.Ended,
	}
	header := func(contentType string) http.Header {
		h := http.Header{
			"Accept":        {"application/json"},
			"Authorization": {"Bearer " + o.Key},
			"User-Agent":    {o.UserAgent},
		}
		if contentType != "" {
			h["Content-Type"] = []string{contentType}
		}
		return h
	}
	at := func(name, method, path, contentType string) *endpoint {
		u := *base
		u.Path += path
		return &endpoint{name, &http.Request{
			Method: method, URL: &u, Host: u.Host, Header: header(contentType),
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, maxAnswer}
	}
	const asJSON = "application/json"
	c.template = at("send-template", http.MethodPost, "/send-template", asJSON)
	c.campaign = at("send-campaign", http.MethodPost, "/send-campaign", asJSON)
	c.upload = at("create-with-csv", http.MethodPost, "/campaigns/create-with-csv", "")
	c.upload.longest = maxList
	c.status = at("message-status", http.MethodGet, "/message-status/", "")
	if o.TextPath != "" {
		path, err := parseTextPath(o.TextPath)
		if err != nil {
			return nil, err
		}
		c.text = at("text", http.MethodPost, path, asJSON)
	}
	return c, nil
}

// newTransport is a pool of connections, of HTTP/2 where an https service speaks it. Its RoundTrip is
// called directly, not through http.Client: that follows no redirect (the key would go along) and
// saves the copying which redirects and cookies need.
//
// Over HTTP/2 a connection that died without a word would take call after call. A ping finds it
// within the timeout of the first.
func newTransport(concurrency int, timeout time.Duration, roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true, // net/http leaves it out beside a DialContext
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: timeout / 4, PingTimeout: timeout / 2},
		MaxIdleConns:           concurrency,
		MaxIdleConnsPerHost:    concurrency,
		MaxConnsPerHost:        concurrency,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		DisableCompression:     true, // answers are small, and 64 KB read should mean 64 KB held
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Close drops the idle connections. Calls under way go on to their end.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.asking.CloseIdleConnections()
}

// String names the service and hides the key.
func (c *Client) String() string { return "messaging service at " + c.base }

// GoString is String: %#v must not print the key either.
func (c *Client) GoString() string { return c.String() }

func parseBase(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("base URL is empty")
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parser's error repeats the text, which may hold a password.
		return nil, errors.New("base URL cannot be read as a URL")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("base URL must not hold a user or password: the key goes in a header")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base URL %q must begin with https:// or http://", text)
	case u.Hostname() == "":
		return nil, fmt.Errorf("base URL %q names no host", text)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("base URL %q must not hold a query or a fragment", text)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

// checkKey refuses what cannot travel in a header, without repeating it.
func checkKey(key string) error {
	if key == "" {
		return errors.New("API key is empty")
	}
	for i := range len(key) {
		if b := key[i]; b <= ' ' || b >= 0x7f {
			return fmt.Errorf("API key holds a space, a control character or a letter outside ASCII at position %d of %d", i+1, len(key))
		}
	}
	return nil
}

func parseTextPath(path string) (string, error) {
	if strings.ContainsAny(path, "?#") || strings.Contains(path, "://") {
		return "", fmt.Errorf("text path %q must be a plain path below the base URL, such as /send-message", path)
	}
	return "/" + strings.Trim(path, "/"), nil
}
