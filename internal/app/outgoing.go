package app

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Each receiver under webhooks_out has an outbox of its own, so that one that hangs holds up nothing of the others.

// A receiver is one with its outbox.
type receiver struct {
	*outbox.Outbox
	member *worker
}

// receiverMap is all receivers by name. It is replaced, never changed.
type receiverMap map[string]*receiver

// useReceivers takes up the receivers of cfg: known ones go on with what the config says now, new ones begin, and what waits for
// those that are gone waits on. It begins with what is to be told, so that nothing waits for nobody.
func (a *App) useReceivers(cfg *config.Config) {
	before, after := receiverMap{}, receiverMap{}
	if all := a.receivers.Load(); all != nil {
		before = *all
	}
	for _, r := range cfg.Outgoing.Receivers {
		if one := before[r.Name]; one != nil {
			one.Use(r)
			after[r.Name] = one
			continue
		}
		one := &receiver{Outbox: outbox.New(outbox.Options{Store: outbox.Records{Store: a.store}, Log: a.log.Named("outbox"), Agent: "nudgewire/" + a.opt.Version, Grace: grace, Now: a.store.Now}, r)}
		one.member = a.outboxes.join(one.Run)
		after[r.Name] = one
	}
	a.receivers.Store(&after)
	a.outgoing.Store(cfg.Outgoing)
	for name, one := range before {
		if after[name] == nil {
			a.log.Warn("a receiver is gone from webhooks_out; what waits for it waits until it is back, and is removed after 30 days", zap.String("receiver", name))
			a.outboxes.leave(one.member)
		}
	}
}

// dropReceivers has no receiver be told any more, until useReceivers.
func (a *App) dropReceivers() {
	if all := a.receivers.Swap(nil); all != nil {
		for _, one := range *all {
			a.outboxes.leave(one.member)
		}
	}
}

// wakeOutbox tells the outbox of a receiver that something falls due.
func (a *App) wakeOutbox(name string, at time.Time) {
	if all := a.receivers.Load(); all != nil {
		if one := (*all)[name]; one != nil {
			one.Wake(at)
		}
	}
}

// Receivers are those of the present config; see server.Outgoing.
func (a *App) Receivers() (out []server.ReceiverPlan) {
	for _, r := range a.outgoing.Load().Receivers {
		out = append(out, server.ReceiverPlan{Name: r.Name, Kinds: r.Kinds})
	}
	return out
}

// TestReceiver posts a test to a receiver; see server.Outgoing.
func (a *App) TestReceiver(ctx context.Context, name string) error {
	if one := (*a.receivers.Load())[name]; one != nil {
		return one.Test(ctx)
	}
	return errors.New("the config does not have it any more")
}
