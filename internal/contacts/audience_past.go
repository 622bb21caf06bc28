package contacts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// An answer is what was counted of a contact for one question.
type answer struct {
	count int
	last  time.Time
	sums  messaging.Sums
	why   string // nobody can say the sum; "" for everybody can
}

// A past is what was counted of each contact, by the questions of an audience.
type past struct {
	*triggers.Audience
	now    time.Time
	home   *time.Location
	people map[messaging.Phone][]answer
}

func (p *past) of(phone messaging.Phone, question int) *answer {
	all := p.people[phone]
	if all == nil {
		all = make([]answer, len(p.Past))
		p.people[phone] = all
	}
	return &all[question]
}

// since is the earliest moment that functions ask about; the zero time for all that is kept.
func (p *past) since(functions []string) time.Time {
	if slices.ContainsFunc(p.Past, func(q expressions.PastQuestion) bool { return q.Within == 0 && slices.Contains(functions, q.Function) }) {
		return time.Time{}
	}
	return p.now.Add(-p.Back(functions))
}

// asks reports whether any question is of these functions.
func (p *past) asks(functions []string) bool {
	return slices.ContainsFunc(p.Past, func(q expressions.PastQuestion) bool { return slices.Contains(functions, q.Function) })
}

// within reports whether a question asks about a moment. What is to come by the clock of a sender happened by now.
func (p *past) within(question int, at time.Time) bool {
	q := &p.Past[question]
	return q.Within == 0 || at.After(p.now.Add(-q.Within))
}

// readEvents adds up events. Of those that were forgotten nothing is known any more, and of masked phones nobody knows whose they are.
func (s Records) readEvents(ctx context.Context, p *past) error {
	if !p.asks(triggers.OfEvents) {
		return nil
	}
	first, err := s.FirstEventSince(ctx, p.since(triggers.OfEvents))
	if err != nil {
		return err
	}
	args := []any{int64(first), int64(perPage)}
	asked, read := p.events(&args)
	query := `SELECT ` + store.EventColumns + `, CASE WHEN ` + read + ` THEN content ELSE '' END FROM events WHERE id >= ?1 AND (` + asked + `) ORDER BY id LIMIT ?2`
	for more := true; more; {
		rows := 0
		err := s.Rows(ctx, query, args, func(r *engine.Row) error {
			e := store.ScanEvent(r)
			content := r.Blob()
			rows++
			args[0] = int64(e.ID) + 1
			if e.Contact.Phone == "" || e.Contact.Phone.IsMasked() || r.Err != nil {
				return r.Err
			}
			return p.event(&e, content)
		})
		if err != nil {
			return err
		}
		more = rows == perPage
	}
	return nil
}

// events are conditions on events: that any question asks about one, and that any asks what it says.
func (p *past) events(args *[]any) (asked, read string) {
	var all, whole []string
	arg := func(text string) string {
		*args = append(*args, text)
		return "?" + strconv.Itoa(len(*args))
	}
	for i := range p.Past {
		connector, kind, open, ok := p.EventNames(i)
		if !ok {
			continue
		}
		column := "kind"
		if open {
			column = "substr(kind, 1, " + strconv.Itoa(len([]rune(kind))) + ")"
		}
		one := column + " = " + arg(kind)
		if connector != "" {
			one += " AND connector = " + arg(connector)
		}
		all = append(all, one)
		if p.Sums(i) {
			whole = append(whole, one)
		}
	}
	either := func(conditions []string) string {
		if len(conditions) == 0 {
			return "1 = 0"
		}
		return strings.Join(conditions, " OR ")
	}
	return either(all), either(whole)
}

// event adds an event.
func (p *past) event(e *messaging.Event, content []byte) error {
	at := e.Time()
	for i := range p.Past {
		if !p.AsksOf(i, e.Connector, e.Kind) || !p.within(i, at) {
			continue
		}
		a := p.of(e.Contact.Phone, i)
		a.count++
		if at.After(a.last) {
			a.last = at
		}
		if !p.Sums(i) {
			continue
		}
		if len(content) > 0 {
			facts, payload, err := stored.UnpackContent(content)
			if err == nil {
				e.Payload = payload
				err = stored.AddFacts(facts, e)
			}
			if err != nil {
				return fmt.Errorf("event %d: %w", e.ID, err)
			}
			content = nil
		}
		scope := expressions.NewScope(e, p.now, p.home)
		n, ok, why := p.Past[i].Value.Amount(scope)
		scope.Free()
		switch {
		case ok:
			currency := ""
			if isMoney(p.Past[i].Value) {
				currency = currencyOf(e)
			}
			a.sums = a.sums.Plus(currency, n)
		case why != "":
			a.why = "a value of the sum cannot be read: " + why
		}
	}
	return nil
}

