package main

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// attended starts a daemon with a trigger, a job and a pretended service, for commands.
func attended(t *testing.T) *crash {
	t.Helper()
	service := sandbox.New(sandbox.Options{Keys: []string{"key"}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}}})
	api := httptest.NewServer(service.Handler())
	t.Cleanup(func() { service.Close(); api.Close() })
	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	config := fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key, rate: 100/s}
defaults: {country: GB, language: en}
connectors: {shopify: {secret: secret-of-the-crash}}
triggers:
  reminder: {on: shopify.order.created, send: {template: order_update}}
jobs:
  winback:
    source: {csv: "%[2]s/list.csv"}
    columns: {phone: phone}
    campaign: {template_id: 1042}
  offer:
    source: {csv: "%[2]s/list.csv"}
    columns: {phone: phone}
    deliver: per_message
    send: {template: offer}
storage: sqlite:%[2]s/nudgewire.db
server: {listen: "%[3]s"}
`, api.URL, c.folder, c.address)
	c.put("config.yaml", config)
	c.put("list.csv", "phone\n+447700900101\n+447700900102\n")
	daemon := c.start()
	stop := func() {
		if err := daemon.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := daemon.Wait(); err != nil {
			t.Errorf("the daemon's end: %v", err)
		}
	}
	t.Cleanup(func() { stop() })
	c.stop, c.begin = stop, func() { daemon = c.start() }
	return c
}

// program is what the test binary also is.
func (c *crash) program() string {
	c.t.Helper()
	path, err := exec.LookPath("nudgewire")
	if err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c *crash) put(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

var stamps = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

var whoHalted = regexp.MustCompile(`"who":"[^"]+"`)

// says runs a command and holds its exit status and its words to what is wanted; times are
// written as <time>.
var (
	gaps         = regexp.MustCompile(` {2,}`) // between columns, as wide as the names on this machine
	userOfSocket = regexp.MustCompile(`by hand: \S+(?: \(\d+\))?`)
	byWhom       = regexp.MustCompile(`UTC by \S+(?: \(\d+\))?`)
)

func (c *crash) says(code int, want string, args ...string) {
	c.t.Helper()
	got, out := c.command(args...)
	out = whoHalted.ReplaceAllString(strings.ReplaceAll(stamps.ReplaceAllString(out, "<time>"), c.folder, "<folder>"), `"who":"<who>"`)
	out = byWhom.ReplaceAllString(out, "UTC by <who>")
	out = gaps.ReplaceAllString(userOfSocket.ReplaceAllString(out, "by hand: <user>"), "  ")
	want = gaps.ReplaceAllString(want, "  ")
	if got != code || strings.TrimSpace(out) != strings.TrimSpace(want) {
		c.t.Errorf("nudgewire %s: exit status %d, want %d\ngot:\n%s\nwant:\n%s", strings.Join(args, " "), got, code, out, want)
	}
}

