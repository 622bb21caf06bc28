package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// environ answers every variable but those that begin with NO_ with a text that is long and
// recognisable, so that a leak shows.
func environ(name string) (string, bool) {
	if strings.HasPrefix(name, "NO_") {
		return "", false
	}
	if strings.HasSuffix(name, "_DSN") {
		return "postgres://leaked-value-of-" + strings.ToLower(name) + "@db.example/crm?sslmode=verify-full", true
	}
	if strings.HasSuffix(name, "_URL") {
		return "https://example.com/leaked-value-of-" + strings.ToLower(name), true
	}
	if strings.HasSuffix(name, "_STATUS_SECRET") {
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte("leaked-value-of-"+strings.ToLower(name))), true
	}
	return "leaked-value-of-" + strings.ToLower(name), true
}

var _ secret.Lookup = environ

// base is a good config that tests change a line of.
const base = `api:
  base_url: https://api.example.com/api/v1
  key: ${API_KEY}
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}"}
triggers:
  remind:
    on: shopify.cart.updated
    wait: 45m
    cancel_on: shopify.order.created
    send: {template: cart_reminder}
    if: customer.accepts_marketing
`

// said is what problems say, without the file's name.
func said(ps yamlpos.Problems) []string {
	var out []string
	for _, p := range ps {
		out = append(out, strings.TrimPrefix(p.Error(), "config.yaml:"))
	}
	return out
}

func TestFifteenFaultsAreToldInOneRun(t *testing.T) {
	src, err := os.ReadFile("testdata/fifteen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/fifteen.want")
	if err != nil {
		t.Fatal(err)
	}
	_, ps := Parse("fifteen.yaml", src, environ)
	if ps.Errors() != 15 || len(ps) != 15 {
		t.Errorf("%s, want 15 and no warnings", ps.Summary())
	}
	var got bytes.Buffer
	if err := ps.Render(&got, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestTheFilesThatWeHandOutAreClean(t *testing.T) {
	sample, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string][]byte{"config.yaml": sample, "starter.yaml": []byte(Starter()), "the base of these tests": []byte(base)} {
		c, ps := Parse(name, src, environ)
		if len(ps) > 0 {
			t.Errorf("%s:\n%v", name, ps)
			continue
		}
		if len(c.Receivers) == 0 || len(c.Triggers.Names()) == 0 {
			t.Errorf("%s: %d connectors, triggers %v", name, len(c.Receivers), c.Triggers.Names())
		}
	}
}

func TestTheSampleNamesEveryVariableItNeeds(t *testing.T) {
	src, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	Parse("config.yaml", src, func(name string) (string, bool) {
		asked = append(asked, name)
		return environ(name)
	})
	line := ""
	for l := range strings.Lines(string(src)) {
		if strings.Contains(l, "This file needs:") {
			line = l
		}
	}
	for _, name := range asked {
		if !strings.Contains(line, name) {
			t.Errorf("%q does not name %s", strings.TrimSpace(line), name)
		}
	}
}

func TestTheSampleShowsEveryKeyOfOurSections(t *testing.T) {
	src, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(Reference())) {
		path, ok := strings.CutPrefix(l, "| `")
		if !ok || strings.HasPrefix(path, "connectors.") || strings.HasPrefix(path, "triggers.") || strings.HasPrefix(path, "jobs.<name>.source.") {
			continue
		}
		path, _, _ = strings.Cut(path, "`")
		key := path[strings.LastIndexByte(path, '.')+1:] + ":"
		if !strings.Contains(string(src), key) {
			t.Errorf("config.yaml does not show %s", path)
		}
	}
}

func TestVersionIsTheFilesHash(t *testing.T) {
	a, _ := Parse("a.yaml", []byte(base), environ)
	b, _ := Parse("b.yaml", []byte(base), func(string) (string, bool) { return "another secret, just as long", true })
	c, _ := Parse("c.yaml", []byte(base+"\n"), environ)
	if a.Version != b.Version || a.Version == c.Version || len(a.Version) != 12 {
		t.Errorf("versions %q, %q, %q", a.Version, b.Version, c.Version)
	}
}

func TestLoadSaysWhyThereIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const special = `is no regular file, but a pipe, a socket, a device or something of the system's; put a regular file there; "nudgewire check -" reads standard input`
	tests := map[string]string{
		filepath.Join(dir, "none.yaml"): `there is no such file; make one with "nudgewire setup" or "nudgewire init", or name yours with --config`,
		dir:                             "is a directory; name the file in it",
		pipe:                            special,
		socket:                          special,
		"/dev/zero":                     special,
	}
	for path, want := range tests {
		c, ps := Load(path, environ)
		if c != nil || len(ps) != 1 || ps[0].Error() != path+": "+want {
			t.Errorf("Load(%q) is %v, %v", path, c, ps)
		}
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), yamlpos.MaxBytes+100), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ps := Load(large, environ); len(ps) != 1 || !strings.Contains(ps[0].Msg, "is longer than 1048576 bytes") {
		t.Errorf("a large file: %v", ps)
	}
}

func TestWithFaultsElsewhereTheStorageIsKnown(t *testing.T) {
	c, ps := Parse("config.yaml", []byte("storage: sqlite:/var/lib/nudgewire/n.db\napi: 5\n"), environ)
	if c == nil || c.Storage != "sqlite:/var/lib/nudgewire/n.db" || ps.Errors() == 0 {
		t.Errorf("config %+v, problems %v", c, ps)
	}
	for _, src := range []string{"storage: mysql://u:p@h/db\n", "storage: [a]\n", "storage: ${NO_DSN}\n", "storage: 'a\n"} {
		if c, _ := Parse("config.yaml", []byte(src), environ); c.Storage != "" {
			t.Errorf("%q is understood as %q", src, c.Storage)
		}
	}
}

func TestNothingPrintedHoldsASecret(t *testing.T) {
	src := strings.Replace(base, "key: ${API_KEY}", "key: literal-secret-key", 1)
	src = strings.Replace(src, "triggers:", "server: {public_url: '${PUBLIC}', listen: '${LISTEN}'}\ntriggers:", 1)
	src += "  other:\n    on: shopify.order.paid\n    mode: ${MODE}\n    send: {template: '${TEMPLATE}', variables: ['{{ ${VAR} }}']}\n"
	c, ps := Parse("config.yaml", []byte(src), environ)
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	if err := ps.Render(&out, true); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(ps)
	if err != nil {
		t.Fatal(err)
	}
	all := out.String() + string(encoded) + c.Redacted() + ps.Error()
	for _, leak := range []string{"leaked-value", "literal-secret"} {
		if i := strings.Index(all, leak); i >= 0 {
			t.Errorf("%q is printed: …%s…", leak, all[max(0, i-80):min(len(all), i+80)])
		}
	}
	if ps.Errors() == 0 {
		t.Error("the bad values were not told about, so nothing was proven")
	}
}

func TestPrintIsReadBackTheSame(t *testing.T) {
	sample, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := Parse("config.yaml", sample, environ)
	var first bytes.Buffer
	if err := c.Print(&first); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"max_age: 72h", "cooldown: 3d", "expires: 18h", "timeout: 10s", "key: '[secret]'", "secret: '[secret]'"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("no %q in\n%s", want, &first)
		}
	}
	// An address is checked when it is read, so the hidden one needs another in its place.
	printed := strings.NewReplacer("postgres: '[secret]'", "postgres: postgres://another@db.example/crm",
		"webhook: '[secret]'", "webhook: https://ops.example.com/1", "url: '[secret]'", "url: https://crm.example.com/1",
		" secret: '[secret]'", " secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "slack: '[secret]'", "slack: https://hooks.slack.com/1").Replace(first.String())
	again, ps := Parse("config.yaml", []byte(printed), environ)
	if faults := ps.Faults(); len(faults) > 0 {
		t.Fatalf("what was printed is no config:\n%v", faults)
	}
	var second bytes.Buffer
	if err := again.Print(&second); err != nil {
		t.Fatal(err)
	}
	_, a, _ := strings.Cut(first.String(), "\n")
	_, b, _ := strings.Cut(second.String(), "\n")
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("printed twice (-first +second):\n%s", diff)
	}
}

