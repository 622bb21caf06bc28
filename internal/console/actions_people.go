package console

import (
	"context"
	"fmt"
	"net/http"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What can be done about a person, whom the form names by the phone.
var peopleActions = map[string]action{
	"block":   {server.BlockContacts.Scope, (*Console).confirmBlock, (*Console).block},
	"allow":   {server.AllowContact.Scope, (*Console).confirmAllow, (*Console).allow},
	"consent": {server.RecordConsents.Scope, (*Console).confirmConsent, (*Console).consent},
	"forget":  {server.ForgetContacts.Scope, (*Console).confirmForget, (*Console).forget},
}

func (c *Console) confirmBlock(_ context.Context, f form) (confirmPage, error) {
	return confirmPage{
		Title: "Block " + f.Get("phone") + "?", Words: []string{"Nothing but codes for signing in is sent to this phone from now on. What waits for it is dropped when it falls due."},
		Fields: []field{why("Why")}, Yes: "Block this phone", Danger: true,
	}, nil
}

// took is the error of an answer that did not take the one phone that was sent.
func took(bad []server.BadRow) error {
	if len(bad) == 0 {
		return nil
	}
	return &refusal.Error{Status: http.StatusBadRequest, Words: bad[0].Reason, Hint: "write the phone with its country code"}
}

func (c *Console) block(ctx context.Context, f form) (did, error) {
	v, err := server.BlockContacts.Call(ctx, c.Ask, server.BlockRequest{Phones: []string{f.Get("phone")}, Reason: f.Get("reason")})
	if err == nil {
		err = took(v.Bad)
	}
	if v.Before > 0 {
		return did{words: "This phone was blocked before"}, err
	}
	return did{words: "This phone is blocked"}, err
}

func (c *Console) confirmAllow(_ context.Context, f form) (confirmPage, error) {
	return confirmPage{
		Title: "End the block of " + f.Get("phone") + "?", Words: []string{"Messages may be sent to this phone again. Where the person said that they want none, record that as consent, too."}, Yes: "End the block",
	}, nil
}

func (c *Console) allow(ctx context.Context, f form) (did, error) {
	_, err := server.AllowContact.Call(ctx, c.Ask, f.Get("phone"))
	return did{words: "This phone is not blocked any more"}, err
}

func (c *Console) confirmConsent(_ context.Context, f form) (confirmPage, error) {
	return confirmPage{
		Title: "What did " + f.Get("phone") + " agree to?", Words: []string{"It counts from now on for every trigger and job that asks for consent, and stays in the record with who wrote it."},
		Fields: []field{
			{Name: "consent", Label: "The person", Required: true, Options: [][2]string{{string(messaging.ConsentGiven), "agrees"}, {string(messaging.ConsentWithdrawn), "does not agree any more"}}},
			{Name: "category", Label: "To messages of", Required: true, Options: [][2]string{{string(messaging.Marketing), "marketing"}, {string(messaging.Utility), "utility: about an order or a booking"}, {string(messaging.Authentication), "authentication: codes for signing in"}}},
			{Name: "proof", Label: "Proof", Note: "Where it can be looked up: a letter, a call, a form.", Longest: 300},
		},
		Yes: "Record it",
	}, nil
}

func (c *Console) consent(ctx context.Context, f form) (did, error) {
	v, err := server.RecordConsents.Call(ctx, c.Ask, server.ConsentRequest{Rows: []server.ConsentRow{{
		Phone: f.Get("phone"), Consent: messaging.Consent(f.Get("consent")), Category: messaging.Category(f.Get("category")), Proof: f.Get("proof"),
	}}})
	if err == nil {
		err = took(v.Bad)
	}
	return did{words: "What the person agreed to was recorded"}, err
}

// confirmForget says what is removed, with numbers.
func (c *Console) confirmForget(ctx context.Context, f form) (confirmPage, error) {
	phone := f.Get("phone")
	contact, err := server.ShowContact.Call(ctx, c.Ask, phone)
	if err != nil {
		return confirmPage{}, err
	}
	stories, err := server.Why.Call(ctx, c.Ask, server.ListQuery{Phone: phone, Limit: mostStories})
	if no, ok := err.(*refusal.Error); ok && no.Status == http.StatusNotFound { //nolint:errorlint // the client wraps nothing
		err = nil
	}
	var events, messages int64
	for i := range stories {
		if stories[i].Event.ID != 0 {
			events++
		}
		messages += int64(len(stories[i].Messages))
	}
	more := ""
	if len(stories) >= mostStories {
		more = " at least"
	}
	return confirmPage{
		Title: "Forget " + phone + "?",
		Words: []string{
			fmt.Sprintf("Removed%s: %s with what their webhooks carried, %s with their words, %s of consent.", more, units.Count(events, "event"), units.Count(messages, "message"), units.Count(int64(len(contact.Consents)), "record")),
			"What waits for this phone is cancelled. What is left are counts, and states without phone and words.",
			"From now on the phone is blocked, by a mark that nobody can read back, so that the person is not written to again.",
			"Files of lists are yours, and are not changed. It takes a moment, and is not taken back.",
		},
		Fields: []field{{Name: "meant", Label: "Yes, forget this person", Check: "yes", Required: true}}, Yes: "Forget this person", Danger: true,
	}, err
}

func (c *Console) forget(ctx context.Context, f form) (did, error) {
	if f.Get("meant") != "yes" {
		return did{}, &refusal.Error{Status: http.StatusBadRequest, Words: "the box was not ticked"}
	}
	v, err := server.ForgetContacts.Call(ctx, c.Ask, server.ForgetRequest{Phones: []string{f.Get("phone")}})
	if err == nil {
		err = took(v.Bad)
	}
	return did{words: "This person is being forgotten"}, err
}
