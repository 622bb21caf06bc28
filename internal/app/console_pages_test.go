package app_test

import (
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// withPages is a config with the console's listener.
func withPages(config string) string { return config + "console: {listen: \"127.0.0.1:0\"}\n" }

// A browser keeps cookies, and reads pages as a browser does without scripts.
type browser struct {
	t    *testing.T
	h    *house
	base string
	http *http.Client
}

func (h *house) browser() *browser {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	b := &browser{t: h.t, h: h, base: "http://" + h.ConsoleAddr().String(), http: &http.Client{Jar: jar, Transport: &http.Transport{}}}
	h.t.Cleanup(b.http.CloseIdleConnections)
	return b
}

// signIn opens a new link and follows it.
func (b *browser) signIn(masked bool) {
	b.t.Helper()
	link, err := server.LinkToConsole.Call(b.t.Context(), b.h.ask, signin.LinkRequest{Masked: masked})
	if err != nil {
		b.t.Fatalf("ask for a link: %v", err)
	}
	if status, _ := b.open(b.follow(link.URL)); status != http.StatusOK {
		b.t.Fatalf("signed in, the overview answers %d", status)
	}
}

// follow opens a link and presses its button. It gives the page that it came to.
func (b *browser) follow(link string) string {
	b.t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		b.t.Fatal(err)
	}
	if status, page := b.open(u.RequestURI()); status != http.StatusOK || !strings.Contains(page, "signs you in once") {
		b.t.Fatalf("the link answers %d %s", status, page)
	}
	res := b.send(http.MethodPost, "/sign-in", url.Values{"link": {u.Query().Get("link")}}, nil)
	if res.StatusCode != http.StatusOK {
		b.t.Fatalf("the button answers %d %s", res.StatusCode, res.body)
	}
	return res.at
}

// A handClock is moved on by hand.
type handClock struct {
	mu sync.Mutex
	at time.Time
}

func newHandClock() *handClock { return &handClock{at: time.Now()} }

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) on(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type got struct {
	*http.Response
	at, body string
}

func (b *browser) send(method, path string, form url.Values, header map[string]string) got {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("read %s: %v", path, err)
	}
	return got{res, res.Request.URL.RequestURI(), string(body)}
}

func (b *browser) open(path string) (status int, page string) {
	b.t.Helper()
	res := b.send(http.MethodGet, path, nil, nil)
	return res.StatusCode, res.body
}

// page opens a page that must be there, and holds it to what every page keeps: a policy that runs nothing but our files, nothing that the policy
// would have to stop, one heading, one main part, tables and fields with names, no address twice.
func (b *browser) page(path string) string {
	b.t.Helper()
	res := b.send(http.MethodGet, path, nil, nil)
	if res.StatusCode != http.StatusOK {
		b.t.Fatalf("%s answers %d %s", path, res.StatusCode, res.body)
	}
	b.sound(path, res)
	return res.body
}

