package connectors

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/connectors/signatures"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Key says how secrets become keys. In YAML a word alone is its encoding.
type Key struct {
	Encoding   string          `yaml:"encoding" validate:"oneof=raw hex base64 base64_or_whsec whsec" doc:"raw: the text itself; hex or base64: decoded; base64_or_whsec: base64 with or without whsec_ in front."`
	Secrets    []secret.Secret `yaml:"secrets" doc:"The secrets, if they are not the connector's."`
	PublicKeys []string        `yaml:"public_keys" doc:"For ed25519, rsa and ecdsa: PEM, or base64 or hex of the DER form or of the bare key (32 bytes of Ed25519, 65 of P-256), with whpk_ before it or not."`
	PrivateKey secret.Secret   `yaml:"private_key" doc:"For sign and trigger only, where the sender signs with a private key: PEM, or base64 or hex of an Ed25519 key. Receiving never needs it."`
}

// DecodeYAML reads an encoding alone or the fields of a Key.
func (k *Key) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() == yamlpos.Scalar {
		k.Encoding = n.Text()
		return
	}
	n.Decode((*keyFields)(k))
}

type keyFields Key

// Schema describes the union to editors.
func (Key) Schema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"enum": signatures.KeyEncodings},
		mapping.SchemaBelow(keyFields{}),
	}}
}

// located is a secret with the key it was written under, for problems.
type located struct {
	path string
	text string
}

func (k *compiler) connectorSecrets() []located {
	return secretsAt("", k.config.Secret, k.config.Secrets)
}

func secretsAt(prefix string, one secret.Secret, more []secret.Secret) []located {
	var out []located
	if !one.IsZero() {
		out = append(out, located{prefix + "secret", one.Reveal()})
	}
	for i, s := range more {
		out = append(out, located{fmt.Sprintf("%ssecrets[%d]", prefix, i), s.Reveal()})
	}
	return out
}

// secretsFor are the secrets of one verifier: its own, else those around it.
func (k *compiler) secretsFor(path string, v *Verify, around []located) []located {
	if v.Key != nil && len(v.Key.Secrets) > 0 {
		return secretsAt(path+".key.", secret.Secret{}, v.Key.Secrets)
	}
	if own := secretsAt(path+".", v.Secret, v.Secrets); len(own) > 0 {
		return own
	}
	return around
}

// rawKeys are the bytes of the secrets.
func (k *compiler) rawKeys(v *verifyRule) [][]byte {
	encoding := signatures.KeyRaw
	if v.Key != nil && v.Key.Encoding != "" {
		encoding = v.Key.Encoding
	}
	var keys [][]byte
	for _, s := range k.wantSecrets(v.secrets) {
		raw, err := signatures.DecodeKey(s.text, encoding)
		if err != nil {
			k.Add(s.path, err.Error(), "copy it again from the sender's page")
			continue
		}
		k.adviseSecret(s, raw)
		keys = append(keys, raw)
	}
	return keys
}

// wantSecrets complains when there is none at all.
func (k *compiler) wantSecrets(secrets []located) []located {
	for _, s := range secrets {
		k.words = append(k.words, s.text)
	}
	if len(secrets) == 0 {
		hint := "add secret: ${NAME}, and set the variable NAME for the daemon"
		if k.config.Title != "" {
			hint = fmt.Sprintf("add secret: ${%s_WEBHOOK_SECRET}, and set that variable for the daemon; %q says where %s shows it", Variable(k.name), "nudgewire connectors show "+cmp.Or(k.config.Preset, k.name), k.config.Title)
		}
		k.Add("secret", "is missing: without it no request can be verified", hint)
	}
	return secrets
}

func (k *compiler) adviseSecret(s located, raw []byte) {
	if strings.TrimSpace(s.text) != s.text {
		k.Warn(s.path, "has space around it, which is part of the key", "remove the space, unless the sender's secret has it")
	}
	if len(raw) < minSecret {
		k.Put(problems.Problem{
			Path: s.path, Warning: true, Code: yamlpos.WeakSecret,
			Msg: fmt.Sprintf("is only %s long and could be guessed", problems.Count(len(raw), "byte")), Hint: fmt.Sprintf("use one of %d or more", minSecret),
		})
	}
}

func (k *compiler) publicKeys(path string, kc *Key, algorithm string) []signatures.Key {
	if kc == nil || len(kc.PublicKeys) == 0 {
		k.Add(path+".key.public_keys", "is missing: "+algorithm+" is checked with the sender's public key", "copy it from the sender's page")
		return nil
	}
	var keys []signatures.Key
	for i, text := range kc.PublicKeys {
		public, err := signatures.ParsePublicKey(text, algorithm)
		if err != nil {
			k.Add(fmt.Sprintf("%s.key.public_keys[%d]", path, i), err.Error(), "write PEM, or the key in base64 or hex")
			continue
		}
		keys = append(keys, &signatures.PublicKey{Algorithm: algorithm, Public: public})
	}
	if !kc.PrivateKey.IsZero() {
		private, err := signatures.ParsePrivateKey(kc.PrivateKey.Reveal())
		if err != nil {
			k.Add(path+".key.private_key", err.Error(), "it is for trials only; leave it out otherwise")
		} else if len(keys) > 0 {
			keys[0].(*signatures.PublicKey).Private = private // made above
			k.Warn(path+".key.private_key", "lets whoever reads it sign requests", "remove it once the trial is over")
		}
	}
	return keys
}
