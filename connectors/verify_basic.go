package connectors

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// BasicKeys are the keys of kind basic.
type BasicKeys struct {
	User     string        `yaml:"user" doc:"For basic: the user's name."`
	Password secret.Secret `yaml:"password" doc:"For basic: the password."`
}

// basic is HTTP's user name and password. The password may hold colons.
type basic struct {
	named
	secretWords // "user:password"
	users       []string
}

func (*basic) traits() traits { return traits{} }

func (b *basic) carried(r *Request) bool { return len(r.Header["Authorization"]) > 0 }

func (b *basic) precheck(r *Request) string { return b.check(r) }

func (b *basic) check(r *Request) string {
	encoded, reason := authorization(r, "Basic")
	if reason != "" {
		return reason
	}
	pair, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "the header Authorization cannot be read as base64"
	}
	if !b.accepts(string(pair)) {
		return b.mismatch(string(pair))
	}
	return ""
}

// mismatch says which half of the pair differs. A user name is no secret; the password is, and
// only its length is reported.
func (b *basic) mismatch(given string) string {
	user, password, _ := strings.Cut(given, ":")
	half := "the user name"
	if slices.Contains(b.users, user) {
		half = "the password"
	}
	return fmt.Sprintf("%s is not the right one (a user name of %s, a password of %s; %s accepted)",
		half, problems.Count(len(user), "character"), problems.Count(len(password), "character"), problems.Count(len(b.hashes), "pair"))
}

func (b *basic) sign(_ *Request, out *signing) error {
	out.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(b.first)))
	return nil
}

func (k *compiler) basic(v *verifyRule) verifier {
	path := v.path
	b := &basic{named: v.named}
	pairs := []located{}
	switch {
	case v.User != "" && !v.Password.IsZero():
		pairs = append(pairs, located{path + ".password", v.User + ":" + v.Password.Reveal()})
	case v.User != "":
		for _, s := range k.wantSecrets(v.secrets) {
			pairs = append(pairs, located{s.path, v.User + ":" + s.text})
		}
	default:
		pairs = k.wantSecrets(v.secrets)
	}
	if strings.Contains(v.User, ":") {
		k.Add(path+".user", "holds a colon, which separates user and password", "choose a name without it; the password may have one")
	}
	for _, p := range pairs {
		user, password, ok := strings.Cut(p.text, ":")
		if !ok || user == "" || len(bytes.Trim([]byte(strings.TrimSpace(password)), "\x00")) == 0 {
			k.Add(p.path, "is not user and password", "write secret: ${NAME} with user:password in NAME, or user: and password: under verify")
			continue
		}
		k.adviseSecret(located{p.path, password}, []byte(password))
		b.add(p.text)
		b.users = append(b.users, user)
	}
	if len(b.hashes) == 0 {
		return nil
	}
	return b
}
