package app

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/store"
)

// watchStorage tells when the data is gone from where it was opened, and when it is back. The store itself refuses what it is
// asked then.
func (a *App) watchStorage(ctx context.Context) error {
	log := a.log.Named("storage")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var told, toldLong time.Time
	short := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		short = a.disk.tell(log, short)
		if size := store.LogSize(a.began.Storage); size >= store.LongLog && time.Since(toldLong) >= time.Minute {
			toldLong = time.Now()
			log.Warn("the log of the database is long: a reader keeps it from being moved into the database; end other programs that have the database open",
				zap.Int64("megabytes", size>>20))
		}
		switch err := a.store.Present(); {
		case err == nil && !told.IsZero():
			told = time.Time{}
			log.Info("the data is back; webhooks are taken again")
		case err != nil && time.Since(told) >= time.Minute:
			told = time.Now()
			log.Error("webhooks are rejected and nothing is sent", zap.Error(err))
		}
	}
}
