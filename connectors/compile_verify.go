package connectors

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// located is a secret with the place it was written at, for problems.
type located struct {
	path string
	text string
}

func (k *compiler) connectorSecrets() []located {
	return secretsAt("", k.config.Secret, k.config.Secrets)
}

func secretsAt(prefix string, one secret.Secret, more []secret.Secret) []located {
	var out []located
	if !one.IsZero() {
		out = append(out, located{prefix + "secret", one.Reveal()})
	}
	for i, s := range more {
		out = append(out, located{fmt.Sprintf("%ssecrets[%d]", prefix, i), s.Reveal()})
	}
	return out
}

// secretsFor are the secrets of one proof: its own, else those around it.
func (k *compiler) secretsFor(path string, v *Verify, around []located) []located {
	if v.Key != nil && len(v.Key.Secrets) > 0 {
		return secretsAt(path+".key.", secret.Secret{}, v.Key.Secrets)
	}
	if own := secretsAt(path+".", v.Secret, v.Secrets); len(own) > 0 {
		return own
	}
	return around
}

func (k *compiler) gate(body *bodyReader) gate {
	v := k.config.Verify
	if v == nil {
		k.add("verify", "is missing: nothing says how requests are proven", `describe it, or write "verify: {kind: none}" to take requests from anybody`)
		return gate{}
	}
	g := gate{allow: k.prefixes("verify.allow_ips", v.AllowIPs)}
	switch v.Mode {
	case "", "enforce":
	case "monitor":
		g.monitor = true
		k.warn("verify.mode", "monitor takes requests that are not proven", "write enforce once the sender's requests pass")
	default:
		k.unknown("verify.mode", v.Mode, "mode", []string{"enforce", "monitor"})
	}
	g.proof = k.proof("verify", v, k.connectorSecrets(), body)
	if len(k.config.Secrets) > 0 && !k.config.Secret.IsZero() {
		k.warn("secrets", "secret and secrets are both set; all are accepted", "keep one of the two keys")
	}
	if g.proof == nil {
		g.proof = refusing{}
	}
	return g
}

// refusing stands where a proof could not be compiled: a mistake must close the door.
type refusing struct{}

func (refusing) called() string                { return "refusing" }
func (refusing) carried(*Request) bool         { return true }
func (r refusing) hopeless(q *Request) string  { return r.check(q) }
func (refusing) check(*Request) string         { return "the connector's proof is not usable" }
func (refusing) sign(*Request, *signing) error { return errNoPrivateKey }

var verifyKinds = []string{"signed", "standard_webhooks", "token", "basic", "jwt", "none", "any_of", "all_of"}

func (k *compiler) proof(path string, v *Verify, around []located, body *bodyReader) proof {
	kind := v.Kind
	if kind == "" {
		switch {
		case len(v.AnyOf) > 0:
			kind = "any_of"
		case len(v.AllOf) > 0:
			kind = "all_of"
		default:
			k.add(path+".kind", "is missing: nothing says how requests are proven", "write kind: signed, standard_webhooks, token, basic or none")
			return nil
		}
	}
	name := v.Name
	if name == "" {
		name = kind
	}
	secrets := k.secretsFor(path, v, around)
	switch kind {
	case "signed":
		return k.signed(path, name, v, secrets)
	case "standard_webhooks":
		return k.standard(path, name, v, secrets)
	case "token":
		return k.token(path, name, v, secrets, body)
	case "basic":
		return k.basic(path, name, v, secrets)
	case "jwt":
		return k.jwt(path, name, v, secrets)
	case "none":
		k.warn(path+".kind", "none takes requests from anybody who knows the URL", "use a token if the sender can send one: in a header, or in the URL")
		return &noProof{name: name}
	case "any_of":
		return k.anyOf(path, name, v, secrets, body)
	case "all_of":
		all := &allOf{name: name}
		if len(v.AllOf) < 2 {
			k.add(path+".all_of", "wants at least two proofs", "write the proofs as a list")
		}
		for i, one := range v.AllOf {
			if p := k.member(fmt.Sprintf("%s.all_of[%d]", path, i), one, secrets, body); p != nil {
				all.proofs = append(all.proofs, p)
			}
		}
		provesAll(all.proofs)
		return all
	default:
		k.unknown(path+".kind", kind, "sort of proof", verifyKinds)
		return nil
	}
}

