package connectors_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
)

const formType = "application/x-www-form-urlencoded"

// A part that the request does not have fails the proof: it is never left out of what is compared.
func TestAPartThatIsNotThereFailsTheProof(t *testing.T) {
	config := func(parts string) string {
		return `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: ` + parts + `, secret: ` + testSecret + `}`
	}
	tests := map[string]struct{ parts, body, content, signed, want string }{
		"a form that cannot be read, under a signature of the URL": {"[url, form_sorted]", "type=hello&x=;", formType, testURL, "verify: the body cannot be read as a form, whose fields are signed"},
		"a broken escape":                          {"[url, form_sorted]", "type=%zz", formType, testURL, "verify: the body cannot be read as a form, whose fields are signed"},
		"JSON that is called JSON":                 {"[url, form_sorted]", `{"type":"a"}`, "application/json", testURL + `{"type":"a"}`, "verify: the content type is not application/x-www-form-urlencoded, and the fields of a form are signed"},
		"a form without a content type":            {"[url, form_sorted]", "a=1", "", testURL + "a1", "verify: the content type is not application/x-www-form-urlencoded, and the fields of a form are signed"},
		"no body, under a signature of the URL":    {"[url, form_sorted]", "", formType, testURL, "verify: the body is empty, and an empty body proves nothing"},
		"no body, under a signature of nothing":    {"[body]", "", "", "", "verify: the body is empty, and an empty body proves nothing"},
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
		refused  = "verify: the body is a batch, of which the signature proves only the first item: switch batching off at the sender, or demand a token as well (all_of with kind: token)"
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
		"forged items behind it":           {segment, "[" + captured + "," + forged + "," + forged + "]", "", refused},
		"a forged item without a comma":    {segment, "[" + captured + " " + forged + "]", "", refused},
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
			if got, _, _ = strings.Cut(got, ", near"); got != tt.want {
				t.Errorf("Receive: %q, want %q", got, tt.want)
			}
		})
	}
}

// Where several proofs are accepted, whoever removes headers chooses among them: check warns
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
