package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const editedReminder = `triggers:
  reminder:
    on: [shopify.cart.created, shopify.cart.updated]
    if: cart.total >= 500
    wait: 2h
    send: {template: cart_reminder, variables: ['{{ customer.first_name | default: "you" }}']}
`

func payload(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decided(t *testing.T, events []preview.TriedEvent, trigger string) preview.TriedDecision {
	t.Helper()
	for _, e := range events {
		for _, d := range e.Decisions {
			if d.Trigger == trigger {
				return d
			}
		}
	}
	t.Fatalf("%s said nothing: %+v", trigger, events)
	return preview.TriedDecision{}
}

func TestATrySaysWhatWouldBeAndDoesNothing(t *testing.T) {
	h := open(t, options{config: strings.Replace(plainConfig, "language: en}", `language: en, quiet_hours: "21:00-09:00"}`, 1)})
	at := time.Date(2026, 11, 24, 22, 0, 0, 0, time.UTC)
	v, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Connector: "shopify", Payload: preview.TryBody(payload(t, cart("c1", phone(1), "60.00"))), Topic: "checkouts/update", At: at, Triggers: editedReminder})
	if err != nil {
		t.Fatal(err)
	}
	now := decided(t, v.Events, "reminder")
	if now.Outcome != messaging.Planned || !now.Message.DueAt.Equal(at.Add(time.Hour)) || now.Message.Send.Template != "cart_reminder" || now.Message.Held == nil || now.Message.Held.Rule != "quiet_hours" {
		t.Errorf("by the rules in use: %+v", now)
	}
	if c := now.Clauses[0]; !c.Held || c.Values[0].Value != "60.00" {
		t.Errorf("the clause saw %+v", c)
	}
	if s := v.Events[0].Silent; len(s) != 1 || s[0].Trigger != "thanks" || !strings.Contains(s[0].Reason, "listens to shopify.order.created") {
		t.Errorf("silent: %+v", s)
	}
	if !strings.Contains(v.Verified, "hmac") {
		t.Errorf("verified by %q", v.Verified)
	}
	if !v.Edited.Usable || !strings.Contains(v.Edited.Problems.Error(), "edited rules:2:3: warning: triggers.reminder: nothing cancels it") {
		t.Fatalf("edited: %+v", v.Edited)
	}
	if then := decided(t, v.Edited.Events, "reminder"); then.Outcome != messaging.Skipped || then.Clauses[0].Held || then.Clauses[0].Text != "cart.total >= 500" {
		t.Errorf("by the edited rules: %+v", then)
	}
	if events, messages := h.events(), h.messages(); len(events)+len(messages) > 0 {
		t.Errorf("a try left %d events and %d messages", len(events), len(messages))
	}
	if status, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil || status.Daemon.Guessed > 0 {
		t.Errorf("a try is counted among the guesses: %v", err)
	}
	if _, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Connector: "shopify", Sample: "order"}); err != nil {
		t.Errorf("a sample: %v", err)
	}
}

func TestATryOfAStoredEvent(t *testing.T) {
	h := open(t, options{})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	id := h.events()[0].ID
	v, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Event: id, Triggers: editedReminder})
	if err != nil {
		t.Fatal(err)
	}
	if now, then := decided(t, v.Events, "reminder"), decided(t, v.Edited.Events, "reminder"); now.Outcome != messaging.Planned || then.Outcome != messaging.Skipped || v.Connector != "shopify" {
		t.Errorf("%+v, %+v", now, then)
	}
}

