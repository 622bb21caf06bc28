package app_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

const codesAlone = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  code:
    on: shopify.order.created
    category: authentication
    if: order.total >= 1
    send: {template: login_code, variables: ['{{ order.total }}']}
`

// A code is sent, and then nothing that people can ask knows it, nor a file of the data's folder once
// the daemon stopped.
func TestACodeIsNotKept(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: codesAlone})
	const secret = "48019.37"
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), secret)))
	h.eventually("the code is accepted", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
	by, err := server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{
		Phone: phone(2), Category: messaging.Authentication, Send: messaging.Send{Template: "login_code", Language: "en", Variables: []string{secret}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("the one by hand is accepted", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
	story, err := server.ShowEvent.Call(t.Context(), h.ask, 1)
	if err != nil || story.Event.ID != 1 || !story.Event.Forgotten {
		t.Errorf("the event: %+v, %v", story.Event, err)
	}
	byHand, err := server.ShowEvent.Call(t.Context(), h.ask, by.EventID)
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal([]any{h.messages(), h.events(), story, byHand, by})
	if err != nil || strings.Contains(string(all), secret) {
		t.Errorf("it is told (%v): %s", err, all)
	}
	h.stop()
	found := 0
	err = filepath.WalkDir(h.folder, func(name string, one fs.DirEntry, err error) error {
		if err != nil || one.IsDir() {
			return err
		}
		found++
		b, err := os.ReadFile(name)
		if strings.Contains(string(b), secret) {
			t.Errorf("%s holds the code", name)
		}
		return err
	})
	if err != nil || found < 2 {
		t.Errorf("%d files: %v", found, err)
	}
}

// A code in doubt is tried three times, with its variables; then it is forgotten, and a person cannot send it again.
func TestACodeInDoubtIsForgottenAfterItsLastTry(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: codesAlone})
	h.service.SetFaults(sandbox.Faults{CutAfter: 1})
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "48019.37")))
	h.eventually("in doubt", func() bool { return h.status().InDoubt == 1 })
	_, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: 1, As: messaging.ResolveResend, Reason: ""})
	refused, ok := errors.AsType[*refusal.Error](err)
	if !ok || refused.Status != http.StatusConflict || !strings.Contains(refused.Words, "its variables are not kept") {
		t.Errorf("a resend: %v", err)
	}
}
