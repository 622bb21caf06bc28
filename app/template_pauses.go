package app

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// probeLook is how often the daemon looks for templates whose pause has ended.
const probeLook = 5 * time.Second

// watchTemplates lets a message go as a probe for each template that the service did not send for a while, and
// says in the log when such a pause begins and ends.
func (a *App) watchTemplates(ctx context.Context) error {
	tick := time.NewTicker(probeLook)
	defer tick.Stop()
	told := map[[2]string]time.Time{} // until when each is paused, by account and name
	for {
		if err := a.lookAtTemplates(ctx, told); err != nil && ctx.Err() == nil {
			a.log.Warn("look for templates that the service pauses", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *App) lookAtTemplates(ctx context.Context, told map[[2]string]time.Time) error {
	now := map[[2]string]bool{}
	for _, h := range a.store.TemplatePauses() {
		id := [2]string{h.Account, h.Name}
		if now[id] = true; told[id].Equal(h.Until) {
			continue
		}
		told[id] = h.Until
		a.log.Warn("the service does not send a template; what waits with it is paused, and everything else goes",
			zap.String("template", h.Name), zap.String("account", h.Account), zap.String("words", h.Reason), zap.Time("next_probe", h.Until))
	}
	for id := range told {
		if !now[id] {
			delete(told, id)
			a.log.Info("a template is sent again", zap.String("template", id[1]), zap.String("account", id[0]))
		}
	}
	if len(now) == 0 || !a.store.Leads() { // one process alone chooses who goes
		return nil
	}
	probes, err := a.store.ProbeTemplates(ctx, time.Now())
	for _, h := range probes {
		a.log.Info("a message shows whether its template is sent again", zap.String("template", h.Name), zap.Int64("dispatch", int64(h.Probe)))
	}
	return err
}
