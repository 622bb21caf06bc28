package connectors

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// partNames are the words that may stand in parts, besides header:NAME and 'texts'.
var partNames = []string{
	"body", "body_base64", "first_item", "form_sorted", "method", "url", "path", "timestamp", "id", "secret",
}

// partFor is the writer of one part; nil for a word that is none.
func partFor(name string, decodeURL func(string) string) partWriter {
	switch name {
	case "body":
		return func(m *message, to *digest) { to.bytes(m.request.Body) }
	case "body_base64":
		return func(m *message, to *digest) { to.text(base64.StdEncoding.EncodeToString(m.request.Body)) }
	case "first_item":
		return func(m *message, to *digest) { to.bytes(firstItem(m.request.Body)) }
	case "form_sorted":
		return func(m *message, to *digest) { writeSortedForm(m.request.Body, to) }
	case "method":
		return func(m *message, to *digest) { to.text(m.request.Method) }
	case "url":
		if decodeURL != nil {
			return func(m *message, to *digest) { to.text(decodeURL(m.request.URL)) }
		}
		return func(m *message, to *digest) { to.text(m.request.URL) }
	case "path":
		return func(m *message, to *digest) { to.text(m.request.Path) }
	case "timestamp":
		return func(m *message, to *digest) { to.text(m.stamp) }
	case "id":
		return func(m *message, to *digest) { to.text(m.id) }
	case "secret":
		return func(_ *message, to *digest) { to.bytes(to.secret) }
	}
	if len(name) >= 2 && name[0] == '\'' && name[len(name)-1] == '\'' {
		literal := name[1 : len(name)-1]
		return func(_ *message, to *digest) { to.text(literal) }
	}
	if header, ok := strings.CutPrefix(name, "header:"); ok && header != "" {
		header = http.CanonicalHeaderKey(header)
		return func(m *message, to *digest) { to.text(headerText(m.request.Header, header)) }
	}
	return nil
}

// firstItem is the bytes of a JSON array's first element, and of anything else all of it.
// Segment signs so: the rest of a batch is not covered.
//
// Source: segmentio/action-destinations, packages/destination-actions/src/destinations/webhook/index.ts.
func firstItem(body []byte) []byte {
	text := string(body)
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '[' {
		return body
	}
	start := skipSpace(text, i+1)
	end, err := skipValue(text, start, 0)
	if err != nil {
		return body
	}
	return body[start:end]
}

// writeSortedForm writes each field's name and value, the fields sorted by name, as Mandrill
// and Twilio sign them.
func writeSortedForm(body []byte, to *digest) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return // what is then signed is the URL alone, and the comparison fails
	}
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range form[name] {
			to.text(name)
			to.text(value)
		}
	}
}

// hubspotURL decodes the twelve percent sequences that HubSpot decodes before it signs, and
// no others.
//
// Source: HubSpot, "Validating requests"; the "?" that opens the query was never encoded and
// stays as it is.
func hubspotURL(url string) string {
	if strings.IndexByte(url, '%') < 0 {
		return url
	}
	var b strings.Builder
	b.Grow(len(url))
	for i := 0; i < len(url); i++ {
		if url[i] == '%' && i+2 < len(url) {
			if c := hubspotDecoded(url[i+1], url[i+2]); c != 0 {
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(url[i])
	}
	return b.String()
}

func hubspotDecoded(high, low byte) byte {
	if low >= 'a' && low <= 'f' {
		low -= 'a' - 'A'
	}
	switch string([]byte{high, low}) {
	case "3A":
		return ':'
	case "2F":
		return '/'
	case "3F":
		return '?'
	case "40":
		return '@'
	case "21":
		return '!'
	case "24":
		return '$'
	case "27":
		return '\''
	case "28":
		return '('
	case "29":
		return ')'
	case "2A":
		return '*'
	case "2C":
		return ','
	case "3B":
		return ';'
	default:
		return 0
	}
}
