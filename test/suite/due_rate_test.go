package suite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// paced are rules by which so many of a trigger are claimed in an hour.
type paced struct {
	most  map[string]int64
	drops messaging.Phone // to it nothing goes, which uses no room
}

func (r paced) Needs(d *messaging.Message) messaging.DueNeeds {
	return messaging.DueNeeds{Window: r.most[d.Trigger] > 0}
}

func (r paced) Decide(d *messaging.Message, f *messaging.DueFacts, now time.Time) messaging.Verdict {
	if d.Phone == r.drops {
		return messaging.Verdict{Action: messaging.DropSend, Rule: "consent", Reason: "not given"}
	}
	most := r.most[d.Trigger]
	if most == 0 {
		return messaging.Verdict{}
	}
	w := f.Window
	if !now.Before(w.Since.Add(time.Hour)) {
		w = messaging.UsedWindow{Since: now}
	}
	if w.Used < most {
		return messaging.Verdict{Window: w.Since}
	}
	return messaging.Verdict{Action: messaging.DeferSend, Rule: "rate", Reason: fmt.Sprintf("%d of %d", w.Used, most), Until: w.Since.Add(time.Hour)}
}

func (s suite) rates(t *testing.T) {
	t.Run("no more of a trigger go than its window has room for; the next window begins after it, also after a restart", s.noMoreGoThanAWindowHasRoomFor)
	t.Run("what is tried again, given back or lost in a crash asks for room once more", s.whatGoesAgainAsksForRoomOnceMore)
	t.Run("claims beside each other share the window", s.claimsBesideEachOtherShareTheWindow)
	t.Run("a reload that lifts the rate lets go what waits, and a lower one counts what went", s.aReloadThatLiftsTheRateLetsGo)
	t.Run("without a rate no window is kept", s.withoutARateNoWindowIsKept)
}

func (s suite) noMoreGoThanAWindowHasRoomFor(t *testing.T) {
	const hers = messaging.Phone("447700900999")
	at := noon.Add(time.Hour)
	l := s.open(t)
	rules := paced{most: map[string]int64{"cart": 3}, drops: hers}
	l.ruleBy(rules)
	dropped := l.enqueue("0", trigger("cart"), phone(hers))
	for i := range 8 {
		l.enqueue(fmt.Sprint(i+1), trigger("cart"))
	}
	free := l.enqueue("free", trigger("order"))
	same(t, "claimed", []messaging.MessageID{2, 3, 4, free}, l.ids(at))
	same(t, "dropped", messaging.StateDropped, l.message(dropped).State)
	d := l.story(5)
	if d.Reason != "3 of 3" || !d.DueAt.Equal(at.Add(time.Hour)) || len(d.Verdicts) != 1 || d.Verdicts[0].Rule != "rate" {
		t.Errorf("deferred: %+v, %+v", d.Message, d.Verdicts)
	}
	// One that is rejected stays counted: at no moment do more leave.
	l.mustFinish(l.message(2), messaging.StateRejected)
	l.enqueue("late", trigger("cart"))
	same(t, "in the same window", 0, len(l.ids(at.Add(59*time.Minute))))
	l = reopenAfter(t, l)
	l.ruleBy(rules)
	same(t, "in the next", 3, len(l.ids(at.Add(time.Hour))))
	same(t, "in the one after", 3, len(l.ids(at.Add(2*time.Hour))))
	l.recount()
}

func (s suite) whatGoesAgainAsksForRoomOnceMore(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	rules := paced{most: map[string]int64{"cart": 2}}
	l.ruleBy(rules)
	l.inDoubt(messaging.DoubtResend)
	for i := range 3 {
		l.enqueue(fmt.Sprint(i), trigger("cart"))
	}
	got := l.mustClaim(at, 1)
	again := attempt(got[0], messaging.StateWaiting)
	again.RetryAt = at.Add(time.Second)
	l.must(l.Finish(l.ctx, again))
	same(t, "the next has the last room", []messaging.MessageID{2}, l.ids(at))
	same(t, "the retry has none", 0, len(l.ids(at.Add(time.Minute))))
	if d := l.story(1); len(d.Verdicts) != 1 || d.Verdicts[0].Rule != "rate" || !d.DueAt.Equal(at.Add(time.Hour)) {
		t.Errorf("the retry: %+v", d)
	}
	// A crash loses the second; it is sent again, and its call of before stays counted.
	l = reopenAfter(t, l)
	l.ruleBy(rules)
	l.inDoubt(messaging.DoubtResend)
	if n, err := l.RescueClaims(l.ctx, at.Add(2*time.Minute), "after the crash"); err != nil || n.Doubtful != 1 {
		t.Fatalf("RescueClaims says %+v (%v)", n, err)
	}
	same(t, "after the crash", 0, len(l.ids(at.Add(3*time.Minute))))
	same(t, "in the next window", 2, len(l.ids(at.Add(time.Hour))))
	same(t, "and in the one after", 1, len(l.ids(at.Add(2*time.Hour))))
}

func (s suite) claimsBesideEachOtherShareTheWindow(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.ruleBy(paced{most: map[string]int64{"cart": 7}})
	for i := range 40 {
		l.enqueue(fmt.Sprint(i), trigger("cart"), phone(messaging.Phone(fmt.Sprint(447700900100+i))))
	}
	var wg sync.WaitGroup
	got := make([]int, 8)
	for i := range got {
		wg.Go(func() {
			for range 3 {
				some, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: fmt.Sprint("w", i), Lease: time.Hour, Now: at, Authentication: 2, Utility: 2, Marketing: 2})
				if err != nil {
					t.Error(err)
				}
				got[i] += len(some)
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range got {
		total += n
	}
	same(t, "claimed in all", 7, total)
}

func (s suite) aReloadThatLiftsTheRateLetsGo(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.ruleBy(paced{most: map[string]int64{"cart": 2}})
	for i := range 5 {
		l.enqueue(fmt.Sprint(i), trigger("cart"))
	}
	same(t, "claimed", 2, len(l.ids(at)))
	l.ruleBy(paced{most: map[string]int64{"cart": 3}})
	l.at(at.Add(time.Minute))
	l.review(3)
	same(t, "with room for one more", 1, len(l.ids(at.Add(time.Minute))))
	l.ruleBy(paced{})
	l.at(at.Add(2 * time.Minute))
	l.review(2)
	same(t, "without a rate", 2, len(l.ids(at.Add(2*time.Minute))))
}

func (s suite) withoutARateNoWindowIsKept(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.ruleBy(paced{})
	l.enqueue("1", trigger("cart"))
	same(t, "claimed", 1, len(l.ids(at)))
	l.ruleBy(paced{most: map[string]int64{"cart": 1}})
	l.enqueue("2", trigger("cart"))
	same(t, "the first that counts", 1, len(l.ids(at)))
}
