package console_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/console"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// An issuer signs in whoever comes, as claims say, and is as strict as a real one: a code is good once, with its verifier and the client's secret.
type issuer struct {
	*httptest.Server
	key    *rsa.PrivateKey
	claims jwt.MapClaims
	more   map[string]any // what it tells beside the ID token; nil is nothing
	asked  url.Values     // of the last browser
	away   bool
	big    bool // answers without an end
	other  bool // signs with a key that it does not publish
	r      *room
}

func newIssuer(t *testing.T, r *room) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key, r: r}
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if i.away {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if i.big {
			_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("x", 2<<20)))
			return
		}
		found := map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		}
		if i.more != nil {
			found["userinfo_endpoint"] = i.URL + "/userinfo"
		}
		say(w, found)
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer a" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		say(w, i.more)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		b64 := base64.RawURLEncoding.EncodeToString
		say(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, req *http.Request) {
		id, word, _ := req.BasicAuth()
		sum := sha256.Sum256([]byte(req.PostFormValue("code_verifier")))
		if id != "nudgewire" || word != "hush" || i.asked == nil || req.PostFormValue("code") != "code" || base64.RawURLEncoding.EncodeToString(sum[:]) != i.asked.Get("code_challenge") ||
			i.asked.Get("code_challenge_method") != "S256" || req.PostFormValue("redirect_uri") != i.asked.Get("redirect_uri") {
			w.WriteHeader(http.StatusBadRequest)
			say(w, map[string]string{"error": "invalid_grant"})
			return
		}
		claims := jwt.MapClaims{"iss": i.URL, "aud": "nudgewire", "sub": "s1", "exp": r.now.Add(time.Minute).Unix(), "iat": r.now.Unix(), "nonce": i.asked.Get("nonce")}
		for name, v := range i.claims {
			claims[name] = v
		}
		i.asked = nil
		signer := key
		if i.other {
			signer, _ = rsa.GenerateKey(rand.Reader, 2048)
		}
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
		token.Header["kid"] = "one"
		signed, err := token.SignedString(signer)
		if err != nil {
			t.Error(err)
		}
		say(w, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": signed})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// config is what the console knows of the issuer.
func (i *issuer) config() *signin.OIDC {
	return &signin.OIDC{
		Issuer: i.URL, ClientID: "nudgewire", ClientSecret: secret.New("hush"), Scopes: []string{"groups"}, RoleClaim: "groups", AllowPrivate: true,
		Roles: map[string]access.Role{"crew": access.RoleOperator, "chiefs": access.RoleAdmin}, Users: map[string]access.Role{"vic@example.com": access.RoleViewer},
	}
}

// begin goes to the provider, as a browser does, and gives the cookie that it keeps and the address on the way back.
func (i *issuer) begin(t *testing.T) (kept *http.Cookie, back string) {
	t.Helper()
	res, body := i.r.do(t, http.MethodGet, "/sign-in/oidc", nil)
	to, err := url.Parse(res.Header.Get("Location"))
	if res.StatusCode != http.StatusSeeOther || err != nil || len(res.Cookies()) != 1 || !strings.HasPrefix(to.String(), i.URL+"/authorize?") {
		t.Fatalf("the way there: %d %s", res.StatusCode, body)
	}
	i.asked = to.Query()
	if got := i.asked; got.Get("client_id") != "nudgewire" || got.Get("redirect_uri") != "http://n/sign-in/oidc/callback" || got.Get("scope") != "openid email profile groups" || got.Get("nonce") == "" {
		t.Errorf("the provider is asked %v", got)
	}
	kept = res.Cookies()[0]
	if !kept.HttpOnly || kept.SameSite != http.SameSiteLaxMode || kept.MaxAge > 600 {
		t.Errorf("the cookie is %s", kept.Raw)
	}
	return kept, "/sign-in/oidc/callback?" + url.Values{"code": {"code"}, "state": {i.asked.Get("state")}}.Encode()
}

// comes is the session of whoever comes with claims; nil where they are refused, with the page.
func (i *issuer) comes(t *testing.T, claims jwt.MapClaims) (in *http.Cookie, status int, body string) {
	t.Helper()
	i.claims = claims
	kept, back := i.begin(t)
	res, body := i.r.do(t, http.MethodGet, back, nil, kept)
	for _, c := range res.Cookies() {
		if c.Name == "nudgewire" {
			in = c
		}
	}
	if in != nil && (res.Header.Get("Refresh") != "0;url=/" || in.SameSite != http.SameSiteStrictMode) {
		t.Errorf("signed in: %v", res.Header)
	}
	return in, res.StatusCode, body
}

func (r *room) who(t *testing.T, c *http.Cookie) access.Who {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	req.AddCookie(c)
	who, _, err := r.Session(req)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func TestAProviderSignsPeopleIn(t *testing.T) {
	r := newRoom(t, false, nil)
	i := newIssuer(t, r)
	r.on.OIDC = i.config()
	if _, page := r.do(t, http.MethodGet, "/sign-in", nil); !strings.Contains(page, `href="/sign-in/oidc"`) {
		t.Errorf("the page knows no way there: %s", page)
	}
	for name, c := range map[string]struct {
		claims jwt.MapClaims
		who    string
		role   access.Role
	}{
		"a group":            {jwt.MapClaims{"sub": "1", "email": "Ann@example.com", "email_verified": true, "groups": []string{"others", "crew"}}, "ann@example.com", access.RoleOperator},
		"the highest":        {jwt.MapClaims{"sub": "2", "preferred_username": "bob", "groups": []string{"crew", "chiefs"}}, "bob", access.RoleAdmin},
		"one text":           {jwt.MapClaims{"sub": "3", "preferred_username": "cid", "groups": "crew"}, "cid", access.RoleOperator},
		"an address":         {jwt.MapClaims{"sub": "4", "email": "vic@example.com", "email_verified": true}, "vic@example.com", access.RoleViewer},
		"not verified":       {jwt.MapClaims{"sub": "5", "email": "vic@example.com", "email_verified": false}, "", ""},
		"no role":            {jwt.MapClaims{"sub": "6", "preferred_username": "dan", "groups": []string{"others"}}, "", ""},
		"a phone for a name": {jwt.MapClaims{"sub": "7", "preferred_username": "447700900123", "groups": "crew"}, "", ""},
	} {
		in, status, body := i.comes(t, c.claims)
		if c.who == "" {
			if in != nil || status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, status, body)
			}
			continue
		}
		if in == nil {
			t.Errorf("%s: %d %s", name, status, body)
			continue
		}
		if got := r.who(t, in); got.Name != c.who || got.From != access.FromSession || len(got.Scopes) != len(c.role.Scopes()) {
			t.Errorf("%s is %+v", name, got)
		}
		r.now = r.now.Add(time.Minute)
	}
	// The role follows the provider; a name is one person's; whoever is disabled here is not signed in.
	ask := server.Local(r.api, access.Process("root (0)"))
	r.now = r.now.Add(time.Minute)
	if in, _, _ := i.comes(t, jwt.MapClaims{"sub": "2", "preferred_username": "bob", "groups": "crew"}); in == nil || r.who(t, in).May(access.Manage) {
		t.Error("bob is an admin for good")
	}
	if in, status, body := i.comes(t, jwt.MapClaims{"sub": "99", "preferred_username": "bob", "groups": "chiefs"}); in != nil || status != http.StatusForbidden || !strings.Contains(body, "another user of the name bob") {
		t.Errorf("another bob: %d %s", status, body)
	}
	if _, err := server.AddUser.Call(t.Context(), ask, signin.UserRequest{Name: "local", Role: access.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	if in, status, _ := i.comes(t, jwt.MapClaims{"sub": "98", "preferred_username": "local", "groups": "crew"}); in != nil || status != http.StatusForbidden {
		t.Errorf("who has a password here: %d", status)
	}
	in, _, _ := i.comes(t, jwt.MapClaims{"sub": "3", "preferred_username": "cid", "groups": "crew"})
	if _, err := server.SetRole.Call(t.Context(), ask, signin.RoleRequest{User: "cid", Role: access.RoleAdmin}); err == nil {
		t.Error("a role that is the provider's is changed here")
	}
	if _, err := server.ResetUser.Call(t.Context(), ask, "cid"); err == nil {
		t.Error("who has no password here gets a link for one")
	}
	if _, err := server.DisableUser.Call(t.Context(), ask, "cid"); err != nil {
		t.Fatal(err)
	}
	if r.who(t, in).Name != "" {
		t.Error("disabled, the session goes on")
	}
	if in, status, _ := i.comes(t, jwt.MapClaims{"sub": "3", "preferred_username": "cid", "groups": "crew"}); in != nil || status != http.StatusForbidden {
		t.Errorf("disabled: %d", status)
	}
	// A config without the provider believes what it said no longer.
	r.now = r.now.Add(time.Minute)
	in, _, _ = i.comes(t, jwt.MapClaims{"sub": "2", "preferred_username": "bob", "groups": "crew"})
	r.on.OIDC = nil
	if r.who(t, in).Name != "" {
		t.Error("the session outlives the provider")
	}
	if res, _ := r.do(t, http.MethodGet, "/sign-in/oidc", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("without a provider: %d", res.StatusCode)
	}
}

func TestWhatAProviderSaysIsHeldAgainstWhatWasAsked(t *testing.T) {
	r := newRoom(t, false, nil)
	i := newIssuer(t, r)
	r.on.OIDC = i.config()
	ann := jwt.MapClaims{"sub": "1", "preferred_username": "ann", "groups": "crew"}
	with := func(name string, v any) jwt.MapClaims {
		out := jwt.MapClaims{name: v}
		for k, v := range ann {
			if _, there := out[k]; !there {
				out[k] = v
			}
		}
		return out
	}
	for what, claims := range map[string]jwt.MapClaims{
		"another nonce": with("nonce", "other"), "another audience": with("aud", "shop"), "another issuer": with("iss", "https://evil.example"), "over": with("exp", r.now.Add(-time.Minute).Unix()),
	} {
		if in, status, _ := i.comes(t, claims); in != nil || status < 400 {
			t.Errorf("%s: %d", what, status)
		}
		r.now = r.now.Add(time.Minute)
	}
	i.other = true
	if in, status, _ := i.comes(t, ann); in != nil || status < 400 {
		t.Errorf("another key: %d", status)
	}
	i.other = false
	i.claims = ann
	kept, back := i.begin(t)
	for what, try := range map[string]struct {
		path    string
		cookies []*http.Cookie
	}{
		"no cookie":       {back, nil},
		"another state":   {"/sign-in/oidc/callback?code=code&state=other", []*http.Cookie{kept}},
		"no state":        {"/sign-in/oidc/callback?code=code", []*http.Cookie{kept}},
		"a bent cookie":   {back, []*http.Cookie{{Name: kept.Name, Value: "x"}}},
		"an empty cookie": {"/sign-in/oidc/callback?code=code", []*http.Cookie{{Name: kept.Name, Value: ".."}}},
		"refused there":   {"/sign-in/oidc/callback?error=%3Cscript%3E&state=" + i.asked.Get("state"), []*http.Cookie{kept}},
	} {
		if res, body := r.do(t, http.MethodGet, try.path, nil, try.cookies...); res.StatusCode != http.StatusForbidden || strings.Contains(body, "<script>alert") || strings.Contains(body, "&lt;script") {
			t.Errorf("%s: %d %s", what, res.StatusCode, body)
		}
	}
	if res, body := r.do(t, http.MethodGet, back, nil, kept); res.StatusCode != http.StatusOK {
		t.Fatalf("the right way: %d %s", res.StatusCode, body)
	}
	if res, _ := r.do(t, http.MethodGet, back, nil, kept); res.StatusCode == http.StatusOK {
		t.Error("a code works twice")
	}
}

func TestAProviderThatIsAwayIsToldInWords(t *testing.T) {
	r := newRoom(t, false, nil)
	i := newIssuer(t, r)
	r.on.OIDC = i.config()
	for what, set := range map[string]func(on bool){"away": func(on bool) { i.away = on }, "without an end": func(on bool) { i.big = on }} {
		set(true)
		r.now = r.now.Add(time.Minute)
		if res, body := r.do(t, http.MethodGet, "/sign-in/oidc", nil); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, i.URL) {
			t.Errorf("%s: %d %s", what, res.StatusCode, body)
		}
		set(false)
		if res, _ := r.do(t, http.MethodGet, "/sign-in/oidc", nil); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s, it is asked again at once: %d", what, res.StatusCode)
		}
	}
	private := i.config()
	private.AllowPrivate = false
	r.on.OIDC = private
	if res, body := r.do(t, http.MethodGet, "/sign-in/oidc", nil); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "allow_private") {
		t.Errorf("in a private network: %d %s", res.StatusCode, body)
	}
	r.on.OIDC = i.config()
	i.begin(t) // a new config is asked at once
}

