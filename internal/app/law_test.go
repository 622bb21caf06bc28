package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// law is a webhook that Shopify posts because of the law, about a customer of the shop.
func (h *house) law(topic string, customer map[string]any) *http.Request {
	content := map[string]any{"shop_id": 954889, "shop_domain": "lantern-lane.myshopify.com"}
	if customer != nil {
		content["customer"] = customer
		orders := "orders_to_redact"
		if topic == "customers/data_request" {
			content["data_request"], orders = map[string]any{"id": 9999}, "orders_requested"
		}
		content[orders] = []int{299938, 280263}
	}
	return h.shopify(topic, "", content)
}

// decided is what was decided about the newest event of a kind.
func (h *house) decided(kind string) (id messaging.EventID, all []messaging.Decision) {
	h.t.Helper()
	for _, e := range h.events() {
		if strings.HasSuffix(e.Event, "."+kind) {
			return e.ID, e.Decisions
		}
	}
	h.t.Fatalf("no event %s", kind)
	return 0, nil
}

// customers/redact forgets its customer: what waits is cancelled, nothing stored tells of the phone, others stay, and it
// gets nothing more. Without a phone nobody is forgotten, and that is said.
func TestShopifyHasACustomerForgotten(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	gone, stays := phone(1), phone(2)
	for i, p := range []string{gone, stays} {
		h.mustTake(h.shopify("checkouts/update", "", cart(fmt.Sprint("c", i), p, "60.00")))
		o := order(fmt.Sprint("o", i), p, "49.90")
		o["id"] = 5000 + i
		h.mustTake(h.shopify("orders/create", "", o))
	}
	h.eventually("the thanks have left", func() bool { return h.service.Accepted(gone[1:]) == 1 && h.service.Accepted(stays[1:]) == 1 })
	h.mustTake(h.law("customers/redact", map[string]any{"id": 191167, "email": "ada@example.com"}))
	if _, said := h.decided("contact.redacted"); len(said) != 1 || !strings.Contains(said[0].Reason, "no phone") {
		t.Errorf("without a phone it was decided %+v", said)
	}
	if len(h.stored(gone)) == 0 || len(h.status().Forgetting) != 0 {
		t.Error("somebody was forgotten")
	}
	h.mustTake(h.law("customers/redact", map[string]any{"id": 191167, "email": "ada@example.com", "phone": gone}))
	id, said := h.decided("contact.redacted")
	if len(said) != 1 || said[0].Reason != "the contact is forgotten, in steps, and stays blocked" {
		t.Errorf("event %d was decided %+v", id, said)
	}
	h.forgotten(gone)
	if found := h.stored(gone); len(found) > 0 {
		t.Errorf("it stands in %s", strings.Join(found, ", "))
	}
	if len(h.stored(stays)) == 0 {
		t.Error("the other is gone")
	}
	for _, m := range h.messages() {
		if m.Trigger == "reminder" && m.Phone != messaging.Phone(stays[1:]) && m.State != messaging.StateCancelled {
			t.Errorf("the reminder is %s", m.State)
		}
	}
	h.mustTake(h.shopify("orders/create", "", order("o9", gone, "49.90")))
	h.eventually("the next message is refused", func() bool {
		m := h.messages()[0]
		return m.State == messaging.StateDropped && m.Reason == "the contact is blocked: it was forgotten"
	})
}

// shop/redact asks for all that came by its connector to be forgotten; a person carries it out, and nothing of the others goes.
func TestShopifyHasAShopForgotten(t *testing.T) {
	t.Parallel()
	o := options{folder: t.TempDir(), config: strings.Replace(plainConfig, "connectors:\n", "connectors:\n  other: {preset: shopify, secret: \"${SHOP_SECRET}\", defaults: {country: GB}}\n", 1)}
	h := open(t, o)
	for i := range 3 {
		o := order(fmt.Sprint("o", i), phone(i), "49.90")
		o["id"] = 5000 + i
		h.mustTake(h.shopify("orders/create", "", o))
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(0), "60.00")))
	req := h.shopify("orders/create", "", order("x", phone(7), "49.90"))
	req.URL.Path = "/hooks/other"
	h.mustTake(req)
	h.eventually("the thanks have left", func() bool { s := h.status(); return s.Counts["messages_accepted"] == 3 && s.Sending == 0 })
	h.mustTake(h.law("shop/redact", nil))
	h.waitsForAPerson()
	h.stop() // what waits for a person outlives the daemon
	h = open(t, o)
	h.waitsForAPerson()
	if v, err := server.CarryOutRedaction.Call(t.Context(), h.ask, "shopify"); err != nil || v.Contacts != 3 {
		t.Errorf("done: %+v, %v", v, err)
	}
	if _, err := server.CarryOutRedaction.Call(t.Context(), h.ask, "shopify"); !errors.Is(err, messaging.ErrNotFound) && (err == nil || !strings.Contains(err.Error(), "no request to forget all that came by")) {
		t.Errorf("done twice: %v", err)
	}
	h.eventually("it is done", func() bool { return len(h.status().Forgetting) == 0 && h.rewritten() })
	for i := range 3 {
		if found := h.stored(phone(i)); len(found) > 0 {
			t.Errorf("%s stands in %s", phone(i), strings.Join(found, ", "))
		}
	}
	if len(h.stored(phone(7))) == 0 {
		t.Error("what came by the other connector is gone")
	}
	for _, m := range h.messages() {
		if m.Trigger == "reminder" && m.State != messaging.StateCancelled {
			t.Errorf("the reminder is %s", m.State)
		}
	}
}

