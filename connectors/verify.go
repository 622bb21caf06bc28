package connectors

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/connectors/signatures"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// To add a kind of verifier, write one file, verify_NAME.go, after the example of
// verify_basic.go. It holds
//
//  1. the keys of its own, as a struct that Verify embeds below,
//  2. a type with the methods of verifier, and
//  3. a function that compiles one from the other and says what is wrong with the config.
//
// Then name it in verifierKinds, with its words for people and what an entry must set, and in the tag
// of Verify.Kind, both in this file; list the keys it looks at in usedKeys (verify_unused.go); describe it in cmd/nudgewire/internal/connectors/own.md; and run "make generate".

// verifierKinds are all kinds, with what makes a verifier of a Verify. It is a function because
// any_of and all_of look into it.
func verifierKinds() []verifierKind {
	return []verifierKind{
		{"signed", (*compiler).signed, signedWords, signedNeed},
		{"standard_webhooks", (*compiler).standard, sayAlways("signature (Standard Webhooks)"), signedNeed},
		{"token", (*compiler).token, tokenWords, needSecret("a long random word of your own, the same at the sender")},
		{"basic", (*compiler).basic, sayAlways("user and password (HTTP Basic)"), needSecret("user and password with a colon between them, as entered at the sender")},
		{"jwt", (*compiler).jwt, jwtWords, signedNeed},
		{"none", (*compiler).noVerifier, sayAlways("nothing"), noNeed},
		{"any_of", (*compiler).anyOf, anyOfWords, anyOfNeed},
		{"all_of", (*compiler).allOf, allOfWords, signedNeed},
	}
}

// A verifierKind is one kind of verifier.
type verifierKind struct {
	name    string
	compile func(*compiler, *verifyRule) verifier // nil after a complaint
	words   func(*Verify) string                  // what verifies requests, for people
	need    func(*Verify) []Need                  // what the entry must set
}

// A Verify says how a request shows where it comes from. Which keys count depends on Kind.
type Verify struct {
	Kind string `yaml:"kind" validate:"oneof=signed standard_webhooks token basic jwt none any_of all_of" doc:"The kind of verifier."`
	Name string `yaml:"name" doc:"A name to speak of it by, in prefer and in reasons."`

	SignedKeys   `yaml:",inline"`
	StandardKeys `yaml:",inline"`
	PlaceKeys    `yaml:",inline"`
	BasicKeys    `yaml:",inline"`
	JWTKeys      `yaml:",inline"`
	CombinedKeys `yaml:",inline"`

	Secret  secret.Secret   `yaml:"secret" doc:"The secret of this verifier, if it is not the connector's."`
	Secrets []secret.Secret `yaml:"secrets" doc:"Several of them, the newest first."`

	AllowIPs []string `yaml:"allow_ips" doc:"Addresses and networks that requests may come from; all unless set." example:"[192.0.2.0/24]"`
	Mode     string   `yaml:"mode" validate:"oneof=enforce monitor" doc:"enforce rejects what is not verified; monitor takes it and reports what was wrong."`
}

// A verifier is one way in which requests show where they come from.
type verifier interface {
	// called is the name to speak of it by.
	called() string
	// carried reports whether the request brings what this verifier looks at, right or wrong.
	carried(r *Request) bool
	// precheck is why no body could make check succeed; "" when one may. The request has no body yet.
	precheck(r *Request) string
	// check is why the request is not verified, for the operator; "" when it is.
	check(r *Request) string
	// sign puts into header and url what makes check succeed.
	sign(r *Request, out *signing) error
	// traits are what a successful check shows.
	traits() traits
}

// A signing is a request that is being signed.
type signing struct {
	header http.Header
	url    string
	body   []byte
}

// traits are what a verifier's successful check shows of a request, beyond its sender.
type traits struct {
	body   bool     // the body is the sender's, every byte of it
	partly bool     // of the body only what parts names is the sender's
	time   bool     // it was sent lately
	parts  []string // these parts are the sender's, too: url, header:NAME, or body:PATH of a body that is not as a whole
	path   bool     // the last part of the path is its token
	alters bool     // signing changes the URL or the body, which others may sign
	open   bool     // nothing: it takes everything
}

// named is the part of a verifier that holds its name.
type named string

func (n named) called() string { return string(n) }

// A verification is all that a connector checks of where a request comes from.
type verification struct {
	verifier
	allow   []netip.Prefix
	monitor bool
	words   []string // the secrets of all verifiers
}

func (g *verification) address(r *Request) *Rejected {
	if len(g.allow) == 0 {
		return nil
	}
	if !r.Remote.IsValid() {
		return reject(http.StatusForbidden, StageAddress, "the sender's address is not known, and only some are allowed (verify.allow_ips)")
	}
	remote := r.Remote.Unmap().WithZone("")
	if slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(remote) }) {
		return nil
	}
	return reject(http.StatusForbidden, StageAddress, "the address "+remote.String()+" is not in verify.allow_ips")
}

