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
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
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
}

// Dial returns a client of the daemon behind the first of the Unix sockets that somebody listens on. Nothing is sent yet.
func Dial(paths ...string) *Client {
	return &Client{http: http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			for _, path := range paths {
				c, err := listeners.DialSocket(ctx, path)
				if e, is := errors.AsType[*listeners.StrangerError](err); is {
					return nil, &Error{Status: http.StatusForbidden, Words: string(mask.Own(e.Error() + ": nothing was asked")), Hint: "find out what that program is, end it, and start the daemon anew"}
				}
				if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
					return c, err
				}
			}
			return nil, ErrNoDaemon
		},
	}}}
}

// Local returns a client of a handler in this process, so that what only reads works the same with and without a daemon. It asks as
// whom the context of a call names (WithWho), else as who.
func Local(h http.Handler, who Who) *Client {
	return &Client{http: http.Client{Transport: inProcess{h, who}}}
}

// Remote returns a client of the daemon whose console listens at an address, "https://nudgewire.example.com", with a token. An address in
// the clear is an error unless it is this machine's: the token would be read on the way. Nothing is sent yet.
func Remote(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, &Error{Status: http.StatusBadRequest, Words: "this is not the address of a server", Hint: "write it as https://nudgewire.example.com"}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, &Error{Status: http.StatusBadRequest, Words: "the address of a server has no path, name or password", Hint: "write it as https://nudgewire.example.com"}
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, &Error{Status: http.StatusBadRequest, Words: "the token would cross the network in the clear", Hint: "write https://, or reach the server through a tunnel on 127.0.0.1"}
	case token == "":
		return nil, &Error{Status: http.StatusUnauthorized, Words: "there is no token for the server", Hint: "set NUDGEWIRE_TOKEN to one of \"nudgewire token create\" on its machine"}
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

// patient is the client for what takes as long as it takes: only ctx ends a request of it.
func (c *Client) patient() *Client {
	return &Client{http: http.Client{Transport: c.http.Transport, CheckRedirect: c.http.CheckRedirect}, at: c.at, token: c.token}
}

// request sends one request. The caller closes the answer's body. A rejection comes back as *Error.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	path = Base + path
	u := url.URL{Scheme: cmp.Or(c.at.Scheme, "http"), Host: cmp.Or(c.at.Host, "nudgewire"), Path: path, RawQuery: query.Encode()}
	// What people named is escaped already; a second time, a blank would arrive as %20.
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = plain, path
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	switch {
	case errors.Is(err, ErrNoDaemon):
		return nil, ErrNoDaemon
	case err != nil && c.at.Host != "":
		return nil, &Error{Status: http.StatusServiceUnavailable, Words: "ask " + c.at.String() + ": " + mask.Text(err.Error()), Hint: "look whether console.listen of its config is reached at that address"}
	case err != nil:
		return nil, fmt.Errorf("ask the daemon: %w", err)
	case res.StatusCode < http.StatusMultipleChoices:
		return res, nil
	}
	defer res.Body.Close()
	e := &Error{Status: res.StatusCode}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(e); err != nil || e.Words == "" {
		e.Words = res.Status
	}
	return nil, e
}

// ask sends one request and reads its answer.
func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values, in any) (out T, err error) {
	res, err := c.request(ctx, method, path, query, in)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return out, nil
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return ask[T](ctx, c, http.MethodGet, path, query, nil)
}

func post[T any](ctx context.Context, c *Client, path string, in any) (T, error) {
	return ask[T](ctx, c, http.MethodPost, path, nil, in)
}

// numbered is the path of one event, message or run, and what is asked of it.
func numbered[N ~int64](kind string, id N, rest string) string {
	return "/" + kind + "/" + strconv.FormatInt(int64(id), 10) + rest
}

// ListQuery narrows a list. Zero fields ask for nothing.
type ListQuery struct {
	Since     time.Time
	Until     time.Time // of events and messages: before it
	Limit     int       // 0 is 50
	Phone     string
	State     string
	Trigger   string
	Outcome   string // of events: what Trigger decided, or any
	Template  string // of messages
	Account   string // of messages
	Connector string
	Kind      string
	Event     messaging.EventID
	Class     string // of messages and errors; "unknown" for words that no rule knows
	Before    int64  // for the next page: the number of the last one; of events, requests, messages and runs
	DownTo    int64  // of events and messages: none older than the one of that number
}

// Walks reports whether what the list asks for may be found only by a walk through all that was ever stored. Everything else is found by an index.
func (q ListQuery) Walks() bool {
	if q.Phone != "" || q.Event != 0 {
		return false
	}
	switch q.State {
	case "":
		return q.Trigger != "" || q.Outcome != "" || q.Template != "" || q.Account != "" || q.Class != "" || q.Connector != "" || q.Kind != ""
	case string(messaging.StateAccepted), string(messaging.StatusDelivered), string(messaging.StatusRead):
		return true
	}
	return false
}