func (b *browser) sound(path string, res got) {
	b.t.Helper()
	policy := res.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "; script-src 'self'; connect-src 'self';") {
		b.t.Errorf("%s: policy %q", path, policy)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := res.Header.Get(name); got != want {
			b.t.Errorf("%s: %s is %q, want %q", path, name, got, want)
		}
	}
	doc, err := html.Parse(strings.NewReader(res.body))
	if err != nil {
		b.t.Fatalf("%s: %v", path, err)
	}
	count := map[string]int{}
	ids := map[string]bool{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Namespace == "" { // a dot of a picture has a title, too
			count[n.Data]++
		}
		if n.Data == "script" && n.FirstChild != nil {
			b.t.Errorf("%s: a script stands in the page, which the policy forbids: %s", path, n.FirstChild.Data)
		}
		attrs := map[string]string{}
		for _, a := range n.Attr {
			attrs[a.Key] = a.Val
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				b.t.Errorf("%s: <%s> has %s=%q, which the policy forbids", path, n.Data, a.Key, a.Val)
			}
			if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
				b.t.Errorf("%s: <%s %s=%q> leads away", path, n.Data, a.Key, a.Val)
			}
		}
		if id := attrs["id"]; id != "" {
			if ids[id] {
				b.t.Errorf("%s: id %q is there twice", path, id)
			}
			ids[id] = true
		}
		if n.Data == "table" && !slices.ContainsFunc(slices.Collect(n.ChildNodes()), func(c *html.Node) bool { return c.Data == "caption" }) {
			b.t.Errorf("%s: a table has no caption", path)
		}
	}
	for name, want := range map[string]int{"style": 0, "iframe": 0, "h1": 1, "main": 1, "title": 1} {
		if count[name] != want {
			b.t.Errorf("%s: %d of <%s>, want %d", path, count[name], name, want)
		}
	}
	if strings.Contains(res.body, "ZgotmplZ") || strings.Contains(res.body, "%!") {
		b.t.Errorf("%s: a template was given what it cannot show", path)
	}
}

const newsJob = `
jobs:
  news:
    source: {csv: list.csv}
    columns: {phone: mobile, var_1: name}
    campaign: {name: 'News', template_id: 1}
`

// lively is a house in which everything that pages show has happened.
func lively(t *testing.T, o options) *house {
	t.Helper()
	h := open(t, o)
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "120.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "12.00")))
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "120.00")))
	forged := h.shopify("orders/create", "", order("c9", phone(9), "1.00"))
	forged.Header.Set("X-Shopify-Hmac-Sha256", "Zm9yZ2Vk")
	if status, _ := h.do(forged); status != http.StatusUnauthorized {
		t.Fatalf("a forged webhook is answered %d", status)
	}
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(3)}, Reason: "asked by letter"}); err != nil {
		t.Fatal(err)
	}
	h.eventually("the order's message is delivered", func() bool {
		return slices.ContainsFunc(h.messages(), func(m server.MessageView) bool { return m.Trigger == "thanks" && m.Status == "delivered" })
	})
	return h
}

// pagesOf are all pages of a lively house.
func (h *house) pagesOf() []string {
	h.t.Helper()
	out := []string{
		"/", "/events", "/events?phone=" + url.QueryEscape(phone(1)) + "&since=24h", "/events?connector=shopify&kind=cart.updated", "/events/rejected", "/messages", "/messages?state=delivered",
		"/messages?trigger=thanks", "/people", "/people?phone=" + url.QueryEscape(phone(1)), "/people?phone=" + url.QueryEscape(phone(3)), "/triggers", "/triggers/thanks", "/triggers/reminder", "/jobs", "/system",
	}
	for _, e := range h.events() {
		out = append(out, "/events/"+strconv.FormatInt(int64(e.ID), 10))
	}
	for _, m := range h.messages() {
		out = append(out, "/messages/"+strconv.FormatInt(int64(m.ID), 10))
	}
	return out
}

func TestEveryPageIsSound(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	for _, path := range h.pagesOf() {
		b.page(path)
	}
	for path, words := range map[string][]string{
		"/":                {"All is well.", "shopify.order.created", "Delivered", "Next runs"},
		"/events":          {"cart.updated", "planned", "skipped", "cancelling", "+" + strings.TrimPrefix(phone(1), "+")},
		"/events/rejected": {"401", "the signature does not match"},
		"/events/2":        {"✗ no", "cart.total &gt;= 50", "12.00", "Walking boots"},
		"/messages/1":      {"cancelled", "planned, due", "cart_reminder", "✓ yes", "Ada"},
		"/people?phone=" + url.QueryEscape(phone(1)): {"event 1", "cancelled by shopify.order.created", "delivered", "No consent is recorded"},
		"/people?phone=" + url.QueryEscape(phone(3)): {"Blocked: asked by letter"},
		"/triggers/reminder":                         {"It waits for 1 hour", "cart.total &gt;= 50 did not hold", "cart_reminder", "reminder:"},
		"/system":                                    {"test", "nudgewire.db", "shopify"},
	} {
		page := b.page(path)
		for _, one := range words {
			if !strings.Contains(page, one) {
				t.Errorf("%s does not say %q:\n%s", path, one, page)
			}
		}
	}
}

