package store_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The role that the page about open data makes reads the views, and nothing else of the database.
func TestTheRoleOfThePageSeesTheViewsAlone(t *testing.T) {
	address, folder, _ := strings.Cut(newDatabase(t), "#")
	s := openAt(t, address, folder)
	claimOne(t, s, 1)
	defer shut(t, s)
	page, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile("(?s)## A role that sees the views alone.*?```sql\n(.*?)```").FindSubmatch(page)
	if made == nil {
		t.Fatal("the page makes no role")
	}
	admin, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(t.Context()) }()
	if _, err := admin.Exec(t.Context(), string(made[1])); err != nil {
		t.Fatal(err)
	}
	defer func() { // roles are of the server, not of the database
		if _, err := admin.Exec(t.Context(), "DROP OWNED BY nudgewire_reader; DROP ROLE nudgewire_reader"); err != nil {
			t.Error(err)
		}
	}()
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password = "nudgewire_reader", "change me"
	reader, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close(t.Context()) }()

	names := func(query string) (all []string) {
		t.Helper()
		rows, err := admin.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if all, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(all) == 0 {
			t.Fatalf("%s: %v (%v)", query, all, err)
		}
		return all
	}
	for _, view := range names(`SELECT viewname FROM pg_views WHERE schemaname = 'public' AND viewname LIKE 'v\_%'`) {
		var n int
		if err := reader.QueryRow(t.Context(), "SELECT count(*) FROM "+view).Scan(&n); err != nil {
			t.Errorf("%s cannot be read: %v", view, err)
		}
		if view == "v_messages" && n != 1 {
			t.Errorf("%d messages are seen", n)
		}
	}
	for _, table := range append(names(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`), "counters") {
		_, err := reader.Exec(t.Context(), "SELECT * FROM "+table)
		if no, is := errors.AsType[*pgconn.PgError](err); !is || no.Code != "42501" {
			t.Errorf("%s: %v, want that it is not allowed", table, err)
		}
	}
	for _, change := range []string{"DELETE FROM v_runs", "CREATE TABLE mine (a int)"} {
		if _, err := reader.Exec(t.Context(), change); err == nil {
			t.Errorf("%s goes through", change)
		}
	}
	var limit string
	if err := reader.QueryRow(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&limit); err != nil || limit != "1min" {
		t.Errorf("a transaction may idle for %q (%v)", limit, err)
	}
}