// provesAll lets a signature of a batch's first item pass for all of them where another proof
// stands beside it.
func provesAll(proofs []proof) {
	onlyFirst := func(p proof) *signed {
		if c, ok := p.(*conditional); ok {
			p = c.proof
		}
		if s, ok := p.(*signed); ok && s.firstOnly {
			return s
		}
		return nil
	}
	if !slices.ContainsFunc(proofs, func(p proof) bool { return onlyFirst(p) == nil }) {
		return
	}
	for _, p := range proofs {
		if s := onlyFirst(p); s != nil {
			s.firstOnly = false
		}
	}
}

// member compiles a proof inside any_of or all_of.
func (k *compiler) member(path string, v *Verify, around []located, body *bodyReader) proof {
	if v == nil {
		k.add(path, "is empty", "write kind: and what belongs to it")
		return nil
	}
	if v.Kind == "none" {
		k.add(path+".kind", "none beside other proofs would make them worthless", "remove it")
		return nil
	}
	if len(v.AllowIPs) > 0 || v.Mode != "" {
		k.add(path, "allow_ips and mode belong to verify as a whole", "move them up")
	}
	p := k.proof(path, v, around, body)
	if p == nil || v.When == nil {
		return p
	}
	return &conditional{proof: p, when: k.condition(path+".when", v.When)}
}

func (k *compiler) anyOf(path, name string, v *Verify, around []located, body *bodyReader) proof {
	out := &anyOf{name: name}
	byName := map[string]proof{}
	var names []string
	for i, one := range v.AnyOf {
		at := fmt.Sprintf("%s.any_of[%d]", path, i)
		p := k.member(at, one, around, body)
		if p == nil {
			continue
		}
		if byName[p.called()] != nil {
			k.add(at+".name", fmt.Sprintf("two proofs are called %q", p.called()), "give each its own name")
		}
		byName[p.called()] = p
		names = append(names, p.called())
		out.proofs = append(out.proofs, p)
	}
	if len(v.Prefer) > 0 {
		out.excluded = slices.DeleteFunc(out.proofs, func(p proof) bool { return slices.Contains(v.Prefer, p.called()) })
		out.proofs = nil
		for i, n := range v.Prefer {
			p := byName[n]
			if p == nil {
				k.unknown(fmt.Sprintf("%s.prefer[%d]", path, i), n, "proof of this connector", names)
				continue
			}
			out.proofs = append(out.proofs, p)
		}
	}
	k.adviseWeaker(path, out.proofs)
	if len(out.proofs) == 0 && !k.failed() {
		k.add(path+".any_of", "holds no proof that can be used", "write the proofs as a list, the strongest first")
	}
	if len(out.proofs) == 0 {
		return nil
	}
	return out
}

// strength is what a proof does for a request beyond naming its sender.
func strength(p proof) (bindsBody, bindsTime bool) {
	switch p := p.(type) {
	case *conditional:
		return strength(p.proof)
	case *signed:
		return true, len(p.stamps) > 0 || p.freshness != nil
	case *jwt:
		return p.bodyHash != "", true
	case *allOf:
		for _, one := range p.proofs {
			b, t := strength(one)
			bindsBody, bindsTime = bindsBody || b, bindsTime || t
		}
	}
	return bindsBody, bindsTime
}