func TestPagesThatAreNotThereSaySo(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	for path, want := range map[string]int{
		"/nowhere": 404, "/events/99": 404, "/events/x": 404, "/messages/99": 404, "/triggers/gone": 404, "/jobs/gone": 404, "/runs/9": 404, "/runs/-1": 404,
		"/events?since=yesterday": 400, "/events?before=x": 400, "/messages?state=sleeping": 400, "/messages?phone=12": 400, "/people?phone=nobody": 400,
	} {
		res := b.send(http.MethodGet, path, nil, nil)
		if res.StatusCode != want {
			t.Errorf("%s answers %d, want %d", path, res.StatusCode, want)
		}
		b.sound(path, res)
		if !strings.Contains(res.body, `role="alert"`) {
			t.Errorf("%s does not say what is wrong: %s", path, res.body)
		}
	}
	if page := b.page("/people?phone=" + url.QueryEscape(phone(77))); !strings.Contains(page, "Nothing is known about") {
		t.Errorf("somebody unknown: %s", page)
	}
	if page := b.page("/messages?state=read"); !strings.Contains(page, "No message is like that.") {
		t.Errorf("an empty list: %s", page)
	}
}

func TestAHouseWithoutAnythingTeaches(t *testing.T) {
	h := open(t, options{config: withPages("connectors: {}\n")})
	b := h.browser()
	b.signIn(false)
	for path, words := range map[string]string{
		"/": "nudgewire connectors show NAME", "/events": "No webhook has come yet", "/events/rejected": "No request was turned away", "/messages": "No message was queued yet",
		"/people": "Type a phone", "/triggers": "nudgewire init --recipes", "/jobs": "The config has no job", "/system": "nudgewire backup FILE",
	} {
		if page := b.page(path); !strings.Contains(page, words) {
			t.Errorf("%s does not say %q:\n%s", path, words, page)
		}
	}
}

func TestWhatStrangersWriteIsShownAsText(t *testing.T) {
	const script = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>{{7*7}}javascript:alert(3)`
	config := strings.Replace(plainConfig, "'{{ order.total }}'", `'{{ order.total }}', '{{ order.name }}'`, 1)
	h := open(t, options{config: withPages(config)})
	c := cart("c1"+script, phone(1), "12.00")
	c["customer"] = map[string]any{"first_name": script, "last_name": "\u202egnp.exe\u0000", "tags": script}
	h.mustTake(h.shopify("checkouts/update", "id"+`"><plaintext>`, c)) // a tag that no page has of its own
	o := order("c2"+script, phone(1), "120.00")
	o["customer"], o["name"] = c["customer"], script
	h.mustTake(h.shopify("orders/create", "", o))
	bad := h.shopify(script, "", map[string]any{"a": script})
	h.do(bad)
	forged := h.shopify("orders/create", "", map[string]any{"a": script})
	forged.Header.Set("X-Shopify-Hmac-Sha256", script)
	h.do(forged)
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(1)}, Reason: script, Source: script}); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.signIn(false)
	seen := false
	ask := url.QueryEscape(script)
	paths := append(h.pagesOf(), "/events?kind="+ask, "/events?connector="+ask, "/messages?trigger="+ask)
	for _, path := range paths {
		page := b.page(path)
		if strings.Contains(page, "<script>") || strings.Contains(page, "<img") || strings.Contains(page, "<plaintext>") || strings.ContainsAny(page, "\u202e\x00") {
			t.Errorf("%s holds what a stranger wrote as it came:\n%s", path, page)
		}
		seen = seen || strings.Contains(page, "&lt;script&gt;alert(1)")
	}
	if !seen {
		t.Error("no page shows what the strangers wrote: nothing was tried")
	}
	for _, path := range []string{"/people?phone=" + ask, "/messages?state=" + ask, "/events?since=" + ask, "/triggers/" + url.PathEscape(script), "/jobs/" + url.PathEscape(script), "/messages/" + url.PathEscape(script), "/" + url.PathEscape(script), "/sign-in?link=" + ask} {
		res := b.send(http.MethodGet, path, nil, nil)
		b.sound(path, res)
		if strings.Contains(res.body, "<script>") || strings.Contains(res.body, "<img") {
			t.Errorf("%s gives back what was asked for as it came", path)
		}
	}
}

