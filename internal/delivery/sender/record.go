package sender

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// record stores how a claim ended, again and again while the store is in trouble: what is
// known here is known nowhere else. It gives up only when ctx ends; then the lease ends too,
// and the message is in doubt.
func (s *Sender) record(ctx context.Context, d *messaging.Message, a messaging.Attempt) {
	for failures := 1; ; failures++ {
		err := s.Store.Finish(ctx, a)
		if err == nil {
			break
		}
		if errors.Is(err, messaging.ErrClaimLost) {
			s.lost(d, &a, "the claim ended before its outcome could be stored", err)
			return
		}
		if ctx.Err() != nil {
			s.lost(d, &a, "the outcome of a claim could not be stored in time", err)
			return
		}
		pause := backoff.Next(failures, 20*time.Millisecond, 5*time.Second, s.Jitter())
		if failures == 1 {
			s.Log.Error("storing the outcome of a claim", s.about(d, zap.Error(err), zap.Duration("again_in", pause))...)
		}
		backoff.Sleep(ctx, pause)
	}
	s.note(d, &a)
}

// lost logs an outcome that the store does not hold, with what a person needs to resolve the
// message in doubt.
func (s *Sender) lost(d *messaging.Message, a *messaging.Attempt, what string, err error) {
	s.counts.lost.Add(1)
	fields := s.about(d, zap.Error(err), zap.String("outcome", string(a.State)), zap.String("reason", mask.Text(a.Reason)))
	if a.Message != nil {
		fields = append(fields, zap.String("message_id", string(a.Message.ServiceID)))
	}
	s.Log.Error(what, fields...)
}

// untrackedEvery is how often the log tells of messages that cannot be followed.
const untrackedEvery = time.Minute

// tellUntracked says now and then that the service's answers carry no message_id.
func (s *Sender) tellUntracked(now time.Time) {
	last := s.untrackedTold.Load()
	if last != 0 && now.UnixNano()-last < int64(untrackedEvery) || !s.untrackedTold.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	s.Log.Warn("messages were accepted without a message_id, so what becomes of them cannot be followed; the answer of the service carries none that can be read",
		zap.Uint64("untracked", s.counts.untracked.Load()))
}

// note tells everybody else about a recorded outcome.
func (s *Sender) note(d *messaging.Message, a *messaging.Attempt) {
	level := zap.WarnLevel
	switch a.State {
	case messaging.StateAccepted:
		level = zap.DebugLevel
		s.counts.accepted.Add(1)
		if !a.Message.Tracked() {
			s.counts.untracked.Add(1)
			s.tellUntracked(a.At)
		}
	case messaging.StateWaiting:
		level = zap.DebugLevel // the trouble behind it is told once
		s.counts.retried.Add(1)
		s.loop.Wake(a.RetryAt)
	case messaging.StateRejected:
		s.counts.rejected.Add(1)
	case messaging.StateInDoubt:
		s.counts.inDoubt.Add(1)
	case messaging.StateDropped:
		s.counts.dropped.Add(1)
	}
	if s.Log.Core().Enabled(level) { // asked first, because nearly all are accepted and few look that closely
		s.Log.Log(level, "message "+string(a.State), s.about(d, zap.String("reason", mask.Text(a.Reason)))...)
	}
}
