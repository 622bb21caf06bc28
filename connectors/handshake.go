package connectors

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// maxHandshake bounds the bodies that handshakes are looked for in: they run before the
// verification, on what anybody may send.
const maxHandshake = 4096

// A condition is a compiled When.
type condition struct {
	methods []string
	query   []wanted
	header  []wanted
	form    []string // sorted; nil for any
	json    []*mapping.Expr
	alone   *mapping.Standalone // reads json
	only    int                 // how many members the JSON body has, all of them among json; 0 for any
}

// wanted is a name with the value it must have; "" for any value. A token is the word that the
// sender repeats when it tries out the URL.
type wanted struct {
	name  string
	value string
	token bool
}

func (c *condition) holds(r *Request) bool {
	if !c.holdsHead(r) {
		return false
	}
	if len(c.form) > 0 && !c.holdsForm(r) {
		return false
	}
	return len(c.json) == 0 || c.holdsJSON(r)
}

// holdsHead is holds as far as it needs no body.
func (c *condition) holdsHead(r *Request) bool { return c.headFits(r, false) }

// wrongToken reports whether all but the token is as it should be: somebody tries out the URL
// with another word than the config has.
func (c *condition) wrongToken(r *Request) bool {
	return slices.ContainsFunc(c.query, func(w wanted) bool { return w.token }) && c.headFits(r, true)
}

// headFits reports whether the head is as wanted, with any token where that is said.
func (c *condition) headFits(r *Request, anyToken bool) bool {
	if len(c.methods) > 0 && !slices.Contains(c.methods, r.Method) {
		return false
	}
	for _, w := range c.header {
		got, reason := only(r.Header, w.name)
		if reason != "" || got == "" || (w.value != "" && !sameText(got, w.value)) {
			return false
		}
	}
	if len(c.query) > 0 {
		query := r.query()
		for _, w := range c.query {
			if got := query.Get(w.name); got == "" || (w.value != "" && !(w.token && anyToken) && !sameText(got, w.value)) {
				return false
			}
		}
	}
	return true
}

// sameText compares without telling where the texts differ: one of them may be a secret.
func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (c *condition) holdsForm(r *Request) bool {
	if len(r.Body) == 0 || len(r.Body) > maxHandshake || contentOf(r.Header) != contentForm {
		return false
	}
	form, err := url.ParseQuery(string(r.Body))
	if err != nil || len(form) != len(c.form) {
		return false
	}
	for _, name := range c.form {
		if len(form[name]) != 1 {
			return false
		}
	}
	return true
}

func (c *condition) holdsJSON(r *Request) bool {
	if len(r.Body) == 0 || len(r.Body) > maxHandshake || !bytes.HasPrefix(bytes.TrimLeft(r.Body, " \r\n\t\ufeff"), []byte("{")) {
		return false
	}
	text := string(trimBOM(r.Body))
	v, err := c.alone.View(text)
	if err != nil {
		return false
	}
	for _, e := range c.json {
		if e.Text(&v) == "" {
			return false
		}
	}
	if c.only == 0 {
		return true
	}
	n := 0
	for range rawjson.Members(text[rawjson.SkipSpace(text, 0):]) {
		n++
	}
	return n == c.only
}

// imitate puts the wanted headers into a request that is being signed.
func (c *condition) imitate(h http.Header) {
	for _, w := range c.header {
		if w.value != "" {
			h.Set(w.name, w.value)
		}
	}
}

func trimBOM(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// A handshake is a compiled Handshake.
type handshake struct {
	name  string
	when  condition
	reply reply
}

func (k *compiler) handshake(path string, rule *Handshake) handshake {
	return handshake{
		name:  rule.Name,
		when:  k.condition(path+".when", &rule.When),
		reply: compileReply(&rule.Reply, path+".reply", k.Complaints),
	}
}

// verifyTokenWord in a condition means the connector's verify_token.
const verifyTokenWord = "$verify_token"

func (k *compiler) condition(path string, w *When) condition {
	var c condition
	for _, m := range w.Method {
		c.methods = append(c.methods, strings.ToUpper(m))
	}
	value := func(at, text string) string {
		switch text {
		case "*":
			return ""
		case verifyTokenWord:
			if k.config.VerifyToken.IsZero() {
				k.Add("verify_token", "is missing: the sender repeats it when it tries out the URL", "set verify_token: ${NAME} to the word you gave the sender")
			}
			return k.config.VerifyToken.Reveal()
		case "":
			k.Add(at, "is empty", `write the value, or "*" for any`)
		}
		return text
	}
	for _, q := range w.Query {
		c.query = append(c.query, wanted{q.Key, value(path+".query."+q.Key, q.Value), q.Value == verifyTokenWord})
	}
	for _, h := range w.Header {
		c.header = append(c.header, wanted{name: http.CanonicalHeaderKey(h.Key), value: value(path+".header."+h.Key, h.Value)})
	}
	if w.Form != nil {
		c.form = w.Form.Only
	}
	if w.JSON != nil {
		want := func(field string, paths []string) {
			for i, text := range paths {
				if e := k.Expr(fmt.Sprintf("%s.json.%s[%d]", path, field, i), text); e != nil {
					c.json = append(c.json, e)
				}
			}
		}
		want("has", w.JSON.Has)
		want("only", w.JSON.Only)
		c.only = len(w.JSON.Only)
		c.alone = mapping.StandAlone(c.json...)
	}
	if len(c.methods)+len(c.query)+len(c.header)+len(c.form)+len(c.json) == 0 {
		k.Add(path, "would take every request for a handshake", "write method, query, header, form or json")
	}
	return c
}

// could reports whether the condition may hold once the body is there.
func (c *condition) could(r *Request, announced int64) bool {
	if (len(c.form) > 0 || len(c.json) > 0) && (announced == 0 || announced > maxHandshake) {
		return false
	}
	return c.holdsHead(r)
}
