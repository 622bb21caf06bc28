package suite

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

func hashOf(of string) [sha256.Size]byte { return sha256.Sum256([]byte(of)) }

// sessionOfAnn is a session that begins.
func sessionOfAnn(of string, at time.Time) auth.Session {
	return auth.Session{Hash: hashOf(of), Who: "ann", User: "ann", BeganAt: at, SeenAt: at}
}

// sessionByLink has somebody sign in by a link of their own.
func (l *ledger) sessionByLink(of string) {
	l.t.Helper()
	l.must(l.auth().AddLink(l.ctx, auth.SignInLink{Hash: hashOf("link of " + of), Who: "root (0)", Until: noon.Add(time.Minute)}, noon, manyOf))
	_, err := l.auth().EnterByLink(l.ctx, hashOf("link of "+of), auth.Session{Hash: hashOf(of), BeganAt: noon, SeenAt: noon}, manyOf)
	l.must(err)
}

func (l *ledger) hasNoSession(of, why string) {
	l.t.Helper()
	if _, _, err := l.auth().Session(l.ctx, hashOf(of)); !errors.Is(err, messaging.ErrNotFound) {
		l.t.Errorf("%s: the session %s: %v", why, of, err)
	}
}

func (l *ledger) hasSession(of, why string) {
	l.t.Helper()
	if _, _, err := l.auth().Session(l.ctx, hashOf(of)); err != nil {
		l.t.Errorf("%s: the session %s: %v", why, of, err)
	}
}

// consoleSessions begin once for each link, last as long as their user may, and leave.
func (s suite) consoleSessions(t *testing.T) {
	t.Run("a link lets in once", s.aLinkLetsInOnce)
	t.Run("the first of too many links makes room", s.theFirstOfTooManyLinksMakesRoom)
	t.Run("a setup link sets a password once", s.aSetupLinkSetsAPasswordOnce)
	t.Run("a password begins a session", s.aPasswordBeginsASession)
	t.Run("a change of a user ends the sessions, but for one", s.aChangeOfAUserEndsTheSessions)
	t.Run("the session that was used least lately makes room, and what is over leaves", s.sessionsThatAreOverLeave)
	t.Run("whoever is removed has no session, nor begins one", s.whoeverIsRemovedHasNoSession)
}

func (s suite) aLinkLetsInOnce(t *testing.T) {
	l := s.open(t)
	link := auth.SignInLink{Hash: hashOf("link"), Who: "root (0)", Scopes: []string{"read", "phones"}, Until: noon.Add(10 * time.Minute)}
	l.must(l.auth().AddLink(l.ctx, link, noon, 2))
	if _, err := l.auth().EnterByLink(l.ctx, link.Hash, auth.Session{Hash: hashOf("late"), BeganAt: link.Until, SeenAt: link.Until}, manyOf); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("an old link: %v", err)
	}
	by, err := l.auth().EnterByLink(l.ctx, link.Hash, auth.Session{Hash: hashOf("a"), BeganAt: noon, SeenAt: noon}, manyOf)
	l.must(err)
	if _, err := l.auth().EnterByLink(l.ctx, link.Hash, auth.Session{Hash: hashOf("b"), BeganAt: noon, SeenAt: noon}, manyOf); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("a link twice: %v", err)
	}
	got, of, err := l.auth().Session(l.ctx, hashOf("a"))
	l.must(err)
	same(t, "by a link", auth.Session{Hash: hashOf("a"), Who: "root (0)", Scopes: link.Scopes, BeganAt: noon, SeenAt: noon}, got)
	if of != nil || by.Who != "root (0)" {
		t.Errorf("it is of %+v, %+v", of, by)
	}
}

func (s suite) theFirstOfTooManyLinksMakesRoom(t *testing.T) {
	l := s.open(t)
	for i := range 3 {
		l.must(l.auth().AddLink(l.ctx, auth.SignInLink{Hash: hashOf("l" + strconv.Itoa(i)), Who: "w", Until: noon.Add(time.Duration(i+1) * time.Minute)}, noon, 2))
	}
	for i, gone := range []bool{true, false, false} {
		_, err := l.auth().EnterByLink(l.ctx, hashOf("l"+strconv.Itoa(i)), sessionOfAnn(fmt.Sprint("by ", i), noon), manyOf)
		if errors.Is(err, messaging.ErrNotFound) != gone {
			t.Errorf("link %d of three, with room for two: %v", i, err)
		}
	}
}

