package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"go.uber.org/zap"
	"golang.org/x/oauth2"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const (
	oidcPath     = "/sign-in/oidc"
	oidcCallback = oidcPath + "/callback"
	oidcLife     = 10 * time.Minute // to sign in there and come back
	oidcPatience = 10 * time.Second // for an answer of the provider
	oidcRests    = 5 * time.Second  // after a failure: strangers cause these questions
	mostOIDC     = 1 << 20          // bytes of an answer
)

// A provider is the one of the config in use, once it was asked what it is. The daemon does not ask at its start, so that it starts while the provider is away.
type provider struct {
	mu       sync.Mutex
	of       *signin.OIDC
	client   *http.Client
	found    *oidc.Provider
	failed   error
	failedAt time.Time
}

// bounded reads no more of an answer than may be one.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, mostOIDC), res.Body}
	}
	return res, err //nolint:wrapcheck // as the one inside gives it
}

// at is the provider of a config, and a ctx by which it is asked.
func (p *provider) at(ctx context.Context, of *signin.OIDC, now time.Time) (*oidc.Provider, context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != of {
		if p.client != nil {
			p.client.CloseIdleConnections()
		}
		t := netguard.Transport(oidcPatience, of.AllowPrivate)
		t.DisableKeepAlives = true // it is asked seldom, and nothing stays open behind a stop
		p.of, p.found, p.failed = of, nil, nil
		p.client = &http.Client{Transport: bounded{t}, CheckRedirect: netguard.NoRedirect, Timeout: oidcPatience}
	}
	ctx = oidc.ClientContext(ctx, p.client)
	if p.found != nil {
		return p.found, ctx, nil
	}
	if p.failed != nil && now.Sub(p.failedAt) < oidcRests {
		return nil, ctx, p.failed
	}
	found, err := oidc.NewProvider(ctx, of.Issuer)
	if err != nil {
		p.failed, p.failedAt = err, now
		return nil, ctx, err //nolint:wrapcheck // it is logged, and told in our words
	}
	p.found = found
	return found, ctx, nil
}

func (c *Console) oidcClient(of *signin.OIDC, p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: of.ClientID, ClientSecret: of.ClientSecret.Reveal(), Endpoint: p.Endpoint(), RedirectURL: c.SignOn().Base + oidcCallback,
		Scopes: append([]string{oidc.ScopeOpenID, "email", "profile"}, of.Scopes...),
	}
}

// providerAway says that it could not be asked; what it said is for the log alone.
func (c *Console) providerAway(err error) error {
	c.Log.Warn("the provider under console.oidc could not be asked", zap.String("error", mask.Text(err.Error())))
	if errors.Is(err, netguard.ErrPrivate) {
		return &refusal.Error{Status: http.StatusServiceUnavailable, Words: "the provider leads into a private network", Hint: "an admin sets console.oidc.allow_private: true if that is meant"}
	}
	return &refusal.Error{Status: http.StatusServiceUnavailable, Words: "the provider that signs people in does not answer as it should at present", Hint: "try again in some seconds; the daemon's log says more"}
}

func (c *Console) oidcCookie(value string, seconds int) *http.Cookie {
	// Lax, because the way back begins at the provider. It lets nobody in by itself.
	return &http.Cookie{ //nolint:gosec // a console on this machine alone may speak plain http
		Name: c.cookieName() + "-oidc", Value: value, Path: "/", HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteLaxMode, MaxAge: seconds,
	}
}

// toProvider sends a browser to the provider. What has to come back is in a cookie, so that another node may answer then.
func (c *Console) toProvider(w http.ResponseWriter, r *http.Request) {
	of := c.SignOn().OIDC
	if of == nil {
		c.refuse(w, r, &refusal.Error{Status: http.StatusNotFound, Words: "nobody signs in by a provider here", Hint: "an admin names one under console.oidc"})
		return
	}
	p, _, err := c.provider.at(r.Context(), of, c.Now())
	if err != nil {
		c.refuse(w, r, c.providerAway(err))
		return
	}
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	http.SetCookie(w, c.oidcCookie(strings.Join([]string{state, nonce, verifier}, "."), int(oidcLife.Seconds())))
	http.Redirect(w, r, c.oidcClient(of, p).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), http.StatusSeeOther)
}

