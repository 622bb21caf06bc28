package privacy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
	"github.com/nudgewire/nudgewire/internal/units"
)

// OpenRedactions are senders' requests to forget all that came by a connector, for who decides about them.
type OpenRedactions struct {
	Records
	Now func() time.Time
}

// A RedactionView is a sender's request that all that came by a connector is forgotten. Nobody carries it out but a person.
type RedactionView struct {
	Connector string            `json:"connector" kind:"ours"`
	Event     messaging.EventID `json:"event"` // that asked first
	Since     time.Time         `json:"since"`
	Contacts  int64             `json:"contacts"` // different phones, and events, that came by it until the newest request
	Events    int64             `json:"events"`
}

// Words is the request in words.
func (v *RedactionView) Words() string {
	return fmt.Sprintf("%s asks since %s that all that came by it is forgotten, %s of %s (event %d): a person has to decide, and its contacts get no marketing meanwhile",
		v.Connector, v.Since.Format("2006-01-02 15:04 UTC"), units.Count(v.Events, "event"), units.Count(v.Contacts, "contact"), v.Event)
}

func redactionView(r *store.Redaction) RedactionView {
	return RedactionView{Connector: r.Connector, Event: r.Event, Since: r.At.UTC(), Contacts: r.Contacts, Events: r.Events}
}

// Open are the requests that wait for a person.
func (s OpenRedactions) Open(ctx context.Context) (out []RedactionView, err error) {
	all, err := s.Records.Redactions(ctx)
	for i := range all {
		out = append(out, redactionView(&all[i]))
	}
	return out, err
}

func (s OpenRedactions) List(ctx context.Context, _ struct{}) ([]RedactionView, error) {
	out, err := s.Open(ctx)
	if out == nil {
		out = []RedactionView{}
	}
	return out, err
}

func (s OpenRedactions) CarryOut(ctx context.Context, connector string) (RedactionView, error) {
	return s.decide(ctx, connector, true)
}

func (s OpenRedactions) Refuse(ctx context.Context, connector string) (RedactionView, error) {
	return s.decide(ctx, connector, false)
}

// decide carries out the open request of a connector, or refuses it. What waited for that is asked about again at once.
func (s OpenRedactions) decide(ctx context.Context, connector string, carryOut bool) (v RedactionView, err error) {
	who, _ := access.WhoOf(ctx)
	order := chain.Entry{At: s.Now(), Who: mask.Line(who.Name), Via: string(who.From), Action: "refuse to forget", Subject: "connector " + mask.Line(connector)}
	if carryOut {
		order.Action = "forget"
	}
	done, err := s.DecideRedaction(ctx, connector, carryOut, order)
	if errors.Is(err, messaging.ErrNotFound) {
		return v, refusal.Newf(http.StatusNotFound, `"nudgewire contacts redactions" shows those that are open`, "no request to forget all that came by %q is open", connector)
	}
	if err == nil {
		_, err = s.ReviewDeferred(ctx)
	}
	return redactionView(&done), err
}
