package console

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// A Live is what happened last on this node, for those who watch it. Commits write to it, so it only ever notes: one ring that the
// oldest falls out of, whoever watches, and a watcher is no more than the number that it has read up to. While nobody watches
// nothing is noted, but for the moment in which a browser comes again.
type Live struct {
	ended chan struct{} // closed by End

	mu       sync.Mutex
	over     bool
	watchers int
	own      map[string]int // watchers by who it is
	left     time.Time      // when the last of them did
	ring     [liveRing]liveItem
	next     int64 // number of the next one; the first is 1
	about    map[nudgewire.MessageID]liveAbout
}

const (
	liveRing     = 2048            // of the newest that are kept
	liveWatchers = 100             // at a time
	liveOwn      = 12              // of one person: some windows, of which some were left a moment ago
	liveAbouts   = 5000            // messages whose trigger and phone are remembered
	liveWords    = 300             // bytes of a reason
	liveGap      = 5 * time.Second // in which somebody who watched comes again
)

// A liveItem is one thing that happened.
type liveItem struct {
	Number    int64               `json:"-"`
	At        time.Time           `json:"at"`
	Kind      string              `json:"kind"` // event, rejected, message or run
	Event     nudgewire.EventID   `json:"event,omitempty"`
	Message   nudgewire.MessageID `json:"message,omitempty"`
	Run       nudgewire.RunID     `json:"run,omitempty"`
	Connector string              `json:"connector,omitempty"`
	What      string              `json:"what,omitempty"`
	Phone     nudgewire.Phone     `json:"phone,omitempty"`
	Trigger   string              `json:"trigger,omitempty"` // or job
	Said      []liveSaid          `json:"said,omitempty"`
	State     string              `json:"state,omitempty"`
	Words     string              `json:"words,omitempty"`
}

// A liveSaid is what a trigger said to an event.
type liveSaid struct {
	Trigger string `json:"trigger"`
	Outcome string `json:"outcome"`
}

// A liveAbout is what later news of a message do not repeat.
type liveAbout struct {
	trigger string
	phone   nudgewire.Phone
	state   string // that was told last
}

// NewLive returns one that nobody watches.
func NewLive() *Live {
	return &Live{ended: make(chan struct{}), next: 1, own: map[string]int{}, about: map[nudgewire.MessageID]liveAbout{}}
}

// End ends what is being watched, and lets nobody watch any more.
func (l *Live) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.ended)
	}
}

// Observer notes what an observer of commits is told, after that.
func (l *Live) Observer(o store.Observer) store.Observer {
	accepted, rejected, finished, polled, run := o.Accepted, o.Rejected, o.Finished, o.Polled, o.Run
	o.Accepted = func(p nudgewire.Plan, r nudgewire.Receipt) {
		if accepted != nil {
			accepted(p, r)
		}
		l.accepted(&p, &r)
	}
	o.Rejected = func(r nudgewire.RejectedRequest) {
		if rejected != nil {
			rejected(r)
		}
		l.note(func() (liveItem, bool) {
			return liveItem{At: r.At, Kind: "rejected", Connector: r.Connector, What: "a request", State: "rejected", Words: r.Reason}, true
		})
	}
	o.Finished = func(a nudgewire.Attempt) {
		if finished != nil {
			finished(a)
		}
		l.note(func() (liveItem, bool) { return l.message(a.MessageID, string(a.State), a.Reason, a.At, a.Message) })
	}
	o.Polled = func(p nudgewire.Poll) {
		if polled != nil {
			polled(p)
		}
		if p.Status != "" {
			l.note(func() (liveItem, bool) { return l.message(p.MessageID, string(p.Status), p.Error, p.At, nil) })
		}
	}
	o.Run = func(r nudgewire.Run) {
		if run != nil {
			run(r)
		}
		l.note(func() (liveItem, bool) {
			return liveItem{At: time.Now(), Kind: "run", Run: r.ID, Trigger: r.Job, State: string(r.State), Words: r.Reason}, true
		})
	}
	return o
}

