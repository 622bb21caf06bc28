package jobs

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

func TestTheLastBarOfADoneRunIsWhole(t *testing.T) {
	r := server.RunView{Run: messaging.Run{Tally: messaging.Tally{Rows: 600, Kept: 560, Parts: 5}}}
	if got, want := wholeBarOf(r, 80), "uploading [========================] 100% 560 rows, part 5 of 5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
