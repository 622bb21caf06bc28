package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/server"
)

// Links and sessions are kept in memory, by the hashes of what is known to the browser: a restart ends them all, and so does
// whatever stops this node. Another node has its own.
const (
	linkLife    = 10 * time.Minute
	idleLife    = 12 * time.Hour     // without a request
	sessionLife = 7 * 24 * time.Hour // whatever happens

	mostLinks    = 32   // the oldest make room
	mostSessions = 1000 // those that were used least lately make room

	attemptsAt   = 10          // sign-ins that may fail from one address
	attemptsIn   = time.Minute // within this
	mostPlaces   = 4096        // addresses that are remembered
	secretBytes  = 32
	cookieOpen   = "nudgewire"        // by plain http
	cookieSecure = "__Host-nudgewire" // by https: no other host and no plain connection can set it
)

type hashed [sha256.Size]byte

// A link lets somebody in once.
type link struct {
	who   server.Who
	until time.Time
}

type session struct {
	who         server.Who
	began, last time.Time
}

// A place is an address that sign-ins failed from.
type place struct {
	failed int
	since  time.Time
}

type sessions struct {
	now func() time.Time

	mu     sync.Mutex
	links  map[hashed]link
	open   map[hashed]*session
	places map[string]place
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, links: map[hashed]link{}, open: map[hashed]*session{}, places: map[string]place{}}
}

// secret is 256 random bits, for an address or a cookie, and their hash.
func secret() (text string, hash hashed) {
	var bits [secretBytes]byte
	_, _ = rand.Read(bits[:]) // it never fails
	text = base64.RawURLEncoding.EncodeToString(bits[:])
	return text, sha256.Sum256([]byte(text))
}

// invite makes a link for who.
func (s *sessions) invite(who server.Who) (text string, until time.Time) {
	text, hash := secret()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	until = now.Add(linkLife)
	drop(s.links, mostLinks-1, func(l link) bool { return !l.until.After(now) }, func(l link) time.Time { return l.until })
	s.links[hash] = link{who, until}
	return text, until
}

// drop takes out what is over, and then the first by at until there are at most most.
func drop[K comparable, V any](all map[K]V, most int, over func(V) bool, at func(V) time.Time) {
	for key, one := range all {
		if over(one) {
			delete(all, key)
		}
	}
	if len(all) <= most {
		return
	}
	keys := make([]K, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b K) int { return at(all[a]).Compare(at(all[b])) })
	for _, key := range keys[:len(keys)-most] {
		delete(all, key)
	}
}

// enter uses a link up and begins a session. It is slow for nobody: what is looked up is a hash, so the time that it takes says
// nothing of the links that there are.
func (s *sessions) enter(text string) (id string, who server.Who, ok bool) {
	hash := hashed(sha256.Sum256([]byte(text)))
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	one, ok := s.links[hash]
	if !ok || !one.until.After(now) {
		return "", who, false
	}
	delete(s.links, hash)
	id, mark := secret()
	drop(s.open, mostSessions-1, s.over, func(o *session) time.Time { return o.last })
	s.open[mark] = &session{who: one.who, began: now, last: now}
	return id, one.who, true
}

func (s *sessions) over(o *session) bool {
	now := s.now()
	return now.Sub(o.last) >= idleLife || now.Sub(o.began) >= sessionLife
}

// of is who has the session, and keeps it alive.
func (s *sessions) of(id string) (who server.Who, ok bool) {
	hash := hashed(sha256.Sum256([]byte(id)))
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[hash]
	if !ok {
		return who, false
	}
	if s.over(one) {
		delete(s.open, hash)
		return who, false
	}
	one.last = s.now()
	return one.who, true
}

func (s *sessions) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(id)))
}

// mayTry reports whether somebody may try to sign in from an address.
func (s *sessions) mayTry(from string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.places[from]
	return !known || s.now().Sub(p.since) >= attemptsIn || p.failed < attemptsAt
}

// failed counts a sign-in that failed.
func (s *sessions) failed(from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	p := s.places[from]
	if now.Sub(p.since) >= attemptsIn {
		p = place{since: now}
		drop(s.places, mostPlaces-1, func(o place) bool { return now.Sub(o.since) >= attemptsIn }, func(o place) time.Time { return o.since })
	}
	p.failed++
	s.places[from] = p
}

// Invite makes a link, as a path below the console's address, that signs who in once, and says until when it works. The session may do
// what who may; with masked it may look, and sees no whole phones.
func (c *Console) Invite(who server.Who, masked bool) (path string, until time.Time) {
	var may []server.Scope
	for _, s := range server.Scopes {
		if who.May(s) && !(masked && s != server.Read) {
			may = append(may, s)
		}
	}
	text, until := c.sessions.invite(server.Who{Name: who.Name, Scopes: may, From: server.FromSession})
	return "/sign-in?link=" + text, until
}

func (c *Console) cookieName() string {
	if c.Secure {
		return cookieSecure
	}
	return cookieOpen
}

// cookie carries a session for so many seconds; -1 takes it away.
func (c *Console) cookie(id string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // a console on this machine alone may speak plain http, and a browser keeps no Secure cookie of that
		Name: c.cookieName(), Value: id, Path: "/", HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteStrictMode, MaxAge: seconds,
	}
}

// Session is who signed in, by the request's cookie. Another site, or another program of this machine, that has a browser do something
// does it as nobody.
func (c *Console) Session(r *http.Request) (who server.Who, ok bool, err error) {
	if elsewhere(r) {
		return who, false, nil
	}
	for _, cookie := range r.CookiesNamed(c.cookieName()) {
		if who, ok = c.sessions.of(cookie.Value); ok {
			break
		}
	}
	return who, ok, nil
}

// elsewhere reports whether a request that changes something comes from another origin.
func elsewhere(r *http.Request) bool {
	var origin http.CrossOriginProtection
	return origin.Check(r) != nil
}

type signInPage struct {
	Link string // that was opened
	Bad  bool   // it does not work
}

// showSignIn asks for one more click: who only looks at a link, as mail programs do, does not use it up.
func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request) {
	c.write(w, r, http.StatusOK, page{Name: "signin", Title: "Sign in", Data: signInPage{Link: r.URL.Query().Get("link")}})
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	from := c.Address(r)
	if !c.sessions.mayTry(from) {
		w.Header().Set("Retry-After", "60")
		c.refuse(w, r, &server.Error{Status: http.StatusTooManyRequests, Words: "too many sign-ins failed from your address", Hint: "wait a minute, and make a new link"})
		return
	}
	id, who, ok := c.sessions.enter(r.PostFormValue("link"))
	if !ok {
		c.sessions.failed(from)
		c.write(w, r, http.StatusForbidden, page{Name: "signin", Title: "Sign in", Data: signInPage{Bad: true}})
		return
	}
	if old, err := r.Cookie(c.cookieName()); err == nil {
		c.sessions.leave(old.Value)
	}
	c.Log.Info("somebody signed in to the console", zap.String("who", who.Name), zap.Bool("phones", who.May(server.Phones)))
	http.SetCookie(w, c.cookie(id, int(sessionLife.Seconds())))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (c *Console) signedOut() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie(c.cookieName()); err == nil {
			c.sessions.leave(cookie.Value)
		}
		http.SetCookie(w, c.cookie("", -1))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}
