//go:build unix

package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// Processes that share the data tell of themselves with each beat, whoever asks. One that died without a goodbye is listed for an hour.
func TestNodesTellOfThemselves(t *testing.T) {
	dsn := newDatabase(t)
	address, _, _ := strings.Cut(dsn, "#")
	took := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	const ahead = 7 * time.Second
	says := func(version, config string) store.Options {
		return store.Options{Version: version, Config: func() (string, time.Time) { return config, took }, Machine: func() time.Time { return time.Now().Add(ahead) }}
	}
	a, b := beside(t, dsn, says("1.0", "c1")), beside(t, dsn, says("1.1", "c2"))
	list := func(s *store.Store) []nodes.Node {
		t.Helper()
		all, err := s.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := list(a); len(got) != 0 {
		t.Errorf("before anybody lives there are %+v", got)
	}
	for s, owner := range map[*store.Store]string{a: "web-1:7:AAAA", b: "web-2:7:BBBB"} {
		if _, err := s.RescueClaims(t.Context(), time.Now(), owner); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	died := func(owner string, ago time.Duration) {
		t.Helper()
		at := time.Now().Add(-ago).UnixMicro()
		if _, err := conn.Exec(t.Context(), `INSERT INTO nodes (owner, host, began, seen_at, lease_ends) VALUES ($1, 'h', $2, $2, $2)`, owner, at); err != nil {
			t.Fatal(err)
		}
	}
	died("web-3:7:CCCC", 59*time.Minute)
	died("web-4:7:DDDD", 61*time.Minute)
	d := claimOne(t, a, 1)
	if err := a.BeginCall(0, d.ID, d.Attempt); err != nil {
		t.Fatal(err)
	}
	var got []nodes.Node
	soon(t, "what the other did", func() bool {
		got = list(b)
		return len(got) == 3 && got[0].Events == 1 && got[0].Calls == 1 && got[1].ClockOff != 0
	})
	if names := []string{got[0].Name, got[1].Name, got[2].Name}; !slices.Equal(names, []string{"web-1:7", "web-2:7", "web-3:7"}) {
		t.Errorf("there are %q", names)
	}
	if n := got[0]; !n.Alive || n.Own || n.Version != "1.0" || n.Config != "c1" || !n.ConfigAt.Equal(took) || !n.LeaseEnd.After(n.Seen) {
		t.Errorf("the other is %+v", n)
	}
	if n := got[1]; !n.Own || n.Version != "1.1" || n.Events != 0 || n.ClockOff < ahead-time.Second || n.ClockOff > ahead+time.Second {
		t.Errorf("this one is %+v", n)
	}
	if off := time.Until(b.Now()); off.Abs() > time.Second {
		t.Errorf("its times are off by %v", off)
	}
	if got[0].Leads == got[1].Leads || got[2].Leads || got[0].Leads != a.Leads() {
		t.Errorf("%v, %v and %v lead", got[0].Leads, got[1].Leads, got[2].Leads)
	}
	if n := got[2]; n.Alive || n.Config != "" || n.Version != "" {
		t.Errorf("the dead one is %+v", n)
	}

	// Who reads beside them lists the same, and is none of them. A goodbye leaves nothing.
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	reader := beside(t, dsn, store.Options{ReadOnly: true})
	if got := list(reader); len(got) != 2 || got[0].Name != "web-2:7" || got[0].Own {
		t.Errorf("a reader sees %+v", got)
	}
	soon(t, "the other leads", func() bool { return list(reader)[0].Leads })
	soon(t, "who died long ago is gone", func() bool {
		var left int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM nodes WHERE owner LIKE 'web-4%'`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
}

func TestAFileHasNoNodes(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + t.TempDir() + "/d.db", Settle: always})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.RescueClaims(t.Context(), time.Now(), "web-1:7:AAAA"); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Nodes(t.Context()); err != nil || all != nil {
		t.Errorf("%+v, %v", all, err)
	}
}
