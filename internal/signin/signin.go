// Package signin says who comes in, by what they show: a password, a link, a token, what a provider of identities or a proxy says. It is also how
// users and tokens are managed. What it knows is in package auth; what people may do once they are in is said by package access.
package signin

import (
	"context"
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// A LinkRequest asks for a link to the pages of the console.
type LinkRequest struct {
	Role   access.Role `json:"role,omitempty"`   // what whoever signs in by it may do; absent is all that who asks may
	Masked bool        `json:"masked,omitempty"` // the same as the role viewer
}

// A LinkView is a link that signs somebody in, once.
type LinkView struct {
	URL   string      `json:"url" kind:"ours"`
	Until time.Time   `json:"until"` // it works no longer
	Role  access.Role `json:"role,omitempty"`
}

// noConsole is said where a link would lead nowhere.
func noConsole() error {
	return &refusal.Error{
		Status: http.StatusConflict, Words: "there is no console: nothing listens for browsers", Hint: "set console.listen in the config, such as 127.0.0.1:8484, and start the daemon anew; see docs/console.md",
	}
}

// consoleURL is the address of the console; an error where there is none.
func (p People) consoleURL() (string, error) {
	if p.Sessions == nil || p.ConsoleURL == nil || p.ConsoleURL() == "" {
		return "", noConsole()
	}
	return p.ConsoleURL(), nil
}

func (p People) Link(ctx context.Context, in LinkRequest) (LinkView, error) {
	who, _ := access.WhoOf(ctx)
	if who.From != access.FromSocket {
		return LinkView{}, refusal.Newf(http.StatusConflict, "ask on the daemon's machine: nudgewire console; or add a user, who is listed: nudgewire user add",
			"a %s makes no links, because a session would outlive it", who.From)
	}
	switch {
	case in.Masked && in.Role != "" && in.Role != access.RoleViewer:
		return LinkView{}, refusal.Fieldf("masked", "a viewer sees no whole phones, and an operator does", "masked does not go with the role %q", string(in.Role))
	case in.Masked:
		in.Role = access.RoleViewer
	case in.Role != "":
		if err := access.CheckRole(in.Role); err != nil {
			return LinkView{}, err
		}
	}
	base, err := p.consoleURL()
	if err != nil {
		return LinkView{}, err
	}
	text, until, err := p.Sessions.invite(ctx, who, in.Role)
	return LinkView{URL: base + "/sign-in?link=" + text, Until: until.UTC(), Role: in.Role}, err
}
