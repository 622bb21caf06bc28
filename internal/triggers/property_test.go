package triggers

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
)

func TestMatchIsDeterministicAndLeavesTheEventAlone(t *testing.T) {
	second := reminder()
	second.Name, second.On, second.If = "second", []string{"*"}, []string{`raw.vip or len(cart.items) > 1`}
	set := compiled(t, shops, reminder(), second)
	rapid.Check(t, func(r *rapid.T) {
		e := aCart(t)
		e.Kind = rapid.SampledFrom([]string{"cart.updated", "order.created", "contact.updated"}).Draw(r, "kind")
		e.Cart.Total = messaging.AmountOf(rapid.Int64Range(0, 100).Draw(r, "total"))
		e.Cart.ID = rapid.SampledFrom([]string{"", "cart-1"}).Draw(r, "cart")
		e.Contact.Phone = messaging.Phone(rapid.SampledFrom([]string{"", "447700900123"}).Draw(r, "phone"))
		e.Contact.FirstName = rapid.String().Draw(r, "name")
		e.Payload = []byte(rapid.SampledFrom([]string{"", "{", `{"vip":true}`, `{"vip":"x"}`, "<xml/>"}).Draw(r, "payload"))
		before := *e
		first := set.Match(e, noon)
		if diff := cmp.Diff(first.Proposals, set.Match(e, noon).Proposals); diff != "" {
			r.Fatalf("twice the same event, two answers:\n%s", diff)
		}
		if !reflect.DeepEqual(before, *e) {
			r.Fatal("the event was changed")
		}
		for _, w := range first.Proposals {
			switch w.Decision.Outcome {
			case messaging.Planned:
				if w.Message.Phone == "" || w.Message.DueAt.Before(noon) || w.Message.Category == "" {
					r.Fatalf("a plan that cannot be carried out: %+v", w.Message)
				}
				for _, v := range w.Message.Send.Variables {
					if v == "" || v != plain.OneLine(v) || utf8.RuneCountInString(v) > expressions.MaxVariable {
						r.Fatalf("a variable that the network rejects: %q", v)
					}
				}
			case messaging.Cancelling:
				if w.Correlation.Key == "" && w.Correlation.Phone == "" {
					r.Fatal("cancels a correlation key without a name")
				}
			case messaging.Skipped:
				if w.Decision.Reason == "" {
					r.Fatal("skipped without a reason")
				}
			default:
				r.Fatalf("outcome %q of a match", w.Decision.Outcome)
			}
		}
	})
}
