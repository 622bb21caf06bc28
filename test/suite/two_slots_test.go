package suite

import (
	"fmt"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// nodeSlots is a job that fires at two nodes at the same instant.
func (p pair) nodeSlots(t *testing.T) {
	a, b := p.two(t)
	for i := range 20 {
		slot := fmt.Sprintf("2026-05-04 %02d:00", i)
		var won [4]bool
		var ids [4]messaging.RunID
		together(len(won), func(n int) {
			l := []*ledger{a, b}[n%2]
			var err error
			if ids[n], won[n], err = l.StartRun(l.ctx, aRun("weekly", slot)); err != nil {
				t.Error(err)
			}
		})
		first := 0
		for n := range won {
			if won[n] {
				first++
			}
			if ids[n] != ids[0] {
				t.Errorf("slot %s: runs %d and %d", slot, ids[n], ids[0])
			}
		}
		if first != 1 {
			t.Errorf("slot %s was won %d times", slot, first)
		}
	}
	runs, err := b.OpenRuns(b.ctx, "weekly")
	if err != nil || len(runs) != 20 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
