// Package signatures makes and compares signatures: the keys, as senders show them, and the ways a signature is written.
package signatures

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // two senders sign with HMAC-SHA1, which its collisions do not break
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
	"unsafe"
)

// A Key compares signatures of one secret or public key. Keys are safe for concurrent use.
type Key interface {
	// Matches reports whether sig is the key's signature over the message. The error says why
	// the request does not hold what is signed; then nothing matches.
	Matches(m Signable, sig []byte) (bool, error)
	// Sign is the key's own signature, where it can make one.
	Sign(m Signable) ([]byte, error)
}

// Signable is a message that writes itself for a signature. The error says why the request does not hold what is signed.
type Signable interface{ Feed(to *Digest) error }

// A Digest is a hash with the buffers that its use needs, kept in a pool: after the first
// requests verification allocates nothing.
type Digest struct {
	hash   hash.Hash
	sum    []byte
	Secret []byte
}

func (d *Digest) Text(s string) { d.Bytes(SharedBytes(s)) }

func (d *Digest) Bytes(b []byte) { _, _ = d.hash.Write(b) } // a hash never fails

// macKey signs with HMAC, or with a plain hash in which the secret is one of the parts.
type macKey struct{ pool sync.Pool }

func NewMacKey(algorithm string, secret []byte) *macKey {
	fresh := Hashes[algorithm]
	return &macKey{pool: sync.Pool{New: func() any {
		d := &Digest{sum: make([]byte, 0, 64), Secret: secret}
		if algorithm == AlgorithmPlain {
			d.hash = fresh()
		} else {
			d.hash = hmac.New(fresh, secret)
		}
		return d
	}}}
}

// digest leaves the key's signature in sum. The caller puts d back into the pool.
func (k *macKey) digest(m Signable) (d *Digest, err error) {
	d = k.pool.Get().(*Digest) // the pool holds nothing else
	d.hash.Reset()
	err = m.Feed(d)
	d.sum = d.hash.Sum(d.sum[:0])
	return d, err
}

func (k *macKey) Matches(m Signable, sig []byte) (bool, error) {
	d, err := k.digest(m)
	equal := err == nil && hmac.Equal(d.sum, sig)
	k.pool.Put(d)
	return equal, err
}

func (k *macKey) Sign(m Signable) ([]byte, error) {
	d, err := k.digest(m)
	defer k.pool.Put(d)
	return bytes.Clone(d.sum), err
}

// The algorithms of signatures.
const (
	AlgorithmPlain   = "sha256"
	AlgorithmEd25519 = "ed25519"
	AlgorithmRSA     = "rsa-sha256"
	AlgorithmECDSA   = "ecdsa-p256-sha256"
)

var Hashes = map[string]func() hash.Hash{
	"hmac-sha1":    sha1.New,
	"hmac-sha256":  sha256.New,
	"hmac-sha384":  sha512.New384,
	"hmac-sha512":  sha512.New,
	AlgorithmPlain: sha256.New,
}

func Asymmetric(algorithm string) bool {
	return algorithm == AlgorithmEd25519 || algorithm == AlgorithmRSA || algorithm == AlgorithmECDSA
}

// PublicKey checks signatures that only the sender can make.
type PublicKey struct {
	Algorithm string
	Public    crypto.PublicKey
	Private   crypto.Signer // nil but for trials
}

// collect is the whole message, as asymmetric signatures need it or its hash.
func (k *PublicKey) collect(m Signable) ([]byte, error) {
	w := &gather{}
	err := m.Feed(&Digest{hash: w})
	return w.Bytes(), err
}

// gather is a hash.Hash that only keeps what it is given.
type gather struct{ bytes.Buffer }

func (*gather) Sum(b []byte) []byte { return b }
func (*gather) Size() int           { return 0 }
func (*gather) BlockSize() int      { return 1 }

func (k *PublicKey) Matches(m Signable, sig []byte) (bool, error) {
	text, err := k.collect(m)
	if err != nil {
		return false, err
	}
	switch public := k.Public.(type) {
	case ed25519.PublicKey:
		return len(sig) == ed25519.SignatureSize && ed25519.Verify(public, text, sig), nil
	case *rsa.PublicKey:
		sum := sha256.Sum256(text)
		return rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], sig) == nil, nil
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(text)
		return ecdsa.VerifyASN1(public, sum[:], sig), nil
	default:
		return false, nil
	}
}

var ErrNoPrivateKey = errors.New("only the sender holds the private key that signs; for trials set verify.key.private_key and its public half in public_keys")

