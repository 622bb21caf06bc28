package app

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// probeLook is how often the daemon looks for pauses that have ended.
const probeLook = 5 * time.Second

// watchSendPauses lets a message go as a probe for each template, or whatever else, that the service did not take for a while, and
// says in the log when such a pause begins and ends.
func (a *App) watchSendPauses(ctx context.Context) error {
	tick := time.NewTicker(probeLook)
	defer tick.Stop()
	told := map[[2]string]time.Time{} // until when each is paused, by account and what it is
	for {
		if err := a.lookAtSendPauses(ctx, told); err != nil && ctx.Err() == nil {
			a.log.Warn("look for what the service does not take", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *App) lookAtSendPauses(ctx context.Context, told map[[2]string]time.Time) error {
	now := map[[2]string]bool{}
	for _, h := range a.store.SendHolds() {
		id := [2]string{h.Account, h.What()}
		if now[id] = true; told[id].Equal(h.Until) {
			continue
		}
		told[id] = h.Until
		a.log.Warn("the service does not take some of what is sent; that waits, and everything else goes",
			zap.String("what", h.What()), zap.String("cause", h.Cause), zap.String("account", h.Account), zap.String("words", h.Reason), zap.Time("next_probe", h.Until))
	}
	for id := range told {
		if !now[id] {
			delete(told, id)
			a.log.Info("the service takes again what it did not", zap.String("what", id[1]), zap.String("account", id[0]))
		}
	}
	if len(now) == 0 || !a.store.Leads() { // one process alone chooses who goes
		return nil
	}
	probes, err := a.store.ProbeHolds(ctx, a.store.Now())
	for _, h := range probes {
		a.log.Info("a message shows whether the service takes it again", zap.String("what", h.What()), zap.Int64("message", int64(h.Probe)))
	}
	return err
}
