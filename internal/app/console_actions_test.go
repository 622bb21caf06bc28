package app_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// formsOf are the forms of a page that ask for an action, by its name, with their fields.
func formsOf(t *testing.T, page string) map[string]url.Values {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]url.Values{}
	attr := func(n *html.Node, key string) string {
		for _, a := range n.Attr {
			if a.Key == key {
				return a.Val
			}
		}
		return ""
	}
	for n := range doc.Descendants() {
		name, is := strings.CutPrefix(attr(n, "action"), "/do/")
		if n.Data != "form" || !is {
			continue
		}
		fields := url.Values{}
		for in := range n.Descendants() {
			if kind := attr(in, "type"); in.Data == "input" && (kind == "hidden" || kind == "checkbox" || kind == "radio" && !fields.Has(attr(in, "name"))) {
				fields.Set(attr(in, "name"), attr(in, "value"))
			}
		}
		if out[name] == nil {
			out[name] = fields
		}
	}
	return out
}

// press presses the button of an action on a page, says yes where it is asked, with what it fills in, and gives the page that it came to.
func (b *browser) press(path, action string, fill ...string) got {
	b.t.Helper()
	page := b.page(path)
	_, main, _ := strings.Cut(page, "<main") // Halt everything is on every page
	fields := formsOf(b.t, main)[action]
	if fields == nil {
		fields = formsOf(b.t, page)[action]
	}
	if fields == nil {
		b.t.Fatalf("%s has no button for %s", path, action)
	}
	res := b.send(http.MethodPost, "/do/"+action, fields, nil)
	b.sound(path+" "+action, res)
	if asked := formsOf(b.t, res.body)[action]; res.at == "/do/"+action && asked != nil {
		for i := 0; i+1 < len(fill); i += 2 {
			asked.Set(fill[i], fill[i+1])
		}
		res = b.send(http.MethodPost, "/do/"+action, asked, nil)
		b.sound(path+" "+action+", said yes", res)
	}
	return res
}

func (b *browser) isTold(res got, words string) {
	b.t.Helper()
	if res.StatusCode != http.StatusOK || !strings.Contains(res.body, words) {
		_, main, _ := strings.Cut(res.body, "<main")
		b.t.Errorf("%s answers %d and does not say %q:\n%s", res.at, res.StatusCode, words, main)
	}
}

