package setup

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/console"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

//go:embed setup.html
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"words":   func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") },
	"capital": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
}).ParseFS(files, "setup.html"))

// cookieName is of this page's own: a console on the same host has another.
const cookieName = "nudgewire-setup"

// maxForm bounds what a browser posts: rules, at the most.
const maxForm = 1 << 20

// A test is the message to one's own phone.
type test struct {
	key     string // of the order, so that a second press sends nothing twice
	message messaging.MessageID
}

// handler answers the browser that opened the link.
func (g *guide) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", g.show)
	mux.HandleFunc("POST /sign-in", g.signIn)
	for step, do := range map[string]func(*http.Request) *wrong{
		stepService:   func(r *http.Request) *wrong { return g.answerService(r.Context(), r) },
		stepSender:    g.answerSender,
		stepConnector: g.answerConnector,
		stepRule:      g.answerRule,
		stepWrite:     func(r *http.Request) *wrong { return g.write(r.Context()) },
	} {
		mux.Handle("POST /"+step, g.known(g.take(step, do)))
	}
	mux.Handle("POST /sample", g.known(g.act(func(ctx context.Context) error { return g.daemon.postSample(ctx) })))
	mux.Handle("POST /test", g.known(g.act(g.test)))
	mux.Handle("GET /console", g.known(http.HandlerFunc(g.toConsole)))
	mux.Handle("GET /static/{file}", console.Static())
	return sameOrigin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		console.SetHeaders(w.Header())
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		listeners.Working(w)
		mux.ServeHTTP(w, r)
	}))
}

// A view is what the template sees.
type view struct {
	Assets *console.Assets
	Step   string
	Number int // of the step, from 1
	Steps  []stepView
	A      *answers
	Wrong  *wrong

	Link string // that is to be confirmed, before anything else
	Shut bool   // another browser has the link, or it is none

	Senders   []connectors.Info
	Info      connectors.Info
	Questions []question
	Offers    []offer
	Offer     string
	URL       string // to paste at the sender
	Secret    string // to paste at the sender, where it was made here
	Text      string // of the config
	Files     []string
	Warnings  []problem
	First     first
	Running   bool
	Serve     string // the command that starts the daemon from now on
}

type stepView struct {
	Name, Title     string
	Open, Here, Now bool
}

var titles = map[string]string{
	stepService: "Messaging service", stepSender: "Who sends webhooks", stepConnector: "Connect it", stepRule: "First rule", stepWrite: "Look, and start", stepFirst: "First webhook and message",
}

// known lets in the browser that opened the link.
func (g *guide) known(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(cookieName); err == nil && g.knows(c.Value) {
			h.ServeHTTP(w, r)
			return
		}
		write(w, http.StatusUnauthorized, &view{Shut: true})
	})
}

// show shows a step that was reached: that of the address, else the furthest.
func (g *guide) show(w http.ResponseWriter, r *http.Request) {
	link := r.URL.Query().Get("link")
	if c, err := r.Cookie(cookieName); err != nil || !g.knows(c.Value) {
		write(w, http.StatusUnauthorized, &view{Link: link, Shut: link == ""})
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(steps, r.URL.Query().Get("step"))
	if at < 0 || at > g.reached {
		at = g.reached
	}
	write(w, http.StatusOK, g.view(r, steps[at], nil))
}

func (g *guide) signIn(w http.ResponseWriter, r *http.Request) {
	session, ok := g.opened(r.FormValue("link"))
	if !ok {
		write(w, http.StatusUnauthorized, &view{Shut: true})
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // loopback has no TLS
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// take has a step answered, and goes to the next one.
func (g *guide) take(step string, do func(*http.Request) *wrong) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		at := slices.Index(steps, step)
		if err := r.ParseForm(); err != nil || at > g.reached {
			write(w, http.StatusBadRequest, g.view(r, steps[g.reached], &wrong{Words: "That could not be read.", Hint: "go on here"}))
			return
		}
		if g.written != nil && step != stepWrite {
			write(w, http.StatusConflict, g.view(r, steps[g.reached], &wrong{Words: "The config is written: setup changes it no more.", Hint: "edit " + g.path + `, then "nudgewire reload"`}))
			return
		}
		if bad := do(r); bad != nil {
			write(w, http.StatusUnprocessableEntity, g.view(r, step, bad))
			return
		}
		g.reached = max(g.reached, at+1)
		http.Redirect(w, r, "/?step="+steps[at+1], http.StatusSeeOther)
	})
}

