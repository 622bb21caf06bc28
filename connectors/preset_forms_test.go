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
