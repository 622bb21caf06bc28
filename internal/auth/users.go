package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

// A User is somebody who signs in to the console.
type User struct {
	Name       string // that no other has
	Role       string
	Password   string // hashed; "" until it is chosen, and where something else says who it is
	Source     string // what says who it is; "" for a password here
	Subject    string // of the user at the source, hashed
	Setup      [sha256.Size]byte
	SetupUntil time.Time // until when the link of Setup works; zero for none
	CreatedAt  time.Time
	CreatedBy  string
	DisabledAt time.Time // zero while the user may sign in
	SignedInAt time.Time
	LetInAt    time.Time // when the last link was made by which a password could be chosen; zero where something else says who it is
	Makers     []string  // who made that link, then who made those
}

// Able reports whether the user could sign in.
func (u *User) Able() bool { return u.DisabledAt.IsZero() && (u.Password != "" || u.Source != "") }

// Errors of users.
var (
	ErrUserName  = errors.New("there is a user of that name")
	ErrUsersFull = errors.New("there are as many users as there may be")
	// ErrLastAdmin means that nobody who can sign in would have the role that rules users.
	ErrLastAdmin = errors.New("nobody else who can sign in is an admin")
)

// userChanges is what is locked while users change, so that two processes do not take the last admin away together.
var userChanges = keyindex.Hash("users of the console")

const userColumns = `name, role, password, source, subject, setup, setup_until, created_at, created_by, disabled_at, signed_in_at, makers, let_in_at`

// unwritten is a hash that was never one of anything.
var unwritten [sha256.Size]byte

func scanUser(r *engine.Row) (User, error) {
	u := User{Name: r.Text(), Role: r.Text(), Password: r.Text(), Source: r.Text(), Subject: r.Text()}
	setup := r.Text()
	u.SetupUntil, u.CreatedAt, u.CreatedBy, u.DisabledAt, u.SignedInAt = r.Time(), r.Time(), r.Text(), r.Time(), r.Time()
	var err error
	if u.Makers, err = namesOf(r.Text()); err != nil {
		return u, fmt.Errorf("user %s: who made the user cannot be read: %w", u.Name, err)
	}
	u.LetInAt = r.Time()
	if setup != "" {
		if u.Setup, err = unhex(setup); err != nil {
			return u, fmt.Errorf("user %s: the hash of the setup link cannot be read", u.Name)
		}
	}
	return u, r.Err
}

func (u *User) row() []any {
	setup := ""
	if u.Setup != unwritten {
		setup = hex.EncodeToString(u.Setup[:])
	}
	return []any{u.Name, u.Role, u.Password, u.Source, u.Subject, setup, engine.Micro(u.SetupUntil), engine.Micro(u.CreatedAt), u.CreatedBy, engine.Micro(u.DisabledAt), engine.Micro(u.SignedInAt), namesText(u.Makers), engine.Micro(u.LetInAt)}
}

// namesText and namesOf write and read a list of names in one column.
func namesText(names []string) string {
	text, _ := json.Marshal(append([]string{}, names...)) // texts always can
	return string(text)
}

func namesOf(text string) (names []string, err error) {
	err = json.Unmarshal([]byte(text), &names)
	if len(names) == 0 {
		names = nil
	}
	return names, err
}

// userIn reads one inside a change; messaging.ErrNotFound for none.
func userIn(t *store.Tx, by *engine.Statement, arg string) (u User, err error) {
	found := false
	err = t.Query(by, func(r *engine.Row) (err error) {
		found = true
		u, err = scanUser(r)
		return err
	}, arg)
	if err == nil && !found {
		err = messaging.ErrNotFound
	}
	return u, err
}

var (
	usersSQL   = engine.SQL(`SELECT ` + userColumns + ` FROM users WHERE name <> ''`)
	addUserSQL = engine.SQL(`INSERT INTO users (` + userColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`)
)

// AddUser keeps a new user, up to most of them. Errors: ErrUserName, ErrUsersFull.
func (s Records) AddUser(ctx context.Context, u User, most int) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		if err := t.Lock(userChanges); err != nil {
			return err
		}
		all := 0
		taken := false
		err := t.Query(usersSQL, func(r *engine.Row) error {
			one, err := scanUser(r)
			all++
			taken = taken || one.Name == u.Name
			return err
		})
		switch {
		case err != nil:
			return err
		case taken:
			return ErrUserName
		case all >= most:
			return ErrUsersFull
		}
		return t.Put(addUserSQL, u.row()...)
	})
	return store.Wrap(err, "add a user")
}

// Users are all users, by name.
func (s Records) Users(ctx context.Context) ([]User, error) {
	all, err := store.List(ctx, s.Store, `SELECT `+userColumns+` FROM users ORDER BY name`, nil, scanUser)
	return all, store.Wrap(err, "users")
}

// User is the user of a name; messaging.ErrNotFound for none.
func (s Records) User(ctx context.Context, name string) (User, error) {
	u, err := only(store.List(ctx, s.Store, `SELECT `+userColumns+` FROM users WHERE name = ?1`, []any{name}, scanUser))
	return u, store.Wrap(err, "user %s", name)
}

// A UserChange is what becomes of a user.
type UserChange struct {
	// Do changes the user as it is at that moment, or says why not. It runs inside the commit, perhaps twice, so it must be a quick pure function.
	Do     func(*User) error
	Remove bool // in place of Do
	// AnyAdmin lets the last admin who can sign in go.
	AnyAdmin bool
	// EndSessions ends those of the user, but for the one in But.
	EndSessions bool
	But         [sha256.Size]byte
	Admin       string // the role that rules users
}

var (
	userSQL          = engine.SQL(`SELECT ` + userColumns + ` FROM users WHERE name = ?1 {{for update}}`)
	setUserSQL       = engine.SQL(`UPDATE users SET role = ?2, password = ?3, source = ?4, subject = ?5, setup = ?6, setup_until = ?7, created_at = ?8, created_by = ?9, disabled_at = ?10, signed_in_at = ?11, makers = ?12, let_in_at = ?13 WHERE name = ?1`)
	dropUserSQL      = engine.SQL(`DELETE FROM users WHERE name = ?1`)
	endSessionsOfSQL = engine.SQL(`DELETE FROM console_sessions WHERE who = ?1 AND user_name = ?1 AND hash <> ?2`)
)

// ChangeUser changes a user, and gives the one that is there now; of one that was removed, as it was. Errors: messaging.ErrNotFound, ErrLastAdmin, those of Do.
func (s Records) ChangeUser(ctx context.Context, name string, c UserChange) (u User, err error) {
	err = s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		if err := t.Lock(userChanges); err != nil {
			return err
		}
		u, err = userIn(t, userSQL, name)
		if err != nil {
			return err
		}
		ruled := u.Role == c.Admin && u.Able()
		if c.Remove {
			err = t.Put(dropUserSQL, name)
		} else if err = c.Do(&u); err == nil {
			err = t.Put(setUserSQL, u.row()...)
		}
		if err == nil && ruled && !c.AnyAdmin && (c.Remove || u.Role != c.Admin || !u.Able()) {
			others := 0
			err = t.Query(usersSQL, func(r *engine.Row) error {
				one, err := scanUser(r)
				if one.Name != name && one.Role == c.Admin && one.Able() {
					others++
				}
				return err
			})
			if err == nil && others == 0 {
				err = ErrLastAdmin
			}
		}
		if err == nil && (c.EndSessions || c.Remove) {
			err = t.Put(endSessionsOfSQL, name, hex.EncodeToString(c.But[:]))
		}
		return err
	})
	return u, store.Wrap(err, "change user %s", name)
}
