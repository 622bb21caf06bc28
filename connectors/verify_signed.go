package connectors

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/connectors/signatures"
)

// SignedKeys are the keys of kind signed; jwt and standard_webhooks use some of them.
type SignedKeys struct {
	Algorithm    string     `yaml:"algorithm" validate:"oneof=hmac-sha1 hmac-sha256 hmac-sha384 hmac-sha512 sha256 ed25519 rsa-sha256 ecdsa-p256-sha256" doc:"For signed and jwt: what makes the signature. sha256 is the plain hash, with the secret as one of the parts."`
	Signature    *Signature `yaml:"signature" doc:"For signed: which header holds the signature and how it is written."`
	Parts        []string   `yaml:"parts" doc:"For signed: what is signed, in order: body, body_base64, first_item, form_sorted, form_or_body_hash (a form's fields, else the URL's bodySHA256), method, url, path, timestamp, id, secret, header:NAME, body:PATH for one field of the body (check then warns that the others are not signed), a text in 'quotes', or a hash of the body: sha256(body) as bytes, hex(sha256(body)), base64(sha256(body)); also md5, sha1 and sha512."`
	Timestamp    *Timestamp `yaml:"timestamp" doc:"For signed and standard_webhooks: the time that is signed, and how old it may be. For standard_webhooks, whose time is in a header of its own, only tolerance and skew."`
	Freshness    *Timestamp `yaml:"freshness" doc:"For signed: where the time to check is, if that is not the one that is signed."`
	ID           string     `yaml:"id" doc:"For signed: the header behind the part id."`
	Key          *Key       `yaml:"key" doc:"For signed, standard_webhooks and jwt: how the secret becomes a key, or the public keys."`
	URL          *URLRule   `yaml:"url" doc:"For signed: how the part url is written."`
	BodyRequired *bool      `yaml:"body_required" doc:"For signed and standard_webhooks: reject a request without a body even when its signature is right; true unless said otherwise."`
}

// A Signature says which header holds a signature and how it is written.
type Signature struct {
	Header   []string `yaml:"header" validate:"required" doc:"The header; of several the first that the request has." example:"X-Signature"`
	Encoding string   `yaml:"encoding" validate:"required,oneof=hex hex_upper base64 base64url" doc:"How its bytes are written, exactly: hex in small letters, hex_upper in capitals, base64 with its padding."`
	Prefix   string   `yaml:"prefix" doc:"The text before it." example:"sha256="`
	List     *List    `yaml:"list" doc:"Where one header holds several signatures."`
}

// A List is a header of the form t=1,v1=aa,v1=bb. Without Assign its entries have no names, as in 1,aa,bb, and are called by
// their places: 0, 1, 2.
type List struct {
	Separator string   `yaml:"separator" validate:"required" doc:"The separator between entries." example:"','"`
	Assign    string   `yaml:"assign" doc:"The separator between an entry's name and its value. Without it entries have no names, and are called by their places, from 0." example:"="`
	Pick      []string `yaml:"pick" validate:"required" doc:"The names of the entries that hold signatures." example:"v1"`
}

// A URLRule says how the part url is written.
type URLRule struct {
	Decode string `yaml:"decode" validate:"oneof=none hubspot" doc:"hubspot: twelve percent sequences are decoded before signing."`
}

func signedWords(v *Verify) string {
	return fmt.Sprintf("signature (%s over %s)", v.Algorithm, visible.Replace(strings.Join(v.Parts, ", ")))
}

// visible writes the control characters that a signed text may have between its parts.
var visible = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// signedNeed is what most kinds need that verify with a key.
func signedNeed(v *Verify) []Need {
	switch {
	case signatures.Asymmetric(v.Algorithm) && (v.Key == nil || len(v.Key.PublicKeys) == 0):
		return []Need{{"verify.key.public_keys", "the sender's public key, PEM or base64"}}
	case signatures.Asymmetric(v.Algorithm):
		return nil
	case v.Key != nil && v.Key.Encoding == signatures.KeyHex:
		return []Need{{"secret", "the sender's signing key, in hexadecimal as it shows it"}}
	}
	return []Need{{"secret", "the sender's signing secret, as it shows it"}}
}

// signed is a signature in a header over parts of the request.
type signed struct {
	named
	headers     []string // canonical; the first that the request has counts
	encoding    string
	prefix      string
	list        *List
	parts       []partWriter
	covered     []string // headers among the parts: each may come only once
	covers      []string // what is signed: names of parts, and header:NAME for what is behind id and timestamp
	needsURL    bool
	needsMethod bool
	idHeaders   []string // the header behind the part id, in the same order as headers or one for all
	stamps      []*stamp // the signed time; one for all headers, or one each
	freshness   *stamp   // the time to check, when it is not the signed one
	keys        []signatures.Key
	extra       []tagged // keys for other entries of the list, such as v1a
	needsBody   bool
	fields      []*mapping.Expr // fields of the body among the parts
	partly      bool            // of the body only they are signed
	firstOnly   bool            // only the first item of a batch is signed, and nothing else covers the others

	buffers sync.Pool // *[]byte for decoded signatures
}

