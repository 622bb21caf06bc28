package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// How long a session of the console lasts.
const (
	SessionIdle = 12 * time.Hour     // without a request
	SessionLife = 7 * 24 * time.Hour // whatever happens
)

// A Session is a browser that somebody signed in with. What the browser has is kept nowhere.
type Session struct {
	Hash    [sha256.Size]byte
	Who     string   // for the record
	User    string   // "" for who came by a link
	Scopes  []string // of who came by a link
	BeganAt time.Time
	SeenAt  time.Time // about
}

// Good reports whether the session lasts.
func (s *Session) Good(now time.Time) bool {
	return now.Sub(s.SeenAt) < SessionIdle && now.Sub(s.BeganAt) < SessionLife
}

// A SignInLink lets somebody in once.
type SignInLink struct {
	Hash   [sha256.Size]byte
	Who    string
	Scopes []string
	Until  time.Time
}

const sessionColumns = `hash, who, user_name, scopes, began_at, seen_at`

// unhex reads a hash.
func unhex(text string) (out [sha256.Size]byte, err error) {
	b, err := hex.DecodeString(text)
	if err == nil && len(b) != len(out) {
		err = fmt.Errorf("a hash has %d bytes", len(b))
	}
	copy(out[:], b)
	return out, err
}

// scopeList is what was joined by commas.
func scopeList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func scanLink(r *engine.Row) (l SignInLink, err error) {
	l.Hash, err = unhex(r.Text())
	l.Who, l.Scopes, l.Until = r.Text(), scopeList(r.Text()), r.Time()
	if err == nil {
		err = r.Err
	}
	return l, err
}

var (
	addLinkSQL  = engine.SQL(`INSERT INTO console_links (hash, who, scopes, until_at) VALUES (?1, ?2, ?3, ?4)`)
	linksSQL    = engine.SQL(`SELECT hash, who, scopes, until_at FROM console_links WHERE hash <> '' ORDER BY until_at`)
	dropLinkSQL = engine.SQL(`DELETE FROM console_links WHERE hash = ?1`)
	oldLinksSQL = engine.SQL(`DELETE FROM console_links WHERE until_at <= ?1`)
)

// AddLink keeps a link. Those that are over leave, and of the others the first where there would be more than most.
func (s Records) AddLink(ctx context.Context, l SignInLink, now time.Time, most int) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		if err := t.Lock(userChanges); err != nil {
			return err
		}
		if err := t.Put(oldLinksSQL, engine.Micro(now)); err != nil {
			return err
		}
		var all []string
		if err := t.Query(linksSQL, func(r *engine.Row) error {
			one, err := scanLink(r)
			all = append(all, hex.EncodeToString(one.Hash[:]))
			return err
		}); err != nil {
			return err
		}
		for len(all) >= most {
			if err := t.Put(dropLinkSQL, all[0]); err != nil {
				return err
			}
			all = all[1:]
		}
		return t.Put(addLinkSQL, hex.EncodeToString(l.Hash[:]), l.Who, strings.Join(l.Scopes, ","), engine.Micro(l.Until))
	})
	return store.Wrap(err, "make a link")
}

var linkSQL = engine.SQL(`SELECT hash, who, scopes, until_at FROM console_links WHERE hash = ?1 {{for update}}`)

// EnterByLink uses a link up and begins a session of its maker, in one commit, with at most most sessions of them. It gives the session as it is kept.
// messaging.ErrNotFound where no link is like that, or none any more.
func (s Records) EnterByLink(ctx context.Context, link [sha256.Size]byte, n Session, most int) (Session, error) {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		var l SignInLink
		found := false
		err := t.Query(linkSQL, func(r *engine.Row) (err error) {
			found = true
			l, err = scanLink(r)
			return err
		}, hex.EncodeToString(link[:]))
		if err == nil && (!found || !n.BeganAt.Before(l.Until)) {
			err = messaging.ErrNotFound
		}
		if err == nil {
			err = t.Put(dropLinkSQL, hex.EncodeToString(link[:]))
		}
		if err != nil {
			return err
		}
		n.Who, n.User, n.Scopes = l.Who, "", l.Scopes
		return begin(t, &n, most)
	})
	return n, store.Wrap(err, "sign in by a link")
}

var userSignedInSQL = engine.SQL(`UPDATE users SET signed_in_at = ?2 WHERE name = ?1 AND signed_in_at < ?2`)

// BeginSession begins a session of a user who proved who it is, with at most most sessions of them. password is what the user had for one, hashed, when that was looked
// at. messaging.ErrNotFound where the user is gone, disabled, or has another one by now.
func (s Records) BeginSession(ctx context.Context, n Session, password string, most int) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		u, err := userIn(t, userSQL, n.User)
		if err == nil && (!u.Able() || u.Password != password) {
			err = messaging.ErrNotFound
		}
		if err == nil {
			err = t.Put(userSignedInSQL, n.User, engine.Micro(n.BeganAt))
		}
		if err != nil {
			return err
		}
		return begin(t, &n, most)
	})
	return store.Wrap(err, "sign in")
}

var userBySetupSQL = engine.SQL(`SELECT ` + userColumns + ` FROM users WHERE setup = ?1 {{for update}}`)

