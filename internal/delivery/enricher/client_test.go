package enricher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

const (
	theToken  = "tok-5f0c2a"
	theSecret = "client-secret-77"
)

// crm is a server that answers as a test says.
func crm(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	c := NewClient(o)
	t.Cleanup(c.Close)
	return c
}

// ask is a look-up at a server of the test's own.
func ask(t *testing.T, base, path string, changes ...func(*connectors.Lookup)) connectors.Lookup {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	l := connectors.Lookup{
		Connector: "crm", URL: base + path, Host: u.Host, Into: "lead", Header: http.Header{}, AllowPrivate: true,
		Auth: connectors.Auth{Kind: connectors.AuthBearer, Header: "Authorization", Prefix: "Bearer ", Token: secret.New(theToken)},
	}
	for _, c := range changes {
		c(&l)
	}
	return l
}

// failure is the error of a Fetch, which must not show what is nobody's business.
func failure(t *testing.T, err error) *FetchError {
	t.Helper()
	failed, ok := errors.AsType[*FetchError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	for _, hidden := range []string{theToken, theSecret, "person=ada", "in the answer"} {
		if strings.Contains(err.Error(), hidden) {
			t.Errorf("the words show %q: %v", hidden, err)
		}
	}
	return failed
}

func TestALookUpProvesItselfAsItsConnectorSays(t *testing.T) {
	tests := map[string]struct {
		auth         connectors.Auth
		header, want string
	}{
		"bearer": {connectors.Auth{Kind: connectors.AuthBearer, Header: "Authorization", Prefix: "Bearer ", Token: secret.New("x")}, "Authorization", "Bearer x"},
		"header": {connectors.Auth{Kind: connectors.AuthHeader, Header: "X-Auth-Token", Token: secret.New("x")}, "X-Auth-Token", "x"},
		"basic":  {connectors.Auth{Kind: connectors.AuthBasic, User: "u", Token: secret.New("p")}, "Authorization", "Basic dTpw"},
		"none":   {connectors.Auth{}, "Authorization", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			s := crm(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Clone()
				fmt.Fprint(w, `{"phone":"1"}`)
			})
			l := ask(t, s.URL, "/c", func(l *connectors.Lookup) { l.Auth = tt.auth; l.Header.Set("Revision", "2026-01-15") })
			answer, err := client(t, ClientOptions{UserAgent: "nudgewire/test"}).Fetch(t.Context(), l)
			if err != nil || string(answer) != `{"phone":"1"}` {
				t.Fatalf("%s %v", answer, err)
			}
			if got.Get(tt.header) != tt.want || got.Get("User-Agent") != "nudgewire/test" || got.Get("Revision") != "2026-01-15" || got.Get("Accept") != "application/json" {
				t.Errorf("headers %v", got)
			}
			l.Header.Set("User-Agent", "Shop app (ops@example.com)")
			if _, err := client(t, ClientOptions{UserAgent: "nudgewire/test"}).Fetch(t.Context(), l); err != nil || got.Get("User-Agent") != "Shop app (ops@example.com)" {
				t.Errorf("the config names another User-Agent: asked as %q (%v)", got.Get("User-Agent"), err)
			}
		})
	}
}

func TestWhatACRMAnswersIsJudged(t *testing.T) {
	elsewhere := crm(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	tests := map[string]struct {
		answer http.HandlerFunc
		words  string
		final  bool
		after  time.Duration
	}{
		"not found":                    {status(404), "404 Not Found", true, 0},
		"not allowed":                  {status(403), "403 Forbidden, so its token is wrong, has ended, or may not see this", true, 0},
		"a wrong token":                {status(401), "401 Unauthorized, so its token is wrong, has ended, or may not see this", true, 0},
		"a bad request":                {status(400), "400 Bad Request", true, 0},
		"trouble":                      {status(503), "503 Service Unavailable", false, 0},
		"trouble for now":              {status(503, "Retry-After", "90"), "503 Service Unavailable", false, 90 * time.Second},
		"too many":                     {status(429, "Retry-After", "7"), "429 Too Many Requests", false, 7 * time.Second},
		"too many, without a word":     {status(429), "429 Too Many Requests", false, firstPause},
		"too many, for a day":          {status(429, "Retry-After", "86400"), "429 Too Many Requests", false, maxRetryAfter},
		"an answer without a body":     {status(204), "204 No Content", true, 0},
		"a redirect to another host":   {redirect(elsewhere.URL + "/c"), "it answers with a redirect to another host", true, 0},
		"a redirect with a user in it": {func(w http.ResponseWriter, r *http.Request) { redirect("http://u:p@"+r.Host+"/c")(w, r) }, "it answers with a redirect to another host", true, 0},
		"a huge answer":                {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("in the answer", 100)) }, "its answer is longer than 1000 bytes", true, 0},
		"an answer that is cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "in the answer")
		}, "its answer was cut short", false, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := crm(t, tt.answer)
			_, err := client(t, ClientOptions{MaxAnswer: 1000}).Fetch(t.Context(), ask(t, s.URL, "/c?person=ada"))
			failed := failure(t, err)
			host := strings.TrimPrefix(s.URL, "http://")
			if want := "could not be looked up at " + host + ": " + tt.words; err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if failed.Final != tt.final || failed.RetryAfter != tt.after {
				t.Errorf("final %v, after %v", failed.Final, failed.RetryAfter)
			}
		})
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		if code != http.StatusNoContent {
			fmt.Fprint(w, "in the answer")
		}
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

