package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Env is what jobs depend on outside of themselves.
type Env struct {
	Version  string // of the config
	Folder   string // where relative paths of sources start; "" is the working folder
	Timezone string // of jobs that name none; "" is UTC
	Country  string // of numbers without a country code; "" is not known
	Language string // of templates that name none
	Category messaging.Category
	Priced   bool // there is a price table, so that points can be counted

	TextAllowed bool // api.text_path is set
	ReadKnown   bool // tracking.final_status is read

	Prices, Texts map[string]bool // the same of the further accounts, by name

	Templates messaging.Templates // whose texts are known

	Connectors map[string]triggers.ConnectorInfo // whose events an audience may ask about
}

// A Problem is one thing wrong in a job. Path is within the job, "columns.var_1" or
// "source.http.url", and Offset the byte of the text there.
type Problem struct {
	Job     string
	Path    string
	Offset  int
	Msg     string
	Hint    string // what to do; "" when there is no good advice
	Warning bool   // valid, but probably not what is meant
}

// Error is the problem in one line.
func (p Problem) Error() string {
	text := p.Msg
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Job != "" {
		text = p.Job + "." + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// A Compiled is a job ready to run. It is never changed.
type Compiled struct {
	Job
	Version  string
	schedule *Schedule // nil for a job that only runs by hand
	zone     *time.Location
	zones    *hours.Zones // of contacts
	home     phones.Home  // of numbers without a plus sign
	category messaging.Category
	send     messaging.Send // as it is written: what has {{ }}, each row says
	source   lists.Source
	audience *triggers.Audience // whose contacts the rows are; nil for another source
	columns  *mapping
	title    *expressions.RowText

	templates messaging.Templates // for previews
	language  string              // of templates where neither the job nor a row says it
	unread    string              // why its list cannot be read by it, of a job that left the config; else ""
}

// Schedule is when the job fires; nil when it only runs by hand, or is off.
func (c *Compiled) Schedule() *Schedule {
	if c.Mode == Off {
		return nil
	}
	return c.schedule
}

// Noun is the job as the rest of the program speaks of it.
func (c *Compiled) Noun(now time.Time) messaging.Job {
	j := messaging.Job{
		Name: c.Name, Cron: c.Cron, Timezone: c.zone.String(),
		Source: c.source.String(), Deliver: c.Deliver,
	}
	if c.Campaign != nil {
		j.Campaign = c.Campaign.Name
	}
	if s := c.Schedule(); s != nil {
		if f, ok := s.Next(now); ok {
			j.NextAt = f.At
		}
	}
	return j
}

// Compile checks the jobs and makes them ready, in their order. It reports every problem at
// once; a job with one that is more than a warning is not among them.
func Compile(jobs []Job, env Env) ([]*Compiled, []Problem) {
	var all []*Compiled
	var problems []Problem
	for _, j := range jobs {
		b := &builder{env: env, job: j}
		c := b.build()
		problems = append(problems, b.problems...)
		if !b.failed {
			all = append(all, c)
		}
	}
	return all, problems
}

// Kept is a job as an earlier config had it, for the runs that began with it: whatever is wrong with it, what holds its
// runs back is there. unread says why its list cannot be read again, "" where it can.
func Kept(j Job, env Env, unread string) *Compiled {
	b := &builder{env: env, job: j}
	c := b.build()
	if c.unread = unread; b.failed && unread == "" {
		c.unread = b.problems[slices.IndexFunc(b.problems, func(p Problem) bool { return !p.Warning })].Error()
	}
	return c
}

type builder struct {
	env      Env
	job      Job
	problems []Problem
	failed   bool
}

func (b *builder) bad(path, hint, format string, args ...any) {
	b.failed = true
	b.problems = append(b.problems, Problem{Job: b.job.Name, Path: path, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

func (b *builder) warn(path, hint, format string, args ...any) {
	b.problems = append(b.problems, Problem{Job: b.job.Name, Path: path, Msg: fmt.Sprintf(format, args...), Hint: hint, Warning: true})
}

func (b *builder) err(path string, err error) {
	msg, hint := clockErrorWords(err)
	b.bad(path, hint, "%s", msg)
}

func (b *builder) build() *Compiled {
	j := b.job
	fill(&j)
	c := &Compiled{Job: j, Version: b.env.Version, templates: b.env.Templates, language: b.env.Language, zone: b.zone(j.Timezone), zones: hours.NewZones(b.zone("")), home: phones.Home{Country: cmp.Or(j.Country, b.env.Country), Spelling: j.Phones}}
	if c.category = messaging.Category(j.Category); j.Category == "" || byRow(string(j.Category)) {
		c.category = cmp.Or(b.env.Category, messaging.Marketing)
	}
	if j.Phones == phones.National && c.home.Country == "" {
		b.bad("phones", "set country, or defaults.country", "national numbers are of a country, and none is given")
	}
	if j.Country != "" && !phones.IsCountry(j.Country) {
		hint := "write the two capital letters of ISO 3166, such as GB"
		if upper := strings.ToUpper(j.Country); phones.IsCountry(upper) {
			hint = fmt.Sprintf("did you mean %q?", upper)
		}
		b.bad("country", hint, "%q is not a country", j.Country)
	}
	if j.Cron != "" {
		s, err := ParseSchedule(j.Cron, c.zone)
		if err != nil {
			b.err("cron", err)
		} else if times, often := s.often(); often {
			b.warn("cron", `"0 10 * * MON" is once, at 10:00; "* 10 * * MON" is every minute from 10:00 to 10:59`, "%q fires %d times within an hour, and each time sends to the whole list", j.Cron, times)
		}
		if s != nil && s.eitherDay() {
			b.warn("cron", `write * for the day or for the weekday: "0 10 * * MON" is each Monday, "0 10 1 * *" is the first of each month; the first Monday of a month is a matter of the list's query`,
				"%q fires %s: day and weekday are joined by \"or\", on %d days a year", j.Cron, s.Words(), s.daysAYear())
		}
		c.schedule = s
	}
	c.source = b.source(j.Source)
	if j.Source.Contacts != "" {
		c.audience = b.audience(j.Source.Contacts)
	}
	c.columns = b.columns(j.Columns)
	b.deliver(c)
	b.guard(j)
	return c
}

// fill sets what the YAML decoder sets by default tags, for jobs that were made in Go.
func fill(j *Job) {
	if j.Deliver == "" {
		j.Deliver = messaging.DeliverCSV
	}
	if j.Unique == "" {
		j.Unique = UniquePhone
	}
	if j.Overlap == "" {
		j.Overlap = OverlapSkip
	}
	if j.Guard.ApproveBy == 0 {
		j.Guard.ApproveBy = 1
	}
	if j.Guard.Repeat == "" {
		j.Guard.Repeat = RepeatApprove
	}
	if j.Mode == "" {
		j.Mode = Live
	}
	if j.MaxSize == 0 {
		j.MaxSize = apiclient.MaxFile
	}
}

// zone is the job's own, else the one of defaults, else UTC; also for one that its rule has refused.
func (b *builder) zone(own string) *time.Location {
	name := own
	if name == "" {
		name = b.env.Timezone
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

func (b *builder) source(o lists.Origin) lists.Source {
	o.Country = cmp.Or(b.job.Country, b.env.Country)
	source, problems := o.Compile(b.env.Folder)
	for _, p := range problems {
		b.failed = b.failed || !p.Warning
		b.problems = append(b.problems, Problem{Job: b.job.Name, Path: p.Path, Msg: p.Msg, Hint: p.Hint, Warning: p.Warning})
	}
	return source
}

// Audience chooses whom the list is of; nil where its rows come from elsewhere.
func (c *Compiled) Audience() *triggers.Audience { return c.audience }

// audience reads who the list is of.
func (b *builder) audience(text string) *triggers.Audience {
	a, problems := triggers.CompileAudience(text, b.env.Connectors)
	for _, p := range problems {
		b.failed = b.failed || !p.Warning
		b.problems = append(b.problems, Problem{Job: b.job.Name, Path: "source.contacts", Offset: p.Offset, Msg: p.Msg, Hint: p.Hint, Warning: p.Warning})
	}
	return a
}

var variableName = regexp.MustCompile(`^var_([1-9][0-9]{0,2})$`)

// columns reads phone and var_1 to var_n, which must be there without a gap.
func (b *builder) columns(given yamlpos.Ordered[string]) *mapping {
	m := &mapping{}
	phone, found := given.Get("phone")
	if m.unsaid = !found; m.unsaid {
		phone = "phone"
	}
	m.tel = b.text("columns.phone", columnText(phone))
	texts := map[int]string{}
	most := 0
	for _, one := range given {
		if one.Key == "phone" {
			if strings.TrimSpace(one.Value) == "" {
				b.bad("columns.phone", "write the name of the column", "is empty")
			}
			continue
		}
		number := variableName.FindStringSubmatch(one.Key)
		if number == nil {
			b.bad("columns."+one.Key, "the service knows phone, var_1, var_2 and so on", "%q is not a column of a campaign", one.Key)
			continue
		}
		n, _ := strconv.Atoi(number[1]) // three digits at most
		if strings.TrimSpace(one.Value) == "" {
			b.bad("columns."+one.Key, "write the name of the column", "is empty")
		}
		texts[n] = one.Value
		most = max(most, n)
	}
	if most > maxVariables {
		b.bad(fmt.Sprintf("columns.var_%d", most), "", "there are at most %d variables", maxVariables)
		return m
	}
	for n := 1; n <= most; n++ {
		name := fmt.Sprintf("var_%d", n)
		text, ok := texts[n]
		if !ok {
			b.bad("columns", "the service counts variables by their place: number them without a gap", "%s is missing, and there is var_%d", name, most)
			continue
		}
		m.names = append(m.names, name)
		m.texts = append(m.texts, b.text("columns."+name, columnText(text)))
	}
	return m
}

// maxVariables bounds the columns of a part.
const maxVariables = 100

func (b *builder) deliver(c *Compiled) {
	j := c.Job
	switch j.Deliver {
	case messaging.DeliverCSV:
		if j.Campaign == nil {
			b.bad("campaign", "write campaign: {template_id: 1042}", "is missing: deliver: csv creates a campaign")
		} else if j.Campaign.TemplateID < 1 {
			b.bad("campaign.template_id", "copy the template's number from the service's dashboard", "is not the number of a template")
		}
		if !j.Rate.IsZero() {
			b.bad("rate", "remove it, or write deliver: per_message", "a file leaves whole, and the service sends it as fast as it can")
		}
		if byRow(string(j.Category)) {
			b.bad("category", "write one category, or deliver: per_message", "a file that is uploaded has one category, and no row can say its own")
		}
		if j.Send != nil {
			b.bad("send", "remove it, or write deliver: per_message", "belongs to deliver: per_message")
		}
	case messaging.DeliverPerMessage:
		b.sends(c)
		b.turns()
		if j.Campaign != nil {
			b.bad("campaign", "remove it, or write deliver: csv", "belongs to deliver: csv")
		}
	default:
		b.bad("deliver", "write csv or per_message", "%q is not known here", j.Deliver)
	}
	name := "{{ run.job }} {{ run.date }} {{ run.time }}"
	if j.Campaign != nil && j.Campaign.Name != "" {
		name = j.Campaign.Name
	}
	c.title = b.text("campaign.name", name)
	if c.title != nil {
		if _, err := bindText(c.title, nil, factsOf(j.Name, time.Unix(0, 0), time.UTC)); err != nil {
			msg := firstWords(err)
			if no, ok := errors.AsType[*noColumnError](err); ok {
				msg = fmt.Sprintf("there is no %q", no.name)
			}
			b.bad("campaign.name", "run.date, run.time and run.job are known", "%s", msg)
		}
	}
	if n := j.MaxSize.Bytes(); n < 0 || n > apiclient.MaxFile {
		b.bad("max_size", "write "+units.Size(apiclient.MaxFile).String()+" or less", "%s is more than the service takes", j.MaxSize)
	}
}

// turns refuses what cannot be held where each row has a time of its own.
func (b *builder) turns() {
	switch j := b.job; {
	case j.At == nil:
	case !j.Rate.IsZero():
		b.bad("rate", "remove one of the two; api.rate is what the service can take", "at has all rows of a place leave at one time of day, and rate lets them leave in windows")
	case j.Canary != nil:
		b.bad("canary", "remove one of the two, or write deliver: csv", "at has the first rows wait for the time of their contacts, so nobody could look at them after %s", j.Canary.Wait)
	}
}

func firstWords(err error) string {
	msg, _ := clockErrorWords(err)
	return msg
}

func (b *builder) guard(j Job) {
	if j.Guard.MaxPoints > 0 && !b.env.Priced && !b.env.Prices[j.Account] {
		b.bad("guard.max_points", "set api.price, or remove it", "points cannot be counted without a price table")
	}
	if p := j.Guard.MaxChange; p != 0 && p <= 1 {
		b.bad("guard.max_change", "write more than 100%: 300% stops what is more than three times the last run, or less than a third", "%s would stop every run", p)
	}
	if g := j.Guard; g.ApproveBy > 1 && g.MaxRows == 0 && g.MaxChange == 0 && g.MaxPoints == 0 && g.ApproveOver == 0 {
		held := "no run"
		if g.Repeat == RepeatApprove {
			held = "no run but one with the list of the last"
		}
		b.warn("guard.approve_by", "write approve_over: 1, and every run of more than one row waits; or another bound", "%d people would approve a run, and %s waits for them", g.ApproveBy, held)
	}
	if j.Canary == nil {
		return
	}
	if j.Canary.StopIf.IsZero() && j.Deliver == messaging.DeliverPerMessage {
		b.bad("canary.stop_if", `write stop_if: "failed > 10%"`, "is missing")
	}
	if j.Canary.StopIf.Read != nil && !b.env.ReadKnown {
		b.bad("canary.stop_if", "set tracking: {final_status: read}, or look at failed alone", "nobody asks whether a message was read: tracking.final_status is delivered")
	}
}

// text compiles one text and reports its faults.
func (b *builder) text(path, text string) *expressions.RowText {
	t, faults := expressions.CompileRow(text)
	for _, f := range faults {
		b.failed = true
		b.problems = append(b.problems, Problem{Job: b.job.Name, Path: path, Offset: f.Offset, Msg: f.Msg, Hint: f.Hint})
	}
	if len(faults) > 0 {
		return nil
	}
	return t
}

// columnText is a column's text in the language of templates: a bare name is that column,
// and a text in quotes is itself.
func columnText(text string) string {
	plain := strings.TrimSpace(text)
	if strings.Contains(plain, "{{") {
		return text
	}
	if n := len(plain); n >= 2 && (plain[0] == '"' || plain[0] == '\'') && plain[n-1] == plain[0] {
		return plain[1 : n-1]
	}
	return "{{ " + plain + " }}"
}
