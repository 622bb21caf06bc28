package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

const (
	linkLife  = 10 * time.Minute
	setupLife = 24 * time.Hour

	mostLinks      = 32 // the first make room
	mostSessionsOf = 20 // of one person; the one that was used least lately makes room

	secretBytes = 32
)

// ErrWrongSignIn means that nobody is let in by that: a name and a password that do not fit, or a link that does not work any more. It does
// not say which, and takes as long for each.
var ErrWrongSignIn = errors.New("the sign-in is not right: no user has this name with this password, or the link was used or is too old")

// Where it is said who somebody is, beside passwords here.
const (
	SourceOIDC   = "oidc"
	SourceHeader = "header"
)

// Sessions sign people in, and say who is signed in, by the data alone: what one node ends lets nobody in at another.
type Sessions struct {
	Store auth.Records
	Now   func() time.Time
	Log   *zap.Logger
	// Sources are those that the config in use believes, beside passwords; nil is none.
	Sources func() []string

	seen rarely
}

// A SignedIn is a session that began.
type SignedIn struct {
	Cookie string // what the browser keeps: 256 random bits
	Who    access.Who
}

// A Session is who is signed in.
type Session struct {
	Who  access.Who
	User string      // "" for who came by a link
	Role access.Role // of the user
	By   string      // what says who the user is; "" for a password here

	hash [sha256.Size]byte
}

// letters write bits without a digit, so that nothing takes a part of a link for a phone.
var letters = base32.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef").WithPadding(base32.NoPadding)

// newSecret is 256 random bits, for an address or a cookie, and their hash.
func newSecret() (text string, hash [sha256.Size]byte) {
	var bits [secretBytes]byte
	_, _ = rand.Read(bits[:]) // it never fails
	text = letters.EncodeToString(bits[:])
	return text, sha256.Sum256([]byte(text))
}

// record notes in the audit what somebody is about to do at the sign-in. Where it cannot, nothing is done.
func (d *Sessions) record(ctx context.Context, who, action, subject string) error {
	err := d.Store.Audit(ctx, chain.Entry{At: d.Now(), Who: mask.Line(who), Via: string(access.FromSession), Action: action, Subject: mask.Line(subject)})
	return d.unwritten(err)
}

// unwritten is a failure to write, for people: of a full disk, or data that is away.
func (d *Sessions) unwritten(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, said := errors.AsType[*refusal.Error](err); said {
		return err
	}
	d.Log.Error("nobody can sign in or out", zap.Error(err))
	return &refusal.Error{Status: http.StatusServiceUnavailable, Words: "nothing was done: the daemon cannot write its data at present", Hint: "whoever is signed in goes on; \"nudgewire status\" says what is wrong with the data"}
}

// invite makes a link that signs who in once, with a role, and no more than who may; "" is all that who may.
func (d *Sessions) invite(ctx context.Context, who access.Who, role access.Role) (text string, until time.Time, err error) {
	scopes := who.Scopes
	if role != "" {
		scopes = role.Scopes()
	}
	text, hash := newSecret()
	now := d.Now()
	l := auth.SignInLink{Hash: hash, Who: who.Name, Until: now.Add(linkLife)}
	for _, s := range scopes {
		if who.May(s) {
			l.Scopes = append(l.Scopes, string(s))
		}
	}
	err = d.Store.AddLink(ctx, l, now, mostLinks)
	return text, l.Until, d.unwritten(err)
}

// begin is a session that has not begun yet.
func (d *Sessions) begin(name string) (cookie string, n auth.Session) {
	cookie, hash := newSecret()
	now := d.Now()
	return cookie, auth.Session{Hash: hash, Who: name, User: name, BeganAt: now, SeenAt: now}
}

