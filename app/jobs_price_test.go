package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire"
)

// Points are counted by the country of each phone, in the forecast, in the run and by its guard.
func TestPointsAreCountedByCountry(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var rows strings.Builder
	rows.WriteString("first_name,mobile,city,code\n")
	for i := range 10 {
		fmt.Fprintf(&rows, "A,+4474001234%02d,B,c\nA,+49151234567%02d,B,c\nA,+336123456%02d,B,c\n", i, i, i)
	}
	if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, options{folder: folder, config: jobConfig(folder, byCSV)})
	h.edit("rate: 5000/s", "rate: 5000/s, price: {marketing: {default: 1.0, GB: 0.75, DE: 1.2}}")
	h.edit(byCSV, byCSV+"    guard: {max_points: 29}\n")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	const points = 10*0.75 + 10*1.2 + 10*1.0
	near := func(got float64) bool { return got > points-1e-6 && got < points+1e-6 }
	f, err := h.ask.Forecast(t.Context(), "winback")
	if err != nil || !near(f.Tally.Points) || !f.Priced || len(f.Awaiting) != 1 {
		t.Fatalf("forecast: %+v, %v", f, err)
	}
	r := h.fire("winback")
	if r.State != nudgewire.RunAwaiting || !near(r.Tally.Points) || r.Reason != "29.5 points are more than guard.max_points, 29" || len(h.service.Campaigns()) != 0 {
		t.Errorf("the run is %s with %v points: %s", r.State, r.Tally.Points, r.Reason)
	}
}
