package console

import (
	"net/http"
	"net/url"

	"github.com/nudgewire/nudgewire/internal/server"
)

const usersPath = "/system/users"

// A usersPage lists who may sign in.
type usersPage struct {
	Users []server.UserView
	Roles []server.Role
	New   *server.UserView // with a link, in the answer to its making alone
	Done  string
	Own   string // the user who looks
}

func (c *Console) users(r *http.Request) (page, error) { return c.usersPage(r, nil) }

func (c *Console) usersPage(r *http.Request, made *server.UserView) (page, error) {
	all, err := c.Ask.Users(r.Context())
	p := usersPage{Users: all, Roles: server.Roles, New: made, Done: doneWords[r.URL.Query().Get("done")]}
	if s, known, _ := c.session(r); known { // it only marks a row
		p.Own = s.User
	}
	return page{Name: "users", Title: "Users", Here: "/system", Data: p}, err
}

// addUser shows the link in the answer: it is nowhere else, so there is no page to go on to.
func (c *Console) addUser(r *http.Request) (page, error) {
	v, err := c.Ask.AddUser(r.Context(), server.UserRequest{Name: r.PostFormValue("name"), Role: server.Role(r.PostFormValue("role"))})
	if err != nil {
		return page{}, err
	}
	return c.usersPage(r, &v)
}

func (c *Console) resetUser(r *http.Request) (page, error) {
	v, err := c.Ask.ResetUser(r.Context(), r.PathValue("user"))
	if err != nil {
		return page{}, err
	}
	return c.usersPage(r, &v)
}

// changeUser does something to a user, and goes on to the page of all.
func (c *Console) changeUser(do string, change func(r *http.Request, user string) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := server.WhoOf(r.Context()); !known {
			c.askWho(w, r, http.StatusUnauthorized, signInPage{})
			return
		}
		if err := change(r, r.PathValue("user")); err != nil {
			c.refuse(w, r, err)
			return
		}
		http.Redirect(w, r, usersPath+"?"+url.Values{"done": {do}}.Encode(), http.StatusSeeOther)
	})
}

func (c *Console) userForms(mux *http.ServeMux) {
	for do, change := range map[string]func(r *http.Request, user string) error{
		"role": func(r *http.Request, user string) error {
			_, err := c.Ask.SetRole(r.Context(), user, server.Role(r.PostFormValue("role")))
			return err
		},
		"disable": func(r *http.Request, user string) error { _, err := c.Ask.DisableUser(r.Context(), user); return err },
		"enable":  func(r *http.Request, user string) error { _, err := c.Ask.EnableUser(r.Context(), user); return err },
		"remove":  func(r *http.Request, user string) error { _, err := c.Ask.RemoveUser(r.Context(), user); return err },
	} {
		mux.Handle("POST "+usersPath+"/{user}/"+do, c.changeUser(do, change))
	}
}
