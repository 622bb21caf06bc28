package alerts

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/netguard"
)

// A network reaches receivers. What a receiver answers is shown without the address, which is a secret.
type network struct {
	agent         string
	guarded, open *http.Client
	roots         *x509.CertPool // nil: the system's
}

const dialTimeout = 5 * time.Second

func newNetwork(agent string) *network {
	client := func(private bool) *http.Client {
		t := netguard.Transport(dialTimeout, private)
		t.DisableKeepAlives = true // alerts are hours apart
		return &http.Client{Transport: t, CheckRedirect: netguard.NoRedirect}
	}
	return &network{agent: agent, guarded: client(false), open: client(true)}
}

// A laterError is an answer that asks to come later.
type laterError struct {
	error
	after time.Duration
}

func (n *network) send(ctx context.Context, r *Receiver, m *Mail, message Message) error {
	switch r.Kind {
	case Email:
		return n.mail(ctx, r, m, message)
	case Slack:
		return n.post(ctx, r, map[string]string{"text": slackText(&message)})
	default:
		return n.post(ctx, r, message)
	}
}

func (n *network) post(ctx context.Context, r *Receiver, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write the alert: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL.Reveal(), bytes.NewReader(text))
	if err != nil {
		return errors.New("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", n.agent)
	client := n.guarded
	if r.AllowPrivate {
		client = n.open
	}
	res, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return errors.New(mask.Error(err, req.URL))
	}
	defer res.Body.Close()
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return nil
	}
	err = fmt.Errorf("it answers %d", res.StatusCode)
	if words := mask.Answer(res); words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil && seconds > 0 {
		return &laterError{err, time.Duration(seconds) * time.Second}
	}
	return err
}