// adviseWeaker warns of proofs of unlike strength: whoever copied a request takes the headers
// of the stronger one off, and the weaker one decides.
func (k *compiler) adviseWeaker(path string, proofs []proof) {
	for _, weak := range proofs {
		body, time := strength(weak)
		for _, strong := range proofs {
			b, t := strength(strong)
			what := "does not cover the body, as %s does"
			switch {
			case b && !body:
			case t && !time:
				what = "has no time, as %s has, so a copied request passes for ever"
			default:
				continue
			}
			k.warn(path+".any_of", weak.called()+" "+fmt.Sprintf(what, strong.called())+"; whoever removes the headers of "+strong.called()+" is judged by "+weak.called(),
				"accept the stronger one alone, if the sender sends it: prefer: ["+strong.called()+"]")
			break
		}
	}
}

func (k *compiler) signed(path, name string, v *Verify, secrets []located) proof {
	s := &signed{name: name, needsBody: k.needsBody(v)}
	algorithm := v.Algorithm
	if algorithm == "" {
		k.add(path+".algorithm", "is missing", "write hmac-sha256 if the sender's page says HMAC with SHA-256")
		return nil
	}
	if hashes[algorithm] == nil && !asymmetric(algorithm) {
		k.unknown(path+".algorithm", algorithm, "algorithm", algorithmNames())
		return nil
	}
	if v.Signature == nil || len(v.Signature.Header) == 0 {
		k.add(path+".signature", "is missing: where does the signature stand?", "write signature: {header: X-Signature, encoding: hex}")
		return nil
	}
	sig := v.Signature
	for i, h := range sig.Header {
		if !headerName(h) {
			k.add(fmt.Sprintf("%s.signature.header[%d]", path, i), fmt.Sprintf("%q is no header name", h), "write a name such as X-Signature")
		}
		s.headers = append(s.headers, http.CanonicalHeaderKey(h))
	}
	if sig.Encoding == "" {
		k.add(path+".signature.encoding", "is missing", "write hex or base64, as the sender's page says")
	} else {
		s.encoding = k.oneOf(path+".signature.encoding", sig.Encoding, "encoding", []string{encodingHex, encodingHexUpper, encodingBase64, encodingBase64URL})
	}
	s.prefix, s.list = sig.Prefix, sig.List
	if s.list != nil && (s.list.Separator == "" || s.list.Assign == "" || len(s.list.Pick) == 0) {
		k.add(path+".signature.list", "wants separator, assign and pick", `write list: {separator: ",", assign: "=", pick: v1}`)
		s.list = nil
	}
	if v.ID != "" {
		s.idHeaders = []string{http.CanonicalHeaderKey(v.ID)}
	}
	if v.Timestamp != nil {
		if st := k.stamp(path+".timestamp", v.Timestamp, s.list != nil); st != nil {
			if st.body != nil {
				k.add(path+".timestamp.body", "cannot be signed: the body is read only after the signature was checked", "write it under freshness, and sign the body")
			} else {
				s.stamps = []*stamp{st}
			}
		}
	}
	if v.Freshness != nil {
		s.freshness = k.stamp(path+".freshness", v.Freshness, false)
	}
	k.parts(path, v, algorithm, s)
	if asymmetric(algorithm) {
		s.keys = k.publicKeys(path, v.Key, algorithm)
	} else {
		s.keys = k.macKeys(path, v, algorithm, secrets)
	}
	if len(s.keys) == 0 {
		return nil
	}
	return s
}

// needsBody reports whether the proof itself refuses an empty body. Where nothing is said, that is
// only needed if the body's reader would take one.
func (k *compiler) needsBody(v *Verify) bool {
	if v.BodyRequired != nil {
		return *v.BodyRequired
	}
	return k.config.Body.Empty == emptyObject
}

func algorithmNames() []string {
	return []string{"hmac-sha256", "hmac-sha1", "hmac-sha384", "hmac-sha512", algorithmPlain, algorithmEd25519, algorithmRSA, algorithmECDSA}
}

