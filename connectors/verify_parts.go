package connectors

import (
	"crypto/md5"  //nolint:gosec // see bodyHashes
	"crypto/sha1" //nolint:gosec // see bodyHashes
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/signatures"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Parts that more than their writer must know of.
const (
	partFirstItem  = "first_item"
	partFormSorted = "form_sorted"
	partFormOrHash = "form_or_body_hash"
)

// partNames are the words that parts may hold, besides header:NAME, body:PATH and 'texts'.
var partNames = []string{
	"body", "body_base64", partFirstItem, partFormSorted, partFormOrHash, "method", "url", "path", "timestamp", "id", "secret",
	"sha256(body)", "hex(sha256(body))", "base64(md5(body))",
}

// textParts are the parts that are a text of the request.
var textParts = map[string]func(*message) string{
	"body_base64": func(m *message) string { return base64.StdEncoding.EncodeToString(m.request.Body) },
	"method":      func(m *message) string { return m.request.Method },
	"url":         func(m *message) string { return m.request.URL },
	"path":        func(m *message) string { return m.request.Path },
	"timestamp":   func(m *message) string { return m.stamp },
	"id":          func(m *message) string { return m.id },
}

// partFor is the writer of one part; nil for a word that is none.
func partFor(name string) partWriter {
	switch name {
	case "body":
		return func(m *message, to *signatures.Digest) error { to.Bytes(m.request.Body); return nil }
	case "secret":
		return func(_ *message, to *signatures.Digest) error { to.Bytes(to.Secret); return nil }
	case partFirstItem:
		return writeFirstItem
	case partFormSorted:
		return writeSortedForm
	case partFormOrHash:
		return writeFormOrHash
	}
	if hashed := bodyHashPart(name); hashed != nil {
		return hashed
	}
	of := textParts[name]
	if header, ok := strings.CutPrefix(name, "header:"); ok && header != "" {
		of = func(m *message) string { return mapping.HeaderText(m.request.Header, header) }
	} else if len(name) >= 2 && name[0] == '\'' && name[len(name)-1] == '\'' {
		of = func(*message) string { return name[1 : len(name)-1] }
	}
	if of == nil {
		return nil
	}
	return func(m *message, to *signatures.Digest) error { to.Text(of(m)); return nil }
}

// bodyHashes are the hashes of the body that may be a part: as bytes, or written in hex or base64.
var bodyHashes = map[string]func([]byte) []byte{
	"md5(body)":    func(b []byte) []byte { sum := md5.Sum(b); return sum[:] },  //nolint:gosec // what some senders sign; the signature's own hash is what protects
	"sha1(body)":   func(b []byte) []byte { sum := sha1.Sum(b); return sum[:] }, //nolint:gosec // as above
	"sha256(body)": func(b []byte) []byte { sum := sha256.Sum256(b); return sum[:] },
	"sha512(body)": func(b []byte) []byte { sum := sha512.Sum512(b); return sum[:] },
}

// coversBody reports whether a part depends on every byte of the body.
func coversBody(name string) bool {
	return name == "body" || name == "body_base64" || bodyHashPart(name) != nil
}

// bodyHashPart is the writer of sha256(body), hex(sha256(body)) or base64(sha256(body)); nil for
// anything else.
func bodyHashPart(name string) partWriter {
	write := func(sum []byte) []byte { return sum }
	if inside, ok := strings.CutPrefix(name, "hex("); ok {
		name, write = strings.TrimSuffix(inside, ")"), func(sum []byte) []byte { return []byte(hex.EncodeToString(sum)) }
	} else if inside, ok := strings.CutPrefix(name, "base64("); ok {
		name, write = strings.TrimSuffix(inside, ")"), func(sum []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(sum)) }
	}
	hash := bodyHashes[name]
	if hash == nil {
		return nil
	}
	return func(m *message, to *signatures.Digest) error { to.Bytes(write(hash(m.request.Body))); return nil }
}

