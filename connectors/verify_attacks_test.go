package connectors_test

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
)

const formType = "application/x-www-form-urlencoded"

// A part that the request does not have fails the check: it is never left out of what is compared.
func TestAPartThatIsNotThereFailsTheProof(t *testing.T) {
	config := func(parts string) string {
		return `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: ` + parts + `, secret: ` + testSecret + `}`
	}
	tests := map[string]struct{ parts, body, content, signed, want string }{
		"a form that cannot be read, under a signature of the URL": {"[url, form_sorted]", "type=hello&x=;", formType, testURL, "verify: the body cannot be read as a form, whose fields are signed"},
		"a broken escape":                          {"[url, form_sorted]", "type=%zz", formType, testURL, "verify: the body cannot be read as a form, whose fields are signed"},
		"JSON that is called JSON":                 {"[url, form_sorted]", `{"type":"a"}`, "application/json", testURL + `{"type":"a"}`, "verify: the content type is not application/x-www-form-urlencoded, and the fields of a form are signed"},
		"a form without a content type":            {"[url, form_sorted]", "a=1", "", testURL + "a1", "verify: the content type is not application/x-www-form-urlencoded, and the fields of a form are signed"},
		"no body, under a signature of the URL":    {"[url, form_sorted]", "", formType, testURL, "body: the body is empty"},
		"no body, under a signature of nothing":    {"[body]", "", "", "", "body: the body is empty"},
		"a list without items":                     {"[first_item]", "[]", "application/json", "", "verify: the body begins like a list, but has no first item that could be signed"},
		"a list whose first item is no JSON":       {"[first_item]", "[x]", "application/json", "", "verify: the body begins like a list, but has no first item that could be signed"},
		"name and value are only told apart by us": {"[url, form_sorted]", "typ=ehello", formType, testURL + "typehello", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(tt.body, "X-Signature", hex.EncodeToString(mac(tt.signed)))
			if tt.content != "" {
				r.Header.Set("Content-Type", tt.content)
			}
			if got := outcome(t, connector(t, config(tt.parts)), r); got != tt.want {
				t.Errorf("Receive: %q, want %q", got, tt.want)
			}
		})
	}

	t.Run("no body shows nothing where its reader would take it", func(t *testing.T) {
		empty := config("[url, body]") + "\nbody: {empty: object}"
		if got := outcome(t, connector(t, empty), request("", "X-Signature", hex.EncodeToString(mac(testURL)))); got != "verify: the body is empty, and an empty body shows nothing" {
			t.Errorf("Receive: %q", got)
		}
	})
	t.Run("no body is taken where that is said", func(t *testing.T) {
		empty := strings.Replace(config("[url, body]"), "parts:", "body_required: false, parts:", 1) + "\nbody: {empty: object}"
		if got := outcome(t, connector(t, empty), request("", "X-Signature", hex.EncodeToString(mac(testURL)))); got != "" {
			t.Errorf("Receive: %q", got)
		}
	})
	t.Run("check says that form_sorted is ambiguous", func(t *testing.T) {
		if got := strings.Join(connector(t, config("[url, form_sorted]")).Warnings(), "\n"); !strings.Contains(got, "puts no mark between") {
			t.Errorf("warnings: %s", got)
		}
	})
}