func (k *compiler) parts(path string, v *Verify, algorithm string, s *signed) {
	var decode func(string) string
	if v.URL != nil {
		switch v.URL.Decode {
		case "", "none":
		case "hubspot":
			decode = hubspotURL
		default:
			k.unknown(path+".url.decode", v.URL.Decode, "way of decoding", []string{"none", "hubspot"})
		}
	}
	if len(v.Parts) == 0 {
		k.add(path+".parts", "is missing: what is signed?", "write parts: [body] if the sender signs the body alone")
		return
	}
	has := map[string]bool{}
	for i, name := range v.Parts {
		at := fmt.Sprintf("%s.parts[%d]", path, i)
		write := partFor(name, decode)
		if write == nil {
			k.unknown(at, name, "part of a request", append(slices.Clone(partNames), "header:NAME", "'text'"))
			continue
		}
		if header, ok := strings.CutPrefix(name, "header:"); ok {
			s.covered = append(s.covered, http.CanonicalHeaderKey(header))
		}
		has[name] = true
		s.parts = append(s.parts, write)
	}
	if has[partFormSorted] {
		if c := k.config.Body.Content; c != "" && c != contentAuto && c != contentForm {
			k.add(path+".parts", "names form_sorted, which signs a form, but body.content is "+c, "write body: {content: form}")
		}
		k.warn(path+".parts", "form_sorted puts no mark between a field's name and its value: typ=ehello passes under the signature of type=hello", "sign body instead if the sender can; this is how Twilio and Mandrill sign")
	}
	s.needsURL, s.needsMethod = has["url"], has["method"]
	for name := range has {
		s.signs = append(s.signs, name)
	}
	for _, header := range s.covered {
		s.signs = append(s.signs, "header:"+header)
	}
	if has["id"] {
		for _, header := range s.idHeaders {
			s.signs = append(s.signs, "header:"+header)
		}
	}
	if has["timestamp"] && len(s.stamps) > 0 {
		s.signs = append(s.signs, "header:"+s.stamps[0].header)
	}
	if has["timestamp"] && len(s.stamps) == 0 {
		k.add(path+".parts", "names timestamp, but nothing says where the time stands", "write timestamp: {header: X-Timestamp, unit: s}")
	}
	if len(s.stamps) > 0 && !has["timestamp"] && !coversStamp(s) {
		k.add(path+".timestamp", "is checked but not signed, so anybody could renew it", "add timestamp to parts, or write it under freshness as a path in the signed body")
	}
	if has["id"] && len(s.idHeaders) == 0 {
		k.add(path+".parts", "names id, but nothing says which header it is", "write id: X-Webhook-Id")
	}
	if (algorithm == algorithmPlain) != has["secret"] {
		if has["secret"] {
			k.add(path+".parts", "names secret, which only the plain hash sha256 has as a part", "remove it; HMAC takes the secret as its key")
		} else {
			k.add(path+".parts", "lacks secret: a plain hash without it can be made by anybody", "add secret where the sender puts it")
		}
	}
	if !slices.ContainsFunc(v.Parts, coversBody) && !has[partFirstItem] && !has[partFormSorted] {
		k.add(path+".parts", "does not cover the body, so anybody could change it", "add body")
	}
	if has[partFirstItem] {
		s.firstOnly = true
		k.warn(path+".parts", "first_item proves only the first item of a batch, so longer ones are refused", "switch batching off at the sender, or demand a token as well: all_of with kind: token")
	}
	if s.freshness != nil && s.freshness.header != "" && !slices.Contains(s.covered, s.freshness.header) {
		k.add(path+".freshness.header", "is not signed, so anybody could renew it", "add header:"+s.freshness.header+" to parts")
	}
}

// coversStamp reports whether the time's header is among the parts by its own name.
func coversStamp(s *signed) bool {
	return s.stamps[0].header != "" && slices.Contains(s.covered, s.stamps[0].header)
}