// act does something with the daemon that runs, and shows the last step again.
func (g *guide) act(do func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.daemon == nil {
			write(w, http.StatusConflict, g.view(r, steps[g.reached], &wrong{Words: "The daemon does not run yet."}))
			return
		}
		if err := do(r.Context()); err != nil {
			bad := &wrong{Words: err.Error()}
			if told, is := errors.AsType[*refusal.Error](err); is {
				bad = &wrong{Words: told.Words, Hint: told.Hint}
			}
			write(w, http.StatusUnprocessableEntity, g.view(r, stepFirst, bad))
			return
		}
		http.Redirect(w, r, "/?step="+stepFirst, http.StatusSeeOther)
	})
}

// test sends a message of the rule to one's own phone, filled in from the webhook that came, else from a sample.
func (g *guide) test(ctx context.Context) error {
	if g.tested.key == "" {
		g.tested.key = rand.Text()
	}
	f := g.daemon.look(ctx, 0)
	var event messaging.EventID
	if f.Event != nil {
		event = f.Event.ID
	}
	id, err := g.daemon.sendTest(ctx, event, g.tested.key)
	if err != nil {
		g.tested.key = "" // what was refused may be asked for anew
		return err
	}
	g.tested.message = id
	return nil
}

func (g *guide) toConsole(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.daemon == nil {
		write(w, http.StatusConflict, g.view(r, steps[g.reached], &wrong{Words: "The daemon does not run yet."}))
		return
	}
	link, err := g.daemon.consoleLink(r.Context())
	if err != nil {
		write(w, http.StatusInternalServerError, g.view(r, stepFirst, &wrong{Words: "There is no link to the console: " + err.Error()}))
		return
	}
	http.Redirect(w, r, link+"#begin", http.StatusSeeOther)
}

// view is what a step shows. The lock is held.
func (g *guide) view(r *http.Request, step string, bad *wrong) *view {
	at := slices.Index(steps, step)
	v := &view{Step: step, Number: at + 1, A: &g.a, Wrong: bad, Running: g.daemon != nil, Files: g.written}
	for i, name := range steps {
		v.Steps = append(v.Steps, stepView{Name: name, Title: titles[name], Open: i <= g.reached, Here: i == at})
	}
	v.Info, _ = g.a.info()
	switch step {
	case stepSender:
		v.Senders = connectors.Presets()
	case stepConnector:
		v.Questions = questionsOf(&v.Info)
		v.URL = hookURL(&v.Info, g.a.base(), "")
	case stepRule:
		g.offers(r, v)
	case stepWrite:
		v.Text = g.a.text(fromFile)
		if v.Files == nil {
			for _, f := range g.a.files(g.path) {
				v.Files = append(v.Files, f.Path)
			}
		}
		_, problems := g.a.check()
		v.Warnings = g.a.shown(problems.Warnings())
	case stepFirst:
		g.first(r.Context(), v)
	}
	return v
}

// offers fills in the rules to choose from, and those of the one that was chosen.
func (g *guide) offers(r *http.Request, v *view) {
	all, err := offersFor(&v.Info)
	if err != nil {
		v.Wrong = &wrong{Words: err.Error()}
		return
	}
	v.Offers = all
	asked := r.URL.Query().Get("offer")
	for _, o := range all {
		if asked == o.Name || asked == "" && g.a.Rules == "" {
			asked, g.a.Rules = o.Name, o.Rules
			break
		}
	}
	v.Offer = asked
}

// first fills in what came.
func (g *guide) first(ctx context.Context, v *view) {
	if g.daemon == nil {
		return
	}
	secretName := connectors.Variable(v.Info.Name) + "_SECRET"
	v.URL = hookURL(&v.Info, g.a.base(), g.a.Values[secretName])
	for _, q := range questionsOf(&v.Info) {
		if q.Own && q.Variable == secretName {
			v.Secret = g.a.Values[secretName]
		}
	}
	v.First = g.daemon.look(ctx, g.tested.message)
	v.Serve = "nudgewire serve --config " + g.path
	if g.path == "config.yaml" {
		v.Serve = "nudgewire serve"
	}
}

// write answers with a page, made whole before.
func write(w http.ResponseWriter, status int, v *view) {
	v.Assets = console.Static()
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, "page", v); err != nil {
		http.Error(w, "the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	listeners.Answering(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, plain.Lines(out.String())) // whoever asked is gone
}
