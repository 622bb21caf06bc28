package events

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/rules"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/ruletest"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

const savedConfig = `
api: {base_url: https://api.example.com, key: k}
defaults: {country: GB, timezone: Europe/London, language: en}
connectors:
  shopify: {secret: a-secret-that-is-long-enough}
triggers:
  reminder:
    on: shopify.cart.updated
    if: [cart.total >= 50, customer.accepts_marketing, 'raw.source_name == "web"']
    wait: 45m
    cancel_on: shopify.order.created
    send: {template: cart_reminder, variables: ["{{ customer.first_name }}"]}
`

const savedCart = `{"id": 99001122, "token": "chk-ZX81", "cart_token": "crt-ZX81", "email": "Grace.Hopper@navy.example", "phone": "+44 7911 123456", "created_at": "2026-03-02T09:59:58Z",
	"updated_at": "2026-03-02T09:59:58Z", "currency": "GBP", "source_name": "web", "note": "leave it at 14 Harbour Row, ring twice", "browser_ip": "203.0.113.77", "total_price": "75.90",
	"buyer_accepts_sms_marketing": true, "abandoned_checkout_url": "https://shop.example/checkouts/chk-ZX81/recover?key=SECRETKEY", "customer_locale": "en-GB",
	"line_items": [{"product_id": 7712345, "title": "Signed biography", "quantity": 1, "price": "75.90"}],
	"shipping_address": {"first_name": "Grace", "last_name": "Hopper", "phone": "07911 123456", "address1": "14 Harbour Row", "city": "Whitby", "zip": "YO21 3PU", "country_code": "GB"},
	"customer": {"id": 55001122, "first_name": "Grace", "last_name": "Hopper", "phone": null, "born_on": "1906-12-09"}}`

const savedOrder = `{"id": 66001122, "name": "#1077", "order_number": 1077, "cart_token": "crt-ZX81", "checkout_token": "chk-ZX81", "phone": "07911123456", "email": "grace.hopper@navy.example", "created_at": "2026-03-02T10:20:00Z",
	"updated_at": "2026-03-02T10:20:00Z", "currency": "GBP", "financial_status": "paid", "total_price": "75.90", "line_items": [], "customer": {"id": 55001122, "first_name": "Grace", "last_name": "Hopper"}}`

// savedStory is a stored event as the daemon tells it.
func savedStory(id messaging.EventID, event, topic, payload string, at time.Time) server.StoryView {
	return server.StoryView{Event: server.EventView{ID: id, Event: event, Topic: topic, Phone: "447911123456", ReceivedAt: at, Payload: payload}}
}

// saved saves stories in a folder of its own.
func saved(t *testing.T, stories ...server.StoryView) (words string, err error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("config.yaml", []byte(savedConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, problems := config.Load("config.yaml", os.LookupEnv)
	if problems.Errors() > 0 {
		t.Fatal(problems)
	}
	var out, said bytes.Buffer
	c := &terminal.CLI{Streams: terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &said}, Config: "config.yaml"}
	s := saving{cfg: cfg, folder: ruletest.Folder, stories: stories}
	err = s.save(c, false)
	return out.String() + said.String(), err
}

// played plays the tests beside the config, as "nudgewire test" does.
func played(t *testing.T) (words string, err error) {
	t.Helper()
	var out bytes.Buffer
	c := &terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}, Config: "config.yaml"}
	root := &cobra.Command{}
	root.AddCommand(rules.Commands(c)...)
	root.SetArgs([]string{"test"})
	err = root.ExecuteContext(t.Context())
	return out.String(), err
}

// A stored cart with the order that followed becomes a test that holds, and nothing in it is about the person.
func TestStoredEventsBecomeATest(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 420_000_000, time.UTC)
	cart := savedStory(41, "shopify.cart.updated", "checkouts/update", savedCart, at)
	cart.Event.Decisions = []messaging.Decision{{Trigger: "reminder", Outcome: messaging.Planned, Clauses: []messaging.Clause{{Text: `raw.source_name == "web"`, Held: true}}}}
	alone := cart
	alone.Messages = []server.MessageView{{MessageStory: store.MessageStory{Message: messaging.Message{ID: 7, Trigger: "reminder", State: messaging.StateAccepted, DueAt: time.Date(2026, 3, 2, 10, 44, 58, 0, time.UTC), Send: messaging.Send{Template: "cart_reminder"}}}}}
	order := savedStory(44, "shopify.order.created", "orders/create", savedOrder, at.Add(20*time.Minute))
	cart.Messages = []server.MessageView{{MessageStory: store.MessageStory{Message: messaging.Message{ID: 7, Trigger: "reminder", State: messaging.StateCancelled, DueAt: at.Add(45 * time.Minute)}}}}
	for name, is := range map[string]struct {
		stories []server.StoryView
		times   []string
	}{
		"a cart": {[]server.StoryView{alone}, []string{"+0s", "+44m58s"}}, "a cart and its order": {[]server.StoryView{order, cart}, []string{"+0s", "+20m"}},
	} {
		stories := is.stories
		t.Run(name, func(t *testing.T) {
			if words, err := saved(t, stories...); err != nil {
				t.Fatal(words, err)
			}
			files, err := os.ReadDir(ruletest.Folder)
			if err != nil || len(files) != len(stories)+1 {
				t.Fatal(len(files), err)
			}
			for _, f := range files {
				text, err := os.ReadFile(ruletest.Folder + "/" + f.Name())
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range []string{"race", "opper", "navy", "7911", "123456", "ZX81", "SECRETKEY", "203.0.113", "Harbour", "Whitby", "YO21", "99001122", "55001122", "66001122", "1077", "1906", "biography", "7712345"} {
					if strings.Contains(string(text), secret) {
						t.Errorf("%s has %q:\n%s", f.Name(), secret, text)
					}
				}
			}
			written, err := os.ReadFile(ruletest.Folder + "/event-41.yaml")
			if times := regexp.MustCompile(`\+\w+`).FindAllString(string(written), -1); err != nil || !slices.Equal(times, is.times) {
				t.Errorf("times %v, want %v: %v", times, is.times, err)
			}
			if out, err := played(t); out != "1 test passed\n" || err != nil {
				t.Error(out, err)
			}
		})
	}
}

