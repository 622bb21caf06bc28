package pace

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A board keeps a halt for the processes of a test.
type board struct {
	is    Halted
	fails error
}

func (b *board) Paused() Halted { return b.is }

func (b *board) Swap(_ context.Context, from, to Halted) (bool, error) {
	if b.fails != nil {
		return false, b.fails
	}
	if !b.is.same(from) {
		return false, nil
	}
	b.is = to
	return true, nil
}

// A process is one of those that share a board.
type process struct {
	Halt
	t     *testing.T
	heard []string
}

func (b *board) processes(t *testing.T, now time.Time, n int) []*process {
	all := make([]*process, n)
	for i := range all {
		p := &process{t: t}
		p.Heard = func(was, is Halted) { p.heard = append(p.heard, was.Cause+">"+is.Cause) }
		p.Share(b, now)
		all[i] = p
	}
	return all
}

func (p *process) told(now time.Time) {
	p.t.Helper()
	if err := p.Tell(p.t.Context(), now); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) may(now time.Time) bool {
	p.t.Helper()
	mine, err := p.Try(p.t.Context(), now, 30*time.Second)
	if err != nil {
		p.t.Fatal(err)
	}
	return mine
}

func (p *process) halted() bool { _, is := p.State(); return is }

var refusedKey = Cause{Name: "key", First: 5 * time.Second, Max: 5 * time.Minute}

// refusedTwo is the beginning of most tests: the first process is refused, and the second hears of it.
func refusedTwo(t *testing.T) (b *board, one, two *process, now time.Time) {
	b, now = &board{}, time.Now()
	all := b.processes(t, now, 2)
	one, two = all[0], all[1]
	now = now.Add(time.Second)
	one.Strike(now, now, refusedKey, "401")
	one.told(now)
	two.Look(now)
	if !two.halted() || len(two.heard) != 1 || two.heard[0] != ">key" || len(one.heard) != 0 {
		t.Fatalf("halted %v, heard %q and %q", two.halted(), one.heard, two.heard)
	}
	return b, one, two, now
}

func TestWhatOneFindsHoldsAll(t *testing.T) {
	_, one, two, now := refusedTwo(t)
	mine, _ := one.State()
	theirs, _ := two.State()
	if mine != theirs {
		t.Errorf("one has %+v, the other %+v", mine, theirs)
	}
	if _, counted := two.Strike(now.Add(-time.Millisecond), now.Add(time.Second), refusedKey, "401"); counted {
		t.Error("a refusal of a request that was on its way when it was heard counted")
	}
	if _, lifted := two.Lift(now.Add(-time.Millisecond), now.Add(time.Second)); lifted {
		t.Error("an answer to such a request lifted it")
	}
}

func TestOneAtATimeTries(t *testing.T) {
	b, one, two, now := refusedTwo(t)
	if one.may(now) || two.may(now) {
		t.Error("somebody tries before the pause is over")
	}
	now = now.Add(5 * time.Second)
	if !two.may(now) || !two.may(now.Add(29*time.Second)) || !two.Turn(now) {
		t.Error("the first who tries has no turn, or it ends too soon")
	}
	if one.may(now) || one.Turn(now) {
		t.Error("another one tries in the same moment, without having heard")
	}
	two.Answered()
	two.told(now)
	if one.Look(now); one.may(now) || !two.Turn(now) {
		t.Error("a question that was answered well ends the turn")
	}
	now = now.Add(time.Second)
	two.Strike(now, now, refusedKey, "401 again")
	two.told(now)
	one.Look(now)
	is, _ := one.State()
	if wait := is.Until.Sub(now); wait < 10*time.Second-time.Millisecond || wait > 10*time.Second || is.Asked || two.Turn(now) {
		t.Errorf("after the second refusal the others wait %v: %+v", wait, is)
	}
	// Now its turn comes, and it is taken: all go on.
	now = now.Add(11 * time.Second)
	if !one.may(now) {
		t.Fatal("no turn")
	}
	if _, lifted := one.Lift(now.Add(time.Millisecond), now.Add(time.Second)); !lifted {
		t.Fatal("not lifted")
	}
	one.told(now.Add(time.Second))
	two.Look(now.Add(time.Second))
	if (b.is != Halted{}) || two.halted() || two.heard[len(two.heard)-1] != "key>" {
		t.Errorf("kept %+v; the other is halted %v and heard %q", b.is, two.halted(), two.heard)
	}
}

