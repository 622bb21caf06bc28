package app

import (
	"context"
	"time"
)

// leaderLook is how often a part looks whether this process leads.
const leaderLook = time.Second

// led is a part that runs only while this process leads, because of those that share the data one should do it.
func (a *App) led(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(leaderLook)
		defer tick.Stop()
		for ctx.Err() == nil {
			if !a.store.Leads() {
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
				continue
			}
			if err := a.term(ctx, tick, run); err != nil {
				return err
			}
		}
		return nil
	}
}

// term runs a part until this process leads no more.
func (a *App) term(ctx context.Context, tick *time.Ticker, run func(context.Context) error) error {
	term, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- run(term) }()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if !a.store.Leads() {
				end()
			}
		}
	}
}