func TestHaltAndResumeFromTheCommandLine(t *testing.T) {
	c := attended(t)
	c.says(exit.Nothing, "nudgewire: nothing is halted", "resume")
	c.says(0, "halted  everything, since <time> UTC: wrong price; it goes on with: nudgewire resume", "halt", "--reason", "wrong price")
	c.says(0, "halted  everything, since <time> UTC: wrong price; it goes on with: nudgewire resume\nhalted  trigger \"reminder\", since <time> UTC; it goes on with: nudgewire resume trigger reminder", "halt", "trigger", "reminder")
	c.says(0, `{"scope":"all","kind":"halt","reason":"wrong price","who":"<who>","at":"<time>"}`+"\n"+`{"scope":"trigger","name":"reminder","kind":"halt","who":"<who>","at":"<time>"}`+"\n"+
		`{"scope":"job","name":"winback","kind":"halt","who":"<who>","at":"<time>"}`, "halt", "job", "winback", "--json")
	if _, out := c.command("status"); !strings.HasPrefix(out, "trouble     everything is halted since ") || !strings.Contains(out, `            trigger "reminder" is halted since `) {
		t.Errorf("status:\n%s", out)
	}
	c.says(exit.Nothing, "nudgewire: no trigger \"remidner\" in the config, and nothing of that name waits to be sent; nothing was halted\n  did you mean \"reminder\"?", "halt", "trigger", "remidner")
	c.says(exit.Nothing, "nudgewire: no trigger \"winback\" in the config, and nothing of that name waits to be sent; nothing was halted\n  there is a job of that name: nudgewire halt job winback", "halt", "trigger", "winback")
	c.says(exit.Usage, "nudgewire: which template?", "halt", "template")
	c.says(exit.Usage, "nudgewire: all takes no name", "halt", "all", "reminder")
	c.says(exit.Usage, "nudgewire: \"trigers\": want all, trigger NAME, template NAME or job NAME\n  did you mean trigger?", "halt", "trigers", "reminder")
	c.says(exit.Nothing, "nudgewire: trigger \"remidner\" is not halted\n  did you mean \"reminder\"?", "resume", "trigger", "remidner")
	c.says(exit.Nothing, "nudgewire: template \"order_update\" is not halted\n  everything is halted, and goes on with: nudgewire resume; "+
		"trigger \"reminder\" is halted, and goes on with: nudgewire resume trigger reminder; job \"winback\" is halted, and goes on with: nudgewire resume job winback",
		"resume", "template", "order_update")

	// A run of a halted job is built and waits, and says what for.
	if code, out := c.command("jobs", "run", "winback", "--yes"); code != 0 {
		t.Fatalf("jobs run: %d %s", code, out)
	}
	waits := regexp.MustCompile(`(?m)^  halted      everything, since .* UTC: wrong price; it goes on with: nudgewire resume$`)
	if _, out := c.command("jobs", "show", "1"); !waits.MatchString(out) {
		t.Errorf("a run that is halted:\n%s", out)
	}
	follow := exec.CommandContext(t.Context(), c.program(), "jobs", "show", "1", "--follow", "--config", filepath.Join(c.folder, "config.yaml"))
	words, err := follow.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	told, err := bufio.NewReader(words).ReadString('\n')
	if want := "run 1 waits, halted: everything, since <time> UTC: wrong price; it goes on with: nudgewire resume\n"; err != nil || stamps.ReplaceAllString(told, "<time>") != want {
		t.Errorf("who follows a halted run is told %q, %v", told, err)
	}
	defer func() {
		if err := follow.Wait(); err != nil {
			t.Errorf("who followed the run to its end: %v", err)
		}
	}()
	c.says(0, "goes on  everything: it was halted since <time> UTC by <who>: wrong price\n"+
		"halted  trigger \"reminder\", since <time> UTC; it goes on with: nudgewire resume trigger reminder\nhalted  job \"winback\", since <time> UTC; it goes on with: nudgewire resume job winback", "resume", "all")
	if _, out := c.command("jobs", "show", "1"); !strings.Contains(out, `  halted      job "winback", since `) {
		t.Errorf("everything is resumed, and the job is not:\n%s", out)
	}
	c.says(exit.Nothing, "nudgewire: there is no halt of everything\n  trigger \"reminder\" is halted, and goes on with: nudgewire resume trigger reminder; "+
		"job \"winback\" is halted, and goes on with: nudgewire resume job winback", "resume")
	c.says(0, "goes on  job \"winback\": it was halted since <time> UTC by <who>\nhalted  trigger \"reminder\", since <time> UTC; it goes on with: nudgewire resume trigger reminder", "resume", "job", "winback")
	if code, out := c.command("jobs", "show", "1", "--follow"); code != 0 || !strings.Contains(out, "part 1      accepted") || strings.Contains(out, "halted") {
		t.Errorf("resumed: %d\n%s", code, out)
	}
	c.says(0, "goes on  trigger \"reminder\": it was halted since <time> UTC by <who>\nnothing is halted now", "resume", "trigger", "reminder")
}

