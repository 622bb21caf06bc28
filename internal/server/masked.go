package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
)

// withheld takes the place of what webhooks carried: it may name a phone in any way of writing, which nothing can find for sure.
const withheld = "(needs the scope phones)"

// Shown is v as JSON for who asks: whole for those with the scope phones. For everybody else this is the one place that masks
// phones, e-mail addresses and cells of lists, in every text, and withholds what webhooks carried. The texts of the fields in whole stay as they are: random ones may look like phones.
func Shown(ctx context.Context, v any, whole ...string) ([]byte, error) {
	text, err := json.Marshal(v)
	if who, _ := WhoOf(ctx); err != nil || who.May(Phones) {
		return text, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var all any
	if err := dec.Decode(&all); err != nil {
		return nil, err
	}
	return json.Marshal(masked(all, whole...))
}

// isHash reports whether a text is a SHA-256 as we write it: no phone has so many digits, and with asterisks nobody finds it again.
func isHash(text string) bool {
	bits, err := hex.DecodeString(text)
	return err == nil && len(bits) == sha256.Size
}

func masked(v any, whole ...string) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil || isHash(v) {
			return v // the digits of a fraction of a second are no phone
		}
		return mask.Phones(mask.Cells(v))
	case []any:
		for i := range v {
			v[i] = masked(v[i], whole...)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			switch text, is := one.(string); {
			case !is || text == "":
			case key == "payload" || key == "sample":
				one = withheld
			case key == "email":
				one = mask.Email(text)
			}
			if _, is := one.(string); is && slices.Contains(whole, key) {
				out[key] = one
				continue
			}
			out[mask.Phones(key)] = masked(one, whole...)
		}
		return out
	}
	return v
}
