package server

import (
	"net/http"
	"net/netip"
	"time"
)

// A SignIn lets people in to the pages of the console.
type SignIn interface {
	// SignInLink makes a link that signs who in, once. They may do what who may; with masked they look, and see no whole phones. An *Error where there are no pages.
	SignInLink(who Who, masked bool) (LinkView, error)
}

// A LinkRequest asks for a link.
type LinkRequest struct {
	Masked bool `json:"masked,omitempty"` // whoever signs in by it looks, and sees no whole phones
}

// A LinkView is a link that signs somebody in, once.
type LinkView struct {
	URL    string    `json:"url"`
	Until  time.Time `json:"until"` // it works no longer
	Masked bool      `json:"masked,omitempty"`
}

func (a admin) signInLink(r *http.Request, in LinkRequest) (any, error) {
	who, _ := WhoOf(r.Context())
	if who.From != FromSocket {
		return nil, rejectf(http.StatusConflict, "ask on the daemon's machine: nudgewire console", "a token makes no links, because a session would outlive it")
	}
	if a.SignIn == nil {
		return nil, rejectf(http.StatusConflict, "", "there is no console here")
	}
	return a.SignIn.SignInLink(who, in.Masked)
}

// Neighbourhood names where a request comes from, for limits: its address behind the proxies, and of IPv6 the whole network of one
// machine.
func Neighbourhood(r *http.Request, proxies []netip.Prefix) string {
	return neighbourhood(remote(r, proxies)).String()
}
