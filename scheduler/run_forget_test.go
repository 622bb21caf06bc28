package scheduler

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/triggers"
)

// Three runs: one has ended, one is paused, one is sent by another node. The files of the first two lose the contact
// and count as whole; the third ends first. What is left of the row is told to be excluded.
func TestForgettingInTheFilesOfRuns(t *testing.T) {
	t.Run("in folders", func(t *testing.T) {
		forgetting(t, func(root string, _ *store.Store) files.Store { return files.InFolder(filepath.Join(root, "runs")) })
	})
	t.Run("in the database", func(t *testing.T) {
		forgetting(t, func(_ string, st *store.Store) files.Store { return files.InDatabase(st) })
	})
}

func forgetting(t *testing.T, place func(root string, st *store.Store) files.Store) {
	const gone, stays = "447700900123", "447700900999"
	root := t.TempDir()
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(root, "n.db"), Settle: triggers.Settle})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s := New(Options{Store: st, Files: place(root, st), Owner: "me"})
	find := phones.NewFinder(gone)
	part := "phone,var_1\n" + stays + ",Ann\n" + gone + ",Ada River\n" + stays + ",\"call 07700 900123\"\n"
	folders := map[nudgewire.RunID]string{}
	for i, slot := range []string{"2026-01-01", "2026-01-02", "2026-01-03"} {
		now := time.Date(2026, 1, 1+i, 9, 0, 0, 0, time.UTC)
		folder := files.Join(files.Join(s.Files.Root(), "weekly"), slot)
		sum := sha256.Sum256([]byte(part))
		for name, text := range map[string]string{"part-0001.csv": part, "excluded.csv": "row,reason,phone,digits,file\n7,the contact is blocked,+44 7700 900123," + gone + ",\n"} {
			putText(t, s.Files, files.Join(folder, name), text)
		}
		id, _, err := st.StartRunOf(t.Context(), nudgewire.Run{
			Job: "weekly", Slot: slot, DueAt: now, Cause: "hand", State: nudgewire.RunUploading, Deliver: nudgewire.DeliverCSV, Category: nudgewire.Marketing, Folder: folder, CreatedAt: now, StartedAt: now, RetryOf: 0,
		}, []nudgewire.Part{{Number: 1, File: "part-0001.csv", Rows: 3, First: 1, Bytes: int64(len(part)), SHA256: hex.EncodeToString(sum[:]), State: nudgewire.PartBuilt, UpdatedAt: now}})
		if err != nil {
			t.Fatal(err)
		}
		folders[id] = folder
	}
	move := func(id nudgewire.RunID, change func(*nudgewire.Run)) {
		t.Helper()
		r, err := st.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		change(&r)
		if err := st.SetRun(t.Context(), "", r, nudgewire.RunUploading); err != nil {
			t.Fatal(err)
		}
	}
	end := func(r *nudgewire.Run) {
		r.Owner, r.LeaseEnd, r.State, r.EndedAt = "", time.Time{}, nudgewire.RunDone, r.DueAt.Add(time.Hour)
	}
	move(1, end)
	move(2, func(r *nudgewire.Run) {
		r.State, r.Before, r.Stopped, r.StoppedBy, r.Reason = nudgewire.RunPaused, nudgewire.RunUploading, "person", "Ann", "paused"
	})
	move(3, func(r *nudgewire.Run) { r.Owner, r.LeaseEnd = "another node", time.Now().Add(time.Hour) })
	clean := func(id nudgewire.RunID) bool {
		for _, name := range []string{"part-0001.csv", "excluded.csv"} {
			text := textOf(t, s.Files, files.Join(folders[id], name))
			if strings.Contains(text, "900123") || strings.Contains(text, "Ada River") {
				return false
			}
		}
		return true
	}
	dead, err := s.Files.Create(t.Context(), files.Join(folders[1], "part-0002.csv"))
	if err == nil {
		_, err = dead.Write([]byte(part))
	}
	if err == nil {
		err = dead.Sync()
	}
	if err != nil { // and there its process died
		t.Fatal(err)
	}
	waits, err := s.Forget(t.Context(), find)
	if err != nil || waits != "run 3 of weekly, which another node sends" {
		t.Fatalf("waits for %q, %v", waits, err)
	}
	if !clean(1) || !clean(2) || clean(3) {
		t.Errorf("clean: %v, %v, %v", clean(1), clean(2), clean(3))
	}
	if got := namesIn(t, s.Files, folders[1]); len(got) != 2 {
		t.Errorf("files of the first run: %q", got)
	}
	_ = dead.Abandon()
	move(3, end)
	for range 2 { // the second time there is nothing left to do
		if waits, err := s.Forget(t.Context(), find); err != nil || waits != "" {
			t.Fatalf("waits for %q, %v", waits, err)
		}
	}
	if !clean(3) {
		t.Error("the third run's files hold the contact")
	}
	for id, folder := range folders {
		parts, err := st.Parts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if why, err := intact(t.Context(), s.Files, folder, &parts[0]); why != "" || err != nil || parts[0].Rows != 3 {
			t.Errorf("run %d: %s %v", id, why, err)
		}
		var found []nudgewire.Phone
		if err := PhonesOf(t.Context(), s.Files, files.Join(folder, parts[0].File), func(p nudgewire.Phone) { found = append(found, p) }); err != nil || len(found) != 3 {
			t.Fatal(found, err)
		}
		why, err := NewHistory(st, s.Files).Excluded(t.Context(), found, Question{Now: time.Now()})
		if err != nil || why[1].Reason != "was forgotten" || why[0].Reason != "" {
			t.Errorf("%+v, %v", why, err)
		}
	}
}
