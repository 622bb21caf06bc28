package alerts

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Look is what is wrong at a time.
type Look struct {
	At       time.Time
	Troubles []messaging.Trouble
	// Gone reports whether a trouble that is not among Troubles, and was seen last at that time, is surely gone. What the process
	// knew of the service, and has forgotten by a restart or a reload, is not. nil is always.
	Gone func(t *messaging.Trouble, seen time.Time) bool
}

// A Pace says how alerts are told. Its zero fields take the defaults.
type Pace struct {
	Every time.Duration // between two looks
	Calm  time.Duration // how long a trouble must be away before it is over
	Again time.Duration // after it was told, the same alert is told again no sooner
	Keep  time.Duration // how long alerts that have ended are kept
}

func (p Pace) withDefaults() Pace {
	p.Every = cmp.Or(p.Every, 10*time.Second)
	p.Calm = cmp.Or(p.Calm, time.Minute)
	p.Again = cmp.Or(p.Again, 15*time.Minute)
	p.Keep = cmp.Or(p.Keep, 7*24*time.Hour)
	return p
}

// mostAlerts bounds what is kept, whatever goes wrong.
const mostAlerts = 1000

// A name is that of an alert.
type name struct {
	receiver, condition string
	code                messaging.TroubleCode
	subject             string
}

func nameOf(a *messaging.Alert) name {
	return name{a.Receiver, a.Condition, a.Trouble.Code, a.Trouble.Subject}
}

// A memory is what is known of an alert. Only told ones are stored.
type memory struct {
	messaging.Alert
	told  bool
	first time.Time // when the trouble was first seen, since it was last away
	seen  time.Time // and last
	away  time.Time // since when it is away; zero while it is there
}

// A judge decides what is told. It keeps no time of its own and does nothing but think, so that each of its rules
// can be tested.
//
// A trouble is told when it has lasted as long as its condition says. It is over when it has been away for Pace.Calm: one that
// comes back sooner is the same alert. After it was told, the same alert is told again after Pace.Again at the earliest, and only if
// the trouble is there then. So a trouble that comes and goes all day is told four times an hour at the most.
//
// What was told before the data was restored is told again where it is there now: it may have ended since, and been told to be over.
type judge struct {
	pace     Pace
	plan     *Plan
	known    map[name]*memory
	restored time.Time // zero for never
}

func newJudge(pace Pace, kept []messaging.Alert) *judge {
	j := &judge{pace: pace.withDefaults(), plan: &Plan{}, known: map[name]*memory{}}
	for _, a := range kept {
		j.known[nameOf(&a)] = &memory{Alert: a, told: true}
	}
	return j
}

// step gives what is to be told after a look, the worst first, and whether what is stored has changed.
func (j *judge) step(look Look) (notices []messaging.AlertNotice, changed bool) {
	now := look.At
	seen := map[name]bool{}
	for i := range look.Troubles {
		for _, w := range j.plan.Watches {
			t := &look.Troubles[i]
			if !w.meets(t) || t.Code == messaging.TroubleReceiver && t.Subject == j.nameOfReceiver(w.Receiver) {
				continue // nobody is told that he cannot be told
			}
			n := name{w.Receiver, w.Condition.String(), t.Code, t.Subject}
			seen[n] = true
			if j.there(n, w, t, now) {
				notices, changed = append(notices, begins(&j.known[n].Alert, now)), true
			}
		}
	}
	var ended []messaging.AlertNotice
	for n, m := range j.known {
		if seen[n] {
			continue
		}
		drop, over := j.away(n, m, look)
		if drop {
			changed = changed || m.told
			delete(j.known, n)
		}
		if over {
			ended, changed = append(ended, ends(&m.Alert, now)), true
		}
	}
	slices.SortFunc(ended, func(a, b messaging.AlertNotice) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Trouble.Code, b.Trouble.Code), cmp.Compare(a.Trouble.Subject, b.Trouble.Subject), cmp.Compare(a.Condition, b.Condition), cmp.Compare(a.Receiver, b.Receiver))
	})
	return append(notices, ended...), changed
}

// there notes that a trouble is there, and reports whether it is to be told now.
func (j *judge) there(n name, w Watch, t *messaging.Trouble, now time.Time) bool {
	m := j.known[n]
	if m == nil {
		if len(j.known) >= mostAlerts {
			return false
		}
		m = &memory{}
		j.known[n] = m
	}
	if m.first.IsZero() || m.first.After(now) { // or the clock was set back
		m.first = now
	}
	m.seen, m.away = now, time.Time{}
	unsure := m.told && m.ToldAt.Before(j.restored)
	if m.told && m.EndedAt.IsZero() && !unsure {
		return false
	}
	began := m.first
	if !t.Since.IsZero() && t.Since.Before(began) {
		began = t.Since
	}
	if now.Sub(began) < w.patience(t.Code) {
		return false
	}
	if m.told && !unsure && now.Sub(m.ToldAt) < j.pace.Again && !m.ToldAt.After(now) {
		return false
	}
	m.told = true
	m.Alert = messaging.Alert{Receiver: n.receiver, Condition: n.condition, Trouble: *t, Began: began, ToldAt: now}
	return true
}

// away notes that a trouble is not there. drop is that nothing of the alert is needed any more, over that its end
// is to be told.
func (j *judge) away(n name, m *memory, look Look) (drop, over bool) {
	now := look.At
	switch {
	case !j.watched(n):
		return true, false // whoever took the condition out of the config knows; the trouble may well last
	case !m.told:
		return true, false
	case !m.EndedAt.IsZero():
		m.first = time.Time{}
		return now.Sub(m.EndedAt) > j.pace.Keep, false
	}
	if m.seen.IsZero() { // told before a restart
		m.seen = now
	}
	if look.Gone != nil && !look.Gone(&m.Trouble, m.seen) {
		m.away = time.Time{}
		return false, false
	}
	if m.away.IsZero() || m.away.After(now) {
		m.away = now
	}
	if now.Sub(m.away) < j.pace.Calm {
		return false, false
	}
	m.EndedAt, m.first = m.away, time.Time{}
	if m.EndedAt.Before(m.Began) {
		m.EndedAt = m.Began
	}
	return false, true
}

func (j *judge) watched(n name) bool {
	return slices.ContainsFunc(j.plan.Watches, func(w Watch) bool { return w.Receiver == n.receiver && w.Condition.String() == n.condition })
}

func (j *judge) nameOfReceiver(id string) string {
	for i := range j.plan.Receivers {
		if r := &j.plan.Receivers[i]; r.ID == id {
			return r.Name
		}
	}
	return ""
}

// alerts are those that were told, the oldest first.
func (j *judge) alerts() (out []messaging.Alert) {
	for _, m := range j.known {
		if m.told {
			out = append(out, m.Alert)
		}
	}
	slices.SortFunc(out, func(a, b messaging.Alert) int {
		return cmp.Or(a.ToldAt.Compare(b.ToldAt), cmp.Compare(a.Trouble.Code, b.Trouble.Code), cmp.Compare(a.Trouble.Subject, b.Trouble.Subject), cmp.Compare(a.Condition, b.Condition), cmp.Compare(a.Receiver, b.Receiver))
	})
	return out
}

func begins(a *messaging.Alert, now time.Time) messaging.AlertNotice {
	return messaging.AlertNotice{ID: rand.Text(), Receiver: a.Receiver, Condition: a.Condition, Trouble: a.Trouble, Began: a.Began, CreatedAt: now}
}

func ends(a *messaging.Alert, now time.Time) messaging.AlertNotice {
	n := begins(a, now)
	n.EndedAt = a.EndedAt
	return n
}