// Whoever is no proxy writes the header in vain.
func TestAHeaderIsBelievedFromProxiesAlone(t *testing.T) {
	r := newRoom(t, false, nil)
	r.on = console.SignOn{
		Base: "http://n", Proxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
		Header: &signin.TrustedHeader{Name: "X-Forwarded-User", RoleHeader: "X-Groups", Roles: map[string]access.Role{"crew": access.RoleOperator}, Users: map[string]access.Role{"ann": access.RoleAdmin}},
	}
	ask := func(from string, header map[string][]string) string {
		t.Helper()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		req.RemoteAddr = from
		for name, v := range header {
			req.Header[name] = v
		}
		who, known, err := r.Session(req)
		if err != nil || known != (who.Name != "") {
			t.Errorf("%+v %v %v", who, known, err)
		}
		if who.Name == "" {
			return ""
		}
		return who.Name + " " + string(who.From) + " " + map[bool]string{true: "admin", false: "other"}[who.May(access.Manage)]
	}
	const proxy = "10.1.2.3:4000"
	ann := map[string][]string{"X-Forwarded-User": {"Ann"}}
	for name, c := range map[string]struct {
		from   string
		header map[string][]string
		want   string
	}{
		"by the proxy":            {proxy, ann, "ann session admin"},
		"by its IPv6 form":        {"[::ffff:10.1.2.3]:4000", ann, "ann session admin"},
		"by a group":              {proxy, map[string][]string{"X-Forwarded-User": {"bob"}, "X-Groups": {"others, crew"}}, "bob session other"},
		"by a stranger":           {"10.2.0.1:4000", ann, ""},
		"as if it were the proxy": {"10.2.0.1:4000", map[string][]string{"X-Forwarded-User": {"ann"}, "X-Forwarded-For": {"10.1.2.3"}}, ""},
		"twice":                   {proxy, map[string][]string{"X-Forwarded-User": {"ann", "bob"}}, ""},
		"empty":                   {proxy, map[string][]string{"X-Forwarded-User": {" "}}, ""},
		"without a role":          {proxy, map[string][]string{"X-Forwarded-User": {"eve"}}, ""},
		"no name":                 {proxy, map[string][]string{"X-Forwarded-User": {"<b>"}, "X-Groups": {"crew"}}, ""},
		"nothing":                 {proxy, nil, ""},
	} {
		if got := ask(c.from, c.header); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// Another site uses what a proxy says as little as a cookie.
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	req.RemoteAddr = proxy
	req.Header.Set("X-Forwarded-User", "ann")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	if _, known, _ := r.Session(req); known {
		t.Error("another site is believed")
	}
	users := server.Local(r.api, access.Process("root (0)"))
	if _, err := server.DisableUser.Call(t.Context(), users, "ann"); err != nil {
		t.Fatal(err)
	}
	if got := ask(proxy, ann); got != "" {
		t.Errorf("disabled: %q", got)
	}
	if all, err := server.ListUsers.Call(t.Context(), users, server.None{}); err != nil || len(all) != 2 || all[1].SignsIn != "header" || all[1].SignedInAt.IsZero() {
		t.Errorf("users: %+v, %v", all, err)
	}
	r.on.Header = nil
	if got := ask(proxy, map[string][]string{"X-Forwarded-User": {"bob"}, "X-Groups": {"crew"}}); got != "" {
		t.Errorf("without the key of the config: %q", got)
	}
}

// What the ID token leaves out is asked for, and counts for the same person alone.
func TestTheProviderIsAskedForTheRest(t *testing.T) {
	r := newRoom(t, false, nil)
	i := newIssuer(t, r)
	i.more = map[string]any{"sub": "1", "email": "ann@example.com", "email_verified": true, "groups": []string{"crew"}, "preferred_username": "other"}
	r.on.OIDC = i.config()
	in, status, body := i.comes(t, jwt.MapClaims{"sub": "1", "preferred_username": "ann"})
	if in == nil || r.who(t, in).Name != "ann@example.com" || !r.who(t, in).May(access.Operate) {
		t.Errorf("%d %s", status, body)
	}
	i.more["sub"] = "2"
	if in, status, _ := i.comes(t, jwt.MapClaims{"sub": "1"}); in != nil || status != http.StatusForbidden {
		t.Errorf("about somebody else: %d", status)
	}
}
