package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

const lookedAt = messaging.Phone("447700900456")

// tellOf records that somebody was told of a contact.
func tellOf(t *testing.T, s *Store, phone messaging.Phone) error {
	t.Helper()
	subject, err := s.AuditContact(phone)
	failIf(t, err)
	_, err = s.Audit(t.Context(), AuditEntry{At: time.Now(), Who: "ann", Via: "session", Action: "GET /why", Subject: subject})
	return err
}

// auditStands holds that the audit is whole, has so many entries, and of them so many about the contact, whose phone is nowhere.
func auditStands(t *testing.T, s *Store, entries, about int) {
	t.Helper()
	state, err := s.CheckAudit(t.Context())
	failIf(t, err)
	n, _, err := s.VerifyAudit(t.Context(), 0, "")
	if err != nil || state.Broken != "" || int(n) != entries {
		t.Errorf("%d entries, want %d; %q, %v", n, entries, state.Broken, err)
	}
	of, err := s.AuditEntries(t.Context(), AuditSearch{Contact: lookedAt, Limit: 100})
	failIf(t, err)
	if len(of) != about {
		t.Errorf("%d entries are about the contact, want %d", len(of), about)
	}
	all, err := s.AuditEntries(t.Context(), AuditSearch{Limit: 1000})
	failIf(t, err)
	if text := fmt.Sprint(all); strings.Contains(text, string(lookedAt)) || strings.Contains(text, "7700900456") {
		t.Errorf("the audit has a phone: %s", text)
	}
}

// copyFiles copies the files of a store as they are; what is not there is not copied.
func copyFiles(t *testing.T, from string, sides ...string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "n.db")
	for _, side := range sides {
		text, err := os.ReadFile(from + side)
		if err == nil {
			err = os.WriteFile(to+side, text, 0o600)
		}
		failIf(t, err)
	}
	return to
}

// What becomes of the audit's end and of the entries that say who was told of whom:
//
//	a backup that is put back  both are those of its moment: whole, and what came later is missing by a hash from before
//	it, without the key        whole; nobody is found by a phone, and the contact gets another name
//	kill -9 during the commit  an entry and the end are there together or not at all
//	a full disk                the entry is refused, and so is what it is about; with room again the next stands behind the last
func TestWhoWasToldOfAContactStaysInTheAudit(t *testing.T) {
	t.Run("a backup that is put back", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n.db")
		s, err := Open(t.Context(), Options{DSN: "sqlite:" + path})
		failIf(t, err)
		for range 3 {
			failIf(t, tellOf(t, s, lookedAt))
		}
		failIf(t, s.Close())
		with, without := copyFiles(t, path, "", ".forgotten-key"), copyFiles(t, path, "")
		s = openAt(t, path)
		failIf(t, tellOf(t, s, lookedAt))
		known, hash, err := s.VerifyAudit(t.Context(), 0, "")
		failIf(t, err)
		s = openAt(t, with)
		auditStands(t, s, 3, 3)
		if _, _, err := s.VerifyAudit(t.Context(), known, hash); err == nil || !strings.Contains(err.Error(), "entry 4 is missing") {
			t.Errorf("by a hash from before: %v", err)
		}
		s = openAt(t, without)
		auditStands(t, s, 3, 0)
		failIf(t, tellOf(t, s, lookedAt))
		auditStands(t, s, 4, 1)
	})
	t.Run("kill -9 during the commit", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n.db")
		s := openAt(t, path)
		s.writer.engine.(*engine.SQLite).KeepLog() // the log holds everything
		const all = 4
		for range all {
			failIf(t, tellOf(t, s, lookedAt))
		}
		log, err := os.ReadFile(path + "-wal")
		failIf(t, err)
		seen := map[int64]bool{}
		ends := append([]int{len(log)}, commitEnds(log)...)
		for _, end := range ends {
			for _, cut := range []int{end, end - frameSize/2, end - 1} {
				copied := copyFiles(t, path, "", ".forgotten-key")
				failIf(t, os.WriteFile(copied+"-wal", log[:max(cut, 0)], 0o600))
				one, err := Open(t.Context(), Options{DSN: "sqlite:" + copied, Settle: planAll})
				failIf(t, err)
				n, _, err := one.VerifyAudit(t.Context(), 0, "")
				failIf(t, err)
				auditStands(t, one, int(n), int(n))
				seen[n] = true
				failIf(t, one.Close())
			}
		}
		for n := range int64(all) {
			if !seen[n+1] {
				t.Errorf("no log was cut behind entry %d: the test looks at too little (%v)", n+1, seen)
			}
		}
	})
	t.Run("a full disk", func(t *testing.T) {
		s := openAt(t, filepath.Join(t.TempDir(), "n.db"))
		bound := func(pages int) {
			failIf(t, s.writer.engine.(*engine.SQLite).Run(fmt.Sprint("PRAGMA max_page_count = ", pages)))
		}
		bound(1) // as many as there are
		told := 0
		for ; told < 10_000; told++ {
			if err := tellOf(t, s, lookedAt); err != nil {
				if !strings.Contains(err.Error(), "full") {
					t.Errorf("error %v", err)
				}
				break
			}
		}
		if told == 10_000 {
			t.Fatal("the disk is never full")
		}
		auditStands(t, s, told, min(told, 100))
		bound(1 << 20)
		failIf(t, tellOf(t, s, lookedAt))
		auditStands(t, s, told+1, min(told+1, 100))
	})
}

// The key is what the names of contacts are made with: of two installations none knows the other's.
func TestAnotherKeyNamesAContactOtherwise(t *testing.T) {
	var names []string
	for range 2 {
		s := openAt(t, filepath.Join(t.TempDir(), "n.db"))
		one, err := s.AuditContact(lookedAt)
		failIf(t, err)
		again, err := s.AuditContact(lookedAt)
		failIf(t, err)
		if one != again || !strings.HasPrefix(one, "contact ") || bytes.Contains([]byte(one), []byte(lookedAt)) {
			t.Errorf("%q, then %q", one, again)
		}
		names = append(names, one)
	}
	if names[0] == names[1] {
		t.Errorf("both call it %s", names[0])
	}
}
