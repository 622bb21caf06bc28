package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sort"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A file of a run may have a third of a million rows, and a limit asks about one phone at a time. So who is on a
// file is kept by hashes, sorted and cut by their first bits: a part is a thousand rows of some kilobytes at the
// most, written once, and a question is one search that meets one row for each part of its window.

const (
	bucketBits = 10 // of a hash, the first ones
	// contactBuckets is how many rows a part has at the most.
	contactBuckets = 1 << bucketBits
)

func contactBucket(hash int64) int64 { return int64(uint64(hash) >> (64 - bucketBits)) }

// contactHash is what a phone is known by where the phone itself is not kept.
func contactHash(phone nudgewire.Phone, hash func(...string) int64) int64 {
	return hash("contact", string(phone))
}

// ContactsKept is how long who was on a file is kept, and its run at the least: a limit looks back no more than 90 days.
const ContactsKept = 100 * 24 * time.Hour

// bucketsAtOnce is how many rows share an operation, so that others get their turn between.
const bucketsAtOnce = 64

var partContactsSQL = statementOf(`INSERT INTO part_contacts (bucket, at, run_id, part, hashes) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (bucket, at, run_id, part) DO UPDATE SET hashes = excluded.hashes`)

// NoteContacts keeps who is on the file of a part that is claimed at that time. It comes before ClaimPart with the
// same time, so that a file never goes out to anybody who is not known to have got it; without that claim it
// means nothing.
func (s *Store) NoteContacts(ctx context.Context, run nudgewire.RunID, part int, at time.Time, phones []nudgewire.Phone) error {
	hashes := make([]uint64, len(phones))
	for i, p := range phones {
		hashes[i] = uint64(contactHash(p, s.hash))
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	type row struct {
		bucket int64
		hashes []byte
	}
	var rows []row
	for len(hashes) > 0 {
		bucket := contactBucket(int64(hashes[0]))
		n := sort.Search(len(hashes), func(i int) bool { return contactBucket(int64(hashes[i])) > bucket })
		var packed []byte
		for _, h := range hashes[:n] {
			packed = binary.BigEndian.AppendUint64(packed, h)
		}
		rows, hashes = append(rows, row{bucket, packed}), hashes[n:]
	}
	for some := range slices.Chunk(rows, bucketsAtOnce) {
		err := s.write(ctx, laneWork, func(t *tx) error {
			for _, r := range some {
				if err := t.put(oldContactsSQL, r.bucket, micro(at.Add(-ContactsKept))); err != nil {
					return err
				}
				if err := t.put(partContactsSQL, r.bucket, micro(at), int64(run), int64(part), r.hashes); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return wrap(err, "contacts of part %d of run %d", part, run)
		}
	}
	return nil
}

var pastPartsSQL = statementOf(`SELECT c.at, r.category, r.job, c.hashes FROM part_contacts c
		JOIN parts p ON p.run_id = c.run_id AND p.number = c.part AND p.claimed_at = c.at JOIN runs r ON r.id = c.run_id
		WHERE c.bucket = ?1 AND c.at >= ?2 AND (p.state = 'uploading' OR p.state = 'accepted' OR p.state = 'in_doubt')`)

// pastParts calls each for the files with a phone that were uploaded since then, are being uploaded, or may have been.
func (t *tx) pastParts(contact, since int64, each func(nudgewire.PastSend)) error {
	return t.query(pastPartsSQL, func(r *row) error {
		send := nudgewire.PastSend{At: r.time(), Category: nudgewire.Category(r.text()), Trigger: r.text()}
		if holdsHash(r.blob(), uint64(contact)) {
			each(send)
		}
		return r.err
	}, contactBucket(contact), since)
}

// holdsHash looks for a hash among packed ones.
func holdsHash(packed []byte, hash uint64) bool {
	at := func(i int) uint64 { return binary.BigEndian.Uint64(packed[8*i:]) }
	n := len(packed) / 8
	i := sort.Search(n, func(i int) bool { return at(i) >= hash })
	return i < n && at(i) == hash
}

var filesOfSQL = statementOf(`SELECT at, run_id, part, hashes FROM part_contacts WHERE bucket = ?1`)

// forgetOnFiles puts a hash of nobody in the place of a contact's, so that nobody who has the data can try whether a phone was
// on a file. How many contacts a file reached, which the limit of an account counts, stays true.
func (t *tx) forgetOnFiles(contact int64) error {
	bucket, old := contactBucket(contact), uint64(contact)
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	nobody := uint64(bucket)<<(64-bucketBits) | binary.BigEndian.Uint64(random[:])>>bucketBits
	type file struct {
		at, run, part int64
		hashes        []byte
	}
	var on []file
	err := t.query(filesOfSQL, func(r *row) error {
		f := file{r.int(), r.int(), r.int(), slices.Clone(r.blob())}
		if holdsHash(f.hashes, old) {
			on = append(on, f)
		}
		return r.err
	}, bucket)
	for _, f := range on {
		if err == nil {
			err = t.put(partContactsSQL, bucket, f.at, f.run, f.part, replaceHash(f.hashes, old, nobody))
		}
	}
	return wrap(err, "forget who is on the files of runs")
}

// replaceHash is packed hashes with another in the place of one.
func replaceHash(packed []byte, old, other uint64) []byte {
	all := make([]uint64, len(packed)/8)
	for i := range all {
		if all[i] = binary.BigEndian.Uint64(packed[8*i:]); all[i] == old {
			all[i] = other
		}
	}
	slices.Sort(all)
	out := make([]byte, 0, len(packed))
	for _, h := range all {
		out = binary.BigEndian.AppendUint64(out, h)
	}
	return out
}

// A roomAsked is a question with the hashes of its phones, which may be a third of a million: they are made before the commit.
type roomAsked struct {
	nudgewire.RoomQuestion
	contacts []int64
	hash     func(...string) int64
}

func (s *Store) askRoom(q nudgewire.RoomQuestion) *roomAsked {
	a := &roomAsked{q, make([]int64, len(q.Phones)), s.hash}
	for i, phone := range q.Phones {
		a.contacts[i] = contactHash(phone, s.hash)
	}
	return a
}

// Room says how many of the phones still have room in the window of their account's limit.
func (s *Store) Room(ctx context.Context, q nudgewire.RoomQuestion) (room nudgewire.Room, err error) {
	asked := s.askRoom(q)
	err = s.write(ctx, laneWork, func(t *tx) (err error) {
		room, err = t.room(asked)
		return err
	})
	return room, wrap(err, "room of the account %q", q.Account)
}

// room counts with what this commit knows, as a claim of messages does: so a file and a message never share the
// last place.
func (t *tx) room(q *roomAsked) (room nudgewire.Room, err error) {
	since := micro(q.Now.Add(-q.Per))
	reached, err := t.peers.contacts(t, q.Account, since, q.hash)
	if err != nil {
		return room, err
	}
	beside := map[int64]bool{} // that are not among reached
	err = t.flying(q.Account, since, q.hash, func(contact int64) {
		if !reached.has(contact) {
			beside[contact] = true
		}
	})
	if err != nil {
		return room, err
	}
	room.Contacts = int64(len(reached.last) + len(beside))
	free, wanted := q.Most-room.Contacts, int64(0)
	for _, contact := range q.contacts {
		if !reached.has(contact) && !beside[contact] {
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
		if at := reached.leaves(min(wanted, q.Least) - free); at > 0 {
			room.Next = moment(at).Add(q.Per)
		}
	}
	return room, nil
}
