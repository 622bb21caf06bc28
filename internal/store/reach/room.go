package reach

import (
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// HashesOf are the hashes of contacts, in the order of their phones.
func HashesOf(phones []messaging.Phone, hash func(...string) int64) []int64 {
	all := make([]int64, len(phones))
	for i, phone := range phones {
		all[i] = HashOf(phone, hash)
	}
	return all
}

// A Question is how many of its phones have room in the window of their account's limit, with their hashes: there may be a third of a million, so
// these are made before the commit.
type Question struct {
	messaging.QuotaQuestion
	contacts []int64
	Hash     func(...string) int64
}

// Ask makes the hashes of a question.
func Ask(q messaging.QuotaQuestion, hash func(...string) int64) *Question {
	return &Question{q, HashesOf(q.Phones, hash), hash}
}

// Since is the beginning of its window.
func (q *Question) Since() int64 { return engine.Micro(q.Now.Add(-q.Per)) }

// Room counts with what this commit knows, as a claim of messages does: so a file and a message never share the
// last place. reached are those of the account in the window.
func (q *Question) Room(t *engine.Tx, reached *Contacts) (room messaging.Room, err error) {
	beside := map[int64]bool{} // that are not among reached
	err = Flying(t, q.Account, q.Since(), q.Hash, func(contact int64) {
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
