package alerts

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/receiver"
)

// A network reaches receivers.
type network struct {
	*receiver.Client
	roots *x509.CertPool // nil: the system's
}

func newNetwork(agent string) *network { return &network{Client: receiver.NewClient(agent, 0)} }

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
	return n.Post(ctx, receiver.Address{URL: r.URL, AllowPrivate: r.AllowPrivate}, nil, text)
}
