package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/store"
)

// What came of a form is told to whoever sent it, and to nobody else who knows its word.
func TestWhatCameOfAFormIsTheSendersOwn(t *testing.T) {
	n := 0
	r := newRoom(t, false, answers{"POST /halt": func(*http.Request) (any, error) { n++; return []messaging.Hold{}, nil }})
	as := func(name string) *http.Cookie {
		link := r.link(t, access.Process(name), signin.LinkRequest{})
		res, _ := r.do(t, http.MethodPost, "/sign-in", url.Values{"link": {link}})
		return res.Cookies()[0]
	}
	ann, bob := as("ann"), as("bob")
	form := url.Values{"scope": {"all"}, "once": {"word"}, "sure": {"yes"}, "back": {"/people"}}
	for range 2 {
		if res, _ := r.do(t, http.MethodPost, "/do/halt", form, ann); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/people?said=word" {
			t.Fatalf("halting leads to %d %s", res.StatusCode, res.Header.Get("Location"))
		}
	}
	if n != 1 {
		t.Errorf("it was halted %d times", n)
	}
	if _, page := r.do(t, http.MethodGet, "/people?said=word", nil, ann); !strings.Contains(page, "Everything is halted.") || strings.Contains(page, "said=word") {
		t.Errorf("ann is told %s", page)
	}
	if _, page := r.do(t, http.MethodGet, "/people?said=word", nil, bob); strings.Contains(page, "halted") {
		t.Errorf("bob is told %s", page)
	}
	if _, page := r.do(t, http.MethodPost, "/do/halt", form, bob); n != 2 {
		t.Errorf("bob's own halt was not done: %s", page)
	}
	r.now = r.now.Add(time.Hour) // words are forgotten in the end
	for i := range 2010 {
		r.now = r.now.Add(time.Millisecond)
		form.Set("once", "w"+strconv.Itoa(i))
		r.do(t, http.MethodPost, "/do/halt", form, ann)
	}
	if _, page := r.do(t, http.MethodGet, "/people?said=w0", nil, ann); strings.Contains(page, "Everything is halted.") {
		t.Error("every word is kept")
	}
}

// retrying notes what was to be retried.
func retrying(asked *[]server.BulkRequest) answers {
	return answers{"POST /messages/retry": func(r *http.Request) (any, error) {
		var in server.BulkRequest
		err := json.NewDecoder(r.Body).Decode(&in)
		*asked = append(*asked, in)
		return server.BulkView{}, err
	}}
}

// A form whose number was broken is about nothing. Without a number it is about all that match.
func TestABrokenNumberIsNotEverything(t *testing.T) {
	var asked []server.BulkRequest
	r := newRoom(t, false, retrying(&asked))
	ann := r.signIn(t)
	for text, want := range map[string]messaging.MessageID{"": 0, "12": 12, "12x": -1, "0": -1, "-4": -1, "99999999999999999999": -1} {
		asked = nil
		r.do(t, http.MethodPost, "/do/retry", url.Values{"id": {text}, "state": {"failed"}, "sure": {"yes"}}, ann)
		if len(asked) != 1 || asked[0].Message != want {
			t.Errorf("%q asks for %+v, want message %d", text, asked, want)
		}
	}
}

// What a list was narrowed by narrows what is done to all of it, too.
func TestTheFiltersOfTheListNarrowWhatIsRetried(t *testing.T) {
	var asked []server.BulkRequest
	r := newRoom(t, false, retrying(&asked))
	f := url.Values{
		"phone": {"+447700900123"}, "trigger": {"welcome"}, "template": {"hello"}, "account": {"api"}, "state": {"failed"}, "class": {"no_points"}, "since": {"2026-11-25T10:00:00Z"},
	}
	_, page := r.do(t, http.MethodPost, "/do/retry", f, r.signIn(t))
	want := server.BulkRequest{
		Phone: "+447700900123", Trigger: "welcome", Template: "hello", Account: "api", State: "failed", Class: "no_points", Since: time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC), DryRun: true,
	}
	if len(asked) != 1 || !reflect.DeepEqual(asked[0], want) {
		t.Errorf("asked for %+v, want %+v", asked, want)
	}
	for _, words := range []string{"By the template hello.", "With an error of the class no_points."} {
		if !strings.Contains(page, words) {
			t.Errorf("the question does not say %q", words)
		}
	}
}

