package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// posted is an event with a payload, that no trigger wants anything of.
func posted(payload string, at time.Time, changes ...change) messaging.Plan {
	p := cart(nextKey("f"), func(p *messaging.Plan) {
		p.Proposals = nil
		p.Event.Kind, p.Event.Payload, p.Event.ReceivedAt = "order.created", []byte(payload), at
	})
	for _, c := range changes {
		c(&p)
	}
	return p
}

// posts takes n events, a minute between them, and gives when the next would come.
func (l *ledger) posts(n int, payload string, at time.Time, changes ...change) time.Time {
	l.t.Helper()
	for range n {
		l.mustAccept(posted(payload, at, changes...))
		at = at.Add(time.Minute)
	}
	return at
}

func (l *ledger) drifts() drift.Records { return drift.Records{Store: l.Store} }

// readFields has all events read, and their fields counted by w.
func (l *ledger) readFields(w *drift.Watch) {
	l.t.Helper()
	for {
		n, err := contacts.Records{Store: l.Store}.ReadContacts(l.ctx, w.Look)
		l.must(err)
		if n == 0 {
			return
		}
	}
}

func (l *ledger) watch() *drift.Watch { return &drift.Watch{Records: l.drifts()} }

// drifted is what differs at a time, a line each.
func (l *ledger) drifted(now time.Time) (out []string) {
	l.t.Helper()
	all, err := drift.Drifts{Records: l.drifts(), Now: func() time.Time { return now }}.List(l.ctx, drift.Query{})
	l.must(err)
	for _, v := range all {
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%s %s.%s %s %d/%d %d", v.What, v.Connector, v.Kind, v.Path, v.With, v.Of, v.Without)), " "))
	}
	return out
}

// countedHours are the hours of which fields were counted, with how many events.
func (l *ledger) countedHours() (out []string) {
	l.t.Helper()
	l.must(l.Rows(l.ctx, `SELECT connector, kind, hour, events FROM drift_hours ORDER BY connector, kind, hour`, nil, func(r *engine.Row) error {
		connector, kind, hour := r.Text(), r.Text(), r.Int()
		out = append(out, fmt.Sprintf("%s.%s %s %d", connector, kind, time.Unix(hour*3600, 0).UTC().Format("02 15"), r.Int()))
		return r.Err
	}))
	return out
}

const (
	withPhone  = `{"id":"1","customer":{"phone":"+447700900123","name":"Ada"}}`
	withMobile = `{"id":"1","customer":{"mobile":"+447700900123","name":"Ada"}}`
)

func (s suite) fields(t *testing.T) {
	t.Run("a week of events, then a renamed field", s.aWeekThenARenamedField)
	t.Run("each event counts once, whatever dies when", s.eachEventCountsOnce)
	t.Run("what does not count", s.whatDoesNotCount)
	t.Run("at most so many a minute, and so many kinds", s.theRoomForFields)
	t.Run("a person takes it as it is", s.aPersonTakesItAsItIs)
	t.Run("forgetting a contact counts nothing twice, and nothing tells of it", s.forgettingLeavesCounts)
	t.Run("an event that waits for a look-up counts with its answer, in its hour", s.aLookUpCountsInItsHour)
	t.Run("old counts leave", s.oldCountsLeave)
}

func (s suite) aWeekThenARenamedField(t *testing.T) {
	l := s.open(t)
	w := l.watch()
	at := noon
	for day := range 6 {
		l.posts(5, withPhone, at)
		l.readFields(w)
		if day == 2 {
			w = l.watch() // another term, or another process
		}
		at = at.Add(24 * time.Hour)
	}
	same(t, "before", l.drifted(at), []string(nil))
	next := l.posts(9, withMobile, at)
	l.readFields(w)
	same(t, "after nine", l.drifted(next), []string(nil))
	l.posts(1, withMobile, next)
	l.readFields(w)
	same(t, "after ten", l.drifted(next), []string{"gone shop.order.created customer.phone 30/30 10", "new shop.order.created customer.mobile 10/30 0"})
	l = reopenAfter(t, l)
	same(t, "after a restart", l.drifted(next), []string{"gone shop.order.created customer.phone 30/30 10", "new shop.order.created customer.mobile 10/30 0"})
	w = l.watch()
	next = l.posts(1, withPhone, next.Add(time.Hour))
	l.readFields(w)
	same(t, "one as before", l.drifted(next), []string{"new shop.order.created customer.mobile 10/30 0"})
	l.posts(30, withMobile, next.Add(time.Hour))
	l.readFields(w)
	same(t, "a week later", l.drifted(next.Add(8*24*time.Hour)), []string(nil))
	l.posts(1, withMobile, next.Add(8*24*time.Hour))
	l.readFields(w)
	same(t, "and events came", l.drifted(next.Add(8*24*time.Hour)), []string{"not_enough shop.order.created 0/1 0"})
}

