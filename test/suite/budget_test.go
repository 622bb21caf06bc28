package suite

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

// spends are the rules with a budget in points, by the clock of UTC.
func spends(day, month float64) *duerules.Rules {
	r := duerules.New(time.UTC, duerules.Account{})
	r.Budget(duerules.Budget{Day: day, Month: month})
	return r
}

// priced is fresh data whose messages cost a point each, or what price says.
func (s suite) priced(t testing.TB, price *atomic.Int64) *ledger {
	t.Helper()
	price.Store(1)
	return openWith(t, s.fresh(t), byPrice(price))
}

func byPrice(price *atomic.Int64) func(*store.Options) {
	return func(o *store.Options) {
		o.Points = func(string, messaging.Category, messaging.Phone) float64 { return float64(price.Load()) }
	}
}

// A budgetCell is what happens once two of six messages are claimed, with room for one more that day.
type budgetCell struct {
	then func(l *ledger, price *atomic.Int64, two []messaging.Message) *ledger
	goes int // of the marketing that is due an hour later
}

func ended(state messaging.State) func(*ledger, *atomic.Int64, []messaging.Message) *ledger {
	return func(l *ledger, _ *atomic.Int64, two []messaging.Message) *ledger {
		for _, d := range two {
			l.mustFinish(d, state)
		}
		return l
	}
}

// doubted are both in doubt, and then a person says something.
func doubted(says messaging.Resolution) func(*ledger, *atomic.Int64, []messaging.Message) *ledger {
	return func(l *ledger, p *atomic.Int64, two []messaging.Message) *ledger {
		ended(messaging.StateInDoubt)(l, p, two)
		for _, d := range two {
			l.must(l.Resolve(l.ctx, d.ID, says, "as I know"))
		}
		return l
	}
}

// afterwards is what happens once both were taken.
func afterwards(then func(l *ledger)) func(*ledger, *atomic.Int64, []messaging.Message) *ledger {
	return func(l *ledger, p *atomic.Int64, two []messaging.Message) *ledger {
		then(ended(messaging.StateAccepted)(l, p, two))
		return l
	}
}

// budgetMeets is the table of docs/spend.md: what a budget of 3 points a day says after that.
var budgetMeets = map[string]budgetCell{
	"both are on their way":    {func(l *ledger, _ *atomic.Int64, _ []messaging.Message) *ledger { return l }, 1},
	"both were taken":          {ended(messaging.StateAccepted), 1},
	"both were rejected":       {ended(messaging.StateRejected), 3},
	"both wait again":          {ended(messaging.StateWaiting), 3},
	"both are in doubt":        {ended(messaging.StateInDoubt), 1},
	"a doubt that arrived":     {doubted(messaging.ResolveAccepted), 1},
	"a doubt that is given up": {doubted(messaging.ResolveDrop), 1},
	"a doubt that is resent":   {doubted(messaging.ResolveResend), 3},
	"a cancel of what waits":   {afterwards(func(l *ledger) { l.must(l.CancelMessage(l.ctx, 3, "no")) }), 1},
	"a block of a contact":     {afterwards(func(l *ledger) { l.person(l.message(1).Phone) }), 1},
	"a contact that is forgotten": {afterwards(func(l *ledger) {
		l.must(l.Forget(l.ctx, []messaging.Phone{l.message(1).Phone}, "by hand"))
		l.erased()
	}), 1},
	"a rename of the trigger": {afterwards(func(l *ledger) {
		l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge"}}))
	}), 1},
	"a halt, and its end": {afterwards(func(l *ledger) {
		halt := messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, At: noon}
		l.mustHalt(halt)
		same(l.t, "halted", 0, len(l.mustClaim(noon.Add(30*time.Minute), 9)))
		l.must(l.EndHold(l.ctx, halt))
	}), 1},
	"a reload with a higher budget": {afterwards(func(l *ledger) { l.ruleBy(spends(5, 0)) }), 3},
	"a reload with a lower budget":  {afterwards(func(l *ledger) { l.ruleBy(spends(1, 0)) }), 0},
	"a reload without one":          {afterwards(func(l *ledger) { l.ruleBy(duerules.New(time.UTC, duerules.Account{})) }), 4},
	"a reload with a month alone":   {afterwards(func(l *ledger) { l.ruleBy(spends(0, 4)) }), 2},
	"an edit of the price": {func(l *ledger, p *atomic.Int64, two []messaging.Message) *ledger {
		ended(messaging.StateAccepted)(l, p, two)
		p.Store(2) // what was spent stays, and the next costs more than what is left
		return l
	}, 0},
	"a restart": {func(l *ledger, p *atomic.Int64, two []messaging.Message) *ledger {
		ended(messaging.StateAccepted)(l, p, two)
		l.must(l.Close())
		return openWith(l.t, l.dsn, byPrice(p))
	}, 1},
	"kill -9 during both calls": {func(l *ledger, p *atomic.Int64, _ []messaging.Message) *ledger {
		l.must(l.Close())
		l = openWith(l.t, l.dsn, byPrice(p))
		n, err := l.RescueClaims(l.ctx, noon.Add(30*time.Minute), "after the crash")
		l.must(err)
		same(l.t, "in doubt", 2, n.Doubtful)
		return l
	}, 1},
	"retention of messages": {afterwards(func(l *ledger) {
		_, err := l.privacy().Retain(l.ctx, privacy.Retention{Messages: time.Second, Events: time.Second}, noon.Add(40*time.Minute))
		l.must(err)
	}), 1},
}

