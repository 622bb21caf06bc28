package store

import (
	"time"

	"github.com/nudgewire/nudgewire"
)

// A message that the service took, and that failed for no lasting reason of its own (ErrorClass.GoesAgain), was
// not sent and is queued once more, due after a rest: by the rules of what a person sends again (RunRow.MayGoAgain), the table that holds each
// dispatch to one successor, and in the commit that knows of the failure, so that a crash loses none and
// makes none twice. It waits like any other, while sending is halted, and until the expiry that
// the message had at first.

// succeed queues the message of a dispatch once more, due at due, if nothing is against it.
func (t *tx) succeed(id nudgewire.DispatchID, at, due time.Time, s *Store) error {
	d, send, _, err := t.mayGoAgain(id)
	switch {
	case err != nil || d == nil:
		return err
	case !d.ExpiresAt.IsZero() && !due.Before(d.ExpiresAt):
		return nil
	case d.EventID != 0:
		if s.settle == nil {
			return nil // nobody can tell whether it still makes sense
		}
		_, err = t.enqueueEventRetry(d, at, due, d.ExpiresAt, s, false)
		return err
	}
	of, ok := nudgewire.RunOfKey(d.Key)
	if !ok {
		return nil
	}
	run, err := t.run(of)
	if err != nil || run.State == nudgewire.RunCancelled {
		return err
	}
	number, err := t.newestBelow(of, 1<<62)
	if err != nil {
		return err
	}
	number = max(number+1, unlisted)
	return t.enqueueRowRetry(&run, number, d, send, at, due, d.ExpiresAt)
}

// sendsBy reports whether the present config sends by a trigger.
func (s *Store) sendsBy(trigger string) bool { return s.sending == nil || s.sending(trigger) }