func TestAMaskedViewerSeesNoWholePhone(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig)})
	whole, masked := h.browser(), h.browser()
	whole.signIn(false)
	masked.signIn(true)
	shown := 0
	for _, path := range h.pagesOf() {
		for n := 1; n <= 3; n++ {
			digits := strings.TrimPrefix(phone(n), "+")
			page := whole.page(path)
			shown += strings.Count(page, digits)
			if strings.Contains(path, "phone=") {
				continue // who types a phone knows it, and the field keeps it
			}
			if page := masked.page(path); strings.Contains(page, digits) || strings.Contains(page, digits[2:]) {
				t.Errorf("%s shows a whole phone to a viewer who may not see it:\n%s", path, page)
			}
		}
	}
	if shown == 0 {
		t.Error("nobody sees a phone anywhere: nothing was tried")
	}
	story := masked.page("/people?phone=" + url.QueryEscape(phone(1)))
	if n := strings.Count(story, strings.TrimPrefix(phone(1), "+")); n != 1 {
		t.Errorf("the story of a phone that was typed holds it %d times, want once in its field:\n%s", n, story)
	}
	if page := masked.page("/events/1"); !strings.Contains(page, "needs the scope phones") || strings.Contains(page, "Walking boots") {
		t.Errorf("the payload: %s", page)
	}
	if status, body := masked.open(server.Base + "/messages"); status != http.StatusOK || strings.Contains(body, strings.TrimPrefix(phone(1), "+")) {
		t.Errorf("the API answers the masked session %d %s", status, body)
	}
	if status, _ := masked.open(server.Base + "/consents"); status != http.StatusForbidden {
		t.Errorf("the API gives the masked session consents: %d", status)
	}
}

