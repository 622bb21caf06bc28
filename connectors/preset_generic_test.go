package connectors_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// What a team posts without having read a page of ours: its fields are named as its own tools name them.
func TestOrdinaryBodiesAreReadWhateverTheirNames(t *testing.T) {
	for _, tt := range []struct{ name, typ, body, want string }{
		{"as documented", "application/json", `{"event":"cart.abandoned","phone":"+447700900654","first_name":"Tom","cart_id":"c1","cart_total":"19.90"}`, "cart.abandoned 447700900654 Tom c1 19.90"},
		{"a spreadsheet's columns", "application/json", `{"Event":"order.created","Phone Number":"07700 900654","First Name":"Tom","Order ID":"o1","Total":"19.90"}`, "order.created 447700900654 Tom o1 19.90"},
		{"camel case", "application/json", `{"eventType":"order.created","phoneNumber":"+447700900654","firstName":"Tom","orderId":"o1","orderTotal":"19.90"}`, "order.created 447700900654 Tom o1 19.90"},
		{"a customer", "application/json", `{"event":"order.created","customer":{"phone":"+447700900654","first_name":"Tom"},"order":{"id":"o1","total":"19.90"}}`, "order.created 447700900654 Tom o1 19.90"},
		{"a contact", "application/json", `{"type":"contact.created","contact":{"mobile":"+447700900654","givenName":"Tom"}}`, "contact.created 447700900654 Tom"},
		{"a user", "application/json", `{"event_name":"contact.created","user":{"msisdn":"447700900654","fullName":"Tom Byrne"}}`, "contact.created 447700900654 Tom"},
		{"within data", "application/json", `{"event":"cart.abandoned","data":{"Customer":{"Phone":"+447700900654","First-Name":"Tom"},"cart":{"id":"c1","total":"19.90"}}}`, "cart.abandoned 447700900654 Tom c1 19.90"},
		{"WhatsApp alone", "application/json", `{"event":"form.submitted","whatsapp":"+447700900654","Full Name":"Tom Byrne"}`, "form.submitted 447700900654 Tom"},
		{"a form", "application/x-www-form-urlencoded", "Event=form.submitted&Phone=%2B447700900654&First+Name=Tom", "form.submitted 447700900654 Tom"},
		{"a list of one", "application/json", `[{"event":"form.submitted","Mobile Phone":"+447700900654","first name":["Tom"]}]`, "form.submitted 447700900654 Tom"},
		{"the very name first", "application/json", `{"event":"form.submitted","Phone":"+447700900001","phone":"+447700900654","first_name":"Tom"}`, "form.submitted 447700900654 Tom"},
	} {
		for _, preset := range []string{"generic", "zapier", "make", "n8n"} {
			c, problems := connectors.Compile(preset, connectors.Config{Preset: preset, Secret: secret.New("a-secret-of-some-length"), Defaults: connectors.Defaults{Country: "GB"}}, connectors.Options{})
			if c == nil {
				t.Fatal(problems)
			}
			got, err := c.Receive(connectors.Request{
				Method: http.MethodPost, Path: "/hooks/" + preset, Header: http.Header{"Content-Type": {tt.typ}, "X-Webhook-Token": {"a-secret-of-some-length"}}, Body: []byte(tt.body), Now: time.Now(),
			})
			if err != nil || len(got.Events) != 1 {
				t.Errorf("%s by %s: %d events, %v", tt.name, preset, len(got.Events), err)
				continue
			}
			e := got.Events[0]
			words := []string{e.Kind, string(e.Contact.Phone), e.Contact.FirstName}
			switch {
			case e.Cart.ID != "":
				words = append(words, e.Cart.ID, fmt.Sprint(e.Cart.Total))
			case e.Order.ID != "":
				words = append(words, e.Order.ID, fmt.Sprint(e.Order.Total))
			}
			if text := strings.Join(words, " "); text != tt.want {
				t.Errorf("%s by %s is read as %q, want %q", tt.name, preset, text, tt.want)
			}
		}
	}
}
