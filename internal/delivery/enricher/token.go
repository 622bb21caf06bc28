package enricher

import (
	"context"
	"crypto/sha256"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/nudgewire/nudgewire/connectors"
)

// Refreshed are the refresh tokens that came in place of configured ones, kept for good. source
// is a hash of the configured token and of whom it belongs to: another one in the config has
// none kept.
type Refreshed interface {
	// RefreshTurn waits until no other process that keeps tokens in the same place has the turn of source, and has it until end
	// is called, which comes back before another gets it.
	RefreshTurn(ctx context.Context, source [sha256.Size]byte) (end func(), err error)
	// RefreshToken returns "" when none is kept.
	RefreshToken(ctx context.Context, source [sha256.Size]byte) (string, error)
	// KeepRefreshToken puts token in place of used, which RefreshToken returned.
	KeepRefreshToken(ctx context.Context, source [sha256.Size]byte, used, token string) error
}

// tokens are the access tokens of OAuth clients by all that they were got with, and the chains of
// refresh tokens by where each began.
type tokens struct {
	mu     sync.Mutex
	all    map[[sha256.Size]byte]*grant
	chains map[[sha256.Size]byte]*chain
}

// A grant is one client's access token.
type grant struct {
	chain  *chain
	mu     sync.Mutex
	access string
	until  time.Time
}

// A chain is a refresh token and those that came in its place. One request at a time is made with
// it: a crowd of look-ups makes one, and nobody asks with a token that another has just used up.
type chain struct {
	source [sha256.Size]byte
	turn   chan struct{} // holds a token while nobody renews
	// Whoever has the turn may touch what follows.
	newest string // the newest refresh token that is known here; "" for the configured one
	used   string // in whose place newest came, where that is not kept yet
	unkept bool   // newest is not kept yet
}

const (
	// early is how long before its end an access token is renewed.
	early = time.Minute
	// unsaid is how long one lasts that does not say it.
	unsaid = 30 * time.Minute
	// atMost bounds how long one is trusted, whatever it says.
	atMost = 24 * time.Hour
)

func sum(words ...string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(words, "\x00")))
}

func (t *tokens) of(l *connectors.Lookup) *grant {
	o := &l.Auth.OAuth
	source := sum(o.TokenURL, o.ClientID, o.RefreshToken.Reveal())
	whole := sum(l.Connector, o.TokenURL, o.Grant, o.ClientID, o.ClientSecret.Reveal(), o.RefreshToken.Reveal(), o.Scope)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all, t.chains = map[[sha256.Size]byte]*grant{}, map[[sha256.Size]byte]*chain{}
	}
	g, ok := t.all[whole]
	if !ok {
		c, ok := t.chains[source]
		if !ok {
			c = &chain{source: source, turn: make(chan struct{}, 1)}
			t.chains[source] = c
		}
		g = &grant{chain: c}
		t.all[whole] = g
	}
	return g
}

// forget drops an access token that was refused, unless somebody has renewed it meanwhile.
func (t *tokens) forget(l *connectors.Lookup, access string) {
	g := t.of(l)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.access == access {
		g.access = ""
	}
}

func (g *grant) valid(now time.Time) (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.access, g.access != "" && now.Before(g.until)
}

// token is what the look-up proves itself by.
func (c *Client) token(ctx context.Context, l *connectors.Lookup) (string, error) {
	if l.Auth.Kind != connectors.AuthOAuth2 {
		return l.Auth.Token.Reveal(), nil
	}
	g := c.tokens.of(l)
	if access, ok := g.valid(time.Now()); ok {
		return access, nil
	}
	select {
	case g.chain.turn <- struct{}{}:
		defer func() { <-g.chain.turn }()
	case <-ctx.Done():
		return "", c.noAnswer(l, ctx.Err())
	}
	if access, ok := g.valid(time.Now()); ok { // somebody else was faster
		return access, nil
	}
	refresh := l.Auth.OAuth.RefreshToken.Reveal()
	if l.Auth.OAuth.Grant == connectors.GrantRefresh {
		if c.Refreshed != nil { // from the reading of the newest one until what came in its place is kept
			end, err := c.Refreshed.RefreshTurn(ctx, g.chain.source)
			if ctx.Err() != nil && err != nil {
				return "", c.noAnswer(l, ctx.Err())
			}
			if err != nil {
				return "", unkept(l, err)
			}
			defer end()
		}
		var err error
		if refresh, err = c.refreshToken(ctx, g.chain, refresh); err != nil {
			return "", unkept(l, err)
		}
	}
	// The host that gives tokens replaces the look-up's in every word.
	place := *l
	if u, err := url.Parse(l.Auth.OAuth.TokenURL); err == nil {
		place.Host = u.Host
	}
	token, failed := c.exchange(ctx, &place, refresh)
	if failed != nil {
		failed.Words = "no access token from " + failed.Host + ": " + failed.Words
		failed.Host = l.Host
		// A 401 of the token's place is not one of the look-up's.
		failed.Status = 0
		return "", failed
	}
	if l.Auth.OAuth.Grant == connectors.GrantRefresh && token.RefreshToken != refresh {
		// The one that asked for it may be cut now; the token that it used up is gone all the same.
		g.chain.used, g.chain.newest, g.chain.unkept = g.chain.newest, token.RefreshToken, true
		if err := c.keep(context.WithoutCancel(ctx), g.chain); err != nil {
			return "", unkept(l, err)
		}
	}
	g.keepToken(token, time.Now())
	return token.AccessToken, nil
}

// refreshToken is the newest of the chain. One that could not be kept is kept before it is used up:
// what comes in its place may be lost on its way. The kept one is read each time: another process may have put it there.
func (c *Client) refreshToken(ctx context.Context, ch *chain, configured string) (string, error) {
	if err := c.keep(ctx, ch); err != nil {
		return "", err
	}
	if c.Refreshed != nil {
		newest, err := c.Refreshed.RefreshToken(ctx, ch.source)
		if err != nil {
			// With an earlier one a provider may see a thief at work, and end all of them.
			return "", err
		}
		ch.newest = newest
	}
	if ch.newest == "" {
		return configured, nil
	}
	return ch.newest, nil
}

func (c *Client) keep(ctx context.Context, ch *chain) error {
	if ch.unkept && c.Refreshed != nil {
		if err := c.Refreshed.KeepRefreshToken(ctx, ch.source, ch.used, ch.newest); err != nil {
			return err
		}
	}
	ch.unkept = false
	return nil
}

func unkept(l *connectors.Lookup, err error) *FetchError {
	return &FetchError{Host: l.Host, Words: "its refresh token could not be read or kept in the database, so it was not asked", Free: true, RetryAfter: firstPause, Err: err}
}

// keepToken makes a new access token the one in use.
func (g *grant) keepToken(token *oauth2.Token, now time.Time) {
	lasts := unsaid
	if d := token.Expiry.Sub(now); d > 0 {
		lasts = min(d, atMost)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.access, g.until = token.AccessToken, now.Add(max(lasts-early, lasts/2))
}
