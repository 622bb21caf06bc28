package console

import (
	"net/http"
	"net/url"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const usersPath = "/system/users"

// A usersPage lists who may sign in.
type usersPage struct {
	Users []signin.UserView
	Roles []access.Role
	New   *signin.UserView // with a link, in the answer to its making alone
	Done  string
	Own   string // the user who looks
}

func (c *Console) users(r *http.Request) (page, error) { return c.usersPage(r, nil) }

func (c *Console) usersPage(r *http.Request, made *signin.UserView) (page, error) {
	all, err := server.ListUsers.Call(r.Context(), c.Ask, server.None{})
	p := usersPage{Users: all, Roles: access.Roles, New: made, Done: doneWords[r.URL.Query().Get("done")]}
	if s, known, _ := c.session(r); known { // it only marks a row
		p.Own = s.User
	}
	return page{Name: "users", Title: "Users", Here: "/system", Data: p}, err
}

// addUser shows the link in the answer: it is nowhere else, so there is no page to go on to.
func (c *Console) addUser(r *http.Request) (page, error) {
	v, err := server.AddUser.Call(r.Context(), c.Ask, signin.UserRequest{Name: r.PostFormValue("name"), Role: access.Role(r.PostFormValue("role"))})
	if err != nil {
		return page{}, err
	}
	return c.usersPage(r, &v)
}

func (c *Console) resetUser(r *http.Request) (page, error) {
	v, err := server.ResetUser.Call(r.Context(), c.Ask, r.PathValue("user"))
	if err != nil {
		return page{}, err
	}
	return c.usersPage(r, &v)
}

// changeUser does something to a user, and goes on to the page of all.
func (c *Console) changeUser(do string, change func(r *http.Request, user string) (signin.UserView, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := access.WhoOf(r.Context()); !known {
			c.askWho(w, r, http.StatusUnauthorized, signInPage{})
			return
		}
		if _, err := change(r, r.PathValue("user")); err != nil {
			c.refuse(w, r, err)
			return
		}
		http.Redirect(w, r, usersPath+"?"+url.Values{"done": {do}}.Encode(), http.StatusSeeOther)
	})
}

func (c *Console) userForms(mux *http.ServeMux) {
	form := func(do string, change func(r *http.Request, user string) (signin.UserView, error)) {
		mux.Handle("POST "+usersPath+"/{user}/"+do, c.changeUser(do, change))
	}
	form("role", func(r *http.Request, user string) (signin.UserView, error) {
		return server.SetRole.Call(r.Context(), c.Ask, signin.RoleRequest{User: user, Role: access.Role(r.PostFormValue("role"))})
	})
	for do, change := range map[string]*server.Operation[string, signin.UserView]{"disable": server.DisableUser, "enable": server.EnableUser, "remove": server.RemoveUser} {
		form(do, func(r *http.Request, user string) (signin.UserView, error) {
			return change.Call(r.Context(), c.Ask, user)
		})
	}
}
