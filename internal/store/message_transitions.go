package store

import (
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// The transitions of message statuses. The service does not show its transitions, so any order is
// accepted and unknown words are kept; only a final state is never left, with one
// exception: delivered becomes read.

// ends reports whether a status word is final, wherever it came from.
func ends(s messaging.Status) bool {
	switch s {
	case messaging.StatusRead, messaging.StatusFailed, messaging.StatusExpired, messaging.StatusUntracked:
		return true
	default:
		return false
	}
}

// begin makes m the message as it is first stored.
func begin(m *messaging.Message, at time.Time) {
	if m.AcceptedAt.IsZero() {
		m.AcceptedAt = at
	}
	if m.Status == "" {
		m.Status = messaging.StatusAccepted
	}
	if !m.Tracked() {
		m.Status = messaging.StatusUntracked
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
	seen(m, m.Status, m.StatusAt)
}

// follow makes m the message after the poll p, and says what is new of it.
func follow(m *messaging.Message, p *messaging.Poll) news {
	before := known(m)
	if !p.Unasked {
		m.Polls++
	}
	allowed := p.Status != "" && !m.Final
	if m.Status == messaging.StatusDelivered {
		allowed = p.Status == messaging.StatusRead || (p.Status == messaging.StatusDelivered && !m.Final)
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
		seen(m, p.Status, p.At)
	}
	if !m.Final {
		m.NextPollAt = p.NextPollAt
	}
	if m.Final || p.Final || ends(m.Status) {
		m.Final, m.NextPollAt = true, time.Time{}
	}
	return known(m).since(before)
}

// seen notes when a status was first seen.
func seen(m *messaging.Message, s messaging.Status, at time.Time) {
	var first *time.Time
	switch s {
	case messaging.StatusSent:
		first = &m.SentAt
	case messaging.StatusDelivered:
		first = &m.DeliveredAt
	case messaging.StatusRead:
		first = &m.ReadAt
	case messaging.StatusFailed:
		first = &m.FailedAt
	default:
		return
	}
	if first.IsZero() {
		*first = at
	}
}

// news are what is known of a message. Whatever is read has arrived, though nobody said so before.
type news struct{ sent, delivered, arrived, read, failed, expired bool }

// known is all that is known of m.
func known(m *messaging.Message) news {
	n := news{
		sent: !m.SentAt.IsZero(), delivered: !m.DeliveredAt.IsZero(), read: !m.ReadAt.IsZero(), failed: !m.FailedAt.IsZero(),
		expired: m.Status == messaging.StatusExpired,
	}
	n.arrived = n.delivered || n.read
	return n
}

// since is what of it was not known before.
func (n news) since(before news) news {
	return news{
		n.sent && !before.sent, n.delivered && !before.delivered, n.arrived && !before.arrived, n.read && !before.read,
		n.failed && !before.failed, n.expired && !before.expired,
	}
}
