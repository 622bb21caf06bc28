package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What happens is counted by the hour in which it happened, in the commit that knows of it, so that a report is exact
// and asks no history. Each count is a row that is added to: as many of a commit as are alike are one.

const hourMicros = int64(time.Hour / time.Microsecond)

// HoursKept is how long counts by the hour are kept: long enough for the same day of the year before.
const HoursKept = 400 * 24 * time.Hour

// FirstHour is the first hour that begins at a time or after it, as counts are stored by it.
func FirstHour(at time.Time) int64 { return (engine.Micro(at) + hourMicros - 1) / hourMicros }

// An hourKey is what is counted together.
type hourKey struct {
	about, what, name, detail, country, class string
}

// What an hourKey is about.
const (
	aboutConnector = "connector"
	aboutTrigger   = "trigger"
	aboutJob       = "job"
)

// A eventLabels is what counts tell messages apart by.
type eventLabels struct {
	about    string // aboutTrigger or aboutJob
	name     string
	template string // or the name of a campaign; "" for a text
	country  string // by the phone; "" where that does not say

	phone    messaging.Phone
	account  string
	category messaging.Category // where it was read from the row
	test     bool               // it is a test, of which nothing counts but what it costs
}

// labelsOf is that of a message with an event, or with none: then it is of a row of a job.
func labelsOf(event int64, trigger, template string, phone messaging.Phone) eventLabels {
	p := eventLabels{about: aboutTrigger, name: trigger, template: template, country: phones.TariffCountry(string(phone)), phone: phone}
	if event == 0 && trigger != messaging.ByHand {
		p.about = aboutJob
	}
	return p
}

func labelsOfMessage(d *messaging.Message) eventLabels {
	p := labelsOf(int64(d.EventID), d.Trigger, templateOf(&d.Send), d.Phone)
	p.account, p.category, p.test = d.Account, d.Category, d.Test != ""
	return p
}

// scanLabels reads labelColumns.
func scanLabels(r *engine.Row) eventLabels {
	event, trigger, phone, account, send := r.Int(), r.Text(), r.Phone(), r.Text(), r.Text()
	p := labelsOf(event, trigger, sendsTemplate(send), phone)
	p.account, p.category, p.test = account, messaging.Category(r.Text()), r.Text() != ""
	return p
}

const labelColumns = `event_id, trigger_name, phone, account, send, category, test`

// templateOf is what counts call a send.
func templateOf(s *messaging.Send) string { return cmp.Or(s.Template, s.Campaign) }

// sendsTemplate is templateOf of what appendSend made.
func sendsTemplate(send string) string { return cmp.Or(sendsWhat(send)) }

