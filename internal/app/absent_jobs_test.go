package app_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/scheduler"
)

// The table of meetings of a job that leaves the config, is renamed, turned off or changed, with every brake of a job, in every
// state of a run. It is asked of a whole daemon: what counts is what the service was sent.

// A jobBrake is what holds the rows of a run back.
type jobBrake struct {
	keys    []string // of a job, that make it
	yaml    string
	deliver []string
	most    int                                   // rows of three that may leave
	bites   func(h *house, phones []string)       // makes it hold, once the run is in its state; nil where it does by itself
	holds   func(h *house, r server.RunView) bool // what shows that it does
	waits   bool                                  // a run that it holds stays open
}

const (
	byFile = "campaign: {name: '{{ run.job }}', template_id: 7}"
	byRow  = "deliver: per_message, send: {template: winback, expires: 24h}"
	inHour = "deliver: per_message, send: {template: winback, expires: 1h}"
)

// nowQuiet are quiet hours that have begun and do not end soon.
func nowQuiet() string {
	now := time.Now().UTC()
	return now.Add(-2*time.Hour).Format("15:04") + "-" + now.Add(6*time.Hour).Format("15:04")
}

// passedInBritain is a time of day that was there an hour ago, so that it does not come soon.
func passedInBritain() string {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		panic(err)
	}
	return time.Now().In(london).Add(-time.Hour).Format("15:04")
}

func jobBrakes() map[string]jobBrake {
	nobody := func(h *house, r server.RunView) bool { // all rows are excluded, or their messages dropped
		if r.Deliver == messaging.DeliverCSV {
			return r.State == messaging.RunDone
		}
		return r.State == messaging.RunDone && (r.Tally.Kept == 0 || len(h.rowsOf(r, messaging.StateDropped)) == 3)
	}
	waits := func(what messaging.RunWait) func(*house, server.RunView) bool {
		return func(_ *house, r server.RunView) bool { return r.Waits == what }
	}
	return map[string]jobBrake{
		"quiet hours": {
			keys: []string{"quiet_hours", "timezone"}, yaml: `quiet_hours: "` + nowQuiet() + `"`, deliver: []string{byFile, byRow}, waits: true,
			holds: func(h *house, r server.RunView) bool {
				if r.Deliver == messaging.DeliverCSV {
					return r.Waits == messaging.WaitQuietHours
				}
				rows := h.rowsOf(r, messaging.StateWaiting)
				return len(rows) == 3 && !slices.ContainsFunc(rows, func(m server.MessageView) bool { return !strings.Contains(m.Reason, "quiet hours") })
			},
		},
		"max_defer": {
			keys: []string{"quiet_hours"}, yaml: `quiet_hours: {hours: "` + nowQuiet() + `", max_defer: 1m}`, deliver: []string{byRow}, holds: nobody,
		},
		"expires": { // before the quiet hours end
			keys: []string{"send"}, yaml: `quiet_hours: "` + nowQuiet() + `"`, deliver: []string{inHour}, holds: nobody,
		},
		"contacts of the account": {
			keys: []string{"account"}, yaml: "account: tight", deliver: []string{byFile, byRow}, waits: true,
			holds: func(h *house, r server.RunView) bool {
				if r.Deliver == messaging.DeliverCSV {
					return r.Waits == messaging.WaitLimits
				}
				rows := h.rowsOf(r, messaging.StateWaiting)
				return len(rows) == 3 && !slices.ContainsFunc(rows, func(m server.MessageView) bool { return !strings.Contains(m.Reason, "marketing may reach 1") })
			},
		},
		"limit": {keys: []string{"limit"}, yaml: "limit: 0 per day", deliver: []string{byFile, byRow}, holds: nobody},
		"consent": {
			keys: []string{"consent"}, yaml: "consent: required", deliver: []string{byFile, byRow}, holds: nobody,
			bites: func(h *house, phones []string) { h.consents(messaging.ConsentWithdrawn, phones...) },
		},
		"messaged lately": {
			keys: []string{"exclude"}, yaml: "exclude: {messaged_within: 7d}", deliver: []string{byFile, byRow}, holds: nobody, most: 3, // the three by hand
			bites: func(h *house, phones []string) {
				for _, p := range phones {
					if _, err := server.SendMessage.Call(h.t.Context(), h.ask, server.SendRequest{Phone: p, Send: messaging.Send{Template: "other", Language: "en"}}); err != nil {
						h.t.Fatal(err)
					}
				}
				h.eventually("they are messaged", func() bool { return h.sentTo(phones) == len(phones) })
			},
		},
		"time of day": {
			keys: []string{"at"}, yaml: `at: "` + passedInBritain() + `"`, deliver: []string{byFile, byRow}, waits: true,
			holds: func(h *house, r server.RunView) bool {
				if r.Deliver == messaging.DeliverCSV {
					return r.Waits == messaging.WaitAt
				}
				rows := h.rowsOf(r, messaging.StateWaiting)
				return len(rows) == 3 && !slices.ContainsFunc(rows, func(m server.MessageView) bool { return !m.DueAt.After(time.Now().Add(20 * time.Hour)) })
			},
		},
		"rate":   {keys: []string{"rate"}, yaml: "rate: 1/h", deliver: []string{byRow}, most: 1, holds: waits(messaging.WaitRate), waits: true},
		"canary": {keys: []string{"canary"}, yaml: `canary: {first: 1, wait: 2h, stop_if: "failed > 10%"}`, deliver: []string{byFile, byRow}, most: 1, holds: waits(messaging.WaitCanary), waits: true},
		"guard": {
			keys: []string{"guard"}, yaml: "guard: {approve_over: 1}", deliver: []string{byFile, byRow}, waits: true,
			holds: func(_ *house, r server.RunView) bool { return r.State == messaging.RunAwaiting },
		},
	}
}