// waitsForAPerson looks at a request of shopify that all is forgotten: nobody is, it is told, and it is in the audit once.
func (h *house) waitsForAPerson() {
	h.t.Helper()
	if _, said := h.decided("shop.redacted"); len(said) != 1 || !strings.HasPrefix(said[0].Reason, "a person decides whether all that came by shopify is forgotten") {
		h.t.Errorf("decided %+v", said)
	}
	h.eventually("the audit has it", func() bool {
		open, err := server.ListRedactions.Call(h.t.Context(), h.ask, server.None{})
		return err == nil && len(open) == 1 && open[0].Connector == "shopify" && open[0].Contacts == 3
	})
	s := h.status()
	at := slices.IndexFunc(s.Troubles, func(one messaging.Trouble) bool { return one.Code == messaging.TroubleRedaction })
	if at < 0 || s.Troubles[at].Severity != messaging.Note || !strings.Contains(s.Troubles[at].Hint, `"nudgewire contacts redactions do shopify"`) || len(s.Forgetting) > 0 {
		h.t.Errorf("troubles: %+v; forgetting %+v", s.Troubles, s.Forgetting)
	}
	entries, err := server.ListAudit.Call(h.t.Context(), h.ask, server.AuditQuery{Limit: 100})
	n := 0
	for _, e := range entries {
		if e.Action == "ask to forget" && e.Who == "shopify.shop.redacted" && strings.HasPrefix(e.Detail, "all that came by shopify: 3 contacts, ") {
			n++
		}
	}
	if n != 1 || err != nil {
		h.t.Errorf("%d in the audit, %v: %+v", n, err, entries)
	}
	if len(h.stored(phone(0))) == 0 {
		h.t.Error("somebody is gone")
	}
}

// A copied webhook, relabelled as the law's, is refused with its reason, and pauses and forgets nothing; what the law's own body asks for
// pauses marketing to its contacts alone, and a refusal lets it go on.
func TestACopiedWebhookForgetsNobody(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(plainConfig, "wait: 1h", "wait: 1s", 1)})
	copied := order("o1", phone(1), "49.90")
	h.mustTake(h.shopify("orders/create", "", copied))
	another := func(id int) map[string]any {
		o := order(fmt.Sprint("o", id), phone(2), "9.90")
		o["id"] = id
		return o
	}
	h.mustTake(h.shopify("orders/create", "", another(6001)))
	for _, topic := range []string{"shop/redact", "customers/redact", "customers/data_request"} {
		if status, _ := h.do(h.shopify(topic, "copied", copied)); status != http.StatusBadRequest {
			t.Errorf("%s is answered %d", topic, status)
		}
	}
	h.mustTake(h.shopify("shop.redacted", "copied", copied)) // no topic of Shopify's: an event of an unknown kind
	open, err := server.ListRedactions.Call(t.Context(), h.ask, server.None{})
	if err != nil || len(open) > 0 || len(h.status().Forgetting) > 0 || len(h.stored(phone(1))) == 0 {
		t.Errorf("open %+v, %v", open, err)
	}
	h.mustTake(h.law("shop/redact", nil))
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	reminder := func() (state messaging.State, reason string) {
		if m := h.of("reminder", phone(1)); m != nil {
			state, reason = m.State, m.Reason
		}
		return state, reason
	}
	h.eventually("the reminder waits for a person", func() bool {
		state, reason := reminder()
		return state == messaging.StateWaiting && strings.Contains(reason, "a person has to decide")
	})
	h.mustTake(h.shopify("orders/create", "", another(6002)))
	h.eventually("the thanks, which are utility, have left", func() bool { return h.service.Accepted(phone(2)[1:]) == 2 })
	if v, err := server.RefuseRedaction.Call(t.Context(), h.ask, "shopify"); err != nil || v.Contacts != 2 {
		t.Errorf("refused: %+v, %v", v, err)
	}
	h.eventually("marketing goes on", func() bool { state, _ := reminder(); return state == messaging.StateAccepted })
	if len(h.stored(phone(1))) == 0 {
		t.Error("somebody is gone")
	}
}

