package lowwater

import "testing"

// Who asks when something may go believes a mark for as long as nothing lowers it, and a claim for a minute: it has to find what expires.
func TestAMarkIsOldForClaimsAlone(t *testing.T) {
	const lane, marked = 1, int64(1_764_000_000_000_000)
	var m Marks
	if m.Held("", lane) != 0 || m.From("", lane, marked) != 0 {
		t.Error("there is a mark before any claim")
	}
	m.Raise("", lane, marked, marked)
	for _, one := range []struct {
		now, claims int64
	}{{marked, marked}, {marked + trustFor - 1, marked}, {marked + trustFor, 0}, {marked - 1, 0}} {
		if held, from := m.Held("", lane), m.From("", lane, one.now); held != marked || from != one.claims {
			t.Errorf("at %d: %d, and %d for a claim, want %d and %d", one.now, held, from, marked, one.claims)
		}
	}
	if m.Held("another", lane) != 0 || m.Held("", lane+1) != 0 {
		t.Error("the mark is one of another account or lane, too")
	}
	m.Lower("", marked-300)
	if held := m.Held("", lane); held != marked-300 {
		t.Errorf("after a message that is due 300 earlier: %d", held)
	}
}