func (s suite) budgets(t *testing.T) {
	for name, cell := range budgetMeets {
		t.Run(name, func(t *testing.T) {
			var price atomic.Int64
			l := s.priced(t, &price)
			l.ruleBy(spends(3, 0))
			for i := range 6 {
				l.enqueue(fmt.Sprint(i), contact(i), due(noon))
			}
			rules := l.rules
			then := cell.then(l, &price, l.mustClaim(noon.Add(time.Minute), 2))
			if then != l {
				then.ruleBy(rules)
			}
			same(t, "marketing that goes", cell.goes, len(then.mustClaim(noon.Add(time.Hour), 9)))
		})
	}
	t.Run("met at three: marketing waits, utility, codes and tests go, and the sum is the ledger times the prices", s.aBudgetThatIsMet)
	t.Run("the next day and the next month fill it", s.theNextDayFillsTheBudget)
	t.Run("a file pays before it leaves", s.aFilePays)
	t.Run("without a budget nothing is asked", func(t *testing.T) {
		if n := duerules.New(time.UTC, duerules.Account{}).Needs(&messaging.Message{Category: messaging.Marketing}); n.Budget != nil {
			t.Error("what was spent is asked")
		}
	})
}

func (s suite) aBudgetThatIsMet(t *testing.T) {
	three := noon.Add(3 * time.Hour)
	l := openWith(t, s.fresh(t), func(o *store.Options) {
		o.Points = func(_ string, c messaging.Category, _ messaging.Phone) float64 {
			return map[messaging.Category]float64{messaging.Marketing: 0.8, messaging.Utility: 0.4, messaging.Authentication: 0.2}[c]
		}
	})
	l.ruleBy(spends(4, 0))
	l.at(three)
	for i := range 8 {
		l.enqueue(fmt.Sprint("m", i), contact(i))
	}
	go1 := l.mustClaim(three, 9)
	same(t, "marketing that goes", 5, len(go1))
	for _, d := range go1 {
		l.mustFinish(d, messaging.StateAccepted)
	}
	d := l.story(6)
	if v := d.Verdicts; len(v) != 1 || v[0].Rule != messaging.RuleBudget || d.State != messaging.StateWaiting || !d.DueAt.Equal(noon.Add(12*time.Hour)) ||
		d.Reason != "the budget of the day has no room: 4 of 4 points are spent, and this costs 0.8; next at 2026-03-03 00:00:00 UTC" {
		t.Errorf("what waits: %+v, %+v", d.Message, v)
	}
	for i, c := range []messaging.Category{messaging.Utility, messaging.Authentication} {
		l.enqueue(fmt.Sprint("c", i), contact(20+i), category(c))
	}
	l.enqueue("t", asTest)
	go2 := l.mustClaim(three.Add(time.Minute), 9)
	same(t, "utility, codes and tests that go", 3, len(go2))
	for _, d := range go2 {
		l.mustFinish(d, messaging.StateAccepted)
	}
	got, err := l.Spent(l.ctx, spends(4, 0).Purse(), three)
	l.must(err)
	same(t, "spent", messaging.Spent{Day: 5*800 + 400 + 200 + 800, Month: 5*800 + 400 + 200 + 800}, got)
	same(t, "what goes on top", 0, len(l.mustClaim(three.Add(2*time.Minute), 9)))
	same(t, "on the next day", 3, len(l.mustClaim(noon.Add(12*time.Hour), 9)))
}

