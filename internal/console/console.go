package console

// To add a page, write its method in a file of its own (audit.go is a short example), its template templates/NAME.html, which is found by
// itself, a line in Handler below, one in sections if the navigation names it, one in test/browser/pages.mjs, and a row in docs/console.md. Data that
// no page shows yet needs a route in internal/server/routes.go.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Rule is a trigger of the config in use, as it is written and in sentences.
type Rule struct {
	Name      string
	Mode      triggers.Mode
	Summary   triggers.Summary
	Sentences []triggers.Sentence
	Stages    []triggers.Stage
	Steps     int // 0 for one message
	Source    yamlpos.Source
}

// Options are what a Console is made of.
type Options struct {
	Ask    *server.Client        // of this process; the context says who asks
	Door   *signin.Sessions      // who signs in, and who is
	SignOn func() SignOn         // who else signs people in, by the config in use
	Rules  func() []Rule         // of the config in use, in its order
	Zone   func() *time.Location // that times are shown in
	// Stopped are halts, and runs that a person paused, of this moment. They stand first on every page; nil for nothing.
	Stopped func(ctx context.Context) ([]messaging.Hold, error)
	// RuleWords are the keys that rules may have, as JSON, for the editor of the playground; nil for none.
	RuleWords []byte
	Templates func() []string // names that rules may send, for the same editor; nil for none
	Secure    bool            // browsers reach it by https only, so that cookies may say so
	// Address is where a request comes from, for the limit of sign-ins that fail.
	Address func(*http.Request) string
	Now     func() time.Time
	Log     *zap.Logger
}

// A Console is the pages. It has no goroutine and nothing to stop.
type Console struct {
	Options
	places, names attempts
	provider      provider
	once          idempotencyKeys
	words         string // path of RuleWords; "" for none

	mu    sync.Mutex
	pages *pages // for the zone of the last request
}

// New returns a Console.
func New(o Options) *Console {
	if o.Stopped == nil {
		o.Stopped = func(context.Context) ([]messaging.Hold, error) { return nil, nil }
	}
	return &Console{Options: o, once: idempotencyKeys{now: o.Now, by: map[onceKey]*done{}}}
}

// policy is what a browser may do with a page: show it with our style, run the scripts that are files of ours, which ask nobody else,
// and post its forms back. Nothing that stands in a page is run.
const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// headers go with every answer.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "same-origin", // addresses may hold a phone
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"X-Robots-Tag":                 "noindex, nofollow",
	"Cache-Control":                "no-store",
}

// SetHeaders gives an answer what bounds what a browser may do with it.
func SetHeaders(h http.Header) {
	for name, value := range headers {
		h[name] = []string{value}
	}
}

// A pageFunc makes the content of a page: its data, or an error that becomes a page.
type pageFunc func(r *http.Request) (page, error)

