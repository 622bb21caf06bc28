package webhooks

import (
	"net/netip"
	"testing"
)

// Who makes room for whom, by what is known of both. The memory is full of bodies of one standing, of other addresses or of the
// same one, and a body of another standing wants some.
func TestWhoMakesRoomForWhom(t *testing.T) {
	names := []string{"stranger", "neighbour", "partner"}
	for held := stranger; held < standings; held++ {
		for comes := stranger; comes < standings; comes++ {
			for _, same := range []bool{false, true} {
				b := budget{most: 1_000_000, by: map[netip.Addr]*tenant{}}
				cut := make([]int, 12)
				var all []*holding
				for i := range cut {
					who := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
					if same {
						who = netip.AddrFrom4([4]byte{192, 0, 2, 0})
					}
					h := &holding{of: &b, who: who, standing: held, biggest: 50_000, cut: func() { cut[i]++ }}
					if _, ok := h.more(80_000); ok { // 12 of them are 960,000; of one address three
						all = append(all, h)
					}
				}
				next := &holding{of: &b, who: netip.AddrFrom4([4]byte{192, 0, 2, 0}), standing: comes, biggest: 50_000}
				_, ok := next.more(80_000)
				if want := held <= comes; ok != want {
					t.Errorf("a %s comes where %ss hold all (same address %t): taken %t, want %t", names[comes], names[held], same, ok, want)
				}
				if !same && ok && (cut[0] != 1 || cut[11] != 0 || !all[0].evicted.Load()) {
					t.Errorf("a %s comes: %v were ended, want the one held longest", names[comes], cut)
				}
				if _, again := all[0].more(1); again && all[0].evicted.Load() {
					t.Error("who made room takes more")
				}
				next.end()
				for _, h := range all {
					h.end()
				}
				if b.held != 0 || len(b.by) != 0 {
					t.Errorf("at the end %d bytes are held by %v", b.held, b.by)
				}
			}
		}
	}
}

// A quarter is for small bodies and for those who are known, and a body that was read whole makes no room.
func TestAQuarterIsForSmallBodiesAndForTheKnown(t *testing.T) {
	b := budget{most: 1_000_000, by: map[netip.Addr]*tenant{}}
	come := func(i byte, s standing, n int64) (*holding, shedReason, bool) {
		h := &holding{of: &b, who: netip.AddrFrom4([4]byte{192, 0, 2, i}), standing: s, biggest: 200_000}
		why, ok := h.more(n)
		h.done()
		return h, why, ok
	}
	for i := range byte(5) {
		if _, _, ok := come(i, stranger, 150_000); !ok {
			t.Fatalf("the large body %d is not taken", i)
		}
	}
	if _, why, ok := come(5, stranger, 100_000); ok || why != shedMemory {
		t.Errorf("a large body of a stranger takes the last quarter: %v", shedWords[why])
	}
	if _, _, ok := come(6, stranger, smallest); !ok {
		t.Error("a small body is not taken")
	}
	known, _, ok := come(7, neighbour, 160_000)
	if !ok {
		t.Error("a known sender is not taken")
	}
	if _, why, ok := come(8, partner, 100_000); ok || why != shedMemory {
		t.Error("what was read whole made room")
	}
	known.end()
	if _, _, ok := come(9, partner, 100_000); !ok {
		t.Error("what was given back is not there")
	}
}
