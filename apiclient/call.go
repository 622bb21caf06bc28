package apiclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of what is read of an answer, in bytes.
const (
	maxAnswer = 64 << 10  // looked at
	maxList   = 64 << 20  // looked at of an answer to an upload, which may list a message for each row of 10 MB
	maxDrain  = 256 << 10 // read beyond that to keep the connection; past it, the connection goes
)

// buffers hold answers while a call runs. One that grew large is let go.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func giveBack(b *[]byte) {
	if cap(*b) <= 2*maxAnswer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// send posts the JSON in content and reads the answer.
func (c *Client) send(ctx context.Context, e *endpoint, content []byte) (Answer, error) {
	b := &body{src: bytes.NewReader(content)}
	return c.post(ctx, e, e.pattern, b, int64(len(content)), c.timeout)
}

// post makes the one request of a call that asks the service to do something.
//
// GetBody stays nil: with it the transport would send a body again by itself in cases that only it
// can judge. Without it and without an Idempotency-Key header, net/http makes no second request
// once it has begun to read the body of the first, over HTTP/1.1 and over HTTP/2.
func (c *Client) post(ctx context.Context, e *endpoint, pattern *http.Request, b *body, size int64, patience time.Duration) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req := pattern.WithContext(ctx)
	req.Body, req.ContentLength = b, size
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return Answer{}, e.broken(err, b, patience)
	}
	defer resp.Body.Close()
	page := buffers.Get().(*[]byte)
	defer giveBack(page)
	// A 2xx whose body is cut was taken all the same, so the error says only that there is
	// less to read.
	whole := readBounded(resp.Body, page, e.longest) == nil
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Answer{HTTPStatus: resp.StatusCode, Raw: rawText(string(*page))}, c.refused(e, resp, *page)
	}
	a := readAnswer(*page, whole)
	a.HTTPStatus = resp.StatusCode
	if isWebPage(resp, *page) {
		return a, &CallError{Call: e.name, Outcome: InDoubt, HTTPStatus: resp.StatusCode, Words: c.words(resp, *page), Err: ErrWebPage}
	}
	if a.denied {
		return a, &CallError{Call: e.name, Outcome: Rejected, HTTPStatus: resp.StatusCode, Words: c.words(resp, *page)}
	}
	return a, nil
}

// isWebPage reports whether an answer is a page for people, as a proxy, a maintenance page or the
// log-in of a network gives it. The header alone proves nothing: some servers call all they say HTML.
func isWebPage(resp *http.Response, page []byte) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/html") && bytes.HasPrefix(bytes.TrimSpace(page), []byte("<"))
}

// refused is the error for an answer outside 2xx.
func (c *Client) refused(e *endpoint, resp *http.Response, page []byte) *CallError {
	wait, told := retryAfter(resp.Header, time.Now())
	return &CallError{
		Call:       e.name,
		Outcome:    judge(resp.StatusCode, told),
		HTTPStatus: resp.StatusCode,
		RetryAfter: wait,
		Words:      c.words(resp, page),
		question:   e == c.status,
	}
}

var errTooLong = errors.New("answer longer than 64 KB")

// readBounded reads at most longest bytes into page, and on to the end of the answer where
// that is near: a connection is used again only then.
func readBounded(r io.Reader, page *[]byte, longest int) error {
	p := (*page)[:0]
	defer func() { *page = p }()
	for {
		if len(p) == cap(p) {
			p = append(p, 0)[:len(p)]
		}
		n, err := r.Read(p[len(p):min(cap(p), longest+1)])
		p = p[:len(p)+n]
		if err == io.EOF {
			if len(p) > longest {
				p = p[:longest]
				return errTooLong
			}
			return nil
		}
		if len(p) > longest {
			p = p[:longest]
			if _, err := io.CopyN(io.Discard, r, maxDrain); err != nil && err != io.EOF { //nolint:errorlint // io.Reader's contract is the bare io.EOF
				return err
			}
			return errTooLong
		}
		if err != nil {
			return err
		}
	}
}
