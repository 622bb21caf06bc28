package app_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// randomList is a list with phones of a few people, some of them twice, in several spellings, or unreadable, and its rows' names.
func randomList(r *rand.Rand, people []string) string {
	list := "phone,name\n"
	for range 3 + r.IntN(20) {
		phone := people[r.IntN(len(people))]
		switch r.IntN(8) {
		case 0:
			phone = []string{"", "12345", "none", "4.47911E+11", "+44 7700 9"}[r.IntN(5)]
		case 1:
			phone = "0" + strings.TrimPrefix(phone, "+44")
		case 2:
			phone = phone[:5] + " " + phone[5:]
		}
		list += phone + "," + []string{"Ada", "Bob", "", `"Li, Jr."`}[r.IntN(4)] + "\n"
	}
	return list
}

// randomRules are some of the keys by which a job keeps rows back.
func randomRules(r *rand.Rand) string {
	quiet := nowQuiet()
	rules := ""
	for _, one := range [][]string{
		{"", "consent: required, "},
		{"", "", "limit: 1 per 24h, ", "limit: {count: 1 per 24h, on_hit: drop}, ", "limit: {count: 2 per 7d, max_defer: 1h}, ", "limit: 3 per 7d, "},
		{"", "", "", `quiet_hours: "` + quiet + `", `, `quiet_hours: {hours: "` + quiet + `", on_hit: drop}, `},
		{"", "", "exclude: {messaged_within: 7d}, "},
		{"", "", "category: utility, "},
		{"", "", "unique: off, "},
		{"", "max_size: 1kB, "},
	} {
		rules += one[r.IntN(len(one))]
	}
	return rules
}

// alike takes out of a reason what is of one row alone.
var ofRow = regexp.MustCompile(`["“][^"”]*["”]|[0-9]+|\(.*\)`)

func alike(reason string) string {
	common, _, _ := strings.Cut(reason, ", by ")
	if strings.Contains(reason, "sent to this contact") {
		common = "the contact is over its limit"
	}
	return ofRow.ReplaceAllString(common, "_")
}

// What a forecast says of random lists under random rules is what the run does: which rows leave, which wait, which are left out and why. Some
// runs await approval, while their people are blocked or withdraw: then what approving would send is what it sends.
func TestForecastsOfRandomListsAreTheTruth(t *testing.T) {
	t.Parallel()
	const lists, crowd = 50, 30
	r := rand.New(rand.NewPCG(28, 1))
	folder := t.TempDir()
	var people []string
	for i := range crowd {
		people = append(people, fmt.Sprintf("+4477009008%02d", i))
	}
	config := "defaults: {country: GB, language: en}\njobs:\n"
	var jobs []string
	for i := range lists {
		name := fmt.Sprintf("list-%02d", i)
		file := filepath.Join(folder, name+".csv")
		if err := os.WriteFile(file, []byte(randomList(r, people)), 0o600); err != nil {
			t.Fatal(err)
		}
		columns := []string{"phone: phone", `phone: phone, var_1: "{{ name }}"`, `phone: phone, var_1: "{{ name | default: \"you\" }}, ` + strings.Repeat("so that files fill up ", 5) + `"`}[r.IntN(3)]
		rules, how := randomRules(r), []string{byRow, byFile}[r.IntN(2)]
		if i%3 == 0 {
			rules += "guard: {approve_over: 1, repeat: send}, "
		}
		job := fmt.Sprintf("  %s: {source: {csv: %q}, columns: {%s}, %s%s}\n", name, file, columns, rules, how)
		config += job
		jobs = append(jobs, job)
	}
	h := open(t, options{folder: folder, config: config})
	h.consents(messaging.ConsentGiven, people[:20]...)
	h.consents(messaging.ConsentWithdrawn, people[17:20]...)
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: people[:1]}); err != nil {
		t.Fatal(err)
	}
	met := map[string]int{}
	for i, job := range jobs {
		name := fmt.Sprintf("list-%02d", i)
		f, err := server.ForecastJob.Call(t.Context(), h.ask, name)
		if err != nil {
			t.Fatal(err)
		}
		run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: name, Approve: i%3 != 0})
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 && h.ended(run.ID).State == messaging.RunAwaiting {
			met["awaited"]++
			if i%2 == 0 { // what changes meanwhile is what counts
				if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: people[1+i/6 : 2+i/6]}); err != nil {
					t.Fatal(err)
				}
			}
			if f, err = server.ForecastRun.Call(t.Context(), h.ask, run.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := server.ApproveRun.Call(t.Context(), h.ask, run.ID); err != nil {
				t.Fatal(err)
			}
		}
		want := forecastRows(&f)
		var got map[string]int
		h.eventually(fmt.Sprintf("what was foretold of\n%swant %v", job, want), func() bool {
			became, shown := h.becameOf(run.ID)
			if !maps.Equal(became, got) {
				got = became
				t.Logf("%s: %v", name, got)
			}
			if f.Nothing != "" { // its list may not have been read
				return h.ended(run.ID).State.Final() && got["leaves"]+got["waits"] == 0
			}
			return maps.Equal(got, want) && slices.Equal(shown[:min(len(shown), len(f.First))], firstPhones(&f))
		})
		for what, n := range want {
			met[what] += n
		}
		if want["waits"] > 0 { // the next job is to meet what was sent, and nothing that waits
			if _, err := server.CancelRun.Call(t.Context(), h.ask, run.ID); err != nil {
				t.Fatal(err)
			}
		}
		h.ended(run.ID)
	}
	if met["leaves"] == 0 || met["waits"] == 0 || met["awaited"] == 0 || len(met) < 10 {
		t.Errorf("too little was met: %v", met)
	}
}

// forecastRows are the rows of a forecast: how many leave, wait, and are left out, by why.
func forecastRows(f *server.ForecastView) map[string]int {
	var later int64
	for _, l := range f.Later {
		later = max(later, l.Rows)
	}
	rows := map[string]int{}
	put := func(what string, n int64) {
		if n > 0 {
			rows[what] += int(n)
		}
	}
	if f.Nothing != "" {
		put("none", 1)
		return rows
	}
	put("leaves", f.Tally.Kept-later)
	put("waits", later)
	for _, x := range f.Tally.Excluded {
		put(alike(x.Reason), x.Count)
	}
	return rows
}

func firstPhones(f *server.ForecastView) (phones []string) {
	for _, p := range f.First {
		phones = append(phones, string(p.Phone))
	}
	return phones
}

// becameOf is what became of the rows of a run in the same words, and the phones of those that leave or wait, in their order.
func (h *house) becameOf(id messaging.RunID) (rows map[string]int, phones []string) {
	h.t.Helper()
	rows = map[string]int{}
	all := h.export(id)
	slices.SortStableFunc(all, func(a, b server.RowView) int { return int(a.Row - b.Row) })
	for _, row := range all {
		switch row.State {
		case "accepted":
			rows["leaves"]++
		case "excluded", "dropped", "cancelled":
			rows[alike(row.Reason)]++
			continue
		default:
			rows["waits"]++
		}
		phones = append(phones, row.Phone)
	}
	return rows, phones
}