func TestARedirectWithinTheHostIsFollowed(t *testing.T) {
	s := crm(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+theToken {
			t.Error("the token was lost on the way")
		}
		fmt.Fprint(w, `{}`)
	})
	if _, err := client(t, ClientOptions{}).Fetch(t.Context(), ask(t, s.URL, "/old")); err != nil {
		t.Error(err)
	}
	loop := crm(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
	if _, err := client(t, ClientOptions{}).Fetch(t.Context(), ask(t, loop.URL, "/a")); err == nil {
		t.Error("a loop of redirects ended well")
	}
}

func TestASlowCRMIsNotWaitedFor(t *testing.T) {
	release := make(chan struct{})
	s := crm(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	_, err := client(t, ClientOptions{Timeout: 50 * time.Millisecond}).Fetch(t.Context(), ask(t, s.URL, "/c"))
	if failed := failure(t, err); failed.Final || failed.Words != "it did not answer within 50ms" {
		t.Errorf("%+v", failed)
	}
}

func TestACRMThatIsNotThereIsAskedAgain(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := client(t, ClientOptions{}).Fetch(t.Context(), ask(t, s.URL, "/c?person=ada"))
	if failed := failure(t, err); failed.Final || !strings.HasPrefix(failed.Words, "it did not answer (dial: ") {
		t.Errorf("%+v", failed)
	}
}

func TestPrivateAddressesAreRefusedWhenTheyAreDialled(t *testing.T) {
	s := crm(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	// The name says nothing bad; only what it resolves to does.
	for _, base := range []string{s.URL, "http://localhost:" + port} {
		l := ask(t, base, "/c", func(l *connectors.Lookup) { l.AllowPrivate = false })
		_, err := client(t, ClientOptions{}).Fetch(t.Context(), l)
		if failed := failure(t, err); !failed.Final || failed.Words != "its address is private or special, and the connector does not have allow_private: true" {
			t.Errorf("%s: %+v", base, failed)
		}
	}
}

func TestAnAnswerIsAskedForOnceWhileItCounts(t *testing.T) {
	var asked atomic.Int32
	s := crm(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, asked.Add(1)) })
	c := client(t, ClientOptions{})
	cached := func(l *connectors.Lookup) { l.Cache = time.Hour }
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if answer, err := c.Fetch(t.Context(), ask(t, s.URL, "/c/1", cached)); err != nil || string(answer) != "1" {
				t.Errorf("%s %v", answer, err)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	for _, l := range []connectors.Lookup{
		ask(t, s.URL, "/c/2", cached),
		ask(t, s.URL, "/c/1", cached, func(l *connectors.Lookup) { l.Connector = "other" }), // another account
		ask(t, s.URL, "/c/1"), // does not want an old one
	} {
		before := asked.Load()
		if _, err := c.Fetch(t.Context(), l); err != nil || asked.Load() != before+1 {
			t.Errorf("%s was not asked for anew (%v)", l.URL, err)
		}
	}
}

func TestAFailureIsNotKept(t *testing.T) {
	var asked atomic.Int32
	s := crm(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			status(503)(w, r)
			return
		}
		fmt.Fprint(w, "{}")
	})
	c := client(t, ClientOptions{})
	l := ask(t, s.URL, "/c", func(l *connectors.Lookup) { l.Cache = time.Hour })
	if _, err := c.Fetch(t.Context(), l); err == nil {
		t.Error("no failure")
	}
	if _, err := c.Fetch(t.Context(), l); err != nil {
		t.Error(err)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	c := newCache(3, 10_000)
	for i := range 5 {
		c.put(fmt.Sprint(i), []byte("x"), now.Add(time.Minute))
		c.get("2", now)
	}
	var held []string
	for i := range 5 {
		if _, ok := c.get(fmt.Sprint(i), now); ok {
			held = append(held, fmt.Sprint(i))
		}
	}
	if got := strings.Join(held, " "); got != "2 3 4" {
		t.Errorf("held %s", got)
	}
	if _, ok := c.get("3", now.Add(time.Minute)); ok {
		t.Error("an old answer was given")
	}
	c.put("large", make([]byte, 9_000), now.Add(time.Minute))
	if _, ok := c.get("large", now); !ok || c.held > c.bytes {
		t.Errorf("held %d bytes", c.held)
	}
	c.put("too large", make([]byte, 10_000), now.Add(time.Minute))
	if _, ok := c.get("too large", now); ok {
		t.Error("it holds more than it may")
	}
	c.put("large", []byte("x"), now.Add(time.Minute))
	for at := c.order.Front(); at != nil; at = c.order.Front() {
		c.drop(at)
	}
	if c.held != 0 || len(c.byKey) != 0 {
		t.Errorf("%d bytes of nothing", c.held)
	}
}

