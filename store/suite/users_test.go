package suite

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

const (
	admins  = "admin"
	manyOf  = 100 // users and sessions of one
	hashed1 = "$argon2id$one"
)

func person(name, role string) store.User {
	return store.User{Name: name, Role: role, Password: hashed1, CreatedAt: noon, CreatedBy: "root (0)"}
}

// users change one after the other, and the last admin stays.
func (s suite) users(t *testing.T) {
	l := s.open(t)
	ann, bob := person("ann", admins), person("bob", "viewer")
	bob.Password, bob.Setup, bob.SetupUntil = "", sha256.Sum256([]byte("bob's link")), noon.Add(time.Hour)
	for _, u := range []store.User{ann, bob} {
		if err := l.AddUser(l.ctx, u, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.AddUser(l.ctx, ann, 9); !errors.Is(err, store.ErrUserName) {
		t.Errorf("a second ann: %v", err)
	}
	if err := l.AddUser(l.ctx, person("cid", admins), 2); !errors.Is(err, store.ErrUsersFull) {
		t.Errorf("a third of two: %v", err)
	}
	all, err := l.Users(l.ctx)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "users", []store.User{ann, bob}, all)
	if _, err := l.User(l.ctx, "cid"); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	disable := store.UserChange{Admin: admins, Do: func(u *store.User) error { u.DisabledAt = noon; return nil }}
	demote := store.UserChange{Admin: admins, Do: func(u *store.User) error { u.Role = "viewer"; return nil }}
	reset := store.UserChange{Admin: admins, Do: func(u *store.User) error { u.Password = ""; return nil }}
	// Whoever has not chosen a password yet could not sign in in place of ann.
	if _, err := l.ChangeUser(l.ctx, "bob", store.UserChange{Admin: admins, Do: func(u *store.User) error { u.Role = admins; return nil }}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]store.UserChange{"disable": disable, "demote": demote, "reset": reset, "remove": {Admin: admins, Remove: true}} {
		if _, err := l.ChangeUser(l.ctx, "ann", c); !errors.Is(err, store.ErrLastAdmin) {
			t.Errorf("%s the last admin: %v", what, err)
		}
	}
	if got, err := l.User(l.ctx, "ann"); err != nil || got != ann {
		t.Errorf("what was refused changed %+v, %v", got, err)
	}
	no := errors.New("no")
	if _, err := l.ChangeUser(l.ctx, "ann", store.UserChange{Admin: admins, Do: func(*store.User) error { return no }}); !errors.Is(err, no) {
		t.Errorf("what Do says: %v", err)
	}
	if _, err := l.ChangeUser(l.ctx, "cid", disable); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("nobody is changed: %v", err)
	}
	disable.AnyAdmin = true
	if got, err := l.ChangeUser(l.ctx, "ann", disable); err != nil || got.Able() || !got.DisabledAt.Equal(noon) {
		t.Errorf("disabled: %+v, %v", got, err)
	}
	if _, err := l.ChangeUser(l.ctx, "ann", store.UserChange{Admin: admins, Remove: true}); err != nil { // she rules no more
		t.Errorf("removed: %v", err)
	}
	if left, err := l.Users(l.ctx); err != nil || len(left) != 1 {
		t.Errorf("%+v, %v", left, err)
	}
}

func hashOf(of string) [sha256.Size]byte { return sha256.Sum256([]byte(of)) }