func (l *Live) accepted(p *nudgewire.Plan, r *nudgewire.Receipt) {
	l.note(func() (liveItem, bool) {
		e := &p.Event
		i := liveItem{At: e.ReceivedAt, Kind: "event", Event: r.EventID, Connector: e.Connector, What: e.Connector + "." + e.Kind, Phone: e.Contact.Phone}
		switch {
		case r.Duplicate:
			i.State = "repeated"
		case p.Later:
			i.State = "being looked up"
		}
		for _, d := range r.Decisions {
			i.Said = append(i.Said, liveSaid{strings.Clone(d.Trigger), string(d.Outcome)})
			if d.MessageID != 0 {
				l.remember(d.MessageID, liveAbout{trigger: strings.Clone(d.Trigger), phone: i.Phone.Clone()})
			}
		}
		return i, true
	})
}

// remember keeps what is about a message for the news to come. The caller holds mu.
func (l *Live) remember(id nudgewire.MessageID, about liveAbout) {
	if _, known := l.about[id]; !known && len(l.about) >= liveAbouts {
		clear(l.about)
	}
	l.about[id] = about
}

// message is news of one; the same news again are none. The caller holds mu.
func (l *Live) message(id nudgewire.MessageID, state, words string, at time.Time, m *nudgewire.Message) (i liveItem, news bool) {
	about := l.about[id]
	if about.state == state && words == "" {
		return i, false
	}
	if m != nil && about.phone == "" {
		about.phone = m.Phone
	}
	about.state = state
	l.remember(id, about)
	return liveItem{At: at, Kind: "message", Message: id, Trigger: about.trigger, Phone: about.phone, State: state, Words: words}, true
}

// note adds what do makes, where somebody watches. What is kept holds on to nothing of a webhook's body.
func (l *Live) note(do func() (liveItem, bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchers == 0 && time.Since(l.left) > liveGap {
		if !l.left.IsZero() {
			clear(l.about)
			l.ring, l.left = [liveRing]liveItem{}, time.Time{}
		}
		return
	}
	i, news := do()
	if !news {
		return
	}
	if len(i.Words) > liveWords {
		i.Words = strings.ToValidUTF8(i.Words[:liveWords], "") + "…"
	}
	for _, text := range []*string{&i.Connector, &i.What, &i.Words, &i.State, &i.Trigger} {
		*text = strings.Clone(*text)
	}
	i.Phone = i.Phone.Clone()
	i.Number = l.next
	l.ring[l.next%liveRing] = i
	l.next++
}

// watch lets who watch from the next one on, or after the one that they saw last; full says that too many do, or the same one too often.
func (l *Live) watch(who string, after int64) (from int64, leave func(), full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.watchers >= liveWatchers || l.own[who] >= liveOwn {
		return 0, nil, true
	}
	l.watchers++
	l.own[who]++
	if after <= 0 || after >= l.next {
		after = l.next - 1
	}
	return after, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.watchers--
		if l.own[who]--; l.own[who] == 0 {
			delete(l.own, who)
		}
		l.left = time.Now()
	}, false
}

// since are what happened after a number, the oldest first, and how many were lost, because they were more than the ring holds.
func (l *Live) since(after int64) (out []liveItem, lost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := max(after+1, l.next-liveRing, 1)
	lost = first - after - 1
	out = make([]liveItem, 0, l.next-first)
	for n := first; n < l.next; n++ {
		if i := l.ring[n%liveRing]; i.Number == n {
			out = append(out, i)
		} else {
			lost++
		}
	}
	return out, lost
}

// A liveFilter is what somebody wants to see; zero fields do not narrow it.
type liveFilter struct{ Text, Trigger, Connector, State string }

func (f liveFilter) holds(i *liveItem) bool {
	if f.Connector != "" && i.Connector != f.Connector {
		return false
	}
	said := func(is func(liveSaid) bool) bool { return slices.ContainsFunc(i.Said, is) }
	if f.Trigger != "" && i.Trigger != f.Trigger && !said(func(s liveSaid) bool { return s.Trigger == f.Trigger }) {
		return false
	}
	if f.State != "" && i.State != f.State && !said(func(s liveSaid) bool { return s.Outcome == f.State }) {
		return false
	}
	if f.Text == "" {
		return true
	}
	text := strings.ToLower(f.Text)
	has := func(words string) bool { return strings.Contains(strings.ToLower(words), text) }
	return has(i.What) || has("+"+string(i.Phone)) || has(i.Trigger) || has(i.Words) || has(i.State) || said(func(s liveSaid) bool { return has(s.Trigger) || has(s.Outcome) })
}
