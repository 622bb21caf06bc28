package ruletest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Env is what tests are read against.
type Env struct {
	Rules simulation.Rules
	Home  *time.Location // of times that name no zone: defaults.timezone
}

// A Test is one test, ready to be played.
type Test struct {
	Name   string
	File   string
	Line   int
	Start  time.Time // in the zone that its times are in
	Live   bool      // triggers in mode shadow send, as if they were live
	Events []Event   // in the order of their times
	Expect []Expected
	Told   bool // Expect says all that is sent, which may be nothing; else nothing is said of it

	Because []string
	Never   []Never

	service []answer
}

// An Event is a webhook that comes.
type Event struct {
	At   time.Time
	Line int

	connector *connectors.Connector
	request   connectors.Request
}

// Expected is a message that is to be sent. What is nil or empty is not looked at.
type Expected struct {
	At                       time.Time
	Trigger                  string
	Step                     int
	Template, Campaign, Text string
	Language, Header, Status string
	Variables                []string
	Phone                    messaging.Phone
	variablesTold            bool
}

// Never is what no message may do.
type Never struct {
	Line  int
	Hours *hours.Rule
	Most  units.Limit
}

// What a file of tests holds. Times are relative to the start, so they are read when that is known.
type written struct {
	Test    string          `yaml:"test" validate:"required" example:"bought, so no reminder"`
	Start   *yamlpos.Node   `yaml:"start" validate:"required" example:"2026-03-02T10:00 Europe/London"`
	Mode    string          `yaml:"mode" validate:"oneof=config live" default:"config"`
	Events  []writtenEvent  `yaml:"events" validate:"required" example:"[{at: +0m, connector: shopify, kind: cart.updated}]"`
	Service []answer        `yaml:"service"`
	Expect  *yamlpos.Node   `yaml:"expect"`
	Because []string        `yaml:"because"`
	Never   []*yamlpos.Node `yaml:"never"`
}

type writtenEvent struct {
	At        *yamlpos.Node     `yaml:"at" validate:"required" example:"+20m"`
	Connector *yamlpos.Node     `yaml:"connector" validate:"required" example:"shopify"`
	Kind      *yamlpos.Node     `yaml:"kind"`
	File      *yamlpos.Node     `yaml:"file"`
	Topic     string            `yaml:"topic"`
	Headers   map[string]string `yaml:"headers"`
	Number    int               `yaml:"number" validate:"min=1,max=999999" default:"1"`
	Set       *yamlpos.Node     `yaml:"set"`
}

// An answer is what the service does about some messages.
type answer struct {
	Template string `yaml:"template"`
	Campaign string `yaml:"campaign"`
	Phone    string `yaml:"phone"`
	Status   string `yaml:"status" validate:"required,oneof=sent delivered read failed rejected in_doubt" example:"failed"`
	Error    string `yaml:"error"`
}

type writtenExpected struct {
	At        *yamlpos.Node `yaml:"at"`
	Trigger   *yamlpos.Node `yaml:"trigger"`
	Step      int           `yaml:"step"`
	Template  *yamlpos.Node `yaml:"template"`
	Campaign  string        `yaml:"campaign"`
	Text      string        `yaml:"text"`
	Language  string        `yaml:"language"`
	Variables *yamlpos.Node `yaml:"variables"`
	Header    string        `yaml:"header"`
	Phone     string        `yaml:"phone"`
	Status    string        `yaml:"status" validate:"oneof=sent delivered read failed in_doubt"`
}

type writtenNever struct {
	Hours    *yamlpos.Node `yaml:"hours"`
	MoreThan *yamlpos.Node `yaml:"more_than"`
}

// Read reads a file of tests. Problems are as check reports those of a config; tests with problems are left out.
func Read(file string, src []byte, env Env) ([]Test, yamlpos.Problems) {
	doc := yamlpos.Options{}.Parse(file, src)
	root := doc.Root()
	if root == nil {
		return nil, doc.Problems()
	}
	if root.Kind() != yamlpos.Sequence || len(root.Items()) == 0 {
		root.Report("a file of tests is a list of tests", `begin each with "- test: what it shows"`)
		return nil, doc.Problems()
	}
	var all []Test
	for _, n := range root.Items() {
		before := doc.Problems().Errors()
		r := reader{env: env, folder: filepath.Dir(file)}
		t := r.test(n)
		if t.File, t.Line = file, line(n); doc.Problems().Errors() == before {
			all = append(all, t)
		}
	}
	return all, doc.Problems()
}

func line(n *yamlpos.Node) int {
	at, _ := n.Pos()
	return at
}

