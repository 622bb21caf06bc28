package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const twiceJob = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}"}
jobs:
  twice:
    source: {contacts: 'count("shopify.order.created", 30d) >= 2 and not messaged(1d)'}
    columns: {phone: phone, var_1: '{{ name | default: "there" }}'}
    campaign: {name: twice, template_id: 7}
`

// A job sends to those who ordered twice. Who was reached is not on the list of its next run, nor who is blocked, and who was forgotten is on none.
func TestAnAudienceThroughTheDaemon(t *testing.T) {
	h := open(t, options{config: twiceJob})
	for who, orders := range []int{2, 1, 3, 2, 2} {
		for n := range orders {
			id := strings.Repeat("o", who+1) + strings.Repeat("x", n)
			h.mustTake(h.shopify("orders/create", id, order(id, phone(who), "60.00")))
		}
	}
	h.eventually("all events are read for contacts", func() bool {
		f, err := server.ForecastJob.Call(t.Context(), h.ask, "twice")
		if err != nil {
			t.Fatal(err)
		}
		return f.Tally.Kept == 4
	})
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(3)}}); err != nil {
		t.Fatal(err)
	}
	h.forget(phone(4))
	r := h.fire("twice")
	got := h.phonesOn(r)
	slices.Sort(got)
	if r.State != messaging.RunDone || !slices.Equal(got, []string{phone(0)[1:], phone(2)[1:]}) {
		t.Errorf("the run is %s, and reached %v", r.State, got)
	}
	if r := h.fire("twice"); r.Tally.Rows != 1 || r.Tally.Kept != 0 {
		t.Errorf("its next run has %d rows, and keeps %d", r.Tally.Rows, r.Tally.Kept)
	}
}
