package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

func TestAJobIsReadBackInSentences(t *testing.T) {
	const usual = "source: {csv: list.csv}\n"
	const uploaded = usual + "campaign: {template_id: 7}\n"
	const single = usual + "deliver: per_message\nsend: {template: winback}\n"
	for _, tt := range []struct{ job, key, want string }{
		{uploaded, "cron", "It runs by hand alone."},
		{uploaded + "cron: 0 10 * * MON\ntimezone: Europe/London", "cron", `It runs at 10:00 each Monday, by the clock of Europe/London ("0 10 * * MON").`},
		{uploaded + "cron: 0 10 * * MON", "on_missed", "A time that passed while nothing ran is left out."},
		{uploaded + "cron: 0 10 * * MON\non_missed: run_once", "on_missed", "A time that passed while nothing ran is made up for, once."},
		{uploaded + "cron: 0 10 * * MON\non_missed: {if_younger_than: 6h}", "on_missed", "A time that passed while nothing ran is made up for within 6 hours."},
		{uploaded + "cron: 0 10 * * MON\noverlap: queue", "overlap", "When its time comes and the run before has not ended, it waits for that."},
		{uploaded + "mode: off", "mode", "It is off: it runs by hand alone."},
		{uploaded, "source", "It reads the list csv list.csv."},
		{"source: {contacts: customer.orders >= 2}\ncolumns: {phone: phone}\ncampaign: {template_id: 7}", "source", "It sends to the contacts of whom this holds when it runs: customer.orders >= 2."},
		{uploaded + "exclude: {messaged_within: 7d}", "exclude", "Who is blocked gets nothing, nor who was sent anything in the last 7 days, and of several rows with one phone the first one counts."},
		{uploaded + "unique: off", "exclude", "Who is blocked gets nothing."},
		{uploaded, "guard", "A run waits for a person's approval with the list that the last run sent."},
		{uploaded + "guard: {max_rows: 5000, max_change: 300%, repeat: send}", "guard", "A run waits for a person's approval with more than 5,000 rows, or with more rows than 300% of the last run's, or as much fewer."},
		{uploaded + "guard: {repeat: send}", "guard", ""},
		{uploaded + "limit: 2 per day", "limit", "A contact gets at most 2 marketing messages a day, from all triggers and jobs together; beyond it, it waits until there is room."},
		{single + "canary: {first: 100, wait: 2h, stop_if: failed > 10%}", "canary", "It sends 100 rows first and looks at them after 2 hours, before the rest goes. It stops there if failed > 10%."},
		{single + "canary: {first: 1%, wait: 2h, stop_if: failed > 5%}", "canary", "It sends 1% of the rows first and looks at them after 2 hours, before the rest goes. It stops there if failed > 5%."},
		{single + "at: '09:30'", "at", "Each row goes at the next 09:30 on the clock of its contact; where that is not known, on the clock of UTC."},
		{single, "send", `It sends each row the template "winback" as marketing, and follows each message.`},
		{uploaded, "campaign", "It uploads the list as files, as a campaign with the template number 7, as marketing."},
	} {
		var job Job
		if _, problems := yamlpos.Decode("j.yaml", []byte(tt.job), &job); problems.Err() != nil {
			t.Fatal(problems)
		}
		job.Name = "j"
		all, faults := Compile([]Job{job}, Env{Folder: t.TempDir(), Timezone: "UTC", Country: "GB", Language: "en", Category: "marketing"})
		if len(all) != 1 {
			t.Fatalf("%s: %v", tt.job, faults)
		}
		got := ""
		for _, s := range all[0].Tell() {
			if s.Key == tt.key {
				got = s.Text
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s of\n%s\n(-want +got):\n%s", tt.key, tt.job, diff)
		}
	}
}
