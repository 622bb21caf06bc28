package store

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
			s, err := Open(t.Context(), Options{DSN: "sqlite:" + path})
			failIf(t, err)
			for range 8 {
				_, err := s.Audit(t.Context(), AuditEntry{At: time.Now(), Who: "ann", Via: "socket", Action: "POST /halt", Subject: "/halt", Detail: "{}"})
				failIf(t, err)
			}
			_, last, err := s.VerifyAudit(t.Context(), 0, "")
			failIf(t, err)
			raw, err := sql.Open("sqlite3", path)
			failIf(t, err)
			for one := range strings.SplitSeq(tt.change, ";") {
				_, err = raw.Exec(one)
				failIf(t, err)
			}
			failIf(t, raw.Close())
			_, _, err = s.VerifyAudit(t.Context(), 8, last)
			wrong, is := errors.AsType[*AuditError](err)
			if is != (tt.at != 0) || is && wrong.ID != tt.at {
				t.Errorf("it is said that %v, want entry %d", err, tt.at)
			}
			failIf(t, s.Close())
		})
	}
}
