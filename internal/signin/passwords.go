package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/nudgewire/nudgewire/internal/refusal"
)

// A password is kept as argon2id writes it: $argon2id$v=19$m=32768,t=3,p=1$SALT$KEY. What is kept says how it was made, so that these may
// change later.
const (
	argonMemory  = 32 << 10 // KiB
	argonTime    = 3
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32

	mostArgonMemory = 1 << 20 // KiB, of what is kept
	mostArgonTime   = 100

	fewestInPassword = 10  // characters
	mostInPassword   = 512 // bytes

	hashesAtOnce = 2  // each takes its memory
	mostHashing  = 32 // that wait for their turn
	hashPatience = 20 * time.Second
)

// Hashing is bounded for the whole process: whoever knocks at the sign-in as often as they like does not fill the memory.
var (
	hashTurns   = make(chan struct{}, hashesAtOnce)
	hashWaiting atomic.Int64
)

// hashTurn waits for a turn to hash, which lasts until end.
func hashTurn(ctx context.Context) (end func(), err error) {
	busy := &refusal.Error{Status: http.StatusServiceUnavailable, Words: "too many people sign in at this moment", Hint: "try again in some seconds"}
	defer hashWaiting.Add(-1)
	if hashWaiting.Add(1) > mostHashing {
		return nil, busy
	}
	wait := time.NewTimer(hashPatience)
	defer wait.Stop()
	select {
	case hashTurns <- struct{}{}:
		return func() { <-hashTurns }, nil
	case <-wait.C:
		return nil, busy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var argon64 = base64.RawStdEncoding

// hashPassword makes of a password what is kept.
func hashPassword(ctx context.Context, password string) (string, error) {
	end, err := hashTurn(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	return argon(password), nil
}

func argon(password string) string {
	var salt [argonSalt]byte
	_, _ = rand.Read(salt[:]) // it never fails
	key := argon2.IDKey([]byte(password), salt[:], argonTime, argonMemory, argonThreads, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, argon64.EncodeToString(salt[:]), argon64.EncodeToString(key))
}

// nobodysPassword is what a password is compared with where there is no user, so that an answer takes as long.
var nobodysPassword = sync.OnceValue(func() string { return argon(rand.Text()) })

var errKeptPassword = errors.New("what is kept of a password cannot be read")

// samePassword reports whether a password is the one that is kept. Where nothing is kept it takes as long, and is not.
func samePassword(ctx context.Context, kept, password string) (bool, error) {
	end, err := hashTurn(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	nobody := kept == ""
	if nobody {
		kept = nobodysPassword()
	}
	parts := strings.Split(kept, "$")
	var version, memory, passes, threads int
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errKeptPassword
	}
	_, err = fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &threads)
	salt, broken := argon64.DecodeString(parts[4])
	key, worse := argon64.DecodeString(parts[5])
	if errors.Join(err, broken, worse) != nil || version != argon2.Version || memory < 1 || memory > mostArgonMemory || passes < 1 || passes > mostArgonTime || threads < 1 || threads > 255 || len(key) < 16 || len(key) > 64 {
		return false, errKeptPassword
	}
	got := argon2.IDKey([]byte(password), salt, uint32(passes), uint32(memory), uint8(threads), uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1 && !nobody, nil
}

// checkPassword says what is wrong with a new password.
func checkPassword(name, password string) error {
	switch {
	case len([]rune(password)) < fewestInPassword:
		return refusal.Fieldf("password", "some words that belong together only for you are easy to keep in mind", "a password has at least %d characters", fewestInPassword)
	case len(password) > mostInPassword:
		return refusal.Fieldf("password", "", "a password has at most %d bytes", mostInPassword)
	case strings.EqualFold(strings.TrimSpace(password), name):
		return refusal.Fieldf("password", "", "the password is the name")
	default:
		return nil
	}
}