func TestA429HoldsTheOthersBackWithoutCountingAgainstThem(t *testing.T) {
	var asked atomic.Int32
	s := crm(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		status(429, "Retry-After", "60")(w, r)
	})
	c := client(t, ClientOptions{})
	_, err := c.Fetch(t.Context(), ask(t, s.URL, "/c/1"))
	if failed := failure(t, err); failed.Free {
		t.Error("the first one was an attempt")
	}
	_, err = c.Fetch(t.Context(), ask(t, s.URL, "/c/2"))
	if failed := failure(t, err); !failed.Free || failed.RetryAfter <= 50*time.Second || failed.RetryAfter > time.Minute || asked.Load() != 1 {
		t.Errorf("%+v, asked %d times", failed, asked.Load())
	}
}

func TestTheRateOfAHostIsKept(t *testing.T) {
	now := time.Unix(1000, 0)
	var all hosts
	h := all.of("crm", "api.example.com", 0.05) // one in twenty seconds
	if wait, err := h.enter(t.Context(), now); wait != 0 || err != nil {
		t.Errorf("the first waits %v (%v)", wait, err)
	}
	for range 3 { // what is sent away takes nobody's turn
		if wait, err := h.enter(t.Context(), now); wait != 20*time.Second || err != nil {
			t.Errorf("the second waits %v (%v)", wait, err)
		}
	}
	if all.of("crm", "api.example.com", 0.05) != h || all.of("other", "api.example.com", 0.05) == h {
		t.Error("a host belongs to one connector")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	slow := all.of("crm", "slow.example.com", 1)
	if _, err := slow.enter(ctx, time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := slow.enter(ctx, time.Now()); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait goes on after its end: %v", err)
	}
}

// oauth is a place that gives tokens, and a CRM that takes only the newest.
type oauth struct {
	*httptest.Server
	mu     sync.Mutex
	given  int
	forms  []url.Values
	answer func(n int) (int, string) // of the n-th token; nil is a good one
	taken  int                       // the CRM takes tokens from this number on
}

func newOAuth(t *testing.T) *oauth {
	t.Helper()
	o := &oauth{taken: 1}
	o.Server = crm(t, func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if r.URL.Path != "/token" {
			n := 0
			if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Zoho access-%d", &n); err != nil || n < o.taken {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, `{"phone":"1"}`)
			return
		}
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s %v", r.Method, err)
		}
		o.given++
		o.forms = append(o.forms, r.PostForm)
		if o.answer != nil {
			code, body := o.answer(o.given)
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return
		}
		fmt.Fprintf(w, `{"access_token":"access-%d","expires_in":3600,"token_type":"Bearer"}`, o.given)
	})
	return o
}

func (o *oauth) ask(t *testing.T) connectors.Lookup {
	return ask(t, o.URL, "/c", func(l *connectors.Lookup) {
		l.Auth = connectors.Auth{Kind: connectors.AuthOAuth2, Header: "Authorization", Prefix: "Zoho ", OAuth: connectors.OAuth{
			TokenURL: o.URL + "/token", Grant: "refresh_token", ClientID: "id", ClientSecret: secret.New(theSecret), RefreshToken: secret.New("refresh-1"),
		}}
	})
}

