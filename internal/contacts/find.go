package contacts

import (
	"context"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// KnownContact is what is known of a contact, by connector, the one that spoke last first.
func (s Records) KnownContact(ctx context.Context, phone messaging.Phone) ([]messaging.KnownContact, error) {
	out, err := store.List(ctx, s.Store, `SELECT `+knownColumns+` FROM contacts WHERE phone = ?1 ORDER BY last_at DESC, connector`, []any{string(phone)}, scanKnown)
	return out, store.Wrap(err, "what is known of a contact")
}

// mostFound is how many contacts a search names, perSearch how many are looked at at a time.
const (
	mostFound = 50
	perSearch = 5000
)

// FindContacts finds contacts by the id or name of an order, by a cart, an e-mail address or a part of it, or a part of a name. Those whom
// events lead to come first, then those that came last; at most 50.
func (s Records) FindContacts(ctx context.Context, text string) ([]messaging.FoundContact, error) {
	word := plainWord(text)
	if word == "" {
		return nil, nil
	}
	out, err := s.findByWord(ctx, word)
	if err != nil {
		return nil, store.Wrap(err, "find contacts by events")
	}
	more, err := s.findByName(ctx, word)
	known := map[messaging.Phone]bool{}
	out = slices.DeleteFunc(append(out, more...), func(f messaging.FoundContact) bool {
		again := known[f.Phone]
		known[f.Phone] = true
		return again
	})
	return out[:min(len(out), mostFound)], store.Wrap(err, "find contacts by name")
}

// findByWord finds contacts by what their events name, the newest event first.
func (s Records) findByWord(ctx context.Context, word string) (out []messaging.FoundContact, err error) {
	ids, err := s.WordEvents(ctx, s.KeyHash("word", word))
	slices.Reverse(ids)
	known := map[messaging.Phone]bool{}
	for some := range slices.Chunk(ids, engine.PerList) {
		if err != nil || len(out) >= mostFound {
			break
		}
		err = s.Rows(ctx, `SELECT `+store.EventColumns+`, content FROM events WHERE id IN `+engine.In(some)+` ORDER BY id DESC`, nil, func(r *engine.Row) error {
			row := store.ScanEvent(r)
			e := s.newReadEvent(&row, r.Blob())
			if by := wordsOf(&e.Event)[word]; by != "" && len(e.words) > 0 && !known[e.Contact.Phone] {
				known[e.Contact.Phone] = true
				out = append(out, messaging.FoundContact{Phone: e.Contact.Phone, Name: e.Contact.Name, By: by, Event: e.ID, At: e.ReceivedAt})
			}
			return r.Err
		})
	}
	return out, err
}

// findByName goes through all contacts: letters are compared here, as no engine knows those of all languages.
func (s Records) findByName(ctx context.Context, word string) (out []messaging.FoundContact, err error) {
	last := [2]string{}
	for n := perSearch; n == perSearch && err == nil; {
		n = 0
		err = s.Rows(ctx, `SELECT phone, connector, name, email, last_at FROM contacts WHERE (phone, connector) > (?1, ?2) ORDER BY phone, connector LIMIT ?3`,
			[]any{last[0], last[1], int64(perSearch)}, func(r *engine.Row) error {
				n++
				f := messaging.FoundContact{Phone: r.Phone()}
				last = [2]string{string(f.Phone), r.Text()}
				f.Name = r.Text()
				if email := r.Text(); strings.Contains(strings.ToLower(f.Name), word) {
					f.By = "name"
				} else if strings.Contains(strings.ToLower(email), word) {
					f.By = "e-mail"
				}
				if f.At = r.Time(); f.By != "" {
					out = append(out, f)
				}
				return r.Err
			})
		slices.SortStableFunc(out, func(a, b messaging.FoundContact) int { return b.At.Compare(a.At) })
		out = out[:min(len(out), 2*mostFound)] // two connectors may know one
	}
	return out, err
}