// What is wrong is said at its place.
func TestATrySaysWhatIsWrong(t *testing.T) {
	h := open(t, options{})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	v, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Connector: "shopify", Payload: "{\n  \"id\": oops}", Topic: "checkouts/update"})
	if err != nil || v.Rejected == nil || v.Rejected.Line != 2 || v.Rejected.Column != 9 || v.Rejected.Stage != "body" {
		t.Errorf("bad JSON: %v, %+v", err, v.Rejected)
	}
	for what, tt := range map[string]struct {
		rules, says string
		line        int
	}{
		"a typo":                 {strings.Replace(editedReminder, "wait:", "wiat:", 1), "unknown key", 5},
		"an expression":          {strings.Replace(editedReminder, "cart.total >= 500", "cart.totl >= 500", 1), "totl", 4},
		"a tab":                  {"triggers:\n\treminder: {}\n", "a tab cannot indent YAML", 2},
		"another section":        {"api: {key: x}\n" + editedReminder, "may not stand here", 1},
		"no section":             {"reminder: {on: shopify.cart.updated}\n", "may not stand here", 1},
		"a connector that is no": {strings.Replace(editedReminder, "shopify.cart.created, ", "shopfy.cart.created, ", 1), "shopfy", 3},
		"a variable":             {strings.Replace(editedReminder, `"you"`, "${API_KEY}", 1), "is not looked up for a try", 6},
		"a file":                 {strings.Replace(editedReminder, "cart_reminder,", "'${file:/etc/hostname}',", 1), "is not looked up for a try", 6},
		"holidays":               {editedReminder + "    quiet_hours: {hours: \"21:00-09:00\", holidays: /etc/passwd}\n", "is not read for a try", 7},
		"aliases":                {"triggers:\n  a: &a [x,x,x,x,x,x,x,x,x]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n  f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n  g: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "", 0},
	} {
		v, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Event: 1, Triggers: tt.rules})
		if err != nil || v.Edited.Usable || len(v.Edited.Events) > 0 || len(v.Edited.Problems) == 0 {
			t.Errorf("%s: %v, %+v", what, err, v.Edited)
			continue
		}
		said := v.Edited.Problems.Error()
		if p := v.Edited.Problems[0]; tt.line > 0 && (p.Line != tt.line || !strings.Contains(said, tt.says)) {
			t.Errorf("%s: %s", what, said)
		}
		if strings.Contains(said, apiKey) || strings.Contains(said, shopSecret) {
			t.Errorf("%s: it tells a secret: %s", what, said)
		}
	}
	for what, tt := range map[string]struct {
		in    preview.TryRequest
		field string
	}{
		"nothing":             {preview.TryRequest{}, "connector"},
		"a connector":         {preview.TryRequest{Connector: "shopfy"}, "connector"},
		"a sample":            {preview.TryRequest{Connector: "shopify", Sample: "none"}, "sample"},
		"two payloads":        {preview.TryRequest{Connector: "shopify", Sample: "order", Payload: "{}"}, "sample"},
		"an event and more":   {preview.TryRequest{Event: 1, Connector: "shopify"}, "event"},
		"an event that is no": {preview.TryRequest{Event: 99}, "event"},
		"rules too long":      {preview.TryRequest{Event: 1, Triggers: strings.Repeat("#", 70<<10)}, "triggers"},
		"a time":              {preview.TryRequest{Event: 1, At: time.Unix(0, 0)}, "at"},
	} {
		_, err := server.TryWebhook.Call(t.Context(), h.ask, tt.in)
		if no, is := errors.AsType[*refusal.Error](err); !is || no.Field != tt.field {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Whoever may only look sees no phone, no stored payload and no secret.
func TestATryShowsNoSecret(t *testing.T) {
	config := strings.Replace(plainConfig, "connectors:\n", "connectors:\n  stripey: {verify: {kind: token, from: body, field: token, secret: \"${SHOP_SECRET}\"}, event: {type: type, id: id}, samples: [{name: one, kind: a.b, body: '{\"type\": \"a.b\", \"id\": \"1\", \"token\": \"<<secret>>\"}'}]}\n", 1)
	config = strings.Replace(config, "send: {template: cart_reminder,", "send: {header: {image: \"https://cdn.example/p.jpg?sig=s3cr3t-of-the-picture\"}, template: cart_reminder,", 1)
	h := open(t, options{config: withPages(config)})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	all, err := server.ListConnectors.Call(t.Context(), h.ask, server.None{})
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %+v", err, all)
	}
	if text := payload(t, all); strings.Contains(text, shopSecret) || !strings.Contains(text, "secret") {
		t.Errorf("samples: %s", text)
	}
	viewer := h.remote(access.Read)
	if _, err := server.TryWebhook.Call(t.Context(), viewer, preview.TryRequest{Event: 1}); err == nil || !strings.Contains(err.Error(), "scope phones") {
		t.Errorf("a viewer tries a stored event: %v", err)
	}
	v, err := server.TryWebhook.Call(t.Context(), viewer, preview.TryRequest{Connector: "shopify", Payload: preview.TryBody(payload(t, cart("c1", phone(1), "60.00"))), Topic: "checkouts/update"})
	if err != nil {
		t.Fatal(err)
	}
	if text := payload(t, v); strings.Contains(text, strings.TrimPrefix(phone(1), "+")) {
		t.Errorf("a viewer sees a whole phone: %s", text)
	}
	// A line as it is shown is the line as it is.
	shown := strings.ReplaceAll(editedReminder, "send: {template", "send: {header: {image: \"https://cdn.example/p.jpg?sig=*********************\"}, template")
	shown = strings.Replace(shown, `"you"`, `"there"`, 1)
	v, err = server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Event: 1, Triggers: strings.Replace(shown, "500", "5", 1)})
	if err != nil || !v.Edited.Usable {
		t.Fatalf("%v, %+v", err, v.Edited)
	}
	if now, then := decided(t, v.Events, "reminder").Message.Send.Header.URL, decided(t, v.Edited.Events, "reminder").Message.Send.Header.URL; now != then || !strings.HasSuffix(now, "s3cr3t-of-the-picture") {
		t.Errorf("%q, %q", now, then)
	}
}

