package store

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/reach"
)

func contactHashes(phones []messaging.Phone, hash func(...string) int64) []int64 {
	all := make([]int64, len(phones))
	for i, phone := range phones {
		all[i] = reach.HashOf(phone, hash)
	}
	return all
}

// A roomAsked is a question with the hashes of its phones, which may be a third of a million: they are made before the commit.
type roomAsked struct {
	messaging.QuotaQuestion
	contacts []int64
	hash     func(...string) int64
}

func (s *Store) askRoom(q messaging.QuotaQuestion) *roomAsked {
	return &roomAsked{q, contactHashes(q.Phones, s.hash), s.hash}
}

// Room says how many of the phones still have room in the window of their account's limit.
func (s *Store) Room(ctx context.Context, q messaging.QuotaQuestion) (room messaging.Room, err error) {
	asked := s.askRoom(q)
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		room, err = t.room(asked)
		return err
	})
	return room, Wrap(err, "room of the account %q", q.Account)
}

// room counts with what this commit knows, as a claim of messages does: so a file and a message never share the
// last place.
func (t *Tx) room(q *roomAsked) (room messaging.Room, err error) {
	since := engine.Micro(q.Now.Add(-q.Per))
	reached, err := t.peers.Contacts(t.Tx, q.Account, since, q.hash)
	if err != nil {
		return room, err
	}
	beside := map[int64]bool{} // that are not among reached
	err = reach.Flying(t.Tx, q.Account, since, q.hash, func(contact int64) {
		if !reached.Has(contact) {
			beside[contact] = true
		}
	})
	if err != nil {
		return room, err
	}
	room.Contacts = int64(reached.Count() + len(beside))
	free, wanted := q.Most-room.Contacts, int64(0)
	for _, contact := range q.contacts {
		if !reached.Has(contact) && !beside[contact] {
			beside[contact] = true
			wanted++
		}
		if wanted <= max(free, 0) {
			room.Fits++
		} else if wanted >= q.Least {
			break // there is no more to know: Next is about the least
		}
	}
	if room.Fits < len(q.Phones) {
		if at := reached.Leaves(min(wanted, q.Least) - free); at > 0 {
			room.Next = engine.Moment(at).Add(q.Per)
		}
	}
	return room, nil
}
