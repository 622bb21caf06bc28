package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/nudgewire/nudgewire/internal/store"
)

// The rows of R must be those of webhooks that never came, or the server would do less than for a daemon.
func TestRowsOfRAreThoseOfNewWebhooks(t *testing.T) {
	s := sample{
		names: []string{"id", "day", "hash", "dedupe_key", "phone"},
		types: []uint32{pgtype.Int8OID, pgtype.Int8OID, pgtype.Int8OID, pgtype.TextOID, pgtype.TextOID},
		rows:  [][]any{{int64(7), int64(20_000), int64(-5), "delivery-00000012", phoneHead + "00000012"}, {int64(8), int64(20_000), int64(99), "delivery-00000013", phoneHead + "00000013"}},
	}
	seen := map[any]bool{}
	for batch := int64(1); batch <= 100; batch++ {
		all := s.anew(batch)
		for i := range s.rows {
			id, hash, key, phone := all[0].([]int64)[i], all[2].([]int64)[i], all[3].([]string)[i], all[4].([]string)[i]
			for _, once := range []any{[2]any{"id", id}, [2]any{"hash", hash}, key, phone} {
				if seen[once] {
					t.Fatalf("batch %d: %v comes twice", batch, once)
				}
				seen[once] = true
			}
			if all[1].([]int64)[i] != 20_000 || len(key) != len("delivery-00000012") || strings.TrimPrefix(key, "delivery-") != strings.TrimPrefix(phone, phoneHead) {
				t.Errorf("batch %d: day %d, key %s, phone %s", batch, all[1].([]int64)[i], key, phone)
			}
		}
	}
}

// What R inserts must be all that a webhook leaves.
func TestASampleHasTheRowsOfABatch(t *testing.T) {
	l := smallLab(t)
	withServer(t, l)
	if l.server == nil {
		t.Skip("make setup brings PostgreSQL")
	}
	at, err := l.place(t.Context(), t.TempDir(), 1, nothing)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := l.sample(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for i, s := range tables {
		rows[sampled[i].table] = len(s.rows)
	}
	want := map[string]int{"events": rawBatch, "decisions": rawBatch, "messages": rawBatch, "consents": rawBatch, "keys": 5 * rawBatch}
	if !maps.Equal(rows, want) {
		t.Errorf("rows are %v, want %v", rows, want)
	}
}

func TestANodeThatDoesNotStartSaysWhy(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("storge: nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := startNode(t.Context(), config, nil); err == nil || !strings.Contains(err.Error(), "storge") {
		t.Errorf("a broken config brought %v", err)
	}
}

// Copies must be data of the store also where they were moved.
func TestAFixtureOnPostgreSQLIsThatOfSQLite(t *testing.T) {
	l := smallLab(t)
	withServer(t, l)
	if l.server == nil {
		t.Skip("make setup brings PostgreSQL")
	}
	const n = 100
	for _, bare := range []bool{false, true} {
		due := fixture{name: fmt.Sprint("due_", bare), rows: n, tables: map[string]columns{"messages": messages.with(unsent)}, bare: bare}
		waiting(t, l, due)
	}
}

// waiting checks that all rows of a fixture wait.
func waiting(t *testing.T, l *lab, due fixture) {
	t.Helper()
	dir := t.TempDir()
	at, err := l.place(t.Context(), dir, 2, due)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{DSN: at.dsn()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Messages(t.Context(), store.MessageFilter{State: "waiting", Limit: 10 * due.rows})
	if err != nil || len(got) != due.rows {
		t.Errorf("%d messages wait, want %d; %v", len(got), due.rows, err)
	}
}

func TestTablesAreWatched(t *testing.T) {
	l := smallLab(t)
	withServer(t, l)
	if l.server == nil {
		t.Skip("make setup brings PostgreSQL")
	}
	var out strings.Builder
	if err := l.watchTables(t.Context(), &out, time.Second, 100); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprint(tablesRate, " webhooks a second for 1s beside 100 finished"), "messages", "counts"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

func TestCostsAreThoseOfWhatWasDone(t *testing.T) {
	l := smallLab(t)
	withServer(t, l)
	if l.server == nil {
		t.Skip("make setup brings PostgreSQL")
	}
	for _, c := range []struct {
		nodes, old int
		what       outcome
	}{{onSQLite, 0, sent}, {2, 0, planned}, {1, 100, delivered}} {
		got, err := l.cost(t.Context(), t.TempDir(), c.nodes, c.old, c.what)
		if err != nil {
			t.Fatal(err)
		}
		if want := l.backlog / 4; c.what != planned && got.n != want || got.n == 0 {
			t.Errorf("%+v: %d were done, want %d", c, got.n, want)
		}
		if got.node <= 0 || got.stored <= 0 || (c.nodes != onSQLite) != (got.log > 0) {
			t.Errorf("%+v cost %+v", c, got)
		}
	}
	got, err := l.rawCost(t.Context(), "keys")
	if err != nil || got.n < 5*rawBatch || got.n%(5*rawBatch) != 0 || got.log <= 0 {
		t.Errorf("keys alone: %+v, %v", got, err)
	}
}
