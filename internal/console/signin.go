package console

import (
	"errors"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const (
	cookieOpen   = "nudgewire"        // by plain http
	cookieSecure = "__Host-nudgewire" // by https: no other host and no plain connection can set it
)

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
func (c *Console) Session(r *http.Request) (who access.Who, ok bool, err error) {
	if elsewhere(r) {
		return who, false, nil
	}
	if who, ok = c.byHeader(r); ok {
		return who, true, nil
	}
	s, ok, err := c.session(r)
	return s.Who, ok, err
}

func (c *Console) session(r *http.Request) (s signin.Session, ok bool, err error) {
	of := c.Door.Session
	if unattended(r) {
		of = c.Door.Unattended
	}
	for i, cookie := range r.CookiesNamed(c.cookieName()) {
		if s, ok, err = of(r.Context(), cookie.Value); ok || err != nil || i == mostCookies {
			break
		}
	}
	return s, ok, err
}

// unattended reports whether a page asks by itself, every few seconds.
func unattended(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("HX-Request") != ""
}

// mostCookies is how many of one name are looked at, less one: a browser sends one.
const mostCookies = 1

// elsewhere reports whether another origin asks for something that changes things, or for a part of a page of its own. What it only leads to, as
// a link in a mail does, is asked for by whoever follows it.
func elsewhere(r *http.Request) bool {
	site, part := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest")
	if (site == "cross-site" || site == "same-site") && part != "" && part != "document" {
		return true // it may be sent without end, and wrong links keep an address out
	}
	var origin http.CrossOriginProtection
	return origin.Check(r) != nil
}

// A signInPage asks who somebody is.
type signInPage struct {
	Link  string // that was opened
	Name  string // as it was typed
	Wrong bool   // the name or the password
	Bad   bool   // the link does not work
	OIDC  bool   // a provider signs people in, too
}

// signInTitle is that of the page.
const signInTitle = "Sign in"

// showSignIn asks for one more click: who only looks at a link, as mail programs do, does not use it up.
func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request) {
	c.askWho(w, r, http.StatusOK, signInPage{Link: r.URL.Query().Get("link")})
}

func (c *Console) askWho(w http.ResponseWriter, r *http.Request, status int, p signInPage) {
	p.OIDC = c.SignOn().OIDC != nil
	c.write(w, r, status, page{Name: "signin", Title: signInTitle, Data: p})
}

// try makes an attempt that may fail, from the address and for the name, "" for none. Too many that failed keep out whoever comes from there, and whoever
// has that name.
func (c *Console) try(r *http.Request, name string, do func() (signin.SignedIn, error)) (in signin.SignedIn, err error) {
	from := c.Address(r)
	now := c.Now()
	if !c.places.countAttempt(from, now) {
		return in, tooMany("from your address")
	}
	if name != "" && !c.names.countAttempt(name, now) {
		c.places.forgive(from)
		return in, tooMany("for that name")
	}
	in, err = do()
	if !errors.Is(err, signin.ErrWrongSignIn) {
		c.places.forgive(from)
		c.names.forgive(name)
	} else {
		c.Log.Warn("a sign-in failed", zap.String("from", from))
	}
	return in, err
}

func tooMany(where string) error {
	return &refusal.Error{Status: http.StatusTooManyRequests, Words: "too many sign-ins failed " + where, Hint: "wait a minute, and try again"}
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	link, name := r.PostFormValue("link"), r.PostFormValue("name")
	in, err := c.try(r, strings.ToLower(strings.TrimSpace(name)), func() (signin.SignedIn, error) {
		if link != "" || name == "" {
			return c.Door.EnterByLink(r.Context(), link)
		}
		return c.Door.SignIn(r.Context(), name, r.PostFormValue("password"))
	})
	switch {
	case errors.Is(err, signin.ErrWrongSignIn):
		c.askWho(w, r, http.StatusForbidden, signInPage{Bad: name == "", Wrong: name != "", Name: name})
	case err != nil:
		c.refuseSignIn(w, r, err)
	default:
		c.enter(w, r, in)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// refuseSignIn says how long to wait where somebody has to.
func (c *Console) refuseSignIn(w http.ResponseWriter, r *http.Request, err error) {
	if e, is := errors.AsType[*refusal.Error](err); is && e.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "60")
	}
	c.refuse(w, r, err)
}

// enter gives a browser its new session. The one that it had ends, whoever gave it that.
func (c *Console) enter(w http.ResponseWriter, r *http.Request, in signin.SignedIn) {
	for i, old := range r.CookiesNamed(c.cookieName()) {
		if err := c.Door.SignOut(r.Context(), old.Value); err != nil || i == mostCookies {
			break // it is not this browser's any more
		}
	}
	c.Log.Info("somebody signed in to the console", zap.String("who", in.Who.Name), zap.Bool("phones", in.Who.May(access.Phones)))
	http.SetCookie(w, c.cookie(in.Cookie, int(auth.SessionLife.Seconds())))
}

func (c *Console) signedOut() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if cookie, none := r.Cookie(c.cookieName()); none == nil {
			err = c.Door.SignOut(r.Context(), cookie.Value)
		}
		http.SetCookie(w, c.cookie("", -1))
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}

// A setUpPage has a new user choose a password.
type setUpPage struct {
	Link, Name string
	Wrong      string // what is wrong with the password
}

const setUpTitle = "Choose a password"

func (c *Console) showSetUp(w http.ResponseWriter, r *http.Request) {
	link, name := r.URL.Query().Get("link"), ""
	_, err := c.try(r, "", func() (in signin.SignedIn, err error) {
		name, err = c.Door.SetupOf(r.Context(), link)
		return in, err
	})
	c.askPassword(w, r, setUpPage{Link: link, Name: name}, err)
}

func (c *Console) setUp(w http.ResponseWriter, r *http.Request) {
	p := setUpPage{Link: r.PostFormValue("link"), Name: r.PostFormValue("name")}
	in, err := c.try(r, "", func() (signin.SignedIn, error) {
		return c.Door.SetUp(r.Context(), p.Link, r.PostFormValue("password"))
	})
	if err != nil {
		c.askPassword(w, r, p, err)
		return
	}
	c.enter(w, r, in)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// askPassword shows the form for a password, with what was wrong with the one before.
func (c *Console) askPassword(w http.ResponseWriter, r *http.Request, p setUpPage, err error) {
	status := http.StatusOK
	e, said := errors.AsType[*refusal.Error](err)
	switch {
	case errors.Is(err, signin.ErrWrongSignIn):
		status, p = http.StatusForbidden, setUpPage{}
	case said && e.Field == "password":
		status, p.Wrong = e.Status, sentence(e.Words)+" "+sentence(e.Hint)
	case err != nil:
		c.refuseSignIn(w, r, err)
		return
	}
	c.write(w, r, status, page{Name: "setup", Title: setUpTitle, Data: p})
}
