package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A HistoryStore is what a History needs of package store.
type HistoryStore interface {
	// Blocked says which of the phones are blocked.
	Blocked(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]bool, error)
	// Agreed says which of the phones agreed to messages of marketing.
	Agreed(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]bool, error)
	// Forgotten says which of the phones are of contacts that were forgotten.
	Forgotten(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]bool, error)
	// Redacting says which of the phones came by a connector all of which is asked to be forgotten, and by which.
	Redacting(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]string, error)
	// Family are a run, the runs that it repeats, and those that repeat it.
	Family(ctx context.Context, id nudgewire.RunID) ([]nudgewire.RunID, error)
	// RowsTo are the rows of runs to these phones that wait, are on their way, or may have been taken
	// since then.
	RowsTo(ctx context.Context, phones []nudgewire.Phone, since time.Time) ([]nudgewire.Contacted, error)
	// Contacts are accepted messages by their numbers.
	Contacts(ctx context.Context, ids []nudgewire.DispatchID) ([]nudgewire.Contacted, error)
	// MessagedSince calls each for every message that was accepted since then.
	MessagedSince(ctx context.Context, since time.Time, each func(nudgewire.DispatchID, nudgewire.Phone)) error
	// UnsettledSince are the messages that were claimed since then and may have been taken.
	UnsettledSince(ctx context.Context, since time.Time) ([]nudgewire.Contacted, error)
	// PartsSince calls each for the parts that were uploaded since then, or may have been.
	PartsSince(ctx context.Context, since time.Time, each func(r *nudgewire.Run, p nudgewire.Part) error) error
}

// A History is the Excluder of everyday: it knows who is blocked, and who was messaged of late, message
// by message or by a file that was uploaded.
//
// Who was messaged is gathered once for all who ask, as numbers: a question for each row would walk
// history for each row. It is kept up while somebody asks, and forgotten soon after.
type History struct {
	store HistoryStore
	in    files.Store

	mu       sync.Mutex // one question at a time
	seen     *messaged  // nil while nobody asks
	asked    time.Time  // when somebody did last
	unsettle struct {   // what may have been taken, looked up no more than once a second
		at   time.Time
		by   map[nudgewire.Phone][]nudgewire.Contacted
		from time.Time
	}

	fresh struct {
		sync.Mutex
		wanted bool                   // seen is kept up
		ids    []nudgewire.DispatchID // accepted since it was looked at last
	}
}

// forgetAfter is how long what was gathered is kept once nobody asks any more.
const forgetAfter = time.Minute

// NewHistory makes a History.
func NewHistory(store HistoryStore, in files.Store) *History { return &History{store: store, in: in} }

// Accepted tells of a message that was taken, after that was stored.
func (h *History) Accepted(id nudgewire.DispatchID) {
	h.fresh.Lock()
	defer h.fresh.Unlock()
	if h.fresh.wanted {
		h.fresh.ids = append(h.fresh.ids, id)
	}
}