func TestActionsOfPages(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig + newsJob)})
	if err := os.WriteFile(filepath.Join(h.folder, "list.csv"), []byte("mobile,name\n+447700900201,Ada\nnobody,Bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c5", phone(5), "120.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c6", phone(6), "120.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c7", phone(7), "120.00")))
	b := h.browser()
	b.signIn(false)
	waiting := func() (out []server.MessageView) {
		for _, m := range h.messages() {
			if m.State == messaging.StateWaiting {
				out = append(out, m)
			}
		}
		return out
	}
	first := waiting()[0].ID
	path := "/messages/" + strconv.FormatInt(int64(first), 10)
	b.isTold(b.press(path, "cancel", "reason", "wrong <b>price</b>"), "was cancelled.")
	b.isTold(b.send(http.MethodGet, path, nil, nil), "wrong &lt;b&gt;price&lt;/b&gt;")
	b.isTold(b.press("/messages?trigger=reminder&state=waiting", "cancel"), "2 messages were cancelled.")
	if left := waiting(); len(left) != 0 {
		t.Errorf("still waiting: %+v", left)
	}

	b.isTold(b.press("/triggers/reminder", "halt", "reason", "wrong price"), "Trigger &#34;reminder&#34; is halted.")
	b.isTold(b.press("/triggers/reminder", "resume"), "Trigger &#34;reminder&#34; goes on.")
	b.isTold(b.press("/triggers", "halt", "reason", "the shop moves"), "Everything is halted.")
	for _, path := range h.pagesOf() {
		_, main, _ := strings.Cut(b.page(path), "<main")
		above, _, _ := strings.Cut(main, "<h1")
		if !strings.Contains(above, "everything is halted since") || !strings.Contains(above, "the shop moves") || strings.Count(main, `action="/do/resume"`) != 1 {
			t.Errorf("%s does not begin with the halt of everything and its one button", path)
		}
	}
	b.isTold(b.send(http.MethodGet, "/", nil, nil), "Nothing is sent: everything is halted.")
	b.isTold(b.press("/system", "resume"), "Everything goes on.")
	b.isTold(b.press("/system", "reload"), "The config was read")

	person := "/people?phone=" + url.QueryEscape(phone(5))
	b.isTold(b.press(person, "block", "reason", "asked by phone"), "This phone is blocked.")
	b.isTold(b.press(person, "allow"), "not blocked any more")
	b.isTold(b.press(person, "consent", "proof", "letter of May"), "was recorded")
	if page := b.page(person); !strings.Contains(page, "given") {
		t.Errorf("the consent is not on the page: %s", page)
	}
	if res := b.send(http.MethodGet, "/people/data.json?phone="+url.QueryEscape(phone(5)), nil, nil); res.Header.Get("Content-Type") != "application/json" || !strings.Contains(res.body, "letter of May") {
		t.Errorf("the person's data: %s", res.body)
	}
	res := b.press(person, "forget")
	b.isTold(res, "is being forgotten")

	res = b.press("/jobs/news", "run-job")
	b.isTold(res, "of news has begun")
	h.eventually("the run is done", func() bool {
		runs, err := server.ListRuns.Call(t.Context(), h.ask, server.ListQuery{})
		return err == nil && len(runs) == 1 && runs[0].State.Final()
	})
	b.isTold(b.send(http.MethodGet, "/runs/1/rows.csv", nil, nil), "447700900201")
	if only := b.send(http.MethodGet, "/runs/1/rows.csv?only=excluded", nil, nil); strings.Contains(only.body, "447700900201") || !strings.Contains(only.body, "nobody") {
		t.Errorf("the excluded rows: %s", only.body)
	}
	b.isTold(b.press("/jobs/news", "run-job"), "of news has begun")

	b.isTold(b.send(http.MethodPost, "/audit", nil, nil), "entries are as they were written")
	entries, err := server.ListAudit.Call(t.Context(), h.ask, server.AuditQuery{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"POST /messages/{id}/cancel", "POST /messages/cancel", "POST /halt", "POST /resume", "POST /reload", "POST /blocks", "DELETE /blocks/{phone}", "POST /consents", "POST /contacts/forget", "POST /jobs/{name}/run"} {
		if !slices.ContainsFunc(entries, func(e server.AuditView) bool { return e.Action == want && e.Via == "session" }) {
			t.Errorf("the audit does not say that a session did %s", want)
		}
	}

	for _, one := range []struct {
		do, told string
		fill     []string
	}{
		{"refuse-redaction", "What came by shopify stays, and marketing to its contacts goes on.", nil},
		{"redact", "All that came by shopify is being forgotten.", nil},
	} {
		h.mustTake(h.shopify("shop/redact", "", map[string]any{"shop_id": 954889, "shop_domain": one.do + ".myshopify.com"}))
		if page := b.page("/"); !strings.Contains(page, "Forget all of shopify…") || !strings.Contains(page, "Keep it…") {
			t.Fatalf("the overview has no buttons: %s", page)
		}
		fields := formsOf(t, b.page("/"))["redact"]
		fields.Set("sure", "yes")
		b.isTold(b.send(http.MethodPost, "/do/redact", fields, nil), "the box was not ticked")
		b.isTold(b.press("/", one.do), one.told)
		if open, err := server.ListRedactions.Call(t.Context(), h.ask, server.None{}); err != nil || len(open) != 0 {
			t.Errorf("after %s: %+v, %v", one.do, open, err)
		}
	}
}

