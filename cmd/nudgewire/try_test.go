package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
)

// try says of each decision what the ledger would say, if it knew of nothing else.
func TestTryGivesTheReasonOfAnEmptyLedger(t *testing.T) {
	w := newWard(t)
	_, out := w.run("try", "shopify", "--sample", "order")
	w.wants(out, `^  thanks planned: template "thanks" due .+`)
	_, out = w.run("try", "shopify", "--sample", "order", "--json")
	w.wants(out, `"Reason":"template \\"thanks\\" due |"reason":"template \\"thanks\\" due `)
}

// try says when quiet hours would let the message go, and what is dropped.
func TestTryTellsOfQuietHours(t *testing.T) {
	w := newWard(t)
	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(value string) {
		changed := strings.Replace(string(text), "language: en}", "language: en, quiet_hours: "+value+"}", 1)
		if err := os.WriteFile(w.config, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// All of the day but a minute that is some hours away, wherever the phone of the sample is.
	free := time.Now().UTC().Add(-150 * time.Minute)
	quiet(fmt.Sprintf(`"%s-%s"`, free.Add(time.Minute).Format("15:04"), free.Format("15:04")))
	_, out := w.run("try", "shopify", "--sample", "order")
	w.wants(out, `^    sent .+ \(quiet_hours\): quiet hours are \d\d:\d\d-\d\d:\d\d, and it is ... \d\d:\d\d in \S+; next at `)
	_, out = w.run("try", "shopify", "--sample", "order", "--json")
	w.wants(out, `"held":\{"action":"deferred","rule":"quiet_hours","reason":"quiet hours are .+","until":"`)

	quiet(`{hours: "00:00-24:00", on_hit: drop}`)
	_, out = w.run("try", "shopify", "--sample", "order")
	w.wants(out, `^    dropped \(quiet_hours\): quiet hours are 00:00-24:00, and it is `)

	quiet("off")
	if _, out = w.run("try", "shopify", "--sample", "order"); strings.Contains(out, "quiet") {
		t.Errorf("quiet hours are off, and it says\n%s", out)
	}
}

// Edited rules are tried in place of those of the config, and what is wrong with them is said at its line.
func TestTryTakesEditedRulesAndATime(t *testing.T) {
	w := newWard(t)
	write := func(text string) string {
		file := t.TempDir() + "/edited.yaml"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	code, out := w.run("try", "shopify", "--sample", "order", "--at", "2026-12-24 22:00", "--rules", write("triggers:\n  thanks: {on: shopify.order.created, wait: 1h, send: {template: edited}}\n"))
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	w.wants(out, `^  thanks planned: template "edited" due .*2026-12-24 23:00`)
	code, out = w.run("try", "shopify", "--sample", "order", "--rules", write("triggers:\n  thanks: {on: shopify.order.created, sned: {template: edited}}\n"))
	if code != exit.Config {
		t.Errorf("exit %d", code)
	}
	w.wants(out, `edited rules:2:39: .*unknown key`)
	for _, args := range [][]string{{"--at", "soon"}, {"--rules", "nowhere.yaml"}, {"--rules", write(" \n")}} {
		if code, out := w.run(append([]string{"try", "shopify"}, args...)...); code != exit.Usage {
			t.Errorf("%v: exit %d %s", args, code, out)
		}
	}
}

func TestReplayNeedsToBeToldWhat(t *testing.T) {
	w := newWard(t)
	for _, args := range [][]string{{}, {"x"}, {"--since", "soon"}, {"--connector", "shopify"}} {
		if code, out := w.run(append([]string{"events", "replay"}, args...)...); code != exit.Usage {
			t.Errorf("%v: exit %d %s", args, code, out)
		}
	}
	code, out := w.run("events", "replay", "99", "--yes")
	if code != exit.Nothing {
		t.Errorf("an event that is not there: exit %d", code)
	}
	w.wants(out, `^event 99 is not replayed: there is no such event$`)
}
