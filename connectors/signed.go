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
)

// signed is a signature in a header over parts of the request.
type signed struct {
	name        string
	headers     []string // canonical; the first that the request has counts
	encoding    string
	prefix      string
	list        *List
	parts       []partWriter
	covered     []string // headers among the parts: each may come only once
	signs       []string // what is covered: names of parts, and header:NAME for what stands behind id and timestamp
	needsURL    bool
	needsMethod bool
	idHeaders   []string // the header behind the part id, in the same order as headers or one for all
	stamps      []*stamp // the signed time; one for all headers, or one each
	freshness   *stamp   // the time to check, when it is not the signed one
	keys        []key
	extra       []tagged // keys for other entries of the list, such as v1a
	needsBody   bool
	firstOnly   bool // only the first item of a batch is signed, and nothing else proves the others

	buffers sync.Pool // *[]byte for decoded signatures
}

// tagged is a key that only compares with list entries of its own name.
type tagged struct {
	name string
	key  key
}

func (s *signed) called() string { return s.name }

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

func (s *signed) hopeless(r *Request) string {
	if s.carried(r) {
		return ""
	}
	return "there is no header " + strings.Join(s.headers, " or ")
}

func (s *signed) check(r *Request) string {
	at := s.header(r)
	if at < 0 {
		return s.hopeless(r)
	}
	written, reason := only(r.Header, s.headers[at])
	if reason != "" {
		return reason
	}
	if s.needsBody && len(r.Body) == 0 {
		return "the body is empty, and an empty body proves nothing"
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
			return "the body is a batch, of which the signature proves only the first item: switch batching off at the sender, or demand a token as well (all_of with kind: token)"
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
		for name, value := range entries(written, s.list.Separator, s.list.Assign) {
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
		sig, ok := decodeSignature(buffer[:0], value, s.encoding)
		buffer = sig
		if !ok {
			return fmt.Sprintf("the header %s should hold %s, but is %s", s.headers[at], s.encoding, looksLike(value))
		}
		if right, err := matchesAny(s.keys, m, sig); err != nil {
			return err.Error()
		} else if right {
			return ""
		}
		return s.mismatch(m, at, 1)
	}

	tried, unreadable := 0, 0
	for name, value := range entries(written, s.list.Separator, s.list.Assign) {
		if !s.named(name) {
			continue
		}
		sig, ok := decodeSignature(buffer[:0], value, s.encoding)
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
		names := strings.Join(s.names(), " or ")
		return fmt.Sprintf("the header %s has no entry %s", s.headers[at], names)
	}
	return s.mismatch(m, at, tried)
}

// named reports whether list entries of this name hold signatures.
func (s *signed) named(name string) bool {
	return slices.Contains(s.list.Pick, name) || slices.ContainsFunc(s.extra, func(x tagged) bool { return x.name == name })
}

// matches holds the signature of a list entry against the keys for entries of its name.
func (s *signed) matches(name string, m *message, sig []byte) (right bool, err error) {
	if slices.Contains(s.list.Pick, name) {
		right, err = matchesAny(s.keys, m, sig)
	}
	for i := 0; i < len(s.extra) && !right && err == nil; i++ {
		if x := &s.extra[i]; x.name == name {
			right, err = x.key.matches(m, sig)
		}
	}
	return right, err
}

func (s *signed) names() []string {
	var names []string
	if len(s.keys) > 0 {
		names = append(names, s.list.Pick...)
	}
	for _, x := range s.extra {
		names = append(names, x.name)
	}
	return names
}

func matchesAny(keys []key, m *message, sig []byte) (right bool, err error) {
	for i := 0; i < len(keys) && !right && err == nil; i++ {
		right, err = keys[i].matches(m, sig)
	}
	return right, err
}

// mismatch tells the operator what went into the comparison, so that the part that differs
// can be found, and nothing that would help to forge one.
func (s *signed) mismatch(m *message, at, signatures int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the signature does not match: %s tried against %s, body of %d bytes",
		count(signatures, "signature"), count(len(s.keys)+len(s.extra), "key"), len(m.request.Body))
	if s.needsMethod {
		fmt.Fprintf(&b, ", method %s", short(m.request.Method))
	}
	if s.needsURL {
		fmt.Fprintf(&b, ", URL %s", urlForReason(m.request.URL))
	}
	if m.id != "" {
		fmt.Fprintf(&b, ", id %s", short(m.id))
	}
	for _, name := range s.covered {
		fmt.Fprintf(&b, ", %s of %s", name, count(len(headerText(m.request.Header, name)), "character"))
	}
	if m.stamp != "" {
		fmt.Fprintf(&b, ", timestamp %s", short(m.stamp))
		if when, ok := parseTime(m.stamp, s.stamp(at).unit, time.UTC); ok {
			fmt.Fprintf(&b, " (%s)", ago(m.request.Now, when))
		}
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// urlForReason is a URL without the values of its query, in which tokens may be.
func urlForReason(url string) string {
	before, query, ok := strings.Cut(url, "?")
	if !ok {
		return short(before)
	}
	return fmt.Sprintf("%s?… (%d more bytes)", short(before), len(query))
}

// fresh checks the time, once the signature was found right.
func (s *signed) fresh(m *message, at int) (reason string) {
	st, text := s.freshness, m.stamp
	switch {
	case st != nil && st.body != nil:
		if text, reason = st.fromBody(m.request.Body); reason != "" {
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
	if text == "" && st.optional {
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
		if m.id = headerText(out.header, s.idHeaders[0]); m.id == "" {
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
			prefix = st.list + s.list.Assign + m.stamp + s.list.Separator
		}
	}
	if s.freshness != nil && s.freshness.header != "" && headerText(out.header, s.freshness.header) == "" {
		out.header.Set(s.freshness.header, s.freshness.write(r.Now))
	}
	k, name := s.signer()
	sig, err := k.sign(&m)
	if err != nil {
		return err
	}
	if s.list != nil {
		prefix += name + s.list.Assign
	}
	out.header.Set(header, prefix+encodeSignature(sig, s.encoding))
	return nil
}

// signer is the first key that can sign, and the list entry it signs for.
func (s *signed) signer() (k key, name string) {
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
	k := newMacKey(algorithmPlain, nil)
	sum, _ := k.sign(&message{request: r, stamp: strconv.FormatInt(r.Now.Unix(), 10), parts: []partWriter{
		partFor("timestamp", nil), partFor("body", nil),
	}})
	return "msg_" + hex.EncodeToString(sum[:12])
}

// cutPrefixFold removes prefix, case aside: the names of HTTP's schemes of authorization are
// written in any case (RFC 9110, 11.1).
func cutPrefixFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// standardHeaders are the headers of Standard Webhooks 1.0.0 in their spellings.
//
// Source: standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
func standardHeaders(spelling string) (signature, id, timestamp []string) {
	families := []string{"Webhook-", "Svix-"}
	switch spelling {
	case "webhook":
		families = families[:1]
	case "svix":
		families = families[1:]
	}
	for _, f := range families {
		signature = append(signature, http.CanonicalHeaderKey(f+"signature"))
		id = append(id, http.CanonicalHeaderKey(f+"id"))
		timestamp = append(timestamp, http.CanonicalHeaderKey(f+"timestamp"))
	}
	return signature, id, timestamp
}
