package connectors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/connectors/signatures"

	jwtlib "github.com/golang-jwt/jwt/v5"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// JWTKeys are the keys of kind jwt, beside algorithm and key.
type JWTKeys struct {
	Claims   yamlpos.Ordered[string] `yaml:"claims" doc:"For jwt: claims that must have these values." example:"{aud: nudgewire}"`
	BodyHash string                  `yaml:"body_hash" doc:"For jwt: the claim that holds the SHA-256 of the body, in hex or base64."`
}

// jwt is a signed token (RFC 7519) at a place of the request, or a body that is one. Which algorithm counts is the config's
// word, never the token's: a token that names another one is rejected. The library reads the token,
// its signature and its times; the claims and the hash of the body are ours.
type jwt struct {
	named
	signaturePlace
	method   jwtlib.SigningMethod
	keys     jwtlib.VerificationKeySet
	signer   any // for sign; nil where only the sender can
	claims   []wanted
	bodyHash string
}

// Source: RFC 7518, 3.1; RFC 8037, 3.1.
var jwtMethods = map[string]jwtlib.SigningMethod{
	"hmac-sha256":               jwtlib.SigningMethodHS256,
	"hmac-sha384":               jwtlib.SigningMethodHS384,
	"hmac-sha512":               jwtlib.SigningMethodHS512,
	signatures.AlgorithmRSA:     jwtlib.SigningMethodRS256,
	signatures.AlgorithmECDSA:   jwtlib.SigningMethodES256,
	signatures.AlgorithmEd25519: jwtlib.SigningMethodEdDSA,
}

const (
	maxJWT  = 8192        // characters of one that is no body
	jwtSkew = time.Minute // as clocks differ
)

func jwtWords(v *Verify) string {
	switch {
	case v.From == "" || v.From == fromBearerPlace:
		return "a signed token (JWT)"
	case v.From == fromBodyPlace && v.Field == "":
		return "a signed token (JWT) that is the body"
	}
	return "a signed token (JWT) " + v.placeWords()
}

func (j *jwt) traits() traits {
	return traits{body: j.bodyHash != "" || j.whole(), time: true, alters: j.whole() || j.from == fromQueryPlace}
}

// precheck is all that the head of a request shows: whether there is a token.
func (j *jwt) precheck(r *Request) string {
	if j.from == fromBodyPlace {
		return ""
	}
	_, reason := j.token(r)
	return reason
}

// token is the JWT that the request brings.
func (j *jwt) token(r *Request) (text, reason string) {
	text, reason = j.given(r)
	switch {
	case reason != "":
		return "", reason
	case text == "" && j.whole():
		return "", "the body is no JWT"
	case text == "":
		return "", "there is no JWT in " + j.where()
	case len(text) > maxJWT && !j.whole():
		return "", j.where() + " holds no JWT"
	}
	return text, ""
}

var errJWTExtensions = errors.New("the JWT demands extensions that are not known here")

func (j *jwt) check(r *Request) string {
	text, reason := j.token(r)
	if reason != "" {
		return reason
	}
	claims := jwtlib.MapClaims{}
	parser := jwtlib.NewParser(
		jwtlib.WithValidMethods([]string{j.method.Alg()}), jwtlib.WithStrictDecoding(), jwtlib.WithJSONNumber(),
		jwtlib.WithIssuedAt(), jwtlib.WithLeeway(jwtSkew), jwtlib.WithTimeFunc(func() time.Time { return r.Now }),
	)
	_, err := parser.ParseWithClaims(text, claims, func(t *jwtlib.Token) (any, error) {
		if _, ok := t.Header["crit"]; ok { // the library does not look at it (RFC 7515, 4.1.11)
			return nil, errJWTExtensions
		}
		return j.keys, nil
	})
	if err != nil {
		return j.refusalWords(r, err, text, claims)
	}
	if reason := endless(r, claims); reason != "" {
		return reason
	}
	for _, w := range j.claims {
		if !claimHas(claims[w.name], w.value) {
			return "the JWT's claim " + w.name + " is not the right one"
		}
	}
	if j.bodyHash != "" && !isHashOf(claims[j.bodyHash], r.Body) {
		return "the JWT's claim " + j.bodyHash + " is not the hash of the body"
	}
	return ""
}

// endless is why a token without an end cannot be taken: it could be used for ever. One that says when it was made ends as a signed
// time does.
func endless(r *Request, claims jwtlib.MapClaims) string {
	if end, _ := claims.GetExpirationTime(); end != nil { // that it is one, the library has seen
		return ""
	}
	made, _ := claims.GetIssuedAt()
	switch {
	case made == nil:
		return "the JWT has neither exp nor iat, so it could be used for ever"
	case made.Before(r.Now.Add(-defaultTolerance - jwtSkew)):
		return fmt.Sprintf("the JWT has no exp, and by its iat it is %s, more than %s", ago(r.Now, made.Time), defaultTolerance)
	}
	return ""
}

