package connectors

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
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
	written := headerText(h, "Content-Type")
	if written == "" || written == "application/json" {
		if written == "" {
			return contentAuto
		}
		return contentJSON
	}
	media, _, _ := strings.Cut(written, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"), media == "text/json", media == "application/x-json":
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

// demand rejects a body of a kind that the connector does not take.
func (b *bodyReader) demand(r *Request) *Rejected {
	for _, encoding := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(encoding, "identity") && encoding != "" {
			return reject(http.StatusUnsupportedMediaType, StageContent,
				"the content encoding is "+short(encoding)+", and bodies are read as they come: switch compression off at the sender")
		}
	}
	if len(b.accept) == 0 || len(r.Body) == 0 {
		return nil
	}
	written := headerText(r.Header, "Content-Type")
	if written == "" {
		return nil
	}
	got := contentOf(r.Header)
	if slices.Contains(b.accept, got) {
		return nil
	}
	return reject(http.StatusUnsupportedMediaType, StageContent,
		fmt.Sprintf("the content type is %s, and this connector takes only %s", short(written), strings.Join(b.accept, " and ")))
}

// sort decides how a body is read: as configured, else as announced, else by its looks.
func (b *bodyReader) sort(r *Request) string {
	if b.content != contentAuto {
		return b.content
	}
	if got := contentOf(r.Header); got != contentAuto && got != contentText {
		return got
	}
	body := bytes.TrimLeft(trimBOM(r.Body), " \r\n\t")
	switch {
	case len(body) == 0, body[0] == '{', body[0] == '[', body[0] == '"', body[0] == '\'':
		return contentJSON
	case body[0] == '<':
		return contentXML
	case bytes.IndexByte(body, '=') > 0 && !bytes.ContainsAny(body, " \r\n\t<>\"{}"):
		return contentForm
	default:
		return contentText
	}
}

// boundary is the multipart boundary of the content type; "" for none.
func boundary(h http.Header) string {
	_, params, err := mime.ParseMediaType(headerText(h, "Content-Type"))
	if err != nil {
		return ""
	}
	return params["boundary"]
}