func TestOneReadingOfForms(t *testing.T) {
	con := connector(t, "verify: {kind: none}\nevent: {type: type}")
	for body, want := range map[string]string{
		"type=a&x=1;y=2":   "body: the body is no form: field 2 holds a semicolon that is not written as %3B",
		"type=a&x=1%3By=2": "",
	} {
		if got := outcome(t, con, request(body, "Content-Type", formType)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// Of a batch only the first item is signed: the others are anybody's.
func TestItemsBehindTheSignedOneAreRefused(t *testing.T) {
	const (
		captured = `{"type":"track","event":"Order Completed","messageId":"m1"}`
		forged   = `{"type":"track","event":"Order Completed","messageId":"m2"}`
		rejected = "verify: the body is a batch, of which the signature covers only the first item: switch batching off at the sender, or demand a token as well (all_of with kind: token)"
		segment  = "preset: segment\nsecret: " + testSecret
		// As segment signs, and a token in the URL.
		both = `preset: segment
verify:
  all_of:
    - {kind: signed, algorithm: hmac-sha1, signature: {header: X-Signature, encoding: hex}, parts: [first_item]}
    - {kind: token, from: query, field: token, secret: another-secret-word}
secret: ` + testSecret
	)
	h := hmac.New(sha1.New, []byte(testSecret))
	h.Write([]byte(captured))
	signature := hex.EncodeToString(h.Sum(nil))
	tests := map[string]struct{ config, body, query, want string }{
		"one item alone":                   {segment, captured, "", ""},
		"one item in a list":               {segment, "[" + captured + " ]", "", ""},
		"forged items behind it":           {segment, "[" + captured + "," + forged + "," + forged + "]", "", rejected},
		"a forged item without a comma":    {segment, "[" + captured + " " + forged + "]", "", rejected},
		"a list that does not end":         {segment, "[" + captured, "", "body: the body is not JSON: byte 61: the text ends before ']'"},
		"more text behind the list":        {segment, "[" + captured + "] " + forged, "", "body: the body is not JSON: byte 63: more text behind the end of the value"},
		"a batch with a token":             {both, "[" + captured + "," + forged + "]", "token=another-secret-word", ""},
		"a batch without the token":        {both, "[" + captured + "," + forged + "]", "", "verify: token: there is no token in the URL parameter token"},
		"a batch whose first is the other": {both, "[" + forged + "," + captured + "]", "token=another-secret-word", "verify: signed: the signature does not match: 1 signature tried against 1 key, body of 121 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(tt.body, "X-Signature", signature, "Content-Type", "application/json")
			r.RawQuery = tt.query
			got := outcome(t, connector(t, tt.config), r)
			if got != tt.want {
				t.Errorf("Receive: %q, want %q", got, tt.want)
			}
		})
	}
}

// Where several verifiers are accepted, whoever removes headers chooses among them: check warns
// of unlike ones, and no preset has them.
func TestProofsOfUnlikeStrengthAreWarnedOf(t *testing.T) {
	const (
		timed   = "{name: timed, kind: signed, algorithm: hmac-sha256, signature: {header: X-A, encoding: hex}, parts: [timestamp, body], timestamp: {header: X-T}}"
		untimed = "{name: untimed, kind: signed, algorithm: hmac-sha256, signature: {header: X-B, encoding: hex}, parts: [body]}"
		word    = "{name: word, kind: token, from: bearer}"
	)
	tests := map[string]struct {
		config string
		want   []string
	}{
		"a time and none":     {"verify: {any_of: [" + timed + ", " + untimed + "]}", []string{"untimed has no time, as timed has"}},
		"a signature, a word": {"verify: {any_of: [" + timed + ", " + word + "]}", []string{"word does not cover the body, as timed does"}},
		"three":               {"verify: {any_of: [" + timed + ", " + untimed + ", " + word + "]}", []string{"untimed has no time", "word does not cover the body"}},
		"words":               {"verify: {any_of: [" + word + ", {name: header, kind: token, from: header, field: X-Word}]}", nil},
		"the weaker excluded": {"verify: {prefer: [timed], any_of: [" + timed + ", " + untimed + "]}", nil},
		"hubspot, all three":  {"preset: hubspot\nverify: {prefer: [v3, v2, v1]}", []string{"v2 has no time", "v1 has no time"}},
	}
	weaker := func(con *connectors.Connector) (out []string) {
		for _, w := range con.Warnings() {
			if strings.Contains(w, "whoever removes the headers") {
				out = append(out, w)
			}
		}
		return out
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := weaker(connector(t, tt.config+"\nsecret: "+testSecret))
			if len(got) != len(tt.want) {
				t.Fatalf("warnings %q, want %q", got, tt.want)
			}
			for i := range got {
				if !strings.Contains(got[i], tt.want[i]) {
					t.Errorf("warning %q, want %q", got[i], tt.want[i])
				}
			}
		})
	}
	for _, name := range connectors.PresetNames() {
		if got := weaker(mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{})); len(got) > 0 {
			t.Errorf("the preset %s: %q", name, got)
		}
	}
}