// refusalWords is the library's error for the operator: which check failed, and nothing of the token but
// the algorithm that it names and its times.
func (j *jwt) refusalWords(r *Request, err error, text string, claims jwtlib.MapClaims) string {
	ago := func(at *jwtlib.NumericDate, err error) string {
		if at == nil || err != nil {
			return ""
		}
		return "; it is " + ago(r.Now, at.Time)
	}
	switch {
	case errors.Is(err, errJWTExtensions):
		return errJWTExtensions.Error()
	case errors.Is(err, jwtlib.ErrTokenExpired):
		return "the JWT ended" + ago(claims.GetExpirationTime())
	case errors.Is(err, jwtlib.ErrTokenNotValidYet):
		return "the JWT is not valid yet" + ago(claims.GetNotBefore())
	case errors.Is(err, jwtlib.ErrTokenUsedBeforeIssued):
		return "the JWT was made in the future" + ago(claims.GetIssuedAt())
	case errors.Is(err, jwtlib.ErrTokenInvalidClaims):
		return "the JWT's exp, nbf or iat is no time"
	case errors.Is(err, jwtlib.ErrTokenSignatureInvalid):
		if token, _, err := jwtlib.NewParser().ParseUnverified(text, jwtlib.MapClaims{}); err == nil && token.Method.Alg() != j.method.Alg() {
			return fmt.Sprintf("the JWT names the algorithm %q, and only %s is accepted", token.Method.Alg(), j.method.Alg())
		}
		return fmt.Sprintf("the JWT's signature does not match (%s tried)", problems.Count(len(j.keys.Keys), "key"))
	default:
		return j.where() + " holds no JWT"
	}
}

// claimHas reports whether a claim is value, or a list with value in it.
func claimHas(claim any, value string) bool {
	if list, ok := claim.([]any); ok {
		for _, one := range list {
			if claimHas(one, value) {
				return true
			}
		}
		return false
	}
	switch claim.(type) {
	case nil, map[string]any:
		return false
	}
	return sameText(fmt.Sprint(claim), value)
}

// isHashOf reports whether a claim is the SHA-256 of body, in hex or base64.
func isHashOf(claim any, body []byte) bool {
	given, ok := claim.(string)
	if !ok {
		return false
	}
	sum := sha256.Sum256(body)
	for _, right := range []string{
		hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:]), base64.RawURLEncoding.EncodeToString(sum[:]),
	} {
		if subtle.ConstantTimeCompare([]byte(given), []byte(right)) == 1 {
			return true
		}
	}
	return false
}

// sign makes a token; where the body is it, of the body's own fields.
func (j *jwt) sign(r *Request, out *signing) error {
	if j.from == fromBodyPlace && j.check(r) == "" {
		return nil
	}
	if j.signer == nil {
		return signatures.ErrNoPrivateKey
	}
	claims := jwtlib.MapClaims{}
	if j.whole() {
		decoder := json.NewDecoder(bytes.NewReader(trimBOM(r.Body)))
		decoder.UseNumber()
		if err := decoder.Decode(&claims); err != nil {
			return errors.New("the body is the token of this sender, and it is no JSON object whose fields could be its claims")
		}
	}
	claims["iat"], claims["exp"] = r.Now.Unix(), r.Now.Add(defaultTolerance).Unix()
	for _, w := range j.claims {
		claims[w.name] = w.value
	}
	if j.bodyHash != "" {
		sum := sha256.Sum256(r.Body)
		claims[j.bodyHash] = hex.EncodeToString(sum[:])
	}
	text, err := jwtlib.NewWithClaims(j.method, claims).SignedString(j.signer)
	if err != nil {
		return fmt.Errorf("make a JWT: %w", err)
	}
	return j.put(out, text)
}

// place compiles where the token is: in Authorization: Bearer unless said otherwise, or the whole body.
func (k *compiler) jwtPlace(v *verifyRule) (at signaturePlace, ok bool) {
	rule := *v.Verify
	rule.From = cmp.Or(rule.From, fromBearerPlace)
	switch {
	case rule.From == fromPathPlace:
		k.Add(v.path+".from", "is no place of a JWT", "write header, bearer, query or body")
		return at, false
	case rule.From == fromBodyPlace && rule.Field == "":
		v.body.token = true
		return signaturePlace{from: fromBodyPlace, body: v.body}, true
	}
	inner := *v
	inner.Verify = &rule
	return k.place(&inner, "the JWT")
}

// jwt compiles the verifier.
func (k *compiler) jwt(v *verifyRule) verifier {
	path := v.path
	algorithm := cmp.Or(v.Algorithm, "hmac-sha256")
	at, ok := k.jwtPlace(v)
	if !ok {
		return nil
	}
	j := &jwt{named: v.named, signaturePlace: at, method: jwtMethods[algorithm], bodyHash: v.BodyHash}
	if j.method == nil {
		k.Unknown(path+".algorithm", algorithm, "algorithm of a JWT here", slices.Sorted(maps.Keys(jwtMethods)))
		return nil
	}
	for _, c := range v.Claims {
		if c.Value == "" {
			k.Add(path+".claims."+c.Key, "is empty", "write the value that the claim must have")
		}
		j.claims = append(j.claims, wanted{name: c.Key, value: c.Value})
	}
	if signatures.Asymmetric(algorithm) {
		for _, one := range k.publicKeys(path, v.Key, algorithm) {
			public := one.(*signatures.PublicKey) // publicKeys makes no others
			j.keys.Keys = append(j.keys.Keys, public.Public)
			if public.Private != nil {
				j.signer = public.Private
			}
		}
	} else {
		for _, raw := range k.rawKeys(v) {
			j.keys.Keys = append(j.keys.Keys, raw)
		}
		if len(j.keys.Keys) > 0 {
			j.signer = j.keys.Keys[0]
		}
	}
	if len(j.keys.Keys) == 0 {
		return nil
	}
	if !j.traits().body {
		k.Warn(path+".kind", "a JWT without body_hash shows who calls, not what the body says", "set body_hash if the sender puts the body's hash into a claim")
	}
	return j
}
