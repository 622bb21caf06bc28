package claims

// MaxLanes is how many lanes a loop has at the most.
const MaxLanes = 3

// Lanes are numbers of items by lane, the most urgent lane first. A room with one kind of work has that lane alone.
type Lanes [MaxLanes]int

// from is how many there are of a lane and of those behind it.
func (n Lanes) from(lane int) (sum int) {
	for _, one := range n[lane:] {
		sum += one
	}
	return sum
}

// quota is how many items of each lane to claim. seats are what a lane and those behind it may fill together, held is what
// is in hand. room is what a lane and those before it may take together of the rate when that lane takes any. want says which lanes may
// have something due, and full which of them had more than was asked for last time.
//
// All together never pass the free seats. As long as a lane is not known to be full it is asked for with the seats
// that those behind it may not fill, and they with the rest; when it is full it may fill all but a quarter.
//
//nolint:gosec // behind is below MaxLanes wherever it is an index
func quota(seats, held Lanes, want, full [MaxLanes]bool, room Lanes) (n Lanes) {
	idle := max(0, seats[0]-held.from(0))
	for lane := range n {
		rest, behind := 0, lane+1 // rest is what is left to those behind
		if behind < MaxLanes && wanted(want, behind) {
			rest = max(0, min(idle, seats[behind]-held.from(behind)))
			if want[lane] && full[lane] {
				rest = min(rest, max(0, seats[lane]/4-held.from(behind)))
			}
		}
		if want[lane] && idle > 0 {
			own := idle
			if behind < MaxLanes {
				own -= max(0, min(rest, room[behind]-n.from(0)))
			}
			own = max(1, own) // one at the least, where it overflowed into the seats of those behind it before
			n[lane] = max(0, min(own, room[lane]-n.from(0)))
		}
		idle = min(rest, idle-n[lane])
	}
	return n
}

// wanted reports whether a lane or one behind it may have something due.
func wanted(want [MaxLanes]bool, lane int) bool {
	for _, one := range want[lane:] {
		if one {
			return true
		}
	}
	return false
}
