package suite

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"testing"
)

// nodeTokens is how two nodes renew one refresh token.
func (p pair) nodeTokens(t *testing.T) {
	a, b := p.two(t)
	source, other := sha256.Sum256([]byte("one")), sha256.Sum256([]byte("another"))
	t.Run("what one puts there the next one reads", func(t *testing.T) {
		const each = 10
		together(6, func(i int) {
			l := []*ledger{a, b}[i%2]
			for range each {
				end, err := l.tokens.RefreshTurn(l.ctx, source)
				if err != nil {
					t.Error(err)
					return
				}
				token, err := l.tokens.RefreshToken(l.ctx, source)
				n, _ := strconv.Atoi(token) // "" is none yet
				if err := errors.Join(err, l.tokens.KeepRefreshToken(l.ctx, source, token, strconv.Itoa(n+1))); err != nil {
					t.Error(err)
				}
				end()
			}
		})
		token, err := a.tokens.RefreshToken(a.ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "renewed", strconv.Itoa(6*each), token)
	})
	t.Run("each token has a turn of its own, and a wait ends with its request", func(t *testing.T) {
		end, err := a.tokens.RefreshTurn(a.ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		free, err := b.tokens.RefreshTurn(b.ctx, other)
		if err != nil {
			t.Fatal(err)
		}
		free()
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		if _, err := b.tokens.RefreshTurn(ctx, source); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that was ended: %v", err)
		}
		end()
		if end, err = b.tokens.RefreshTurn(b.ctx, source); err != nil {
			t.Fatal(err)
		}
		end()
	})
}
