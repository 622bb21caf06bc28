package signin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

const maxUsers = 1000

// plainName is a user's name as it is kept: capitals are no difference.
func plainName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// People are those who may come in, for who manages them: users, tokens, and links that sign in.
type People struct {
	Store      auth.Records
	Sessions   *Sessions     // who signs people in; nil where the store is read without a daemon
	ConsoleURL func() string // where browsers reach the console; "" and nil are nowhere
	Now        func() time.Time
}

// UserName is a name as it is kept, or what is wrong with it.
func UserName(given string) (string, error) {
	name := plainName(given)
	odd := func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._-@+'\\", c)
	}
	switch {
	case strings.Trim(name, "._-@+'\\") == "" || len([]rune(name)) > maxName || strings.ContainsFunc(name, odd) || name != plain.Text(name): // "." and ".." are no part of a path
		return "", refusal.Fieldf("name", "write it like ann or ann@example.com", "a user's name has 1 to %d letters, digits or any of . _ - @ + ' \\", maxName)
	case name != mask.Phones(name):
		return "", refusal.Fieldf("name", "the name stands in the audit for good: write it like ann or ann@example.com", "a name must not hold what may be a phone")
	case looksLikeAnother(name):
		return "", refusal.Fieldf("name", "the name stands in the audit, where nobody could tell it from another: write it like ann or ann@example.com", "a name must not mix alphabets, nor have letters that only look like others")
	default:
		return name, nil
	}
}

// looksLikeAnother reports whether a name may be read as another one: ann with the Cyrillic a, or with a ligature. A provider of identities may let
// people choose what they are called.
func looksLikeAnother(name string) bool {
	alphabets := 0
	for _, one := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee} {
		if strings.ContainsFunc(name, func(c rune) bool { return unicode.Is(one, c) }) {
			alphabets++
		}
	}
	return alphabets > 1 || name != norm.NFKC.String(name)
}

// A UserRequest asks for a user.
type UserRequest struct {
	Name string      `json:"name" validate:"required"`
	Role access.Role `json:"role" validate:"required"`
}

// A RoleRequest gives a user another role.
type RoleRequest struct {
	User string      `json:"-" path:"user"`
	Role access.Role `json:"role" validate:"required"`
}

// A UserView is somebody who may sign in to the console.
type UserView struct {
	Name       string      `json:"name" kind:"ours"`
	Role       access.Role `json:"role"`
	State      string      `json:"state" kind:"ours"`    // good, invited (has not chosen a password yet), or disabled
	SignsIn    string      `json:"signs_in" kind:"ours"` // by what: password, oidc or header
	CreatedAt  time.Time   `json:"created_at"`
	CreatedBy  string      `json:"created_by" kind:"ours"`
	DisabledAt time.Time   `json:"disabled_at,omitzero"`
	SignedInAt time.Time   `json:"signed_in_at,omitzero"`
	SetupUntil time.Time   `json:"setup_until,omitzero"`            // until when the link works by which a password is chosen
	SetupURL   string      `json:"setup_url,omitempty" kind:"ours"` // that link: in the answer to its making, and never again
}

func userView(u *auth.User) UserView {
	v := UserView{
		Name: u.Name, Role: access.Role(u.Role), State: "good", SignsIn: u.Source, CreatedAt: u.CreatedAt.UTC(), CreatedBy: u.CreatedBy,
		DisabledAt: u.DisabledAt.UTC(), SignedInAt: u.SignedInAt.UTC(), SetupUntil: u.SetupUntil.UTC(),
	}
	if u.Source == "" {
		v.SignsIn = "password"
	}
	switch {
	case !u.DisabledAt.IsZero():
		v.State = "disabled"
	case !u.Able():
		v.State = "invited"
	}
	return v
}

func (p People) Users(ctx context.Context, _ struct{}) ([]UserView, error) {
	all, err := p.Store.Users(ctx)
	out := make([]UserView, len(all))
	for i := range all {
		out[i] = userView(&all[i])
	}
	return out, err
}

