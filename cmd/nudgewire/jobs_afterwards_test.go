package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// TestAfterARun walks through what a person does once a campaign is out: count what failed,
// send it again once, read every row back with and without a daemon, settle a part in doubt.
func TestAfterARun(t *testing.T) {
	service := sandbox.New(sandbox.Options{
		Keys: []string{"key"}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}}, FailRate: 1,
		Reasons: []string{"the network said no"}, Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
	})
	defer service.Close()
	api := httptest.NewServer(service.Handler())
	defer api.Close()
	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	config := fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key, rate: 2000/s, timeout: 5s}
defaults: {country: GB, language: en}
jobs:
  winback:
    source: {csv: "%[2]s/list.csv"}
    columns: {phone: phone, var_1: name}
    deliver: per_message
    send: {template: winback}
  spring:
    source: {csv: "%[2]s/list.csv"}
    columns: {phone: phone, var_1: name}
    campaign: {template_id: 1042}
storage: sqlite:%[2]s/nudgewire.db
server: {listen: "%[3]s"}
tracking: {poll: [1s]}
`, api.URL, c.folder, c.address)
	const list = "phone,name\n+447700900101,Ada\n12,Ben\n+447700900103,\"Chloe, of Bath\"\n"
	for name, text := range map[string]string{"config.yaml": config, "list.csv": list} {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// says runs a command and checks its status and that its output has each of the pieces.
	says := func(want int, args string, pieces ...string) string {
		t.Helper()
		code, out := c.command(strings.Fields(args)...)
		if code != want {
			t.Fatalf("%s: status %d, want %d: %s", args, code, want, out)
		}
		for _, p := range pieces {
			if !strings.Contains(out, p) {
				t.Errorf("%s does not say %q:\n%s", args, p, out)
			}
		}
		return out
	}
	daemon := c.start()
	says(0, "jobs run winback --yes --wait", "run 1 of winback") // done, or handed over and being sent
	failed := func(run string) {
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if _, out := c.command("jobs", "show", run); strings.Contains(out, "2 failed") {
				return
			} else if time.Now().After(end) {
				t.Fatalf("the messages never failed: %s", out)
			}
		}
	}
	failed("1")
	says(0, "jobs show 1", "  messages    2 failed", "  next        what did not arrive may go again: nudgewire jobs retry 1 --dry-run")
	says(0, "status", "trouble     run 1 of winback: 2 of 2 messages failed")
	says(0, "jobs retry 1 --dry-run", "retry of run 1 of winback", "rows        2, 2 to send", "goes again  2: failed at the service: the network said no (first in row 2)")
	says(exit.Usage, "jobs retry 1", "Send 2 rows of run 1 of winback again?", "add --yes to go ahead")
	if n := service.Stats().Messages; n != 2 {
		t.Fatalf("%d messages before anybody said yes", n)
	}
	says(0, "jobs retry 1 --yes", "run 2 of winback for retry 1 of run 1", "retry of    run 1")
	// It ends by what is known then: by no failure, or by that of both.
	if status, out := c.command("jobs", "show", "2", "--follow"); status != 0 && status != exit.Failed ||
		!strings.Contains(out, "run 2 of winback for retry 1 of run 1: ") || !strings.Contains(out, "  messages    ") {
		t.Errorf("jobs show 2 --follow: status %d:\n%s", status, out)
	}
	failed("2")
	says(0, "jobs show 1", "  next        retried once, as jobs history winback shows; what is left of it: nudgewire jobs retry 1 --dry-run")
	says(exit.Nothing, "jobs retry 1 --yes", "run 1 has nothing that can be sent again", "2 of its rows went again before: look for its retry with jobs history winback")
	says(exit.Failed, "jobs retry 1 --only in_doubt --yes", "run 1 was delivered message by message: what is in doubt is settled one by one")
	says(exit.Usage, "jobs retry 1 --only all", `--only "all": want retriable or in_doubt`)
	says(exit.Nothing, "jobs retry 77 --yes", "there is no such run")
	says(0, "why +447700900101", "run 1 of winback for", "row 2 of "+filepath.Join(c.folder, "list.csv"), "on the list of csv", "failed: the network said no", "sent again as message 3", "sent again for message 1, which did not reach the phone")

	says(0, "messages show 3", "because of  run 2, row 2 of "+filepath.Join(c.folder, "list.csv"))
	says(0, "why 12", "run 1 of winback for", "row 3 of "+filepath.Join(c.folder, "list.csv"), "excluded: the phone is too short for GB")

	file := filepath.Join(c.folder, "run1.csv")
	says(0, "jobs export 1 -o "+file, "3 rows in "+file)
	checkExport(t, file, [][]string{
		{"2", "1", "", "447700900101", "accepted", "", "failed", "the network said no", "3"},
		{"4", "2", "", "447700900103", "accepted", "", "failed", "the network said no", "4"},
		{"3", "", "", "12", "excluded", "the phone is too short for GB", "", "", ""},
	})
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("who may read the list: %v, %v", info, err)
	}

	f := service.Faults()
	f.CutAfter = 1
	service.SetFaults(f)
	says(exit.Failed, "jobs run spring --yes --wait", "part 1 ", "in_doubt", "next        part 1: look for it on the service's dashboard, then: nudgewire jobs resolve 3 1 --as accepted|resend")
	f.CutAfter = 0
	service.SetFaults(f)
	says(exit.Usage, "jobs resolve 3 one --as resend", `"one" is not a part's number`)
	says(exit.Usage, "jobs resolve 3 1", `--as "": want accepted or resend`)
	says(exit.Usage, "jobs resolve 3 1 --as resend", "Upload part 1 of run 3 of spring, 2 rows, again? If it did arrive, everybody on it gets the message twice.")
	says(exit.Usage, "jobs resolve 3 1 --as accepted", "Count part 1 of run 3 of spring, 2 rows, as accepted? If it did not arrive, nobody on it gets the message, and nothing will tell.")
	says(exit.Nothing, "jobs resolve 3 2 --as accepted --yes", "run 3 has no part 2")
	says(0, "jobs resolve 3 1 --as resend --yes --reason nothing", "part 1 ")
	says(0, "jobs show 3 --follow", "accepted", "said on", "was not accepted, and had it sent again: nothing")
	says(0, "report --group job --csv", "job,events,decisions,queued,shadowed,accepted,uploaded,points,uploaded_points,delivered,", "\nspring,0,0,0,0,0,2,0,0,0,")
	if n := len(service.Campaigns()); n != 2 {
		t.Errorf("the service has %d campaigns", n)
	}

	// Without a daemon, what only reads goes on.
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon's end: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(says(0, "jobs export 3 --json")), "\n")
	var first server.RowView
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != 3 || first.Phone != "447700900101" || first.State != "accepted" || first.Row != 2 || first.Number != 1 || first.File != filepath.Join(c.folder, "list.csv") {
		t.Errorf("%v: %d lines, the first %s", err, len(lines), lines[0])
	}
	says(0, "jobs retry 2 --dry-run")
	says(exit.NoDaemon, "jobs retry 2 --yes", "no daemon is running")
}

// checkExport compares some columns of an exported file.
func checkExport(t *testing.T, file string, want [][]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	if len(rows) != len(want)+1 {
		t.Fatalf("%d rows: %v", len(rows)-1, rows)
	}
	for i, row := range rows[1:] {
		for k, name := range []string{"row", "number", "part", "phone", "state", "reason", "status", "error", "retried_as"} {
			if row[at[name]] != want[i][k] {
				t.Errorf("row %d: %s is %q, want %q", i+1, name, row[at[name]], want[i][k])
			}
		}
		if sent := row[at["message_id"]]; want[i][1] != "" {
			if _, err := strconv.ParseInt(sent, 10, 64); err != nil || row[at["failed_at"]] == "" || row[at["accepted_at"]] == "" {
				t.Errorf("row %d: %v", i+1, row)
			}
		}
	}
}
