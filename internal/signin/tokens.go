package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// A token is nw_ID_SECRET: the id finds it, and the secret is more than 256 random bits. A search for secrets that were published finds it by
// its beginning.
const (
	tokenHead   = "nw_"
	tokenIDSize = 12  // characters of 5 random bits
	mostToken   = 200 // characters of what is looked at
	maxTokens   = 1000
	maxName     = 64 // characters of a token's name
)

// newToken makes one.
func newToken() (token, id string) {
	id = strings.ToLower(rand.Text()[:tokenIDSize])
	return tokenHead + id + "_" + strings.ToLower(rand.Text()+rand.Text()), id // 260 bits
}

// ErrUnknownToken means that nobody is known by a token: there is none like it, or it was revoked or has expired.
var ErrUnknownToken = errors.New("the token is not known: it was never made, it was revoked, or it has expired")

// Tokens say whose a token is, by the data alone: one that was revoked by another node lets nobody in from then on.
type Tokens struct {
	Store auth.Records
	Now   func() time.Time
	Log   *zap.Logger

	told rarely // of the last use of a token
}

// usedEvery is how often the last use of a token is written.
const usedEvery = time.Minute

// Who is whose the token is. ErrUnknownToken for nobody's, also of one that was revoked or has expired.
func (d *Tokens) Who(ctx context.Context, token string) (access.Who, error) {
	rest, is := strings.CutPrefix(token, tokenHead)
	id, _, whole := strings.Cut(rest, "_")
	if !is || !whole || len(id) != tokenIDSize || len(token) > mostToken {
		return access.Who{}, ErrUnknownToken
	}
	t, err := d.Store.Token(ctx, id)
	if errors.Is(err, messaging.ErrNotFound) {
		return access.Who{}, ErrUnknownToken
	}
	if err != nil {
		return access.Who{}, err
	}
	now := d.Now()
	sum := sha256.Sum256([]byte(token))
	if same := subtle.ConstantTimeCompare(sum[:], t.Hash[:]); same != 1 || !t.Good(now) {
		return access.Who{}, ErrUnknownToken
	}
	d.used(ctx, id, now)
	w := access.Who{Name: t.Name + " (" + id + ")", From: access.FromToken, By: t.CreatedBy, Makers: t.Makers, LetInAt: t.CreatedAt}
	for _, s := range t.Scopes {
		w.Scopes = append(w.Scopes, access.Scope(s))
	}
	return w, nil
}

// used writes when a token was used, once a minute. On a full disk it is not known, and the token is good all the same.
func (d *Tokens) used(ctx context.Context, id string, now time.Time) {
	if !d.told.due(id, now) {
		return
	}
	if err := d.Store.TokenUsed(ctx, id, now); err != nil {
		d.Log.Warn("the use of a token is not noted", zap.String("token", id), zap.Error(err))
	}
}

// A TokenRequest asks for a token.
type TokenRequest struct {
	Name      string         `json:"name" validate:"required"`
	Scopes    []access.Scope `json:"scopes" validate:"required"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"` // absent is never
}

// A TokenView is a token, without what lets in.
type TokenView struct {
	ID        string         `json:"id" kind:"ours"`
	Name      string         `json:"name" kind:"ours"`
	Scopes    []access.Scope `json:"scopes"`
	State     string         `json:"state" kind:"ours"` // good, expired or revoked
	CreatedAt time.Time      `json:"created_at"`
	CreatedBy string         `json:"created_by" kind:"ours"` // of one that a token made, who made that
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
	RevokedAt time.Time      `json:"revoked_at,omitzero"`
	UsedAt    time.Time      `json:"used_at,omitzero"`            // to the minute
	Token     string         `json:"token,omitempty" kind:"ours"` // in the answer to its making, and never again
}

func (p People) tokenView(t *auth.Token) TokenView {
	v := TokenView{
		ID: t.ID, Name: t.Name, State: "good", CreatedAt: t.CreatedAt.UTC(), CreatedBy: t.CreatedBy,
		ExpiresAt: t.ExpiresAt.UTC(), RevokedAt: t.RevokedAt.UTC(), UsedAt: t.UsedAt.UTC(),
	}
	switch {
	case !t.RevokedAt.IsZero():
		v.State = "revoked"
	case !t.Good(p.Now()):
		v.State = "expired"
	}
	for _, s := range t.Scopes {
		v.Scopes = append(v.Scopes, access.Scope(s))
	}
	return v
}

