// Package networks writes what messaging networks post when a person replies: bodies and proofs by their vendors' pages, for tests of
// what takes them. It knows nothing of package connectors, so that it cannot be wrong in the same way.
package networks

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // as Twilio signs
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Secret is what all networks here sign with, or repeat.
const Secret = "a-secret-of-the-network-0123456789"

// A Request is what a network posts. Prove adds to its header, and for some networks to its URL.
type Request struct {
	URL    string // as it was given to the network
	Query  string // what the network wrote behind it
	Header http.Header
	Body   []byte
}

// A Message is a reply of one person.
type Message struct {
	ID     string
	Phone  string // digits with the country code
	Name   string
	Text   string // or the title of the button
	Button string // payload or id of the button that was tapped; "" for a text
	At     time.Time
}

// A Network is one that brings replies.
type Network struct {
	Name     string // of the preset
	Settings string // more keys of its connector, as YAML in braces has them
	// Late is after how long its proof does not count any more; 0 where no time is signed.
	Late time.Duration
	// Whole says that the proof covers the body: elsewhere a word shows who sends, and not what.
	Whole bool
	// Timed says that its messages name the moment when they were written.
	Timed bool
	// Body is one request with these messages; most networks post one at a time.
	Body  func(all ...Message) string
	Batch bool
	Form  bool // and no JSON
	Prove func(r *Request, at time.Time)
}

// Post is a request with these messages, proven.
func (n *Network) Post(address string, at time.Time, all ...Message) Request {
	r := Request{URL: address, Header: http.Header{"Content-Type": {n.Type()}}, Body: []byte(n.Body(all...))}
	n.Prove(&r, at)
	return r
}

// Type is the content type of its bodies.
func (n *Network) Type() string {
	if n.Form {
		return "application/x-www-form-urlencoded"
	}
	return "application/json"
}

// All are the networks that presets know, by the names of their presets.
var All = []Network{
	{
		Name: "whatsapp", Settings: `secret: "` + Secret + `", verify_token: a-word`, Whole: true, Timed: true, Batch: true, Body: metaBody,
		Prove: func(r *Request, _ time.Time) {
			r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(signed(sha256.New, string(r.Body))))
		},
	},
	{
		Name: "360dialog", Settings: `secret: "` + Secret + `"`, Timed: true, Batch: true, Body: metaBody,
		Prove: func(r *Request, _ time.Time) { r.Header.Set("X-Webhook-Token", Secret) },
	},
	{
		Name: "gupshup", Settings: `secret: "` + Secret + `"`, Timed: true, Body: gupshupBody,
		Prove: func(r *Request, _ time.Time) { r.Query = "token=" + Secret },
	},
	{
		Name: "twilio", Settings: `secret: "` + Secret + `"`, Whole: true, Form: true, Body: twilioBody, Prove: proveTwilio,
	},
	{
		Name: "vonage", Settings: `secret: "` + Secret + `"`, Late: time.Hour, Whole: true, Timed: true, Body: vonageBody,
		Prove: func(r *Request, at time.Time) {
			r.Header.Set("Authorization", "Bearer "+Token(r.Body, map[string]any{"iat": at.Unix(), "jti": "c5ba8f24", "iss": "Vonage", "api_key": "a1b2c3d"}))
		},
	},
	{
		Name: "telnyx", Settings: `verify: {key: {public_keys: ["` + telnyxPublic() + `"]}}`, Late: 6 * time.Minute, Whole: true, Timed: true, Body: telnyxBody,
		Prove: func(r *Request, at time.Time) {
			stamp := seconds(at)
			r.Header.Set("Telnyx-Timestamp", stamp)
			r.Header.Set("Telnyx-Signature-Ed25519", base64.StdEncoding.EncodeToString(ed25519.Sign(telnyxKey, []byte(stamp+"|"+string(r.Body)))))
		},
	},
	{
		Name: "infobip", Settings: `secret: "hooks:` + Secret + `"`, Timed: true, Batch: true, Body: infobipBody,
		Prove: func(r *Request, _ time.Time) {
			r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("hooks:"+Secret)))
		},
	},
	{
		Name: "bird", Settings: `secret: "` + Secret + `"`, Late: 25 * time.Hour, Whole: true, Timed: true, Body: birdBody,
		Prove: func(r *Request, at time.Time) {
			stamp, sum := seconds(at), sha256.Sum256(r.Body)
			r.Header.Set("Messagebird-Request-Timestamp", stamp)
			r.Header.Set("Messagebird-Signature", base64.StdEncoding.EncodeToString(signed(sha256.New, stamp+"\n"+r.URL+"\n"+string(sum[:]))))
		},
	},
}

// Named is the network of that name; it panics for one that there is not.
func Named(name string) *Network {
	i := slices.IndexFunc(All, func(n Network) bool { return n.Name == name })
	return &All[i]
}

func signed(of func() hash.Hash, text string) []byte {
	h := hmac.New(of, []byte(Secret))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Token is a JWT with the hash of a body, as Vonage and MessageBird make them.
func Token(body []byte, claims map[string]any) string {
	sum := sha256.Sum256(body)
	claims["payload_hash"] = hex.EncodeToString(sum[:])
	text := encoded(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + encoded(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(signed(sha256.New, text))
}

func encoded(v any) string { return base64.RawURLEncoding.EncodeToString([]byte(asJSON(v))) }

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers and maps of them
	}
	return string(text)
}

// proveTwilio signs the address with the sorted fields of a form, or with the hash of another body.
// Source: twilio.com/docs/usage/webhooks/webhooks-security.
func proveTwilio(r *Request, _ time.Time) {
	var text strings.Builder
	text.WriteString(r.URL)
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(r.Body))
		if err != nil {
			panic(err) // a body of this package
		}
		for _, name := range slices.Sorted(maps.Keys(form)) {
			text.WriteString(name + form.Get(name))
		}
	} else {
		sum := sha256.Sum256(r.Body)
		r.Query = "bodySHA256=" + hex.EncodeToString(sum[:])
		text.WriteString("?" + r.Query)
	}
	r.Header.Set("X-Twilio-Signature", base64.StdEncoding.EncodeToString(signed(sha1.New, text.String())))
}

