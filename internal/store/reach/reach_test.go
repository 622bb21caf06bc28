package reach

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

// kept are contacts whose files were read, so that no statement is run.
func kept() *Contacts {
	return &Contacts{last: map[int64]int64{}, hash: keyindex.Hash, filesRead: true}
}

// However often contacts are reached, each counts once, for as long as the last time lies in the window.
func TestEachContactCountsOnceInItsWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var (
			c    = kept()
			now  = slack
			last = map[messaging.Phone]int64{}
		)
		inWindow := func(since int64) (n int) {
			for _, at := range last {
				if at >= since-slack {
					n++
				}
			}
			return n
		}
		rt.Repeat(map[string]func(*rapid.T){
			"reach": func(rt *rapid.T) {
				now += rapid.Int64Range(0, slack).Draw(rt, "later")
				phone := messaging.Phone(fmt.Sprint("44770090010", rapid.IntRange(0, 9).Draw(rt, "phone")))
				c.Note(phone, now)
				last[phone] = now
			},
			"the window moves": func(rt *rapid.T) {
				since := rapid.Int64Range(c.from+slack, now+2*slack).Draw(rt, "since")
				if err := c.Refresh(nil, "a", since); err != nil {
					rt.Fatal(err)
				}
				if want := inWindow(since); c.Count() != want {
					rt.Fatalf("%d contacts in the window, want %d", c.Count(), want)
				}
				for phone, at := range last {
					if has := c.Has(HashOf(phone, keyindex.Hash)); has != (at >= since-slack) {
						rt.Fatalf("%s, reached at %d, window from %d: %v", phone, at, since, has)
					}
				}
				if !c.Covers(since) || c.Covers(c.from-1) {
					rt.Fatalf("from %d on it covers %d: %v", c.from, since, c.Covers(since))
				}
			},
			"some leave the window": func(rt *rapid.T) {
				n := rapid.Int64Range(1, 11).Draw(rt, "n")
				switch at := c.Leaves(n); {
				case at == 0 && n <= int64(c.Count()), at != 0 && n > int64(c.Count()):
					rt.Fatalf("%d of %d contacts leave at %d", n, c.Count(), at)
				case at != 0 && (inWindow(at) > c.Count()-int(n) || inWindow(at-1) <= c.Count()-int(n)):
					rt.Fatalf("%d of %d contacts leave at %d: %d are left then, and %d just before", n, c.Count(), at, inWindow(at), inWindow(at-1))
				}
			},
		})
	})
}
