package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/netguard"
)

// A Body is what is posted. docs/webhooks-out.md is about it.
type Body struct {
	Type string           `json:"type"`      // the kind: message.delivered
	ID   string           `json:"id"`        // that of the header webhook-id: the same at each attempt and replay
	At   time.Time        `json:"timestamp"` // of the change, UTC
	Data messaging.Change `json:"data"`
}

const (
	timeout     = 15 * time.Second // of one delivery
	dialTimeout = 5 * time.Second
	mostDrained = 4 << 10 // bytes of an answer that are read so that the connection can be used again
	drainFor    = time.Second
)

// idOf names an Outgoing beyond this data: its number may come again after a restore, its time does not.
func idOf(o *messaging.Outgoing) string {
	return "nw_" + strconv.FormatInt(o.ID, 36) + "_" + strconv.FormatInt(o.At.UnixMicro(), 36)
}

// A failure is a delivery that was not taken.
type failure struct {
	words string
	final bool          // the receiver says that it wants it never
	after time.Duration // it asks to come no earlier than after this
}

// newClient posts to public addresses, or with private to all. Redirects are not followed: what is signed for one address is no
// other's matter.
func newClient(private bool) *http.Client {
	t := netguard.Transport(dialTimeout, private)
	t.MaxIdleConnsPerHost, t.MaxConnsPerHost = Concurrency, 2*Concurrency
	return &http.Client{Transport: t, CheckRedirect: netguard.NoRedirect, Timeout: timeout}
}

// post delivers a body once.
func post(ctx context.Context, client *http.Client, agent string, r *Receiver, id string, b *Body, now time.Time) *failure {
	text, err := json.Marshal(b)
	if err != nil {
		return &failure{words: "its body cannot be written: " + err.Error(), final: true}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL.Reveal(), bytes.NewReader(text))
	if err != nil {
		return &failure{words: "its address cannot be used"}
	}
	var signatures []string
	for _, s := range r.signers {
		one, err := s.Sign(id, now, text)
		if err != nil {
			return &failure{words: "it cannot be signed: " + err.Error()}
		}
		signatures = append(signatures, one)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", agent)
	req.Header.Set(standardwebhooks.HeaderWebhookID, id)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	res, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		if errors.Is(err, netguard.ErrPrivate) {
			return &failure{words: netguard.ErrPrivate.Error()}
		}
		return &failure{words: "it does not answer: " + mask.Error(err, req.URL)}
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		defer time.AfterFunc(drainFor, cancel).Stop() // it is delivered: the rest of the answer holds nothing up
		_, _ = io.CopyN(io.Discard, res.Body, mostDrained)
		return nil
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return &failure{words: fmt.Sprintf("it answers %d, a redirect, which is not followed", res.StatusCode)}
	}
	f := &failure{words: fmt.Sprintf("it answers %d", res.StatusCode), final: res.StatusCode == http.StatusGone}
	if words := mask.Answer(res); words != "" {
		f.words += ": " + words
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		f.after = min(time.Duration(seconds)*time.Second, mostAfter)
	}
	return f
}

// mostAfter is how long a receiver may put a change off by Retry-After.
const mostAfter = 6 * time.Hour
