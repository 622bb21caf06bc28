package nodes

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever a machine's clock says, times are the server's, never back, and never later than the server may be, but while they wait for one
// whose clock is behind that of before: then they go at half its pace.
func TestAClockIsTheServers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		minutes := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(-most, most).Draw(rt, name)) * time.Minute
		}
		here := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
		wrong, jumped := minutes("wrong", 2000), time.Duration(0)
		c := Clock{Machine: func() time.Time { return here.Add(wrong) }}
		server := func() time.Time { return here.Add(jumped) }
		if !c.Now().Equal(here.Add(wrong)) {
			rt.Fatal("without a server it is not the machine's")
		}
		last, waits, slowest := time.Time{}, time.Duration(0), time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(rt, "beats") {
			if rapid.IntRange(0, 9).Draw(rt, "fails over") == 0 {
				by := minutes("jump", 60)
				jumped += by
				if waits -= by; by > 0 {
					waits = max(0, waits)
				}
			}
			began := here.Add(wrong)
			there := time.Duration(rapid.IntRange(0, 2000).Draw(rt, "there")) * time.Millisecond
			here = here.Add(there)
			said := server()
			back := time.Duration(rapid.IntRange(0, 2000).Draw(rt, "back")) * time.Millisecond
			here = here.Add(back)
			c.Learn(began, said)
			slowest = max(slowest, there+back)
			passed := time.Duration(rapid.IntRange(0, 600).Draw(rt, "passed")) * time.Second
			for range 2 {
				now := c.Now()
				if now.Before(last) {
					rt.Fatalf("it went back by %s", last.Sub(now))
				}
				if last = now; now.Before(server().Add(-slowest)) {
					rt.Fatalf("it is %s behind", server().Sub(now))
				}
				if most := server().Add(slowest + max(0, waits)); now.After(most) {
					rt.Fatalf("it is %s ahead, which may be %s", now.Sub(server()), slowest+max(0, waits))
				}
				here = here.Add(passed / 2)
				waits = max(0, waits-passed/4)
			}
		}
		here = here.Add(2 * time.Hour * 40)
		if off := c.Now().Sub(server()); off.Abs() > slowest {
			rt.Errorf("at last it is off by %s", off)
		}
	})
}
