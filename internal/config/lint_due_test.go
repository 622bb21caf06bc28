package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/triggers"
)

// dueConfig is a clean config with the named lines added: defaults, trigger and job each get theirs. Line 4 is
// defaults, 10 begins the trigger's, 17 the job's.
func dueConfig(defaults, trigger, job string) string {
	return `api: {base_url: https://api.example.com/api/v1, key: "${API_KEY}"}
defaults:
  country: GB
  language: en
` + defaults + `connectors:
  shopify: {secret: "${SHOP_SECRET}"}
triggers:
  remind:
` + trigger + `    on: shopify.cart.updated
    wait: 45m
    cancel_on: shopify.order.created
    send: {template: cart_reminder}
    if: customer.accepts_marketing
jobs:
  birthday:
` + job + `    source: {csv: ./birthdays.csv}
    deliver: per_message
    send: {template: birthday}
`
}

// problemsOf are the problems of a config beside these files.
func problemsOf(t *testing.T, src string, files map[string]string) []string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if strings.HasSuffix(name, "/") {
			if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, ps := Parse(filepath.Join(folder, "config.yaml"), []byte(src), environ)
	var got []string
	for _, p := range said(ps) {
		got = append(got, strings.ReplaceAll(strings.TrimPrefix(p, filepath.Join(folder, "config.yaml")+":"), folder+string(filepath.Separator), ""))
	}
	return got
}

type dueCase struct {
	defaults, trigger, job string
	files                  map[string]string
	want                   []string
}

