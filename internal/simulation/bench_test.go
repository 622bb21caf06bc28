package simulation_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
)

// manyContacts are those of the benchmark.
const manyContacts = 20_000

// manyEvents is a month with so many events of which nothing was sent: what a simulation plays is in them.
func manyEvents(b *testing.B, rules *simulation.Rules, events int) simulation.Past {
	b.Helper()
	at := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	past := simulation.Past{From: at, Until: at.Add(30 * 24 * time.Hour), Zone: time.UTC, Folder: b.TempDir()}
	s, err := store.Open(b.Context(), store.Options{DSN: "sqlite:" + filepath.Join(b.TempDir(), "past.db"), Scratch: true, Now: func() time.Time { return at }})
	if err != nil {
		b.Fatal(err)
	}
	past.Store = s
	b.Cleanup(func() { _ = s.Close() })
	random := rand.New(rand.NewPCG(1, 2))
	var plans []messaging.Plan
	contacts := number(b, "NUDGEWIRE_SIMULATED_CONTACTS", min(manyContacts, 1+events/10))
	for i := range events {
		at = past.From.Add(past.Until.Sub(past.From) / time.Duration(events) * time.Duration(i))
		topic := "cart.updated"
		if random.IntN(3) == 0 {
			topic = "order.paid"
		}
		body := fmt.Sprintf(`{"id":"e%d","topic":%q,"phone":"+4477009%05d","name":"Ada","cart":"c%d","total":%d,"order":"o%d"}`,
			i, topic, random.IntN(contacts), random.IntN(1+events/2), 20+random.IntN(100), i)
		got, err := rules.Receivers["shop"].Receive(connectors.Request{Method: http.MethodPost, Path: "/hooks/shop", Body: []byte(body), Header: http.Header{"Content-Type": {"application/json"}}, Now: at, Proven: true})
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range got.Events {
			plans = append(plans, messaging.Plan{Event: e})
		}
		if len(plans) >= 500 || i == events-1 {
			if _, err := s.Accept(b.Context(), plans); err != nil {
				b.Fatal(err)
			}
			plans = plans[:0]
		}
	}
	return past
}

// number is what a variable says, or else another.
func number(b testing.TB, name string, other int) int {
	b.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(other)))
	if err != nil {
		b.Fatal(name, err)
	}
	return n
}

// A month of events by two configs: NUDGEWIRE_SIMULATED_EVENTS of them, about NUDGEWIRE_SIMULATED_CONTACTS.
func BenchmarkCompare(b *testing.B) {
	events := number(b, "NUDGEWIRE_SIMULATED_EVENTS", 10_000)
	was, is := rulesOf(b, shop), rulesOf(b, shop)
	past := manyEvents(b, &was, events)
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil { // from here on the peak of memory is counted
		b.Log("the peak of memory counts the making of the events, too")
	}
	for b.Loop() {
		got, err := simulation.Compare(b.Context(), past, &was, &is)
		if err != nil || got.Differs() || got.Events != int64(events) {
			b.Fatal(err, got)
		}
	}
	b.ReportMetric(float64(events*b.N)/b.Elapsed().Seconds(), "events/s")
	if said, err := os.ReadFile("/proc/self/status"); err == nil {
		_, peak, _ := strings.Cut(string(said), "VmHWM:")
		var kilobytes float64
		if _, err := fmt.Sscan(peak, &kilobytes); err == nil {
			b.ReportMetric(kilobytes/1000, "MB-peak")
		}
	}
}