// EnterByLink uses a link up and begins a session. Errors: ErrWrongSignIn.
func (d *Sessions) EnterByLink(ctx context.Context, link string) (in SignedIn, err error) {
	cookie, n := d.begin("")
	n, err = d.Store.EnterByLink(ctx, sha256.Sum256([]byte(link)), n, mostSessionsOf)
	if errors.Is(err, messaging.ErrNotFound) {
		return in, ErrWrongSignIn
	}
	if err == nil { // behind, because who made the link is known then only; a link is worth nothing twice
		err = d.record(ctx, n.Who, "sign-in", "by a link")
	}
	if err != nil {
		return in, d.unwritten(err)
	}
	return SignedIn{cookie, sessionWho(&n, nil)}, nil
}

// sessionWho is who a session is of.
func sessionWho(n *auth.Session, u *auth.User) access.Who {
	w := access.Who{Name: n.Who, From: access.FromSession}
	if u != nil {
		w.Scopes, w.Makers, w.LetInAt = access.Role(u.Role).Scopes(), u.Makers, u.LetInAt
		return w
	}
	for _, s := range n.Scopes {
		w.Scopes = append(w.Scopes, access.Scope(s))
	}
	return w
}

// SignIn begins a session by a name and a password. Errors: ErrWrongSignIn, which takes as long whether there is such a user or not.
func (d *Sessions) SignIn(ctx context.Context, name, password string) (in SignedIn, err error) {
	u, err := d.Store.User(ctx, plainName(name))
	if errors.Is(err, messaging.ErrNotFound) {
		u = auth.User{}
	} else if err != nil {
		return in, err
	}
	if len(password) > mostInPassword {
		password = "" // which is nobody's
	}
	same, err := samePassword(ctx, u.Password, password)
	if err != nil {
		return in, err
	}
	if !same || !u.Able() {
		return in, ErrWrongSignIn
	}
	if err := d.record(ctx, u.Name, "sign-in", "by a password"); err != nil {
		return in, err
	}
	return d.enter(ctx, &u)
}

// enter begins a session of a user who proved who it is.
func (d *Sessions) enter(ctx context.Context, u *auth.User) (in SignedIn, err error) {
	cookie, n := d.begin(u.Name)
	err = d.Store.BeginSession(ctx, n, u.Password, mostSessionsOf)
	if errors.Is(err, messaging.ErrNotFound) { // meanwhile
		return in, ErrWrongSignIn
	}
	return SignedIn{cookie, sessionWho(&n, u)}, d.unwritten(err)
}

// SetupOf is whose setup link it is. Errors: ErrWrongSignIn.
func (d *Sessions) SetupOf(ctx context.Context, link string) (name string, err error) {
	u, err := d.Store.UserOfSetup(ctx, sha256.Sum256([]byte(link)))
	if errors.Is(err, messaging.ErrNotFound) || err == nil && (!u.DisabledAt.IsZero() || !d.Now().Before(u.SetupUntil)) {
		return "", ErrWrongSignIn
	}
	return u.Name, err
}

// SetUp has the user of a setup link choose a password, and begins a session. The link is used up. Errors: ErrWrongSignIn, an *Error for a password that will
// not do.
func (d *Sessions) SetUp(ctx context.Context, link, password string) (in SignedIn, err error) {
	name, err := d.SetupOf(ctx, link)
	if err == nil {
		err = checkPassword(name, password)
	}
	if err != nil {
		return in, err
	}
	kept, err := hashPassword(ctx, password)
	if err == nil {
		err = d.record(ctx, name, "password", "chosen by a setup link")
	}
	if err != nil {
		return in, err
	}
	cookie, n := d.begin(name)
	u, err := d.Store.SetUp(ctx, sha256.Sum256([]byte(link)), kept, n, mostSessionsOf)
	if errors.Is(err, messaging.ErrNotFound) {
		return in, ErrWrongSignIn
	}
	return SignedIn{cookie, sessionWho(&n, &u)}, d.unwritten(err)
}

// Session says who is signed in by a cookie, and keeps the session alive; known is false for nobody.
func (d *Sessions) Session(ctx context.Context, cookie string) (s Session, known bool, err error) {
	return d.session(ctx, cookie, true)
}

// Unattended is Session for what a page asks by itself: it keeps no session alive, or one would not end while a page is open.
func (d *Sessions) Unattended(ctx context.Context, cookie string) (s Session, known bool, err error) {
	return d.session(ctx, cookie, false)
}

