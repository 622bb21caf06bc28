package triggers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Env is what rules depend on outside of themselves.
type Env struct {
	Version     string // of the config; every decision carries it
	Connectors  map[string]ConnectorInfo
	Language    string             // of templates whose trigger names none
	Timezone    string             // IANA name, for contacts without one of their own; "" is UTC
	Category    messaging.Category // "" is marketing
	TextAllowed bool               // api.text_path is set
	Texts       map[string]bool    // the same of the further accounts, by name
}

// ConnectorInfo is what a rule may listen for.
type ConnectorInfo struct {
	Kinds   []string                        // all that it is known to send; none for a connector that may send any
	Topics  map[string]string               // kinds by the sender's own words for them, which are no kinds
	Meant   func(word string) (kind string) // the kind that somebody means by another word, "" for none; nil where nobody can say
	Account string                          // that sends what its events cause, where a rule names none; "" is that of the section api
}

// A Set is every rule, ready to meet events. It is immutable and safe for concurrent use.
type Set struct {
	version string
	home    *time.Location
	zones   *hours.Zones      // of contacts; home where nothing is known
	sends   map[string]string // the account of each connector that names one
	speaks  string            // the language of templates whose trigger names none
	rules   []*rule
	exact   map[ref][]listener // what listens to each event that a rule names in full
	waiting map[string]bool    // of the rules that are off, those of which something waits
	gone    []*rule            // rules that left the config while something of them waits: they only cancel
	over    func() bool        // asked before each rule is; nil for all but a try
	unasked *int               // rules that were not asked, because it was over
}

// Within is the set for a try, which somebody may ask for who may only look: before a rule is asked, over says whether the
// try has taken long enough. unasked counts the rules that were left out then. Match must not be called twice at a time.
func (s *Set) Within(over func() bool) (_ *Set, unasked *int) {
	with := *s
	with.over, with.unasked = over, new(int)
	return &with, with.unasked
}

// A listener is a rule with the part that an event plays in it.
type listener struct {
	*rule
	plans   bool
	cancels bool
	stops   bool
	both    bool // its "on" names the event, too: such a cancellation is not remembered
}

// Compile checks the rules and makes a Set of them, in their order. It reports every problem
// of every rule at once; the Set is nil when one of them is more than a warning.
func Compile(rules []Rule, env Env) (*Set, []Problem) {
	b := &builder{env: env}
	s := &Set{version: env.Version, home: time.UTC, speaks: env.Language}
	if env.Timezone != "" {
		zone, err := time.LoadLocation(env.Timezone)
		if err != nil || env.Timezone == "Local" {
			b.problems = append(b.problems, Problem{
				Path: "defaults.timezone", Msg: fmt.Sprintf("%q is not a time zone", env.Timezone),
				Hint: "write a name such as Europe/London",
			})
		} else {
			s.home = zone
		}
	}
	s.zones = hours.NewZones(s.home)
	for name, info := range env.Connectors {
		if info.Account != "" {
			if s.sends == nil {
				s.sends = map[string]string{}
			}
			s.sends[name] = info.Account
		}
	}
	for _, r := range rules {
		s.rules = append(s.rules, b.rule(r))
	}
	for _, p := range b.problems {
		if !p.Warning {
			return nil, b.problems
		}
	}
	s.index()
	return s, b.problems
}

// index gathers, for every event that is named in full, who listens to it.
func (s *Set) index() {
	s.exact = map[ref][]listener{}
	for _, r := range slices.Concat(s.rules, s.gone) {
		for _, p := range slices.Concat(r.on, r.cancelOn, r.stopOn) {
			if p.connector != "*" && !p.open {
				s.exact[ref{p.connector, p.kind}] = nil
			}
		}
	}
	for one := range s.exact {
		s.exact[one] = s.listeners(one)
	}
}

// listeners asks every rule.
func (s *Set) listeners(e ref) (found []listener) {
	for _, r := range slices.Concat(s.rules, s.gone) {
		on, cancels, stops := matchesAny(r.on, e), matchesAny(r.cancelOn, e), matchesAny(r.stopOn, e)
		l := listener{rule: r, plans: on && r.Mode != Off, cancels: cancels, stops: stops, both: on && (cancels || stops)}
		if r.Mode == Off && !s.waiting[r.Name] {
			continue
		}
		if l.plans || l.cancels || l.stops {
			found = append(found, l)
		}
	}
	return found
}