// A reader reads one test.
type reader struct {
	env     Env
	folder  string // that files are named from
	samples int    // that webhooks began from so far
	start   time.Time
}

func (r *reader) test(n *yamlpos.Node) Test {
	var w written
	n.Decode(&w)
	t := Test{Name: w.Test, Live: w.Mode == "live", Because: w.Because, service: w.Service}
	if w.Start != nil && !r.readStart(w.Start) || w.Start == nil {
		return t
	}
	t.Start = r.start
	for i := range w.Events {
		if e, ok := r.event(&w.Events[i]); ok {
			t.Events = append(t.Events, e)
		}
	}
	for i, answers := 0, n.Get("service"); i < len(t.service); i++ {
		if a := &t.service[i]; a.Phone != "" {
			a.Phone = string(readPhone(answers.Items()[i].Get("phone")))
		}
	}
	for i, word := range w.Because {
		if strings.TrimSpace(word) == "" {
			n.Get("because").Report(fmt.Sprintf("[%d] is empty, and would hold whatever happens", i), "write a word of the reason, such as quiet_hours")
		}
	}
	if n.Get("events") != nil && len(w.Events) == 0 {
		n.Get("events").Report("holds no event", "write one such as {at: +0m, connector: shopify, kind: cart.updated}")
	}
	slices.SortStableFunc(t.Events, func(a, b Event) int { return a.At.Compare(b.At) })
	if w.Expect != nil {
		t.Told = true
		t.Expect = r.expected(w.Expect)
	}
	for _, one := range w.Never {
		t.Never = append(t.Never, never(one))
	}
	if w.Expect == nil && len(w.Never) == 0 {
		n.Report("expects nothing at all, so it would hold whatever happens", `write "expect: nothing", a list of messages, or "never:"`)
	}
	return t
}

// zoned are the forms of a time of day on a date.
var zoned = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

func (r *reader) readStart(n *yamlpos.Node) bool {
	text, zone := strings.TrimSpace(n.Text()), r.env.Home
	if at := strings.LastIndexByte(text, ' '); at > 0 && (text[at+1] < '0' || text[at+1] > '9') {
		loaded, err := time.LoadLocation(text[at+1:])
		if err != nil || text[at+1:] == "Local" {
			n.Report(fmt.Sprintf("%q is not a time zone", text[at+1:]), "write an IANA name, such as Europe/London or America/New_York")
			return false
		}
		text, zone = strings.TrimSpace(text[:at]), loaded
	}
	at, ok := clockTime(text, zone)
	if !ok {
		n.Report(fmt.Sprintf("%q is not a time", n.Text()), "write it like 2026-03-02T10:00 Europe/London")
		return false
	}
	if y := at.Year(); y < firstYear || y > lastYear {
		n.Report(fmt.Sprintf("%q is in no year of a shop", n.Text()), fmt.Sprintf("write a date from %d to %d", firstYear, lastYear))
		return false
	}
	r.start = at
	return true
}

const firstYear, lastYear = 2000, 2200 // that a test may begin in

func clockTime(text string, zone *time.Location) (time.Time, bool) {
	for _, form := range zoned {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			return at, at.Format(form) == text // a clock that is put forward leaves an hour out
		}
	}
	return time.Time{}, false
}

// when reads a time of a test: after its start (+20m), or a date and a time of day on the start's clock.
func (r *reader) when(n *yamlpos.Node) (time.Time, bool) {
	text := strings.TrimSpace(n.Text())
	if rest, is := strings.CutPrefix(text, "+"); is {
		d, err := units.ParseDuration(rest)
		if err != nil {
			n.Report(err.Error(), "write how long after the start, such as +20m, +1h30m or +2d")
			return r.start, false
		}
		return r.start.Add(d.D()), true
	}
	at, ok := clockTime(text, r.start.Location())
	switch {
	case !ok:
		n.Report(fmt.Sprintf("%q is not a time", text), "write how long after the start, such as +20m, or a time on its clock, such as "+r.start.Add(time.Hour).Format(zoned[1]))
	case at.Before(r.start):
		n.Report("is before the start of the test", "the start is "+r.start.Format(zoned[1])+" "+r.start.Location().String())
	}
	return at, ok && !at.Before(r.start)
}

