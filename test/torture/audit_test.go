package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// Each audit is shown once what it is there to find, in a made-up memory of the shop and the service, and once the
// nearest thing that is as it should be.
func TestAuditsBite(t *testing.T) {
	began := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	done := func(seconds float64) posted { return posted{at(seconds), at(seconds)} }
	type taken map[string][]time.Time // by template
	tests := map[string]struct {
		customer customer
		taken    taken
		ledger   map[string]*messaging.Message
		silent   []span
		claimed  map[string]float64 // by template, seconds; where the message came else
		want     string             // within the only violation; "" for none
	}{
		"after STOP":               {customer: customer{plan: stops, written: done(10)}, taken: taken{reminder: {at(13)}}, want: "was claimed 3s after STOP"},
		"on its way at STOP":       {customer: customer{plan: stops, written: done(10)}, taken: taken{reminder: {at(11)}}, claimed: map[string]float64{reminder: 9.9}},
		"long after STOP":          {customer: customer{plan: stops, written: done(10)}, taken: taken{reminder: {at(13)}}, claimed: map[string]float64{reminder: 9.9}, want: "came 3s after STOP"},
		"claimed after STOP":       {customer: customer{plan: stops, written: done(10)}, taken: taken{reminder: {at(10.2)}}, claimed: map[string]float64{reminder: 10.1}, want: "was claimed 100ms after STOP"},
		"after START":              {customer: customer{plan: returns, written: done(10), start: done(14)}, taken: taken{reminder: {at(15)}}},
		"asked for before START":   {customer: customer{plan: returns, written: done(10), start: done(14)}, taken: taken{reminder: {at(14.5)}}, claimed: map[string]float64{reminder: 13.8}},
		"before START":             {customer: customer{plan: returns, written: done(10), start: done(14)}, taken: taken{reminder: {at(13)}}, want: "was claimed 3s after STOP"},
		"after the order":          {customer: customer{plan: orders, order: done(10)}, taken: taken{extra: {at(13)}}, want: "was claimed 3s after the order"},
		"on its way at the order":  {customer: customer{plan: orders, order: done(10)}, taken: taken{extra: {at(11)}}, claimed: map[string]float64{extra: 9.9}},
		"long after the order":     {customer: customer{plan: orders, order: done(10)}, taken: taken{extra: {at(13)}}, claimed: map[string]float64{extra: 9.9}, want: "came 3s after the order"},
		"claimed after the order":  {customer: customer{plan: orders, order: done(10)}, taken: taken{extra: {at(10.2)}}, claimed: map[string]float64{extra: 10.1}, want: "was claimed 100ms after the order"},
		"while it was off":         {taken: taken{extra: {at(13)}}, silent: []span{{at(10), at(20)}}, want: "off or removed"},
		"while it is removed":      {taken: taken{extra: {at(13)}}, silent: []span{{from: at(10)}}, want: "off or removed"},
		"before it was off":        {taken: taken{extra: {at(11)}}, silent: []span{{at(10), at(20)}}, claimed: map[string]float64{extra: 9.9}},
		"after it was off":         {taken: taken{extra: {at(21)}}, silent: []span{{at(10), at(20)}}},
		"another while it was off": {taken: taken{reminder: {at(13)}}, silent: []span{{at(10), at(20)}}},
		"over the limit":           {taken: taken{reminder: {at(1)}, offer: {at(2)}, "first": {at(3)}, "second": {at(4)}}, want: "more than the limit: 3 were claimed"},
		"up to the limit":          {taken: taken{reminder: {at(1)}, offer: {at(2)}, "first": {at(3)}, "second": {at(61)}}},
		"over the limit of extra":  {taken: taken{reminder: {at(1)}, offer: {at(2)}, extra: {at(9)}}, want: "more than the limit: 2 were claimed"},
		"the second step first":    {taken: taken{"first": {at(5)}, "second": {at(4)}}, want: "step 2 came before the one before it"},
		"a step after the reply":   {customer: customer{plan: writes, written: done(10)}, taken: taken{"first": {at(5)}, "second": {at(13)}}, want: "was claimed 3s after the reply"},
		"a step past a doubt": {
			customer: customer{number: 4}, taken: taken{"second": {at(5)}},
			ledger: map[string]*messaging.Message{"first": {ID: 1, State: messaging.StateInDoubt}}, want: "step 1 is in doubt",
		},
		"the third without a doubt": {
			customer: customer{number: 4}, taken: taken{"first": {at(3)}, "second": {at(5)}, "third": {at(7)}},
			ledger: map[string]*messaging.Message{"first": {ID: 1, State: messaging.StateAccepted}}, want: "nothing was in doubt",
		},
		"a step is missing": {customer: customer{number: 4, cart: done(0)}, taken: taken{"second": {at(3)}, "third": {at(4)}}, want: "step 1 was not queued"},
		"a step was dropped": {
			customer: customer{number: 4, cart: done(0)}, taken: taken{"first": {at(3)}},
			ledger: map[string]*messaging.Message{
				"first": {ID: 1, State: messaging.StateAccepted}, "second": {ID: 2, State: messaging.StateDropped, Reason: "for fun"},
				"third": {ID: 3, State: messaging.StateCancelled, Reason: "its conditions"},
			},
			want: "step 2 is missing: message 2 is dropped: for fun",
		},
		"a step is held by a rule": {
			customer: customer{number: 4, cart: done(0)},
			ledger:   map[string]*messaging.Message{"first": {ID: 77, State: messaging.StateWaiting}},
		},
		"a step waits for nothing": {
			customer: customer{number: 4, cart: done(0)}, taken: taken{"second": {at(3)}, "third": {at(4)}},
			ledger: map[string]*messaging.Message{"first": {ID: 1, State: messaging.StateWaiting}, "second": {ID: 2, State: messaging.StateInDoubt}},
			want:   "step 1 is missing: message 1 is waiting",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := &tt.customer
			r := madeUp(c)
			r.silent, r.held = tt.silent, map[messaging.MessageID]bool{77: true}
			ledger := map[call]*messaging.Message{}
			for template, times := range tt.taken {
				r.service.taken[call{c.phone(), template}] = times
			}
			r.claimed = map[messaging.MessageID]time.Time{}
			for template, seconds := range tt.claimed {
				r.claimed[9] = at(seconds)
				ledger[call{c.phone(), template}] = &messaging.Message{ID: 9, State: messaging.StateAccepted}
			}
			for template, d := range tt.ledger {
				r.claimed[d.ID] = at(-60) // when is not what these are about
				ledger[call{c.phone(), template}] = d
			}
			r.auditRules(c, ledger)
			r.auditSequence(c, ledger)
			expect(t, r, tt.want)
		})
	}
	t.Run("more offers than the rate has room for", func(t *testing.T) {
		for most, want := range map[int]string{2 * rateMost: "", 2*rateMost + 1: "offers came within"} {
			c := &customer{}
			r := madeUp(c)
			for i := range most {
				r.service.taken[call{c.phone(), offer}] = append(r.service.taken[call{c.phone(), offer}], at(float64(i)/1000))
			}
			r.auditRate()
			expect(t, r, want)
		}
	})
	t.Run("more requests than the rate", func(t *testing.T) {
		for each, want := range map[time.Duration]string{time.Second / 10: "", time.Second / 30: "the rate is 10 a second"} {
			r := madeUp(&customer{})
			r.settings.Rate = 10
			for i := range 300 {
				r.service.asked = append(r.service.asked, began.Add(time.Duration(i)*each))
			}
			r.auditPace()
			expect(t, r, want)
		}
	})
	t.Run("each minute between the start and the end of all faults has a slot", func(t *testing.T) {
		r := &round{ready: at(1), mended: at(120)}
		if got := r.slots(); !slices.Equal(got, []string{"2026-03-02 12:01", "2026-03-02 12:02"}) {
			t.Errorf("slots: %v", got)
		}
	})
	t.Run("none is asked for at which no daemon ran", func(t *testing.T) {
		one, other := &daemon{away: []span{{at(50), at(130)}}}, &daemon{away: []span{{at(10), at(20)}, {at(110), at(125)}}}
		r := &round{ready: at(1), mended: at(180), daemons: []*daemon{one, other}}
		if got := r.slots(); !slices.Equal(got, []string{"2026-03-02 12:01", "2026-03-02 12:03"}) {
			t.Errorf("slots: %v", got)
		}
	})
	t.Run("a minute that a run says had passed is told of", func(t *testing.T) {
		got := countSlots([]messaging.Run{
			{Slot: "2026-03-02 12:01"},
			{Slot: "2026-03-02 12:04", Began: "2 earlier times passed while nudgewire was not running"},
			{Slot: "2026-03-02 12:06", Reason: "missed: nudgewire was not running at 2026-03-02 12:06, and 1 earlier ones; on_missed is skip"},
		})
		want := map[string]int{"2026-03-02 12:01": 1, "2026-03-02 12:02": 1, "2026-03-02 12:03": 1, "2026-03-02 12:04": 1, "2026-03-02 12:05": 1, "2026-03-02 12:06": 1}
		if !maps.Equal(got, want) {
			t.Errorf("slots: %v", got)
		}
	})
	t.Run("while everything was halted", func(t *testing.T) {
		for seconds, want := range map[float64]string{9.99: "", 10.01: "was claimed 10ms after everything was halted", 13.01: ""} {
			r := madeUp(&customer{})
			r.halts, r.claimed = []span{{at(10), at(13)}}, map[messaging.MessageID]time.Time{1: at(seconds)}
			r.auditHalts([]*messaging.Message{{ID: 1}})
			expect(t, r, want)
		}
	})
	t.Run("in quiet hours", func(t *testing.T) {
		for seconds, want := range map[float64]string{59.999: "", 60: "after quiet hours had begun", 119.999: "after quiet hours had begun", 120: ""} { // 12:01 is one of the odd minutes
			c := &customer{number: 1}
			r := madeUp(c)
			r.claimed = map[messaging.MessageID]time.Time{1: at(seconds)}
			r.nights = nightsOf(began, time.Minute)
			r.service.taken[call{c.phone(), reminder}] = []time.Time{at(seconds + 5)} // it waited for the rate
			r.auditRules(c, map[call]*messaging.Message{{c.phone(), reminder}: {ID: 1}})
			expect(t, r, want)
		}
	})
	t.Run("held is only what a rule put off until after the end", func(t *testing.T) {
		verdict := func(action messaging.VerdictAction, until time.Time) []store.Verdict {
			return []store.Verdict{{Verdict: messaging.Verdict{Action: action, Until: until}}}
		}
		held := heldBack([]store.MessageStory{
			{Message: messaging.Message{ID: 1, DueAt: at(9)}, Verdicts: verdict(messaging.DeferSend, at(9))},
			{Message: messaging.Message{ID: 2, DueAt: at(9)}},
			{Message: messaging.Message{ID: 3, DueAt: at(9)}, Verdicts: verdict(messaging.DeferSend, at(4))},
			{Message: messaging.Message{ID: 4, DueAt: at(2)}, Verdicts: verdict(messaging.DeferSend, at(2))},
			{Message: messaging.Message{ID: 5, Key: "5", Step: 1, DueAt: at(9)}, Verdicts: verdict(messaging.DeferSend, at(9))},
			{Message: messaging.Message{ID: 6, Key: "5", Step: 2, DueAt: at(9)}},
			{Message: messaging.Message{ID: 7, Key: "7", Step: 2, DueAt: at(9)}},
		}, at(5))
		if len(held) != 3 || !held[1] || !held[5] || !held[6] {
			t.Errorf("held: %v", held)
		}
	})
}