// Handler answers browsers. Every page but the sign-in wants to know who asks (access.WhoOf): by Session, or by a token.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, do := range map[string]pageFunc{
		"GET /{$}":                   c.overview,
		"GET /numbers":               c.numbers,
		"GET /events":                c.events,
		"GET /events/rejected":       c.rejected,
		"GET /events/{id}":           c.event,
		"GET /messages":              c.messages,
		"GET /messages/{id}":         c.message,
		"GET /people":                c.people,
		"GET /triggers":              c.triggers,
		"GET /triggers/{name}":       c.trigger,
		"GET /jobs":                  c.jobs,
		"GET /jobs/{name}":           c.job,
		"POST /jobs/{name}/forecast": c.forecast,
		"GET /runs/{id}":             c.run,
		"GET /config":                c.config,
		"GET /playground":            c.playground,
		"POST /playground":           c.playground,
		"GET " + pastPath:            c.past,
		"GET " + simulationPath:      c.simulation,
		"GET /overlap":               c.overlap,
		"GET /system":                c.system,
		"GET /audit":                 c.audit,
		"POST /audit":                c.verifyAudit,
		"GET " + usersPath:           c.users,
		"POST " + usersPath:          c.addUser,

		"POST " + usersPath + "/{user}/reset": c.resetUser,
		"GET /account":                        c.account,
		"/":                                   c.notFound,
	} {
		mux.Handle(pattern, c.signedIn(do))
	}
	mux.HandleFunc("GET /sign-in", c.showSignIn)
	mux.HandleFunc("POST /sign-in", c.signIn)
	mux.HandleFunc("GET "+oidcPath, c.toProvider)
	mux.HandleFunc("GET "+oidcCallback, c.fromProvider)
	mux.Handle("POST /sign-out", c.signedOut())
	mux.Handle("POST /do/{action}", c.act())
	mux.HandleFunc("GET /find", c.find)
	mux.Handle("GET /runs/{id}/rows.csv", c.file(c.rowsFile))
	mux.Handle("GET /people/data.json", c.file(c.dataFile))
	mux.HandleFunc("GET /set-up", c.showSetUp)
	mux.HandleFunc("POST /set-up", c.setUp)
	mux.Handle("POST /account/password", c.own(c.changePassword))
	mux.Handle("POST /account/sign-out-elsewhere", c.own(c.signOutElsewhere))
	c.userForms(mux)
	mux.Handle("GET /report.csv", c.file(c.reportFile))
	mux.Handle("GET /numbers.csv", c.file(c.numbersFile))
	mux.Handle("GET /static/{file}", static)
	if len(c.RuleWords) > 0 {
		path, answer := fileOf("rules", "json", "application/json", c.RuleWords)
		c.words = path
		mux.Handle("GET "+path, answer)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetHeaders(w.Header())
		if r.Body != nil {
			most := int64(maxForm)
			if r.URL.Path == "/playground" {
				most = maxTried
			}
			r.Body = http.MaxBytesReader(w, r.Body, most)
		}
		if elsewhere(r) {
			c.refuse(w, r, &refusal.Error{Status: http.StatusForbidden, Words: "another site asked for this", Hint: "open the page here, and try again"})
			return
		}
		listeners.Working(w)
		mux.ServeHTTP(w, r)
	})
}

// maxForm bounds what a browser posts: a link, or what an action is about.
const maxForm = 4 << 10

// A page is what a look found.
type page struct {
	Name  string // of its template
	Title string
	Here  string // the entry of the navigation that it belongs to
	Data  any

	Shows []messaging.Hold // that the page tells of itself
}

// shown is what a template sees.
type shown struct {
	page
	Who      access.Who
	SignedIn bool
	Phones   bool // whole phones are shown
	Zone     string
	Now      time.Time
	Sections []section
	Assets   *Assets
	Self     string           // path of the page, with its query
	Held     []messaging.Hold // what stops everything
	Stops    []messaging.Hold // what stops a part, the first of them
	Further  int              // that are not among Stops
	Said     *keyedAnswer     // what came of the form that led here; nil for nothing
}

// A section is an entry of the navigation.
type section struct{ Name, Path string }

var sections = []section{
	{"Overview", "/"},
	{"Numbers", "/numbers"},
	{"Events", "/events"},
	{"Messages", "/messages"},
	{"People", "/people"},
	{"Triggers", "/triggers"},
	{"Jobs", "/jobs"},
	{"Playground", "/playground"},
	{"Config", "/config"},
	{"System", "/system"},
}

// signedIn lets in who is known, and sends everybody else to sign in.
func (c *Console) signedIn(do pageFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := access.WhoOf(r.Context()); !known {
			c.askWho(w, r, http.StatusUnauthorized, signInPage{})
			return
		}
		r = c.told(r)
		found, err := do(r)
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		c.write(w, r, http.StatusOK, found)
	})
}

type saidKey struct{}

// told takes the word of a form that led to a page out of its address, and notes what came of that form.
func (c *Console) told(r *http.Request) *http.Request {
	word := r.URL.Query().Get("said")
	if word == "" {
		return r
	}
	words := c.once.of(r, word)
	r = r.Clone(context.WithValue(r.Context(), saidKey{}, words))
	if u, err := url.Parse(with(r.URL, "said", "")); err == nil {
		r.URL = u
	}
	return r
}

