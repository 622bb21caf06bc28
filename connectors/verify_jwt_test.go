package connectors_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/connectors"
)

// hs256 is a JWT as RFC 7515 makes it.
func hs256(claims, key string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// until is a claim exp that far from the tests' now.
func until(left time.Duration) string { return fmt.Sprintf(`"exp":%d`, mutationNow.Add(left).Unix()) }

// forged is a token that says something else under the signature of the first.
func forged(token string) string {
	parts := strings.Split(token, ".")
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(claims), "t", "u", 1)))
	return strings.Join(parts, ".")
}

func TestAJWTIsReadFromWhereTheConfigSays(t *testing.T) {
	for name, tt := range map[string]struct {
		place   string
		request func(token string) connectors.Request
		missing string
	}{
		"bearer, unless said otherwise": {"", func(token string) connectors.Request { return request(testBody, "Authorization", "Bearer "+token) }, "there is no JWT in the header Authorization"},
		"bearer":                        {", from: bearer", func(token string) connectors.Request { return request(testBody, "Authorization", "bearer "+token) }, "there is no JWT in the header Authorization"},
		"the whole header, as monday":   {", from: header, field: Authorization", func(token string) connectors.Request { return request(testBody, "Authorization", token) }, "there is no JWT in the header Authorization"},
		"another header":                {", from: header, field: X-Token", func(token string) connectors.Request { return request(testBody, "X-Token", token) }, "there is no JWT in the header X-Token"},
		"a header with a prefix":        {", from: header, field: X-Token, prefix: 'JWT '", func(token string) connectors.Request { return request(testBody, "X-Token", "JWT "+token) }, "there is no JWT in the header X-Token"},
		"a parameter": {", from: query, field: jwt", func(token string) connectors.Request {
			r := request(testBody)
			r.RawQuery = "a=b&jwt=" + token
			return r
		}, "there is no JWT in the URL parameter jwt"},
		"a field of the body": {", from: body, field: auth.token", func(token string) connectors.Request {
			return request(`{"type":"t","auth":{"token":"` + token + `"}}`)
		}, "there is no JWT in the body's auth.token"},
		"a field of a form": {", from: body, field: token", func(token string) connectors.Request {
			return request("type=t&token="+url.QueryEscape(token), "Content-Type", "application/x-www-form-urlencoded")
		}, "there is no JWT in the body's token"},
		"the whole body": {", from: body", func(token string) connectors.Request { return request(token, "Content-Type", "text/plain") }, "the body is no JWT"},
	} {
		t.Run(name, func(t *testing.T) {
			con := connector(t, "verify: {kind: jwt"+tt.place+", secret: "+testSecret+"}\nevent: {type: type}")
			good := hs256(`{"type":"t",`+until(time.Minute)+`}`, testSecret)
			for what, one := range map[string]struct{ token, want string }{
				"good":        {good, ""},
				"old":         {hs256(`{`+until(-2*time.Minute)+`}`, testSecret), "verify: the JWT ended; it is 2m0s old"},
				"another key": {hs256(`{`+until(time.Minute)+`}`, "another-secret-0123456789"), "verify: the JWT's signature does not match (1 key tried)"},
				"forged":      {forged(good), "verify: the JWT's signature does not match (1 key tried)"},
				"missing":     {"", "verify: " + tt.missing},
				"no JWT":      {"abc", "verify: "},
			} {
				if got := outcome(t, con, tt.request(one.token)); got != one.want && (one.want != "verify: " || !strings.HasPrefix(got, one.want)) {
					t.Errorf("%s: %q, want %q", what, got, one.want)
				}
			}
			signed, err := con.Sign(tt.request(good))
			if err != nil {
				t.Fatal(err)
			}
			if got := outcome(t, con, signed); got != "" {
				t.Errorf("signed here: %q", got)
			}
			head := tt.request(good)
			head.Body = nil
			if limit, no := con.Worth(&head, 10); limit == 0 {
				t.Errorf("the head of a good request is worth nothing: %v", no)
			}
		})
	}
}