// writeFirstItem writes the bytes of a JSON array's first element, and of a body that is one
// object all of it. Segment signs so: the rest of a batch is not covered.
//
// Source: segmentio/action-destinations, packages/destination-actions/src/destinations/webhook/index.ts.
func writeFirstItem(m *message, to *signatures.Digest) error {
	first, _, err := firstItem(m.request.Body)
	if err != nil {
		return errors.New("the body begins like a list, but has no first item that could be signed")
	}
	to.Bytes(first)
	return nil
}

// firstItem cuts a body into its first item and what follows it: nothing but a bracket where
// that is the only one.
func firstItem(body []byte) (first, rest []byte, err error) {
	text := string(body)
	i := rawjson.SkipSpace(text, 0)
	if i >= len(text) || text[i] != '[' {
		return body, nil, nil
	}
	start := rawjson.SkipSpace(text, i+1)
	end, err := rawjson.SkipValue(text, start)
	return body[start:end], body[rawjson.SkipSpace(text, end):], err
}

// writeSortedForm writes each field's name and value, the fields sorted by name, as Mandrill
// and Twilio sign them. A body that is no form has none of this, and must not pass as an empty one.
func writeSortedForm(m *message, to *signatures.Digest) error {
	if contentOf(m.request.Header) != contentForm {
		return errors.New("the content type is not application/x-www-form-urlencoded, and the fields of a form are signed")
	}
	form, err := url.ParseQuery(string(m.request.Body))
	if err != nil {
		return errors.New("the body cannot be read as a form, whose fields are signed")
	}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			to.Text(name)
			to.Text(value)
		}
	}
	return nil
}

// writeFormOrHash writes the fields of a form, and nothing of another body: that is in the URL, as the parameter bodySHA256, whose hash
// has to be the body's. So Twilio signs, and whoever has this part has the part url.
//
// Source: twilio/twilio-go, client/request_validator.go.
func writeFormOrHash(m *message, to *signatures.Digest) error {
	given := m.request.query().Get("bodySHA256")
	if given == "" {
		return writeSortedForm(m, to)
	}
	if sum := sha256.Sum256(m.request.Body); !sameText(hex.EncodeToString(sum[:]), strings.ToLower(given)) {
		return errors.New("the URL's bodySHA256 is not the hash of the body")
	}
	return nil
}

// hubspotURL decodes the twelve percent sequences that HubSpot decodes before it signs, and no
// others. A "?" that opens the query was never encoded and stays as it is.
//
// Source: HubSpot, "Validating requests".
func hubspotURL(url string) string {
	if strings.IndexByte(url, '%') < 0 {
		return url
	}
	return hubspotEscapes.Replace(url)
}

var hubspotEscapes = strings.NewReplacer(
	"%3A", ":", "%3a", ":", "%2F", "/", "%2f", "/", "%3F", "?", "%3f", "?", "%40", "@", "%21", "!", "%24", "$",
	"%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2a", "*", "%2C", ",", "%2c", ",", "%3B", ";", "%3b", ";",
)