func (k *compiler) prefixes(path string, texts []string) []netip.Prefix {
	var out []netip.Prefix
	for i, text := range texts {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p.Masked())
			continue
		}
		a, err := netip.ParseAddr(text)
		if err != nil {
			k.Add(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%q is neither an address nor a network", text), "write 192.0.2.7 or 192.0.2.0/24")
			continue
		}
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out
}

// verification compiles verify:.
func (k *compiler) verification(body *bodyReader) verification {
	v := k.config.Verify
	if v == nil {
		k.Add("verify", "is missing: nothing says how requests are verified", `describe it, or write "verify: {kind: none}" to take requests from anybody`)
		return verification{verifier: unusable}
	}
	g := verification{allow: k.prefixes("verify.allow_ips", v.AllowIPs), monitor: v.Mode == "monitor"}
	if g.monitor {
		k.Warn("verify.mode", "monitor takes requests that are not verified", "write enforce once the sender's requests pass")
	}
	if g.verifier = k.verifier("verify", v, k.connectorSecrets(), body); g.verifier == nil {
		g.verifier = unusable
	}
	if around := k.connectorSecrets(); v.Kind == "none" && len(around) > 0 {
		k.Add(around[0].path, "is not looked at: verify.kind is none", "take it out, or let verify say how the sender shows that it knows it")
	}
	g.words = k.words
	if len(k.config.Secrets) > 0 && !k.config.Secret.IsZero() {
		k.Warn("secrets", "secret and secrets are both set; all are accepted", "keep one of the two keys")
	}
	return g
}

// A verifyRule is a Verify that is being compiled.
type verifyRule struct {
	*Verify
	path    string
	named   named
	secrets []located // its own, else those around it
	body    *bodyReader
}

// verifier compiles one Verify; nil after a complaint.
func (k *compiler) verifier(path string, v *Verify, around []located, body *bodyReader) verifier {
	kind := v.kind()
	if kind == nil && v.Kind == "" {
		k.Add(path+".kind", "is missing: nothing says how requests are verified", "write kind: signed, standard_webhooks, token, basic or none")
		return nil
	}
	if kind == nil {
		k.Add(path+".kind", "is no kind of verifier", "docs/config.md lists them")
		return nil
	}
	rule := verifyRule{Verify: v, path: path, named: named(v.Name), secrets: k.secretsFor(path, v, around), body: body}
	if v.Name == "" {
		rule.named = named(kind.name)
	}
	k.unused(path, kind.name, v)
	return kind.compile(k, &rule)
}

// kind is the kind that v names, or shows by having members; nil for none.
func (v *Verify) kind() *verifierKind {
	name := v.Kind
	switch {
	case name == "" && len(v.AnyOf) > 0:
		name = "any_of"
	case name == "" && len(v.AllOf) > 0:
		name = "all_of"
	}
	for _, kind := range verifierKinds() {
		if kind.name == name {
			return &kind
		}
	}
	return nil
}

// verifierWords describes a verifier for people.
func (v *Verify) verifierWords() string {
	if v == nil || v.kind() == nil {
		return "nothing"
	}
	return v.kind().words(v)
}

func sayAlways(words string) func(*Verify) string { return func(*Verify) string { return words } }

func noNeed(*Verify) []Need { return nil }

func needSecret(is string) func(*Verify) []Need {
	return func(*Verify) []Need { return []Need{{"secret", is}} }
}

// constant says the same of every request: it takes all of them (kind none, which must be written out
// to be had) or, with a reason, rejects all, as a config must that could not be compiled.
type constant struct {
	named
	reason string
}

var unusable = constant{"unusable", "the connector's verify is not usable"}

func (k *compiler) noVerifier(v *verifyRule) verifier {
	k.Warn(v.path+".kind", "none takes requests from anybody who knows the URL", "use a token if the sender can send one: in a header, or in the URL")
	return constant{named: v.named}
}

func (constant) carried(*Request) bool      { return true }
func (c constant) precheck(*Request) string { return c.reason }
func (c constant) check(*Request) string    { return c.reason }
func (c constant) traits() traits           { return traits{open: c.reason == ""} }

func (c constant) sign(*Request, *signing) error {
	if c.reason != "" {
		return signatures.ErrNoPrivateKey
	}
	return nil
}

// authorization is what follows the scheme in the header Authorization.
func authorization(r *Request, scheme string) (given, reason string) {
	written, reason := only(r.Header, authorizationHeader)
	if reason == "" && written == "" {
		reason = noAuthorization
	}
	given, ok := problems.CutPrefixFold(written, scheme+" ")
	if reason == "" && !ok {
		reason = "the header Authorization is not of the kind " + scheme
	}
	return given, reason
}

const (
	authorizationHeader = "Authorization"
	noAuthorization     = "there is no header Authorization"
)

// ago says how far t is from now, for reasons; no more than the longest duration, 292 years.
func ago(now, t time.Time) string {
	if t.After(now) {
		return t.Sub(now).Round(time.Second).String() + " in the future"
	}
	return now.Sub(t).Round(time.Second).String() + " old"
}