func (s suite) theNextDayFillsTheBudget(t *testing.T) {
	var price atomic.Int64
	l := s.priced(t, &price)
	l.ruleBy(spends(2, 5))
	l.enqueue("0", contact(0), due(noon))
	for i := range 20 {
		l.enqueue(fmt.Sprint(i+1), contact(i+1), due(noon))
	}
	var goes []int
	for d := range 31 { // from 2 March to 1 April
		at := noon.Add(time.Duration(d) * day)
		l.at(at)
		got := l.mustClaim(at, 99)
		for _, one := range got {
			a := attempt(one, messaging.StateAccepted)
			a.At = at
			l.must(l.Finish(l.ctx, a))
		}
		if goes = append(goes, len(got)); d == 3 { // the clock is put back by a day and more, and put right again
			l.at(at.Add(-30 * time.Hour))
			same(t, "on a day that was", 0, len(l.mustClaim(at, 99)))
		}
	}
	want := make([]int, 31)
	want[0], want[1], want[2], want[30] = 2, 2, 1, 2
	same(t, "of each day", want, goes)
	// What lies ahead is asked about, and what comes until then counts.
	april := noon.Add(40 * day)
	got, err := l.Spent(l.ctx, spends(2, 5).Purse(), april)
	l.must(err)
	same(t, "of a day to come", messaging.Spent{Month: 2000}, got)
}

func (s suite) aFilePays(t *testing.T) {
	var price atomic.Int64
	l := s.priced(t, &price)
	l.ruleBy(spends(11, 0))
	r := l.uploading("1", 2)
	_, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil)
	l.must(err)
	l.enqueue("1", contact(1), due(noon))
	l.enqueue("2", contact(2), due(noon))
	same(t, "a message is on its way", 1, len(l.mustClaim(noon.Add(time.Minute), 1)))
	pays := func(number int, most int64) bool {
		c := l.cut(r.ID, number, noon)
		c.Part.Goes = []messaging.PartShare{{Country: "GB", Rows: rowsOfPart, Points: 10}}
		purse := spends(float64(most), 0).Purse()
		c.Budget, c.Pays = purse, func(s messaging.Spent) bool { return 10_000 <= purse.Left(s) }
		_, claimed, err := l.ClaimPart(l.ctx, c)
		l.must(err)
		return claimed
	}
	if pays(1, 10) {
		t.Error("a file goes beyond the budget")
	}
	if !pays(1, 11) {
		t.Error("a file that has room does not go")
	}
	same(t, "a message beside a file on its way", 0, len(l.mustClaim(noon.Add(2*time.Minute), 1)))
	p := l.endPart(l.part(r.ID, 1), messaging.PartInDoubt)
	if pays(2, 20) {
		t.Error("a file in doubt is not spent")
	}
	l.saysOfPart(p, messaging.PartAccepted)
	if pays(2, 20) || !pays(2, 21) {
		t.Error("a file that was taken is not spent once")
	}
}

// nodeBudget holds that two nodes spend from one purse, also while they claim at once.
func (p pair) nodeBudget(t *testing.T) {
	var price atomic.Int64
	a := p.priced(t, &price)
	address, _, _ := strings.Cut(a.dsn, "#")
	b := openWith(t, address+"#"+t.TempDir(), byPrice(&price))
	for _, l := range []*ledger{a, b} {
		l.ruleBy(spends(7, 0))
	}
	for i := range 40 {
		a.enqueue(fmt.Sprint("new ", i), contact(i))
	}
	got := both(t, noon.Add(time.Hour), a, b)
	same(t, "claimed by both", 7, len(got))
	for i := range got {
		b.mustFinish(b.message(got[i].ID), messaging.StateAccepted)
	}
	same(t, "once they were sent", 0, len(both(t, noon.Add(2*time.Hour), a, b)))
	same(t, "on the next day", 7, len(both(t, noon.Add(12*time.Hour), a, b)))
}
