package console

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
)

// A form of a page is carried out once: it bears a random word, and a second form with that word, by a click too many or a page that
// is loaded again, waits for the first and gets its answer. Words are kept in memory, so another node, or this one after a restart,
// knows nothing of them; a browser sends a form again only where a person has it do so.
type idempotencyKeys struct {
	now func() time.Time

	mu sync.Mutex
	by map[onceKey]*done
}

// A word counts for the person who sent it: nobody meets the answer of another.
type onceKey struct{ from, who, word string }

// done is what came of a form.
type done struct {
	at    time.Time
	ended chan struct{} // closed when the rest is known
	said  *keyedAnswer
	place string // path of the page that says it
}

// keyedAnswer is what a page says of what was done.
type keyedAnswer struct {
	Words, Hint string
	Tone        string // good or bad
}

const (
	onceLife  = 10 * time.Minute
	mostOnces = 2000
	onceLong  = 64 // bytes of a word that somebody sends
)

func newOnce() string { return rand.Text() }

func keyOf(who access.Who, word string) onceKey { return onceKey{string(who.From), who.Name, word} }

// carry does what a form asks for, unless a form with its word was or is carried out.
func (o *idempotencyKeys) carry(r *http.Request, word string, do func() (*keyedAnswer, string)) (*keyedAnswer, string) {
	if word == "" || len(word) > onceLong {
		return do()
	}
	who, _ := access.WhoOf(r.Context())
	key := keyOf(who, word)
	o.mu.Lock()
	one := o.by[key]
	if one != nil {
		o.mu.Unlock()
		<-one.ended
		return one.said, one.place
	}
	now := o.now()
	evict(o.by, mostOnces-1, func(d *done) bool { return now.Sub(d.at) >= onceLife && d.over() }, func(d *done) time.Time { return d.at })
	one = &done{at: now, ended: make(chan struct{}), said: &keyedAnswer{Words: "It ended in a fault of this program.", Hint: "The daemon's log says where.", Tone: "bad"}, place: "/"}
	o.by[key] = one
	o.mu.Unlock()
	defer close(one.ended)
	words, place := do()
	one.said, one.place = words, place
	return words, place
}

func (d *done) over() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// of is what came of the form with a word; nil where that is not known.
func (o *idempotencyKeys) of(r *http.Request, word string) *keyedAnswer {
	who, known := access.WhoOf(r.Context())
	if word == "" || !known {
		return nil
	}
	o.mu.Lock()
	one := o.by[keyOf(who, word)]
	o.mu.Unlock()
	if one == nil || !one.over() {
		return nil
	}
	return one.said
}
