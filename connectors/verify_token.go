package connectors

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/url"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/problems"
)

func tokenWords(v *Verify) string {
	if v.From == fromBearerPlace {
		return "a bearer token"
	}
	return "a token " + v.placeWords()
}

// token is a word that only the sender and we know.
type token struct {
	named
	secretWords
	signaturePlace
}

func (t *token) traits() traits {
	return traits{path: t.from == fromPathPlace, alters: t.from == fromPathPlace || t.from == fromQueryPlace}
}

// precheck is the whole check, except for a token in the body.
func (t *token) precheck(r *Request) string {
	if t.from == fromBodyPlace {
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
		return fmt.Sprintf("the token in %s is not the right one (it has %s; %s accepted)", t.where(), problems.Count(len(word), "character"), problems.Count(len(t.hashes), "token"))
	}
	return ""
}

func (t *token) sign(r *Request, out *signing) error {
	if word, reason := t.given(r); t.from == fromBodyPlace && reason == "" && t.accepts(word) {
		return nil
	}
	return t.put(out, t.first)
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
	at, ok := k.place(v, "the token")
	if !ok {
		return nil
	}
	t := &token{named: v.named, signaturePlace: at}
	for _, s := range k.wantSecrets(v.secrets) {
		word := strings.TrimSpace(s.text)
		if len(strings.Trim(word, "\x00")) == 0 {
			k.Add(s.path, "is empty", "write a long random word")
			continue
		}
		k.adviseSecret(s, []byte(word))
		if t.from == fromPathPlace && strings.ContainsAny(word, "/?#% ") {
			k.Add(s.path, "holds characters that cannot be in a path", "use letters, digits, - and _")
		}
		t.add(word)
	}
	if len(t.hashes) == 0 {
		return nil
	}
	return t
}