// notFound answers what no page is at.
func (c *Console) notFound(*http.Request) (page, error) {
	return page{}, &refusal.Error{Status: http.StatusNotFound, Words: "there is no such page", Hint: "the navigation names those that there are"}
}

// An errorPage says what went wrong, and what to do.
type errorPage struct {
	Words, Hint string
	Status      int
	Section     section // where its list is
}

// refuse answers with an error as a page. What is no word of ours is written to the log alone.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*refusal.Error](err)
	if !ok {
		e = &refusal.Error{Status: http.StatusInternalServerError, Words: "the page could not be made", Hint: "the daemon's log says why"}
		c.Log.Error("console", zap.String("page", r.Pattern), zap.Error(err))
	}
	title := "Something went wrong"
	switch {
	case e.Status == http.StatusNotFound:
		title = "Not found"
	case e.Status == http.StatusForbidden:
		title = "Not allowed"
	case e.Status < http.StatusInternalServerError:
		title = "That could not be asked"
	}
	c.write(w, r, e.Status, page{Name: "error", Title: title, Data: errorPage{Words: sentence(e.Words), Hint: sentence(withoutCommands(e.Hint)), Status: e.Status, Section: sectionOf(r.URL.Path)}})
}

// sentence begins with a capital and ends with a point, unless it is none.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	words = capital(words)
	if !strings.ContainsAny(words[len(words)-1:], ".!?") {
		words += "."
	}
	return words
}

// capital begins words with a capital.
func capital(words string) string {
	first, n := utf8.DecodeRuneInString(words)
	if n == 0 {
		return words
	}
	return string(unicode.ToUpper(first)) + words[n:]
}

// write makes the page whole before it answers, so that a failure is an error and not half a page.
func (c *Console) write(w http.ResponseWriter, r *http.Request, status int, p page) {
	now := c.Now()
	v := shown{page: p, Now: now, Sections: sections, Assets: static}
	v.Who, v.SignedIn = access.WhoOf(r.Context())
	v.Phones = v.Who.May(access.Phones)
	v.Self = r.URL.RequestURI()
	if v.SignedIn {
		c.stopped(r.Context(), &v)
	}
	v.Said, _ = r.Context().Value(saidKey{}).(*keyedAnswer)
	all := c.templates()
	v.Zone = all.zone.String()
	var out bytes.Buffer
	if err := all.render(&out, v); err != nil {
		c.Log.Error("console", zap.String("page", p.Name), zap.Error(err))
		http.Error(w, "the page could not be made; the daemon's log says why", http.StatusInternalServerError)
		return
	}
	listeners.Answering(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// What steers the direction of a text or cannot be seen is no part of a page, whoever wrote it.
		_, _ = io.WriteString(w, plain.Lines(out.String())) // whoever asked is gone
	}
}

// mostStops is how many holds of parts stand on a page that is about something else.
const mostStops = 3

// stopped fills in what is halted or paused, as far as the page does not say it. A page that cannot know it is shown all the same.
func (c *Console) stopped(ctx context.Context, v *shown) {
	all, err := c.Stopped(ctx)
	if err != nil {
		c.Log.Error("console: what is halted is not known", zap.Error(err))
	}
	for _, h := range all {
		switch {
		case h.OfEverything():
			v.Held = append(v.Held, h)
		case slices.ContainsFunc(v.Shows, h.Same):
		case len(v.Stops) == mostStops:
			v.Further++
		default:
			v.Stops = append(v.Stops, h)
		}
	}
}

// templates are those for the zone of now.
func (c *Console) templates() *pages {
	zone := c.Zone()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil || c.pages.zone.String() != zone.String() {
		c.pages = newPages(zone, c.Now)
	}
	return c.pages
}

// with is the address of this page with some of its query changed; "" takes a key out.
func with(u *url.URL, changes ...string) string {
	q := u.Query()
	for i := 0; i+1 < len(changes); i += 2 {
		q.Del(changes[i])
		if changes[i+1] != "" {
			q.Set(changes[i], changes[i+1])
		}
	}
	out := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}
	return out.String()
}