// isMoney reports whether an expression is about what has a currency, and no number of things.
func isMoney(e *expressions.Expression) bool {
	return len(e.Raw()) > 0 || slices.ContainsFunc(e.Fields(), func(field string) bool {
		return strings.HasSuffix(field, ".total") || strings.HasSuffix(field, ".amount") || strings.HasSuffix(field, ".price")
	})
}

// currencyOf is that of what an event is about; "" where it does not say.
func currencyOf(e *messaging.Event) string {
	for _, currency := range []string{e.Order.Currency, e.Cart.Currency, e.Deal.Currency} {
		if currency != "" {
			return strings.ToUpper(currency)
		}
	}
	return ""
}

// readMessages adds up messages: as limits count them for messaged, and those that arrived for received.
func (s Records) readMessages(ctx context.Context, p *past) error {
	if !p.asks(triggers.OfMessages) {
		return nil
	}
	renames, err := s.renames(ctx)
	if err != nil {
		return err
	}
	since := engine.Micro(p.since(triggers.OfMessages))
	for next, more := int64(0), true; more; {
		rows := 0
		err := s.Rows(ctx, `SELECT id, phone, trigger_name, event_id, created_at, claimed_at, CASE WHEN delivered_at > 0 THEN delivered_at ELSE read_at END, CASE WHEN part = 0 AND `+store.WasSent+` THEN 1 ELSE 0 END FROM messages
			WHERE id >= ?1 AND claimed_at >= ?2 AND test = '' ORDER BY id LIMIT ?3`, []any{next, since, int64(perPage)}, func(r *engine.Row) error {
			rows, next = rows+1, r.Int()+1
			phone, name, about := r.Phone(), r.Text(), store.RenamedTrigger
			if r.Int() == 0 {
				about = store.RenamedJob
			}
			name = store.NameNow(renames, about, name, r.Time())
			at, arrived, sent := r.Time(), r.Time(), r.Int() == 1
			p.message(phone, name, at, sent, arrived)
			return r.Err
		})
		if err != nil {
			return err
		}
		more = rows == perPage
	}
	return s.Rows(ctx, `SELECT l.phone, p.claimed_at FROM parts p JOIN part_rows x ON x.run_id = p.run_id AND x.part = p.number
		JOIN list_rows l ON l.run_id = p.list_id AND l.number >= x.first_row AND l.number <= x.last_row
		WHERE p.claimed_at > 0 AND p.claimed_at >= ?1 AND l.phone <> '' AND `+reach.MayHaveArrived, []any{since}, func(r *engine.Row) error {
		p.message(r.Phone(), "", r.Time(), true, time.Time{})
		return r.Err
	})
}

// renames are those of triggers and jobs, the oldest first. Messages that have ended keep the name that they were made under.
func (s Records) renames(ctx context.Context) ([]store.Rename, error) {
	return store.List(ctx, s.Store, `SELECT about, was, name, at FROM renames ORDER BY at, about, was, name`, nil, func(r *engine.Row) (store.Rename, error) {
		return store.Rename{About: r.Text(), Was: r.Text(), Name: r.Text(), At: r.Time()}, r.Err
	})
}

// message adds one that was sent by a trigger or a job, and when it arrived; the zero time where that is not known.
func (p *past) message(phone messaging.Phone, name string, at time.Time, sent bool, arrived time.Time) {
	if phone == "" || phone.IsMasked() {
		return
	}
	for i, q := range p.Past {
		switch {
		case q.Function == "messaged" && sent && p.within(i, at),
			q.Function == "received" && q.Of == name && !arrived.IsZero() && p.within(i, arrived):
			p.of(phone, i).count++
		}
	}
}

// answers are what the expression gets for its questions about a contact.
func (p *past) answers(phone messaging.Phone) []any {
	counted := p.people[phone]
	out := make([]any, len(p.Past))
	for i, q := range p.Past {
		var a answer
		if counted != nil {
			a = counted[i]
		}
		switch q.Function {
		case "count":
			out[i] = a.count
		case "last":
			if a.count > 0 {
				out[i] = &expressions.Occurrence{At: a.last, Age: p.now.Sub(a.last)}
			}
		case "sum":
			out[i] = a.sum()
		default:
			out[i] = a.count > 0
		}
	}
	return out
}

// sum is the sum where all of it can be read and is in one currency.
func (a *answer) sum() any {
	switch {
	case a.why != "":
		return expressions.Undecided(a.why)
	case len(a.sums) == 0:
		return messaging.AmountOf(0)
	case len(a.sums) == 1:
		return a.sums[0].Amount
	}
	var names []string
	for _, one := range a.sums {
		if one.Currency == "" {
			one.Currency = "no currency"
		}
		names = append(names, one.Currency)
	}
	return expressions.Undecided("the sum is of " + strings.Join(names, " and "))
}
