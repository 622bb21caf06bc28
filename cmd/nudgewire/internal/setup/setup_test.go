package setup

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/test/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A visitor is a browser before the pages of a setup.
type visitor struct {
	t    *testing.T
	g    *guide
	base string
	http *http.Client
	out  *bytes.Buffer // standard error of the command

	hooks, console string // addresses that nobody has
}

func freeAddresses(t *testing.T) (hooks, console string) {
	t.Helper()
	for _, at := range []*string{&hooks, &console} {
		var err error
		if *at, err = testserver.FreeAddress(); err != nil {
			t.Fatal(err)
		}
	}
	return hooks, console
}

// connector is the answer to what a sender needs.
func (v *visitor) connector(secret string) url.Values {
	return url.Values{"value_SHOPIFY_SECRET": {secret}, "hooks": {v.hooks}, "console": {v.console}}
}

func visit(t *testing.T, path string) *visitor {
	t.Helper()
	v := &visitor{t: t, out: &bytes.Buffer{}}
	v.g = newGuide(&terminal.CLI{Streams: terminal.Streams{Out: io.Discard, Err: v.out}, Version: "test"}, path)
	v.hooks, v.console = freeAddresses(t)
	s := httptest.NewServer(v.g.handler())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v.base, v.http = s.URL, &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(func() {
		v.http.CloseIdleConnections()
		s.Close()
		if err := v.g.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return v
}

// get asks for a page, and post sends a form; both follow where it leads, and give the page that comes.
func (v *visitor) get(path string) (int, string) {
	v.t.Helper()
	return v.ask(http.MethodGet, path, nil)
}

func (v *visitor) post(path string, form url.Values) (int, string) {
	v.t.Helper()
	return v.ask(http.MethodPost, path, form)
}

func (v *visitor) ask(method, path string, form url.Values) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := v.http.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, string(page)
}

// must posts a form that leads on, and wants words on the page that comes.
func (v *visitor) must(path string, form url.Values, words string) string {
	v.t.Helper()
	status, page := v.post(path, form)
	if status != http.StatusOK || !strings.Contains(page, words) {
		v.t.Fatalf("POST %s: %d without %q:\n%s", path, status, words, page)
	}
	return page
}

// refused posts a form that is wrong, and wants to be told why.
func (v *visitor) refused(path string, form url.Values, words string) {
	v.t.Helper()
	status, page := v.post(path, form)
	_, notice, _ := strings.Cut(page, `role="alert">`)
	notice, _, _ = strings.Cut(notice, "</div>")
	if status < 400 || !strings.Contains(notice, words) {
		v.t.Errorf("POST %s: %d, told %q, want %q", path, status, notice, words)
	}
}

// until asks again until the page has one of several words: what comes after the first of them may be there before somebody looks. It hangs where
// none ever comes.
func (v *visitor) until(words ...string) string {
	v.t.Helper()
	for {
		_, page := v.get("/?step=first")
		if slices.ContainsFunc(words, func(one string) bool { return strings.Contains(page, one) }) {
			return page
		}
		select {
		case <-v.t.Context().Done():
			v.t.Fatalf("%q never came", words)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (v *visitor) begin() {
	v.t.Helper()
	v.must("/sign-in", url.Values{"link": {v.g.link}}, "Which messaging service")
}

// ready answers all up to the files, for a sender whose secret is made here.
func (v *visitor) ready() {
	v.t.Helper()
	v.begin()
	v.must("/service", url.Values{"which": {"pretended"}}, "Who sends")
	v.must("/sender", with(shop, "sender", "generic"), "Connect Anything")
	v.must("/connector", v.connector(""), "Your first rule")
	v.must("/rule", url.Values{"rules": {v.g.a.Rules}}, "Look, and start")
}

var shop = url.Values{"sender": {"shopify"}, "country": {"gb"}, "zone": {"Europe/London"}, "language": {"en"}}

func with(form url.Values, pairs ...string) url.Values {
	out := maps.Clone(form)
	for i := 0; i < len(pairs); i += 2 {
		out.Set(pairs[i], pairs[i+1])
	}
	return out
}

// From the link to the first webhook and the first message, with nothing but a browser.
func TestAFirstRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	v := visit(t, path)
	v.begin()
	v.must("/service", url.Values{"which": {"pretended"}}, "Who sends the webhooks?")
	v.must("/sender", shop, "Connect Shopify")
	v.must("/connector", v.connector("the-secret-that-the-shop-shows-1"), "Your first rule")
	_, page := v.get("/?step=rule&offer=cart-in-three-steps")
	if !strings.Contains(page, "cart_still_here") {
		t.Fatalf("the recipe is not there:\n%s", page)
	}
	_, page = v.get("/?step=rule&offer=small")
	_, rules, _ := strings.Cut(page, `required>triggers:`)
	rules, _, _ = strings.Cut(rules, "</textarea>")
	rules = "triggers:" + strings.NewReplacer("&#39;", "'", "&#34;", `"`, "your_template", "cart_reminder").Replace(rules)
	page = v.must("/rule", url.Values{"rules": {rules}, "mine": {"+447700900123"}}, "Look, and start")
	if strings.Contains(page, "the-secret-that") {
		t.Errorf("a page shows the secret:\n%s", page)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("something was written before anybody said so: %v", err)
	}
	v.must("/write", nil, "Waiting for the first webhook")
	v.must("/sample", nil, "first message")
	if page = v.until("It came: <b>shopify.cart.updated</b>"); !strings.Contains(page, "shadowed") {
		t.Errorf("what the rule decided is not told:\n%s", page)
	}
	v.must("/test", nil, "Message 1:")
	v.until("Message 1: accepted, delivered", "Message 1: accepted, read")
	v.refused("/rule", url.Values{"rules": {"triggers: {}"}}, "setup changes it no more")
	if stats := v.g.service.box.Stats(); stats.Messages != 1 {
		t.Errorf("the service has %d messages, want 1", stats.Messages)
	}

	// What was written is good, and nobody else may read the secrets.
	cfg, problems := config.Load(path, func(string) (string, bool) { return "", false })
	if err := problems.Err(); err != nil {
		t.Fatalf("the config: %v", err)
	}
	if cfg.Triggers.Names()[0] != "shopify-cart-updated" {
		t.Errorf("triggers: %v", cfg.Triggers.Names())
	}
	secrets, err := os.ReadDir(filepath.Join(filepath.Dir(path), secretsFolder))
	if err != nil || len(secrets) != 2 {
		t.Fatalf("secrets: %v, %v", secrets, err)
	}
	for _, s := range secrets {
		if info, err := s.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", s.Name(), info.Mode(), err)
		}
	}
	if v.out.Len() > 0 {
		t.Errorf("told: %s", v.out)
	}
}

// What a request was refused for is told where somebody waits for it, and goes when one came that was right.
func TestARefusedWebhookIsTold(t *testing.T) {
	v := visit(t, filepath.Join(t.TempDir(), "config.yaml"))
	v.ready()
	page := v.must("/write", nil, "And this secret: <code>"+v.g.a.Values["GENERIC_SECRET"])
	if !strings.Contains(page, "No phone of your own was named") {
		t.Errorf("without a number:\n%s", page)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+v.g.a.Hooks+"/hooks/generic", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := v.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	v.until("A request came and was not taken (401)")
	v.must("/sample", nil, "first message")
	if page := v.until("It came: "); strings.Contains(page, "was not taken") {
		t.Errorf("the refused one is still there:\n%s", page)
	}
	v.refused("/test", nil, "no number")
}

// Each mistake is told at its step, and leads no further.
func TestWrongAnswersAreTold(t *testing.T) {
	v := visit(t, filepath.Join(t.TempDir(), "config.yaml"))
	v.begin()
	v.refused("/write", nil, "could not be read")
	v.refused("/sample", nil, "does not run yet")
	if status, _ := v.get("/console"); status != http.StatusConflict {
		t.Errorf("the console before the daemon: %d", status)
	}
	silent := "http://127.0.0.1:1/api/v1"
	v.refused("/service", url.Values{"which": {"account"}}, "The address is missing")
	v.refused("/service", url.Values{"which": {"account"}, "base_url": {silent}}, "The key is missing")
	v.refused("/service", url.Values{"which": {"account"}, "base_url": {"ftp://x"}, "key": {"a-key-of-the-service"}}, "ftp")
	v.refused("/service", url.Values{"which": {"account"}, "base_url": {silent}, "key": {"a-key-of-the-service"}}, "cannot be asked")
	v.must("/service", url.Values{"which": {"account"}, "base_url": {silent}, "key": {"a-key-of-the-service"}, "untested": {"yes"}}, "Who sends")
	v.refused("/sender", with(shop, "sender", "shoppify"), "Choose who sends")
	v.refused("/sender", with(shop, "zone", "Europe/Londn"), "not a time zone")
	v.refused("/sender", with(shop, "country", "QQ"), "country")
	v.must("/sender", shop, "Connect Shopify")
	v.refused("/connector", nil, "This is missing")
	good := v.connector("the-secret-that-the-shop-shows-1")
	v.refused("/connector", with(good, "public", "hooks"), "not a web address")
	v.refused("/connector", with(good, "hooks", "8080"), "port")
	v.refused("/connector", with(good, "console", v.hooks), "server.listen")
	v.must("/connector", v.connector("the-secret-that-the-shop-shows-1"), "Your first rule")
	v.refused("/rule", url.Values{"rules": {" "}}, "There is no rule")
	v.refused("/rule", url.Values{"rules": {"triggers: {}"}}, "There is no rule")
	v.refused("/rule", url.Values{"rules": {"templates: {}"}}, "There is no rule")
	v.refused("/rule", url.Values{"rules": {"triggers:\n  a:\n    on: shopify.cart.updated\n    if: cart.totl > 1\n    send: {template: x}\n"}}, "Line 4: ")
	v.refused("/rule", url.Values{"rules": {"triggers:\n  a: {on: shopify.cart.updated, send: {template: x}}\n"}, "mine": {"12"}}, "too short")
	v.refused("/rule", url.Values{"rules": {"triggers:\n\t- ["}}, "cannot be used")
}

// The pages open for the browser that has the link, once, and only under a name of this machine.
func TestTheLinkOpensOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	v := visit(t, path)
	if status, page := v.get("/"); status != http.StatusUnauthorized || !strings.Contains(page, "opens by the link") {
		t.Errorf("without a link: %d\n%s", status, page)
	}
	v.refused("/service", url.Values{"which": {"pretended"}}, "opens by the link")
	v.refused("/sign-in", url.Values{"link": {"a-link-of-somebody"}}, "opens by the link")
	if status, page := v.get("/?link=" + v.g.link); status != http.StatusUnauthorized || !strings.Contains(page, "Begin") {
		t.Errorf("who only looks at the link uses nothing up: %d\n%s", status, page)
	}
	v.begin()
	other := &visitor{t: t, g: v.g, base: v.base, http: &http.Client{Transport: v.http.Transport}}
	other.refused("/sign-in", url.Values{"link": {v.g.link}}, "opens by the link")
	if status, _ := other.get("/"); status != http.StatusUnauthorized {
		t.Errorf("another browser: %d", status)
	}
	for header, value := range map[string]string{"Host": "rebound.example.com:80", "Sec-Fetch-Site": "cross-site", "Origin": "http://elsewhere.example.com"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, v.base+"/service", strings.NewReader("which=pretended"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: cookieName, Value: v.g.session})
		if r.Header.Set(header, value); header == "Host" {
			r.Host = value
		}
		w := httptest.NewRecorder()
		if v.g.handler().ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("with %s %s: %d, want 403", header, value, w.Code)
		}
	}
	if v.g.service != nil {
		t.Error("somebody without the link started something")
	}
}

