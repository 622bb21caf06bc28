package connectors

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Where a token stands.
const (
	tokenHeader = "header"
	tokenBearer = "bearer"
	tokenQuery  = "query"
	tokenPath   = "path"
	tokenBody   = "body"
)

// token is a word that only the sender and we know.
type token struct {
	name   string
	from   string
	field  string // canonical header, or parameter
	prefix string
	hashes [][32]byte                       // of the accepted words: equal length makes comparing take equal time
	first  string                           // for signing
	read   func(r *Request) (string, error) // for tokenBody
}

func (t *token) called() string { return t.name }

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

// hopeless is the whole check, except for a token in the body.
func (t *token) hopeless(r *Request) string {
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

// accepts compares with every word, without telling by its duration with which.
func (t *token) accepts(word string) bool {
	given := sha256.Sum256([]byte(word))
	right := 0
	for i := range t.hashes {
		right |= subtle.ConstantTimeCompare(given[:], t.hashes[i][:])
	}
	return right == 1
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

// query is the parsed query of the URL; what cannot be parsed is absent.
func (r *Request) query() url.Values {
	if r.RawQuery == "" {
		return nil
	}
	q, _ := url.ParseQuery(r.RawQuery) // keeps what it could read
	return q
}

// basic is HTTP's user name and password. The password may hold colons.
type basic struct {
	name   string
	hashes [][32]byte // of "user:password"
	users  []string
	first  string
}

func (b *basic) called() string { return b.name }

func (b *basic) carried(r *Request) bool { return len(r.Header["Authorization"]) > 0 }

func (b *basic) hopeless(r *Request) string { return b.check(r) }

func (b *basic) check(r *Request) string {
	written, reason := only(r.Header, "Authorization")
	switch {
	case reason != "":
		return reason
	case written == "":
		return "there is no header Authorization"
	}
	encoded, ok := cutPrefixFold(written, "Basic ")
	if !ok {
		return "the header Authorization is not of the sort Basic"
	}
	pair, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "the header Authorization cannot be read as base64"
	}
	given := sha256.Sum256(pair)
	right := 0
	for i := range b.hashes {
		right |= subtle.ConstantTimeCompare(given[:], b.hashes[i][:])
	}
	if right != 1 {
		return b.mismatch(string(pair))
	}
	return ""
}

// mismatch says which half of the pair differs. A user name is no secret; the password is, and
// of that only the length is told.
func (b *basic) mismatch(given string) string {
	user, password, _ := strings.Cut(given, ":")
	half := "the user name"
	if slices.Contains(b.users, user) {
		half = "the password"
	}
	return fmt.Sprintf("%s is not the right one (a user name of %s, a password of %s; %s accepted)",
		half, count(len(user), "character"), count(len(password), "character"), count(len(b.hashes), "pair"))
}

func (b *basic) sign(_ *Request, out *signing) error {
	out.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(b.first)))
	return nil
}