// tagged is a key that only compares with list entries of its own name.
type tagged struct {
	name string
	key  signatures.Key
}

func (s *signed) traits() traits {
	return traits{body: !s.partly, partly: s.partly, time: len(s.stamps) > 0 || s.freshness != nil, parts: s.covers}
}

func (s *signed) carried(r *Request) bool { return s.header(r) >= 0 }

// header is the index of the first signature header that the request has; -1 for none.
func (s *signed) header(r *Request) int {
	for i, name := range s.headers {
		if len(r.Header[name]) > 0 {
			return i
		}
	}
	return -1
}

func (s *signed) precheck(r *Request) string {
	if s.carried(r) {
		return ""
	}
	return "there is no header " + strings.Join(s.headers, " or ")
}

func (s *signed) check(r *Request) string {
	at := s.header(r)
	if at < 0 {
		return s.precheck(r)
	}
	written, reason := only(r.Header, s.headers[at])
	if reason != "" {
		return reason
	}
	if s.needsBody && len(r.Body) == 0 {
		return "the body is empty, and an empty body shows nothing"
	}
	m := message{parts: s.parts, request: r}
	if reason := s.fill(&m, at, written); reason != "" {
		return reason
	}
	if reason := s.compare(&m, at, written); reason != "" {
		return reason
	}
	if s.firstOnly {
		if _, rest, err := firstItem(r.Body); err != nil || (len(rest) > 0 && rest[0] != ']') {
			return "the body is a batch, of which the signature covers only the first item: switch batching off at the sender, or demand a token as well (all_of with kind: token)"
		}
	}
	return s.fresh(&m, at)
}

// fill finds the id and the time that are signed.
func (s *signed) fill(m *message, at int, written string) (reason string) {
	if len(s.idHeaders) > 0 {
		name := s.idHeaders[min(at, len(s.idHeaders)-1)]
		if m.id, reason = only(m.request.Header, name); reason != "" {
			return reason
		}
		if m.id == "" {
			return "there is no header " + name
		}
	}
	for _, name := range s.covered {
		if _, reason = only(m.request.Header, name); reason != "" {
			return reason
		}
	}
	if len(s.stamps) == 0 {
		return ""
	}
	st := s.stamp(at)
	switch {
	case st.header != "":
		if m.stamp, reason = only(m.request.Header, st.header); reason != "" {
			return reason
		}
		if m.stamp == "" {
			return "there is no header " + st.header
		}
	case st.list != "":
		for name, value := range signatures.ListEntries(written, s.list.Separator, s.list.Assign) {
			if name != st.list {
				continue
			}
			if m.stamp != "" && m.stamp != value {
				return "the header " + s.headers[at] + " has two different " + st.list
			}
			m.stamp = value
		}
		if m.stamp == "" {
			return fmt.Sprintf("the header %s has no %s%s", s.headers[at], st.list, s.list.Assign)
		}
	}
	return ""
}

func (s *signed) stamp(at int) *stamp { return s.stamps[min(at, len(s.stamps)-1)] }

// compare holds each signature of the header against each key.
func (s *signed) compare(m *message, at int, written string) (reason string) {
	pooled, _ := s.buffers.Get().(*[]byte)
	if pooled == nil {
		pooled = new([]byte)
	}
	buffer := *pooled
	defer func() { *pooled = buffer[:0]; s.buffers.Put(pooled) }()

	if s.list == nil {
		value, ok := strings.CutPrefix(written, s.prefix)
		if !ok {
			return fmt.Sprintf("the header %s does not begin with %s", s.headers[at], s.prefix)
		}
		sig, ok := signatures.DecodeSignature(buffer[:0], value, s.encoding)
		buffer = sig
		if !ok {
			return fmt.Sprintf("the header %s should hold %s, but is %s", s.headers[at], s.encoding, signatures.LooksLike(value))
		}
		if right, err := matchesAny(s.keys, m, sig); err != nil {
			return err.Error()
		} else if right {
			return ""
		}
		return s.mismatch(m, at, 1)
	}

	tried, unreadable := 0, 0
	for name, value := range signatures.ListEntries(written, s.list.Separator, s.list.Assign) {
		if !s.picks(name) {
			continue
		}
		sig, ok := signatures.DecodeSignature(buffer[:0], value, s.encoding)
		buffer = sig
		if !ok {
			unreadable++
			continue
		}
		tried++
		if right, err := s.matches(name, m, sig); err != nil {
			return err.Error()
		} else if right {
			return ""
		}
	}
	switch {
	case tried == 0 && unreadable > 0:
		return fmt.Sprintf("the header %s holds no signature that can be read as %s", s.headers[at], s.encoding)
	case tried == 0:
		names := strings.Join(s.listNames(), " or ")
		return fmt.Sprintf("the header %s has no entry %s", s.headers[at], names)
	}
	return s.mismatch(m, at, tried)
}

