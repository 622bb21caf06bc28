//go:build unix

package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const tokensConfig = `
server: {listen: "127.0.0.1:0", samples: true}
defaults: {country: GB, language: en}
connectors:
  tokens:
    verify: {kind: jwt, from: body, secret: "${SHOP_SECRET}"}
    body: {json_in: [data]}
    event: {type: data.kind, id: [data.id?, data.kind], aliases: {sold: order.created, paid: order.paid}}
    map: {phone: data.phone, order.id: data.order}
    reject_if: [{topic: bad, when: [data.id != null], because: it is bad}]
triggers:
  thanks: {on: tokens.order.created, wait: 1h, cancel_on: tokens.order.paid, category: utility, send: {template: t}}
`

// tokenOf is a JWT over what a shop says, made at a moment.
func tokenOf(kind string, n int, made time.Time) string {
	claims := fmt.Sprintf(`{"data":"{\"kind\":\"%s\",\"id\":\"%s%d\",\"order\":\"o%d\",\"phone\":\"%s\"}","iat":%d,"exp":%d}`, kind, kind, n, n, phone(n), made.Unix(), made.Add(time.Hour).Unix())
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	h := hmac.New(sha256.New, []byte(shopSecret))
	h.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func (h *house) postText(connector, body string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/"+connector, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/plain")
	return h.do(req)
}

func (h *house) posts(want int, body string) {
	h.t.Helper()
	if got, answer := h.postText("tokens", body); got != want {
		h.t.Errorf("answered %d: %s; want %d", got, answer, want)
	}
}

// A body that is a JWT meets a repetition, a forgery, the list of rejected requests, a restart, a reload to another kind of verifier, a
// replay and an erasure: everything is done to what the token says, and the token itself is nowhere.
func TestATokenThatIsTheBodyMeetsTheRest(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	now := time.Now()
	h := open(t, options{folder: folder, config: tokensConfig})
	sold := tokenOf("sold", 1, now)
	h.posts(http.StatusOK, sold)
	h.posts(http.StatusOK, sold)
	h.posts(http.StatusOK, tokenOf("sold", 1, now.Add(-time.Minute))) // repeated, its token made anew
	if n := len(h.events()); n != 1 {
		t.Errorf("one delivery and its repetitions are %d events", n)
	}
	h.posts(http.StatusOK, tokenOf("sold", 2, now))
	story, err := server.ShowEvent.Call(t.Context(), h.ask, 1)
	if err != nil || !strings.Contains(story.Event.Payload, `"kind":"sold"`) || strings.Contains(story.Event.Payload, "eyJ") {
		t.Errorf("stored: %s, %v", story.Event.Payload, err)
	}
	parts := strings.Split(sold, ".")
	h.posts(http.StatusUnauthorized, parts[0]+"."+strings.Split(tokenOf("paid", 1, now), ".")[1]+"."+parts[2])
	h.posts(http.StatusBadRequest, tokenOf("bad", 3, now))
	rejected, err := server.ListRejectedRequests.Call(t.Context(), h.ask, server.ListQuery{Limit: 10})
	if err != nil || len(rejected) != 2 {
		t.Fatalf("rejected: %+v, %v", rejected, err)
	}
	for _, r := range rejected {
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, "eyJ") || strings.Contains(text, phone(3)[6:]) {
			t.Errorf("a trace holds what nobody should see: %s", text)
		}
	}

	h.stop()
	h = open(t, options{folder: folder, config: tokensConfig})
	h.posts(http.StatusOK, sold)
	h.posts(http.StatusOK, tokenOf("paid", 1, now))
	if m := h.of("thanks", phone(1)); m == nil || m.State != messaging.StateCancelled {
		t.Errorf("after a restart: %+v", m)
	}

	h.takeUp("kind: jwt, from: body,", "kind: token, from: header, field: X-Token,")
	h.posts(http.StatusUnauthorized, tokenOf("sold", 4, now))
	if code, answer := h.hook("tokens", `{"data":{"kind":"paid","id":"paid2","order":"o2","phone":"`+phone(2)+`"}}`, "X-Token", shopSecret); code != http.StatusOK {
		t.Errorf("by the new kind: %d %s", code, answer)
	}
	if m := h.of("thanks", phone(2)); m == nil || m.State != messaging.StateCancelled {
		t.Errorf("by the new kind: %+v", m)
	}
	if done := h.replay(only(1)); len(done.Events) != 1 || done.Events[0].Refused != "" || len(done.Events[0].Decisions) != 1 {
		t.Errorf("a replay: %+v", done)
	}
	h.takeUp("kind: token, from: header, field: X-Token,", "kind: jwt, from: body,")
	h.posts(http.StatusOK, tokenOf("sold", 5, now))

	h.forget(phone(1))
	if found := h.stored(phone(1)); len(found) > 0 {
		t.Errorf("of who was forgotten there is still: %q", found)
	}
	if found := h.stored(phone(5)); len(found) == 0 {
		t.Error("the tracer finds nobody")
	}
	h.posts(http.StatusOK, sold) // known as used
	if found := h.stored(phone(1)); len(found) > 0 {
		t.Errorf("a token that comes again after an erasure leaves: %q", found)
	}
}