func (s suite) aSetupLinkSetsAPasswordOnce(t *testing.T) {
	l := s.open(t)
	ann := person("ann", "viewer")
	ann.Password, ann.Setup, ann.SetupUntil = "", hashOf("setup"), noon.Add(time.Hour)
	l.must(l.auth().AddUser(l.ctx, ann, manyOf))
	if u, err := l.auth().UserOfSetup(l.ctx, hashOf("setup")); err != nil || u.Name != "ann" {
		t.Errorf("whose link: %+v, %v", u, err)
	}
	if _, err := l.auth().SetUp(l.ctx, hashOf("setup"), hashed1, sessionOfAnn("d", ann.SetupUntil), manyOf); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("an old setup link: %v", err)
	}
	if u, err := l.auth().SetUp(l.ctx, hashOf("setup"), hashed1, sessionOfAnn("d", noon), manyOf); err != nil || u.Name != "ann" || !u.SignedInAt.Equal(noon) {
		t.Errorf("set up: %+v, %v", u, err)
	}
	if _, err := l.auth().SetUp(l.ctx, hashOf("setup"), "other", sessionOfAnn("e", noon), manyOf); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("a setup link twice: %v", err)
	}
	if _, err := l.auth().UserOfSetup(l.ctx, [sha256.Size]byte{}); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("no link is somebody's: %v", err)
	}
	l.must(l.auth().BeginSession(l.ctx, sessionOfAnn("f", noon), hashed1, manyOf)) // by the password that was set
	if n, err := l.auth().SessionCount(l.ctx, "ann", noon); n != 2 || err != nil {
		t.Errorf("%d sessions, %v", n, err)
	}
}

func (s suite) aPasswordBeginsASession(t *testing.T) {
	l := s.open(t)
	l.must(l.auth().AddUser(l.ctx, person("ann", "viewer"), manyOf))
	if err := l.auth().BeginSession(l.ctx, sessionOfAnn("e", noon), "another", manyOf); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("with a password that was changed meanwhile: %v", err)
	}
	l.must(l.auth().BeginSession(l.ctx, sessionOfAnn("e", noon.Add(time.Second)), hashed1, manyOf))
	l.must(l.auth().SessionSeen(l.ctx, hashOf("e"), noon.Add(time.Minute)))
	l.must(l.auth().SessionSeen(l.ctx, hashOf("e"), noon)) // told late
	got, of, err := l.auth().Session(l.ctx, hashOf("e"))
	l.must(err)
	if !got.SeenAt.Equal(noon.Add(time.Minute)) || of == nil || of.Role != "viewer" || !of.SignedInAt.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v of %+v", got, of)
	}
	l.must(l.auth().EndSession(l.ctx, hashOf("e")))
	l.must(l.auth().EndSession(l.ctx, hashOf("e")))
	l.hasNoSession("e", "signed out")
}

func (s suite) aChangeOfAUserEndsTheSessions(t *testing.T) {
	l := s.open(t)
	l.must(l.auth().AddUser(l.ctx, person("ann", "viewer"), manyOf))
	l.sessionByLink("a")
	for _, of := range []string{"d", "e"} {
		l.must(l.auth().BeginSession(l.ctx, sessionOfAnn(of, noon), hashed1, manyOf))
	}
	_, err := l.auth().ChangeUser(l.ctx, "ann", auth.UserChange{EndSessions: true, But: hashOf("e"), Do: func(u *auth.User) error { u.Role = "operator"; return nil }})
	l.must(err)
	l.hasNoSession("d", "a change that ends sessions")
	if _, of, err := l.auth().Session(l.ctx, hashOf("e")); err != nil || of.Role != "operator" {
		t.Errorf("the role is read with the session: %+v, %v", of, err)
	}
	l.hasSession("a", "somebody else's")
}

func (s suite) sessionsThatAreOverLeave(t *testing.T) {
	l := s.open(t)
	l.must(l.auth().AddUser(l.ctx, person("ann", "viewer"), manyOf))
	l.sessionByLink("a")
	for i := range 4 {
		l.must(l.auth().BeginSession(l.ctx, sessionOfAnn("s"+strconv.Itoa(i), noon.Add(time.Duration(i)*time.Minute)), hashed1, 3))
	}
	l.hasNoSession("s0", "the fourth of three")
	l.must(l.auth().BeginSession(l.ctx, sessionOfAnn("s4", noon.Add(auth.SessionIdle+2*time.Minute)), hashed1, manyOf))
	l.hasNoSession("s2", "idle for too long")
	l.hasSession("s3", "not idle for so long")
	_, err := l.privacy().Retain(l.ctx, overSessions, noon.Add(auth.SessionIdle+5*time.Minute))
	l.must(err)
	l.hasNoSession("a", "after retention")
	l.hasNoSession("s3", "after retention")
	l.hasSession("s4", "after retention, one that lasts")
	_, err = l.privacy().Retain(l.ctx, overSessions, noon.Add(auth.SessionLife+auth.SessionIdle))
	l.must(err)
	l.hasNoSession("s4", "after a week")
}

func (s suite) whoeverIsRemovedHasNoSession(t *testing.T) {
	l := s.open(t)
	l.must(l.auth().AddUser(l.ctx, person("ann", "viewer"), manyOf))
	l.must(l.auth().BeginSession(l.ctx, sessionOfAnn("z", noon.Add(time.Hour)), hashed1, manyOf))
	_, err := l.auth().ChangeUser(l.ctx, "ann", auth.UserChange{Remove: true})
	l.must(err)
	l.hasNoSession("z", "its user is removed")
	if err := l.auth().BeginSession(l.ctx, sessionOfAnn("y", noon), hashed1, manyOf); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("a session of nobody: %v", err)
	}
}

// overSessions keeps everything but sessions and links that are over.
var overSessions = privacy.Retention{Ages: []func(*store.Tx, time.Time) error{auth.DropOldSessions}}