// parts compiles what is signed.
func (k *compiler) parts(v *verifyRule, s *signed) {
	path := v.path
	if len(v.Parts) == 0 {
		k.Add(path+".parts", "is missing: what is signed?", "write parts: [body] if the sender signs the body alone")
		return
	}
	has := map[string]bool{}
	for i, name := range v.Parts {
		at := fmt.Sprintf("%s.parts[%d]", path, i)
		write := partFor(name)
		if name == "url" && v.URL != nil && v.URL.Decode == "hubspot" {
			write = func(m *message, to *signatures.Digest) error { to.Text(hubspotURL(m.request.URL)); return nil }
		}
		if text, ok := strings.CutPrefix(name, "body:"); ok {
			field := k.signedField(at, text)
			if field == nil {
				continue
			}
			s.fields = append(s.fields, field)
			write, name = fieldPart(field, v.body), bodyPart(field)
		}
		if write == nil {
			k.Unknown(at, name, "part of a request", append(slices.Clone(partNames), "header:NAME", "body:PATH", "'text'"))
			continue
		}
		if header, ok := strings.CutPrefix(name, "header:"); ok {
			s.covered = append(s.covered, http.CanonicalHeaderKey(header))
		}
		has[name] = true
		s.parts = append(s.parts, write)
	}
	if has[partFormOrHash] && !has["url"] {
		k.Add(path+".parts", "names form_or_body_hash without url, which holds the hash of a body that is no form", "add url before it")
	}
	if has[partFormSorted] {
		if c := k.config.Body.Content; c != "" && c != contentAuto && c != contentForm {
			k.Add(path+".parts", "names form_sorted, which signs a form, but body.content is "+c, "write body: {content: form}")
		}
		k.Warn(path+".parts", "form_sorted puts no mark between a field's name and its value: typ=ehello passes under the signature of type=hello", "sign body instead if the sender can; this is how Twilio and Mandrill sign")
	}
	s.needsURL, s.needsMethod = has["url"], has["method"]
	for name := range has {
		s.covers = append(s.covers, name)
	}
	for _, header := range s.covered {
		s.covers = append(s.covers, "header:"+header)
	}
	if has["id"] {
		for _, header := range s.idHeaders {
			s.covers = append(s.covers, "header:"+header)
		}
	}
	if has["timestamp"] && len(s.stamps) > 0 {
		s.covers = append(s.covers, "header:"+s.stamps[0].header)
	}
	if has["timestamp"] && len(s.stamps) == 0 {
		k.Add(path+".parts", "names timestamp, but nothing says where the time is", "write timestamp: {header: X-Timestamp, unit: s}")
	}
	if len(s.stamps) > 0 && !has["timestamp"] && !coversStamp(s) {
		k.Add(path+".timestamp", "is checked but not signed, so anybody could renew it", "add timestamp to parts, or write it under freshness as a path in the signed body")
	}
	if has["id"] && len(s.idHeaders) == 0 {
		k.Add(path+".parts", "names id, but nothing says which header it is", "write id: X-Webhook-Id")
	}
	if (v.Algorithm == signatures.AlgorithmPlain) != has["secret"] {
		if has["secret"] {
			k.Add(path+".parts", "names secret, which only the plain hash sha256 has as a part", "remove it; HMAC takes the secret as its key")
		} else {
			k.Add(path+".parts", "lacks secret: a plain hash without it can be made by anybody", "add secret where the sender puts it")
		}
	}
	if !slices.ContainsFunc(v.Parts, coversBody) && !has[partFirstItem] && !has[partFormSorted] && !has[partFormOrHash] {
		if s.partly = len(s.fields) > 0; s.partly {
			k.Warn(path+".parts", "covers "+fieldWords(s.fields)+" of the body alone: whoever copied a request can change everything else in it",
				"look up what counts at the sender's API (enrich), or sign body if the sender can")
		} else {
			k.Add(path+".parts", "does not cover the body, so anybody could change it", "add body")
		}
	}
	if has[partFirstItem] {
		s.firstOnly = true
		k.Warn(path+".parts", "first_item covers only the first item of a batch, so longer ones are rejected", "switch batching off at the sender, or demand a token as well: all_of with kind: token")
	}
	if s.partly && s.freshness != nil && s.freshness.body != nil && !slices.Contains(s.covers, bodyPart(s.freshness.body)) {
		k.Add(path+".freshness.body", "is not signed, so anybody could renew it", "add body:"+s.freshness.body.Source+" to parts, if the sender signs it")
	}
	if s.freshness != nil && s.freshness.header != "" && !slices.Contains(s.covered, s.freshness.header) {
		k.Add(path+".freshness.header", "is not signed, so anybody could renew it", "add header:"+s.freshness.header+" to parts")
	}
}

// coversStamp reports whether the time's header is among the parts by its own name.
func coversStamp(s *signed) bool {
	return s.stamps[0].header != "" && slices.Contains(s.covered, s.stamps[0].header)
}

// A message is what is signed: parts that write themselves, in order, for one request.
type message struct {
	parts   []partWriter
	request *Request
	stamp   string
	id      string
}

// A partWriter appends one part to a digest. Its error says why the request has no such part:
// what is then signed is not known, so the check fails.
type partWriter func(m *message, to *signatures.Digest) error

// feed writes the parts in their order.
func (m *message) Feed(to *signatures.Digest) error {
	for _, write := range m.parts {
		if err := write(m, to); err != nil {
			return err
		}
	}
	return nil
}