// Who may not do something sees no button, and is refused when the form comes all the same.
func TestAViewerIsShownNoButtonAndForgesNone(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig + newsJob)})
	b := h.browser()
	b.signIn(true)
	for _, path := range append(h.pagesOf(), "/jobs/news") {
		if strings.Contains(path, "phone=") {
			continue // whose story is asked for is told
		}
		for name := range formsOf(t, b.page(path)) {
			t.Errorf("%s shows a viewer a button for %s", path, name)
		}
	}
	for _, name := range []string{"cancel", "retry", "retry-these", "resolve", "resolve-all", "halt", "resume", "reload", "run-job", "approve", "pause", "go-on", "cancel-run", "retry-run", "resolve-part", "block", "allow", "consent", "forget"} {
		res := b.send(http.MethodPost, "/do/"+name, url.Values{"sure": {"yes"}, "id": {"1"}, "tick": {"1"}, "run": {"1"}, "scope": {"all"}, "job": {"news"}, "phone": {phone(1)}, "as": {"drop"}, "meant": {"yes"}}, nil)
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("a viewer's forged %s answers %d", name, res.StatusCode)
		}
	}
	for _, path := range []string{"/audit", "/runs/1/rows.csv", "/people/data.json?phone=" + url.QueryEscape(phone(1))} {
		if status, _ := b.open(path); status != http.StatusForbidden {
			t.Errorf("a viewer's %s answers %d", path, status)
		}
	}
	if halts, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil || len(halts.Holds) > 0 {
		t.Errorf("a viewer halted: %+v %v", halts.Holds, err)
	}
}

// A second click, and a form that is sent again, does nothing twice and leads to the same page.
func TestAFormIsCarriedOutOnce(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig + newsJob)})
	if err := os.WriteFile(filepath.Join(h.folder, "list.csv"), []byte("mobile,name\n+447700900201,Ada\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.signIn(false)
	asked := b.send(http.MethodPost, "/do/run-job", formsOf(t, b.page("/jobs/news"))["run-job"], nil)
	yes := formsOf(t, asked.body)["run-job"]
	places := make(chan string, 4)
	for range cap(places) {
		go func() { places <- b.send(http.MethodPost, "/do/run-job", yes, nil).at }()
	}
	first := <-places
	for range cap(places) - 1 {
		if one := <-places; one != first {
			t.Errorf("one click leads to %s, another to %s", first, one)
		}
	}
	if runs, err := server.ListRuns.Call(t.Context(), h.ask, server.ListQuery{}); err != nil || len(runs) != 1 {
		t.Errorf("four clicks made the runs %+v %v", runs, err)
	}
}

// Where a form leads back to is a page of ours.
func TestAFormLeadsNowhereElse(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, back := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "", "/x\r\nSet-Cookie: a=b", "evil"} {
		res := b.send(http.MethodPost, "/do/pause", url.Values{"run": {"99"}, "back": {back}}, nil)
		if at := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/?said=") {
			t.Errorf("back to %q leads to %q", back, at)
		}
	}
}

// A bulk order is about one message, or about those to a phone, where it says so.
func TestBulkOrdersAboutOneMessageOrPhone(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	for i := range 3 {
		h.mustTake(h.shopify("checkouts/update", "", cart("c"+strconv.Itoa(i), phone(i%2+1), "120.00")))
	}
	for want, in := range map[int64]server.BulkRequest{1: {Message: 1}, 2: {Phone: phone(1)}, 0: {Phone: phone(9)}} {
		in.DryRun = true
		if v, err := server.CancelMessages.Call(t.Context(), h.ask, in); err != nil || v.Count != want {
			t.Errorf("%+v counts %d, want %d: %v", in, v.Count, want, err)
		}
	}
	if _, err := server.CancelMessages.Call(t.Context(), h.ask, server.BulkRequest{Phone: "nobody"}); err == nil {
		t.Error("a phone that is none is taken")
	}
}
