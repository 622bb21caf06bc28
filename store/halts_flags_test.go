package store

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

// flags reads what the flusher knows, in the flusher.
func flags(t *testing.T, s *Store) (blocks, halts bool) {
	t.Helper()
	err := s.write(t.Context(), laneWork, func(t *tx) error { blocks, halts = t.blocks, t.halts; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return blocks, halts
}

// A claim looks for blocks and halts only while there are any: the last one that goes takes the
// look along, and one that stays keeps it.
func TestTheLastBlockAndTheLastHaltTakeTheirLookAlong(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, blocks, halts bool) {
		t.Helper()
		if b, h := flags(t, s); b != blocks || h != halts {
			t.Errorf("%s: claims look for blocks: %v, for halts: %v; want %v, %v", when, b, h, blocks, halts)
		}
	}
	want("at first", false, false)
	must(s.Halt(ctx, Halt{Scope: HaltAll}))
	must(s.Halt(ctx, Halt{Scope: HaltTrigger, Name: "remind"}))
	if _, err := s.Block(ctx, []Block{{Phone: "447700900101"}, {Phone: "447700900102"}}); err != nil {
		t.Fatal(err)
	}
	want("with two of each", true, true)
	must(s.Resume(ctx, HaltAll, ""))
	must(s.Allow(ctx, "447700900101"))
	want("with one of each", true, true)
	must(s.Resume(ctx, HaltTrigger, "remind"))
	want("with no halt", true, false)
	must(s.Allow(ctx, "447700900102"))
	want("with nothing", false, false)
	must(s.Halt(ctx, Halt{Scope: HaltJob, Name: "winback"}))
	if _, err := s.Block(ctx, []Block{{Phone: "447700900101"}}); err != nil {
		t.Fatal(err)
	}
	want("again", true, true)
}

// A block that comes while the last one ends is never overlooked by the claim, whenever it comes.
func TestABlockBesideTheEndOfAnotherIsKept(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	ctx := t.Context()
	for round := range 400 {
		if _, err := s.Block(ctx, []Block{{Phone: "447700900101"}}); err != nil {
			t.Fatal(err)
		}
		blocked := make(chan error)
		go func() {
			for range round { // a little later in each round
				runtime.Gosched()
			}
			_, err := s.Block(ctx, []Block{{Phone: "447700900102"}})
			blocked <- err
		}()
		allowed := s.Allow(ctx, "447700900101")
		if err := <-blocked; err != nil || allowed != nil {
			t.Fatal(err, allowed)
		}
		if b, _ := flags(t, s); !b {
			t.Fatalf("round %d: a contact is blocked, and no claim looks", round)
		}
		if err := s.Allow(ctx, "447700900102"); err != nil {
			t.Fatal(err)
		}
	}
}

// Barred sees a block that came after the claim, and asks nobody while there is no fresh one.
func TestTheLastLookAsksOnlyWhileBlocksAreFresh(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	ctx := t.Context()
	claimed := &nudgewire.Dispatch{Phone: "447700900101", Category: nudgewire.Marketing, UpdatedAt: time.Now()}
	look := func(d *nudgewire.Dispatch) string {
		t.Helper()
		why, err := s.Barred(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	if why := look(claimed); why != "" {
		t.Errorf("nobody is blocked: %q", why)
	}
	if _, err := s.Block(ctx, []Block{{Phone: claimed.Phone, Reason: "asked for it"}}); err != nil {
		t.Fatal(err)
	}
	if why := look(claimed); why != "the contact is blocked: asked for it" {
		t.Errorf("blocked after the claim: %q", why)
	}
	other, code, later := *claimed, *claimed, *claimed
	other.Phone, code.Category, later.UpdatedAt = "447700900102", nudgewire.Authentication, time.Now().Add(time.Hour)
	if why := look(&other) + look(&code); why != "" {
		t.Errorf("another contact, and a code: %q", why)
	}
	// Claimed long after the newest block: the claim itself has seen it, and nothing is asked.
	if why := look(&later); why != "" {
		t.Errorf("a claim that has looked already asks again: %q", why)
	}
}
