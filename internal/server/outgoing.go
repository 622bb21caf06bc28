package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Outgoing is what the admin API asks of those who deliver webhooks out.
type Outgoing interface {
	// Receivers are those of the config, in its order.
	Receivers() []ReceiverPlan
	// TestReceiver posts a test. The error is why it was not taken, also that the config has no such receiver any more.
	TestReceiver(ctx context.Context, name string) error
}

// A ReceiverPlan is a receiver as the config has it.
type ReceiverPlan struct {
	Name  string
	Kinds []string
}

// A ReceiverView is a receiver under webhooks_out and how it goes with it.
type ReceiverView struct {
	Name         string    `json:"receiver" kind:"ours"`
	Kinds        []string  `json:"kinds,omitempty" kind:"ours"` // that it wants to know
	Gone         bool      `json:"gone,omitempty"`              // from the config
	Waiting      int64     `json:"waiting"`                     // 10001 is more than 10000
	GivenUp      int64     `json:"given_up"`                    // 10001 is more than 10000
	Oldest       time.Time `json:"oldest,omitzero"`             // of the changes that wait
	DeliveredAt  time.Time `json:"delivered_at,omitzero"`
	FailingSince time.Time `json:"failing_since,omitzero"` // nothing was delivered since
	LastError    string    `json:"last_error,omitempty" kind:"text"`
	FailedAt     time.Time `json:"failed_at,omitzero"`
}

func (a admin) receivers(ctx context.Context, _ None) ([]ReceiverView, error) {
	all, err := a.receiverViews(ctx)
	if all == nil {
		all = []ReceiverView{}
	}
	return all, err
}

