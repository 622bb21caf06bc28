package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// ErrNoDaemon means that nobody answers at the socket.
var ErrNoDaemon = errors.New("no daemon is running")

// maxAnswer bounds an admin answer in memory.
const maxAnswer = 256 << 20

// A Client asks the API: over a daemon's socket, straight from a handler, or a daemon elsewhere.
type Client struct {
	http  http.Client
	at    url.URL // where that is; "" is by the transport
	token string  // that it shows; "" for none

	api *API // in this process, in place of these
	who access.Who
}

// Dial returns a client of the daemon behind the first of the Unix sockets that somebody listens on. Nothing is sent yet.
func Dial(paths ...string) *Client {
	return &Client{http: http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			for _, path := range paths {
				c, err := listeners.DialSocket(ctx, path)
				if e, is := errors.AsType[*listeners.StrangerError](err); is {
					return nil, &refusal.Error{Status: http.StatusForbidden, Words: string(mask.Own(e.Error() + ": nothing was asked")), Hint: "find out what that program is, end it, and start the daemon anew"}
				}
				if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
					return c, err
				}
			}
			return nil, ErrNoDaemon
		},
	}}}
}

// Local returns a client of the API in this process, so that what only reads works the same with and without a daemon: a call is one of a
// function. It asks as whom the context of a call names (WithWho), else as who.
func Local(api *API, who access.Who) *Client { return &Client{api: api, who: who} }

// withWho is a context that names who asks in this process.
func (c *Client) withWho(ctx context.Context) context.Context {
	if _, known := access.WhoOf(ctx); known {
		return ctx
	}
	return access.WithWho(ctx, c.who)
}

// Remote returns a client of the daemon whose console listens at an address, "https://nudgewire.example.com", with a token. An address in
// the clear is an error unless it is this machine's: the token would be read on the way. Nothing is sent yet.
func Remote(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, &refusal.Error{Status: http.StatusBadRequest, Words: "this is not the address of a server", Hint: "write it as https://nudgewire.example.com"}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, &refusal.Error{Status: http.StatusBadRequest, Words: "the address of a server has no path, name or password", Hint: "write it as https://nudgewire.example.com"}
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, &refusal.Error{Status: http.StatusBadRequest, Words: "the token would cross the network in the clear", Hint: "write https://, or reach the server through a tunnel on 127.0.0.1"}
	case token == "":
		return nil, &refusal.Error{Status: http.StatusUnauthorized, Words: "there is no token for the server", Hint: "set NUDGEWIRE_TOKEN to one of \"nudgewire token create\" on its machine"}
	}
	return &Client{
		at: url.URL{Scheme: u.Scheme, Host: u.Host}, token: token,
		http: http.Client{
			Timeout: time.Minute, Transport: http.DefaultTransport.(*http.Transport).Clone(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this server alone
		},
	}, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request sends one request. The caller closes the answer's body. A rejection comes back as *Error.
func (c *Client) request(ctx context.Context, rt *Route, t texts, in reflect.Value) (*http.Response, error) {
	body, err := rt.writeBody(in)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	escaped := Base + inPathPattern.ReplaceAllStringFunc(rt.Path, func(name string) string { return url.PathEscape(t.path[strings.Trim(name, "{}")]) })
	u := url.URL{Scheme: cmp.Or(c.at.Scheme, "http"), Host: cmp.Or(c.at.Host, "nudgewire"), RawPath: escaped, RawQuery: t.query.Encode()}
	if u.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, rt.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	maps.Copy(req.Header, t.header)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	by := c.http
	if rt.patient {
		by.Timeout = 0 // only ctx ends it
	}
	res, err := by.Do(req)
	switch {
	case errors.Is(err, ErrNoDaemon):
		return nil, ErrNoDaemon
	case err != nil && c.at.Host != "":
		return nil, &refusal.Error{Status: http.StatusServiceUnavailable, Words: "ask " + c.at.String() + ": " + mask.Text(err.Error()), Hint: "look whether console.listen of its config is reached at that address"}
	case err != nil:
		return nil, fmt.Errorf("ask the daemon: %w", err)
	case res.StatusCode < http.StatusMultipleChoices:
		return res, nil
	}
	defer res.Body.Close()
	e := &refusal.Error{Status: res.StatusCode}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(e); err != nil || e.Words == "" {
		e.Words = res.Status
	}
	return nil, e
}

// ListQuery narrows a list. Zero fields ask for nothing.
type ListQuery struct {
	Since     time.Time         `json:"since"`
	Until     time.Time         `json:"until"` // of events and messages: before it
	Limit     int               `json:"limit"` // 0 is 50
	Phone     string            `json:"phone"`
	State     string            `json:"state"`
	Trigger   string            `json:"trigger"`
	Outcome   string            `json:"outcome"`  // of events: what Trigger decided, or any
	Template  string            `json:"template"` // of messages
	Account   string            `json:"account"`  // of messages
	Connector string            `json:"connector"`
	Kind      string            `json:"kind"`
	Event     messaging.EventID `json:"event"`
	Class     string            `json:"class"`   // of messages and errors; "unknown" for words that no rule knows
	Words     string            `json:"words"`   // of messages: exactly why each is in its state, as GET /messages/reasons has it
	Before    int64             `json:"before"`  // for the next page: the number of the last one; of events, requests, messages and runs
	DownTo    int64             `json:"down_to"` // of events and messages: none older than the one of that number
}

// Walks reports whether what the list asks for may be found only by a walk through all that was ever stored. Everything else is found by an index.
func (q ListQuery) Walks() bool {
	if q.Phone != "" || q.Event != 0 {
		return false
	}
	switch q.State {
	case "":
		return q.Trigger != "" || q.Outcome != "" || q.Template != "" || q.Account != "" || q.Class != "" || q.Words != "" || q.Connector != "" || q.Kind != ""
	case string(messaging.StateAccepted), string(messaging.StatusDelivered), string(messaging.StatusRead):
		return true
	}
	return false
}
