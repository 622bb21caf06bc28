package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/nudgewire/nudgewire"
)

// ErrNoDaemon means that nobody answers at the socket.
var ErrNoDaemon = errors.New("no daemon is running")

// maxAnswer bounds an admin answer in memory.
const maxAnswer = 256 << 20

// A Client asks the admin API, over a daemon's socket or straight from a handler.
type Client struct {
	http http.Client
}

// Dial returns a client of the daemon behind the first of the Unix sockets that somebody listens on. Nothing is sent yet.
func Dial(paths ...string) *Client {
	return &Client{http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			for _, path := range paths {
				c, err := dialSocket(ctx, path)
				if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
					return c, err
				}
			}
			return nil, ErrNoDaemon
		},
	}}}
}

// Local returns a client of a handler in this process, so that what only reads works the same
// with and without a daemon.
func Local(h http.Handler) *Client {
	return &Client{http.Client{Transport: inProcess{h}}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// do sends one request and reads the answer into out. A refusal comes back as *Error.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	u := url.URL{Scheme: "http", Host: "nudgewire", Path: path, RawQuery: query.Encode()}
	// What people named is escaped already; a second time, a blank would arrive as %20.
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = plain, path
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return fmt.Errorf("ask the daemon: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, ErrNoDaemon) {
			return ErrNoDaemon
		}
		return fmt.Errorf("ask the daemon: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		e := &Error{Status: res.StatusCode}
		if err := json.Unmarshal(text, e); err != nil || e.Words == "" {
			e.Words = res.Status
		}
		return e
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	return nil
}

// ListQuery narrows a list. Zero fields ask for nothing.
type ListQuery struct {
	Since     time.Time
	Limit     int // 0 is 50
	Phone     string
	State     string
	Trigger   string
	Connector string
	Kind      string
	Event     nudgewire.EventID
}

func (q ListQuery) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Event != 0 {
		v.Set("event", strconv.FormatInt(int64(q.Event), 10))
	}
	set("phone", q.Phone)
	set("state", q.State)
	set("trigger", q.Trigger)
	set("connector", q.Connector)
	set("kind", q.Kind)
	return v
}

// Status asks how things stand.
func (c *Client) Status(ctx context.Context) (v StatusView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/status", nil, nil, &v)
}

// Reload makes the daemon read its config again. A bad config is an *Error with every problem
// in its words, and the old one stays in force.
func (c *Client) Reload(ctx context.Context) (v DaemonView, err error) {
	return v, c.do(ctx, http.MethodPost, "/v1/reload", nil, nil, &v)
}

// Events lists events, newest first.
func (c *Client) Events(ctx context.Context, q ListQuery) (v []EventView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/events", q.values(), nil, &v)
}

// Event is one event with its payload and all that came of it.
func (c *Client) Event(ctx context.Context, id nudgewire.EventID) (v StoryView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/events/"+strconv.FormatInt(int64(id), 10), nil, nil, &v)
}

// RejectedRequests lists requests that were not taken, newest first.
func (c *Client) RejectedRequests(ctx context.Context, q ListQuery) (v []RejectedRequestView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/requests/rejected", q.values(), nil, &v)
}

// Messages lists dispatches with their messages, newest first.
func (c *Client) Messages(ctx context.Context, q ListQuery) (v []MessageView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/messages", q.values(), nil, &v)
}

// Message is one message with its attempts. id is the dispatch's number, or the service's
// message_id.
func (c *Client) Message(ctx context.Context, id string) (v MessageView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/messages/"+url.PathEscape(id), nil, nil, &v)
}

// Cancel ends a waiting dispatch.
func (c *Client) Cancel(ctx context.Context, id nudgewire.DispatchID, reason string) (v MessageView, err error) {
	in := map[string]string{"reason": reason}
	return v, c.do(ctx, http.MethodPost, "/v1/messages/"+strconv.FormatInt(int64(id), 10)+"/cancel", nil, in, &v)
}

// Resolve says what became of a dispatch in doubt.
func (c *Client) Resolve(ctx context.Context, id nudgewire.DispatchID, how nudgewire.Resolution, reason string) (v MessageView, err error) {
	in := map[string]string{"as": string(how), "reason": reason}
	return v, c.do(ctx, http.MethodPost, "/v1/messages/"+strconv.FormatInt(int64(id), 10)+"/resolve", nil, in, &v)
}

// Why tells the whole story of a phone, oldest event first.
func (c *Client) Why(ctx context.Context, phone string, limit int) (v []StoryView, err error) {
	q := ListQuery{Phone: phone, Limit: limit}
	return v, c.do(ctx, http.MethodGet, "/v1/why", q.values(), nil, &v)
}

// Send asks for one message by hand; what comes back waits to be sent, or with DryRun would.
func (c *Client) Send(ctx context.Context, r SendRequest) (v MessageView, err error) {
	return v, c.do(ctx, http.MethodPost, "/v1/send", nil, r, &v)
}
