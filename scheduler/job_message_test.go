package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// sent is what a job hands over for each row of its list, without times and keys.
type sent struct {
	Category messaging.Category
	Send     messaging.Send
}

func TestARowSaysAllThatTheServiceCanSend(t *testing.T) {
	list := listSource{header: []string{"phone", "name", "pic", "doc", "lang", "kind"}, rows: [][]string{
		{"+447911123001", "Ana", "https://cdn.example.com/a.jpg", "17", "de", "utility"},
		{"+447911123002", "Ben", "https://cdn.example.com/b.jpg", "18", "", "Marketing"},
	}}
	variables := columns("var_1", "name")
	header := func(kind, url, file string) *messaging.Header {
		return &messaging.Header{Type: kind, URL: url, Filename: file}
	}
	tests := map[string]struct {
		job  Job
		want []sent
	}{
		"an image, the language and the category by column": {
			Job{Columns: variables, Category: "{{ kind }}", Send: &Message{Template: "t", Language: `{{ lang | default: "en" }}`, Header: &Header{Image: "{{ pic }}"}}},
			[]sent{
				{messaging.Utility, messaging.Send{Template: "t", Language: "de", Variables: []string{"Ana"}, Header: header("image", "https://cdn.example.com/a.jpg", "")}},
				{messaging.Marketing, messaging.Send{Template: "t", Language: "en", Variables: []string{"Ben"}, Header: header("image", "https://cdn.example.com/b.jpg", "")}},
			},
		},
		"a document that is the same for all, under a name of each row": {
			Job{Category: "utility", Send: &Message{Template: "t", Language: "pt_BR", Header: &Header{Document: "https://cdn.example.com/terms.pdf", Filename: "Terms {{ doc }}.pdf"}}},
			[]sent{
				{messaging.Utility, messaging.Send{Template: "t", Language: "pt_BR", Variables: []string{}, Header: header("document", "https://cdn.example.com/terms.pdf", "Terms 17.pdf")}},
				{messaging.Utility, messaging.Send{Template: "t", Language: "pt_BR", Variables: []string{}, Header: header("document", "https://cdn.example.com/terms.pdf", "Terms 18.pdf")}},
			},
		},
		"a campaign": {
			Job{Send: &Message{Campaign: "417"}},
			[]sent{{messaging.Marketing, messaging.Send{Campaign: "417", Variables: []string{}}}, {messaging.Marketing, messaging.Send{Campaign: "417", Variables: []string{}}}},
		},
		"a text": {
			Job{Send: &Message{Text: "Hi {{ name }},\nnumber {{ doc }} is \"ready\""}},
			[]sent{
				{messaging.Marketing, messaging.Send{Text: "Hi Ana,\nnumber 17 is \"ready\"", Variables: []string{}}},
				{messaging.Marketing, messaging.Send{Text: "Hi Ben,\nnumber 18 is \"ready\"", Variables: []string{}}},
			},
		},
		"a text that is the same for all": {
			Job{Send: &Message{Text: "We are open again."}},
			[]sent{{messaging.Marketing, messaging.Send{Text: "We are open again.", Variables: []string{}}}, {messaging.Marketing, messaging.Send{Text: "We are open again.", Variables: []string{}}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.job.Cron, tt.job.Deliver = "0 10 * * *", messaging.DeliverPerMessage
			if tt.job.Columns == nil {
				tt.job.Columns = columns("phone", "phone")
			}
			d := begin(t, jobOf(t, list, tt.job))
			d.crashAt = "SaveParts" // and another process hands over what this one built
			fireDue(t, d)
			d.revive()
			d.open("two")
			d.Use([]*Compiled{jobOf(t, list, Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "another since a reload"}})})
			d.settle(t)
			var got []sent
			for n := int64(1); n <= 2; n++ {
				got = append(got, sent{d.queued[1][n].Category, d.queued[1][n].Send})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestARowThatCannotBeSentIsExcludedAndTheOthersGo(t *testing.T) {
	good := []string{"", "https://cdn.example.com/a.jpg", "a.pdf", "en", "utility", "Hello"}
	rows := [][]string{good}
	for i, cell := range []string{"", "", "", "", "newsletter", ""} {
		row := append([]string(nil), good...)
		row[i] = cell
		rows = append(rows, row)
	}
	rows = append(rows, []string{"", "http://10.0.0.8/a.jpg", "a.pdf", "en", "utility", "Hello"}, []string{"", "a.jpg", "a.pdf", "en", "utility", "Hello"},
		[]string{"", "https://cdn.example.com/a.jpg", "a.pdf", "en", "utility", strings.Repeat("ä", 4097)},
		[]string{"", "https://cdn.example.com/a.jpg", "a.pdf", "British English", "utility", "Hello"},
		[]string{"", "https://cdn.example.com/a.jpg", "a.pdf", "en" + strings.Repeat("_ab", 100), "utility", "Hello"},
		[]string{"", "https://us:secret@cdn.example.com/a.jpg", "a.pdf", "en", "utility", "Hello"})
	for i := range rows {
		rows[i][0] = fmt.Sprintf("+4479111230%02d", i)
	}
	list := listSource{header: []string{"phone", "pic", "file", "lang", "kind", "words"}, rows: rows}
	tests := map[string]struct {
		job  Job
		kept int64
		want []messaging.Excluded
	}{
		"a template": {
			Job{Category: "{{ kind }}", Send: &Message{Template: "t", Language: "{{ lang }}", Header: &Header{Document: "{{ pic }}", Filename: "{{ file }}"}}},
			4,
			[]messaging.Excluded{
				{Kind: KindSend, Reason: `the header's document: "http://10.0.0.8/a.jpg" cannot be fetched from outside: its host is not one of the public internet`, Count: 3, First: 9},
				{Kind: KindSend, Reason: `the language is “British English”: want a code such as en or pt_BR, as the template has it`, Count: 2, First: 12},
				{Kind: KindSend, Reason: "the header's document is empty: {{ pic }}; give it a default", Count: 1, First: 4},
				{Kind: KindSend, Reason: "the header's file name is empty: {{ file }}; give it a default", Count: 1, First: 5},
				{Kind: KindSend, Reason: "the language is empty: {{ lang }}; give it a default", Count: 1, First: 6},
				{Kind: KindSend, Reason: `the category is “newsletter”: want marketing, utility or authentication`, Count: 1, First: 7},
			},
		},
		"a text": {
			Job{Send: &Message{Text: "{{ words }}"}},
			11,
			[]messaging.Excluded{
				{Kind: KindSend, Reason: "the text is empty: {{ words }}; give it a default", Count: 1, First: 8},
				{Kind: KindSend, Reason: "the text is 4097 characters long; at most 4096 are sent", Count: 1, First: 11},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.job.Cron, tt.job.Deliver = "0 10 * * *", messaging.DeliverPerMessage
			if tt.job.Columns == nil {
				tt.job.Columns = columns("phone", "phone")
			}
			d := begin(t, jobOf(t, list, tt.job))
			fireDue(t, d)
			r := d.the(t)
			if r.State != messaging.RunDone || r.Tally.Kept != tt.kept || int64(len(d.queued[1])) != tt.kept {
				t.Errorf("%s %q: %d kept, %d queued", r.State, r.Reason, r.Tally.Kept, len(d.queued[1]))
			}
			if diff := cmp.Diff(tt.want, r.Tally.Excluded); diff != "" {
				t.Errorf("excluded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAHeaderWhoseColumnIsMissingFailsTheRunInWords(t *testing.T) {
	d := begin(t, jobOf(t, people(3), Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "t", Header: &Header{Image: "{{ pic }}"}}}))
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunFailed || !strings.HasPrefix(r.Reason, `send.header.image: the source has no column "pic"`) {
		t.Errorf("%s %q", r.State, r.Reason)
	}
}

func TestPointsAreThoseOfEachRowsCategory(t *testing.T) {
	list := listSource{header: []string{"phone", "kind"}, rows: [][]string{{"+447911123001", "utility"}, {"+447911123002", "marketing"}, {"+447911123003", "authentication"}}}
	job := jobOf(t, list, Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Category: "{{ kind }}", Columns: columns("phone", "phone"), Send: &Message{Campaign: "417"}, Guard: Guard{MaxPoints: 12}})
	d := begin(t, job)
	d.Prices = func(string) Prices {
		return prices(func(c messaging.Category, _ string) float64 {
			return map[messaging.Category]float64{messaging.Marketing: 10, messaging.Utility: 2, messaging.Authentication: 1}[c]
		})
	}
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunAwaiting || r.Tally.Points != 13 || r.Reason != "13 points are more than guard.max_points, 12" {
		t.Errorf("%s %q: %v points", r.State, r.Reason, r.Tally.Points)
	}
}

func TestAnotherPictureMakesAnotherList(t *testing.T) {
	job := func(pic string, m *Message) *Compiled {
		list := listSource{header: []string{"phone", "pic"}, rows: [][]string{{"+447911123001", pic}}}
		return jobOf(t, list, Job{Cron: "* * * * *", Deliver: messaging.DeliverPerMessage, Columns: columns("phone", "phone"), Send: m})
	}
	own := &Message{Template: "t", Header: &Header{Image: "{{ pic }}"}}
	d := begin(t, job("https://cdn.example.com/a.jpg", own))
	for i, next := range []struct {
		job  *Compiled
		want messaging.RunState
	}{
		{job("https://cdn.example.com/a.jpg", own), messaging.RunDone},
		{job("https://cdn.example.com/a.jpg", own), messaging.RunAwaiting},
		{job("https://cdn.example.com/b.jpg", own), messaging.RunDone},
		{job("https://cdn.example.com/b.jpg", &Message{Text: "one"}), messaging.RunDone},
		{job("https://cdn.example.com/b.jpg", &Message{Text: "two"}), messaging.RunDone},
		{job("https://cdn.example.com/b.jpg", &Message{Text: "two"}), messaging.RunAwaiting},
	} {
		d.Use([]*Compiled{next.job})
		fireDue(t, d)
		if r := d.the(t); r.State != next.want {
			t.Errorf("run %d is %s %q, want %s", i+1, r.State, r.Reason, next.want)
		} else if r.State == messaging.RunAwaiting {
			if err := d.Cancel(t.Context(), r.ID, "Ann"); err != nil {
				t.Fatal(err)
			}
		}
		d.advance(60e9)
	}
}

func TestWhatARowMaySayIsChecked(t *testing.T) {
	csv := lists.Origin{CSV: "a.csv"}
	per := messaging.DeliverPerMessage
	tests := map[string]struct {
		job  Job
		want []string
	}{
		"two at once": {Job{Send: &Message{Template: "t", Language: "en", Text: "x"}}, []string{
			"j.send.text: template and text cannot be sent together; keep one of them; write a job for each",
			"j.send.text: plain texts cannot be sent: their endpoint is not known; set api.text_path to the path of the service's text endpoint",
		}},
		"nothing":                {Job{Send: &Message{}}, []string{"j.send: there is nothing to send; name a template, a campaign or a text"}},
		"a template by column":   {Job{Send: &Message{Template: "{{ t }}", Language: "en"}}, []string{"j.send.template: it cannot depend on the row; name it in plain letters; use several jobs for several of them"}},
		"variables of a text":    {Job{Columns: columns("var_1", "a"), Send: &Message{Campaign: "417"}}, []string{"j.columns.var_1: variables belong to a template, and there is none; remove it, or name a template; a text has {{ column }} in it"}},
		"a language of a text":   {Job{Send: &Message{Campaign: "417", Language: "en"}}, []string{"j.send.language: language belongs to a template, and there is none; remove it, or name a template"}},
		"a bare column":          {Job{Send: &Message{Template: "t", Language: "en", Header: &Header{Image: "picture_url"}}}, []string{`j.send.header.image: "picture_url" is not an absolute http or https address; for the value write {{ picture_url }}; write an address such as https://shop.example/picture.jpg`}},
		"two media":              {Job{Send: &Message{Template: "t", Language: "en", Header: &Header{Image: "{{ a }}", Video: "{{ b }}"}}}, []string{"j.send.header.video: a template has one header, and here are image and video; keep one of them"}},
		"no media":               {Job{Send: &Message{Template: "t", Language: "en", Header: &Header{}}}, []string{"j.send.header: the header has no media; write {image: …}, {video: …} or {document: …}"}},
		"a file name of a video": {Job{Send: &Message{Template: "t", Language: "en", Header: &Header{Video: "{{ a }}", Filename: "x"}}}, []string{"j.send.header.filename: only a document has a file name; remove it"}},
		"a host from inside":     {Job{Send: &Message{Template: "t", Language: "en", Header: &Header{Image: "http://localhost/a.png"}}}, []string{`j.send.header.image: "http://localhost/a.png" cannot be fetched from outside: its host is not one of the public internet; write an address such as https://shop.example/picture.jpg`}},
		"not encrypted":          {Job{Send: &Message{Template: "t", Language: "en", Header: &Header{Image: "http://cdn.example.com/a.png"}}}, []string{`j.send.header.image: "http://cdn.example.com/a.png" is not encrypted, and a messaging network may not fetch it; write https:// where the server has it`}},
		"a column for a code":    {Job{Send: &Message{Template: "t", Language: "lang"}}, []string{`j.send.language: "lang" does not look like the code of a language; write a code such as en or pt_BR; for a column write '{{ lang }}'`}},
		"broken brackets":        {Job{Category: "{{ a", Send: &Message{Template: "t", Language: "en", Header: &Header{Image: "{{ b"}}}, []string{`j.send.header.image: "{{" is not closed; write }} after the value; quotes inside have to be closed, too`, `j.category: "{{" is not closed; write }} after the value; quotes inside have to be closed, too`}},
		"a category in a file":   {Job{Deliver: messaging.DeliverCSV, Category: "{{ a }}", Campaign: &Campaign{TemplateID: 1}}, []string{"j.category: a file that is uploaded has one category, and no row can say its own; write one category, or deliver: per_message"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.job.Name, tt.job.Source = "j", csv
			if tt.job.Deliver == "" {
				tt.job.Deliver = per
			}
			_, problems := Compile([]Job{tt.job}, Env{})
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	_, problems := decodeJobs(t, "jobs:\n  a:\n    source: {csv: a.csv}\n    category: utilty\n")
	if got := fmt.Sprint(problems); got != `config.yaml:4:15: jobs.a.category: "utilty" is not known here; did you mean "utility"?` {
		t.Error(got)
	}
}
