package app

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// watchStorage tells when the data is gone from where it was opened, or its server is away, and when it is back. The store itself refuses what it is
// asked then.
func (a *App) watchStorage(ctx context.Context) error {
	log := a.log.Named("storage")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var told time.Time
	short, reader := false, false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		short = a.disk.logShortage(log, short)
		a.store.LookAtServer(ctx)
		reader = a.tellReader(ctx, log, reader)
		a.prepareReview(ctx, log)
		err := a.store.Present()
		if err == nil {
			err = a.store.Refused()
		}
		switch {
		case err == nil && !told.IsZero():
			told = time.Time{}
			log.Info("the data is back; webhooks are taken again")
		case err != nil && time.Since(told) >= time.Minute:
			told = time.Now()
			log.Error("webhooks are rejected and nothing is sent", zap.Error(err), zap.String("hint", a.store.Hint(err)))
		}
	}
}

// tellReader writes a line when another program's transaction has been open for long, and when it ends; told is what was told last.
func (a *App) tellReader(ctx context.Context, log *zap.Logger, told bool) bool {
	if a.store.Readers.Look(ctx, a.store.Now()) != nil {
		return told // the trouble of the data is told elsewhere
	}
	v := readerView(a.store)
	switch {
	case v != nil && !told:
		log.Warn("a reader stays open", zap.String("words", v.Words()), zap.String("hint", v.Hint()))
	case v == nil && told:
		log.Info("the reader that stayed open has ended")
	}
	return v != nil
}

// readerView is the transaction of another program that has been open for long; nil for none.
func readerView(s *store.Store) *server.OpenReaderView {
	r := s.Readers.Longest()
	if r == nil {
		return nil
	}
	return &server.OpenReaderView{PID: r.PID, Name: r.Name, Since: r.Since.UTC(), Log: r.Log}
}

// prepareReview does what a review needs that begins while daemons run: the database server was put back, or a standby took over. One
// of them does it; nothing is sent before it is done.
func (a *App) prepareReview(ctx context.Context, log *zap.Logger) {
	restored, review := a.store.InReview()
	if !review || !restored.Until.IsZero() || !a.store.Leads() {
		return
	}
	err := a.store.PrepareReview(ctx, a.store.Now(), restored.Config != a.config().Version)
	switch {
	case err == nil:
		log.Error("webhooks are taken and nothing is sent: this data is a copy: "+restored.How, zap.String("review", "nudgewire review"), zap.String("then", "nudgewire resume --reviewed"))
	case ctx.Err() == nil:
		log.Warn("what may have been sent is not in doubt yet; nothing is sent until it is", zap.Error(err))
	}
}
