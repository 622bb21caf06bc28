package audit_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

func failIf(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openAt(t *testing.T, path string) audit.Records {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + path})
	failIf(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return audit.Records{Store: s}
}

// tamper carries out statements on the data at path, as somebody does who has the file.
func tamper(t *testing.T, path, statements string) {
	t.Helper()
	raw, err := sql.Open("sqlite3", path)
	failIf(t, err)
	for one := range strings.SplitSeq(statements, ";") {
		_, err = raw.Exec(one)
		failIf(t, err)
	}
	failIf(t, raw.Close())
}

// Whoever changes the database by hand, an entry, its number or what lies between two of them, breaks the chain there.
func TestAChangedAuditIsFound(t *testing.T) {
	for name, tt := range map[string]struct {
		change string
		at     int64
	}{
		"who":               {"UPDATE audit SET who = 'nobody' WHERE id = 4", 4},
		"when":              {"UPDATE audit SET at = at + 1 WHERE id = 1", 1},
		"what":              {"UPDATE audit SET action = 'POST /status' WHERE id = 7", 7},
		"how it ended":      {"UPDATE audit SET outcome = 'refused: 404' WHERE id = 7", 7},
		"a text moved over": {"UPDATE audit SET subject = '', detail = '/halt' || detail WHERE id = 2", 2},
		"one taken out":     {"DELETE FROM audit WHERE id = 5", 5},
		"the first":         {"DELETE FROM audit WHERE id = 1", 1},
		"a gap closed":      {"DELETE FROM audit WHERE id = 3; UPDATE audit SET id = id - 1 WHERE id > 3", 3},
		"two changed round": {"UPDATE audit SET id = 100 WHERE id = 2; UPDATE audit SET id = 2 WHERE id = 3; UPDATE audit SET id = 3 WHERE id = 100", 2},
		"one put in":        {"INSERT INTO audit SELECT 9, at, who, via, action, subject, detail, outcome, hash FROM audit WHERE id = 8", 9},
		"the last":          {"DELETE FROM audit WHERE id = 8", 8},
		"nothing":           {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.db")
			s := openAt(t, path)
			for range 8 {
				err := s.Audit(t.Context(), chain.Entry{At: time.Now(), Who: "ann", Via: "socket", Action: "POST /halt", Subject: "/halt", Detail: "{}"})
				failIf(t, err)
			}
			_, last, err := s.Verify(t.Context(), 0, "")
			failIf(t, err)
			tamper(t, path, tt.change)
			_, _, err = s.Verify(t.Context(), 8, last)
			wrong, is := errors.AsType[*audit.Error](err)
			if is != (tt.at != 0) || is && wrong.ID != tt.at {
				t.Errorf("it is said that %v, want entry %d", err, tt.at)
			}
			failIf(t, s.Close())
		})
	}
}

// What somebody does to the end of the chain is told, whether the daemon runs meanwhile or not, before anything is written over it, and the chain
// says so for good, also once a person accepted it.
func TestAnEndThatWasCutOffIsToldAndStaysAHole(t *testing.T) {
	cut := "DELETE FROM audit WHERE id > 5"
	fitting := cut + "; UPDATE audit_end SET id = 5, hash = (SELECT hash FROM audit WHERE id = 5)" // by who knows about the end, too
	for name, tt := range map[string]struct {
		change           string
		running, stopped string // what is found
	}{
		"nothing":              {"", "", ""},
		"the last":             {"DELETE FROM audit WHERE id = 8", "entry 8 is missing", "entry 8 is missing"},
		"some at the end":      {cut, "entries 6 to 8 are missing", "entries 6 to 8 are missing"},
		"all":                  {"DELETE FROM audit", "entries 1 to 8 are missing", "entries 1 to 8 are missing"},
		"with what is noted":   {fitting, "entries 6 to 8 are missing", ""}, // only a hash from before shows it
		"all, and what noted":  {"DELETE FROM audit; DELETE FROM audit_end", "entries 1 to 8 are missing", ""},
		"what is noted":        {"DELETE FROM audit_end", "entry 1 was written by somebody else", "entry 1 was written by somebody else"},
		"the last is changed":  {"UPDATE audit SET hash = 'ff' WHERE id = 8", "entry 8 is not the one that was written", "entry 8 is not the one that was written"},
		"it, and what noted":   {"UPDATE audit SET hash = 'ff' WHERE id = 8; UPDATE audit_end SET hash = 'ff'", "entry 8 is not the one that was written", ""},
		"one is put behind it": {"INSERT INTO audit SELECT 9, at, who, via, action, subject, detail, outcome, 'ff' FROM audit WHERE id = 8", "entry 9 was written by somebody else", "entry 9 was written by somebody else"},
	} {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, running %v", name, running), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "n.db")
				s := openAt(t, path)
				order := func() {
					failIf(t, s.Audit(t.Context(), chain.Entry{At: time.Now(), Who: "ann", Via: "socket", Action: "POST /halt"}))
				}
				for range 8 {
					order()
				}
				want := tt.running
				if !running {
					want = tt.stopped
					failIf(t, s.Close())
				}
				tamper(t, path, tt.change)
				if !running {
					s = openAt(t, path)
				}
				broken := func(what string) {
					t.Helper()
					state, err := s.State(t.Context())
					failIf(t, err)
					if state.Broken != want {
						t.Errorf("%s: %q, want %q", what, state.Broken, want)
					}
				}
				verified := func(what string) {
					t.Helper()
					_, _, err := s.Verify(t.Context(), 0, "")
					if _, is := errors.AsType[*audit.Error](err); is != (want != "" || name == "it, and what noted") { // which the end does not show, and the chain does
						t.Errorf("%s it is verified: %v", what, err)
					}
				}
				broken("before it grows")
				_, err := s.Check(t.Context())
				failIf(t, err)
				broken("after a look")
				order()
				broken("after it grew")
				verified("after it grew")
				if state, err := s.Check(t.Context()); err != nil || (want != "") == state.Since.IsZero() {
					t.Errorf("once more: %+v, %v", state, err)
				}
				failIf(t, s.Close()) // a restart finds it as it was left
				s = openAt(t, path)
				broken("after a restart")
				failIf(t, s.Accept(t.Context()))
				state, err := s.State(t.Context())
				if err != nil || state.Broken != "" {
					t.Errorf("accepted: %+v, %v", state, err)
				}
				verified("once it is accepted")
				found, err := s.Entries(t.Context(), audit.Search{Limit: 100})
				failIf(t, err)
				said := 0
				for _, e := range found {
					if e.Action == chain.Broken {
						said++
					}
				}
				if (said == 1) != (want != "") {
					t.Errorf("the chain says it %d times", said)
				}
				failIf(t, s.Close())
			})
		}
	}
}