func (p People) AddUser(ctx context.Context, in UserRequest) (UserView, error) {
	name, err := UserName(in.Name)
	if err == nil {
		err = access.CheckRole(in.Role)
	}
	if err != nil {
		return UserView{}, err
	}
	base, err := p.consoleURL()
	if err != nil {
		return UserView{}, err
	}
	link, hash := newSecret()
	now := p.Sessions.Now()
	who, _ := access.WhoOf(ctx)
	u := auth.User{
		Name: name, Role: string(in.Role), Setup: hash, SetupUntil: now.Add(setupLife), CreatedAt: now, CreatedBy: who.Name, LetInAt: now, Makers: who.MakersOf(name),
	}
	switch err := p.Store.AddUser(ctx, u, maxUsers); {
	case errors.Is(err, auth.ErrUserName):
		return UserView{}, &refusal.Error{Status: http.StatusConflict, Field: "name", Words: "there is a user " + name + " already", Hint: "nudgewire user reset makes a new link for them; or take another name"}
	case errors.Is(err, auth.ErrUsersFull):
		return UserView{}, refusal.Newf(http.StatusConflict, "nudgewire user remove takes out who is gone", "there are %d users already", maxUsers)
	case err != nil:
		return UserView{}, err
	}
	return setupView(&u, base, link), nil
}

func setupView(u *auth.User, base, link string) UserView {
	v := userView(u)
	v.SetupURL = base + "/set-up?link=" + link
	return v
}

// changeUser changes the user of a request's path. What is taken away takes effect at once, because who asks is read with each request.
func (p People) changeUser(ctx context.Context, given string, c auth.UserChange) (auth.User, error) {
	name := plainName(given)
	who, _ := access.WhoOf(ctx)
	// Whoever owns the socket needs no user, and so locks nobody out.
	c.Admin, c.AnyAdmin = string(access.RoleAdmin), who.From == access.FromSocket || who.From == access.FromProcess
	u, err := p.Store.ChangeUser(ctx, name, c)
	switch {
	case errors.Is(err, messaging.ErrNotFound):
		return u, refusal.Newf(http.StatusNotFound, "nudgewire user list shows those that there are", "there is no user %s", plain.Text(name))
	case errors.Is(err, auth.ErrLastAdmin):
		return u, refusal.Newf(http.StatusConflict, "make somebody else an admin first; or do it on the daemon's machine, with nudgewire user", "%s is the last admin who can sign in", name)
	default:
		return u, err
	}
}

// changed is a change of a user as an answer.
func (p People) changed(ctx context.Context, name string, c auth.UserChange) (UserView, error) {
	u, err := p.changeUser(ctx, name, c)
	return userView(&u), err
}

func (p People) SetRole(ctx context.Context, in RoleRequest) (UserView, error) {
	if err := access.CheckRole(in.Role); err != nil {
		return UserView{}, err
	}
	return p.changed(ctx, in.User, auth.UserChange{Do: func(u *auth.User) error {
		if u.Source != "" {
			return refusal.Newf(http.StatusConflict, "change it where "+u.Source+" has it from; see docs/sign-in.md", "the role of %s is not kept here", u.Name)
		}
		u.Role = string(in.Role)
		return nil
	}})
}

func (p People) DisableUser(ctx context.Context, name string) (UserView, error) {
	at := p.Now()
	return p.changed(ctx, name, auth.UserChange{EndSessions: true, Do: func(u *auth.User) error {
		if u.DisabledAt.IsZero() {
			u.DisabledAt = at
		}
		return nil
	}})
}

func (p People) EnableUser(ctx context.Context, name string) (UserView, error) {
	return p.changed(ctx, name, auth.UserChange{Do: func(u *auth.User) error { u.DisabledAt = time.Time{}; return nil }})
}

func (p People) ResetUser(ctx context.Context, name string) (UserView, error) {
	base, err := p.consoleURL()
	if err != nil {
		return UserView{}, err
	}
	link, hash := newSecret()
	now := p.Sessions.Now()
	who, _ := access.WhoOf(ctx)
	u, err := p.changeUser(ctx, name, auth.UserChange{EndSessions: true, Do: func(u *auth.User) error {
		if u.Source != "" {
			return refusal.Newf(http.StatusConflict, "", "%s signs in by %s and has no password here", u.Name, u.Source)
		}
		u.Password, u.Setup, u.SetupUntil = "", hash, now.Add(setupLife)
		u.LetInAt, u.Makers = now, who.MakersOf(u.Name)
		return nil
	}})
	return setupView(&u, base, link), err
}

func (p People) RemoveUser(ctx context.Context, name string) (UserView, error) {
	return p.changed(ctx, name, auth.UserChange{Remove: true})
}
