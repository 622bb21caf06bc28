package messaging

import "time"

// The transitions of message statuses. The service does not show its transitions, so any order is
// accepted and unknown words are kept; only a final state is never left, with one
// exception: delivered becomes read.

// Ends reports whether a status word is final, wherever it came from.
func (s Status) Ends() bool {
	switch s {
	case StatusRead, StatusFailed, StatusExpired, StatusUntracked:
		return true
	default:
		return false
	}
}

// BeginStatus makes m the message as it is first stored.
func (m *Message) BeginStatus(at time.Time) {
	if m.AcceptedAt.IsZero() {
		m.AcceptedAt = at
	}
	if m.Status == "" {
		m.Status = StatusAccepted
	}
	if !m.Tracked() {
		m.Status = StatusUntracked
	}
	if m.StatusAt.IsZero() {
		m.StatusAt = m.AcceptedAt
	}
	m.Final = m.Final || m.Status.Ends()
	switch {
	case m.Final:
		m.NextPollAt = time.Time{}
	case m.NextPollAt.IsZero():
		m.NextPollAt = m.AcceptedAt
	}
	m.seen(m.Status, m.StatusAt)
}

// FollowStatus makes m the message after the poll p, and says what is new of it.
func (m *Message) FollowStatus(p *Poll) StatusNews {
	before := m.KnownStatus()
	if !p.Unasked {
		m.Polls++
	}
	allowed := p.Status != "" && !m.Final
	if m.Status == StatusDelivered {
		allowed = p.Status == StatusRead || (p.Status == StatusDelivered && !m.Final)
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
		m.seen(p.Status, p.At)
	}
	if !m.Final {
		m.NextPollAt = p.NextPollAt
	}
	if m.Final || p.Final || m.Status.Ends() {
		m.Final, m.NextPollAt = true, time.Time{}
	}
	return m.KnownStatus().since(before)
}

// seen notes when a status was first seen.
func (m *Message) seen(s Status, at time.Time) {
	var first *time.Time
	switch s {
	case StatusSent:
		first = &m.SentAt
	case StatusDelivered:
		first = &m.DeliveredAt
	case StatusRead:
		first = &m.ReadAt
	case StatusFailed:
		first = &m.FailedAt
	default:
		return
	}
	if first.IsZero() {
		*first = at
	}
}

// StatusNews is what is known of a message. Whatever is read has arrived, though nobody said so before.
type StatusNews struct{ Sent, Delivered, Arrived, Read, Failed, Expired bool }

// KnownStatus is all that is known of m.
func (m *Message) KnownStatus() StatusNews {
	n := StatusNews{
		Sent: !m.SentAt.IsZero(), Delivered: !m.DeliveredAt.IsZero(), Read: !m.ReadAt.IsZero(), Failed: !m.FailedAt.IsZero(),
		Expired: m.Status == StatusExpired,
	}
	n.Arrived = n.Delivered || n.Read
	return n
}

// since is what of it was not known before.
func (n StatusNews) since(before StatusNews) StatusNews {
	return StatusNews{
		n.Sent && !before.Sent, n.Delivered && !before.Delivered, n.Arrived && !before.Arrived, n.Read && !before.Read,
		n.Failed && !before.Failed, n.Expired && !before.Expired,
	}
}
