package store

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/schema"
)

// A file of version 1, with what it holds, comes to a version 2 that is made up here; and what knows version 1 alone leaves it alone then.
func TestASchemaGoesFromVersionToVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	second := append(slices.Clone(schema.Steps), engine.Step{Version: schema.Version() + 1, SQL: `
		{{sqlite only}}ALTER TABLE configs ADD COLUMN note TEXT NOT NULL DEFAULT 'of before';{{end}}
		{{postgres only}}nothing of this is for SQLite{{end}}`})
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(`INSERT INTO configs (version, text, at) VALUES ('abc', 'a: b', 1)`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once more changes nothing
		if err := engine.Migrate(t.Context(), db, engine.SQLiteDialect, second); err != nil {
			t.Fatal(err)
		}
	}
	var text, note string
	if err := db.QueryRowContext(t.Context(), "SELECT text, note FROM configs").Scan(&text, &note); err != nil || text != "a: b" || note != "of before" {
		t.Errorf("%q %q, %v", text, note, err)
	}
	newer, ok := errors.AsType[*engine.NewerSchemaError](engine.Migrate(t.Context(), db, engine.SQLiteDialect, schema.Steps))
	if !ok || newer.Found != schema.Version()+1 || newer.Known != schema.Version() {
		t.Errorf("version 1 says %v", newer)
	}
	if _, err := Open(t.Context(), Options{DSN: "sqlite:" + path}); !errors.As(err, &newer) {
		t.Errorf("it opens: %v", err)
	}
	failing := append(slices.Clone(second), engine.Step{Version: schema.Version() + 2, SQL: "CREATE TABLE half (a BIGINT); CREATE TABLE half (a BIGINT);"})
	if err := engine.Migrate(t.Context(), db, engine.SQLiteDialect, failing); err == nil {
		t.Error("a step that fails is no error")
	}
	var left int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_master WHERE name = 'half'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d tables of a step that failed are there, %v", left, err)
	}
}

// The page of tables says of every table of both engines when its rows leave, and of no other.
func TestThePageOfTablesKnowsEveryTable(t *testing.T) {
	tables := map[string]bool{goose.DefaultTablename: true}
	for _, one := range schema.Steps {
		for _, m := range regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`).FindAllStringSubmatch(engine.PostgresDialect.Schema(one.SQL), -1) {
			tables[m[1]] = true
		}
	}
	page, err := os.ReadFile("../../docs/tables.md")
	failIf(t, err)
	var told, there []string
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
			told = append(told, name[1])
		}
	}
	for name := range tables {
		there = append(there, name)
	}
	slices.Sort(told)
	slices.Sort(there)
	if diff := cmp.Diff(there, told); diff != "" {
		t.Errorf("tables (-there +told):\n%s", diff)
	}
	if len(there) < 50 {
		t.Errorf("only %d tables were found", len(there))
	}
}
