package console

import (
	"errors"
	"net/http"

	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// An accountPage is what somebody may do about their own signing in.
type accountPage struct {
	Session  signin.Session
	Sessions int    // of the user
	Done     string // what was done a moment ago
	Wrong    string // what is wrong with what was typed
}

const accountTitle = "Your account"

// doneWords are what a page says was done, by the word in its address: no stranger's words come onto a page by a link.
var doneWords = map[string]string{
	"password":  "Your password is changed. Your other sessions have ended.",
	"elsewhere": "Your other sessions have ended.",
	"role":      "The role is changed.", "disable": "The user is disabled, and signed out everywhere.", "enable": "The user may sign in again.", "remove": "The user is removed, and signed out everywhere.",
}

func (c *Console) account(r *http.Request) (page, error) {
	p := accountPage{Done: doneWords[r.URL.Query().Get("done")]}
	var err error
	if p.Session, _, err = c.session(r); err == nil && p.Session.User != "" {
		p.Sessions, err = c.Door.Count(r.Context(), p.Session.User)
	}
	return page{Name: "account", Title: accountTitle, Here: "/account", Data: p}, err
}

// own is a form of somebody's own account.
func (c *Console) own(do func(r *http.Request, s signin.Session) (done string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, known, err := c.session(r)
		if err == nil && (!known || s.User == "") {
			err = &refusal.Error{Status: http.StatusForbidden, Words: "only who signed in as a user has an account here", Hint: "nudgewire user add makes one"}
		}
		done := ""
		if err == nil {
			done, err = do(r, s)
		}
		e, said := errors.AsType[*refusal.Error](err)
		switch {
		case errors.Is(err, signin.ErrWrongSignIn):
			c.showAccount(w, r, http.StatusForbidden, s, "The present password is another one.")
		case said && e.Field == "password":
			c.showAccount(w, r, e.Status, s, sentence(e.Words)+" "+sentence(e.Hint))
		case err != nil:
			c.refuseSignIn(w, r, err)
		default:
			http.Redirect(w, r, "/account?done="+done, http.StatusSeeOther)
		}
	})
}

func (c *Console) showAccount(w http.ResponseWriter, r *http.Request, status int, s signin.Session, wrong string) {
	n, err := c.Door.Count(r.Context(), s.User)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	c.write(w, r, status, page{Name: "account", Title: accountTitle, Here: "/account", Data: accountPage{Session: s, Sessions: n, Wrong: wrong}})
}

// changePassword is an attempt, too: who finds a browser open may not guess.
func (c *Console) changePassword(r *http.Request, s signin.Session) (string, error) {
	_, err := c.try(r, s.User, func() (in signin.SignedIn, err error) {
		return in, c.Door.ChangePassword(r.Context(), s, r.PostFormValue("old"), r.PostFormValue("password"))
	})
	return "password", err
}

func (c *Console) signOutElsewhere(r *http.Request, s signin.Session) (string, error) {
	return "elsewhere", c.Door.SignOutElsewhere(r.Context(), s)
}