// receiverViews are all receivers of the config, and those that are gone from it and still have something waiting or set aside.
func (a admin) receiverViews(ctx context.Context) (out []ReceiverView, err error) {
	states, err := outbox.Records{Store: a.Store}.ReceiverStates(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	view := func(name string) ReceiverView {
		v := ReceiverView{Name: name}
		if i := slices.IndexFunc(states, func(s outbox.ReceiverState) bool { return s.Receiver == name }); i >= 0 {
			s := &states[i]
			v.Waiting, v.GivenUp, v.LastError = s.Waiting, s.GivenUp, s.LastError
			v.Oldest, v.DeliveredAt, v.FailingSince, v.FailedAt = s.Oldest.UTC(), s.DeliveredAt.UTC(), s.FailingSince.UTC(), s.FailedAt.UTC()
		}
		return v
	}
	if a.Outgoing != nil {
		for _, r := range a.Outgoing.Receivers() {
			v := view(r.Name)
			v.Kinds, known[r.Name] = r.Kinds, true
			out = append(out, v)
		}
	}
	for i := range states {
		if s := &states[i]; !known[s.Receiver] && (s.Waiting > 0 || s.GivenUp > 0 || a.Outgoing == nil) {
			v := view(s.Receiver)
			v.Gone = a.Outgoing != nil
			out = append(out, v)
		}
	}
	return out, nil
}

// countWords is a count that may have ended at the most.
func countWords(n int64, what string) string {
	if n > outbox.MostCounted {
		return "more than " + units.Count(int64(outbox.MostCounted), what)
	}
	return units.Count(n, what)
}

// Words say how it goes with a receiver.
func (v *ReceiverView) Words(now time.Time) string {
	var words []string
	if v.Gone {
		words = append(words, "not in the config")
	}
	if v.Waiting > 0 {
		words = append(words, countWords(v.Waiting, "webhook")+" waiting")
	}
	if v.GivenUp > 0 {
		words = append(words, countWords(v.GivenUp, "webhook")+" given up")
	}
	if !v.FailingSince.IsZero() {
		words = append(words, fmt.Sprintf("failing for %s: %s", units.Brief(now.Sub(v.FailingSince)), v.LastError))
	}
	if len(words) == 0 {
		return "all is delivered"
	}
	return strings.Join(words, "; ")
}

// receiverLate is how long a receiver may fail before somebody has to look at it.
const receiverLate = 10 * time.Minute

// webhooksOut are receivers that take nothing, or did not take something.
func (t *found) webhooksOut(v *StatusView) {
	for i := range v.WebhooksOut {
		r := &v.WebhooksOut[i]
		failing := !r.FailingSince.IsZero() && t.now.Sub(r.FailingSince) >= receiverLate && r.Waiting > 0
		left := r.Gone && r.Waiting > 0
		if !failing && !left && r.GivenUp == 0 {
			continue
		}
		one := messaging.Trouble{
			Code: messaging.TroubleWebhooksOut, Subject: r.Name, Severity: messaging.Bad, About: "webhooks out", Amount: float64(r.Waiting + r.GivenUp),
			Words: fmt.Sprintf("receiver %s: %s", r.Name, r.Words(t.now)),
		}
		switch {
		case left:
			one.Hint = "put the receiver back under webhooks_out by this name, or let it be: what waits is removed after 30 days"
		case r.Gone: // only what it did not take is left
			one.Hint = fmt.Sprintf("put the receiver back under webhooks_out by this name, then \"nudgewire webhooks replay '%s' --given-up\"; without that they are removed as retention.webhooks_out says", r.Name)
		case failing:
			one.Since = r.FailingSince
			one.Hint = fmt.Sprintf("look at the receiver; \"nudgewire webhooks test '%s'\" tries it, and what waits follows by itself", r.Name)
		default:
			one.Hint = fmt.Sprintf("mend the receiver, then \"nudgewire webhooks replay '%s' --given-up\"; without that they are removed as retention.webhooks_out says", r.Name)
		}
		t.add(one)
	}
}

// A ReplayRequest asks for changes to be sent to a receiver again.
type ReplayRequest struct {
	Receiver string              `json:"receiver"`
	Since    time.Time           `json:"since,omitzero"`
	Message  messaging.MessageID `json:"message,omitempty"`
	GivenUp  bool                `json:"given_up,omitempty"`
	DryRun   bool                `json:"dry_run,omitempty"`
}

// A ReplayView is how many there were.
type ReplayView struct {
	Receiver string `json:"receiver" kind:"ours"`
	Count    int64  `json:"count"`
	DryRun   bool   `json:"dry_run,omitempty"`
}

func (a admin) replay(ctx context.Context, in ReplayRequest) (ReplayView, error) {
	if err := a.knowReceiver(in.Receiver); err != nil {
		return ReplayView{}, err
	}
	n, err := outbox.Records{Store: a.Store}.Replay(ctx, outbox.Replay{Receiver: in.Receiver, Since: in.Since, Message: in.Message, GivenUp: in.GivenUp, DryRun: in.DryRun})
	return ReplayView{in.Receiver, n, in.DryRun}, err
}

// A ReceiverTest names the receiver to test.
type ReceiverTest struct {
	Receiver string `json:"receiver"`
}

// A ReceiverTested is how a test ended.
type ReceiverTested struct {
	Receiver string `json:"receiver" kind:"ours"`
	Error    string `json:"error,omitempty" kind:"text"`
}

func (a admin) testReceiver(ctx context.Context, in ReceiverTest) (ReceiverTested, error) {
	if err := a.knowReceiver(in.Receiver); err != nil {
		return ReceiverTested{}, err
	}
	out := ReceiverTested{Receiver: in.Receiver}
	if err := a.Outgoing.TestReceiver(ctx, in.Receiver); err != nil {
		out.Error = err.Error()
	}
	return out, nil
}

// knowReceiver is an error for a name that the config does not have.
func (a admin) knowReceiver(name string) error {
	var names []string
	if a.Outgoing != nil {
		for _, r := range a.Outgoing.Receivers() {
			names = append(names, r.Name)
		}
	}
	if slices.Contains(names, name) {
		return nil
	}
	return noReceiver("under webhooks_out", name, names, "nudgewire webhooks list")
}
