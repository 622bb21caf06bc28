package numbers

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/schema"
)

// openData makes empty data in a file.
func openData(t *testing.T) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	c, err := engine.NewConnector(path)
	if err == nil {
		err = engine.CreateFile(path)
	}
	if err == nil {
		err = c.Prepare(t.Context(), path, schema.Steps)
	}
	if err != nil {
		t.Fatal(err)
	}
	db := c.Single()
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// The data goes on behind every number that it ever had, whatever of it is left: rows, counters, or a note of the engine that it came from.
func TestANumberIsNeverGivenTwice(t *testing.T) {
	db := openData(t)
	rapid.Check(t, func(rt *rapid.T) {
		exec := func(query string, args ...any) {
			if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
				rt.Fatalf("%s: %v", query, err)
			}
		}
		exec(`DELETE FROM counts`)
		counted := rapid.Int64Range(0, 50).Draw(rt, "counted")
		exec(`INSERT INTO counts (name, writer, value) VALUES ('events', 1, ?1), ('events', 2, ?1)`, counted)
		exec(`INSERT INTO counts (name, writer, value) VALUES ('messages', 1, ?1), ('messages_of_uploads', 1, 3)`, counted)
		var last Newest
		for of := range last {
			last[of] = rapid.Int64Range(2*counted+3, 1000).Draw(rt, "number")
		}
		if err := Keep(t.Context(), db, last); err != nil {
			rt.Fatal(err)
		}
		if got, err := Find(t.Context(), db); err != nil || got != last {
			rt.Fatalf("after a move: %v (%v), want %v", got, err, last)
		}
		more := rapid.Int64Range(0, 50).Draw(rt, "more")
		exec(`UPDATE counts SET value = value + ?1 WHERE name = 'events' AND writer = 2`, more)
		if got, err := Find(t.Context(), db); err != nil || got[Events] != last[Events]+more {
			rt.Fatalf("%d events later: %d (%v), want %d", more, got[Events], err, last[Events]+more)
		}
	})
}

func TestBlocksGiveWhatTheyHaveOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Blocks
		give := func(n int64) string {
			first, ok := b.take(Events, n)
			return fmt.Sprint(first, " ", ok)
		}
		var got []string
		got = append(got, give(1)) // nothing was taken yet
		b.fill(Events, 101)
		got = append(got, give(1), give(10), give(Events.Block()), give(1))
		b.fill(Events, 51) // another writer was faster, and had a later one
		got = append(got, give(1))
		b.fill(Events, 10001)
		got = append(got, give(2))
		time.Sleep(blockFor + 1)
		got = append(got, give(1)) // too old: numbers grow with time
		b.fill(Events, 20001)
		b.Forget()
		got = append(got, give(1))
		want := []string{"0 false", "101 true", "102 true", "0 false", "112 true", "113 true", "10001 true", "0 false", "0 false"}
		if !slices.Equal(got, want) {
			t.Errorf("given %q, want %q", got, want)
		}
		if first, ok := b.take(Messages, 1); ok {
			t.Errorf("messages have numbers of events: %d", first)
		}
	})
}