// Holding is the set where something still waits of rules that do not send: of those in waiting that
// are off, and of gone, rules that left the config. They go on cancelling, and plan nothing. known
// reports of a gone rule whether what cancels it could be read.
func (s *Set) Holding(waiting []string, gone []Rule) (_ *Set, known []bool) {
	with := *s
	with.waiting, with.gone = map[string]bool{}, nil
	for _, name := range waiting {
		with.waiting[name] = true
	}
	known = make([]bool, len(gone))
	for i, given := range gone {
		if r := onlyCancelling(given); r != nil {
			known[i] = true
			with.waiting[r.Name] = true
			with.gone = append(with.gone, r)
		}
	}
	with.index()
	return &with, known
}

// onlyCancelling is a rule of an earlier config, of which only the part that cancels is read; nil where that
// cannot be read any more.
func onlyCancelling(given Rule) *rule {
	// Its connectors may be gone with it. What they sent last may still come.
	b := &builder{env: Env{Connectors: map[string]ConnectorInfo{}}}
	for _, text := range slices.Concat(given.On, Events(given.CancelOn), Events(given.StopOn)) {
		connector, _, _ := strings.Cut(text, ".")
		b.env.Connectors[connector] = ConnectorInfo{}
	}
	r := b.listening(given)
	if r.Mode = Off; len(b.problems) > 0 {
		return nil
	}
	return r
}

// An Earlier is a rule as it was before an edit, while something waits that it planned.
type Earlier struct {
	Rule  Rule
	Until time.Time // when the newest of what waits was first planned
}

// Cancelling is the set in which earlier rules go on cancelling what they planned, by the keys and events that they had. What the present
// rules plan is not theirs to cancel, so they remember nothing.
func (s *Set) Cancelling(earlier []Earlier) *Set {
	with := *s
	with.waiting, with.gone = maps.Clone(s.waiting), slices.Clone(s.gone)
	if with.waiting == nil {
		with.waiting = map[string]bool{}
	}
	for _, e := range earlier {
		if r := onlyCancelling(e.Rule); r != nil {
			r.until = e.Until
			with.waiting[r.Name] = true
			with.gone = append(with.gone, r)
		}
	}
	with.index()
	return &with
}

// CancelsLike reports whether two rules are cancelled by the same events, by the same keys.
func (r Rule) CancelsLike(other Rule) bool {
	return r.Key == other.Key && slices.Equal(r.On, other.On) && slices.Equal(r.CancelOn, other.CancelOn) && slices.Equal(r.StopOn, other.StopOn)
}

// Version is that of the config, as decisions carry it.
func (s *Set) Version() string { return s.version }

// ModeOf is the mode of a trigger; "" for one that the config does not have.
func (s *Set) ModeOf(name string) Mode {
	for _, r := range s.rules {
		if r.Name == name {
			return r.Mode
		}
	}
	return ""
}

// OnDoubt is what a trigger says is done in doubt; "" where it says nothing, or is not there.
func (s *Set) OnDoubt(name string) messaging.OnDoubt {
	for _, r := range s.rules {
		if r.Name == name {
			return r.OnDoubt
		}
	}
	return ""
}

// OwnExpiry reports whether the config names when messages of a trigger expire, by the trigger or by its defaults. Of one that is not
// there it is so as well.
func (s *Set) OwnExpiry(name string) bool {
	for _, r := range s.rules {
		if r.Name == name {
			return r.Expires.Set
		}
	}
	return true
}

// Once reports whether a correlation key gets no second message of a trigger, ever: the trigger says so, or says nothing and
// the key is one of its own (keyed). Of one that is not there it is so as well: it may come back.
func (s *Set) Once(name string, keyed bool) bool {
	for _, r := range s.rules {
		if r.Name == name {
			return r.Cooldown.Mode == messaging.CooldownOnce || r.Cooldown.Mode == "" && keyed
		}
	}
	return keyed && name != messaging.ByHand
}

// Names are the triggers in the order of the config.
func (s *Set) Names() []string {
	names := make([]string, len(s.rules))
	for i, r := range s.rules {
		names[i] = r.Name
	}
	return names
}

// Templates are the names of the templates that the triggers send, sorted, each once.
func (s *Set) Templates() (names []string) {
	for _, r := range s.rules {
		if r.send.template != "" {
			names = append(names, r.send.template)
		}
		for i := range r.steps {
			if name := r.steps[i].send.template; name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// AsLive is the set in which triggers in mode shadow send: to try what they would do.
func (s *Set) AsLive() *Set {
	with := *s
	with.rules = make([]*rule, len(s.rules))
	for i, r := range s.rules {
		live := *r
		if live.Mode == Shadow {
			live.Mode = Live
		}
		with.rules[i] = &live
	}
	with.index()
	return &with
}