func (k *compiler) stamp(path string, t *Timestamp, inList bool) *stamp {
	s := &stamp{unit: t.Unit, tolerance: t.Tolerance.D(), optional: t.Optional}
	if s.unit == "" {
		s.unit = unitAuto
	}
	k.oneOf(path+".unit", s.unit, "unit of time", []string{unitAuto, unitSeconds, unitMillis, unitRFC3339, unitHTTP})
	if s.tolerance == 0 {
		s.tolerance = defaultTolerance
	}
	if window := cmp.Or(k.config.Dedupe.Window.D(), defaultDedupeWindow); s.tolerance > window {
		k.warn(path+".tolerance", fmt.Sprintf("is longer than dedupe.window, %s: a copied request is a new event once the first is forgotten", units.Duration(window)), "5m is usual")
	}
	s.skew = s.tolerance
	if t.Skew != nil {
		s.skew = t.Skew.D()
	}
	sources := 0
	if t.Header != "" {
		sources++
		s.header = http.CanonicalHeaderKey(t.Header)
	}
	if t.List != "" {
		sources++
		s.list = t.List
		if !inList {
			k.add(path+".list", "names an entry of a list, but the signature is none", "write signature.list, or header: for a header of its own")
			return nil
		}
	}
	if t.Body != "" {
		sources++
		e := k.expr(path+".body", t.Body)
		if e == nil {
			return nil
		}
		s.program = rawjson.NewProgram()
		e.link(s.program, s.program)
		s.body = e
	}
	if sources != 1 {
		k.add(path, "wants exactly one of header, list and body", "write where the time stands")
		return nil
	}
	return s
}

func (k *compiler) macKeys(path string, v *Verify, algorithm string, secrets []located) []key {
	var keys []key
	for _, raw := range k.rawKeys(path, v, secrets) {
		keys = append(keys, newMacKey(algorithm, raw))
	}
	return keys
}

// rawKeys are the bytes of the secrets.
func (k *compiler) rawKeys(path string, v *Verify, secrets []located) [][]byte {
	encoding := keyRaw
	if v.Key != nil && v.Key.Encoding != "" {
		encoding = k.oneOf(path+".key.encoding", v.Key.Encoding, "encoding of a key", keyEncodings)
	}
	var keys [][]byte
	for _, s := range k.wantSecrets(secrets) {
		raw, err := decodeKey(s.text, encoding)
		if err != nil {
			k.add(s.path, err.Error(), "copy it again from the sender's page")
			continue
		}
		k.adviseSecret(s, raw)
		keys = append(keys, raw)
	}
	return keys
}

// wantSecrets complains when there is none at all.
func (k *compiler) wantSecrets(secrets []located) []located {
	if len(secrets) == 0 {
		hint := "add secret: ${NAME}, and set the variable NAME for the daemon"
		if k.config.Title != "" {
			hint = fmt.Sprintf("add secret: ${%s_WEBHOOK_SECRET}, and set that variable for the daemon; %q says where %s shows it", envName(k.name), "nudgewire connectors show "+k.presetName(), k.config.Title)
		}
		k.add("secret", "is missing: without it no request can be proven", hint)
	}
	return secrets
}

// presetName is the preset the entry starts from.
func (k *compiler) presetName() string {
	if k.config.Preset != "" {
		return k.config.Preset
	}
	return k.name
}

func envName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, name), "_")
}

func (k *compiler) adviseSecret(s located, raw []byte) {
	if strings.TrimSpace(s.text) != s.text {
		k.warn(s.path, "has space around it, which is part of the key as it stands", "remove the space, unless the sender's secret has it")
	}
	if len(raw) < shortestSecret {
		k.put(Problem{
			Path: s.path, Warning: true, Code: yamlpos.WeakSecret,
			Msg: fmt.Sprintf("is only %s long and could be guessed", count(len(raw), "byte")), Hint: fmt.Sprintf("use one of %d or more", shortestSecret),
		})
	}
}