// While a person has to decide about all that came by a connector, its contacts are on no file of a list; row by row they wait.
func TestWhoMayHaveToBeForgottenIsOnNoFile(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"as a file": byCSV, "row by row": byMessage} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			text := "first_name,mobile,city,code\nAda," + phone(1) + ",York,a\nBen," + phone(2) + ",York,b\n"
			if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, shop, _ := strings.Cut(plainConfig, "connectors:")
			h := open(t, options{folder: folder, config: jobConfig(folder, more) + "connectors:" + shop})
			h.mustTake(h.shopify("orders/create", "", order("o1", phone(1), "49.90")))
			h.mustTake(h.law("shop/redact", nil))
			r := h.fire("winback")
			if more == byCSV {
				if rows, _ := h.why(phone(1)); len(rows) != 1 || !strings.Contains(rows[0], "excluded: all that came by shopify is asked to be forgotten, and a person has to decide") || r.Tally.Kept != 1 {
					t.Errorf("%q; %+v", rows, r.Tally)
				}
				return
			}
			h.eventually("who never came by it has the message", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
			h.eventually("the other waits for a person", func() bool {
				m := h.of("winback", phone(1))
				return m != nil && m.State == messaging.StateWaiting && strings.Contains(m.Reason, "a person has to decide")
			})
			if _, err := server.RefuseRedaction.Call(t.Context(), h.ask, "shopify"); err != nil {
				t.Fatal(err)
			}
			h.eventually("it goes on", func() bool { return h.of("winback", phone(1)).State == messaging.StateAccepted })
		})
	}
}

// customers/data_request lays a file ready, which status and doctor name until a person says that it was sent; also where the event names no phone,
// and over a restart. A contact who is forgotten meanwhile leaves no file.
func TestShopifyAsksForTheDataOfACustomer(t *testing.T) {
	t.Parallel()
	o := options{folder: t.TempDir()}
	h := open(t, o)
	h.mustTake(h.shopify("orders/create", "", order("o1", phone(1), "49.90")))
	h.mustTake(h.law("customers/data_request", map[string]any{"id": 191167, "email": "ada@example.com", "phone": phone(1)}))
	h.mustTake(h.law("customers/data_request", map[string]any{"id": 191168, "email": "ben@example.com"}))
	h.mustTake(h.law("customers/data_request", map[string]any{"id": 191169, "email": "eve@example.com", "phone": phone(3)}))
	requests := func(n int) (open []server.DataRequestView) {
		t.Helper()
		h.eventually(fmt.Sprint(n, " requests are open"), func() (ok bool) {
			var err error
			if open, err = server.ListDataRequests.Call(t.Context(), h.ask, server.None{}); err != nil {
				t.Fatal(err)
			}
			return len(open) == n
		})
		return open
	}
	trouble := func() string {
		for _, one := range h.status().Troubles {
			if one.Code == messaging.TroubleDataRequest {
				return one.Words + "; " + one.Hint
			}
		}
		return ""
	}
	all := requests(3)
	if all[0].Phone != messaging.Phone(phone(1)[1:]) || all[0].Connector != "shopify" || all[1].Phone != "" || time.Since(all[0].Since) > 24*time.Hour {
		t.Errorf("open: %+v", all)
	}
	if words := trouble(); !strings.HasPrefix(words, "3 contacts ask for what is stored about them, the first since ") || !strings.Contains(words, `"nudgewire contacts requests"`) {
		t.Errorf("status says %q", words)
	}
	var file server.RequestFile
	text, err := os.ReadFile(all[0].File)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil || file.DataView == nil || len(file.Stories) != 2 || len(file.Payloads) != 2 || !strings.Contains(string(text), "checkout_token") || file.Note != "" {
		t.Errorf("the file holds %+v, %v", file, err)
	}
	if text, err := os.ReadFile(all[1].File); err != nil || !strings.Contains(string(text), "the event names no phone: nudgewire events show 3 says who asks") {
		t.Errorf("without a phone it holds %s, %v", text, err)
	}
	for _, id := range []messaging.EventID{99, -1} {
		if _, err := server.CloseDataRequest.Call(t.Context(), h.ask, id); err == nil {
			t.Errorf("a request of event %d was closed", id)
		}
	}
	if v, err := server.CloseDataRequest.Call(t.Context(), h.ask, all[0].Event); err != nil || v.Event != all[0].Event {
		t.Fatal(v, err)
	}
	h.forget(phone(3))
	h.stop()
	h = open(t, o)
	left := requests(1)
	if left[0].Event != all[1].Event || !strings.HasPrefix(trouble(), "1 contact asks") {
		t.Errorf("left: %+v, %q", left, trouble())
	}
	if _, err := server.CloseDataRequest.Call(t.Context(), h.ask, left[0].Event); err != nil {
		t.Fatal(err)
	}
	requests(0)
	if words := trouble(); words != "" {
		t.Errorf("status says %q", words)
	}
	// One that comes after a restart is answered, too.
	h.mustTake(h.law("customers/data_request", map[string]any{"id": 191167, "phone": phone(1)}))
	requests(1)
}
