package suite

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// atMost are rules by which a phone gets at most so many messages of marketing within a time; the next one waits until
// the oldest of them leaves it. In the hours that are quiet none go.
type atMost struct {
	n      int
	within time.Duration
	quiet  func(time.Time) (until time.Time, quiet bool) // nil for never
	asked  *[]messaging.DueFacts
}

func (r atMost) Needs(d *messaging.Message) (n messaging.DueNeeds) {
	if d.Category == messaging.Marketing && r.within > 0 {
		n.Sends = r.within
	}
	return n
}

func (r atMost) Decide(d *messaging.Message, f *messaging.DueFacts, now time.Time) (v messaging.Verdict) {
	if r.asked != nil {
		told := *f
		told.Sends = append([]messaging.PastSend(nil), f.Sends...)
		*r.asked = append(*r.asked, told)
	}
	if d.Category != messaging.Marketing {
		return v
	}
	if r.quiet != nil {
		if until, quiet := r.quiet(now); quiet {
			return messaging.Verdict{Action: messaging.DeferSend, Rule: "quiet_hours", Reason: "quiet until " + until.Format(time.TimeOnly), Until: until}
		}
	}
	if r.within == 0 || len(f.Sends) < r.n {
		return v
	}
	reason := fmt.Sprintf("%d within %s, and no more than %d may be", len(f.Sends), r.within, r.n)
	if r.n == 0 {
		return messaging.Verdict{Action: messaging.DropSend, Rule: "limit", Reason: reason}
	}
	return messaging.Verdict{Action: messaging.DeferSend, Rule: "limit", Reason: reason, Until: f.Sends[r.n-1].At.Add(r.within + time.Microsecond)}
}

// nightUntil is quiet before a time.
func nightUntil(morning time.Time) func(time.Time) (time.Time, bool) {
	return func(now time.Time) (time.Time, bool) { return morning, now.Before(morning) }
}

// story is a message with all that became of it.
func (l *ledger) story(id messaging.MessageID) store.MessageStory {
	l.t.Helper()
	d, err := l.MessageStory(l.ctx, id)
	l.must(err)
	return d
}

// ids are those of what a claim gets.
func (l *ledger) ids(at time.Time) (ids []messaging.MessageID) {
	l.t.Helper()
	for _, d := range l.mustClaim(at, 99) {
		ids = append(ids, d.ID)
	}
	return ids
}

func (s suite) dueRules(t *testing.T) {
	t.Run("many to one phone in one claim: no more than the limit go, the others wait and say why", s.noMoreToOnePhoneThanTheLimitGo)
	t.Run("one that is dropped ends with the reason; what goes before it in the same claim counts", s.oneThatALimitDropsEndsWithTheReason)
	t.Run("the same again is one row, and no message fills the table", s.theSameVerdictAgainIsOneRow)
	t.Run("what an edit planned anew keeps saying so, is not counted as put off, and waits for its time", s.whatAnEditPlannedAnewKeepsSayingSo)
	t.Run("who was on a file counts while the file went out, or may have", func(t *testing.T) { s.filesCount(t) })
	t.Run("a claim that asked the rules of before is seen by the review that follows them", s.aReviewSeesAClaimThatAskedTheRulesOfBefore)
	t.Run("a rule that names the past does not hold a claim up", s.aRuleThatNamesThePastHoldsNoClaimUp)
}

