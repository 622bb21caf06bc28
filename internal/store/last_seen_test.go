package store

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

func TestTheLastEventOfEachConnectorIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	at := testPlan("a").Event.ReceivedAt
	accept := func(connector, key string, after time.Duration) {
		t.Helper()
		p := testPlan(key)
		p.Event.Connector, p.Event.ReceivedAt = connector, at.Add(after)
		if _, err := s.Accept(t.Context(), []messaging.Plan{p}); err != nil {
			t.Fatal(err)
		}
	}
	accept("shopify", "a", 0)
	accept("hubspot", "b", time.Hour)
	accept("shopify", "a", 2*time.Hour)    // a duplicate: its sender is alive all the same
	accept("hubspot", "c", 30*time.Minute) // came before the other, was stored after it
	both := []messaging.Plan{testPlan("d"), testPlan("e")}
	both[0].Event.Connector, both[1].Event.Connector = "two/parts", "two/parts"
	both[0].Event.ReceivedAt, both[1].Event.ReceivedAt = at.Add(time.Minute), at
	if _, err := s.Accept(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Time{"shopify": at.Add(2 * time.Hour), "hubspot": at.Add(time.Hour), "two/parts": at.Add(time.Minute)}
	check := func(when string) {
		t.Helper()
		got := map[string]time.Time{}
		err := s.Rows(t.Context(), `SELECT name, value FROM counters WHERE name LIKE 'last_event/%'`, nil, func(r *engine.Row) error {
			name := strings.TrimPrefix(r.Text(), tally.LastSeenPrefix)
			got[name] = r.Time()
			return r.Err
		})
		if err != nil {
			t.Fatal(err)
		}
		equal := func(a, b time.Time) bool { return a.Equal(b) }
		if !maps.EqualFunc(got, want, equal) {
			t.Errorf("%s: (-want +got):\n%s", when, cmp.Diff(want, got))
		}
	}
	check("at once")
	totals, err := List(t.Context(), s, `SELECT name FROM counters WHERE name NOT LIKE '%/%'`, nil, engine.Text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range totals {
		if !slices.Contains(tally.CounterNames(), name) {
			t.Errorf("totals hold %q, which is no counter", name)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	check("after a restart")
}
