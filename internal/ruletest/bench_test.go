package ruletest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/ruletest"
	"github.com/nudgewire/nudgewire/internal/simulation"
)

func bench(b *testing.B, text string) {
	b.Helper()
	env := starter(b)
	tests, problems := ruletest.Read("tests.yaml", []byte(text), env)
	if problems.Errors() > 0 {
		b.Fatal(problems)
	}
	for b.Loop() {
		sim, err := simulation.NewSimulator("")
		if err != nil {
			b.Fatal(err)
		}
		for i := range tests {
			if r, err := ruletest.Play(b.Context(), sim, env, &tests[i]); err != nil || !r.OK() {
				b.Fatalf("%v: %+v", err, r)
			}
		}
		if err := sim.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// Two hundred tests of a cart and its order.
func BenchmarkTwoHundredTests(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "- test: %d\n  start: 2026-03-02T10:00\n  mode: live\n  events: [{at: +0m, connector: shopify, kind: cart.updated}, {at: +%dm, connector: shopify, kind: order.created}]\n", i, 1+i%40)
		text.WriteString("  expect: nothing\n  because: cancelled\n")
	}
	bench(b, text.String())
}

// A year in which each day a cart is left.
func BenchmarkYear(b *testing.B) {
	var events, expect strings.Builder
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for i := range 365 {
		fmt.Fprintf(&events, "    - {at: '%s', connector: shopify, kind: cart.updated, number: %d}\n", start.AddDate(0, 0, i).Format("2006-01-02T15:04"), i+1)
		expect.WriteString("    - {trigger: abandoned-cart}\n")
	}
	bench(b, "- test: a year\n  start: 2026-03-02T10:00 UTC\n  mode: live\n  events:\n"+events.String()+"  expect:\n"+expect.String())
}