// What cannot be made a test says why.
func TestEventsThatMakeNoTest(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	cleared := savedStory(1, "shopify.cart.updated", "checkouts/update", "", at)
	for want, story := range map[string]server.StoryView{
		"its body is not kept":                  cleared,
		`the config has no connector "gone"`:    savedStory(1, "gone.cart.updated", "", "{}", at),
		"the body is no JSON":                   savedStory(1, "shopify.cart.updated", "checkouts/update", "<cart/>", at),
		"what is left of it would not be taken": savedStory(1, "shopify.cart.updated", "checkouts/update", "{}", at),
	} {
		if _, err := saved(t, story); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("said %v, want %s", err, want)
		}
	}
}

// The same text becomes the same wherever it stands, numbers of one phone become one, and what rules ask for is kept.
func TestRedactionIsTheSameEverywhere(t *testing.T) {
	r := ruletest.NewRedactor([]string{"vip"})
	got, err := r.Body([]byte(`{"a": "Ada", "b": ["Ada", "Ben"], "phone": "+44 7911 123456", "mobile": "07911123456", "tags": "vip", "ada@x.example": 1, "total": 12.5}`))
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(got)), " ")
	if want := `{ "a": "text 1", "b": [ "text 1", "text 2" ], "key_1": 1, "mobile": "+447700900101", "phone": "+447700900101", "tags": "vip", "total": 12.5 }`; flat != want {
		t.Errorf("got  %s\nwant %s", flat, want)
	}
}

// What is about a person has many names; what a rule needs, and is about nobody, stays.
func TestRedactionKeepsOnlyWhatIsKnown(t *testing.T) {
	r := ruletest.NewRedactor([]string{"vip", "May", "web"})
	for text, want := range map[string]string{
		`{"candidate_phone":447911123456}`: `{"candidate_phone":447700900101}`, `{"updated_by":5500112233}`: `{"updated_by":1000001}`,
		`{"birthday":{"date":"1906-12-09"}}`: `{"birthday":{"date":"2001-01-01"}}`, `{"wedding_date":"1931-05-12T00:00:00Z"}`: `{"wedding_date":"text 1"}`,
		`{"payment_method":"pm_1MabcDEFghi"}`: `{"payment_method":"text 2"}`, `{"state":"Massachusetts"}`: `{"state":"text 3"}`, `{"marital_status":"Divorced"}`: `{"marital_status":"text 4"}`,
		`{"tax_id":1234567}`: `{"tax_id":1000002}`, `{"position":[51.5072,-0.1276]}`: `{"position":[1000003,1000004]}`, `{"Grace Hopper":true}`: `{"key_1":true}`, `{"Z3JhY2VAbmF2eQ==":1}`: `{"key_2":1}`,
		`{"first_name":"May"}`: `{"first_name":"text 5"}`, `{"tags":"gold, vip"}`: `{"tags":"text 6, vip"}`, `{"source_name":"web"}`: `{"source_name":"web"}`,
		`{"value":2000000,"total":"12500000.00","currency_code":"USD"}`:                                                                   `{"currency_code":"USD","total":"12500000.00","value":2000000}`,
		`{"topic":"checkouts/update","financial_status":"partially_refunded","eventType":"orderPaid"}`:                                    `{"eventType":"orderPaid","financial_status":"partially_refunded","topic":"checkouts/update"}`,
		`{"created_at":"2026-03-02T10:00:00Z","updatedAt":1772445600000,"timezone":"Europe/London","locale":"en-GB","country_code":"GB"}`: `{"country_code":"GB","created_at":"2026-03-02T10:00:00Z","locale":"en-GB","timezone":"Europe/London","updatedAt":1772445600000}`,
	} {
		got, err := r.Body([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, got); err != nil {
			t.Fatal(err)
		}
		if shape(flat.String()) != shape(want) {
			t.Errorf("%s became\n%s, want\n%s", text, flat.String(), want)
		}
	}
}

// shape is a text without the numbers of what was replaced, which follow the order of the table.
func shape(text string) string {
	return regexp.MustCompile(`text \d+|key_\d+|10000\d\d|4477009001\d\d`).ReplaceAllString(text, "…")
}