// madeUp is a round of one customer that nobody plays.
func madeUp(c *customer) *round {
	return &round{
		Options: Options{Say: func(string, ...any) {}}, blocked: map[string]time.Time{},
		service: &service{taken: map[call][]time.Time{}}, shop: &shop{customers: []*customer{c}},
	}
}

func expect(t *testing.T, r *round, want string) {
	t.Helper()
	found := r.report.Violations
	if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0], want)) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestDoubtsOfKillsAreThoseOfEachProcess(t *testing.T) {
	doubt := func(owner, reason string) store.MessageStory {
		return store.MessageStory{Attempts: []messaging.Attempt{{Owner: owner, State: messaging.StateInDoubt, Reason: reason}}}
	}
	resent := doubt("a:2", "the daemon ended during the call of attempt 1; it may have been sent")
	resent.Attempts = append(resent.Attempts, messaging.Attempt{Owner: "a:3", State: messaging.StateAccepted})
	rows := []store.MessageStory{
		doubt("a:1", "the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent"),
		resent, doubt("a:2", "the daemon ended during the call of attempt 2; it may have been sent"), doubt("a:2", "may have been taken: EOF"),
		{},
	}
	if all, most := doubtsOfKills(rows); all != 3 || most != 2 {
		t.Errorf("%d are of kills, %d of one", all, most)
	}
	if got := []string{lastOwner(&rows[1]), lastOwner(&rows[4])}; got[0] != "a:3" || got[1] != "nobody" {
		t.Errorf("they are of %q", got)
	}
}