// Two nodes know one delivery, whoever of them gets the repetition.
func TestATokenThatIsTheBodyAtTwoNodes(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	one, two := open(t, options{storage: address, config: tokensConfig}), open(t, options{storage: address, config: tokensConfig})
	now := time.Now()
	one.posts(http.StatusOK, tokenOf("sold", 1, now))
	two.posts(http.StatusOK, tokenOf("sold", 1, now.Add(-time.Minute)))
	if n := len(two.events()); n != 1 {
		t.Errorf("one delivery is %d events", n)
	}
	two.posts(http.StatusOK, tokenOf("paid", 1, now))
	if m := one.of("thanks", phone(1)); m == nil || m.State != messaging.StateCancelled {
		t.Errorf("cancelled at the other node: %+v", m)
	}
}

// Of a body of which only fields are signed nobody is blocked, forgotten or believed to agree, whatever else a copied request says; the
// look-up's answer is. It meets a repetition under another content, a restart and a reload.
func TestFieldsThatAreSignedMeetTheRest(t *testing.T) {
	t.Parallel()
	const config = `
defaults: {country: GB, language: en}
connectors:
  shop:
    verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Mark, encoding: base64}, parts: ["body:at", "'.'", "body:id"], secret: "${SHOP_SECRET}"}
    event: {type: what, id: [id], aliases: {sold: order.created, paid: order.paid, left: contact.unsubscribed, erase: contact.redacted}}
    map: {phone: order.phone, order.id: number, consent: order.agreed}
    enrich: [{when: [phone == null], get: "https://127.0.0.1:1/orders/{number}", into: order}]
triggers:
  thanks: {on: shop.order.created, wait: 1h, cancel_on: shop.order.paid, category: utility, send: {template: t}}
`
	folder := t.TempDir()
	h := open(t, options{folder: folder, config: config})
	post := func(want int, body, id string) {
		t.Helper()
		m := hmac.New(sha256.New, []byte(shopSecret))
		m.Write([]byte("1795165140." + id))
		code, answer := h.hook("shop", body, "X-Mark", base64.StdEncoding.EncodeToString(m.Sum(nil)))
		if code != want {
			t.Errorf("%s: %d %s, want %d", body, code, answer, want)
		}
	}
	body := func(what, more string) string {
		return `{"at":1795165140,"id":"e1","what":"` + what + `","number":7` + more + `}`
	}
	post(http.StatusOK, body("sold", ""), "e1")
	for round := range 2 {
		post(http.StatusBadRequest, body("left", `,"phone":"`+phone(1)+`"`), "e1")
		post(http.StatusBadRequest, body("erase", `,"phone":"`+phone(1)+`"`), "e1")
		post(http.StatusBadRequest, body("sold", `,"order":{"phone":"`+phone(1)+`","agreed":true}`), "e1")
		post(http.StatusOK, body("paid", ""), "e1") // a copy under another word is the same event
		if n := len(h.eventsOf("shop")); n != 1 {
			t.Errorf("copies of one request are %d events", n)
		}
		if v, err := server.ShowContact.Call(t.Context(), h.ask, phone(1)); err == nil && (v.Block != nil || len(v.Consents) > 0 || !v.ForgottenAt.IsZero()) {
			t.Errorf("somebody was blocked or believed by what is not signed: %+v", v)
		}
		if round == 0 {
			h.stop()
			h = open(t, options{folder: folder, config: config})
		}
	}
	h.takeUp(`parts: ["body:at", "'.'", "body:id"]`, "parts: [body]")
	whole := body("left", `,"phone":"`+phone(1)+`"`)
	h.takeUp("map: {phone: order.phone,", "map: {phone: [phone, order.phone],")
	m := hmac.New(sha256.New, []byte(shopSecret))
	m.Write([]byte(strings.Replace(whole, `"e1"`, `"e2"`, 1)))
	if code, answer := h.hook("shop", strings.Replace(whole, `"e1"`, `"e2"`, 1), "X-Mark", base64.StdEncoding.EncodeToString(m.Sum(nil))); code != http.StatusOK {
		t.Errorf("with all of it signed: %d %s", code, answer)
	}
	if v, err := server.ShowContact.Call(t.Context(), h.ask, phone(1)); err != nil || v.Block == nil {
		t.Errorf("with all of it signed an opt-out blocks: %+v, %v", v, err)
	}
}
