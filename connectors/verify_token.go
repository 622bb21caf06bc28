package connectors

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// TokenKeys are the keys of kind token.
type TokenKeys struct {
	From   string `yaml:"from" validate:"oneof=header bearer query path body" doc:"For token: what holds it."`
	Field  string `yaml:"field" doc:"For token: the name of the header or parameter, or the path in the body."`
	Prefix string `yaml:"prefix" doc:"For token: the text before it." example:"Token "`
}

// What may hold a token.
const (
	tokenHeader = "header"
	tokenBearer = "bearer"
	tokenQuery  = "query"
	tokenPath   = "path"
	tokenBody   = "body"
)

func tokenWords(v *Verify) string {
	switch v.From {
	case tokenHeader:
		return "a token in the header " + v.Field
	case tokenBearer:
		return "a bearer token"
	case tokenQuery:
		return "a token in the URL parameter " + v.Field
	case tokenPath:
		return "a token at the end of the URL"
	default:
		return "a token in the body's " + v.Field
	}
}

// token is a word that only the sender and we know.
type token struct {
	named
	secretWords
	from   string
	field  string // canonical header, or parameter
	prefix string
	read   func(r *Request) (string, error) // for tokenBody
}

func (t *token) traits() traits {
	return traits{path: t.from == tokenPath, url: t.from == tokenPath || t.from == tokenQuery}
}

// given is the word that the request brings.
func (t *token) given(r *Request) (word, reason string) {
	switch t.from {
	case tokenQuery:
		values := r.query()[t.field]
		for _, v := range values {
			if v != values[0] {
				return "", "the parameter " + t.field + " came twice with different values"
			}
		}
		if len(values) == 0 {
			return "", ""
		}
		return values[0], ""
	case tokenPath:
		return r.Path[strings.LastIndexByte(r.Path, '/')+1:], ""
	case tokenBody:
		word, err := t.read(r)
		if err != nil {
			return "", "the body that should hold the token cannot be read: " + err.Error()
		}
		return word, ""
	default:
		word, reason := only(r.Header, t.field)
		if reason != "" || word == "" {
			return "", reason
		}
		cut, ok := strings.CutPrefix(word, t.prefix)
		if t.field == "Authorization" {
			cut, ok = cutPrefixFold(word, t.prefix)
		}
		if !ok {
			return "", fmt.Sprintf("the header %s does not begin with %q", t.field, t.prefix)
		}
		return cut, ""
	}
}

func (t *token) carried(r *Request) bool {
	word, reason := t.given(r)
	return word != "" || reason != ""
}

// precheck is the whole check, except for a token in the body.
func (t *token) precheck(r *Request) string {
	if t.from == tokenBody {
		return ""
	}
	return t.check(r)
}

func (t *token) check(r *Request) string {
	word, reason := t.given(r)
	switch {
	case reason != "":
		return reason
	case word == "":
		return "there is no token in " + t.where()
	case !t.accepts(word):
		return fmt.Sprintf("the token in %s is not the right one (it has %s; %s accepted)", t.where(), count(len(word), "character"), count(len(t.hashes), "token"))
	}
	return ""
}

func (t *token) where() string {
	switch t.from {
	case tokenQuery:
		return "the URL parameter " + t.field
	case tokenPath:
		return "the last part of the path"
	case tokenBody:
		return "the body's " + t.field
	default:
		return "the header " + t.field
	}
}

func (t *token) sign(r *Request, out *signing) error {
	switch t.from {
	case tokenQuery:
		u, err := url.Parse(out.url)
		if err != nil {
			return fmt.Errorf("url: %w", err)
		}
		q := u.Query()
		q.Set(t.field, t.first)
		u.RawQuery = q.Encode()
		out.url = u.String()
	case tokenPath:
		before, query, _ := strings.Cut(out.url, "?")
		if !strings.HasSuffix(before, "/"+t.first) {
			before = strings.TrimSuffix(before, "/") + "/" + url.PathEscape(t.first)
		}
		if query != "" {
			before += "?" + query
		}
		out.url = before
	case tokenBody:
		if word, err := t.read(r); err != nil || !t.accepts(word) {
			return errors.New("this sender's token is part of the body: put it into the field " + t.field)
		}
	default:
		out.header.Set(t.field, t.prefix+t.first)
	}
	return nil
}

// secretWords are secrets that a request repeats as they are.
type secretWords struct {
	hashes [][32]byte // equal length makes comparing take equal time
	first  string     // for signing
}

func (w *secretWords) add(word string) {
	w.hashes = append(w.hashes, sha256.Sum256([]byte(word)))
	if w.first == "" {
		w.first = word
	}
}

// accepts compares with every word, without showing by its duration with which.
func (w *secretWords) accepts(word string) bool {
	given := sha256.Sum256([]byte(word))
	right := 0
	for i := range w.hashes {
		right |= subtle.ConstantTimeCompare(given[:], w.hashes[i][:])
	}
	return right == 1
}

// query is the parsed query of the URL; what cannot be parsed is absent.
func (r *Request) query() url.Values {
	if r.RawQuery == "" {
		return nil
	}
	q, _ := url.ParseQuery(r.RawQuery) // keeps what it could read
	return q
}

func (k *compiler) token(v *verifyRule) verifier {
	path := v.path
	t := &token{named: v.named, prefix: v.Prefix, from: v.From, field: v.Field}
	switch t.from {
	default:
		k.add(path+".from", "is missing: what holds the token?", "write header, bearer, query, path or body")
		return nil
	case tokenBearer:
		t.field, t.prefix = "Authorization", "Bearer "
	case tokenPath:
	case tokenHeader:
		if !httpguts.ValidHeaderFieldName(t.field) {
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
		alone := standAlone(e)
		t.read = func(r *Request) (string, error) {
			doc, rejected := v.body.read(r)
			if rejected != nil {
				return "", rejected
			}
			found, err := alone.view(doc.text)
			if err != nil {
				return "", err
			}
			raw := e.raw(&found)
			if raw == "" || raw[0] != '"' {
				return "", nil // a text and nothing else: no list of one, no number
			}
			return rawjson.Unquote(raw), nil
		}
	}
	for _, s := range k.wantSecrets(v.secrets) {
		word := strings.TrimSpace(s.text)
		if len(strings.Trim(word, "\x00")) == 0 {
			k.add(s.path, "is empty", "write a long random word")
			continue
		}
		k.adviseSecret(s, []byte(word))
		if t.from == tokenPath && strings.ContainsAny(word, "/?#% ") {
			k.add(s.path, "holds characters that cannot be in a path", "use letters, digits, - and _")
		}
		t.add(word)
	}
	if len(t.hashes) == 0 {
		return nil
	}
	return t
}