func (s suite) noMoreToOnePhoneThanTheLimitGo(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.ruleBy(atMost{n: 2, within: 24 * time.Hour})
	for i := range 20 {
		l.enqueue(fmt.Sprint(i), trigger(fmt.Sprint("t", i%3)), expires(at.Add(time.Hour)))
	}
	other := l.enqueue("of another phone", phone("447700900999"))
	same(t, "claimed", []messaging.MessageID{1, 2, other}, l.ids(at))
	same(t, "claimed again", 0, len(l.ids(at.Add(time.Minute))))
	d := l.story(3)
	until := at.Add(24*time.Hour + time.Microsecond)
	want := messaging.Message{
		ID: 3, EventID: 3, Trigger: "t2", Key: "2", Phone: "447700900123", Category: messaging.Marketing,
		Send: messaging.Send{Template: "reminder", Variables: []string{"Ana", "2"}}, State: messaging.StateWaiting,
		Reason: "2 within 24h0m0s, and no more than 2 may be",
		// Its expiry moves along, or what a rule puts off would be lost by it.
		DueAt: until, ExpiresAt: until.Add(time.Hour), CreatedAt: noon, UpdatedAt: at, Config: "v1",
	}
	same(t, "stored", want, d.Message)
	verdict := messaging.Verdict{Action: messaging.DeferSend, Rule: "limit", Reason: want.Reason, Until: until}
	same(t, "verdicts", []store.Verdict{{Verdict: verdict, At: at, LastAt: at, Times: 1}}, d.Verdicts)
	counts, err := l.VerdictCounts(l.ctx)
	l.must(err)
	same(t, "counts", []store.VerdictCount{{Rule: "limit", Action: messaging.DeferSend, N: 18}}, counts)
	same(t, "the sender is woken for", until, l.woken(until))
	next, ok, err := l.NextDue(l.ctx)
	if err != nil || !ok || !next.Equal(until) {
		t.Errorf("next due %s, %v, %v", next, ok, err)
	}
	same(t, "claimed a day later", []messaging.MessageID{3, 4}, l.ids(until))
	same(t, "first due", at, l.firstDue(5))
	l.recount()
}

func (s suite) oneThatALimitDropsEndsWithTheReason(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.ruleBy(atMost{within: time.Hour})
	id := l.enqueue("1")
	urgent := l.enqueue("2", category(messaging.Utility))
	same(t, "claimed", []messaging.MessageID{urgent}, l.ids(at))
	d := l.story(id)
	if d.State != messaging.StateDropped || d.Reason != "1 within 1h0m0s, and no more than 0 may be" || d.Attempt != 0 {
		t.Errorf("%s after %d attempts: %s", d.State, d.Attempt, d.Reason)
	}
	verdict := messaging.Verdict{Action: messaging.DropSend, Rule: "limit", Reason: d.Reason}
	same(t, "verdicts", []store.Verdict{{Verdict: verdict, At: at, LastAt: at, Times: 1}}, d.Verdicts)
	l.totals(map[string]int64{"messages_dropped": 1, "attempts": 1})
	l.recount()
}

func (s suite) theSameVerdictAgainIsOneRow(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	id := l.enqueue("1")
	morning := at.Add(time.Hour)
	l.ruleBy(atMost{quiet: nightUntil(morning)})
	for i := range 3 {
		l.at(at.Add(time.Duration(i) * time.Minute))
		same(t, "claimed", 0, len(l.ids(at.Add(time.Duration(i)*time.Minute))))
		l.review(1)
	}
	d := l.story(id)
	if len(d.Verdicts) != 1 || d.Verdicts[0].Times != 3 || !d.Verdicts[0].LastAt.Equal(at.Add(2*time.Minute)) {
		t.Errorf("verdicts %+v", d.Verdicts)
	}
	for i := range 200 {
		now := at.Add(time.Duration(i) * time.Hour)
		l.ruleBy(atMost{quiet: nightUntil(now.Add(time.Hour))})
		l.ids(now)
	}
	d = l.story(id)
	last := d.Verdicts[len(d.Verdicts)-1]
	if len(d.Verdicts) != 50 || !last.Until.Equal(d.DueAt) || last.Times != 151 {
		t.Errorf("%d verdicts, the last %+v, due %s", len(d.Verdicts), last, d.DueAt)
	}
}

