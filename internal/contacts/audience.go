package contacts

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
)

// perPage is how many rows are read at a time, so that no read stays open for long. It is more than one contact has. Tests have less.
var perPage = 20_000

// Audience are the contacts of an audience at a moment, as the rows of a list, in the order of their phones. home is the zone of whoever has none.
// Events and messages are read once and added up by contact in memory. Whom events named within the last seconds may not be among them: see learn.go.
func (s Records) Audience(ctx context.Context, a *triggers.Audience, now time.Time, home *time.Location) (lists.Rows, error) {
	p := &past{Audience: a, now: now, home: home, people: map[messaging.Phone][]answer{}}
	err := s.readEvents(ctx, p)
	if err == nil {
		err = s.readMessages(ctx, p)
	}
	if err != nil {
		return nil, store.Wrap(err, "what contacts of an audience did")
	}
	return &audienceRows{Records: s, ctx: ctx, past: p, unsure: map[string]int{}}, nil
}

// audienceColumns are those of the list.
var audienceColumns = []string{"phone", "name", "email", "language", "country", "timezone", "tags", "orders", "last_order_at", "first_seen_at", "last_seen_at", "consent"}

// audienceRows go through all contacts.
type audienceRows struct {
	Records
	ctx    context.Context //nolint:containedctx // of one reading, as lists.Source says
	past   *past
	people []expressions.Person // of the page at hand
	after  messaging.Phone      // the last that was read
	all    bool                 // no further page follows
	number int64
	unsure map[string]int // contacts of whom nobody can say whether they belong, by why
	notes  []string
}

// Header implements lists.Rows.
func (r *audienceRows) Header() []string { return audienceColumns }

// Close implements lists.Rows.
func (r *audienceRows) Close() error { return nil }

// Notes say of how many contacts nobody could say whether they belong.
func (r *audienceRows) Notes() []string { return r.notes }

// Next implements lists.Rows.
func (r *audienceRows) Next() (lists.Row, int64, error) {
	for {
		for len(r.people) > 0 {
			p := &r.people[0]
			r.people = r.people[1:]
			has, why := r.past.Has(p, r.past.now, r.past.home)
			if why != "" {
				r.unsure[why]++
			}
			if has {
				r.number++
				return rowOf(p), r.number, nil
			}
		}
		if r.all {
			r.end()
			return nil, 0, io.EOF
		}
		if err := r.read(); err != nil {
			return nil, 0, err
		}
	}
}

// read reads a page of contacts. One that several connectors know is one: what came last of each field counts.
func (r *audienceRows) read() error {
	var known []messaging.KnownContact
	err := r.Rows(r.ctx, `SELECT `+knownColumns+` FROM contacts WHERE phone > ?1 ORDER BY phone, connector LIMIT ?2`, []any{string(r.after), int64(perPage)}, func(row *engine.Row) error {
		c, err := scanKnown(row)
		known = append(known, c)
		return err
	})
	if err != nil {
		return store.Wrap(err, "contacts of an audience")
	}
	r.all = len(known) < perPage
	if !r.all { // the last one may go on behind the page
		last := known[len(known)-1].Phone
		for known[len(known)-1].Phone == last {
			known = known[:len(known)-1]
		}
	}
	if len(known) == 0 {
		return nil
	}
	agreed, err := r.consents(known[0].Phone, known[len(known)-1].Phone)
	if err != nil {
		return err
	}
	for at := 0; at < len(known); {
		end := at + 1
		for end < len(known) && known[end].Phone == known[at].Phone {
			end++
		}
		p := personOf(known[at:end])
		p.Consent, p.Past = agreed[p.Phone], r.past.answers(p.Phone)
		if !p.Phone.IsMasked() {
			r.people = append(r.people, p)
		}
		r.after, at = p.Phone, end
	}
	return nil
}

// consents are what contacts said last of messages of marketing, from one phone to another.
func (r *audienceRows) consents(from, to messaging.Phone) (map[messaging.Phone]string, error) {
	out := map[messaging.Phone]string{}
	err := r.Rows(r.ctx, `SELECT phone, consent FROM consents WHERE channel = 'phone' AND category = 'marketing' AND phone >= ?1 AND phone <= ?2`, []any{string(from), string(to)}, func(row *engine.Row) error {
		out[row.Phone()] = row.Text()
		return row.Err
	})
	return out, store.Wrap(err, "consents of an audience")
}

// personOf puts together what connectors say of one contact.
func personOf(known []messaging.KnownContact) (p expressions.Person) {
	slices.SortStableFunc(known, func(x, y messaging.KnownContact) int { return y.LastAt.Compare(x.LastAt) })
	p.Phone = known[0].Phone
	for _, c := range known {
		for _, f := range [...]struct {
			of   *string
			said string
		}{{&p.Name, c.Name}, {&p.Email, c.Email}, {&p.Language, c.Language}, {&p.Country, c.Country}, {&p.Timezone, c.Timezone}} {
			if *f.of == "" {
				*f.of = f.said
			}
		}
		if len(p.Tags) == 0 {
			p.Tags = c.Tags
		}
		p.Orders += int(c.Orders)
		if c.OrderAt.After(p.LastOrderAt) {
			p.LastOrderAt = c.OrderAt
		}
		if p.FirstSeenAt.IsZero() || c.FirstAt.Before(p.FirstSeenAt) {
			p.FirstSeenAt = c.FirstAt
		}
		if c.LastAt.After(p.LastSeenAt) {
			p.LastSeenAt = c.LastAt
		}
		for _, one := range c.Spent {
			p.Spent = p.Spent.Plus(one.Currency, one.Amount)
		}
	}
	return p
}

// rowOf is a contact as a row of a list.
func rowOf(p *expressions.Person) lists.Row {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return lists.Row{
		string(p.Phone), p.Name, p.Email, p.Language, p.Country, p.Timezone, strings.Join(p.Tags, ", "), strconv.Itoa(p.Orders), at(p.LastOrderAt),
		at(p.FirstSeenAt), at(p.LastSeenAt), p.Consent,
	}
}

// mostReasons is how many reasons are noted: what somebody's sender wrote may stand in one, so there may be as many as contacts.
const mostReasons = 5

// end notes of how many contacts nobody could say whether they belong, most first.
func (r *audienceRows) end() {
	reasons := slices.SortedFunc(maps.Keys(r.unsure), func(x, y string) int { return cmp.Or(r.unsure[y]-r.unsure[x], strings.Compare(x, y)) })
	others := 0
	for i, why := range reasons {
		if i >= mostReasons {
			others += r.unsure[why]
			continue
		}
		r.notes = append(r.notes, units.Count(r.unsure[why], "contact")+leftOut+": "+why)
	}
	if others > 0 {
		r.notes = append(r.notes, units.Count(others, "contact")+leftOut+", for other reasons")
	}
}

const leftOut = " left out, of whom nobody can say whether they belong"
