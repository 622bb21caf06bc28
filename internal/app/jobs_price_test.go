package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// prices are those of the config that thirtyPriced begins with: the list costs 29.5 points.
const prices = "price: {marketing: {default: 1.0, GB: 0.75, DE: 1.2}}"

// thirtyPriced has a list of ten contacts in each of three countries, which waits for approval.
func thirtyPriced(t *testing.T) *house {
	t.Helper()
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
	h.edit("rate: 5000/s", "rate: 5000/s, "+prices)
	h.takeUp(byCSV, byCSV+"    guard: {max_points: 29}\n")
	return h
}

// Points are counted by the country of each phone, in the forecast, in the run and by its guard.
func TestPointsAreCountedByCountry(t *testing.T) {
	t.Parallel()
	h := thirtyPriced(t)
	const points = 10*0.75 + 10*1.2 + 10*1.0
	near := func(got float64) bool { return got > points-1e-6 && got < points+1e-6 }
	f, err := server.ForecastJob.Call(t.Context(), h.ask, "winback")
	if err != nil || !near(f.Tally.Points) || !f.Priced || len(f.Awaiting) != 1 {
		t.Fatalf("forecast: %+v, %v", f, err)
	}
	r := h.fire("winback")
	if r.State != messaging.RunAwaiting || !near(r.Tally.Points) || r.Reason != "29.5 points are more than guard.max_points, 29" || len(h.service.Campaigns()) != 0 {
		t.Errorf("the run is %s with %v points: %s", r.State, r.Tally.Points, r.Reason)
	}
}

// What files cost is counted by the prices of the moment at which they leave, and no later price changes it.
func TestWhatFilesCostMeetsAReloadOfPrices(t *testing.T) {
	t.Parallel()
	h := thirtyPriced(t)
	uploaded := func(when string, want float64) {
		t.Helper()
		v, err := server.ShowReport.Call(t.Context(), h.ask, report.Query{Group: "job"})
		if err != nil || v.Total.Points < want-1e-6 || v.Total.Points > want+1e-6 {
			t.Errorf("%s the report says %v points, %v", when, v.Total.Points, err)
		}
	}
	r := h.fire("winback")
	uploaded("before approval", 0)
	h.takeUp(prices, "price: {marketing: {default: 2.0, DE: 3}}")
	h.order(r.ID, "approve")
	if r = h.ended(r.ID); r.State != messaging.RunDone {
		t.Fatalf("the run is %s: %s", r.State, r.Reason)
	}
	uploaded("by the prices at which it left", 10*2+10*3+10*2)
	h.takeUp("default: 2.0, DE: 3", "default: 100")
	uploaded("after another reload", 70)
	h.edit("    guard: {max_points: 29}\n", "")
	h.takeUp(", price: {marketing: {default: 100}}", "")
	uploaded("without prices", 70)
}
