package signin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/refusal"
)

func TestAPasswordIsKeptAsArgon2id(t *testing.T) {
	kept, err := hashPassword(t.Context(), "a horse of three hills")
	if err != nil || !strings.HasPrefix(kept, "$argon2id$v=19$m=32768,t=3,p=1$") {
		t.Fatalf("kept as %q, %v", kept, err)
	}
	// What was kept with other parameters goes on: this is "password" as the reference implementation writes it.
	const other = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for _, c := range []struct {
		kept, word string
		same       bool
	}{{kept, "a horse of three hills", true}, {kept, "a horse of three hill", false}, {kept, "", false}, {other, "password", true}, {other, "Password", false}, {"", "", false}, {"", "a", false}} {
		if same, err := samePassword(t.Context(), c.kept, c.word); same != c.same || err != nil {
			t.Errorf("%q for %q: %v, %v", c.word, c.kept, same, err)
		}
	}
	for _, bad := range []string{"x", "$argon2i$v=19$m=1,t=1,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA", strings.Replace(kept, "m=32768", "m=99999999", 1), strings.Replace(kept, "t=3", "t=0", 1), strings.Replace(kept, "v=19", "v=16", 1), kept[:40]} {
		if same, err := samePassword(t.Context(), bad, "a horse of three hills"); same || err == nil {
			t.Errorf("%q is read: %v", bad, err)
		}
	}
}

// Whoever signs in as often as they like takes no more memory than is set aside: two are hashed, some wait, and the others are told to.
func TestPasswordsAreHashedAFewAtATime(t *testing.T) {
	var held []func()
	for range hashesAtOnce {
		end, err := hashTurn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, end)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for range mostHashing {
		all.Go(func() {
			if end, err := hashTurn(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("a turn: %v", err)
				end()
			}
		})
	}
	for hashWaiting.Load() < mostHashing {
		time.Sleep(time.Millisecond)
	}
	_, err := hashTurn(t.Context())
	if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != http.StatusServiceUnavailable {
		t.Errorf("one too many: %v", err)
	}
	cancel()
	all.Wait()
	for _, end := range held {
		end()
	}
	if end, err := hashTurn(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	} else {
		end()
	}
}