var errDies = errors.New("it dies here")

func (s suite) eachEventCountsOnce(t *testing.T) {
	l := s.open(t)
	w := l.watch()
	l.posts(3, withPhone, noon)
	// The commit fails, as the death of the process would have it.
	_, err := contacts.Records{Store: l.Store}.ReadContacts(l.ctx, func(ctx context.Context, events []messaging.Event) (func(*store.Tx, func(messaging.EventID) bool) error, error) {
		note, err := w.Look(ctx, events)
		return func(t *store.Tx, counts func(messaging.EventID) bool) error {
			return errors.Join(note(t, counts), errDies)
		}, err
	})
	if !errors.Is(err, errDies) {
		t.Fatalf("it ended as %v", err)
	}
	same(t, "nothing is counted", l.countedHours(), []string(nil))
	l.readFields(w)
	same(t, "then once", l.countedHours(), []string{"shop.order.created 02 12 3"})
	l.readFields(w)
	l = reopenAfter(t, l)
	l.readFields(l.watch())
	same(t, "and no more", l.countedHours(), []string{"shop.order.created 02 12 3"})
	l.posts(2, withPhone, noon.Add(58*time.Minute)) // over the hour
	l.posts(3, withPhone, noon.Add(59*time.Minute))
	l.readFields(l.watch())
	same(t, "each in its hour", l.countedHours(), []string{"shop.order.created 02 12 6", "shop.order.created 02 13 2"})
}

func (s suite) whatDoesNotCount(t *testing.T) {
	l := s.open(t)
	l.posts(2, withPhone, noon, func(p *messaging.Plan) { p.Event.History = true })
	l.posts(2, withPhone, noon, func(p *messaging.Plan) { p.Forgets = true })
	l.posts(2, "a text", noon, func(p *messaging.Plan) { p.Event.ContentType = "text/plain" })
	p := posted(withPhone, noon)
	for range 3 { // a repetition
		if _, err := l.Accept(l.ctx, []messaging.Plan{p}); err != nil {
			t.Fatal(err)
		}
	}
	l.posts(1, withPhone, noon, func(p *messaging.Plan) { p.Event.Contact.Phone = "" }) // who it is about does not matter
	l.readFields(l.watch())
	same(t, "counted", l.countedHours(), []string{"shop.order.created 02 12 2"})
}

func (s suite) theRoomForFields(t *testing.T) {
	l := s.open(t)
	for range 70 {
		l.mustAccept(posted(withPhone, noon))
	}
	l.posts(1, withPhone, noon.Add(time.Minute))
	l.readFields(l.watch())
	same(t, "in a minute", l.countedHours(), []string{"shop.order.created 02 12 61"})
	for i := range 120 {
		l.posts(1, withPhone, noon, func(p *messaging.Plan) { p.Event.Connector, p.Event.Kind = "open", fmt.Sprintf("made.up.%03d", i) })
	}
	l.readFields(l.watch())
	if n := len(l.countedHours()); n != 101 {
		t.Errorf("%d kinds are counted", n)
	}
}

