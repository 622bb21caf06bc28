package connectors

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// jwt is a signed token in a header (RFC 7519). Which algorithm counts is the config's
// word, never the token's: a token that names another one is refused.
type jwt struct {
	name      string
	algorithm string // HS256, RS256 or ES256
	keys      []key
	claims    []wanted
	bodyHash  string
	skew      time.Duration
}

var jwtAlgorithms = map[string]string{
	"hmac-sha256":  "HS256",
	algorithmRSA:   "RS256",
	algorithmECDSA: "ES256",
}

func (j *jwt) called() string { return j.name }

func (j *jwt) carried(r *Request) bool { return len(r.Header["Authorization"]) > 0 }

func (j *jwt) hopeless(r *Request) string {
	if headerText(r.Header, "Authorization") != "" {
		return ""
	}
	return "there is no header Authorization"
}

func (j *jwt) check(r *Request) string {
	written, reason := only(r.Header, "Authorization")
	switch {
	case reason != "":
		return reason
	case written == "":
		return "there is no header Authorization"
	}
	text, _ := cutPrefixFold(written, "Bearer ")
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) != 3 || len(text) > 8192 {
		return "the header Authorization holds no JWT"
	}
	head, payload := jwtPart(parts[0]), jwtPart(parts[1])
	if checkJSON(head) != nil || checkJSON(payload) != nil {
		return "the JWT's head or content is not JSON"
	}
	if alg := textOf(member(head, "alg")); alg != j.algorithm {
		return fmt.Sprintf("the JWT names the algorithm %q, and only %s is accepted", short(alg), j.algorithm)
	}
	if member(head, "crit") != "" {
		return "the JWT demands extensions that are not known here"
	}
	sig, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil {
		return "the JWT's signature is not base64url"
	}
	if j.algorithm == "ES256" {
		if sig = jwtECDSA(sig); sig == nil {
			return "the JWT's signature has the wrong length"
		}
	}
	if right, _ := matchesAny(j.keys, jwtMessage(r, parts[0]+"."+parts[1]), sig); !right {
		return fmt.Sprintf("the JWT's signature does not match (%s tried)", count(len(j.keys), "key"))
	}
	return j.content(r, payload)
}

// content checks what the signed token says.
func (j *jwt) content(r *Request, payload string) string {
	if reason := j.times(r.Now, payload); reason != "" {
		return reason
	}
	for _, w := range j.claims {
		found := false
		claim := member(payload, w.name)
		for one := range entriesOrSelf(claim) {
			found = found || sameText(textOf(one), w.value)
		}
		if !found {
			return "the JWT's claim " + w.name + " is not the right one"
		}
	}
	if j.bodyHash == "" {
		return ""
	}
	sum := sha256.Sum256(r.Body)
	given := textOf(member(payload, j.bodyHash))
	for _, right := range []string{
		hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:]), base64.RawURLEncoding.EncodeToString(sum[:]),
	} {
		if subtle.ConstantTimeCompare([]byte(given), []byte(right)) == 1 {
			return ""
		}
	}
	return "the JWT's claim " + j.bodyHash + " is not the hash of the body"
}

// times demands an end: a token without one could be used for ever.
func (j *jwt) times(now time.Time, payload string) string {
	at := func(claim string) (time.Time, bool) {
		seconds, err := strconv.ParseFloat(textOf(member(payload, claim)), 64)
		return time.Unix(int64(seconds), 0), err == nil
	}
	exp, ok := at("exp")
	iat, hasIat := at("iat")
	switch {
	case ok && now.After(exp.Add(j.skew)):
		return "the JWT ended; it is " + ago(now, exp)
	case !ok && !hasIat:
		return "the JWT has neither exp nor iat, so it could be used for ever"
	case !ok && now.Sub(iat) > defaultTolerance:
		return "the JWT is " + ago(now, iat) + ", more than " + defaultTolerance.String()
	}
	if nbf, ok := at("nbf"); ok && nbf.After(now.Add(j.skew)) {
		return "the JWT is not valid yet; it begins " + ago(now, nbf)
	}
	if hasIat && iat.After(now.Add(j.skew)) {
		return "the JWT was made " + ago(now, iat)
	}
	return ""
}

