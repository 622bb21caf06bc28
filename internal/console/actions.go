package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// An action is what a page lets somebody do. Its form is posted to /do/NAME. Most ask first: they show what is meant and how much of
// it there is, and do it when the form of that page comes, which has sure set.
type action struct {
	scope access.Scope // that it needs, as the route has it, which checks it again
	sure  func(c *Console, ctx context.Context, f form) (confirmPage, error)
	do    func(c *Console, ctx context.Context, f form) (did, error)
}

// A did says what was done, in a sentence, and where that is seen; "" is the page that it was asked on.
type did struct{ words, place string }

// A confirmPage asks whether something is meant.
type confirmPage struct {
	Title  string
	Words  []string
	Counts []countsTable
	Tally  *messaging.Tally // counts of rows
	// Forecast is what would be sent, instead of Tally.
	Forecast *server.ForecastView
	LeftOut  []server.AgainView // messages that were meant and do not go, and why
	Fields   []field
	Nothing  bool   // there is nothing to do
	Yes      string // on the button
	Danger   bool   // the button takes something away

	Form actForm
}

type countsTable struct {
	Caption, What string
	Rows          []counted
}

// A field is what somebody says besides.
type field struct {
	Name, Label, Note string
	Options           [][2]string // value and words; a choice
	Check             string      // value of a box to tick
	Required          bool
	Longest           int
}

// why is the field for a reason, which the record has.
func why(label string) field { return field{Name: "reason", Label: label, Longest: 300} }

// An actForm is a form that asks for an action.
type actForm struct {
	Do, Words, Tone string
	Fields          [][2]string // hidden
	Once, Back      string
}

// Act makes the form of a button, nil for who may not. of are names and values of hidden fields.
func (s shown) Act(do, words, tone string, of ...any) *actForm {
	if !s.Who.May(actions[do].scope) {
		return nil
	}
	out := &actForm{Do: do, Words: words, Tone: tone, Once: newOnce(), Back: s.Self}
	for i := 0; i+1 < len(of); i += 2 {
		out.Fields = append(out.Fields, [2]string{fmt.Sprint(of[i]), fmt.Sprint(of[i+1])})
	}
	return out
}

// A form is what was posted.
type form struct{ url.Values }

// number is that of a message, an event or a run; 0 where none is named, and -1, which is that of nothing, where there is no number.
func (f form) number(name string) int64 {
	text := f.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return -1
	}
	return n
}

// since is how far back a list went when its form was made.
func (f form) since() time.Time {
	t, _ := time.Parse(time.RFC3339, f.Get("since")) // none is any time
	return t
}

// actions are all of them, by name.
var actions = map[string]action{}

func init() {
	for _, some := range []map[string]action{messageActions, haltActions, jobActions, peopleActions, redactionActions, eventActions, testActions, simulationActions} {
		maps.Copy(actions, some)
	}
}

// act answers the form of an action: with a page that asks whether it is meant, or by doing it and leading to the page that says so.
func (c *Console) act() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("action")
		a, ok := actions[name]
		who, known := access.WhoOf(r.Context())
		switch {
		case !known:
			c.write(w, r, http.StatusUnauthorized, page{Name: "signin", Title: "Sign in", Data: signInPage{}})
			return
		case !ok:
			c.refuse(w, r, &refusal.Error{Status: http.StatusNotFound, Words: "there is no such action"})
			return
		case !who.May(a.scope):
			c.refuse(w, r, &refusal.Error{Status: http.StatusForbidden, Words: who.Name + " may not do that: it needs the scope " + string(a.scope)})
			return
		}
		if err := r.ParseForm(); err != nil {
			c.refuse(w, r, &refusal.Error{Status: http.StatusBadRequest, Words: "the form cannot be read", Hint: "open the page again, and try again"})
			return
		}
		f := form{r.PostForm}
		back, once := local(f.Get("back")), f.Get("once")
		if a.sure != nil && f.Get("sure") == "" {
			sure, err := a.sure(c, r.Context(), f)
			if err != nil {
				c.carried(w, r, once, func() (*keyedAnswer, string) { return c.failed(r, err), back })
				return
			}
			sure.Form = actForm{Do: name, Words: sure.Yes, Fields: sure.pass(f), Once: newOnce(), Back: back}
			c.write(w, r, http.StatusOK, page{Name: "sure", Title: sure.Title, Here: sectionOf(back).Path, Data: sure})
			return
		}
		c.carried(w, r, once, func() (*keyedAnswer, string) {
			// A browser that asks again, or goes away, gives its first request up: what was begun is done all the same.
			done, err := a.do(c, context.WithoutCancel(r.Context()), f)
			if err != nil {
				return c.failed(r, err), back
			}
			if done.place != "" {
				back = done.place
			}
			return &keyedAnswer{Words: sentence(done.words), Tone: "good"}, back
		})
	})
}

// pass are the fields of a form that its question hands on.
func (p *confirmPage) pass(f form) (out [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		own := func(one field) bool { return one.Name == name }
		if !slices.Contains([]string{"once", "back", "sure"}, name) && !slices.ContainsFunc(p.Fields, own) {
			for _, value := range f.Values[name] {
				out = append(out, [2]string{name, value})
			}
		}
	}
	return append(out, [2]string{"sure", "yes"})
}

// carried does something once, and leads to the page that says what came of it.
func (c *Console) carried(w http.ResponseWriter, r *http.Request, once string, do func() (*keyedAnswer, string)) {
	if once == "" || len(once) > onceLong {
		once = newOnce()
	}
	_, place := c.once.carry(r, once, do)
	u, err := url.Parse(place)
	if err != nil {
		u = &url.URL{Path: "/"}
	}
	http.Redirect(w, r, with(u, "said", once), http.StatusSeeOther)
}

// failed is an error as a page says it. What is no word of ours is written to the log alone.
func (c *Console) failed(r *http.Request, err error) *keyedAnswer {
	e, ok := errors.AsType[*refusal.Error](err)
	if !ok {
		c.Log.Error("console", zap.String("action", r.PathValue("action")), zap.Error(err))
		return &keyedAnswer{Words: "It is not known whether that was done.", Hint: "The daemon's log says why.", Tone: "bad"}
	}
	return &keyedAnswer{Words: "Not done: " + e.Words + ".", Hint: sentence(e.Hint), Tone: "bad"}
}

// local is the path of a page of ours, the overview for what is none.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	out := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	return out.String()
}

// sectionOf is the entry of the navigation that a path belongs to, the overview for one that belongs to none.
func sectionOf(path string) section {
	for _, s := range sections[1:] {
		if strings.HasPrefix(path, s.Path) {
			return s
		}
	}
	return sections[0]
}
