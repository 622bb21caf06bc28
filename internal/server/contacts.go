package server

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A ContactView is what is known of a contact: what each connector's events said, and whether it wants messages.
type ContactView struct {
	Phone       messaging.Phone           `json:"phone"`
	Known       []messaging.KnownContact  `json:"known,omitempty"` // by connector, the one that spoke last first
	Block       *store.Block              `json:"block,omitempty"`
	Consents    []messaging.ConsentRecord `json:"consents"`
	ForgottenAt time.Time                 `json:"forgotten_at,omitzero"`
	Forgetting  string                    `json:"forgetting,omitempty" kind:"text"` // what its forgetting waits for, where it is not done yet
}

// A ConsentRequest says what contacts agreed to.
type ConsentRequest struct {
	Country string       `json:"country,omitempty"`
	Source  string       `json:"source,omitempty"` // of those that name none
	Rows    []ConsentRow `json:"rows" validate:"required"`
}

// A ConsentRow is one of them. Empty fields are: channel phone, category marketing, now.
type ConsentRow struct {
	Phone    string             `json:"phone"`
	Channel  messaging.Channel  `json:"channel,omitempty"`
	Category messaging.Category `json:"category,omitempty"`
	Consent  messaging.Consent  `json:"consent"`
	At       time.Time          `json:"at,omitzero"`
	Source   string             `json:"source,omitempty"`
	Proof    string             `json:"proof,omitempty"`
}

// A ConsentAnswer says what came of it.
type ConsentAnswer struct {
	Recorded int      `json:"recorded"`
	Bad      []BadRow `json:"bad,omitempty"`
}

// A ForgetRequest asks for contacts to be forgotten, or for all that came by a connector.
type ForgetRequest struct {
	Phones    []string `json:"phones,omitempty"`
	Connector string   `json:"connector,omitempty"`
}

// A ForgetAnswer says what came of it. It goes on in steps.
type ForgetAnswer struct {
	Ordered int      `json:"ordered"`
	Bad     []BadRow `json:"bad,omitempty"`
}

// A DataView is all that is stored about a contact, for the contact.
type DataView struct {
	Contact  ContactView   `json:"contact"`
	Stories  []StoryView   `json:"stories"`
	Payloads []PayloadView `json:"payloads"`
	At       time.Time     `json:"at"`
	More     bool          `json:"more,omitempty"` // there is more than is listed
}

// A PayloadView is what a webhook carried.
type PayloadView struct {
	Event   messaging.EventID `json:"event"`
	Type    string            `json:"type,omitempty" kind:"ours"`
	Payload string            `json:"payload" kind:"carried"`
}

func (a admin) findContacts(ctx context.Context, text string) ([]messaging.FoundContact, error) {
	if strings.TrimSpace(text) == "" {
		return nil, refusal.Fieldf("find", "a part of a name or of an e-mail address, an order, or a cart", "there is nothing to look for")
	}
	found, err := contacts.Records{Store: a.Store}.FindContacts(ctx, text)
	if found == nil {
		found = []messaging.FoundContact{}
	}
	return found, err
}

func (a admin) contact(ctx context.Context, text string) (ContactView, error) {
	phone, err := a.phone(text, a.Country)
	if err != nil {
		return ContactView{}, err
	}
	return contactOf(ctx, a.Store, phone)
}

// waitsForRewrite is what the last step of forgetting waits for.
const waitsForRewrite = "the database to be written anew"

func contactOf(ctx context.Context, st *store.Store, phone messaging.Phone) (v ContactView, err error) {
	v = ContactView{Phone: phone, Consents: []messaging.ConsentRecord{}}
	if v.Known, err = (contacts.Records{Store: st}).KnownContact(ctx, phone); err != nil {
		return v, err
	}
	block, blocked, err := st.BlockOf(ctx, phone)
	if err != nil {
		return v, err
	}
	if blocked {
		v.Block = &block
	}
	records, err := st.Consents(ctx, phone, "", 0)
	if err != nil {
		return v, err
	}
	v.Consents = listed(records)
	at, err := st.ForgottenAt(ctx, phone)
	if err != nil {
		return v, err
	}
	v.ForgottenAt = at.UTC()
	orders, err := privacy.Records{Store: st}.Erasures(ctx)
	if i := slices.IndexFunc(orders, func(e privacy.Erasure) bool { return e.Phone == phone }); i >= 0 {
		v.Forgetting = cmp.Or(orders[i].Waits, "its turn")
	}
	if err != nil || v.ForgottenAt.IsZero() || v.Forgetting != "" {
		return v, err
	}
	due, err := st.WipeDue(ctx)
	if due {
		v.Forgetting = waitsForRewrite
	}
	return v, err
}

func (a admin) contactData(ctx context.Context, text string) (DataView, error) {
	phone, err := a.phone(text, a.Country)
	if err != nil {
		return DataView{}, err
	}
	return DataOf(ctx, a.Store, phone, a.Now())
}

