package main

import (
	"fmt"
	"strings"
	"text/template"
	"time"
)

// Names of what the config sends.
const (
	reminder = "reminder" // marketing, cancelled by the order
	offer    = "offer"    // marketing, with a rate; let be in doubt
	extra    = "extra"    // marketing, of a trigger that is edited, turned off, removed and brought back
	thanks   = "thanks"   // utility
	receipt  = "receipt"  // utility, sent again in doubt
	ticks    = "ticks"    // utility, a job that fires each minute
)

// steps are what the sequence sends: the second unless the first is in doubt, the third only where the last one was.
var steps = []string{"first", "second", "third"}

// marketing is what quiet hours, limits and a STOP are about.
var marketing = append([]string{reminder, offer, extra}, steps...)

// The rules, as the config below has them.
const (
	concurrency  = 16
	reminderWait = 2 * time.Second

	perContact  = 3 // marketing messages within limitWindow
	perExtra    = 2 // of all marketing, that of extra with it
	limitWindow = time.Minute

	rateMost   = 15 // of offer within rateWindow
	rateWindow = 5 * time.Second

	maxResends = 3 // times that a message is sent at the most whose trigger sends again in doubt
)

// Quiet hours are whole minutes: of the shop whose clock is UTC every odd one, of the shop in the east, whose clock is
// ahead, every even one. So windows begin and end all the time, and one half of the contacts is always inside.
const (
	eastZone  = "Asia/Kolkata"
	eastAhead = 5*time.Hour + 30*time.Minute
	mostQuiet = 5 * time.Hour // later ones would stand in the other clock's hours, too
)

// nights are the windows of a round.
type nights struct{ from, to time.Time }

func nightsOf(began time.Time, lasts time.Duration) nights {
	from := began.UTC().Truncate(time.Minute).Add(-time.Minute)
	return nights{from, from.Add(min(2*lasts+10*time.Minute, mostQuiet))}
}

// hours are the windows as a list of YAML.
func (n nights) hours() string {
	var all []string
	for at := n.from; at.Before(n.to); at = at.Add(time.Minute) {
		clock := at
		if at.Minute()%2 == 0 {
			clock = at.Add(eastAhead)
		}
		all = append(all, fmt.Sprintf("%s-%s", clock.Format("15:04"), clock.Add(time.Minute).Format("15:04")))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// quietFor is how long the quiet hours of one of the shops have lasted at a time; false outside.
func (n nights) quietFor(east bool, at time.Time) (time.Duration, bool) {
	if at.Before(n.from) || !at.Before(n.to) || (at.UTC().Minute()%2 == 0) != east {
		return 0, false
	}
	return at.Sub(at.Truncate(time.Minute)), true
}

// A ruleSet is what a reload changes.
type ruleSet struct {
	Name    string
	Extra   string // of the trigger: "" is removed, off, or its on_change
	Word    string // that extra says
	Step    string // wait of the second step
	Changes string // on_change of the sequence
}

// sends reports whether extra leaves under these rules.
func (s ruleSet) sends() bool { return s.Extra != "" && s.Extra != "off" }

// ruleSets begins with the one that a round begins and ends with.
var ruleSets = []ruleSet{
	{"as at the beginning", "pin", "one", "2s", "pin"},
	{"edited, and what waits stays as it is", "pin", "two", "3s", "pin"},
	{"edited, and what waits follows", "migrate", "three", "1s", "migrate"},
	{"edited, and what waits is cancelled", "cancel", "four", "2s", "pin"},
	{"turned off", "off", "one", "2s", "pin"},
	{"removed", "", "", "2s", "migrate"},
}

// settings are what else the config needs.
type settings struct {
	ruleSet
	Service, Key, Secret, Folder, Address, Quiet, Storage, Node string
	Rate                                                        int // a second, of all daemons together
}

func (s settings) text() (string, error) {
	var b strings.Builder
	err := configTemplate.Execute(&b, s)
	return b.String(), err
}

var configTemplate = template.Must(template.New("config").Delims("<<", ">>").Option("missingkey=error").Parse(fmt.Sprintf(configText,
	concurrency, perContact, limitWindow, eastZone, reminderWait, rateMost, rateWindow, perExtra)))

const configText = `
api: {base_url: "http://<<.Service>>/api/v1", key: <<.Key>>, rate: <<.Rate>>/s, concurrency: %[1]d, timeout: 3s}
defaults: {country: GB, language: en, timezone: UTC, quiet_hours: <<.Quiet>>, limit: %[2]d per %[3]s}
connectors:
  shopify: {secret: <<.Secret>>, defaults: {timezone: UTC}}
  east: {preset: shopify, secret: <<.Secret>>, defaults: {timezone: %[4]s}}
  replies:
    verify: {kind: token, from: header, field: X-Token}
    secret: <<.Secret>>
    event: {type: type, id: id, time: at}
    map: {phone: phone, message.text: text}
triggers:
  reminder:
    on: "*.cart.updated"
    wait: %[5]s
    cancel_on: "*.order.created"
    send: {template: reminder, variables: ['{{ cart.id }}']}
  sequence:
    on: "*.cart.updated"
    if: cart.total >= 100
    cancel_on: "*.order.created"
    stop_on: "*.message.received"
    on_change: <<.Changes>>
    steps:
      - wait: 1s
        send: {template: first, variables: ['{{ cart.id }}']}
      - wait: <<.Step>>
        if: previous.status != "in_doubt"
        send: {template: second}
      - wait: 1s
        if: previous.status == "in_doubt"
        send: {template: third}
  offer:
    on: "*.cart.updated"
    if: cart.total >= 200
    cancel_on: "*.order.created"
    rate: %[6]d per %[7]s
    on_doubt: drop
    send: {template: offer}
<<- if .Extra>>
  extra:
    on: "*.cart.updated"
    if: cart.total >= 100
    wait: 1s
    cancel_on: "*.order.created"
    limit: {count: %[8]d per %[3]s, on_hit: drop}
    <<if eq .Extra "off">>mode: off<<else>>on_change: <<.Extra>><<end>>
    send: {template: extra, variables: [<<.Word>>]}
<<- end>>
  thanks:
    on: "*.order.created"
    category: utility
    send: {template: thanks, variables: ['{{ order.id }}']}
  receipt:
    on: "*.order.created"
    category: utility
    on_doubt: resend
    send: {template: receipt, variables: ['{{ order.id }}']}
jobs:
  news:
    source: {csv: <<.Folder>>/list.csv}
    columns: {phone: phone, var_1: name}
    campaign: {template_id: 1042}
    max_size: 2kB
  ticks:
    cron: "* * * * *"
    category: utility
    source: {csv: <<.Folder>>/ticks.csv}
    columns: {phone: phone, var_1: '{{ run.date }} {{ run.time }}'}
    guard: {repeat: send}
    campaign: {name: ticks, template_id: 1042}
storage: <<.Storage>>
node: {folder: <<.Node>>}
server: {listen: "<<.Address>>"}
tracking: {poll: [2s]}
`