func TestSchemaKnowsEverySection(t *testing.T) {
	var s struct {
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
		Closed     *bool          `json:"additionalProperties"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"api", "defaults", "connectors", "triggers", "tracking", "storage", "server"} {
		if s.Properties[section] == nil {
			t.Errorf("no section %s", section)
		}
	}
	if !slices.Equal(s.Required, []string{"api"}) || s.Closed == nil || *s.Closed {
		t.Errorf("required %v, additionalProperties %v", s.Required, s.Closed)
	}
}

func TestTriggersTakeOverTheDefaults(t *testing.T) {
	src := strings.Replace(base, "{country: GB, language: en}",
		"{country: gb, language: en, on_repeat: {mode: restart, max: 3}, cooldown: 3d, expires: 6h, max_age: 72h, remember_cancel: 2h, mode: shadow, category: utility}", 1) +
		"  own:\n    on: shopify.order.paid\n    on_repeat: ignore\n    cooldown: once\n    expires: off\n    max_age: 1h\n    remember_cancel: 5h\n    mode: live\n    category: marketing\n    if: customer.accepts_marketing\n    send: {template: own}\n" +
		"  code:\n    on: shopify.order.paid\n    category: authentication\n    send: {template: code}\n"
	c, ps := Parse("config.yaml", []byte(src), environ)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	type taken struct {
		again, every, expires, maxAge, remember, mode, category string
	}
	want := map[string]taken{
		"remind": {"restart 3", "3d", "6h0m0s", "72h0m0s", "2h", "shadow", "utility"},
		"own":    {"ignore 0", "once", "off", "1h0m0s", "5h", "live", "marketing"},
		"code":   {"restart 3", "3d", "unset", "72h0m0s", "2h", "shadow", "authentication"},
	}
	for _, e := range c.in.Triggers {
		r := e.Value
		got := taken{
			fmt.Sprintf("%s %d", r.OnRepeat.Mode, r.OnRepeat.Max), r.Cooldown.String(), lifetime(r.Expires), lifetime(r.MaxAge),
			r.RememberCancel.String(), string(r.Mode), string(r.Category),
		}
		if got != want[e.Key] {
			t.Errorf("%s took %+v, want %+v", e.Key, got, want[e.Key])
		}
	}
	if c.Defaults.Country != "GB" {
		t.Errorf("the country is %q", c.Defaults.Country)
	}
}

func lifetime(l triggers.Lifetime) string {
	switch {
	case !l.Set:
		return "unset"
	case l.Off:
		return "off"
	default:
		return l.For.String()
	}
}

// What cancels a trigger that left the config is taken from the text that is kept with decisions.
func TestRulesAreReadFromAConfigAsItIsKept(t *testing.T) {
	src := `api: {base_url: https://api.example.com/api/v1, key: "${KEY}"}
connectors: {shopify: {secret: "0123456789abcdef0123456789abcdef"}}
defaults: {language: en, remember_cancel: 48h}
triggers:
  cart: {on: shopify.cart.updated, wait: 45m, cancel_on: [shopify.order.created, shopify.order.paid], key: cart.id, send: {template: t}}
`
	c, problems := Parse("c.yaml", []byte(src), func(string) (string, bool) { return "key-of-the-service", true })
	if problems.Errors() > 0 {
		t.Fatal(problems)
	}
	got := Rules(c.Redacted()+"later: {unknown: here}\n", func(string) (string, bool) { return "", false })["cart"]
	if got.Name != "cart" || got.Key != "cart.id" || len(got.CancelOn) != 2 || got.CancelOn[1] != "shopify.order.paid" || got.RememberCancel.String() != "2d" {
		t.Errorf("read back: %+v", got)
	}
}

func TestThePrintedConfigShowsNoSecretOfAnAddress(t *testing.T) {
	c, _ := Parse("c.yaml", []byte(`api: {base_url: "https://u:PASSWORD@api.example.com/api/v1", key: k}
jobs:
  w: {source: {http: {url: "https://crm.example.com/list?key=SECRET"}}, columns: {phone: phone}, send: {campaign: c}}
triggers:
  t: {on: shopify.cart.updated, send: {template: x, variables: ["https://shop.example.com/?ref=LINK"]}}
`), nil)
	out := c.Redacted()
	if strings.Contains(out, "PASSWORD") || strings.Contains(out, "SECRET") || !strings.Contains(out, "ref=LINK") || !strings.Contains(out, "key=******") {
		t.Errorf("printed:\n%s", out)
	}
}