func (k *PublicKey) Sign(m Signable) ([]byte, error) {
	if k.Private == nil {
		return nil, ErrNoPrivateKey
	}
	text, err := k.collect(m)
	if err != nil {
		return nil, err
	}
	if k.Algorithm == AlgorithmEd25519 {
		return k.Private.Sign(rand.Reader, text, crypto.Hash(0))
	}
	sum := sha256.Sum256(text)
	return k.Private.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// The ways a secret becomes the bytes of a key.
const (
	KeyRaw           = "raw"
	KeyHex           = "hex"
	keyBase64        = "base64"
	KeyBase64OrWhsec = "base64_or_whsec"
	keyWhsec         = "whsec"
)

var KeyEncodings = []string{KeyRaw, KeyHex, keyBase64, KeyBase64OrWhsec, keyWhsec}

// DecodeKey is a secret's bytes. The error never holds the secret.
func DecodeKey(secret, encoding string) ([]byte, error) {
	if strings.TrimSpace(secret) == "" {
		return nil, errors.New("is empty")
	}
	var raw []byte
	var err error
	switch encoding {
	case KeyHex:
		if raw, err = hex.DecodeString(strings.TrimSpace(secret)); err != nil {
			return nil, errors.New("is not hexadecimal, which this sender's secrets are")
		}
	case keyBase64, KeyBase64OrWhsec, keyWhsec:
		text := strings.TrimSpace(secret)
		if encoding != keyBase64 {
			text = strings.TrimPrefix(text, "whsec_")
		}
		if raw, err = anyBase64(text); err != nil {
			return nil, errors.New("is not base64, which this sender's secrets are (with or without whsec_ in front)")
		}
	default:
		raw = []byte(secret)
	}
	if len(bytes.Trim(raw, "\x00")) == 0 {
		return nil, errors.New("is a key of zeros")
	}
	return raw, nil
}

func anyBase64(text string) ([]byte, error) {
	bare := strings.TrimRight(text, "=")
	if strings.ContainsAny(bare, "-_") {
		return base64.RawURLEncoding.DecodeString(bare)
	}
	return base64.RawStdEncoding.DecodeString(bare)
}

// keyBytes are the bytes of a key that is written in hex or base64, with or without prefix.
func keyBytes(text, prefix string) ([]byte, error) {
	text = strings.TrimPrefix(strings.Join(strings.Fields(text), ""), prefix)
	if raw, err := hex.DecodeString(text); err == nil { // base64 of a key has letters or a length that hex has not
		return raw, nil
	}
	return anyBase64(text)
}

// pemBlock finds PEM also where a variable of one line holds it, its line ends written \n or as blanks.
func pemBlock(text string) *pem.Block {
	text = strings.TrimSpace(strings.ReplaceAll(text, `\n`, "\n"))
	if block, _ := pem.Decode([]byte(text)); block != nil {
		return block
	}
	head, rest, ok := strings.Cut(strings.TrimPrefix(text, "-----BEGIN "), "-----")
	body, _, closed := strings.Cut(rest, "-----END ")
	if !ok || !closed {
		return nil
	}
	block, _ := pem.Decode([]byte("-----BEGIN " + head + "-----\n" + strings.Join(strings.Fields(body), "\n") + "\n-----END " + head + "-----\n"))
	return block
}

// ParsePublicKey reads PEM, base64 or hex of the DER form (SPKI) or of the bare key (the 32 bytes of Ed25519, the 65 of a
// point of P-256), or whpk_ with base64.
func ParsePublicKey(text, algorithm string) (crypto.PublicKey, error) {
	var der []byte
	if block := pemBlock(text); block != nil {
		der = block.Bytes
	} else {
		raw, err := keyBytes(text, "whpk_")
		if err != nil {
			return nil, errors.New("is neither PEM, nor base64, nor hexadecimal")
		}
		if algorithm == AlgorithmEd25519 && len(raw) == ed25519.PublicKeySize {
			return checkedEd25519(raw)
		}
		if point, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw); algorithm == AlgorithmECDSA && err == nil {
			return point, nil
		}
		der = raw
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		if one, err := x509.ParsePKCS1PublicKey(der); err == nil {
			public = one
		} else if cert, err := x509.ParseCertificate(der); err == nil {
			public = cert.PublicKey
		} else {
			return nil, errors.New("is not a public key")
		}
	}
	switch k := public.(type) {
	case ed25519.PublicKey:
		if algorithm == AlgorithmEd25519 {
			return checkedEd25519(k)
		}
	case *rsa.PublicKey:
		if algorithm == AlgorithmRSA {
			if k.N.BitLen() < 2048 {
				return nil, fmt.Errorf("is an RSA key of %d bits; fewer than 2048 can be broken", k.N.BitLen())
			}
			return k, nil
		}
	case *ecdsa.PublicKey:
		if algorithm == AlgorithmECDSA && k.Curve == elliptic.P256() {
			return k, nil
		}
	}
	return nil, fmt.Errorf("is a key of another kind than %s", algorithm)
}

// checkedEd25519 rejects the keys of small order, for which one signature fits any message.
func checkedEd25519(raw []byte) (crypto.PublicKey, error) {
	low := bytes.Clone(raw)
	low[31] &= 0x7f
	for _, bad := range smallOrder {
		if bytes.Equal(low, bad) {
			return nil, errors.New("is an Ed25519 key that fits any signature")
		}
	}
	return ed25519.PublicKey(bytes.Clone(raw)), nil
}

// smallOrder are the y coordinates, sign bit cleared, of the points whose order divides 8.
var smallOrder = func() [][]byte {
	var out [][]byte
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			panic(err)
		}
		out = append(out, raw)
	}
	return out
}()

// ParsePrivateKey reads PEM (PKCS 8), or base64 (with whsk_ before it or not) or hex of an Ed25519 seed or key.
func ParsePrivateKey(text string) (crypto.Signer, error) {
	bad := errors.New("is not a private key: write PEM (PKCS 8), or base64 or hex of an Ed25519 key")
	if block := pemBlock(text); block != nil {
		k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if signer, ok := k.(crypto.Signer); ok && err == nil {
			return signer, nil
		}
		return nil, bad
	}
	raw, err := keyBytes(text, "whsk_")
	switch {
	case err == nil && len(raw) == ed25519.SeedSize:
		return ed25519.NewKeyFromSeed(raw), nil
	case err == nil && len(raw) == ed25519.PrivateKeySize:
		return ed25519.PrivateKey(raw), nil
	}
	return nil, bad
}

// SharedBytes is the other way round, for readers that write nothing.
func SharedBytes(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // audited: nobody writes to it
}
