//go:build unix

package simulation_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/transfer"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A past that is kept in PostgreSQL is played as the same past in a file: it equals its ledger, and two configs differ in the same rows.
func TestAPastInPostgreSQL(t *testing.T) {
	server := testserver.ForTest(t, "fsync=off")
	address, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := shop + listsOf(t)
	rules, edited := rulesOf(t, text), rulesOf(t, strings.NewReplacer("wait: 45m", "wait: 3h", "2 per 7d", "1 per 7d", "template_id: 8", "template_id: 9").Replace(text))
	inFile := month(t, &rules, 500, 150)
	onServer := inFile
	onServer.Store = copied(t, inFile, address+"#"+t.TempDir())
	if got := compare(t, onServer, nil, &rules); got.Differs() || got.Events != 500 || len(got.Jobs) != 3 || got.Jobs[0].Was < 50 || got.Triggers[0].Was < 50 {
		t.Errorf("against the ledger: %d changes, the first %+v; %+v, %+v", len(got.Changes), got.Changes[:min(1, len(got.Changes))], got.Jobs, got.Triggers)
	}
	for name, was := range map[string]*simulation.Rules{"the ledger": nil, "the config before": &rules} {
		want := compare(t, inFile, was, &edited)
		got := compare(t, onServer, was, &edited)
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" || len(want.Changes) < 200 {
			t.Errorf("against %s, %d changes: -in a file +in PostgreSQL:\n%s", name, len(want.Changes), diff)
		}
	}
}

// copied is the data of a past in PostgreSQL.
func copied(t *testing.T, p simulation.Past, dsn string) *store.Store {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+ask(t, p, `SELECT file FROM pragma_database_list WHERE name = 'main'`)[0]+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "past.db")
	_, err = db.ExecContext(t.Context(), `VACUUM INTO ?`, file)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Run(t.Context(), transfer.Options{From: "sqlite:" + file, To: dsn}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func asJSON(t *testing.T, got *simulation.Comparison) string {
	t.Helper()
	text, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
