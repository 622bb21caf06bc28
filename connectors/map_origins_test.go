package connectors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/connectors/mapping"
)

// A value that nobody can read is empty for triggers, and must not be so without a word.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	const amount = "no amount (| money reads currency symbols and decimal commas)"
	for _, tt := range []struct{ mapping, body, want string }{
		{"order.total: amount", `{"amount":"12,50"}`, `amount is "12,50", which is ` + amount},
		{"order.total: amount", `{"amount":"1.234,50"}`, `amount is "1.234,50", which is ` + amount},
		{"order.total: amount", `{"amount":"£12.50"}`, `amount is "£12.50", which is ` + amount},
		{"order.total: amount", `{"amount":"12.50 EUR"}`, `amount is "12.50 EUR", which is ` + amount},
		{"order.total: amount", `{"amount":"abc"}`, `amount is "abc", which is ` + amount},
		{"order.total: amount | money", `{"amount":"free"}`, `amount | money is "free", which is ` + amount},
		{"deal.amount: amount | minor", `{"amount":"12,50"}`, `amount | minor is "12,50", which is ` + amount},
		{"order.total: [amount, total]", `{"amount":"abc","total":"12.50"}`, `amount is "abc", which is ` + amount},
		{"order.total: [amount, total]", `{"amount":"","total":"12.50"}`, ""},
		{"order.total: amount", `{"amount":""}`, ""},
		{"order.total: amount", `{"amount":null}`, ""},
		{"order.total: amount", `{}`, ""},
		{"order.number: n", `{"n":"second"}`, `n is "second", which is no whole number`},
		{"order.number: n", `{"n":2}`, ""},
		{"cart.expires_at: at", `{"at":"soon"}`, `at is "soon", which is no time`},
		{"country: land", `{"land":"Narnia"}`, `land is "Narnia", which is no country that is known`},
		{"timezone: tz", `{"tz":"(GMT-05:00) Eastern"}`, `tz is "(GMT-05:00) Eastern", which is no time zone`},
		{"language: lang", `{"lang":"English"}`, `lang is "English", which is no language code`},
		{"language: lang", `{"lang":"en_US"}`, ""},
		{"order.currency: c", `{"c":"Euro"}`, `c is "Euro", which is no currency's three letters`},
		{"order.currency: c", `{"c":"eur"}`, ""},
		{"consent: yes", `{"yes":"perhaps"}`, `yes is "perhaps", which is no word of consent`},
		{"consent: yes", `{"yes":"no"}`, ""},
		{"cart.items: {each: lines, title: t}", `{"lines":"Mug, Cup"}`, `lines is "Mug, Cup", which is no list`},
		{"cart.items: {each: lines, title: t, quantity: q}", `{"lines":[{"t":"Mug","q":"two"}]}`, `a line's quantity is "two", which is no whole number`},
		{"cart.items: {each: lines, title: t, price: p}", `{"lines":[{"t":"Mug","p":"12,50"}]}`, `a line's p is "12,50", which is ` + amount},
		{"form.answers: {each: lines, name: n, value: v}", `{"lines":"none"}`, `lines is "none", which is no list`},
		{"order.number: n", `{"n":"+44 7700 900123"}`, `n is "+44 77** ****23", which is no whole number`},
		{"phone: phone", `{"phone":"none"}`, ""}, // said as the phone's own problem
	} {
		con := connector(t, openVerify+"map: {"+tt.mapping+"}")
		got, err := con.Receive(request(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got.Events[0].Unread, "|")); diff != "" {
			t.Errorf("%s of %s: (-want +got)\n%s", tt.mapping, tt.body, diff)
		}
	}
	con := connector(t, openVerify+"event: {time: at}")
	got, err := con.Receive(request(`{"at":"yesterday"}`))
	if err != nil || len(got.Events[0].Unread) != 1 || got.Events[0].Unread[0] != `at is "yesterday", which is no time` {
		t.Errorf("%+v, %v", got.Events, err)
	}
}

func TestTheMoneyPipeReadsWhatPeopleWrite(t *testing.T) {
	for written, want := range map[string]string{"12,50": "12.50", "1.234,50": "1234.50", "£12.50": "12.50", "12.50 EUR": "12.50", "abc": ""} {
		con := connector(t, openVerify+"map: {order.total: amount | money}")
		got, err := con.Receive(request(`{"amount":"` + written + `"}`))
		if err != nil || got.Events[0].Order.Total.String() != want {
			t.Errorf("%s is %q, want %q (%v)", written, got.Events[0].Order.Total, want, err)
		}
	}
}

// The currency beside an amount is read where it is one; a sign of several is none, and nothing is taken for it.
func TestTheCurrencyBesideAnAmount(t *testing.T) {
	con := connector(t, openVerify+"map: {order.total: amount | money, order.currency: amount | currency}")
	for written, want := range map[string]string{
		"31,00 €": "EUR", "£12.50": "GBP", "12.50 EUR": "EUR", "CHF 1'234.50": "CHF", "R$ 10,00": "BRL", "1 299,00 zł": "PLN", "₹1,299.00": "INR", "US$5": "USD", "&pound;38.40": "GBP",
		"<span>38,40&nbsp;&euro;</span>": "EUR", "Rs. 500": "INR", "12,50 lei": "RON", "12.50": "", "12": "",
		"$31.00": "?", "¥500": "?", "31,00 kr": "?",
	} {
		got, err := con.Receive(request(`{"amount":"` + written + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		e := got.Events[0]
		if want == "?" {
			if e.Order.Currency != "" || len(e.Unread) != 1 {
				t.Errorf("%s: %q, and it is not told: %q", written, e.Order.Currency, e.Unread)
			}
		} else if e.Order.Currency != want || len(e.Unread) > 0 {
			t.Errorf("%s is %q, want %q (%q)", written, e.Order.Currency, want, e.Unread)
		}
	}
}

func TestInspectSaysWhichOfSeveralPathsCounts(t *testing.T) {
	con := connector(t, openVerify+"map: {consent: [mail, sms], email: mail_address}")
	_, readings, err := con.Inspect(request(`{"mail":false,"sms":true,"mail_address":"a@example.com"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []mapping.Reading{{Fields: []mapping.Origin{
		{Field: "contact.email", Path: "mail_address", Value: "a@example.com"},
		{Field: "contact.accepts_marketing", Path: "mail", Value: "false"},
		{Field: "contact.accepts_marketing", Path: "sms", Value: "true", Used: true},
	}}}
	if diff := cmp.Diff(want, readings); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
