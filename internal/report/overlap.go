package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// OverlapWithin is how near two messages to one person are for an overlap.
const OverlapWithin = 24 * time.Hour

// An OverlapQuery says of which time overlaps are asked for.
type OverlapQuery struct {
	Since time.Time `json:"since,omitzero"` // zero is thirty days ago
}

// usualOverlap is the time of which overlaps are told where none is named.
const usualOverlap = 30 * 24 * time.Hour

// An OverlapView is two triggers or jobs that reached the same people within 24 hours, by their names.
type OverlapView struct {
	A      string `json:"a" kind:"ours"`
	B      string `json:"b" kind:"ours"`
	People int64  `json:"people"` // that both reached so
	Times  int64  `json:"times"`  // messages of either that came within 24 hours after one of the other
	Of     int64  `json:"of"`     // people whom the one of them reached that reached fewer
}

// Overlap says which triggers and jobs reached the same people within 24 hours, the most people first. What the service took counts: messages,
// and rows of files. Phones that are not kept any more are nobody's.
func (s Reports) Overlap(ctx context.Context, q OverlapQuery) ([]OverlapView, error) {
	since := q.Since
	if since.IsZero() {
		since = s.Now().Add(-usualOverlap)
	}
	o := overlaps{people: map[string]int64{}, pairs: map[[2]string]*OverlapView{}}
	err := s.Rows(ctx, overlapSQL, []any{engine.Micro(since)}, func(r *engine.Row) error {
		o.add(r.Text(), r.Text(), r.Time())
		return r.Err
	})
	o.endPerson()
	return o.list(), store.Wrap(err, "who was reached by several")
}

// overlapSQL are the messages of each person that the service took, one after the other. Those that it names for a part stand for its rows already.
const overlapSQL = `SELECT phone, name, at FROM (
	SELECT phone, trigger_name AS name, accepted_at AS at FROM messages WHERE accepted_at >= ?1 AND part = 0 AND test = '' AND phone <> ''
	UNION ALL
	SELECT l.phone, r.job, p.updated_at FROM parts p JOIN runs r ON r.id = p.run_id JOIN part_rows x ON x.run_id = p.run_id AND x.part = p.number
		JOIN list_rows l ON l.run_id = p.list_id AND l.number BETWEEN x.first_row AND x.last_row
		WHERE p.state = 'accepted' AND p.updated_at >= ?1 AND l.phone <> ''
	) AS sent WHERE phone NOT LIKE '%*%' ORDER BY phone, at, name`

// overlaps counts while the messages of one person after the other come in.
type overlaps struct {
	people map[string]int64 // whom each name reached
	pairs  map[[2]string]*OverlapView

	phone  string
	recent []reached           // of this person, within the time
	names  map[string]bool     // that reached this person
	both   map[[2]string]int64 // pairs that did, and how often
}

// A reached is one message.
type reached struct {
	name string
	at   time.Time
}

func (o *overlaps) add(phone, name string, at time.Time) {
	if phone != o.phone {
		o.endPerson()
		o.phone, o.recent, o.names, o.both = phone, o.recent[:0], map[string]bool{}, map[[2]string]int64{}
	}
	o.recent = slices.DeleteFunc(o.recent, func(one reached) bool { return at.Sub(one.at) > OverlapWithin })
	met := map[string]bool{name: true}
	for _, one := range o.recent {
		if !met[one.name] {
			met[one.name] = true
			o.both[[2]string{min(name, one.name), max(name, one.name)}]++
		}
	}
	o.recent, o.names[name] = append(o.recent, reached{name, at}), true
}

// endPerson counts what is known of a person whose messages were all seen.
func (o *overlaps) endPerson() {
	for name := range o.names {
		o.people[name]++
	}
	for pair, n := range o.both {
		v := o.pairs[pair]
		if v == nil {
			v = &OverlapView{A: pair[0], B: pair[1]}
			o.pairs[pair] = v
		}
		v.People++
		v.Times += n
	}
	o.names, o.both = nil, nil
}

func (o *overlaps) list() []OverlapView {
	all := []OverlapView{}
	for _, v := range o.pairs {
		v.Of = min(o.people[v.A], o.people[v.B])
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b OverlapView) int {
		return cmp.Or(cmp.Compare(b.People, a.People), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	return all
}
