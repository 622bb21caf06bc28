package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/store/readers"
)

// A transaction of somebody else that is idle for long is named, whatever its role; one after the other is not.
func TestATransactionThatStaysOpenIsTold(t *testing.T) {
	address, folder, _ := strings.Cut(newDatabase(t), "#")
	s := openAt(t, address, folder)
	defer shut(t, s)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	run := func(statements ...string) {
		t.Helper()
		for _, one := range statements {
			if _, err := conn.Exec(t.Context(), one); err != nil {
				t.Fatalf("%s: %v", one, err)
			}
		}
	}
	began := time.Now()
	look := func(after time.Duration) *readers.Reader {
		t.Helper()
		if err := s.Readers.Look(t.Context(), began.Add(after)); err != nil {
			t.Fatal(err)
		}
		return s.Readers.Longest()
	}
	run("SET application_name = 'a notebook'", "BEGIN", "SELECT 1")
	if r := look(0); r != nil {
		t.Errorf("at its begin there is %+v", r)
	}
	if r := look(readers.Long - time.Second); r != nil {
		t.Errorf("before its time there is %+v", r)
	}
	r := look(readers.Long + 10*time.Second)
	if r == nil || r.PID != int(conn.PgConn().PID()) || r.Log != 0 || !r.Since.Equal(began) || r.Name == "" || r.Name[len(r.Name)-len(" by a notebook"):] != " by a notebook" {
		t.Errorf("there is %+v", r)
	}
	run("COMMIT", "BEGIN", "SELECT 1")
	if r := look(readers.Long + 30*time.Second); r != nil {
		t.Errorf("the next transaction has begun, and there is %+v", r)
	}
	run("COMMIT")
	if r := look(3 * readers.Long); r != nil {
		t.Errorf("none is open, and there is %+v", r)
	}
}