// For every sender, each rule that is offered makes a config that the daemon takes, once its owner's values are there.
func TestEachOfferIsAGoodConfig(t *testing.T) {
	publicKey := publicKey(t)
	for _, name := range connectors.PresetNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &answers{
				BaseURL: "https://api.example.com/api/v1", Key: "a-key-of-the-service", Country: "GB", Zone: "Europe/London", Language: "en",
				Sender: name, Values: map[string]string{}, Public: "https://hooks.example.com", Mine: "+447700900123", Hooks: "127.0.0.1:8080", Console: "127.0.0.1:8081",
			}
			info, _ := a.info()
			for _, q := range questionsOf(&info) {
				switch {
				case q.Is == "":
					t.Errorf("what %s is, nobody says", q.Variable)
				case q.Variable == addressVariable:
					a.Values[q.Variable] = "https://account.example.com"
				case strings.Contains(q.Is, "user and password"), strings.HasSuffix(q.Variable, "_TOKEN") && !q.Own:
					a.Values[q.Variable] = "user:a-password-of-32-characters-123"
				case strings.Contains(q.Is, "hexadecimal"):
					a.Values[q.Variable] = strings.Repeat("5e", 32)
				case strings.Contains(q.Is, "public key") && strings.Contains(info.Verifier, "ed25519"):
					a.Values[q.Variable] = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=" // nobody's
				case strings.Contains(q.Is, "public key"):
					a.Values[q.Variable] = publicKey
				case !q.Own:
					a.Values[q.Variable] = "d2hzZWNfYS1zZWNyZXQtb2YtMzItY2hhcmFjdGVycy0x"
				}
			}
			a.fillOwn(questionsOf(&info))
			offers, err := offersFor(&info)
			if err != nil || len(offers) == 0 && info.Starter() != "" {
				t.Fatalf("%d offers, %v", len(offers), err)
			}
			for _, o := range offers {
				a.Rules = o.Rules
				cfg, problems := a.check()
				if faults := problems.Faults(); len(faults) > 0 {
					t.Errorf("%s: %v\n%s", o.Name, faults, a.text(keep))
				} else if len(cfg.Receivers) != 1 || len(cfg.Triggers.Names()) == 0 {
					t.Errorf("%s: %d connectors, %d triggers", o.Name, len(cfg.Receivers), len(cfg.Triggers.Names()))
				}
			}
		})
	}
}