// consoleSessions begin once for each link, last as long as their user may, and leave.
func (s suite) consoleSessions(t *testing.T) {
	l := s.open(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gone := func(of, why string) {
		t.Helper()
		if _, _, err := l.Session(l.ctx, hashOf(of)); !errors.Is(err, nudgewire.ErrNotFound) {
			t.Errorf("%s: the session %s: %v", why, of, err)
		}
	}
	begin := func(of string, at time.Time) store.Session {
		return store.Session{Hash: hashOf(of), Who: "ann", User: "ann", BeganAt: at, SeenAt: at}
	}
	// By a link, once.
	link := store.SignInLink{Hash: hashOf("link"), Who: "root (0)", Scopes: []string{"read", "phones"}, Until: noon.Add(10 * time.Minute)}
	must(l.AddLink(l.ctx, link, noon, 2))
	if _, err := l.EnterByLink(l.ctx, link.Hash, store.Session{Hash: hashOf("late"), BeganAt: link.Until, SeenAt: link.Until}, manyOf); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("an old link: %v", err)
	}
	by, err := l.EnterByLink(l.ctx, link.Hash, store.Session{Hash: hashOf("a"), BeganAt: noon, SeenAt: noon}, manyOf)
	must(err)
	if _, err := l.EnterByLink(l.ctx, link.Hash, store.Session{Hash: hashOf("b"), BeganAt: noon, SeenAt: noon}, manyOf); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("a link twice: %v", err)
	}
	got, of, err := l.Session(l.ctx, hashOf("a"))
	must(err)
	same(t, "by a link", store.Session{Hash: hashOf("a"), Who: "root (0)", Scopes: link.Scopes, BeganAt: noon, SeenAt: noon}, got)
	if of != nil || by.Who != "root (0)" {
		t.Errorf("it is of %+v, %+v", of, by)
	}
	for i := range 3 { // the first of three makes room
		must(l.AddLink(l.ctx, store.SignInLink{Hash: hashOf("l" + strconv.Itoa(i)), Who: "w", Until: noon.Add(time.Duration(i+1) * time.Minute)}, noon, 2))
	}
	if _, err := l.EnterByLink(l.ctx, hashOf("l0"), begin("c", noon), manyOf); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("the first of too many links: %v", err)
	}
	// By a setup link, once, and by a password.
	ann := person("ann", "viewer")
	ann.Password, ann.Setup, ann.SetupUntil = "", hashOf("setup"), noon.Add(time.Hour)
	must(l.AddUser(l.ctx, ann, manyOf))
	if u, err := l.UserOfSetup(l.ctx, hashOf("setup")); err != nil || u.Name != "ann" {
		t.Errorf("whose link: %+v, %v", u, err)
	}
	if _, err := l.SetUp(l.ctx, hashOf("setup"), hashed1, begin("d", ann.SetupUntil), manyOf); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("an old setup link: %v", err)
	}
	if u, err := l.SetUp(l.ctx, hashOf("setup"), hashed1, begin("d", noon), manyOf); err != nil || u.Name != "ann" || !u.SignedInAt.Equal(noon) {
		t.Errorf("set up: %+v, %v", u, err)
	}
	if _, err := l.SetUp(l.ctx, hashOf("setup"), "other", begin("e", noon), manyOf); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("a setup link twice: %v", err)
	}
	if _, err := l.UserOfSetup(l.ctx, [sha256.Size]byte{}); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("no link is somebody's: %v", err)
	}
	if err := l.BeginSession(l.ctx, begin("e", noon), "another", manyOf); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("with a password that was changed meanwhile: %v", err)
	}
	must(l.BeginSession(l.ctx, begin("e", noon.Add(time.Second)), hashed1, manyOf))
	must(l.SessionSeen(l.ctx, hashOf("e"), noon.Add(time.Minute)))
	must(l.SessionSeen(l.ctx, hashOf("e"), noon)) // told late
	got, of, err = l.Session(l.ctx, hashOf("e"))
	must(err)
	if !got.SeenAt.Equal(noon.Add(time.Minute)) || of == nil || of.Role != "viewer" || !of.SignedInAt.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v of %+v", got, of)
	}
	if n, err := l.SessionCount(l.ctx, "ann", noon); n != 2 || err != nil {
		t.Errorf("%d sessions, %v", n, err)
	}
	// A change ends them, but for one; the link's stays.
	_, err = l.ChangeUser(l.ctx, "ann", store.UserChange{EndSessions: true, But: hashOf("e"), Do: func(u *store.User) error { u.Role = "operator"; return nil }})
	must(err)
	gone("d", "a change that ends sessions")
	if _, of, err := l.Session(l.ctx, hashOf("e")); err != nil || of.Role != "operator" {
		t.Errorf("the role is read with the session: %+v, %v", of, err)
	}
	must(l.EndSession(l.ctx, hashOf("e")))
	must(l.EndSession(l.ctx, hashOf("e")))
	gone("e", "signed out")
	if _, _, err := l.Session(l.ctx, hashOf("a")); err != nil {
		t.Errorf("the session of somebody else: %v", err)
	}
	// Of too many the one that was used least lately makes room, and what is over leaves.
	for i := range 4 {
		must(l.BeginSession(l.ctx, begin("s"+strconv.Itoa(i), noon.Add(time.Duration(i)*time.Minute)), hashed1, 3))
	}
	gone("s0", "the fourth of three")
	must(l.BeginSession(l.ctx, begin("s4", noon.Add(store.SessionIdle+2*time.Minute)), hashed1, manyOf))
	gone("s2", "idle for too long")
	if _, _, err := l.Session(l.ctx, hashOf("s3")); err != nil {
		t.Errorf("one that lasts: %v", err)
	}
	_, err = l.Retain(l.ctx, store.Retention{}, noon.Add(store.SessionIdle+5*time.Minute))
	must(err)
	gone("a", "after retention")
	gone("s3", "after retention")
	if _, _, err := l.Session(l.ctx, hashOf("s4")); err != nil {
		t.Errorf("retention took one that lasts: %v", err)
	}
	_, err = l.Retain(l.ctx, store.Retention{}, noon.Add(store.SessionLife+store.SessionIdle))
	must(err)
	gone("s4", "after a week")
	// Whoever is removed has no session, nor begins one.
	must(l.BeginSession(l.ctx, begin("z", noon.Add(time.Hour)), hashed1, manyOf))
	_, err = l.ChangeUser(l.ctx, "ann", store.UserChange{Remove: true})
	must(err)
	gone("z", "its user is removed")
	if err := l.BeginSession(l.ctx, begin("y", noon), hashed1, manyOf); !errors.Is(err, nudgewire.ErrNotFound) {
		t.Errorf("a session of nobody: %v", err)
	}
}

