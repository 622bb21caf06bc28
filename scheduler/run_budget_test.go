package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// spending are rules with a budget.
func spending(day, month float64) *duerules.Rules {
	r := duerules.New(time.UTC, duerules.Account{})
	r.Budget(duerules.Budget{Day: day, Month: month})
	return r
}

// A list leaves as the budget pays for it: monday is at ten, and a row costs half a point.
func TestAListLeavesAsTheBudgetPays(t *testing.T) {
	const tonight = 14 * time.Hour
	for name, tt := range map[string]struct {
		day, month float64
		job        Job
		beside     int64
		files      []int
		at         []time.Duration
	}{
		"it pays for all":            {day: 50, files: []int{100}, at: []time.Duration{0}},
		"it pays for some a day":     {day: 20, files: []int{40, 40, 20}, at: []time.Duration{0, tonight, tonight + 24*time.Hour}},
		"messages spent some":        {day: 50, beside: 40_200, files: []int{19, 19, 19, 19, 19, 5}},
		"nothing is left this month": {month: 50, beside: 50_000},
		"utility goes":               {day: 20, job: Job{Category: "utility"}, files: []int{100}, at: []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			d, at := roomy(t, 100, tt.job, spending(tt.day, tt.month))
			d.Prices = func(string) Prices { return prices(func(messaging.Category, string) float64 { return 0.5 }) }
			d.beside = tt.beside
			if tt.files == nil { // nobody fills it: a person ends the run
				whileFull(d, func(r messaging.Run) {
					if r.Waits != messaging.WaitBudget || !r.WaitUntil.Equal(time.Date(monday.Year(), monday.Month()+1, 1, 0, 0, 0, 0, time.UTC)) ||
						r.Reason != "the budget of the month has no room: 50 of 50 points are spent, and this costs 0.5" {
						t.Errorf("it waits for %s until %s: %s", r.Waits, r.WaitUntil, r.Reason)
					}
					if err := d.Cancel(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
						t.Error(err)
					}
				})
				fireDue(t, d)
				if r := d.the(t); r.State != messaging.RunCancelled || len(*at) != 0 {
					t.Errorf("%s, %v", r.State, *at)
				}
				return
			}
			fireDue(t, d)
			r := d.the(t)
			if got := rowsOf(d); r.State != messaging.RunDone || !slices.Equal(got, tt.files) || r.Waits != "" || r.Reason != "" {
				t.Fatalf("%s %q, waits for %q: files of %v rows, want %v, at %v", r.State, r.Reason, r.Waits, got, tt.files, *at)
			}
			if tt.at != nil && !slices.Equal(*at, tt.at) {
				t.Errorf("they left after %v, want %v", *at, tt.at)
			}
			eachOnce(t, d, 100)
		})
	}
}

func TestABudgetMeetsTheOthersOfARun(t *testing.T) {
	met := func(t *testing.T) (*desk, *[]time.Duration) {
		d, at := roomy(t, 10, Job{}, spending(5, 0))
		d.Prices = func(string) Prices { return prices(func(messaging.Category, string) float64 { return 1 }) }
		return d, at
	}
	tests := map[string]struct {
		meets func(t *testing.T, d *desk) // while it waits for the rest
		files []int
		state messaging.RunState
	}{
		"nothing":                         {func(*testing.T, *desk) {}, []int{5, 5}, messaging.RunDone},
		"a reload with more":              {func(_ *testing.T, d *desk) { more := spending(8, 0); d.Rules = func() *duerules.Rules { return more } }, []int{5, 3, 2}, messaging.RunDone},
		"a reload without":                {func(_ *testing.T, d *desk) { d.Rules = func() *duerules.Rules { return nil } }, []int{5, 5}, messaging.RunDone},
		"a message that takes the last":   {func(_ *testing.T, d *desk) { d.beside = 4000 }, nil, messaging.RunDone},
		"a restart":                       {func(_ *testing.T, d *desk) { d.book.mu.Lock(); d.crashed = true; d.book.mu.Unlock() }, []int{5, 5}, messaging.RunDone},
		"a person who cancels the run":    {func(t *testing.T, d *desk) { must(t, d.Cancel(context.WithoutCancel(t.Context()), 1, "Ann")) }, []int{5}, messaging.RunCancelled},
		"a person who pauses and resumes": {func(t *testing.T, d *desk) { must(t, d.Pause(context.WithoutCancel(t.Context()), 1, "Ann")) }, []int{5, 5}, messaging.RunDone},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, _ := met(t)
			rules := d.Rules
			whileFull(d, func(messaging.Run) { tt.meets(t, d) })
			fireDue(t, d)
			if d.crashed {
				prices := d.Prices
				d.revive()
				d.open("two")
				d.Rules, d.Prices = rules, prices
				d.settle(t)
			}
			if d.the(t).State == messaging.RunPaused {
				d.advance(time.Hour)
				must(t, d.Resume(t.Context(), 1, "Ann"))
				d.settle(t)
			}
			r := d.the(t)
			if got := rowsOf(d); r.State != tt.state || tt.files != nil && !slices.Equal(got, tt.files) {
				t.Errorf("%s %q: files of %v rows, want %v", r.State, r.Reason, got, tt.files)
			}
			if tt.state == messaging.RunDone {
				eachOnce(t, d, 10)
			}
		})
	}
}
