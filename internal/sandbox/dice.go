package sandbox

// mix is splitmix64: it turns neighbouring numbers into unrelated ones, so that a roll is a
// pure function of the seed and of what is rolled for.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// fraction is x as a number from 0 up to, not including, 1.
func fraction(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// roll is the next number from 0 up to 1 of the requests' dice.
func (s *Sandbox) roll() float64 { return fraction(mix(s.options.Seed ^ mix(s.rolls.Add(1)))) }

// hit decides by the dice whether something of the given rate happens. A rate of 0 or 1
// does not move the dice.
func (s *Sandbox) hit(rate float64) bool {
	return rate > 0 && (rate >= 1 || s.roll() < rate)
}
