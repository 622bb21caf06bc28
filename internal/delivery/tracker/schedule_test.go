package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// even is the jitter that moves nothing.
const even = 0.5

const day = 24 * time.Hour

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func plan() Plan { return Plan{}.withDefaults() }

func message(s messaging.Status) *messaging.Message {
	return &messaging.Message{ID: 7, ServiceID: "42", Phone: phone, Status: s, AcceptedAt: epoch, StatusAt: epoch}
}

func TestWhatALookBrings(t *testing.T) {
	toldAt := epoch.Add(3 * time.Second)
	untilRead := plan()
	untilRead.FinalStatus = messaging.StatusRead
	const (
		accepted, queued, sent  = messaging.StatusAccepted, messaging.StatusQueued, messaging.StatusSent
		delivered, read, failed = messaging.StatusDelivered, messaging.StatusRead, messaging.StatusFailed
	)
	says := func(s string) *apiclient.Status { return &apiclient.Status{Status: s} }
	tests := map[string]struct {
		plan   Plan
		was    messaging.Status
		age    time.Duration
		answer *apiclient.Status
		want   messaging.Poll // without MessageID and At
		next   time.Duration  // of NextPollAt, from acceptance; 0 for none
	}{
		"queued: on to the next time of the list":                {plan(), accepted, 5 * time.Second, says("queued"), messaging.Poll{Status: queued}, 15 * time.Second},
		"sent at the second time: on to the third":               {plan(), queued, 15 * time.Second, says("sent"), messaging.Poll{Status: sent}, time.Minute},
		"a poll that came a little early counts for its time":    {plan(), queued, 4500 * time.Millisecond, says("sent"), messaging.Poll{Status: sent}, 15 * time.Second},
		"a poll that came late goes on where the list is by now": {plan(), queued, 20 * time.Minute, says("sent"), messaging.Poll{Status: sent}, 30 * time.Minute},
		"after the list its last time is the interval":           {plan(), sent, 6 * time.Hour, says("sent"), messaging.Poll{Status: sent}, 12 * time.Hour},
		"and again":                              {plan(), sent, 40 * time.Hour, says("sent"), messaging.Poll{Status: sent}, 46 * time.Hour},
		"never later than the moment to give up": {plan(), sent, 30*day - time.Hour, says("sent"), messaging.Poll{Status: sent}, 30 * day},
		"delivered is final": {
			plan(), sent, time.Minute, &apiclient.Status{Status: "delivered", Delivered: true, Timestamp: toldAt},
			messaging.Poll{Status: delivered, Final: true, ToldAt: toldAt},
			0,
		},
		"read is final, also when delivered was never seen": {plan(), queued, time.Minute, says("read"), messaging.Poll{Status: read, Final: true}, 0},
		"failed is final and keeps the service's reason": {
			plan(), queued, time.Minute, &apiclient.Status{Status: "failed", Error: "insufficient points"},
			messaging.Poll{Status: failed, Final: true, Error: "insufficient points"},
			0,
		},
		"complete at read: delivered goes on":             {untilRead, sent, time.Minute, says("delivered"), messaging.Poll{Status: delivered}, 5 * time.Minute},
		"complete at read: read ends it":                  {untilRead, delivered, time.Hour, says("read"), messaging.Poll{Status: read, Final: true}, 0},
		"complete at read: never read stays delivered":    {untilRead, delivered, 30 * day, says("delivered"), messaging.Poll{Status: delivered, Final: true}, 0},
		"complete at read: nor does silence change it":    {untilRead, delivered, 31 * day, nil, messaging.Poll{Status: delivered, Final: true}, 0},
		"complete at read: what was delivered is there":   {untilRead, delivered, time.Hour, &apiclient.Status{Status: "failed", Error: "x"}, messaging.Poll{Status: delivered}, 6 * time.Hour},
		"queued after sent is no step back":               {plan(), sent, time.Minute, says("queued"), messaging.Poll{Status: sent}, 5 * time.Minute},
		"a word nobody knows is kept and polled on":       {plan(), queued, time.Minute, says("throttled"), messaging.Poll{Status: "throttled"}, 5 * time.Minute},
		"a known word after an unknown one is kept too":   {plan(), "throttled", time.Minute, says("sent"), messaging.Poll{Status: sent}, 5 * time.Minute},
		"an unknown word does not undo a delivery":        {untilRead, delivered, time.Hour, says("archived"), messaging.Poll{Status: delivered}, 6 * time.Hour},
		"our own word from the service says nothing":      {plan(), queued, time.Minute, says("untracked"), messaging.Poll{Status: queued}, 5 * time.Minute},
		"the service's own expired is an end":             {plan(), sent, time.Minute, says("expired"), messaging.Poll{Status: messaging.StatusExpired, Final: true}, 0},
		"nothing readable: the status is left alone":      {plan(), sent, time.Minute, nil, messaging.Poll{}, 75 * time.Second},
		"nothing readable at first: the first time over":  {plan(), accepted, 5 * time.Second, nil, messaging.Poll{}, 10 * time.Second},
		"nothing readable for a day: the list's interval": {plan(), sent, day, nil, messaging.Poll{}, 30 * time.Hour},
		"given up": {
			plan(), sent, 30 * day, says("sent"),
			messaging.Poll{Status: messaging.StatusExpired, Final: true, Error: "the service told nothing after sent within 30d"},
			0,
		},
		"given up without a word": {
			plan(), accepted, 30 * day, nil,
			messaging.Poll{Status: messaging.StatusExpired, Final: true, Error: "the service told no status within 30d"},
			0,
		},
		"a last look that brings an end is believed": {plan(), sent, 31 * day, says("delivered"), messaging.Poll{Status: delivered, Final: true}, 0},
		"a clock that went back starts the list":     {plan(), queued, -time.Hour, says("queued"), messaging.Poll{Status: queued}, -time.Hour + 5*time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now := epoch.Add(tt.age)
			tt.want.MessageID, tt.want.At = 7, now
			if tt.next != 0 {
				tt.want.NextPollAt = epoch.Add(tt.next)
			}
			if diff := cmp.Diff(tt.want, tt.plan.Next(message(tt.was), now, tt.answer, even)); diff != "" {
				t.Errorf("Next (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheFirstPollIsNearTheFirstTime(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 4500 * time.Millisecond, even: 5 * time.Second, 0.999999999: 5500 * time.Millisecond} {
		if got := plan().First(epoch, jitter).Sub(epoch).Round(time.Millisecond); got != want {
			t.Errorf("First with jitter %v: %v, want %v", jitter, got, want)
		}
	}
}

func anyPlan(t *rapid.T) Plan {
	p := Plan{FinalStatus: rapid.SampledFrom([]messaging.Status{messaging.StatusDelivered, messaging.StatusRead}).Draw(t, "complete at")}
	at := time.Duration(0)
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		at += time.Duration(rapid.Int64Range(int64(time.Second), int64(12*time.Hour)).Draw(t, "step"))
		p.Schedule = append(p.Schedule, at)
	}
	p.GiveUp = time.Duration(rapid.Int64Range(int64(time.Minute), int64(60*day)).Draw(t, "give up"))
	return p
}

// Whatever the service answers, a message comes to an end by the time to give up, in a bounded
// number of looks, and none of its statuses is a step back.
func TestEveryMessageComesToAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t)
		words := rapid.SampledFrom([]string{"", "queued", "sent", "delivered", "read", "failed", "odd", "untracked", "accepted"})
		m := message(messaging.StatusAccepted)
		jitter := rapid.Float64Range(0, 0.999)
		now := p.First(epoch, jitter.Draw(t, "jitter"))
		most := len(p.Schedule) + 64 + 2*int(p.GiveUp/p.Schedule[len(p.Schedule)-1])
		for looks := 1; ; looks++ {
			if looks > most {
				t.Fatalf("no end after %d looks", looks)
			}
			var answer *apiclient.Status
			if w := words.Draw(t, "answer"); w != "" {
				answer = &apiclient.Status{Status: w}
			}
			poll := p.Next(m, now, answer, jitter.Draw(t, "jitter"))
			if answer == nil && !poll.Final && poll.Status != "" {
				t.Fatalf("silence brought the status %q", poll.Status)
			}
			if poll.Status != "" {
				if rank(poll.Status) < rank(m.Status) {
					t.Fatalf("%q after %q", poll.Status, m.Status)
				}
				m.Status = poll.Status
			}
			if poll.Final != poll.NextPollAt.IsZero() {
				t.Fatalf("final %v with the next poll at %v", poll.Final, poll.NextPollAt)
			}
			if poll.Final {
				return
			}
			if !poll.NextPollAt.After(now) || poll.NextPollAt.After(epoch.Add(p.GiveUp)) {
				t.Fatalf("at %v the next poll is at %v, with %v to give up", now.Sub(epoch), poll.NextPollAt.Sub(epoch), p.GiveUp)
			}
			now = poll.NextPollAt
		}
	})
}

// Asked with answers all the way, a message is looked at near each time of the list, once.
func TestPollsKeepToTheListWithinATenth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, jitter := plan(), rapid.Float64Range(0, 0.999)
		m, now := message(messaging.StatusAccepted), p.First(epoch, jitter.Draw(t, "jitter"))
		for i, want := range p.Schedule {
			if age := now.Sub(epoch); float64(age) < 0.89*float64(want) || float64(age) > 1.11*float64(want) {
				t.Fatalf("poll %d came at %v, want %v give or take a tenth", i+1, age, want)
			}
			now = p.Next(m, now, &apiclient.Status{Status: "queued"}, jitter.Draw(t, "jitter")).NextPollAt
		}
	})
}
