package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// must runs a command that has to succeed.
func (w *ward) must(args ...string) {
	w.t.Helper()
	if code, out := w.run(args...); code != 0 {
		w.t.Fatalf("nudgewire %s: %d\n%s", strings.Join(args, " "), code, out)
	}
}

// faulty makes the service answer with a status, and posts so many orders.
func faulty(status, orders int) func(*ward) {
	return func(w *ward) {
		w.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: status, Endpoints: []string{"send-template"}})
		for i := range orders {
			w.must("trigger", "shopify", "--sample", "order", "--number", fmt.Sprint(i+1))
		}
		w.until("the sender has given up for now", func() bool {
			_, out := w.run("status")
			return strings.Contains(out, " is halted since ") || strings.Contains(out, "is refused by the service, one message after the other")
		})
	}
}

func (w *ward) until(what string, ok func() bool) {
	w.t.Helper()
	for range 6000 { // two minutes
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.t.Fatalf("waited in vain: %s", what)
}

// Whatever stops sending, the doctor does not say that nothing needs attention.
func TestTheDoctorNamesWhateverStopsSending(t *testing.T) {
	command := func(args ...string) func(*ward) { return func(w *ward) { w.must(args...) } }
	const since = `since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`
	run := `INSERT INTO runs (id, job, slot, due_at, cause, source, config, state, reason, before, deliver, campaign, template_id, template, language,
		category, expires, columns, tally, kept, approved, stopped, owner, lease_ends, created_at, started_at, ended_at)
		VALUES (1, 'spring', '2026-11-21T10:00', 1, 'cron', 'csv', 'c', '%s', 'said so', '%s', 'csv', 'Spring', 7, '', '',
		'marketing', 0, '', '{}', 5, '', '%s', '', 0, 1, 1, 0)`
	for name, c := range map[string]struct {
		before, do func(*ward)
		finding    string
		hint       string
	}{
		"a halt of everything": {
			do: command("halt", "--reason", "wrong price"), finding: `messages +everything is halted ` + since + `: wrong price$`, hint: `"nudgewire resume" lets it go on$`,
		},
		"a halt of a trigger": {
			do: command("halt", "trigger", "thanks"), finding: `messages +trigger "thanks" is halted ` + since + `$`, hint: `"nudgewire resume trigger thanks" lets it go on$`,
		},
		"a halt of a template": {
			do: command("halt", "template", "thanks"), finding: `messages +template "thanks" is halted ` + since + `$`, hint: `"nudgewire resume template thanks" lets it go on$`,
		},
		"a halt of a job": {
			do: command("halt", "job", "winback"), finding: `messages +job "winback" is halted ` + since + `$`, hint: `"nudgewire resume job winback" lets it go on$`,
		},
		"a trigger that is off while something of it waits": {
			do: func(w *ward) {
				w.must("halt")
				w.must("trigger", "shopify", "--sample", "order")
				text, err := os.ReadFile(w.config)
				if err == nil {
					err = os.WriteFile(w.config, []byte(strings.Replace(string(text), "thanks: {on", "thanks: {mode: \"off\", on", 1)), 0o600)
				}
				if err != nil {
					w.t.Fatal(err)
				}
				w.must("reload")
				w.must("resume")
			},
			finding: `messages +1 message of thanks waits, paused: trigger "thanks" is off$`, hint: `"nudgewire resume trigger thanks" sends, and "nudgewire messages cancel --trigger thanks" ends what waits`,
		},
		"a run that is paused": {
			do: func(w *ward) { w.write(fmt.Sprintf(run, "paused", "building", "key")) }, finding: `campaigns +run 1 of spring waits to be resumed: said so$`, hint: `"nudgewire jobs resume 1" lets it go on`,
		},
		"a run that is held": {
			do: func(w *ward) { w.write(fmt.Sprintf(run, "awaiting_approval", "", "")) }, finding: `campaigns +run 1 of spring waits to be approved: said so$`, hint: `"nudgewire jobs show 1", then "nudgewire jobs approve 1" or "nudgewire jobs cancel 1"$`,
		},
		"a key that is refused":       {do: faulty(401, 1), finding: `messages +sending is halted ` + since + `: the service refuses the API key`, hint: `copy the key anew`},
		"an account without points":   {do: faulty(402, 1), finding: `messages +sending is halted ` + since + `: the account has insufficient points`, hint: `top up the account`},
		"a wrong address":             {do: faulty(404, 3), finding: `messages +sending of category marketing is halted ` + since, hint: `look at api.base_url`},
		"a service that is down":      {do: faulty(500, 3), finding: `messages +sending is halted ` + since, hint: `messages wait meanwhile`},
		"one refusal after the other": {do: faulty(422, 5), finding: `messages +.* is refused by the service, one message after the other, and waits`, hint: `compare its name, language and variables`},
		"a daemon that is down":       {do: func(w *ward) { w.stop() }, finding: `daemon +is not running$`, hint: `start it with "nudgewire serve"`},
		"a config that cannot be used": {
			do: func(w *ward) {
				if err := os.WriteFile(w.config, append(w.text(), []byte("\nsurprise: 1\n")...), 0o600); err != nil {
					w.t.Fatal(err)
				}
				if code, _ := w.run("reload"); code == 0 {
					w.t.Fatal("the config was taken")
				}
			},
			finding: `config +.* cannot be used`, hint: `"nudgewire check" shows each`,
		},
		"a halt, while the daemon is down": {
			do: func(w *ward) { w.must("halt"); w.stop() }, finding: `messages +everything is halted ` + since + `$`, hint: `"nudgewire resume" lets it go on$`,
		},
		"data that was moved away": {
			do: func(w *ward) {
				if err := os.Rename(w.database(), w.database()+".aside"); err != nil {
					w.t.Fatal(err)
				}
				w.t.Cleanup(func() {
					if err := os.Rename(w.database()+".aside", w.database()); err != nil {
						w.t.Error(err)
					}
				})
			},
			finding: `database +.* was moved away or deleted while the daemon runs$`, hint: `put it back`,
		},
		"a log whose damage lost commits": {
			before: func(w *ward) {
				if err := os.WriteFile(w.database()+".damaged", []byte(`{"commits":3,"until":"2026-11-22T10:02:00Z"}`), 0o600); err != nil {
					w.t.Fatal(err)
				}
			},
			finding: `database +webhooks are taken and nothing is sent: `, hint: `then "nudgewire resume --reviewed"$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before []func(*ward)
			if c.before != nil {
				before = append(before, c.before)
			}
			w := newWard(t, before...)
			if c.do != nil {
				c.do(w)
			}
			code, out := w.run("doctor")
			w.wants(out, `^bad   `+c.finding, c.hint, `^\d+ things? needs? attention$`)
			if code != exit.Failed || strings.Contains(out, "nothing needs attention") {
				t.Errorf("ended with %d:\n%s", code, out)
			}
		})
	}
}

// Who halted what, why, and who let it go on stands in the daemon's log.
func TestAHaltLeavesALineInTheLog(t *testing.T) {
	w := newWard(t)
	w.must("halt", "--reason", "wrong price")
	w.must("halt", "trigger", "thanks")
	if _, out := w.run("status"); !strings.Contains(out, "wrong price\n              \"nudgewire resume\" lets it go on\n") {
		t.Errorf("status does not say how it goes on:\n%s", out)
	}
	w.must("resume")
	if code, _ := w.run("resume"); code == 0 { // nothing is halted any more: that is no line
		t.Error("there was something to resume")
	}
	var got []string
	for _, one := range w.log.All() {
		if one.Message == "halted by a person" || one.Message == "resumed by a person" {
			m := one.ContextMap()
			if m["who"] == "" || one.Level.String() != "warn" {
				t.Errorf("%s: %v", one.Level, m)
			}
			got = append(got, fmt.Sprintf("%s: %v %v%v", one.Message, m["what"], m["why"], m["was_halted_because"]))
		}
	}
	want := "halted by a person: everything wrong price<nil>\nhalted by a person: trigger \"thanks\" <nil>\nresumed by a person: everything <nil>wrong price"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// A trigger that does not send is told from one that does.
func TestStatusShowsTheModesOfTriggers(t *testing.T) {
	w := newWard(t, func(w *ward) {
		if err := os.WriteFile(w.config, []byte(string(w.text())+"  later: {on: shopify.order.paid, send: {template: thanks}, mode: shadow}\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	})
	_, out := w.run("status")
	w.wants(out, `^triggers    thanks, later \(shadow\)$`)
}

func (w *ward) text() []byte {
	w.t.Helper()
	text, err := os.ReadFile(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}
