package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Bounds of what is read of an answer, in bytes.
const (
	maxAnswer = 64 << 10  // looked at
	maxList   = 64 << 20  // looked at of an answer to an upload, which may list a message for each row of 10 MB
	maxDrain  = 256 << 10 // read beyond that to keep the connection; past it, the connection goes
)

// send posts request as JSON and reads the answer.
func (c *Client) send(ctx context.Context, e *endpoint, request any) (Answer, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return Answer{}, &CallError{Call: e.name, Outcome: Rejected, Err: err}
	}
	content.Truncate(content.Len() - 1) // the line end
	return c.post(ctx, e, e.pattern, &body{src: &content}, int64(content.Len()), c.timeout)
}

// post makes the one request of a call that asks the service to do something.
//
// GetBody stays nil: with it the transport would send a body again by itself in cases that only it
// can judge. Without it and without an Idempotency-Key header, net/http makes no second request
// once it has begun to read the body of the first, over HTTP/1.1 and over HTTP/2.
func (c *Client) post(ctx context.Context, e *endpoint, pattern *http.Request, b *body, size int64, patience time.Duration) (_ Answer, err error) {
	if c.ended != nil {
		defer func(began time.Time) { c.ended(e.name, OutcomeOf(err), time.Since(began)) }(time.Now())
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req := pattern.WithContext(ctx)
	req.Body, req.ContentLength = b, size
	resp, page, cut, err := c.exchange(c.transport, e, req, b, patience) //nolint:bodyclose // exchange closes it
	if resp == nil {
		return Answer{}, err
	}
	if err != nil {
		return Answer{HTTPStatus: resp.StatusCode, Raw: rawText(string(page))}, err
	}
	// A 2xx whose body is cut was taken all the same: there is only less to read.
	a := readAnswer(page, cut == nil)
	a.HTTPStatus = resp.StatusCode
	if isWebPage(resp, page) {
		return a, &CallError{Call: e.name, Outcome: InDoubt, HTTPStatus: resp.StatusCode, Words: c.words(resp, page), Err: ErrWebPage}
	}
	if a.denied {
		return a, &CallError{Call: e.name, Outcome: Rejected, HTTPStatus: resp.StatusCode, Words: c.words(resp, page)}
	}
	return a, nil
}

// exchange makes a request and reads the head of its answer; cut is why there is no more of it. An answer
// outside 2xx is an error as well. b is nil for a call that only asks.
func (c *Client) exchange(t *http.Transport, e *endpoint, req *http.Request, b *body, patience time.Duration) (resp *http.Response, page []byte, cut, err error) {
	resp, err = t.RoundTrip(req)
	if err != nil {
		return nil, nil, nil, e.broken(err, b, patience)
	}
	defer resp.Body.Close()
	page, cut = readBounded(resp.Body, e.longest)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err = c.refused(e, resp, page)
	}
	return resp, page, cut, err
}

// isWebPage reports whether an answer is a page for people, as a proxy, a maintenance page or the
// log-in of a network gives it. The header alone proves nothing: some servers call all they say HTML.
func isWebPage(resp *http.Response, page []byte) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/html") && bytes.HasPrefix(bytes.TrimSpace(page), []byte("<"))
}

// refused is the error for an answer outside 2xx.
func (c *Client) refused(e *endpoint, resp *http.Response, page []byte) *CallError {
	wait, given := retryAfter(resp.Header, time.Now())
	return &CallError{
		Call:       e.name,
		Outcome:    judge(resp.StatusCode, given),
		HTTPStatus: resp.StatusCode,
		RetryAfter: wait,
		Words:      c.words(resp, page),
		question:   e == c.status,
	}
}

var errTooLong = errors.New("answer longer than 64 KB")

// readBounded reads at most longest bytes, and on to the end of the answer where that is near: a
// connection is used again only then.
func readBounded(r io.Reader, longest int64) ([]byte, error) {
	page, err := io.ReadAll(io.LimitReader(r, longest))
	if err != nil {
		return page, err
	}
	switch n, err := io.CopyN(io.Discard, r, maxDrain); {
	case n > 0:
		return page, errTooLong
	case errors.Is(err, io.EOF):
		return page, nil
	default:
		return page, err
	}
}