// What is hard to read or to decide ends soon.
func TestATryEnds(t *testing.T) {
	h := open(t, options{})
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	for what, in := range map[string]preview.TryRequest{
		"deep":  {Connector: "shopify", Payload: preview.TryBody(deep)},
		"long":  {Connector: "shopify", Payload: preview.TryBody(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`)},
		"words": {Connector: "shopify", Payload: preview.TryBody(strings.Repeat("nonsense ", 1000))},
	} {
		if v, err := server.TryWebhook.Call(t.Context(), h.ask, in); err != nil || v.Rejected == nil {
			t.Errorf("%s: %v, %+v", what, err, v.Rejected)
		}
	}
	if _, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Connector: "shopify", Payload: preview.TryBody(strings.Repeat("x", 5<<20))}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a body without end: %v", err)
	}
	items := make([]any, 9000)
	for i := range items {
		items[i] = map[string]any{"title": fmt.Sprint(i), "quantity": i, "price": "1.00"}
	}
	c := cart("c1", phone(1), "60.00")
	c["line_items"] = items
	slow := "any(cart.items, any(cart.items, any(cart.items, #.title == \"nothing\")))"
	rules := "triggers:\n"
	for i := range 60 {
		rules += fmt.Sprintf("  slow%d: {on: shopify.cart.updated, if: ['%s', '%s'], send: {template: a}}\n", i, slow, slow)
	}
	began := time.Now()
	v, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Connector: "shopify", Payload: preview.TryBody(payload(t, c)), Topic: "checkouts/update", Triggers: rules})
	if err != nil || !v.Edited.Usable {
		t.Fatalf("%v, %+v", err, v.Edited)
	}
	t.Logf("60 slow rules took %s", time.Since(began))
	if v.Edited.Unasked > 0 {
		return // a slow machine came to the end of the time that a try has, and that is told
	}
	if d := decided(t, v.Edited.Events, "slow59"); d.Outcome != messaging.Skipped || d.Clauses[0].Error == "" {
		t.Errorf("%+v", d)
	}
}

// An edit is met by all that stands in other files.
func TestATryKnowsIncludedFiles(t *testing.T) {
	h := open(t, options{})
	if err := os.MkdirAll(filepath.Join(h.folder, "triggers"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.folder, "triggers", "more.yaml"), []byte("triggers:\n  more: {on: shopify.cart.updated, send: {template: more}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.edit("tracking:", "include: [triggers/*.yaml]\ntracking:")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What lies on the disk since is not what was loaded.
	if err := os.WriteFile(filepath.Join(h.folder, "triggers", "more.yaml"), []byte("triggers:\n  more: {on: shopify.cart.updated, send: {template: later}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Connector: "shopify", Payload: preview.TryBody(payload(t, cart("c1", phone(1), "60.00"))), Topic: "checkouts/update", Triggers: editedReminder})
	if err != nil || !v.Edited.Usable {
		t.Fatalf("%v %+v", err, v.Edited)
	}
	if d := decided(t, v.Edited.Events, "more"); d.Message.Send.Template != "more" {
		t.Errorf("%+v", d)
	}
	v, err = server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Connector: "shopify", Payload: preview.TryBody(payload(t, cart("c1", phone(1), "60.00"))), Topic: "checkouts/update", Triggers: "triggers:\n  more: {on: shopify.cart.updated, send: {template: edited}}\n"})
	if err != nil || !v.Edited.Usable || decided(t, v.Edited.Events, "more").Message.Send.Template != "edited" {
		t.Errorf("%v %+v", err, v.Edited)
	}
}

// remote asks by the console's listener, with a token of these scopes.
func (h *house) remote(scopes ...access.Scope) *server.Client {
	h.t.Helper()
	token, err := server.CreateToken.Call(h.t.Context(), h.ask, signin.TokenRequest{Name: fmt.Sprint("of ", scopes), Scopes: scopes})
	if err != nil {
		h.t.Fatal(err)
	}
	ask, err := server.Remote("http://"+h.ConsoleAddr().String(), token.Token)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(ask.Close)
	return ask
}
