// Package receiver posts JSON to the addresses that a config names: those of alerts, and those of webhooks out.
package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// How long a connection may take to be made, and one delivery as a whole.
const (
	DialTimeout = 5 * time.Second
	Timeout     = 15 * time.Second
)

const (
	maxDrained = 4 << 10 // bytes of an answer that are read so that the connection can be used again
	drainFor   = time.Second
	maxPutOff  = 6 * time.Hour // for which a receiver may ask by Retry-After
)

// A Client posts. Redirects are not followed: what is signed for one address is no other's matter.
type Client struct {
	agent         string
	guarded, open *http.Client // for public addresses only, and for all
}

// NewClient makes one that calls itself agent, for at most so many deliveries to a host at once; 0 is for deliveries that are hours apart.
func NewClient(agent string, atOnce int) *Client {
	client := func(private bool) *http.Client {
		t := netguard.Transport(DialTimeout, private)
		t.DisableKeepAlives = atOnce == 0
		t.MaxIdleConnsPerHost, t.MaxConnsPerHost = atOnce, 2*atOnce
		return &http.Client{Transport: t, CheckRedirect: netguard.NoRedirect, Timeout: Timeout}
	}
	return &Client{agent: agent, guarded: client(false), open: client(true)}
}

// Close closes connections that wait for the next delivery.
func (c *Client) Close() {
	c.guarded.CloseIdleConnections()
	c.open.CloseIdleConnections()
}

// An Address is where to.
type Address struct {
	URL          secret.Secret
	AllowPrivate bool // it may lead into this machine or its network
}

// A RefusedError is a delivery that was not taken. Its text does not show the address, which is a secret.
type RefusedError struct {
	words string
	Final bool          // the receiver says that it wants it never: 410
	After time.Duration // it asks to come no earlier than after this
}

func (e *RefusedError) Error() string { return e.words }

// Post delivers a body of JSON once. An error is a *RefusedError.
func (c *Client) Post(ctx context.Context, to Address, head http.Header, body []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL.Reveal(), bytes.NewReader(body))
	if err != nil {
		return &RefusedError{words: "its address cannot be used"}
	}
	maps.Copy(req.Header, head)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", c.agent)
	client := c.guarded
	if to.AllowPrivate {
		client = c.open
	}
	res, err := client.Do(req)
	if err != nil {
		return noAnswer(err, req.URL)
	}
	defer res.Body.Close()
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		defer time.AfterFunc(drainFor, cancel).Stop() // it is delivered: the rest of the answer holds nothing up
		_, _ = io.CopyN(io.Discard, res.Body, maxDrained)
		return nil
	}
	return refusal(res)
}

func noAnswer(err error, asked *url.URL) error {
	if errors.Is(err, netguard.ErrPrivate) {
		return &RefusedError{words: netguard.ErrPrivate.Error()}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &RefusedError{words: "it does not answer: " + mask.Error(err, asked)}
}

func refusal(res *http.Response) error {
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return &RefusedError{words: fmt.Sprintf("it answers %d, a redirect, which is not followed", res.StatusCode)}
	}
	no := &RefusedError{words: fmt.Sprintf("it answers %d", res.StatusCode), Final: res.StatusCode == http.StatusGone}
	if words := mask.Answer(res); words != "" {
		no.words += ": " + words
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		no.After = min(time.Duration(seconds)*time.Second, maxPutOff)
	}
	return no
}
