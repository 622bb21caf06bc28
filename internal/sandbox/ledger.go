package sandbox

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"
)

// A number is a phone of 7 to 15 digits in eight bytes: its digits behind a 1, so that
// leading zeros stay.
type number uint64

func parseNumber(text string) (number, bool) {
	if len(text) < 7 || len(text) > 15 {
		return 0, false
	}
	n := number(1)
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + number(text[i]-'0')
	}
	return n, true
}

func (n number) String() string { return strconv.FormatUint(uint64(n), 10)[1:] }

func (n number) ending() int { return int(n % 10_000) }

// A subject is what a message is about, shared by all messages about it.
type subject struct{ kind, name, language string }

// An entry is one accepted message, small because there may be millions.
type entry struct {
	phone   number
	at      int64 // unix nanoseconds
	subject uint32
	before  uint32 // the phone's message before this one, as its position + 1; 0 for none
	short   bool   // the points did not reach
}

// keepMessages is how many of the newest messages can be looked up. One takes about 100 bytes.
const keepMessages = 2_000_000

// chunkSize is how many messages are forgotten at a time.
const chunkSize = 1 << 14

// A chunk is a run of messages. Their variables are dropped long before they are.
type chunk struct {
	entries   [chunkSize]entry
	variables [][]string // nil once dropped
}

// keepVariables is how many chunks, counted from the newest, still hold variables.
const keepVariables = 4

// A person is what is known of a phone.
type person struct {
	last     uint32 // position + 1 of the newest message
	accepted uint32
	contact  bool // created by an upload
}

// A ledger is all that was accepted. One lock guards it, held for well below a microsecond
// per message.
type ledger struct {
	mu       sync.Mutex
	keep     int      // chunks
	first    int64    // message id of position 0
	next     uint32   // position of the next message
	chunks   []*chunk // the newest ones
	dropped  int      // chunks before chunks[0]
	people   map[number]person
	contacts int
	seen     map[uint64]uint32 // how often each (phone, subject, variables) was accepted, by hash
	subjects []subject
	index    map[subject]uint32
	seed     maphash.Seed

	points     float64 // below 0 for no end
	price      float64
	duplicates int
	repeated   map[uint64]*Repeat // the first maxRepeats of them
	campaigns  []Campaign
	campaign   map[string]int
	uploads    map[[32]byte]int
}

const maxRepeats = 100

func newLedger(first int64, keep int, points, price float64) *ledger {
	return &ledger{
		keep: max(2, (keep+chunkSize-1)/chunkSize+1), first: first, points: points, price: price,
		people: map[number]person{}, seen: map[uint64]uint32{}, index: map[subject]uint32{},
		seed: maphash.MakeSeed(), repeated: map[uint64]*Repeat{},
		campaign: map[string]int{}, uploads: map[[32]byte]int{},
	}
}

// A parcel is one message to accept.
type parcel struct {
	phone     number
	subject   subject
	variables []string
	contact   bool // the phone becomes a contact
}

// fingerprint is what two parcels have in common only when one repeats the other.
func (l *ledger) fingerprint(p *parcel) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	maphash.WriteComparable(&h, p.phone)
	for _, s := range [...]string{p.subject.kind, p.subject.name, p.subject.language} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	for _, v := range p.variables {
		_, _ = h.WriteString(v)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// accept takes a message and returns its id.
func (l *ledger) accept(p *parcel, now time.Time) (id int64) {
	same := l.fingerprint(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ = l.add(p, same, now)
	return id
}

// acceptAll takes many messages, letting others in between.
func (l *ledger) acceptAll(all []parcel, now time.Time, taken func(id int64)) (created int) {
	const breath = 1000
	for len(all) > 0 {
		some := all[:min(breath, len(all))]
		all = all[len(some):]
		l.mu.Lock()
		for i := range some {
			id, fresh := l.add(&some[i], l.fingerprint(&some[i]), now)
			if fresh {
				created++
			}
			taken(id)
		}
		l.mu.Unlock()
	}
	return created
}

// add stores one message; fresh reports whether its phone became a contact by it.
func (l *ledger) add(p *parcel, same uint64, now time.Time) (id int64, fresh bool) {
	at := int(l.next) / chunkSize
	if at == l.dropped+len(l.chunks) {
		l.chunks = append(l.chunks, &chunk{variables: make([][]string, chunkSize)})
		if old := len(l.chunks) - 1 - keepVariables; old >= 0 {
			l.chunks[old].variables = nil
		}
		if len(l.chunks) > l.keep {
			l.chunks[0] = nil
			l.chunks = l.chunks[1:]
			l.dropped++
		}
	}
	about, ok := l.index[p.subject]
	if !ok {
		about = uint32(len(l.subjects))
		l.subjects = append(l.subjects, p.subject)
		l.index[p.subject] = about
	}
	who := l.people[p.phone]
	e := entry{phone: p.phone, at: now.UnixNano(), subject: about, before: who.last}
	if l.points >= 0 {
		// Points are sums of decimal prices, so the last bit must not decide.
		if e.short = l.points+1e-9 < l.price; !e.short {
			l.points = max(0, l.points-l.price)
		}
	}
	c := l.chunks[at-l.dropped]
	c.entries[l.next%chunkSize] = e
	c.variables[l.next%chunkSize] = p.variables
	id = l.first + int64(l.next)
	l.next++
	fresh = p.contact && !who.contact
	who.contact = who.contact || p.contact
	if fresh {
		l.contacts++
	}
	who.last = l.next
	who.accepted++
	l.people[p.phone] = who
	if !e.short { // it is never sent, so the same message again repeats nothing
		l.count(p, same)
	}
	return id, fresh
}

func (l *ledger) count(p *parcel, same uint64) {
	times := l.seen[same] + 1
	l.seen[same] = times
	if times == 1 {
		return
	}
	l.duplicates++
	if r := l.repeated[same]; r != nil {
		r.Times = int(times)
	} else if len(l.repeated) < maxRepeats {
		l.repeated[same] = &Repeat{Phone: p.phone.String(), Kind: p.subject.kind, Name: p.subject.name, Variables: p.variables, Times: int(times)}
	}
}

// at returns the message at a position, and its variables; ok is false for one that never
// was or is forgotten. The lock must be held.
func (l *ledger) at(position uint32) (e entry, variables []string, ok bool) {
	c := int(position)/chunkSize - l.dropped
	if position >= l.next || c < 0 {
		return entry{}, nil, false
	}
	e = l.chunks[c].entries[position%chunkSize]
	if l.chunks[c].variables != nil {
		variables = l.chunks[c].variables[position%chunkSize]
	}
	return e, variables, true
}

// find returns the message with an id.
func (l *ledger) find(id int64) (entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	position := id - l.first
	if position < 0 || position >= int64(l.next) {
		return entry{}, false
	}
	e, _, ok := l.at(uint32(position))
	return e, ok
}
