package main

import (
	"math"
	"slices"
	"time"
)

// median of values; 0 of none. It does not change values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// ratios are readings over those of their base, round by round. A base measured in fewer
// rounds (once, say) counts for the later ones as well.
func ratios(of, base []reading) []float64 {
	if len(base) == 0 {
		return nil
	}
	out := make([]float64, 0, len(of))
	for i, r := range of {
		if b := base[min(i, len(base)-1)].value; b != 0 {
			out = append(out, r.value/b)
		}
	}
	return out
}

// each is one field of all readings.
func each(readings []reading, field func(reading) float64) []float64 {
	out := make([]float64, len(readings))
	for i, r := range readings {
		out[i] = field(r)
	}
	return out
}

// latencies are durations to be sorted once and asked often.
type latencies []time.Duration

// ms is the p-th part (0.5 is the median) in milliseconds, by nearest rank; l must be sorted.
func (l latencies) ms(p float64) float64 {
	if len(l) == 0 {
		return math.NaN()
	}
	at := max(0, int(math.Ceil(p*float64(len(l))))-1)
	return float64(l[at].Nanoseconds()) / 1e6
}