func entriesOrSelf(raw string) func(yield func(string) bool) {
	if raw != "" && raw[0] == '[' {
		return elements(raw)
	}
	return func(yield func(string) bool) {
		if raw != "" {
			yield(raw)
		}
	}
}

func jwtPart(text string) string {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(raw)
}

func jwtMessage(r *Request, text string) *message {
	return &message{request: r, parts: []partWriter{func(_ *message, to *digest) error { to.text(text); return nil }}}
}

// jwtECDSA turns the two numbers of an ES256 signature into the ASN.1 that our keys read.
func jwtECDSA(sig []byte) []byte {
	const half = 32
	if len(sig) != 2*half {
		return nil
	}
	integer := func(raw []byte) []byte {
		b := new(big.Int).SetBytes(raw).Bytes()
		if len(b) == 0 || b[0]&0x80 != 0 {
			b = append([]byte{0}, b...)
		}
		return append([]byte{0x02, byte(len(b))}, b...)
	}
	body := append(integer(sig[:half]), integer(sig[half:])...)
	return append([]byte{0x30, byte(len(body))}, body...)
}

// jwtNumbers is the other way round, for signing.
func jwtNumbers(der []byte) []byte {
	const half = 32
	out := make([]byte, 2*half)
	at := 2
	for i := range 2 {
		if at+2 > len(der) || at+2+int(der[at+1]) > len(der) {
			return nil
		}
		number := der[at+2 : at+2+int(der[at+1])]
		at += 2 + len(number)
		new(big.Int).SetBytes(number).FillBytes(out[i*half : (i+1)*half])
	}
	return out
}

func (j *jwt) sign(r *Request, out *signing) error {
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"` + j.algorithm + `","typ":"JWT"}`))
	payload := []byte(fmt.Sprintf(`{"iat":%d,"exp":%d`, r.Now.Unix(), r.Now.Add(defaultTolerance).Unix()))
	for _, w := range j.claims {
		payload = append(payload, ',')
		payload = append(appendQuoted(payload, w.name), ':')
		payload = appendQuoted(payload, w.value)
	}
	if j.bodyHash != "" {
		sum := sha256.Sum256(r.Body)
		payload = append(payload, ',')
		payload = append(appendQuoted(payload, j.bodyHash), ':')
		payload = appendQuoted(payload, hex.EncodeToString(sum[:]))
	}
	text := head + "." + base64.RawURLEncoding.EncodeToString(append(payload, '}'))
	sig, err := j.keys[0].sign(jwtMessage(r, text))
	if err != nil {
		return err
	}
	if j.algorithm == "ES256" {
		sig = jwtNumbers(sig)
	}
	out.header.Set("Authorization", "Bearer "+text+"."+base64.RawURLEncoding.EncodeToString(sig))
	return nil
}

// jwt compiles the proof.
func (k *compiler) jwt(path, name string, v *Verify, secrets []located) proof {
	algorithm := v.Algorithm
	if algorithm == "" {
		algorithm = "hmac-sha256"
	}
	j := &jwt{name: name, algorithm: jwtAlgorithms[algorithm], bodyHash: v.BodyHash, skew: time.Minute}
	if j.algorithm == "" {
		k.unknown(path+".algorithm", algorithm, "algorithm of a JWT here", []string{"hmac-sha256", algorithmRSA, algorithmECDSA})
		return nil
	}
	for _, c := range v.Claims {
		if c.Value == "" {
			k.add(path+".claims."+c.Key, "is empty", "write the value that the claim must have")
		}
		j.claims = append(j.claims, wanted{name: c.Key, value: c.Value})
	}
	if asymmetric(algorithm) {
		j.keys = k.publicKeys(path, v.Key, algorithm)
	} else {
		j.keys = k.macKeys(path, v, algorithm, secrets)
	}
	if len(j.keys) == 0 {
		return nil
	}
	if v.BodyHash == "" {
		k.warn(path+".kind", "a JWT without body_hash proves who calls, not what the body says", "set body_hash if the sender puts the body's hash into a claim")
	}
	return j
}
