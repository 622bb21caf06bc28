package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Of the same word the first source stays, but a proof is added to none.
var saveConsentSQL = engine.SQL(`INSERT INTO consents (phone, channel, category, consent, since, event_at, source, proof, event_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8)
		ON CONFLICT (phone, channel, category) DO UPDATE SET
			consent  = excluded.consent,
			since    = CASE WHEN consents.consent = excluded.consent THEN consents.since ELSE excluded.since END,
			event_at = excluded.event_at,
			source   = CASE WHEN consents.consent = excluded.consent AND (excluded.proof = '' OR consents.proof <> '') THEN consents.source ELSE excluded.source END,
			proof    = CASE WHEN consents.consent = excluded.consent AND (excluded.proof = '' OR consents.proof <> '') THEN consents.proof ELSE excluded.proof END,
			event_id = CASE WHEN consents.consent = excluded.consent AND (excluded.proof = '' OR consents.proof <> '') THEN consents.event_id ELSE excluded.event_id END
		WHERE excluded.event_at > consents.event_at OR (excluded.event_at = consents.event_at AND excluded.consent = 'withdrawn' AND consents.consent = 'given')`)

// saveConsent records what a contact agreed to or no longer agrees to. The later word counts by the time when
// it happened, and of two at the same time the no.
func (t *Tx) saveConsent(c *messaging.ConsentRecord) error {
	err := t.Put(saveConsentSQL, string(c.Phone), string(cmp.Or(c.Channel, messaging.ChannelPhone)), string(cmp.Or(c.Category, messaging.Marketing)),
		string(c.Consent), engine.Micro(c.At), c.Source, c.Proof, int64(c.Event))
	if c.Consent != messaging.ConsentGiven {
		t.NoteConsent(c.Phone)
	}
	return Wrap(err, "consent")
}

// tellsConsent records what the event says of its contact's consent. The flag of permission to be sent e-mail, which
// shops send with every event, changes nothing here: only the words about it are recorded.
func (t *Tx) tellsConsent(e *messaging.Event, id messaging.EventID) error {
	if e.Contact.Phone == "" {
		return nil
	}
	if said := messaging.ConsentOf(e, id); said.Consent != "" {
		if err := t.saveConsent(&said); err != nil {
			return err
		}
	}
	switch e.Kind {
	case "contact.email_subscribed":
		return t.consentOfEvent(e, id, e.Contact.Phone, messaging.ChannelEmail, true)
	case "contact.email_unsubscribed":
		return t.consentOfEvent(e, id, e.Contact.Phone, messaging.ChannelEmail, false)
	}
	return nil
}

func (t *Tx) consentOfEvent(e *messaging.Event, id messaging.EventID, phone messaging.Phone, by messaging.Channel, given bool) error {
	word := messaging.ConsentWithdrawn
	if given {
		word = messaging.ConsentGiven
	}
	return t.saveConsent(&messaging.ConsentRecord{Phone: phone, Channel: by, Consent: word, At: e.Time(), Source: e.Ref(), Event: id})
}

// What a contact said about messages of marketing on the phone: other consents, to e-mail above all, do not count.
var consentSQL = engine.SQL(`SELECT consent, event_at FROM consents WHERE phone = ?1 AND channel = 'phone' AND category = 'marketing'`)

// perConsents is how many records share one operation.
const perConsents = 256

// SaveConsents records what people or files say contacts agreed to. A record without a time is of now.
func (s *Store) SaveConsents(ctx context.Context, all []messaging.ConsentRecord) error {
	for some := range slices.Chunk(all, perConsents) {
		err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			for _, c := range some {
				if c.At.IsZero() {
					c.At = engine.Moment(t.At)
				}
				if err := t.saveConsent(&c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("record consents: %w", err)
		}
	}
	return nil
}

const consentColumns = `phone, channel, category, consent, since, event_at, source, proof, event_id`

// Consents lists what contacts agreed to, by phone, from after the given one on: at most limit (0: 50). With phone
// it is that contact's alone.
func (s *Store) Consents(ctx context.Context, phone, after messaging.Phone, limit int) ([]messaging.ConsentRecord, error) {
	var q engine.Select
	if phone != "" {
		q.And("phone = ?", string(phone))
	}
	if after != "" {
		q.And("phone > ?", string(after))
	}
	out, err := List(ctx, s, q.SQL(consentColumns, "consents", "phone, channel, category", cmp.Or(limit, defaultLimit)), q.Args, scanConsent)
	return out, Wrap(err, "list consents")
}

func scanConsent(r *engine.Row) (messaging.ConsentRecord, error) {
	return messaging.ConsentRecord{
		Phone: r.Phone(), Channel: messaging.Channel(r.Text()), Category: messaging.Category(r.Text()),
		Consent: messaging.Consent(r.Text()), Since: r.Time(), At: r.Time(), Source: r.Text(), Proof: r.Text(), Event: messaging.EventID(r.Int()),
	}, r.Err
}

// Agreed is what the phones said of messages of marketing.
func (s *Store) Agreed(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]messaging.Consent, error) {
	out := map[messaging.Phone]messaging.Consent{}
	for some := range slices.Chunk(phones, engine.PerList) {
		in, args := engine.ListOf(some)
		err := s.Rows(ctx, `SELECT phone, consent FROM consents WHERE channel = 'phone' AND category = 'marketing' AND phone IN (`+in+`)`, args, func(r *engine.Row) error {
			out[r.Phone()] = messaging.Consent(r.Text())
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("ask who agreed: %w", err)
		}
	}
	return out, nil
}
