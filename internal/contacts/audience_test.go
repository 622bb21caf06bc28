package contacts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// someContacts are data with so many contacts, each known to two connectors and with two events.
func someContacts(t testing.TB, many int) Records {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "data.db"), Scratch: true, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	phones := make([]messaging.Phone, many)
	for i := range phones {
		phones[i] = messaging.Phone(strconv.Itoa(447_000_000_000 + i))
	}
	for some := range slices.Chunk(phones, 500) {
		var plans []messaging.Plan
		for i, phone := range some {
			for _, kind := range []string{"order.paid", "cart.updated"} {
				plans = append(plans, messaging.Plan{Event: messaging.Event{
					Connector: "shop", Kind: kind, DedupeKey: fmt.Sprint(kind, phone), ReceivedAt: noon, Contact: messaging.Contact{Phone: phone},
					Order: messaging.Order{ID: "o", Total: messaging.AmountOf(int64(i)), Currency: "GBP"}, Payload: []byte("{}"), ContentType: "application/json",
				}})
			}
		}
		if _, err := s.Accept(t.Context(), plans); err != nil {
			t.Fatal(err)
		}
		err := s.Write(t.Context(), commit.LaneWork, func(tx *store.Tx) (err error) {
			for i, phone := range some {
				for _, connector := range []string{"crm", "shop"} {
					c := messaging.KnownContact{Phone: phone, Connector: connector, Country: []string{"GB", "DE"}[i%2], FirstAt: noon, LastAt: noon, Orders: int64(i % 3)}
					err = errors.Join(err, know(tx, &c))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return Records{Store: s}
}

// audienceOf counts who belongs to an audience, and fails where one is there twice.
func (s Records) audienceOf(t testing.TB, text string) (n int) {
	t.Helper()
	a, problems := triggers.CompileAudience(text, map[string]triggers.ConnectorInfo{"shop": {}, "crm": {}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	rows, err := s.Audience(t.Context(), a, noon.Add(time.Hour), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for {
		row, _, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if row[0] <= last {
			t.Fatalf("%s comes after %s", row[0], last)
		}
		n, last = n+1, row[0]
	}
}

// More contacts, events and messages than are read at a time are all read, each once.
func TestAnAudienceIsReadInPages(t *testing.T) {
	s := someContacts(t, 90)
	before := perPage
	t.Cleanup(func() { perPage = before })
	for _, perPage = range []int{3, 4, 7, 180, 181} {
		if n := s.audienceOf(t, `count("*", 1d) == 2 and count("shop.order.*", 1d) == 1`); n != 90 {
			t.Errorf("pages of %d rows give %d of 90 contacts", perPage, n)
		}
	}
}

// BenchmarkAudience reads an audience among NUDGEWIRE_CONTACTS contacts, each with two events.
func BenchmarkAudience(b *testing.B) {
	many, err := strconv.Atoi(cmp.Or(os.Getenv("NUDGEWIRE_CONTACTS"), "10000"))
	if err != nil {
		b.Fatal(err)
	}
	s := someContacts(b, many)
	for b.Loop() {
		s.audienceOf(b, `count("*.order.paid", 90d) >= 1 and sum("*.order.paid", order.total, 90d) >= 250 and not messaged(14d) and customer.country == "GB"`)
	}
	b.ReportMetric(float64(many*b.N)/b.Elapsed().Seconds(), "contacts/s")
}
