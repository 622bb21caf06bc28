//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// openAt opens data from a folder. The caller closes it.
func openAt(t *testing.T, address, folder string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: address + "#" + folder, Settle: always})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shut(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// execOn runs a statement as the owner of the data.
func execOn(t *testing.T, address, text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), text)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// review says why data is in review, "" where it is not.
func review(s *store.Store) string {
	r, _ := s.InReview()
	if !r.ReviewedAt.IsZero() {
		return ""
	}
	return r.How
}

// queueOne has a message wait that is due.
func queueOne(t *testing.T, s *store.Store, n int64) messaging.MessageID {
	t.Helper()
	got, err := s.Accept(t.Context(), []messaging.Plan{benchPlan(n, time.Now().Add(-time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Decisions[0].MessageID
}

const (
	otherDatabase = "it was restored into another database, or another server has it now"
	tookOver      = "a standby took over, or the database server was restored to a point in time, and it need not have all that was confirmed"
	unknownCalls  = "messages were sent that it does not know of"
	wentBack      = "the database server was put back to what it had before"
)

// Whoever restores a dump begins in review, wherever it is put; the database that it came from goes on.
func TestADumpThatIsRestoredIsInReview(t *testing.T) {
	server := startServer(t, "fsync=off")
	address, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder, file := t.TempDir(), filepath.Join(server.Folder(), "dump")
	s := openAt(t, address, folder)
	if _, err := s.RescueClaims(t.Context(), time.Now(), "web:1:A"); err != nil {
		t.Fatal(err)
	}
	id := queueOne(t, s, 1)
	paused := messaging.Run{
		Job: "winback", Slot: "1", DueAt: time.Now(), Cause: messaging.CauseCron, State: messaging.RunPaused, Before: messaging.RunUploading, Reason: "its job is off",
		Stopped: messaging.StopConfig, Held: "is off", Category: messaging.Marketing, Deliver: messaging.DeliverCSV, CreatedAt: time.Now(),
	}
	part := func(n int) messaging.Part {
		row := messaging.RowRange{First: int64(n), Last: int64(n)}
		return messaging.Part{Number: n, Ranges: messaging.RowRanges{row}, Rows: 1, State: messaging.PartWaiting, UpdatedAt: time.Now()}
	}
	if paused.ID, _, err = s.StartRunOf(t.Context(), paused, []messaging.Part{part(1), part(2)}); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if err := server.Run(t.Context(), "pg_dump", "--format=custom", "--file="+file, address); err != nil {
		t.Fatal(err)
	}

	// The one that it came from, with another start: it sends.
	s = openAt(t, address, folder)
	if how := review(s); how != "" {
		t.Errorf("the database itself is in review: %s", how)
	}
	if _, err := s.RescueClaims(t.Context(), time.Now(), "web:2:B"); err != nil {
		t.Fatal(err)
	}
	d := claimed(t, s)
	if err := s.BeginCall(0, d.ID, d.Attempt); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context(), messaging.Attempt{MessageID: d.ID, Number: d.Attempt, Owner: d.Owner, State: messaging.StateRejected, Reason: "no", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	shut(t, s)

	// Another database, by a role that may do less.
	copied, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Run(t.Context(), "pg_restore", "--no-owner", "--dbname="+copied, file); err != nil {
		t.Fatal(err)
	}
	execOn(t, copied, `CREATE ROLE runner LOGIN; GRANT USAGE ON SCHEMA public TO runner; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO runner;
		GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO runner`)
	s = openAt(t, strings.Replace(copied, "nudgewire@", "runner@", 1), t.TempDir())
	if how := review(s); how != otherDatabase {
		t.Errorf("another database is in review: %q", how)
	}
	if rows, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "web:3:C", Now: time.Now(), Lease: time.Minute, Marketing: 1, Authentication: 1, Utility: 1}); err != nil || len(rows) != 0 {
		t.Errorf("in review %d are claimed, %v", len(rows), err)
	}
	if n, err := s.MarkRestoredInDoubt(t.Context(), time.Now(), false); err != nil || n != 1 {
		t.Errorf("%d are in doubt, %v", n, err)
	}
	if got, err := s.Message(t.Context(), id); err != nil || got.State != messaging.StateInDoubt {
		t.Errorf("it is %s, %v", got.State, err)
	}
	if err := s.PrepareReview(t.Context(), time.Now(), false); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Run(t.Context(), paused.ID); err != nil || r.Stopped != messaging.StopRestored || r.Before != messaging.RunUploading {
		t.Errorf("the run that the config paused is paused by %s before %s, %v", r.Stopped, r.Before, err)
	}
	resolveEach(t, s, paused.ID)
	if _, err := s.EndReview(t.Context(), time.Time{}); err != nil || review(s) != "" {
		t.Errorf("the review does not end: %v, %q", err, review(s))
	}
	shut(t, s)
	s = openAt(t, copied, t.TempDir())
	if how := review(s); how != "" {
		t.Errorf("once reviewed it is in review again: %s", how)
	}
	shut(t, s)

	// In place of the newer one: the folder of the node knows of the call.
	if err := server.Run(t.Context(), "pg_restore", "--no-owner", "--clean", "--dbname="+address, file); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, address, folder)
	if how := review(s); how != unknownCalls {
		t.Errorf("restored in place it is in review: %q", how)
	}
	shut(t, s)
}

// Files of a server that were copied are known by a node that has called since; where no node of before comes along, a person says it.
func TestFilesOfAServerThatWereCopied(t *testing.T) {
	server := startServer(t, "fsync=off")
	address, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	s := openAt(t, address, folder)
	if _, err := s.RescueClaims(t.Context(), time.Now(), "web:1:A"); err != nil {
		t.Fatal(err)
	}
	queueOne(t, s, 1)
	shut(t, s)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	other, err := server.Copy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, address, folder)
	if how := review(s); how != "" {
		t.Errorf("a server that was started anew is in review: %s", how)
	}
	if _, err := s.RescueClaims(t.Context(), time.Now(), "web:2:B"); err != nil {
		t.Fatal(err)
	}
	d := claimed(t, s)
	if err := s.BeginCall(0, d.ID, d.Attempt); err != nil {
		t.Fatal(err)
	}
	shut(t, s)

	elsewhere := other.DSN(databaseOf(address))
	s = openAt(t, elsewhere, t.TempDir())
	if how := review(s); how != "" {
		t.Errorf("what nobody can know is in review: %s", how)
	}
	shut(t, s)
	execOn(t, elsewhere, `UPDATE place SET base = 'a copy'`)
	s = openAt(t, elsewhere, t.TempDir())
	if how := review(s); how != otherDatabase {
		t.Errorf("a copy that a person calls so is in review: %q", how)
	}
	if _, err := s.EndReview(t.Context(), time.Time{}); err != nil { // nobody has prepared it
		t.Fatal(err)
	}
	if got, err := s.Message(t.Context(), d.ID); err != nil || got.State != messaging.StateInDoubt {
		t.Errorf("once reviewed it is %s, %v", got.State, err)
	}
	shut(t, s)
	execOn(t, elsewhere, `UPDATE messages SET state = 'waiting', attempt = 0, owner = ''; DELETE FROM attempts`)
	s = openAt(t, elsewhere, folder)
	if how := review(s); how != unknownCalls {
		t.Errorf("with the folder of a node that called it is in review: %q", how)
	}
	shut(t, s)
}

// A standby that takes over has all that was confirmed only where commits waited for it.
func TestAStandbyThatTakesOver(t *testing.T) {
	for name, synced := range map[string]bool{"synchronous": true, "asynchronous": false} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, "fsync=off")
			address, err := server.NewDatabase(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			standby, err := server.Standby(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = standby.Close() })
			if synced {
				execOn(t, address, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
				execOn(t, address, `SELECT pg_reload_conf()`)
				// Commits wait once the server's checkpointer has heard of it, which every session may show before.
				soon(t, "the server has heard", func() bool {
					var set int64
					ask(t, address, `SELECT CASE current_setting('synchronous_standby_names') WHEN '*' THEN 1 ELSE 0 END`, &set)
					return set == 1
				})
				execOn(t, address, `CHECKPOINT`)
			}
			both := strings.Replace(address, fmt.Sprint(":", server.Port), fmt.Sprintf(":%d,127.0.0.1:%d", server.Port, standby.Port), 1) + "&target_session_attrs=read-write"
			a, b := openAt(t, both, t.TempDir()), openAt(t, both, t.TempDir())
			t.Cleanup(func() { shut(t, a); shut(t, b) })
			for s, owner := range map[*store.Store]string{a: "web:1:A", b: "web:2:B"} {
				if _, err := s.RescueClaims(t.Context(), time.Now(), owner); err != nil {
					t.Fatal(err)
				}
			}
			queueOne(t, a, 1)
			queueOne(t, b, 2)
			if synced { // both say at their beats what they see
				soon(t, "commits wait for the standby", func() bool {
					var n int64
					ask(t, address, `SELECT synced FROM place`, &n)
					return n == 1
				})
			}
			var n int64
			soon(t, "the standby has it", func() bool {
				ask(t, standby.DSN(databaseOf(address)), `SELECT count(*) FROM messages WHERE state = 'waiting'`, &n)
				return n == 2
			})
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			execOn(t, standby.DSN("postgres"), `SELECT pg_promote()`)
			want := map[bool]string{true: "", false: tookOver}[synced]
			for i, s := range []*store.Store{a, b} {
				soon(t, "it writes again", func() bool {
					_, err := s.Accept(context.WithoutCancel(t.Context()), []messaging.Plan{benchPlan(int64(10+i), time.Now().Add(time.Hour))})
					return err == nil
				})
				if how := review(s); how != want {
					t.Errorf("node %d is in review: %q", i, how)
				}
			}
			var restorations int64
			ask(t, standby.DSN(databaseOf(address)), `SELECT count(*) FROM restorations`, &restorations)
			if (restorations == 1) == synced {
				t.Errorf("%d restorations", restorations)
			}
			rows, err := b.Claim(t.Context(), messaging.ClaimRequest{Owner: "web:2:B", Now: time.Now(), Lease: time.Minute, Marketing: 5, Authentication: 5, Utility: 5})
			if err != nil || (len(rows) == 2) != synced {
				t.Errorf("%d are claimed, %v", len(rows), err)
			}
			if synced {
				return
			}
			if err := b.PrepareReview(t.Context(), time.Now(), false); err != nil {
				t.Fatal(err)
			}
			ask(t, standby.DSN(databaseOf(address)), `SELECT count(*) FROM messages WHERE state = 'in_doubt'`, &n)
			if n != 2 {
				t.Errorf("%d are in doubt, want 2", n)
			}
		})
	}
}