// publicKey makes a key that belongs to nobody, as senders show theirs.
func publicKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

// Nothing that is there is written over.
func TestSetupWritesOverNothing(t *testing.T) {
	for name, there := range map[string]string{"config": "config.yaml", "a secret": filepath.Join(secretsFolder, "MESSAGING_API_KEY")} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "config.yaml")
			if err := fresh(path); err != nil {
				t.Errorf("in an empty folder: %v", err)
			}
			v := visit(t, path)
			v.ready()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, there)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, there), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			v.refused("/write", nil, "Nothing was written")
			var left []string
			_ = filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					left = append(left, at)
				}
				return nil
			})
			if want := filepath.Join(folder, there); !slices.Equal(left, []string{want}) {
				t.Errorf("there are now %v, want %s alone", left, want)
			}
			if text, err := os.ReadFile(filepath.Join(folder, there)); err != nil || string(text) != "mine" {
				t.Errorf("it is now %q, %v", text, err)
			}
			if err := fresh(path); err == nil || !strings.Contains(err.Error(), "is there already") {
				t.Errorf("the next setup: %v", err)
			}
		})
	}
}

// Whoever is killed while setup writes has no config that names a secret which is not there, and the next setup says what is.
func TestSetupThatIsKilledBetweenItsFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "config.yaml")
	v := visit(t, path)
	v.ready()
	files := v.g.a.files(path)
	for i, f := range files {
		if err := terminal.WriteNew(files[i:i+1], false); err != nil {
			t.Fatal(err)
		}
		err := fresh(path)
		switch {
		case f.Ours:
			if err != nil {
				t.Errorf("after %s, which is made anew each time: %v", f.Path, err)
			}
		case err == nil || !strings.Contains(err.Error(), filepath.Join(folder, secretsFolder)) && i < len(files)-1:
			t.Errorf("after %s: %v, want the folder of secrets named", f.Path, err)
		}
		if _, problems := config.Load(path, os.LookupEnv); i == len(files)-1 && len(problems.Faults()) > 0 {
			t.Errorf("with all files: %v", problems)
		}
	}
	if last := files[len(files)-1].Path; last != path {
		t.Errorf("the last is %s, want the config", last)
	}
}

