package ruletest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/ruletest"
	"github.com/nudgewire/nudgewire/internal/simulation"
)

// starter is the config of init, and where it is played.
func starter(t testing.TB) ruletest.Env {
	t.Helper()
	return envOf(t, config.Starter())
}

func envOf(t testing.TB, text string) ruletest.Env {
	t.Helper()
	cfg, problems := config.ParseWithoutSecrets("config.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if cfg == nil || problems.Errors() > 0 {
		t.Fatal(problems)
	}
	home, err := time.LoadLocation(cfg.Defaults.Timezone)
	if err != nil {
		t.Fatal(err)
	}
	return ruletest.Env{Rules: app.SimulationOf(cfg), Home: home}
}

const goodTest = `
- test: one
  start: 2026-03-02T10:00
  mode: live
  events: [{at: +0m, connector: shopify, kind: cart.updated}]
  expect: nothing
`

// Each mistake is told with its line, and how to mend it.
func TestMistakesInTests(t *testing.T) {
	t.Parallel()
	env := starter(t)
	for name, tt := range map[string]struct{ old, new, want string }{
		"no list":                {goodTest, "test: one\n", `tests.yaml:1:1: a file of tests is a list of tests; begin each with "- test: what it shows"`},
		"an unknown key":         {"  mode:", "  expct: nothing\n  mode:", `tests.yaml:4:3: [0].expct: unknown key; did you mean "expect"?`},
		"an unknown mode":        {"mode: live", "mode: lve", `tests.yaml:4:9: [0].mode: "lve" is not known here; did you mean "live"?`},
		"no name":                {"test: one", "because: x", `[0].test: is missing; add test: bought, so no reminder`},
		"no start":               {"  start: 2026-03-02T10:00\n", "", `[0].start: is missing; add start: 2026-03-02T10:00 Europe/London`},
		"a start that is none":   {"2026-03-02T10:00", "monday", `tests.yaml:3:10: [0].start: "monday" is not a time; write it like 2026-03-02T10:00 Europe/London`},
		"an hour left out":       {"2026-03-02T10:00", "2026-03-29T01:30 Europe/London", `"2026-03-29T01:30 Europe/London" is not a time`},
		"a year of no shop":      {"2026-03-02T10:00", "1970-01-01T00:00 UTC", "is in no year of a shop; write a date from 2000 to 2200"},
		"a phone that is none":   {"expect: nothing", "expect: [{phone: ada}]", `"ada" is no phone; write the whole international number`},
		"a phone of the service": {"expect: nothing", "expect: nothing\n  service: [{phone: 07700 900123}]", `"07700 900123" is no phone`},
		"an empty reason":        {"expect: nothing", "expect: nothing\n  because: ['']", "is empty, and would hold whatever happens"},
		"a topic of a sample":    {"cart.updated}", "cart.updated, topic: orders/create}", "a sample says itself what happened"},
		"a zone that is none":    {"T10:00", "T10:00 Europe/Lundon", `"Europe/Lundon" is not a time zone; write an IANA name`},
		"a time without a unit":  {"+0m", "+20", `tests.yaml:5:17: [0].events[0].at: "20" has no unit; write how long after the start, such as +20m`},
		"a time that is none":    {"+0m", "noon", `"noon" is not a time; write how long after the start, such as +20m, or a time on its clock, such as 2026-03-02T11:00`},
		"before the start":       {"+0m", `"2026-03-02T09:00"`, "is before the start of the test; the start is 2026-03-02T10:00 Europe/London"},
		"an unknown connector":   {"shopify", "shopfy", `the config has no connector "shopfy"; did you mean "shopify"?`},
		"a kind without sample":  {"cart.updated", "cart.updatd", `no sample of shopify is of the kind "cart.updatd"; did you mean "cart.updated"?`},
		"neither kind nor file":  {", kind: cart.updated", "", "says neither kind nor file; add kind: to begin from a sample"},
		"a file that is missing": {"kind: cart.updated", "file: crt.json", `tests.yaml:5:48: [0].events[0].file: there is no such file; did you mean "cart.json"?`},
		"a file without a topic": {"kind: cart.updated", "file: cart.json", "its sender says in the header X-Shopify-Topic what happened, and the test does not say it; add topic: with one of "},
		"a topic of no kind":     {"kind: cart.updated", "file: cart.json, kind: cart.updatd", `no topic of the connector is "cart.updatd"; did you mean "cart.updated"?`},
		"a field that is none":   {"cart.updated}", "cart.updated, set: {cart.totl: 3}}", `the mapping reads no cart.totl from this webhook; did you mean "cart.total"?`},
		"a field that is a list": {"cart.updated}", "cart.updated, set: {cart.total: [3]}}", `set["cart.total"]: is a list; write a single value`},
		"inside of a value":      {"cart.updated}", "cart.updated, set: {raw.currency.x: 3}}", "currency.x: x is inside of a single value"},
		"a number too large":     {"cart.updated}", "cart.updated, number: 0}", `"0" is less than 1`},
		"no event":               {"[{at: +0m, connector: shopify, kind: cart.updated}]", "[]", "holds no event; write one such as"},
		"nothing expected":       {"  expect: nothing\n", "", `expects nothing at all, so it would hold whatever happens; write "expect: nothing"`},
		"expect is a word":       {"expect: nothing", "expect: something", `is neither "nothing" nor a list of messages`},
		"an unknown trigger":     {"expect: nothing", "expect: [{trigger: abandoned-crt}]", `the config has no trigger "abandoned-crt"; did you mean "abandoned-cart"?`},
		"an unknown status":      {"expect: nothing", "expect: nothing\n  service: [{status: faild}]", `"faild" is not known here; did you mean "failed"?`},
		"never of nothing":       {"expect: nothing", "never: [{}]", `says neither hours nor more_than, or both`},
		"hours that are none":    {"expect: nothing", "never: [{hours: 21-9-7}]", "write it like 21:00-09:00"},
		"a limit that is none":   {"expect: nothing", "never: [{more_than: two}]", "write a number and a window"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "cart.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(goodTest, tt.old, tt.new, 1)
			if text == goodTest {
				t.Fatalf("%q is not in the test", tt.old)
			}
			tests, problems := ruletest.Read(filepath.Join(folder, "tests.yaml"), []byte(text), env)
			if got := strings.ReplaceAll(problems.Error(), folder+string(filepath.Separator), ""); !strings.Contains(got, tt.want) || len(tests) > 0 {
				t.Errorf("%d tests, and\n%s\nwant %s", len(tests), got, tt.want)
			}
		})
	}
}

