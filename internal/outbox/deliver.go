package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/receiver"
)

// A Body is what is posted. docs/webhooks-out.md is about it.
type Body struct {
	Type string           `json:"type"`      // the kind: message.delivered
	ID   string           `json:"id"`        // that of the header webhook-id: the same at each attempt and replay
	At   time.Time        `json:"timestamp"` // of the change, UTC
	Data messaging.Change `json:"data"`
}

// idOf names an Outgoing beyond this data: its number may come again after a restore, its time does not.
func idOf(o *messaging.Outgoing) string {
	return "nw_" + strconv.FormatInt(o.ID, 36) + "_" + strconv.FormatInt(o.At.UnixMicro(), 36)
}

// post delivers a body once, signed.
func (b *Outbox) post(ctx context.Context, r *Receiver, body *Body, now time.Time) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("its body cannot be written: %w", err)
	}
	var signatures []string
	for _, s := range r.signers {
		one, err := s.Sign(body.ID, now, text)
		if err != nil {
			return fmt.Errorf("it cannot be signed: %w", err)
		}
		signatures = append(signatures, one)
	}
	head := http.Header{}
	head.Set(standardwebhooks.HeaderWebhookID, body.ID)
	head.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	head.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return b.client.Post(ctx, receiver.Address{URL: r.URL, AllowPrivate: r.AllowPrivate}, head, text)
}