func (k *compiler) publicKeys(path string, kc *Key, algorithm string) []key {
	if kc == nil || len(kc.PublicKeys) == 0 {
		k.add(path+".key.public_keys", "is missing: "+algorithm+" is checked with the sender's public key", "copy it from the sender's page")
		return nil
	}
	var keys []key
	for i, text := range kc.PublicKeys {
		public, err := parsePublicKey(text, algorithm)
		if err != nil {
			k.add(fmt.Sprintf("%s.key.public_keys[%d]", path, i), err.Error(), "write PEM, or base64 of the DER form")
			continue
		}
		keys = append(keys, &publicKey{algorithm: algorithm, public: public})
	}
	if !kc.PrivateKey.IsZero() {
		private, err := parsePrivateKey(kc.PrivateKey.Reveal())
		if err != nil {
			k.add(path+".key.private_key", err.Error(), "it is for trials only; leave it out otherwise")
		} else if len(keys) > 0 {
			keys[0].(*publicKey).private = private // made above
			k.warn(path+".key.private_key", "lets whoever reads it sign requests", "remove it once the trial is over")
		}
	}
	return keys
}

// standard is Standard Webhooks: a signed scheme whose fields are all fixed but the keys.
func (k *compiler) standard(path, name string, v *Verify, secrets []located) proof {
	spelling := "auto"
	if v.Headers != "" {
		spelling = k.oneOf(path+".headers", v.Headers, "spelling", []string{"auto", "webhook", "svix"})
	}
	headers, ids, times := standardHeaders(spelling)
	s := &signed{
		name: name, headers: headers, idHeaders: ids, encoding: encodingBase64,
		list: &List{Separator: " ", Assign: ",", Pick: []string{"v1"}}, needsBody: k.needsBody(v),
	}
	rule := Timestamp{Unit: unitSeconds}
	if v.Timestamp != nil {
		rule.Tolerance, rule.Skew = v.Timestamp.Tolerance, v.Timestamp.Skew
	}
	for _, h := range times {
		rule.Header = h
		s.stamps = append(s.stamps, k.stamp(path+".timestamp", &rule, false))
	}
	for _, name := range []string{"id", "'.'", "timestamp", "'.'", "body"} {
		s.parts = append(s.parts, partFor(name, nil))
	}
	for _, header := range slices.Concat(ids, times) {
		s.signs = append(s.signs, "header:"+header)
	}
	encoding := keyBase64OrWhsec
	var public []string
	if v.Key != nil {
		public = v.Key.PublicKeys
		switch v.Key.Encoding {
		case "", keyWhsec, keyBase64, keyBase64OrWhsec:
		case keyRaw, keyHex:
			encoding = v.Key.Encoding
		default:
			k.unknown(path+".key.encoding", v.Key.Encoding, "encoding of a key", keyEncodings)
		}
	}
	for _, one := range secrets {
		if strings.HasPrefix(strings.TrimSpace(one.text), "whpk_") {
			k.ed25519(one.path, one.text, s)
			continue
		}
		raw, err := decodeKey(one.text, encoding)
		if err != nil {
			k.add(one.path, err.Error(), "it looks like whsec_ followed by letters and digits, or whpk_ for a public key")
			continue
		}
		k.adviseSecret(one, raw)
		s.keys = append(s.keys, newMacKey("hmac-sha256", raw))
	}
	for i, text := range public {
		k.ed25519(fmt.Sprintf("%s.key.public_keys[%d]", path, i), text, s)
	}
	if v.Key != nil && !v.Key.PrivateKey.IsZero() && len(s.extra) > 0 {
		private, err := parsePrivateKey(v.Key.PrivateKey.Reveal())
		if _, ok := private.(ed25519.PrivateKey); err != nil || !ok {
			k.add(path+".key.private_key", "is no private key for Ed25519", "write whsk_ with base64; it is for trials only")
		} else {
			s.extra[0].key.(*publicKey).private = private // made by ed25519
		}
	}
	if len(s.keys)+len(s.extra) == 0 {
		if len(secrets)+len(public) == 0 {
			k.wantSecrets(nil)
		}
		return nil
	}
	return s
}

