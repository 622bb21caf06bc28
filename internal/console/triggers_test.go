package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/console"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// A trigger is a line of time, and sentences by what they are about; how it is held takes the place of its mode.
func TestATriggerIsALineOfTime(t *testing.T) {
	status := server.StatusView{}
	r := newRoom(t, false, answers{
		"GET /status": func(*http.Request) (any, error) { return status, nil },
		"GET /events": func(*http.Request) (any, error) {
			said := func(outcome messaging.Outcome, reason string) server.EventView {
				return server.EventView{Decisions: []messaging.Decision{{Trigger: "cart", Outcome: outcome, Reason: reason}}}
			}
			return []server.EventView{
				said(messaging.Cancelled, "cancelled before it was planned: order.paid (event 12) came at 2026-11-24 10:00:00 UTC"),
				said(messaging.Cancelled, "cancelled before it was planned: order.paid (event 7) came at 2026-11-23 22:15:09 UTC"),
				said(messaging.Skipped, "cart 12 has its message"), said(messaging.Planned, "template hello"),
			}, nil
		},
		"GET /report": func(*http.Request) (any, error) { return report.View{}, nil },
	})
	r.rules = []console.Rule{{
		Name: "cart", Mode: "shadow",
		Stages:    []triggers.Stage{{Kind: "begins", Words: "cart.updated from shop", If: "cart.total > 50"}, {Kind: "waits", Words: "45 minutes", Ends: "order.paid from shop"}, {Kind: "sends", Words: `template "hello"`}},
		Sentences: []triggers.Sentence{{Key: "on", About: "When", Text: "It begins."}, {Key: "limit", About: "To whom, and how often", Text: "It is limited."}, {Key: "wait", About: "When", Text: "It waits."}},
	}}
	ann := r.signIn(t)
	seen := func(path string, in ...string) {
		t.Helper()
		_, body := r.do(t, http.MethodGet, path, nil, ann)
		for _, want := range in {
			_, rest, found := strings.Cut(body, want)
			if !found {
				t.Fatalf("%s has no %s behind what stands before it: %s", path, want, body)
			}
			body = rest
		}
	}
	seen("/triggers/cart", `>shadow<`, `class="begins"`, "cart.updated from shop", "if cart.total &gt; 50", `class="waits"`, "45 minutes", "unless order.paid from shop comes", `class="sends"`, "hello",
		"<h3>When</h3>", "It begins.", "It waits.", "<h3>To whom, and how often</h3>", "It is limited.",
		"cancelled before it was planned: order.paid (event …) came at …</td><td class=\"n\">2<", "cart 12 has its message</td><td class=\"n\">1<")
	seen("/triggers", "cart", ">shadow<")
	status.Holds = []messaging.Hold{{Scope: messaging.ScopeTrigger, Name: "cart", Kind: messaging.HoldHalt}}
	seen("/triggers", "cart", ">halted<")
	if _, body := r.do(t, http.MethodGet, "/triggers", nil, ann); strings.Contains(body, ">shadow<") {
		t.Error("a halted trigger has two states")
	}
}

// What is halted or paused stands on every page, with its button, but where the page says so itself; beside a question it does not.
func TestWhatIsStoppedStandsOnEveryPage(t *testing.T) {
	r := newRoom(t, false, answers{
		"GET /status": func(*http.Request) (any, error) { return server.StatusView{}, nil },
		"GET /events": func(*http.Request) (any, error) { return []server.EventView{}, nil },
		"GET /report": func(*http.Request) (any, error) { return report.View{}, nil },
	})
	halt := func(scope messaging.HoldScope, name string) messaging.Hold {
		return messaging.Hold{Scope: scope, Name: name, Kind: messaging.HoldHalt, Reason: "wrong price", Who: "ann", At: time.Date(2026, 11, 24, 11, 57, 0, 0, time.UTC)}
	}
	run := messaging.RunHold(7, "paused by ben")
	run.Job = "winback"
	r.stopped = []messaging.Hold{halt(messaging.ScopeTrigger, "vip"), run}
	ann := r.signIn(t)
	_, body := r.do(t, http.MethodGet, "/triggers", nil, ann)
	for _, want := range []string{`<b>trigger &#34;vip&#34;</b> is halted, `, `">3 min ago</time> by ann: wrong price`, `Let trigger &#34;vip&#34; go on…`, `name="name" value="vip"`, "<b>run 7 of winback</b> is paused: paused by ben", "Let run 7 go on…", `name="run" value="7"`, "Halt everything…"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if _, body := r.do(t, http.MethodPost, "/do/halt", url.Values{"scope": {"trigger"}, "name": {"cart"}}, ann); strings.Contains(body, "wrong price") {
		t.Errorf("it stands beside a question: %s", body)
	}
	for _, name := range []string{"a", "b", "c"} {
		r.stopped = append(r.stopped, halt(messaging.ScopeJob, name))
	}
	if _, body := r.do(t, http.MethodGet, "/triggers", nil, ann); !strings.Contains(body, `job &#34;a&#34;</b> is halted`) || strings.Contains(body, `job &#34;b&#34;`) || !strings.Contains(body, `<a href="/">2 more</a>`) {
		t.Errorf("of five there is %s", body)
	}
}