// What cannot be written leaves nothing behind, and the button tries again once it can.
func TestSetupWhoseSecretsCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "config.yaml")
	v := visit(t, path)
	v.ready()
	inTheWay := filepath.Join(folder, secretsFolder)
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	v.refused("/write", nil, "Nothing was written")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a config is there: %v", err)
	}
	if err := fresh(path); err == nil || !strings.Contains(err.Error(), inTheWay) {
		t.Errorf("the next setup: %v, want what is in the way", err)
	}
}

// A daemon that cannot start is told with its reason, and the button tries again.
func TestADaemonThatDoesNotStartIsTold(t *testing.T) {
	v := visit(t, filepath.Join(t.TempDir(), "config.yaml"))
	v.ready()
	taken := &http.Server{Addr: v.g.a.Hooks, ReadHeaderTimeout: time.Minute}
	ready := make(chan error, 1)
	l, err := listen(t.Context(), v.g.a.Hooks)
	if err != nil {
		t.Fatal(err)
	}
	go func() { ready <- taken.Serve(l) }()
	v.refused("/write", nil, "the daemon did not start")
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	<-ready
	v.must("/write", nil, "Waiting for the first webhook")
}

func TestSetupListensOnThisMachineAlone(t *testing.T) {
	c := commands{&terminal.CLI{Streams: terminal.Streams{Out: io.Discard, Err: io.Discard}}}
	for _, address := range []string{"0.0.0.0:0", ":8090", "example.com:80", "127.0.0.1", ""} {
		if err := c.run(context.Background(), "config.yaml", address, false); err == nil || !strings.Contains(err.Error(), "this machine alone") {
			t.Errorf("--listen %q: %v", address, err)
		}
	}
}
