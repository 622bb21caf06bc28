package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readings(values ...float64) []reading {
	out := make([]reading, len(values))
	for i, v := range values {
		out[i] = plain(v)
	}
	return out
}

func TestRowsAreJudgedByTheirRatioOrByThemselves(t *testing.T) {
	chosen := []*contest{
		{figures: []figure{{name: "base", unit: "calls/s"}}},
		{figures: []figure{
			{name: "rate", unit: "sends/s", base: "base", need: 0.5, aim: 0.9},
			{name: "wait", unit: "ms", need: 2, atMost: true},
			{name: "not measured", unit: "ms"},
		}},
	}
	// In every round the rate is six tenths of the base, though both swing by a factor of ten.
	rows := judge(chosen, map[string][]reading{
		"base": readings(1000, 100, 500), "rate": readings(600, 60, 300), "wait": readings(3, 1, 2.5),
	})
	yes, no := true, false
	want := []Row{
		{Figure: "base", Value: 500, Least: 100, Most: 1000, Unit: "calls/s"},
		{
			Figure: "rate", Value: 300, Least: 60, Most: 600, Unit: "sends/s", Base: "base", Ratio: 0.6,
			Required: 0.5, Reached: &yes, Aim: 0.9, AimMet: &no,
		},
		{Figure: "wait", Value: 2.5, Least: 1, Most: 3, Unit: "ms", AtMost: true, Required: 2, Reached: &no},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	var table strings.Builder
	if err := (Report{Rounds: 3, For: "1s", Rows: rows}).writeTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"0.60 of base", "≥ 0.50 reached", "≥ 0.90 MISSED", "≤ 2 MISSED"} {
		if !strings.Contains(table.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, table.String())
		}
	}
}

func TestBasesAreMeasuredWithWhatNeedsThem(t *testing.T) {
	names := func(pattern string, big bool) []string {
		var out []string
		for _, c := range choose(contests(big), regexp.MustCompile(pattern)) {
			out = append(out, c.name)
		}
		return out
	}
	if diff := cmp.Diff([]string{figT, figJ, "ingest, 64 connections"}, names("ingest, 64", false)); diff != "" {
		t.Errorf("chosen for ingest (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"claim"}, names("5,000,000", true)); diff != "" {
		t.Errorf("chosen by the name of a figure (-want +got):\n%s", diff)
	}
	if got := names("no such figure", true); got != nil {
		t.Errorf("chosen by nothing: %q", got)
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
	var l latencies
	for i := range 100 {
		l = append(l, time.Duration(i+1)*time.Millisecond)
	}
	if p50, p99 := l.ms(0.5), l.ms(0.99); p50 != 50 || p99 != 99 {
		t.Errorf("p50 %v, p99 %v of 1 to 100 ms", p50, p99)
	}
	if one := (latencies{time.Second}).ms(0.99); one != 1000 {
		t.Errorf("p99 of one second alone is %v ms", one)
	}
}

func TestMediansOfEvenNumbersLieBetween(t *testing.T) {
	for want, values := range map[float64][]float64{0: nil, 3: {9, 3, 1}, 2.5: {4, 1, 2, 3}} {
		if got := median(values); got != want {
			t.Errorf("median(%v) = %v, want %v", values, got, want)
		}
	}
}
