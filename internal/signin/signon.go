package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// An OIDC is a provider of identities that signs people in to the console.
type OIDC struct {
	Issuer       string                 `yaml:"issuer" example:"https://login.example.com" doc:"Address of the provider, as it calls itself in its tokens."`
	ClientID     string                 `yaml:"client_id" example:"nudgewire" doc:"What the provider calls this console."`
	ClientSecret secret.Secret          `yaml:"client_secret" example:"${OIDC_SECRET}" doc:"What the provider gave this console. Unless set: none, for providers that want PKCE alone."`
	Scopes       []string               `yaml:"scopes" example:"[groups]" doc:"What is asked for besides openid, email and profile; some providers tell groups only then."`
	RoleClaim    string                 `yaml:"role_claim" default:"groups" doc:"The claim of the ID token that roles are found by: a text or a list of texts."`
	Roles        map[string]access.Role `yaml:"roles" doc:"A value of role_claim, and the role that it gives: viewer, operator or admin. Of several the highest."`
	Users        map[string]access.Role `yaml:"users" doc:"A verified e-mail address or the provider's id (sub) of somebody, and the role. \"*\" is everybody whom the provider signs in."`
	AllowPrivate bool                   `yaml:"allow_private" doc:"Let issuer lead into this machine or its private network, and by http://."`
}

// A TrustedHeader is a header in which a proxy says who somebody is.
type TrustedHeader struct {
	Name       string                 `yaml:"name" example:"X-Forwarded-User" doc:"The header with the name of whom the proxy has signed in. Believed from trusted_proxies alone; the proxy has to take it out of what others send."`
	RoleHeader string                 `yaml:"role_header" example:"X-Forwarded-Groups" doc:"The header that roles are found by: texts with commas between them."`
	Roles      map[string]access.Role `yaml:"roles" doc:"A text in role_header, and the role that it gives: viewer, operator or admin. Of several the highest."`
	Users      map[string]access.Role `yaml:"users" doc:"A name in the header, and the role. \"*\" is everybody whom the proxy signs in."`
}

// Everybody is the key of users that stands for all who are signed in.
const Everybody = "*"

// RoleFor is the highest role that one of the names or of the groups has; "" for none.
func RoleFor(users, roles map[string]access.Role, names, groups []string) (best access.Role) {
	take := func(r access.Role) {
		if slices.Index(access.Roles, r) > slices.Index(access.Roles, best) {
			best = r
		}
	}
	take(users[Everybody])
	for key, r := range users {
		for _, name := range names {
			if name != "" && plainName(key) == plainName(name) {
				take(r)
			}
		}
	}
	for _, g := range groups {
		take(roles[g])
	}
	return best
}

// A Person is who somebody is, as something beside this console says.
type Person struct {
	Name    string
	Source  string // SourceOIDC or SourceHeader
	Subject string // what the source knows the person by, whatever the name
	Role    access.Role
}

// Meet begins a session of a person whom a source signed in. Errors: ErrWrongSignIn, an *Error that says why not.
func (d *Sessions) Meet(ctx context.Context, p Person) (in SignedIn, err error) {
	u, err := d.person(ctx, p)
	if err == nil {
		err = d.record(ctx, u.Name, "sign-in", "by "+p.Source)
	}
	if err != nil {
		return in, err
	}
	return d.enter(ctx, &u)
}

// Known is who a person is for one request, without a session. Errors: an *Error that says why not.
func (d *Sessions) Known(ctx context.Context, p Person) (w access.Who, err error) {
	u, err := d.person(ctx, p)
	if err != nil {
		return w, err
	}
	now := d.Now()
	if now.Sub(u.SignedInAt) >= usedEvery && d.seen.due("user "+u.Name, now) {
		if _, err := d.Store.ChangeUser(ctx, u.Name, auth.UserChange{AnyAdmin: true, Do: func(u *auth.User) error { u.SignedInAt = now; return nil }}); err != nil {
			d.Log.Warn("it is not noted when a user was here", zap.String("who", u.Name), zap.Error(err))
		}
	}
	return access.Who{Name: u.Name, Scopes: p.Role.Scopes(), From: access.FromSession}, nil
}

// person is the user for somebody whom a source knows: added at the first time, and with the role that the source gives now. A name is that of one
// person for good: whoever else comes with it is refused.
func (d *Sessions) person(ctx context.Context, p Person) (u auth.User, err error) {
	name, err := UserName(p.Name)
	if err != nil {
		return u, &refusal.Error{Status: http.StatusForbidden, Words: "what " + p.Source + " calls you cannot be a name here", Hint: "an admin reads in docs/sign-in.md which names there are"}
	}
	if len(p.Role.Scopes()) == 0 {
		return u, &refusal.Error{Status: http.StatusForbidden, Words: name + " has no role here", Hint: "an admin gives one in the config, under console"}
	}
	sum := sha256.Sum256([]byte(p.Source + "\n" + p.Subject))
	subject := hex.EncodeToString(sum[:])
	u, err = d.Store.User(ctx, name)
	if errors.Is(err, messaging.ErrNotFound) {
		if err = d.record(ctx, name, "user added", "by "+p.Source+" as "+string(p.Role)); err != nil {
			return u, err
		}
		u = auth.User{Name: name, Role: string(p.Role), Source: p.Source, Subject: subject, CreatedAt: d.Now(), CreatedBy: p.Source}
		switch err = d.Store.AddUser(ctx, u, maxUsers); {
		case errors.Is(err, auth.ErrUserName): // another node, or another request, was faster
			u, err = d.Store.User(ctx, name)
		case errors.Is(err, auth.ErrUsersFull):
			return u, &refusal.Error{Status: http.StatusForbidden, Words: "there are as many users as there may be", Hint: "an admin takes out who is gone: nudgewire user remove"}
		case err != nil:
			return u, d.unwritten(err)
		}
	}
	switch {
	case err != nil:
		return u, err
	case u.Source != p.Source || u.Subject != subject:
		return u, &refusal.Error{Status: http.StatusForbidden, Words: "there is another user of the name " + name + " already", Hint: "an admin removes that one, if it is you: nudgewire user remove"}
	case !u.DisabledAt.IsZero():
		return u, &refusal.Error{Status: http.StatusForbidden, Words: name + " is disabled here", Hint: "an admin enables a user: nudgewire user enable"}
	}
	// A header says the role with each request, and two proxies may differ; a session holds what is written, and so what a provider says always is.
	if u.Role != string(p.Role) && (p.Source != SourceHeader || d.seen.due("role "+name+" "+string(p.Role), d.Now())) {
		if err := d.record(ctx, name, "role", "by "+p.Source+": "+string(p.Role)); err != nil {
			return u, err
		}
		changed, err := d.Store.ChangeUser(ctx, name, auth.UserChange{AnyAdmin: true, Do: func(u *auth.User) error { u.Role = string(p.Role); return nil }})
		if err != nil {
			return u, d.unwritten(err)
		}
		u = changed
	}
	return u, nil
}
