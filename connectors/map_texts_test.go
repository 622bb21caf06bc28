package connectors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A list of texts is read in every shape that senders use. What nobody can read is named; an empty list is given, and what is
// not there is not.
func TestListsOfTexts(t *testing.T) {
	const given, missing = "(given, empty)", "(missing)"
	for _, tt := range []struct{ mapping, body, want string }{
		{"tags: x", `{"x":["wholesale","north"]}`, "wholesale|north"},
		{"tags: x", `{"x":["Doe, John","north"]}`, "Doe, John|north"},
		{"tags: x", `{"x":"wholesale, north"}`, "wholesale|north"},
		{"tags: x", `{"x":"wholesale;north"}`, "wholesale|north"},
		{"tags: x", `{"x":";wholesale;north;"}`, "wholesale|north"},
		{"tags: x", `{"x":"wholesale\nnorth"}`, "wholesale|north"},
		{"tags: x", `{"x":["wholesale, north"]}`, "wholesale|north"},
		{"tags: x", `{"x":"[\"wholesale\",\"north\"]"}`, "wholesale|north"},
		{"tags: x", `{"x":[{"name":"wholesale"},{"name":"north"}]}`, "wholesale|north"},
		{"tags: x", `{"x":[{"id":1,"title":"wholesale"}]}`, "wholesale"},
		{"tags: x", `{"x":[{"label":"wholesale"},{"label":"a;b"}]}`, "wholesale|a;b"},
		{"tags: x", `{"x":[{"tag":"wholesale"},{"value":"north"}]}`, "wholesale|north"},
		{"tags: x", `{"x":{"data":[{"name":"wholesale"}]}}`, "wholesale"},
		{"tags: x", `{"x":{"type":"tag.list","tags":[{"name":"wholesale"}]}}`, "wholesale"},
		{"tags: x", `{"x":{"edges":[{"node":{"name":"wholesale"}}]}}`, "wholesale"},
		{"tags: x", `{"x":{"nodes":["wholesale"]}}`, "wholesale"},
		{"tags: x", `{"x":{"value":"wholesale;north"}}`, "wholesale|north"},
		{"tags: x", `{"x":{"0":"wholesale","2":"north"}}`, "wholesale|north"},
		{"tags: x", `{"x":["wholesale",null,"",7]}`, "wholesale|7"},
		{"tags: 'x[*].name'", `{"x":[{"name":"wholesale"}]}`, "wholesale"},
		{"tags: [x, y]", `{"x":null,"y":"wholesale"}`, "wholesale"},

		{"tags: x", `{"x":[]}`, given},
		{"tags: x", `{"x":""}`, given},
		{"tags: x", `{"x":null}`, given},
		{"tags: x", `{"x":{}}`, given},
		{"tags: 'x[*].name'", `{"x":[]}`, given},
		{"tags: x", `{}`, missing},
		{"tags: a.x", `{"a":null}`, missing},
		{"tags: 'x[*].name'", `{}`, missing},

		{"tags: x", `{"x":{"wholesale":true}}`, missing + ` x is "{\"wholesale\":true}", which is no list of texts`},
		{"tags: x", `{"x":[["a"],["b"]]}`, missing + ` x is "[[\"a\"],[\"b\"]]", which is no list of texts`},
		{"tags: x", `{"x":[{"id":7},{"id":8}]}`, missing + ` x is "[{\"id\":7},{\"id\":8}]", which is no list of texts`},
		{"tags: x", `{"x":true}`, missing + ` x is "true", which is no list of texts`},
		{"tags: 'x[*].name'", `{"x":[{"title":"wholesale"}]}`, missing + ` x[*].name is "[{\"title\":\"wholesale\"}]", which is no list of texts`},
	} {
		t.Run(tt.mapping+" of "+tt.body, func(t *testing.T) {
			got, err := connector(t, openVerify+"map: {"+tt.mapping+"}").Receive(request(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			c := got.Events[0].Contact
			is := strings.Join(c.Tags, "|")
			switch {
			case is == "" && c.Empty.Has("tags"):
				is = given
			case is == "":
				is = missing
			}
			if unread := strings.Join(got.Events[0].Unread, "; "); unread != "" {
				is += " " + unread
			}
			if diff := cmp.Diff(tt.want, is); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What a sender gave and left empty is another thing than what it did not give.
func TestGivenEmptyIsNotMissing(t *testing.T) {
	for _, tt := range []struct{ mapping, body, want string }{
		{"email: x", `{"x":""}`, "email"},
		{"email: x", `{"x":null}`, "email"},
		{"email: x", `{"x":"a@example.com"}`, ""},
		{"email: x", `{}`, ""},
		{"email: [x, y]", `{"y":""}`, "email"},
		{"email: [x, y]", `{"x":"","y":"a@example.com"}`, ""},
		{"language: x", `{"x":""}`, "language"},
		{"language: x", `{"x":"English"}`, ""}, // unreadable
		{"email: {path: x, when: kind == a}", `{"x":"","kind":"b"}`, ""},
		{"email: header:X-Mail", `{}`, ""},
	} {
		got, err := connector(t, openVerify+"map: {"+tt.mapping+"}").Receive(request(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if is := strings.Join(got.Events[0].Contact.Empty, "|"); is != tt.want {
			t.Errorf("%s of %s: empty %q, want %q", tt.mapping, tt.body, is, tt.want)
		}
	}
	con := connector(t, openVerify+"map: {order.number: n, order.total: t, cart.items: {each: lines, title: t, sku: s}, form.answers: f}")
	got, err := con.Receive(request(`{"n":0,"t":null,"lines":[{"t":"Mug","s":""},{"t":"Cup"}],"f":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	e := got.Events[0]
	if !e.Order.Empty.Has("number") || e.Order.Empty.Has("total") || !e.Form.Empty.Has("answers") || !e.Cart.Items[0].Empty.Has("sku") || len(e.Cart.Items[1].Empty) != 0 {
		t.Errorf("order %v, form %v, lines %v", e.Order.Empty, e.Form.Empty, e.Cart.Items)
	}
	if got, err = con.Receive(request(`{"lines":[]}`)); err != nil || !got.Events[0].Cart.Empty.Has("items") {
		t.Errorf("%v, %v", got.Events, err)
	}
	if got, err = con.Receive(request(`{"lines":{"data":[{"t":"Mug"}]}}`)); err != nil || len(got.Events[0].Cart.Items) != 0 || len(got.Events[0].Unread) != 1 {
		t.Errorf("%v, %v", got.Events, err)
	}
}

// What cart_total is to a cart order_total is to an order, in each preset whose sender chooses the names.
func TestAnOrdersTotalIsReadAsACartsIs(t *testing.T) {
	for _, preset := range []string{"generic", "make", "n8n", "zapier", "standardwebhooks", "svix"} {
		for _, body := range []string{`"order_total":"19.90"`, `"order":{"total":"19.90"}`, `"data":{"order_total":"19.90"}`, `"total":"19.90"`, `"order_total":"19.90","total":"5"`} {
			e := mapped(t, preset, `{"event":"order.created",`+body+`}`)
			if e.Order.Total.String() != "19.90" {
				t.Errorf("%s: %s is %q", preset, body, e.Order.Total)
			}
		}
		if e := mapped(t, preset, `{"event":"cart.abandoned","cart_total":"19.90"}`); e.Cart.Total.String() != "19.90" {
			t.Errorf("%s: cart_total is %q", preset, e.Cart.Total)
		}
	}
}