func TestALinkSignsInOnce(t *testing.T) {
	now := newHandClock()
	h := open(t, options{config: withPages(plainConfig), now: now.now})
	stranger := h.browser()
	for _, path := range []string{"/", "/events", "/messages/1", "/people?phone=%2B447700900001", "/nowhere"} {
		res := stranger.send(http.MethodGet, path, nil, nil)
		if res.StatusCode != http.StatusUnauthorized || !strings.Contains(res.body, "nudgewire console") {
			t.Errorf("a stranger gets %d at %s: %s", res.StatusCode, path, res.body)
		}
		stranger.sound(path, res)
	}
	link, err := server.LinkToConsole.Call(t.Context(), h.ask, signin.LinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	// Whoever only looks at the link does not use it up.
	if status, _ := stranger.open(strings.TrimPrefix(link.URL, stranger.base)); status != http.StatusOK {
		t.Fatalf("the link answers %d", status)
	}
	first := h.browser()
	first.follow(link.URL)
	if status, _ := first.open("/events"); status != http.StatusOK {
		t.Errorf("signed in, /events answers %d", status)
	}
	u, _ := url.Parse(link.URL)
	if res := stranger.send(http.MethodPost, "/sign-in", url.Values{"link": {u.Query().Get("link")}}, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a link that was used answers %d", res.StatusCode)
	}
	late, err := server.LinkToConsole.Call(t.Context(), h.ask, signin.LinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	now.on(10 * time.Minute)
	u, _ = url.Parse(late.URL)
	if res := stranger.send(http.MethodPost, "/sign-in", url.Values{"link": {u.Query().Get("link")}}, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a link of ten minutes ago answers %d", res.StatusCode)
	}
	// Idle for twelve hours, and signed out by hand.
	now.on(11 * time.Hour)
	if status, _ := first.open("/"); status != http.StatusOK {
		t.Errorf("after eleven hours: %d", status)
	}
	now.on(11 * time.Hour)
	if status, _ := first.open("/"); status != http.StatusOK {
		t.Errorf("eleven hours after that: %d", status)
	}
	now.on(12 * time.Hour)
	if status, _ := first.open("/"); status != http.StatusUnauthorized {
		t.Errorf("after twelve hours without a look: %d", status)
	}
	first.signIn(false)
	before := first.cookies()
	if res := first.send(http.MethodPost, "/sign-out", url.Values{}, nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("signed out, the page answers %d", res.StatusCode)
	}
	stolen := h.browser()
	stolen.http.Jar.SetCookies(stolen.url(), before)
	if status, _ := stolen.open("/"); status != http.StatusUnauthorized {
		t.Errorf("the cookie of a session that was signed out is answered %d", status)
	}
}

func (b *browser) url() *url.URL {
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

func (b *browser) cookies() []*http.Cookie { return b.http.Jar.Cookies(b.url()) }

func TestNobodyChoosesASession(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.http.Jar.SetCookies(b.url(), []*http.Cookie{{Name: "nudgewire", Value: "chosen", Path: "/"}})
	b.signIn(false)
	if got := b.cookies(); len(got) != 1 || got[0].Value == "chosen" || len(got[0].Value) < 43 {
		t.Errorf("signed in with %v", got)
	}
}

func TestTheCookieIsForThePagesAlone(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	link, err := server.LinkToConsole.Call(t.Context(), h.ask, signin.LinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(link.URL)
	res := b.send(http.MethodPost, "/sign-in", url.Values{"link": {u.Query().Get("link")}}, nil)
	cookies := res.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies: %v", cookies)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure {
		t.Errorf("by plain http the cookie is %s", res.Header.Get("Set-Cookie"))
	}
}

func TestWrongLinksAreLimited(t *testing.T) {
	now := newHandClock()
	h := open(t, options{config: withPages(plainConfig), now: now.now})
	b := h.browser()
	var last int
	for range 11 {
		last = b.send(http.MethodPost, "/sign-in", url.Values{"link": {"guess"}}, nil).StatusCode
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the eleventh guess within a minute answers %d", last)
	}
	now.on(time.Minute)
	b.signIn(false)
}

func TestAnotherSiteDoesNothing(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig + newsJob)})
	b := h.browser()
	b.signIn(false)
	for _, header := range []map[string]string{{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "null"}} {
		for _, path := range []string{"/sign-out", "/jobs/news/forecast", "/sign-in", "/do/halt", "/do/cancel", "/audit"} {
			if res := b.send(http.MethodPost, path, url.Values{}, header); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s from %v answers %d", path, header, res.StatusCode)
			}
		}
		if res := b.send(http.MethodPost, server.Base+"/runs/1/cancel", url.Values{}, header); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("the API, asked by %v with a session, answers %d %s", header, res.StatusCode, res.body)
		}
	}
	if status, _ := b.open("/"); status != http.StatusOK {
		t.Errorf("the session was ended by another site: %d", status)
	}
}