// What was handed over of a paused run waits, and every list says so and how it goes on: neither a
// resume nor a restart of the daemon lets it go.
func TestAPausedRunFromTheCommandLine(t *testing.T) {
	c := attended(t)
	says := func(code int, pieces []string, args ...string) {
		t.Helper()
		got, out := c.command(args...)
		out = stamps.ReplaceAllString(out, "<time>")
		if got != code {
			t.Errorf("nudgewire %s: exit status %d, want %d", strings.Join(args, " "), got, code)
		}
		for _, p := range pieces {
			if !strings.Contains(out, p+"\n") {
				t.Errorf("nudgewire %s does not say %q:\n%s", strings.Join(args, " "), p, out)
			}
		}
	}
	const (
		held  = "  paused      2 messages until it is resumed; what expires meanwhile is dropped, 1d after it was handed over"
		next  = "  next        nudgewire jobs resume 1 lets it go on, nudgewire jobs cancel 1 ends it"
		state = "run 1 of offer, since <time> UTC: paused by "
		goes  = "; it goes on with: nudgewire jobs resume 1"
	)
	me := "somebody"
	if u, err := user.Current(); err == nil && runtime.GOOS == "linux" {
		me = u.Username + " (" + u.Uid + ")"
	}
	// With its template halted the rows are handed over, and none of them leaves.
	says(0, nil, "halt", "template", "offer")
	says(0, nil, "jobs", "run", "offer", "--yes", "--wait")
	says(0, []string{": paused", "  because     paused by " + me, "  messages    2 waiting", held, next}, "jobs", "pause", "1")
	says(exit.Failed, []string{"nudgewire: run 1 is paused: there is nothing to pause", "  it goes on with: nudgewire jobs resume 1"}, "jobs", "pause", "1")
	c.says(0, "goes on  template \"offer\": it was halted since <time> UTC by <who>\npaused  "+state+me+goes, "resume", "template", "offer")
	c.says(0, `{"scope":"trigger","name":"reminder","kind":"halt","who":"<who>","at":"<time>"}`+"\n"+
		`{"scope":"run","name":"1","kind":"run","reason":"paused by `+me+`","at":"<time>","job":"offer"}`, "halt", "trigger", "reminder", "--json")
	c.says(0, "goes on  trigger \"reminder\": it was halted since <time> UTC by <who>\npaused  "+state+me+goes, "resume", "trigger", "reminder")
	c.says(exit.Nothing, "nudgewire: nothing is halted\n  run 1 of offer is paused, and goes on with: nudgewire jobs resume 1", "resume")
	c.says(exit.Usage, "nudgewire: \"run\": want all, trigger NAME, template NAME or job NAME\n"+
		"  a run is stopped with: nudgewire jobs pause 1, and goes on with: nudgewire jobs resume 1", "resume", "run", "1")
	c.stop()
	c.begin()
	says(0, []string{"trouble     run 1 of offer waits to be resumed: paused by " + me, `              "nudgewire jobs resume 1" lets it go on; "nudgewire jobs cancel 1" ends it`, "waiting     2"}, "status")
	says(exit.Failed, []string{
		"bad   campaigns              run 1 of offer waits to be resumed: paused by " + me,
		`                              "nudgewire jobs resume 1" lets it go on; "nudgewire jobs cancel 1" ends it`,
	}, "doctor")
	says(0, []string{"offer    -     UTC   by hand  per_message  csv " + c.folder + "/list.csv  run 1 paused"}, "jobs", "list")
	says(0, []string{"  because     paused by " + me, "  messages    2 waiting", held, next}, "jobs", "show", "1")
	says(0, nil, "jobs", "resume", "1")
	says(0, []string{"run 1 of offer for <time> by hand: done"}, "jobs", "show", "1", "--follow")
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, out := c.command("jobs", "show", "1"); !strings.Contains(out, " waiting") && !strings.Contains(out, " sending") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("what was held never left:\n%s", out)
		}
	}
	says(exit.Failed, []string{"nudgewire: run 1 is done: there is nothing to pause", "  look at jobs show 1"}, "jobs", "pause", "1")
}

