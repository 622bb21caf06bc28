package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/nudgewire/nudgewire"
)

// packFrom is the size in bytes above which compression pays for itself.
const packFrom = 200

// The first byte of packed bytes says how the rest is written.
const (
	packedPlain = 0
	packedS2    = 1
)

// maxUnpacked bounds what a damaged row can make us allocate.
const maxUnpacked = 64 << 20

// pack appends b to dst as it is stored.
func pack(dst, b []byte) []byte {
	if len(b) < packFrom {
		return append(append(dst, packedPlain), b...)
	}
	at := len(dst)
	need := at + 1 + s2.MaxEncodedLen(len(b))
	if cap(dst) < need {
		dst = append(make([]byte, 0, need+need/2), dst...)
	}
	dst = append(dst, packedS2)
	packed := s2.Encode(dst[at+1:need], b)
	return dst[:at+1+len(packed)]
}

// unpack undoes pack.
func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	switch b[0] {
	case packedPlain:
		return b[1:], nil
	case packedS2:
		n, err := s2.DecodedLen(b[1:])
		if err == nil && n > maxUnpacked {
			err = errors.New("too large to be ours")
		}
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		out, err := s2.Decode(nil, b[1:])
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		return out, nil
	default:
		return nil, fmt.Errorf("unpack: unknown form %d", b[0])
	}
}

// The stored form of what an event was mapped to, as it is read: the nouns carry no tags of their
// own. A field added to a noun fails to compile here until it is given a name, and the test of the
// encoder until it is written (row_encode.go).
type (
	factsForm struct {
		Contact *contactForm `json:"contact,omitempty"`
		Cart    *cartForm    `json:"cart,omitempty"`
		Order   *orderForm   `json:"order,omitempty"`
		Deal    *dealForm    `json:"deal,omitempty"`
		Form    *formForm    `json:"form,omitempty"`
		Message *messageForm `json:"message,omitempty"`

		History   bool `json:"history,omitempty"`
		Forgotten bool `json:"forgotten,omitempty"`
		Cleared   bool `json:"cleared,omitempty"`

		Request string `json:"request,omitempty"`

		Unreadable []string `json:"unreadable,omitempty"`
	}
	contactForm struct {
		Phone            nudgewire.Phone `json:"-"` // a column of the event
		SentAs           string          `json:"sent_as,omitempty"`
		PhoneProblem     string          `json:"-"` // a column of the event
		ID               string          `json:"id,omitempty"`
		Name             string          `json:"name,omitempty"`
		FirstName        string          `json:"first_name,omitempty"`
		LastName         string          `json:"last_name,omitempty"`
		Email            string          `json:"email,omitempty"`
		Language         string          `json:"language,omitempty"`
		Country          string          `json:"country,omitempty"`
		Timezone         string          `json:"timezone,omitempty"`
		Tags             nudgewire.Tags  `json:"tags,omitempty"`
		AcceptsMarketing bool            `json:"accepts_marketing,omitempty"`
		Consent          bool            `json:"consent_known,omitempty"`
		AcceptsEmail     bool            `json:"accepts_email,omitempty"`
		EmailConsent     bool            `json:"email_consent_known,omitempty"`
		Empty            nudgewire.Names `json:"empty,omitempty"`
	}
	itemForm struct {
		ID       string           `json:"id,omitempty"`
		SKU      string           `json:"sku,omitempty"`
		Title    string           `json:"title,omitempty"`
		Quantity int              `json:"quantity,omitempty"`
		Price    nudgewire.Amount `json:"price,omitzero"`
		URL      string           `json:"url,omitempty"`
		Image    string           `json:"image,omitempty"`
		Empty    nudgewire.Names  `json:"empty,omitempty"`
	}
	cartForm struct {
		ID        string           `json:"id,omitempty"`
		URL       string           `json:"url,omitempty"`
		Total     nudgewire.Amount `json:"total,omitzero"`
		Currency  string           `json:"currency,omitempty"`
		Items     []itemForm       `json:"items,omitempty"`
		ExpiresAt time.Time        `json:"expires_at,omitzero"`
		OtherIDs  []string         `json:"other_ids,omitempty"`
		Empty     nudgewire.Names  `json:"empty,omitempty"`
	}
	orderForm struct {
		ID       string           `json:"id,omitempty"`
		Name     string           `json:"name,omitempty"`
		Number   int              `json:"number,omitempty"`
		Status   string           `json:"status,omitempty"`
		URL      string           `json:"url,omitempty"`
		Total    nudgewire.Amount `json:"total,omitzero"`
		Currency string           `json:"currency,omitempty"`
		Items    []itemForm       `json:"items,omitempty"`
		Empty    nudgewire.Names  `json:"empty,omitempty"`
	}
	dealForm struct {
		ID       string           `json:"id,omitempty"`
		Name     string           `json:"name,omitempty"`
		Stage    string           `json:"stage,omitempty"`
		Amount   nudgewire.Amount `json:"amount,omitzero"`
		Currency string           `json:"currency,omitempty"`
		Owner    string           `json:"owner,omitempty"`
		Empty    nudgewire.Names  `json:"empty,omitempty"`
	}
	messageForm struct {
		Text   string          `json:"text,omitempty"`
		Button string          `json:"button,omitempty"`
		Says   string          `json:"says,omitempty"`
		Empty  nudgewire.Names `json:"empty,omitempty"`
	}
	formForm struct {
		ID      string            `json:"id,omitempty"`
		Name    string            `json:"name,omitempty"`
		URL     string            `json:"url,omitempty"`
		Answers map[string]string `json:"answers,omitempty"`
		Empty   nudgewire.Names   `json:"empty,omitempty"`
	}
)

