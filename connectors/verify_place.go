package connectors

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// PlaceKeys say where a request holds the word of kind token, or the token of kind jwt.
type PlaceKeys struct {
	From   string `yaml:"from" validate:"oneof=header bearer query path body" doc:"For token and jwt: what holds it. A jwt is in Authorization: Bearer unless said otherwise; with body and no field the whole body is the jwt, and its claims are what is mapped."`
	Field  string `yaml:"field" doc:"For token and jwt: the name of the header or parameter, or the path in the body."`
	Prefix string `yaml:"prefix" doc:"For token and jwt: the text before it, in a header." example:"Token "`
}

// What may hold a word.
const (
	fromHeaderPlace = "header"
	fromBearerPlace = "bearer"
	fromQueryPlace  = "query"
	fromPathPlace   = "path"
	fromBodyPlace   = "body"
)

func (v *Verify) placeWords() string {
	switch v.From {
	case fromHeaderPlace:
		return "in the header " + v.Field
	case fromQueryPlace:
		return "in the URL parameter " + v.Field
	case fromPathPlace:
		return "at the end of the URL"
	default:
		return "in the body's " + v.Field
	}
}

// A signaturePlace is where a request holds a word.
type signaturePlace struct {
	from   string
	field  string // canonical header, or parameter, or the path as written
	prefix string
	body   *bodyReader
	path   *mapping.Expr // in the body; nil for the whole of it
	alone  *mapping.Standalone
}

// given is the word that the request brings; "" for none.
func (p *signaturePlace) given(r *Request) (word, reason string) {
	switch p.from {
	case fromQueryPlace:
		values := r.query()[p.field]
		for _, v := range values {
			if v != values[0] {
				return "", "the parameter " + p.field + " came twice with different values"
			}
		}
		if len(values) == 0 {
			return "", ""
		}
		return values[0], ""
	case fromPathPlace:
		return r.Path[strings.LastIndexByte(r.Path, '/')+1:], ""
	case fromBodyPlace:
		if p.path == nil {
			return compactJWT(r.Body), ""
		}
		raw, err := fieldOf(r, p.body, p.alone, p.path)
		if err != nil {
			return "", "the body that should hold the token cannot be read: " + err.Error()
		}
		if raw == "" || raw[0] != '"' {
			return "", "" // a text and nothing else: no list of one, no number
		}
		return rawjson.Unquote(raw), ""
	default:
		word, reason := only(r.Header, p.field)
		if reason != "" || word == "" {
			return "", reason
		}
		cut, ok := strings.CutPrefix(word, p.prefix)
		if p.field == authorizationHeader {
			cut, ok = problems.CutPrefixFold(word, p.prefix)
		}
		if !ok {
			return "", fmt.Sprintf("the header %s does not begin with %q", p.field, p.prefix)
		}
		return cut, ""
	}
}

// fieldOf is the JSON of a field of the request's body, as mapping reads that; "" for none.
func fieldOf(r *Request, body *bodyReader, alone *mapping.Standalone, path *mapping.Expr) (string, error) {
	found, err := body.viewOf(r, alone)
	if err != nil {
		return "", err
	}
	return path.Raw(&found), nil
}

// viewOf is the request's body as mapping reads it, for what a verifier asks of it.
func (b *bodyReader) viewOf(r *Request, alone *mapping.Standalone) (mapping.View, error) {
	doc, rejected := b.read(b.opened(r))
	if rejected != nil {
		return mapping.View{}, rejected
	}
	return alone.View(doc.text)
}

func (p *signaturePlace) carried(r *Request) bool {
	word, reason := p.given(r)
	return word != "" || reason != ""
}

// whole reports whether the body is the word.
func (p *signaturePlace) whole() bool { return p.from == fromBodyPlace && p.path == nil }

func (p *signaturePlace) where() string {
	switch p.from {
	case fromQueryPlace:
		return "the URL parameter " + p.field
	case fromPathPlace:
		return "the last part of the path"
	case fromBodyPlace:
		if p.path == nil {
			return "the body"
		}
		return "the body's " + p.field
	default:
		return "the header " + p.field
	}
}

var errWordInBody = errors.New("this sender's token is part of the body: put it into the field")

// put writes a word to where the request is to hold it. A field of the body has to hold its word already.
func (p *signaturePlace) put(out *signing, word string) error {
	switch p.from {
	case fromQueryPlace:
		u, err := url.Parse(out.url)
		if err != nil {
			return fmt.Errorf("url: %w", err)
		}
		q := u.Query()
		q.Set(p.field, word)
		u.RawQuery = q.Encode()
		out.url = u.String()
	case fromPathPlace:
		before, query, _ := strings.Cut(out.url, "?")
		if !strings.HasSuffix(before, "/"+word) {
			before = strings.TrimSuffix(before, "/") + "/" + url.PathEscape(word)
		}
		if query != "" {
			before += "?" + query
		}
		out.url = before
	case fromBodyPlace:
		if p.path != nil {
			return fmt.Errorf("%w %s", errWordInBody, p.field)
		}
		out.body = []byte(word)
	default:
		out.header.Set(p.field, p.prefix+word)
	}
	return nil
}

// place compiles where a word is. ok is false after a complaint without which nothing can be read.
func (k *compiler) place(v *verifyRule, what string) (p signaturePlace, ok bool) {
	path := v.path
	p = signaturePlace{prefix: v.Prefix, from: v.From, field: v.Field, body: v.body}
	switch p.from {
	default:
		k.Add(path+".from", "is missing: what holds "+what+"?", "write header, bearer, query, path or body")
		return p, false
	case fromBearerPlace:
		p.field, p.prefix = authorizationHeader, "Bearer "
	case fromPathPlace:
	case fromHeaderPlace:
		if !httpguts.ValidHeaderFieldName(p.field) {
			k.Add(path+".field", "is missing: which header holds "+what+"?", "write field: X-Webhook-Token")
		}
		p.field = http.CanonicalHeaderKey(p.field)
	case fromQueryPlace:
		if p.field == "" {
			k.Add(path+".field", "is missing: which URL parameter holds "+what+"?", "write field: token")
		}
	case fromBodyPlace:
		if p.path = k.bodyPath(path+".field", p.field, what); p.path == nil {
			return p, false
		}
		p.alone = mapping.StandAlone(p.path)
	}
	return p, true
}

// bodyPath is a plain path into the body; nil after a complaint.
func (k *compiler) bodyPath(at, text, what string) *mapping.Expr {
	if text == "" {
		k.Add(at, "is missing: which field of the body holds "+what+"?", "write a path, such as field: token")
		return nil
	}
	e := k.Expr(at, text)
	if e == nil {
		return nil
	}
	if e.From != mapping.FromItem || len(e.Pipes) > 0 {
		k.Add(at, "is no plain path into the body", "write a path, such as field: token")
		return nil
	}
	return e
}
