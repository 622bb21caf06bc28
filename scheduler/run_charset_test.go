package scheduler

import (
	"os"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

const twoHints = "save the list as UTF-8; or set source.encoding, to utf-8, which excludes the rows that are not, or to windows-1252, which takes every byte for a character"

// A list in two encodings ends its run before anything leaves, wherever the second one begins.
func TestNothingOfAListInTwoEncodingsIsUploaded(t *testing.T) {
	path := put(t, "list.csv", []byte("phone,name\n+447911100001,Zoë\n"+strings.Repeat("+447911100002,Ben\n", 30_000)+"+447911100003,Zo\xeb\n"))
	job := compile(t, Job{Columns: columns("phone", "phone", "var_1", "name"), Cron: "0 10 * * *", Source: lists.Origin{CSV: path}, Unique: UniqueOff, MaxSize: 100_000})
	d := begin(t, job)
	d.service.answer = func(int) error { return &apiclient.CallError{Outcome: apiclient.Rejected} }
	fireDue(t, d)
	r := d.the(t)
	want := path + `: two encodings in one list: row 30003 has the byte EB, which is not UTF-8, and row 2 has the bytes C3 AB, which are UTF-8 for "ë"; ` + twoHints
	if r.State != messaging.RunFailed || r.Reason != want || len(d.service.uploads()) != 0 {
		t.Errorf("%s %q after %d uploads", r.State, r.Reason, len(d.service.uploads()))
	}
	if left := d.rows[r.ID]; len(left) != 0 {
		t.Errorf("%d rows are left behind", len(left))
	}
}

func TestAForecastAndItsRunSayHowTheListWasRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": "phone;name\n+447911100001;Zo\xeb\n", "b.csv": "phone,name\n+447911100002,Zoë\n", "c.csv": "phone,name\n+447911100003,Ben\n"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for files, want := range map[string]string{
		"a.csv": `windows-1252 with ";" between cells`,
		"*.csv": `windows-1252 with ";" between cells (1 file), UTF-8 with "," between cells (2 files)`,
	} {
		d := begin(t, compile(t, Job{Columns: columns("phone", "phone", "var_1", "name"), Cron: "0 10 * * *", Source: lists.Origin{CSV: dir + "/" + files}}))
		f, err := d.DryRun(t.Context(), d.all()[0], monday, nil)
		if err != nil || f.Tally.ReadAs != want {
			t.Errorf("forecast of %s: %q, %v", files, f.Tally.ReadAs, err)
		}
		fireDue(t, d)
		if r := d.the(t); r.Tally.ReadAs != want {
			t.Errorf("run of %s: %q", files, r.Tally.ReadAs)
		}
	}
}
