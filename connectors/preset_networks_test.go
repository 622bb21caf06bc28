package connectors_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/networks"
)

// proven is a body of a network's, as its vendor proves it.
func proven(n *networks.Network, typ string, body []byte) connectors.Request {
	r := networks.Request{URL: testURL, Header: http.Header{"Content-Type": {typ}}, Body: body}
	n.Prove(&r, mutationNow)
	out := connectors.Request{Method: http.MethodPost, URL: r.URL, RawQuery: r.Query, Path: "/hooks/replies", Header: r.Header, Body: r.Body, Now: mutationNow}
	if r.Query != "" {
		out.URL += "?" + r.Query
	}
	return out
}

func ofNetwork(t testing.TB, n *networks.Network) *connectors.Connector {
	t.Helper()
	return mustCompile(t, "replies", decodeConfig(t, "{preset: "+n.Name+", "+n.Settings+"}"), connectors.Options{Country: "US"})
}

func TestNetworksByTheirVendorsProof(t *testing.T) {
	for i := range networks.All {
		n := &networks.All[i]
		t.Run(n.Name, func(t *testing.T) {
			con := ofNetwork(t, n)
			for _, s := range con.SamplesAt(mutationNow, 7) {
				fresh := func() connectors.Request { return proven(n, s.Header["Content-Type"], slices.Clone(s.Body)) }
				good := fresh()
				got, err := con.Receive(good)
				if err != nil || len(got.Events) != 1 || got.Events[0].Contact.Phone != "447700900123" || got.Events[0].Kind != s.Kind {
					t.Fatalf("%s, proven: %v, %+v", s.Name, err, got.Events)
				}
				if e := got.Events[0]; e.Kind == "message.received" && e.Message.Text == "" {
					t.Errorf("%s has no text: %+v", s.Name, e.Message)
				}
				refused := func(why string, r connectors.Request) {
					t.Helper()
					if _, err := con.Receive(r); err == nil || rejectedBy(t, err).Stage != connectors.StageVerify {
						t.Errorf("%s, %s: %v", s.Name, why, err)
					}
				}
				bare := request(string(s.Body), "Content-Type", s.Header["Content-Type"])
				refused("without a proof", bare)
				if other := good; n.Whole {
					other.Body = []byte(strings.Replace(string(s.Body), "900123", "900124", 1))
					refused("with another body", other)
				}
				forged := fresh()
				forged.URL, forged.RawQuery = strings.Replace(forged.URL, "0123456789", "0123456780", 1), strings.Replace(forged.RawQuery, "0123456789", "0123456780", 1)
				for key, values := range forged.Header {
					if key != "Content-Type" && !strings.HasSuffix(key, "Timestamp") {
						forged.Header[key] = []string{spoil(values[0])}
					}
				}
				refused("with another proof", forged)
				if n.Late > 0 {
					late := fresh()
					late.Now = mutationNow.Add(n.Late)
					refused("late", late)
				}
			}
		})
	}
}

// MessageBird's own token, beside which it sends a signature of another form.
func TestMessageBirdsToken(t *testing.T) {
	con := mustCompile(t, "bird", decodeConfig(t, "secret: "+networks.Secret), connectors.Options{})
	body := []byte(`{"type":"message.created","contact":{"id":"c","msisdn":447700900123},"message":{"id":"m","type":"text","content":{"text":"Stop"},"direction":"received"}}`)
	claims := func(issuer string) map[string]any {
		return map[string]any{"iss": issuer, "nbf": mutationNow.Unix(), "exp": mutationNow.Unix() + 60, "jti": "j", "url_hash": "u"}
	}
	for name, tt := range map[string]struct {
		token string
		late  time.Duration
		want  bool
	}{
		"good":         {networks.Token(body, claims("MessageBird")), 0, true},
		"another body": {networks.Token([]byte("{}"), claims("MessageBird")), 0, false},
		"another name": {networks.Token(body, claims("Nobody")), 0, false},
		"old":          {networks.Token(body, claims("MessageBird")), time.Hour, false},
	} {
		r := request(string(body), "Content-Type", "application/json", "Messagebird-Signature-JWT", tt.token, "Messagebird-Signature", "AAAA", "Messagebird-Request-Timestamp", fmt.Sprint(mutationNow.Unix()))
		r.Now = mutationNow.Add(tt.late)
		if got, err := con.Receive(r); (err == nil) != tt.want || tt.want && got.Events[0].Message.Says != "stop" {
			t.Errorf("%s: %+v, %v", name, got.Events, err)
		}
	}
}

