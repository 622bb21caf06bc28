package connectors_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/nudgewire/nudgewire/connectors"
)

const (
	testSecret = "correct-horse-battery-staple"
	testURL    = "https://hooks.example.com/hooks/x?source=a%2Fb"
	testBody   = `{"type":"t","phone":"+442079460958","at":"2026-11-20T09:00:00Z"}`
)

// request is a plain POST with headers as pairs.
func request(body string, headers ...string) connectors.Request {
	r := connectors.Request{
		Method: http.MethodPost, URL: testURL, Path: "/hooks/x", RawQuery: "source=a%2Fb",
		Header: http.Header{}, Body: []byte(body), Now: mutationNow, Remote: netip.MustParseAddr("192.0.2.7"),
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func connector(t testing.TB, config string) *connectors.Connector {
	t.Helper()
	return mustCompile(t, "x", decodeConfig(t, config), connectors.Options{Country: "GB"})
}

func mac(text string) []byte {
	h := hmac.New(sha256.New, []byte(testSecret))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// outcome is what a request came to, for tables: "" for taken, else the stage and the reason.
func outcome(t testing.TB, con *connectors.Connector, r connectors.Request) string {
	t.Helper()
	_, err := con.Receive(r)
	rejected := rejectedBy(t, err)
	if rejected == nil {
		return ""
	}
	if strings.Contains(rejected.Error(), testSecret) {
		t.Errorf("the rejection holds the secret: %s", rejected.Reason)
	}
	return rejected.Error()
}

func TestSignedRequests(t *testing.T) {
	body := `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [body], secret: ` + testSecret + `}`
	right := hex.EncodeToString(mac(testBody))
	unix := fmt.Sprint(mutationNow.Unix())
	stamped := `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: base64, prefix: "sha256="}, parts: [timestamp, "'.'", body], timestamp: {header: X-Time, unit: s, tolerance: 5m, skew: 1m}, secret: ` + testSecret + `}`
	withTime := "sha256=" + base64.StdEncoding.EncodeToString(mac(unix+"."+testBody))
	list := `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex, list: {separator: ",", assign: "=", pick: v1}}, parts: [timestamp, "'.'", body], timestamp: {list: t, unit: s}, secret: ` + testSecret + `}`
	signature := hex.EncodeToString(mac(unix + "." + testBody))
	zeros := strings.Repeat("0", 64)

	tests := map[string]struct {
		config string
		r      connectors.Request
		want   string
	}{
		"a right one is taken":           {body, request(testBody, "X-Signature", right), ""},
		"capital hexadecimal":            {body, request(testBody, "X-Signature", strings.ToUpper(right)), "verify: the header X-Signature should hold hex, but is hexadecimal in capitals, which is hex_upper"},
		"none":                           {body, request(testBody), "verify: there is no header X-Signature"},
		"another secret's":               {body, request(testBody, "X-Signature", zeros), "verify: the signature does not match: 1 signature tried against 1 key, body of 64 bytes"},
		"neither of two secrets'":        {`verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [body], secrets: [` + testSecret + `, another-secret-0123456789]}`, request(testBody, "X-Signature", zeros), "verify: the signature does not match: 1 signature tried against 2 keys, body of 64 bytes"},
		"a header that is signed":        {`verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [method, "header:X-Event", body], secret: ` + testSecret + `}`, request(testBody, "X-Signature", zeros, "X-Event", "made"), "verify: the signature does not match: 1 signature tried against 1 key, body of 64 bytes, method POST, X-Event of 4 characters"},
		"an id that is signed":           {`verify: {kind: signed, algorithm: hmac-sha256, id: X-Id, signature: {header: X-Signature, encoding: hex}, parts: [id, body], secret: ` + testSecret + `}`, request(testBody, "X-Signature", zeros, "X-Id", "d-1"), "verify: the signature does not match: 1 signature tried against 1 key, body of 64 bytes, id d-1"},
		"two different ones":             {body, request(testBody, "X-Signature", right, "X-Signature", zeros), "verify: the header X-Signature came twice with different values"},
		"the same one twice":             {body, request(testBody, "X-Signature", right, "X-Signature", right), ""},
		"base64 where hex should be":     {body, request(testBody, "X-Signature", base64.StdEncoding.EncodeToString(mac(testBody))), "verify: the header X-Signature should hold hex, but is some kind of base64, or not the whole of it"},
		"an empty one":                   {body, request(testBody, "X-Signature", ""), "verify: the header X-Signature should hold hex, but is empty"},
		"one as long as a book":          {body, request(testBody, "X-Signature", strings.Repeat("a", 4000)), "verify: the header X-Signature should hold hex, but is longer than any signature"},
		"time in a header":               {stamped, request(testBody, "X-Signature", withTime, "X-Time", unix), ""},
		"a prefix in capitals":           {stamped, request(testBody, "X-Signature", strings.Replace(withTime, "sha", "SHA", 1), "X-Time", unix), "verify: the header X-Signature does not begin with sha256="},
		"base64 without its padding":     {stamped, request(testBody, "X-Signature", strings.TrimRight(withTime, "="), "X-Time", unix), "verify: the header X-Signature should hold base64, but is some kind of base64, or not the whole of it"},
		"no prefix":                      {stamped, request(testBody, "X-Signature", withTime[7:], "X-Time", unix), "verify: the header X-Signature does not begin with sha256="},
		"no time":                        {stamped, request(testBody, "X-Signature", withTime), "verify: there is no header X-Time"},
		"two times":                      {stamped, request(testBody, "X-Signature", withTime, "X-Time", unix, "X-Time", "1"), "verify: the header X-Time came twice with different values"},
		"another time":                   {stamped, request(testBody, "X-Signature", withTime, "X-Time", "1763600001"), "verify: the signature does not match: 1 signature tried against 1 key, body of 64 bytes, timestamp 1763600001 (8768h6m39s old)"},
		"a list":                         {list, request(testBody, "X-Signature", "t="+unix+",v1="+signature+",v0="+zeros), ""},
		"a list with the right one last": {list, request(testBody, "X-Signature", "t="+unix+", v1="+zeros+", v1=nothex, v1="+signature), ""},
		"a list of another version":      {list, request(testBody, "X-Signature", "t="+unix+",v0="+signature), "verify: the header X-Signature has no entry v1"},
		"a list without time":            {list, request(testBody, "X-Signature", "v1="+signature), "verify: the header X-Signature has no t="},
		"a list with two times":          {list, request(testBody, "X-Signature", "t="+unix+",t=1,v1="+signature), "verify: the header X-Signature has two different t"},
		"a list of nonsense":             {list, request(testBody, "X-Signature", "t="+unix+",v1=zz"), "verify: the header X-Signature holds no signature that can be read as hex"},
		"a list of wrong ones":           {list, request(testBody, "X-Signature", "t="+unix+",v1="+zeros+",v1="+zeros), "verify: the signature does not match: 2 signatures tried against 1 key, body of 64 bytes, timestamp 1763629200 (0s old)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := strings.ReplaceAll(tt.want, "1763629200", unix)
			if got := outcome(t, connector(t, tt.config), tt.r); got != want {
				t.Errorf("Receive: %q, want %q", got, want)
			}
		})
	}

	t.Run("age is checked after the signature, to the second", func(t *testing.T) {
		con := connector(t, stamped)
		for after, want := range map[time.Duration]string{
			5 * time.Minute:             "",
			5*time.Minute + time.Second: "verify: the timestamp is 5m1s old, more than 5m0s",
			-time.Minute:                "",
			-time.Minute - time.Second:  "verify: the timestamp is 1m1s in the future, more than 1m0s",
		} {
			r := request(testBody, "X-Signature", withTime, "X-Time", unix)
			r.Now = r.Now.Add(after)
			if got := outcome(t, con, r); got != want {
				t.Errorf("after %s: %q, want %q", after, got, want)
			}
		}
	})
}

func TestEveryPartCanBeSigned(t *testing.T) {
	const form = "b=2&a=1"
	tests := map[string]struct {
		parts, body, signed string
		headers             []string
	}{
		"method, path and a text":   {`[method, "'|'", path, body]`, testBody, "POST|/hooks/x" + testBody, nil},
		"the URL":                   {`[url, body]`, testBody, testURL + testBody, nil},
		"a header":                  {`["header:X-Event", body]`, testBody, "made" + testBody, []string{"X-Event", "made"}},
		"the body in base64":        {`[body_base64]`, testBody, base64.StdEncoding.EncodeToString([]byte(testBody)), nil},
		"the first item of a list":  {`[first_item]`, `[ {"type":"a"} ]`, `{"type":"a"}`, nil},
		"the whole, without a list": {`[first_item]`, testBody, testBody, nil},
		"a form in order":           {`[url, form_sorted]`, form, testURL + "a1b2", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			con := connector(t, `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: `+tt.parts+`, secret: `+testSecret+"}\nitems: '[*]'")
			r := request(tt.body, append(tt.headers, "X-Signature", hex.EncodeToString(mac(tt.signed)))...)
			if tt.body == form {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			if got := outcome(t, con, r); got != "" {
				t.Errorf("Receive: %s", got)
			}
			r.Body = append(r.Body, '1')
			if name != "the first item of a list" && outcome(t, con, r) == "" {
				t.Error("a changed body was taken")
			}
		})
	}
}

// An invented sender with an unusual signature: hex of SHA-512 over time, method and body.
func TestAnUnusualSignatureIsAFewLines(t *testing.T) {
	con := connector(t, `
verify:
  kind: signed
  algorithm: hmac-sha512
  signature: {header: X-Odd-Mark, encoding: hex}
  parts: [timestamp, "'|'", method, "'|'", body]
  timestamp: {header: X-Odd-Time, unit: s, tolerance: 2m}
  secret: `+testSecret+`
event: {type: type}
map: {phone: phone}
`)
	unix := fmt.Sprint(mutationNow.Unix())
	h := hmac.New(sha512.New, []byte(testSecret))
	fmt.Fprintf(h, "%s|POST|%s", unix, testBody)
	got, err := con.Receive(request(testBody, "X-Odd-Time", unix, "X-Odd-Mark", hex.EncodeToString(h.Sum(nil))))
	if err != nil || len(got.Events) != 1 || got.Events[0].Contact.Phone != "442079460958" || got.Events[0].Kind != "t" {
		t.Errorf("Receive = %+v, %v", got, err)
	}
}

func TestSHA1AndSHA384(t *testing.T) {
	for algorithm, sum := range map[string]func() string{
		"hmac-sha1": func() string {
			h := hmac.New(sha1.New, []byte(testSecret))
			h.Write([]byte(testBody))
			return hex.EncodeToString(h.Sum(nil))
		},
		"hmac-sha384": func() string {
			h := hmac.New(sha512.New384, []byte(testSecret))
			h.Write([]byte(testBody))
			return hex.EncodeToString(h.Sum(nil))
		},
	} {
		con := connector(t, `verify: {kind: signed, algorithm: `+algorithm+`, signature: {header: X-Signature, encoding: hex}, parts: [body], secret: `+testSecret+`}`)
		if got := outcome(t, con, request(testBody, "X-Signature", sum())); got != "" {
			t.Errorf("%s: %s", algorithm, got)
		}
	}
}

func TestHubSpotURLs(t *testing.T) {
	con := connector(t, "preset: hubspot\nsecret: "+testSecret)
	millis := fmt.Sprint(mutationNow.UnixMilli())
	sign := func(url string) string {
		return base64.StdEncoding.EncodeToString(mac("POST" + url + `[]` + millis))
	}
	tests := map[string]struct{ called, signed string }{
		"the twelve are decoded in either case": {
			"https://h.example/x?u=https%3A%2F%2fe.example%3fa%40b%21%24%27%28%29%2A%2C%3b",
			"https://h.example/x?u=https://e.example?a@b!$'()*,;",
		},
		"nothing else is": {
			"https://h.example/x?u=%20%26%3D%23%25%2B%zz%3", "https://h.example/x?u=%20%26%3D%23%25%2B%zz%3",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(`[]`, "X-HubSpot-Signature-v3", sign(tt.signed), "X-HubSpot-Request-Timestamp", millis, "Content-Type", "application/json")
			r.URL = tt.called
			if got := outcome(t, con, r); got != "" {
				t.Error(got)
			}
		})
	}
}

func TestAWeakerProofDoesNotHelpAWrongStrongerOne(t *testing.T) {
	const (
		alone  = "preset: hubspot\nsecret: " + testSecret
		config = alone + "\nverify: {prefer: [v3, v2, v1]}"
	)
	v1 := sha256.Sum256([]byte(testSecret + `[]`))
	v2 := sha256.Sum256([]byte(testSecret + "POST" + testURL + `[]`))
	millis := fmt.Sprint(mutationNow.UnixMilli())
	v3 := base64.StdEncoding.EncodeToString(mac("POST" + "https://hooks.example.com/hooks/x?source=a/b" + `[]` + millis))
	hexOf := func(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
	tests := map[string]struct {
		config  string
		headers []string
		want    string
	}{
		"v1 alone":                {config, []string{"X-HubSpot-Signature", hexOf(v1), "X-HubSpot-Signature-Version", "v1"}, ""},
		"v2 alone":                {config, []string{"X-HubSpot-Signature", hexOf(v2), "X-HubSpot-Signature-Version", "v2"}, ""},
		"v3 and v2, as workflows": {config, []string{"X-HubSpot-Signature", hexOf(v2), "X-HubSpot-Signature-Version", "v2", "X-HubSpot-Signature-v3", v3, "X-HubSpot-Request-Timestamp", millis}, ""},
		"a wrong v3 with a right v2": {
			config,
			[]string{"X-HubSpot-Signature", hexOf(v2), "X-HubSpot-Signature-Version", "v2", "X-HubSpot-Signature-v3", "AAAA", "X-HubSpot-Request-Timestamp", millis},
			"verify: v3: the signature does not match: 1 signature tried against 1 key, body of 2 bytes, method POST, URL https://hooks.example.com/hooks/x?… (12 more bytes), timestamp " + millis + " (0s old)",
		},
		"v1's signature called v2": {
			config,
			[]string{"X-HubSpot-Signature", hexOf(v1), "X-HubSpot-Signature-Version", "v2"},
			"verify: v2: the signature does not match: 1 signature tried against 1 key, body of 2 bytes, method POST, URL https://hooks.example.com/hooks/x?… (12 more bytes)",
		},
		"no version":                   {config, []string{"X-HubSpot-Signature", hexOf(v1)}, "verify: the request carries nothing that is accepted here: v3, v2, v1"},
		"v2 where only v3 is accepted": {alone, []string{"X-HubSpot-Signature", hexOf(v2), "X-HubSpot-Signature-Version", "v2"}, "verify: the request carries nothing that is accepted here: v3; it carries v2, which verify.prefer does not list"},
		"v3 where only v3 is accepted": {alone, []string{"X-HubSpot-Signature", hexOf(v1), "X-HubSpot-Signature-Version", "v1", "X-HubSpot-Signature-v3", v3, "X-HubSpot-Request-Timestamp", millis}, ""},
		"v1 where only v3 is accepted": {alone, []string{"X-HubSpot-Signature", hexOf(v1), "X-HubSpot-Signature-Version", "v1"}, "verify: the request carries nothing that is accepted here: v3; it carries v1, which verify.prefer does not list"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(`[]`, append(tt.headers, "Content-Type", "application/json")...)
			if got := outcome(t, connector(t, tt.config), r); got != tt.want {
				t.Errorf("Receive: %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	const secrets = "\nsecrets: [the-new-token-0123456789, " + testSecret + "]"
	basic := func(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }
	query := request(testBody)
	query.RawQuery = "token=" + testSecret
	wrongQuery := request(testBody)
	wrongQuery.RawQuery = "token=guess"
	twice := request(testBody)
	twice.RawQuery = "token=" + testSecret + "&token=other"
	inPath := request(testBody)
	inPath.Path = "/hooks/x/" + testSecret
	tests := map[string]struct {
		config string
		r      connectors.Request
		want   string
	}{
		"a header":                    {"verify: {kind: token, from: header, field: X-Token}" + secrets, request(testBody, "X-Token", testSecret), ""},
		"the newer of two":            {"verify: {kind: token, from: header, field: X-Token}" + secrets, request(testBody, "X-Token", "the-new-token-0123456789"), ""},
		"a prefix":                    {"verify: {kind: token, from: header, field: Authorization, prefix: 'Token '}" + secrets, request(testBody, "Authorization", "Token "+testSecret), ""},
		"no prefix":                   {"verify: {kind: token, from: header, field: Authorization, prefix: 'Token '}" + secrets, request(testBody, "Authorization", testSecret), `verify: the header Authorization does not begin with "Token "`},
		"none":                        {"verify: {kind: token, from: header, field: X-Token}" + secrets, request(testBody), "verify: there is no token in the header X-Token"},
		"a wrong one":                 {"verify: {kind: token, from: header, field: X-Token}" + secrets, request(testBody, "X-Token", "guess"), "verify: the token in the header X-Token is not the right one (it has 5 characters; 2 tokens accepted)"},
		"two different ones":          {"verify: {kind: token, from: header, field: X-Token}" + secrets, request(testBody, "X-Token", testSecret, "X-Token", "b"), "verify: the header X-Token came twice with different values"},
		"bearer":                      {"verify: {kind: token, from: bearer}" + secrets, request(testBody, "Authorization", "bearer "+testSecret), ""},
		"a parameter":                 {"verify: {kind: token, from: query, field: token}" + secrets, query, ""},
		"a wrong parameter":           {"verify: {kind: token, from: query, field: token}" + secrets, wrongQuery, "verify: the token in the URL parameter token is not the right one (it has 5 characters; 2 tokens accepted)"},
		"two different parameters":    {"verify: {kind: token, from: query, field: token}" + secrets, twice, "verify: the parameter token came twice with different values"},
		"the path":                    {"verify: {kind: token, from: path}" + secrets, inPath, ""},
		"the path without it":         {"verify: {kind: token, from: path}" + secrets, request(testBody), "verify: the token in the last part of the path is not the right one (it has 1 character; 2 tokens accepted)"},
		"the body":                    {"verify: {kind: token, from: body, field: auth.word}" + secrets, request(`{"auth":{"word":"` + testSecret + `"}}`), ""},
		"the body without it":         {"verify: {kind: token, from: body, field: auth.word}" + secrets, request(testBody), "verify: there is no token in the body's auth.word"},
		"a body that is no JSON":      {"verify: {kind: token, from: body, field: auth.word}" + secrets, request(`{'a`, "Content-Type", "application/json"), "verify: the body that should hold the token cannot be read: byte 2: a single quote where JSON wants a double one"},
		"basic":                       {"verify: {kind: basic, user: ann, password: 'a:b:correct-horse'}", request(testBody, "Authorization", basic("ann:a:b:correct-horse")), ""},
		"basic in one secret":         {"verify: {kind: basic}\nsecret: 'ann:a:b:correct-horse'", request(testBody, "Authorization", basic("ann:a:b:correct-horse")), ""},
		"basic, wrong password":       {"verify: {kind: basic, user: ann, password: 'a:b:correct-horse'}", request(testBody, "Authorization", basic("ann:a:b")), "verify: the password is not the right one (a user name of 3 characters, a password of 3 characters; 1 pair accepted)"},
		"basic, another user":         {"verify: {kind: basic, user: ann, password: 'a:b:correct-horse'}", request(testBody, "Authorization", basic("bob:a:b:correct-horse")), "verify: the user name is not the right one (a user name of 3 characters, a password of 17 characters; 1 pair accepted)"},
		"basic without base64":        {"verify: {kind: basic, user: ann, password: 'a:b:correct-horse'}", request(testBody, "Authorization", "Basic ann:b"), "verify: the header Authorization cannot be read as base64"},
		"another sort than basic":     {"verify: {kind: basic, user: ann, password: 'a:b:correct-horse'}", request(testBody, "Authorization", "Bearer x"), "verify: the header Authorization is not of the kind Basic"},
		"nothing, where that is said": {"verify: {kind: none}", request(testBody), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := outcome(t, connector(t, tt.config), tt.r); got != tt.want {
				t.Errorf("Receive: %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAllOfWantsEach(t *testing.T) {
	con := connector(t, `
verify:
  all_of:
    - {name: signature, kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [url, body]}
    - {name: word, kind: token, from: query, field: token, secret: another-secret-word}
secret: `+testSecret)
	r := request(testBody)
	signed, err := con.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := outcome(t, con, signed); got != "" {
		t.Errorf("both: %s", got)
	}
	without := signed
	without.Header = http.Header{}
	if got := outcome(t, con, without); got != "verify: signature: there is no header X-Signature" {
		t.Errorf("the token alone: %q", got)
	}
	without = signed
	without.RawQuery = ""
	if got := outcome(t, con, without); got != "verify: word: there is no token in the URL parameter token" {
		t.Errorf("the signature alone: %q", got)
	}
}

func TestAddresses(t *testing.T) {
	con := connector(t, "verify: {kind: none, allow_ips: [192.0.2.0/28, '2001:db8::1']}")
	for address, want := range map[string]string{
		"192.0.2.7":        "",
		"::ffff:192.0.2.7": "",
		"2001:db8::1":      "",
		"192.0.2.77":       "address: the address 192.0.2.77 is not in verify.allow_ips",
		"2001:db8::2":      "address: the address 2001:db8::2 is not in verify.allow_ips",
	} {
		r := request(testBody)
		r.Remote = netip.MustParseAddr(address)
		if got := outcome(t, con, r); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	r := request(testBody)
	r.Remote = netip.Addr{}
	if got := outcome(t, con, r); !strings.HasPrefix(got, "address: the sender's address is not known") {
		t.Errorf("an unknown address: %q", got)
	}
}

func TestMonitorTakesAndTells(t *testing.T) {
	con := connector(t, "verify: {kind: token, from: bearer, mode: monitor}\nsecret: "+testSecret)
	got, err := con.Receive(request(testBody))
	if err != nil || len(got.Events) != 1 || got.Unverified != "there is no token in the header Authorization" {
		t.Errorf("Receive = %+v, %v", got, err)
	}
	got, err = con.Receive(request(testBody, "Authorization", "Bearer "+testSecret))
	if err != nil || got.Unverified != "" {
		t.Errorf("a verified request: %+v, %v", got, err)
	}
}

func TestTheOfficialLibrarySignsAndWeAgree(t *testing.T) {
	raw := []byte("0123456789abcdef0123456789abcdef")
	word := "whsec_" + base64.StdEncoding.EncodeToString(raw)
	official, err := standardwebhooks.NewWebhook(word)
	if err != nil {
		t.Fatal(err)
	}
	for _, preset := range []string{"standardwebhooks", "svix", "bigcommerce"} {
		t.Run(preset, func(t *testing.T) {
			secretText := word
			if preset == "bigcommerce" {
				secretText = string(raw) // the raw bytes are the key there
			}
			con := connector(t, "preset: "+preset+"\nsecret: "+secretText)
			for i, body := range []string{testBody, `{}`, `{"type":"ünïcode","a":"\u00e9"}`} {
				id := fmt.Sprintf("msg_%d", i)
				signature, err := official.Sign(id, mutationNow, []byte(body))
				if err != nil {
					t.Fatal(err)
				}
				prefix := "webhook-"
				if preset == "svix" {
					prefix = "svix-"
				}
				r := request(body, prefix+"id", id, prefix+"timestamp", fmt.Sprint(mutationNow.Unix()), prefix+"signature", signature, "Content-Type", "application/json")
				got, err := con.Receive(r)
				if err != nil {
					t.Fatalf("their signature: %v", err)
				}
				if preset != "bigcommerce" && got.Events[0].DedupeKey != id {
					t.Errorf("the key is %q, want %q", got.Events[0].DedupeKey, id)
				}
			}
			// And the other way round, by their clock.
			r := request(testBody)
			r.Now = time.Now()
			signed, err := con.Sign(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := official.Verify(signed.Body, signed.Header); err != nil {
				t.Errorf("our signature, by their library: %v", err)
			}
		})
	}
}

func TestAsymmetricSignatures(t *testing.T) {
	for _, algorithm := range []string{"ed25519", "rsa-sha256", "ecdsa-p256-sha256"} {
		t.Run(algorithm, func(t *testing.T) {
			c := decodeConfig(t, `verify: {kind: signed, algorithm: `+algorithm+`, signature: {header: X-Signature, encoding: base64}, parts: [body_base64]}`)
			c.Verify.Key = ownKeyFor(t, algorithm)
			con := mustCompile(t, "x", c, connectors.Options{})
			r := request(testBody)
			signed, err := con.Sign(r)
			if err != nil {
				t.Fatal(err)
			}
			r = signed
			if got := outcome(t, con, r); got != "" {
				t.Errorf("a right one: %s", got)
			}
			r.Body = []byte(strings.Replace(testBody, "t", "u", 1))
			if got := outcome(t, con, r); !strings.HasPrefix(got, "verify: the signature does not match") {
				t.Errorf("a changed body: %q", got)
			}
			other := c
			otherVerify := *c.Verify
			otherVerify.Key = ownKeyFor(t, algorithm)
			other.Verify = &otherVerify
			if got := outcome(t, mustCompile(t, "x", other, connectors.Options{}), r); !strings.HasPrefix(got, "verify: the signature does not match") {
				t.Errorf("another key: %q", got)
			}
		})
	}
	con := connector(t, "preset: gohighlevel")
	if _, err := con.Sign(request(testBody)); err == nil || !strings.HasPrefix(err.Error(), "only the sender holds the private key") {
		t.Errorf("Sign for a sender with a private key: %v", err)
	}
}

func TestJWT(t *testing.T) {
	for _, algorithm := range []string{"hmac-sha256", "hmac-sha384", "hmac-sha512", "rsa-sha256", "ecdsa-p256-sha256", "ed25519"} {
		t.Run(algorithm, func(t *testing.T) {
			c := decodeConfig(t, "verify: {kind: jwt, algorithm: "+algorithm+", claims: {aud: nudgewire}, body_hash: body_sha256}\nsecret: "+testSecret)
			if !strings.HasPrefix(algorithm, "hmac") {
				c.Verify.Key = ownKeyFor(t, algorithm)
			}
			con := mustCompile(t, "x", c, connectors.Options{})
			r := request(testBody)
			signed, err := con.Sign(r)
			if err != nil {
				t.Fatal(err)
			}
			r = signed
			if got := outcome(t, con, r); got != "" {
				t.Fatalf("a right one: %s", got)
			}
			late := r
			late.Now = r.Now.Add(7 * time.Minute)
			if got := outcome(t, con, late); got != "verify: the JWT ended; it is 2m0s old" {
				t.Errorf("a late one: %q", got)
			}
			other := r
			other.Body = []byte(`{"type":"u"}`)
			if got := outcome(t, con, other); got != "verify: the JWT's claim body_sha256 is not the hash of the body" {
				t.Errorf("another body: %q", got)
			}
			text := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			parts := strings.Split(text, ".")
			none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
			for name, tt := range map[string]struct{ token, want string }{
				"algorithm none":     {none, `verify: the JWT names the algorithm "none", and only`},
				"a spoilt signature": {parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)), "verify: the JWT's signature does not match"},
				"no JWT":             {"abc", "verify: the header Authorization holds no JWT"},
				"other content":      {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"nudgewire"}`)) + "." + parts[2], "verify: the JWT's signature does not match"},
			} {
				wrong := r
				wrong.Header = http.Header{"Authorization": {"Bearer " + tt.token}}
				if got := outcome(t, con, wrong); !strings.HasPrefix(got, tt.want) {
					t.Errorf("%s: %q, want %q", name, got, tt.want)
				}
			}
		})
	}
}

func TestFreshnessMayStandInTheBody(t *testing.T) {
	con := connector(t, `verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [body], freshness: {body: at, unit: rfc3339}, secret: `+testSecret+`}`)
	r := request(testBody, "X-Signature", hex.EncodeToString(mac(testBody)))
	if got := outcome(t, con, r); got != "" {
		t.Errorf("a fresh one: %s", got)
	}
	r.Now = r.Now.Add(6 * time.Minute)
	if got := outcome(t, con, r); got != "verify: the timestamp is 6m0s old, more than 5m0s" {
		t.Errorf("an old one: %q", got)
	}
	r = request(`{}`, "X-Signature", hex.EncodeToString(mac(`{}`)))
	if got := outcome(t, con, r); got != "verify: the body has no at, where the time should be" {
		t.Errorf("one without: %q", got)
	}
}

func FuzzSignatureHeaders(f *testing.F) {
	signed := []string{"shopify", "stripe", "standardwebhooks", "facebook_leads", "typeform"}
	var all []*connectors.Connector
	for _, preset := range signed {
		all = append(all, mustCompile(f, preset, ownConfig(f, preset, testSecret), connectors.Options{}))
	}
	for _, s := range []string{"t=1,v1=aa", "v1,aa v1a,bb", "sha256=00", "=", ",,,", "t=1,t=2,v1=", strings.Repeat("v1=a,", 100), "v1,\x00"} {
		f.Add(s, "1763600000")
	}
	f.Fuzz(func(t *testing.T, header, stamp string) {
		for i, con := range all {
			r := request(testBody, "Content-Type", "application/json")
			for _, name := range []string{"X-Shopify-Hmac-Sha256", "Stripe-Signature", "Webhook-Signature", "X-Hub-Signature-256", "Typeform-Signature"} {
				r.Header[name] = []string{header}
			}
			r.Header["Webhook-Id"], r.Header["Webhook-Timestamp"] = []string{"a"}, []string{stamp}
			_, err := con.Receive(r)
			rejected := rejectedBy(t, err)
			if rejected == nil || rejected.Stage != connectors.StageVerify {
				t.Fatalf("%s took %q: %v", signed[i], header, err)
			}
			if strings.Contains(rejected.Reason, testSecret) {
				t.Fatalf("the reason holds the secret: %s", rejected.Reason)
			}
		}
	})
}
