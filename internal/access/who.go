// Package access says who asks the API, and what they may do: scopes, roles, and the person or program in a context.
package access

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/listeners"
)

// A Scope is what somebody may do by the API. Each stands by itself: none is part of another.
type Scope string

const (
	Read     Scope = "read"     // look at everything; phones are masked, and what webhooks carried is left out
	Phones   Scope = "phones"   // see whole phones, and what webhooks carried
	Sending  Scope = "send"     // send a message, post events
	Operate  Scope = "operate"  // stop, let go on, cancel, retry, resolve; run and approve jobs
	Contacts Scope = "contacts" // block contacts, record consent, forget
	Manage   Scope = "admin"    // reload, test what tells people, hand out tokens
)

// Scopes are all of them.
var Scopes = []Scope{Read, Phones, Sending, Operate, Contacts, Manage}

// From is how it is known who asks.
type From string

const (
	FromSocket  From = "socket"  // the kernel says whose program is at the other end
	FromToken   From = "token"   // a bearer token
	FromSession From = "session" // a person who signed in
	FromProcess From = "process" // this program itself
)

// A Who is who asks, and what they may do.
type Who struct {
	Name   string // for the record: "ann (1000)" at the socket, else the name of the token or the person
	Scopes []Scope
	From   From
	By     string // of a token, who made it and answers for it

	Makers  []string  // who let Person in, then who let those in; nil for nobody of this program
	LetInAt time.Time // when that was, or when the token was made; zero for nobody of this program
}

// Person is who answers for what w does: where several people have to approve something, the same one counts once.
func (w Who) Person() string { return cmp.Or(w.By, w.Name) }

// MakersOf are the makers of somebody of that name whom w lets in: w, then who let w in.
func (w Who) MakersOf(name string) (all []string) {
	for _, one := range append([]string{w.Person()}, w.Makers...) {
		if one != name && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// May reports whether the scope is among them.
func (w Who) May(s Scope) bool { return slices.Contains(w.Scopes, s) }

// Process is this program, which may do everything. name is who had it begun, for the record.
func Process(name string) Who { return Who{Name: name, Scopes: Scopes, From: FromProcess} }

type whoKey struct{}

// WithWho notes who asks. Only what has proven it may call this: a connection's kernel, a token, a session.
func WithWho(ctx context.Context, w Who) context.Context { return context.WithValue(ctx, whoKey{}, w) }

// WhoOf is who asks; known is false for somebody who proved nothing.
func WhoOf(ctx context.Context) (w Who, known bool) {
	w, known = ctx.Value(whoKey{}).(Who)
	return w, known
}

// BySocket is h for the daemon's own socket: who asks is whose program the kernel names. The socket's mode lets nobody in but the owner
// of the data and root: they may do everything.
func BySocket(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := cmp.Or(listeners.PeerName(r.Context()), "somebody")
		h.ServeHTTP(w, r.WithContext(WithWho(r.Context(), Who{Name: name, Scopes: Scopes, From: FromSocket})))
	})
}

// NameOf is who asks, for the record. It never comes from what they send.
func NameOf(ctx context.Context) string {
	w, _ := WhoOf(ctx)
	return w.Name
}

// ByHand says in a reason that a person did it.
func ByHand(ctx context.Context) string { return "by hand: " + NameOf(ctx) }
