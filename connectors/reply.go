package connectors

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// maxEcho is how much of a request an answer may repeat, in bytes.
const maxEcho = 1024

// A reply is a compiled ReplyRule.
type reply struct {
	status      int
	contentType string
	body        []replyPiece
	json        []replyField
	isJSON      bool
	header      map[string]string
	plain       Reply // the whole answer, when nothing of the request goes into it
	fixed       bool
}

type replyField struct {
	name  string
	value []replyPiece
}

// A replyPiece is a literal or, with source, a part of the request to repeat.
type replyPiece struct {
	literal string
	source  string // query, header, body
	name    string
}

// answer is the reply to r.
func (p *reply) answer(r *Request) Reply {
	if p.fixed {
		return p.plain
	}
	out := Reply{Status: p.status, ContentType: p.contentType, Header: p.header}
	if p.isJSON {
		out.Body = append(out.Body, '{')
		for i, f := range p.json {
			if i > 0 {
				out.Body = append(out.Body, ',')
			}
			out.Body = rawjson.AppendString(out.Body, f.name)
			out.Body = append(out.Body, ':')
			out.Body = rawjson.AppendString(out.Body, fillPieces(f.value, r))
		}
		out.Body = append(out.Body, '}')
		return out
	}
	if len(p.body) > 0 {
		out.Body = []byte(fillPieces(p.body, r))
	}
	return out
}

func fillPieces(pieces []replyPiece, r *Request) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.source == "" {
			b.WriteString(p.literal)
			continue
		}
		b.WriteString(echo(p, r))
	}
	return b.String()
}

// echo is a part of the request, cut to what an honest sender needs.
func echo(p replyPiece, r *Request) string {
	text := ""
	switch p.source {
	case "query":
		text = r.query().Get(p.name)
	case "header":
		text = headerText(r.Header, p.name)
	case "body":
		text = bodyText(r, p.name)
	}
	if len(text) > maxEcho {
		text = text[:maxEcho]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "")
}

// bodyText is a field of a short JSON or form body.
func bodyText(r *Request, name string) string {
	if len(r.Body) > maxHandshake {
		return ""
	}
	if contentOf(r.Header) == contentForm {
		form, _ := url.ParseQuery(string(r.Body)) // keeps what it could read
		return form.Get(name)
	}
	text := string(trimBOM(r.Body))
	e, err := parseExpr(name)
	if err != nil {
		return ""
	}
	v, err := standAlone(e).view(text)
	if err != nil {
		return ""
	}
	return e.text(v)
}

// compileReply reads a ReplyRule.
func compileReply(rule *ReplyRule, at string, c *complaints) reply {
	p := reply{status: http.StatusOK, fixed: true}
	if rule == nil {
		p.plain = Reply{Status: p.status}
		return p
	}
	if rule.Status != 0 {
		p.status = rule.Status
	}
	if p.status < 200 || p.status > 299 {
		c.add(at+".status", "an answer to what was taken has a status between 200 and 299", "write 200")
	}
	p.contentType = rule.Type
	p.header = map[string]string{}
	for _, h := range rule.Headers {
		if !headerName(h.Key) || strings.ContainsAny(h.Value, "\r\n") {
			c.add(at+".headers."+h.Key, "is no header", "write Name: value on one line")
			continue
		}
		p.header[http.CanonicalHeaderKey(h.Key)] = h.Value
	}
	if rule.CORS != "" {
		p.header["Access-Control-Allow-Origin"] = rule.CORS
	}
	switch {
	case len(rule.JSON) > 0 && rule.Body != "":
		c.add(at+".json", "body and json are both set", "remove one of the two")
	case len(rule.JSON) > 0:
		p.isJSON = true
		for _, f := range rule.JSON {
			pieces, err := parseReply(f.Value)
			if err != "" {
				c.add(at+".json."+f.Key, err, replyHint)
			}
			p.json = append(p.json, replyField{name: f.Key, value: pieces})
			p.fixed = p.fixed && literals(pieces)
		}
		if p.contentType == "" {
			p.contentType = "application/json"
		}
	case rule.Body != "":
		pieces, err := parseReply(rule.Body)
		if err != "" {
			c.add(at+".body", err, replyHint)
		}
		p.body = pieces
		p.fixed = literals(pieces)
		if p.contentType == "" {
			p.contentType = "text/plain; charset=utf-8"
		}
	}
	if p.fixed {
		p.fixed = false
		p.plain = p.answer(&Request{})
		p.fixed = true
	} else if !p.isJSON && strings.Contains(strings.ToLower(p.contentType), "html") {
		c.add(at+".type", "an answer that repeats a part of the request must not be HTML", "write text/plain")
	}
	return p
}

const replyHint = "in double braces only query.NAME, header.NAME and body.PATH can be repeated"

func literals(pieces []replyPiece) bool {
	for _, p := range pieces {
		if p.source != "" {
			return false
		}
	}
	return true
}

// parseReply cuts "text {{query.name}} text" into pieces.
func parseReply(text string) (pieces []replyPiece, fault string) {
	for text != "" {
		before, rest, ok := strings.Cut(text, "{{")
		if before != "" {
			pieces = append(pieces, replyPiece{literal: before})
		}
		if !ok {
			break
		}
		inside, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return pieces, "{{ is never closed"
		}
		source, name, _ := strings.Cut(strings.TrimSpace(inside), ".")
		if (source != "query" && source != "header" && source != "body") || name == "" {
			return pieces, "cannot repeat {{" + inside + "}}"
		}
		pieces = append(pieces, replyPiece{source: source, name: name})
		text = after
	}
	return pieces, ""
}

func headerName(name string) bool {
	if name == "" {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return true
}
