package messaging

import (
	"slices"
	"time"
)

// A ListRow is one row of the list of a run. A row that goes in a file has no state of its own: it is that of the newest part
// which has it.
type ListRow struct {
	Run    RunID // that read it
	Number int64 // of the rows that may go, from 1 in their order; below 0 for one that was excluded when the list was read
	Position
	Phone Phone    // "" where it is none, and once it is forgotten or too old
	Given string   // as Message.SentAs; of an excluded row the phone as it stands in the source
	Cells []string // what is sent beside the phone, in the order of Run.Columns

	Reason    string    // why it does not go, "" for one that may
	WaitUntil time.Time // when it may go at the earliest, for one that was put off; zero for its turn
}

// A RowRange is the rows of a list from one number to another, both included.
type RowRange struct{ First, Last int64 }

// RowRanges are rows of a list, in ascending order. No two ranges meet.
type RowRanges []RowRange

// Count is how many rows they are.
func (rs RowRanges) Count() (n int64) {
	for _, r := range rs {
		n += r.Last - r.First + 1
	}
	return n
}

// Has reports whether a row is one of them.
func (rs RowRanges) Has(number int64) bool {
	_, found := slices.BinarySearchFunc(rs, number, func(r RowRange, n int64) int {
		switch {
		case r.Last < n:
			return -1
		case r.First > n:
			return 1
		}
		return 0
	})
	return found
}

// Add puts rows behind all the others.
func (rs RowRanges) Add(more RowRange) RowRanges {
	if n := len(rs); n > 0 && rs[n-1].Last+1 == more.First {
		rs[n-1].Last = more.Last
		return rs
	}
	return append(rs, more)
}

// From are the rows with that number and above.
func (rs RowRanges) From(number int64) (out RowRanges) {
	for _, r := range rs {
		if r.First = max(r.First, number); r.First <= r.Last {
			out = append(out, r)
		}
	}
	return out
}

// Without are the rows that are not among the others.
func (rs RowRanges) Without(others RowRanges) (out RowRanges) {
	for _, r := range rs {
		for len(others) > 0 && others[0].Last < r.First {
			others = others[1:]
		}
		for _, o := range others {
			if o.First > r.Last {
				break
			}
			if r.First < o.First {
				out = append(out, RowRange{r.First, o.First - 1})
			}
			r.First = o.Last + 1
		}
		if r.First <= r.Last {
			out = append(out, r)
		}
	}
	return out
}

// And are the rows of both.
func (rs RowRanges) And(others RowRanges) (out RowRanges) {
	all := slices.Concat(rs, others)
	slices.SortFunc(all, func(a, b RowRange) int { return int(a.First - b.First) })
	for _, r := range all {
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// A RowNote is what became of an open row when its part was cut: it does not go, or not yet.
type RowNote struct {
	Number int64
	Reason string    // why it does not go; "" for one that is put off
	Until  time.Time // when it may go
}

// A Point is a moment from which on a part is cut, with what the store knew then that is not about one contact: who was forgotten or is asked
// to be, what is halted, which files left. Two are equal in Seen where nothing of that changed between them.
type Point struct {
	At   time.Time
	Seen string
}

// A PartClaim is the intent to upload a part as it was cut. It holds only while nothing that the part was cut by has changed since Point.
type PartClaim struct {
	Owner string
	At    time.Time
	Point Point
	Part  Part // with the rows, bytes and hash of this attempt
	// Phones are those on the file: what is known of none of them may have changed since Point.
	Phones []Phone
	Left   RowRanges      // rows of it that found no place, for a part of their own
	Tally  Tally          // of the run
	Room   *QuotaQuestion // that has to be answered with all of its phones; nil for none
	Budget Calendar       // of which Pays has to agree to what was spent without it; nil for none
	Pays   func(Spent) bool
	Still  func() bool // whether the caller still wants it, asked inside the commit
}
