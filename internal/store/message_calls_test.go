package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What a dead owner had claimed and had not begun to call for waits again as it did; where the file of
// calls cannot be trusted all of it is in doubt.
func TestWhatNeverLeftWaitsAfterACrash(t *testing.T) {
	boot := filepath.Join(t.TempDir(), "boot")
	was := bootFile
	bootFile = boot
	t.Cleanup(func() { bootFile = was })
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	const dead, alive, claims = "host:1:dead", "host:2:alive", 10
	edit := func(t *testing.T, path string, change func([]byte) []byte) {
		t.Helper()
		page, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(page), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		between func(t *testing.T, calls string)
		doubt   int
	}{
		"the process was killed": {func(*testing.T, string) {}, 3},
		"the process was killed while it wrote a slot": {func(t *testing.T, calls string) {
			edit(t, calls, func(b []byte) []byte {
				putCall(b[callsHead+7*callSlot:], begun{7, 1})
				clear(b[callsHead+7*callSlot:][:8])
				return b
			})
		}, 3},
		"the machine was started anew": {func(t *testing.T, _ string) {
			edit(t, boot, func([]byte) []byte { return []byte("boot-2\n") })
		}, claims},
		"the system does not name its boot": {func(t *testing.T, _ string) {
			if err := os.Remove(boot); err != nil {
				t.Fatal(err)
			}
		}, claims},
		"the file is gone": {func(t *testing.T, calls string) {
			if err := os.Remove(calls); err != nil {
				t.Fatal(err)
			}
		}, claims},
		"the file is of another owner": {func(t *testing.T, calls string) {
			edit(t, calls, func(b []byte) []byte { return []byte(strings.Replace(string(b), dead, "host:9:dead", 1)) })
		}, claims},
		"the file was cut": {func(t *testing.T, calls string) {
			edit(t, calls, func(b []byte) []byte { return b[:100] })
		}, claims},
		"a slot was damaged": {func(t *testing.T, calls string) {
			edit(t, calls, func(b []byte) []byte { b[callsHead+8] ^= 1; return b })
		}, claims},
		"the ledger is an older copy": {func(t *testing.T, calls string) {
			edit(t, calls, func(b []byte) []byte {
				putCall(b[callsHead+7*callSlot:], begun{7, 2}) // an attempt that the ledger has not heard of
				return b
			})
		}, claims},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(boot, []byte("boot-1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "nudgewire.db")
			s := openAt(t, path)
			if err := s.BeginCall(0, 1, 1); err == nil {
				t.Error("a call began before its owner")
			}
			if _, err := s.RescueClaims(t.Context(), at, dead); err != nil {
				t.Fatal(err)
			}
			r := messaging.Run{Job: "winback", Slot: "1", DueAt: at, Cause: messaging.CauseHand, State: messaging.RunUploading, Deliver: messaging.DeliverPerMessage, CreatedAt: at}
			var err error
			if r.ID, _, err = s.StartRun(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			rows := make([]messaging.Message, claims)
			for i := range rows {
				rows[i] = messaging.Message{
					Trigger: "winback", Key: messaging.RowKey(r.ID, int64(i+1)), Phone: messaging.Phone(fmt.Sprintf("4477009001%02d", i)),
					Category: messaging.Marketing, DueAt: at, Send: messaging.Send{Template: "t", Language: "en"},
				}
			}
			if err := s.Enqueue(t.Context(), r.ID, 1, rows); err != nil {
				t.Fatal(err)
			}
			got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: dead, Now: at.Add(time.Minute), Lease: time.Hour, Marketing: claims})
			if err != nil || len(got) != claims {
				t.Fatal(len(got), err)
			}
			// Slot 0 had one call, which is on disk as accepted, and then another one.
			for i, slot := range []int{0, 0, 1, 2} {
				if err := s.BeginCall(slot, got[i].ID, got[i].Attempt); err != nil {
					t.Fatal(err)
				}
				if i > 0 {
					continue
				}
				if err := s.Finish(t.Context(), messaging.Attempt{MessageID: got[0].ID, Owner: dead, Number: 1, State: messaging.StateRejected, At: at}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tt.between(t, path+".calls")
			want := messaging.Rescued{Doubtful: min(tt.doubt, claims-1)}
			want.Unsent = claims - 1 - want.Doubtful
			s = openAt(t, path)
			n, err := s.RescueClaims(t.Context(), at.Add(2*time.Minute), alive)
			if err != nil || n != want {
				t.Errorf("%+v (%v), want %+v", n, err, want)
			}
			again, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: alive, Now: at.Add(time.Hour), Lease: time.Hour, Marketing: claims})
			if err != nil || len(again) != want.Unsent {
				t.Errorf("%d are claimed again (%v), want %d", len(again), err, want.Unsent)
			}
			for _, d := range again {
				if d.Attempt != 2 || !d.DueAt.Equal(at) || d.ID <= 4 {
					t.Errorf("claimed again: %+v", d)
				}
				if err := s.BeginCall(0, d.ID, d.Attempt); err != nil {
					t.Error(err)
				}
			}
			doubt, err := s.Message(t.Context(), 2)
			if err != nil || doubt.State != messaging.StateInDoubt || strings.Contains(doubt.Reason, "the daemon ended during the call of attempt 1;") != (want.Unsent > 0) {
				t.Errorf("%s: %s (%v)", doubt.State, doubt.Reason, err)
			}
		})
	}
}

// A page that the disk cannot give is an error, not the end of the process.
func TestACallIsNotBegunWithoutItsSlot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	if _, err := s.RescueClaims(t.Context(), time.Now(), "host:1:me"); err != nil {
		t.Fatal(err)
	}
	if err := s.BeginCall(callsSize/callSlot, 1, 1); err == nil {
		t.Error("a call began in a slot that is not there")
	}
	if err := os.Truncate(path+".calls", 0); err != nil {
		t.Fatal(err)
	}
	if err := s.BeginCall(0, 1, 1); err == nil {
		t.Error("a call began while its file was gone")
	}
}

func BenchmarkBeginCall(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "nudgewire.db"))
	if _, err := s.RescueClaims(b.Context(), time.Now(), "bench"); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if err := s.BeginCall(i%64, messaging.MessageID(i), 1); err != nil {
			b.Fatal(err)
		}
	}
}
