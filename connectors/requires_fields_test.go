package connectors_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
)

// fieldsSigned signs at and id of the body, as Ecwid does, and looks the rest up.
const fieldsSigned = `
verify:
  kind: signed
  algorithm: hmac-sha256
  signature: {header: X-Mark, encoding: base64}
  parts: ["body:at", "'.'", "body:data.id"]
  freshness: {body: at, unit: s, tolerance: 1h}
  secret: ` + testSecret + `
event: {type: what, id: [data.id], time: [at], aliases: {sold: order.created, left: contact.unsubscribed, erase: contact.redacted, wipe: shop.redacted, show: contact.data_requested}}
`

const lookedUp = `
token: a-token-for-the-api
enrich: [{get: "https://api.example.com/orders/{number}", into: order}]
map: {phone: order.phone, order.id: number, consent: order.agreed}
`

// markOf is the signature over two fields.
func markOf(at, id, key string) string {
	h := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(h, "%s.%s", at, id)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func TestFieldsOfTheBodyThatAreSigned(t *testing.T) {
	con := connector(t, fieldsSigned+lookedUp)
	now := fmt.Sprint(mutationNow.Unix())
	old := fmt.Sprint(mutationNow.Unix() - 3601)
	good := markOf(now, "e1", testSecret)
	body := func(at, id string) string {
		return `{"at":` + at + `,"what":"sold","number":7,"data":{"id":` + id + `}}`
	}
	for name, tt := range map[string]struct{ body, mark, content, want string }{
		"good":                          {body(now, `"e1"`), good, "application/json", ""},
		"numbers as texts":              {body(`"`+now+`"`, `"e1"`), good, "application/json", ""},
		"escaped letters":               {body(now, `"\u0065\u0031"`), good, "application/json", ""},
		"a form of the same fields":     {"at=" + now + "&what=sold&number=7&data[id]=e1", good, "application/x-www-form-urlencoded", ""},
		"something else is changed":     {strings.Replace(body(now, `"e1"`), `"number":7`, `"number":8`, 1), good, "application/json", ""},
		"another id":                    {body(now, `"e2"`), good, "application/json", "verify: the signature does not match"},
		"another time":                  {body(now+"0", `"e1"`), good, "application/json", "verify: the signature does not match"},
		"another key":                   {body(now, `"e1"`), markOf(now, "e1", "another-secret-0123456789"), "application/json", "verify: the signature does not match"},
		"no signature":                  {body(now, `"e1"`), "", "application/json", "verify: there is no header X-Mark"},
		"old":                           {body(old, `"e1"`), markOf(old, "e1", testSecret), "application/json", "verify: the timestamp is 1h0m1s old, more than 1h0m0s"},
		"old, as a form":                {"at=" + old + "&what=sold&data[id]=e1", markOf(old, "e1", testSecret), "application/x-www-form-urlencoded", "verify: the timestamp is 1h0m1s old, more than 1h0m0s"},
		"no id":                         {`{"at":` + now + `,"what":"sold"}`, markOf(now, "", testSecret), "application/json", "verify: the body has no text or number in data.id, which is signed"},
		"an empty id":                   {body(now, `""`), markOf(now, "", testSecret), "application/json", "verify: the body has no text or number in data.id, which is signed"},
		"an id that is null":            {body(now, `null`), markOf(now, "null", testSecret), "application/json", "verify: the body has no text or number in data.id, which is signed"},
		"an id that is an object":       {body(now, `{"a":1}`), markOf(now, `{"a":1}`, testSecret), "application/json", "verify: the body has no text or number in data.id, which is signed"},
		"an id that is a list":          {body(now, `["e1"]`), good, "application/json", "verify: the body has no text or number in data.id, which is signed"},
		"a list of bodies":              {"[" + body(now, `"e1"`) + "]", good, "application/json", "verify: the body has no text or number in at, which is signed"},
		"a body a line":                 {body(now, `"e1"`) + "\n" + body(now, `"e2"`), good, "application/json", "verify: the body, fields of which are signed, cannot be read"},
		"no JSON":                       {"{", good, "application/json", "verify: the body, fields of which are signed, cannot be read"},
		"the answer of the look-up":     {strings.Replace(body(now, `"e1"`), "{", `{"order":{"phone":"+447700900999","agreed":true},`, 1), good, "application/json", "map: requires: the body has order, which is where the answer of a look-up is to be"},
		"the answer, spelled otherwise": {strings.Replace(body(now, `"e1"`), "{", `{"\u006frder":{"phone":"+447700900999"},`, 1), good, "application/json", "map: requires: the body has order, which is where the answer of a look-up is to be"},
		"the answer, twice":             {strings.Replace(body(now, `"e1"`), "{", `{"order":"","order":{"phone":"+447700900999"},`, 1), good, "application/json", "map: requires: the body has order, which is where the answer of a look-up is to be"},
		"the answer, in a form":         {"at=" + now + "&what=sold&data[id]=e1&order[phone]=%2B447700900999", good, "application/x-www-form-urlencoded", "map: requires: the body has order, which is where the answer of a look-up is to be"},
		"the answer, behind a zero":     {strings.Replace(body(now, `"e1"`), "{", `{"or\u0000der":{"phone":"+447700900999"},`, 1), good, "application/json", "map: requires: the body has order, which is where the answer of a look-up is to be"},
		"an id twice":                   {strings.Replace(body(now, `"e1"`), `"id":"e1"`, `"id":"e1","id":"e2"`, 1), good, "application/json", "verify: the signature does not match"},
		"an id twice, the other way":    {strings.Replace(body(now, `"e1"`), `"id":"e1"`, `"id":"e2","id":"e1"`, 1), good, "application/json", ""},
		"the answer, and it is null":    {strings.Replace(body(now, `"e1"`), "{", `{"order":null,`, 1), good, "application/json", "map: requires: the body has order, which is where the answer of a look-up is to be"},
	} {
		r := request(tt.body, "Content-Type", tt.content)
		if tt.mark != "" {
			r.Header.Set("X-Mark", tt.mark)
		}
		if got := outcome(t, con, r); got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	// However the rest is changed, a copied request stays the same event.
	keys := map[string]bool{}
	for _, text := range []string{body(now, `"e1"`), strings.Replace(body(now, `"e1"`), `"number":7`, `"number":8`, 1), strings.Replace(body(now, `"e1"`), "sold", "other", 1)} {
		got, err := con.Receive(request(text, "X-Mark", good, "Content-Type", "application/json"))
		if err != nil {
			t.Fatal(err)
		}
		keys[got.Events[0].DedupeKey] = true
	}
	if len(keys) != 1 {
		t.Errorf("copies of one request are the events %v", keys)
	}
	signed, err := con.Sign(request(body(now, `"e9"`), "Content-Type", "application/json"))
	if err != nil || signed.Header.Get("X-Mark") != markOf(now, "e9", testSecret) {
		t.Errorf("signed here: %v, %v", signed.Header, err)
	}
	if got := outcome(t, con, signed); got != "" {
		t.Errorf("signed here: %s", got)
	}
}

// Nothing that is not signed is the ground for what cannot be undone, or for whom messages go to.
func TestFieldsThatAreNotSignedBlockAndForgetNobody(t *testing.T) {
	now := fmt.Sprint(mutationNow.Unix())
	signer := func(parts, more string) string {
		return "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Mark, encoding: base64}, parts: " + parts + "}\nsecret: " + testSecret +
			"\nevent: {type: what, id: [id], aliases: {left: contact.unsubscribed, back: contact.subscribed, erase: contact.redacted, wipe: shop.redacted, show: contact.data_requested, wrote: message.received}}\n" +
			"map: {phone: phone, message.text: text}\n" + more
	}
	const some, all = `["body:at", "'.'", "body:id"]`, `["body:at", "'.'", "body:id", "'.'", "body:what", "'.'", "body:phone", "'.'", "body:text"]`
	const undone, wants = "map: requires: what says that this is %s is not signed, and that cannot be undone", "map: requires: what says who wants messages is not signed: %s"
	words := map[string]struct{ text, want string }{
		"erase":                      {"x", fmt.Sprintf(undone, "contact.redacted")},
		"wipe":                       {"x", fmt.Sprintf(undone, "shop.redacted")},
		"show":                       {"x", fmt.Sprintf(undone, "contact.data_requested")},
		"shop.redacted":              {"x", fmt.Sprintf(undone, "shop.redacted")}, // a word that no alias knows
		"ShopRedacted":               {"x", fmt.Sprintf(undone, "shop.redacted")},
		"left":                       {"x", fmt.Sprintf(wants, "contact.unsubscribed")},
		"contact/unsubscribed":       {"x", fmt.Sprintf(wants, "contact.unsubscribed")},
		"back":                       {"x", fmt.Sprintf(wants, "contact.subscribed")},
		"contact.email_unsubscribed": {"x", ""}, // cleaned, it is another word
		"wrote":                      {"STOP", fmt.Sprintf(wants, "message.received")},
		"sold":                       {"STOP", ""},
	}
	for word, tt := range words {
		body := `{"at":` + now + `,"id":"e1","what":"` + word + `","phone":"+447700900123","text":"` + tt.text + `"}`
		sign := func(con *connectors.Connector) connectors.Request {
			t.Helper()
			r, err := con.Sign(request(body, "Content-Type", "application/json"))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for name, config := range map[string]string{
			"two fields":                         signer(some, ""),
			"two fields, rules for their bodies": signer(some, "requires: [{topics: ['*'], is: a thing, has: [id]}]"),
			"the word alone is signed, too":      signer(`["body:at", "'.'", "body:id", "'.'", "body:what"]`, ""),
			"two fields and a word in a header":  strings.Replace(signer(some, ""), "verify: {", "verify: {all_of: [{kind: token, from: header, field: X-Word, secret: another-secret-word}, {", 1),
		} {
			config = strings.Replace(config, "}\nsecret: ", map[bool]string{true: "}]}\nsecret: ", false: "}\nsecret: "}[strings.Contains(config, "all_of")], 1)
			con := connector(t, config)
			if got := outcome(t, con, sign(con)); got != tt.want {
				t.Errorf("%s, %s: %q, want %q", word, name, got, tt.want)
			}
			proven := request(body, "Content-Type", "application/json")
			proven.Proven = true
			if got := outcome(t, con, proven); got != tt.want {
				t.Errorf("%s, %s, by the API: %q, want %q", word, name, got, tt.want)
			}
		}
		for name, config := range map[string]string{
			"all that says so":       signer(all, ""),
			"the body":               signer("[body]", ""),
			"fields beside the body": signer(`["body:id", body]`, ""),
		} {
			con := connector(t, config)
			if got := outcome(t, con, sign(con)); got != "" {
				t.Errorf("%s, %s: %q", word, name, got)
			}
		}
	}
	// A kind that a rule or the config gives, to whom an unsigned field says.
	for _, config := range []string{
		"event: {id: [id], kind: contact.unsubscribed}\nmap: {phone: phone}",
		"event: {id: [id], kinds: [{when: [gone == true], kind: contact.unsubscribed}]}",
	} {
		con := connector(t, "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Mark, encoding: base64}, parts: [\"body:id\"]}\nsecret: "+testSecret+"\n"+config)
		r, err := con.Sign(request(`{"id":"e1","gone":true,"phone":"+447700900123"}`, "Content-Type", "application/json"))
		if err != nil {
			t.Fatal(err)
		}
		if got := outcome(t, con, r); got != fmt.Sprintf(wants, "contact.unsubscribed") {
			t.Errorf("%s: %q", config, got)
		}
	}
}

func TestWhatCheckSaysOfSignedFields(t *testing.T) {
	with := func(parts, more string) string {
		return "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Mark, encoding: base64}, parts: " + parts + "}\nsecret: " + testSecret + "\n" + more
	}
	const told = "verify.parts: covers at and id of the body alone: whoever copied a request can change everything else in it; look up what counts at the sender's API (enrich), or sign body if the sender can"
	const some = `["body:at", "'.'", "body:id"]`
	for config, want := range map[string][]string{
		with(some, "event: {type: what, id: [id]}"):                                                           {told},
		with(some, "event: {type: what, id: [number]}"):                                                       {told, "event.id[0]: comes from number, which is not signed: whoever copied a request can post it again as another event; take it from what is signed"},
		with(some, "event: {type: what, id: [id, what_is_read]}"):                                             {told, "event.id: is made of all that the body says"},
		with(some, "event: {type: what}"):                                                                     {told, "event.id: is made of all that the body says"},
		with(some, "event: {type: what, id: [id]}\ndedupe: {key: [number]}"):                                  {told, "dedupe.key[0]: comes from number, which is not signed"},
		with(some, "event: {type: what, id: [id]}\nmap: {phone: who.phone}"):                                  {told, "map.contact.phone: comes from who.phone, which is not signed: whoever copied a request can change it; look the phone up at the sender's API (enrich)"},
		with(some, "event: {type: what, id: [id]}\nmap: {consent: who.agreed}"):                               {told, "map.contact.accepts_marketing: comes from who.agreed, which is not signed: nobody agrees or refuses by what anybody could write; look it up at the sender's API (enrich)"},
		with(some, "event: {type: what, id: [id]}\nbody: {loose_names: true}"):                                {told, "body.loose_names: finds a field under other spellings than the one that is signed"},
		with(`["body:at", "header:X-A"]`, "event: {type: 'header:X-B', id: [at]}"):                            {"verify.parts: covers at of the body alone", "event.type[0]: comes from header:X-B, which is not signed"},
		with(`["body:a[0]"]`, ""):                                                                             {"verify.parts[0]: is no plain name of a field; write names joined by dots: body:eventId or body:data.id"},
		with(`["body:"]`, ""):                                                                                 {"verify.parts[0]: is missing: which field of the body holds what is signed?"},
		with(`["body:a | upper"]`, ""):                                                                        {"verify.parts[0]: is no plain path into the body"},
		strings.Replace(with(some, ""), "parts:", "freshness: {body: when}, parts:", 1):                       {told, "verify.freshness.body: is not signed, so anybody could renew it; add body:when to parts, if the sender signs it"},
		with(`["body:at", body]`, "event: {type: what, id: [number]}\nmap: {phone: phone, consent: consent}"): nil,
	} {
		got := problemsOf(t, "x", config)
		for _, one := range want {
			if !strings.Contains(got, one) {
				t.Errorf("%s\nsays: %s\nwant: %s", config, got, one)
			}
		}
		if want == nil && strings.Contains(got, "signed") {
			t.Errorf("%s\nsays: %s", config, got)
		}
	}
	if got := problemsOf(t, "x", fieldsSigned+lookedUp); strings.Contains(got, "map.") || strings.Contains(got, "event.id") {
		t.Errorf("what the answer of a look-up says is proven by it: %s", got)
	}
	weak := problemsOf(t, "x", `verify: {any_of: [{name: whole, kind: signed, algorithm: hmac-sha256, signature: {header: X-A, encoding: hex}, parts: [body]}, {name: some, kind: signed, algorithm: hmac-sha256, signature: {header: X-B, encoding: hex}, parts: ["body:id"]}]}`+"\nsecret: "+testSecret+"\nmap: {consent: agreed}")
	if !strings.Contains(weak, "some does not cover the body, as whole does") || !strings.Contains(weak, "comes from agreed, which is not signed") {
		t.Errorf("of two verifiers the weaker one counts: %s", weak)
	}
}