// Excluded implements Excluder.
func (h *History) Excluded(ctx context.Context, phones []nudgewire.Phone, q Question) ([]Why, error) {
	out := make([]Why, len(phones))
	blocked, err := h.store.Blocked(ctx, phones)
	if err != nil {
		return nil, err
	}
	gone, err := h.store.Forgotten(ctx, phones)
	if err != nil {
		return nil, err
	}
	var agreed map[nudgewire.Phone]bool
	if q.Consent {
		if agreed, err = h.store.Agreed(ctx, phones); err != nil {
			return nil, err
		}
	}
	var redacting map[nudgewire.Phone]string
	if q.Marketing {
		if redacting, err = h.store.Redacting(ctx, phones); err != nil {
			return nil, err
		}
	}
	var last map[nudgewire.Phone]nudgewire.Contacted
	var sends map[nudgewire.Phone][]nudgewire.PastSend
	if q.Within > 0 || q.Back > 0 {
		h.mu.Lock()
		last, sends, err = h.messaged(ctx, phones, q)
		h.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	for i, p := range phones {
		if isForgotten(p) || gone[p] {
			out[i] = Why{Reason: "was forgotten", Forgotten: true}
			continue
		}
		if blocked[p] {
			out[i].Reason = "is blocked"
			continue
		}
		if by := redacting[p]; by != "" {
			out[i].Reason = "may have to be forgotten: a person has to decide about all that came by " + by + " (nudgewire contacts redactions)"
			continue
		}
		if q.Consent && !agreed[p] {
			out[i].Reason = "has not agreed to messages (consent: required)"
			continue
		}
		if by, ok := last[p]; ok {
			out[i] = Why{Reason: "was messaged within " + units.Duration(q.Within).String(), By: byWords(by)}
			continue
		}
		if q.Back > 0 {
			if words := q.Over(p, sends[p]); words != "" {
				out[i] = Why{Reason: "is over its limit", By: words}
			}
		}
	}
	return out, nil
}

// byWords says what messaged a contact, and when.
func byWords(c nudgewire.Contacted) string {
	what := fmt.Sprintf("by run %d of %s", c.Run, c.Trigger)
	if c.Run == 0 {
		what = "by trigger " + c.Trigger
	}
	return what + " on " + c.At.UTC().Format("2006-01-02 15:04 UTC")
}

// messaged is the newest message to each of the phones that counts against it, and all that was sent to
// each, the newest first, for its limits.
func (h *History) messaged(ctx context.Context, phones []nudgewire.Phone, q Question) (last map[nudgewire.Phone]nudgewire.Contacted, sends map[nudgewire.Phone][]nudgewire.PastSend, err error) {
	var own []nudgewire.RunID
	var rows []nudgewire.Contacted
	if q.Of != 0 {
		own, err = h.store.Family(ctx, q.Of)
		if err == nil && q.Within > 0 {
			// A row of another run that waits to be sent will be: of two runs the first has it.
			rows, err = h.store.RowsTo(ctx, phones, q.Now.Add(-q.Within))
		}
	}
	var found []nudgewire.Contacted
	if err == nil {
		found, err = h.found(ctx, phones, q)
	}
	if err != nil {
		return nil, nil, err
	}
	last = map[nudgewire.Phone]nudgewire.Contacted{}
	for _, c := range slices.Concat(rows, found) {
		if before, known := last[c.Phone]; q.Within == 0 || c.At.Before(q.Now.Add(-q.Within)) || slices.Contains(own, c.Run) || known && !before.At.Before(c.At) {
			continue
		}
		last[c.Phone] = c
	}
	if q.Back > 0 {
		sends = sendsOf(found, own, q.Now.Add(-q.Back))
	}
	return last, sends, nil
}

// sendsOf are the sends to each phone, the newest first. What the own run sent does not count: it was
// counted when it was to leave. A message that the answer to an upload named is the row of its file.
func sendsOf(found []nudgewire.Contacted, own []nudgewire.RunID, since time.Time) map[nudgewire.Phone][]nudgewire.PastSend {
	type row struct {
		phone nudgewire.Phone
		run   nudgewire.RunID
	}
	files, seen := map[row]bool{}, map[nudgewire.DispatchID]bool{}
	for _, c := range found {
		if c.ID == 0 {
			files[row{c.Phone, c.Run}] = true
		}
	}
	sends := map[nudgewire.Phone][]nudgewire.PastSend{}
	for _, c := range found {
		twice := c.ID != 0 && (seen[c.ID] || files[row{c.Phone, c.Run}])
		if seen[c.ID] = true; twice || c.At.Before(since) || slices.Contains(own, c.Run) {
			continue
		}
		sends[c.Phone] = append(sends[c.Phone], nudgewire.PastSend{At: c.At, Category: c.Category, Trigger: c.Trigger})
	}
	for _, of := range sends {
		slices.SortFunc(of, func(a, b nudgewire.PastSend) int { return b.At.Compare(a.At) })
	}
	return sends
}

// found is everything that is known to have been sent to the phones, or may have been.
func (h *History) found(ctx context.Context, phones []nudgewire.Phone, q Question) (found []nudgewire.Contacted, err error) {
	if err := h.look(ctx, q.Now.Add(-max(q.Within, q.Back)), q.Now); err != nil {
		return nil, err
	}
	var ids []nudgewire.DispatchID
	for _, p := range phones {
		found = append(found, h.unsettle.by[p]...)
		h.seen.of(p, func(id nudgewire.DispatchID, s *source) {
			if s == nil {
				ids = append(ids, id)
			} else if s.sent {
				found = append(found, nudgewire.Contacted{Phone: p, Trigger: s.job, Run: s.run, Category: s.category, At: s.at})
			}
		})
	}
	more, err := h.store.Contacts(ctx, ids)
	return append(found, more...), err
}

// look brings what was gathered up to date.
func (h *History) look(ctx context.Context, since, now time.Time) error {
	h.asked = time.Now()
	if h.seen != nil && since.Before(h.seen.since) {
		h.forget()
	}
	if h.seen == nil {
		h.fresh.Lock()
		h.fresh.wanted = true // before the walk: what is accepted meanwhile is met twice, or once
		h.fresh.Unlock()
		seen := newMessaged(since)
		if err := h.store.MessagedSince(ctx, since, seen.add); err != nil {
			return err
		}
		h.seen = seen
		time.AfterFunc(forgetAfter, h.idle)
	}
	h.fresh.Lock()
	ids := h.fresh.ids
	h.fresh.ids = nil
	h.fresh.Unlock()
	added, err := h.store.Contacts(ctx, ids)
	if err != nil {
		h.forget() // with what it has not heard of
		return err
	}
	for _, c := range added {
		h.seen.add(c.ID, c.Phone)
	}
	if err := h.seen.files(ctx, h.store, h.in); err != nil {
		return err
	}
	if u := &h.unsettle; u.by == nil || since.Before(u.from) || now.Before(u.at) || now.Sub(u.at) >= time.Second {
		all, err := h.store.UnsettledSince(ctx, since)
		if err != nil {
			return err
		}
		u.at, u.from, u.by = now, since, map[nudgewire.Phone][]nudgewire.Contacted{}
		for _, c := range all {
			u.by[c.Phone] = append(u.by[c.Phone], c)
		}
	}
	return nil
}

// idle forgets what was gathered once nobody has asked for a while.
func (h *History) idle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := forgetAfter - time.Since(h.asked); left > 0 {
		time.AfterFunc(left, h.idle)
		return
	}
	h.forget()
}

