package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// A look-up that answers after its contact was forgotten undoes nothing, and neither does the webhook that comes again.
func TestNothingThatComesLateUndoesAnErasure(t *testing.T) {
	t.Parallel()
	const gone = "+447700910011"
	asked, answer := make(chan struct{}, 9), make(chan struct{})
	api := newCRM(t, func(n int, w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		contact(n, w, r)
	})
	h := open(t, options{config: crmConfig(api.URL, withToken)})
	again := h.created(10011)
	body, err := again.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	h.mustTake(again)
	<-asked
	if _, err := server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{gone}}); err != nil {
		t.Fatal(err)
	}
	h.eventually("it is forgotten", func() bool {
		v, err := server.ShowContact.Call(t.Context(), h.ask, gone)
		return err == nil && !v.ForgottenAt.IsZero() && v.Forgetting == ""
	})
	close(answer)
	_, d := h.decision()
	if d.Outcome == "planned" {
		t.Errorf("decided: %+v", d)
	}
	second := again.Clone(t.Context())
	second.Body = body
	h.mustTake(second)
	h.eventually("nothing is looked up any more", func() bool { return h.status().Waiting == 0 && h.status().Sending == 0 })
	if n := len(h.events()); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := h.service.Stats().Messages; n != 0 {
		t.Errorf("%d messages to who is forgotten", n)
	}
	h.forgotten(gone)
	if found := h.stored(gone); len(found) > 0 {
		t.Errorf("it stands in %v", found)
	}
}

// A request of the API that comes again after its contact was forgotten, and allowed again, sends nothing: its key stays known as used.
func TestARequestThatComesAgainAfterAnErasureSendsNothing(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: withPages(plainConfig)})
	token, err := server.CreateToken.Call(t.Context(), h.ask, signin.TokenRequest{Name: "crm", Scopes: []access.Scope{access.Sending}})
	if err != nil {
		t.Fatal(err)
	}
	send := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.ConsoleAddr().String()+server.Base+"/messages",
			strings.NewReader(`{"phone":"`+phone(1)+`","send":{"template":"hello","language":"en"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Token)
		req.Header.Set("Idempotency-Key", "order-1")
		req.Header.Set("Content-Type", "application/json")
		status, _ := h.do(req)
		return status
	}
	if status := send(); status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
	h.eventually("it left", func() bool { return h.service.Stats().Messages == 1 && h.status().Sending == 0 })
	h.forget(phone(1))
	if status := send(); status != http.StatusConflict { // it is blocked
		t.Errorf("once it is forgotten the same request is answered %d", status)
	}
	if _, err := server.AllowContact.Call(t.Context(), h.ask, phone(1)); err != nil {
		t.Fatal(err)
	}
	if status := send(); status != http.StatusGone {
		t.Errorf("once it is allowed again the same request is answered %d", status)
	}
	if n := h.service.Stats().Messages; n != 1 {
		t.Errorf("%d messages", n)
	}
}
