package alerts

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/netguard"
)

// A network reaches receivers. What a receiver answers is read as far as it may help a person, and shown without the address,
// which is a secret.
type network struct {
	agent         string
	guarded, open *http.Client
	roots         *x509.CertPool // nil: the system's
}

const (
	dialTimeout = 5 * time.Second
	mostAnswer  = 200     // bytes that are shown
	mostRead    = 4 << 10 // and read before secrets are taken out: one that is cut at the end is not shown
	secretPart  = 6       // characters that a part of a path has, from which on it may be a secret
)

func newNetwork(agent string) *network {
	client := func(private bool) *http.Client {
		return &http.Client{
			Transport: &http.Transport{
				DialContext: netguard.Dialer(dialTimeout, private).DialContext, ForceAttemptHTTP2: true,
				TLSHandshakeTimeout: dialTimeout, DisableKeepAlives: true, // alerts are hours apart
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
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
			err = u.Err // without the address
		}
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return nil
	}
	answer, _ := io.ReadAll(io.LimitReader(res.Body, mostRead)) // what can be read is enough
	err = fmt.Errorf("it answers %d", res.StatusCode)
	if words := strings.TrimSpace(withoutAddress(string(answer), req.URL)); words != "" {
		words = strings.ToValidUTF8(words[:min(len(words), mostAnswer)], "")
		err = fmt.Errorf("it answers %d: %s", res.StatusCode, words)
	}
	if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil && seconds > 0 {
		return &laterError{err, time.Duration(seconds) * time.Second}
	}
	return err
}

// withoutAddress takes out of an answer what it repeats of the address. Many servers name the path that they do not know, which is
// all the secret there is.
func withoutAddress(text string, u *url.URL) string {
	parts := []string{u.String(), u.RequestURI(), u.Path}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.Username(), password)
	}
	parts = append(parts, strings.Split(u.Path, "/")...)
	parts = append(parts, strings.Split(u.EscapedPath(), "/")...)
	for _, part := range parts { // the whole ones are first
		if len(part) >= secretPart {
			text = strings.ReplaceAll(text, part, "[secret]")
		}
	}
	return text
}