func (h *History) forget() {
	h.seen, h.unsettle.by = nil, nil
	h.fresh.Lock()
	h.fresh.wanted, h.fresh.ids = false, nil
	h.fresh.Unlock()
}

// A messaged is who was messaged since some time: every message by its number, and everybody on the
// files that were uploaded by their part. It takes some 24 bytes for each.
type messaged struct {
	since   time.Time
	buckets [][]met
	sources []*source
	loaded  map[string]*source // by the path of the file
}

// A met is one message to a phone.
type met struct {
	phone uint64
	by    int64 // a dispatch; else -1 less the place among the sources
}

// A source is a part that was uploaded, or may have been.
type source struct {
	run      nudgewire.RunID
	job      string
	category nudgewire.Category
	at       time.Time
	sent     bool // by how the part stands now
}

func newMessaged(since time.Time) *messaged {
	return &messaged{since: since, buckets: make([][]met, 1<<bucketBits), loaded: map[string]*source{}}
}

// bucket is where a phone is kept, and what it is kept as. It has 15 digits at the most.
func (m *messaged) bucket(p nudgewire.Phone) (*[]met, uint64) {
	n := uint64(1)
	for _, d := range []byte(p) {
		n = n*10 + uint64(d-'0')
	}
	return &m.buckets[n*0x9e3779b97f4a7c15>>(64-bucketBits)], n
}

func (m *messaged) add(id nudgewire.DispatchID, p nudgewire.Phone) { m.put(p, int64(id)) }

func (m *messaged) put(p nudgewire.Phone, by int64) {
	at, n := m.bucket(p)
	if one := (met{n, by}); !slices.Contains(*at, one) {
		*at = append(*at, one)
	}
}

// of calls each for all that is known of a phone: a message by its number, or the part that it was on.
func (m *messaged) of(p nudgewire.Phone, each func(nudgewire.DispatchID, *source)) {
	at, n := m.bucket(p)
	for _, one := range *at {
		switch {
		case one.phone != n:
		case one.by < 0:
			each(0, m.sources[-1-one.by])
		default:
			each(nudgewire.DispatchID(one.by), nil)
		}
	}
}

// files reads the files that were uploaded since it looked last, and notes how all of them stand: a
// part that was on its way may have been refused.
func (m *messaged) files(ctx context.Context, from HistoryStore, in files.Store) error {
	for _, s := range m.sources {
		s.sent = false
	}
	return from.PartsSince(ctx, m.since, func(r *nudgewire.Run, p nudgewire.Part) error {
		path := files.Join(r.Folder, p.File)
		s := m.loaded[path]
		if s == nil {
			s = &source{}
			m.sources = append(m.sources, s)
			by := -int64(len(m.sources))
			if err := PhonesOf(ctx, in, path, func(phone nudgewire.Phone) { m.put(phone, by) }); err != nil {
				return err
			}
			m.loaded[path] = s
		}
		s.run, s.job, s.category, s.at, s.sent = r.ID, r.Job, r.Category, p.UpdatedAt, true
		return nil
	})
}