func TestAnAccessTokenIsFetchedOnceAndRenewedWhenItIsRefused(t *testing.T) {
	o := newOAuth(t)
	c := client(t, ClientOptions{})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := c.Fetch(t.Context(), o.ask(t)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if o.given != 1 {
		t.Errorf("%d tokens were fetched", o.given)
	}
	want := "client_id=id&client_secret=" + theSecret + "&grant_type=refresh_token&refresh_token=refresh-1"
	if got := o.forms[0].Encode(); got != want {
		t.Errorf("asked by %s", got)
	}
	o.mu.Lock()
	o.taken = 2 // somebody revoked the first one
	o.mu.Unlock()
	if _, err := c.Fetch(t.Context(), o.ask(t)); err != nil || o.given != 2 {
		t.Errorf("%v after %d tokens", err, o.given)
	}
	o.mu.Lock()
	o.taken = 99 // none is good enough
	o.mu.Unlock()
	_, err := c.Fetch(t.Context(), o.ask(t))
	if failed := failure(t, err); !failed.Final || failed.Status != 401 || o.given != 3 {
		t.Errorf("%+v after %d tokens", failed, o.given)
	}
}

func TestAnAccessTokenIsRenewedBeforeItEnds(t *testing.T) {
	o := newOAuth(t)
	o.answer = func(n int) (int, string) {
		return 200, fmt.Sprintf(`{"access_token":"access-%d","expires_in":"1","refresh_token":"refresh-%d"}`, n, n+1)
	}
	c := client(t, ClientOptions{})
	for range 2 {
		if _, err := c.Fetch(t.Context(), o.ask(t)); err != nil {
			t.Fatal(err)
		}
		l := o.ask(t)
		g := c.tokens.of(&l)
		g.mu.Lock()
		if g.until.After(time.Now().Add(time.Second)) {
			t.Errorf("counts until %v", g.until)
		}
		g.until = time.Now().Add(-time.Second)
		g.mu.Unlock()
	}
	if o.given != 2 || o.forms[1].Get("refresh_token") != "refresh-2" {
		t.Errorf("%d tokens, the second by %s", o.given, o.forms[1].Encode())
	}
}

func TestATokenThatIsNotGivenIsSaidInWords(t *testing.T) {
	tests := map[string]struct {
		code  int
		body  string
		words string
		final bool
	}{
		"a wrong refresh token":         {400, `{"error":"invalid_grant","error_description":"in the answer"}`, "400 Bad Request (invalid_grant), so its refresh token has ended: get a new one and write it into the config", true},
		"one refused with 200":          {200, `{"error":"invalid_code"}`, "its answer holds none (invalid_code)", true},
		"an error that is no code":      {200, `{"error":"in the answer"}`, "its answer holds none", true},
		"a page instead of an answer":   {200, `<html>in the answer</html>`, "its answer holds none", true},
		"a token that is two headers":   {200, `{"access_token":"a\r\nX: y"}`, "its answer holds none", true},
		"a place that is in trouble":    {502, `in the answer`, "502 Bad Gateway", false},
		"a place that wants some peace": {429, ``, "429 Too Many Requests", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := newOAuth(t)
			o.answer = func(int) (int, string) { return tt.code, tt.body }
			_, err := client(t, ClientOptions{}).Fetch(t.Context(), o.ask(t))
			failed := failure(t, err)
			host := strings.TrimPrefix(o.URL, "http://")
			if want := "no access token from " + host + ": " + tt.words; failed.Words != want || failed.Final != tt.final {
				t.Errorf("got  %s (final %v)\nwant %s", failed.Words, failed.Final, want)
			}
		})
	}
}

func TestAClientsOwnCredentialsNeedNoRefreshToken(t *testing.T) {
	o := newOAuth(t)
	l := o.ask(t)
	l.Auth.OAuth.Grant, l.Auth.OAuth.RefreshToken, l.Auth.OAuth.Scope = "client_credentials", secret.Secret{}, "read"
	if _, err := client(t, ClientOptions{}).Fetch(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if got := o.forms[0].Encode(); got != "client_id=id&client_secret="+theSecret+"&grant_type=client_credentials&scope=read" {
		t.Errorf("asked by %s", got)
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "999999": maxRetryAfter, "99999999999999999999": 0,
		"Mon, 02 Mar 2026 12:00:30 GMT": 30 * time.Second, "Mon, 02 Mar 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