func (s suite) whatAnEditPlannedAnewKeepsSayingSo(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	id := l.enqueue("1")
	night, due, morning := at.Add(time.Hour), at.Add(2*time.Hour), at.Add(3*time.Hour)
	l.ruleBy(atMost{quiet: nightUntil(night)})
	same(t, "claimed", 0, len(l.ids(at)))
	was := l.story(id).Message
	n, err := l.Replan(l.ctx, was.Trigger, was.Config, func(d *messaging.Message, _ func() (messaging.Event, error)) (store.Replanned, error) {
		to := *d
		to.Config, to.Reason, to.DueAt = "edited", "planned anew", due
		return store.Replanned{Anew: &messaging.Proposal{Decision: messaging.Decision{Trigger: d.Trigger, Outcome: messaging.Planned}, Message: to}}, nil
	})
	if err != nil || n.Anew != 1 {
		t.Fatalf("%+v planned anew (%v)", n, err)
	}
	l.review(0)
	l.ruleBy(atMost{quiet: nightUntil(morning)})
	same(t, "claimed anew", 0, len(l.ids(due)))
	var said []string
	for _, v := range l.story(id).Verdicts {
		said = append(said, v.Rule+": "+v.Reason+", until "+v.Until.Format(time.TimeOnly))
	}
	clock := func(at time.Time) string { return at.Format(time.TimeOnly) }
	same(t, "said", []string{
		"quiet_hours: quiet until " + clock(night) + ", until " + clock(night), "on_change: planned anew, until " + clock(due),
		"quiet_hours: quiet until " + clock(morning) + ", until " + clock(morning),
	}, said)
	counts, err := l.VerdictCounts(l.ctx)
	l.must(err)
	same(t, "counts", []store.VerdictCount{{Rule: "quiet_hours", Action: messaging.DeferSend, N: 2}}, counts)
	l.at(due)
	l.review(1)
	l.recount()
}

func (s suite) aReviewSeesAClaimThatAskedTheRulesOfBefore(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	reviewed := make(chan int64, 1)
	l.ruleBy(atMost{quiet: func(time.Time) (time.Time, bool) {
		l.ruleBy(nil)
		go func() {
			n, err := l.ReviewDeferred(l.ctx)
			if err != nil {
				t.Error(err)
			}
			reviewed <- n
		}()
		for len(reviewed) == 0 && l.Stats().QueuedWork == 0 { // it is over, or waits for this claim
			runtime.Gosched()
		}
		return at.AddDate(1, 0, 0), true
	}})
	id := l.enqueue("1")
	same(t, "claimed", 0, len(l.ids(at)))
	same(t, "asked about again", int64(1), <-reviewed)
	same(t, "claimed by the rules of now", []messaging.MessageID{id}, l.ids(time.Now()))
}

func (s suite) aRuleThatNamesThePastHoldsNoClaimUp(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.ruleBy(atMost{quiet: func(now time.Time) (time.Time, bool) { return now.Add(-time.Hour), true }})
	id := l.enqueue("1")
	same(t, "claimed", 0, len(l.ids(at)))
	same(t, "due", at.Add(time.Second), l.message(id).DueAt)
}

// firstDue is when the rules are told that a message was due before it was put off.
func (l *ledger) firstDue(id messaging.MessageID) time.Time {
	l.t.Helper()
	var asked []messaging.DueFacts
	l.mu.Lock()
	before := l.rules
	l.mu.Unlock()
	defer l.ruleBy(before)
	l.ruleBy(atMost{quiet: nightUntil(noon.AddDate(1, 0, 0)), asked: &asked})
	l.ids(l.message(id).DueAt)
	if len(asked) == 0 {
		l.t.Fatal("nothing was asked")
	}
	return asked[0].FirstDue
}

// review lets the rules look again at what they put off.
func (l *ledger) review(want int64) {
	l.t.Helper()
	if n, err := l.ReviewDeferred(l.ctx); err != nil || n != want {
		l.t.Errorf("%d are asked about again, not %d (%v)", n, want, err)
	}
}

