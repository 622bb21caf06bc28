package app

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// watchStorage tells when the data is gone from where it was opened, and when it is back. The store itself refuses what it is
// asked then.
func (a *App) watchStorage(ctx context.Context) error {
	log := a.log.Named("storage")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var told time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch err := a.store.Present(); {
		case err == nil && !told.IsZero():
			told = time.Time{}
			log.Info("the data is back; webhooks are taken again")
		case err != nil && time.Since(told) >= time.Minute:
			told = time.Now()
			log.Error("webhooks are refused and nothing is sent", zap.Error(err))
		}
	}
}