var telnyxKey = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two bytes, here"))

func telnyxPublic() string {
	der, err := x509.MarshalPKIXPublicKey(telnyxKey.Public())
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

func seconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

type object = map[string]any

func metaBody(all ...Message) string {
	var contacts, messages []any
	for _, m := range all {
		contacts = append(contacts, object{"profile": object{"name": m.Name}, "wa_id": m.Phone})
		one := object{"from": m.Phone, "id": "wamid." + m.ID, "timestamp": seconds(m.At), "type": "text", "text": object{"body": m.Text}}
		if m.Button != "" {
			delete(one, "text")
			one["type"], one["button"] = "button", object{"payload": m.Button, "text": m.Text}
		}
		messages = append(messages, one)
	}
	value := object{"messaging_product": "whatsapp", "metadata": object{"display_phone_number": "447700900000", "phone_number_id": "4"}, "contacts": contacts, "messages": messages}
	return asJSON(object{"object": "whatsapp_business_account", "entry": []any{object{"id": "3", "changes": []any{object{"field": "messages", "value": value}}}}})
}

func gupshupBody(all ...Message) string {
	m := all[0]
	payload, typ := object{"text": m.Text}, "text"
	if m.Button != "" {
		payload, typ = object{"title": m.Text, "id": "b1", "reply": m.Text + " 1", "postbackText": m.Button}, "button_reply"
	}
	return asJSON(object{"app": "Try", "timestamp": m.At.UnixMilli(), "version": 2, "type": "message", "payload": object{
		"id": m.ID, "source": m.Phone, "type": typ, "payload": payload, "sender": object{"phone": m.Phone, "name": m.Name, "country_code": m.Phone[:2]},
	}})
}

func twilioBody(all ...Message) string {
	m := all[0]
	form := url.Values{
		"MessageSid": {"SM" + m.ID}, "SmsSid": {"SM" + m.ID}, "AccountSid": {"AC0"}, "From": {"whatsapp:+" + m.Phone}, "To": {"whatsapp:+447700900000"}, "WaId": {m.Phone},
		"ProfileName": {m.Name}, "Body": {m.Text}, "SmsStatus": {"received"}, "NumMedia": {"0"}, "ApiVersion": {"2010-04-01"},
	}
	if m.Button != "" {
		form.Set("ButtonPayload", m.Button)
		form.Set("ButtonText", m.Text)
	}
	return form.Encode()
}

func vonageBody(all ...Message) string {
	m := all[0]
	one := object{
		"to": "447700900000", "from": m.Phone, "channel": "whatsapp", "message_uuid": m.ID, "timestamp": m.At.UTC().Format(time.RFC3339), "message_type": "text",
		"text": m.Text, "profile": object{"name": m.Name}, "context_status": "none",
	}
	if m.Button != "" {
		delete(one, "text")
		one["message_type"], one["button"] = "button", object{"payload": m.Button, "text": m.Text}
	}
	return asJSON(one)
}

func telnyxBody(all ...Message) string {
	m := all[0]
	at := m.At.UTC().Format(time.RFC3339)
	return asJSON(object{"data": object{"event_type": "message.received", "id": "e" + m.ID, "occurred_at": at, "record_type": "event", "payload": object{
		"id": m.ID, "direction": "inbound", "from": object{"phone_number": "+" + m.Phone}, "to": []any{object{"phone_number": "+447700900000"}}, "text": m.Text, "received_at": at, "type": "SMS",
	}}})
}

func infobipBody(all ...Message) string {
	var results []any
	for _, m := range all {
		message := object{"type": "TEXT", "text": m.Text}
		if m.Button != "" {
			message = object{"type": "BUTTON", "text": m.Text, "payload": m.Button}
		}
		results = append(results, object{
			"from": m.Phone, "to": "447700900000", "integrationType": "WHATSAPP", "receivedAt": m.At.UTC().Format("2006-01-02T15:04:05.000+0000"), "messageId": m.ID,
			"message": message, "contact": object{"name": m.Name},
		})
	}
	return asJSON(object{"results": results, "messageCount": len(results), "pendingMessageCount": 0})
}

func birdBody(all ...Message) string {
	m := all[0]
	at := m.At.UTC().Format("2006-01-02T15:04:05.000Z")
	body := object{"type": "text", "text": object{"text": m.Text}}
	if m.Button != "" {
		body["text"] = object{"text": m.Text, "actions": []any{object{"type": "postback", "postback": object{"text": m.Text, "payload": m.Button}}}}
	}
	return asJSON(object{"service": "channels", "event": "whatsapp.inbound", "payload": object{
		"id": m.ID, "sender": object{"contact": object{"id": "c" + strings.TrimPrefix(m.Phone, "44"), "identifierKey": "phonenumber", "identifierValue": "+" + m.Phone}},
		"body": body, "direction": "incoming", "createdAt": at,
	}})
}