// noBrakes are the keys of a job that hold nothing back of a run that was begun, and why.
var noBrakes = map[string]string{
	"cron": "when it is fired", "on_missed": "when it is fired", "overlap": "when it is fired", "mode": "an edit of the table", "was": "whose memory it has",
	"source": "what is read", "columns": "what is read", "phones": "what is read", "country": "what is read", "unique": "what is read", "max_size": "how it is cut",
	"campaign": "what is sent", "deliver": "how it is sent", "category": "stored with the run",
}

// A new key of a job stands in the table, or says why it holds nothing back.
func TestEachKeyOfAJobIsInTheTable(t *testing.T) {
	t.Parallel()
	known := maps.Clone(noBrakes)
	for name, b := range jobBrakes() {
		for _, key := range b.keys {
			known[key] = name
		}
	}
	allInTheTable(t, "jobs", reflect.TypeFor[scheduler.Job](), known)
}

// allInTheTable reports each key of a section that is not known: neither the key of a brake, nor said to be none.
func allInTheTable(t *testing.T, section string, of reflect.Type, known map[string]string) {
	t.Helper()
	for _, key := range yamlKeys(of) {
		if known[key] == "" {
			t.Errorf("%s.*.%s is in no row of the table of meetings: write a brake for it, or why it is none", section, key)
		}
	}
}

