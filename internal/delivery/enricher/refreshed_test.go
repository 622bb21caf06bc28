package enricher

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// A tokenStore is the store as far as refresh tokens go.
type tokenStore struct {
	mu     sync.Mutex
	kept   map[[sha256.Size]byte]string
	broken error
	turns  sync.Map // a channel for each source
}

func (s *tokenStore) RefreshTurn(ctx context.Context, source [sha256.Size]byte) (end func(), err error) {
	turn, _ := s.turns.LoadOrStore(source, make(chan struct{}, 1))
	select {
	case turn.(chan struct{}) <- struct{}{}:
		return func() { <-turn.(chan struct{}) }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *tokenStore) RefreshToken(_ context.Context, source [sha256.Size]byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[source], s.broken
}

func (s *tokenStore) KeepRefreshToken(_ context.Context, source [sha256.Size]byte, used, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if kept := s.kept[source]; kept != used && kept != token {
		return fmt.Errorf("%q was used, and %q was kept", used, s.kept[source])
	}
	if s.kept == nil {
		s.kept = map[[sha256.Size]byte]string{}
	}
	s.kept[source] = token
	return nil
}

// A rotating place gives a new refresh token each time and takes only the newest of each chain.
type rotating struct {
	*httptest.Server
	mu    sync.Mutex
	n     int             // of the last token that was given
	good  map[string]bool // refresh tokens that are taken
	wrong []string        // those that were not
	down  bool
}

func newRotating(t *testing.T, configured ...string) *rotating {
	t.Helper()
	p := &rotating{good: map[string]bool{}}
	for _, c := range configured {
		p.good[c] = true
	}
	p.Server = crm(t, func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.URL.Path != "/token" {
			if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer access-") {
				w.WriteHeader(http.StatusUnauthorized)
			}
			fmt.Fprint(w, `{"phone":"1"}`)
			return
		}
		if p.down {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		with := r.PostFormValue("refresh_token")
		if !p.good[with] {
			p.wrong = append(p.wrong, with)
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		delete(p.good, with)
		p.n++
		next := fmt.Sprintf("rotated-%d", p.n)
		p.good[next] = true
		fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":%q,"expires_in":3600}`, p.n, next)
	})
	return p
}

func (p *rotating) ask(t *testing.T, configured string, changes ...func(*connectors.Lookup)) connectors.Lookup {
	l := ask(t, p.URL, "/c", func(l *connectors.Lookup) {
		l.Auth = connectors.Auth{Kind: connectors.AuthOAuth2, Header: "Authorization", Prefix: "Bearer ", OAuth: connectors.OAuth{
			TokenURL: p.URL + "/token", Grant: connectors.GrantRefresh, ClientID: "id", ClientSecret: secret.New(theSecret), RefreshToken: secret.New(configured),
		}}
	})
	for _, c := range changes {
		c(&l)
	}
	return l
}

func (p *rotating) set(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func TestARefreshTokenThatIsRotatedOutlivesARestart(t *testing.T) {
	p := newRotating(t, "configured-a", "configured-b")
	var kept tokenStore
	fetch := func(c *Client, l connectors.Lookup) {
		t.Helper()
		if _, err := c.Fetch(t.Context(), l); err != nil {
			t.Error(err)
		}
	}
	another := func(l *connectors.Lookup) { l.Connector = "crm2" }
	scope := func(l *connectors.Lookup) { l.Auth.OAuth.Scope = "more" }
	for start, looks := range [][]connectors.Lookup{
		{p.ask(t, "configured-a")},
		{p.ask(t, "configured-a"), p.ask(t, "configured-a", another), p.ask(t, "configured-a", scope)}, // one token, three users
		{p.ask(t, "configured-b")}, // a new one in the config
		{p.ask(t, "configured-a")}, // the older config again
		{p.ask(t, "configured-a", func(l *connectors.Lookup) { l.Auth.OAuth.ClientSecret = secret.New("another") })},
		{p.ask(t, "configured-b")},
	} {
		c := client(t, ClientOptions{Refreshed: &kept})
		for _, l := range looks {
			fetch(c, l)
		}
		if len(p.wrong) > 0 {
			t.Fatalf("after start %d: asked with %v", start, p.wrong)
		}
	}
	if len(kept.kept) != 2 || p.n != 8 {
		t.Errorf("%d tokens kept, %d given", len(kept.kept), p.n)
	}
}

func TestLookUpsAtOnceUseARefreshTokenOnce(t *testing.T) {
	p := newRotating(t, "configured")
	var kept tokenStore
	c := client(t, ClientOptions{Refreshed: &kept})
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			l := p.ask(t, "configured", func(l *connectors.Lookup) { l.Connector = fmt.Sprintf("crm%d", i%3) })
			if _, err := c.Fetch(t.Context(), l); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if p.n != 3 || len(p.wrong) > 0 {
		t.Errorf("%d tokens for 3 connectors, wrong %v", p.n, p.wrong)
	}
}

// Of several machines each renews its access token by the newest refresh token of all, whoever got it, and none uses one that was used up.
func TestMachinesAtOnceUseEachRefreshTokenOnce(t *testing.T) {
	p := newRotating(t, "configured")
	var kept tokenStore
	const machines, times = 4, 5
	var all sync.WaitGroup
	for range machines {
		c := client(t, ClientOptions{Refreshed: &kept})
		all.Go(func() {
			for range times {
				l := p.ask(t, "configured")
				if _, err := c.Fetch(t.Context(), l); err != nil {
					t.Error(err)
				}
				g := c.tokens.of(&l)
				access, _ := g.valid(time.Now())
				c.tokens.forget(&l, access) // as one that has run out
			}
		})
	}
	all.Wait()
	if p.n != machines*times || len(p.wrong) > 0 {
		t.Errorf("%d tokens for %d machines that asked %d times, wrong %v", p.n, machines, times, p.wrong)
	}
}

// busy is a store whose turns others have. Whoever waits is told to stop.
type busy struct {
	*tokenStore
	stop context.CancelFunc
}

func (b busy) RefreshTurn(ctx context.Context, _ [sha256.Size]byte) (func(), error) {
	b.stop()
	<-ctx.Done()
	return nil, ctx.Err()
}

// Who waits for its turn and is told to stop has asked nobody.
func TestAWaitForTheTurnEndsWithItsRequest(t *testing.T) {
	p := newRotating(t, "configured")
	var kept tokenStore
	l := p.ask(t, "configured")
	ctx, stop := context.WithCancel(t.Context())
	c := client(t, ClientOptions{Refreshed: busy{&kept, stop}})
	_, err := c.token(ctx, &l)
	if failed := failure(t, err); failed.Words != "the request was cut" || p.n != 0 {
		t.Errorf("%+v after %d tokens", failed, p.n)
	}
	c.Refreshed = &kept
	if _, err := c.Fetch(t.Context(), l); err != nil || p.n != 1 {
		t.Errorf("once it is free: %v after %d tokens", err, p.n)
	}
}

func TestATokenThatCannotBeKeptIsKeptBeforeTheNextIsAskedFor(t *testing.T) {
	p := newRotating(t, "configured")
	kept := tokenStore{broken: errors.New("disk full")}
	c := client(t, ClientOptions{Refreshed: &kept})
	look := func() (*FetchError, error) {
		_, err := c.Fetch(t.Context(), p.ask(t, "configured"))
		if err == nil {
			return nil, nil //nolint:nilnil // no failure
		}
		return failure(t, err), err
	}
	if failed, _ := look(); failed == nil || !failed.Free || failed.RetryAfter == 0 || !errors.Is(failed, kept.broken) || p.n != 0 {
		t.Fatalf("a store that cannot be read: %+v after %d tokens", failed, p.n)
	}
	kept.broken = nil
	p.set(true)
	if failed, _ := look(); failed == nil || failed.Final || failed.Free || failed.Words != "no access token from "+strings.TrimPrefix(p.URL, "http://")+": 502 Bad Gateway" {
		t.Errorf("the place is down: %+v", failed)
	}
	p.set(false)
	if _, err := look(); err != nil || p.n != 1 {
		t.Fatalf("%v after %d tokens", err, p.n)
	}

	l := p.ask(t, "configured")
	c.tokens.forget(&l, "access-1")
	c.tokens.of(&l).chain.unkept = true // as after a disk that was full
	kept.broken = errors.New("disk full")
	if failed, _ := look(); failed == nil || !failed.Free || p.n != 1 {
		t.Errorf("%+v after %d tokens", failed, p.n)
	}
	kept.broken = nil
	if _, err := look(); err != nil || p.n != 2 || len(p.wrong) > 0 {
		t.Errorf("%v after %d tokens, wrong %v", err, p.n, p.wrong)
	}
	if _, err := client(t, ClientOptions{Refreshed: &kept}).Fetch(t.Context(), p.ask(t, "configured")); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestAnAnswerWithATokenKeepsTheRulesOfEveryLookUp(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*connectors.Lookup)
		answer http.HandlerFunc
		words  string
	}{
		"private": {func(l *connectors.Lookup) { l.AllowPrivate = false }, nil, "its address is private or special, and the connector does not have allow_private: true"},
		"long": {nil, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"access_token":"a","x":%q}`, strings.Repeat("in the answer", 100))
		}, "its answer is longer than 1000 bytes"},
		"elsewhere": {nil, redirect("http://elsewhere.example.com/token"), "it answers with a redirect to another host"},
		"gone":      {nil, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "it did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			var agent atomic.Value
			s := crm(t, func(w http.ResponseWriter, r *http.Request) {
				agent.Store(r.UserAgent() + " " + r.Header.Get("Accept"))
				tt.answer(w, r)
			})
			l := (&rotating{Server: s}).ask(t, "configured")
			if tt.change != nil {
				tt.change(&l)
			}
			l.Header = http.Header{"User-Agent": {"Shop app (ops@example.com)"}}
			_, err := client(t, ClientOptions{MaxAnswer: 1000, UserAgent: "nudgewire/test"}).Fetch(t.Context(), l)
			if failed := failure(t, err); failed.Words != "no access token from "+strings.TrimPrefix(s.URL, "http://")+": "+tt.words {
				t.Errorf("%s", failed.Words)
			}
			if tt.answer != nil && agent.Load() != "Shop app (ops@example.com) application/json" {
				t.Errorf("asked as %v", agent.Load())
			}
		})
	}
}
