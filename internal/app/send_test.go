package app_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What a person sends takes the config's language, and is refused at once when it can never leave.
func TestWhatAPersonSendsIsRefusedWhenItCanNeverLeave(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.edit("language: en", "language: de")
	h.reload()
	ask := func(phone string, s messaging.Send, c messaging.Category, dry bool) (server.MessageView, error) {
		return server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{Phone: phone, Send: s, Category: c, DryRun: dry})
	}
	if m, err := ask(phone(0), messaging.Send{Template: "t"}, "", true); err != nil || m.Send.Language != "de" {
		t.Errorf("the language: %+v, %v", m.Send, err)
	}
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if _, err := ask(phone(0), messaging.Send{Text: "hi"}, "", dry); err == nil || err.Error() != "plain texts cannot be sent: their endpoint is not known" {
			t.Errorf("a text (dry run %v): %v", dry, err)
		}
		if _, err := ask(phone(1), messaging.Send{Template: "t"}, messaging.Utility, dry); err == nil || err.Error() != "the contact "+phone(1)[1:]+" is blocked: nothing but codes is sent to it" {
			t.Errorf("to a blocked contact (dry run %v): %v", dry, err)
		}
	}
	if _, err := ask(phone(1), messaging.Send{Template: "t"}, messaging.Authentication, true); err != nil {
		t.Errorf("a code to a blocked contact: %v", err)
	}
}