// A session does what its scopes say, by the API too, and the audit says who it was.
func TestASessionDoesWhatItsScopesSay(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig + newsJob)})
	orders := []string{"/halt", "/messages/1/cancel", "/jobs/news/run", "/jobs/news/forecast", "/runs/1/cancel", "/blocks", "/reload", "/tokens", "/messages"}
	viewer := h.browser()
	viewer.signIn(true)
	for _, path := range orders {
		if res := viewer.send(http.MethodPost, server.Base+path, nil, nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s by a viewer answers %d %s", path, res.StatusCode, res.body)
		}
	}
	b := h.browser()
	b.signIn(false)
	for _, path := range orders { // some lack a body, or what they name
		if res := b.send(http.MethodPost, server.Base+path, nil, nil); res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusUnauthorized {
			t.Errorf("%s by a session answers %d %s", path, res.StatusCode, res.body)
		}
	}
	if res := b.send(http.MethodPost, server.Base+"/console/link", nil, map[string]string{"Content-Type": "application/json"}); res.StatusCode == http.StatusOK {
		t.Errorf("a session made a link: %s", res.body)
	}
	entries, err := server.ListAudit.Call(t.Context(), h.ask, server.AuditQuery{Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(entries, func(e server.AuditView) bool { return e.Via == "session" && e.Action == "POST /reload" && e.Who != "" }) {
		t.Errorf("the audit does not have the session's reload: %+v", entries)
	}
}

func TestALinkNeedsAConsole(t *testing.T) {
	h := open(t, options{})
	_, err := server.LinkToConsole.Call(t.Context(), h.ask, signin.LinkRequest{})
	no, ok := errors.AsType[*refusal.Error](err)
	if !ok || no.Status != http.StatusConflict || !strings.Contains(no.Hint, "console.listen") {
		t.Errorf("without a console: %v", err)
	}
}

// Neither a reload nor a restart ends sessions: what they change is on the pages.
func TestSessionsOutliveAReloadAndARestart(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	h.edit("wait: 1h", "wait: 2h")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	if page := b.page("/triggers/reminder"); !strings.Contains(page, "It waits for 2 hours") || !strings.Contains(page, "wait: 2h") {
		t.Errorf("after a reload: %s", page)
	}
	cookies := b.cookies()
	h.stop()
	again := open(t, options{config: withPages(plainConfig), folder: h.folder})
	b = again.browser()
	b.http.Jar.SetCookies(b.url(), cookies)
	b.page("/")
}

func TestPagesShowWhatIsHalted(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig)})
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: "trigger", Name: "reminder", Reason: "wrong price"}); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.signIn(false)
	for path, words := range map[string]string{
		"/": "wrong price", "/triggers": `badge bad">halted`, "/triggers/reminder": ">Let it go on…</button>",
	} {
		if page := b.page(path); !strings.Contains(page, words) {
			t.Errorf("%s does not say %q:\n%s", path, words, page)
		}
	}
	if page := b.page("/"); !strings.Contains(page, "Some messages are held back. One thing needs a person.") {
		t.Errorf("the overview: %s", page)
	}
}

func TestListsGoOn(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	for i := range 120 {
		h.mustTake(h.shopify("checkouts/update", "", cart("c"+strconv.Itoa(i), phone(i), "120.00")))
	}
	b := h.browser()
	b.signIn(false)
	for _, first := range []string{"/events", "/messages?state=waiting"} {
		seen := map[string]bool{}
		pages := 0
		for path := first; path != ""; pages++ {
			page := b.page(path)
			doc, err := html.Parse(strings.NewReader(page))
			if err != nil {
				t.Fatal(err)
			}
			path = ""
			for n := range doc.Descendants() {
				attrs := map[string]string{}
				for _, a := range n.Attr {
					attrs[a.Key] = a.Val
				}
				if n.Data == "a" && attrs["rel"] == "next" {
					path = attrs["href"]
				}
				if n.Data == "td" && n.PrevSibling == nil && n.FirstChild != nil && n.FirstChild.Data == "a" {
					text := n.FirstChild.FirstChild.Data
					if seen[text] {
						t.Errorf("%s is listed twice", text)
					}
					seen[text] = true
				}
			}
		}
		if len(seen) != 120 || pages != 3 {
			t.Errorf("%s: %d rows on %d pages, want 120 on 3", first, len(seen), pages)
		}
	}
}