func (tt *dueCase) run(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(tt.want, problemsOf(t, dueConfig(tt.defaults, tt.trigger, tt.job), tt.files)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestMistakesInQuietHoursAndLimits(t *testing.T) {
	const hoursHint = "; write it like 21:00-09:00, with days before it like mon-fri 21:00-09:00"
	const limitHint = "; write a number and a window: 2 per day, 6 per week, 10 per month by the calendar; 2 per 24h, 6 per 7d for any such time"
	for name, tt := range map[string]dueCase{
		"nothing is wrong": {
			defaults: "  quiet_hours: {hours: [mon-fri 21:00-09:00, weekend 20:00-10:00], holidays: days.txt, on_hit: defer, max_defer: 3d}\n  limit: [2 per day, {count: 6 per 7d, on_hit: drop}, {count: 5 per 1h, category: authentication}]\n",
			trigger:  "    quiet_hours: off\n    limit: off\n", job: "    quiet_hours: 20:00-10:00\n    limit: 1 per month\n",
			files: map[string]string{"days.txt": "# ours\n12-25\n"},
		},
		"hours in words":          {defaults: "  quiet_hours: at night\n", want: []string{`5:16: defaults.quiet_hours: "at" is no day of the week; write mon, tue, wed, thu, fri, sat or sun, or a span such as mon-fri`}},
		"an hour that is none":    {trigger: "    quiet_hours: 21:00-33:00\n", want: []string{`9:18: triggers.remind.quiet_hours: "33:00" is not a time of day` + hoursHint}},
		"a single time":           {job: "    quiet_hours: 21:00\n", want: []string{`16:18: jobs.birthday.quiet_hours: "21:00" does not say from when to when` + hoursHint}},
		"the same twice":          {defaults: "  quiet_hours: 9:00-09:00\n", want: []string{`5:16: defaults.quiet_hours: "9:00-09:00" begins when it ends; a whole day is 00:00-24:00`}},
		"no hours":                {defaults: "  quiet_hours: {on_hit: drop}\n", want: []string{"5:16: defaults.quiet_hours: does not say which hours are quiet; write hours: 21:00-09:00 in it, or quiet_hours: off"}},
		"an empty list":           {defaults: "  quiet_hours: []\n", want: []string{"5:16: defaults.quiet_hours: is an empty list; write 21:00-09:00, or quiet_hours: off"}},
		"a list of parts":         {defaults: "  quiet_hours: [{hours: 21:00-09:00}]\n", want: []string{`5:17: defaults.quiet_hours[0]: wants hours, has keys with values; write them as mon-fri 21:00-09:00; on_hit, max_defer and holidays stand beside "hours"`}},
		"days without hours":      {defaults: "  quiet_hours: {days: [sat]}\n", want: []string{"5:23: defaults.quiet_hours.days: are the days of hours, and there are no hours; write hours: 21:00-09:00 beside it, or hours: 00:00-24:00 for whole days"}},
		"a day that is none":      {defaults: "  quiet_hours: {hours: 21:00-09:00, days: [mon, fryday]}\n", want: []string{`5:49: defaults.quiet_hours.days[1]: "fryday" is no day of the week; write mon, tue, wed, thu, fri, sat or sun, or a span such as mon-fri`}},
		"days said twice":         {defaults: "  quiet_hours: {hours: sat 21:00-09:00, days: [mon]}\n", want: []string{`5:24: defaults.quiet_hours.hours: "sat 21:00-09:00" names its own days, and days names others; remove one of the two`}},
		"a slip in on_hit":        {defaults: "  quiet_hours: {hours: 21:00-09:00, on_hit: defr}\n", want: []string{`5:45: defaults.quiet_hours.on_hit: "defr" is not known here; did you mean "defer"?`}},
		"an on_hit of its own":    {defaults: "  quiet_hours: {hours: 21:00-09:00, on_hit: send}\n", want: []string{`5:45: defaults.quiet_hours.on_hit: "send" is not known here; write defer or drop`}},
		"a rate of nothing":       {trigger: "    rate: 0 per day\n", want: []string{`9:11: triggers.remind.rate: "0 per day" lets nothing go; write 1 or more; mode: off is what sends nothing`}},
		"a rate without a window": {trigger: "    rate: 500\n", want: []string{`9:11: triggers.remind.rate: "500" is no rate; write 500/h, 5000 per day, or 200 per 30m`}},
		"a rate of a wrong unit":  {trigger: "    rate: 500 per blue\n", want: []string{`9:11: triggers.remind.rate: "500 per blue" is no rate; write 500/h, 5000 per day, or 200 per 30m`}},
		"a max_defer of nothing": {
			defaults: "  quiet_hours: {hours: 21:00-09:00, max_defer: 0}\n  limit: {count: 2 per day, max_defer: 0s}\n",
			want: []string{
				`5:48: defaults.quiet_hours.max_defer: puts nothing off; write on_hit: drop in its place, or remove it to put off for as long as the message lives`,
				`6:40: defaults.limit.max_defer: puts nothing off; write on_hit: drop in its place, or remove it to put off for as long as the message lives`,
			},
		},
		"a max_defer of no unit":    {defaults: "  quiet_hours: {hours: 21:00-09:00, max_defer: 12}\n", want: []string{`5:48: defaults.quiet_hours.max_defer: "12" has no unit; write a number with a unit: 90s, 45m, 2h, 3d, 1w or 1h30m`}},
		"a slip in a key":           {defaults: "  quiet_hours: {hour: 21:00-09:00, hours: 21:00-09:00}\n", want: []string{`5:17: defaults.quiet_hours.hour: unknown key; did you mean "hours"?`}},
		"no file of holidays":       {defaults: "  quiet_hours: {holidays: days.txt}\n", want: []string{"5:27: defaults.quiet_hours.holidays: days.txt does not exist; write one date a line, such as 2026-12-25, or 12-25 for every year; a relative path starts at the folder of the config file"}},
		"a list of holidays":        {defaults: "  quiet_hours: {holidays: [2026-12-25]}\n", want: []string{"5:27: defaults.quiet_hours.holidays: is a list, and has to be the name of a file; write the dates into a file, one a line, such as 2026-12-25 or 12-25, and name it: holidays: holidays.txt"}},
		"a folder of holidays":      {defaults: "  quiet_hours: {holidays: ./lists}\n", files: map[string]string{"lists/": ""}, want: []string{"5:27: defaults.quiet_hours.holidays: lists is not a file; name the file in it"}},
		"holidays with mistakes":    {defaults: "  quiet_hours: {holidays: days.txt}\n", files: map[string]string{"days.txt": "2026-12-25\n25/12/2026\n"}, want: []string{`5:27: defaults.quiet_hours.holidays: days.txt:2: "25/12/2026" is no date; write a date like 2026-12-25, or 12-25 for every year; what follows # is a comment`}},
		"a limit without window":    {defaults: "  limit: 2\n", want: []string{`5:10: defaults.limit: "2" is not a limit` + limitHint}},
		"a limit like a rate":       {trigger: "    limit: 2/day\n", want: []string{`9:12: triggers.remind.limit: "2/day" is not a limit` + limitHint}},
		"a limit per hour":          {defaults: "  limit: 2 per hour\n", want: []string{`5:10: defaults.limit: "2 per hour" has an unknown window "hour"; write 2 per 1h, which is any 60 minutes`}},
		"a limit per year":          {defaults: "  limit: 2 per year\n", want: []string{`5:10: defaults.limit: "2 per year" has an unknown window "year"` + limitHint}},
		"a limit in words":          {defaults: "  limit: two per day\n", want: []string{`5:10: defaults.limit: "two" is not a number from 0` + limitHint}},
		"a limit that is none":      {defaults: "  limit: 5000 per day\n", want: []string{"5:10: defaults.limit: 5000 messages to one contact is no limit; write 1000 at the most, or limit: off"}},
		"a window of seconds":       {defaults: "  limit: 1 per 5s\n", want: []string{"5:10: defaults.limit: has a window of less than a minute; write 1 per 1h"}},
		"a window of a year":        {defaults: "  limit: 9 per 365d\n", want: []string{"5:10: defaults.limit: has a window of more than 90d; write 90d at the most"}},
		"a limit without count":     {defaults: "  limit: {category: marketing}\n", want: []string{"5:10: defaults.limit: does not say how many; write count: 2 per day in it"}},
		"a limit of no category":    {defaults: "  limit: {count: 2 per day, category: promo}\n", want: []string{`5:39: defaults.limit.category: "promo" is no category; write marketing, utility or authentication`}},
		"an empty list of limits":   {defaults: "  limit: []\n", want: []string{"5:10: defaults.limit: is an empty list; write 2 per day, or limit: off"}},
		"limits of a trigger":       {trigger: "    limits: 2 per day\n", want: []string{"9:5: triggers.remind.limits: unknown key; write limit"}},
		"the account by calendar":   {defaults: "limits: {unique_contacts: 1000 per day}\n", want: []string{`5:27: limits.unique_contacts: "1000 per day" is a window of the calendar, and the service's rolls; write 1000 per 24h`}},
		"an account of nothing":     {defaults: "limits: {unique_contacts: 0 per 24h}\n", want: []string{"5:27: limits.unique_contacts: lets no message go; write the number of your tier, such as 1000 per 24h"}},
		"a budget of no day":        {defaults: "budget: {}\n", want: []string{`5:9: budget: nothing says what a message costs, so nothing is counted; add price to api, such as price: {marketing: 1.0, utility: 0.4, authentication: 0.4}`, `5:9: budget: does not say how much; write day: 500 or month: 9000 in it, or remove it`}},
		"a budget of nothing":       {defaults: "budget: {day: 0}\n", want: []string{`5:9: budget: nothing says what a message costs, so nothing is counted; add price to api, such as price: {marketing: 1.0, utility: 0.4, authentication: 0.4}`, `5:15: budget.day: lets no marketing go; write more points, or remove it; mode: off is what sends nothing`}},
		"a budget of less":          {defaults: "budget: {month: -1}\n", want: []string{`5:9: budget: nothing says what a message costs, so nothing is counted; add price to api, such as price: {marketing: 1.0, utility: 0.4, authentication: 0.4}`, `5:17: budget.month: "-1" is less than 0; it is at least 0`}},
		"a budget without a price":  {defaults: "budget: {day: 5, month: 9}\n", want: []string{`5:9: budget: nothing says what a message costs, so nothing is counted; add price to api, such as price: {marketing: 1.0, utility: 0.4, authentication: 0.4}`}},
		"a budget of less than one": {defaults: "accounts: {b: {key: \"${API_KEY}\", price: {marketing: {default: 1, BR: 9}}}}\nbudget: {day: 5}\n", want: []string{`5:21: warning: accounts.b.key: is the key of api: both press on one account, each with a rate of its own; name one of them everywhere, and remove the other`, `6:9: budget: nothing says what a message costs, so nothing is counted; add price to api, such as price: {marketing: 1.0, utility: 0.4, authentication: 0.4}`, `6:15: budget.day: a marketing message costs up to 9 points, so it would wait for ever; write 9 or more`}},
		"a reserve of nothing":      {defaults: "limits: {reserve: 10%}\n", want: []string{"5:19: limits.reserve: is a share of unique_contacts, which is not set; add unique_contacts: 10000 per 24h"}},
		"a reserve of all":          {defaults: "limits: {unique_contacts: 1000 per 24h, reserve: 100%}\n", want: []string{"5:50: limits.reserve: 100% leaves nothing to marketing; write less than 100%, such as 10%"}},
		"a reserve of no share":     {defaults: "limits: {unique_contacts: 1000 per 24h, reserve: 10}\n", want: []string{`5:50: limits.reserve: "10" is not a percentage; write it as 10%`}},
	} {
		t.Run(name, tt.run)
	}
}

func TestLintsOfQuietHoursAndLimits(t *testing.T) {
	for name, tt := range map[string]dueCase{
		"no hour is left": {
			defaults: "  quiet_hours: [09:00-21:00, 21:00-09:00]\n",
			want:     []string{"5:16: warning: defaults.quiet_hours: 09:00-21:00 or 21:00-09:00 leave no hour: no marketing is ever sent; write when it is quiet, such as 21:00-09:00"},
		},
		"max_defer is too short": {
			defaults: "  quiet_hours: {hours: 21:00-09:00, max_defer: 8h}\n",
			want:     []string{"5:48: warning: defaults.quiet_hours.max_defer: 8h is shorter than the 12h that are quiet without a break: what falls due at their beginning is dropped; make it 12h or more, or say on_hit: drop"},
		},
		"max_defer of what is dropped": {
			trigger: "    quiet_hours: {hours: 21:00-09:00, on_hit: drop, max_defer: 12h}\n    limit: [{count: 2 per day, on_hit: drop, max_defer: 1h}]\n",
			want: []string{
				"9:64: warning: triggers.remind.quiet_hours.max_defer: bounds what is put off, and on_hit is drop; remove one of the two",
				"10:57: warning: triggers.remind.limit[0].max_defer: bounds what is put off, and on_hit is drop; remove one of the two",
			},
		},
		"holidays that are past": {
			defaults: "  quiet_hours: {hours: 21:00-09:00, holidays: days.txt}\n", files: map[string]string{"days.txt": "2020-12-25\n2021-12-25\n"},
			want: []string{"5:47: warning: defaults.quiet_hours.holidays: days.txt has only dates that are past; add those to come, or write them without the year: 12-25"},
		},
		"holidays without a date": {
			defaults: "  quiet_hours: {hours: 21:00-09:00, holidays: days.txt}\n", files: map[string]string{"days.txt": "# none yet\n"},
			want: []string{"5:47: warning: defaults.quiet_hours.holidays: days.txt has no date in it; write one date a line, such as 2026-12-25, or remove the line"},
		},
		"a limit of nothing": {
			job:  "    limit: [2 per 7d, 0 per day]\n",
			want: []string{"16:23: warning: jobs.birthday.limit[1]: 0 per day lets no message go; write at least 1, or mode: off where nothing is to be sent"},
		},
		"quiet hours of a code": {
			trigger: "    category: authentication\n    quiet_hours: 21:00-09:00\n    limit: 2 per day\n",
			want: []string{
				"10:18: warning: triggers.remind.quiet_hours: does nothing: messages of category authentication go at any hour; remove it, or say category: marketing if this is no answer that somebody waits for",
				"11:12: warning: triggers.remind.limit: does nothing: it limits marketing, and these messages are of category authentication; remove it, or write {count: 2 per day, category: authentication}",
			},
		},
		"a rate of codes": {
			trigger: "    category: authentication\n    rate: 500/h\n",
			want:    []string{"10:11: warning: triggers.remind.rate: 500 per 1h holds for messages of category authentication, too: a code that finds the window used up waits for its end, or expires; remove it; api.rate is what the service can take"},
		},
		"a rate whose window outlasts the messages": {
			trigger: "    rate: 5000 per week\n",
			want:    []string{"9:11: warning: triggers.remind.rate: messages expire after 1d, and the window of 5000 per week is longer: what finds it used up early is dropped; make expires longer than 7d, or write a shorter window, such as 500/h"},
		},
		"a rate of orders is well":     {trigger: "    category: utility\n    rate: 5000 per day\n"},
		"a rate of what lives is well": {trigger: "    expires: 8d\n    rate: 5000 per week\n"},
		"quiet hours of a job for orders": {
			job:  "    category: utility\n    quiet_hours: 21:00-09:00\n",
			want: []string{"17:18: warning: jobs.birthday.quiet_hours: does nothing: messages of category utility go at any hour; remove it, or say category: marketing if this is no answer that somebody waits for"},
		},
		"a code with a limit of its own is well": {trigger: "    category: authentication\n    quiet_hours: off\n    limit: {count: 5 per 1h, category: authentication}\n"},
		"it expires before the morning": {
			defaults: "  quiet_hours: 21:00-09:00\n", trigger: "    expires: 6h\n",
			want: []string{"10:14: warning: triggers.remind.expires: messages expire after 6h, and 21:00-09:00 is quiet for 12h: what falls due at its beginning is dropped; make expires longer than 12h, or say on_hit: drop"},
		},
		"its default expires before Monday": {
			defaults: "  quiet_hours: [21:00-09:00, sun 00:00-24:00]\n",
			want:     []string{"5:16: warning: defaults.quiet_hours: messages expire after 1d, and 21:00-09:00 or sun 00:00-24:00 is quiet for 1d12h: what falls due at its beginning is dropped; make expires longer than 1d12h, or say on_hit: drop"},
		},
		"dropped at once, it need not live": {defaults: "  quiet_hours: {hours: 21:00-09:00, on_hit: drop}\n", trigger: "    expires: 6h\n"},
	} {
		t.Run(name, tt.run)
	}
}

func TestALintOfWaitingForAQuietHour(t *testing.T) {
	for name, tt := range map[string]struct {
		quiet, wait string
		want        []string
	}{
		"it is quiet then":        {"21:00-09:00", `{until: "22:00"}`, []string{"11:11: warning: triggers.remind.wait: 22:00 is in quiet hours, 21:00-09:00: the message goes when they end; write a time outside of them"}},
		"and the message dropped": {"{hours: 21:00-09:00, on_hit: drop}", `{until: "08:59"}`, []string{"11:11: warning: triggers.remind.wait: 08:59 is in quiet hours, 21:00-09:00: the message is dropped (on_hit); write a time outside of them"}},
		"a step of several": {
			"21:00-09:00", `steps: [{wait: 45m, send: {template: first}}, {wait: {days: 3, at: "21:30"}, send: {template: then}}]`,
			[]string{"11:58: warning: triggers.remind.steps[1].wait: 21:30 is in quiet hours, 21:00-09:00: the message goes when they end; write a time outside of them"},
		},
		"it is not":              {"21:00-09:00", `{until: "09:00"}`, nil},
		"on Sundays only":        {"[21:00-09:00, sun 00:00-20:00]", `{until: "10:00"}`, nil},
		"a time that it expires": {"21:00-09:00", "{until: \"20:00\"}\n    expires: 1h", nil},
		"an expression":          {"21:00-09:00", "{until: 'time(raw.expires_at) - 2h'}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(dueConfig("  quiet_hours: "+tt.quiet+"\n", "", ""), "wait: 45m", "wait: "+tt.wait, 1)
			if steps, ok := strings.CutPrefix(tt.wait, "steps: "); ok {
				src = strings.Replace(src, "wait: steps: "+steps, "steps: "+steps, 1)
				src = strings.Replace(src, "    send: {template: cart_reminder}\n", "", 1)
			}
			if diff := cmp.Diff(tt.want, problemsOf(t, src, nil)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsDecidedAtTheDueMomentIsNoEdit(t *testing.T) {
	read := func(trigger string) triggers.Rule { return Rules(dueConfig("", trigger, ""), environ)["remind"] }
	before := read("")
	for _, lines := range []string{"    rate: 500/h\n", "    limit: 1 per day\n", "    on_doubt: drop\n"} {
		if after := read(lines); !SameRule(before, after) {
			t.Errorf("%q changes what waits: %+v", lines, after)
		}
	}
	if after := read("    expires: 2h\n"); SameRule(before, after) {
		t.Error("expires is planned, and no edit")
	}
}

// The wait for a contact that has got enough is a day: an expiry that is named and shorter ends it.
func TestALintOfAnExpiryBeforeALimitEnds(t *testing.T) {
	const rule = "errors: [{match: too many to this customer, class: recipient_limit}]\n"
	at := "triggers.remind.expires: a contact that has got enough (recipient_limit) is asked again after 1d, and the message is dropped before; " +
		"without expires it waits for that; where it is worth nothing later, this is right"
	for name, tt := range map[string]struct {
		rule, trigger string
		warns         bool
	}{
		"shorter than the wait":          {rule, "    expires: 6h\n", true},
		"as long as the wait":            {rule, "    expires: 24h\n", true},
		"longer":                         {rule, "    expires: 3d\n", false},
		"never":                          {rule, "    expires: off\n", false},
		"not named":                      {rule, "", false},
		"of utility":                     {rule, "    category: utility\n    expires: 6h\n", false},
		"no rule of the config knows it": {"", "    expires: 6h\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			var found bool
			for _, problem := range problemsOf(t, dueConfig(tt.rule, tt.trigger, ""), nil) {
				found = found || strings.Contains(problem, at)
			}
			if found != tt.warns {
				t.Errorf("warns: %v", found)
			}
		})
	}
}