func (s suite) aPersonTakesItAsItIs(t *testing.T) {
	l := s.open(t)
	w := l.watch()
	at := l.posts(30, withPhone, noon)
	at = l.posts(10, withMobile, at)
	l.posts(30, withPhone, noon, func(p *messaging.Plan) { p.Event.Kind = "order.paid" })
	l.readFields(w)
	d := drift.Drifts{Records: l.drifts(), Now: func() time.Time { return at }}
	for _, in := range []drift.AcceptRequest{{Connector: "shop", Kind: "order.paid"}, {Connector: "nosuch"}, {Connector: "shop", Kind: "nosuch"}} {
		if _, err := d.Accept(l.ctx, in); err == nil || !strings.Contains(err.Error(), "differs from the week before") {
			t.Errorf("%+v: %v", in, err)
		}
	}
	all, err := d.Accept(l.ctx, drift.AcceptRequest{Connector: "shop", Kind: "order.created"})
	l.must(err)
	same(t, "it was", len(all), 2)
	same(t, "then", l.drifted(at), []string(nil))
	// The same watch goes on: what it remembers is no ground any more.
	at = l.posts(12, withMobile, at)
	l.readFields(w)
	same(t, "later", l.drifted(at), []string{"not_enough shop.order.created 0/12 0"})
	at = l.posts(20, withMobile, at)
	at = l.posts(10, withPhone, at)
	l.readFields(w)
	same(t, "the new ground", l.drifted(at), []string{"gone shop.order.created customer.mobile 32/32 10", "new shop.order.created customer.phone 10/32 0"})
}

func (s suite) forgettingLeavesCounts(t *testing.T) {
	l := s.open(t)
	who := func(p *messaging.Plan) { p.Event.Contact = messaging.Contact{Phone: ada, Name: "Ada Lovelace"} }
	l.posts(3, `{"id":"zq7","note":"Ada was here","447700900123":{"ada":true},"customer":{"phone":"+447700900123","ada@example.com":1}}`, noon, who)
	l.readFields(l.watch())
	l.must(l.Forget(l.ctx, []messaging.Phone{ada}, "by hand"))
	l.posts(2, withPhone, noon.Add(time.Hour), who) // it came later, and is not forgotten
	l.readFields(l.watch())
	l.erased()
	l.readFields(l.watch())
	l.readFields(l.watch())
	same(t, "counted", l.countedHours(), []string{"shop.order.created 02 12 3", "shop.order.created 02 13 2"})
	l.must(l.Rows(l.ctx, `SELECT fields FROM drift_hours`, nil, func(r *engine.Row) error {
		text, _, err := stored.UnpackContent(r.Blob())
		for _, bad := range []string{"7700", "Ada", "ada", "example", "zq7"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s is in %s", bad, text)
			}
		}
		if !strings.Contains(text, `"customer.phone text"`) {
			t.Errorf("no phone in %s", text)
		}
		return errors.Join(r.Err, err)
	}))
}

func (s suite) aLookUpCountsInItsHour(t *testing.T) {
	l := s.open(t)
	w := l.watch()
	late := posted(withPhone, noon, func(p *messaging.Plan) { p.Later = true })
	id := l.mustAccept(late).EventID
	l.posts(2, withPhone, noon.Add(2*time.Hour))
	l.readFields(w)
	same(t, "while it waits", l.countedHours(), []string{"shop.order.created 02 14 2"})
	got := l.claimLookups(noon, 1)
	if got[0].Event.ID != id {
		t.Fatalf("claimed %+v", got)
	}
	p := found(got[0].Event)
	p.Event.Payload = []byte(`{"id":"1","customer":{"phone":"+447700900123","name":"Ada"},"contact":{"phone":"1"}}`)
	_, err := l.Complete(l.ctx, got[0], p)
	l.must(err)
	l.readFields(w)
	same(t, "with the answer", l.countedHours(), []string{"shop.order.created 02 12 1", "shop.order.created 02 14 2"})
	l.posts(1, withPhone, noon.Add(2*time.Hour))
	l.readFields(w)
	same(t, "then", l.countedHours(), []string{"shop.order.created 02 12 1", "shop.order.created 02 14 3"})
}

func (s suite) oldCountsLeave(t *testing.T) {
	l := s.open(t)
	l.posts(1, withPhone, noon)
	l.posts(1, withPhone, noon.Add(30*time.Hour))
	l.readFields(l.watch())
	for after, want := range []int{2, 2, 1, 0} {
		now := noon.Add(drift.Kept + []time.Duration{-time.Hour, 0, 2 * time.Hour, 32 * time.Hour}[after])
		_, err := l.privacy().Retain(l.ctx, privacy.Retention{Ages: []func(*store.Tx, time.Time) error{drift.DropOld}}, now)
		l.must(err)
		same(t, fmt.Sprint("run ", after), len(l.countedHours()), want)
	}
}