func TestATurnEndsWithItsProcess(t *testing.T) {
	_, one, two, now := refusedTwo(t)
	now = now.Add(5 * time.Second)
	if !one.may(now) {
		t.Fatal("no turn")
	}
	// The process ends here. The other one waits for its turn, and no longer.
	two.Look(now)
	if two.may(now.Add(29 * time.Second)) {
		t.Error("tried in the turn of another one")
	}
	if !two.may(now.Add(30 * time.Second)) {
		t.Error("waits for one that is dead")
	}
}

func TestANewOneKnowsAndTriesAtOnce(t *testing.T) {
	b, one, two, now := refusedTwo(t)
	late := b.processes(t, now, 1)[0]
	if !late.halted() {
		t.Fatal("it knows nothing")
	}
	late.Retry(now)
	if !late.may(now) {
		t.Error("it does not try at once")
	}
	if one.Look(now); one.may(now) || two.may(now) {
		t.Error("the others try with it")
	}
	if is, _ := one.State(); is.Strikes != 0 {
		t.Errorf("pauses go on from the strike %d", is.Strikes)
	}
}

func TestWhoCallsOtherwiseIsNotHalted(t *testing.T) {
	_, one, two, now := refusedTwo(t)
	other := &board{}
	two.Reset(other, now)
	if two.halted() {
		t.Error("halted though it calls by another key")
	}
	now = now.Add(time.Minute)
	if two.Strike(now, now, refusedKey, "401"); !two.halted() {
		t.Fatal("not halted by its own key")
	}
	two.told(now)
	if one.Look(now); !one.halted() || len(one.heard) != 0 {
		t.Errorf("the first one heard %q", one.heard)
	}
}

func TestWhatCannotBeToldHoldsHereAndIsToldLater(t *testing.T) {
	b := &board{fails: errors.New("the database is away")}
	now := time.Now()
	all := b.processes(t, now, 2)
	one, two := all[0], all[1]
	now = now.Add(time.Second)
	one.Strike(now, now, refusedKey, "401")
	if one.Tell(t.Context(), now) == nil || !one.halted() {
		t.Fatal("told, or not halted")
	}
	now = now.Add(10 * time.Second)
	if mine, err := one.Try(t.Context(), now, time.Second); mine || err == nil {
		t.Errorf("it tries, and nobody can know: %v, %v", mine, err)
	}
	if one.Look(now); !one.halted() {
		t.Error("forgotten though nobody said otherwise")
	}
	b.fails = nil
	one.told(now)
	if two.Look(now); !two.halted() {
		t.Error("not told later")
	}
	// What came to an end while nothing could be told ends then, too.
	now = now.Add(time.Second)
	if !one.may(now) {
		t.Fatal("no turn")
	}
	b.fails = errors.New("the database is away")
	one.Lift(now.Add(time.Millisecond), now.Add(time.Millisecond))
	if one.Tell(t.Context(), now) == nil || one.halted() || !two.halted() {
		t.Error("it is told though it cannot be, or not lifted here")
	}
	b.fails = nil
	one.told(now)
	if two.Look(now); two.halted() {
		t.Error("its end was not told later")
	}
}

func TestTwoThatFindOutAtOnceAreOfOneMind(t *testing.T) {
	b := &board{}
	now := time.Now()
	all := b.processes(t, now, 2)
	one, two := all[0], all[1]
	now = now.Add(time.Second)
	one.Strike(now, now, refusedKey, "401")
	two.Strike(now, now.Add(time.Millisecond), Cause{Name: "outage", First: time.Second, Max: time.Minute}, "502")
	one.told(now)
	two.told(now)
	mine, _ := one.State()
	theirs, _ := two.State()
	if mine != theirs || theirs.Cause != "key" || !b.is.same(mine) {
		t.Errorf("one has %+v, the other %+v, kept is %+v", mine, theirs, b.is)
	}
}

func TestAClockThatIsWrongHoldsNobodyForLong(t *testing.T) {
	b, now := &board{}, time.Now()
	all := b.processes(t, now, 2)
	tomorrow := now.Add(24 * time.Hour)
	all[0].Strike(tomorrow, tomorrow, refusedKey, "401")
	all[0].told(tomorrow)
	all[1].Look(now)
	if all[1].may(now) || !all[1].may(now.Add(longest)) {
		t.Error("it tries at once, or waits for longer than the longest pause")
	}
}
