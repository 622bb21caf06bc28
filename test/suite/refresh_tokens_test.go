package suite

import (
	"crypto/sha256"
	"testing"
)

// refreshTokens outlive the process, each by where it came from.
func (s suite) refreshTokens(t *testing.T) {
	l := s.open(t)
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	kept := func(l *ledger, source [sha256.Size]byte) string {
		t.Helper()
		token, err := l.tokens.RefreshToken(l.ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for _, token := range []string{"a-1", "a-2"} {
		if got := kept(l, b); got != "" {
			t.Errorf("nothing was kept for b, but %q", got)
		}
		l.must(l.tokens.KeepRefreshToken(l.ctx, a, "", token))
		if got := kept(l, a); got != token {
			t.Errorf("kept %q, want %q", got, token)
		}
	}
	l.close()
	again := reopen(t, l.dsn)
	if got := kept(again, a); got != "a-2" {
		t.Errorf("after a restart %q", got)
	}
	again.close()
	if _, err := l.tokens.RefreshToken(l.ctx, a); err == nil {
		t.Error("a closed ledger answers")
	}
	if err := l.tokens.KeepRefreshToken(l.ctx, a, "a-2", "a-3"); err == nil {
		t.Error("a closed ledger keeps")
	}
	// The provider takes no other any more, so what could not be kept is noted, and kept by the next start.
	again = reopen(t, l.dsn)
	if got := kept(again, a); got != "a-3" {
		t.Errorf("after a restart that followed a failure %q", got)
	}
	again.close()
	if err := again.tokens.KeepRefreshToken(l.ctx, a, "a-2", "late"); err == nil {
		t.Error("a closed ledger keeps")
	}
	if got := kept(reopen(t, l.dsn), a); got != "a-3" {
		t.Errorf("a note of a token whose place another has taken: %q", got)
	}
}