func TestContactsFromTheCommandLine(t *testing.T) {
	c := attended(t)
	c.says(exit.Nothing, "nudgewire: nobody is blocked", "contacts", "list")
	c.says(0, "2 blocked, 0 blocked already, 0 could not be read", "contacts", "block", "+447700900101", "07700 900102", "--reason", "asked for it")
	c.says(exit.Failed, "CALL-ME: that is not a phone number: has letters\n1 blocked, 1 blocked already, 1 could not be read", "contacts", "block", "+447700900101", "CALL-ME", "+447700900103")
	c.says(exit.Failed, `{"blocked":0,"blocked_before":1,"bad":[{"row":2,"reason":"that is not a phone number: has letters"}]}`, "contacts", "block", "+447700900101", "CALL-ME", "--json")
	c.says(0, "PHONE         SINCE     BY       WHY\n4477******01  <time> UTC  by hand: <user>  -\n4477******02  <time> UTC  by hand: <user>  asked for it\n4477******03  <time> UTC  by hand: <user>  -", "contacts", "list")
	c.says(0, "4477******03 is not blocked any more", "contacts", "allow", "07700 900103")
	c.says(exit.Nothing, "nudgewire: 447700900103 is not blocked\n  \"nudgewire contacts list\" shows who is", "contacts", "allow", "+447700900103")
	c.says(exit.Usage, "nudgewire: that is not a phone number: has letters\n  write it with its country code: +447700900123", "contacts", "allow", "nobody")

	optOuts := c.put("optouts.csv", "\uFEFFfirst_name;Mobile Phone;note\nAda;07700 900104;\"left; by mail\"\n# gone\n\nBen;12;\nChloe;+44 7700 900104;twice\nDev;;no phone\nEve;07700 900105;\n")
	c.says(exit.Failed, "optouts.csv:5: that is not a phone number\n2 blocked, 1 blocked already, 1 could not be read", "contacts", "import", optOuts, "--reason", "opted out")
	c.says(exit.Failed, `{"blocked":0,"blocked_before":3,"bad":[{"row":5,"reason":"that is not a phone number"}]}`, "contacts", "import", optOuts, "--json")
	c.says(0, "0 blocked, 1 blocked already, 0 could not be read", "contacts", "import", c.put("plain.txt", "07700900105\n"))
	c.says(exit.Usage, "nudgewire: people.csv:1: which column holds the phone? There are name, contact\n  name it, as in --column contact", "contacts", "import", c.put("people.csv", "name,contact\nAda,07700900106\n"))
	c.says(exit.Usage, "nudgewire: people.csv:1: no column \"contct\"\n  did you mean \"contact\"?", "contacts", "import", filepath.Join(c.folder, "people.csv"), "--column", "contct")
	c.says(0, "1 blocked, 0 blocked already, 0 could not be read", "contacts", "import", filepath.Join(c.folder, "people.csv"), "--column", "Contact")
	c.says(exit.Usage, "nudgewire: plain.txt:1: there is no header, so no column is called \"phone\"\n  leave --column out: without a header the first column is read", "contacts", "import", filepath.Join(c.folder, "plain.txt"), "--column", "phone")
	c.says(exit.Nothing, "nudgewire: no phones in empty.csv", "contacts", "import", c.put("empty.csv", "phone\n\n"))
	c.says(exit.Usage, "nudgewire: open <folder>/none.csv: no such file or directory", "contacts", "import", filepath.Join(c.folder, "none.csv"))

	// Whoever is blocked is left out of a run, and counted.
	if code, out := c.command("jobs", "run", "winback", "--dry-run"); code != 0 || !strings.Contains(out, "excluded    2: the contact is blocked") {
		t.Errorf("a forecast: %d\n%s", code, out)
	}
}
