package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// BoundPages plays a full disk by a bound on the database's pages.
func BoundPages(t *testing.T, s *Store, pages int64) {
	t.Helper()
	if err := s.writer.engine.(*engine.SQLite).Run(fmt.Sprint("PRAGMA max_page_count = ", pages)); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskRefusesEventsAndHarmsNothing(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	accept := func(i int) error {
		p := testPlan(fmt.Sprint(i))
		p.Event.Payload = []byte(strings.Repeat(fmt.Sprint(i, " "), 8000))
		_, err := s.Accept(t.Context(), []messaging.Plan{p})
		return err
	}
	BoundPages(t, s, 120)
	stored := 0
	for ; stored < 10_000; stored++ {
		if err := accept(stored); err != nil {
			if !strings.Contains(err.Error(), "full") {
				t.Errorf("error %v", err)
			}
			break
		}
	}
	if stored < 5 || stored == 10_000 {
		t.Fatalf("%d events fitted", stored)
	}
	BoundPages(t, s, 1<<20)
	if err := accept(stored); err != nil {
		t.Errorf("there is room again, and the event is refused: %v", err)
	}
	rows, err := s.Events(t.Context(), EventFilter{Limit: 20_000})
	if err != nil || len(rows) != stored+1 || rows[0].ID != messaging.EventID(stored+1) {
		t.Errorf("%d events of %d, the newest %+v (%v)", len(rows), stored+1, rows[0].ID, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