// picks reports whether list entries of this name hold signatures.
func (s *signed) picks(name string) bool {
	return slices.Contains(s.list.Pick, name) || slices.ContainsFunc(s.extra, func(x tagged) bool { return x.name == name })
}

// matches holds the signature of a list entry against the keys for entries of its name.
func (s *signed) matches(name string, m *message, sig []byte) (right bool, err error) {
	if slices.Contains(s.list.Pick, name) {
		right, err = matchesAny(s.keys, m, sig)
	}
	for i := 0; i < len(s.extra) && !right && err == nil; i++ {
		if x := &s.extra[i]; x.name == name {
			right, err = x.key.Matches(m, sig)
		}
	}
	return right, err
}

func (s *signed) listNames() []string {
	var names []string
	if len(s.keys) > 0 {
		names = append(names, s.list.Pick...)
	}
	for _, x := range s.extra {
		names = append(names, x.name)
	}
	return names
}

func matchesAny(keys []signatures.Key, m *message, sig []byte) (right bool, err error) {
	for i := 0; i < len(keys) && !right && err == nil; i++ {
		right, err = keys[i].Matches(m, sig)
	}
	return right, err
}

// mismatch says to the operator what went into the comparison, so that the part that differs
// can be found, and nothing that would help to forge one.
func (s *signed) mismatch(m *message, at, signatures int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the signature does not match: %s tried against %s, body of %d bytes",
		problems.Count(signatures, "signature"), problems.Count(len(s.keys)+len(s.extra), "key"), len(m.request.Body))
	if s.needsMethod {
		fmt.Fprintf(&b, ", method %s", problems.Short(m.request.Method))
	}
	if s.needsURL {
		fmt.Fprintf(&b, ", URL %s", urlForReason(m.request.URL))
	}
	if m.id != "" {
		fmt.Fprintf(&b, ", id %s", problems.Short(m.id))
	}
	for _, name := range s.covered {
		fmt.Fprintf(&b, ", %s of %s", name, problems.Count(len(mapping.HeaderText(m.request.Header, name)), "character"))
	}
	if m.stamp != "" {
		fmt.Fprintf(&b, ", timestamp %s", problems.Short(m.stamp))
		if when, ok := mapping.ParseTime(m.stamp, s.stamp(at).unit, time.UTC); ok {
			fmt.Fprintf(&b, " (%s)", ago(m.request.Now, when))
		}
	}
	return b.String()
}

// fresh checks the time, once the signature was found right.
func (s *signed) fresh(m *message, at int) (reason string) {
	st, text := s.freshness, m.stamp
	switch {
	case st != nil && st.body != nil:
		if text, reason = st.fromBody(m.request); reason != "" {
			return reason
		}
	case st != nil:
		if text, reason = only(m.request.Header, st.header); reason != "" {
			return reason
		}
	case len(s.stamps) > 0:
		st = s.stamp(at)
	default:
		return ""
	}
	if text == "" && st.optional || m.request.test {
		return ""
	}
	return st.stale(text, m.request.Now)
}

func (s *signed) sign(r *Request, out *signing) error {
	header := s.headers[0]
	request := *r
	request.URL, request.Header = out.url, out.header
	m := message{parts: s.parts, request: &request}
	if len(s.idHeaders) > 0 {
		if m.id = mapping.HeaderText(out.header, s.idHeaders[0]); m.id == "" {
			m.id = inventedID(r)
			out.header.Set(s.idHeaders[0], m.id)
		}
	}
	prefix := s.prefix
	if len(s.stamps) > 0 {
		st := s.stamp(0)
		m.stamp = st.write(r.Now)
		if st.header != "" {
			out.header.Set(st.header, m.stamp)
		} else {
			prefix = s.list.entry(st.list, m.stamp) + s.list.Separator
		}
	}
	if s.freshness != nil && s.freshness.header != "" && mapping.HeaderText(out.header, s.freshness.header) == "" {
		out.header.Set(s.freshness.header, s.freshness.write(r.Now))
	}
	k, name := s.signer()
	sig, err := k.Sign(&m)
	if err != nil {
		return err
	}
	if s.list != nil {
		prefix += s.list.entry(name, "")
	}
	out.header.Set(header, prefix+signatures.EncodeSignature(sig, s.encoding))
	return nil
}

