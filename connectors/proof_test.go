package connectors_test

import (
	"encoding/hex"
	"strings"
	"testing"
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
