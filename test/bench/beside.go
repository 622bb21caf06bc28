package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

const (
	storedEvents = 5_000_000
	storedFrom   = 60_000_000 // serials of stored events are beyond those of webhooks that are posted
	storedAtOnce = 500        // events that share a commit
)

// besideContest measures webhooks, in a closed loop, of a daemon whose data has so many events already. The data is made once a run, by
// the store's own Accept out of one webhook that the daemon took, and grows a little with each round.
func besideContest(conns, stored int) *contest {
	var dir string
	f := figure{name: closedName(conns) + ", beside " + number(float64(stored)) + " events", bases: []base{{name: closedName(conns), short: "empty"}}}
	return ingestOver(f, load{conns: conns}, func(ctx context.Context, l *lab, _ string) (place, error) {
		if dir == "" {
			made := filepath.Join(l.dir, "stored")
			if err := os.Mkdir(made, 0o700); err != nil {
				return place{}, err
			}
			if err := l.storeEvents(ctx, made, stored); err != nil {
				return place{}, fmt.Errorf("store %d events: %w", stored, err)
			}
			dir = made
		}
		return place{dir: dir, storage: sqliteIn(dir), nodes: 1}, nil
	})
}

// storeEvents makes data in dir with n events that are like the first, each of another contact and cart; one in five plans a message
// for a day that never comes.
func (l *lab) storeEvents(ctx context.Context, dir string, n int) (err error) {
	if err := l.seed(ctx, dir); err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Options{DSN: sqliteIn(dir), Settle: triggers.Settle})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	like, err := readLike(ctx, s)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	const makers = 2
	errs := make(chan error, makers)
	for maker := range makers {
		all.Go(func() {
			plans := make([]messaging.Plan, 0, storedAtOnce)
			for from := maker * storedAtOnce; from < n; from += makers * storedAtOnce {
				plans = plans[:0]
				for i := from; i < min(from+storedAtOnce, n); i++ {
					plans = append(plans, like.plan(i))
				}
				if _, err := s.Accept(ctx, plans); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// A likeness is what stored events are made of.
type likeness struct {
	event    messaging.Event
	decision messaging.Decision
	message  messaging.Message
	serial   string // digits that stand in all that tells events apart
}

func readLike(ctx context.Context, s *store.Store) (like likeness, err error) {
	if like.event, err = s.Event(ctx, 1); err != nil {
		return like, err
	}
	said, err := s.Decisions(ctx, 1)
	if err != nil {
		return like, err
	}
	if len(said) != 1 {
		return like, fmt.Errorf("the first webhook led to %d decisions", len(said))
	}
	like.decision = said[0]
	if like.message, err = s.Message(ctx, said[0].MessageID); err != nil {
		return like, err
	}
	like.serial = strings.TrimPrefix(string(like.event.Contact.Phone), phoneHead)
	return like, nil
}

// plan is event i.
func (like *likeness) plan(i int) messaging.Plan {
	serial := fmt.Sprintf("%0*d", len(like.serial), storedFrom+i)
	other := func(text string) string { return strings.ReplaceAll(text, like.serial, serial) }
	e, d := like.event, like.decision
	e.ID = 0
	e.DedupeKey, e.ContentKey = "stored-"+serial, ""
	e.Contact.Phone, e.Contact.SentAs = messaging.PhoneOf(other(string(e.Contact.Phone)))
	e.Contact.ID, e.Contact.Email = other(e.Contact.ID), other(e.Contact.Email)
	e.Cart.ID, e.Cart.URL, e.Cart.OtherIDs = other(e.Cart.ID), other(e.Cart.URL), []string{"token-" + serial}
	e.Payload = bytes.ReplaceAll(e.Payload, []byte(like.serial), []byte(serial))
	d.EventID, d.MessageID, d.Key = 0, 0, other(d.Key)
	p := messaging.Proposal{Decision: d}
	if i%5 == 0 {
		p.Correlation = messaging.Correlation{Trigger: d.Trigger, Key: d.Key, Phone: e.Contact.Phone}
		p.EventAt = e.ReceivedAt
		m := like.message
		p.Message = messaging.Message{
			Trigger: m.Trigger, Phone: e.Contact.Phone, SentAs: e.Contact.SentAs, Category: m.Category, Send: m.Send, Config: m.Config,
			Reason: "waits", DueAt: e.ReceivedAt.Add(365 * 24 * time.Hour), CreatedAt: e.ReceivedAt,
		}
		p.Decision.Outcome = messaging.Planned
	} else {
		p.Decision.Outcome, p.Decision.Reason = messaging.Skipped, "cart.total >= 50 does not hold"
	}
	return messaging.Plan{Event: e, Proposals: []messaging.Proposal{p}}
}