// decodeFacts fills the typed part of e from what appendFacts wrote.
func decodeFacts(b []byte, e *nudgewire.Event) error {
	if len(b) == 0 {
		return nil
	}
	var f factsForm
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("decode the event's facts: %w", err)
	}
	e.History, e.Forgotten, e.Cleared, e.Request, e.Unreadable = f.History, f.Forgotten, f.Cleared, f.Request, f.Unreadable
	if f.Contact != nil {
		f.Contact.Phone, f.Contact.PhoneProblem = e.Contact.Phone, e.Contact.PhoneProblem
		e.Contact = nudgewire.Contact(*f.Contact)
	}
	if c := f.Cart; c != nil {
		e.Cart = nudgewire.Cart{ID: c.ID, URL: c.URL, Total: c.Total, Currency: c.Currency, Items: items(c.Items), ExpiresAt: c.ExpiresAt, OtherIDs: c.OtherIDs, Empty: c.Empty}
	}
	if o := f.Order; o != nil {
		e.Order = nudgewire.Order{
			ID: o.ID, Name: o.Name, Number: o.Number, Status: o.Status, URL: o.URL,
			Total: o.Total, Currency: o.Currency, Items: items(o.Items), Empty: o.Empty,
		}
	}
	if f.Deal != nil {
		e.Deal = nudgewire.Deal(*f.Deal)
	}
	if f.Message != nil {
		e.Message = nudgewire.Inbound(*f.Message)
	}
	if f.Form != nil {
		e.Form = nudgewire.Form(*f.Form)
	}
	return nil
}

func items(in []itemForm) []nudgewire.Item {
	if len(in) == 0 {
		return nil
	}
	out := make([]nudgewire.Item, len(in))
	for i := range in {
		out[i] = nudgewire.Item(in[i])
	}
	return out
}

// decisionForm is the stored form of a decision, as it is read.
type decisionForm struct {
	Trigger  string                 `json:"trigger"`
	Outcome  nudgewire.Outcome      `json:"outcome"`
	Reason   string                 `json:"reason"`
	Clauses  []nudgewire.Clause     `json:"clauses"`
	Key      string                 `json:"key"`
	Dispatch nudgewire.DispatchID   `json:"dispatch"`
	Later    []nudgewire.DispatchID `json:"later"`
	Config   string                 `json:"config"`
	At       int64                  `json:"at"` // microseconds
}

// decodeDecisions reads what appendDecision wrote about event id.
func decodeDecisions(b []byte, id nudgewire.EventID, each func(nudgewire.Decision)) error {
	if len(b) == 0 {
		return nil
	}
	var forms []decisionForm
	if err := json.Unmarshal(b, &forms); err != nil {
		return fmt.Errorf("decode the decisions: %w", err)
	}
	for _, f := range forms {
		each(nudgewire.Decision{
			EventID: id, Trigger: f.Trigger, Outcome: f.Outcome, Reason: f.Reason, Clauses: f.Clauses, Key: f.Key,
			DispatchID: f.Dispatch, Later: f.Later, Config: f.Config, At: moment(f.At),
		})
	}
	return nil
}
