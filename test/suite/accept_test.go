package suite

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func (s suite) accept(t *testing.T) {
	t.Run("an event comes back whole, with its payload byte for byte", s.anEventComesBackWhole)
	t.Run("keys that no text of an engine may hold are known again", s.aKeyThatNoTextMayHoldIsKnownAgain)
	t.Run("a payload of any length comes back", s.aPayloadOfAnyLengthComesBack)
	t.Run("decisions come back in order with their clauses", s.decisionsComeBackInOrder)
	t.Run("200 copies at once are one event and one message", s.manyCopiesAtOnceAreOneEvent)
	t.Run("a copy inside one request is a duplicate of the first", s.aCopyInsideOneRequestIsADuplicate)
	t.Run("the window is seven days back and over a clock put back at midnight", s.theWindowOfDuplicatesIsSevenDays)
	t.Run("the same key of another connector is another event", s.aKeyOfAnotherConnectorIsAnotherEvent)
	t.Run("an event is known by its content key as well, also after a restart", s.anEventIsKnownByItsContentKey)
	t.Run("an event without a dedupe key or a time is refused whole", s.anEventWithoutAKeyOrATimeIsRefused)
	t.Run("whoever waits for due messages is told the earliest", s.whoeverWaitsIsToldTheEarliest)
}

func (s suite) anEventComesBackWhole(t *testing.T) {
	l := s.open(t)
	want := messaging.Event{
		ID: 1, Connector: "shop", Kind: "order.paid", Topic: "orders/paid", DedupeKey: "k",
		OccurredAt: noon.Add(-time.Minute), ReceivedAt: noon.Add(123456 * time.Microsecond),
		Contact: messaging.Contact{
			Phone: "447700900123", PhoneProblem: "", ID: "7", Name: "Ana Example", FirstName: "Ana", LastName: "Example",
			Email: "ana@example.com", Language: "pt_BR", Country: "BR", Timezone: "America/Sao_Paulo", Tags: messaging.Tags{"vip", "a,b"},
			AcceptsMarketing: true, Consent: true,
		},
		Cart: messaging.Cart{
			ID: "c1", URL: "https://shop.example.com/c1", Total: amount(t, "49.90"), Currency: "EUR", ExpiresAt: noon.Add(time.Hour),
			Items: []messaging.Item{{ID: "i", SKU: "s", Title: "Mug {{ raw }}", Quantity: 2, Price: amount(t, "24.95"), URL: "u", Image: "m"}},
		},
		Order: messaging.Order{
			ID: "90071992547409931", Name: "#1001", Number: 2, Status: "paid", URL: "u", Total: amount(t, "0.00"), Currency: "EUR",
			Items: []messaging.Item{{Title: "Mug"}},
		},
		Deal:    messaging.Deal{ID: "d", Name: "n", Stage: "won", Amount: amount(t, "-3"), Currency: "GBP", Owner: "o"},
		Form:    messaging.Form{ID: "f", Name: "n", URL: "u", Answers: map[string]string{"q": "a", "": "\x00é"}},
		Payload: bytes.Repeat([]byte("{\"a\": 1}\n"), 300), ContentType: "application/json", Unreadable: []string{"cart.total", "contact.tags"},
	}
	r := l.mustAccept(messaging.Plan{Event: want})
	got, err := l.Event(l.ctx, r.EventID)
	l.must(err)
	same(t, "event", want, got)
}

func (s suite) aKeyThatNoTextMayHoldIsKnownAgain(t *testing.T) {
	l := s.open(t)
	for _, key := range []string{"a\x00b", "c\xffd"} {
		e := messaging.Event{Connector: "c", Kind: "k", DedupeKey: key, ReceivedAt: noon}
		first := l.mustAccept(messaging.Plan{Event: e})
		again := l.mustAccept(messaging.Plan{Event: e})
		if first.Duplicate || !again.Duplicate || again.EventID != first.EventID {
			t.Errorf("%q came twice: %+v, then %+v", key, first, again)
		}
	}
}

