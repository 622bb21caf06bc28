package lowwater

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A claim begins at the mark. So whatever came to wait since the mark was raised is never before it.
func TestNothingThatWaitsIsBelowTheMark(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type lane struct {
			account string
			number  int
		}
		var (
			marks   Marks
			now     = int64(1)
			waiting = map[lane]int64{} // the earliest since the mark was raised
		)
		account := rapid.SampledFrom([]string{"a", "b"})
		number := rapid.IntRange(0, len(messaging.Lanes)-1)
		rt.Repeat(map[string]func(*rapid.T){
			"raise": func(rt *rapid.T) {
				of := lane{account.Draw(rt, "account"), number.Draw(rt, "lane")}
				due := rapid.Int64Range(1, 1000).Draw(rt, "due")
				marks.Raise(of.account, of.number, now, due)
				waiting[of] = due
			},
			"lower": func(rt *rapid.T) {
				who := rapid.SampledFrom([]string{"a", "b", messaging.EveryAccount}).Draw(rt, "account")
				at := rapid.Int64Range(1, 1000).Draw(rt, "at")
				marks.Lower(who, at)
				for of, due := range waiting {
					if (who == of.account || who == messaging.EveryAccount) && at < due {
						waiting[of] = at
					}
				}
			},
			"time goes": func(rt *rapid.T) { now += rapid.Int64Range(0, trustFor).Draw(rt, "by") },
			"": func(rt *rapid.T) {
				for _, name := range []string{"a", "b"} {
					for i := range messaging.Lanes {
						from, held, due := marks.From(name, i, now), marks.Held(name, i), waiting[lane{name, i}]
						if from > due || held > due {
							rt.Fatalf("the mark of %s, lane %d is %d, %d for a claim, and something waits for %d", name, i, held, from, due)
						}
					}
				}
			},
		})
	})
}

func TestAMarkIsTrustedForAMinute(t *testing.T) {
	const due, now = int64(70), int64(10 * time.Hour / time.Microsecond)
	for _, one := range []struct {
		name string
		at   int64
		want int64
	}{
		{"at once", now, due},
		{"before the minute is over", now + trustFor - 1, due},
		{"after a minute", now + trustFor, 0},
		{"by a clock that was put back", now - 1, 0},
	} {
		var m Marks
		if m.From("a", 0, now) != 0 || m.Held("a", 0) != 0 {
			t.Error("there is a mark before any claim")
		}
		m.Raise("a", 0, now, due)
		if got := m.From("a", 0, one.at); got != one.want {
			t.Errorf("%s the mark is %d, want %d", one.name, got, one.want)
		}
		if got := m.Held("a", 0); got != due {
			t.Errorf("%s who asks when something may go is told %d, want %d however old it is", one.name, got, due)
		}
		if m.Held("another", 0) != 0 || m.Held("a", 1) != 0 {
			t.Error("the mark is one of another account or lane, too")
		}
		m.Lower("a", due-1)
		if got := m.Held("a", 0); got != due-1 {
			t.Errorf("after a message that is due earlier the mark is %d, want %d", got, due-1)
		}
	}
	var m Marks
	m.Raise("a", 0, now, due)
	m.Raise("a", 0, now+trustFor/2, due+1) // a claim that begins at the mark has not seen what is below
	if got := m.From("a", 0, now+trustFor); got != 0 {
		t.Errorf("a claim from the mark on makes it good for longer: %d", got)
	}
}

func TestMarksOfNobodyAreZero(t *testing.T) {
	var m *Marks
	m.Raise("a", 0, 1, 5)
	m.Lower("a", 3)
	if got := m.From("a", 0, 1); got != 0 {
		t.Errorf("the mark is %d", got)
	}
	if got := m.Held("a", 0); got != 0 {
		t.Errorf("the mark is %d", got)
	}
}