// filesCount holds a limit against files of runs, by how their upload ended.
func (s suite) filesCount(t *testing.T) {
	const there, elsewhere = "447700900123", "447700900124"
	ends := map[string]struct {
		end    func(l *ledger, r messaging.Run, p messaging.Part)
		counts bool
	}{
		"is uploaded just now": {func(*ledger, messaging.Run, messaging.Part) {}, true},
		"accepted":             {func(l *ledger, _ messaging.Run, p messaging.Part) { l.endPart(p, messaging.PartAccepted) }, true},
		"in doubt":             {func(l *ledger, _ messaging.Run, p messaging.Part) { l.endPart(p, messaging.PartInDoubt) }, true},
		"rejected":             {func(l *ledger, _ messaging.Run, p messaging.Part) { l.endPart(p, messaging.PartRejected) }, false},
		"surely not taken":     {func(l *ledger, _ messaging.Run, p messaging.Part) { l.endPart(p, messaging.PartWaiting) }, false},
		"in doubt, and a person says it was not taken": {func(l *ledger, r messaging.Run, p messaging.Part) {
			p = l.endPart(p, messaging.PartInDoubt)
			p.State, p.Reason, p.Resolved = messaging.PartRejected, "by hand", "rejected"
			l.must(l.ResolvePart(l.ctx, messaging.RunUploading, r, p))
		}, false},
		"taken at the second try": {func(l *ledger, r messaging.Run, p messaging.Part) {
			l.endPart(p, messaging.PartWaiting)
			// Somebody was left out of it meanwhile.
			c := l.cut(r.ID, p.Number, noon.Add(10*time.Minute))
			c.Part.Ranges = messaging.RowRanges{{First: 2, Last: 2}}
			p, claimed, err := l.ClaimPart(l.ctx, c)
			if err != nil || !claimed {
				l.t.Fatal(claimed, err)
			}
			l.endPart(p, messaging.PartAccepted)
		}, false},
	}
	for name, one := range ends {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			var asked []messaging.DueFacts
			l.ruleBy(atMost{n: 1, within: 24 * time.Hour, asked: &asked})
			r := l.listed("1", []messaging.Phone{there, elsewhere, there})
			p, err := l.claim(r.ID, 1, noon)
			l.must(err)
			if p.State != messaging.PartUploading {
				t.Fatalf("part %+v", p)
			}
			one.end(l, r, p)
			l.enqueue("1", phone(there))
			other := l.enqueue("2", phone("447700900125"))
			got := l.ids(noon.Add(time.Hour))
			if want := map[bool][]messaging.MessageID{true: {other}, false: {1, other}}[one.counts]; len(got) != len(want) || got[len(got)-1] != other {
				t.Fatalf("claimed %v, want %v", got, want)
			}
			if one.counts {
				same(t, "told", []messaging.PastSend{{At: noon, Category: messaging.Marketing, Trigger: "winback"}}, asked[0].Sends)
			}
		})
	}
	t.Run("more rows than a statement has parameters", func(t *testing.T) {
		l := s.open(t)
		var asked []messaging.DueFacts
		l.ruleBy(atMost{n: 1, within: 24 * time.Hour, asked: &asked})
		phones := make([]messaging.Phone, 70_000)
		for i := range phones {
			phones[i] = messaging.Phone(fmt.Sprintf("4477%08d", i))
		}
		start := time.Now()
		p, err := l.claim(l.listed("1", phones).ID, 1, noon)
		l.must(err)
		l.endPart(p, messaging.PartAccepted)
		noted := time.Since(start)
		for i := range 100 {
			l.enqueue(fmt.Sprint(i), phone(phones[i*699]))
		}
		free := l.enqueue("free", phone("447800000000"))
		start = time.Now()
		same(t, "claimed", []messaging.MessageID{free}, l.ids(noon.Add(time.Hour)))
		t.Logf("70,000 rows stored in %s, 101 asked about in %s", noted, time.Since(start))
	})
}

// endPart ends an upload.
func (l *ledger) endPart(p messaging.Part, state messaging.PartState) messaging.Part {
	l.t.Helper()
	p.State, p.Reason, p.UpdatedAt = state, "as the test says", noon.Add(time.Minute)
	l.must(l.FinishPart(l.ctx, p))
	return p
}
