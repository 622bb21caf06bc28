package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readings(values ...float64) []reading {
	out := make([]reading, len(values))
	for i, v := range values {
		out[i] = reading{value: v}
	}
	return out
}

func TestRowsAreJudgedByTheirRatioOrByThemselves(t *testing.T) {
	chosen := []*contest{
		{figures: []figure{{name: "base", unit: "calls/s"}}},
		{figures: []figure{
			{name: "rate", unit: "sends/s", bases: []base{{name: "base", bound: 0.5}}},
			{name: "wait", unit: "ms", bound: 2, atMost: true},
			{name: "fast", unit: "webhooks/s", offered: 1000},
			{name: "slow", unit: "webhooks/s", offered: 10_000},
			{name: "node", unit: "sends/s", bases: []base{{name: "rate", short: "SQLite", bound: 0.25}, {name: "base", bound: 0.5}}},
		}},
	}
	slow := reading{value: 8000, waits: []float64{1, 20, 300}, good: 0.875}
	// In every round the rate is six tenths of the base, though both swing by a factor of ten.
	rows := judge(chosen, map[string][]reading{
		"base": readings(1000, 100, 500), "rate": readings(600, 60, 300), "wait": readings(3, 1, 2.5),
		"fast": readings(990, 1000, 1000), "slow": {slow, slow, slow},
		"node": readings(300, 30, 150),
	})
	var table strings.Builder
	if err := writeTable(&table, rows); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"figure median unit range ratio required p50 ms p99 ms p99.9 ms answered 2xx",
		"base 500 calls/s 100 to 1,000",
		"rate 300 sends/s 60.0 to 600 0.60 base ≥ 0.5 reached",
		"wait 2.50 ms 1.00 to 3.00 ≤ 2 MISSED",
		"fast 1,000 webhooks/s 990 to 1,000 rate held",
		"slow 8,000 webhooks/s rate NOT HELD 1.00 20.0 300 87.5 %",
		"node 150 sends/s 30.0 to 300 0.50 SQLite, 0.30 base ≥ 0.25 reached, ≥ 0.5 MISSED",
	}
	var got []string
	for line := range strings.Lines(table.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestBasesAreMeasuredWithWhatNeedsThem(t *testing.T) {
	names := func(pattern string, big bool) []string {
		var out []string
		for _, c := range choose(contests(big), regexp.MustCompile(pattern)) {
			out = append(out, c.name())
		}
		return out
	}
	if diff := cmp.Diff([]string{figJ, "webhooks, 64 connections"}, names("^webhooks, 64", false)); diff != "" {
		t.Errorf("chosen for webhooks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{figJ, "webhooks, 64 connections", figR, "webhooks, PostgreSQL, 1 node"}, names("webhooks, PostgreSQL, 1", false)); diff != "" {
		t.Errorf("chosen for a figure whose base has a base (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{figJ, "webhooks, 64 connections", "webhooks, 64 connections, beside 5,000,000 events", "E  claim of 16, nothing else stored, p50", "EP  claim of 16 on PostgreSQL, nothing else stored, p50"}, names("5,000,000", true)); diff != "" {
		t.Errorf("chosen by the name of a second figure (-want +got):\n%s", diff)
	}
	if got := names("no such figure", true); got != nil {
		t.Errorf("chosen by nothing: %q", got)
	}
}

func TestWithoutAServerNothingIsLeftThatNeedsOne(t *testing.T) {
	for _, c := range slices.DeleteFunc(contests(true), needsServer) {
		for _, f := range c.figures {
			if strings.Contains(f.name+f.unit, "PostgreSQL") {
				t.Errorf("%s is measured without a server", f.name)
			}
			for _, b := range f.bases {
				if strings.Contains(b.name, "PostgreSQL") || strings.HasPrefix(b.name, "R") {
					t.Errorf("%s is put in ratio to %s, which needs a server", f.name, b.name)
				}
			}
		}
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	tests := map[string]float64{"0.53": 0.5312, "12.3": 12.34, "431": 431.2, "1,234": 1234.4, "1,234,568": 1234567.8}
	for want, v := range tests {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestPercentilesAreByNearestRank(t *testing.T) {
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(1000-i)*time.Millisecond)
	}
	if diff := cmp.Diff([]float64{500, 990, 999}, percentiles(times)); diff != "" {
		t.Errorf("percentiles of 1 to 1000 ms (-want +got):\n%s", diff)
	}
	if one := percentiles([]time.Duration{time.Second}); one[2] != 1000 {
		t.Errorf("p99.9 of one second alone is %v ms", one[2])
	}
}

func TestMediansOfEvenNumbersLieBetween(t *testing.T) {
	for want, values := range map[float64][]float64{0: nil, 3: {9, 3, 1}, 2.5: {4, 1, 2, 3}} {
		if got := median(values); got != want {
			t.Errorf("median(%v) = %v, want %v", values, got, want)
		}
	}
}