func (d *Sessions) session(ctx context.Context, cookie string, used bool) (s Session, known bool, err error) {
	hash := sha256.Sum256([]byte(cookie))
	n, u, err := d.Store.Session(ctx, hash)
	if errors.Is(err, messaging.ErrNotFound) {
		return s, false, nil
	}
	now := d.Now()
	if err != nil || !n.Good(now) || u != nil && !(u.Able() && d.believes(u.Source)) {
		return s, false, err
	}
	if used && now.Sub(n.SeenAt) >= usedEvery && d.seen.due(string(hash[:]), now) {
		if err := d.Store.SessionSeen(ctx, hash, now); err != nil {
			d.Log.Warn("the use of a session is not noted", zap.String("who", n.Who), zap.Error(err))
		}
	}
	s = Session{Who: sessionWho(&n, u), User: n.User, hash: hash}
	if u != nil {
		s.Role, s.By = access.Role(u.Role), u.Source
	}
	return s, true, nil
}

// believes reports whether the config in use lets a source say who somebody is.
func (d *Sessions) believes(source string) bool {
	return source == "" || d.Sources != nil && slices.Contains(d.Sources(), source)
}

// SignOut ends a session.
func (d *Sessions) SignOut(ctx context.Context, cookie string) error {
	return d.unwritten(d.Store.EndSession(ctx, sha256.Sum256([]byte(cookie))))
}

// Count is how many sessions a user has: it counts those of a user.
func (d *Sessions) Count(ctx context.Context, user string) (int, error) {
	return d.Store.SessionCount(ctx, user, d.Now())
}

// ChangePassword has a user who is signed in choose another password, and ends the other sessions. Errors: ErrWrongSignIn where the old one is another, an *Error for
// a new one that will not do.
func (d *Sessions) ChangePassword(ctx context.Context, s Session, old, password string) error {
	u, err := d.Store.User(ctx, s.User)
	if err != nil {
		return err
	}
	if u.Source != "" {
		return refusal.Newf(http.StatusConflict, "", "%s has no password here", u.Name)
	}
	if err := checkPassword(u.Name, password); err != nil {
		return err
	}
	same, err := samePassword(ctx, u.Password, old)
	if err != nil {
		return err
	}
	if !same {
		return ErrWrongSignIn
	}
	kept, err := hashPassword(ctx, password)
	if err == nil {
		err = d.record(ctx, u.Name, "password", "changed")
	}
	if err != nil {
		return err
	}
	_, err = d.Store.ChangeUser(ctx, u.Name, auth.UserChange{Admin: string(access.RoleAdmin), EndSessions: true, But: s.hash, Do: func(now *auth.User) error {
		if now.Password != u.Password || !now.Able() {
			return ErrWrongSignIn
		}
		now.Password = kept
		return nil
	}})
	if errors.Is(err, ErrWrongSignIn) {
		return ErrWrongSignIn
	}
	return d.unwritten(err)
}

// SignOutElsewhere ends all sessions of a user but the one.
func (d *Sessions) SignOutElsewhere(ctx context.Context, s Session) error {
	if err := d.record(ctx, s.User, "sign-out", "everywhere else"); err != nil {
		return err
	}
	_, err := d.Store.ChangeUser(ctx, s.User, auth.UserChange{Admin: string(access.RoleAdmin), EndSessions: true, But: s.hash, Do: func(*auth.User) error { return nil }})
	return d.unwritten(err)
}

// rarely says what was not done in the last minute. The zero value is ready.
type rarely struct {
	mu sync.Mutex
	at map[string]time.Time
}

// mostRarely is how many keys are remembered.
const mostRarely = 10_000

// due reports whether key was not due in the last minute, and counts it.
func (o *rarely) due(key string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.at[key]) < usedEvery {
		return false
	}
	if o.at == nil || len(o.at) >= mostRarely {
		o.at = map[string]time.Time{}
	}
	o.at[key] = now
	return true
}
