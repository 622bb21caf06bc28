package console_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// long has a message for each number up to newest; those of its marks are accepted.
type long struct {
	newest  int64
	marks   []int64 // the newest first
	asked   []server.ListQuery
	counted string // down to which message reasons were
}

func (l *long) messages(r *http.Request) (any, error) {
	in := r.URL.Query()
	number := func(name string) (n int64) { n, _ = strconv.ParseInt(in.Get(name), 10, 64); return n }
	q := server.ListQuery{State: in.Get("state"), Limit: int(number("limit")), Before: number("before"), DownTo: number("down_to")}
	out := []server.MessageView{}
	l.asked = append(l.asked, q)
	most := l.newest
	if q.Before > 0 {
		most = q.Before - 1
	}
	if q.State == "" {
		if most > 0 {
			out = append(out, server.MessageView{MessageStory: store.MessageStory{Message: messaging.Message{ID: messaging.MessageID(most)}}})
		}
		return out, nil
	}
	for _, id := range l.marks {
		if id <= most && id >= q.DownTo && len(out) < q.Limit {
			out = append(out, server.MessageView{MessageStory: store.MessageStory{Message: messaging.Message{ID: messaging.MessageID(id), State: messaging.StateAccepted}}})
		}
	}
	return out, nil
}

func (l *long) reasons(r *http.Request) (any, error) {
	l.counted = r.URL.Query().Get("down_to")
	return server.BulkView{Count: 1, Groups: []server.GroupView{{Words: "no", Count: 1}}}, nil
}

func (l *long) answers() answers {
	return answers{
		"GET /messages": l.messages, "GET /messages/reasons": l.reasons, "GET /jobs": func(*http.Request) (any, error) { return []server.JobView{}, nil }, "GET /status": func(*http.Request) (any, error) { return server.StatusView{}, nil },
	}
}

// Whoever asks for what few match is shown those among the newest, and looks at older ones by a link, until there are none.
func TestAPageOfAListDoesNotWalkThroughEverything(t *testing.T) {
	l := &long{newest: 120_000, marks: []int64{119_000, 60_500, 5}}
	r := newRoom(t, false, l.answers())
	c := r.signIn(t)
	path, pages := "/messages?state=accepted", 0
	for _, want := range []string{"/messages/119000", "/messages/60500", "/messages/5"} {
		res, body := r.do(t, http.MethodGet, path, nil, c)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, `href="`+want+`"`) || strings.Count(body, `href="/messages/`) != 1 {
			t.Fatalf("%s: %d, want %s alone:\n%s", path, res.StatusCode, want, body)
		}
		for _, q := range l.asked {
			if q.State != "" && q.DownTo == 0 && q.Before > 50_001 {
				t.Errorf("%s asks without a bound: %+v", path, q)
			}
		}
		l.asked = nil
		pages++
		older := strings.Contains(body, `rel="next"`)
		if older != (pages < 3) {
			t.Fatalf("%s leads further: %t", path, older)
		}
		if older {
			head, _, _ := strings.Cut(body, `" rel="next"`)
			path = strings.ReplaceAll(head[strings.LastIndex(head, `href="`)+len(`href="`):], "&amp;", "&")
		}
	}
	// What an index knows is asked for whole, but for the reasons: these are counted, and among the newest alone.
	l.asked = nil
	if _, body := r.do(t, http.MethodGet, "/messages?state=rejected", nil, c); l.asked[0].DownTo != 0 || l.counted != "70001" || !strings.Contains(body, "Counted among the newest 50,000 messages.") {
		t.Errorf("rejected ones are looked for as %+v, and counted down to %s", l.asked, l.counted)
	}
}

// Names that others add to a link, such as those of a newsletter, keep nobody from a page: the routes of the API refuse them, and pages hand on
// what they know.
func TestAPageTakesALinkToWhichOthersAddedNames(t *testing.T) {
	r := newRoom(t, false, (&long{newest: 10}).answers())
	c := r.signIn(t)
	for _, added := range []string{"?utm_source=mail&fbclid=x", "?limit=7;x"} {
		if res, body := r.do(t, http.MethodGet, "/messages"+added, nil, c); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d\n%s", added, res.StatusCode, body)
		}
	}
}

// Filters that are rarely set are folded away, and open where one of them is set: what narrows a list is seen.
func TestFiltersThatAreSetAreSeen(t *testing.T) {
	r := newRoom(t, false, (&long{}).answers())
	cookie := r.signIn(t)
	for address, open := range map[string]bool{"/messages": false, "/messages?state=failed": false, "/messages?template=hello": true, "/messages?words=no": true} {
		_, body := r.do(t, http.MethodGet, address, nil, cookie)
		if is := strings.Contains(body, "<details open><summary>More filters"); is != open || !strings.Contains(body, "<summary>More filters") {
			t.Errorf("%s: the further filters are open: %v", address, is)
		}
	}
}

// Who asks for what there is not gets a link to the list of what there is, and no command.
func TestWhatIsNotFoundLeadsToItsList(t *testing.T) {
	r := newRoom(t, false, answers{"GET /messages/{id}": func(*http.Request) (any, error) {
		return nil, &refusal.Error{Status: http.StatusNotFound, Words: "no message 7", Hint: `"nudgewire messages list" shows the numbers`}
	}})
	res, body := r.do(t, http.MethodGet, "/messages/7", nil, r.signIn(t))
	_, main, _ := strings.Cut(body, "<main")
	if res.StatusCode != http.StatusNotFound || !strings.Contains(main, "No message 7.") || !strings.Contains(main, `<a href="/messages">Messages</a>`) || strings.Contains(main, "messages list") {
		t.Errorf("%d: %s", res.StatusCode, main)
	}
}
