package suite

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

const (
	admins  = "admin"
	manyOf  = 100 // users and sessions of one
	hashed1 = "$argon2id$one"
)

func person(name, role string) auth.User {
	return auth.User{Name: name, Role: role, Password: hashed1, CreatedAt: noon, CreatedBy: "root (0)", LetInAt: noon.Add(time.Minute), Makers: []string{"ann", "root (0)"}}
}

// users change one after the other, and the last admin stays.
func (s suite) users(t *testing.T) {
	l := s.open(t)
	ann, bob := person("ann", admins), person("bob", "viewer")
	bob.Password, bob.Setup, bob.SetupUntil = "", sha256.Sum256([]byte("bob's link")), noon.Add(time.Hour)
	for _, u := range []auth.User{ann, bob} {
		l.must(l.auth().AddUser(l.ctx, u, 2))
	}
	if err := l.auth().AddUser(l.ctx, ann, 9); !errors.Is(err, auth.ErrUserName) {
		t.Errorf("a second ann: %v", err)
	}
	if err := l.auth().AddUser(l.ctx, person("cid", admins), 2); !errors.Is(err, auth.ErrUsersFull) {
		t.Errorf("a third of two: %v", err)
	}
	all, err := l.auth().Users(l.ctx)
	l.must(err)
	same(t, "users", []auth.User{ann, bob}, all)
	if _, err := l.auth().User(l.ctx, "cid"); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	disable := auth.UserChange{Admin: admins, Do: func(u *auth.User) error { u.DisabledAt = noon; return nil }}
	demote := auth.UserChange{Admin: admins, Do: func(u *auth.User) error { u.Role = "viewer"; return nil }}
	reset := auth.UserChange{Admin: admins, Do: func(u *auth.User) error { u.Password = ""; return nil }}
	// Whoever has not chosen a password yet could not sign in in place of ann.
	if _, err := l.auth().ChangeUser(l.ctx, "bob", auth.UserChange{Admin: admins, Do: func(u *auth.User) error { u.Role = admins; return nil }}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]auth.UserChange{"disable": disable, "demote": demote, "reset": reset, "remove": {Admin: admins, Remove: true}} {
		if _, err := l.auth().ChangeUser(l.ctx, "ann", c); !errors.Is(err, auth.ErrLastAdmin) {
			t.Errorf("%s the last admin: %v", what, err)
		}
	}
	if got, err := l.auth().User(l.ctx, "ann"); err != nil || !reflect.DeepEqual(got, ann) {
		t.Errorf("what was refused changed %+v, %v", got, err)
	}
	no := errors.New("no")
	if _, err := l.auth().ChangeUser(l.ctx, "ann", auth.UserChange{Admin: admins, Do: func(*auth.User) error { return no }}); !errors.Is(err, no) {
		t.Errorf("what Do says: %v", err)
	}
	if _, err := l.auth().ChangeUser(l.ctx, "cid", disable); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("nobody is changed: %v", err)
	}
	disable.AnyAdmin = true
	if got, err := l.auth().ChangeUser(l.ctx, "ann", disable); err != nil || got.Able() || !got.DisabledAt.Equal(noon) {
		t.Errorf("disabled: %+v, %v", got, err)
	}
	if _, err := l.auth().ChangeUser(l.ctx, "ann", auth.UserChange{Admin: admins, Remove: true}); err != nil { // she rules no more
		t.Errorf("removed: %v", err)
	}
	if left, err := l.auth().Users(l.ctx); err != nil || len(left) != 1 {
		t.Errorf("%+v, %v", left, err)
	}
}

// nodeUsers is how two nodes share users: a session holds at both, a link works at one of them, and not both take an admin away.
func (p pair) nodeUsers(t *testing.T) {
	a, b := p.two(t)
	for _, name := range []string{"ann", "bob"} {
		a.must(a.auth().AddUser(a.ctx, person(name, admins), manyOf))
	}
	a.must(a.auth().BeginSession(a.ctx, auth.Session{Hash: hashOf("s"), Who: "ann", User: "ann", BeganAt: noon, SeenAt: noon}, hashed1, manyOf))
	if _, of, err := b.auth().Session(b.ctx, hashOf("s")); err != nil || of.Name != "ann" {
		t.Errorf("at the other node the session is of %+v, %v", of, err)
	}
	a.must(a.auth().AddLink(a.ctx, auth.SignInLink{Hash: hashOf("l"), Who: "root (0)", Until: noon.Add(time.Minute)}, noon, manyOf))
	const tries = 6
	entered := make([]error, tries)
	together(tries, func(i int) {
		l := []*ledger{a, b}[i%2]
		_, entered[i] = l.auth().EnterByLink(l.ctx, hashOf("l"), auth.Session{Hash: hashOf(fmt.Sprint("by ", i)), BeganAt: noon, SeenAt: noon}, manyOf)
	})
	in := 0
	for _, err := range entered {
		if err == nil {
			in++
		} else if !errors.Is(err, messaging.ErrNotFound) {
			t.Error(err)
		}
	}
	if in != 1 {
		t.Errorf("one link let in %d", in)
	}
	left := make([]error, 2)
	together(2, func(i int) {
		l, name := []*ledger{a, b}[i], []string{"ann", "bob"}[i]
		_, left[i] = l.auth().ChangeUser(l.ctx, name, auth.UserChange{Admin: admins, EndSessions: true, Do: func(u *auth.User) error { u.DisabledAt = noon; return nil }})
	})
	if (left[0] == nil) == (left[1] == nil) || !errors.Is(errors.Join(left...), auth.ErrLastAdmin) {
		t.Errorf("two admins go at the same time: %v and %v", left[0], left[1])
	}
	if _, of, err := b.auth().Session(b.ctx, hashOf("s")); left[0] == nil && !errors.Is(err, messaging.ErrNotFound) || left[0] != nil && !of.Able() {
		t.Errorf("the session of ann: %+v, %v", of, err)
	}
}