// Values are the parameters of a list, as the API takes them.
func (q ListQuery) Values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		v.Set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Event != 0 {
		v.Set("event", strconv.FormatInt(int64(q.Event), 10))
	}
	if q.Before != 0 {
		v.Set("before", strconv.FormatInt(q.Before, 10))
	}
	if q.DownTo != 0 {
		v.Set("down_to", strconv.FormatInt(q.DownTo, 10))
	}
	set("class", q.Class)
	set("template", q.Template)
	set("phone", q.Phone)
	set("state", q.State)
	set("trigger", q.Trigger)
	set("outcome", q.Outcome)
	set("account", q.Account)
	set("connector", q.Connector)
	set("kind", q.Kind)
	return v
}

// Status asks for the daemon's state.
func (c *Client) Status(ctx context.Context) (StatusView, error) {
	return get[StatusView](ctx, c, "/status", nil)
}

// Reload makes the daemon read its config again. A bad config is an *Error with every problem
// in its words, and the daemon goes on with the old one.
func (c *Client) Reload(ctx context.Context) (DaemonView, error) {
	return post[DaemonView](ctx, c, "/reload", nil)
}

// Changes asks what a reload would do to what waits, and changes nothing: with the daemon's config file as it is now, or
// with the config that is printed. A bad config is an *Error, as for Reload.
func (c *Client) Changes(ctx context.Context, printed string) ([]RuleChange, error) {
	return post[[]RuleChange](ctx, c, "/reload/changes", changesRequest{printed})
}

// Events lists events, newest first.
func (c *Client) Events(ctx context.Context, q ListQuery) ([]EventView, error) {
	return get[[]EventView](ctx, c, "/events", q.Values())
}

// Event is one event with its payload and all that came of it.
func (c *Client) Event(ctx context.Context, id messaging.EventID) (StoryView, error) {
	return get[StoryView](ctx, c, numbered("events", id, ""), nil)
}

// RejectedRequests lists requests that were not taken, newest first.
func (c *Client) RejectedRequests(ctx context.Context, q ListQuery) ([]RejectedRequestView, error) {
	return get[[]RejectedRequestView](ctx, c, "/requests/rejected", q.Values())
}

// Messages lists messages, newest first.
func (c *Client) Messages(ctx context.Context, q ListQuery) ([]MessageView, error) {
	return get[[]MessageView](ctx, c, "/messages", q.Values())
}

// Message is one message with its attempts. id is our number, or the service's
// message_id.
func (c *Client) Message(ctx context.Context, id string) (MessageView, error) {
	return get[MessageView](ctx, c, "/messages/"+url.PathEscape(id), nil)
}

// Cancel ends a waiting message.
func (c *Client) Cancel(ctx context.Context, id messaging.MessageID, reason string) (MessageView, error) {
	return post[MessageView](ctx, c, numbered("messages", id, "/cancel"), cancelRequest{reason})
}

// Resolve says what became of a message in doubt.
func (c *Client) Resolve(ctx context.Context, id messaging.MessageID, how messaging.Resolution, reason string) (MessageView, error) {
	return post[MessageView](ctx, c, numbered("messages", id, "/resolve"), resolveRequest{how, reason})
}

// ResolveMany says what became of all messages in doubt that match, or counts them by their cause.
func (c *Client) ResolveMany(ctx context.Context, r BulkRequest) (BulkView, error) {
	return post[BulkView](ctx, c.patient(), "/messages/resolve", r)
}

// RetryMany sends what surely did not reach the phone once more, or counts it.
func (c *Client) RetryMany(ctx context.Context, r BulkRequest) (BulkView, error) {
	return post[BulkView](ctx, c.patient(), "/messages/retry", r)
}

// CancelMany ends all messages that wait and match, or counts them.
func (c *Client) CancelMany(ctx context.Context, r BulkRequest) (BulkView, error) {
	return post[BulkView](ctx, c.patient(), "/messages/cancel", r)
}

// Why tells the whole story of a phone, oldest event first.
func (c *Client) Why(ctx context.Context, phone string, limit int) ([]StoryView, error) {
	return get[[]StoryView](ctx, c, "/why", ListQuery{Phone: phone, Limit: limit}.Values())
}

// Send asks for one message by hand; what comes back waits to be sent, or with DryRun would.
func (c *Client) Send(ctx context.Context, r SendRequest) (MessageView, error) {
	return post[MessageView](ctx, c, "/messages", r)
}

// Halt stops something, and gives all that is held then.
func (c *Client) Halt(ctx context.Context, r HaltRequest) ([]messaging.Hold, error) {
	return post[[]messaging.Hold](ctx, c, "/halt", r)
}

// Resume lets something go on, and gives all that is still halted.
func (c *Client) Resume(ctx context.Context, r HaltRequest) ([]messaging.Hold, error) {
	return post[[]messaging.Hold](ctx, c, "/resume", r)
}

// SignInLink asks for a link that signs in to the console once.
func (c *Client) SignInLink(ctx context.Context, r LinkRequest) (LinkView, error) {
	return post[LinkView](ctx, c, "/console/link", r)
}
