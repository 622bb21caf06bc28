package scheduler

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/triggers"
)

// Who was messaged is one set for all who ask, and forgotten once nobody has asked for a while.
func TestWhoWasMessagedIsForgottenSoon(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db"), Settle: triggers.Settle})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := NewHistory(st, onDisk)
	var seen *messaged
	for i := range 5 {
		q := Question{Within: time.Hour, Now: time.Now().Add(time.Duration(i) * time.Second)}
		if _, err := x.Excluded(t.Context(), []nudgewire.Phone{"447700900123"}, q); err != nil {
			t.Fatal(err)
		}
		if seen != nil && x.seen != seen {
			t.Fatal("each question gathers anew")
		}
		seen = x.seen
	}
	x.idle()
	if x.seen == nil {
		t.Error("it is forgotten while somebody asks")
	}
	x.asked = time.Now().Add(-2 * forgetAfter)
	x.Accepted(7)
	x.idle()
	if x.seen != nil || x.fresh.ids != nil {
		t.Error("it is kept for good")
	}
}
