package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/server"
)

// A person who is asked about by name, order or e-mail is found, with what events said; who may not see phones sees neither these nor
// whole addresses.
func TestPeopleAreFoundByWhatEventsSaid(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	o := order("c1", phone(1), "120.00")
	o["email"] = "ada@example.com"
	h.mustTake(h.shopify("orders/create", "", o))
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "12.00")))
	h.eventually("both are found by their name", func() bool {
		found, err := server.FindContacts.Call(t.Context(), h.ask, "byrne")
		return err == nil && len(found) == 2
	})
	digits := strings.TrimPrefix(phone(1), "+")
	for text, by := range map[string]string{"1001": "order", "#1001": "order", "ADA@example.com": "e-mail"} {
		found, err := server.FindContacts.Call(t.Context(), h.ask, text)
		if err != nil || len(found) != 1 || string(found[0].Phone) != digits || found[0].By != by {
			t.Errorf("%s finds %+v (%v)", text, found, err)
		}
	}
	if _, err := server.FindContacts.Call(t.Context(), h.ask, " "); err == nil || !strings.Contains(err.Error(), "there is nothing to look for") {
		t.Errorf("a search for nothing: %v", err)
	}
	v, err := server.ShowContact.Call(t.Context(), h.ask, phone(1))
	if err != nil || len(v.Known) != 1 || v.Known[0].Name != "Ada Byrne" || v.Known[0].Email != "ada@example.com" || v.Known[0].Orders != 1 || v.Known[0].OrderName != "#1001" {
		t.Errorf("known: %+v (%v)", v, err)
	}

	whole, masked := h.browser(), h.browser()
	whole.signIn(false)
	masked.signIn(true)
	for path, words := range map[string][]string{
		"/people?find=byrne": {"Who is like that", phone(1), phone(2), "Ada Byrne"}, "/people?find=nobody": {"Nobody is found by that"},
		"/people?find=1001": {"What events said", "ada@example.com", "#1001", "event 1"}, "/people?find=" + url.QueryEscape(phone(2)): {"event 2"},
		"/find?q=%231001": {"What events said"},
	} {
		page := whole.page(path)
		for _, word := range words {
			if !strings.Contains(page, word) {
				t.Errorf("%s does not say %q:\n%s", path, word, page)
			}
		}
	}
	for _, path := range []string{"/people?find=1001", "/people?find=byrne", "/people?find=example.com", server.Base + "/contacts?find=1001", server.Base + "/contacts/" + url.PathEscape(phone(1))} {
		status, page := masked.open(path)
		if status != http.StatusOK || !strings.Contains(page, "Ada Byrne") || strings.Contains(page, digits) || strings.Contains(page, "ada@example.com") {
			t.Errorf("%s shows who may not see phones %d %s", path, status, page)
		}
	}
}
