package connectors

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/asjson"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// The kinds of body.
const (
	contentAuto      = "auto"
	contentJSON      = "json"
	contentForm      = "form"
	contentMultipart = "multipart"
	contentXML       = "xml"
	contentText      = "text"
)

// contentOf is the kind of body that the Content-Type header announces; contentAuto when it
// announces none, or one of no particular kind.
func contentOf(h http.Header) string {
	written := mapping.HeaderText(h, "Content-Type")
	if written == "" || written == "application/json" {
		if written == "" {
			return contentAuto
		}
		return contentJSON
	}
	media, _, _ := strings.Cut(written, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case slices.Contains(jsonTypes, media), strings.HasSuffix(media, "+json"):
		return contentJSON
	case media == "application/x-www-form-urlencoded":
		return contentForm
	case media == "multipart/form-data", media == "multipart/mixed":
		return contentMultipart
	case media == "text/xml", media == "application/xml", strings.HasSuffix(media, "+xml"):
		return contentXML
	case media == "text/plain", strings.HasPrefix(media, "text/"):
		return contentText
	default:
		return contentAuto
	}
}

// jsonTypes are the content types of JSON, and of one JSON object a line.
var jsonTypes = []string{
	"application/json", "text/json", "application/x-json",
	"application/x-ndjson", "application/ndjson", "text/x-ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines", "application/x-jsonlines",
	"application/json-lines", "text/jsonl",
}

// demand rejects a body of a kind that the connector does not take.
func (b *bodyReader) demand(r *Request) *Rejected {
	for _, encoding := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(encoding, "identity") && encoding != "" {
			return reject(http.StatusUnsupportedMediaType, StageContent,
				"the content encoding is "+problems.Short(encoding)+", and bodies are read as they come: switch compression off at the sender")
		}
	}
	if len(b.accept) == 0 || len(r.Body) == 0 || r.claims {
		return nil
	}
	written := mapping.HeaderText(r.Header, "Content-Type")
	if written == "" {
		return nil
	}
	got := contentOf(r.Header)
	if slices.Contains(b.accept, got) {
		return nil
	}
	return reject(http.StatusUnsupportedMediaType, StageContent,
		fmt.Sprintf("the content type is %s, and this connector takes only %s", problems.Short(written), strings.Join(b.accept, " and ")))
}

// sort decides how a body is read: as configured, else as announced, else by its looks. JSON that is announced as a form, as
// curl does it unless told otherwise, is JSON; then the body is what to read of it.
func (b *bodyReader) sort(h http.Header, body []byte) (string, []byte) {
	if b.content != contentAuto {
		return b.content, body
	}
	got := contentOf(h)
	if got == contentForm && (len(b.accept) == 0 || slices.Contains(b.accept, contentJSON)) {
		if inside := jsonInForm(body); inside != nil {
			return contentJSON, inside
		}
	}
	if got != contentAuto && got != contentText {
		return got, body
	}
	looks := bytes.TrimLeft(body, " \r\n\t")
	switch {
	case len(looks) == 0, looks[0] == '{', looks[0] == '[', looks[0] == '"', looks[0] == '\'':
		return contentJSON, body
	case looks[0] == '<':
		return contentXML, body
	case bytes.IndexByte(looks, '=') > 0 && !bytes.ContainsAny(looks, " \r\n\t<>\"{}"):
		return contentForm, body
	default:
		return contentText, body
	}
}

// jsonInForm is the JSON that a form is: written as it is, or as the only name or the only value; nil for what is a form.
func jsonInForm(body []byte) []byte {
	text := strings.TrimSpace(sharedText(body))
	if isJSON(text) {
		return body
	}
	name, value, _ := strings.Cut(text, "=")
	if strings.Contains(text, "&") || name != "" && value != "" {
		return nil
	}
	if inside, err := url.QueryUnescape(name + value); err == nil && isJSON(strings.TrimSpace(inside)) {
		return []byte(inside)
	}
	return nil
}

// isJSON reports whether text is an object or a list, or several objects one after the other.
func isJSON(text string) bool {
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	if rawjson.Check(text) == nil {
		return true
	}
	_, err := listOfLines(text)
	return err == nil
}

// charsetOf is the charset that the content type names, else the connector's own.
func (b *bodyReader) charsetOf(h http.Header) (asjson.Charset, *Rejected) {
	written := mapping.HeaderText(h, "Content-Type")
	if !strings.Contains(written, ";") {
		return b.charset, nil
	}
	named := ""
	for param := range strings.SplitSeq(written, ";") {
		if name, value, ok := strings.Cut(param, "="); ok && strings.EqualFold(strings.TrimSpace(name), "charset") {
			named = strings.Trim(strings.TrimSpace(value), `"'`)
			break
		}
	}
	if named == "" {
		return b.charset, nil
	}
	charset, err := asjson.CharsetOf(named)
	if err != nil {
		return charset, reject(http.StatusUnsupportedMediaType, StageContent, "the content type is "+problems.Short(written)+": the body "+err.Error())
	}
	return charset, nil
}

// boundary is the multipart boundary of the content type; "" for none.
func boundary(h http.Header) string {
	_, params, err := mime.ParseMediaType(mapping.HeaderText(h, "Content-Type"))
	if err != nil {
		return ""
	}
	return params["boundary"]
}