// A time far enough from now that the distance is no Duration any more is as wrong as any other.
func TestAFarTimeIsNotFresh(t *testing.T) {
	const (
		header = `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [timestamp, body], timestamp: {header: X-Time, unit: auto}, secret: ` + testSecret + `}`
		inBody = `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [body], freshness: {body: at}, secret: ` + testSecret + `}`
	)
	for _, years := range []int{-2000, -293, -292, -1, 1, 291, 292, 293, 1000, 3000} {
		at := mutationNow.AddDate(years, 0, 0)
		when := fmt.Sprint(at.Unix())
		if years < -50 { // before 1970, as text only
			when = at.Format(time.RFC3339)
		}
		want := "future"
		if years < 0 {
			want = "old"
		}
		body := `{"at":"` + when + `"}`
		for name, r := range map[string]connectors.Request{
			"header": request(testBody, "X-Time", when, "X-Signature", hex.EncodeToString(mac(when+testBody))),
			"body":   request(body, "X-Signature", hex.EncodeToString(mac(body))),
		} {
			config := map[string]string{"header": header, "body": inBody}[name]
			got := outcome(t, connector(t, config), r)
			if !strings.HasPrefix(got, "verify: the timestamp is ") || !strings.Contains(got, want) || strings.Contains(got, " -") {
				t.Errorf("%d years, in the %s: %q", years, name, got)
			}
		}
	}
}

// One copied request is one event, whatever is written on the headers that nobody signed. The
// topic is the exception: bodies of orders come under several, so it is judged by the body.
func TestACopyUnderOtherHeadersIsTheSameEvent(t *testing.T) {
	for _, name := range connectors.PresetNames() {
		if base, _ := connectors.Preset(name); !coverage(base.Verify).body {
			continue // a word verifies the request: who has it can write anything
		}
		t.Run(name, func(t *testing.T) {
			con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{})
			for _, s := range con.SamplesAt(mutationNow, 1001) {
				captured := signSample(t, con, s, mutationNow)
				first, err := con.Receive(captured)
				if err != nil {
					t.Fatal(err)
				}
				for header := range captured.Header {
					if header == http.CanonicalHeaderKey(con.TopicHeader()) {
						continue
					}
					for _, value := range []string{"", "forged", "2026-11-20T09:30:01Z"} {
						copied := captured
						copied.Header = captured.Header.Clone()
						copied.Header.Set(header, value)
						if value == "" {
							copied.Header.Del(header)
						}
						got, err := con.Receive(copied)
						if err != nil {
							continue
						}
						for i, e := range got.Events {
							if was := first.Events[i]; e.DedupeKey != was.DedupeKey && (e.ContentKey == "" || e.ContentKey != was.ContentKey) {
								t.Errorf("sample %q with %s: %q is a new event", s.Name, header, value)
							}
						}
					}
				}
			}
		})
	}
}

// Senders that sign no time: the body's own is checked, so that a copied request is not a new
// event once the first is forgotten.
func TestABodysOwnTimeEndsACopy(t *testing.T) {
	for _, name := range connectors.PresetNames() {
		base, _ := connectors.Preset(name)
		v := base.Verify
		if v.Freshness == nil {
			// Nothing signed the body, its time is signed, or no field of it is sure to be the delivery's.
			untimed := []string{"adobe_commerce", "segment", "twilio", "whatsapp", "acuity", "nuvemshop", "recharge", "attio"}
			if v.Kind == "signed" && v.Timestamp == nil && !slices.Contains(untimed, name) {
				t.Errorf("%s signs no time, and the body's is not looked at", name)
			}
			continue
		}
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{})
		s := con.SamplesAt(mutationNow, 1)[0]
		r := signSample(t, con, s, mutationNow)
		r.Now = mutationNow.Add(con.DedupeWindow() + time.Hour)
		if got := outcome(t, con, r); !strings.Contains(got, "verify: the timestamp is ") {
			t.Errorf("%s: a request of %s ago: %q", name, r.Now.Sub(mutationNow), got)
		}
	}
}

