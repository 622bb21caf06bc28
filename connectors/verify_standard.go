package connectors

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/signatures"
)

// StandardKeys are the keys of kind standard_webhooks.
type StandardKeys struct {
	Headers string `yaml:"headers" validate:"oneof=auto webhook svix" doc:"For standard_webhooks: the spelling of the three headers."`
}

// standard is Standard Webhooks: a signed scheme whose fields are all fixed but the keys.
func (k *compiler) standard(v *verifyRule) verifier {
	path := v.path
	headers, ids, times := standardHeaders(v.Headers)
	s := &signed{
		named: v.named, headers: headers, idHeaders: ids, encoding: signatures.EncodingBase64,
		list: &List{Separator: " ", Assign: ",", Pick: []string{"v1"}}, needsBody: k.needsBody(v.Verify),
	}
	rule := Timestamp{Unit: mapping.UnitSeconds}
	if v.Timestamp != nil {
		rule.Tolerance, rule.Skew = v.Timestamp.Tolerance, v.Timestamp.Skew
	}
	for _, h := range times {
		rule.Header = h
		s.stamps = append(s.stamps, k.stamp(path+".timestamp", &rule, false, v.body))
	}
	for _, name := range []string{"id", "'.'", "timestamp", "'.'", "body"} {
		s.parts = append(s.parts, partFor(name))
	}
	for _, header := range slices.Concat(ids, times) {
		s.covers = append(s.covers, "header:"+header)
	}
	encoding := signatures.KeyBase64OrWhsec
	var public []string
	if v.Key != nil {
		public = v.Key.PublicKeys
		if e := v.Key.Encoding; e == signatures.KeyRaw || e == signatures.KeyHex {
			encoding = e
		}
	}
	for _, one := range v.secrets {
		if strings.HasPrefix(strings.TrimSpace(one.text), "whpk_") {
			k.ed25519(one.path, one.text, s)
			continue
		}
		raw, err := signatures.DecodeKey(one.text, encoding)
		if err != nil {
			k.Add(one.path, err.Error(), "it looks like whsec_ followed by letters and digits, or whpk_ for a public key")
			continue
		}
		k.adviseSecret(one, raw)
		s.keys = append(s.keys, signatures.NewMacKey("hmac-sha256", raw))
	}
	for i, text := range public {
		k.ed25519(fmt.Sprintf("%s.key.public_keys[%d]", path, i), text, s)
	}
	if v.Key != nil && !v.Key.PrivateKey.IsZero() && len(s.extra) > 0 {
		private, err := signatures.ParsePrivateKey(v.Key.PrivateKey.Reveal())
		if _, ok := private.(ed25519.PrivateKey); err != nil || !ok {
			k.Add(path+".key.private_key", "is no private key for Ed25519", "write whsk_ with base64; it is for trials only")
		} else {
			s.extra[0].key.(*signatures.PublicKey).Private = private // made by ed25519
		}
	}
	if len(s.keys)+len(s.extra) == 0 {
		if len(v.secrets)+len(public) == 0 {
			k.wantSecrets(nil)
		}
		return nil
	}
	return s
}

// ed25519 adds a public key for the list entries v1a.
func (k *compiler) ed25519(path, text string, s *signed) {
	public, err := signatures.ParsePublicKey(text, signatures.AlgorithmEd25519)
	if err != nil {
		k.Add(path, err.Error(), "write whpk_ followed by base64")
		return
	}
	s.extra = append(s.extra, tagged{"v1a", &signatures.PublicKey{Algorithm: signatures.AlgorithmEd25519, Public: public}})
}

// standardHeaders are the headers of Standard Webhooks 1.0.0 in their spellings.
//
// Source: standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
func standardHeaders(spelling string) (signature, id, timestamp []string) {
	families := []string{"Webhook-", "Svix-"}
	switch spelling {
	case "webhook":
		families = families[:1]
	case "svix":
		families = families[1:]
	}
	for _, f := range families {
		signature = append(signature, http.CanonicalHeaderKey(f+"signature"))
		id = append(id, http.CanonicalHeaderKey(f+"id"))
		timestamp = append(timestamp, http.CanonicalHeaderKey(f+"timestamp"))
	}
	return signature, id, timestamp
}
