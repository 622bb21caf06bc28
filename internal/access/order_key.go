package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/nudgewire/nudgewire/internal/refusal"
)

// maxKey is how long an Idempotency-Key may be, in bytes.
const maxKey = 200

// OrderKey is what the event of a message that somebody orders is unique by: who asks and the header Idempotency-Key, so that
// two programs do not take each other's keys; without the header it is a random one.
func OrderKey(ctx context.Context, given []string) (string, error) {
	if len(given) == 0 {
		return rand.Text(), nil
	}
	if len(given) > 1 || given[0] == "" || len(given[0]) > maxKey {
		return "", refusal.Fieldf("Idempotency-Key", "a random one for each message, such as a UUID", "the header Idempotency-Key has 1 to %d characters, once", maxKey)
	}
	who, _ := WhoOf(ctx)
	sum := sha256.Sum256([]byte(string(who.From) + "\x00" + who.Name + "\x00" + given[0]))
	return "key-" + hex.EncodeToString(sum[:]), nil
}