// maxData bounds how many events and messages of a contact one answer lists.
const maxData = 2000

// DataOf is all that is stored about a contact: what it agreed to, every event and message, and what webhooks carried.
// What stands in the files of lists is not in it.
func DataOf(ctx context.Context, st *store.Store, phone messaging.Phone, now time.Time) (v DataView, err error) {
	v = DataView{Stories: []StoryView{}, Payloads: []PayloadView{}, At: now.UTC()}
	if v.Contact, err = contactOf(ctx, st, phone); err != nil {
		return v, err
	}
	stories, err := history.Records{Store: st}.Story(ctx, phone, maxData)
	if err != nil {
		return v, err
	}
	for i := range stories {
		v.Stories = append(v.Stories, storyView(&stories[i]))
		e, err := st.Event(ctx, stories[i].ID)
		if err != nil {
			return v, err
		}
		if len(e.Payload) > 0 {
			v.Payloads = append(v.Payloads, PayloadView{Event: e.ID, Type: e.ContentType, Payload: string(e.Payload)})
		}
	}
	rows, err := st.PhoneRows(ctx, phone, maxData)
	if err != nil {
		return v, err
	}
	for i := range rows {
		v.Stories = append(v.Stories, rowStoryView(&rows[i], messaging.Position{}))
	}
	v.More = len(stories) == maxData || len(rows) == maxData
	return v, nil
}

// maxConsents bounds one answer; the next page is asked for by after.
const maxConsents = 5000

func (a admin) consents(ctx context.Context, after messaging.Phone) ([]messaging.ConsentRecord, error) {
	from, _ := messaging.PhoneOf(string(after))
	rows, err := a.Store.Consents(ctx, "", from, maxConsents)
	if err != nil {
		return nil, err
	}
	if len(rows) == maxConsents { // the last contact may have more; it comes with the next page
		last := rows[len(rows)-1].Phone
		rows = rows[:slices.IndexFunc(rows, func(c messaging.ConsentRecord) bool { return c.Phone == last })]
	}
	return listed(rows), nil
}

func (a admin) recordConsents(ctx context.Context, in ConsentRequest) (ConsentAnswer, error) {
	if len(in.Rows) == 0 || len(in.Rows) > maxBlocks {
		return ConsentAnswer{}, refusal.Fieldf("rows", "", "want 1 to %d rows, not %d", maxBlocks, len(in.Rows))
	}
	answer := ConsentAnswer{}
	var all []messaging.ConsentRecord
	for i, c := range in.Rows {
		phone, err := a.phone(c.Phone, cmp.Or(in.Country, a.Country))
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case c.Consent != messaging.ConsentGiven && c.Consent != messaging.ConsentWithdrawn:
			why = "consent is given or withdrawn, not " + strconv.Quote(string(c.Consent))
		case c.Channel != "" && c.Channel != messaging.ChannelPhone && c.Channel != messaging.ChannelEmail:
			why = "the channel is phone or email, not " + strconv.Quote(string(c.Channel))
		case c.Category != "" && c.Category != messaging.Marketing && c.Category != messaging.Utility && c.Category != messaging.Authentication:
			why = "the category is marketing, utility or authentication, not " + strconv.Quote(string(c.Category))
		case c.At.After(a.Now().Add(time.Minute)):
			why = "its time is yet to come"
		}
		if why != "" {
			answer.Bad = append(answer.Bad, BadRow{Row: i + 1, Reason: why})
			continue
		}
		if c.At.IsZero() {
			c.At = a.Now()
		}
		all = append(all, messaging.ConsentRecord{
			Phone: phone, Channel: c.Channel, Category: c.Category, Consent: c.Consent, At: c.At.UTC(),
			Source: cmp.Or(c.Source, in.Source, access.ByHand(ctx)), Proof: c.Proof,
		})
	}
	answer.Recorded = len(all)
	return answer, a.Store.SaveConsents(ctx, all)
}

func (a admin) forget(ctx context.Context, in ForgetRequest) (ForgetAnswer, error) {
	if (len(in.Phones) == 0) == (in.Connector == "") || len(in.Phones) > maxBlocks {
		return ForgetAnswer{}, refusal.Fieldf("phones", "", "want 1 to %d phones, or a connector", maxBlocks)
	}
	if in.Connector != "" {
		return ForgetAnswer{Ordered: 1}, a.Store.ForgetConnector(ctx, in.Connector, access.ByHand(ctx))
	}
	answer := ForgetAnswer{}
	var phones []messaging.Phone
	for i, text := range in.Phones {
		phone, err := a.phone(text, a.Country)
		if err != nil {
			answer.Bad = append(answer.Bad, BadRow{Row: i + 1, Reason: err.Error()})
			continue
		}
		phones = append(phones, phone)
	}
	answer.Ordered = len(phones)
	return answer, a.Store.Forget(ctx, phones, access.ByHand(ctx))
}