func TestAForecastIsMadeByAButton(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte("mobile,name\n"+phone(1)+",Ada\n"+phone(2)+",<b>Ben\nno phone,X\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, options{config: withPages(plainConfig + newsJob), folder: folder})
	whole, masked := h.browser(), h.browser()
	whole.signIn(false)
	masked.signIn(true)
	if page := whole.page("/jobs/news"); !strings.Contains(page, "Forecast</button>") {
		t.Errorf("the job: %s", page)
	}
	if page := masked.page("/jobs/news"); strings.Contains(page, "Forecast</button>") {
		t.Error("a viewer is shown a button that is not for them")
	}
	res := whole.send(http.MethodPost, "/jobs/news/forecast", url.Values{}, nil)
	whole.sound("forecast", res)
	if res.StatusCode != http.StatusOK || !strings.Contains(res.body, "&lt;b&gt;Ben") || !strings.Contains(res.body, "Nothing was sent") {
		t.Errorf("the forecast answers %d %s", res.StatusCode, res.body)
	}
	if res := masked.send(http.MethodPost, "/jobs/news/forecast", url.Values{}, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer's forecast answers %d", res.StatusCode)
	}
	run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "news"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("the run is over", func() bool {
		r, err := server.ShowRun.Call(t.Context(), h.ask, run.ID)
		return err == nil && r.State.Final()
	})
	for path, words := range map[string]string{"/jobs": "news", "/jobs/news": "/runs/1", "/runs/1": "SHA-256"} {
		if page := whole.page(path); !strings.Contains(page, words) {
			t.Errorf("%s does not say %q:\n%s", path, words, page)
		}
	}
}

func TestAForgottenPhoneIsOnNoPage(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	digits := strings.TrimPrefix(phone(1), "+")
	if !strings.Contains(b.page("/events/1"), digits) {
		t.Fatal("the phone is not shown before it is forgotten")
	}
	if _, err := server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	h.forgotten(phone(1))
	for _, path := range h.pagesOf() {
		if page := b.page(path); !strings.Contains(path, "phone=") && strings.Contains(page, digits) {
			t.Errorf("%s shows who was forgotten:\n%s", path, page)
		}
	}
	story := b.page("/people?phone=" + url.QueryEscape(phone(1)))
	if !strings.Contains(story, "Forgotten") || strings.Contains(story, "/events/1\"") {
		t.Errorf("the story of somebody who was forgotten: %s", story)
	}
}

// What a list shows leaves as a file, as its filters narrow it and as whoever is signed in may see it.
func TestAListLeavesByItsLink(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig)})
	for _, masked := range []bool{false, true} {
		b := h.browser()
		b.signIn(masked)
		for path, want := range map[string]string{
			"/events":                             server.Base + "/events/export?format=csv",
			"/events?connector=shopify&since=24h": server.Base + "/events/export?connector=shopify&amp;format=csv&amp;since=",
			"/messages?account=api":               server.Base + "/messages/export?account=api&amp;format=csv",
		} {
			_, rest, there := strings.Cut(b.page(path), `<a href="`+want)
			link, _, _ := strings.Cut(rest, `"`)
			if !there {
				t.Errorf("%s has no link %s", path, want)
				continue
			}
			res := b.send(http.MethodGet, strings.ReplaceAll(want+link, "&amp;", "&"), nil, nil)
			rows, err := csv.NewReader(strings.NewReader(res.body)).ReadAll()
			if err != nil || res.StatusCode != http.StatusOK || len(rows) < 2 || rows[0][0] != "id" || !strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment; filename=") {
				t.Errorf("%s leads to %d %v %d rows, %v", path, res.StatusCode, res.Header, len(rows), err)
			}
			if shown := strings.Contains(res.body, strings.TrimPrefix(phone(1), "+")); shown == masked {
				t.Errorf("%s, masked %t: %s", path, masked, res.body)
			}
		}
	}
}
