package connectors

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A body that is a JWT as a whole (verify: {kind: jwt, from: body}) is read as its claims. They are JSON in UTF-8, whatever content type
// the token came as. What is stored is the claims, so all that is done to a payload (replay, forgetting a person, masking) is done to
// them. A body that is no JWT is read as it is: the API and a replay post the claims themselves, and a verifier that wants the token
// has refused the request before.

// opened is the request with the claims for its body, where the connector takes a JWT as the whole body and the body is one.
func (b *bodyReader) opened(r *Request) *Request {
	if !b.token {
		return r
	}
	claims := claimsOf(r.Body)
	if claims == nil {
		return r
	}
	out := *r
	out.Body, out.Header, out.claims = claims, r.Header.Clone(), true
	if out.Header == nil {
		out.Header = http.Header{}
	}
	out.Header.Set("Content-Type", jsonType+"; charset=utf-8")
	return &out
}

// claimsOf are the claims of a body that is a JWT; nil for any other body. Nothing is verified here.
func claimsOf(body []byte) []byte {
	_, rest, _ := strings.Cut(compactJWT(body), ".")
	middle, _, _ := strings.Cut(rest, ".")
	claims, err := base64.RawURLEncoding.Strict().DecodeString(middle)
	if err != nil || !bytes.HasPrefix(bytes.TrimLeft(claims, " \r\n\t"), []byte("{")) || rawjson.Check(string(rawjson.OneReading(claims))) != nil {
		return nil
	}
	return claims
}

// compactJWT is a body that is a JWT: three parts in base64url, as plain text or as one JSON text; "" for any other.
func compactJWT(body []byte) string {
	text := strings.TrimSpace(sharedText(trimBOM(body)))
	if inside, ok := strings.CutPrefix(text, `"`); ok {
		text = strings.TrimSuffix(inside, `"`)
	}
	if !jwtText.MatchString(text) {
		return ""
	}
	return text
}

// A JWT's header is a JSON object, so its text begins with these letters.
var (
	jwtText   = regexp.MustCompile(`^eyJ[\w-]*\.[\w-]+\.[\w-]*$`)
	jwtInText = regexp.MustCompile(`\beyJ[\w-]*\.[\w-]+(\.[\w-]*)?`)
)

// Shown is a body for people to look at: the claims of one that is a JWT, and no JWT or secret of the connector in it. A token that
// is shown is a token that somebody can post again.
func (c *Connector) Shown(body []byte) []byte {
	if claims := claimsOf(body); claims != nil && c.body.token {
		body = claims
	}
	text := jwtInText.ReplaceAllString(string(body), "(a JWT)")
	for _, secret := range c.verify.words {
		if secret = strings.TrimSpace(secret); secret != "" {
			text = strings.ReplaceAll(text, secret, "(a secret)")
		}
	}
	return []byte(text)
}

// envelope are the claims that say of a token when and by whom it was made, and nothing of what happened: a token that is made anew
// for a repeated delivery has other ones.
//
// Source: RFC 7519, 4.1.
var envelope = map[string]bool{"iat": true, "exp": true, "nbf": true, "jti": true}

// content is what of a payload tells one event from another by its hash.
func (e *eventRule) content(payload []byte) []byte {
	if !e.token || !bytes.HasPrefix(payload, []byte("{")) {
		return payload
	}
	var out []byte
	for name, value := range rawjson.Members(sharedText(payload)) {
		if !envelope[name] {
			out = append(append(rawjson.AppendString(out, name), value...), ',')
		}
	}
	return out
}
