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

// packInto appends b as it is stored to room and returns that part. Parts returned before
// stay good when room has to grow: they keep the array that they are in.
func packInto(room *[]byte, b []byte) []byte {
	from := len(*room)
	*room = pack(*room, b)
	return (*room)[from:len(*room):len(*room)]
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

// The stored form of what an event was mapped to. The nouns carry no tags of their own, and
// most of their fields are empty in most events, so these name each field once, briefly,
// and leave out what was not told. A field added to a noun fails to compile here until it is
// given a name.
type (
	factsForm struct {
		Contact *contactForm `json:"contact,omitempty"`
		Cart    *cartForm    `json:"cart,omitempty"`
		Order   *orderForm   `json:"order,omitempty"`
		Deal    *dealForm    `json:"deal,omitempty"`
		Form    *formForm    `json:"form,omitempty"`
	}
	contactForm struct {
		Phone            nudgewire.Phone `json:"-"` // a column of the event
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
	}
	itemForm struct {
		ID       string           `json:"id,omitempty"`
		SKU      string           `json:"sku,omitempty"`
		Title    string           `json:"title,omitempty"`
		Quantity int              `json:"quantity,omitempty"`
		Price    nudgewire.Amount `json:"price,omitzero"`
		URL      string           `json:"url,omitempty"`
		Image    string           `json:"image,omitempty"`
	}
	cartForm struct {
		ID        string           `json:"id,omitempty"`
		URL       string           `json:"url,omitempty"`
		Total     nudgewire.Amount `json:"total,omitzero"`
		Currency  string           `json:"currency,omitempty"`
		Items     []itemForm       `json:"items,omitempty"`
		ExpiresAt time.Time        `json:"expires_at,omitzero"`
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
	}
	dealForm struct {
		ID       string           `json:"id,omitempty"`
		Name     string           `json:"name,omitempty"`
		Stage    string           `json:"stage,omitempty"`
		Amount   nudgewire.Amount `json:"amount,omitzero"`
		Currency string           `json:"currency,omitempty"`
		Owner    string           `json:"owner,omitempty"`
	}
	formForm struct {
		ID      string            `json:"id,omitempty"`
		Name    string            `json:"name,omitempty"`
		URL     string            `json:"url,omitempty"`
		Answers map[string]string `json:"answers,omitempty"`
	}
)

// encodeFacts writes the typed part of e; nil when nothing was told.
func encodeFacts(e *nudgewire.Event) ([]byte, error) {
	var f factsForm
	told := false
	if c := &e.Contact; c.ID != "" || c.Name != "" || c.FirstName != "" || c.LastName != "" || c.Email != "" || c.Language != "" ||
		c.Country != "" || c.Timezone != "" || len(c.Tags) > 0 || c.AcceptsMarketing || c.Consent {
		form := contactForm(*c)
		f.Contact, told = &form, true
	}
	if c := &e.Cart; c.ID != "" || c.URL != "" || c.Total.Told() || c.Currency != "" || len(c.Items) > 0 || !c.ExpiresAt.IsZero() {
		f.Cart, told = &cartForm{c.ID, c.URL, c.Total, c.Currency, itemForms(c.Items), c.ExpiresAt}, true
	}
	if o := &e.Order; o.ID != "" || o.Name != "" || o.Number != 0 || o.Status != "" || o.URL != "" || o.Total.Told() || o.Currency != "" || len(o.Items) > 0 {
		f.Order, told = &orderForm{o.ID, o.Name, o.Number, o.Status, o.URL, o.Total, o.Currency, itemForms(o.Items)}, true
	}
	if e.Deal != (nudgewire.Deal{}) {
		form := dealForm(e.Deal)
		f.Deal, told = &form, true
	}
	if o := &e.Form; o.ID != "" || o.Name != "" || o.URL != "" || len(o.Answers) > 0 {
		form := formForm(*o)
		f.Form, told = &form, true
	}
	if !told {
		return nil, nil
	}
	b, err := json.Marshal(&f)
	if err != nil {
		return nil, fmt.Errorf("encode the event's facts: %w", err)
	}
	return b, nil
}

// decodeFacts fills the typed part of e from what encodeFacts wrote.
func decodeFacts(b []byte, e *nudgewire.Event) error {
	if len(b) == 0 {
		return nil
	}
	var f factsForm
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("decode the event's facts: %w", err)
	}
	if f.Contact != nil {
		f.Contact.Phone, f.Contact.PhoneProblem = e.Contact.Phone, e.Contact.PhoneProblem
		e.Contact = nudgewire.Contact(*f.Contact)
	}
	if c := f.Cart; c != nil {
		e.Cart = nudgewire.Cart{ID: c.ID, URL: c.URL, Total: c.Total, Currency: c.Currency, Items: items(c.Items), ExpiresAt: c.ExpiresAt}
	}
	if o := f.Order; o != nil {
		e.Order = nudgewire.Order{
			ID: o.ID, Name: o.Name, Number: o.Number, Status: o.Status, URL: o.URL,
			Total: o.Total, Currency: o.Currency, Items: items(o.Items),
		}
	}
	if f.Deal != nil {
		e.Deal = nudgewire.Deal(*f.Deal)
	}
	if f.Form != nil {
		e.Form = nudgewire.Form(*f.Form)
	}
	return nil
}

func itemForms(in []nudgewire.Item) []itemForm {
	if len(in) == 0 {
		return nil
	}
	out := make([]itemForm, len(in))
	for i := range in {
		out[i] = itemForm(in[i])
	}
	return out
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
