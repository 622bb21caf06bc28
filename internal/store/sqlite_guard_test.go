package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Whatever of the data is deleted, moved away or replaced under the daemon: nothing is taken and nothing is claimed, and
// a file that is moved back is taken up again, without a loss.
func TestNothingIsTakenWhileTheDataIsGone(t *testing.T) {
	for _, side := range []string{"", "-wal", "-shm", ".lock"} {
		for _, how := range []string{"deleted", "moved", "replaced"} {
			t.Run("nudgewire.db"+side+" "+how, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "nudgewire.db")
				s := openAt(t, path)
				accept := func(key string) error {
					_, err := s.Accept(t.Context(), []messaging.Plan{testPlan(key)})
					return err
				}
				if err := errors.Join(accept("before"), s.Ping(t.Context())); err != nil {
					t.Fatal(err)
				}
				aside := filepath.Join(t.TempDir(), "aside")
				err := os.Rename(path+side, aside)
				if how == "replaced" && err == nil {
					err = os.WriteFile(path+side, []byte("another"), 0o600)
				}
				if err != nil {
					t.Skip(err)
				}
				if how == "deleted" {
					if err := os.Remove(aside); err != nil {
						t.Fatal(err)
					}
				}
				check := func(what string, err error) {
					t.Helper()
					if gone, ok := errors.AsType[*sqlite.GoneError](err); !ok || gone.Path != path+side || gone.Replaced != (how == "replaced") {
						t.Errorf("%s: %v", what, err)
					}
				}
				check("an event", accept("while"))
				check("another", accept("while 2"))
				check("ping", s.Ping(t.Context()))
				check("present", s.Present())
				got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "me", Now: time.Now(), Lease: time.Minute, Authentication: 9, Utility: 9, Marketing: 9})
				check("claim", err)
				if len(got) != 0 {
					t.Errorf("%d claimed", len(got))
				}
				check("a person's halt", s.Hold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}))
				if how == "deleted" {
					return
				}
				if err := os.Rename(aside, path+side); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(accept("after"), s.Ping(t.Context()), s.Present()); err != nil {
					t.Errorf("back again: %v", err)
				}
				got, err = s.Claim(t.Context(), messaging.ClaimRequest{Owner: "me", Now: time.Now(), Lease: time.Minute, Authentication: 9, Utility: 9, Marketing: 9})
				if err != nil || len(got) < 2 {
					t.Errorf("back again, and %d claimed (%v)", len(got), err)
				}
			})
		}
	}
}

// A commit that changes nothing succeeds on a full disk; a Ping must not.
func TestPingFailsOnADiskThatTakesNothing(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	set := func(on string) {
		t.Helper()
		if err := s.writer.engine.(*engine.SQLite).Run("PRAGMA query_only = " + on); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	if err := s.Ping(t.Context()); err == nil {
		t.Error("nothing can be written, and Ping says well")
	}
	set("0")
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("it can be written again, and Ping says %v", err)
	}
}
