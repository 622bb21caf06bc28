package app_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var textFields = regexp.MustCompile(`(?s)<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>`)

// fields are what the text fields of a page hold.
func fields(page string) map[string]string {
	out := map[string]string{}
	for _, m := range textFields.FindAllStringSubmatch(page, -1) {
		out[m[1]] = html.UnescapeString(m[2])
	}
	return out
}

// play presses a button of the playground.
func (b *browser) play(form url.Values) string {
	b.t.Helper()
	res := b.send(http.MethodPost, "/playground", form, nil)
	if res.StatusCode != http.StatusOK {
		b.t.Fatalf("%v answers %d %s", form, res.StatusCode, res.body)
	}
	b.sound("/playground", res)
	return res.body
}

func (b *browser) says(page string, words ...string) {
	b.t.Helper()
	for _, one := range words {
		if !strings.Contains(page, one) {
			b.t.Errorf("it does not say %q:\n%s", one, page)
		}
	}
}

func TestThePlaygroundShowsBothRulesSideBySide(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	page := b.page("/playground?trigger=reminder&from=shopify/checkout")
	b.says(page, "shopify.cart.updated", "cart_reminder", "cart.total &gt;= 50", "listens to shopify.order.created")
	text := fields(page)
	if !strings.HasPrefix(text["rules"], "triggers:\n  reminder:\n    on: [") || !strings.Contains(text["payload"], `"cart_token"`) {
		t.Fatalf("the fields hold %q", text)
	}
	form := url.Values{
		"from": {"shopify/"}, "topic": {"checkouts/update"}, "payload": {payload(t, cart("c1", phone(1), "60.00"))}, "trigger": {"reminder"}, "do": {"try"}, "at": {"2026-11-24T22:00"},
		"rules": {strings.ReplaceAll(strings.Replace(text["rules"], "50", "500", 1), "\n", "\r\n")},
	}
	page = b.play(form)
	b.says(page, "By the rules in use", "By the edited rules", "1 of the answers below would be another", `<li class="changed">`, "cart.total &gt;= 500", "24 Nov 2026, 22:00:00", "24 Nov 2026, 23:00:00", "config.yaml, line ", "read the config again")
	form.Set("rules", strings.Replace(text["rules"], "wait:", "wiat:", 1))
	b.says(b.play(form), "The edited rules cannot be used yet", `<tr class="wrong"><td class="n">5</td>`, "column 5: triggers.reminder.wiat: unknown key; did you mean &#34;wait&#34;?")
	form.Set("rules", text["rules"])
	b.says(b.play(form), "The edited rules say the same to it.")
	form.Set("payload", "{\"a\": 1,\n \"b\": oops\n}")
	b.says(b.play(form), "would be answered 400", "line 2, column 7")
	form.Set("payload", " ")
	b.says(b.play(form), "There is no payload.")
	form.Set("payload", "{}")
	form.Set("at", "soon")
	b.says(b.play(form), "That is no time.")
	if events := h.events(); len(events) > 0 {
		t.Errorf("trying stored %d events", len(events))
	}
	// The buttons that load keep what is there.
	form.Set("do", "sample")
	form.Set("from", "shopify/order")
	if page = b.play(form); !strings.Contains(fields(page)["payload"], "order_number") || fields(page)["rules"] != text["rules"] {
		t.Errorf("%s", page)
	}
	form.Set("do", "rules")
	form.Set("trigger", "*")
	if all := fields(b.play(form))["rules"]; !strings.Contains(all, "\n  thanks:\n") || !strings.Contains(all, "\n  reminder:\n") {
		t.Errorf("all rules: %s", all)
	}
}

func TestAStoredEventIsTriedByThoseWhoSeePhones(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	b := h.browser()
	b.signIn(false)
	b.says(b.page("/events/1"), `href="/playground?event=1"`)
	b.says(b.page("/playground?event=1"), "Event 1</a>, as it is stored", "cart_reminder", "+"+strings.TrimPrefix(phone(1), "+"))
	if text := fields(b.play(url.Values{"event": {"1"}, "do": {"copy"}}))["payload"]; !strings.Contains(text, `"token": "c1"`) {
		t.Errorf("a copy: %s", text)
	}
	viewer := h.browser()
	viewer.signIn(true)
	if page := viewer.page("/events/1"); strings.Contains(page, "/playground?event") {
		t.Error("a viewer is led to what they may not see")
	}
	page := viewer.page("/playground?event=1")
	viewer.says(page, "needs the scope phones")
	page = viewer.play(url.Values{"from": {"shopify/"}, "topic": {"checkouts/update"}, "payload": {payload(t, cart("c1", phone(1), "60.00"))}, "do": {"try"}})
	if _, result, _ := strings.Cut(page, `id="result"`); strings.Contains(result, strings.TrimPrefix(phone(1), "+")) || !strings.Contains(result, "cart_reminder") {
		t.Errorf("a viewer's result: %s", result)
	}
}

// Whatever is in a payload or a rule is text on the page.
func TestThePlaygroundShowsTextAsText(t *testing.T) {
	const script = `</textarea><script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	h := open(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	c := cart("c1"+script, phone(1), "60.00")
	c["customer"] = map[string]any{"first_name": script + "\u202egnp.exe", "last_name": "x"}
	page := b.play(url.Values{
		"from": {"shopify/"}, "topic": {"checkouts/update"}, "payload": {payload(t, c)}, "do": {"try"}, "trigger": {script},
		"rules": {"triggers:\n  reminder:\n    on: shopify.cart.updated\n    send: {template: '" + strings.ReplaceAll(script, "'", "''") + "', header: {image: 'javascript:alert(3)'}}\n"},
	})
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") || strings.Contains(page, "\u202e") {
		t.Errorf("%s", page)
	}
	for _, form := range []url.Values{{"from": {script}}, {"event": {"x"}}, {"event": {"-1"}}, {"from": {"shopify/" + script}}} {
		res := b.send(http.MethodPost, "/playground", form, nil)
		b.sound("/playground", res)
		if strings.Contains(res.body, "<script>alert") {
			t.Errorf("%v: %s", form, res.body)
		}
	}
}

// A sample that nobody edited is made for the time that was chosen.
func TestASampleIsMadeForTheTime(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	b := h.browser()
	b.signIn(false)
	page := b.page("/playground?from=shopify/checkout")
	_, loaded, _ := strings.Cut(page, `name="loaded" value="`)
	loaded, _, _ = strings.Cut(loaded, `"`)
	page = b.play(url.Values{"from": {"shopify/checkout"}, "topic": {"checkouts/update"}, "payload": {fields(page)["payload"]}, "loaded": {loaded}, "do": {"try"}, "at": {"2026-12-24T10:00"}})
	b.says(page, "24 Dec 2026, 11:00:00")
}
