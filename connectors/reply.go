package connectors

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// maxEcho is how much of a request an answer may repeat, in bytes.
const maxEcho = 1024

// A reply is a compiled ReplyRule.
type reply struct {
	rule   ReplyRule
	header map[string]string
	plain  Reply // the whole answer, when nothing of the request goes into it
	fixed  bool
}

// repeats finds the parts of a text that repeat a part of the request.
var repeats = regexp.MustCompile(`(?s){{(.*?)}}`)

// answer is the reply to r.
func (p *reply) answer(r *Request) Reply {
	if p.fixed {
		return p.plain
	}
	out := Reply{Status: p.rule.Status, ContentType: p.rule.Type, Header: p.header}
	for i, f := range p.rule.JSON {
		out.Body = append(out.Body, "{,"[min(i, 1)])
		out.Body = append(rawjson.AppendString(out.Body, f.Key), ':')
		out.Body = rawjson.AppendString(out.Body, fill(f.Value, r))
	}
	if len(p.rule.JSON) > 0 {
		out.Body = append(out.Body, '}')
	} else if p.rule.Body != "" {
		out.Body = []byte(fill(p.rule.Body, r))
	}
	return out
}

// fill puts parts of the request into a text, each cut to what an honest sender needs.
func fill(text string, r *Request) string {
	return repeats.ReplaceAllStringFunc(text, func(part string) string {
		source, name := repeated(part[2 : len(part)-2])
		switch source {
		case "query":
			part = r.query().Get(name)
		case "header":
			part = mapping.HeaderText(r.Header, name)
		case "body":
			part = bodyText(r, name)
		}
		if len(part) > maxEcho {
			part = part[:maxEcho]
			for !utf8.ValidString(part) {
				part = part[:len(part)-1]
			}
		}
		return strings.ToValidUTF8(part, "")
	})
}

// repeated is what double braces hold: query, header or body, and a name.
func repeated(inside string) (source, name string) {
	source, name, _ = strings.Cut(strings.TrimSpace(inside), ".")
	return source, name
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
	e, err := mapping.ParseExpr(name)
	if err != nil {
		return ""
	}
	v, err := mapping.StandAlone(e).View(text)
	if err != nil {
		return ""
	}
	return e.Text(&v)
}

// compileReply reads a ReplyRule.
func compileReply(rule *ReplyRule, at string, c *problems.Complaints) reply {
	p := reply{header: map[string]string{}, fixed: true}
	if rule != nil {
		p.rule = *rule
	}
	p.rule.Status = cmp.Or(p.rule.Status, http.StatusOK)
	for _, h := range p.rule.Headers {
		if !httpguts.ValidHeaderFieldName(h.Key) || strings.ContainsAny(h.Value, "\r\n") {
			c.Add(at+".headers."+h.Key, "is no header", "write Name: value on one line")
			continue
		}
		p.header[http.CanonicalHeaderKey(h.Key)] = h.Value
	}
	if p.rule.CORS != "" {
		p.header["Access-Control-Allow-Origin"] = p.rule.CORS
	}
	check := func(path, text string) {
		for _, found := range repeats.FindAllStringSubmatch(text, -1) {
			if source, name := repeated(found[1]); name == "" || (source != "query" && source != "header" && source != "body") {
				c.Add(path, "cannot repeat {{"+found[1]+"}}", repeatHint)
			}
		}
		if strings.Contains(repeats.ReplaceAllString(text, ""), "{{") {
			c.Add(path, "{{ is never closed", repeatHint)
		}
		p.fixed = p.fixed && !strings.Contains(text, "{{")
	}
	switch usual := "text/plain; charset=utf-8"; {
	case len(p.rule.JSON) > 0 && p.rule.Body != "":
		c.Add(at+".json", "body and json are both set", "remove one of the two")
	case len(p.rule.JSON) > 0:
		usual = "application/json"
		for _, f := range p.rule.JSON {
			check(at+".json."+f.Key, f.Value)
		}
		fallthrough
	case p.rule.Body != "":
		check(at+".body", p.rule.Body)
		p.rule.Type = cmp.Or(p.rule.Type, usual)
	}
	switch {
	case p.fixed:
		p.fixed = false
		p.plain, p.fixed = p.answer(&Request{}), true
	case len(p.rule.JSON) == 0 && strings.Contains(strings.ToLower(p.rule.Type), "html"):
		c.Add(at+".type", "an answer that repeats a part of the request must not be HTML", "write text/plain")
	}
	return p
}

const repeatHint = "in double braces only query.NAME, header.NAME and body.PATH can be repeated"
