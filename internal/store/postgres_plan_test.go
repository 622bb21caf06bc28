//go:build unix

package store

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// PostgreSQL plans by what it knows of the rows, which is nothing in a new table and is wrong in one that fills. Its plans for whatever
// changes data must be those that history does not lengthen, also then.
func TestNothingHotWalksHistoryOnPostgreSQL(t *testing.T) {
	server := testserver.ForTest(t, "fsync=off", "autovacuum=off")
	dsn, err := server.NewDatabase(t.Context())
	failIf(t, err)
	s, err := Open(t.Context(), Options{DSN: dsn + "#" + t.TempDir(), Settle: planAll})
	failIf(t, err)
	defer func() { failIf(t, s.Close()) }()

	e := s.writer.engine.(*engine.Postgres)
	failIf(t, e.Begin())
	_, err = e.Conn().Exec(t.Context(), `SET plan_cache_mode = force_generic_plan`)
	failIf(t, err)
	walk := regexp.MustCompile(`(?m)Seq Scan on|Sort$|Bitmap Heap Scan on`)
	fewRows := regexp.MustCompile(`FROM alert|FROM api_tokens|FROM users|UPDATE users|console_(sessions|links)|FROM messages\s+WHERE state = '(sending|in_doubt)' AND account|UNION ALL SELECT state, claimed_at, 0, account|FROM runs WHERE ended_at = 0|SET trigger_name =|DELETE FROM unused|FROM redactions|UPDATE lookups SET due_at = \$1|DELETE FROM cut`) // what they say is all they read; of what came to nothing there are few kinds; a rename walks what is open, once; look-ups under way are few, and so are cuts
	holds := regexp.MustCompile(`(?:Seq Scan|Bitmap Heap Scan|Index Scan using \w+) on holds\b`)                                                                                                                                                                                                                                                                  // which are few
	whole := regexp.MustCompile(`Index (?:Only )?Scan using .*\n(?: +Filter| *->|\z)`)
	for i, one := range engine.Statements() {
		sql := one.OnServer()
		if !strings.HasPrefix(sql, "SELECT") && !strings.HasPrefix(sql, "UPDATE") && !strings.HasPrefix(sql, "DELETE") {
			continue
		}
		about, err := e.Conn().Prepare(t.Context(), fmt.Sprintf("p%d", i), sql)
		failIf(t, err)
		explain := fmt.Sprintf("EXPLAIN (COSTS off) EXECUTE p%d", i)
		if n := len(about.ParamOIDs); n > 0 {
			explain += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
		}
		rows, err := e.Conn().Query(t.Context(), explain)
		failIf(t, err)
		var plan []string
		for rows.Next() {
			var line string
			failIf(t, rows.Scan(&line))
			plan = append(plan, line)
		}
		failIf(t, rows.Err())
		all := holds.ReplaceAllString(strings.Join(plan, "\n"), "Holds")
		if fewRows.MatchString(sql) {
			continue
		}
		if walk.MatchString(all) || whole.MatchString(all+"\n") && !strings.Contains(sql, "LIMIT") {
			t.Errorf("%s\n%s", strings.Join(strings.Fields(sql), " "), all)
		}
	}
}

// The ways that writers may not go have a price at which a server compiles a statement before it runs it.
func TestNoStatementOfAWriterIsCompiled(t *testing.T) {
	dsn, err := testserver.ForTest(t, "fsync=off", "jit=on").NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{DSN: dsn + "#" + t.TempDir(), Settle: planAll})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	e := s.writer.engine.(*engine.Postgres)
	if err := e.Begin(); err != nil {
		t.Fatal(err)
	}
	rows, err := e.Conn().Query(t.Context(), `EXPLAIN ANALYZE SELECT max(value) FROM counts`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "JIT:") {
			t.Error("it was compiled")
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