// play plays the tests of a text.
func play(t testing.TB, env ruletest.Env, text string) []ruletest.Result {
	t.Helper()
	tests, problems := ruletest.Read(filepath.Join(t.TempDir(), "tests.yaml"), []byte(text), env)
	if problems.Errors() > 0 {
		t.Fatal(problems)
	}
	sim, err := simulation.NewSimulator("")
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	var all []ruletest.Result
	for i := range tests {
		r, err := ruletest.Play(t.Context(), sim, env, &tests[i])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// What tests expect is held against what happens: each that fails says what, and where the rule stands.
func TestTestsSayWhatHappens(t *testing.T) {
	t.Parallel()
	const head = "\n- test: %s\n  start: 2026-03-02T10:00\n  mode: live\n"
	cart := "  events: [{at: +0m, connector: shopify, kind: cart.updated}]\n"
	for name, tt := range map[string]struct{ text, expected, happened, path string }{
		"as expected":             {cart + `  expect: [{at: +45m, trigger: abandoned-cart, template: cart_reminder, language: en, phone: "+447700900123", status: delivered, variables: [Ada, "https://lantern-lane.example.com/checkouts/chk-1/recover?key=try"]}]`, "", "", ""},
		"another time":            {cart + "  expect: [{at: +44m, trigger: abandoned-cart}]", "+44m abandoned-cart", "+45m abandoned-cart", "triggers.abandoned-cart.wait"},
		"another template":        {cart + "  expect: [{template: other}]", `template "other"`, `template "cart_reminder"`, "triggers.abandoned-cart.send.template"},
		"other variables":         {cart + "  expect: [{variables: [Ada]}]", `["Ada"]`, `["Ada", "https`, "triggers.abandoned-cart.send.variables"},
		"one too many":            {cart + "  expect: nothing", "nothing", "+45m abandoned-cart", "triggers.abandoned-cart"},
		"a condition":             {"  events: [{at: +0m, connector: shopify, kind: cart.updated, set: {cart.total: 49.99}}]\n  expect: [{trigger: abandoned-cart}]", "abandoned-cart", "skipped: cart.total >= 50 does not hold (cart.total = 49.99)", "triggers.abandoned-cart.if[0]"},
		"bought":                  {"  events: [{at: +0m, connector: shopify, kind: cart.updated}, {at: +9m, connector: shopify, kind: order.created}]\n  expect: nothing\n  because: cancelled", "", "", ""},
		"another reason":          {cart + "  service: [{status: rejected, error: no}]\n  expect: nothing\n  because: cancelled", "because: cancelled", "rejected: refused by the service (422): no", "triggers.abandoned-cart"},
		"a failed message":        {cart + "  service: [{template: cart_reminder, status: failed, error: no such number}]\n  expect: [{status: failed}]\n  because: no such number", "", "", ""},
		"nobody knows":            {cart + "  service: [{status: in_doubt}]\n  expect: [{status: in_doubt}]", "", "", ""},
		"doubts of one moment":    {"  events: [{at: +0m, connector: shopify, kind: cart.updated}, {at: +0m, connector: shopify, kind: cart.updated, number: 2}]\n  service: [{status: in_doubt}]\n  expect: [{status: in_doubt}, {status: in_doubt}]", "", "", ""},
		"who says more is first":  {"  events: [{at: +0m, connector: shopify, kind: cart.updated}, {at: +10m, connector: shopify, kind: cart.updated, number: 2}]\n  expect: [{trigger: abandoned-cart}, {at: +45m}]", "", "", ""},
		"sent is no reason":       {cart + "  expect: [{}]\n  because: sent", "because: sent", "nothing was held back", "triggers.abandoned-cart"},
		"the night":               {"  events: [{at: '2026-03-02T20:30', connector: shopify, kind: cart.updated}]\n  expect: [{at: '2026-03-03T09:00'}]\n  because: quiet_hours\n  never: [{hours: '21:00-09:00'}]", "", "", ""},
		"not in these hours":      {cart + "  never: [{hours: '10:00-11:00'}]", "never within 10:00-11:00", "it is Mon 10:45 in Europe/London", "triggers.abandoned-cart.quiet_hours"},
		"not more":                {"  events: [{at: +0m, connector: shopify, kind: cart.updated}, {at: +1h, connector: shopify, kind: cart.updated, number: 2}]\n  never: [{more_than: 1 per 7d}]", "never more than 1 per 7d to one phone", "+1h45m abandoned-cart", "triggers.abandoned-cart.limit"},
		"a repetition":            {"  events: [{at: +0m, connector: shopify, kind: cart.updated, headers: {X-Shopify-Webhook-Id: one}}, {at: +5m, connector: shopify, kind: cart.updated, headers: {X-Shopify-Webhook-Id: one}}]\n  expect: [{at: +45m}]\n  because: repeated", "", "", ""},
		"the same cart once more": {"  events: [{at: +0m, connector: shopify, kind: cart.updated}, {at: +5m, connector: shopify, kind: cart.updated}]\n  expect: [{at: +50m}]\n  because: restarted", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := play(t, starter(t), strings.Replace(head, "%s", "'"+name+"'", 1)+tt.text+"\n")[0]
			switch {
			case r.Broken != "":
				t.Fatal(r.Broken)
			case tt.expected == "" && !r.OK():
				t.Fatalf("%+v\n%+v", r.Failed, r.Story)
			case tt.expected == "":
				return
			case len(r.Failed) != 1:
				t.Fatalf("%d failures: %+v", len(r.Failed), r.Failed)
			}
			f := r.Failed[0]
			if f.Expected != tt.expected || !strings.Contains(f.Happened, tt.happened) || f.Paths[0] != tt.path {
				t.Errorf("expected %q, happened %q, of %v;\nwant %q, %q, %q", f.Expected, f.Happened, f.Paths, tt.expected, tt.happened, tt.path)
			}
		})
	}
}

// What would depend on another system, or on how the service recovers, is not guessed.
func TestWhatIsNotPlayedIsSaid(t *testing.T) {
	t.Parallel()
	broken := play(t, starter(t), `
- test: a webhook that is none
  start: 2026-03-02T10:00
  events: [{at: +0m, connector: shopify, kind: cart.updated, headers: {Content-Type: text/plain}}]
  expect: nothing
- test: a service that refuses the template
  start: 2026-03-02T10:00
  mode: live
  events:
    - {at: +0m, connector: shopify, kind: cart.updated, number: 1, set: {customer.phone: "+447700900124"}}
    - {at: +0m, connector: shopify, kind: cart.updated, number: 2, set: {customer.phone: "+447700900125"}}
    - {at: +0m, connector: shopify, kind: cart.updated, number: 3, set: {customer.phone: "+447700900126"}}
    - {at: +0m, connector: shopify, kind: cart.updated, number: 4, set: {customer.phone: "+447700900127"}}
    - {at: +0m, connector: shopify, kind: cart.updated, number: 5, set: {customer.phone: "+447700900128"}}
  service: [{status: rejected, error: strange}]
  expect: nothing
`)
	for i, want := range []string{"line 4: the daemon would answer 4", simulation.ErrHalts.Error()} {
		if !strings.Contains(broken[i].Broken, want) {
			t.Errorf("said %q, want %q", broken[i].Broken, want)
		}
	}
}
