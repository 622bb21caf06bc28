package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What needs a person has its button beside it, with what the button is about; what no page can do has its hint, without the command
// that shows what the link beside it shows.
func TestWhatNeedsAPersonHasItsButton(t *testing.T) {
	since := time.Date(2026, 11, 24, 11, 0, 0, 0, time.UTC)
	trouble := func(words string, one messaging.Trouble) messaging.Trouble {
		one.Severity, one.About, one.Words, one.Hint = messaging.Bad, "messages", words, `look at `+words+`; "nudgewire `+words+`" helps`
		return one
	}
	status := server.StatusView{
		Daemon: &server.DaemonView{FileVersion: "b", FileChangedAt: since},
		Troubles: []messaging.Trouble{
			trouble("halted", messaging.Trouble{Code: messaging.TroubleHalt, Resumes: &messaging.Resumed{Scope: messaging.ScopeTrigger, Name: "vip"}}),
			trouble("refused", messaging.Trouble{Code: messaging.TroubleTemplate, Resumes: &messaging.Resumed{Scope: messaging.ScopeTemplate, Name: "hello"}}),
			trouble("paused", messaging.Trouble{Code: messaging.TroublePaused, Run: 7}),
			trouble("awaits", messaging.Trouble{Code: messaging.TroubleApproval, Run: 3}),
			trouble("failing", messaging.Trouble{Code: messaging.TroubleFailing, Run: 4}),
			trouble("doubts", messaging.Trouble{Code: messaging.TroubleInDoubt}),
			trouble("differs", messaging.Trouble{Code: messaging.TroubleConfig}),
			trouble("full", messaging.Trouble{Code: messaging.TroubleDisk}),
		},
	}
	r := newRoom(t, false, answers{
		"GET /status": func(*http.Request) (any, error) { return status, nil },
		"GET /jobs":   func(*http.Request) (any, error) { return []server.JobView{}, nil },
		"GET /events": func(*http.Request) (any, error) { return []server.EventView{}, nil },
		"GET /report": func(*http.Request) (any, error) { return report.View{}, nil },
	})
	_, body := r.do(t, http.MethodGet, "/", nil, r.signIn(t))
	if !strings.Contains(body, "Messages go out. 8 things need a person.") {
		t.Error("the page does not say in a sentence how it is")
	}
	_, needs, _ := strings.Cut(body, `<ul class="needs">`)
	cards := strings.Split(needs, "<li ")[1:]
	for i, want := range [][]string{
		{`action="/do/resume"`, `name="scope" value="trigger"`, `name="name" value="vip"`},
		{`action="/do/resume"`, `name="scope" value="template"`, `name="name" value="hello"`},
		{`action="/do/go-on"`, `action="/do/cancel-run"`, `name="run" value="7"`, `href="/runs/7"`},
		{`action="/do/approve"`, `action="/do/cancel-run"`, `name="run" value="3"`, `href="/runs/3"`},
		{`action="/do/retry-run"`, `name="run" value="4"`},
		{`action="/do/resolve-all"`, `href="/messages?state=in_doubt"`},
		{`action="/do/reload"`, `href="/config"`},
		{"look at full", `href="/system"`},
	} {
		for _, part := range want {
			if !strings.Contains(cards[i], part) {
				t.Errorf("%q has no %s: %s", status.Troubles[i].Words, part, cards[i])
			}
		}
		if strings.Contains(cards[i], "helps") {
			t.Errorf("%q has a command beside its button or link", status.Troubles[i].Words)
		}
	}
}

// Above a list of what failed stands why, the most first, and each reason goes again alone.
func TestFailedMessagesAreCountedByTheirReason(t *testing.T) {
	var asked []string
	r := newRoom(t, false, answers{
		"GET /status": func(*http.Request) (any, error) { return server.StatusView{}, nil },
		"GET /jobs":   func(*http.Request) (any, error) { return []server.JobView{}, nil },
		"GET /messages": func(r *http.Request) (any, error) {
			asked = append(asked, r.URL.Query().Encode())
			return []server.MessageView{{What: "template"}}, nil
		},
		"GET /messages/reasons": func(r *http.Request) (any, error) {
			v := server.BulkView{Count: 23}
			for i := range 10 {
				v.Groups = append(v.Groups, server.GroupView{Words: strings.Repeat("x", i) + "<b>", Count: int64(10 - i)})
			}
			return v, nil
		},
		"POST /messages/retry": func(*http.Request) (any, error) { return server.BulkView{Count: 10}, nil },
	})
	cookie := r.signIn(t)
	_, body := r.do(t, http.MethodGet, "/messages?state=failed&trigger=cart", nil, cookie)
	for _, want := range []string{
		`<td class="n">10</td><td><a href="/messages?state=failed&amp;trigger=cart&amp;words=%3Cb%3E">&lt;b&gt;</a>`, `name="words" value="&lt;b&gt;"`, `<td class="n">3</td><td><span class="none">by other reasons</span>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s: %s", want, body)
		}
	}
	if _, body = r.do(t, http.MethodGet, "/messages?state=failed&words=%3Cb%3E", nil, cookie); !strings.Contains(asked[len(asked)-1], "words=%3Cb%3E") || strings.Contains(body, "by other reasons") {
		t.Errorf("the list of one reason asks for %s", asked[len(asked)-1])
	}
	if _, body = r.do(t, http.MethodGet, "/messages?state=delivered", nil, cookie); strings.Contains(body, "by other reasons") {
		t.Error("what was delivered has reasons")
	}
}