// ed25519 adds a public key for the list entries v1a.
func (k *compiler) ed25519(path, text string, s *signed) {
	public, err := parsePublicKey(text, algorithmEd25519)
	if err != nil {
		k.add(path, err.Error(), "write whpk_ followed by base64")
		return
	}
	s.extra = append(s.extra, tagged{"v1a", &publicKey{algorithm: algorithmEd25519, public: public}})
}

func (k *compiler) token(path, name string, v *Verify, secrets []located, body *bodyReader) proof {
	t := &token{name: name, prefix: v.Prefix}
	if v.From == "" {
		k.add(path+".from", "is missing: where does the token stand?", "write header, bearer, query, path or body")
		return nil
	}
	t.from = k.oneOf(path+".from", v.From, "place of a token", []string{tokenHeader, tokenBearer, tokenQuery, tokenPath, tokenBody})
	t.field = v.Field
	switch t.from {
	case tokenBearer:
		t.field, t.prefix = "Authorization", "Bearer "
	case tokenPath:
	case tokenHeader:
		if !headerName(t.field) {
			k.add(path+".field", "is missing: which header holds the token?", "write field: X-Webhook-Token")
		}
		t.field = http.CanonicalHeaderKey(t.field)
	case tokenQuery:
		if t.field == "" {
			k.add(path+".field", "is missing: which URL parameter holds the token?", "write field: token")
		}
	case tokenBody:
		if t.field == "" {
			k.add(path+".field", "is missing: which field of the body holds the token?", "write a path, such as field: token")
			return nil
		}
		e := k.expr(path+".field", t.field)
		if e == nil {
			return nil
		}
		if e.from != fromItem || len(e.pipes) > 0 {
			k.add(path+".field", "is no plain path into the body", "write a path, such as field: token")
			return nil
		}
		program := rawjson.NewProgram()
		e.link(program, program)
		t.read = func(r *Request) (string, error) {
			doc, refused := body.read(r)
			if refused != nil {
				return "", refused
			}
			found := make([]rawjson.Span, program.Slots)
			if err := program.Run(doc.text, found); err != nil {
				return "", err
			}
			raw := e.raw(&view{item: doc.text, inItem: found})
			if raw == "" || raw[0] != '"' {
				return "", nil // a text and nothing else: no list of one, no number
			}
			return rawjson.Unquote(raw), nil
		}
	}
	for _, s := range k.wantSecrets(secrets) {
		word := strings.TrimSpace(s.text)
		if len(strings.Trim(word, "\x00")) == 0 {
			k.add(s.path, "is empty", "write a long random word")
			continue
		}
		k.adviseSecret(s, []byte(word))
		if t.from == tokenPath && strings.ContainsAny(word, "/?#% ") {
			k.add(s.path, "holds characters that cannot stand in a path", "use letters, digits, - and _")
		}
		t.hashes = append(t.hashes, sha256.Sum256([]byte(word)))
		if t.first == "" {
			t.first = word
		}
	}
	if len(t.hashes) == 0 {
		return nil
	}
	return t
}