// errStrayed is an answer of a provider that belongs to no sign-in of this browser.
var errStrayed = &refusal.Error{Status: http.StatusForbidden, Words: "this sign-in did not begin in this browser, or took longer than ten minutes", Hint: "begin again on the sign-in page"}

// fromProvider is where the provider sends a browser back to. It answers a page that goes on by itself: a cookie of this site alone is not sent with a
// request that the provider's site began.
func (c *Console) fromProvider(w http.ResponseWriter, r *http.Request) {
	in, err := c.try(r, "", func() (in signin.SignedIn, err error) {
		person, err := c.signedOn(r)
		if err != nil {
			return in, err
		}
		return c.Door.Meet(r.Context(), person)
	})
	http.SetCookie(w, c.oidcCookie("", -1))
	if err != nil {
		if errors.Is(err, signin.ErrWrongSignIn) {
			err = errStrayed
		}
		c.refuseSignIn(w, r, err)
		return
	}
	c.enter(w, r, in)
	w.Header().Set("Refresh", "0;url=/")
	c.write(w, r, http.StatusOK, page{Name: "entered", Title: "Signed in", Data: in.Who.Name})
}

// signedOn is who the provider says signed in.
func (c *Console) signedOn(r *http.Request) (who signin.Person, err error) {
	of := c.SignOn().OIDC
	cookie, none := r.Cookie(c.oidcCookie("", 0).Name)
	if of == nil || none != nil {
		return who, signin.ErrWrongSignIn
	}
	kept := strings.Split(cookie.Value, ".")
	q := r.URL.Query()
	if len(kept) != 3 || kept[0] == "" || subtle.ConstantTimeCompare([]byte(kept[0]), []byte(q.Get("state"))) != 1 {
		return who, signin.ErrWrongSignIn
	}
	if q.Get("error") != "" || q.Get("code") == "" {
		c.Log.Info("the provider under console.oidc signed somebody not in", zap.String("error", mask.Text(q.Get("error"))))
		return who, &refusal.Error{Status: http.StatusForbidden, Words: "the provider did not sign you in", Hint: "begin again on the sign-in page"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*oidcPatience)
	defer cancel()
	p, ctx, err := c.provider.at(ctx, of, c.Now())
	if err != nil {
		return who, c.providerAway(err)
	}
	token, err := c.oidcClient(of, p).Exchange(ctx, q.Get("code"), oauth2.VerifierOption(kept[2]))
	if err != nil {
		return who, c.providerAway(errors.New("the code was not taken")) // the library's error holds the whole answer
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.VerifierContext(ctx, &oidc.Config{ClientID: of.ClientID, Now: c.Now}).Verify(ctx, raw)
	if err != nil {
		return who, c.providerAway(err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(kept[1])) != 1 {
		return who, signin.ErrWrongSignIn
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return who, c.providerAway(err)
	}
	if p.UserInfoEndpoint() != "" { // many providers tell the rest there alone
		info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
		var more map[string]any
		if err == nil {
			err = info.Claims(&more)
		}
		if err != nil {
			return who, c.providerAway(err)
		}
		if info.Subject != id.Subject {
			return who, signin.ErrWrongSignIn
		}
		for name, v := range more {
			if _, signed := claims[name]; !signed {
				claims[name] = v
			}
		}
	}
	return personOf(of, id.Issuer, id.Subject, claims), nil
}

// personOf is who an ID token is of. An address counts only where the provider has verified it: else anybody could write anybody's.
func personOf(of *signin.OIDC, issuer, subject string, claims map[string]any) signin.Person {
	text := func(key string) string { s, _ := claims[key].(string); return s }
	mail := ""
	if v := claims["email_verified"]; v == true || v == "true" {
		mail = text("email")
	}
	who := signin.Person{Source: signin.SourceOIDC, Subject: issuer + "\n" + subject, Name: subject}
	for _, name := range []string{text("preferred_username"), mail} {
		if name != "" {
			who.Name = name
		}
	}
	var groups []string
	switch v := claims[of.RoleClaim].(type) {
	case string:
		groups = []string{v}
	case []any:
		for _, one := range v {
			if s, is := one.(string); is {
				groups = append(groups, s)
			}
		}
	}
	who.Role = signin.RoleFor(of.Users, of.Roles, []string{mail, subject}, groups)
	return who
}