// nearMiss is a hint about a name that is not among those that are known.
func nearMiss(name string, known []string, otherwise string) string {
	if near := nearest.Of(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	slices.Sort(known)
	const most = 20
	if len(known) > most {
		known = append(known[:most:most], "…")
	}
	return otherwise + strings.Join(known, ", ")
}

func (r *reader) expected(n *yamlpos.Node) (all []Expected) {
	if n.Kind() == yamlpos.Scalar && n.Text() == "nothing" {
		return nil
	}
	if n.Kind() != yamlpos.Sequence {
		n.Report(`is neither "nothing" nor a list of messages`, "write [{at: +45m, trigger: NAME, template: NAME}]")
		return nil
	}
	for _, item := range n.Items() {
		var w writtenExpected
		item.Decode(&w)
		e := Expected{Campaign: w.Campaign, Text: w.Text, Language: w.Language, Header: w.Header, Status: w.Status, Step: w.Step}
		if w.Phone != "" {
			e.Phone = readPhone(item.Get("phone"))
		}
		if w.At != nil {
			e.At, _ = r.when(w.At)
		}
		if w.Trigger != nil {
			e.Trigger = w.Trigger.Text()
			if names := r.env.Rules.Triggers.Names(); !slices.Contains(names, e.Trigger) {
				w.Trigger.Report(fmt.Sprintf("the config has no trigger %q", e.Trigger), nearMiss(e.Trigger, names, "it has: "))
			}
		}
		if w.Template != nil {
			e.Template = w.Template.Text()
		}
		if w.Variables != nil {
			e.variablesTold = true
			w.Variables.Decode(&e.Variables)
		}
		all = append(all, e)
	}
	return all
}

// wholePhone is an international number without its sign; those that nobody has are good enough for tests.
var wholePhone = regexp.MustCompile(`^[1-9][0-9]{6,14}$`)

// readPhone reads an international number; what is none is reported.
func readPhone(n *yamlpos.Node) messaging.Phone {
	digits := strings.TrimPrefix(strings.ReplaceAll(n.Text(), " ", ""), "+")
	if !wholePhone.MatchString(digits) {
		n.Report(fmt.Sprintf("%q is no phone", n.Text()), "write the whole international number, such as +447700900123")
	}
	phone, _ := messaging.PhoneOf(digits)
	return phone
}

func never(n *yamlpos.Node) Never {
	var w writtenNever
	out := Never{Line: line(n)}
	n.Decode(&w)
	switch {
	case w.Hours != nil && w.MoreThan != nil, w.Hours == nil && w.MoreThan == nil:
		n.Report("says neither hours nor more_than, or both", `write {hours: "21:00-09:00"} or {more_than: 2 per 7d}`)
	case w.Hours != nil:
		window, err := hours.ParseWindow(w.Hours.Text(), hours.Everyday)
		if err != nil {
			w.Hours.Report(words(err))
		}
		out.Hours = &hours.Rule{Windows: []hours.Window{window}}
	default:
		limit, err := units.ParseLimit(w.MoreThan.Text())
		if err != nil {
			w.MoreThan.Report(words(err))
		}
		out.Most = limit
	}
	return out
}

// words are an error of a quantity and how to write it.
func words(err error) (msg, hint string) {
	if h, is := err.(*units.Error); is { //nolint:errorlint // they are returned as they are
		return h.Msg, h.Next
	}
	return err.Error(), ""
}

// readFile is a file beside the test.
func (r *reader) readFile(n *yamlpos.Node) ([]byte, bool) {
	path := n.Text()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.folder, path)
	}
	body, err := regular.ReadSmall(path)
	if err == nil {
		return body, true
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path)) // of a folder that is not there there are none
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, filepath.ToSlash(filepath.Join(filepath.Dir(n.Text()), e.Name())))
		}
	}
	msg := "cannot be read: " + err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		msg = "there is no such file"
	}
	n.Report(msg, nearMiss(n.Text(), names, "it is looked for from the folder of the test file, which has: "))
	return nil, false
}

func (a *answer) meets(c *simulation.Call) bool {
	return (a.Template == "" || a.Template == c.Template) && (a.Campaign == "" || a.Campaign == c.Campaign) &&
		(a.Phone == "" || a.Phone == strings.TrimPrefix(c.Phone, "+"))
}

// fate is what the service does about a call: the first answer that means it.
func (t *Test) fate(c simulation.Call) simulation.Fate {
	for i := range t.service {
		if a := &t.service[i]; a.meets(&c) {
			switch a.Status {
			case "rejected":
				return simulation.Fate{Rejected: true, Error: a.Error}
			case string(messaging.StateInDoubt):
				return simulation.Fate{Doubtful: true}
			}
			return simulation.Fate{Status: messaging.Status(a.Status), Error: a.Error}
		}
	}
	return simulation.Fate{}
}
