package enricher

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
)

// tokens are the access tokens of OAuth clients, by what they were got with.
type tokens struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*grant
}

// A grant is one client's access token. Its lock is held while it is fetched, so that a
// crowd of look-ups makes one request.
type grant struct {
	turn    chan struct{} // holds a token while nobody renews
	mu      sync.Mutex
	access  string
	until   time.Time
	refresh string // a newer refresh token than the configured one; "" for none
}

const (
	// early is how long before its end an access token is renewed.
	early = time.Minute
	// unsaid is how long one lasts that does not say it.
	unsaid = 30 * time.Minute
)

func (t *tokens) of(l *connectors.Lookup) *grant {
	o := &l.Auth.OAuth
	sum := sha256.Sum256([]byte(strings.Join([]string{
		l.Connector, o.TokenURL, o.Grant, o.ClientID, o.ClientSecret.Reveal(), o.RefreshToken.Reveal(), o.Scope,
	}, "\x00")))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[[sha256.Size]byte]*grant{}
	}
	g, ok := t.all[sum]
	if !ok {
		g = &grant{turn: make(chan struct{}, 1)}
		t.all[sum] = g
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
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return "", c.noAnswer(l, ctx.Err())
	}
	if access, ok := g.valid(time.Now()); ok { // somebody else was faster
		return access, nil
	}
	access, failed := c.renew(ctx, l, g)
	if failed != nil {
		failed.Words = "no access token from " + failed.Host + ": " + failed.Words
		failed.Host = l.Host
		// A 401 of the token's place is not one of the look-up's.
		failed.Status = 0
		return "", failed
	}
	return access, nil
}

// A tokenAnswer is an answer as RFC 6749 (5.1, 5.2) has it. Some places refuse with 200.
type tokenAnswer struct {
	AccessToken  string      `json:"access_token"`
	ExpiresIn    json.Number `json:"expires_in"`
	RefreshToken string      `json:"refresh_token"`
	Error        string      `json:"error"`
}

// errorCode is what an error of OAuth looks like; anything else is not repeated.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// renew asks for an access token.
func (c *Client) renew(ctx context.Context, l *connectors.Lookup, g *grant) (string, *FetchError) {
	o := &l.Auth.OAuth
	form := url.Values{"grant_type": {o.Grant}, "client_id": {o.ClientID}, "client_secret": {o.ClientSecret.Reveal()}}
	if o.Grant == "refresh_token" {
		g.mu.Lock()
		refresh := g.refresh
		g.mu.Unlock()
		if refresh == "" {
			refresh = o.RefreshToken.Reveal()
		}
		form.Set("refresh_token", refresh)
	}
	if o.Scope != "" {
		form.Set("scope", o.Scope)
	}
	// The place that gives tokens stands for the look-up's in every word.
	place := *l
	if u, err := url.Parse(o.TokenURL); err == nil {
		place.Host = u.Host
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", &FetchError{Host: place.Host, Words: "its address is broken", Final: true, Err: err}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if c.UserAgent != "" {
		req.Header.Set("User-Agent", c.UserAgent)
	}
	res, err := c.client(l).Do(req)
	if err != nil {
		return "", c.noAnswer(&place, err)
	}
	defer func() { _ = res.Body.Close() }() // what was not read is of no use
	body, failed := c.read(place.Host, res.Body)
	var answer tokenAnswer
	if failed == nil {
		_ = json.Unmarshal(body, &answer) // one that cannot be read has no token, which is said below
	}
	code := ""
	if errorCode.MatchString(answer.Error) {
		code = " (" + answer.Error + ")"
	}
	if res.StatusCode != http.StatusOK {
		refusal := refused(place.Host, res)
		refusal.Words += code
		return "", refusal
	}
	if failed != nil {
		return "", failed
	}
	if answer.AccessToken == "" || strings.ContainsAny(answer.AccessToken, "\r\n") {
		return "", &FetchError{Host: place.Host, Words: "its answer holds none" + code, Final: true}
	}
	lasts := unsaid
	if seconds, err := answer.ExpiresIn.Int64(); err == nil && seconds > 0 {
		lasts = time.Duration(min(seconds, 24*3600)) * time.Second
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.access, g.until = answer.AccessToken, time.Now().Add(max(lasts-early, lasts/2))
	if answer.RefreshToken != "" {
		g.refresh = answer.RefreshToken
	}
	return g.access, nil
}
