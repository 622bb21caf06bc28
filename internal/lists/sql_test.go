package lists

import (
	"database/sql"
	"strconv"
	"testing"
	"time"
)

// streams reads a source whose first column counts from 1 to rows.
func streams(t *testing.T, o Origin, rows int64) {
	t.Helper()
	all := opened(t, o)
	for n := int64(1); n <= rows; n++ {
		row, line, err := all.Next()
		if err != nil || line != n || row[0] != strconv.FormatInt(n, 10) {
			t.Fatalf("row %d: %v, %v", n, row, err)
		}
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// closesAtOnce gives a reading up after the first of rows that would take for ever.
func closesAtOnce(t *testing.T, o Origin) {
	t.Helper()
	all := opened(t, o)
	if _, _, err := all.Next(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- all.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("closing reads the whole result")
	}
}

// ownerOf waits until a server answers its owner, and runs the statements that a test begins with.
func ownerOf(t testing.TB, driver, address string, statements ...string) *sql.DB {
	t.Helper()
	root, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 300 {
		if err = root.PingContext(t.Context()); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond) // another process tells nobody when it listens
	}
	if err != nil {
		t.Fatalf("the server does not answer: %v", err)
	}
	for _, statement := range statements {
		if _, err := root.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return root
}

func opened(t *testing.T, o Origin) Rows {
	t.Helper()
	s, err := newSource(o, "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
