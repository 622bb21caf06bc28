package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

func failIf(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// auditAt is the audit of the data in a file.
func auditAt(t *testing.T, path string) audit.Records {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + path})
	failIf(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return audit.Records{Store: s}
}

const lookedAt = messaging.Phone("447700900456")

// tellOf records that somebody was told of a contact.
func tellOf(t *testing.T, s audit.Records, phone messaging.Phone) error {
	t.Helper()
	subject, err := s.Marks.Contact(phone)
	failIf(t, err)
	return s.Audit(t.Context(), chain.Entry{At: time.Now(), Who: "ann", Via: "session", Action: "GET /why", Subject: subject})
}

// auditStands holds that the audit is whole, has so many entries, and of them so many about the contact, whose phone is nowhere.
func auditStands(t *testing.T, s audit.Records, entries, about int) {
	t.Helper()
	state, err := s.Check(t.Context())
	failIf(t, err)
	n, _, err := s.Verify(t.Context(), 0, "")
	if err != nil || state.Broken != "" || int(n) != entries {
		t.Errorf("%d entries, want %d; %q, %v", n, entries, state.Broken, err)
	}
	of, err := s.Entries(t.Context(), audit.Search{Contact: lookedAt, Limit: 100})
	failIf(t, err)
	if len(of) != about {
		t.Errorf("%d entries are about the contact, want %d", len(of), about)
	}
	all, err := s.Entries(t.Context(), audit.Search{Limit: 1000})
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
		s := auditAt(t, path)
		for range 3 {
			failIf(t, tellOf(t, s, lookedAt))
		}
		failIf(t, s.Close())
		with, without := copyFiles(t, path, "", ".forgotten-key"), copyFiles(t, path, "")
		s = auditAt(t, path)
		failIf(t, tellOf(t, s, lookedAt))
		known, hash, err := s.Verify(t.Context(), 0, "")
		failIf(t, err)
		s = auditAt(t, with)
		auditStands(t, s, 3, 3)
		if _, _, err := s.Verify(t.Context(), known, hash); err == nil || !strings.Contains(err.Error(), "entry 4 is missing") {
			t.Errorf("by a hash from before: %v", err)
		}
		s = auditAt(t, without)
		auditStands(t, s, 3, 0)
		failIf(t, tellOf(t, s, lookedAt))
		auditStands(t, s, 4, 1)
	})
	t.Run("kill -9 during the commit", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n.db")
		s := auditAt(t, path)
		store.KeepLog(s.Store) // the log holds everything
		const all = 4
		for range all {
			failIf(t, tellOf(t, s, lookedAt))
		}
		log, err := os.ReadFile(path + "-wal")
		failIf(t, err)
		seen := map[int64]bool{}
		ends := append([]int{len(log)}, store.CommitEnds(log)...)
		for _, end := range ends {
			for _, cut := range []int{end, end - store.FrameSize/2, end - 1} {
				copied := copyFiles(t, path, "", ".forgotten-key")
				failIf(t, os.WriteFile(copied+"-wal", log[:max(cut, 0)], 0o600))
				one := auditAt(t, copied)
				n, _, err := one.Verify(t.Context(), 0, "")
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
		s := auditAt(t, filepath.Join(t.TempDir(), "n.db"))
		bound := func(pages int) {
			failIf(t, store.MostPages(s.Store, pages))
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
		s := auditAt(t, filepath.Join(t.TempDir(), "n.db"))
		one, err := s.Marks.Contact(lookedAt)
		failIf(t, err)
		again, err := s.Marks.Contact(lookedAt)
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