// WhatsApp asks for the word of the setup before it posts anything.
func TestWhatsAppTriesOutItsURL(t *testing.T) {
	con := mustCompile(t, "whatsapp", decodeConfig(t, "secret: "+networks.Secret+"\nverify_token: a-word"), connectors.Options{})
	for query, want := range map[string]string{
		"hub.mode=subscribe&hub.verify_token=a-word&hub.challenge=1158201444":  "1158201444",
		"hub.mode=subscribe&hub.verify_token=another&hub.challenge=1158201444": "",
	} {
		got, err := con.Receive(connectors.Request{Method: http.MethodGet, URL: testURL + "?" + query, RawQuery: query, Path: "/hooks/whatsapp", Header: http.Header{}, Now: mutationNow})
		if (err == nil) != (want != "") || string(got.Reply.Body) != want {
			t.Errorf("%s: %q, %v", query, got.Reply.Body, err)
		}
	}
}

// What networks send of a message, and what is read of it.
func TestRepliesOfNetworks(t *testing.T) {
	meta := func(values ...string) string {
		return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[` + strings.Join(values, ",") + `]}]}`
	}
	value := func(contacts, messages string) string {
		return `{"field":"messages","value":{"messaging_product":"whatsapp","metadata":{"display_phone_number":"447700900000"},"contacts":[` + contacts + `],"messages":[` + messages + `]}}`
	}
	ada, bo := `{"profile":{"name":"Ada"},"wa_id":"447700900123"}`, `{"profile":{"name":"Bo"},"wa_id":"447700900124"}`
	by := func(phone, id, rest string) string {
		return `{"from":"` + phone + `","id":"` + id + `","timestamp":"1795165200",` + rest + `}`
	}
	text := func(word string) string { return `"type":"text","text":{"body":"` + word + `"}` }
	gup := func(typ, payload string) string {
		return `{"app":"A","timestamp":1795165200000,"version":2,"type":"message","payload":{"id":"g1","source":"447700900123","type":"` + typ + `","payload":` + payload + `,"sender":{"phone":"447700900123","name":"Ada","country_code":"44"}}}`
	}
	infobip := func(message string) string {
		return `{"results":[{"from":"447700900123","to":"1","integrationType":"WHATSAPP","receivedAt":"2026-11-20T09:00:00.000+0000","messageId":"i1","message":` + message + `,"contact":{"name":"Ada"}}],"messageCount":1}`
	}
	for _, tt := range []struct {
		name, preset, body string
		want               []string // phone, name, text, button, says and kind of each event
	}{
		{"a text", "whatsapp", meta(value(ada, by("447700900123", "a", text("Hello")))), []string{"447700900123|Ada|Hello|||message.received"}},
		{
			"two people in one change", "whatsapp", meta(value(ada+","+bo, by("447700900124", "b", text("STOP"))+","+by("447700900123", "a", text("Hi")))),
			[]string{"447700900124|Bo|STOP||stop|message.received", "447700900123|Ada|Hi|||message.received"},
		},
		{
			"two changes", "whatsapp", meta(value(ada, by("447700900123", "a", text("Hi"))), value(bo, by("447700900124", "b", text("Arrêt")))),
			[]string{"447700900123|Ada|Hi|||message.received", "447700900124|Bo|Arrêt||stop|message.received"},
		},
		{"somebody whose id is not the number", "whatsapp", meta(value(`{"profile":{"name":"Ada"},"wa_id":"447700900199"}`, by("447700900123", "a", text("Hi")))), []string{"447700900123|Ada|Hi|||message.received"}},
		{"statuses are no messages", "whatsapp", meta(`{"field":"messages","value":{"statuses":[{"id":"s","status":"delivered","recipient_id":"447700900123","timestamp":"1795165200"}]}}`), nil},
		{"statuses beside a message", "whatsapp", meta(`{"field":"messages","value":{"statuses":[{"id":"s","status":"read","recipient_id":"447700900124"}]}}`, value(ada, by("447700900123", "a", text("Hi")))), []string{"447700900123|Ada|Hi|||message.received"}},
		{"a quick reply", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"button","button":{"payload":"no-offers","text":"Stop promotions"}`))), []string{"447700900123|Ada|Stop promotions|no-offers|stop|message.received"}},
		{"a quick reply whose payload says it", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"button","button":{"payload":"STOP","text":"No, thanks"}`))), []string{"447700900123|Ada|No, thanks|STOP|stop|message.received"}},
		{"a reply button", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"yes-1","title":"Yes"}}`))), []string{"447700900123|Ada|Yes|yes-1||message.received"}},
		{"a list", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"l","title":"Hilfe","description":"d"}}`))), []string{"447700900123|Ada|Hilfe|l|help|message.received"}},
		{"a form", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"name":"flow","body":"Sent","response_json":"{}"}}`))), []string{"447700900123|Ada|Sent|flow||message.received"}},
		{"a picture", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"image","image":{"caption":"This one?","id":"1"}`))), []string{"447700900123|Ada|This one?|||message.received"}},
		{"a reaction", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"reaction","reaction":{"message_id":"w","emoji":"👍"}`))), []string{"447700900123|Ada|👍|||message.received"}},
		{"somebody without a number", "whatsapp", meta(value(`{"profile":{"name":"Cy","username":"cy"},"user_id":"US.1"}`, `{"from_user_id":"US.1","id":"c","timestamp":"1795165200",`+text("STOP")+`}`)), []string{"|Cy|STOP||stop|message.received"}},
		{"no offers any more, in the app", "whatsapp", meta(`{"field":"user_preferences","value":{"contacts":[` + ada + `],"user_preferences":[{"wa_id":"447700900123","detail":"d","category":"marketing_messages","value":"stop","timestamp":1795165200}]}}`), []string{"447700900123|Ada||||contact.unsubscribed"}},
		{"offers again, in the app", "whatsapp", meta(`{"field":"user_preferences","value":{"user_preferences":[{"wa_id":"447700900123","category":"marketing_messages","value":"resume","timestamp":1795165200}]}}`), []string{"447700900123|||||contact.subscribed"}},
		{"the same of the older API", "360dialog", `{"contacts":[` + ada + `],"messages":[` + by("447700900123", "a", `"type":"system","system":{"body":"d","marketing":"stop","type":"user_preference_changed"}`) + `]}`, []string{"447700900123|Ada||||contact.unsubscribed"}},
		{"another number of a person", "whatsapp", meta(value(ada, by("447700900123", "a", `"type":"system","system":{"body":"d","type":"user_changed_number"}`))), []string{"447700900123|Ada||||contact.updated"}},
		{"Gupshup's text", "gupshup", gup("text", `{"text":"Baja"}`), []string{"447700900123|Ada|Baja||stop|message.received"}},
		{"Gupshup's button", "gupshup", gup("button_reply", `{"title":"First","id":"qr1","reply":"First 1"}`), []string{"447700900123|Ada|First|qr1||message.received"}},
		{"Gupshup's list", "gupshup", gup("list_reply", `{"title":"T","id":"l1","reply":"T 1","postbackText":"STOP"}`), []string{"447700900123|Ada|T|STOP|stop|message.received"}},
		{"Gupshup's status", "gupshup", `{"app":"A","timestamp":1795165200000,"version":2,"type":"message-event","payload":{"id":"x","type":"read","destination":"447700900123"}}`, nil},
		{"Gupshup's other word", "gupshup", `{"app":"A","timestamp":1795165200000,"version":2,"type":"user-event","payload":{"phone":"447700900123","type":"opted-in"}}`, []string{"447700900123|||||contact.subscribed"}},
		{"Gupshup's third version", "gupshup", meta(value(ada+","+bo, by("447700900124", "b", text("STOP")))), []string{"447700900124|Bo|STOP||stop|message.received"}},
		{"Infobip's quick reply", "infobip", infobip(`{"type":"BUTTON","text":"Stop promotions","payload":"p1"}`), []string{"447700900123|Ada|Stop promotions|p1|stop|message.received"}},
		{"Infobip's list", "infobip", infobip(`{"type":"INTERACTIVE_LIST_REPLY","id":"row-1","title":"Large","description":"d"}`), []string{"447700900123|Ada|Large|row-1||message.received"}},
		{"Infobip's picture", "infobip", infobip(`{"type":"IMAGE","caption":"This?","url":"https://example.com/1"}`), []string{"447700900123|Ada|This?|||message.received"}},
		{"Infobip's one API for all channels", "infobip", `{"results":[{"event":"TYPING_STARTED","channel":"WHATSAPP","sender":"447700900123","messageId":"i0","receivedAt":"2026-11-20T09:00:00.000+0000"},{"event":"MO","channel":"SMS","sender":"447700900123","destination":"1","content":[{"type":"TEXT","text":"STOP","cleanText":"STOP"}],"receivedAt":"2026-11-20T09:00:00.000+0000","messageId":"i1"}]}`, []string{"447700900123||STOP||stop|message.received"}},
		{"its button", "infobip", `{"results":[{"event":"MO","channel":"WHATSAPP","sender":"447700900123","destination":"1","content":[{"type":"BUTTON_REPLY","text":"No, thanks","payload":"STOP","id":"b1"}],"receivedAt":"2026-11-20T09:00:00.000+0000","messageId":"i1"}]}`, []string{"447700900123||No, thanks|STOP|stop|message.received"}},
		{"a status of the older API", "360dialog", `{"statuses":[{"id":"s","status":"read","recipient_id":"447700900123","timestamp":"1795165200"}]}`, nil},
		{"Gupshup's third version of a status", "gupshup", meta(`{"field":"messages","value":{"statuses":[{"id":"s","gs_id":"g","status":"enqueued","recipient_id":"447700900123"}]}}`, `{"field":"messages","value":{"statuses":[{"type":"set-callback"}]}}`), nil},
		{"Infobip's report", "infobip", `{"results":[{"bulkId":"b","messageId":"m","to":"447700900123","from":"447700900000","sentAt":"2026-11-20T09:00:00.000+0000","doneAt":"2026-11-20T09:00:00.000+0000","status":{"groupName":"DELIVERED"}}]}`, nil},
		{"Infobip's SMS", "infobip", `{"results":[{"messageId":"s","from":"447700900123","to":"1","text":"STOP","cleanText":"","keyword":"STOP","receivedAt":"2026-11-20T09:00:00.000+0000","smsCount":1}]}`, []string{"447700900123||STOP||stop|message.received"}},
		{"Telnyx's reply", "telnyx", `{"data":{"event_type":"message.received","id":"e","occurred_at":"2026-11-20T09:00:00Z","payload":{"id":"m","direction":"inbound","from":{"phone_number":"+447700900123"},"text":"Stopp","received_at":"2026-11-20T09:00:00Z"}}}`, []string{"447700900123||Stopp||stop|message.received"}},
		{"Telnyx's own message", "telnyx", `{"data":{"event_type":"message.finalized","id":"e","payload":{"id":"m","direction":"outbound","to":[{"phone_number":"+447700900123"}],"text":"Reply STOP"}}}`, nil},
		{"Bird's reply", "bird", `{"service":"channels","event":"sms.inbound","payload":{"id":"m","sender":{"contact":{"id":"c","identifierKey":"phonenumber","identifierValue":"+447700900123"}},"body":{"type":"text","text":{"text":"Afmelden"}},"direction":"incoming","createdAt":"2026-11-20T09:00:00Z"}}`, []string{"447700900123||Afmelden||stop|message.received"}},
		{"Bird's reply without a direction", "bird", `{"service":"channels","event":"whatsapp.inbound","payload":{"id":"m","sender":{"contact":{"id":"c","identifierValue":"+447700900123"}},"body":{"type":"text","text":{"text":"Stop"}},"createdAt":"2026-11-20T09:00:00Z"}}`, []string{"447700900123||Stop||stop|message.received"}},
		{"Bird's own message", "bird", `{"service":"channels","event":"sms.outbound","payload":{"id":"m","receiver":{"contacts":[{"identifierValue":"+447700900123"}]},"body":{"type":"text","text":{"text":"STOP to end"}},"direction":"outgoing"}}`, nil},
		{"MessageBird's conversation", "bird", `{"type":"message.created","contact":{"id":"c","msisdn":447700900123,"displayName":"Ada"},"message":{"id":"m","type":"text","content":{"text":"Stop"},"direction":"received","createdDatetime":"2026-11-20T09:00:00Z"}}`, []string{"447700900123|Ada|Stop||stop|message.received"}},
		{"Vonage's text", "vonage", `{"from":"447700900123","channel":"sms","message_uuid":"u","timestamp":"2026-11-20T09:00:00Z","message_type":"text","text":"Info"}`, []string{"447700900123||Info||help|message.received"}},
		{"Vonage's list", "vonage", `{"from":"447700900123","channel":"whatsapp","message_uuid":"u","timestamp":"2026-11-20T09:00:00Z","message_type":"reply","reply":{"id":"row1","title":"Nine","description":"d"},"profile":{"name":"Ada"}}`, []string{"447700900123|Ada|Nine|row1||message.received"}},
		{"Vonage's older form", "vonage", `{"message_uuid":"u","to":{"number":"1","type":"whatsapp"},"from":{"number":"447700900123","type":"whatsapp"},"timestamp":"2026-11-20T09:00:00Z","direction":"inbound","message":{"content":{"type":"text","text":"STOP"}}}`, []string{"447700900123||STOP||stop|message.received"}},
		{"Vonage's status", "vonage", `{"message_uuid":"u","to":"447700900123","from":"1","timestamp":"2026-11-20T09:00:00Z","status":"delivered","channel":"sms"}`, nil},
		{"Twilio's reply", "twilio", "MessageSid=SM1&From=whatsapp%3A%2B447700900123&Body=STOP&ProfileName=Ada&WaId=447700900123", []string{"447700900123|Ada|STOP||stop|message.received"}},
		{"Twilio's yes", "twilio", "MessageSid=SM1&From=%2B447700900123&Body=YES&OptOutType=START", []string{"447700900123||YES||start|message.received"}},
		{"Twilio's own word for a stop", "twilio", "MessageSid=SM1&From=%2B447700900123&Body=Wobble&OptOutType=STOP", []string{"447700900123||Wobble||stop|message.received"}},
		{"Twilio's list", "twilio", "MessageSid=SM1&From=whatsapp%3A%2B447700900123&Body=Large&ListId=l1&ListTitle=Large", []string{"447700900123||Large|l1||message.received"}},
		{"Twilio's status", "twilio", "MessageSid=SM1&From=%2B1&To=%2B447700900123&MessageStatus=delivered&SmsStatus=delivered", nil},
		{"Twilio's JSON", "twilio", `{"MessageSid":"SM1","From":"+447700900123","Body":"Stop"}`, []string{"447700900123||Stop||stop|message.received"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := networks.Named(tt.preset)
			con := ofNetwork(t, n)
			typ := "application/json"
			if !strings.HasPrefix(tt.body, "{") {
				typ = formType
			}
			r := proven(n, typ, []byte(tt.body))
			got, err := con.Receive(r)
			if err != nil {
				t.Fatal(err)
			}
			var read []string
			for i := range got.Events {
				e := &got.Events[i]
				read = append(read, strings.Join([]string{string(e.Contact.Phone), e.Contact.Name, e.Message.Text, e.Message.Button, e.Message.Says, e.Kind}, "|"))
				if len(e.Unread) > 0 || e.DedupeKey == "" || strings.HasPrefix(e.DedupeKey, "sha256-") {
					t.Errorf("key %q, unread %v", e.DedupeKey, e.Unread)
				}
			}
			if got.Empty > 0 { // it would be kept as a request that came to nothing
				t.Errorf("%d bodies have no event in them", got.Empty)
			}
			if !slices.Equal(read, tt.want) {
				t.Errorf("read %q,\nwant %q", read, tt.want)
			}
		})
	}
}

// A look-up may tell who wrote: what a word says depends on the language that its writer speaks.
func TestWhatAReplySaysIsReadAnewWithItsWriter(t *testing.T) {
	con := mustCompile(t, "chat", decodeConfig(t, `
verify: {kind: none}
event: {kind: message.received, id: id}
map: {phone: contact.phone, message.text: text}
enrich: [{when: [phone == null, who], get: "https://api.example.com/{who}", into: contact}]
`), connectors.Options{})
	for answer, want := range map[string]string{
		`{"phone":"+393471234567"}`: "", `{"phone":"+34612345678"}`: "stop", `{"name":"Ada"}`: "stop",
	} {
		got, err := con.Receive(request(`{"id":"1","who":"7","text":"Alto"}`, "Content-Type", "application/json"))
		if err != nil || got.Events[0].Message.Says != "stop" {
			t.Fatalf("%+v, %v", got.Events, err)
		}
		if e, err := con.Join(got.Events[0], "contact", []byte(answer)); err != nil || e.Message.Says != want {
			t.Errorf("%s: says %q, want %q; %v", answer, e.Message.Says, want, err)
		}
	}
}