func (s suite) aPayloadOfAnyLengthComesBack(t *testing.T) {
	l := s.open(t)
	for _, n := range []int{0, 1, 199, 200, 201, 5000, 1 << 20} {
		p := messaging.Plan{Event: messaging.Event{Connector: "c", Kind: "k", DedupeKey: fmt.Sprint(n), ReceivedAt: noon, Payload: bytes.Repeat([]byte{0xff, 0, 'x'}, n)[:n]}}
		got, err := l.Event(l.ctx, l.mustAccept(p).EventID)
		if err != nil || !bytes.Equal(got.Payload, p.Event.Payload) {
			t.Errorf("payload of %d bytes came back as %d (%v)", n, len(got.Payload), err)
		}
	}
}

func (s suite) decisionsComeBackInOrder(t *testing.T) {
	l := s.open(t)
	p := cart("1")
	p.Proposals[0].Decision.Clauses = []messaging.Clause{
		{Text: "cart.total >= 50", Held: true, Values: []messaging.Value{{Name: "cart.total", Value: "74"}}},
		{Text: "x", Error: "no such thing"},
	}
	p.Proposals = append(p.Proposals,
		messaging.Proposal{Decision: messaging.Decision{Trigger: "b", Outcome: messaging.Skipped, Reason: "too small", Config: "v1", At: noon}},
		messaging.Proposal{Decision: messaging.Decision{Trigger: "a", Outcome: messaging.Shadowed, Reason: "mode shadow"}})
	r := l.mustAccept(p)
	want := []messaging.Decision{p.Proposals[0].Decision, p.Proposals[1].Decision, p.Proposals[2].Decision}
	for i := range want {
		want[i].EventID = r.EventID
	}
	want[0].MessageID = 1
	want[2].At = noon // the store's clock, where the decision has no time
	same(t, "receipt", want, r.Decisions)
	got, err := l.Decisions(l.ctx, r.EventID)
	l.must(err)
	same(t, "decisions", want, got)
}

func (s suite) manyCopiesAtOnceAreOneEvent(t *testing.T) {
	l := s.open(t)
	var fresh, wrong atomic.Int64
	together(200, func(int) {
		got, err := l.Accept(l.ctx, []messaging.Plan{cart("same")})
		switch {
		case err != nil || got[0].EventID != 1:
			wrong.Add(1)
		case !got[0].Duplicate:
			fresh.Add(1)
		}
	})
	if fresh.Load() != 1 || wrong.Load() != 0 {
		t.Errorf("%d were taken as fresh, %d went wrong", fresh.Load(), wrong.Load())
	}
	l.totals(map[string]int64{"events": 1, "events_duplicate": 199, "messages": 1, "decisions_planned": 1})
}

func (s suite) aCopyInsideOneRequestIsADuplicate(t *testing.T) {
	l := s.open(t)
	got, err := l.Accept(l.ctx, []messaging.Plan{cart("1"), cart("2"), cart("1")})
	l.must(err)
	if !got[2].Duplicate || got[2].EventID != got[0].EventID || got[1].Duplicate {
		t.Errorf("receipts %+v", got)
	}
}

func (s suite) theWindowOfDuplicatesIsSevenDays(t *testing.T) {
	const day = 24 * time.Hour
	midnight := noon.Truncate(day)
	tests := map[string]struct {
		first, again time.Time
		duplicate    bool
	}{
		"the same moment":                   {noon, noon, true},
		"the day after":                     {noon, noon.Add(day), true},
		"seven days later":                  {noon, noon.Add(7 * day), true},
		"eight days later":                  {noon, noon.Add(8 * day), false},
		"the clock was put back a minute":   {midnight, midnight.Add(-time.Minute), true},
		"after other days without events":   {noon, noon.Add(5 * day), true},
		"much earlier, by a clock gone mad": {noon, noon.Add(-400 * day), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			first := l.mustAccept(cart("x", received(tt.first)))
			l.mustAccept(cart("other", received(tt.first.Add(2*day))))
			again := l.mustAccept(cart("x", received(tt.again)))
			if again.Duplicate != tt.duplicate || (tt.duplicate && again.EventID != first.EventID) {
				t.Errorf("first %d, again %+v", first.EventID, again)
			}
		})
	}
}

