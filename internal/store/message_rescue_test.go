package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/calls"
)

// slotAt is where a slot is in the file of begun calls, and slotOf what it holds, as they must stay for a newer version to read them.
func slotAt(number int) int { return 512 + number*16 }

func slotOf(id uint64, attempt uint32) []byte {
	slot := binary.NativeEndian.AppendUint64(nil, id)
	slot = binary.NativeEndian.AppendUint32(slot, attempt)
	return binary.NativeEndian.AppendUint32(slot, crc32.ChecksumIEEE(slot))
}

// What a dead owner had claimed and had not begun to call for waits again as it did; where the file of
// calls cannot be trusted all of it is in doubt.
func TestWhatNeverLeftWaitsAfterACrash(t *testing.T) {
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
				copy(b[slotAt(7):], slotOf(7, 1))
				clear(b[slotAt(7):][:8])
				return b
			})
		}, 3},
		"the machine was started anew": {func(t *testing.T, calls string) {
			edit(t, calls, func(b []byte) []byte {
				head := strings.SplitN(string(b), "\n", 4)
				copy(b[len(head[0])+len(head[1])+2:], strings.Repeat("x", len(head[2])))
				return b
			})
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
			edit(t, calls, func(b []byte) []byte { b[slotAt(0)+8] ^= 1; return b })
		}, claims},
		"the ledger is an older copy": {func(t *testing.T, calls string) {
			edit(t, calls, func(b []byte) []byte {
				copy(b[slotAt(7):], slotOf(7, 2)) // an attempt that the ledger has not heard of
				return b
			})
		}, claims},
	} {
		t.Run(name, func(t *testing.T) {
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
	if err := s.BeginCall(calls.Slots+1, 1, 1); err == nil {
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