// nodeUsers is how two nodes share users: a session holds at both, a link works at one of them, and not both take an admin away.
func (p pair) nodeUsers(t *testing.T) {
	a, b := p.two(t)
	for _, name := range []string{"ann", "bob"} {
		if err := a.AddUser(a.ctx, person(name, admins), manyOf); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.BeginSession(a.ctx, store.Session{Hash: hashOf("s"), Who: "ann", User: "ann", BeganAt: noon, SeenAt: noon}, hashed1, manyOf); err != nil {
		t.Fatal(err)
	}
	if _, of, err := b.Session(b.ctx, hashOf("s")); err != nil || of.Name != "ann" {
		t.Errorf("at the other node the session is of %+v, %v", of, err)
	}
	if err := a.AddLink(a.ctx, store.SignInLink{Hash: hashOf("l"), Who: "root (0)", Until: noon.Add(time.Minute)}, noon, manyOf); err != nil {
		t.Fatal(err)
	}
	const tries = 6
	entered := make([]error, tries)
	together(tries, func(i int) {
		l := []*ledger{a, b}[i%2]
		_, entered[i] = l.EnterByLink(l.ctx, hashOf("l"), store.Session{Hash: hashOf(fmt.Sprint("by ", i)), BeganAt: noon, SeenAt: noon}, manyOf)
	})
	in := 0
	for _, err := range entered {
		if err == nil {
			in++
		} else if !errors.Is(err, nudgewire.ErrNotFound) {
			t.Error(err)
		}
	}
	if in != 1 {
		t.Errorf("one link let in %d", in)
	}
	left := make([]error, 2)
	together(2, func(i int) {
		l, name := []*ledger{a, b}[i], []string{"ann", "bob"}[i]
		_, left[i] = l.ChangeUser(l.ctx, name, store.UserChange{Admin: admins, EndSessions: true, Do: func(u *store.User) error { u.DisabledAt = noon; return nil }})
	})
	if (left[0] == nil) == (left[1] == nil) || !errors.Is(errors.Join(left...), store.ErrLastAdmin) {
		t.Errorf("two admins go at the same time: %v and %v", left[0], left[1])
	}
	if _, of, err := b.Session(b.ctx, hashOf("s")); left[0] == nil && !errors.Is(err, nudgewire.ErrNotFound) || left[0] != nil && !of.Able() {
		t.Errorf("the session of ann: %+v, %v", of, err)
	}
}