// Ticked messages are asked about once, each that is left out with its reason, and those that were ticked are retried. Nothing ticked is said.
func TestTickedMessagesGoAgain(t *testing.T) {
	var asked []server.BulkRequest
	known := retrying(&asked)
	known["POST /messages/retry/plan"] = func(r *http.Request) (any, error) {
		var in server.RetryPlanRequest
		err := json.NewDecoder(r.Body).Decode(&in)
		var out []server.AgainView
		for _, id := range in.Messages {
			out = append(out, server.AgainView{Message: id, Goes: id != 13, Why: "was so " + strconv.Itoa(int(id))})
		}
		return out, err
	}
	r := newRoom(t, false, known)
	ann := r.signIn(t)
	_, page := r.do(t, http.MethodPost, "/do/retry-these", url.Values{"tick": {"12", "13", "14"}, "back": {"/messages"}}, ann)
	for _, words := range []string{"Send 2 messages again?", "was so 12", `href="/messages/13"`, "was so 13", `name="tick" value="12"`, `name="tick" value="13"`, `name="tick" value="14"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the question does not have %q: %s", words, page)
		}
	}
	r.do(t, http.MethodPost, "/do/retry-these", url.Values{"tick": {"12", "13"}, "sure": {"yes"}}, ann)
	if len(asked) != 1 || !reflect.DeepEqual(asked[0], server.BulkRequest{Messages: []messaging.MessageID{12, 13}}) {
		t.Errorf("asked for %+v", asked)
	}
	for _, form := range []url.Values{{}, {"tick": {"12x"}}, {"tick": {"-3"}}, {"sure": {"yes"}}} {
		form.Set("back", "/messages?state=failed")
		res, _ := r.do(t, http.MethodPost, "/do/retry-these", form, ann)
		if at := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/messages?") {
			t.Errorf("%v leads to %d %s", form, res.StatusCode, at)
		} else if _, page := r.do(t, http.MethodGet, strings.Replace(at, "/messages", "/people", 1), nil, ann); !strings.Contains(page, "Not done: ") {
			t.Errorf("%v is answered %s", form, page)
		}
	}
	if len(asked) != 1 {
		t.Errorf("asked for %+v", asked)
	}
}

func TestWhatIsNoActionSaysSo(t *testing.T) {
	r := newRoom(t, false, nil)
	if res, _ := r.do(t, http.MethodPost, "/do/nothing", url.Values{}, r.signIn(t)); res.StatusCode != http.StatusNotFound {
		t.Errorf("no action is answered %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodPost, "/do/halt", url.Values{"sure": {"yes"}}); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger's halt is answered %d", res.StatusCode)
	}
}

// knowing knows message 7, which the service calls 5f-1, and event 9.
var knowing = answers{
	"GET /messages/{id}": func(r *http.Request) (any, error) {
		if id := r.PathValue("id"); id == "7" || id == "5f-1" {
			return server.MessageView{MessageStory: store.MessageStory{Message: messaging.Message{ID: 7}}}, nil
		}
		return nil, &refusal.Error{Status: http.StatusNotFound, Words: "no message"}
	},
	"GET /events/{id}": func(r *http.Request) (any, error) {
		if r.PathValue("id") != "9" {
			return nil, &refusal.Error{Status: http.StatusNotFound, Words: "no event"}
		}
		return server.StoryView{Event: server.EventView{ID: 9}}, nil
	},
	"GET /contacts": func(r *http.Request) (any, error) {
		switch r.URL.Query().Get("find") {
		case "river", "#1001":
			return []messaging.FoundContact{{Phone: "447700900123", Name: "Ada River", By: "name"}}, nil
		case "6":
			return []messaging.FoundContact{{Phone: "447700900124", Name: "Ben Lake", By: "order"}}, nil
		case "broken":
			return nil, &refusal.Error{Status: http.StatusInternalServerError, Words: "the disk is gone"}
		}
		return []messaging.FoundContact{}, nil
	},
	"GET /runs/{id}": func(r *http.Request) (any, error) {
		if id := r.PathValue("id"); id != "5" && id != "6" {
			return nil, &refusal.Error{Status: http.StatusNotFound, Words: "no run"}
		}
		return server.RunView{Run: messaging.Run{ID: 6, Job: "spring-news", State: messaging.RunDone}}, nil
	},
}

func TestWhatIsTypedIsFound(t *testing.T) {
	r := newRoom(t, false, knowing)
	cookie := r.signIn(t)
	for text, want := range map[string]string{
		"+44 7700 900123": "/people?find=%2B44+7700+900123", "07700900123": "/people?find=07700900123", "7": "/messages/7", "5f-1": "/messages/7", "9": "/events/9",
		"event 12": "/events/12", "river": "/people?find=river", "#1001": "/people?find=%231001", "e12": "/events/12", "m 3": "/messages/3", "Run 4": "/runs/4", "r4": "/runs/4", "5": "/runs/6", "4407 ": "", "8": "", "": "", "//evil.example": "", "<b>": "", "event -1": "",
	} {
		res, body := r.do(t, http.MethodGet, "/find?q="+url.QueryEscape(text), nil, cookie)
		if want == "" {
			nothing := strings.Contains(body, "Nothing is found by that.") && strings.Contains(body, "among phones, names, e-mail addresses, orders, carts")
			if res.StatusCode != http.StatusOK || nothing == (text == "") || !strings.Contains(body, "Type a phone with its country code") || strings.Contains(body, "<b><b>") {
				t.Errorf("%q answers %d %s", text, res.StatusCode, body)
			}
			continue
		}
		if at := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || at != want {
			t.Errorf("%q leads to %d %s, want %s", text, res.StatusCode, at, want)
		}
	}
	_, body := r.do(t, http.MethodGet, "/find?q=6", nil, cookie)
	for _, words := range []string{"Looked for <b>6</b> among", `href="/runs/6"`, "spring-news", "Ben Lake", "found by order"} {
		if !strings.Contains(body, words) {
			t.Errorf("a run and an order of one number: no %q in %s", words, body)
		}
	}
	if res, _ := r.do(t, http.MethodGet, "/find?q=broken", nil, cookie); res.StatusCode != http.StatusInternalServerError {
		t.Errorf("a search that cannot look is answered %d", res.StatusCode)
	}
}

// approving has a run that two people have to approve.
func approving(state messaging.RunState) answers {
	run := func(state messaging.RunState, words string) func(*http.Request) (any, error) {
		return func(*http.Request) (any, error) {
			return server.RunView{Run: messaging.Run{ID: 3, Job: "news", State: state, Tally: messaging.Tally{Kept: 1200}}, Approvals: &server.ApprovalsView{Need: 2, Words: words}}, nil
		}
	}
	forecast := func(*http.Request) (any, error) {
		return server.ForecastView{Run: 3, Job: "news", Tally: messaging.Tally{Kept: 1200}}, nil
	}
	return answers{"GET /runs/{id}": run(messaging.RunAwaiting, "0 of 2 approved"), "GET /runs/{id}/forecast": forecast, "POST /runs/{id}/approve": run(state, "1 of 2 approved: ann")}
}

// What is said of an approval is what it did: one of two lets nothing go.
func TestOneApprovalOfTwoSaysSo(t *testing.T) {
	for state, want := range map[messaging.RunState]string{
		messaging.RunAwaiting: "which waits for more people: 1 of 2 approved: ann.", messaging.RunUploading: "was approved, and goes out now.",
	} {
		r := newRoom(t, false, approving(state))
		cookie := r.signIn(t)
		if _, page := r.do(t, http.MethodPost, "/do/approve", url.Values{"run": {"3"}, "back": {"/people"}}, cookie); !strings.Contains(page, "when 2 people approved it, to 1,200 phones") || strings.Contains(page, "at once") {
			t.Errorf("it asks %s", page)
		}
		r.do(t, http.MethodPost, "/do/approve", url.Values{"run": {"3"}, "back": {"/people"}, "once": {"word"}, "sure": {"yes"}}, cookie)
		if _, page := r.do(t, http.MethodGet, "/people?said=word", nil, cookie); !strings.Contains(page, want) {
			t.Errorf("%s: it says %s", state, page)
		}
	}
}
