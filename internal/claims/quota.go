package claims

// Lanes are two numbers of items. A room with one kind of work has no marketing.
type Lanes struct{ Urgent, Marketing int }

// quota is how many items of each lane to claim: never more than there are seats for, nor
// than there is room for in the rate; room.Marketing is what both lanes may take together
// when marketing takes any. seats.Urgent is all seats, seats.Marketing those that marketing may
// fill; held is what is in hand; want says which lanes may have something due, and full that
// urgent had more than was asked for last time.
//
// The two answers together never pass the free seats. As long as urgent is not known to be
// full it is asked for with the seats that are its own, and marketing with the rest; when it
// is full it may fill all but a quarter.
func quota(seats, held Lanes, wantUrgent, wantMarketing, full bool, room Lanes) Lanes {
	idle := max(0, seats.Urgent-held.Urgent-held.Marketing)
	marketing := 0
	if wantMarketing {
		marketing = max(0, min(idle, seats.Marketing-held.Marketing, room.Marketing))
	}
	urgent := 0
	if wantUrgent {
		switch {
		case full || marketing == 0:
			marketing = min(marketing, max(0, seats.Urgent/4-held.Marketing))
			urgent = idle - marketing
		default:
			urgent = idle - marketing
			if urgent == 0 && idle > 1 {
				urgent, marketing = 1, marketing-1 // urgent overflowed into the shared seats before
			}
		}
	}
	urgent = max(0, min(urgent, room.Urgent))
	return Lanes{urgent, max(0, min(marketing, room.Marketing-urgent))}
}
