package privacy

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A start asks for the few events that are requests of data, and must not read all the others for it.
func TestRequestsOfDataAreFoundAmongAllEvents(t *testing.T) {
	e := openErasing(t)
	plan, err := store.List(t.Context(), e.Store, "EXPLAIN QUERY PLAN "+dataRequestsSQL, []any{int64(0), int64(1)}, func(r *engine.Row) (string, error) {
		_, _, _ = r.Int(), r.Int(), r.Int()
		return r.Text(), r.Err
	})
	if err != nil || len(plan) != 1 || !strings.Contains(plan[0], "USING COVERING INDEX events_data_requests") {
		t.Errorf("%q (%v)", plan, err)
	}
}
