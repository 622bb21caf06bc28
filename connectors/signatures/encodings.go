package signatures

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxSignature is the longest written signature that is looked at, in characters: RSA of
// 8192 bits in hexadecimal.
const maxSignature = 2048

// maxSignatures bounds how many entries of a list are tried: each costs a comparison, and
// senders send one per secret.
const maxSignatures = 32

// ListEntries yields the names and values of a header such as t=1,v1=aa,v1=bb. Entries without
// the assign mark are yielded with an empty name. Space may be around entries, as in every list
// in a header (RFC 9110, 5.6.1).
// Without assign an entry's name is its place.
func ListEntries(header, separator, assign string) func(yield func(name, value string) bool) {
	return func(yield func(string, string) bool) {
		rest := header
		for n := 0; rest != "" && n < maxSignatures; n++ {
			entry, after, _ := strings.Cut(rest, separator)
			rest = after
			name, value, ok := strings.Cut(strings.TrimSpace(entry), assign)
			switch {
			case assign == "":
				name, value = strconv.Itoa(n), strings.TrimSpace(entry)
			case !ok:
				name, value = "", name
			}
			if !yield(strings.TrimSpace(name), strings.TrimSpace(value)) {
				return
			}
		}
	}
}

// DecodeSignature appends the bytes of a written signature; ok is false for what is not
// written exactly so: small letters for hex, capitals for hex_upper, the standard alphabet and all of
// its padding for base64. Only base64url has its padding or not: RFC 4648 keeps it, JOSE does not.
func DecodeSignature(to []byte, written, encoding string) (decoded []byte, ok bool) {
	if written == "" || len(written) > maxSignature {
		return to, false
	}
	at := len(to)
	if encoding == encodingHex || encoding == encodingHexUpper {
		other := "ABCDEF"
		if encoding == encodingHexUpper {
			other = "abcdef"
		}
		to = append(to, make([]byte, hex.DecodedLen(len(written)))...)
		if _, err := hex.Decode(to[at:], []byte(written)); err != nil || strings.ContainsAny(written, other) {
			return to[:at], false
		}
		return to, true
	}
	alphabet := base64.StdEncoding
	if encoding == encodingBase64URL {
		alphabet = base64.URLEncoding
		if !strings.HasSuffix(written, "=") {
			alphabet = base64.RawURLEncoding
		}
	}
	to = append(to, make([]byte, alphabet.DecodedLen(len(written)))...)
	n, err := alphabet.Strict().Decode(to[at:], []byte(written))
	if err != nil || strings.ContainsAny(written, "\r\n") { // the decoder skips line breaks
		return to[:at], false
	}
	return to[:at+n], true
}

func EncodeSignature(raw []byte, encoding string) string {
	switch encoding {
	case encodingHex:
		return hex.EncodeToString(raw)
	case encodingHexUpper:
		return strings.ToUpper(hex.EncodeToString(raw))
	case encodingBase64URL:
		return base64.URLEncoding.EncodeToString(raw)
	default:
		return base64.StdEncoding.EncodeToString(raw)
	}
}

// The ways to write bytes as text.
const (
	encodingHex       = "hex"
	encodingHexUpper  = "hex_upper"
	EncodingBase64    = "base64"
	encodingBase64URL = "base64url"
)

// LooksLike helps a reason along: what a signature that did not decode seems to be.
func LooksLike(written string) string {
	switch {
	case written == "":
		return "empty"
	case len(written) > maxSignature:
		return "longer than any signature"
	case strings.Trim(written, "0123456789abcdef") == "" && len(written)%2 == 0:
		return "hexadecimal in small letters"
	case strings.Trim(written, "0123456789ABCDEF") == "" && len(written)%2 == 0:
		return "hexadecimal in capitals, which is hex_upper"
	case strings.Trim(strings.TrimRight(written, "="), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") == "":
		return "some kind of base64, or not the whole of it"
	default:
		return "neither hexadecimal nor base64"
	}
}