func TestAHeaderWithTwoTokensOrAnotherPrefixIsRefused(t *testing.T) {
	con := connector(t, "verify: {kind: jwt, from: header, field: X-Token, prefix: 'JWT ', secret: "+testSecret+"}")
	good := hs256(`{"type":"t",`+until(time.Minute)+`}`, testSecret)
	for name, tt := range map[string]struct {
		values []string
		want   string
	}{
		"without its prefix": {[]string{good}, `verify: the header X-Token does not begin with "JWT "`},
		"two of them":        {[]string{"JWT " + good, "JWT " + forged(good)}, "verify: the header X-Token came twice with different values"},
	} {
		r := request(testBody)
		r.Header["X-Token"] = tt.values
		if got := outcome(t, con, r); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// wixLike is an envelope as Wix nests it: JSON as text inside of JSON as text.
func wixLike(t testing.TB, id, phone, times string) string {
	t.Helper()
	asText := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	inner := asText(map[string]any{"id": id, "slug": "created", "phone": phone, "name": "Zoë"})
	outer := asText(map[string]any{"eventType": "thing_created", "instanceId": "i", "data": inner, "identity": `{"identityType":"APP"}`})
	return `{"data":` + asText(outer) + `,` + times + `}`
}

const claimsConfig = `
verify: {kind: jwt, from: body, secret: ` + testSecret + `}
body: {json_in: [data, data.data], accept: [json], charset: ISO-8859-1}
event: {type: data.eventType, %s aliases: {thing_created: order.created}}
map: {phone: data.data.phone, name: data.data.name}
`

func TestABodyThatIsAJWTIsItsClaims(t *testing.T) {
	con := connector(t, fmt.Sprintf(claimsConfig, "id: [data.data.id],"))
	token := hs256(wixLike(t, "e1", "+447700900123", until(time.Hour)), testSecret)
	for name, r := range map[string]connectors.Request{
		"as text":         request(token, "Content-Type", "text/plain; charset=utf-8"),
		"without a type":  request(token),
		"as JSON":         request(token, "Content-Type", "application/json"),
		"as a JSON text":  request(`"`+token+`"`, "Content-Type", "application/json"),
		"as a JWT":        request(token, "Content-Type", "application/jwt"),
		"as a form":       request(token, "Content-Type", "application/x-www-form-urlencoded"),
		"with a line end": request("\ufeff"+token+"\r\n", "Content-Type", "text/plain"),
	} {
		got, err := con.Receive(r)
		if err != nil || len(got.Events) != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		e := got.Events[0]
		if e.Kind != "order.created" || e.Contact.Phone != "447700900123" || e.Contact.Name != "Zoë" || e.DedupeKey != "e1" {
			t.Errorf("%s: %s %+v, %s", name, e.Kind, e.Contact, e.DedupeKey)
		}
		// What is stored is what people and programs read: no token, and no JSON hidden in a text.
		if text := string(e.Payload); e.ContentType != "application/json" || !json.Valid(e.Payload) || strings.Contains(text, "eyJ") || !strings.Contains(text, `"phone":"+447700900123"`) {
			t.Errorf("%s: stored as %s: %s", name, e.ContentType, text)
		}
		// A replay and the API post what is stored, and have proven who they are.
		again := request(string(e.Payload), "Content-Type", "application/json")
		again.Proven = true
		if re, err := con.Receive(again); err != nil || re.Events[0].DedupeKey != e.DedupeKey || re.Events[0].Contact.Phone != e.Contact.Phone {
			t.Errorf("%s: posted again: %+v, %v", name, re, err)
		}
	}
	for name, tt := range map[string]struct {
		r    connectors.Request
		want string
	}{
		"the claims alone":       {request(wixLike(t, "e1", "+447700900123", until(time.Hour)), "Content-Type", "application/json"), "verify: the body is no JWT"},
		"the token in a header":  {request(testBody, "Authorization", "Bearer "+token), "verify: the body is no JWT"},
		"claims that are a list": {request(hs256(`[1]`, testSecret)), "verify: the body holds no JWT"},
		"an empty body":          {request(""), "verify: the body is no JWT"},
		"two tokens":             {request(token + "\n" + token), "verify: the body is no JWT"},
		"compressed":             {request(token, "Content-Encoding", "gzip"), "content: the content encoding is gzip, and bodies are read as they come: switch compression off at the sender"},
	} {
		if got := outcome(t, con, tt.r); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for _, body := range []string{"{json_in: [data, data.data], content: text}", "{json_in: [data, data.data], content: form}", "{json_in: [data, data.data], accept: [text]}"} {
		same := connector(t, strings.Replace(fmt.Sprintf(claimsConfig, ""), "{json_in: [data, data.data], accept: [json], charset: ISO-8859-1}", body, 1))
		if got, err := same.Receive(request(token, "Content-Type", "text/plain")); err != nil || got.Events[0].Contact.Phone != "447700900123" {
			t.Errorf("%s: %+v, %v", body, got.Events, err)
		}
	}
	small := connector(t, fmt.Sprintf(claimsConfig, "")+"\nsilent_after: 24h")
	if got := outcome(t, small, request(hs256(wixLike(t, "e1", strings.Repeat("9", 1<<20), until(time.Hour)), testSecret))); !strings.HasPrefix(got, "size: the body has") {
		t.Errorf("a long token: %q", got)
	}
	if got := outcome(t, small, request(hs256(wixLike(t, "e1", strings.Repeat(" ", 100_000)+"+447700900123", until(time.Hour)), testSecret))); got != "" {
		t.Errorf("a token that is longer than a header could be: %q", got)
	}
}

// Whatever the claims are, what is stored says the same.
func TestAnyClaimsAreReadAsTheyAre(t *testing.T) {
	con := connector(t, "verify: {kind: jwt, from: body, secret: "+testSecret+"}\nevent: {id: [id]}")
	rapid.Check(t, func(t *rapid.T) {
		claims := map[string]any{"exp": float64(mutationNow.Unix() + 60)}
		for name, value := range rapid.MapOf(rapid.StringMatching(`[a-dé"\\.]{1,6}`), rapid.StringMatching(`[ -~é漢]{0,20}`)).Draw(t, "claims") {
			claims[name] = value
		}
		claims["id"] = "e"
		text, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		got, err := con.Receive(request(hs256(string(text), testSecret)))
		if err != nil {
			t.Fatal(err)
		}
		var stored map[string]any
		if err := json.Unmarshal(got.Events[0].Payload, &stored); err != nil || !reflect.DeepEqual(stored, claims) {
			t.Fatalf("%s is stored as %s (%v)", text, got.Events[0].Payload, err)
		}
	})
}

// A sender that repeats a delivery makes its token anew: what the token says of itself is no part of what happened.
func TestATokenThatIsMadeAnewIsTheSameEvent(t *testing.T) {
	con := connector(t, fmt.Sprintf(claimsConfig, ""))
	key := func(claims string) string {
		t.Helper()
		got, err := con.Receive(request(hs256(claims, testSecret)))
		if err != nil {
			t.Fatal(err)
		}
		return got.Events[0].DedupeKey
	}
	first := key(wixLike(t, "e1", "+447700900123", until(time.Hour)))
	if again := key(wixLike(t, "e1", "+447700900123", until(2*time.Hour)+fmt.Sprintf(`,"iat":%d,"nbf":%d,"jti":"j2"`, mutationNow.Unix(), mutationNow.Unix()))); again != first {
		t.Errorf("a token that is made anew has the key %s, and the first %s", again, first)
	}
	if other := key(wixLike(t, "e2", "+447700900123", until(time.Hour))); other == first {
		t.Error("another event has the same key")
	}
	both := connector(t, "verify: {kind: none}")
	for _, body := range []string{`{"iat":1,"a":2}`, `{"iat":2,"a":2}`} {
		got, err := both.Receive(request(body))
		if err != nil || got.Events[0].DedupeKey == first {
			t.Fatal(err)
		}
		if body == `{"iat":1,"a":2}` {
			first = got.Events[0].DedupeKey
		}
	}
}

func TestAJWTBesideOtherVerifiers(t *testing.T) {
	const jwtBody, word = "{name: jwt, kind: jwt, from: body, secret: " + testSecret + "}", "{name: word, kind: token, from: header, field: X-Word, secret: another-secret-word}"
	signed := "{name: mark, kind: signed, algorithm: hmac-sha256, signature: {header: X-Mark, encoding: hex}, parts: [body], secret: " + testSecret + "}"
	good := hs256(`{"type":"t",`+until(time.Minute)+`}`, testSecret)
	for name, tt := range map[string]struct {
		verify, body string
		headers      []string
		want         string
	}{
		"all of, both":                   {"all_of: [" + jwtBody + ", " + word + "]", good, []string{"X-Word", "another-secret-word"}, ""},
		"all of, no word":                {"all_of: [" + jwtBody + ", " + word + "]", good, nil, "verify: word: there is no token in the header X-Word"},
		"all of, no token":               {"all_of: [" + jwtBody + ", " + word + "]", testBody, []string{"X-Word", "another-secret-word"}, "verify: jwt: the body is no JWT"},
		"any of, the token":              {"any_of: [" + jwtBody + ", " + word + "]", good, nil, ""},
		"any of, the word":               {"any_of: [" + jwtBody + ", " + word + "]", testBody, []string{"X-Word", "another-secret-word"}, ""},
		"any of, a forged token decides": {"any_of: [" + jwtBody + ", " + word + "]", forged(good), []string{"X-Word", "another-secret-word"}, "verify: jwt: the JWT's signature does not match (1 key tried)"},
		"any of, neither":                {"any_of: [" + jwtBody + ", " + word + "]", testBody, nil, "verify: the request carries nothing that is accepted here: jwt, word"},
		"all of, the body signed":        {"all_of: [" + jwtBody + ", " + signed + "]", good, []string{"X-Mark", fmt.Sprintf("%x", mac(good))}, ""},
	} {
		con := connector(t, "verify: {"+tt.verify+"}\nevent: {type: type}")
		r := request(tt.body, tt.headers...)
		if got := outcome(t, con, r); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if tt.want != "" {
			continue
		}
		again, err := con.Sign(request(`{"type":"t"}`, "Content-Type", "application/json"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got, err := con.Receive(again); err != nil || got.Events[0].Topic != "t" {
			t.Errorf("%s, signed here: %+v, %v", name, got, err)
		}
	}
}

// What a trace shows of a body is no token that somebody could post again.
func TestNoTokenIsShown(t *testing.T) {
	con := connector(t, fmt.Sprintf(claimsConfig, ""))
	token := hs256(wixLike(t, "e1", "+447700900123", until(time.Hour)), testSecret)
	if got := string(con.Shown([]byte(token))); !strings.HasPrefix(got, `{"data":`) || strings.Contains(got, token[len(token)-43:]) {
		t.Errorf("shown of a token: %s", got)
	}
	field := connector(t, "verify: {kind: token, from: body, field: token, secret: "+testSecret+"}")
	for body, want := range map[string]string{
		`{"token":"` + testSecret + `","a":1}`: `{"token":"(a secret)","a":1}`,
		`{"auth":"` + token + `","a":1}`:       `{"auth":"(a JWT)","a":1}`,
		`{"auth":"` + token[:90]:               `{"auth":"(a JWT)`,
		`{"a":"eyJust words."}`:                `{"a":"eyJust words."}`,
	} {
		if got := string(field.Shown([]byte(body))); got != want {
			t.Errorf("shown of %s: %s", body, got)
		}
	}
}

func TestWhatAJWTConnectorSaysOfItself(t *testing.T) {
	for config, want := range map[string]string{
		"verify: {kind: jwt, secret: " + testSecret + "}":                             "a signed token (JWT)",
		"verify: {kind: jwt, from: body, secret: " + testSecret + "}":                 "a signed token (JWT) that is the body",
		"verify: {kind: jwt, from: header, field: X-A, secret: " + testSecret + "}":   "a signed token (JWT) in the header X-A",
		"verify: {kind: jwt, from: query, field: t, secret: " + testSecret + "}":      "a signed token (JWT) in the URL parameter t",
		"verify: {kind: jwt, from: body, field: a.t, secret: " + testSecret + "}":     "a signed token (JWT) in the body's a.t",
		"verify: {kind: token, from: bearer, secret: " + testSecret + "}":             "a bearer token",
		"verify: {kind: token, from: path, secret: " + testSecret + "}":               "a token at the end of the URL",
		"verify: {kind: token, from: body, field: token, secret: " + testSecret + "}": "a token in the body's token",
	} {
		if got := connector(t, config).Info().Verifier; got != want {
			t.Errorf("%s: %s", config, got)
		}
	}
	warned := problemsOf(t, "x", "verify: {kind: jwt, from: body, secret: "+testSecret+"}")
	if strings.Contains(warned, "shows who calls") {
		t.Errorf("a JWT that is the body covers it: %s", warned)
	}
	if got := problemsOf(t, "x", "verify: {kind: jwt, from: body, field: t, secret: "+testSecret+"}"); !strings.Contains(got, "shows who calls, not what the body says") {
		t.Errorf("a JWT in a field of the body does not cover the others: %s", got)
	}
}