func TestWhatIsReadButNotSignedIsWarnedOf(t *testing.T) {
	const verify = "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: %s}\nsecret: " + testSecret + "\n"
	tests := map[string]struct{ parts, rest, want string }{
		"a type":                     {"[body]", "event: {type: header:X-Event}", "event.type[0]: comes from header:X-Event, which is not signed"},
		"a type among others":        {"[body]", "event: {type: [kind, header:X-Event]}", "event.type[1]: comes from header:X-Event"},
		"an id":                      {"[body]", "event: {id: header:X-Id}", "event.id[0]: comes from header:X-Id"},
		"an id behind another":       {"[body]", "event: {id: id else header:X-Id}", "event.id[0]: comes from header:X-Id"},
		"a joined id":                {"[body]", "event: {id: '{header:X-Id}-{id}'}", "event.id[0]: comes from header:X-Id"},
		"a dedupe key":               {"[body]", "dedupe: {key: [event.kind, header:X-Id]}", "dedupe.key[1]: comes from header:X-Id"},
		"a parameter":                {"[body]", "event: {type: query:event}", "event.type[0]: comes from url, which is not signed"},
		"a signed header":            {"['header:x-event', body]", "event: {type: header:X-Event}", ""},
		"a signed parameter":         {"[url, body]", "event: {type: query:event}", ""},
		"what the body says":         {"[body]", "event: {type: type, id: id}", ""},
		"another header than signed": {"['header:X-Other', body]", "event: {id: header:X-Id}", "event.id[0]: comes from header:X-Id"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(connector(t, fmt.Sprintf(verify, tt.parts)+tt.rest).Warnings(), "\n")
			if unsigned := strings.Contains(got, "not signed"); unsigned != (tt.want != "") || !strings.Contains(got, tt.want) {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
		})
	}
	for name, config := range map[string]string{
		"a word verifies it": "verify: {kind: token, from: bearer}\nevent: {type: header:X-Event, id: header:X-Id}\nsecret: " + testSecret,
		"the signed id":      "preset: standardwebhooks\nsecret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
	} {
		con := connector(t, config)
		if got := strings.Join(con.Warnings(), "\n"); strings.Contains(got, "not signed") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestFormsThatAreNoneAreRefused(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte("type=subscribe&contact[phone]=%2B447700900123&submissionID=1"))
	w.Close()
	right := map[string]string{"activecampaign": "type=subscribe", "mailchimp": "type=subscribe", "jotform": "submissionID=1"}
	for name, form := range right {
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{})
		post := func(body string, headers ...string) string {
			r := request(body, append(headers, "Content-Type", formType)...)
			r.RawQuery = "token=" + testSecret
			return outcome(t, con, r)
		}
		for what, tt := range map[string]struct {
			body, want string
			headers    []string
		}{
			"a form":                     {form, "", nil},
			"identity":                   {form, "", []string{"Content-Encoding", "identity"}},
			"gzip, and named so":         {zipped.String(), "content: the content encoding is gzip, and bodies are read as they come: switch compression off at the sender", []string{"Content-Encoding", "gzip"}},
			"gzip, and not named":        {zipped.String(), "body: the body is no form: the name of field 1 holds bytes that are no UTF-8, ", nil},
			"two bytes that are no text": {"\x00\xff", "body: the body is no form: the name of field 1 holds bytes that are no UTF-8, ", nil},
			"a byte":                     {"\x00", "map: reject_if: ", nil},
			"a form of somebody else":    {"hello=1", "map: reject_if: ", nil},
		} {
			if got := post(tt.body, tt.headers...); got != tt.want && (!strings.HasSuffix(tt.want, " ") || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("%s, %s: %q, want %q", name, what, got, tt.want)
			}
		}
	}
}

