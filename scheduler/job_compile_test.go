package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// decodeJobs reads the jobs of a config file.
func decodeJobs(t testing.TB, text string) ([]Job, yamlpos.Problems) {
	t.Helper()
	var file struct {
		Jobs yamlpos.Ordered[Job] `yaml:"jobs"`
	}
	_, problems := yamlpos.Decode("config.yaml", []byte(text), &file)
	var jobs []Job
	for _, one := range file.Jobs {
		one.Value.Name = one.Key
		jobs = append(jobs, one.Value)
	}
	return jobs, problems
}

func TestAJobIsReadAsItIsWritten(t *testing.T) {
	jobs, problems := decodeJobs(t, `
jobs:
  weekly-winback:
    cron: "0 10 * * MON"
    timezone: Europe/London
    source:
      sqlite: ./crm.db
      query: |
        select phone, first_name, last_item from customers
    columns: {phone: phone, var_1: '{{ first_name | default: "there" }}', var_2: last_item}
    unique: phone
    exclude: {messaged_within: 7d}
    campaign: {name: 'Winback {{ run.date }}', template_id: 1042}
    deliver: csv
    max_size: 10MB
    on_missed: {if_younger_than: 6h}
    overlap: queue
    guard: {max_rows: 200000, max_change: 300%, max_points: 50000, approve_over: 50000}
  daily:
    source: {http: https://crm.example.com/api/contacts}
    deliver: per_message
    send: {template: winback}
    on_missed: run_once
    canary: {first: 1%, wait: 10m, stop_if: failed > 10%}
`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	all, bad := Compile(jobs, Env{Country: "GB", Language: "en", Priced: true, Version: "v"})
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	w, d := all[0], all[1]
	if w.OnMissed.Younger != 6*time.Hour || w.Guard.MaxChange != 3 || w.MaxSize != 10_000_000 || w.Exclude.MessagedWithin.D() != 7*24*time.Hour || w.columns.variables() != 2 || w.Overlap != OverlapQueue {
		t.Errorf("%+v", w.Job)
	}
	if d.Canary.First.of(1000) != 10 || *d.Canary.StopIf.Failed != 0.1 || !d.OnMissed.RunOnce || d.send.Language != "en" || d.Send.Expires.D() != 24*time.Hour || d.Schedule() != nil {
		t.Errorf("%+v", d.Job)
	}
	noun := w.Noun(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	want := messaging.Job{
		Name: "weekly-winback", Cron: "0 10 * * MON", Timezone: "Europe/London", Source: "sqlite crm.db",
		Campaign: "Winback {{ run.date }}", Deliver: messaging.DeliverCSV, NextAt: time.Date(2026, 5, 11, 9, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, noun); diff != "" {
		t.Errorf("Noun (-want +got):\n%s", diff)
	}
}

func TestMisspeltJobsAreRefusedInWords(t *testing.T) {
	_, problems := decodeJobs(t, `
jobs:
  a:
    crn: "0 10 * * MON"
    source: {csv: a.csv}
    campaign: {template_id: abc}
    on_missed: run_onc
    overlap: never
    guard: {max_change: 300}
    max_size: 11
    canary: {first: 0%, stop_if: bounced > 10%}
  b:
    campaign: {name: x}
    on_missed: {younger: 6h}
`)
	want := []string{
		`config.yaml:4:5: jobs.a.crn: unknown key; did you mean "cron"?`,
		`config.yaml:6:29: jobs.a.campaign.template_id: "abc" is not a whole number; write digits only`,
		`config.yaml:7:16: jobs.a.on_missed: "run_onc" is not known here; did you mean "run_once"?`,
		`config.yaml:8:14: jobs.a.overlap: "never" is not known here; write one of skip, queue, cancel_previous`,
		`config.yaml:9:25: jobs.a.guard.max_change: "300" is not a percentage; write it as 300%`,
		`config.yaml:10:15: jobs.a.max_size: "11" is less than 1kB; it is at least 1kB`,
		`config.yaml:11:21: jobs.a.canary.first: "0%" is no share of the rows; write more than 0% and at most 100%`,
		`config.yaml:11:34: jobs.a.canary.stop_if: "bounced > 10%" is no condition of a canary; write "failed > 10%", "read < 20%", or "failed > 10% or read < 20%"`,
		`config.yaml:12:3: jobs.b.source: is missing; add source: {csv: ./lists/customers.csv}, or another source such as postgres or s3`,
		`config.yaml:13:5: jobs.b.campaign.template_id: is missing; add template_id: 1042`,
		`config.yaml:14:17: jobs.b.on_missed.younger: unknown key; known here: if_younger_than`,
	}
	got := make([]string, len(problems))
	for i, p := range problems {
		got[i] = p.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCompileReportsEverythingAtOnce(t *testing.T) {
	csv := lists.Origin{CSV: "a.csv"}
	campaign := &Campaign{TemplateID: 1}
	tests := map[string]struct {
		job  Job
		want []string
	}{
		"no source":                      {Job{Campaign: campaign}, []string{"j.source: does not say where the rows come from; name one of csv, xlsx, sheet, postgres, mysql, sqlite, http, s3, sftp and contacts"}},
		"two sources":                    {Job{Campaign: campaign, Source: lists.Origin{CSV: "a", SQLite: "b"}}, []string{"j.source.sqlite: csv and sqlite cannot be read together; keep one of them; write a job for each"}},
		"no query":                       {Job{Campaign: campaign, Source: lists.Origin{SQLite: "b"}}, []string{"j.source.query: is missing: a database needs a query; write what to select: select phone, first_name from customers"}},
		"a query for a file":             {Job{Campaign: campaign, Source: lists.Origin{CSV: "a", Query: "select 1"}}, []string{"j.source.query: only a database has a query, and this is csv; remove it"}},
		"a query that writes":            {Job{Campaign: campaign, Source: lists.Origin{SQLite: "b", Query: " delete from x"}}, []string{"j.source.query: does not look like a question; the session is read-only, so it will fail: begin with select or with"}},
		"a broken address":               {Job{Campaign: campaign, Source: lists.Origin{Postgres: secret.New("postgres://u:hush@h:port/x"), Query: "select 1"}}, []string{"j.source.postgres: is not the address of a PostgreSQL database; write postgres://user:password@host:5432/name"}},
		"a bad web address":              {Job{Campaign: campaign, Source: lists.Origin{HTTP: &lists.HTTP{URL: "crm.example.com"}}}, []string{"j.source.http.url: is not a web address; write it like https://crm.example.com/api/contacts"}},
		"a password in it":               {Job{Campaign: campaign, Source: lists.Origin{HTTP: &lists.HTTP{URL: "https://a:b@crm.example.com"}}}, []string{"j.source.http.url: an address with a user name or password in it; use user and password beside it"}},
		"a cursor without path":          {Job{Campaign: campaign, Source: lists.Origin{HTTP: &lists.HTTP{URL: "https://crm.example.com", Pages: &lists.Pages{By: "cursor"}}}}, []string{"j.source.http.pages.cursor: is missing; write the path of the next cursor, such as meta.next"}},
		"half a key":                     {Job{Campaign: campaign, Source: lists.Origin{S3: &lists.S3{Bucket: "b", Key: "[", AccessKey: secret.New("a")}}}, []string{"j.source.s3: has one key of the two; set both access_key and secret_key, or none for a public bucket", `j.source.s3.key: "[" is not a pattern; close the bracket, or put a \ in front of it`}},
		"nobody signs in":                {Job{Campaign: campaign, Source: lists.Origin{SFTP: &lists.SFTP{Host: "h", User: "u", Path: "p"}}}, []string{"j.source.sftp: has neither key nor password; set key: ${file:/path/to/key}, or password"}},
		"not a sheet":                    {Job{Campaign: campaign, Source: lists.Origin{Sheet: "https://example.com"}}, []string{"j.source.sheet: is not a link to a Google sheet; copy the link of the sheet: https://docs.google.com/spreadsheets/d/…/edit#gid=0"}},
		"a gap":                          {Job{Campaign: campaign, Source: csv, Columns: columns("var_1", "a", "var_3", "b", "name", "c")}, []string{`j.columns.name: "name" is not a column of a campaign; the service knows phone, var_1, var_2 and so on`, "j.columns: var_2 is missing, and there is var_3; the service counts variables by their place: number them without a gap"}},
		"an empty column":                {Job{Campaign: campaign, Source: csv, Columns: columns("phone", " ")}, []string{`j.columns.phone: there is nothing between {{ and }}; write the name of a column: {{ first_name }}`, "j.columns.phone: is empty; write the name of the column"}},
		"a broken template":              {Job{Campaign: campaign, Source: csv, Columns: columns("var_1", "Hi {{ name")}, []string{`j.columns.var_1: "{{" is not closed; write }} after the value; quotes inside have to be closed, too`}},
		"an unknown filter":              {Job{Campaign: campaign, Source: csv, Columns: columns("var_1", "{{ name | upper }}")}, []string{"j.columns.var_1: | upper is not understood here; after | comes default: or a function with its brackets, such as | lower(); write upper(name)"}},
		"no campaign":                    {Job{Source: csv}, []string{"j.campaign: is missing: deliver: csv creates a campaign; write campaign: {template_id: 1042}"}},
		"an odd campaign name":           {Job{Source: csv, Campaign: &Campaign{Name: "{{ run.dat }}", TemplateID: 1}}, []string{`j.campaign.name: unknown name "dat" in run; did you mean "date"?`}},
		"a canary that looks at nothing": {Job{Source: csv, Deliver: messaging.DeliverPerMessage, Send: &Message{Campaign: "417"}, Canary: &Canary{First: Share{Rows: 1}}}, []string{`j.canary.stop_if: is missing; write stop_if: "failed > 10%"`}},
		"a read that nobody asks about":  {Job{Source: csv, Campaign: campaign, Canary: &Canary{First: Share{Rows: 1}, StopIf: StopIf{Read: new(Percent)}}}, []string{"j.canary.stop_if: nobody asks whether a message was read: tracking.final_status is delivered; set tracking: {final_status: read}, or look at failed alone"}},
		"nothing to send":                {Job{Source: csv, Deliver: messaging.DeliverPerMessage, Campaign: campaign}, []string{"j.send: is missing: deliver: per_message sends a template, a campaign or a text to each row; write send: {template: winback}", "j.campaign: belongs to deliver: csv; remove it, or write deliver: csv"}},
		"no language":                    {Job{Source: csv, Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "t"}}, []string{"j.send.language: the template's language is not known; set it, or defaults.language"}},
		"a bad clock":                    {Job{Source: csv, Campaign: campaign, Cron: "99 99 99 99 99", Country: "gb"}, []string{`j.country: "gb" is not a country; did you mean "GB"?`, `j.cron: "99 99 99 99 99" is no cron line: its minute is "99", and minutes go from 0 to 59; ` + cronHint}},
		"guards without sense":           {Job{Source: csv, Campaign: campaign, Guard: Guard{MaxChange: 0.5, MaxPoints: 1}}, []string{"j.guard.max_points: points cannot be counted without a price table; set api.price, or remove it", "j.guard.max_change: 50% would stop every run; write more than 100%: 300% stops what is more than three times the last run, or less than a third"}},
		"too large":                      {Job{Source: csv, Campaign: campaign, MaxSize: units.Size(10_000_001)}, []string{"j.max_size: 10000001B is more than the service takes; write 10MB or less"}},
		"a long delimiter":               {Job{Source: lists.Origin{CSV: "a", Delimiter: ";;"}, Campaign: campaign}, []string{`j.source.delimiter: ";;" is not a delimiter; write one character, or tab`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.job.Name = "j"
			_, problems := Compile([]Job{tt.job}, Env{})
			got := make([]string, len(problems))
			for i, p := range problems {
				got[i] = p.Error()
				if strings.Contains(got[i], "hush") {
					t.Errorf("a secret is told: %s", got[i])
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColumnsAreFilledIn(t *testing.T) {
	header := []string{"Phone", "First Name", "last_item", "n", "n"}
	facts := map[string]string{"run.date": "2026-05-04"}
	row := lists.Row{"+44", " Ann ", ""}
	tests := map[string]struct{ text, want, trouble, bad string }{
		"a name":                     {"phone", "+44", "", ""},
		"a name with a space":        {"First Name", "Ann", "", ""},
		"the same as a slug":         {"{{ first_name }}", "Ann", "", ""},
		"text around":                {"Hi {{ first_name }}, {{ last_item | default: 'shoes' }}!", "Hi Ann, shoes!", "", ""},
		"an empty cell":              {"last_item", "", "is empty: {{ last_item }}; give it a default", ""},
		"an empty cell, and default": {`{{ last_item | default: "it" }}`, "it", "", ""},
		"text in quotes":             {`"20% off"`, "20% off", "", ""},
		"a fact of the run":          {"{{ run.date }}", "2026-05-04", "", ""},
		"an unknown name":            {"frist_name", "", "", `the source has no column "frist_name"`},
		"a name that is there twice": {"n", "", "", `the source has 2 columns named "n", numbers 4 and 5`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, faults := expressions.CompileRow(columnText(tt.text))
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			f, err := bindText(c, header, facts)
			if tt.bad != "" {
				if err == nil || err.Error() != tt.bad {
					t.Errorf("Bind: %v, want %s", err, tt.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, trouble := f.Fill(row); got != tt.want || trouble != tt.trouble {
				t.Errorf("Fill = %q, %q; want %q, %q", got, trouble, tt.want, tt.trouble)
			}
		})
	}
}

func TestJobsHaveASchema(t *testing.T) {
	var file struct {
		Jobs yamlpos.Ordered[Job] `yaml:"jobs" doc:"Campaigns by the clock."`
	}
	if s := yamlpos.Schema(&file); len(s) == 0 {
		t.Error("no schema")
	}
}
