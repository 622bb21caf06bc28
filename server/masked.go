package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
)

// withheld takes the place of what webhooks carried: it may name a phone in any way of writing, which nothing can find for sure.
const withheld = "(needs the scope phones)"

// Shown is v as JSON for who asks: whole for those with the scope phones. For everybody else this is the one place that masks
// phones, in every text, and withholds what webhooks carried.
func Shown(ctx context.Context, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if who, _ := WhoOf(ctx); err != nil || who.May(Phones) {
		return text, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var whole any
	if err := dec.Decode(&whole); err != nil {
		return nil, err
	}
	return json.Marshal(masked(whole))
}

// isHash reports whether a text is a SHA-256 as we write it.
func isHash(text string) bool {
	bits, err := hex.DecodeString(text)
	return err == nil && len(bits) == sha256.Size
}

func masked(v any) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return v // the digits of a fraction of a second are no phone
		}
		return mask.Phones(v)
	case []any:
		for i := range v {
			v[i] = masked(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			if text, is := one.(string); is && text != "" && (key == "payload" || key == "sample") {
				one = withheld
			}
			if text, is := one.(string); is && key == "hash" && isHash(text) {
				out[key] = text // whoever notes a masked one would find the audit broken
				continue
			}
			out[mask.Phones(key)] = masked(one)
		}
		return out
	}
	return v
}