func TestAnEmptyAcceptTakesAnything(t *testing.T) {
	r := request("type=a", "Content-Type", formType)
	for config, want := range map[string]string{
		"preset: klaviyo_flow\nverify: {kind: none}":                         "content: the content type is application/x-www-form-urlencoded, and this connector takes only json",
		"preset: klaviyo_flow\nverify: {kind: none}\nbody: {accept: []}":     "body: the body is not JSON: ",
		"preset: klaviyo_flow\nverify: {kind: none}\nbody: {accept: [form]}": "body: the body is not JSON: ",
	} {
		if got := outcome(t, connector(t, config), r); !strings.HasPrefix(got, want) || (want == "" && got != "") {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
}

// A handshake is answered without verification, so nothing but the bare trial of the URL is one: an
// event that carries the same field is judged like any other.
func TestOnlyABareChallengeIsAHandshake(t *testing.T) {
	con := mustCompile(t, "monday", ownConfig(t, "monday", testSecret), connectors.Options{})
	const rejected = "verify: the request carries nothing that is accepted here: url"
	for body, want := range map[string]string{
		`{"challenge":"abc"}`:                                 "",
		"\n{\"challenge\":\"abc\"}\n":                         "",
		`{"challenge":"abc","event":{"type":"create_pulse"}}`: rejected,
		`{"challenge":"abc","x":null}`:                        rejected,
		`{"challenge":"abc","challenge":"def"}`:               rejected,
		`{"challenge":""}`:                                    rejected,
		`{"challenge":{"a":1}}`:                               rejected,
		`[{"challenge":"abc"}]`:                               rejected,
		`{"event":{"type":"create_pulse","challenge":"abc"}}`: rejected,
	} {
		if got := outcome(t, con, request(body, "Content-Type", "application/json")); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestAProvenRequestWithoutAnEventIsToldOf(t *testing.T) {
	for name, tt := range map[string]struct {
		preset, body, want string
		empty              bool
	}{
		"null":              {"hubspot", "null", "body: the body is one JSON value without fields", false},
		"a number":          {"braze", "1", "body: the body is one JSON value without fields", false},
		"a text":            {"segment", `"a"`, "body: the body is one JSON text without fields", false},
		"an empty list":     {"hubspot", "[]", "", true},
		"an empty object":   {"rudderstack", "{}", "", false},
		"no data":           {"klaviyo", `{"meta":{"timestamp":"2026-11-20T09:00:00Z"}}`, "", true},
		"entries of nobody": {"facebook_leads", `{"entry":[]}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			con := mustCompile(t, tt.preset, ownConfig(t, tt.preset, testSecret), connectors.Options{})
			r := request(tt.body, "Content-Type", "application/json", "Klaviyo-Timestamp", "2026-11-20T09:00:00Z")
			signed, err := con.Sign(r)
			if err != nil {
				t.Fatal(err)
			}
			r = signed
			if got := outcome(t, con, r); got != tt.want {
				t.Fatalf("Receive: %q, want %q", got, tt.want)
			}
			if got, _ := con.Receive(r); tt.want == "" && got.Empty > 0 != tt.empty {
				t.Errorf("Receive = %+v, want empty %v", got, tt.empty)
			}
		})
	}
}

// Nothing is read kindly that the sender does not write so. What is let through all the same has
// its reason beside it.
func TestProofsAreReadStrictly(t *testing.T) {
	scheme := func(rest string) string {
		return `verify: {kind: signed, algorithm: hmac-sha256, parts: [body], secret: ` + testSecret + `, signature: {header: X-Signature, ` + rest + `}}`
	}
	token := func(rest string) string { return "verify: {kind: token, " + rest + "}\nsecret: " + testSecret }
	sum := mac(testBody)
	low, std, url := hex.EncodeToString(sum), base64.StdEncoding.EncodeToString(sum), base64.URLEncoding.EncodeToString(sum)
	signed := func(value string) connectors.Request { return request(testBody, "X-Signature", value) }
	header := func(name, value string) connectors.Request { return request(testBody, name, value) }
	inBody := func(value string) connectors.Request { return request(`{"type":"t","word":` + value + `}`) }
	basic := func(value string) connectors.Request { return header("Authorization", value) }
	const user = "verify: {kind: basic, user: ann, password: 'a:b:correct-horse'}"
	pair := base64.StdEncoding.EncodeToString([]byte("ann:a:b:correct-horse"))
	tests := map[string]struct {
		config string
		r      connectors.Request
		taken  bool
	}{
		"hex": {scheme("encoding: hex"), signed(low), true}, "hex in capitals": {scheme("encoding: hex"), signed(strings.ToUpper(low)), false},
		"hex_upper": {scheme("encoding: hex_upper"), signed(strings.ToUpper(low)), true}, "hex_upper in small letters": {scheme("encoding: hex_upper"), signed(low), false},
		"hex and a blank": {scheme("encoding: hex"), signed(low + " "), false}, "hex, one digit short": {scheme("encoding: hex"), signed(low[1:]), false},
		"base64": {scheme("encoding: base64"), signed(std), true}, "base64 without padding": {scheme("encoding: base64"), signed(strings.TrimRight(std, "=")), false},
		"base64 in the URL's alphabet": {scheme("encoding: base64"), signed(url), url == std}, "base64 with a line break": {scheme("encoding: base64"), signed(std[:8] + "\n" + std[8:]), false},
		"base64url": {scheme("encoding: base64url"), signed(url), true},
		// RFC 4648 keeps the padding, JOSE (RFC 7515) does not, and senders follow either.
		"base64url without padding":     {scheme("encoding: base64url"), signed(strings.TrimRight(url, "=")), true},
		"base64url with half a padding": {scheme("encoding: base64url"), signed(url + "="), false},
		"a prefix":                      {scheme(`encoding: hex, prefix: "sha256="`), signed("sha256=" + low), true}, "a prefix in capitals": {scheme(`encoding: hex, prefix: "sha256="`), signed("SHA256=" + low), false},
		"a prefix and a blank": {scheme(`encoding: hex, prefix: "sha256="`), signed("sha256= " + low), false},
		// Some proxies write a header twice; which of two equal values counts is no question.
		"the same header twice": {scheme("encoding: hex"), request(testBody, "X-Signature", low, "X-Signature", low), true},
		"two headers":           {scheme("encoding: hex"), request(testBody, "X-Signature", low, "X-Signature", low+"0"), false},
		"two values in one":     {scheme("encoding: hex"), signed(low + ", " + low), false},

		// The name of an HTTP scheme is written in any case (RFC 9110, 11.1).
		"bearer": {token("from: bearer"), header("Authorization", "bEARER "+testSecret), true}, "bearer and two blanks": {token("from: bearer"), header("Authorization", "Bearer  "+testSecret), false},
		"a prefix of one's own in capitals": {token("from: header, field: X-Word, prefix: 'Word '"), header("X-Word", "WORD "+testSecret), false},
		"a word in capitals":                {token("from: header, field: X-Word"), header("X-Word", strings.ToUpper(testSecret)), false},
		"a word and a blank":                {token("from: header, field: X-Word"), header("X-Word", testSecret+" "), false},
		"a word in the body":                {token("from: body, field: word"), inBody(`"` + testSecret + `"`), true}, "with a blank": {token("from: body, field: word"), inBody(`" ` + testSecret + `"`), false},
		"in a list of one": {token("from: body, field: word"), inBody(`["` + testSecret + `"]`), false}, "in an object": {token("from: body, field: word"), inBody(`{"word":"` + testSecret + `"}`), false},
		"basic": {user, basic("basic " + pair), true}, "basic and two blanks": {user, basic("Basic  " + pair), false}, "basic without padding": {user, basic("Basic " + strings.TrimRight(pair, "=")), !strings.HasSuffix(pair, "=")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := outcome(t, connector(t, tt.config), tt.r); (got == "") != tt.taken || (got != "" && !strings.HasPrefix(got, "verify: ")) {
				t.Errorf("Receive: %q, want taken: %v", got, tt.taken)
			}
		})
	}
}

// Reasons go to logs and traces, so they say where a body stops being readable and never what
// stands there.
func TestReasonsHoldNothingOfABody(t *testing.T) {
	const config = "verify: {kind: none}\nevent: {type: type}"
	const fresh = `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [body], freshness: {body: phone}, secret: ` + testSecret + `}`
	stale := `{"phone":"+447700900123"}`
	for name, tt := range map[string]struct{ config, content, body, want string }{
		"a number with a plus":  {config, "application/json", `{"phone": +447700900123}`, "body: the body is not JSON: byte 11: a symbol where a value should be"},
		"a number with zeros":   {config, "application/json", `{"phone": 00447700900123}`, "body: the body is not JSON: byte 11: a number with a zero in front"},
		"a text without quotes": {config, "application/json", `{"phone": Ada}`, "body: the body is not JSON: byte 11: a letter where a value should be"},
		"an escape":             {config, "application/json", `{"phone": "\447700900123"}`, "body: the body is not JSON: byte 13: a backslash and a digit, which is no escape of JSON"},
		"behind the end":        {config, "application/json", `{}447700900123`, "body: the body is not JSON: byte 3: more text behind the end of the value"},
		"a form":                {config, formType, "phone=%4z7700900123", "body: the body is no form: the value of field 1 has a % that begins no escape"},
		"a form's name":         {config, formType, "447700900123%4z=1", "body: the body is no form: the name of field 1 has a % that begins no escape"},
		"XML":                   {config, "text/xml", "<a>\n<phone447700900123></b></a>", "body: the body is broken XML in line 2"},
		"XML in another set":    {config, "text/xml", `<?xml version="1.0" encoding="447700900123"?><a/>`, "content: the body is in a charset that is not known here: send UTF-8, or one that browsers know, such as ISO-8859-1, windows-1252, Shift_JIS or UTF-16"},
		"multipart":             {config, "multipart/form-data; boundary=x", "--x\r\n447700900123\r\n\r\n1\r\n--x--", "body: the body is broken multipart at part 1"},
		"a time":                {fresh, "application/json", stale, "verify: the timestamp in the body, of 13 characters, cannot be read as a time"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(tt.body, "Content-Type", tt.content, "X-Signature", hex.EncodeToString(mac(tt.body)))
			got := outcome(t, connector(t, tt.config), r)
			if got != tt.want || strings.Contains(got, "7700") {
				t.Errorf("Receive: %q, want %q", got, tt.want)
			}
		})
	}
}

// Senders that sign a hash of the body. The bytes and sums are from openssl:
// printf '{"id":1}' | openssl dgst -md5, and so on.
func TestAHashOfTheBodyCanBeSigned(t *testing.T) {
	const body = `{"id":1}`
	for part, written := range map[string]string{
		"md5(body)":            "\xd2\xce\x28\xb9\xa7\xfd\x7e\x44\x07\xe2\xb0\xfd\x49\x9b\x7f\xe4",
		"hex(md5(body))":       "d2ce28b9a7fd7e4407e2b0fd499b7fe4",
		"base64(md5(body))":    "0s4ouaf9fkQH4rD9SZt/5A==",
		"hex(sha1(body))":      "87911d1aed509877b83a48ec536f768cdcd22df1",
		"hex(sha256(body))":    "037c9214eef74cc3887f3a4f085b4e17d76280dafd273b0ee160c09c4ba1cfd4",
		"base64(sha256(body))": "A3ySFO73TMOIfzpPCFtOF9digNr9JzsO4WDAnEuhz9Q=",
		"hex(sha512(body))":    "ff51480579af24f45c0b92333551d8e3317f00d961f07a66a9e17759732b3e8c78f83944d9af3b1f919c93d0e5131027f390cad59edb15e35ee4e76e7cb51dc9",
	} {
		con := connector(t, `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [timestamp, "'.'", `+part+`], timestamp: {header: X-Time}, secret: `+testSecret+`}`)
		unix := fmt.Sprint(mutationNow.Unix())
		r := request(body, "X-Time", unix, "X-Signature", hex.EncodeToString(mac(unix+"."+written)))
		if got := outcome(t, con, r); got != "" {
			t.Errorf("%s: %s", part, got)
		}
		r.Body = []byte(`{"id":2}`)
		if got := outcome(t, con, r); !strings.HasPrefix(got, "verify: the signature does not match") {
			t.Errorf("%s, another body: %q", part, got)
		}
	}
}

// The library reads the token, and each of its demands is switched on.
func TestJWTsAreReadStrictly(t *testing.T) {
	hs := connector(t, "verify: {kind: jwt, claims: {aud: nudgewire}, body_hash: h}\nsecret: "+testSecret)
	own := ownKeyFor(t, "rsa-sha256")
	rs := decodeConfig(t, "verify: {kind: jwt, algorithm: rsa-sha256}")
	rs.Verify.Key = own
	asymmetric := mustCompile(t, "x", rs, connectors.Options{})
	sum := sha256.Sum256([]byte(testBody))
	hash, now := hex.EncodeToString(sum[:]), mutationNow.Unix()
	token := func(head, payload, key string) string {
		text := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
		h := hmac.New(sha256.New, []byte(key))
		h.Write([]byte(text))
		return text + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	}
	const head = `{"alg":"HS256","typ":"JWT"}`
	claims := func(times string) string { return `{"aud":"nudgewire","h":"` + hash + `"` + times + `}` }
	exp := fmt.Sprintf(`,"exp":%d`, now+60)
	tests := map[string]struct {
		con         *connectors.Connector
		value, want string
	}{
		"right":                      {hs, "Bearer " + token(head, claims(exp), testSecret), ""},
		"one of several":             {hs, "Bearer " + token(head, `{"aud":["a","nudgewire"],"h":"`+hash+`"`+exp+`}`, testSecret), ""},
		"no end":                     {hs, "Bearer " + token(head, claims(""), testSecret), "the JWT has neither exp nor iat, so it could be used for ever"},
		"a beginning and no end":     {hs, "Bearer " + token(head, claims(fmt.Sprintf(`,"iat":%d`, now-360)), testSecret), ""},
		"a beginning long ago":       {hs, "Bearer " + token(head, claims(fmt.Sprintf(`,"iat":%d`, now-361)), testSecret), "the JWT has no exp, and by its iat it is 6m1s old, more than 5m0s"},
		"an end as text":             {hs, "Bearer " + token(head, claims(fmt.Sprintf(`,"exp":"%d"`, now+60)), testSecret), "the JWT's exp, nbf or iat is no time"},
		"an end as null":             {hs, "Bearer " + token(head, claims(`,"exp":null`), testSecret), "the JWT's exp, nbf or iat is no time"},
		"ended":                      {hs, "Bearer " + token(head, claims(fmt.Sprintf(`,"exp":%d`, now-61)), testSecret), "the JWT ended; it is 1m1s old"},
		"ended within the skew":      {hs, "Bearer " + token(head, claims(fmt.Sprintf(`,"exp":%d`, now-59)), testSecret), ""},
		"not yet":                    {hs, "Bearer " + token(head, claims(exp+fmt.Sprintf(`,"nbf":%d`, now+120)), testSecret), "the JWT is not valid yet; it is 2m0s in the future"},
		"made in the future":         {hs, "Bearer " + token(head, claims(exp+fmt.Sprintf(`,"iat":%d`, now+120)), testSecret), "the JWT was made in the future; it is 2m0s in the future"},
		"extensions":                 {hs, "Bearer " + token(`{"alg":"HS256","crit":["b64"],"b64":false}`, claims(exp), testSecret), "the JWT demands extensions that are not known here"},
		"algorithm none":             {hs, "Bearer " + strings.TrimRight(token(`{"alg":"none"}`, claims(exp), testSecret), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), `the JWT names the algorithm "none", and only HS256 is accepted`},
		"another algorithm":          {hs, "Bearer " + token(`{"alg":"HS512"}`, claims(exp), testSecret), `the JWT names the algorithm "HS512", and only HS256 is accepted`},
		"another secret":             {hs, "Bearer " + token(head, claims(exp), "another"), "the JWT's signature does not match (1 key tried)"},
		"another hash":               {hs, "Bearer " + token(head, `{"aud":"nudgewire","h":"00"`+exp+`}`, testSecret), "the JWT's claim h is not the hash of the body"},
		"no hash":                    {hs, "Bearer " + token(head, `{"aud":"nudgewire"`+exp+`}`, testSecret), "the JWT's claim h is not the hash of the body"},
		"another claim":              {hs, "Bearer " + token(head, `{"aud":"x","h":"`+hash+`"`+exp+`}`, testSecret), "the JWT's claim aud is not the right one"},
		"no claim":                   {hs, "Bearer " + token(head, `{"h":"`+hash+`"`+exp+`}`, testSecret), "the JWT's claim aud is not the right one"},
		"no scheme":                  {hs, token(head, claims(exp), testSecret), `the header Authorization does not begin with "Bearer "`},
		"two blanks":                 {hs, "Bearer  " + token(head, claims(exp), testSecret), "the header Authorization holds no JWT"},
		"four parts":                 {hs, "Bearer " + token(head, claims(exp), testSecret) + ".x", "the header Authorization holds no JWT"},
		"the public key as a secret": {asymmetric, "Bearer " + token(head, claims(exp), own.PublicKeys[0]), `the JWT names the algorithm "HS256", and only RS256 is accepted`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := tt.want
			if want != "" {
				want = "verify: " + want
			}
			if got := outcome(t, tt.con, request(testBody, "Authorization", tt.value)); got != want {
				t.Errorf("Receive: %q, want %q", got, want)
			}
		})
	}
}
