package app

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/contacts"
)

const (
	// readLook is how often the daemon looks for events of which it is not read yet what they say of contacts; readAgain how long it
	// leaves them after an error.
	readLook  = time.Second
	readAgain = 10 * time.Second
	// readShare of the time is for webhooks and sends: after some events it rests so many times as long as they took.
	readShare = 6
)

// readContacts has what events say of contacts taken in, for those who search them, and their fields counted. What a stop leaves is read after
// the next start.
func (a *App) readContacts(ctx context.Context) error {
	log, watch := a.log.Named("contacts"), a.newWatch()
	for {
		began := time.Now()
		n, err := contacts.Records{Store: a.store}.ReadContacts(ctx, watch.Look)
		pause := readLook
		switch {
		case err != nil:
			if ctx.Err() == nil { // else it was the stop that cut it off
				log.Error("what events say of contacts could not be read; the newest are found by their phones alone until it is", zap.Error(err))
			}
			pause = readAgain
		case n > 0:
			pause = readShare * time.Since(began)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
