package connectors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
)

func inspectedOne(t *testing.T, config, body string) (*connectors.Connector, connectors.Received, mapping.Reading) {
	t.Helper()
	con := connector(t, config)
	got, readings, err := con.Inspect(request(body, "Content-Type", "application/json"))
	if err != nil || len(got.Events) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	return con, got, readings[0]
}

// What is shown of a field is what a trigger sees, and beside it what stands in the body where that is something else.
func TestAValueIsShownAsTriggersSeeIt(t *testing.T) {
	_, _, got := inspectedOne(t, openVerify+`
event: {kind: order.paid}
map: {phone: p, country: c, order.total: t | minor, order.currency: cur, order.name: "n | upper", cart.expires_at: at}
`, `{"p":"07700 900123","c":"United Kingdom","t":129900,"cur":"GBP","n":"a1","at":1763600000}`)
	want := []mapping.Origin{
		{Field: "contact.country", Path: "c", Value: "GB", Body: "United Kingdom"},
		{Field: "contact.phone", Path: "p", Value: "447700900123", Body: "07700 900123"},
		{Field: "cart.expires_at", Path: "at", Value: "2025-11-20T00:53:20Z", Body: "1763600000"},
		{Field: "order.currency", Path: "cur", Value: "GBP"},
		{Field: "order.name", Path: "n | upper", Value: "A1"},
		{Field: "order.total", Path: "t | minor", Value: "1299.00", Body: "129900"},
	}
	if diff := cmp.Diff(want, got.Fields); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatNothingReadsIsShown(t *testing.T) {
	const config = `
verify: {kind: token, from: body, field: key}
secret: a-word-that-nobody-knows
event: {type: what, id: [id], time: [at], kinds: [{when: [state == 7], kind: deal.won}]}
map:
  phone: {path: person.mobile, country: person.land, when: kind == a}
  name: "{person.first} {person.last}"
  tags: tags
  cart.items: {each: lines, title: t}
`
	_, _, got := inspectedOne(t, config, `{"what":"x","id":1,"at":"2026-11-20T09:00:00Z","state":7,"kind":"a","key":"a-word-that-nobody-knows",
 "person":{"mobile":"+447700900123","land":"GB","first":"A","last":"B","work phone":"+44 7700 900456","born":"1990"},
 "tags":["a"],"lines":[{"t":"a","sku":"b"}],"none":null,"off":false,"nothing":"","empty":[],"list":[{"a":1},{"a":2}],"deep":{"er":{"x":true}}}`)
	want := []mapping.Leaf{
		{Path: `person."work phone"`, Value: "4477******56"}, {Path: "person.born", Value: "1990"}, {Path: "list[0].a", Value: "1"}, {Path: "deep.er.x", Value: "true"},
	}
	got.Unmapped[0].Value = strings.NewReplacer("+", "", " ", "").Replace(got.Unmapped[0].Value)
	if diff := cmp.Diff(want, got.Unmapped); diff != "" || got.More != 0 {
		t.Errorf("%d more (-want +got)\n%s", got.More, diff)
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `,"f%d":%d`, i, i)
	}
	if _, _, got := inspectedOne(t, config, `{"what":"x","key":"a-word-that-nobody-knows"`+many.String()+`}`); len(got.Unmapped) != 40 || got.More != 60 {
		t.Errorf("%d are shown, and %d are left out", len(got.Unmapped), got.More)
	}
}

func TestTheLookUpThatWouldBeMadeIsShown(t *testing.T) {
	const rules = `
api_url: https://api.example.com
event: {kind: order.paid}
enrich:
  - {get: "/orders/{id}", into: order, auth: {kind: bearer}}
  - {get: "/people/{order.by}", into: person, auth: {kind: bearer}}
map: {phone: person.mobile, order.total: order.total, contact.id: order.by}
`
	con, got, _ := inspectedOne(t, openVerify+"token: abc"+rules, `{"id":"a/7"}`)
	want := &connectors.Asked{URL: "https://api.example.com/orders/a%2F7", Fields: []string{"contact.id", "order.total"}, Then: []string{"/people/{order.by}"}}
	if diff := cmp.Diff(want, con.Asks(&got.Events[0])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	con, got, _ = inspectedOne(t, openVerify+"token: abc"+rules, `{"no":1}`)
	if asks := con.Asks(&got.Events[0]); asks == nil || asks.URL != "" || asks.Missing != "the address needs id, which the event does not have" {
		t.Errorf("%+v", asks)
	}
	con, got, _ = inspectedOne(t, "preset: square\nverify: {kind: none}", `{"type":"booking.created","event_id":"e","data":{"object":{"booking":{"customer_id":"C1"}}}}`)
	if asks := con.Asks(&got.Events[0]); asks == nil || asks.URL != "https://connect.squareup.com/v2/customers/C1" || asks.Missing != "connectors.x.token is not set" {
		t.Errorf("%+v", asks)
	}
	con, got, _ = inspectedOne(t, "preset: zendesk\nverify: {kind: none}", `{"type":"zen:event-type:user.created","subject":"zen:user:7","detail":{"id":"7"}}`)
	if asks := con.Asks(&got.Events[0]); asks == nil || asks.URL != "/api/v2/users/7" || asks.Missing != "api_url and token are not set in connectors.x" {
		t.Errorf("%+v", asks)
	}
	con, got, _ = inspectedOne(t, openVerify+"event: {kind: order.paid}\nmap: {phone: p}", `{"p":"+447700900123"}`)
	if asks := con.Asks(&got.Events[0]); asks != nil {
		t.Errorf("%+v", asks)
	}
}