func (s suite) aKeyOfAnotherConnectorIsAnotherEvent(t *testing.T) {
	l := s.open(t)
	l.mustAccept(cart("x"))
	other := cart("x")
	other.Event.Connector = "shop2"
	if l.mustAccept(other).Duplicate {
		t.Error("taken for a duplicate")
	}
}

func (s suite) anEventIsKnownByItsContentKey(t *testing.T) {
	l := s.open(t)
	first := l.mustAccept(cart("1", dedupe("id-1"), content("body-1")))
	for name, tt := range map[string]struct {
		plan      messaging.Plan
		duplicate bool
	}{
		"the same content under another id": {cart("1", dedupe("id-2"), content("body-1")), true},
		"other content under the same id":   {cart("1", dedupe("id-1"), content("body-2")), true},
		"both again":                        {cart("1", dedupe("id-1"), content("body-1")), true},
		"no content key, another id":        {cart("1", dedupe("id-4")), false},
		"an id that is spelt like a key":    {cart("1", dedupe("body-1")), false},
		"a key that is spelt like an id":    {cart("1", dedupe("id-5"), content("id-1")), false},
		"another connector's": {cart("1", dedupe("id-6"), content("body-1"), func(p *messaging.Plan) {
			p.Event.Connector = "other"
		}), false},
		"eight days later": {cart("1", dedupe("id-7"), content("body-1"), received(noon.AddDate(0, 0, 8))), false},
	} {
		if got := l.mustAccept(tt.plan); got.Duplicate != tt.duplicate || (tt.duplicate && got.EventID != first.EventID) {
			t.Errorf("%s: %+v, want duplicate %v", name, got, tt.duplicate)
		}
	}
	again := reopenAfter(t, l)
	if got := again.mustAccept(cart("1", dedupe("id-8"), content("body-1"), received(noon.AddDate(0, 0, 8)))); !got.Duplicate {
		t.Errorf("after a restart: %+v, want a duplicate", got)
	}
}

func (s suite) anEventWithoutAKeyOrATimeIsRefused(t *testing.T) {
	l := s.open(t)
	_, err := l.Accept(l.ctx, []messaging.Plan{cart("1"), cart("2", dedupe(""))})
	wantErr(t, err, "event shop.cart.updated has no dedupe key")
	_, err = l.Accept(l.ctx, []messaging.Plan{cart("1", received(time.Time{}))})
	wantErr(t, err, "event shop.cart.updated does not say when it was received")
	_, err = l.Accept(l.ctx, []messaging.Plan{cart("1", due(time.Time{}))})
	wantErr(t, err, "event shop.cart.updated, trigger remind: a message without a due time")
	l.totals(map[string]int64{"events": 0})
}

func (s suite) whoeverWaitsIsToldTheEarliest(t *testing.T) {
	l := s.open(t)
	if _, err := l.Accept(l.ctx, []messaging.Plan{cart("1", due(noon.Add(time.Hour))), cart("2", due(noon.Add(time.Minute))), cart("3", due(noon.Add(24*time.Hour)))}); err != nil {
		t.Fatal(err)
	}
	same(t, "OnDue", noon.Add(time.Minute), l.woken(noon.Add(time.Minute)))
	at, ok, err := l.NextDue(l.ctx)
	if err != nil || !ok || !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("NextDue = %v, %v, %v", at, ok, err)
	}
}

func amount(t testing.TB, text string) messaging.Amount {
	t.Helper()
	a, err := messaging.ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