// yamlKeys are the keys of a section as it is written.
func yamlKeys(of reflect.Type) (keys []string) {
	for f := range of.Fields() {
		switch key, rest, _ := strings.Cut(f.Tag.Get("yaml"), ","); {
		case key == "-":
		case rest == "inline":
			keys = append(keys, yamlKeys(f.Type)...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// The states in which a run meets the edit.
var runStates = []string{"planned", "building", "awaiting approval", "held back", "paused"}

// A jobCell is one run in one state, held back by one brake.
type jobCell struct {
	brake   jobBrake
	name    string // of the brake
	job     string
	deliver string
	state   string
	phones  []string
	run     messaging.RunID
}

func (c *jobCell) String() string {
	how := "by file"
	if c.deliver != byFile {
		how = "row by row"
	}
	return c.name + ", " + how + ", " + c.state
}

func jobCells() (cells []*jobCell) {
	brakes := jobBrakes()
	for _, name := range slices.Sorted(maps.Keys(brakes)) {
		b := brakes[name]
		for _, deliver := range b.deliver {
			for _, state := range runStates {
				if state == "held back" && !b.waits {
					continue
				}
				c := &jobCell{brake: b, name: name, deliver: deliver, state: state, job: fmt.Sprintf("job%d", len(cells))}
				for i := range 3 { // none of which ends like those that the sandbox lets fail: another message may have its number after the restart
					c.phones = append(c.phones, fmt.Sprintf("+44791%07d", 1_000_010+10*len(cells)+i))
				}
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// yaml is the job of a cell by a name.
func (c *jobCell) yaml(name, lists, more string) string {
	guard := ""
	if c.state == "awaiting approval" && c.name != "guard" || c.state == "paused" && !c.brake.waits {
		guard = ", guard: {approve_over: 1}"
	}
	return fmt.Sprintf("  %s: {source: {http: {url: \"%s/%s\", format: csv, allow_private: true}}, columns: {phone: phone}, %s, %s%s%s}\n", name, lists, c.job, c.deliver, c.brake.yaml, guard, more)
}

// lists gives the lists of all cells over HTTP; those of runs that are planned or building come once it is opened.
type lists struct {
	*httptest.Server
	open func()
}

func listsOf(t *testing.T, cells []*jobCell) lists {
	open := make(chan struct{})
	by := map[string]*jobCell{}
	for _, c := range cells {
		by["/"+c.job] = c
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := by[r.URL.Path]
		if c.state == "planned" || c.state == "building" {
			select {
			case <-open:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "text/csv")
		fmt.Fprint(w, "phone\n"+strings.Join(c.phones, "\n")+"\n")
	}))
	l := lists{s, sync.OnceFunc(func() { close(open) })}
	t.Cleanup(func() { l.open(); s.Close() })
	return l
}

// rowsOf are the messages of a run in a state. Those that had ended before their job was renamed keep its old name.
func (h *house) rowsOf(r server.RunView, s messaging.State) (rows []server.MessageView) {
	h.t.Helper()
	for _, name := range slices.Compact([]string{r.Job, strings.TrimSuffix(r.Job, "-2")}) {
		all, err := server.ListMessages.Call(h.t.Context(), h.ask, server.ListQuery{Trigger: name, Limit: 100})
		if err != nil {
			h.t.Fatal(err)
		}
		rows = append(rows, all...)
	}
	return slices.DeleteFunc(rows, func(m server.MessageView) bool { return m.State != s })
}

// consents records a word of contacts.
func (h *house) consents(word messaging.Consent, phones ...string) {
	h.t.Helper()
	var rows []server.ConsentRow
	for _, p := range phones {
		rows = append(rows, server.ConsentRow{Phone: p, Consent: word})
	}
	if _, err := server.RecordConsents.Call(h.t.Context(), h.ask, server.ConsentRequest{Rows: rows}); err != nil {
		h.t.Fatal(err)
	}
}

// sentTo is how many messages the service took for these phones.
func (h *house) sentTo(phones []string) (n int) {
	for _, p := range phones {
		n += h.service.Accepted(p[1:])
	}
	return n
}

// start begins the run of a cell.
func (c *jobCell) start(h *house) {
	h.t.Helper()
	if c.name == "consent" {
		h.consents(messaging.ConsentGiven, c.phones...)
	}
	r, err := server.RunJob.Call(h.t.Context(), h.ask, server.JobOrder{Job: c.job})
	if err != nil {
		h.t.Fatal(err)
	}
	c.run = r.ID
}

// reach takes the run of a cell to its state.
func (c *jobCell) reach(h *house) {
	h.t.Helper()
	in := func(ok func(server.RunView) bool) {
		h.eventually(c.String(), func() bool {
			r := h.run(c.run)
			if r.State.Final() && r.State != messaging.RunDone {
				h.t.Fatalf("%s: it is %s %q before the edit", c, r.State, r.Reason)
			}
			return ok(r)
		})
	}
	is := func(s messaging.RunState) func(server.RunView) bool {
		return func(r server.RunView) bool { return r.State == s }
	}
	switch {
	case c.state == "planned":
		in(is(messaging.RunPlanned))
	case c.state == "building":
		in(is(messaging.RunBuilding))
	case c.state == "awaiting approval" || !c.brake.waits:
		in(is(messaging.RunAwaiting))
	default:
		in(func(r server.RunView) bool { return c.brake.holds(h, r) })
	}
	if c.state == "paused" {
		c.pause(h)
	}
	if c.brake.bites != nil {
		c.brake.bites(h, c.phones)
	}
}

// pause pauses the run of a cell, which may move on at that moment.
func (c *jobCell) pause(h *house) {
	h.t.Helper()
	h.eventually(c.String()+" is paused by a person", func() bool {
		r, err := server.PauseRun.Call(h.t.Context(), h.ask, c.run)
		return err == nil && r.State == messaging.RunPaused
	})
}

// goOn has a person let the run of a cell go on, if it is one that stands still.
func (c *jobCell) goOn(h *house) server.RunView {
	h.t.Helper()
	r := h.run(c.run)
	switch {
	case r.State == messaging.RunPaused:
		h.order(c.run, "resume")
	case r.State == messaging.RunAwaiting && c.name != "guard":
		h.order(c.run, "approve")
	}
	return r
}

// released has a person let the run of a cell go on, whatever it waits for, and waits until its brake holds.
func (c *jobCell) released(t *testing.T, h *house, before int) {
	t.Helper()
	h.eventually(c.String()+" is held back", func() bool {
		r := c.goOn(h)
		if r.State == messaging.RunPaused || r.State == messaging.RunAwaiting && c.name != "guard" {
			return false
		}
		if holds := c.brake.holds(h, r); holds || !r.State.Final() || r.Deliver == messaging.DeliverPerMessage {
			return holds
		}
		t.Errorf("%s: it is %s %q", c, r.State, r.Reason)
		return true
	})
	if n := before + h.sentTo(c.phones); n > c.brake.most {
		t.Errorf("%s: %d of three rows left, and %d may", c, n, c.brake.most)
	}
}

// release has all go on at once, and then looks at each.
func release(t *testing.T, h *house, cells []*jobCell, before map[*jobCell]int) {
	t.Helper()
	for _, c := range cells {
		c.goOn(h)
	}
	for _, c := range cells {
		c.released(t, h, before[c])
	}
}

// An edit is what becomes of all jobs.
type jobEdit struct {
	yaml  func(c *jobCell, lists string) string
	holds string // why the runs are paused by it; "" where they go on
}

var jobEdits = map[string]jobEdit{
	"leaves":                    {func(*jobCell, string) string { return "" }, "is gone from the config"},
	"is renamed":                {func(c *jobCell, lists string) string { return c.yaml(c.job+"-2", lists, ", was: "+c.job) }, ""},
	"is renamed without a word": {func(c *jobCell, lists string) string { return c.yaml(c.job+"-2", lists, "") }, "is gone from the config"},
	"is off":                    {func(c *jobCell, lists string) string { return c.yaml(c.job, lists, ", mode: off") }, "is off"},
	"is changed": {func(c *jobCell, lists string) string {
		return strings.NewReplacer("template_id: 7", "template_id: 8", "template: winback", "template: spring").Replace(c.yaml(c.job, lists, ""))
	}, ""},
}

func TestAJobThatIsEditedKeepsItsBrakes(t *testing.T) {
	t.Parallel()
	for name, edit := range jobEdits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cells := jobCells()
			lists := listsOf(t, cells)
			building := 0
			config := func(job func(c *jobCell) string) string {
				text := "\ndefaults: {country: GB, language: en, timezone: UTC}\naccounts: {tight: {key: " + brandKey + ", limits: {unique_contacts: 1 per 24h}}}\nserver: {listen: \"127.0.0.1:0\", lists_at_once: " + fmt.Sprint(building) + "}\njobs:\n"
				jobs := ""
				for _, c := range cells {
					jobs += job(c)
				}
				if jobs == "" {
					jobs = "  other: {source: {http: {url: \"" + lists.URL + "/other\", format: csv, allow_private: true}}, campaign: {template_id: 7}}\n"
				}
				return text + jobs
			}
			for _, c := range cells {
				if c.state == "building" {
					building++
				}
			}
			folder := t.TempDir()
			before := config(func(c *jobCell) string { return c.yaml(c.job, lists.URL, "") })
			after := config(func(c *jobCell) string { return edit.yaml(c, lists.URL) })
			keys := sandbox.Options{Keys: []string{brandKey}}
			h := open(t, options{folder: folder, config: before, sandbox: keys})
			first := server.SendRequest{Phone: phone(0), Account: "tight", Send: messaging.Send{Template: "first", Language: "en"}}
			if _, err := server.SendMessage.Call(t.Context(), h.ask, first); err != nil {
				t.Fatal(err)
			}
			h.eventually("the account has its contact", func() bool { return h.service.Accepted(phone(0)[1:]) == 1 })
			for _, state := range []string{"awaiting approval", "held back", "paused", "building", "planned"} {
				for _, step := range []func(*jobCell, *house){(*jobCell).start, (*jobCell).reach} {
					for _, c := range cells {
						if c.state == state {
							step(c, h)
						}
					}
				}
			}
			left := map[*jobCell]int{}
			for _, c := range cells {
				left[c] = h.sentTo(c.phones)
			}
			h.edit(before, after)
			dry, err := waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))
			if err != nil {
				t.Fatal(err)
			}
			v, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cells {
				named := func(all []preview.RuleChange) bool {
					return slices.ContainsFunc(all, func(one preview.RuleChange) bool {
						if name == "is renamed" { // it takes nothing from the run
							return one.Was == c.job && one.Job == c.job+"-2" && one.Done
						}
						return one.Run == c.run && strings.HasPrefix(one.Words(), fmt.Sprintf("run %d of %s (", c.run, c.job))
					})
				}
				if !named(dry) || !named(v.Changes) {
					t.Errorf("%s: the dry run names its run: %v, the reload: %v", c, named(dry), named(v.Changes))
				}
			}
			lists.open()
			if edit.holds != "" {
				for _, c := range cells {
					h.eventually(c.String()+" is paused", func() bool { return h.run(c.run).State == messaging.RunPaused })
					if r := h.run(c.run); c.state != "paused" && (r.Stopped != messaging.StopConfig || !strings.Contains(r.Reason, edit.holds)) {
						t.Errorf("%s: paused by %q: %s", c, r.Stopped, r.Reason)
					}
					if n := h.sentTo(c.phones); n != left[c] {
						t.Errorf("%s: %d left at the reload", c, n-left[c])
					}
				}
			}
			h.stop()
			h = open(t, options{folder: folder, config: after, sandbox: keys}) // with another service, which begins with no message
			for _, c := range cells {
				if r := h.run(c.run); edit.holds != "" && r.State != messaging.RunPaused {
					t.Errorf("%s: after the restart it is %s %q", c, r.State, r.Reason)
				}
				if n := h.sentTo(c.phones); edit.holds != "" && n != 0 {
					t.Errorf("%s: %d left by the restart", c, n)
				}
			}
			release(t, h, cells, left)
			var again []*jobCell
			for _, c := range cells { // and once more: a pause, and its end
				if r := h.run(c.run); !r.State.Final() && r.State != messaging.RunAwaiting {
					c.pause(h)
					again = append(again, c)
				}
			}
			release(t, h, again, left)
		})
	}
}