// signer is the first key that can sign, and the list entry it signs for.
func (s *signed) signer() (k signatures.Key, name string) {
	if len(s.keys) > 0 {
		if s.list != nil {
			name = s.list.Pick[0]
		}
		return s.keys[0], name
	}
	return s.extra[0].key, s.extra[0].name
}

// inventedID is an id for a request that is being signed: the same for the same request, so
// that a trial repeated within the second is seen to be the same.
func inventedID(r *Request) string {
	k := signatures.NewMacKey(signatures.AlgorithmPlain, nil)
	sum, _ := k.Sign(&message{request: r, stamp: strconv.FormatInt(r.Now.Unix(), 10), parts: []partWriter{
		partFor("timestamp"), partFor("body"),
	}})
	return "msg_" + hex.EncodeToString(sum[:12])
}

// signed compiles the verifier.
func (k *compiler) signed(v *verifyRule) verifier {
	path := v.path
	s := &signed{named: v.named, needsBody: k.needsBody(v.Verify)}
	if signatures.Hashes[v.Algorithm] == nil && !signatures.Asymmetric(v.Algorithm) {
		k.Add(path+".algorithm", "is missing", "write hmac-sha256 if the sender's page says HMAC with SHA-256")
		return nil
	}
	if v.Signature == nil || len(v.Signature.Header) == 0 {
		k.Add(path+".signature", "is missing: which header holds the signature?", "write signature: {header: X-Signature, encoding: hex}")
		return nil
	}
	sig := v.Signature
	for i, h := range sig.Header {
		if !httpguts.ValidHeaderFieldName(h) {
			k.Add(fmt.Sprintf("%s.signature.header[%d]", path, i), fmt.Sprintf("%q is no header name", h), "write a name such as X-Signature")
		}
		s.headers = append(s.headers, http.CanonicalHeaderKey(h))
	}
	s.encoding, s.prefix, s.list = sig.Encoding, sig.Prefix, sig.List
	if l := sig.List; l != nil && l.Assign == "" {
		// The time, where it is in the list, then the signatures: what Sign writes, and all that senders do.
		first := 0
		if v.Timestamp != nil && v.Timestamp.List != "" {
			first = 1
		}
		places := slices.ContainsFunc(l.Pick, func(name string) bool { n, err := strconv.Atoi(name); return err != nil || n < first })
		if places || len(l.Pick) == 0 || l.Pick[0] != strconv.Itoa(first) || first == 1 && v.Timestamp.List != "0" {
			k.Add(path+".signature.list", "has no assign, so that its entries are called by their places", "write pick: ['1', '2'] and timestamp: {list: '0'}: first the time, then signatures")
		}
	}
	if v.ID != "" {
		s.idHeaders = []string{http.CanonicalHeaderKey(v.ID)}
	}
	if v.Timestamp != nil {
		if st := k.stamp(path+".timestamp", v.Timestamp, s.list != nil, v.body); st != nil {
			if st.body != nil {
				k.Add(path+".timestamp.body", "cannot be signed: the body is read only after the signature was checked", "write it under freshness, and sign the body")
			} else {
				s.stamps = []*stamp{st}
			}
		}
	}
	if v.Freshness != nil {
		s.freshness = k.stamp(path+".freshness", v.Freshness, false, v.body)
	}
	k.parts(v, s)
	if signatures.Asymmetric(v.Algorithm) {
		s.keys = k.publicKeys(path, v.Key, v.Algorithm)
	} else {
		for _, raw := range k.rawKeys(v) {
			s.keys = append(s.keys, signatures.NewMacKey(v.Algorithm, raw))
		}
	}
	if len(s.keys) == 0 {
		return nil
	}
	return s
}

// needsBody reports whether the verifier itself rejects an empty body. Where nothing is said, that is
// only needed if the body's reader would take one.
func (k *compiler) needsBody(v *Verify) bool {
	if v.BodyRequired != nil {
		return *v.BodyRequired
	}
	return k.config.Body.Empty == emptyObject
}

// urlForReason is a URL without the values of its query, in which tokens may be.
func urlForReason(url string) string {
	before, query, ok := strings.Cut(url, "?")
	if !ok {
		return problems.Short(before)
	}
	return fmt.Sprintf("%s?… (%d more bytes)", problems.Short(before), len(query))
}

// entry writes an entry of the list.
func (l *List) entry(name, value string) string {
	if l.Assign == "" {
		return value
	}
	return name + l.Assign + value
}

// Asymmetric reports whether the verifier's signatures are made with a private key, which the sender alone has.
func (v *Verify) Asymmetric() bool { return signatures.Asymmetric(v.Algorithm) }
