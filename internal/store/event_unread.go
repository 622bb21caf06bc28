package store

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

// unreadSQL has somebody read later what an event says of its contact (package contacts). A webhook pays for no more than this.
var unreadSQL = engine.SQL(`INSERT INTO unread_events (event_id) VALUES (?1) ON CONFLICT DO NOTHING`)

// LockKnowing keeps others from what is known of contacts until the transaction ends. read are hashes that are going to be found.
func (t *Tx) LockKnowing(hash func(...string) int64, read ...int64) error {
	return t.peers.Lock(t.Tx, []int64{hash("knowing")}, read)
}

// LockKnown is for who takes away what is known of contacts: until the transaction ends nobody else learns or reads events for it. The events of a
// phone are those that its hash leads to; "" leads to none. They are good until something is looked up again.
func (s *Store) LockKnown(t *Tx, phone string) (events []int64, err error) {
	if phone == "" {
		return nil, t.LockKnowing(s.hash)
	}
	hash := phoneHash(phone, s.hash)
	if err := t.LockKnowing(s.hash, hash); err != nil {
		return nil, err
	}
	return t.find(peers.PhonesOfEvents, peers.PhonesOfEvents, hash)
}

// FindWord are the numbers of events that were remembered by a word, good until something is looked up again. Another word may have the same
// hash: the caller compares the rows.
func (t *Tx) FindWord(hash int64) (ids []int64, err error) {
	return t.find(peers.WordsOfEvents, peers.WordsOfEvents, hash)
}

// RememberWord has an event found by a word from now on.
func (t *Tx) RememberWord(hash, event int64) error {
	return t.peers.Remember(t.Tx, peers.Key{Part: peers.WordsOfEvents, Hash: hash, ID: event}, false)
}

// WordEvents are the numbers of events that words lead to, ascending. As with FindWord, the caller compares the rows.
func (s *Store) WordEvents(ctx context.Context, hashes ...int64) (ids []int64, err error) {
	return s.keyed(ctx, peers.WordsOfEvents, hashes...)
}

// KeyHash is keyindex.Hash, the one by which these data were written.
func (s *Store) KeyHash(parts ...string) int64 { return s.hash(parts...) }
