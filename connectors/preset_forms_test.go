package connectors_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
)

// Forms name their fields as somebody labelled them, in any language: the phone and the names are found all the same.
func TestFormsAreReadWhateverTheirLabels(t *testing.T) {
	typeform := func(title, kind, answer, last string) string {
		return `{"event_id":"e","event_type":"form_response","form_response":{"form_id":"f","token":"t","submitted_at":"2026-11-20T09:00:00Z","definition":{"id":"f","title":"Form","fields":[` +
			`{"id":"a1","ref":"0b1c","title":"` + title + `","type":"short_text"},{"id":"a2","ref":"0b1d","title":"X","type":"` + kind + `"},{"id":"a3","ref":"0b1e","title":"` + last + `","type":"short_text"}]},"answers":[` +
			`{"type":"text","text":"Ada","field":{"id":"a1","type":"short_text","ref":"0b1c"}},` + answer + `,{"type":"text","text":"River","field":{"id":"a3","type":"short_text","ref":"0b1e"}}]}}`
	}
	phone := `{"type":"phone_number","phone_number":"+447700900123","field":{"id":"a2","type":"phone_number","ref":"0b1d"}}`
	jotform := func(raw string) string {
		return "formID=1&formTitle=Form&submissionID=77&rawRequest=" + url.QueryEscape(raw)
	}
	for name, tt := range map[string]struct{ preset, body, first, last string }{
		"typeform, English": {"typeform", typeform("What is your first name?", "phone_number", phone, "Last name"), "Ada", "River"},
		"typeform, German":  {"typeform", typeform("Dein Vorname", "phone_number", phone, "Dein Nachname"), "Ada", "River"},
		"typeform, Spanish": {"typeform", typeform("Primer nombre", "phone_number", phone, "Apellidos"), "Ada", "River"},
		"typeform, French":  {"typeform", typeform("Votre prénom", "phone_number", phone, "Nom de famille"), "Ada", "River"},
		"typeform, Italian": {"typeform", typeform("Nome", "phone_number", phone, "Cognome"), "Ada", "River"},
		"typeform, a text that was asked for as a number": {
			"typeform", strings.Replace(typeform("Vorname", "short_text", `{"type":"text","text":"07700 900123","field":{"id":"a2","type":"short_text","ref":"0b1d"}}`, "Nachname"), `"title":"X"`, `"title":"Ihre Telefonnummer"`, 1), "Ada", "River",
		},
		"jotform, a whole number":     {"jotform", jotform(`{"q3_name":{"first":"Ada","last":"River"},"q12_wieErreichen":{"full":"07700 900123"}}`), "Ada", "River"},
		"jotform, in parts":           {"jotform", jotform(`{"q6_nomeCompleto6":{"first":"Ada","last":"River"},"q7_email7":"a@example.com","q8_telefonecom":{"area":"07700","phone":"900123"}}`), "Ada", "River"},
		"jotform, with a country":     {"jotform", jotform(`{"q1_name":{"first":"Ada","last":"River"},"q2_phone":{"country":"44","area":"7700","phone":"900123"},"q9_address":{"addr_line1":"x","country":"France"}}`), "Ada", "River"},
		"jotform, a plain text":       {"jotform", jotform(`{"q4_name":"Ada River","q20_whatsappNumber":"+44 7700 900123"}`), "Ada", "River"},
		"jotform, parts of any label": {"jotform", jotform(`{"q4_name":"Ada River","q20_reachMe":{"area":"07700","phone":"900123"}}`), "Ada", "River"},
		"tally, French":               {"tally", `{"eventId":"e","eventType":"FORM_RESPONSE","createdAt":"2026-11-20T09:00:00Z","data":{"responseId":"r","formName":"F","fields":[{"label":"Prénom","type":"INPUT_TEXT","value":"Ada"},{"label":"Nom de famille","type":"INPUT_TEXT","value":"River"},{"label":"Joindre","type":"INPUT_PHONE_NUMBER","value":"+447700900123"}]}}`, "Ada", "River"},
		"tally, a text in Portuguese": {"tally", `{"eventId":"e","eventType":"FORM_RESPONSE","createdAt":"2026-11-20T09:00:00Z","data":{"responseId":"r","formName":"F","fields":[{"label":"Nome completo","type":"INPUT_TEXT","value":"Ada River"},{"label":"Celular","type":"INPUT_TEXT","value":"+447700900123"}]}}`, "Ada", "River"},
	} {
		t.Run(name, func(t *testing.T) {
			con := mustCompile(t, "x", decodeConfig(t, "preset: "+tt.preset+"\nverify: {kind: none}"), connectors.Options{Country: "GB"})
			typ := "application/x-www-form-urlencoded"
			if tt.body[0] == '{' {
				typ = "application/json"
			}
			got, err := con.Receive(request(tt.body, "Content-Type", typ))
			if err != nil || len(got.Events) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			c := got.Events[0].Contact
			if c.Phone != "447700900123" || c.FirstName != tt.first || c.LastName != tt.last {
				t.Errorf("%q (%s), %q, %q", c.Phone, c.PhoneProblem, c.FirstName, c.LastName)
			}
		})
	}
}