// SetUp has the user of a setup link choose a password, hashed, and begins a session. The link is used up. messaging.ErrNotFound where no link is like
// that, or none any more.
func (s Records) SetUp(ctx context.Context, setup [sha256.Size]byte, password string, n Session, most int) (u User, err error) {
	err = s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		u, err = userIn(t, userBySetupSQL, hex.EncodeToString(setup[:]))
		if err == nil && (!u.DisabledAt.IsZero() || !n.BeganAt.Before(u.SetupUntil)) {
			err = messaging.ErrNotFound
		}
		if err != nil {
			return err
		}
		u.Password, u.Setup, u.SetupUntil, u.SignedInAt = password, unwritten, time.Time{}, n.BeganAt
		if err := t.Put(setUserSQL, u.row()...); err != nil {
			return err
		}
		n.Who, n.User = u.Name, u.Name
		return begin(t, &n, most)
	})
	return u, store.Wrap(err, "choose a password")
}

// UserOfSetup is whose setup link it is; messaging.ErrNotFound for nobody's.
func (s Records) UserOfSetup(ctx context.Context, setup [sha256.Size]byte) (User, error) {
	u, err := only(store.List(ctx, s.Store, `SELECT `+userColumns+` FROM users WHERE setup = ?1`, []any{hex.EncodeToString(setup[:])}, scanUser))
	return u, store.Wrap(err, "a setup link")
}

var (
	addSessionSQL = engine.SQL(`INSERT INTO console_sessions (` + sessionColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`)
	sessionsOfSQL = engine.SQL(`SELECT hash, seen_at FROM console_sessions WHERE who = ?1 ORDER BY seen_at`)
	endSessionSQL = engine.SQL(`DELETE FROM console_sessions WHERE hash = ?1`)
)

// begin writes a session. Of those of the same person the one that was used least lately makes room.
func begin(t *store.Tx, n *Session, most int) error {
	type other struct {
		hash string
		seen time.Time
	}
	var all []other
	if err := t.Query(sessionsOfSQL, func(r *engine.Row) error {
		all = append(all, other{r.Text(), r.Time()})
		return r.Err
	}, n.Who); err != nil {
		return err
	}
	for _, one := range all {
		if len(all) >= most || n.BeganAt.Sub(one.seen) >= SessionIdle {
			all = all[1:]
			if err := t.Put(endSessionSQL, one.hash); err != nil {
				return err
			}
		}
	}
	return t.Put(addSessionSQL, hex.EncodeToString(n.Hash[:]), n.Who, n.User, strings.Join(n.Scopes, ","), engine.Micro(n.BeganAt), engine.Micro(n.SeenAt))
}

// Session is the session of a hash with its user, nil where it has none; messaging.ErrNotFound for no session, and for one whose user is gone.
func (s Records) Session(ctx context.Context, hash [sha256.Size]byte) (n Session, u *User, err error) {
	found := false
	err = s.Rows(ctx, `SELECT `+sessionColumns+` FROM console_sessions WHERE hash = ?1`, []any{hex.EncodeToString(hash[:])}, func(r *engine.Row) (err error) {
		n.Hash, err = unhex(r.Text())
		n.Who, n.User, n.Scopes, n.BeganAt, n.SeenAt = r.Text(), r.Text(), scopeList(r.Text()), r.Time(), r.Time()
		found = true
		if err == nil {
			err = r.Err
		}
		return err
	})
	if err == nil && !found {
		err = messaging.ErrNotFound
	}
	if err == nil && n.User != "" {
		var of User
		of, err = s.User(ctx, n.User)
		u = &of
	}
	return n, u, store.Wrap(err, "a session")
}

var sessionSeenSQL = engine.SQL(`UPDATE console_sessions SET seen_at = ?2 WHERE hash = ?1 AND seen_at < ?2`)

// SessionSeen notes when a session was used last.
func (s Records) SessionSeen(ctx context.Context, hash [sha256.Size]byte, at time.Time) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error { return t.Put(sessionSeenSQL, hex.EncodeToString(hash[:]), engine.Micro(at)) })
	return store.Wrap(err, "note the use of a session")
}

// EndSession ends a session; one that is not there is none.
func (s Records) EndSession(ctx context.Context, hash [sha256.Size]byte) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error { return t.Put(endSessionSQL, hex.EncodeToString(hash[:])) })
	return store.Wrap(err, "end a session")
}

// SessionCount counts the sessions of a user that last.
func (s Records) SessionCount(ctx context.Context, user string, now time.Time) (n int, err error) {
	all, err := store.List(ctx, s.Store, `SELECT count(*) FROM console_sessions WHERE who = ?1 AND user_name = ?1 AND seen_at > ?2 AND began_at > ?3`,
		[]any{user, engine.Micro(now.Add(-SessionIdle)), engine.Micro(now.Add(-SessionLife))}, engine.Number[int64])
	if err != nil || len(all) == 0 {
		return 0, store.Wrap(err, "sessions")
	}
	return int(all[0]), nil
}

var oldSessionsSQL = engine.SQL(`DELETE FROM console_sessions WHERE began_at <= ?1 OR seen_at <= ?2`)

// DropOldSessions removes sessions and links that are over.
func DropOldSessions(t *store.Tx, now time.Time) error {
	err := t.Put(oldSessionsSQL, engine.Micro(now.Add(-SessionLife)), engine.Micro(now.Add(-SessionIdle)))
	if err == nil {
		err = t.Put(oldLinksSQL, engine.Micro(now))
	}
	return err
}
