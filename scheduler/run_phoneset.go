package scheduler

// A phoneSet remembers phones exactly, in about six bytes each: five million take some 30 MB.
//
// A phone has at most fifteen digits and begins with none that is zero, so as a number it has
// fifty bits. Multiplying by an odd constant shuffles these fifty bits and loses none. The
// upper eighteen choose a bucket, the lower thirty-two are kept in it; together they are the
// phone, so two phones never pass for one. Buckets are short lists that grow one by one: no
// table is ever copied as a whole, and memory has no peaks.
type phoneSet struct{ buckets [][]uint32 }

const (
	phoneBits  = 50
	bucketBits = 18
	shuffle    = 0x278dde6e5fd29 // odd, and no pattern in its bits
)

// add reports whether the phone, one to fifteen digits, was not there before.
func (s *phoneSet) add(digits string) bool {
	if s.buckets == nil {
		s.buckets = make([][]uint32, 1<<bucketBits)
	}
	var v uint64
	for i := range len(digits) {
		v = v*10 + uint64(digits[i]-'0')
	}
	v = v * shuffle & (1<<phoneBits - 1)
	at, rest := &s.buckets[v>>(phoneBits-bucketBits)], uint32(v)
	for _, known := range *at {
		if known == rest {
			return false
		}
	}
	*at = append(*at, rest)
	return true
}