// sendsWhat reads the template, or where there is none the campaign, of what appendSend made.
func sendsWhat(send string) (template, campaign string) {
	const first = `{"template":"`
	send = strings.TrimLeft(send, " ") // see apart
	if rest, ok := strings.CutPrefix(send, first); ok {
		if name, _, ok := strings.Cut(rest, `"`); ok && !strings.Contains(name, `\`) {
			return name, ""
		}
	}
	found := gjson.GetMany(send, "template", "campaign")
	return found[0].String(), found[1].String()
}

// The words of what is counted, beside those of the states that a message ends in.
const (
	hourEvent     = "event"
	hourDuplicate = "duplicate"
	hourRefused   = "refused" // a request
	hourDecision  = "decision"
	hourQueued    = "queued"
	hourAgain     = "again" // it waits once more
	hourShadowed  = "shadowed"
	hourUploaded  = "uploaded"
	hourPoints    = "uploaded_points" // in thousandths
	hourTested    = "tested"          // tests that the service took
	hourTestCost  = "test_points"     // of these, in thousandths
	hourDelivered = string(messaging.StatusDelivered)
	hourRead      = string(messaging.StatusRead)
	hourFailed    = string(messaging.StatusFailed)
	hourExpired   = string(messaging.StatusExpired)
)

// An hour has at most so many different counts of one kind in one process; those that are more are counted without what tells them apart. What
// strangers can make up has a room of its own, so that it takes none from messages.
var hourRooms = map[string]int{hourEvent: 300, hourRefused: 50, hourDecision: 1000}

const (
	messageRoom = 2000
	hourOther   = "other"
)

// hourKnown is which counts this hour has.
type hourKnown struct {
	mu    sync.Mutex
	hour  int64
	known map[hourKey]bool
	used  map[string]int // by kind
}

// room is k, or what it is counted as where its kind has no room left.
func (h *hourKnown) room(hour int64, k hourKey) hourKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hour != hour {
		h.hour, h.known, h.used = hour, map[hourKey]bool{}, map[string]int{}
	}
	if h.known[k] {
		return k
	}
	kind, most := k.what, hourRooms[k.what]
	if most == 0 {
		kind, most = "", messageRoom
	}
	if h.used[kind] >= most {
		if k.detail, k.country = hourOther, ""; k.what == hourRefused {
			k.name = hourOther
		}
		return k
	}
	h.known[k] = true
	h.used[kind]++
	return k
}

// countHour counts n of what happened now.
func (t *Tx) countHour(k hourKey, n int64) {
	if t.hours == nil {
		t.hours = map[hourKey]int64{}
	}
	t.hours[k] += n
}

// countMessage counts what happened to a message. Tests are no part of any statistics.
func (t *Tx) countMessage(p *eventLabels, what, class string) {
	if p.test {
		return
	}
	t.countHour(hourKey{p.about, what, p.name, p.template, p.country, class}, 1)
}

// countTest counts a test that the service took, and what it costs.
func (t *Tx) countTest(p *eventLabels) {
	k := hourKey{about: p.about, what: hourTested, name: p.name, detail: p.template, country: p.country}
	t.countHour(k, 1)
	if t.points == nil {
		return
	}
	if points := thousandths(t.points(p.account, p.category, p.phone)); points > 0 {
		k.what = hourTestCost
		t.countHour(k, points)
	}
}

// thousandths are points as they are counted.
func thousandths(points float64) int64 { return int64(math.Round(points * 1000)) }

// countNews counts what is new in a message.
func (t *Tx) countNews(n news, p *eventLabels, m *messaging.Message, at time.Time) {
	if p.test {
		return
	}
	if n.sent {
		t.counts[countSent]++
	}
	if n.delivered {
		t.counts[countDelivered]++
	}
	if n.arrived {
		if told := m.ToldAt; told.After(m.AcceptedAt) && told.Before(at) {
			at = told // the service knows better than a look that comes later
		}
		t.countMessage(p, hourDelivered, ArrivalTime(at.Sub(m.AcceptedAt)))
	}
	if n.read {
		t.counts[countRead]++
		t.countMessage(p, hourRead, "")
	}
	if n.failed {
		t.counts[countFailed]++
		t.countMessage(p, hourFailed, string(m.ErrorClass))
		t.countRejection(string(messaging.StatusFailed), m.Error)
	}
	if n.expired {
		t.counts[countExpired]++
		t.countMessage(p, hourExpired, "")
	}
}

// ArrivalTimes are the upper ends of the classes of times from accepted to delivered; one class more is for what took longer.
var ArrivalTimes = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// ArrivalTime is the class of a time from accepted to delivered: two digits, the place in ArrivalTimes.
func ArrivalTime(took time.Duration) string {
	i, _ := slices.BinarySearch(ArrivalTimes[:], took)
	return arrivalWords[i]
}

var arrivalWords = func() (words [len(ArrivalTimes) + 1]string) {
	for i := range words {
		words[i] = fmt.Sprintf("%02d", i)
	}
	return words
}()

// As with the counters, each writer adds to rows of its own.
var hourSQL = engine.SQL(`INSERT INTO hourly_counts (hour, about, what, name, detail, country, class, writer, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, {{writer}}, ?8)
		ON CONFLICT (hour, about, what, name, detail, country, class, writer) DO UPDATE SET value = hourly_counts.value + excluded.value`)

// writeHours adds what the group counted.
func (t *Tx) writeHours() error {
	if len(t.hours) == 0 {
		return nil
	}
	hour := t.At / hourMicros
	sums := make(map[hourKey]int64, len(t.hours))
	keys := make([]hourKey, 0, len(t.hours))
	for k, n := range t.hours {
		k = t.hourKnown.room(hour, k)
		if sums[k] == 0 {
			keys = append(keys, k)
		}
		sums[k] += n
	}
	slices.SortFunc(keys, compareHours)
	for _, k := range keys {
		if err := t.Put(hourSQL, hour, k.about, k.what, k.name, k.detail, k.country, k.class, sums[k]); err != nil {
			return fmt.Errorf("counts of the hour: %w", err)
		}
	}
	return nil
}

func compareHours(a, b hourKey) int {
	return cmp.Or(cmp.Compare(a.about, b.about), cmp.Compare(a.what, b.what), cmp.Compare(a.name, b.name),
		cmp.Compare(a.detail, b.detail), cmp.Compare(a.country, b.country), cmp.Compare(a.class, b.class))
}
