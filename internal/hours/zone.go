package hours

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/phones"
)

// A Zone is a time zone that remembers the stretch between two clock changes that it was asked
// about last, because package time reads the rules of a zone anew for each answer.
type Zone struct {
	loc  *time.Location
	last atomic.Pointer[stretch]
}

// A stretch is a time without clock changes: unix seconds, the end not included.
type stretch struct {
	from, to int64
	offset   int64 // seconds east of UTC
	before   int64 // the offset before from
}

// In is the zone of a location.
func In(loc *time.Location) *Zone { return &Zone{loc: loc} }

// Location is the zone for package time.
func (z *Zone) Location() *time.Location { return z.loc }

// String is the zone's IANA name.
func (z *Zone) String() string { return z.loc.String() }

// at is the stretch that a moment is in.
func (z *Zone) at(unix int64) *stretch {
	if s := z.last.Load(); s != nil && unix >= s.from && unix < s.to {
		return s
	}
	local := time.Unix(unix, 0).In(z.loc)
	_, offset := local.Zone()
	s := &stretch{from: math.MinInt64, to: math.MaxInt64, offset: int64(offset), before: int64(offset)}
	from, to := local.ZoneBounds()
	if !from.IsZero() {
		s.from = from.Unix()
		_, before := from.Add(-time.Second).In(z.loc).Zone()
		s.before = int64(before)
	}
	if !to.IsZero() {
		s.to = to.Unix()
	}
	z.last.Store(s)
	return s
}

// Zones find the zones that a contact may be in. They are safe for many.
type Zones struct {
	otherwise []*Zone

	mu     sync.Mutex
	named  map[string][]*Zone  // nil for what is no zone
	number map[*string][]*Zone // by the library's own list for a prefix, so there are no more than prefixes
}

// mostNamed bounds what is remembered of names: whoever posts webhooks chooses them.
const mostNamed = 1024

// NewZones has otherwise for contacts of whom nothing is known.
func NewZones(otherwise *time.Location) *Zones {
	return &Zones{otherwise: []*Zone{In(otherwise)}, named: map[string][]*Zone{}, number: map[*string][]*Zone{}}
}

// Of lists the zones that a contact may be in: the named one, where name is a zone; else every zone
// of the number (digits that start with the country code); else the one for the others, and
// guessed says so.
func (z *Zones) Of(digits, name string) (zones []*Zone, guessed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if name != "" {
		if one := z.byName(name); one != nil {
			return one, false
		}
	}
	names := phones.Zones(digits)
	if len(names) == 0 {
		return z.otherwise, true
	}
	known, ok := z.number[&names[0]]
	if !ok {
		for _, n := range names {
			known = append(known, z.byName(n)...)
		}
		// The first is the one that people are told: rather London than Guernsey, where that is the default.
		home := z.otherwise[0].String()
		slices.SortStableFunc(known, func(a, b *Zone) int {
			switch home {
			case a.String():
				return -1
			case b.String():
				return 1
			}
			return 0
		})
		z.number[&names[0]] = known
	}
	if len(known) == 0 {
		return z.otherwise, true
	}
	return known, false
}

// byName is the one zone of that name, nil where there is none.
func (z *Zones) byName(name string) []*Zone {
	if known, ok := z.named[name]; ok {
		return known
	}
	if len(z.named) >= mostNamed {
		clear(z.named)
	}
	const longest = 64
	var found []*Zone
	// package time takes "Local" for the zone of this machine.
	if loc, err := time.LoadLocation(name); err == nil && name != "Local" && len(name) <= longest {
		found = []*Zone{In(loc)}
	}
	if len(name) <= longest {
		z.named[strings.Clone(name)] = found
	}
	return found
}

// Otherwise is the zone of contacts of whom nothing is known.
func (z *Zones) Otherwise() []*Zone { return z.otherwise }
