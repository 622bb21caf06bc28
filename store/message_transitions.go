package store

import (
	"time"

	"github.com/nudgewire/nudgewire"
)

// The transitions of message statuses. The service does not show its transitions, so any order is
// accepted and unknown words are kept; only a final state is never left, with one
// exception: delivered becomes read.

// ends reports whether a status word is final, wherever it came from.
func ends(s nudgewire.Status) bool {
	switch s {
	case nudgewire.StatusRead, nudgewire.StatusFailed, nudgewire.StatusExpired, nudgewire.StatusUntracked:
		return true
	default:
		return false
	}
}

// begin is a message as it is first stored.
func begin(m nudgewire.Message, at time.Time) nudgewire.Message {
	if m.AcceptedAt.IsZero() {
		m.AcceptedAt = at
	}
	if m.Status == "" {
		m.Status = nudgewire.StatusAccepted
	}
	if !m.Tracked() {
		m.Status = nudgewire.StatusUntracked
	}
	if m.StatusAt.IsZero() {
		m.StatusAt = m.AcceptedAt
	}
	m.Final = m.Final || ends(m.Status)
	switch {
	case m.Final:
		m.NextPollAt = time.Time{}
	case m.NextPollAt.IsZero():
		m.NextPollAt = m.AcceptedAt
	}
	return seen(m, m.Status, m.StatusAt)
}

// follow is m after the poll p.
func follow(m nudgewire.Message, p nudgewire.Poll) nudgewire.Message {
	if !p.Unasked {
		m.Polls++
	}
	allowed := p.Status != "" && !m.Final
	if m.Status == nudgewire.StatusDelivered {
		allowed = p.Status == nudgewire.StatusRead || (p.Status == nudgewire.StatusDelivered && !m.Final)
	}
	if allowed {
		if p.Status != m.Status {
			m.Status, m.StatusAt, m.Error, m.ErrorClass = p.Status, p.At, "", p.Class
		}
		if p.Error != "" {
			m.Error = p.Error
		}
		if !p.ToldAt.IsZero() {
			m.ToldAt = p.ToldAt
		}
		m = seen(m, p.Status, p.At)
	}
	if !m.Final {
		m.NextPollAt = p.NextPollAt
	}
	if m.Final || p.Final || ends(m.Status) {
		m.Final, m.NextPollAt = true, time.Time{}
	}
	return m
}

// seen notes when a status was first seen.
func seen(m nudgewire.Message, s nudgewire.Status, at time.Time) nudgewire.Message {
	var first *time.Time
	switch s {
	case nudgewire.StatusSent:
		first = &m.SentAt
	case nudgewire.StatusDelivered:
		first = &m.DeliveredAt
	case nudgewire.StatusRead:
		first = &m.ReadAt
	case nudgewire.StatusFailed:
		first = &m.FailedAt
	default:
		return m
	}
	if first.IsZero() {
		*first = at
	}
	return m
}

// countSeen counts what is new in a message.
func (t *tx) countSeen(before, after *nudgewire.Message) {
	for _, c := range []struct {
		is  bool
		was bool
		n   counter
	}{
		{!after.SentAt.IsZero(), !before.SentAt.IsZero(), countSent},
		{!after.DeliveredAt.IsZero(), !before.DeliveredAt.IsZero(), countDelivered},
		{!after.ReadAt.IsZero(), !before.ReadAt.IsZero(), countRead},
		{!after.FailedAt.IsZero(), !before.FailedAt.IsZero(), countFailed},
		{after.Status == nudgewire.StatusExpired, before.Status == nudgewire.StatusExpired, countExpired},
	} {
		if c.is && !c.was {
			t.counts[c.n]++
		}
	}
}