func databaseOf(address string) string {
	return address[strings.LastIndexByte(address, '/')+1 : strings.IndexByte(address, '?')]
}

// ask reads one number.
func ask(t *testing.T, address, query string, into *int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err == nil {
		err = conn.QueryRow(t.Context(), query).Scan(into)
		err = errors.Join(err, conn.Close(t.Context()))
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// resolveEach says of the two parts of a restored run, which are in doubt, that one had left and one had not.
func resolveEach(t *testing.T, s *store.Store, id messaging.RunID) {
	t.Helper()
	r, err := s.Run(t.Context(), id)
	parts, failed := s.Parts(t.Context(), id)
	if err = errors.Join(err, failed); err != nil || len(parts) != 2 {
		t.Fatal(len(parts), err)
	}
	for i, to := range []messaging.PartState{messaging.PartAccepted, messaging.PartWaiting} {
		p := parts[i]
		if p.State != messaging.PartInDoubt || p.Attempt != 0 {
			t.Errorf("part %d is %s", p.Number, p.State)
		}
		p.State, p.Reason, p.Resolved = to, "by Ann", "by Ann"
		if err := s.ResolvePart(t.Context(), r.State, r, p); err != nil {
			t.Error(err)
		}
	}
	if err := s.PrepareReview(t.Context(), time.Now(), false); err != nil { // another node, which comes late, takes no word back
		t.Error(err)
	}
	if parts, err = s.Parts(t.Context(), id); err != nil || parts[0].State != messaging.PartAccepted || parts[1].State != messaging.PartWaiting {
		t.Errorf("after a word on each they are %+v, %v", parts, err)
	}
}