func (p People) Tokens(ctx context.Context, _ struct{}) ([]TokenView, error) {
	all, err := p.Store.Tokens(ctx)
	out := make([]TokenView, len(all))
	for i := range all {
		out[i] = p.tokenView(&all[i])
	}
	return out, err
}

// CheckScopes gives the scopes sorted as they are documented, each once, or says which is none.
func CheckScopes(given []access.Scope) ([]access.Scope, error) {
	var out []access.Scope
	for _, s := range access.Scopes {
		if slices.Contains(given, s) {
			out = append(out, s)
		}
	}
	for _, s := range given {
		if !slices.Contains(access.Scopes, s) {
			words := make([]string, len(access.Scopes))
			for i, one := range access.Scopes {
				words[i] = string(one)
			}
			hint := "one or more of: " + strings.Join(words, ", ")
			if near := nearest.Of(string(s), words); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, refusal.Fieldf("scopes", hint, "%q is no scope", string(s))
		}
	}
	if len(out) == 0 {
		return nil, refusal.Fieldf("scopes", "", "a token needs a scope")
	}
	return out, nil
}

func (p People) CreateToken(ctx context.Context, in TokenRequest) (TokenView, error) {
	name := strings.TrimSpace(in.Name)
	switch {
	case name == "" || name != plain.Text(name) || len([]rune(name)) > maxName:
		return TokenView{}, refusal.Fieldf("name", "what it is for, such as crm", "a name has 1 to %d characters, and none that steers a terminal", maxName)
	case name != mask.Phones(name):
		return TokenView{}, refusal.Fieldf("name", "the name stands in the audit for good: name what it is for, such as crm", "a name must not hold what may be a phone")
	case !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(p.Now()):
		return TokenView{}, refusal.Fieldf("expires_at", "", "expires_at is in the past")
	}
	scopes, err := CheckScopes(in.Scopes)
	if err != nil {
		return TokenView{}, err
	}
	all, err := p.Store.Tokens(ctx)
	if err != nil {
		return TokenView{}, err
	}
	if slices.ContainsFunc(all, func(t auth.Token) bool { return t.ID == name }) {
		return TokenView{}, &refusal.Error{Status: http.StatusConflict, Field: "name", Words: "a name must not be the id of a token: to revoke the one would be to revoke the other", Hint: "take another name"}
	}
	if len(all) >= maxTokens {
		return TokenView{}, refusal.Newf(http.StatusConflict, "one token can serve many programs of one kind", "there are %d tokens already", len(all))
	}
	token, id := newToken()
	who, _ := access.WhoOf(ctx)
	t := auth.Token{ID: id, Name: name, Hash: sha256.Sum256([]byte(token)), CreatedAt: p.Now().UTC(), CreatedBy: who.Person(), Makers: who.Makers, ExpiresAt: in.ExpiresAt.UTC()}
	for _, s := range scopes {
		t.Scopes = append(t.Scopes, string(s))
	}
	err = p.Store.AddToken(ctx, t)
	if errors.Is(err, auth.ErrTokenName) {
		return TokenView{}, &refusal.Error{Status: http.StatusConflict, Field: "name", Words: "there is a token " + name + " already", Hint: "nudgewire token revoke ends it; or take another name"}
	}
	v := p.tokenView(&t)
	v.Token = token
	return v, err
}

func (p People) RevokeToken(ctx context.Context, id string) (TokenView, error) {
	all, err := p.Store.Tokens(ctx)
	if err != nil {
		return TokenView{}, err
	}
	i := slices.IndexFunc(all, func(t auth.Token) bool { return t.ID == id })
	if i < 0 { // else by the name that no other good one has; no token is called as an older one's id
		i = slices.IndexFunc(all, func(t auth.Token) bool { return t.Name == id && t.Good(p.Now()) })
	}
	if i < 0 {
		return TokenView{}, refusal.Newf(http.StatusNotFound, "nudgewire token list shows those that there are", "there is no token %s", plain.Text(id))
	}
	t := &all[i]
	at := p.Now().UTC()
	if err := p.Store.RevokeToken(ctx, t.ID, at); errors.Is(err, messaging.ErrNotFound) {
		return TokenView{}, refusal.Newf(http.StatusConflict, "", "token %s was revoked already", mask.Own(t.ID))
	} else if err != nil {
		return TokenView{}, err
	}
	t.RevokedAt = at
	return p.tokenView(t), nil
}
