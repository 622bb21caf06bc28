//go:build unix

package suite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

func newFilePlace(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "nudgewire.db") }

// onServer runs a statement in the database of a DSN.
func onServer(t testing.TB, dsn, statement string) {
	t.Helper()
	address, _, _ := strings.Cut(dsn, "#")
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
}

// What was moved is told and goes on as what stayed does. NUDGEWIRE_MOVED_MESSAGES=1000000 has as many messages move beside the others; -v
// shows what it took.
func TestMovedDataDecidesTheSame(t *testing.T) {
	many, _ := strconv.Atoi(os.Getenv("NUDGEWIRE_MOVED_MESSAGES"))
	toServer := move{
		Messages: many,
		From:     newFilePlace, To: newDatabase,
		Restored: func(t testing.TB, dsn string) string { // a copy of its files
			copied := newFilePlace(t)
			all, err := filepath.Glob(engine.Path(dsn) + "*")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range all {
				text, err := os.ReadFile(name)
				if err != nil || strings.HasSuffix(name, ".lock") {
					continue
				}
				if err := os.WriteFile(engine.Path(copied)+strings.TrimPrefix(name, engine.Path(dsn)), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return copied
		},
		Unmark: func(t testing.TB, dsn string) {
			if err := os.Remove(engine.Path(dsn) + ".moved"); err != nil {
				t.Fatal(err)
			}
		},
	}
	toFile := move{
		Messages: many,
		From:     newDatabase, To: newFilePlace,
		Restored: func(t testing.TB, dsn string) string {
			onServer(t, dsn, `UPDATE place SET base = '1'`)
			return dsn
		},
		Unmark: func(t testing.TB, dsn string) {
			onServer(t, dsn, `DELETE FROM counts WHERE name LIKE 'moved/%'`)
		},
	}
	t.Run("from a file to PostgreSQL", func(t *testing.T) { runMove(t, toServer) })
	t.Run("from PostgreSQL to a file", func(t *testing.T) { runMove(t, toFile) })
}