// With advanced data Elementor tells a field's id, type and label. The ids are its own (field_ and seven digits) where nobody wrote others.
func TestElementorsFieldsByTypeAndLabel(t *testing.T) {
	field := func(id, typ, title, value string) string {
		q := url.Values{"fields[" + id + "][id]": {id}, "fields[" + id + "][title]": {title}, "fields[" + id + "][value]": {value}}
		if typ != "" {
			q.Set("fields["+id+"][type]", typ)
		}
		return "&" + q.Encode()
	}
	names := field("field_1a2b3c4", "text", "Vorname", "Ada") + field("field_2b3c4d5", "text", "Nachname", "River")
	for name, fields := range map[string]string{
		"a type":               field("field_6f8642e", "tel", "Reach me", "+447700900123"),
		"a label":              field("field_6f8642e", "text", "WhatsApp", "+447700900123"),
		"a label and no type":  field("field_6f8642e", "", "Telefone", "+447700900123"),
		"an id":                field("phone", "text", "Reach me", "+447700900123"),
		"a type before a text": field("field_7a7a7a7", "text", "Which phone do you have?", "the blue one") + field("field_6f8642e", "tel", "Reach me", "+447700900123"),
	} {
		con := mustCompile(t, "x", decodeConfig(t, "preset: elementor\nverify: {kind: none}"), connectors.Options{Country: "GB"})
		body := "form%5Bid%5D=16a8a2c&form%5Bname%5D=Call+me" + names + field("field_5e5e5e5", "email", "Adresse", "ada@example.com") + fields
		got, err := con.Receive(request(body, "Content-Type", "application/x-www-form-urlencoded"))
		if err != nil || len(got.Events) != 1 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if c := got.Events[0].Contact; c.Phone != "447700900123" || c.FirstName != "Ada" || c.LastName != "River" || c.Email != "ada@example.com" {
			t.Errorf("%s: %q (%s), %q, %q, %q", name, c.Phone, c.PhoneProblem, c.FirstName, c.LastName, c.Email)
		}
	}
}

// Recharge's older API has its states in capitals, and a charge's customer beside it.
func TestRechargesOlderBodies(t *testing.T) {
	charge := func(status string) string {
		return `{"charge":{"id":1,"address_id":9,"customer_id":1438,"email":"ada@example.com","first_name":"Ada","last_name":"River","billing_address":{"country":"United Kingdom","first_name":"Ada","last_name":"River","phone":"07700 900123"},"line_items":[{"price":"10.00","quantity":1,"shopify_variant_id":"38","sku":"S","title":"T"}],"shopify_order_id":"3","status":"` + status + `","total_price":"10.00","updated_at":"2026-11-20T08:59:00"}}`
	}
	for _, tt := range []struct{ topic, body, want string }{
		{"charge/paid", charge("SUCCESS"), "order.paid phone=447700900123 id=1438 name=Ada River mail=ada@example.com country=GB order=1 total=10.00"},
		{"charge/failed", charge("ERROR"), "payment.failed phone=447700900123 id=1438 name=Ada River mail=ada@example.com country=GB order=1 total=10.00"},
		{"charge/refunded", charge("REFUNDED"), "order.refunded phone=447700900123 id=1438 name=Ada River mail=ada@example.com country=GB order=1 total=10.00"},
		{"subscription/created", `{"subscription":{"id":2,"address_id":9,"customer_id":1438,"status":"ACTIVE","updated_at":"2026-11-20T08:59:00"}}`, "subscription.created id=1438"},
		{"subscription/cancelled", `{"subscription":{"id":2,"address_id":9,"customer_id":1438,"status":"CANCELLED","updated_at":"2026-11-20T08:59:00"}}`, "subscription.cancelled id=1438"},
	} {
		events := itemsOf(t, "recharge", tt.body, "X-Recharge-Topic", tt.topic)
		if len(events) != 1 || strings.TrimSpace(told(&events[0])) != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.topic, told(&events[0]), tt.want)
		}
	}
	con := mustCompile(t, "recharge", ownConfig(t, "recharge", testSecret), connectors.Options{})
	r, err := con.Sign(request(charge("ERROR"), "Content-Type", "application/json", "X-Recharge-Topic", "charge/paid"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := con.Receive(r); err == nil {
		t.Errorf("a charge that failed was taken for one that was paid: %+v", got.Events)
	}
}

// HighLevel's pages show invoices without a type: the status says what happened.
func TestHighLevelsInvoicesByTheirStatus(t *testing.T) {
	con := mustCompile(t, "x", decodeConfig(t, "preset: gohighlevel\nverify: {kind: none}"), connectors.Options{Country: "US"})
	for status, kind := range map[string]string{
		"draft": "order.updated", "sent": "order.updated", "partially_paid": "order.updated", "paid": "order.paid", "void": "order.cancelled", "delete": "order.deleted", "overdue": "invoice.overdue",
	} {
		got, err := con.Receive(request(`{"_id":"i1","status":"`+status+`","invoiceNumber":"19","total":999,"currency":"USD","contactDetails":{"id":"c1","phoneNo":"+1-212-555-0142","name":"Alex"}}`, "Content-Type", "application/json"))
		if err != nil || got.Events[0].Kind != kind || got.Events[0].Contact.Phone != "12125550142" {
			t.Errorf("%s: %+v, %v", status, got.Events, err)
		}
	}
}