func (k *compiler) basic(path, name string, v *Verify, secrets []located) proof {
	b := &basic{name: name}
	pairs := []located{}
	switch {
	case v.User != "" && !v.Password.IsZero():
		pairs = append(pairs, located{path + ".password", v.User + ":" + v.Password.Reveal()})
	case v.User != "":
		for _, s := range k.wantSecrets(secrets) {
			pairs = append(pairs, located{s.path, v.User + ":" + s.text})
		}
	default:
		pairs = k.wantSecrets(secrets)
	}
	if strings.Contains(v.User, ":") {
		k.add(path+".user", "holds a colon, which parts user and password", "choose a name without it; the password may have one")
	}
	for _, p := range pairs {
		user, password, ok := strings.Cut(p.text, ":")
		if !ok || user == "" || len(bytes.Trim([]byte(strings.TrimSpace(password)), "\x00")) == 0 {
			k.add(p.path, "is not user and password", "write secret: ${NAME} with user:password in NAME, or user: and password: under verify")
			continue
		}
		k.adviseSecret(located{p.path, password}, []byte(password))
		b.hashes = append(b.hashes, sha256.Sum256([]byte(p.text)))
		b.users = append(b.users, user)
		if b.first == "" {
			b.first = p.text
		}
	}
	if len(b.hashes) == 0 {
		return nil
	}
	return b
}

// judgeUnsigned finds what an event is made of that its proof does not cover. Ids are backed by
// a key of the content; for the rest it warns, where the connector is the user's own.
func (k *compiler) judgeUnsigned(con *Connector) {
	own := k.own.Verify != nil && (k.own.Verify.Kind != "" || len(k.own.Verify.Parts)+len(k.own.Verify.AnyOf)+len(k.own.Verify.AllOf) > 0)
	warn := func(path string, e *expr, written bool) bool {
		part := e.unsigned(con.gate.proof)
		if part != "" && own && written {
			k.warn(path, "comes from "+part+", which is not signed: whoever copied a request can change it",
				"take it from the body if it stands there, or add "+part+" to verify.parts if the sender signs it")
		}
		return part != ""
	}
	types := map[string]bool{}
	for i, e := range con.event.types {
		warn(fmt.Sprintf("event.type[%d]", i), e, len(k.own.Event.Type) > 0)
		types[e.source] = true
	}
	for i := range con.event.ids {
		for _, e := range con.event.ids[i].exprs {
			// The topic is part of the content key, too.
			con.event.content = warn(fmt.Sprintf("event.id[%d]", i), e, len(k.own.Event.ID) > 0) && !types[e.source] || con.event.content
		}
	}
	for i, e := range con.event.dedupe {
		con.event.content = warn(fmt.Sprintf("dedupe.key[%d]", i), e, len(k.own.Dedupe.Key) > 0) && !types[e.source] || con.event.content
	}
}

// unsigned is the part of the request beside its body that e reads and p, which signs the body, does
// not cover; "" for none.
func (e *expr) unsigned(p proof) string {
	switch e.from {
	case fromHeader:
		if covers(p, "header:"+http.CanonicalHeaderKey(e.name)) == coversBodyOnly {
			return "header:" + e.name
		}
	case fromQuery:
		if covers(p, "url") == coversBodyOnly {
			return "url"
		}
	case fromPieces:
		for _, piece := range e.pieces {
			if piece.expr != nil {
				if part := piece.expr.unsigned(p); part != "" {
					return part
				}
			}
		}
	}
	return ""
}

// What a proof says of a part of the request beside the body.
const (
	coversNothing  = iota // not even the body: who can make the proof can write anything
	coversBodyOnly        // the body, but not this part
	coversPart
)

// covers says whether a right proof shows that the part (url, or header:NAME) is the sender's.
func covers(p proof, part string) int {
	switch p := p.(type) {
	case *conditional:
		return covers(p.proof, part)
	case *signed:
		if slices.Contains(p.signs, part) {
			return coversPart
		}
		return coversBodyOnly
	case *jwt:
		if p.bodyHash != "" {
			return coversBodyOnly
		}
	case *allOf: // one that covers it is enough
		most := coversNothing
		for _, one := range p.proofs {
			most = max(most, covers(one, part))
		}
		return most
	case *anyOf: // one that does not is enough for an attacker
		for _, one := range p.proofs {
			if covers(one, part) == coversBodyOnly {
				return coversBodyOnly
			}
		}
	}
	return coversNothing
}
